/* SPDX-License-Identifier: MIT */
/*
 * mlu_infer - derives shapes and types of an operator's outputs from its inputs.
 *
 * Shapes and types are also checked against each other, so that computation can rely on them.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_INFER_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_INFER_H

#include "runtime-hooks/mlugraph/mlu_op_param.h"

struct mlu_type {
    enum mlu_dtype dtype;
    struct mlu_shape shape;
};

/* in: one type per input of the node, NULL if the operator ignores it; out: output_count types of
 * the node. -EINVAL: the inputs do not fit; -EFBIG, -ENOTSUP. */
int mlu_infer(const struct mlu_node *node, const struct mlu_op_param *param,
              const struct mlu_type *const *in, struct mlu_type *out, struct ntk_err *err);

/* Converts an axis, which may count from the end, for this number of dimensions; false if out of
 * range. */
bool mlu_axis_of(int64_t axis, uint32_t dim_count, uint32_t *out_axis);

#endif
