/* SPDX-License-Identifier: MIT */
/* cnml_g3 - calls that only the third generation has, or that use its types. */
#include "runtime-hooks/cnml/cnml_front.h"
#include "neuware/g3/cnml.h"

/* The tensors of a call must match the compiled ones; this is not checked. */
cnmlStatus_t cnmlComputeFusionOpForward_V4(cnmlFusionOp_t op, cnmlTensor_t input_tensors[],
                                           void *inputs[], int input_count,
                                           cnmlTensor_t output_tensors[], void *outputs[],
                                           int output_count, cnrtQueue_t queue, void *extra)
{
    (void)input_tensors;
    (void)output_tensors;
    (void)extra;
    return (cnmlStatus_t)cnml_front_fusion(op, inputs, input_count, outputs, output_count, 1, 0,
                                           queue);
}

#define FORWARD_ONE(Compute)                                                                      \
    cnmlStatus_t cnmlCompute##Compute##OpForward_V4(cnmlBaseOp_t op, cnmlTensor_t in_tensor,      \
                                                    void *in, cnmlTensor_t out_tensor, void *out, \
                                                    cnrtQueue_t queue, void *extra)               \
    {                                                                                             \
        (void)in_tensor;                                                                          \
        (void)out_tensor;                                                                         \
        (void)extra;                                                                              \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_ONE, &in, 1, &out, 1, 1, 0, queue);     \
    }
#define FORWARD_TWO(Compute)                                                                 \
    cnmlStatus_t cnmlCompute##Compute##OpForward_V4(                                         \
        cnmlBaseOp_t op, cnmlTensor_t a_tensor, void *a, cnmlTensor_t b_tensor, void *b,     \
        cnmlTensor_t out_tensor, void *out, cnrtQueue_t queue, void *extra)                  \
    {                                                                                        \
        void *in[] = { a, b };                                                               \
                                                                                             \
        (void)a_tensor;                                                                      \
        (void)b_tensor;                                                                      \
        (void)out_tensor;                                                                    \
        (void)extra;                                                                         \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_TWO, in, 2, &out, 1, 1, 0, queue); \
    }
#define FORWARD_MANY(Compute)                                                                    \
    cnmlStatus_t cnmlCompute##Compute##OpForward_V4(                                             \
        cnmlBaseOp_t op, cnmlTensor_t in_tensors[], void *in[], int in_count,                    \
        cnmlTensor_t out_tensors[], void *out[], int out_count, cnrtQueue_t queue, void *extra)  \
    {                                                                                            \
        (void)in_tensors;                                                                        \
        (void)out_tensors;                                                                       \
        (void)extra;                                                                             \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_MANY, in, in_count, out, out_count, 1, \
                                           0, queue);                                            \
    }
#define CNML_PARAM(generations, kind, Name, arguments)
#define CNML_CALL(generations, kind, type, name, arguments)
#define CNML_OP(ID, Name, Compute, operands, arity) FORWARD_##arity(Compute)
#include "runtime-hooks/cnml/cnml_ops.def"
