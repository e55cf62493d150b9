/* SPDX-License-Identifier: MIT */
/*
 * cnml - operators on tensors: the CNML interface of generation 1.
 *
 * Made by runtime-hooks/cnml/cnml_headers.sh from cnml_ops.def there; docs/cnml-status.md says what
 * each call does here. Sources are compatible with the vendor's, binaries are not.
 */
#ifndef NTK_NEUWARE_G1_CNML_H
#define NTK_NEUWARE_G1_CNML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cnrt.h"

/* What C++ may leave out. */
#ifdef __cplusplus
#define CNML_OR(value) = value
#else
#define CNML_OR(value)
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cnmlBaseOp *cnmlBaseOp_t;
typedef struct cnmlFusionOp *cnmlFusionOp_t;
typedef struct cnmlModel *cnmlModel_t;
typedef struct cnmlTensor *cnmlTensor_t;
typedef struct cnmlCpuTensor *cnmlCpuTensor_t;
typedef struct cnmlConvOpParam *cnmlConvOpParam_t;
typedef struct cnmlConvDepthwiseOpParam *cnmlConvDepthwiseOpParam_t;
typedef struct cnmlConvFirstOpParam *cnmlConvFirstOpParam_t;
typedef struct cnmlDeconvOpParam *cnmlDeconvOpParam_t;
typedef struct cnmlAddPadOpParam *cnmlAddPadOpParam_t;
typedef struct cnmlPoolOpParam *cnmlPoolOpParam_t;
typedef struct cnmlL2_PoolOpParam *cnmlL2_PoolOpParam_t;
typedef struct cnmlConcatOpParam *cnmlConcatOpParam_t;
typedef struct cnmlSplitOpParam *cnmlSplitOpParam_t;
typedef struct cnmlReshapeOpParam *cnmlReshapeOpParam_t;

typedef enum {
    CNML_STATUS_NODEVICE = -1,
    CNML_STATUS_SUCCESS = 0,
    CNML_STATUS_DOMAINERR = 1,
    CNML_STATUS_INVALIDARG = 2,
    CNML_STATUS_LENGTHERR = 3,
    CNML_STATUS_OUTOFRANGE = 4,
    CNML_STATUS_RANGEERR = 5,
    CNML_STATUS_OVERFLOWERR = 6,
    CNML_STATUS_UNDERFLOWERR = 7,
    CNML_STATUS_INVALIDPARAM = 8,
    CNML_STATUS_BADALLOC = 9,
    CNML_STATUS_BADTYPEID = 10,
    CNML_STATUS_BADCAST = 11,
    CNML_STATUS_UNSUPPORT = 12,
} cnmlStatus_t;

typedef enum {
    CNML_1H8 = 1,
    CNML_1H16 = 2,
    CNML_C10 = 3,
} cnmlCoreVersion_t;

typedef enum {
    CNML_TENSOR = 0,
    CNML_FILTER = 1,
    CNML_CONST = 2,
} cnmlTensorType_t;

typedef enum {
    CNML_DATA_INVALID = 0,
    CNML_DATA_FLOAT16 = 1,
    CNML_DATA_FLOAT32 = 2,
    CNML_DATA_DOUBLE = 3,
    CNML_DATA_FIX8 = 4,
    CNML_DATA_INT8 = 5,
    CNML_DATA_INT16 = 6,
    CNML_DATA_INT32 = 7,
    CNML_DATA_UINT8 = 8,
    CNML_DATA_UINT16 = 9,
    CNML_DATA_UINT32 = 10,
    CNML_DATA_QUANT8 = 11,
    CNML_DATA_BINARY = 12,
    CNML_DATA_BOOL = 13,
} cnmlDataType_t;

typedef enum {
    CNML_NCHW = 0,
    CNML_NCWH = 1,
    CNML_NHCW = 2,
    CNML_NHWC = 3,
    CNML_NWHC = 4,
    CNML_NWCH = 5,
    CNML_CNHW = 6,
    CNML_CNWH = 7,
    CNML_CHNW = 8,
    CNML_CHWN = 9,
    CNML_CWHN = 10,
    CNML_CWNH = 11,
    CNML_HCNW = 12,
    CNML_HCWN = 13,
    CNML_HNCW = 14,
    CNML_HNWC = 15,
    CNML_HWNC = 16,
    CNML_HWCN = 17,
    CNML_WCHN = 18,
    CNML_WCNH = 19,
    CNML_WHCN = 20,
    CNML_WHNC = 21,
    CNML_WNHC = 22,
    CNML_WNCH = 23,
} cnmlDataOrder_t;

typedef enum {
    CNML_ACTIVE_NONE = 0,
    CNML_ACTIVE_SIGMOID = 1,
    CNML_ACTIVE_RELU = 2,
    CNML_ACTIVE_TANH = 3,
    CNML_ACTIVE_RELU1 = 4,
    CNML_ACTIVE_RELU6 = 5,
} cnmlActiveFunction_t;

typedef enum {
    CNML_POOL_AVG = 0,
    CNML_POOL_MAX = 1,
} cnmlPoolMode_t;

typedef enum {
    CNML_POOL_KFULL = 0,
    CNML_POOL_KVALID = 1,
} cnmlPoolStrategyMode_t;

typedef enum {
    CNML_NoSparse = 0,
    CNML_Sparse = 1,
} cnmlSparseMode_t;

typedef enum {
    CNML_SOFTMAX_DIM_C = 1,
    CNML_SOFTMAX_DIM_W = 2,
    CNML_SOFTMAX_DIM_H = 3,
    CNML_SOFTMAX_DIM_N = 4,
} cnmlSoftmaxDim_t;

typedef enum {
    CNML_DIM_N = 0,
    CNML_DIM_C = 1,
    CNML_DIM_H = 2,
    CNML_DIM_W = 3,
} cnmlDimension_t;

typedef enum {
    CNML_CONCAT_FEAT = 0,
    CNML_CONCAT_BATCH = 1,
    CNML_CONCAT_HIGHT = 2,
    CNML_CONCAT_WIDTH = 3,
} cnmlConcatMode_t;

typedef enum {
    CNML_SPLIT_FEAT = 0,
    CNML_SPLIT_BATCH = 1,
    CNML_SPLIT_HIGHT = 2,
    CNML_SPLIT_WIDTH = 3,
} cnmlSplitMode_t;

typedef enum {
    CNML_CAST_FLOAT32_TO_UINT8 = 0,
    CNML_CAST_UINT8_TO_FLOAT32 = 1,
    CNML_CAST_INT8_TO_FLOAT16 = 2,
    CNML_CAST_FIX8_TO_FLOAT16 = 3,
    CNML_CAST_FLOAT16_TO_FLOAT32 = 4,
    CNML_CAST_FLOAT16_TO_FIX8 = 5,
    CNML_CAST_FLOAT32_TO_FLOAT16 = 6,
    CNML_CAST_INT16_TO_FLOAT16 = 7,
    CNML_CAST_FLOAT16_TO_INT16 = 8,
} cnmlCastType_t;

cnmlStatus_t cnmlCreateConvOpParam(cnmlConvOpParam_t *param, int stride_h, int stride_w,
                                   int dilation_h, int dilation_w, int pad_h CNML_OR(0),
                                   int pad_w CNML_OR(0),
                                   cnmlSparseMode_t sparse CNML_OR(CNML_NoSparse));
cnmlStatus_t cnmlDestroyConvOpParam(cnmlConvOpParam_t *param);
cnmlStatus_t cnmlCreateConvDepthwiseOpParam(cnmlConvDepthwiseOpParam_t *param, int stride_h,
                                            int stride_w);
cnmlStatus_t cnmlDestroyConvDepthwiseOpParam(cnmlConvDepthwiseOpParam_t *param);
cnmlStatus_t cnmlCreateConvFirstOpParam(cnmlConvFirstOpParam_t *param, int stride_h, int stride_w,
                                        int pad_l, int pad_r, int pad_t, int pad_b,
                                        cnmlSparseMode_t sparse CNML_OR(CNML_NoSparse));
cnmlStatus_t cnmlDestroyConvFirstOpParam(cnmlConvFirstOpParam_t *param);
cnmlStatus_t cnmlCreateDeconvOpParam(cnmlDeconvOpParam_t *param, int stride_h, int stride_w,
                                     int hu_crop, int hd_crop, int wl_crop, int wr_crop);
cnmlStatus_t cnmlDestroyDeconvOpParam(cnmlDeconvOpParam_t *param);
cnmlStatus_t cnmlCreateAddPadOpParam(cnmlAddPadOpParam_t *param, int pad_h, int pad_w, float value);
cnmlStatus_t cnmlDestroyAddPadOpParam(cnmlAddPadOpParam_t *param);
cnmlStatus_t cnmlCreatePoolOpParam(cnmlPoolOpParam_t *param, int window_h, int window_w,
                                   int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h,
                                   int dilation_w, cnmlPoolMode_t mode,
                                   cnmlPoolStrategyMode_t strategy, bool real CNML_OR(false));
cnmlStatus_t cnmlDestroyPoolOpParam(cnmlPoolOpParam_t *param);
cnmlStatus_t cnmlCreateL2_PoolOpParam(cnmlL2_PoolOpParam_t *param, int window_h, int window_w,
                                      int stride_h, int stride_w, int pad_h, int pad_w,
                                      cnmlPoolMode_t mode CNML_OR(CNML_POOL_AVG));
cnmlStatus_t cnmlDestroyL2_PoolOpParam(cnmlL2_PoolOpParam_t *param);
cnmlStatus_t cnmlCreateConcatOpParam(cnmlConcatOpParam_t *param, int input_count, int output_count,
                                     cnmlConcatMode_t mode);
cnmlStatus_t cnmlDestroyConcatOpParam(cnmlConcatOpParam_t *param);
cnmlStatus_t cnmlCreateSplitOpParam(cnmlSplitOpParam_t *param, int input_count, int output_count,
                                    cnmlSplitMode_t mode);
cnmlStatus_t cnmlDestroySplitOpParam(cnmlSplitOpParam_t *param);
cnmlStatus_t cnmlCreateReshapeOpParam(cnmlReshapeOpParam_t *param, int n, int c, int h, int w,
                                      cnmlDataOrder_t order);
cnmlStatus_t cnmlDestroyReshapeOpParam(cnmlReshapeOpParam_t *param);
cnmlStatus_t cnmlCreateConvOp(cnmlBaseOp_t *op, cnmlConvOpParam_t param, cnmlTensor_t in,
                              cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias);
#define cnmlComputeConvOpForward cnml1_ComputeConvOpForward
cnmlStatus_t cnmlComputeConvOpForward(cnmlBaseOp_t op, void *in, void *out, cnrtFunctionType_t type,
                                      cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeConvOpForward(cnmlConvOpParam_t param, cnmlCpuTensor_t in_tensor,
                                         void *in, cnmlCpuTensor_t filter_tensor, void *filter,
                                         cnmlCpuTensor_t out_tensor, void *out,
                                         cnmlCpuTensor_t bias_tensor, void *bias);
cnmlStatus_t cnmlCreateConvGroupOp(cnmlBaseOp_t *op, cnmlConvOpParam_t param, cnmlTensor_t in,
                                   cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias,
                                   int group);
#define cnmlComputeConvGroupOpForward cnml1_ComputeConvGroupOpForward
cnmlStatus_t cnmlComputeConvGroupOpForward(cnmlBaseOp_t op, void *in, void *out,
                                           cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeConvGroupOpForward(cnmlConvOpParam_t param, cnmlCpuTensor_t in_tensor,
                                              void *in, cnmlCpuTensor_t filter_tensor, void *filter,
                                              cnmlCpuTensor_t out_tensor, void *out,
                                              cnmlCpuTensor_t bias_tensor, void *bias, int group);
cnmlStatus_t cnmlCreateConvDepthwiseOp(cnmlBaseOp_t *op, cnmlConvDepthwiseOpParam_t param,
                                       cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter,
                                       cnmlTensor_t bias);
#define cnmlComputeConvDepthwiseOpForward cnml1_ComputeConvDepthwiseOpForward
cnmlStatus_t cnmlComputeConvDepthwiseOpForward(cnmlBaseOp_t op, void *in, void *out,
                                               cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeConvDepthwiseOpForward(cnmlConvDepthwiseOpParam_t param,
                                                  cnmlCpuTensor_t in_tensor, void *in,
                                                  cnmlCpuTensor_t filter_tensor, void *filter,
                                                  cnmlCpuTensor_t out_tensor, void *out,
                                                  cnmlCpuTensor_t bias_tensor, void *bias);
cnmlStatus_t cnmlCreateConvFirstOp(cnmlBaseOp_t *op, cnmlConvFirstOpParam_t param, cnmlTensor_t in,
                                   cnmlTensor_t mean, cnmlTensor_t out, cnmlTensor_t filter,
                                   cnmlTensor_t bias CNML_OR(0), cnmlTensor_t std CNML_OR(0));
#define cnmlComputeConvFirstOpForward cnml1_ComputeConvFirstOpForward
cnmlStatus_t cnmlComputeConvFirstOpForward(cnmlBaseOp_t op, void *in, void *out,
                                           cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeConvFirstOpForward(
    cnmlConvFirstOpParam_t param, cnmlCpuTensor_t in_tensor, void *in, cnmlCpuTensor_t mean_tensor,
    void *mean, cnmlCpuTensor_t out_tensor, void *out, cnmlCpuTensor_t filter_tensor, void *filter,
    cnmlCpuTensor_t bias_tensor, void *bias, cnmlCpuTensor_t std_tensor, void *std);
cnmlStatus_t cnmlCreateDeconvOp(cnmlBaseOp_t *op, cnmlDeconvOpParam_t param, cnmlTensor_t in,
                                cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias,
                                int opt CNML_OR(0));
#define cnmlComputeDeConvOpForward cnml1_ComputeDeConvOpForward
cnmlStatus_t cnmlComputeDeConvOpForward(cnmlBaseOp_t op, void *in, void *out,
                                        cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeDeConvOpForward(cnmlDeconvOpParam_t param, cnmlCpuTensor_t in_tensor,
                                           void *in, cnmlCpuTensor_t filter_tensor, void *filter,
                                           cnmlCpuTensor_t out_tensor, void *out,
                                           cnmlCpuTensor_t bias_tensor, void *bias);
cnmlStatus_t cnmlCreateMlpOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                             cnmlTensor_t filter, cnmlTensor_t bias,
                             cnmlSparseMode_t sparse CNML_OR(CNML_NoSparse));
#define cnmlComputeMlpOpForward cnml1_ComputeMlpOpForward
cnmlStatus_t cnmlComputeMlpOpForward(cnmlBaseOp_t op, void *in, void *out, cnrtFunctionType_t type,
                                     cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeMlpOpForward(cnmlCpuTensor_t in_tensor, void *in,
                                        cnmlCpuTensor_t out_tensor, void *out,
                                        cnmlCpuTensor_t filter_tensor, void *filter,
                                        cnmlCpuTensor_t bias_tensor, void *bias);
cnmlStatus_t cnmlCreatePoolOp(cnmlBaseOp_t *op, cnmlPoolOpParam_t param, cnmlTensor_t in,
                              cnmlTensor_t out);
#define cnmlComputePoolOpForward cnml1_ComputePoolOpForward
cnmlStatus_t cnmlComputePoolOpForward(cnmlBaseOp_t op, void *in, void *out, cnrtFunctionType_t type,
                                      cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputePoolOpForward(cnmlPoolOpParam_t param, cnmlCpuTensor_t in_tensor,
                                         void *in, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateL2_PoolOp(cnmlBaseOp_t *op, cnmlL2_PoolOpParam_t param, cnmlTensor_t in,
                                 cnmlTensor_t out);
#define cnmlComputeL2_PoolOpForward cnml1_ComputeL2_PoolOpForward
cnmlStatus_t cnmlComputeL2_PoolOpForward(cnmlBaseOp_t op, void *in, void *out,
                                         cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeL2_PoolOpForward(cnmlL2_PoolOpParam_t param, cnmlCpuTensor_t in_tensor,
                                            void *in, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateActiveOp(cnmlBaseOp_t *op, cnmlActiveFunction_t function, cnmlTensor_t in,
                                cnmlTensor_t out);
#define cnmlComputeActiveOpForward cnml1_ComputeActiveOpForward
cnmlStatus_t cnmlComputeActiveOpForward(cnmlBaseOp_t op, void *in, void *out,
                                        cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeActiveOpForward(cnmlActiveFunction_t function, cnmlCpuTensor_t in_tensor,
                                           void *in, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateSoftmaxOp(cnmlBaseOp_t *op, cnmlSoftmaxDim_t dim, cnmlTensor_t in,
                                 cnmlTensor_t out);
#define cnmlComputeSoftmaxOpForward cnml1_ComputeSoftmaxOpForward
cnmlStatus_t cnmlComputeSoftmaxOpForward(cnmlBaseOp_t op, void *in, void *out,
                                         cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeSoftmaxOpForward(cnmlSoftmaxDim_t dim, cnmlCpuTensor_t in_tensor,
                                            void *in, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateBatchNormOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                                   cnmlTensor_t mean, cnmlTensor_t var);
#define cnmlComputeBatchNormOpForward cnml1_ComputeBatchNormOpForward
cnmlStatus_t cnmlComputeBatchNormOpForward(cnmlBaseOp_t op, void *in, void *out,
                                           cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeBatchNormOpForward(cnmlCpuTensor_t in_tensor, void *in,
                                              cnmlCpuTensor_t out_tensor, void *out,
                                              cnmlCpuTensor_t mean_tensor, void *mean,
                                              cnmlCpuTensor_t var_tensor, void *var);
cnmlStatus_t cnmlCreateScaleOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                               cnmlTensor_t alpha, cnmlTensor_t beta);
#define cnmlComputeScaleOpForward cnml1_ComputeScaleOpForward
cnmlStatus_t cnmlComputeScaleOpForward(cnmlBaseOp_t op, void *in, void *out,
                                       cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeScaleOpForward(cnmlCpuTensor_t in_tensor, void *in,
                                          cnmlCpuTensor_t out_tensor, void *out,
                                          cnmlCpuTensor_t alpha_tensor, void *alpha,
                                          cnmlCpuTensor_t beta_tensor, void *beta);
cnmlStatus_t cnmlCreateAddPadOp(cnmlBaseOp_t *op, cnmlAddPadOpParam_t param, cnmlTensor_t in,
                                cnmlTensor_t out);
#define cnmlComputeAddPadOpForward cnml1_ComputeAddPadOpForward
cnmlStatus_t cnmlComputeAddPadOpForward(cnmlBaseOp_t op, void *in, void *out,
                                        cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeAddPadOpForward(cnmlAddPadOpParam_t param, cnmlCpuTensor_t in_tensor,
                                           void *in, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateAddOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b, cnmlTensor_t out);
#define cnmlComputeAddOpForward cnml1_ComputeAddOpForward
cnmlStatus_t cnmlComputeAddOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                     cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeAddOpForward(cnmlCpuTensor_t a_tensor, void *a, cnmlCpuTensor_t b_tensor,
                                        void *b, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateSubOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b, cnmlTensor_t out);
#define cnmlComputeSubOpForward cnml1_ComputeSubOpForward
cnmlStatus_t cnmlComputeSubOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                     cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeSubOpForward(cnmlCpuTensor_t a_tensor, void *a, cnmlCpuTensor_t b_tensor,
                                        void *b, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateMultOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b, cnmlTensor_t out);
#define cnmlComputeMultOpForward cnml1_ComputeMultOpForward
cnmlStatus_t cnmlComputeMultOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                      cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeMultOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                         cnmlCpuTensor_t b_tensor, void *b,
                                         cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateRealDivOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                 cnmlTensor_t out);
#define cnmlComputeRealDivOpForward cnml1_ComputeRealDivOpForward
cnmlStatus_t cnmlComputeRealDivOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                         cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeRealDivOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                            cnmlCpuTensor_t b_tensor, void *b,
                                            cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateBroadcastAddOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                      cnmlTensor_t out);
#define cnmlComputeBroadcastAddOpForward cnml1_ComputeBroadcastAddOpForward
cnmlStatus_t cnmlComputeBroadcastAddOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                              cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeBroadcastAddOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                                 cnmlCpuTensor_t b_tensor, void *b,
                                                 cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateBroadcastSubOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                      cnmlTensor_t out);
#define cnmlComputeBroadcastSubOpForward cnml1_ComputeBroadcastSubOpForward
cnmlStatus_t cnmlComputeBroadcastSubOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                              cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeBroadcastSubOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                                 cnmlCpuTensor_t b_tensor, void *b,
                                                 cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateBroadcastMultOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                       cnmlTensor_t out);
#define cnmlComputeBroadcastMultOpForward cnml1_ComputeBroadcastMultOpForward
cnmlStatus_t cnmlComputeBroadcastMultOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                               cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeBroadcastMultOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                                  cnmlCpuTensor_t b_tensor, void *b,
                                                  cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateCycleAddOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                  cnmlTensor_t out);
#define cnmlComputeCycleAddOpForward cnml1_ComputeCycleAddOpForward
cnmlStatus_t cnmlComputeCycleAddOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                          cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeCycleAddOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                             cnmlCpuTensor_t b_tensor, void *b,
                                             cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateCycleSubOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                  cnmlTensor_t out);
#define cnmlComputeCycleSubOpForward cnml1_ComputeCycleSubOpForward
cnmlStatus_t cnmlComputeCycleSubOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                          cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeCycleSubOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                             cnmlCpuTensor_t b_tensor, void *b,
                                             cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateCycleMultOp(cnmlBaseOp_t *op, cnmlTensor_t a, cnmlTensor_t b,
                                   cnmlTensor_t out);
#define cnmlComputeCycleMultOpForward cnml1_ComputeCycleMultOpForward
cnmlStatus_t cnmlComputeCycleMultOpForward(cnmlBaseOp_t op, void *a, void *b, void *out,
                                           cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeCycleMultOpForward(cnmlCpuTensor_t a_tensor, void *a,
                                              cnmlCpuTensor_t b_tensor, void *b,
                                              cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateConcatOp(cnmlBaseOp_t *op, cnmlConcatOpParam_t param, cnmlTensor_t in[],
                                int in_count, cnmlTensor_t out[], int out_count);
#define cnmlComputeConcatOpForward cnml1_ComputeConcatOpForward
cnmlStatus_t cnmlComputeConcatOpForward(cnmlBaseOp_t op, void *in[], int in_count, void *out[],
                                        int out_count, cnrtFunctionType_t type,
                                        cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeConcatOpForward(cnmlConcatOpParam_t param, cnmlCpuTensor_t in_tensors[],
                                           void *in[], int in_count, cnmlCpuTensor_t out_tensors[],
                                           void *out[], int out_count);
cnmlStatus_t cnmlCreateSplitOp(cnmlBaseOp_t *op, cnmlSplitOpParam_t param, cnmlTensor_t in[],
                               int in_count, cnmlTensor_t out[], int out_count);
#define cnmlComputeSplitOpForward cnml1_ComputeSplitOpForward
cnmlStatus_t cnmlComputeSplitOpForward(cnmlBaseOp_t op, void *in[], int in_count, void *out[],
                                       int out_count, cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeSplitOpForward(cnmlSplitOpParam_t param, cnmlCpuTensor_t in_tensors[],
                                          void *in[], int in_count, cnmlCpuTensor_t out_tensors[],
                                          void *out[], int out_count);
cnmlStatus_t cnmlCreateReshapeOp(cnmlBaseOp_t *op, cnmlReshapeOpParam_t param, cnmlTensor_t in,
                                 cnmlTensor_t out);
#define cnmlComputeReshapeOpForward cnml1_ComputeReshapeOpForward
cnmlStatus_t cnmlComputeReshapeOpForward(cnmlBaseOp_t op, void *in, void *out,
                                         cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeReshapeOpForward(cnmlReshapeOpParam_t param, cnmlCpuTensor_t in_tensor,
                                            void *in, cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateTransposeOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out);
#define cnmlComputeTransposeOpForward cnml1_ComputeTransposeOpForward
cnmlStatus_t cnmlComputeTransposeOpForward(cnmlBaseOp_t op, void *in, void *out,
                                           cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeTransposeOpForward(cnmlCpuTensor_t in_tensor, void *in,
                                              cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateCastOp(cnmlBaseOp_t *op, cnmlCastType_t type, cnmlTensor_t in,
                              cnmlTensor_t out);
#define cnmlComputeCastOpForward cnml1_ComputeCastOpForward
cnmlStatus_t cnmlComputeCastOpForward(cnmlBaseOp_t op, void *in, void *out, cnrtFunctionType_t type,
                                      cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeCastOpForward(cnmlCastType_t type, cnmlCpuTensor_t in_tensor, void *in,
                                         cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlCreateDeviceMemcpyOp(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out);
#define cnmlComputeDeviceMemcpyOpForward cnml1_ComputeDeviceMemcpyOpForward
cnmlStatus_t cnmlComputeDeviceMemcpyOpForward(cnmlBaseOp_t op, void *in, void *out,
                                              cnrtFunctionType_t type, cnrtStream_t stream);
cnmlStatus_t cnmlCpuComputeDeviceMemcpyOpForward(cnmlCpuTensor_t in_tensor, void *in,
                                                 cnmlCpuTensor_t out_tensor, void *out);
cnmlStatus_t cnmlInit(int flag);
cnmlStatus_t cnmlExit(void);
cnmlStatus_t cnmlGetVersion(unsigned int *version);
#define cnmlCreateTensor cnml1_CreateTensor
cnmlStatus_t cnmlCreateTensor(cnmlTensor_t *tensor, cnmlTensorType_t type, cnmlDataType_t dtype,
                              int n, int c, int h, int w);
#define cnmlCreateCpuTensor cnml1_CreateCpuTensor
cnmlStatus_t cnmlCreateCpuTensor(cnmlCpuTensor_t *tensor, cnmlTensorType_t type,
                                 cnmlDataType_t dtype, cnmlDataOrder_t order, int n, int c, int h,
                                 int w);
cnmlStatus_t cnmlDestroyTensor(cnmlTensor_t *tensor);
cnmlStatus_t cnmlDestroyCpuTensor(cnmlCpuTensor_t *tensor);
#define cnmlGetTensorDataType cnml1_GetTensorDataType
cnmlDataType_t cnmlGetTensorDataType(cnmlTensor_t tensor);
void cnmlGetTensorShape(cnmlTensor_t tensor, int *shape4);
#define cnmlGetTensorSize cnml1_GetTensorSize
unsigned int cnmlGetTensorSize(cnmlTensor_t tensor, cnmlTensorType_t type);
cnmlStatus_t cnmlSetFix8Position(cnmlTensor_t tensor, int position);
cnmlStatus_t cnmlGetFix8Position(cnmlTensor_t tensor, int *position);
cnmlStatus_t cnmlBindConstData(cnmlTensor_t tensor, cnmlCpuTensor_t cpu_tensor, void *host);
void *cnmlMallocBuffer(cnmlTensor_t tensor);
void *cnmlMallocBatchBuffer(cnmlTensor_t tensor, int batch);
cnmlStatus_t cnmlFreeBuffer(void *address);
cnmlStatus_t cnmlMemcpyTensorToDevice(cnmlCpuTensor_t cpu_tensor, void *from, cnmlTensor_t tensor,
                                      void *to);
cnmlStatus_t cnmlMemcpyTensorToHost(cnmlTensor_t tensor, void *from, cnmlCpuTensor_t cpu_tensor,
                                    void *to);
cnmlStatus_t cnmlMemcpyBatchTensorToDevice(cnmlCpuTensor_t cpu_tensor, void *from,
                                           cnmlTensor_t tensor, void *to, int batch);
cnmlStatus_t cnmlMemcpyBatchTensorToHost(cnmlTensor_t tensor, void *from,
                                         cnmlCpuTensor_t cpu_tensor, void *to, int batch);
void cnmlDumpTensor2File(const char *file, cnmlCpuTensor_t tensor, cnmlTensorType_t type,
                         void *address, bool append);
#define cnmlCompileBaseOp cnml1_CompileBaseOp
cnmlStatus_t cnmlCompileBaseOp(cnmlBaseOp_t op, cnmlCoreVersion_t version);
cnmlStatus_t cnmlDestroyBaseOp(cnmlBaseOp_t *op);
cnmlStatus_t cnmlCheckBaseOpRunnable(cnmlBaseOp_t op, cnmlCoreVersion_t version);
cnmlStatus_t cnmlGetMaxMemUsed(cnmlBaseOp_t op, int64_t *total, int64_t *share, int64_t *priv);
cnmlStatus_t cnmlCreateFusionOp(cnmlFusionOp_t *op);
cnmlStatus_t cnmlDestroyFusionOp(cnmlFusionOp_t *op);
cnmlStatus_t cnmlFuseOp(cnmlBaseOp_t op, cnmlFusionOp_t fusion);
cnmlStatus_t cnmlSetFusionIO(cnmlFusionOp_t op, cnmlTensor_t *inputs, int input_count,
                             cnmlTensor_t *outputs, int output_count);
cnmlStatus_t cnmlAddFusionInput(cnmlFusionOp_t op, cnmlTensor_t tensor);
cnmlStatus_t cnmlAddFusionOutput(cnmlFusionOp_t op, cnmlTensor_t tensor);
#define cnmlCompileFusionOp cnml1_CompileFusionOp
cnmlStatus_t cnmlCompileFusionOp(cnmlFusionOp_t op, cnmlCoreVersion_t version);
cnmlStatus_t cnmlGetFusionMaxMemUsed(cnmlFusionOp_t op, int64_t *total, int64_t *share,
                                     int64_t *priv);
#define cnmlComputeFusionOpForward cnml1_ComputeFusionOpForward
cnmlStatus_t cnmlComputeFusionOpForward(cnmlFusionOp_t op, void *inputs[], int input_count,
                                        void *outputs[], int output_count, cnrtFunctionType_t type,
                                        cnrtStream_t stream);
cnmlStatus_t cnmlCreateConvParam(cnmlConvOpParam_t *param, int stride_h, int stride_w,
                                 int dilation_h, int dilation_w, int pad_h CNML_OR(0),
                                 int pad_w CNML_OR(0));
cnmlStatus_t cnmlCreateAddPadOp4Param(cnmlAddPadOpParam_t *param, int top, int bottom, int left,
                                      int right, float value);
cnmlStatus_t cnmlGetPoolOpOutputDim(cnmlTensor_t in, cnmlPoolOpParam_t param, int *n, int *c,
                                    int *h, int *w);
cnmlStatus_t cnmlEnableConvOpFix8Mode(cnmlBaseOp_t op);
cnmlStatus_t cnmlEnableMlpOpFix8Mode(cnmlBaseOp_t op);
cnmlStatus_t cnmlCreateBatchNormOpForward(cnmlBaseOp_t *op, cnmlTensor_t in, cnmlTensor_t out,
                                          cnmlTensor_t mean, cnmlTensor_t var);
cnmlStatus_t cnmlCreateModel(cnmlModel_t *model, const char *name);
cnmlStatus_t cnmlDestroyModel(cnmlModel_t model);
cnmlStatus_t cnmlAddBaseOpToModel(cnmlModel_t model, cnmlBaseOp_t op, const char *symbol);
cnmlStatus_t cnmlAddFusionOpToModel(cnmlModel_t model, cnmlFusionOp_t op, const char *symbol);
cnmlStatus_t cnmlSaveModel(cnmlModel_t model, const char *file);
cnmlStatus_t cnmlSaveModelToMem(cnmlModel_t model, void *memory, uint64_t bytes, uint64_t *size);
int getFix8Position(float *data, int count);
int16_t float2half(float value);
int8_t float2fix8(float value, int position, int offset);

#ifdef __cplusplus
}
#endif
#endif
