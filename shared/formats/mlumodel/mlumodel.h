/* SPDX-License-Identifier: MIT */
/*
 * mlumodel - offline models: files with compiled functions, each under a symbol
 * (docs/formats/mlu-model.md). The format is ours, because the vendor's is not public.
 *
 * A function is a NEFF; this module only finds its position.
 *
 * Owner:   a model borrows the bytes from which it was read.
 * Threads: any, one at a time.
 */
#ifndef NTK_SHARED_FORMATS_MLUMODEL_MLUMODEL_H
#define NTK_SHARED_FORMATS_MLUMODEL_MLUMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_MLUMODEL_SYMBOL_BYTES 64
#define NTK_MLUMODEL_FUNCTIONS_MAX 4096U
/* Maximum file size, because other code has the size as an int. */
#define NTK_MLUMODEL_BYTES_MAX (UINT64_C(1) << 31)
/* The symbol of a function that was saved without one. */
#define NTK_MLUMODEL_DEFAULT_SYMBOL "subnet0"

struct ntk_mlumodel_function {
    char symbol[NTK_MLUMODEL_SYMBOL_BYTES];
    const void *program; /* borrowed */
    uint64_t program_bytes;
    uint32_t parallelism; /* number of cores it was compiled for, at least 1 */
};

struct ntk_mlumodel {
    uint64_t bytes; /* size of the file */
    struct ntk_mlumodel_function *functions;
    uint32_t function_count;
};

/* Finds the length of the file from its first bytes (at least NTK_MLUMODEL_HEAD_BYTES).
 * -EBADMSG: not an offline model. */
#define NTK_MLUMODEL_HEAD_BYTES 64
int ntk_mlumodel_size(const void *head, uint64_t *out_bytes, struct ntk_err *err);
/* Returns -EBADMSG if it is damaged or not an offline model, -ENOTSUP for a newer version, or
 * -ENOMEM. */
int ntk_mlumodel_read(const void *bytes, size_t bytes_count, struct ntk_mlumodel *out_model,
                      struct ntk_err *err);
void ntk_mlumodel_fini(struct ntk_mlumodel *model); /* accepts a zeroed struct */
/* Finds a function by symbol; NULL if there is none. */
const struct ntk_mlumodel_function *ntk_mlumodel_find(const struct ntk_mlumodel *model,
                                                      const char *symbol);

/* Appends the file to out, which must be empty. Returns -EINVAL for no function, too many
 * functions, or a duplicate or empty symbol. */
int ntk_mlumodel_write(const struct ntk_mlumodel_function *functions, uint32_t function_count,
                       struct ntk_buf *out, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
