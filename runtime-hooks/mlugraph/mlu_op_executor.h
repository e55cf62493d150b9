/* SPDX-License-Identifier: MIT */
/*
 * mlu_op_executor - one operator of a graph, made ready once and run many times.
 *
 * What the proposal calls OpExecutor, and MluOpExecutor when its device is an MLU. Its two kinds,
 * MluFComputeExecutor and MluStatefulComputeExecutor, differ in the owner of the operators inside
 * (internal_ops) and of the tensors between them (inter_data): the executor or the stateful
 * operator. Here that is always the operator of the device (struct mlu_device_ops), so there is one
 * kind.
 *
 * Compiling happens in the first run, as in the proposal: constants are known then.
 *
 * Owner:   caller's storage, _fini frees; the values it reads and writes are borrowed.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_EXECUTOR_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_EXECUTOR_H

#include "runtime-hooks/mlugraph/mlu_ndarray.h"

struct mlu_op_executor {
    const struct mlu_symbol *symbol;
    const struct mlu_node *node;
    struct mlu_op_param param;
    struct mlu_ndarray **in_array; /* NULL where the operator ignores its input */
    struct mlu_ndarray **out_array;
    const struct mlu_stream *stream; /* NULL: the CPU */
    void *op;                        /* of the device */
    void **constants;                /* tensors per input, NULL where it is not a constant */
    bool is_fused;                   /* compiled and run with its fusion operator */
    bool is_bound;
    bool is_compiled; /* compile_ of the proposal, the other way round */
    char *why_on_cpu; /* it is to be on an MLU, which cannot compute it: what the MLU says */
};

/* Init(): tensors, constants without their values yet, the operator of the device. Nothing to do
 * for one of the CPU; one that the device does not have becomes one of the CPU. */
int mlu_op_executor_init(struct mlu_op_executor *executor, struct ntk_err *err);
void mlu_op_executor_fini(struct mlu_op_executor *executor);
/* Gives the constants their values, once. */
int mlu_op_executor_bind(struct mlu_op_executor *executor, struct ntk_err *err);
/* Run(): compiled first when it was not, then what it reads is brought where it is. */
int mlu_op_executor_run(struct mlu_op_executor *executor, struct ntk_err *err);

#endif
