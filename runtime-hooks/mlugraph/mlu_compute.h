/* SPDX-License-Identifier: MIT */
/*
 * mlu_compute - operators in plain loops over host memory.
 *
 * Nodes of the CPU run this, and MLU results are compared with it. Sums are computed in double and
 * rounded once to the output type, so results do not depend on threads or machine. Shapes and types
 * are those accepted by mlu_infer().
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_H

#include "runtime-hooks/mlugraph/mlu_infer.h"

/* in: per input of the node, NULL if the operator ignores it; out: written, with its shapes. */
int mlu_compute(const struct mlu_node *node, const struct mlu_op_param *param,
                const struct mlu_array *const *in, struct mlu_array *const *out,
                struct ntk_err *err);

#endif
