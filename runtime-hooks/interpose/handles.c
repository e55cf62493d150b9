/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/interpose/handles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/segment_abi.h"

#define BLOCK 64
#define TRIES 1000 /* after these, a reader no longer waits for a writer that may not be running */

struct interpose_handle {
    const void *key;
    struct interpose_handle *next;
    struct interpose_handle_value value;
};

static struct interpose_handle **bucket_of(struct interpose_handles *handles, const void *key)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)key >> 4) * 0x9e3779b97f4a7c15ull;

    return &handles->bucket[mixed >> 51];
}
static_assert(INTERPOSE_HANDLE_BUCKETS == 1u << (64 - 51), "the hash is an index");

static void value_store(struct interpose_handle *handle, const struct interpose_handle_value *value)
{
    for (int i = 0; i < INTERPOSE_HANDLE_WORDS; i++) {
        ntk_abi_store(&handle->value.word[i], value->word[i]);
    }
}

static void value_load(const struct interpose_handle *handle,
                       struct interpose_handle_value *out_value)
{
    for (int i = 0; i < INTERPOSE_HANDLE_WORDS; i++) {
        out_value->word[i] = ntk_abi_load(&handle->value.word[i]);
    }
}

static void write_begin(struct interpose_handles *handles)
{
    pthread_mutex_lock(&handles->lock);
    ntk_abi_store(&handles->seq, handles->seq + 1);
    ntk_abi_fence_release();
}

static void write_end(struct interpose_handles *handles)
{
    ntk_abi_store_release(&handles->seq, handles->seq + 1);
    pthread_mutex_unlock(&handles->lock);
}

/* Returns the first entry in the key's chain; the caller is a reader or holds the lock. */
static struct interpose_handle *find(struct interpose_handles *handles, const void *key)
{
    struct interpose_handle *handle = ntk_abi_load_acquire(bucket_of(handles, key));

    while (handle && ntk_abi_load(&handle->key) != key) {
        handle = ntk_abi_load_acquire(&handle->next);
    }
    return handle;
}

bool interpose_handles_get(struct interpose_handles *handles, const void *key,
                           struct interpose_handle_value *out_value)
{
    struct interpose_handle *handle;

    for (int i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&handles->seq);

        if (seq & 1) {
            continue;
        }
        handle = find(handles, key);
        if (handle) {
            value_load(handle, out_value);
        }
        ntk_abi_fence_acquire();
        if (ntk_abi_load(&handles->seq) == seq) {
            return handle != NULL;
        }
    }
    pthread_mutex_lock(&handles->lock);
    handle = find(handles, key);
    if (handle) {
        value_load(handle, out_value);
    }
    pthread_mutex_unlock(&handles->lock);
    return handle != NULL;
}

/* Creates an entry. The caller holds the lock. */
static struct interpose_handle *handle_new(struct interpose_handles *handles)
{
    struct interpose_handle *handle = handles->free;

    if (!handle) {
        struct interpose_handle *block = calloc(BLOCK, sizeof *block);

        for (int i = 0; block && i < BLOCK; i++) {
            block[i].next = handles->free;
            handles->free = &block[i];
        }
        handle = handles->free;
    }
    if (handle) {
        handles->free = handle->next;
    }
    return handle;
}

bool interpose_handles_put(struct interpose_handles *handles, const void *key,
                           const struct interpose_handle_value *value)
{
    struct interpose_handle *handle;

    write_begin(handles);
    handle = find(handles, key);
    if (handle) {
        value_store(handle, value);
    } else {
        handle = handle_new(handles);
        if (handle) {
            struct interpose_handle **bucket = bucket_of(handles, key);

            ntk_abi_store(&handle->key, key);
            value_store(handle, value);
            ntk_abi_store_release(&handle->next, *bucket);
            ntk_abi_store_release(bucket, handle);
        }
    }
    write_end(handles);
    return handle != NULL;
}

/* Removes the entry after *link. The caller holds the lock. */
static void remove_at(struct interpose_handles *handles, struct interpose_handle **link,
                      struct interpose_handle_value *out_value)
{
    struct interpose_handle *handle = *link;

    value_load(handle, out_value);
    ntk_abi_store_release(link, handle->next);
    ntk_abi_store(&handle->key, (const void *)NULL);
    ntk_abi_store_release(&handle->next, handles->free);
    handles->free = handle;
}

bool interpose_handles_take(struct interpose_handles *handles, const void *key,
                            struct interpose_handle_value *out_value)
{
    struct interpose_handle **link;
    bool is_found;

    write_begin(handles);
    link = bucket_of(handles, key);
    while (*link && (*link)->key != key) {
        link = &(*link)->next;
    }
    is_found = *link != NULL;
    if (is_found) {
        remove_at(handles, link, out_value);
    }
    write_end(handles);
    return is_found;
}

void interpose_handles_remove(struct interpose_handles *handles, const void *key,
                              const struct interpose_handle_value *value)
{
    struct interpose_handle_value removed;
    struct interpose_handle **link;

    write_begin(handles);
    link = bucket_of(handles, key);
    while (*link && (*link)->key != key) {
        link = &(*link)->next;
    }
    if (*link && memcmp(&(*link)->value, value, sizeof *value) == 0) {
        remove_at(handles, link, &removed);
    }
    write_end(handles);
}

bool interpose_handles_take_next(struct interpose_handles *handles, uint32_t *cursor,
                                 struct interpose_handle_value *out_value)
{
    bool is_found = false;

    write_begin(handles);
    while (*cursor < INTERPOSE_HANDLE_BUCKETS && !handles->bucket[*cursor]) {
        ++*cursor;
    }
    if (*cursor < INTERPOSE_HANDLE_BUCKETS) {
        remove_at(handles, &handles->bucket[*cursor], out_value);
        is_found = true;
    }
    write_end(handles);
    return is_found;
}

/* The writer is not in this process. Entries stay allocated, but the parent's entries are
 * dropped. */
void interpose_handles_after_fork(struct interpose_handles *handles)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&handles->lock, &fresh, sizeof fresh);
    memset(handles->bucket, 0, sizeof handles->bucket);
    handles->free = NULL;
    handles->seq = (handles->seq | 1) + 1;
}
