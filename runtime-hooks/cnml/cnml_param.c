/* SPDX-License-Identifier: MIT */
/* cnml_param - creates, checks and destroys parameters of operators. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdlib.h>
#include <string.h>

/* Limit on sizes from a client, so that their sums and products fit an int. */
enum { SIZE_MAX_OF_PARAM = 1 << 15 };

void cnml_param_pad(struct cnml_param *param, int pad_h, int pad_w)
{
    param->top = pad_h / 2;
    param->bottom = pad_h - pad_h / 2;
    param->left = pad_w / 2;
    param->right = pad_w - pad_w / 2;
}

static bool is_size(int value, int least)
{
    return value >= least && value <= SIZE_MAX_OF_PARAM;
}

static bool is_good(const struct cnml_param *param)
{
    return is_size(param->stride_h, 1) && is_size(param->stride_w, 1) &&
           is_size(param->dilation_h, 1) && is_size(param->dilation_w, 1) &&
           is_size(param->top, 0) && is_size(param->bottom, 0) && is_size(param->left, 0) &&
           is_size(param->right, 0) && is_size(param->window_h, 1) && is_size(param->window_w, 1);
}

static struct cnml_param start(void)
{
    return (struct cnml_param){
        .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1, .window_h = 1, .window_w = 1
    };
}

/* Copies the common struct, for operators without further members. */
static void *give(const struct cnml_param *param, int *out_status)
{
    struct cnml_param *copy;

    if (!is_good(param)) {
        *out_status = CNML_STATUS_INVALIDARG;
        return NULL;
    }
    copy = malloc(sizeof *copy);
    *out_status = copy ? CNML_STATUS_SUCCESS : CNML_STATUS_BADALLOC;
    if (copy) {
        *copy = *param;
    }
    return copy;
}

#define GIVE(Name, to, from)                                \
    do {                                                    \
        int status = CNML_STATUS_INVALIDARG;                \
        void *given = (to) ? give(&(from), &status) : NULL; \
                                                            \
        if (given) {                                        \
            *(to) = (struct cnml##Name##OpParam *)given;    \
        }                                                   \
        return (cnmlStatus_t)status;                        \
    } while (0)

/* --- convolutions ---------------------------------------------------------------------------- */

cnmlStatus_t cnmlCreateConvParam(cnmlConvOpParam_t *param, int stride_h, int stride_w,
                                 int dilation_h, int dilation_w, int pad_h, int pad_w)
{
    struct cnml_param made = start();

    made.stride_h = stride_h;
    made.stride_w = stride_w;
    made.dilation_h = dilation_h;
    made.dilation_w = dilation_w;
    cnml_param_pad(&made, pad_h, pad_w);
    GIVE(Conv, param, made);
}

cnmlStatus_t cnmlCreateConvOpParam(cnmlConvOpParam_t *param, int stride_h, int stride_w,
                                   int dilation_h, int dilation_w, int pad_h, int pad_w,
                                   cnmlSparseMode_t sparse)
{
    return sparse == CNML_NoSparse || sparse == CNML_Sparse
               ? cnmlCreateConvParam(param, stride_h, stride_w, dilation_h, dilation_w, pad_h,
                                     pad_w)
               : CNML_STATUS_INVALIDARG;
}

cnmlStatus_t cnmlCreateConvDepthwiseOpParam(cnmlConvDepthwiseOpParam_t *param, int stride_h,
                                            int stride_w)
{
    struct cnml_param made = start();

    made.stride_h = stride_h;
    made.stride_w = stride_w;
    GIVE(ConvDepthwise, param, made);
}

cnmlStatus_t cnmlCreateConvFirstOpParam(cnmlConvFirstOpParam_t *param, int stride_h, int stride_w,
                                        int pad_l, int pad_r, int pad_t, int pad_b,
                                        cnmlSparseMode_t sparse)
{
    struct cnml_param made = start();

    if (sparse != CNML_NoSparse && sparse != CNML_Sparse) {
        return CNML_STATUS_INVALIDARG;
    }
    made.stride_h = stride_h;
    made.stride_w = stride_w;
    made.left = pad_l;
    made.right = pad_r;
    made.top = pad_t;
    made.bottom = pad_b;
    GIVE(ConvFirst, param, made);
}

cnmlStatus_t cnmlCreateDeconvOpParam(cnmlDeconvOpParam_t *param, int stride_h, int stride_w,
                                     int hu_crop, int hd_crop, int wl_crop, int wr_crop)
{
    struct cnml_param made = start();

    made.stride_h = stride_h;
    made.stride_w = stride_w;
    made.top = hu_crop;
    made.bottom = hd_crop;
    made.left = wl_crop;
    made.right = wr_crop;
    GIVE(Deconv, param, made);
}

/* --- padding and pooling --------------------------------------------------------------------- */

cnmlStatus_t cnmlCreateAddPadOpParam(cnmlAddPadOpParam_t *param, int pad_h, int pad_w, float value)
{
    struct cnml_param made = start();

    made.value = value;
    cnml_param_pad(&made, pad_h, pad_w);
    GIVE(AddPad, param, made);
}

cnmlStatus_t cnmlCreateAddPadOp4Param(cnmlAddPadOpParam_t *param, int top, int bottom, int left,
                                      int right, float value)
{
    struct cnml_param made = start();

    made.value = value;
    made.top = top;
    made.bottom = bottom;
    made.left = left;
    made.right = right;
    GIVE(AddPad, param, made);
}

cnmlStatus_t cnmlCreatePoolOpParam(cnmlPoolOpParam_t *param, int window_h, int window_w,
                                   int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h,
                                   int dilation_w, cnmlPoolMode_t mode,
                                   cnmlPoolStrategyMode_t strategy, bool real)
{
    struct cnml_param made = start();

    if ((int)mode < CNML_POOL_AVG || (int)mode > CNML_POOL_BLEND_OF_G3 ||
        (strategy != CNML_POOL_KFULL && strategy != CNML_POOL_KVALID)) {
        return CNML_STATUS_INVALIDARG;
    }
    if ((int)mode == CNML_POOL_BLEND_OF_G3) {
        return CNML_STATUS_UNSUPPORT;
    }
    made.window_h = window_h;
    made.window_w = window_w;
    made.stride_h = stride_h;
    made.stride_w = stride_w;
    /* Both 0 and 1 mean no dilation. */
    made.dilation_h = dilation_h == 0 ? 1 : dilation_h;
    made.dilation_w = dilation_w == 0 ? 1 : dilation_w;
    made.mode = (int)mode;
    made.strategy = (int)strategy;
    made.real = real;
    cnml_param_pad(&made, pad_h, pad_w);
    GIVE(Pool, param, made);
}

cnmlStatus_t cnmlCreateL2_PoolOpParam(cnmlL2_PoolOpParam_t *param, int window_h, int window_w,
                                      int stride_h, int stride_w, int pad_h, int pad_w,
                                      cnmlPoolMode_t mode)
{
    struct cnml_param made = start();

    if (mode != CNML_POOL_AVG && (int)mode != CNML_POOL_SUM_OF_G3) {
        return CNML_STATUS_INVALIDARG;
    }
    made.window_h = window_h;
    made.window_w = window_w;
    made.stride_h = stride_h;
    made.stride_w = stride_w;
    made.mode = (int)mode;
    made.strategy = CNML_POOL_KVALID;
    cnml_param_pad(&made, pad_h, pad_w);
    GIVE(L2_Pool, param, made);
}

cnmlStatus_t cnmlGetPoolOpOutputDim(cnmlTensor_t in, cnmlPoolOpParam_t param, int *n, int *c,
                                    int *h, int *w)
{
    int out[CNML_DIMS];

    if (!in || !param || !n || !c || !h || !w) {
        return CNML_STATUS_INVALIDARG;
    }
    cnml_window_dims(&param->is, in->dims, param->is.window_h, param->is.window_w,
                     param->is.strategy == CNML_POOL_KFULL, out);
    if (out[CNML_H] < 1 || out[CNML_W] < 1) {
        return CNML_STATUS_INVALIDPARAM;
    }
    *n = out[CNML_N];
    *c = out[CNML_C];
    *h = out[CNML_H];
    *w = out[CNML_W];
    return CNML_STATUS_SUCCESS;
}

/* --- places of data -------------------------------------------------------------------------- */

cnmlStatus_t cnmlCreateConcatOpParam(cnmlConcatOpParam_t *param, int input_count, int output_count,
                                     cnmlConcatMode_t mode)
{
    struct cnml_param made = start();

    if (cnml_list_axis((int)mode) < 0 || output_count != 1 || input_count < 1 ||
        input_count > CNML_LIST_MAX) {
        return CNML_STATUS_INVALIDARG;
    }
    made.in_count = input_count;
    made.out_count = output_count;
    made.mode = (int)mode;
    GIVE(Concat, param, made);
}

cnmlStatus_t cnmlCreateSplitOpParam(cnmlSplitOpParam_t *param, int input_count, int output_count,
                                    cnmlSplitMode_t mode)
{
    struct cnml_param made = start();

    if (cnml_list_axis((int)mode) < 0 || input_count != 1 || output_count < 1 ||
        output_count > CNML_LIST_MAX) {
        return CNML_STATUS_INVALIDARG;
    }
    made.in_count = input_count;
    made.out_count = output_count;
    made.mode = (int)mode;
    GIVE(Split, param, made);
}

cnmlStatus_t cnmlCreateReshapeOpParam(cnmlReshapeOpParam_t *param, int n, int c, int h, int w,
                                      cnmlDataOrder_t order)
{
    struct cnml_param made = start();

    if (n < 1 || c < 1 || h < 1 || w < 1 || !cnml_order_is_known((int)order)) {
        return CNML_STATUS_INVALIDARG;
    }
    memcpy(made.dims, (int[CNML_DIMS]){ n, c, h, w }, sizeof made.dims);
    made.order = (int)order;
    GIVE(Reshape, param, made);
}

/* --- end ------------------------------------------------------------------------------------- */

#define DESTROY(Name)                                                     \
    cnmlStatus_t cnmlDestroy##Name##OpParam(cnml##Name##OpParam_t *param) \
    {                                                                     \
        if (!param || !*param) {                                          \
            return CNML_STATUS_INVALIDARG;                                \
        }                                                                 \
        free(*param);                                                     \
        *param = NULL;                                                    \
        return CNML_STATUS_SUCCESS;                                       \
    }
CNML_PARAMS(DESTROY)
