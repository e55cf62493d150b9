/* SPDX-License-Identifier: MIT */
/*
 * cnrt_cast - converts values between types, and changes the order of dimensions, both in host
 * memory.
 *
 * A quantised number q has the value (q - offset) * 2^position / scale; numbers are rounded to
 * nearest, ties to even, and saturate at the limits of their type. Between floats, a parameter has
 * no effect. The library need not be open.
 */
#pragma GCC visibility push(default)
#include "neuware/g3/cnrt.h"
#pragma GCC visibility pop

#include <math.h>
#include <stddef.h>

#include "runtime-hooks/cnrt/cnrt_front.h"
#include "runtime-hooks/cnrt/cnrt_half.h"

#define POSITION_MAX 127
#define DIMENSIONS_MAX 8

struct quantized_param {
    struct ntk_core_handle handle;
    int position;
    float scale;
    int offset;
};

static void param_release(struct ntk_core_handle *handle)
{
    (void)handle;
}

static struct ntk_core_handle_pool params =
    NTK_CORE_HANDLE_POOL_INIT(struct quantized_param, param_release);

/* Called in the child of a fork. Does nothing, because these are plain values: the child keeps its
 * copy. */
void cnrt_casts_forget(void)
{
    pthread_mutex_init(&params.lock, NULL);
}

/* Parameters of value = (number - offset) * unit. */
struct quantum {
    double unit, offset;
};

/* --- elements --------------------------------------------------------------------------------- */

static double float16_get(const void *array, size_t i)
{
    return (double)cnrt_half_to_float(((const uint16_t *)array)[i]);
}

static void float16_put(void *array, size_t i, double value)
{
    ((uint16_t *)array)[i] = cnrt_half_from_float((float)value);
}

static double float32_get(const void *array, size_t i)
{
    return (double)((const float *)array)[i];
}

static void float32_put(void *array, size_t i, double value)
{
    ((float *)array)[i] = (float)value;
}

static double whole(double value, double low, double high)
{
    if (isnan(value)) {
        return 0;
    }
    value = nearbyint(value);
    return value < low ? low : value > high ? high : value;
}

#define WHOLE_TYPE(name, type, low, high)                       \
    static double name##_get(const void *array, size_t i)       \
    {                                                           \
        return (double)((const type *)array)[i];                \
    }                                                           \
    static void name##_put(void *array, size_t i, double value) \
    {                                                           \
        ((type *)array)[i] = (type)whole(value, (low), (high)); \
    }
WHOLE_TYPE(uint8, uint8_t, 0, UINT8_MAX)
WHOLE_TYPE(int8, int8_t, INT8_MIN, INT8_MAX)
WHOLE_TYPE(int16, int16_t, INT16_MIN, INT16_MAX)
WHOLE_TYPE(int32, int32_t, INT32_MIN, INT32_MAX)

/* The other side is float16, so a double is exact enough. */
static double int64_get(const void *array, size_t i)
{
    return (double)((const int64_t *)array)[i];
}

/* --- supported casts -------------------------------------------------------------------------- */

struct cast {
    cnrtDataType_t from, to;
    double (*get)(const void *array, size_t i);
    void (*put)(void *array, size_t i, double value);
    bool is_plain;     /* supported without a parameter */
    bool is_quantized; /* supported with a parameter */
    int quantized_end; /* which side the parameter is for: 0 none, -1 source, 1 destination */
};

static const struct cast casts[] = {
    { CNRT_FLOAT32, CNRT_FLOAT16, float32_get, float16_put, true, true, 0 },
    { CNRT_FLOAT32, CNRT_UINT8, float32_get, uint8_put, true, false, 0 },
    { CNRT_INT64, CNRT_FLOAT16, int64_get, float16_put, true, false, 0 },
    { CNRT_FLOAT16, CNRT_FLOAT32, float16_get, float32_put, true, false, 0 },
    { CNRT_FLOAT16, CNRT_UINT8, float16_get, uint8_put, true, false, 0 },
    { CNRT_UINT8, CNRT_FLOAT32, uint8_get, float32_put, true, false, 0 },
    { CNRT_UINT8, CNRT_FLOAT16, uint8_get, float16_put, true, false, 0 },
    { CNRT_FLOAT32, CNRT_FLOAT32, float32_get, float32_put, true, true, 0 },
    { CNRT_FLOAT32, CNRT_INT8, float32_get, int8_put, false, true, 1 },
    { CNRT_FLOAT32, CNRT_INT16, float32_get, int16_put, false, true, 1 },
    { CNRT_FLOAT32, CNRT_INT32, float32_get, int32_put, false, true, 1 },
    { CNRT_INT8, CNRT_FLOAT32, int8_get, float32_put, false, true, -1 },
    { CNRT_INT16, CNRT_FLOAT32, int16_get, float32_put, false, true, -1 },
    { CNRT_INT32, CNRT_FLOAT32, int32_get, float32_put, false, true, -1 },
    { CNRT_FLOAT16, CNRT_INT16, float16_get, int16_put, false, true, 1 },
};

static const struct cast *cast_find(cnrtDataType_t from, cnrtDataType_t to, bool has_param)
{
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        const struct cast *cast = &casts[i];

        if (cast->from == from && cast->to == to &&
            (has_param ? cast->is_quantized : cast->is_plain)) {
            return cast;
        }
    }
    return NULL;
}

static void cast_do(const struct cast *cast, const void *from, void *to, size_t count,
                    const struct quantum *quantum)
{
    for (size_t i = 0; i < count; i++) {
        double value = cast->get(from, i);

        if (cast->quantized_end < 0) {
            value = (value - quantum->offset) * quantum->unit;
        } else if (cast->quantized_end > 0) {
            value = value / quantum->unit + quantum->offset;
        }
        cast->put(to, i, value);
    }
}

static int cast_values(void *src, cnrtDataType_t src_type, void *dst, cnrtDataType_t dst_type,
                       int count, cnrtQuantizedParam_t param_pointer)
{
    const struct cast *cast = cast_find(src_type, dst_type, param_pointer != NULL);
    struct quantum quantum = { .unit = 1 };

    if (count < 0 || (count > 0 && (!src || !dst))) {
        return CNRT_ERR_INVALID;
    }
    if (!cast) {
        return CNRT_ERR_INVALID_TYPE;
    }
    if (param_pointer) {
        struct quantized_param *param = ntk_core_handle_take(&params, param_pointer);

        if (!param) {
            return CNRT_ERR_INVALID;
        }
        quantum.unit = ldexp(1.0, param->position) / (double)param->scale;
        quantum.offset = param->offset;
        ntk_core_handle_drop(&params, param);
    }
    cast_do(cast, src, dst, (size_t)count, &quantum);
    return CNRT_OK;
}

/* --- order of dimensions ---------------------------------------------------------------------- */

/* The number of elements; 0 if dims or order are invalid. */
static size_t elements_of(int dim_num, const int *dims, const int *order, size_t element_bytes)
{
    size_t count = 1;
    unsigned int seen = 0;

    for (int i = 0; i < dim_num; i++) {
        if (dims[i] <= 0 || order[i] < 0 || order[i] >= dim_num ||
            count > (size_t)PTRDIFF_MAX / element_bytes / (size_t)dims[i]) {
            return 0;
        }
        count *= (size_t)dims[i];
        seen |= 1U << order[i];
    }
    return seen == (1U << dim_num) - 1 ? count : 0;
}

/* Iterates over dst in order; index[i] is the index in dimension i, with its step in src. */
static void order_do(const char *src, char *dst, size_t element_bytes, int dim_num, const int *dims,
                     const int *order, size_t count)
{
    size_t stride[DIMENSIONS_MAX] = { 0 };
    size_t step[DIMENSIONS_MAX];
    int limit[DIMENSIONS_MAX];
    int index[DIMENSIONS_MAX] = { 0 };
    size_t at = 0;

    for (size_t i = (size_t)dim_num, next = element_bytes; i-- > 0; next *= (size_t)dims[i]) {
        stride[i] = next;
    }
    for (int i = 0; i < dim_num; i++) {
        step[i] = stride[order[i]];
        limit[i] = dims[order[i]];
    }
    for (size_t n = 0; n < count; n++) {
        memcpy(dst + n * element_bytes, src + at, element_bytes);
        for (int i = dim_num - 1; i >= 0; i--) {
            at += step[i];
            if (++index[i] < limit[i]) {
                break;
            }
            at -= step[i] * (size_t)limit[i];
            index[i] = 0;
        }
    }
}

static int order_values(const void *src, cnrtDataType_t type, void *dst, int dim_num,
                        const int *dims, const int *order)
{
    int element_bytes = cnrt_type_bytes((int)type);

    if (!src || !dst || src == dst || !dims || !order || dim_num < 1 || dim_num > DIMENSIONS_MAX) {
        return CNRT_ERR_INVALID;
    }
    if (element_bytes == 0) {
        return CNRT_ERR_INVALID_TYPE;
    }
    size_t count = elements_of(dim_num, dims, order, (size_t)element_bytes);
    if (count == 0) {
        return CNRT_ERR_INVALID;
    }
    order_do(src, dst, (size_t)element_bytes, dim_num, dims, order, count);
    return CNRT_OK;
}

/* --- public calls ----------------------------------------------------------------------------- */

static int param_create(cnrtQuantizedParam_t *out_param, int position, float scale, int offset)
{
    if (!out_param || position < -POSITION_MAX || position > POSITION_MAX || !isfinite(scale) ||
        scale == 0) {
        return CNRT_ERR_INVALID;
    }
    struct quantized_param *param = ntk_core_handle_create_hidden(&params);
    if (!param) {
        return CNRT_ERR_NOMEM;
    }
    param->position = position;
    param->scale = scale;
    param->offset = offset;
    ntk_core_handle_show(param);
    *out_param = (cnrtQuantizedParam_t)param;
    return CNRT_OK;
}

cnrtRet_t cnrtCreateQuantizedParam(cnrtQuantizedParam_t *param, int position, float scale,
                                   int offset)
{
    return cnrt_front_end(param_create(param, position, scale, offset));
}

cnrtRet_t cnrtDestroyQuantizedParam(cnrtQuantizedParam_t param)
{
    return cnrt_front_end(ntk_core_handle_close(&params, param) ? CNRT_OK : CNRT_ERR_INVALID);
}

cnrtRet_t cnrtCastDataType(void *src, cnrtDataType_t src_type, void *dst, cnrtDataType_t dst_type,
                           int count, cnrtQuantizedParam_t param)
{
    return cnrt_front_end(cast_values(src, src_type, dst, dst_type, count, param));
}

cnrtRet_t cnrtTransDataOrder(void *src, cnrtDataType_t type, void *dst, int dim_num, int dims[],
                             int order[])
{
    return cnrt_front_end(order_values(src, type, dst, dim_num, dims, order));
}
