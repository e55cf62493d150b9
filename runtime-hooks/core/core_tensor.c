/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_trace.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/str.h"

/* Memory shared by a tensor, its slices and running executions. */
struct core_storage {
    _Atomic uint32_t references;
    struct ntk_core *core;
    enum ntk_core_placement placement;
    uint32_t nc;
    char *address;
    uint64_t bytes;
    struct core_allocation allocation; /* for device and host placement */
    void *owned;                       /* for virtual placement, freed with free() */
};

struct ntk_core_tensor {
    struct ntk_core *core;
    pthread_mutex_t lock; /* protects storage, offset and bytes, which change only in attach */
    struct core_storage *storage; /* NULL while empty */
    uint64_t offset;
    uint64_t bytes;
    uint32_t name; /* name id in the hooks */
    _Atomic uint64_t completed_writes;
    char text[]; /* the tensor's name */
};

/* Waiting for outputs is rare, so one condition variable serves all tensors. */
static pthread_mutex_t written_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t written = PTHREAD_COND_INITIALIZER;
static _Atomic uint32_t waiter_count;

void core_tensor_forget(void)
{
    static const pthread_mutex_t fresh_lock = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t fresh_condition = PTHREAD_COND_INITIALIZER;

    written_lock = fresh_lock;
    written = fresh_condition;
    atomic_store(&waiter_count, 0);
}

/* Begins a span. Memory that belongs to no core is reported on the first core. */
static void trace_begin(struct ntk_core_trace_span *span, enum ntk_core_trace_kind kind,
                        uint32_t nc, uint64_t bytes, const char *name)
{
    struct ntk_core_trace_data data = { .bytes = bytes, .name = name };

    ntk_core_trace_span_begin(span, kind, nc == NTK_CORE_ANY ? 0 : nc, &data);
}

static void trace_end(const struct ntk_core_trace_span *span, uint64_t bytes, const char *name)
{
    struct ntk_core_trace_data data = { .bytes = bytes, .name = name };

    ntk_core_trace_span_end(span, &data);
}

/* Same as memcpy(), but a copy to or from the device is reported. */
static void copy_traced(struct core_storage *storage, enum ntk_core_trace_kind kind, void *to,
                        const void *from, uint64_t bytes, const char *name)
{
    struct ntk_core_trace_span span = { 0 };

    if (ntk_core_trace_is_on() && storage->placement == NTK_CORE_DEVICE) {
        trace_begin(&span, kind, storage->nc, bytes, name);
    }
    memcpy(to, from, bytes);
    trace_end(&span, bytes, name);
}

static void storage_free(struct core_storage *storage)
{
    core_memory_release(storage->core, &storage->allocation);
    free(storage->owned);
    free(storage);
}

static void storage_drop(struct core_storage *storage)
{
    if (storage && atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) == 1) {
        storage_free(storage);
    }
}

static struct core_storage *storage_take(struct core_storage *storage)
{
    if (storage) {
        atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
    }
    return storage;
}

static int tensor_make(struct ntk_core *core, struct core_storage *storage, uint64_t offset,
                       uint64_t bytes, const char *name, struct ntk_core_tensor **out_tensor,
                       struct ntk_err *err)
{
    size_t name_bytes = name ? strnlen(name, NTK_CORE_NAME_BYTES - 1) : 0;
    struct ntk_core_tensor *tensor = calloc(1, sizeof *tensor + name_bytes + 1);

    if (!tensor) {
        return ntk_err_no_memory(err);
    }
    tensor->core = core;
    tensor->storage = storage;
    tensor->offset = offset;
    tensor->bytes = bytes;
    tensor->name = ntk_hooks_name(name);
    if (name_bytes > 0) {
        memcpy(tensor->text, name, name_bytes);
    }
    pthread_mutex_init(&tensor->lock, NULL);
    *out_tensor = tensor;
    return 0;
}

static int storage_make(struct ntk_core *core, enum ntk_core_placement placement, uint32_t nc,
                        uint64_t bytes, const char *name, struct core_storage **out_storage,
                        struct ntk_err *err)
{
    struct core_storage *storage = calloc(1, sizeof *storage);
    int ret = 0;

    if (!storage) {
        return ntk_err_no_memory(err);
    }
    *storage = (struct core_storage){ .references = 1,
                                      .core = core,
                                      .placement = placement,
                                      .nc = placement == NTK_CORE_DEVICE ? nc : NTK_CORE_ANY,
                                      .bytes = bytes };
    if (placement == NTK_CORE_VIRTUAL) {
        if (bytes > SIZE_MAX / 2 || posix_memalign(&storage->owned, 64, bytes) != 0) {
            storage->owned = NULL;
            ret = ntk_err_no_memory(err);
        } else {
            memset(storage->owned, 0, bytes);
            storage->address = storage->owned;
        }
    } else {
        struct core_memory_request request = {
            .physical_core = core->ncs[nc == NTK_CORE_ANY ? 0 : nc].first_physical,
            .category = placement == NTK_CORE_DEVICE ? NTK_MEMORY_TENSORS : NTK_MEMORY_HOST_TENSORS,
            .bytes = bytes,
            .name = name,
        };

        ret = core_memory_take(core, &request, &storage->allocation, err);
        storage->address = storage->allocation.address;
    }
    if (ret < 0) {
        free(storage);
        return ret;
    }
    *out_storage = storage;
    return 0;
}

int ntk_core_tensor_create(struct ntk_core *core, enum ntk_core_placement placement, uint32_t nc,
                           uint64_t bytes, const char *name, struct ntk_core_tensor **out_tensor,
                           struct ntk_err *err)
{
    struct core_storage *storage = NULL;
    struct ntk_core_tensor *tensor = NULL;

    if (bytes == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a tensor must have at least one byte");
    }
    if (nc == NTK_CORE_ANY ? placement == NTK_CORE_DEVICE : nc >= core->core_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core %d: the process has %u",
                           (int)nc, core->core_count);
    }
    struct ntk_core_trace_span span = { 0 };
    if (ntk_core_trace_is_on()) {
        trace_begin(&span, NTK_CORE_TRACE_TENSOR_ALLOCATE, nc, bytes, name);
    }
    int ret = storage_make(core, placement, nc, bytes, name, &storage, err);
    if (storage) {
        ret = tensor_make(core, storage, 0, bytes, name, &tensor, err);
        if (!tensor) {
            storage_free(storage);
        }
    }
    trace_end(&span, bytes, name);
    if (!tensor) {
        return ret;
    }
    *out_tensor = tensor;
    return 0;
}

int ntk_core_tensor_create_empty(struct ntk_core *core, const char *name,
                                 struct ntk_core_tensor **out_tensor, struct ntk_err *err)
{
    return tensor_make(core, NULL, 0, 0, name, out_tensor, err);
}

/* Returns an error unless the range of `bytes` at offset is inside size. */
static int bounds_check(const char *what, uint64_t offset, uint64_t bytes, uint64_t size,
                        struct ntk_err *err)
{
    if (offset > size || bytes > size - offset) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s of %llu bytes at %llu exceeds the tensor of %llu bytes", what,
                           (unsigned long long)bytes, (unsigned long long)offset,
                           (unsigned long long)size);
    }
    return 0;
}

int ntk_core_tensor_create_slice(struct ntk_core_tensor *source, uint64_t offset, uint64_t bytes,
                                 const char *name, struct ntk_core_tensor **out_tensor,
                                 struct ntk_err *err)
{
    pthread_mutex_lock(&source->lock);
    int ret = bounds_check("slice", offset, bytes, source->bytes, err);
    struct core_storage *storage = ret == 0 ? storage_take(source->storage) : NULL;
    uint64_t start = source->offset + offset;
    pthread_mutex_unlock(&source->lock);

    if (ret == 0) {
        ret = tensor_make(source->core, storage, start, bytes, name, out_tensor, err);
        if (ret < 0) {
            storage_drop(storage);
        }
    }
    return ret;
}

void ntk_core_tensor_destroy(struct ntk_core_tensor *tensor)
{
    struct ntk_core_trace_span span = { 0 };

    if (!tensor) {
        return;
    }
    if (ntk_core_trace_is_on()) {
        trace_begin(&span, NTK_CORE_TRACE_TENSOR_FREE,
                    tensor->storage ? tensor->storage->nc : NTK_CORE_ANY, tensor->bytes,
                    tensor->text);
    }
    storage_drop(tensor->storage);
    trace_end(&span, tensor->bytes, tensor->text);
    pthread_mutex_destroy(&tensor->lock);
    free(tensor);
}

int ntk_core_tensor_attach(struct ntk_core_tensor *tensor, void *bytes, uint64_t size,
                           struct ntk_err *err)
{
    struct core_storage *storage = calloc(1, sizeof *storage);

    if (!storage) {
        return ntk_err_no_memory(err);
    }
    *storage = (struct core_storage){ .references = 1,
                                      .core = tensor->core,
                                      .placement = NTK_CORE_VIRTUAL,
                                      .nc = NTK_CORE_ANY,
                                      .address = bytes,
                                      .bytes = size };
    pthread_mutex_lock(&tensor->lock);
    struct core_storage *old = tensor->storage;
    tensor->storage = storage;
    tensor->offset = 0;
    tensor->bytes = size;
    pthread_mutex_unlock(&tensor->lock);
    storage_drop(old);
    return 0;
}

void core_tensor_view_take(struct ntk_core_tensor *tensor, struct core_tensor_view *out_view)
{
    pthread_mutex_lock(&tensor->lock);
    struct core_storage *storage = storage_take(tensor->storage);
    uint64_t offset = tensor->offset;
    uint64_t bytes = tensor->bytes;
    pthread_mutex_unlock(&tensor->lock);

    *out_view = (struct core_tensor_view){ .storage = storage, .bytes = bytes, .nc = NTK_CORE_ANY };
    if (storage) {
        out_view->address = storage->address + offset;
        out_view->nc = storage->nc;
        out_view->device_address =
            storage->allocation.address ? storage->allocation.hook.address + offset : 0;
    }
}

void core_tensor_view_drop(struct core_tensor_view *view)
{
    storage_drop(view->storage);
    view->storage = NULL;
}

/* Takes a view of `bytes` at offset; -EINVAL if it exceeds the tensor. */
static int view_checked(struct ntk_core_tensor *tensor, const char *what, uint64_t offset,
                        uint64_t bytes, struct core_tensor_view *view, struct ntk_err *err)
{
    core_tensor_view_take(tensor, view);
    int ret = bounds_check(what, offset, bytes, view->bytes, err);
    if (ret < 0) {
        core_tensor_view_drop(view);
    }
    return ret;
}

static bool view_is_device(const struct core_tensor_view *view)
{
    return view->storage && view->storage->placement == NTK_CORE_DEVICE;
}

static void transfer_tell(const struct ntk_core_tensor *tensor, const struct core_tensor_view *view,
                          enum ntk_transfer direction, uint64_t start_ticks, uint64_t offset,
                          uint64_t bytes)
{
    struct ntk_hooks_transfer transfer = {
        .start_ticks = start_ticks,
        .bytes = bytes,
        .address = view->device_address,
        .offset = offset,
        .name = tensor->name,
        .core = view_is_device(view) ? (uint16_t)tensor->core->ncs[view->nc].first_physical
                                     : (uint16_t)NTK_NO_CORE,
        .direction = (uint16_t)direction,
    };

    ntk_hooks_transfer(&transfer);
}

int ntk_core_tensor_read(struct ntk_core_tensor *tensor, void *to, uint64_t offset, uint64_t bytes,
                         struct ntk_err *err)
{
    struct core_tensor_view view;
    uint64_t start = ntk_hooks_now();
    int ret = view_checked(tensor, "read", offset, bytes, &view, err);
    struct ntk_core_trace_span span = { 0 };

    if (ret < 0) {
        return ret;
    }
    if (ntk_core_trace_is_on()) {
        trace_begin(&span, NTK_CORE_TRACE_TENSOR_READ, view.nc, bytes, tensor->text);
    }
    if (bytes > 0 && view.address) {
        copy_traced(view.storage, NTK_CORE_TRACE_COPY_OUT, to, view.address + offset, bytes,
                    tensor->text);
    }
    transfer_tell(tensor, &view,
                  view_is_device(&view) ? NTK_TRANSFER_DEVICE_TO_HOST : NTK_TRANSFER_HOST_TO_HOST,
                  start, offset, bytes);
    trace_end(&span, bytes, tensor->text);
    core_tensor_view_drop(&view);
    return 0;
}

int ntk_core_tensor_write(struct ntk_core_tensor *tensor, const void *from, uint64_t offset,
                          uint64_t bytes, struct ntk_err *err)
{
    struct core_tensor_view view;
    uint64_t start = ntk_hooks_now();
    int ret = view_checked(tensor, "write", offset, bytes, &view, err);
    struct ntk_core_trace_span span = { 0 };

    if (ret < 0) {
        return ret;
    }
    if (ntk_core_trace_is_on()) {
        trace_begin(&span, NTK_CORE_TRACE_TENSOR_WRITE, view.nc, bytes, tensor->text);
    }
    if (bytes > 0 && view.address) {
        copy_traced(view.storage, NTK_CORE_TRACE_COPY_IN, view.address + offset, from, bytes,
                    tensor->text);
    }
    transfer_tell(tensor, &view,
                  view_is_device(&view) ? NTK_TRANSFER_HOST_TO_DEVICE : NTK_TRANSFER_HOST_TO_HOST,
                  start, offset, bytes);
    trace_end(&span, bytes, tensor->text);
    core_tensor_view_drop(&view);
    return 0;
}

int ntk_core_tensor_fill(struct ntk_core_tensor *tensor, uint64_t offset, uint8_t value,
                         uint64_t bytes, struct ntk_err *err)
{
    struct core_tensor_view view;
    int ret = view_checked(tensor, "fill", offset, bytes, &view, err);

    if (ret < 0) {
        return ret;
    }
    if (bytes > 0 && view.address) {
        memset(view.address + offset, value, bytes);
    }
    core_tensor_view_drop(&view);
    return 0;
}

/* is_near: two device tensors must be on the same core. */
static int copy(struct ntk_core_tensor *from, uint64_t from_offset, struct ntk_core_tensor *to,
                uint64_t to_offset, uint64_t bytes, bool is_near, struct ntk_err *err)
{
    struct core_tensor_view source;
    struct core_tensor_view target;
    uint64_t start = ntk_hooks_now();
    struct ntk_core_trace_span span = { 0 };
    int ret = view_checked(from, "copy", from_offset, bytes, &source, err);

    if (ret < 0) {
        return ret;
    }
    ret = view_checked(to, "copy", to_offset, bytes, &target, err);
    if (ret < 0) {
        core_tensor_view_drop(&source);
        return ret;
    }
    bool from_device = view_is_device(&source);
    bool to_device = view_is_device(&target);
    if (is_near && from_device && to_device && source.nc != target.nc) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "the tensors are on cores %u and %u, but copies cannot cross cores",
                          source.nc, target.nc);
    } else {
        enum ntk_transfer direction =
            from_device ? (to_device ? NTK_TRANSFER_DEVICE_TO_DEVICE : NTK_TRANSFER_DEVICE_TO_HOST)
                        : (to_device ? NTK_TRANSFER_HOST_TO_DEVICE : NTK_TRANSFER_HOST_TO_HOST);

        if (ntk_core_trace_is_on()) {
            trace_begin(&span, NTK_CORE_TRACE_TENSOR_COPY, to_device ? target.nc : source.nc, bytes,
                        to->text);
        }
        if (bytes > 0 && target.address && source.address) {
            memmove(target.address + to_offset, source.address + from_offset, bytes);
        }
        transfer_tell(to_device ? to : from, to_device ? &target : &source, direction, start,
                      to_device ? to_offset : from_offset, bytes);
        trace_end(&span, bytes, to->text);
    }
    core_tensor_view_drop(&source);
    core_tensor_view_drop(&target);
    return ret;
}

int ntk_core_tensor_copy(struct ntk_core_tensor *from, uint64_t from_offset,
                         struct ntk_core_tensor *to, uint64_t to_offset, uint64_t bytes,
                         struct ntk_err *err)
{
    return copy(from, from_offset, to, to_offset, bytes, true, err);
}

int ntk_core_tensor_copy_far(struct ntk_core_tensor *from, uint64_t from_offset,
                             struct ntk_core_tensor *to, uint64_t to_offset, uint64_t bytes,
                             struct ntk_err *err)
{
    return copy(from, from_offset, to, to_offset, bytes, false, err);
}

void ntk_core_tensor_info_get(struct ntk_core_tensor *tensor, struct ntk_core_tensor_info *out_info)
{
    struct core_tensor_view view;

    core_tensor_view_take(tensor, &view);
    *out_info = (struct ntk_core_tensor_info){
        .bytes = view.bytes,
        .address = view.address,
        .placement = view.storage ? view.storage->placement : NTK_CORE_VIRTUAL,
        .nc = view.nc,
        .completed_writes = atomic_load_explicit(&tensor->completed_writes, memory_order_acquire),
    };
    if (view_is_device(&view)) {
        const struct core_allocation *allocation = &view.storage->allocation;

        out_info->device_address = view.device_address;
        out_info->allocation_bytes =
            allocation->hook.address + allocation->bytes - view.device_address;
        out_info->stack = allocation->stack->index;
    }
    core_tensor_view_drop(&view);
}

void core_tensor_written(struct ntk_core_tensor *tensor)
{
    /* Sequentially consistent with waiter_count: either the waiter sees the new count, or this
     * thread sees the waiter. */
    atomic_fetch_add(&tensor->completed_writes, 1);
    if (atomic_load(&waiter_count) > 0) {
        pthread_mutex_lock(&written_lock);
        pthread_cond_broadcast(&written);
        pthread_mutex_unlock(&written_lock);
    }
}

int ntk_core_tensor_wait(struct ntk_core_tensor *tensor, uint64_t count, int64_t timeout_us)
{
    int ret = 0;

    if (atomic_load_explicit(&tensor->completed_writes, memory_order_acquire) >= count) {
        return 0;
    }
    if (timeout_us == 0) {
        return -ETIMEDOUT;
    }
    bool is_bounded = timeout_us > 0 && (uint64_t)timeout_us < UINT64_MAX / NTK_NS_PER_US;
    uint64_t until_ns =
        ntk_cond_until(is_bounded ? (uint64_t)timeout_us * NTK_NS_PER_US : NTK_COND_FOREVER);
    atomic_fetch_add(&waiter_count, 1);
    pthread_mutex_lock(&written_lock);
    while (ret == 0 && atomic_load(&tensor->completed_writes) < count) {
        ret = ntk_cond_wait_until(&written, &written_lock, until_ns);
    }
    pthread_mutex_unlock(&written_lock);
    atomic_fetch_sub(&waiter_count, 1);
    return ret;
}

void ntk_core_tensor_reset_writes(struct ntk_core_tensor *tensor)
{
    atomic_store_explicit(&tensor->completed_writes, 0, memory_order_release);
}
