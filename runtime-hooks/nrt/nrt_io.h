/* SPDX-License-Identifier: MIT */
/*
 * nrt_io - holds the tensors of a loaded model in the two sets that an execution reads and writes.
 *
 * Owner:   the caller provides zeroed storage; ntk_nrt_io_close() frees the content, also after a
 *          failure, including tensors that the caller puts into `tensors`.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_NRT_NRT_IO_H
#define NTK_RUNTIME_HOOKS_NRT_NRT_IO_H

#include "runtime-hooks/nrt/nrt_library.h"

enum { NTK_NRT_IO_READ, NTK_NRT_IO_WRITTEN };

struct ntk_nrt_io {
    nrt_tensor_info_array_t *infos;
    nrt_tensor_set_t *sets[2];
    nrt_tensor_t **tensors; /* one per entry of infos */
};

/* Reads the tensors of the model, and creates two empty sets and space for the tensors. *out_call
 * is the name of the failed call. */
NRT_STATUS ntk_nrt_io_open(const struct ntk_nrt *nrt, nrt_model_t *model, struct ntk_nrt_io *io,
                           const char **out_call);
/* Adds tensor `index` to its set; a missing tensor is allocated on the core with the required
 * size. */
NRT_STATUS ntk_nrt_io_add(const struct ntk_nrt *nrt, struct ntk_nrt_io *io, size_t index, int core,
                          const char **out_call);
void ntk_nrt_io_close(const struct ntk_nrt *nrt, struct ntk_nrt_io *io);

#endif
