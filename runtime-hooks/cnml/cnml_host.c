/* SPDX-License-Identifier: MIT */
/* cnml_host - numbers on the host: converts dtypes to floats and back, in any of the 24 orders. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/cnrt/cnrt_half.h"

/* --- one element ----------------------------------------------------------------------------- */

uint16_t cnml_float_to_half(float value)
{
    /* A NaN loses its payload. */
    return cnrt_half_from_float(isnan(value) ? copysignf((float)NAN, value) : value);
}

size_t cnml_dtype_bytes(int dtype)
{
    switch (dtype) {
    case CNML_DATA_FLOAT16:
    case CNML_DATA_INT16:
    case CNML_DATA_UINT16:
        return 2;
    case CNML_DATA_FLOAT32:
    case CNML_DATA_INT32:
    case CNML_DATA_UINT32:
        return 4;
    case CNML_DATA_DOUBLE:
        return 8;
    case CNML_DATA_FIX8:
    case CNML_INT8_OF_G1:
    case CNML_DATA_UINT8:
    case CNML_DATA_QUANT8:
    case CNML_DATA_BINARY:
    case CNML_DATA_BOOL:
        return 1;
    default:
        return 0;
    }
}

bool cnml_dtype_is_quantised(int dtype)
{
    return dtype == CNML_DATA_FIX8 || dtype == CNML_INT8_OF_G1 || dtype == CNML_DATA_QUANT8 ||
           dtype == CNML_DATA_INT16;
}

static double clamp(double value, double low, double high)
{
    if (isnan(value)) {
        return 0;
    }
    value = nearbyint(value);
    return value < low ? low : value > high ? high : value;
}

static float scale_of(int dtype, struct cnml_quant quant)
{
    return cnml_dtype_is_quantised(dtype) && quant.scale != 0
               ? ldexpf(1.0F, quant.position) / quant.scale
               : 1.0F;
}

void cnml_to_float(int dtype, struct cnml_quant quant, const void *from, float *to, size_t count)
{
    float scale = scale_of(dtype, quant);

#define EACH(type, expression)                        \
    for (size_t i = 0; i < count; i++) {              \
        type x;                                       \
                                                      \
        memcpy(&x, (const type *)from + i, sizeof x); \
        to[i] = (expression);                         \
    }                                                 \
    break
    switch (dtype) {
    case CNML_DATA_FLOAT16:
        EACH(uint16_t, cnrt_half_to_float(x));
    case CNML_DATA_FLOAT32:
        memcpy(to, from, count * sizeof *to);
        break;
    case CNML_DATA_DOUBLE:
        EACH(double, (float)x);
    case CNML_DATA_FIX8:
    case CNML_INT8_OF_G1:
    case CNML_DATA_QUANT8:
        EACH(int8_t, (float)x * scale);
    case CNML_DATA_INT16:
        EACH(int16_t, (float)x * scale);
    case CNML_DATA_UINT16:
        EACH(uint16_t, (float)x);
    case CNML_DATA_INT32:
        EACH(int32_t, (float)x);
    case CNML_DATA_UINT32:
        EACH(uint32_t, (float)x);
    default:
        EACH(uint8_t, (float)x);
    }
#undef EACH
}

void cnml_from_float(int dtype, struct cnml_quant quant, const float *from, void *to, size_t count)
{
    double scale = 1.0 / (double)scale_of(dtype, quant);

#define EACH(type, expression)                \
    for (size_t i = 0; i < count; i++) {      \
        double x = (double)from[i];           \
        type y = (type)(expression);          \
                                              \
        memcpy((type *)to + i, &y, sizeof y); \
    }                                         \
    break
    switch (dtype) {
    case CNML_DATA_FLOAT16:
        EACH(uint16_t, cnml_float_to_half((float)x));
    case CNML_DATA_FLOAT32:
        memcpy(to, from, count * sizeof *from);
        break;
    case CNML_DATA_DOUBLE:
        EACH(double, x);
    case CNML_DATA_FIX8:
    case CNML_INT8_OF_G1:
    case CNML_DATA_QUANT8:
        EACH(int8_t, clamp(x * scale, INT8_MIN, INT8_MAX));
    case CNML_DATA_INT16:
        EACH(int16_t, clamp(x * scale, INT16_MIN, INT16_MAX));
    case CNML_DATA_UINT16:
        EACH(uint16_t, clamp(x, 0, UINT16_MAX));
    case CNML_DATA_INT32:
        EACH(int32_t, clamp(x, INT32_MIN, INT32_MAX));
    case CNML_DATA_UINT32:
        EACH(uint32_t, clamp(x, 0, UINT32_MAX));
    case CNML_DATA_BINARY:
    case CNML_DATA_BOOL:
        EACH(uint8_t, x != 0);
    default:
        EACH(uint8_t, clamp(x, 0, UINT8_MAX));
    }
#undef EACH
}

/* --- orders ---------------------------------------------------------------------------------- */

/* Dimensions from the outermost on, indexed by cnmlDataOrder_t. */
static const char *const orders[] = { "NCHW", "NCWH", "NHCW", "NHWC", "NWHC", "NWCH",
                                      "CNHW", "CNWH", "CHNW", "CHWN", "CWHN", "CWNH",
                                      "HCNW", "HCWN", "HNCW", "HNWC", "HWNC", "HWCN",
                                      "WCHN", "WCNH", "WHCN", "WHNC", "WNHC", "WNCH" };

bool cnml_order_is_known(int order)
{
    return order >= 0 && (size_t)order < sizeof orders / sizeof orders[0];
}

void cnml_order_strides(int order, const int dims[CNML_DIMS], size_t strides[CNML_DIMS])
{
    size_t stride = 1;

    for (int i = CNML_DIMS - 1; i >= 0; i--) {
        int axis = (int)(strchr("NCHW", orders[order][i]) - "NCHW");

        strides[axis] = stride;
        stride *= (size_t)dims[axis];
    }
}

static void permute(const struct cnmlCpuTensor *tensor, float *plain, float *ordered, bool back)
{
    size_t strides[CNML_DIMS];
    const int *d = tensor->dims;
    size_t i = 0;

    cnml_order_strides(tensor->order, d, strides);
    for (int n = 0; n < d[CNML_N]; n++) {
        for (int c = 0; c < d[CNML_C]; c++) {
            for (int h = 0; h < d[CNML_H]; h++) {
                float *row = ordered + (size_t)n * strides[CNML_N] + (size_t)c * strides[CNML_C] +
                             (size_t)h * strides[CNML_H];

                for (int w = 0; w < d[CNML_W]; w++, i++) {
                    float *at = row + (size_t)w * strides[CNML_W];

                    if (back) {
                        *at = plain[i];
                    } else {
                        plain[i] = *at;
                    }
                }
            }
        }
    }
}

float *cnml_host_read(const struct cnmlCpuTensor *tensor, const void *data, struct cnml_quant quant)
{
    size_t count = cnml_elements(tensor->dims);
    float *ordered = malloc(count * sizeof *ordered);
    float *plain;

    if (!ordered) {
        return NULL;
    }
    cnml_to_float(tensor->dtype, quant, data, ordered, count);
    if (tensor->order == CNML_NCHW) {
        return ordered;
    }
    plain = malloc(count * sizeof *plain);
    if (plain) {
        permute(tensor, plain, ordered, false);
    }
    free(ordered);
    return plain;
}

int cnml_host_write(const struct cnmlCpuTensor *tensor, void *data, struct cnml_quant quant,
                    const float *values)
{
    size_t count = cnml_elements(tensor->dims);
    float *ordered;

    if (tensor->order == CNML_NCHW) {
        cnml_from_float(tensor->dtype, quant, values, data, count);
        return CNML_STATUS_SUCCESS;
    }
    ordered = malloc(count * sizeof *ordered);
    if (!ordered) {
        return CNML_STATUS_BADALLOC;
    }
    permute(tensor, (float *)(uintptr_t)values, ordered, true);
    cnml_from_float(tensor->dtype, quant, ordered, data, count);
    free(ordered);
    return CNML_STATUS_SUCCESS;
}
