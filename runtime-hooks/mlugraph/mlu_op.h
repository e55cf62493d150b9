/* SPDX-License-Identifier: MIT */
/*
 * mlu_op - describes the supported operators of MXNet: the roles of inputs and the number of
 * outputs.
 *
 * Weights matter for fusion (mlu_segments.h): a weight is bound when the operator is created, so it
 * does not arrive at run time.
 *
 * Threads: any; constant data.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_H

#include <stdbool.h>
#include <stdint.h>

/* The operation of an operator; several names in MXNet may share one. */
enum mlu_op_kind {
#define MLU_OP_KIND(id) MLU_OP_##id,
#include "runtime-hooks/mlugraph/mlu_op_kind.def"
#undef MLU_OP_KIND
    MLU_OP_KIND_COUNT
};

enum mlu_role {
    MLU_ROLE_DATA,    /* arrives at run time */
    MLU_ROLE_WEIGHT,  /* a constant if it is a variable */
    MLU_ROLE_STATE,   /* a weight with the prefix "aux:" in MXNet; old files do not list it */
    MLU_ROLE_IGNORED, /* only used in training: the label of a loss */
};

struct mlu_op {
    const char *name; /* name in symbol files */
    enum mlu_op_kind kind;
    int variant; /* depends on the kind: the activation or the arithmetic */
    /* One character per input: "d", "w", "s" or "i" (enum mlu_role); "+" at the end allows any
     * number of data inputs. */
    const char *roles;
    uint8_t input_count_min;
    uint8_t output_count;  /* 0 if attribute num_outputs or the length of a list determines it */
    const char *arguments; /* names of the inputs, separated by blanks; "" with "+" */
};

/* Returns NULL if no operator has this name. */
const struct mlu_op *mlu_op_find(const char *name);
enum mlu_role mlu_op_role(const struct mlu_op *op, uint32_t input);
/* Returns the maximum number of inputs; UINT32_MAX for any number. */
uint32_t mlu_op_input_count_max(const struct mlu_op *op);
/* Copies the name of an input, such as "moving_mean". */
void mlu_op_argument(const struct mlu_op *op, uint32_t input, char *to, uint32_t to_bytes);

#endif
