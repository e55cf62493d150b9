/* SPDX-License-Identifier: MIT */
/*
 * mlu_op_executor - prepares one operator of a graph once and runs it many times.
 *
 * The proposal calls it OpExecutor, and MluOpExecutor if its device is an MLU. Its two kinds,
 * MluFComputeExecutor and MluStatefulComputeExecutor, differ in the owner of the operators inside
 * (internal_ops) and of the tensors between them (inter_data): the executor or the stateful
 * operator. Here the owner is always the operator of the device (struct mlu_device_ops), so there
 * is one kind.
 *
 * The first run compiles the operator, as in the proposal, because constants are known then.
 *
 * Owner:   the caller provides the storage, _fini frees the content; the values that an operator
 *          reads and writes are borrowed.
 * Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_EXECUTOR_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_EXECUTOR_H

#include "runtime-hooks/mlugraph/mlu_ndarray.h"

struct mlu_op_executor {
    const struct mlu_symbol *symbol;
    const struct mlu_node *node;
    struct mlu_op_param param;
    struct mlu_ndarray **in_array; /* an entry is NULL if the operator ignores this input */
    struct mlu_ndarray **out_array;
    const struct mlu_stream *stream; /* NULL for the CPU */
    void *op;                        /* operator of the device */
    void **constants;                /* tensors by input, NULL if not constant */
    bool is_fused;                   /* compiled and run by its fusion operator */
    bool is_bound;
    bool is_compiled; /* the opposite of compile_ in the proposal */
    char *why_on_cpu; /* reason why the requested MLU does not support the operator; else NULL */
};

/* Init(): creates tensors, constants without values, and the operator of the device. Does nothing
 * for the CPU; an operator that the device lacks moves to the CPU. */
int mlu_op_executor_init(struct mlu_op_executor *executor, struct ntk_err *err);
void mlu_op_executor_fini(struct mlu_op_executor *executor);
/* Sets the values of constants, once. */
int mlu_op_executor_bind(struct mlu_op_executor *executor, struct ntk_err *err);
/* Run(): compiles the operator if necessary, then copies its inputs to its device and runs it. */
int mlu_op_executor_run(struct mlu_op_executor *executor, struct ntk_err *err);

#endif
