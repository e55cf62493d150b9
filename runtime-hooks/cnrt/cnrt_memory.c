/* SPDX-License-Identifier: MIT */
/*
 * cnrt_memory - memory of devices and host, and copies between them.
 *
 * A device pointer is the address of the mapped device memory, so that clients may use pointer
 * arithmetic within an allocation. A table sorted by address finds the allocation.
 */
#include "runtime-hooks/cnrt/cnrt_front.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/cnrt/cnrt_public.h"
#include "shared/base/bisect.h"
#include "shared/base/vec.h"

#define BATCH_ALIGN 128U
#define DEVICE_NAME "device memory"
#define HOST_NAME "host memory"

/* Allocations sorted by address, on devices or on the host. */
struct table {
    pthread_rwlock_t lock;
    struct ntk_vec rows; /* elements are struct ntk_cnrt_memory * */
};
static struct table on_device = { .lock = PTHREAD_RWLOCK_INITIALIZER,
                                  .rows = NTK_VEC_INIT(struct ntk_cnrt_memory *) };
static struct table on_host = { .lock = PTHREAD_RWLOCK_INITIALIZER,
                                .rows = NTK_VEC_INIT(struct ntk_cnrt_memory *) };

static struct ntk_cnrt_memory *row_at(const struct table *table, size_t index)
{
    return *(struct ntk_cnrt_memory **)ntk_vec_at(&table->rows, index);
}

/* The number of rows that start at or below the address. */
static size_t rows_up_to(const struct table *table, uintptr_t address)
{
    size_t low = 0;

    NTK_BISECT(low, table->rows.count, i, (uintptr_t)row_at(table, i)->address <= address);
    return low;
}

static int table_add(struct table *table, struct ntk_cnrt_memory *memory)
{
    pthread_rwlock_wrlock(&table->lock);
    size_t index = rows_up_to(table, (uintptr_t)memory->address);
    bool is_added = ntk_vec_add(&table->rows) != NULL;
    if (is_added) {
        struct ntk_cnrt_memory **rows = table->rows.items;

        memmove(rows + index + 1, rows + index, (table->rows.count - 1 - index) * sizeof *rows);
        rows[index] = memory;
    }
    pthread_rwlock_unlock(&table->lock);
    return is_added ? CNRT_OK : CNRT_ERR_NOMEM;
}

/* Removes the allocation at this address and returns it; NULL if there is none. */
static struct ntk_cnrt_memory *table_remove(struct table *table, const void *pointer)
{
    struct ntk_cnrt_memory *memory = NULL;

    pthread_rwlock_wrlock(&table->lock);
    size_t index = rows_up_to(table, (uintptr_t)pointer);
    if (index > 0 && row_at(table, index - 1)->address == pointer) {
        memory = row_at(table, index - 1);
        ntk_vec_remove(&table->rows, index - 1);
    }
    pthread_rwlock_unlock(&table->lock);
    return memory;
}

/* The allocation that contains the address, with a new reference; NULL if there is none. */
static struct ntk_cnrt_memory *table_take(struct table *table, const void *pointer)
{
    struct ntk_cnrt_memory *memory = NULL;

    pthread_rwlock_rdlock(&table->lock);
    size_t index = rows_up_to(table, (uintptr_t)pointer);
    if (index > 0) {
        memory = row_at(table, index - 1);
        if ((uintptr_t)pointer - (uintptr_t)memory->address >= memory->bytes) {
            memory = NULL;
        } else {
            atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
        }
    }
    pthread_rwlock_unlock(&table->lock);
    return memory;
}

void ntk_cnrt_memory_drop(struct ntk_cnrt_memory *memory)
{
    if (memory && atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) == 1) {
        ntk_core_tensor_destroy(memory->tensor);
        free(memory);
    }
}

int ntk_cnrt_memory_take(const void *pointer, uint64_t bytes, int *out_device,
                         struct ntk_cnrt_memory **out_memory)
{
    struct ntk_cnrt_memory *memory = table_take(&on_device, pointer);

    if (!memory) {
        return CNRT_ERR_INVALID_POINTER;
    }
    if (bytes > memory->bytes - (uint64_t)((const char *)pointer - memory->address)) {
        ntk_cnrt_memory_drop(memory);
        return CNRT_ERR_MEMCPY;
    }
    if (out_device) {
        *out_device = (int)memory->device;
    }
    *out_memory = memory;
    return CNRT_OK;
}

uint64_t ntk_cnrt_memory_bytes(const void *pointer)
{
    struct ntk_cnrt_memory *memory = table_take(&on_device, pointer);
    uint64_t bytes =
        memory ? memory->bytes - (uint64_t)((const char *)pointer - memory->address) : 0;

    ntk_cnrt_memory_drop(memory);
    return bytes;
}

static int memory_make(struct table *table, enum ntk_core_placement placement, uint64_t bytes,
                       void **out_pointer)
{
    const struct cnrt_device *device = cnrt_front_device(cnrt_front_current_device());
    int channel = cnrt_front_channel();
    /* A channel's memory counts for the adjacent cluster. */
    uint32_t cluster = channel > 0 ? (uint32_t)channel : 0;
    uint32_t nc = device->first_nc + (cluster < device->nc_count ? cluster : 0);
    struct ntk_core_tensor_info info;
    struct ntk_err err = { 0 };

    if (!out_pointer || bytes == 0) {
        return CNRT_ERR_INVALID;
    }
    struct ntk_cnrt_memory *memory = calloc(1, sizeof *memory);
    if (!memory) {
        return CNRT_ERR_NOMEM;
    }
    atomic_init(&memory->references, 1);
    memory->device = cnrt_front_current_device();
    memory->bytes = bytes;
    int ret = ntk_core_tensor_create(cnrt_front_core(), placement, nc, bytes,
                                     placement == NTK_CORE_DEVICE ? DEVICE_NAME : HOST_NAME,
                                     &memory->tensor, &err);
    if (ret < 0) {
        free(memory);
        return cnrt_code_from_error(ret);
    }
    ntk_core_tensor_info_get(memory->tensor, &info);
    memory->address = info.address;
    int code = table_add(table, memory);
    if (code != CNRT_OK) {
        ntk_cnrt_memory_drop(memory);
        return code;
    }
    *out_pointer = memory->address;
    return CNRT_OK;
}

static int memory_free(struct table *table, const void *pointer)
{
    struct ntk_cnrt_memory *memory = pointer ? table_remove(table, pointer) : NULL;

    ntk_cnrt_memory_drop(memory);
    return memory || !pointer ? CNRT_OK : CNRT_ERR_INVALID_POINTER;
}

int cnrt_memory_host_take(void **out_pointer, size_t bytes)
{
    return memory_make(&on_host, NTK_CORE_HOST, bytes, out_pointer);
}

static void table_clear(struct table *table)
{
    ntk_vec_each(struct ntk_cnrt_memory *, memory, &table->rows) {
        /* Free the device memory now, even if others still hold a reference. */
        ntk_core_tensor_destroy((*memory)->tensor);
        (*memory)->tensor = NULL;
        ntk_cnrt_memory_drop(*memory);
    }
    ntk_vec_fini(&table->rows);
    ntk_vec_init(&table->rows, sizeof(struct ntk_cnrt_memory *));
}

void cnrt_memory_free_all(void)
{
    table_clear(&on_device);
    table_clear(&on_host);
}

/* Empties the table in the child of a fork; the memory itself belongs to the parent. */
static void table_forget(struct table *table)
{
    pthread_rwlock_init(&table->lock, NULL);
    ntk_vec_fini(&table->rows);
    ntk_vec_init(&table->rows, sizeof(struct ntk_cnrt_memory *));
}

void cnrt_memory_forget(void)
{
    table_forget(&on_device);
    table_forget(&on_host);
}

/* --- copies ----------------------------------------------------------------------------------- */

/* A copy, and the allocations that it holds; NULL: host memory. */
struct transfer {
    struct ntk_cnrt_memory *from_memory, *to_memory;
    const char *from;
    char *to;
    uint64_t bytes;
};

static void transfer_drop(struct transfer *transfer)
{
    ntk_cnrt_memory_drop(transfer->from_memory);
    ntk_cnrt_memory_drop(transfer->to_memory);
}

static bool is_of_device(const void *pointer)
{
    return ntk_core_memory_holds(cnrt_front_core(), pointer, 1);
}

static enum cnrt_direction direction_by_pointers(const void *to, const void *from)
{
    if (is_of_device(to)) {
        return is_of_device(from) ? CNRT_PEER_TO_PEER : CNRT_HOST_TO_DEVICE;
    }
    return is_of_device(from) ? CNRT_DEVICE_TO_HOST : CNRT_UNSUPPORTED_DIRECTION;
}

/* Checks one side of a copy. If it is device memory, *out_memory is a new reference to it. */
static int side_take(const void *pointer, uint64_t bytes, bool wants_device,
                     struct ntk_cnrt_memory **out_memory)
{
    *out_memory = NULL;
    if (wants_device) {
        return ntk_cnrt_memory_take(pointer, bytes, NULL, out_memory);
    }
    return pointer && !is_of_device(pointer) ? CNRT_OK : CNRT_ERR_INVALID_POINTER;
}

static int transfer_make(void *to, const void *from, uint64_t bytes, enum cnrt_direction direction,
                         struct transfer *out_transfer)
{
    struct transfer transfer = { .from = from, .to = to, .bytes = bytes };

    if (direction == CNRT_ANY_DIRECTION) {
        direction = direction_by_pointers(to, from);
    }
    if (direction == CNRT_NO_DIRECTION) {
        return CNRT_ERR_INVALID;
    }
    if (direction == CNRT_UNSUPPORTED_DIRECTION) {
        return CNRT_ERR_UNSUPPORTED;
    }
    bool to_device = direction != CNRT_DEVICE_TO_HOST && direction != CNRT_HOST_TO_HOST;
    bool from_device = direction != CNRT_HOST_TO_DEVICE && direction != CNRT_HOST_TO_HOST;
    int code = side_take(to, bytes, to_device, &transfer.to_memory);
    if (code == CNRT_OK) {
        code = side_take(from, bytes, from_device, &transfer.from_memory);
    }
    if (code == CNRT_OK && direction == CNRT_DEVICE_TO_DEVICE &&
        transfer.to_memory->device != transfer.from_memory->device) {
        code = CNRT_ERR_INVALID; /* this would be a peer-to-peer copy */
    }
    if (code != CNRT_OK) {
        transfer_drop(&transfer);
        return code;
    }
    *out_transfer = transfer;
    return CNRT_OK;
}

static int transfer_do(const struct transfer *transfer)
{
    struct ntk_cnrt_memory *to = transfer->to_memory;
    struct ntk_cnrt_memory *from = transfer->from_memory;
    uint64_t to_offset = to ? (uint64_t)(transfer->to - to->address) : 0;
    uint64_t from_offset = from ? (uint64_t)(transfer->from - from->address) : 0;
    struct ntk_err err = { 0 };
    int ret = 0;

    if (to && from) {
        ret = ntk_core_tensor_copy_far(from->tensor, from_offset, to->tensor, to_offset,
                                       transfer->bytes, &err);
    } else if (to) {
        ret = ntk_core_tensor_write(to->tensor, transfer->from, to_offset, transfer->bytes, &err);
    } else if (from) {
        ret = ntk_core_tensor_read(from->tensor, transfer->to, from_offset, transfer->bytes, &err);
    } else {
        memmove(transfer->to, transfer->from, transfer->bytes);
    }
    return ret < 0 ? CNRT_ERR_MEMCPY : CNRT_OK;
}

int cnrt_memory_copy(void *to, const void *from, size_t bytes, enum cnrt_direction direction)
{
    struct transfer transfer;
    int code = transfer_make(to, from, bytes, direction, &transfer);

    if (code == CNRT_OK) {
        code = transfer_do(&transfer);
        transfer_drop(&transfer);
    }
    return code;
}

struct copy_item {
    struct ntk_core_queue_item item;
    struct cnrt_queue *queue;
    struct transfer transfer;
};

static bool copy_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct copy_item *copy = (struct copy_item *)item;
    int code = transfer_do(&copy->transfer);

    (void)is_broken;
    if (code != CNRT_OK) {
        cnrt_queue_failed(copy->queue, code);
    }
    /* Release the memory before the copy counts as complete, so that a thread that has synchronised
     * finds it free. */
    transfer_drop(&copy->transfer);
    return true;
}

static void copy_destroy(struct ntk_core_queue_item *item)
{
    free(item);
}

int cnrt_memory_copy_async(void *to, const void *from, size_t bytes, void *queue_pointer,
                           enum cnrt_direction direction)
{
    struct cnrt_queue *queue = cnrt_queue_take(queue_pointer);
    struct copy_item *copy = calloc(1, sizeof *copy);
    int code = queue ? CNRT_ERR_NOMEM : CNRT_ERR_QUEUE;

    if (queue && copy) {
        copy->item.run = copy_run;
        copy->item.destroy = copy_destroy;
        copy->queue = queue;
        code = transfer_make(to, from, bytes, direction, &copy->transfer);
        if (code == CNRT_OK) {
            code = cnrt_queue_submit(queue, &copy->item);
            if (code == CNRT_OK) {
                copy = NULL; /* the queue owns it now */
            } else {
                transfer_drop(&copy->transfer);
            }
        }
    }
    free(copy);
    cnrt_queue_drop(queue);
    return code;
}

static int fill(void *pointer, int value, size_t bytes)
{
    struct ntk_cnrt_memory *memory = NULL;
    struct ntk_err err = { 0 };
    int code = ntk_cnrt_memory_take(pointer, bytes, NULL, &memory);

    if (code == CNRT_OK &&
        ntk_core_tensor_fill(memory->tensor, (uint64_t)((char *)pointer - memory->address),
                             (uint8_t)value, bytes, &err) < 0) {
        code = CNRT_ERR_MEMCPY;
    }
    ntk_cnrt_memory_drop(memory);
    return code;
}

static int batch_make(void **out_pointer, size_t bytes, int parallelism)
{
    size_t aligned = (bytes + BATCH_ALIGN - 1) / BATCH_ALIGN * BATCH_ALIGN;

    if (parallelism <= 0 || bytes == 0) {
        return CNRT_ERR_INVALID;
    }
    if (aligned < bytes || aligned > SIZE_MAX / (size_t)parallelism) {
        return CNRT_ERR_NOMEM;
    }
    return memory_make(&on_device, NTK_CORE_DEVICE, aligned * (size_t)parallelism, out_pointer);
}

static int free_all_of(void **pointers, int count)
{
    int code = CNRT_OK;

    if (!pointers || count < 0) {
        return CNRT_ERR_INVALID;
    }
    for (int i = 0; i < count; i++) {
        int now = memory_free(&on_device, pointers[i]);

        code = code == CNRT_OK ? now : code;
    }
    return code;
}

/* --- public calls ----------------------------------------------------------------------------- */

cnrtRet_t cnrtMalloc(void **ptr, size_t bytes)
{
    CNRT_INSIDE(memory_make(&on_device, NTK_CORE_DEVICE, bytes, ptr));
}
CNRT_IN_1(Malloc);

cnrtRet_t cnrtMallocBatch(void **ptr, size_t bytes, int parallelism)
{
    CNRT_INSIDE(batch_make(ptr, bytes, parallelism));
}
CNRT_IN_1(MallocBatch);

cnrtRet_t cnrtFree(void *ptr)
{
    CNRT_INSIDE(memory_free(&on_device, ptr));
}
CNRT_IN_1(Free);

cnrtRet_t cnrtFreeArray(void **ptr, int length)
{
    CNRT_INSIDE(free_all_of(ptr, length));
}
CNRT_IN_1(FreeArray);

cnrtRet_t cnrtMallocHost(void **ptr, size_t bytes, cnrtMemType_t type)
{
    bool is_known = (int)type >= CNRT_MEMTYPE_DEFAULT && (int)type <= CNRT_MEMTYPE_DEV;

    CNRT_INSIDE(is_known ? cnrt_memory_host_take(ptr, bytes) : CNRT_ERR_INVALID);
}

cnrtRet_t cnrtFreeHost(void *ptr)
{
    CNRT_INSIDE(memory_free(&on_host, ptr));
}
CNRT_IN_1(FreeHost);

cnrtRet_t cnrtMemset(void *ptr, int value, size_t bytes)
{
    CNRT_INSIDE(fill(ptr, value, bytes));
}
CNRT_IN_1(Memset);

cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t dir)
{
    static const enum cnrt_direction directions[] = {
        [CNRT_MEM_TRANS_DIR_HOST2DEV] = CNRT_HOST_TO_DEVICE,
        [CNRT_MEM_TRANS_DIR_DEV2DEV] = CNRT_UNSUPPORTED_DIRECTION,
        [CNRT_MEM_TRANS_DIR_DEV2HOST] = CNRT_DEVICE_TO_HOST,
        [CNRT_MEM_TRANS_DIR_HOST2HOST] = CNRT_UNSUPPORTED_DIRECTION,
        [CNRT_MEM_TRANS_DIR_NODIR] = CNRT_ANY_DIRECTION,
    };
    bool is_known = (unsigned int)dir < sizeof directions / sizeof *directions;

    CNRT_INSIDE(cnrt_memory_copy(dst, src, bytes, is_known ? directions[dir] : CNRT_NO_DIRECTION));
}
