/* SPDX-License-Identifier: MIT */
/*
 * mlu_compute - what operators compute, in plain loops over host memory.
 *
 * This is what nodes of the CPU run, and what an MLU is compared with. Sums are kept in double and
 * rounded once, to the type of the output; the result depends on neither threads nor machine.
 * Shapes and types are those that mlu_infer() accepted.
 *
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_COMPUTE_H

#include "runtime-hooks/mlugraph/mlu_infer.h"

/* in: per input of the node, NULL where the operator ignores it; out: of its shapes, written. */
int mlu_compute(const struct mlu_node *node, const struct mlu_op_param *param,
                const struct mlu_array *const *in, struct mlu_array *const *out,
                struct ntk_err *err);

#endif
