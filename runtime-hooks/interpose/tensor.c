/* SPDX-License-Identifier: MIT */
/*
 * tensor - observes tensors: their memory and transfers.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/interpose/handles.h"
#include "runtime-hooks/interpose/observe.h"

/* Memory shared by a tensor and its slices; counted once, until the last of them is freed. */
struct storage {
    struct ntk_hooks_memory memory;
    ntk_hooks_row row;
    uint32_t reference_count; /* protected by the lock; 0 in the list of free entries */
    struct storage *next;
};

struct tensor {
    struct storage *storage; /* NULL if the runtime holds no memory for the tensor */
    uint32_t name;
    uint16_t core; /* NTK_NO_CORE for a tensor on the host */
};
static_assert(sizeof(struct tensor) <= sizeof(struct interpose_handle_value),
              "a tensor is kept by its handle");

static struct interpose_handles tensors = INTERPOSE_HANDLES_INIT;
static pthread_mutex_t storage_lock = PTHREAD_MUTEX_INITIALIZER;
static struct storage *storage_free_list;

/* ---- memory ---- */

static struct storage *storage_new(const struct ntk_hooks_memory *memory)
{
    struct storage *storage;

    pthread_mutex_lock(&storage_lock);
    storage = storage_free_list;
    if (storage) {
        storage_free_list = storage->next;
    }
    pthread_mutex_unlock(&storage_lock);
    if (!storage) {
        storage = malloc(sizeof *storage);
    }
    if (storage) {
        storage->memory = *memory;
        storage->reference_count = 1;
        storage->row = ntk_hooks_memory_alloc(memory);
    }
    return storage;
}

static void storage_take(struct storage *storage)
{
    if (storage) {
        pthread_mutex_lock(&storage_lock);
        storage->reference_count++;
        pthread_mutex_unlock(&storage_lock);
    }
}

static void storage_drop(struct storage *storage)
{
    bool is_last;

    if (!storage) {
        return;
    }
    pthread_mutex_lock(&storage_lock);
    is_last = --storage->reference_count == 0;
    pthread_mutex_unlock(&storage_lock);
    if (!is_last) {
        return;
    }
    ntk_hooks_memory_free(&storage->memory, storage->row);
    pthread_mutex_lock(&storage_lock);
    storage->next = storage_free_list;
    storage_free_list = storage;
    pthread_mutex_unlock(&storage_lock);
}

/* ---- the table ---- */

static bool tensor_get(const nrt_tensor_t *handle, struct tensor *out_tensor)
{
    struct interpose_handle_value value;

    if (!interpose_handles_get(&tensors, handle, &value)) {
        return false;
    }
    memcpy(out_tensor, &value, sizeof *out_tensor);
    return true;
}

static bool tensor_put(const nrt_tensor_t *handle, const struct tensor *tensor)
{
    struct interpose_handle_value value = { { 0 } };

    memcpy(&value, tensor, sizeof *tensor);
    return interpose_handles_put(&tensors, handle, &value);
}

/* Adds a tensor to the table. A tensor that cannot be added is not counted, because its end could
 * not be matched. */
static void tensor_add(const nrt_tensor_t *handle, struct tensor *tensor)
{
    if (!tensor_put(handle, tensor)) {
        storage_drop(tensor->storage);
    }
}

void interpose_tensors_forget(void)
{
    struct interpose_handle_value value;
    struct tensor tensor;
    uint32_t cursor = 0;

    while (interpose_handles_take_next(&tensors, &cursor, &value)) {
        memcpy(&tensor, &value, sizeof tensor);
        storage_drop(tensor.storage);
    }
}

void interpose_tensors_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&storage_lock, &fresh, sizeof fresh);
    storage_free_list = NULL;
    interpose_handles_after_fork(&tensors);
}

uint16_t interpose_tensor_core_get(const nrt_tensor_t *handle, uint32_t *out_name)
{
    struct tensor tensor = { .core = NTK_NO_CORE };

    (void)tensor_get(handle, &tensor);
    *out_name = tensor.name;
    return tensor.core;
}

/* ---- allocations ---- */

NRT_STATUS observed_nrt_tensor_allocate(nrt_tensor_placement_t tensor_placement, int vnc,
                                        size_t size, const char *name, nrt_tensor_t **tensor)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_tensor_allocate)(tensor_placement, vnc, size, name, tensor);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        bool is_device = tensor_placement == NRT_TENSOR_PLACEMENT_DEVICE;
        uint16_t core = interpose_core_get(vnc);
        struct tensor known = {
            .name = ntk_hooks_name(name),
            .core = is_device ? core : (uint16_t)NTK_NO_CORE,
        };
        struct ntk_hooks_memory memory = {
            .address = (uint64_t)(uintptr_t)*tensor,
            .bytes = size,
            .core = core,
            .category = is_device ? NTK_MEMORY_TENSORS : NTK_MEMORY_HOST_TENSORS,
            .name = known.name,
        };

        known.storage = storage_new(&memory);
        tensor_add(*tensor, &known);
    }
    return status;
}

NRT_STATUS observed_nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_tensor_allocate_empty)(name, tensor);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        struct tensor known = { .name = ntk_hooks_name(name), .core = NTK_NO_CORE };

        tensor_add(*tensor, &known);
    }
    return status;
}

NRT_STATUS observed_nrt_tensor_allocate_slice(const nrt_tensor_t *tensor_source, size_t offset,
                                              size_t size, const char *name,
                                              nrt_tensor_t **tensor_slice)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status =
        REAL(nrt_tensor_allocate_slice)(tensor_source, offset, size, name, tensor_slice);
    struct tensor known;

    if (status == NRT_SUCCESS && interpose_is_on(&scope) && tensor_get(tensor_source, &known)) {
        known.name = ntk_hooks_name(name);
        storage_take(known.storage);
        tensor_add(*tensor_slice, &known);
    }
    return status;
}

/* The buffer belongs to the caller, on the host; the runtime frees its old memory. */
NRT_STATUS observed_nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
    INTERPOSE_SCOPE;
    NRT_STATUS status = REAL(nrt_tensor_attach_buffer)(tensor, buffer, size);
    struct tensor known;

    if (status == NRT_SUCCESS && interpose_is_on(&scope) && tensor_get(tensor, &known)) {
        storage_drop(known.storage);
        known.storage = NULL;
        known.core = NTK_NO_CORE;
        (void)tensor_put(tensor, &known);
    }
    return status;
}

void observed_nrt_tensor_free(nrt_tensor_t **tensor)
{
    INTERPOSE_SCOPE;
    struct interpose_handle_value value;
    struct tensor known = { 0 };

    /* Remove the tensor first: the runtime may reuse the address before it returns. */
    if (scope.generation && tensor && *tensor &&
        interpose_handles_take(&tensors, *tensor, &value)) {
        memcpy(&known, &value, sizeof known);
    }
    REAL(nrt_tensor_free)(tensor);
    storage_drop(known.storage);
}

/* ---- transfers ---- */

static void transfer_tell(const struct tensor *tensor, enum ntk_transfer direction,
                          uint64_t start_ticks, uint64_t offset, uint64_t bytes)
{
    struct ntk_hooks_transfer transfer = {
        .start_ticks = start_ticks,
        .bytes = bytes,
        .offset = offset,
        .name = tensor->name,
        .core = tensor->core,
        .direction = (uint16_t)direction,
    };

    ntk_hooks_transfer(&transfer);
}

static void in_or_out_tell(const nrt_tensor_t *handle, enum ntk_transfer direction,
                           uint64_t start_ticks, uint64_t offset, uint64_t bytes)
{
    struct tensor tensor;

    if (tensor_get(handle, &tensor)) {
        transfer_tell(&tensor, tensor.core != NTK_NO_CORE ? direction : NTK_TRANSFER_HOST_TO_HOST,
                      start_ticks, offset, bytes);
    }
}

NRT_STATUS observed_nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset,
                                    size_t size)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status = REAL(nrt_tensor_read)(tensor, buf, offset, size);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        in_or_out_tell(tensor, NTK_TRANSFER_DEVICE_TO_HOST, start_ticks, offset, size);
    }
    return status;
}

NRT_STATUS observed_nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset,
                                     size_t size)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status = REAL(nrt_tensor_write)(tensor, buf, offset, size);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        in_or_out_tell(tensor, NTK_TRANSFER_HOST_TO_DEVICE, start_ticks, offset, size);
    }
    return status;
}

/* Reports one transfer per operation, each with the time of the whole batch. */
static void batches_tell(const nrt_tensor_batch_t *batches, uint64_t count,
                         enum ntk_transfer direction, uint64_t start_ticks)
{
    for (uint64_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < batches[i].num_ops; k++) {
            in_or_out_tell(batches[i].tensor, direction, start_ticks, batches[i].ops[k].offset,
                           batches[i].ops[k].size);
        }
    }
}

NRT_STATUS observed_nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                          bool unsafe)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status = REAL(nrt_tensor_read_batch)(batches, num_batches, unsafe);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        batches_tell(batches, num_batches, NTK_TRANSFER_DEVICE_TO_HOST, start_ticks);
    }
    return status;
}

NRT_STATUS observed_nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
                                           bool unsafe)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status = REAL(nrt_tensor_write_batch)(batches, num_batches, unsafe);

    if (status == NRT_SUCCESS && interpose_is_on(&scope)) {
        batches_tell(batches, num_batches, NTK_TRANSFER_HOST_TO_DEVICE, start_ticks);
    }
    return status;
}

NRT_STATUS observed_nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
                                    size_t dst_offset, size_t size)
{
    INTERPOSE_SCOPE;
    uint64_t start_ticks = scope.generation ? ntk_hooks_now() : 0;
    NRT_STATUS status = REAL(nrt_tensor_copy)(src, src_offset, dst, dst_offset, size);
    struct tensor from;
    struct tensor to;

    if (status == NRT_SUCCESS && interpose_is_on(&scope) && tensor_get(src, &from) &&
        tensor_get(dst, &to)) {
        bool from_device = from.core != NTK_NO_CORE;
        bool to_device = to.core != NTK_NO_CORE;
        enum ntk_transfer direction =
            from_device ? (to_device ? NTK_TRANSFER_DEVICE_TO_DEVICE : NTK_TRANSFER_DEVICE_TO_HOST)
                        : (to_device ? NTK_TRANSFER_HOST_TO_DEVICE : NTK_TRANSFER_HOST_TO_HOST);

        transfer_tell(to_device ? &to : &from, direction, start_ticks,
                      to_device ? dst_offset : src_offset, size);
    }
    return status;
}
