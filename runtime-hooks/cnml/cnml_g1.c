/* SPDX-License-Identifier: MIT */
/* cnml_g1 - calls of the first generation that have separate types or numbers. */
#include "runtime-hooks/cnml/cnml_front.h"
#include "neuware/g1/cnml.h"

/* The header maps these names to those of the second generation. */
#undef cnmlCreateTensor
#undef cnmlCreateCpuTensor
#undef cnmlGetTensorDataType
#undef cnmlGetTensorSize
#undef cnmlCompileBaseOp
#undef cnmlCompileFusionOp
cnmlStatus_t cnmlCreateTensor(cnmlTensor_t *tensor, cnmlTensorType_t type, cnmlDataType_t dtype,
                              int n, int c, int h, int w);
cnmlStatus_t cnmlCreateCpuTensor(cnmlCpuTensor_t *tensor, cnmlTensorType_t type,
                                 cnmlDataType_t dtype, cnmlDataOrder_t order, int n, int c, int h,
                                 int w);
cnmlDataType_t cnmlGetTensorDataType(cnmlTensor_t tensor);
size_t cnmlGetTensorSize(cnmlTensor_t tensor);
cnmlStatus_t cnmlCompileBaseOp(cnmlBaseOp_t op, cnmlCoreVersion_t version, int model_parallelism);
cnmlStatus_t cnmlCompileFusionOp(cnmlFusionOp_t op, cnmlCoreVersion_t version,
                                 int model_parallelism);

/* The first generation's dtype numbers are those used inside the library. */
cnmlStatus_t cnml1_CreateTensor(cnmlTensor_t *tensor, cnmlTensorType_t type, cnmlDataType_t dtype,
                                int n, int c, int h, int w)
{
    return cnmlCreateTensor(tensor, type, dtype, n, c, h, w);
}

cnmlStatus_t cnml1_CreateCpuTensor(cnmlCpuTensor_t *tensor, cnmlTensorType_t type,
                                   cnmlDataType_t dtype, cnmlDataOrder_t order, int n, int c, int h,
                                   int w)
{
    return cnmlCreateCpuTensor(tensor, type, dtype, order, n, c, h, w);
}

cnmlDataType_t cnml1_GetTensorDataType(cnmlTensor_t tensor)
{
    return cnmlGetTensorDataType(tensor);
}

unsigned int cnml1_GetTensorSize(cnmlTensor_t tensor, cnmlTensorType_t type)
{
    (void)type;
    return (unsigned int)cnmlGetTensorSize(tensor);
}

cnmlStatus_t cnml1_CompileBaseOp(cnmlBaseOp_t op, cnmlCoreVersion_t version)
{
    return cnmlCompileBaseOp(op, version, 1);
}

cnmlStatus_t cnml1_CompileFusionOp(cnmlFusionOp_t op, cnmlCoreVersion_t version)
{
    return cnmlCompileFusionOp(op, version, 1);
}

/* Number of cores, each with a part of the batch; 0 for an unknown kind of task. */
static int cores_of(cnrtFunctionType_t type)
{
    switch (type) {
    case CNRT_FUNC_TYPE_BLOCK:
    case CNRT_FUNC_TYPE_BLOCK0:
    case CNRT_FUNC_TYPE_BLOCK1:
    case CNRT_FUNC_TYPE_MUTABLE:
        return 1;
    case CNRT_FUNC_TYPE_UNION1:
        return 4;
    case CNRT_FUNC_TYPE_UNION2:
        return 8;
    case CNRT_FUNC_TYPE_UNION4:
        return 16;
    case CNRT_FUNC_TYPE_UNION8:
        return 32;
    default:
        return 0;
    }
}

cnmlStatus_t cnml1_ComputeFusionOpForward(cnmlFusionOp_t op, void *inputs[], int input_count,
                                          void *outputs[], int output_count,
                                          cnrtFunctionType_t type, cnrtStream_t stream)
{
    return (cnmlStatus_t)cnml_front_fusion(op, inputs, input_count, outputs, output_count,
                                           cores_of(type), 0, stream);
}

#define FORWARD_ONE(Compute)                                                                       \
    cnmlStatus_t cnml1_Compute##Compute##OpForward(cnmlBaseOp_t op, void *in, void *out,           \
                                                   cnrtFunctionType_t type, cnrtStream_t stream)   \
    {                                                                                              \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_ONE, &in, 1, &out, 1, cores_of(type), 0, \
                                           stream);                                                \
    }
#define FORWARD_TWO(Compute)                                                                      \
    cnmlStatus_t cnml1_Compute##Compute##OpForward(cnmlBaseOp_t op, void *a, void *b, void *out,  \
                                                   cnrtFunctionType_t type, cnrtStream_t stream)  \
    {                                                                                             \
        void *in[] = { a, b };                                                                    \
                                                                                                  \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_TWO, in, 2, &out, 1, cores_of(type), 0, \
                                           stream);                                               \
    }
#define FORWARD_MANY(Compute)                                                                    \
    cnmlStatus_t cnml1_Compute##Compute##OpForward(cnmlBaseOp_t op, void *in[], int in_count,    \
                                                   void *out[], int out_count,                   \
                                                   cnrtFunctionType_t type, cnrtStream_t stream) \
    {                                                                                            \
        return (cnmlStatus_t)cnml_front_op(op, CNML_FRONT_MANY, in, in_count, out, out_count,    \
                                           cores_of(type), 0, stream);                           \
    }
#define CNML_PARAM(generations, kind, Name, arguments)
#define CNML_CALL(generations, kind, type, name, arguments)
#define CNML_OP(ID, Name, Compute, operands, arity) FORWARD_##arity(Compute)
#include "runtime-hooks/cnml/cnml_ops.def"
