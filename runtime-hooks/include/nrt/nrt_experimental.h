/* SPDX-License-Identifier: MIT */
/*
 * nrt_experimental - describes the inputs and outputs of a model, and declares rarely used calls.
 */
#ifndef NRT_NRT_EXPERIMENTAL_H
#define NRT_NRT_EXPERIMENTAL_H

#include "nrt/nrt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NRT_TENSOR_NAME_MAX 256

typedef enum {
    NRT_TENSOR_USAGE_INPUT = 0,
    NRT_TENSOR_USAGE_OUTPUT = 1,
} nrt_tensor_usage_t;

typedef struct nrt_tensor_info {
    char name[NRT_TENSOR_NAME_MAX];
    nrt_tensor_usage_t usage;
    size_t size; /* size in bytes */
    nrt_dtype_t dtype;
    uint32_t *shape; /* ndim entries */
    uint32_t ndim;
} nrt_tensor_info_t;

typedef struct nrt_tensor_info_array {
    uint64_t tensor_count;
    nrt_tensor_info_t tensor_array[]; /* tensor_count entries */
} nrt_tensor_info_array_t;

typedef struct nrt_model_info {
    uint32_t vnc;
} nrt_model_info_t;

typedef struct nrt_ucode_img {
    uint8_t *bin;
    size_t size;
} nrt_ucode_img;

typedef struct nrt_ucode_info {
    nrt_ucode_img iram;
    nrt_ucode_img dram;
} nrt_ucode_info;

/* Lists inputs, then outputs, in the order of the NEFF. Only the next call frees the result, even
 * after nrt_unload(). */
NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info);
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info);
NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out);

/* Always returns NULL with *err = 1: software NeuronCores have no network plugin. */
void *nrt_get_libnccl_net(int *err, char *err_msg, size_t err_msg_size);
NRT_STATUS nrt_set_pool_eng_ucode(const nrt_ucode_info *ucode_info);

/* Records a system trace of all cores (memory events only with trace_mem) and writes it to a file
 * in the format of docs/formats/ntrace.md. NRT_INVALID: a trace is already on, or no trace is on
 * that could stop. */
NRT_STATUS nrt_trace_start(bool trace_mem);
NRT_STATUS nrt_trace_stop(const char *filename);

/* Has no effect: software NeuronCores order collective operations by their queues. NRT_INVALID if
 * stream_id is not below NEC_MAX_STREAM_N. */
NRT_STATUS nrt_cc_create_stream(uint32_t stream_id);

/* Logs the users of device memory, as when memory runs out, and writes all allocations to one file
 * per HBM stack in NEURON_RT_OOM_DUMP_DIRECTORY. */
NRT_STATUS nrt_debug_log_oom_report(void);
NRT_STATUS nrt_dump_device_allocation_info(void);

#ifdef __cplusplus
}
#endif
#endif
