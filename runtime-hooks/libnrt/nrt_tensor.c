/* SPDX-License-Identifier: MIT */
/*
 * nrt_tensor - checks arguments and handles of tensors, then calls the core.
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <errno.h>
#include <string.h>

#include "runtime-hooks/libnrt/nrt_log.h"
#include "runtime-hooks/libnrt/nrt_status_map.h"

static struct nrt_tensor *tensor_take(const nrt_tensor_t *tensor)
{
    return ntk_core_handle_take(&nrt_front_tensors, tensor);
}

static void tensor_drop(struct nrt_tensor *tensor)
{
    if (tensor) {
        ntk_core_handle_drop(&nrt_front_tensors, tensor);
    }
}

static void tensor_scope_end(struct nrt_tensor *const *tensor)
{
    tensor_drop(*tensor);
}

/* Enters and takes the tensor until the end of the function, or returns NRT_INVALID for an invalid
 * handle. */
#define TENSOR_SCOPE(handle, taken)                                                            \
    NRT_FRONT_SCOPE;                                                                           \
    struct nrt_tensor *taken __attribute__((cleanup(tensor_scope_end))) = tensor_take(handle); \
    if (!(taken)) {                                                                            \
        return NRT_INVALID;                                                                    \
    }

/* Creates a handle for a tensor of the core; takes ownership of the tensor, even on failure. */
static NRT_STATUS tensor_publish(struct ntk_core_tensor *core, nrt_tensor_t **out_tensor)
{
    struct nrt_tensor *tensor = ntk_core_handle_create(&nrt_front_tensors);

    if (!tensor) {
        ntk_core_tensor_destroy(core);
        return NRT_RESOURCE;
    }
    tensor->core = core;
    *out_tensor = tensor;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc, size_t size,
                               const char *name, nrt_tensor_t **tensor)
{
    enum ntk_core_placement placement = NTK_CORE_DEVICE;
    struct ntk_core_tensor *core = NULL;
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    if (!tensor || size == 0 || vnc < -1 ||
        (vnc < 0 && tensor_placement == NRT_TENSOR_PLACEMENT_DEVICE)) {
        status = NRT_INVALID;
    }
    switch (tensor_placement) {
    case NRT_TENSOR_PLACEMENT_DEVICE:
        placement = NTK_CORE_DEVICE;
        break;
    case NRT_TENSOR_PLACEMENT_HOST:
        placement = NTK_CORE_HOST;
        break;
    case NRT_TENSOR_PLACEMENT_VIRTUAL:
        placement = NTK_CORE_VIRTUAL;
        break;
    default:
        status = NRT_INVALID;
        break;
    }
    if (status == NRT_SUCCESS) {
        int ret =
            ntk_core_tensor_create(nrt_front_core_get(), placement,
                                   vnc < 0 ? NTK_CORE_ANY : (uint32_t)vnc, size, name, &core, &err);
        status = ret < 0 ? nrt_front_fail("nrt_tensor_allocate", ret, &err)
                         : tensor_publish(core, tensor);
    }
    return status;
}

NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
    struct ntk_core_tensor *core = NULL;
    struct ntk_err err = { 0 };
    NRT_FRONT_SCOPE;

    if (!tensor) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_tensor_create_empty(nrt_front_core_get(), name, &core, &err);

        status = ret < 0 ? nrt_front_fail("nrt_tensor_allocate_empty", ret, &err)
                         : tensor_publish(core, tensor);
    }
    return status;
}

NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset, size_t size,
                                     const char *name, nrt_tensor_t **tensor_slice)
{
    struct ntk_core_tensor *core = NULL;
    struct ntk_err err = { 0 };
    TENSOR_SCOPE(tensor_source, source);

    if (!tensor_slice || size == 0) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_tensor_create_slice(source->core, offset, size, name, &core, &err);

        status = ret < 0 ? nrt_front_fail("nrt_tensor_allocate_slice", ret, &err)
                         : tensor_publish(core, tensor_slice);
    }
    return status;
}

void nrt_tensor_free(nrt_tensor_t **tensor)
{
    if (!tensor || !*tensor) {
        return;
    }
    /* After nrt_close() the handle is closed and needs no release. */
    if (nrt_front_enter() == NRT_SUCCESS) {
        (void)ntk_core_handle_close(&nrt_front_tensors, *tensor);
        nrt_front_leave();
    }
    *tensor = NULL;
}

NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
    struct ntk_err err = { 0 };
    TENSOR_SCOPE(tensor, taken);

    if (!buffer || size == 0) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_tensor_attach(taken->core, buffer, size, &err);

        status = ret < 0 ? nrt_front_fail("nrt_tensor_attach_buffer", ret, &err) : NRT_SUCCESS;
    }
    return status;
}

/* Transfers between host and tensor; if from is NULL, to the host. */
static NRT_STATUS transfer(const char *function, const nrt_tensor_t *tensor, void *to,
                           const void *from, size_t offset, size_t size)
{
    struct ntk_err err = { 0 };
    TENSOR_SCOPE(tensor, taken);

    if (!to && !from) {
        status = NRT_INVALID;
    } else {
        int ret = from ? ntk_core_tensor_write(taken->core, from, offset, size, &err)
                       : ntk_core_tensor_read(taken->core, to, offset, size, &err);

        status = ret < 0 ? nrt_front_fail(function, ret, &err) : NRT_SUCCESS;
    }
    return status;
}

NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
    return transfer("nrt_tensor_read", tensor, buf, NULL, offset, size);
}

NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
    return transfer("nrt_tensor_write", tensor, NULL, buf, offset, size);
}

/* The first failed operation ends the batch. */
static NRT_STATUS batch_run(const nrt_tensor_batch_t *batches, uint64_t num_batches, bool is_write)
{
    NRT_STATUS open = nrt_front_enter(); /* an empty batch also needs an open runtime */

    if (open != NRT_SUCCESS) {
        return open;
    }
    nrt_front_leave();
    if (!batches && num_batches > 0) {
        return NRT_INVALID;
    }
    for (uint64_t i = 0; i < num_batches; i++) {
        const nrt_tensor_batch_t *batch = &batches[i];

        if (!batch->ops && batch->num_ops > 0) {
            return NRT_INVALID;
        }
        for (uint32_t k = 0; k < batch->num_ops; k++) {
            const nrt_tensor_batch_op_t *op = &batch->ops[k];
            NRT_STATUS status =
                is_write ? nrt_tensor_write(batch->tensor, op->buffer, op->offset, op->size)
                         : nrt_tensor_read(batch->tensor, op->buffer, op->offset, op->size);

            if (status != NRT_SUCCESS) {
                return status;
            }
        }
    }
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                 bool unsafe)
{
    (void)unsafe; /* software cores do not track transfers */
    return batch_run(batches, num_batches, false);
}

NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                  bool unsafe)
{
    (void)unsafe;
    return batch_run(batches, num_batches, true);
}

NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                           size_t dst_offset, size_t size)
{
    struct ntk_err err = { 0 };
    TENSOR_SCOPE(src, from);

    struct nrt_tensor *to = tensor_take(dst);
    if (!to) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_tensor_copy(from->core, src_offset, to->core, dst_offset, size, &err);

        status = ret < 0 ? nrt_front_fail("nrt_tensor_copy", ret, &err) : NRT_SUCCESS;
    }
    tensor_drop(to);
    return status;
}

NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
    struct ntk_err err = { 0 };
    TENSOR_SCOPE(tensor, taken);

    int ret = ntk_core_tensor_fill(taken->core, offset, (uint8_t)value, size, &err);
    status = ret < 0 ? nrt_front_fail("nrt_tensor_memset", ret, &err) : NRT_SUCCESS;
    return status;
}

/* Returns the properties, zeroed for an invalid handle. */
static NRT_STATUS tensor_info_get(const nrt_tensor_t *tensor, struct ntk_core_tensor_info *out_info)
{
    memset(out_info, 0, sizeof *out_info);
    TENSOR_SCOPE(tensor, taken);
    ntk_core_tensor_info_get(taken->core, out_info);
    return NRT_SUCCESS;
}

size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
    struct ntk_core_tensor_info info;

    (void)tensor_info_get(tensor, &info);
    return info.bytes;
}

void *nrt_tensor_get_va(const nrt_tensor_t *tensor)
{
    struct ntk_core_tensor_info info;

    (void)tensor_info_get(tensor, &info);
    return info.address;
}

NRT_STATUS
nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
                                      nrt_tensor_device_allocation_info_t *alloc_info)
{
    struct ntk_core_tensor_info info;
    NRT_STATUS status = tensor_info_get(tensor, &info);

    if (status != NRT_SUCCESS) {
        return status;
    }
    if (!alloc_info || info.placement != NTK_CORE_DEVICE || !info.address) {
        return NRT_INVALID;
    }
    alloc_info->physical_address = info.device_address;
    alloc_info->size = info.allocation_bytes;
    alloc_info->hbm_index = (int)info.stack;
    return NRT_SUCCESS;
}

NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *output_tensor, int64_t timeout,
                                              uint64_t expected_completion_count)
{
    static const int64_t warn_after_us = 30 * INT64_C(1000000);
    TENSOR_SCOPE(output_tensor, taken);
    int ret = ntk_core_tensor_wait(taken->core, expected_completion_count,
                                   timeout < 0 ? warn_after_us : timeout);
    if (ret == -ETIMEDOUT && timeout < 0) {
        nrt_log_write(NRT_LOG_NRT, NRT_LOG_WARN, "nrt_tensor_check_output_completion",
                      "waited 30 s for completion %llu of an output tensor; still waiting",
                      (unsigned long long)expected_completion_count);
        ret = ntk_core_tensor_wait(taken->core, expected_completion_count, -1);
    }
    return nrt_status_from_error(ret);
}

NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *output_tensor)
{
    TENSOR_SCOPE(output_tensor, taken);
    ntk_core_tensor_reset_writes(taken->core);
    return NRT_SUCCESS;
}

/* A device address in this runtime is a host address. */
NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t size)
{
    NRT_FRONT_SCOPE;
    if (!dest || !src || !ntk_core_memory_holds(nrt_front_core_get(), dest, size)) {
        status = NRT_INVALID;
    } else {
        memmove(dest, src, size);
    }
    return status;
}

NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_idx, void **addr, size_t *size)
{
    NRT_FRONT_SCOPE;
    uint64_t bytes = 0;

    if (!addr || !size || device_id < 0 || hbm_idx < 0) {
        status = NRT_INVALID;
    } else {
        int ret = ntk_core_stack_map(nrt_front_core_get(), (uint32_t)device_id, (uint32_t)hbm_idx,
                                     addr, &bytes);

        if (ret == 0) {
            *size = bytes;
        }
        status = ret == -ENOENT ? NRT_INVALID_HANDLE : nrt_status_from_error(ret);
    }
    return status;
}

/* Host memory of this process is not a dma-buf, and no network adapter could use it. */
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd)
{
    NRT_FRONT_SCOPE;
    return va == 0 || size == 0 || !fd ? NRT_INVALID : NRT_FAILURE;
}

NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len)
{
    NRT_FRONT_SCOPE;
    return !va || !efa_bdf || !len ? NRT_INVALID : NRT_FAILURE;
}
