/* SPDX-License-Identifier: MIT */
/*
 * nrta_2 - the explicit interface in its 2.x form: error trackers and completion handles. Names
 * common with the 3.0 form are exported as name@NRT_2.0.0.
 */
#include "runtime-hooks/libnrt/nrt_request.h"

#include <assert.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime-hooks/libnrt/nrt_cc.h"

#pragma GCC visibility push(default)
#include "nrt/nrt_async.h"

static_assert(sizeof(nrta_error_t) == 2 * sizeof(uint64_t), "list of nrt_request_tracker_list()");
static_assert((int)NRTA_XU_TENSOR_READ == (int)NRT_QUEUE_READ &&
                  (int)NRTA_XU_TENSOR_WRITE == (int)NRT_QUEUE_WRITE &&
                  (int)NRTA_XU_TENSOR_OP == (int)NRT_QUEUE_OP &&
                  (int)NRTA_XU_COMPUTE == (int)NRT_QUEUE_COMPUTE &&
                  (int)NRTA_XU_COLLECTIVES == (int)NRT_QUEUE_COLLECTIVES,
              "units");

/* Defines the function of a versioned name, with the signature of the header. */
#define FORM_2(name)                              \
    extern __typeof__(nrta_##name) form_2_##name; \
    __asm__(".symver form_2_" #name ",nrta_" #name "@NRT_2.0.0")

FORM_2(tensor_write);
FORM_2(tensor_read);
FORM_2(tensor_copy);
FORM_2(execute_schedule);
FORM_2(cc_prepare);
FORM_2(cc_schedule);
FORM_2(is_completed);
FORM_2(get_sequence);
#pragma GCC visibility pop

static struct nrt_request_place place_make(enum nrt_queue_unit unit, int queue,
                                           nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    return (struct nrt_request_place){
        .core = NTK_CORE_ANY, .unit = unit, .queue = queue, .tracker = err, .sequence = req_sequence
    };
}

NRT_STATUS form_2_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
                               uint64_t size, int queue, nrta_error_tracker_t *err,
                               nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(NRT_QUEUE_WRITE, queue, err, req_sequence);

    return nrt_request_write(tensor, buf, offset, size, &place);
}

NRT_STATUS form_2_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
                              int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(NRT_QUEUE_READ, queue, err, req_sequence);

    return nrt_request_read(buf, tensor, offset, size, &place);
}

NRT_STATUS form_2_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
                              uint64_t dst_offset, uint64_t size, int queue,
                              nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(NRT_QUEUE_OP, queue, err, req_sequence);

    return nrt_request_copy(src, src_offset, dst, dst_offset, size, &place);
}

NRT_STATUS form_2_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
                                   nrt_tensor_set_t *output, int queue, nrta_error_tracker_t *err,
                                   nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(NRT_QUEUE_COMPUTE, queue, err, req_sequence);

    return nrt_request_execute(model, input, output, &place);
}

NRT_STATUS form_2_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
                             nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
                             nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx)
{
    return nrt_cc_prepare(comm, input, output, dtype, op, cc_op, cc_ctx);
}

NRT_STATUS form_2_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
                              nrta_seq_t *req_sequence)
{
    struct nrt_request_place place = place_make(NRT_QUEUE_COLLECTIVES, queue, err, req_sequence);

    return nrt_request_collective(cc_ctx, &place);
}

NRT_STATUS form_2_is_completed(nrta_seq_t seq, bool *is_completed)
{
    return nrt_request_is_completed(seq, is_completed);
}

NRT_STATUS form_2_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
    uint32_t unit = (uint32_t)xu < NRTA_XU_TYPE_NUM ? (uint32_t)xu : NRT_QUEUE_UNITS;

    return nrt_request_sequence_get(lnc, unit, queue, seq);
}

NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd)
{
    if (!fd) {
        return NRT_INVALID;
    }
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
        return NRT_RESOURCE;
    }
    NRT_STATUS status = nrt_request_watch(seq, event);
    if (status == NRT_SUCCESS) {
        *fd = event;
    } else {
        close(event);
    }
    return status;
}

NRT_STATUS nrta_error_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker)
{
    void *tracker = NULL;
    NRT_STATUS status = nrt_request_tracker_create(lnc_idx, error_tracker ? &tracker : NULL);

    if (status == NRT_SUCCESS && error_tracker) {
        *error_tracker = tracker;
    }
    return status;
}

void nrta_error_tracker_destroy(nrta_error_tracker_t *error_tracker)
{
    nrt_request_tracker_destroy(error_tracker);
}

NRT_STATUS nrta_error_tracker_get_list(nrta_error_tracker_t *error_tracker,
                                       const nrta_error_t **list, size_t *error_count)
{
    const uint64_t *pairs = NULL;
    NRT_STATUS status = nrt_request_tracker_list(error_tracker, list ? &pairs : NULL, error_count);

    if (status == NRT_SUCCESS && list) {
        *list = (const nrta_error_t *)pairs;
    }
    return status;
}
