/* SPDX-License-Identifier: MIT */
/*
 * nrt_model - loads and unloads models, and lists their inputs and outputs.
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"
#include "runtime-hooks/inspect/inspect.h"
#include "runtime-hooks/libnrt/nrt_env.h"
#include "runtime-hooks/libnrt/nrt_infodump.h"
#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_neff_source.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

/* Writes the log lines of the vendor's components, then the message with the cause, which is the
 * last before output of the program. */
static NRT_STATUS load_failed(const void *neff_bytes, size_t size, int error,
                              const struct ntk_err *err)
{
    char name[NTK_CORE_FILE_NAME_BYTES];
    NRT_STATUS status = nrt_status_from_error(error);

    ntk_core_file_name(neff_bytes, size, name);
    /* the NEFF was valid up to this failure */
    if (status == NRT_RESOURCE || status == NRT_LOAD_NOT_ENOUGH_NC) {
        nrt_log_write(NRT_LOG_NMGR, NRT_LOG_ERROR, "stage_kelf_models",
                      "Failed to stage graph: %s to NeuronCore", name);
    }
    nrt_log_write(NRT_LOG_NMGR, NRT_LOG_ERROR, "kmgr_load_nn_post_metrics",
                  "Failed to load NN: %s, err: %d", name, (int)status);
    nrt_infodump(NRT_INFODUMP_LOAD, status, nrt_front_core_get());
    return nrt_front_fail("nrt_load", error, err);
}

/* Loads a model. Called between nrt_front_enter() and _leave(), after vnc_count was checked. */
static NRT_STATUS model_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                             uint32_t rank, uint32_t rank_count, nrt_model_t **model)
{
    struct ntk_core *core = nrt_front_core_get();
    struct ntk_core_load_options options = { 0 };
    struct ntk_core_model *loaded = NULL;
    struct ntk_err err = { 0 };
    int ret = nrt_env_load_options_get(ntk_core_machine_get(core), &options, &err);

    if (ret == 0) {
        options.nc = vnc < 0 ? NTK_CORE_ANY : (uint32_t)vnc;
        enum ntk_env_cpu_nodes allowed = ntk_env_soft_cpu_nodes();

        options.allow_cpu_nodes =
            allowed == NTK_ENV_CPU_NODES_ALL ||
            (allowed == NTK_ENV_CPU_NODES_OWN && nrt_neff_source_is_ours(neff_bytes));
        options.core_count = vnc_count < 0 ? 0 : (uint32_t)vnc_count;
        options.rendezvous = getenv("NEURON_RT_ROOT_COMM_ID");
        options.rank = rank;
        options.rank_count = rank_count;
        ret = ntk_core_model_load(core, neff_bytes, size, &options, &loaded, &err);
    }
    if (ret < 0) {
        return load_failed(neff_bytes, size, ret, &err);
    }
    struct nrt_model *handle = ntk_core_handle_create(&nrt_front_models);
    if (!handle) {
        ntk_core_model_unload(loaded);
        return NRT_RESOURCE;
    }
    handle->core = loaded;
    ntk_inspect_model_loaded(loaded, neff_bytes, size);
    *model = handle;
    nrt_log_info("nrt_load", "model '%s' has id %u on core %u", ntk_core_model_name(loaded),
                 ntk_core_model_id(loaded), ntk_core_model_nc(loaded));
    return NRT_SUCCESS;
}

NRT_STATUS nrt_front_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                          uint32_t rank, uint32_t rank_count, nrt_model_t **model)
{
    NRT_FRONT_SCOPE;
    if (!neff_bytes || size == 0 || !model || vnc < -1 || vnc_count < -1 || vnc_count == 0) {
        nrt_log_error("nrt_load",
                      "no NEFF or no model pointer, or invalid core %d or count %d (NRT_INVALID)",
                      (int)vnc, (int)vnc_count);
        status = NRT_INVALID;
    } else {
        status = model_load(neff_bytes, size, vnc, vnc_count, rank, rank_count, model);
    }
    return status;
}

NRT_STATUS nrt_load(const void *neff_bytes, size_t size, int32_t vnc, int32_t vnc_count,
                    nrt_model_t **model)
{
    return nrt_front_load(neff_bytes, size, vnc, vnc_count, 0, 0, model);
}

NRT_STATUS nrt_unload(nrt_model_t *model)
{
    NRT_FRONT_SCOPE;
    if (!ntk_core_handle_close_and_wait(&nrt_front_models, model)) {
        status = nrt_front_no_model(model);
    }
    return status;
}

static void model_scope_end(struct nrt_model *const *model)
{
    if (*model) {
        ntk_core_handle_drop(&nrt_front_models, *model);
    }
}

/* Enters and takes the model until the end of the function, or returns the status of an invalid
 * handle. */
#define MODEL_SCOPE(handle, taken)                                      \
    NRT_FRONT_SCOPE;                                                    \
    struct nrt_model *taken __attribute__((cleanup(model_scope_end))) = \
        ntk_core_handle_take(&nrt_front_models, handle);                \
    if (!(taken)) {                                                     \
        return nrt_front_no_model(handle);                              \
    }

static NRT_STATUS model_count_get(const nrt_model_t *model,
                                  uint32_t (*count_get)(const struct ntk_core_model *),
                                  uint32_t *count)
{
    MODEL_SCOPE(model, taken);
    if (count) {
        *count = count_get(taken->core);
    }
    return count ? NRT_SUCCESS : NRT_INVALID;
}

NRT_STATUS nrt_get_model_nc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
    return model_count_get(model, ntk_core_model_nc_count, vnc_count);
}

NRT_STATUS nrt_get_model_vnc_count(const nrt_model_t *model, uint32_t *vnc_count)
{
    return model_count_get(model, ntk_core_model_nc_count, vnc_count);
}

NRT_STATUS nrt_get_model_instance_count(nrt_model_t *model, uint32_t *instance_count)
{
    return model_count_get(model, ntk_core_model_instance_count, instance_count);
}

NRT_STATUS nrt_get_model_info(const nrt_model_t *model, nrt_model_info_t *info, size_t info_size_in,
                              size_t *info_size_out)
{
    MODEL_SCOPE(model, taken);

    if (!info || !info_size_out || info_size_in == 0) {
        status = NRT_INVALID;
    } else {
        nrt_model_info_t known = { ntk_core_model_nc(taken->core) };
        size_t bytes = info_size_in < sizeof known ? info_size_in : sizeof known;

        memcpy(info, &known, bytes);
        *info_size_out = bytes;
    }
    return status;
}

/* Like the vendor's library, fp8 tensors are reported as bytes. */
static nrt_dtype_t dtype_shown(uint32_t dtype)
{
    static const uint8_t legacy[] = {
        [NRT_DTYPE_FLOAT32] = 1, [NRT_DTYPE_FLOAT16] = 2, [NRT_DTYPE_BFLOAT16] = 3,
        [NRT_DTYPE_INT8] = 4,    [NRT_DTYPE_UINT8] = 5,   [NRT_DTYPE_INT16] = 6,
        [NRT_DTYPE_UINT16] = 7,  [NRT_DTYPE_INT32] = 8,   [NRT_DTYPE_UINT32] = 9,
        [NRT_DTYPE_INT64] = 10,  [NRT_DTYPE_UINT64] = 11, [NRT_DTYPE_FP32R] = 1,
    };

    if (dtype >= NRT_DTYPE_FP8_E3 && dtype <= NRT_DTYPE_FP8_E5) {
        dtype = NRT_DTYPE_INT8;
    }
    if (nrt_env_legacy_dtype()) {
        dtype = dtype < sizeof legacy ? legacy[dtype] : 0;
    }
    return (nrt_dtype_t)dtype;
}

/* Allocates one block: the array, then all shapes, so that it can be freed without reading it. */
static nrt_tensor_info_array_t *info_make(const struct ntk_core_io *ios, size_t count)
{
    size_t shapes = 0;

    for (size_t i = 0; i < count; i++) {
        shapes += ios[i].dimension_count;
    }
    size_t array_bytes = sizeof(nrt_tensor_info_array_t) + count * sizeof(nrt_tensor_info_t);
    nrt_tensor_info_array_t *array = calloc(1, array_bytes + shapes * sizeof(uint32_t) + 1);
    if (!array) {
        return NULL;
    }
    uint32_t *shape = (uint32_t *)(void *)((char *)array + array_bytes);
    array->tensor_count = count;
    for (size_t i = 0; i < count; i++) {
        nrt_tensor_info_t *info = &array->tensor_array[i];

        memcpy(info->name, ios[i].name, sizeof info->name);
        info->usage = ios[i].is_output ? NRT_TENSOR_USAGE_OUTPUT : NRT_TENSOR_USAGE_INPUT;
        info->size = ios[i].bytes;
        info->dtype = dtype_shown(ios[i].dtype);
        info->shape = shape;
        info->ndim = ios[i].dimension_count;
        memcpy(shape, ios[i].shape, ios[i].dimension_count * sizeof *shape);
        shape += ios[i].dimension_count;
    }
    return array;
}

NRT_STATUS nrt_get_model_tensor_info(nrt_model_t *model, nrt_tensor_info_array_t **tensor_info)
{
    MODEL_SCOPE(model, taken);
    size_t count = 0;

    if (!tensor_info) {
        status = NRT_INVALID;
    } else {
        const struct ntk_core_io *ios = ntk_core_model_io_get(taken->core, &count);
        nrt_tensor_info_array_t *array = info_make(ios, count);

        if (array) {
            *tensor_info = array;
        } else {
            status = NRT_RESOURCE;
        }
    }
    return status;
}

/* Works in every state, because only the caller uses the array. */
NRT_STATUS nrt_free_model_tensor_info(nrt_tensor_info_array_t *tensor_info)
{
    if (!tensor_info) {
        return NRT_INVALID;
    }
    free(tensor_info);
    return NRT_SUCCESS;
}
