/* SPDX-License-Identifier: MIT */
/*
 * mlu_compute - runs operators in plain loops over host memory.
 *
 * Nodes on the CPU use it, and MLU results are compared with it. Sums are computed in double and
 * rounded once to the output type, so results do not depend on threads or the machine. Shapes and
 * types must be accepted by mlu_infer().
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_H

#include "runtime-hooks/mlugraph/mlu_infer.h"

/* in: one array per input of the node, NULL if the operator ignores it; out: arrays with their
 * shapes, which are written. */
int mlu_compute(const struct mlu_node *node, const struct mlu_op_param *param,
                const struct mlu_array *const *in, struct mlu_array *const *out,
                struct ntk_err *err);

#endif
