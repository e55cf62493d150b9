/* SPDX-License-Identifier: MIT */
/* cnml_g2 - forward calls of the second generation, with and without _V3, and calls common to all
 * fronts. */
#include "runtime-hooks/cnml/cnml_front.h"
#include "runtime-hooks/cnml/cnml_internal.h"

static int how_make(struct cnml_how *how, int data_parallelism, uint64_t clusters)
{
    if (data_parallelism < 1) {
        return CNML_STATUS_INVALIDARG;
    }
    *how = (struct cnml_how){ data_parallelism, (unsigned)clusters };
    return CNML_STATUS_SUCCESS;
}

int cnml_front_op(struct cnmlBaseOp *op, int arity, void *const *in, int in_count, void *const *out,
                  int out_count, int data_parallelism, uint64_t clusters, void *queue)
{
    struct cnml_how how;
    int status = how_make(&how, data_parallelism, clusters);

    return status == CNML_STATUS_SUCCESS
               ? cnml_op_forward(op, arity, in, in_count, out, out_count, &how, queue)
               : status;
}

int cnml_front_fusion(struct cnmlFusionOp *op, void *const *in, int in_count, void *const *out,
                      int out_count, int data_parallelism, uint64_t clusters, void *queue)
{
    struct cnml_how how;
    int status = how_make(&how, data_parallelism, clusters);

    return status == CNML_STATUS_SUCCESS
               ? cnml_fusion_forward(op, in, in_count, out, out_count, &how, queue)
               : status;
}

static int parallelism(const cnrtInvokeFuncParam_t *how)
{
    return how && how->data_parallelism ? *how->data_parallelism : 1;
}

static uint64_t clusters(const cnrtInvokeFuncParam_t *how)
{
    return how && how->affinity ? *how->affinity : 0;
}

cnmlStatus_t cnmlComputeFusionOpForward(cnmlFusionOp_t op, void *inputs[], int input_count,
                                        void *outputs[], int output_count,
                                        cnrtInvokeFuncParam_t *how, cnrtQueue_t queue)
{
    return (cnmlStatus_t)cnml_front_fusion(op, inputs, input_count, outputs, output_count,
                                           parallelism(how), clusters(how), queue);
}

cnmlStatus_t cnmlComputeFusionOpForward_V3(cnmlFusionOp_t op, void *inputs[], int input_count,
                                           void *outputs[], int output_count,
                                           cnrtInvokeFuncParam_t *how, cnrtQueue_t queue)
{
    return cnmlComputeFusionOpForward(op, inputs, input_count, outputs, output_count, how, queue);
}

#define ONE(name)                                                                                 \
    cnmlStatus_t name(cnmlBaseOp_t op, void *in, void *out, cnrtInvokeFuncParam_t *how,           \
                      cnrtQueue_t queue)                                                          \
    {                                                                                             \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_ONE, &in, 1, &out, 1, parallelism(how), \
                                           clusters(how), queue);                                 \
    }
#define TWO(name)                                                                                \
    cnmlStatus_t name(cnmlBaseOp_t op, void *a, void *b, void *out, cnrtInvokeFuncParam_t *how,  \
                      cnrtQueue_t queue)                                                         \
    {                                                                                            \
        void *in[] = { a, b };                                                                   \
                                                                                                 \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_TWO, in, 2, &out, 1, parallelism(how), \
                                           clusters(how), queue);                                \
    }
#define MANY(name)                                                                            \
    cnmlStatus_t name(cnmlBaseOp_t op, void *in[], int in_count, void *out[], int out_count,  \
                      cnrtInvokeFuncParam_t *how, cnrtQueue_t queue)                          \
    {                                                                                         \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_MANY, in, in_count, out, out_count, \
                                           parallelism(how), clusters(how), queue);           \
    }
#define CNML_PARAM(generations, kind, Name, arguments)
#define CNML_CALL(generations, kind, type, name, arguments)
#define CNML_OP(ID, Name, Compute, operands, arity) \
    arity(cnmlCompute##Compute##OpForward) arity(cnmlCompute##Compute##OpForward_V3)
#include "runtime-hooks/cnml/cnml_ops.def"
