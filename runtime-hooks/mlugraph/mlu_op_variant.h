/* SPDX-License-Identifier: MIT */
/* mlu_op_variant - the variants of operators (struct mlu_op.variant). */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_VARIANT_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_VARIANT_H

enum mlu_active {
    MLU_ACTIVE_BY_TYPE, /* selected by attribute act_type */
    MLU_ACTIVE_RELU,
    MLU_ACTIVE_SIGMOID,
    MLU_ACTIVE_TANH,
};

enum mlu_softmax {
    MLU_SOFTMAX_OUTPUT,     /* over the rest of each row, or over axis 1 with multi_output */
    MLU_SOFTMAX_AXIS,       /* over the attribute axis, by default the last one */
    MLU_SOFTMAX_ACTIVATION, /* over the rest of each row, or over axis 1 with mode channel */
};

enum mlu_binary {
    MLU_BINARY_ADD,
    MLU_BINARY_SUB,
    MLU_BINARY_MUL,
    MLU_BINARY_DIV,
};

#endif
