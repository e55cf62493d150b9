/* SPDX-License-Identifier: MIT */
/*
 * mlu_cnml_library - opens libcnml at run time, from this project or another, with the calls of its
 * second generation that MLUs need.
 *
 * The library is $NEURON_LIBCNML when set, else the file near the program (../lib), else in
 * $NEUWARE_HOME (lib64), else the library that the loader finds. It loads libcnrt, and calls of
 * libcnrt are found through it.
 *
 * Owner:   the library stays open until the process exits, because it has threads.
 * Threads: read-only after opening.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_CNML_LIBRARY_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_CNML_LIBRARY_H

#include "neuware/g2/cnml.h"
#include "shared/base/err.h"

/* One row per call: the table is the struct and the list of symbols. */
#define MLU_CNML_CALLS(X)                   \
    X(cnmlInit)                             \
    X(cnmlExit)                             \
    X(cnrtGetDeviceHandle)                  \
    X(cnrtSetCurrentDevice)                 \
    X(cnrtGetErrorStr)                      \
    X(cnrtCreateQueue)                      \
    X(cnrtDestroyQueue)                     \
    X(cnrtSyncQueue)                        \
    X(cnmlCreateTensor)                     \
    X(cnmlDestroyTensor)                    \
    X(cnmlCreateCpuTensor)                  \
    X(cnmlDestroyCpuTensor)                 \
    X(cnmlBindConstData)                    \
    X(cnmlMallocBuffer)                     \
    X(cnmlFreeBuffer)                       \
    X(cnmlMemcpyTensorToDevice)             \
    X(cnmlMemcpyTensorToHost)               \
    X(cnmlCompileBaseOp)                    \
    X(cnmlDestroyBaseOp)                    \
    X(cnmlCreateFusionOp)                   \
    X(cnmlDestroyFusionOp)                  \
    X(cnmlFuseOp)                           \
    X(cnmlSetFusionIO)                      \
    X(cnmlCompileFusionOp)                  \
    X(cnmlComputeFusionOpForward_V3)        \
    X(cnmlCreateConvOpParam)                \
    X(cnmlDestroyConvOpParam)               \
    X(cnmlCreateConvOp)                     \
    X(cnmlComputeConvOpForward_V3)          \
    X(cnmlCreateConvGroupOp)                \
    X(cnmlComputeConvGroupOpForward_V3)     \
    X(cnmlCreateDeconvOpParam)              \
    X(cnmlDestroyDeconvOpParam)             \
    X(cnmlCreateDeconvOp)                   \
    X(cnmlComputeDeConvOpForward_V3)        \
    X(cnmlCreateMlpOp)                      \
    X(cnmlComputeMlpOpForward_V3)           \
    X(cnmlCreatePoolOpParam)                \
    X(cnmlDestroyPoolOpParam)               \
    X(cnmlCreatePoolOp)                     \
    X(cnmlComputePoolOpForward_V3)          \
    X(cnmlCreateActiveOp)                   \
    X(cnmlComputeActiveOpForward_V3)        \
    X(cnmlCreateSoftmaxOp)                  \
    X(cnmlComputeSoftmaxOpForward_V3)       \
    X(cnmlCreateBatchNormOp)                \
    X(cnmlComputeBatchNormOpForward_V3)     \
    X(cnmlCreateScaleOp)                    \
    X(cnmlComputeScaleOpForward_V3)         \
    X(cnmlCreateAddPadOpParam)              \
    X(cnmlDestroyAddPadOpParam)             \
    X(cnmlCreateAddPadOp)                   \
    X(cnmlComputeAddPadOpForward_V3)        \
    X(cnmlCreateAddOp)                      \
    X(cnmlComputeAddOpForward_V3)           \
    X(cnmlCreateSubOp)                      \
    X(cnmlComputeSubOpForward_V3)           \
    X(cnmlCreateMultOp)                     \
    X(cnmlComputeMultOpForward_V3)          \
    X(cnmlCreateRealDivOp)                  \
    X(cnmlComputeRealDivOpForward_V3)       \
    X(cnmlCreateBroadcastAddOp)             \
    X(cnmlComputeBroadcastAddOpForward_V3)  \
    X(cnmlCreateBroadcastSubOp)             \
    X(cnmlComputeBroadcastSubOpForward_V3)  \
    X(cnmlCreateBroadcastMultOp)            \
    X(cnmlComputeBroadcastMultOpForward_V3) \
    X(cnmlCreateConcatOpParam)              \
    X(cnmlDestroyConcatOpParam)             \
    X(cnmlCreateConcatOp)                   \
    X(cnmlComputeConcatOpForward_V3)        \
    X(cnmlCreateSplitOpParam)               \
    X(cnmlDestroySplitOpParam)              \
    X(cnmlCreateSplitOp)                    \
    X(cnmlComputeSplitOpForward_V3)         \
    X(cnmlCreateReshapeOpParam)             \
    X(cnmlDestroyReshapeOpParam)            \
    X(cnmlCreateReshapeOp)                  \
    X(cnmlComputeReshapeOpForward_V3)       \
    X(cnmlCreateTransposeOp)                \
    X(cnmlComputeTransposeOpForward_V3)     \
    X(cnmlCreateCastOp)                     \
    X(cnmlComputeCastOpForward_V3)          \
    X(cnmlCreateDeviceMemcpyOp)             \
    X(cnmlComputeDeviceMemcpyOpForward_V3)

struct mlu_cnml {
#define MEMBER(name) __typeof__(name) *name;
    MLU_CNML_CALLS(MEMBER)
#undef MEMBER
};

/* -ELIBACC: no library was found; -ENOSYS: a required call is missing. */
int mlu_cnml_open(struct mlu_cnml *out_cnml, struct ntk_err *err);

#endif
