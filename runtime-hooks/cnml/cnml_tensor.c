/* SPDX-License-Identifier: MIT */
/* cnml_tensor - descriptors of tensors on the device and host, and data bound to constants. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdlib.h>
#include <string.h>

size_t cnml_elements(const int dims[CNML_DIMS])
{
    return (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[3];
}

bool cnml_same_dims(const int a[CNML_DIMS], const int b[CNML_DIMS])
{
    return memcmp(a, b, sizeof *a * CNML_DIMS) == 0;
}

/* Returns true if each dimension is at least 1 and the product fits an int. */
static bool dims_are_good(const int dims[CNML_DIMS])
{
    int64_t elements = 1;

    for (int i = 0; i < CNML_DIMS; i++) {
        if (dims[i] < 1 || elements > CNML_ELEMENTS_MAX / dims[i]) {
            return false;
        }
        elements *= dims[i];
    }
    return true;
}

static int check(int type, int dtype, const int dims[CNML_DIMS])
{
    if (type < CNML_TENSOR || type > CNML_CONST || !dims_are_good(dims)) {
        return CNML_STATUS_INVALIDARG;
    }
    if (dtype == CNML_INT4_OF_G3) {
        return CNML_STATUS_UNSUPPORT;
    }
    return cnml_dtype_bytes(dtype) == 0 ? CNML_STATUS_INVALIDARG : CNML_STATUS_SUCCESS;
}

int cnml_tensor_make(struct cnmlTensor **out, int type, int dtype, const int dims[CNML_DIMS])
{
    static const int none[CNML_DIMS] = { 1, 1, 1, 1 };
    struct cnmlTensor *tensor;
    int status = out ? check(type, dtype, dims ? dims : none) : CNML_STATUS_INVALIDARG;

    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    tensor = calloc(1, sizeof *tensor);
    if (!tensor) {
        return CNML_STATUS_BADALLOC;
    }
    tensor->references = 1;
    tensor->type = type;
    tensor->dtype = dtype;
    tensor->has_shape = dims != NULL;
    memcpy(tensor->dims, dims ? dims : none, sizeof tensor->dims);
    tensor->quants.one.scale = 1;
    *out = tensor;
    return CNML_STATUS_SUCCESS;
}

struct cnmlTensor *cnml_tensor_hold(struct cnmlTensor *tensor)
{
    if (tensor) {
        __atomic_add_fetch(&tensor->references, 1, __ATOMIC_RELAXED);
    }
    return tensor;
}

static void forget_binding(struct cnmlTensor *tensor)
{
    cnml_cpu_tensor_drop(tensor->bound);
    free(tensor->bound_free);
    tensor->bound = NULL;
    tensor->bound_host = NULL;
    tensor->bound_free = NULL;
}

void cnml_tensor_drop(struct cnmlTensor *tensor)
{
    if (!tensor || __atomic_sub_fetch(&tensor->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    forget_binding(tensor);
    free(tensor->values);
    free(tensor->quants.by_channel);
    free(tensor);
}

size_t cnml_tensor_bytes(const struct cnmlTensor *tensor)
{
    return cnml_elements(tensor->dims) * cnml_dtype_bytes(tensor->dtype);
}

struct cnml_quant cnml_tensor_quant(const struct cnmlTensor *tensor, int channel)
{
    if (!cnml_dtype_is_quantised(tensor->dtype)) {
        return (struct cnml_quant){ 0, 1 };
    }
    return tensor->quants.by_channel && channel < tensor->quants.channel_count
               ? tensor->quants.by_channel[channel]
               : tensor->quants.one;
}

int cnml_tensor_set_dtype(struct cnmlTensor *tensor, int dtype)
{
    int status = tensor ? check(tensor->type, dtype, tensor->dims) : CNML_STATUS_INVALIDARG;

    if (status == CNML_STATUS_SUCCESS && tensor->is_compiled) {
        status = CNML_STATUS_INVALIDPARAM;
    }
    if (status == CNML_STATUS_SUCCESS) {
        tensor->dtype = dtype;
    }
    return status;
}

int cnml_tensor_consume(struct cnmlTensor *tensor)
{
    struct cnml_quant quant = tensor->quants.one;

    if (tensor->values) {
        return CNML_STATUS_SUCCESS;
    }
    if (!tensor->bound) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (!cnml_dtype_is_quantised(tensor->bound->dtype) || !cnml_dtype_is_quantised(tensor->dtype)) {
        quant = (struct cnml_quant){ 0, 1 };
    }
    tensor->values = cnml_host_read(tensor->bound, tensor->bound_host, quant);
    if (!tensor->values) {
        return CNML_STATUS_BADALLOC;
    }
    forget_binding(tensor);
    return CNML_STATUS_SUCCESS;
}

/* --- host ------------------------------------------------------------------------------------ */

int cnml_cpu_tensor_make(struct cnmlCpuTensor **out, int type, int dtype, int order,
                         const int dims[CNML_DIMS])
{
    struct cnmlCpuTensor *tensor;
    int status =
        out && cnml_order_is_known(order) ? check(type, dtype, dims) : CNML_STATUS_INVALIDARG;

    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    tensor = calloc(1, sizeof *tensor);
    if (!tensor) {
        return CNML_STATUS_BADALLOC;
    }
    *tensor =
        (struct cnmlCpuTensor){ .references = 1, .type = type, .dtype = dtype, .order = order };
    memcpy(tensor->dims, dims, sizeof tensor->dims);
    *out = tensor;
    return CNML_STATUS_SUCCESS;
}

void cnml_cpu_tensor_drop(struct cnmlCpuTensor *tensor)
{
    if (tensor && __atomic_sub_fetch(&tensor->references, 1, __ATOMIC_ACQ_REL) == 0) {
        free(tensor);
    }
}

/* --- calls of all generations ---------------------------------------------------------------- */

cnmlStatus_t cnmlCreateTensor(cnmlTensor_t *tensor, cnmlTensorType_t type, cnmlDataType_t dtype,
                              int n, int c, int h, int w)
{
    return (cnmlStatus_t)cnml_tensor_make(tensor, (int)type, (int)dtype,
                                          (int[CNML_DIMS]){ n, c, h, w });
}

cnmlStatus_t cnmlCreateCpuTensor(cnmlCpuTensor_t *tensor, cnmlTensorType_t type,
                                 cnmlDataType_t dtype, cnmlDataOrder_t order, int n, int c, int h,
                                 int w)
{
    return (cnmlStatus_t)cnml_cpu_tensor_make(tensor, (int)type, (int)dtype, (int)order,
                                              (int[CNML_DIMS]){ n, c, h, w });
}

cnmlStatus_t cnmlDestroyTensor(cnmlTensor_t *tensor)
{
    if (!tensor || !*tensor) {
        return CNML_STATUS_INVALIDARG;
    }
    cnml_tensor_drop(*tensor);
    *tensor = NULL;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlDestroyCpuTensor(cnmlCpuTensor_t *tensor)
{
    if (!tensor || !*tensor) {
        return CNML_STATUS_INVALIDARG;
    }
    cnml_cpu_tensor_drop(*tensor);
    *tensor = NULL;
    return CNML_STATUS_SUCCESS;
}

cnmlDataType_t cnmlGetTensorDataType(cnmlTensor_t tensor)
{
    return tensor ? (cnmlDataType_t)tensor->dtype : CNML_DATA_INVALID;
}

void cnmlGetTensorShape(cnmlTensor_t tensor, int *shape4)
{
    if (tensor && shape4) {
        memcpy(shape4, tensor->dims, sizeof tensor->dims);
    }
}

size_t cnmlGetTensorSize(cnmlTensor_t tensor)
{
    return tensor ? cnml_tensor_bytes(tensor) : 0;
}

/* Accepts positions for which 2^position and its inverse are floats of full precision. */
static bool is_position(int position)
{
    return position >= -64 && position <= 64;
}

cnmlStatus_t cnmlSetFix8Position(cnmlTensor_t tensor, int position)
{
    if (!tensor) {
        return CNML_STATUS_INVALIDARG;
    }
    if (!is_position(position)) {
        return CNML_STATUS_OUTOFRANGE;
    }
    if (tensor->is_compiled) {
        return CNML_STATUS_INVALIDPARAM;
    }
    tensor->quants.one.position = position;
    tensor->has_quant = true;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlGetFix8Position(cnmlTensor_t tensor, int *position)
{
    if (!tensor || !position) {
        return CNML_STATUS_INVALIDARG;
    }
    *position = tensor->quants.one.position;
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlSetQuantizedPosition(cnmlTensor_t tensor, int position)
{
    return cnmlSetFix8Position(tensor, position);
}

static bool is_scale(float scale)
{
    return scale > 0x1p-64F && scale < 0x1p64F;
}

cnmlStatus_t cnmlSetQuantizedScale(cnmlTensor_t tensor, float scale)
{
    if (!tensor) {
        return CNML_STATUS_INVALIDARG;
    }
    if (!is_scale(scale)) {
        return CNML_STATUS_OUTOFRANGE;
    }
    if (tensor->is_compiled) {
        return CNML_STATUS_INVALIDPARAM;
    }
    tensor->quants.one.scale = scale;
    tensor->has_quant = true;
    return CNML_STATUS_SUCCESS;
}

/* Begins per-channel values; a filter's channels are its first dimension. */
static int channels_begin(struct cnmlTensor *tensor, const void *values, int count)
{
    struct cnml_quants *quants = tensor ? &tensor->quants : NULL;

    if (!tensor || !values || count < 1 || !tensor->has_shape || count != tensor->dims[CNML_N] ||
        tensor->type != CNML_FILTER) {
        return CNML_STATUS_INVALIDARG;
    }
    if (tensor->is_compiled) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (!quants->by_channel) {
        quants->by_channel = malloc((size_t)count * sizeof *quants->by_channel);
        if (!quants->by_channel) {
            return CNML_STATUS_BADALLOC;
        }
        quants->channel_count = count;
        for (int i = 0; i < count; i++) {
            quants->by_channel[i] = quants->one;
        }
    }
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlSetQuantizedPositionByChannel(cnmlTensor_t tensor, int *positions, int count)
{
    int status;

    for (int i = 0; positions && i < count; i++) {
        if (!is_position(positions[i])) {
            return CNML_STATUS_OUTOFRANGE;
        }
    }
    status = channels_begin(tensor, positions, count);
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < count; i++) {
        tensor->quants.by_channel[i].position = positions[i];
    }
    return (cnmlStatus_t)status;
}

cnmlStatus_t cnmlSetQuantizedScaleByChannel(cnmlTensor_t tensor, float *scales, int count)
{
    int status;

    for (int i = 0; scales && i < count; i++) {
        if (!is_scale(scales[i])) {
            return CNML_STATUS_OUTOFRANGE;
        }
    }
    status = channels_begin(tensor, scales, count);
    for (int i = 0; status == CNML_STATUS_SUCCESS && i < count; i++) {
        tensor->quants.by_channel[i].scale = scales[i];
    }
    return (cnmlStatus_t)status;
}

cnmlStatus_t cnmlBindConstData(cnmlTensor_t tensor, cnmlCpuTensor_t cpu_tensor, void *host)
{
    if (!tensor || !cpu_tensor || !host ||
        (tensor->type != CNML_FILTER && tensor->type != CNML_CONST) || tensor->is_compiled) {
        return CNML_STATUS_INVALIDPARAM;
    }
    if (!cnml_same_dims(tensor->dims, cpu_tensor->dims)) {
        return CNML_STATUS_INVALIDPARAM;
    }
    forget_binding(tensor);
    free(tensor->values);
    tensor->values = NULL;
    __atomic_add_fetch(&cpu_tensor->references, 1, __ATOMIC_RELAXED);
    tensor->bound = cpu_tensor;
    tensor->bound_host = host;
    return CNML_STATUS_SUCCESS;
}
