/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_array.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/formats/neff/neff.h"

static const struct {
    const char *name;
    size_t bytes;
    const char *descr;
} dtypes[MLU_DTYPE_COUNT] = {
#define MLU_DTYPE(id, number, name, bytes, descr) [number] = { name, bytes, descr },
#include "runtime-hooks/mlugraph/mlu_dtype.def"
#undef MLU_DTYPE
};

#define NPY_START_BYTES 10 /* magic, version, length of the header */
#define NPY_ALIGN 64

const char *mlu_dtype_name(enum mlu_dtype dtype)
{
    return dtypes[dtype].name;
}

size_t mlu_dtype_bytes(enum mlu_dtype dtype)
{
    return dtypes[dtype].bytes;
}

bool mlu_dtype_is_float(enum mlu_dtype dtype)
{
    return dtype == MLU_DTYPE_FLOAT32 || dtype == MLU_DTYPE_FLOAT64 || dtype == MLU_DTYPE_FLOAT16;
}

bool mlu_dtype_parse(const char *name, enum mlu_dtype *out_dtype)
{
    for (int i = 0; i < MLU_DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            *out_dtype = (enum mlu_dtype)i;
            return true;
        }
    }
    return false;
}

bool mlu_shape_equal(const struct mlu_shape *a, const struct mlu_shape *b)
{
    return a->dim_count == b->dim_count &&
           memcmp(a->dims, b->dims, a->dim_count * sizeof a->dims[0]) == 0;
}

uint64_t mlu_shape_count(const struct mlu_shape *shape)
{
    uint64_t count = 1;

    for (uint32_t i = 0; i < shape->dim_count; i++) {
        if (shape->dims[i] == 0) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < shape->dim_count; i++) {
        if (__builtin_mul_overflow(count, shape->dims[i], &count)) {
            return UINT64_MAX;
        }
    }
    return count;
}

const char *mlu_shape_text(const struct mlu_shape *shape, char to[MLU_SHAPE_TEXT_BYTES])
{
    int at = snprintf(to, MLU_SHAPE_TEXT_BYTES, "(");

    for (uint32_t i = 0; i < shape->dim_count; i++) {
        at += snprintf(to + at, (size_t)(MLU_SHAPE_TEXT_BYTES - at), "%s%llu", i > 0 ? "," : "",
                       (unsigned long long)shape->dims[i]);
    }
    snprintf(to + at, (size_t)(MLU_SHAPE_TEXT_BYTES - at), ")");
    return to;
}

int mlu_array_init(struct mlu_array *array, enum mlu_dtype dtype, const struct mlu_shape *shape,
                   struct ntk_err *err)
{
    uint64_t count = mlu_shape_count(shape);
    char text[MLU_SHAPE_TEXT_BYTES];

    *array = (struct mlu_array){ 0 };
    if (count > MLU_ARRAY_BYTES_MAX / dtypes[dtype].bytes) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                           "an array of shape %s is larger than 4 GiB",
                           mlu_shape_text(shape, text));
    }
    array->data = calloc(1, (size_t)count * mlu_dtype_bytes(dtype) + 1);
    if (!array->data) {
        return ntk_err_no_memory(err);
    }
    array->dtype = dtype;
    array->shape = *shape;
    array->count = (size_t)count;
    return 0;
}

int mlu_array_copy(struct mlu_array *to, const struct mlu_array *from, struct ntk_err *err)
{
    int ret = mlu_array_init(to, from->dtype, &from->shape, err);

    if (ret == 0) {
        memcpy(to->data, from->data, from->count * dtypes[from->dtype].bytes);
    }
    return ret;
}

void mlu_array_fini(struct mlu_array *array)
{
    free(array->data);
    *array = (struct mlu_array){ 0 };
}

/* ---- elements ---- */

static double half_to_double(uint16_t half)
{
    int exponent = half >> 10 & 0x1f;
    double mantissa = half & 0x3ff;
    double value = exponent == 0      ? ldexp(mantissa, -24)
                   : exponent == 0x1f ? (mantissa > 0 ? (double)NAN : (double)INFINITY)
                                      : ldexp(mantissa + 1024, exponent - 25);

    return half & 0x8000 ? -value : value;
}

static uint16_t double_to_half(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    int exponent;

    if (isnan(value)) {
        return sign | 0x7e00;
    }
    if (size >= 65520) { /* halfway from the largest number to the next */
        return sign | 0x7c00;
    }
    if (size < ldexp(1, -14)) { /* subnormal; nearbyint() may carry into the first normal number */
        return sign | (uint16_t)nearbyint(ldexp(size, 24));
    }
    frexp(size, &exponent); /* size = f * 2^exponent, 0.5 <= f < 1 */
    uint32_t mantissa = (uint32_t)nearbyint(ldexp(size, 11 - exponent)); /* 1024 to 2048 */
    return sign | (uint16_t)(((uint32_t)(exponent + 14) << 10) + mantissa - 1024);
}

static double bounded(double value, double least, double most)
{
    if (isnan(value)) {
        return 0;
    }
    value = nearbyint(value);
    return value < least ? least : value > most ? most : value;
}

double mlu_array_get(const struct mlu_array *array, size_t index)
{
    switch (array->dtype) {
    case MLU_DTYPE_FLOAT32:
        return ((const float *)array->data)[index];
    case MLU_DTYPE_FLOAT64:
        return ((const double *)array->data)[index];
    case MLU_DTYPE_FLOAT16:
        return half_to_double(((const uint16_t *)array->data)[index]);
    case MLU_DTYPE_INT8:
        return ((const int8_t *)array->data)[index];
    case MLU_DTYPE_INT32:
        return ((const int32_t *)array->data)[index];
    case MLU_DTYPE_INT64:
        return (double)((const int64_t *)array->data)[index];
    default:
        return ((const uint8_t *)array->data)[index];
    }
}

void mlu_array_set(struct mlu_array *array, size_t index, double value)
{
    switch (array->dtype) {
    case MLU_DTYPE_FLOAT32:
        ((float *)array->data)[index] = (float)value;
        break;
    case MLU_DTYPE_FLOAT64:
        ((double *)array->data)[index] = value;
        break;
    case MLU_DTYPE_FLOAT16:
        ((uint16_t *)array->data)[index] = double_to_half(value);
        break;
    case MLU_DTYPE_INT8:
        ((int8_t *)array->data)[index] = (int8_t)bounded(value, INT8_MIN, INT8_MAX);
        break;
    case MLU_DTYPE_INT32:
        ((int32_t *)array->data)[index] = (int32_t)bounded(value, INT32_MIN, INT32_MAX);
        break;
    case MLU_DTYPE_INT64:
        /* The largest double below 2^63. */
        ((int64_t *)array->data)[index] =
            value >= 0x1p63 ? INT64_MAX : (int64_t)bounded(value, -0x1p63, 0x1.fffffffffffffp62);
        break;
    case MLU_DTYPE_BOOL:
        ((uint8_t *)array->data)[index] = value != 0;
        break;
    default:
        ((uint8_t *)array->data)[index] = (uint8_t)bounded(value, 0, UINT8_MAX);
    }
}

/* ---- .npy ---- */

static bool dtype_of_descr(const char *descr, enum mlu_dtype *out_dtype)
{
    for (int i = 0; i < MLU_DTYPE_COUNT; i++) {
        if (strcmp(descr, dtypes[i].descr) == 0) {
            *out_dtype = (enum mlu_dtype)i;
            return true;
        }
    }
    return false;
}

/* Copies an array in Fortran order, where the first index changes fastest. */
static void copy_fortran(struct mlu_array *array, const uint8_t *from)
{
    size_t bytes = dtypes[array->dtype].bytes;
    uint64_t index[MLU_DIMS_MAX] = { 0 };

    for (size_t n = 0; n < array->count; n++) {
        uint64_t at = 0;

        for (uint32_t d = 0; d < array->shape.dim_count; d++) {
            at = at * array->shape.dims[d] + index[d];
        }
        memcpy((uint8_t *)array->data + at * bytes, from + n * bytes, bytes);
        for (uint32_t d = 0; d < array->shape.dim_count && ++index[d] == array->shape.dims[d];
             d++) {
            index[d] = 0;
        }
    }
}

int mlu_array_from_npy(struct mlu_array *array, const void *bytes, size_t bytes_count,
                       struct ntk_err *err)
{
    struct ntk_neff_npy npy;
    struct mlu_shape shape = { 0 };
    enum mlu_dtype dtype;
    int ret = ntk_neff_npy_read(bytes, bytes_count, &npy, err);

    if (ret < 0) {
        return ret;
    }
    if (!dtype_of_descr(npy.descr, &dtype)) {
        return ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET, "unsupported element type '%s'",
                           npy.descr);
    }
    if (npy.dim_count > MLU_DIMS_MAX) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET,
                           "%u dimensions (at most %d are supported)", npy.dim_count, MLU_DIMS_MAX);
    }
    shape.dim_count = npy.dim_count;
    memcpy(shape.dims, npy.dims, npy.dim_count * sizeof shape.dims[0]);
    ret = mlu_array_init(array, dtype, &shape, err);
    if (ret < 0) {
        return ret;
    }
    if (npy.fortran_order && npy.dim_count > 1) {
        copy_fortran(array, npy.data);
    } else {
        memcpy(array->data, npy.data, array->count * dtypes[dtype].bytes);
    }
    return 0;
}

int mlu_array_read_npy(struct mlu_array *array, const char *path, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count;
    int ret = ntk_fs_read(path, MLU_ARRAY_BYTES_MAX, &bytes, &count, err);

    if (ret < 0) {
        return ret;
    }
    ret = mlu_array_from_npy(array, bytes, count, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    free(bytes);
    return ret;
}

int mlu_array_write_npy(const struct mlu_array *array, const char *path, struct ntk_err *err)
{
    struct ntk_fs_replace replace = { 0 };
    char header[512];
    int length;
    int ret;

    length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                      dtypes[array->dtype].descr);
    for (uint32_t i = 0; i < array->shape.dim_count; i++) {
        length += snprintf(header + length, sizeof header - (size_t)length,
                           i + 1 < array->shape.dim_count ? "%llu, "
                           : i == 0                       ? "%llu,"
                                                          : "%llu",
                           (unsigned long long)array->shape.dims[i]);
    }
    length += snprintf(header + length, sizeof header - (size_t)length, "), }");
    while ((NPY_START_BYTES + length + 1) % NPY_ALIGN != 0) {
        header[length++] = ' ';
    }
    header[length++] = '\n';

    ret = ntk_fs_replace_begin(&replace, path, err);
    if (ret < 0) {
        return ret;
    }
    const uint8_t start[NPY_START_BYTES] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)length, (uint8_t)(length >> 8)
    };
    fwrite(start, 1, sizeof start, replace.file);
    fwrite(header, 1, (size_t)length, replace.file);
    fwrite(array->data, dtypes[array->dtype].bytes, array->count, replace.file);
    return ntk_fs_replace_commit(&replace, err);
}
