/* SPDX-License-Identifier: MIT */
/* cnml_library - initialisation, memory for tensors, copies between host and device, helpers. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/cnrt/cnrt_internal.h"

enum { VERSION = 70200 }; /* 7.2.0: the newest release with all calls implemented here */

int cnml_status_of(int ret)
{
    switch (ret) {
    case CNRT_RET_SUCCESS:
        return CNML_STATUS_SUCCESS;
    case CNRT_RET_ERR_NOMEM:
        return CNML_STATUS_BADALLOC;
    case CNRT_RET_ERR_INVALID:
    case CNRT_RET_ERR_INVALID_POINTER:
        return CNML_STATUS_INVALIDARG;
    case CNRT_RET_ERR_MEMCPY:
        return CNML_STATUS_OUTOFRANGE;
    case CNRT_RET_ERR_UNSUPPORTED:
        return CNML_STATUS_UNSUPPORT;
    default:
        return CNML_STATUS_NODEVICE;
    }
}

/* --- life ------------------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool opened_runtime; /* we opened it, so we must close it */

cnmlStatus_t cnmlInit(int flag)
{
    int ret = CNRT_RET_SUCCESS;

    if (flag != 0) {
        return CNML_STATUS_INVALIDARG;
    }
    pthread_mutex_lock(&lock);
    if (!ntk_cnrt_is_open()) {
        ret = ntk_cnrt_open();
        opened_runtime = ret == CNRT_RET_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return (cnmlStatus_t)cnml_status_of(ret);
}

cnmlStatus_t cnmlExit(void)
{
    pthread_mutex_lock(&lock);
    if (opened_runtime) {
        opened_runtime = false;
        ntk_cnrt_close();
    }
    pthread_mutex_unlock(&lock);
    return CNML_STATUS_SUCCESS;
}

cnmlStatus_t cnmlGetVersion(unsigned int *version)
{
    if (!version) {
        return CNML_STATUS_INVALIDARG;
    }
    *version = VERSION;
    return CNML_STATUS_SUCCESS;
}

/* --- memory ---------------------------------------------------------------------------------- */

void *cnmlMallocBatchBuffer(cnmlTensor_t tensor, int batch)
{
    void *address = NULL;

    /* Sizes on the device are known only after an operator was compiled. */
    if (!tensor || batch < 1 || !tensor->is_compiled ||
        cnrtMalloc(&address, cnml_tensor_bytes(tensor) * (size_t)batch) != CNRT_RET_SUCCESS) {
        return NULL;
    }
    return address;
}

void *cnmlMallocBuffer(cnmlTensor_t tensor)
{
    return cnmlMallocBatchBuffer(tensor, 1);
}

cnmlStatus_t cnmlFreeBuffer(void *address)
{
    return (cnmlStatus_t)cnml_status_of((int)cnrtFree(address));
}

/* --- copies ---------------------------------------------------------------------------------- */

static int check_copy(const struct cnmlCpuTensor *cpu_tensor, const struct cnmlTensor *tensor,
                      const void *host, const void *device, int batch)
{
    if (!cpu_tensor || !tensor || !host || !device || batch < 1) {
        return CNML_STATUS_INVALIDARG;
    }
    return cnml_same_dims(cpu_tensor->dims, tensor->dims) ? CNML_STATUS_SUCCESS
                                                          : CNML_STATUS_INVALIDPARAM;
}

/* Decides on conversions: small integers on both sides are copied unchanged. */
static void quants_of(const struct cnmlCpuTensor *cpu_tensor, const struct cnmlTensor *tensor,
                      struct cnml_quant *out_host, struct cnml_quant *out_device)
{
    bool are_integers =
        cnml_dtype_is_quantised(cpu_tensor->dtype) && cnml_dtype_is_quantised(tensor->dtype);

    *out_host = (struct cnml_quant){ 0, 1 };
    *out_device = are_integers ? *out_host : cnml_tensor_quant(tensor, 0);
}

/* The tensor as it is stored on the device: channels innermost. */
static struct cnmlCpuTensor device_form(const struct cnmlTensor *tensor)
{
    struct cnmlCpuTensor form = { .dtype = tensor->dtype, .order = CNML_NHWC };

    memcpy(form.dims, tensor->dims, sizeof form.dims);
    return form;
}

/* Copies one tensor from host to device or back. */
typedef int copy_one(const struct cnmlCpuTensor *cpu_tensor, uint8_t *host,
                     const struct cnmlTensor *tensor, uint8_t *device, void *staging);

static int to_device(const struct cnmlCpuTensor *cpu_tensor, uint8_t *from,
                     const struct cnmlTensor *tensor, uint8_t *to, void *staging)
{
    struct cnmlCpuTensor form = device_form(tensor);
    struct cnml_quant host;
    struct cnml_quant device;
    float *values;
    int status;

    quants_of(cpu_tensor, tensor, &host, &device);
    values = cnml_host_read(cpu_tensor, from, host);
    status = values ? cnml_host_write(&form, staging, device, values) : CNML_STATUS_BADALLOC;
    free(values);
    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    return cnml_status_of(
        (int)cnrtMemcpy(to, staging, cnml_tensor_bytes(tensor), CNRT_MEM_TRANS_DIR_HOST2DEV));
}

static int to_host(const struct cnmlCpuTensor *cpu_tensor, uint8_t *to,
                   const struct cnmlTensor *tensor, uint8_t *from, void *staging)
{
    struct cnmlCpuTensor form = device_form(tensor);
    struct cnml_quant host;
    struct cnml_quant device;
    float *values;
    int status = cnml_status_of(
        (int)cnrtMemcpy(staging, from, cnml_tensor_bytes(tensor), CNRT_MEM_TRANS_DIR_DEV2HOST));

    if (status != CNML_STATUS_SUCCESS) {
        return status;
    }
    quants_of(cpu_tensor, tensor, &host, &device);
    values = cnml_host_read(&form, staging, device);
    status = values ? cnml_host_write(cpu_tensor, to, host, values) : CNML_STATUS_BADALLOC;
    free(values);
    return status;
}

static cnmlStatus_t copy_batch(copy_one *copy, const struct cnmlCpuTensor *cpu_tensor,
                               uint8_t *host, const struct cnmlTensor *tensor, uint8_t *device,
                               int batch)
{
    int status = check_copy(cpu_tensor, tensor, host, device, batch);
    void *staging;

    if (status != CNML_STATUS_SUCCESS) {
        return (cnmlStatus_t)status;
    }
    staging = malloc(cnml_tensor_bytes(tensor));
    if (!staging) {
        return CNML_STATUS_BADALLOC;
    }
    for (size_t i = 0; status == CNML_STATUS_SUCCESS && i < (size_t)batch; i++) {
        size_t host_bytes = cnml_elements(cpu_tensor->dims) * cnml_dtype_bytes(cpu_tensor->dtype);

        status = copy(cpu_tensor, host + i * host_bytes, tensor,
                      device + i * cnml_tensor_bytes(tensor), staging);
    }
    free(staging);
    return (cnmlStatus_t)status;
}

cnmlStatus_t cnmlMemcpyBatchTensorToDevice(cnmlCpuTensor_t cpu_tensor, void *from,
                                           cnmlTensor_t tensor, void *to, int batch)
{
    return copy_batch(to_device, cpu_tensor, from, tensor, to, batch);
}

cnmlStatus_t cnmlMemcpyBatchTensorToHost(cnmlTensor_t tensor, void *from,
                                         cnmlCpuTensor_t cpu_tensor, void *to, int batch)
{
    return copy_batch(to_host, cpu_tensor, to, tensor, from, batch);
}

cnmlStatus_t cnmlMemcpyTensorToDevice(cnmlCpuTensor_t cpu_tensor, void *from, cnmlTensor_t tensor,
                                      void *to)
{
    return cnmlMemcpyBatchTensorToDevice(cpu_tensor, from, tensor, to, 1);
}

cnmlStatus_t cnmlMemcpyTensorToHost(cnmlTensor_t tensor, void *from, cnmlCpuTensor_t cpu_tensor,
                                    void *to)
{
    return cnmlMemcpyBatchTensorToHost(tensor, from, cpu_tensor, to, 1);
}

/* --- helpers --------------------------------------------------------------------------------- */

void cnmlDumpTensor2File(const char *file, cnmlCpuTensor_t tensor, cnmlTensorType_t type,
                         void *address, bool append)
{
    size_t count = tensor ? cnml_elements(tensor->dims) : 0;
    float *values;
    FILE *out;

    (void)type;
    if (!file || !tensor || !address) {
        return;
    }
    values = malloc(count * sizeof *values);
    out = values ? fopen(file, append ? "a" : "w") : NULL;
    if (out) {
        /* The data is in the order of the tensor. */
        cnml_to_float(tensor->dtype, (struct cnml_quant){ 0, 1 }, address, values, count);
        for (size_t i = 0; i < count; i++) {
            (void)fprintf(out, "%.9g\n", (double)values[i]);
        }
        (void)fclose(out);
    }
    free(values);
}

int getFix8Position(float *data, int count)
{
    float greatest = 0;
    int exponent;

    for (int i = 0; data && i < count; i++) {
        if (isfinite(data[i])) {
            greatest = fmaxf(greatest, fabsf(data[i]));
        }
    }
    if (greatest == 0) {
        return 0;
    }
    (void)frexpf(greatest, &exponent); /* greatest = [0.5, 1) * 2^exponent */
    return exponent - 1 - 6;
}

int16_t float2half(float value)
{
    return (int16_t)cnml_float_to_half(value);
}

int8_t float2fix8(float value, int position, int offset)
{
    double scaled = nearbyint(ldexp((double)value, -position)) + offset;

    return isnan(scaled) ? 0 : (int8_t)fmax(INT8_MIN, fmin(INT8_MAX, scaled));
}
