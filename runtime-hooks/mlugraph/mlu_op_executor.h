/* SPDX-License-Identifier: MIT */
/*
 * mlu_op_executor - one operator of a graph, prepared once and run many times.
 *
 * The proposal calls it OpExecutor, and MluOpExecutor if its device is an MLU. Its two kinds,
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
    struct mlu_ndarray **in_array; /* NULL if the operator ignores this input */
    struct mlu_ndarray **out_array;
    const struct mlu_stream *stream; /* NULL: the CPU */
    void *op;                        /* of the device */
    void **constants;                /* tensors per input, NULL if not constant */
    bool is_fused;                   /* compiled and run with its fusion operator */
    bool is_bound;
    bool is_compiled; /* the opposite of compile_ in the proposal */
    char *why_on_cpu; /* requested on an MLU, which does not support it: the reason */
};

/* Init(): tensors, constants without values, the operator of the device. Nothing for the CPU; an
 * operator that the device lacks moves to the CPU. */
int mlu_op_executor_init(struct mlu_op_executor *executor, struct ntk_err *err);
void mlu_op_executor_fini(struct mlu_op_executor *executor);
/* Sets the values of constants, once. */
int mlu_op_executor_bind(struct mlu_op_executor *executor, struct ntk_err *err);
/* Run(): compiles it if necessary, then copies its inputs to where it runs. */
int mlu_op_executor_run(struct mlu_op_executor *executor, struct ntk_err *err);

#endif
