/* SPDX-License-Identifier: MIT */
/*
 * nrt_tensor_set - sets that map names to tensors. A set does not own its tensors: they may be
 * freed before the set.
 */
#include "runtime-hooks/libnrt/nrt_front.h"

#include <stdlib.h>
#include <string.h>

static struct nrt_set *set_take(const nrt_tensor_set_t *set)
{
    return ntk_core_handle_take(&nrt_front_sets, set);
}

static void set_drop(struct nrt_set *set)
{
    ntk_core_handle_drop(&nrt_front_sets, set);
}

/* Finds an entry. The caller holds the lock of the set. */
static struct nrt_set_entry *entry_find(struct nrt_set *set, const char *name)
{
    ntk_vec_each(struct nrt_set_entry, entry, &set->entries) {
        if (strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

struct nrt_tensor *nrt_front_set_take(struct nrt_set *set, const char *name)
{
    struct nrt_tensor *tensor = NULL;

    pthread_mutex_lock(&set->lock);
    const struct nrt_set_entry *entry = entry_find(set, name);
    if (entry) {
        tensor = ntk_core_handle_take(&nrt_front_tensors, entry->tensor);
        if (tensor && tensor->handle.generation != entry->generation) {
            /* The tensor was freed, and another tensor reuses its memory. */
            ntk_core_handle_drop(&nrt_front_tensors, tensor);
            tensor = NULL;
        }
    }
    pthread_mutex_unlock(&set->lock);
    return tensor;
}

NRT_STATUS nrt_allocate_tensor_set(nrt_tensor_set_t **result)
{
    NRT_FRONT_SCOPE;
    if (!result) {
        status = NRT_INVALID;
    } else {
        struct nrt_set *set = ntk_core_handle_create(&nrt_front_sets);

        if (!set) {
            status = NRT_RESOURCE;
        } else {
            pthread_mutex_init(&set->lock, NULL);
            ntk_vec_init(&set->entries, sizeof(struct nrt_set_entry));
            *result = set;
        }
    }
    return status;
}

void nrt_destroy_tensor_set(nrt_tensor_set_t **tensor_set)
{
    if (!tensor_set || !*tensor_set) {
        return;
    }
    if (nrt_front_enter() == NRT_SUCCESS) {
        (void)ntk_core_handle_close(&nrt_front_sets, *tensor_set);
        nrt_front_leave();
    }
    *tensor_set = NULL;
}

/* Sets an entry. The caller holds the handle of the tensor. */
static NRT_STATUS entry_set(struct nrt_set *set, const char *name, struct nrt_tensor *tensor)
{
    NRT_STATUS status = NRT_SUCCESS;

    pthread_mutex_lock(&set->lock);
    struct nrt_set_entry *entry = entry_find(set, name);
    if (!entry) {
        char *copy = strdup(name);

        entry = copy ? ntk_vec_add(&set->entries) : NULL;
        if (entry) {
            entry->name = copy;
        } else {
            free(copy);
            status = NRT_RESOURCE;
        }
    }
    if (entry) {
        entry->tensor = tensor;
        entry->generation = tensor->handle.generation;
    }
    pthread_mutex_unlock(&set->lock);
    return status;
}

NRT_STATUS nrt_add_tensor_to_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                        nrt_tensor_t *tensor)
{
    NRT_FRONT_SCOPE;
    struct nrt_set *set = set_take(tensor_set);
    struct nrt_tensor *taken = ntk_core_handle_take(&nrt_front_tensors, tensor);
    status = set && taken && tensor_name ? entry_set(set, tensor_name, taken) : NRT_INVALID;
    if (taken) {
        ntk_core_handle_drop(&nrt_front_tensors, taken);
    }
    if (set) {
        set_drop(set);
    }
    return status;
}

NRT_STATUS nrt_get_tensor_from_tensor_set(nrt_tensor_set_t *tensor_set, const char *tensor_name,
                                          nrt_tensor_t **tensor)
{
    NRT_FRONT_SCOPE;
    struct nrt_set *set = set_take(tensor_set);
    if (!set || !tensor_name || !tensor) {
        status = NRT_INVALID;
    } else {
        struct nrt_tensor *found = nrt_front_set_take(set, tensor_name);

        if (found) {
            *tensor = found;
            ntk_core_handle_drop(&nrt_front_tensors, found);
        } else {
            status = NRT_FAILURE;
        }
    }
    if (set) {
        set_drop(set);
    }
    return status;
}
