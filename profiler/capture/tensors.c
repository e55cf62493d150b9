/* SPDX-License-Identifier: MIT */
/* tensors - creates, shares and frees the tensors of a session. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/session_private.h"

static bool is_shared(const struct ntk_session *s, const nrt_tensor_info_t *info)
{
    return s->options.has_single_io && info->size > s->options.single_io_threshold_bytes;
}

/* Creates the shared buffer, as large as the largest tensor that shares it; none if no tensor
 * does. */
static int make_shared(struct ntk_session *s, struct ntk_err *err)
{
    size_t largest = 0;

    for (size_t i = 0; i < s->io.infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &s->io.infos->tensor_array[i];

        largest = is_shared(s, info) && info->size > largest ? info->size : largest;
    }
    if (largest == 0) {
        return 0;
    }
    if (!s->nrt.nrt_tensor_allocate_slice) {
        return ntk_nrt_lacks(err, "nrt_tensor_allocate_slice");
    }
    NRT_STATUS status = s->nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, largest,
                                                   "single_io", &s->shared);
    return status == NRT_SUCCESS ? 0 : ntk_nrt_fail(&s->nrt, err, status, "nrt_tensor_allocate");
}

int ntk_session_make_tensors(struct ntk_session *s, struct ntk_err *err)
{
    const char *call;
    NRT_STATUS status = ntk_nrt_io_open(&s->nrt, s->model, &s->io, &call);

    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(&s->nrt, err, status, call);
    }
    s->tensors = calloc(s->io.infos->tensor_count + 1, sizeof *s->tensors);
    if (!s->tensors) {
        return ntk_err_no_memory(err);
    }
    int shared = make_shared(s, err);
    if (shared < 0) {
        return shared;
    }
    for (size_t i = 0; i < s->io.infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &s->io.infos->tensor_array[i];
        bool is_made = true;

        if (is_shared(s, info)) {
            status = s->nrt.nrt_tensor_allocate_slice(s->shared, 0, info->size, info->name,
                                                      &s->io.tensors[i]);
            is_made = status == NRT_SUCCESS;
        }
        if (is_made) {
            status = ntk_nrt_io_add(&s->nrt, &s->io, i, 0, &call);
            is_made = s->io.tensors[i] != NULL;
        }
        if (!is_made) {
            return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot allocate %zu bytes for %s: %s",
                               info->size, info->name, ntk_nrt_status_name(&s->nrt, status));
        }
        if (status != NRT_SUCCESS) {
            return ntk_nrt_fail(&s->nrt, err, status, call);
        }
        s->tensors[s->tensor_count++] =
            (struct ntk_session_tensor){ .tensor = s->io.tensors[i], .info = info };
    }
    return 0;
}

int ntk_session_zero_inputs(struct ntk_session *session, struct ntk_err *err)
{
    for (size_t i = 0; i < session->tensor_count; i++) {
        struct ntk_session_tensor *tensor = &session->tensors[i];
        if (tensor->info->usage != NRT_TENSOR_USAGE_INPUT) {
            continue;
        }
        void *zeros = calloc(1, tensor->info->size ? tensor->info->size : 1);
        if (!zeros) {
            return ntk_err_no_memory(err);
        }
        NRT_STATUS status =
            session->nrt.nrt_tensor_write(tensor->tensor, zeros, 0, tensor->info->size);
        free(zeros);
        if (status != NRT_SUCCESS) {
            return ntk_nrt_fail(&session->nrt, err, status, "nrt_tensor_write");
        }
        tensor->is_filled = false;
    }
    return 0;
}

void ntk_session_free_tensors(struct ntk_session *session)
{
    ntk_nrt_io_close(&session->nrt, &session->io);
    free(session->tensors);
    if (session->shared) {
        session->nrt.nrt_tensor_free(&session->shared);
    }
}
