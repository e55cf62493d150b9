/* SPDX-License-Identifier: MIT */
/*
 * nds_api - implements nrt/nds/neuron_ds.h: checks arguments, takes the lock, calls the other
 * files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/nds/nds_store.h"

/* ---- instances ---- */

int nds_open(ndl_device_t *device, pid_t pid, nds_instance_t **inst)
{
    struct nds_store *store;
    void *handle;
    int ret;

    if (device == NULL || inst == NULL || device->device_index >= MAX_NEURON_DEVICE_COUNT) {
        return -EINVAL;
    }
    store = calloc(1, sizeof *store);
    if (store == NULL) {
        return -ENOMEM;
    }
    store->device = device->device_index;
    nds_lock();
    ret = nds_segment_open(store, pid);
    if (ret == 0) {
        handle = nds_handle_add(NDS_HANDLE_STORE, store);
        if (handle != NULL) {
            *inst = handle;
            store = NULL;
        } else {
            nds_segment_close(store);
            ret = -ENOMEM;
        }
    }
    nds_unlock();
    free(store);
    return ret;
}

int nds_close(nds_instance_t *inst)
{
    struct nds_object *object;
    struct nds_store *store;
    uint32_t position = 0;
    void *handle;

    nds_lock();
    store = nds_handle_take(NDS_HANDLE_STORE, inst);
    if (store == NULL) {
        nds_unlock();
        return -EINVAL;
    }
    while ((object = nds_handle_next(NDS_HANDLE_OBJECT, &position, &handle)) != NULL) {
        if (object->store == store) {
            free(nds_handle_take(NDS_HANDLE_OBJECT, handle));
        }
    }
    nds_segment_close(store);
    nds_unlock();
    free(store);
    return 0;
}

/* Returns the instance of a handle, with its current segment; NULL if the handle is invalid. */
static struct nds_store *store_of(const nds_instance_t *inst)
{
    struct nds_store *store = nds_handle_get(NDS_HANDLE_STORE, inst);

    if (store != NULL) {
        nds_segment_refresh(store);
    }
    return store;
}

/* ---- counters ---- */

enum operation { GET, SET, INCREMENT, DECREMENT, OR };

/* Applies an operation. *value: the result or the operand. live: the value in the segment;
 * *difference: the sum of changes written to it. */
static int apply(const struct nds_store *store, enum operation operation, uint64_t live,
                 uint64_t *difference, uint64_t *value)
{
    if (operation == GET) {
        *value = live + *difference;
        return 0;
    }
    if (!store->writable) {
        return -EROFS;
    }
    switch (operation) {
    case SET:
        *difference = *value - live;
        break;
    case INCREMENT:
        *difference += *value;
        break;
    case DECREMENT:
        *difference -= *value;
        break;
    case OR:
        *difference = ((live + *difference) | *value) - live;
        break;
    case GET:
        break;
    }
    return 0;
}

static int core_counter(const nds_instance_t *inst, int core, uint32_t counter,
                        enum operation operation, uint64_t *value)
{
    struct nds_store *store;
    uint32_t per_device;
    int ret = -EINVAL;

    if (value == NULL || core < 0 || core >= NDS_CORES || counter >= NDS_TOTAL_NC_COUNTER_COUNT) {
        return -EINVAL;
    }
    nds_lock();
    store = store_of(inst);
    per_device = store != NULL ? nds_cores_per_device(store) : 0;
    if (store != NULL && (per_device == 0 || (uint32_t)core < per_device)) {
        ret = apply(store, operation, nds_live_core_counter(store, (uint32_t)core, counter),
                    &store->core_difference[core][counter], value);
    }
    nds_unlock();
    return ret;
}

static int device_counter(const nds_instance_t *inst, uint32_t counter, enum operation operation,
                          uint64_t *value)
{
    struct nds_store *store;
    int ret = -EINVAL;

    if (value == NULL || counter >= NDS_ND_COUNTER_COUNT) {
        return -EINVAL;
    }
    nds_lock();
    store = store_of(inst);
    if (store != NULL) {
        ret = apply(store, operation, nds_live_device_counter(store, counter),
                    &store->device_difference[counter], value);
    }
    nds_unlock();
    return ret;
}

int nds_increment_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                             uint64_t increment)
{
    return core_counter(inst, pnc_index, counter_index, INCREMENT, &increment);
}

int nds_decrement_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index,
                             uint64_t decrement)
{
    return core_counter(inst, pnc_index, counter_index, DECREMENT, &decrement);
}

int nds_get_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index, uint64_t *value)
{
    return core_counter(inst, pnc_index, counter_index, GET, value);
}

int nds_set_nc_counter(nds_instance_t *inst, int pnc_index, uint32_t counter_index, uint64_t *value)
{
    return core_counter(inst, pnc_index, counter_index, SET, value);
}

int nds_increment_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t increment)
{
    return device_counter(inst, counter_index, INCREMENT, &increment);
}

int nds_decrement_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t decrement)
{
    return device_counter(inst, counter_index, DECREMENT, &decrement);
}

int nds_or_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t bit_index)
{
    uint64_t bit = bit_index < 64 ? UINT64_C(1) << bit_index : 0;

    return bit != 0 ? device_counter(inst, counter_index, OR, &bit) : -EINVAL;
}

int nds_get_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value)
{
    return device_counter(inst, counter_index, GET, value);
}

int nds_set_nd_counter(nds_instance_t *inst, uint32_t counter_index, uint64_t *value)
{
    return device_counter(inst, counter_index, SET, value);
}

/* ---- objects ---- */

/* Creates a zeroed, uncommitted object. */
static struct nds_object *object_new(struct nds_store *store, int type, void **out_handle)
{
    struct nds_object *object = calloc(1, sizeof *object);

    if (object == NULL) {
        return NULL;
    }
    object->store = store;
    object->type = type;
    *out_handle = nds_handle_add(NDS_HANDLE_OBJECT, object);
    if (*out_handle == NULL) {
        free(object);
        return NULL;
    }
    return object;
}

nds_obj_handle_t nds_obj_new(nds_instance_t *inst, int type)
{
    struct nds_store *store;
    void *handle = NULL;

    if (type < OBJECT_TYPE_MODEL_NODE_INFO || type > OBJECT_TYPE_PROCESS_INFO_EXT) {
        return NULL;
    }
    nds_lock();
    store = nds_handle_get(NDS_HANDLE_STORE, inst);
    if (store != NULL && store->writable) {
        (void)object_new(store, type, &handle);
    }
    nds_unlock();
    return handle;
}

int nds_obj_commit(nds_obj_handle_t obj)
{
    struct nds_object *object;
    int ret = -EINVAL;

    nds_lock();
    object = nds_handle_get(NDS_HANDLE_OBJECT, obj);
    if (object != NULL) {
        ret = object->store->writable ? 0 : -EROFS;
        object->committed = ret == 0;
    }
    nds_unlock();
    return ret;
}

int nds_obj_delete(nds_obj_handle_t obj)
{
    struct nds_object *object;

    nds_lock();
    object = nds_handle_take(NDS_HANDLE_OBJECT, obj);
    nds_unlock();
    free(object);
    return object != NULL ? 0 : -EINVAL;
}

static struct nds_object *object_of(nds_obj_handle_t obj, int type)
{
    struct nds_object *object;

    nds_lock();
    object = nds_handle_get(NDS_HANDLE_OBJECT, obj);
    nds_unlock();
    return object != NULL && object->type == type ? object : NULL;
}

nds_model_node_info_t *nds_obj_handle_to_model_node_info(nds_obj_handle_t obj)
{
    struct nds_object *object = object_of(obj, OBJECT_TYPE_MODEL_NODE_INFO);

    return object != NULL ? &object->data.node.info : NULL;
}

nds_model_node_mem_usage_info_t *nds_obj_handle_to_model_node_mem_usage(nds_obj_handle_t obj)
{
    struct nds_object *object = object_of(obj, OBJECT_TYPE_MODEL_NODE_INFO);

    return object != NULL ? &object->data.node.memory : NULL;
}

nds_process_info_t *nds_obj_handle_to_process_info(nds_obj_handle_t obj)
{
    struct nds_object *object = object_of(obj, OBJECT_TYPE_PROCESS_INFO);

    return object != NULL ? &object->data.process : NULL;
}

nds_process_info_ext_t *nds_obj_handle_to_process_info_ext(nds_obj_handle_t obj)
{
    struct nds_object *object = object_of(obj, OBJECT_TYPE_PROCESS_INFO_EXT);

    return object != NULL ? &object->data.process_ext : NULL;
}

/* ---- reading ---- */

/* Returns the next committed object of a type, from *position on. */
static const struct nds_object *next_committed(const struct nds_store *store, int type,
                                               uint32_t *position)
{
    const struct nds_object *object;
    void *handle;

    while ((object = nds_handle_next(NDS_HANDLE_OBJECT, position, &handle)) != NULL) {
        if (object->store == store && object->type == type && object->committed) {
            return object;
        }
    }
    return NULL;
}

struct node_list {
    struct nds_store *store;
    nds_obj_handle_t *handles;
    size_t count;
    size_t capacity;
};

static int node_list_add(const nds_model_node_info_t *info,
                         const nds_model_node_mem_usage_info_t *memory, void *ctx)
{
    struct node_list *list = ctx;
    struct nds_object *object;

    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        nds_obj_handle_t *handles = realloc(
            list->handles, capacity * sizeof *handles); /* NOLINT(bugprone-sizeof-expression) */

        if (handles == NULL) {
            return -ENOMEM;
        }
        list->handles = handles;
        list->capacity = capacity;
    }
    object = object_new(list->store, OBJECT_TYPE_MODEL_NODE_INFO, &list->handles[list->count]);
    if (object == NULL) {
        return -ENOMEM;
    }
    object->data.node.info = *info;
    object->data.node.memory = *memory;
    list->count++;
    return 0;
}

int nds_read_all_model_nodes(nds_instance_t *inst, nds_obj_handle_t **models, size_t *count)
{
    const struct nds_object *object;
    struct node_list list = { 0 };
    uint32_t position = 0;
    int ret = -EINVAL;

    if (models == NULL || count == NULL) {
        return -EINVAL;
    }
    nds_lock();
    list.store = store_of(inst);
    if (list.store != NULL) {
        ret = nds_live_model_nodes(list.store, node_list_add, &list);
        while (ret == 0 && (object = next_committed(list.store, OBJECT_TYPE_MODEL_NODE_INFO,
                                                    &position)) != NULL) {
            ret = node_list_add(&object->data.node.info, &object->data.node.memory, &list);
        }
    }
    while (ret != 0 && list.count > 0) {
        free(nds_handle_take(NDS_HANDLE_OBJECT, list.handles[--list.count]));
    }
    nds_unlock();
    if (ret != 0) {
        free(list.handles);
        return ret;
    }
    *models = list.handles;
    *count = list.count;
    return 0;
}

/* Returns a copy of the object committed by this process, else of the segment's data. */
static nds_obj_handle_t read_process(const nds_instance_t *inst, int type)
{
    const struct nds_object *committed;
    struct nds_object *object;
    struct nds_store *store;
    uint32_t position = 0;
    void *handle = NULL;

    nds_lock();
    store = store_of(inst);
    if (store != NULL) {
        committed = next_committed(store, type, &position);
        if (committed != NULL || store->segment != NULL) {
            object = object_new(store, type, &handle);
            if (object != NULL && committed != NULL) {
                object->data = committed->data;
            } else if (object != NULL && type == OBJECT_TYPE_PROCESS_INFO) {
                nds_live_process(store, &object->data.process);
            } else if (object != NULL) {
                nds_live_process_ext(store, &object->data.process_ext);
            }
        }
    }
    nds_unlock();
    return handle;
}

nds_obj_handle_t nds_read_process_info(nds_instance_t *inst)
{
    return read_process(inst, OBJECT_TYPE_PROCESS_INFO);
}

nds_obj_handle_t nds_read_process_info_ext(nds_instance_t *inst)
{
    return read_process(inst, OBJECT_TYPE_PROCESS_INFO_EXT);
}
