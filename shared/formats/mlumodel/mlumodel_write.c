/* SPDX-License-Identifier: MIT */
#include "shared/formats/mlumodel/mlumodel.h"

#include <errno.h>
#include <string.h>

#include "shared/formats/mlumodel/mlumodel_layout.h"

static uint64_t round_up(uint64_t value)
{
    return (value + MLUMODEL_ALIGN - 1) / MLUMODEL_ALIGN * MLUMODEL_ALIGN;
}

static int functions_check(const struct ntk_mlumodel_function *functions, uint32_t count,
                           uint64_t *out_bytes, struct ntk_err *err)
{
    uint64_t bytes = sizeof(struct mlumodel_head) + count * sizeof(struct mlumodel_entry);

    if (count == 0 || count > NTK_MLUMODEL_FUNCTIONS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "an offline model must have 1 to %u functions, got %u",
                           NTK_MLUMODEL_FUNCTIONS_MAX, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t symbol_bytes = strnlen(functions[i].symbol, NTK_MLUMODEL_SYMBOL_BYTES);

        if (symbol_bytes == 0 || symbol_bytes == NTK_MLUMODEL_SYMBOL_BYTES) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "the symbol of function %u is empty or longer than %d bytes", i,
                               NTK_MLUMODEL_SYMBOL_BYTES - 1);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(functions[i].symbol, functions[k].symbol) == 0) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "duplicate function '%s'",
                                   functions[i].symbol);
            }
        }
        if (functions[i].program_bytes == 0 || functions[i].parallelism == 0 ||
            functions[i].program_bytes > NTK_MLUMODEL_BYTES_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "%s: invalid program size or parallelism", functions[i].symbol);
        }
        bytes = round_up(bytes) + functions[i].program_bytes;
        if (bytes > NTK_MLUMODEL_BYTES_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "an offline model must have at most %llu bytes",
                               (unsigned long long)NTK_MLUMODEL_BYTES_MAX);
        }
    }
    *out_bytes = bytes;
    return 0;
}

int ntk_mlumodel_write(const struct ntk_mlumodel_function *functions, uint32_t function_count,
                       struct ntk_buf *out, struct ntk_err *err)
{
    uint64_t bytes = 0;
    uint64_t at = sizeof(struct mlumodel_head) + function_count * sizeof(struct mlumodel_entry);
    int ret = functions_check(functions, function_count, &bytes, err);

    if (ret < 0) {
        return ret;
    }
    ntk_buf_put_u64(out, MLUMODEL_MAGIC);
    ntk_buf_put_u32(out, MLUMODEL_VERSION);
    ntk_buf_put_u32(out, sizeof(struct mlumodel_head));
    ntk_buf_put_u64(out, bytes);
    ntk_buf_put_u32(out, function_count);
    ntk_buf_put_u32(out, sizeof(struct mlumodel_entry));
    ntk_buf_put_u64(out, sizeof(struct mlumodel_head));
    ntk_buf_add_fill(out, '\0', sizeof((struct mlumodel_head){ 0 }).reserved);
    for (uint32_t i = 0; i < function_count; i++) {
        size_t symbol_bytes = strnlen(functions[i].symbol, NTK_MLUMODEL_SYMBOL_BYTES);

        at = round_up(at);
        ntk_buf_add(out, functions[i].symbol, symbol_bytes);
        ntk_buf_add_fill(out, '\0', NTK_MLUMODEL_SYMBOL_BYTES - symbol_bytes);
        ntk_buf_put_u64(out, at);
        ntk_buf_put_u64(out, functions[i].program_bytes);
        ntk_buf_put_u32(out, functions[i].parallelism);
        ntk_buf_add_fill(out, '\0', sizeof((struct mlumodel_entry){ 0 }).reserved);
        at += functions[i].program_bytes;
    }
    for (uint32_t i = 0; i < function_count; i++) {
        ntk_buf_add_fill(out, '\0', round_up(out->bytes_count) - out->bytes_count);
        ntk_buf_add(out, functions[i].program, functions[i].program_bytes);
    }
    return ntk_buf_ok(out) ? 0 : ntk_err_no_memory(err);
}
