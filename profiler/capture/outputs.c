/* SPDX-License-Identifier: MIT */
/* outputs - computes a checksum of the output of an execution, and writes it to files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/capture/session_private.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"

static int read_output(struct ntk_session *s, const struct ntk_session_tensor *tensor,
                       uint8_t **out_bytes, struct ntk_err *err)
{
    uint8_t *bytes = malloc(tensor->info->size ? tensor->info->size : 1);

    if (!bytes) {
        ntk_err_no_memory(err);
        return -ENOMEM;
    }
    NRT_STATUS status = s->nrt.nrt_tensor_read(tensor->tensor, bytes, 0, tensor->info->size);
    if (status != NRT_SUCCESS) {
        free(bytes);
        ntk_nrt_fail(&s->nrt, err, status, "nrt_tensor_read");
        return -EIO;
    }
    *out_bytes = bytes;
    return 0;
}

static uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, size_t bytes_count)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes_count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
        }
    }
    return ~crc;
}

int ntk_session_output_crc(struct ntk_session *session, uint32_t *out_crc, struct ntk_err *err)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < session->tensor_count; i++) {
        const struct ntk_session_tensor *tensor = &session->tensors[i];
        uint8_t *bytes = NULL;
        if (tensor->info->usage != NRT_TENSOR_USAGE_OUTPUT) {
            continue;
        }
        int ret = read_output(session, tensor, &bytes, err);
        if (ret < 0) {
            return ret;
        }
        crc = crc32_add(crc, bytes, tensor->info->size);
        free(bytes);
    }
    *out_crc = crc;
    return 0;
}

static const char *npy_type(nrt_dtype_t dtype)
{
    switch (dtype) {
    case NRT_DTYPE_UINT64:
        return "<u8";
    case NRT_DTYPE_INT64:
        return "<i8";
    case NRT_DTYPE_UINT32:
        return "<u4";
    case NRT_DTYPE_INT32:
        return "<i4";
    case NRT_DTYPE_UINT16:
        return "<u2";
    case NRT_DTYPE_INT16:
        return "<i2";
    case NRT_DTYPE_UINT8:
        return "|u1";
    case NRT_DTYPE_INT8:
        return "|i1";
    case NRT_DTYPE_FLOAT16:
        return "<f2";
    case NRT_DTYPE_FLOAT32:
    case NRT_DTYPE_FP32R:
        return "<f4";
    default:
        return NULL;
    }
}

static int npy_head(const nrt_tensor_info_t *info, struct ntk_buf *out, struct ntk_err *err)
{
    const char *type = npy_type(info->dtype);
    struct ntk_buf dict = { 0 };

    if (!type) {
        const char *name = ntk_dtype_name((unsigned)info->dtype);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unsupported type for npy output: %s",
                           name);
    }
    ntk_buf_add_format(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (uint32_t d = 0; d < info->ndim; d++) {
        ntk_buf_add_format(&dict, d == 0 ? "%u," : " %u,", info->shape[d]);
    }
    ntk_buf_add_text(&dict, "), }");
    /* Magic, version and length take 10 bytes; the header ends at a multiple of 64. */
    ntk_buf_add_fill(&dict, ' ', (64 - (10 + dict.bytes_count + 1) % 64) % 64);
    ntk_buf_add_char(&dict, '\n');
    ntk_buf_add(out, "\x93NUMPY\x01\x00", 8);
    ntk_buf_put_u16(out, (uint16_t)dict.bytes_count);
    ntk_buf_add(out, dict.bytes, dict.bytes_count);
    ntk_buf_fini(&dict);
    return ntk_buf_ok(out) ? 0 : ntk_err_no_memory(err);
}

int ntk_session_save_outputs(struct ntk_session *session, bool as_npy, uint64_t number,
                             struct ntk_err *err)
{
    for (size_t i = 0; i < session->tensor_count; i++) {
        const struct ntk_session_tensor *tensor = &session->tensors[i];
        char name[NRT_TENSOR_NAME_MAX + 64];
        struct ntk_buf file = { 0 };
        uint8_t *bytes = NULL;
        int ret;
        if (tensor->info->usage != NRT_TENSOR_USAGE_OUTPUT) {
            continue;
        }
        ret = as_npy ? npy_head(tensor->info, &file, err) : 0;
        if (ret == 0) {
            ret = read_output(session, tensor, &bytes, err);
        }
        if (ret == 0) {
            char rank[24] = "";
            if (session->options.rank_count > 0) {
                snprintf(rank, sizeof rank, "_rank_%u", session->options.rank);
            }
            char later[24] = "";
            if (number > 1) {
                snprintf(later, sizeof later, ".%" PRIu64, number);
            }
            snprintf(name, sizeof name, "%s%s.%s%s", tensor->info->name, rank,
                     as_npy ? "npy" : "out", later);
            for (char *c = name; *c; c++) {
                *c = *c == '/' ? '_' : *c;
            }
            ntk_buf_add(&file, bytes, tensor->info->size);
            ret = ntk_buf_ok(&file) ? ntk_fs_write(name, file.bytes, file.bytes_count, err)
                                    : ntk_err_no_memory(err);
        }
        if (ret == 0) {
            printf("saved output \"%s\" as \"%s\"\n", tensor->info->name, name);
        }
        free(bytes);
        ntk_buf_fini(&file);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}
