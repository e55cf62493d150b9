/* SPDX-License-Identifier: MIT */
/* inputs - reads the input data of an execution: arrays and bytes from files, or from members of
 * the NEFF. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/session_private.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

#define INPUT_BYTES_MAX ((size_t)64 << 30)

/* Fills a tensor. from: a file or member; its name shows if it is an array or raw bytes. */
static int fill(struct ntk_session *session, struct ntk_session_tensor *tensor, const char *from,
                const uint8_t *bytes, size_t bytes_count, struct ntk_err *err)
{
    const char *name = tensor->info->name;
    struct ntk_neff_npy npy;

    if (ntk_str_ends_with(from, ".npy")) {
        int ret = ntk_neff_npy_read(bytes, bytes_count, &npy, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", from);
            return ret;
        }
        if (npy.fortran_order && npy.dim_count > 1) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "%s: the array is stored in column-major order (fortran_order); "
                               "save it in row-major order",
                               from);
        }
        bytes = npy.data;
        bytes_count = npy.data_bytes;
    }
    if (bytes_count != tensor->info->size) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s has %zu bytes, but input '%s' requires %zu", from, bytes_count, name,
                           tensor->info->size);
    }
    NRT_STATUS status = session->nrt.nrt_tensor_write(tensor->tensor, bytes, 0, bytes_count);
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(&session->nrt, err, status, "nrt_tensor_write");
    }
    tensor->is_filled = true;
    return 0;
}

int ntk_session_set_input(struct ntk_session *session, const char *name, const char *path,
                          struct ntk_err *err)
{
    struct ntk_session_tensor *tensor = NULL;
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;

    for (size_t i = 0; i < session->tensor_count && !tensor; i++) {
        if (session->tensors[i].info->usage == NRT_TENSOR_USAGE_INPUT &&
            strcmp(session->tensors[i].info->name, name) == 0) {
            tensor = &session->tensors[i];
        }
    }
    if (!tensor) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "the NEFF has no input named '%s'",
                           name);
    }
    int ret = ntk_fs_read(path, INPUT_BYTES_MAX, &bytes, &bytes_count, err);
    if (ret == 0) {
        ret = fill(session, tensor, path, bytes, bytes_count, err);
        free(bytes);
    }
    return ret;
}

static int fill_from_member(struct ntk_session *session, struct ntk_session_tensor *tensor,
                            const struct ntk_neff *neff, struct ntk_err *err)
{
    static const char *const endings[] = { ".npy", ".bin" };
    char name[NRT_TENSOR_NAME_MAX + 16];

    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        (void)snprintf(name, sizeof name, "inputs/%s%s", tensor->info->name, endings[e]);
        for (char *c = name + strlen("inputs/"); *c; c++) {
            *c = *c == '/' ? '_' : *c;
        }
        const struct ntk_neff_member *member = ntk_neff_member_get(neff, name);
        if (member) {
            return fill(session, tensor, name, member->bytes, member->bytes_count, err);
        }
    }
    return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                       "the NEFF has no value for input '%s' (no member inputs/%s.npy or .bin)",
                       tensor->info->name, tensor->info->name);
}

int ntk_session_set_inputs_from_neff(struct ntk_session *session, const char *neff_path,
                                     struct ntk_err *err)
{
    struct ntk_neff_open_options options = { .leave_constants = true,
                                             .leave_code = true,
                                             .keep_inputs = true };
    struct ntk_neff *neff = NULL;
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_fs_read(neff_path, NTK_NEFF_FILE_BYTES_MAX, &bytes, &count, err);

    if (ret == 0 && (ret = ntk_neff_open_with(bytes, count, &options, &neff, err)) < 0) {
        ntk_err_prefix(err, "%s", neff_path);
    }
    free(bytes);
    for (size_t i = 0; i < session->tensor_count && ret == 0; i++) {
        struct ntk_session_tensor *tensor = &session->tensors[i];
        if (tensor->info->usage == NRT_TENSOR_USAGE_INPUT && !tensor->is_filled) {
            ret = fill_from_member(session, tensor, neff, err);
        }
    }
    ntk_neff_close(neff);
    return ret;
}
