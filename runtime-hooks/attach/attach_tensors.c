/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/attach/attach_tensors.h"

#include <search.h>
#include <stdlib.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/base/order.h"

#define PLACEMENT_DEVICE 0 /* value of nrt_tensor_placement_t */

struct storage {
    uint64_t id; /* must be first: key of the tree */
    struct ntk_hooks_memory memory;
    ntk_hooks_row row;
    uint64_t tensors;
};

struct ntk_attach_tensor_entry {
    uint64_t handle; /* must be first: key of the tree */
    uint64_t id;
    struct storage *storage;
    uint64_t round; /* round in which it was last seen */
    struct ntk_attach_tensor_entry *previous;
    struct ntk_attach_tensor_entry *next;
};

NTK_ORDER_NUMBERS(compare, uint64_t);

static void *find(void *const *tree, uint64_t key)
{
    void *node = tfind(&key, tree, compare);

    return node ? *(void **)node : NULL;
}

void ntk_attach_tensors_fini(struct ntk_attach_tensors *tensors)
{
    tdestroy(tensors->by_handle, free);
    tdestroy(tensors->storages, free);
    *tensors = (struct ntk_attach_tensors){ 0 };
}

static struct storage *get_storage(struct ntk_attach_tensors *tensors, uint64_t handle,
                                   const struct ntk_attach_tensor *tensor, uint16_t core,
                                   const char *name)
{
    struct storage *storage = find(&tensors->storages, tensor->storage);

    if (storage) {
        return storage;
    }
    storage = calloc(1, sizeof *storage);
    if (!storage) {
        return NULL;
    }
    storage->id = tensor->storage;
    if (!tsearch(storage, &tensors->storages, compare)) {
        free(storage);
        return NULL;
    }
    storage->memory = (struct ntk_hooks_memory){
        .address = handle,
        .bytes = tensor->bytes,
        .core = core,
        .category =
            tensor->placement == PLACEMENT_DEVICE ? NTK_MEMORY_TENSORS : NTK_MEMORY_HOST_TENSORS,
        .name = ntk_hooks_name(name),
    };
    storage->row = ntk_hooks_memory_alloc(&storage->memory);
    return storage;
}

static void drop_storage(struct ntk_attach_tensors *tensors, struct storage *storage)
{
    if (storage->tensors == 0) {
        ntk_hooks_memory_free(&storage->memory, storage->row);
        (void)tdelete(storage, &tensors->storages, compare);
        free(storage);
    }
}

static void drop(struct ntk_attach_tensors *tensors, struct ntk_attach_tensor_entry *entry)
{
    (void)tdelete(entry, &tensors->by_handle, compare);
    if (entry->previous) {
        entry->previous->next = entry->next;
    } else {
        tensors->first = entry->next;
    }
    if (entry->next) {
        entry->next->previous = entry->previous;
    }
    entry->storage->tensors--;
    drop_storage(tensors, entry->storage);
    free(entry);
}

void ntk_attach_tensors_add(struct ntk_attach_tensors *tensors, uint64_t handle,
                            const struct ntk_attach_tensor *tensor, uint16_t core, const char *name)
{
    struct ntk_attach_tensor_entry *entry = find(&tensors->by_handle, handle);
    struct storage *storage;

    if (entry && entry->id >= tensor->id) {
        return; /* the tensor was reported before, or its handle belongs to a later tensor */
    }
    if (entry) {
        drop(tensors, entry);
    }
    entry = calloc(1, sizeof *entry);
    storage = entry ? get_storage(tensors, handle, tensor, core, name) : NULL;
    if (storage) {
        *entry = (struct ntk_attach_tensor_entry){ handle,         tensor->id, storage,
                                                   tensors->round, NULL,       tensors->first };
    }
    if (!storage || !tsearch(entry, &tensors->by_handle, compare)) {
        if (storage) {
            drop_storage(tensors, storage);
        }
        free(entry);
        tensors->refused++;
        return;
    }
    storage->tensors++;
    if (tensors->first) {
        tensors->first->previous = entry;
    }
    tensors->first = entry;
}

void ntk_attach_tensors_remove(struct ntk_attach_tensors *tensors, uint64_t handle, uint64_t id)
{
    struct ntk_attach_tensor_entry *entry = find(&tensors->by_handle, handle);

    if (entry && entry->id == id) {
        drop(tensors, entry);
    }
}

void ntk_attach_tensors_remove_before(struct ntk_attach_tensors *tensors, uint64_t id)
{
    struct ntk_attach_tensor_entry *next;

    for (struct ntk_attach_tensor_entry *entry = tensors->first; entry; entry = next) {
        next = entry->next;
        if (entry->id <= id) {
            drop(tensors, entry);
        }
    }
}

void ntk_attach_tensors_begin(struct ntk_attach_tensors *tensors)
{
    tensors->round++;
}

void ntk_attach_tensors_see(struct ntk_attach_tensors *tensors, uint64_t handle, uint64_t id)
{
    struct ntk_attach_tensor_entry *entry = find(&tensors->by_handle, handle);

    if (entry && entry->id == id) {
        entry->round = tensors->round;
    }
}

void ntk_attach_tensors_end(struct ntk_attach_tensors *tensors,
                            bool (*is_alive)(uint64_t handle, uint64_t id, void *ctx), void *ctx)
{
    struct ntk_attach_tensor_entry *next;

    for (struct ntk_attach_tensor_entry *entry = tensors->first; entry; entry = next) {
        next = entry->next;
        if (entry->round != tensors->round &&
            !(is_alive && is_alive(entry->handle, entry->id, ctx))) {
            drop(tensors, entry);
        }
    }
}
