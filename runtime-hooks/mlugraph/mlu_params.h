/* SPDX-License-Identifier: MIT */
/*
 * mlu_params - reads and writes the parameters of a network: arrays by name.
 *
 * Parameters are read from a zip archive of .npy files (as written by numpy.savez()) or from a raw
 * file (mlu_params_layout.h, docs/formats/mlu-params.md), distinguished by the first bytes. In an
 * archive a name is the member name without ".npy"; MXNet's prefixes "arg:" and "aux:" are removed
 * in both.
 *
 * Owner:   the caller provides the storage, and a zeroed struct is empty; mlu_params_fini() frees
 *          the content. Results of _get are borrowed until then.
 * Threads: any, while no thread adds.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_PARAMS_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_PARAMS_H

#include "runtime-hooks/mlugraph/mlu_array.h"
#include "shared/base/map.h"

/* maximum size of the file, and of its inflated contents */
#define MLU_PARAMS_BYTES_MAX (UINT64_C(4) << 30)
#define MLU_PARAMS_COUNT_MAX 65536

struct mlu_params {
    struct ntk_map arrays; /* values are struct mlu_array *, in the order of the file */
};

/* -EBADMSG: the file has neither format, is truncated, or is contradictory; -EFBIG: it exceeds a
 * limit; -ENOTSUP: unknown element type; -EEXIST: duplicate name. */
int mlu_params_parse(const void *bytes, size_t bytes_count, struct mlu_params *out_params,
                     struct ntk_err *err);
int mlu_params_read(const char *path, struct mlu_params *out_params, struct ntk_err *err);
void mlu_params_fini(struct mlu_params *params);

/* Returns NULL if no array has this name. */
const struct mlu_array *mlu_params_get(const struct mlu_params *params, const char *name);
/* Takes ownership of the array, even on failure. */
int mlu_params_add(struct mlu_params *params, const char *name, struct mlu_array *array,
                   struct ntk_err *err);
/* Writes the raw file format. */
int mlu_params_write(const struct mlu_params *params, const char *path, struct ntk_err *err);

#endif
