/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/rank_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"

#define HEAP_BYTES ((size_t)16 << 20)

void ntk_rank_store_init(struct ntk_rank_store *store)
{
    *store = (struct ntk_rank_store){ .fd = -1 };
}

void ntk_rank_store_fini(struct ntk_rank_store *store)
{
    free(store->heap);
    if (store->fd >= 0) {
        close(store->fd);
    }
    ntk_rank_store_init(store);
}

void ntk_rank_store_begin(const struct ntk_rank_store *store, struct ntk_rank_rows *out_rows)
{
    *out_rows = (struct ntk_rank_rows){ .offset = store->file_bytes + store->heap_bytes };
}

static void fail(struct ntk_rank_store *store, int code)
{
    store->failed = store->failed ? store->failed : code;
}

/* Writes the part in memory to the end of the file. */
static void flush(struct ntk_rank_store *store)
{
    if (store->fd < 0) {
        store->fd = ntk_fs_open_unnamed(ntk_fs_temporary_folder(), NULL);
    }
    int ret = store->fd < 0
                  ? store->fd
                  : ntk_fs_pwrite(store->fd, store->heap, store->heap_bytes, store->file_bytes);
    if (ret < 0) {
        fail(store, ret);
    }
    store->file_bytes += store->heap_bytes;
    store->heap_bytes = 0;
}

void ntk_rank_store_add(struct ntk_rank_store *store, struct ntk_rank_rows *rows, const void *item,
                        size_t item_bytes)
{
    if (store->heap_bytes + item_bytes > HEAP_BYTES) {
        flush(store);
    }
    if (store->heap_bytes + item_bytes > store->heap_capacity) {
        size_t capacity = store->heap_capacity > 0 ? 2 * store->heap_capacity : 65536;
        char *heap = realloc(store->heap, capacity);

        if (!heap) {
            fail(store, -ENOMEM);
            return;
        }
        store->heap = heap;
        store->heap_capacity = capacity;
    }
    memcpy(store->heap + store->heap_bytes, item, item_bytes);
    store->heap_bytes += item_bytes;
    rows->count++;
}

/* Reads existing bytes; returns zeros if the file cannot be read. */
static void read_bytes(struct ntk_rank_store *store, uint64_t offset, char *out, size_t count)
{
    size_t in_file = offset >= store->file_bytes          ? 0
                     : store->file_bytes - offset < count ? (size_t)(store->file_bytes - offset)
                                                          : count;

    if (in_file > 0) {
        int ret = ntk_fs_pread(store->fd, out, in_file, offset);

        if (ret < 0) {
            fail(store, ret);
            memset(out, 0, in_file);
        }
    }
    if (count > in_file) {
        memcpy(out + in_file, store->heap + (offset + in_file - store->file_bytes),
               count - in_file);
    }
}

void ntk_rank_cursor_init(struct ntk_rank_cursor *cursor, struct ntk_rank_store *store,
                          struct ntk_rank_rows rows, size_t item_bytes)
{
    cursor->store = store;
    cursor->rows = rows;
    cursor->item_bytes = item_bytes;
    cursor->first = cursor->loaded = 0;
}

const void *ntk_rank_cursor_at(struct ntk_rank_cursor *cursor, size_t index)
{
    size_t most = NTK_RANK_CURSOR_BYTES / cursor->item_bytes;

    if (index < cursor->first || index >= cursor->first + cursor->loaded) {
        /* Keep some items before it, because operations of one rank are not exactly in order. */
        size_t kept = index < most / 4 ? index : most / 4;

        cursor->first = index - kept;
        cursor->loaded = cursor->rows.count - cursor->first;
        cursor->loaded = cursor->loaded < most ? cursor->loaded : most;
        read_bytes(cursor->store, cursor->rows.offset + cursor->first * cursor->item_bytes,
                   cursor->buffer, cursor->loaded * cursor->item_bytes);
    }
    return cursor->buffer + (index - cursor->first) * cursor->item_bytes;
}
