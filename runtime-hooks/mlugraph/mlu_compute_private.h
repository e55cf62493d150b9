/* SPDX-License-Identifier: MIT */
/*
 * mlu_compute_private - the kernels of mlu_compute(), by subject.
 *
 * Owner:   the caller frees results with free().
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_PRIVATE_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_PRIVATE_H

#include "runtime-hooks/mlugraph/mlu_compute.h"

/* One operator with its inputs and outputs. */
struct mlu_call {
    const struct mlu_node *node;
    const struct mlu_op_param *param;
    const struct mlu_array *const *in;
    struct mlu_array *const *out;
    struct ntk_err *err;
};

/* Returns the elements as doubles; the caller frees them with free(). NULL if out of memory. */
double *mlu_compute_doubles(const struct mlu_array *array);

/* In mlu_compute_window.c: sums over windows and rows */
int mlu_compute_convolution(const struct mlu_call *call);
int mlu_compute_deconvolution(const struct mlu_call *call);
int mlu_compute_fully_connected(const struct mlu_call *call);
int mlu_compute_pooling(const struct mlu_call *call);
/* In mlu_compute_move.c: moves elements unchanged */
void mlu_compute_copy(const struct mlu_call *call);
void mlu_compute_concat(const struct mlu_call *call);
void mlu_compute_split(const struct mlu_call *call);
void mlu_compute_transpose(const struct mlu_call *call);
void mlu_compute_pad(const struct mlu_call *call);

#endif
