/* SPDX-License-Identifier: MIT */
/* long_list - uses realloc() up to a limit, then an unnamed file with space that is reserved before
 * it is mapped. */
#include "profiler/trace/long_list.h"

#include <errno.h>
#include <fcntl.h> /* for posix_fallocate() */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/trace/trace.h"
#include "shared/base/fs.h"
#include "shared/base/memory.h"

#define ITEMS_FIRST 64
#define FILE_STEP_BYTES ((size_t)64 << 20)

int ntk_long_list_err_set(struct ntk_err *err, int code, const char *folder)
{
    if (code == -ENOMEM) {
        return ntk_err_no_memory(err);
    }
    return ntk_err_set(
        err, code, NTK_ERR_NO_OFFSET,
        "cannot keep records in a temporary file in %s: %s (set TMPDIR to another folder)", folder,
        strerror(-code));
}

void ntk_long_list_init(struct ntk_long_list *list, const struct ntk_trace *trace,
                        size_t item_bytes, size_t share)
{
    *list = (struct ntk_long_list){ .item_bytes = item_bytes,
                                    .heap_bytes_max =
                                        ntk_trace_list_bytes_get(trace) / (share ? share : 1),
                                    .folder = ntk_trace_folder_get(trace) };
}

void *ntk_long_file_map(int *fd, const char *folder, uint64_t offset, size_t bytes_count,
                        int *out_failed)
{
    int file = *fd < 0 ? ntk_fs_open_unnamed(folder, NULL) : *fd;
    void *items = MAP_FAILED;
    int failed = file < 0 ? -file : EINTR;

    while (failed == EINTR) {
        failed = posix_fallocate(file, (off_t)offset, (off_t)bytes_count);
    }
    if (failed == 0) {
        items = mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
        failed = errno;
    }
    if (items == MAP_FAILED) {
        if (*fd < 0 && file >= 0) {
            close(file);
        }
        *out_failed = -failed;
        return NULL;
    }
    *fd = file;
    return items;
}

void ntk_long_items_free(void *items, size_t bytes_count, bool is_mapped)
{
    if (is_mapped) {
        munmap(items, bytes_count);
    } else {
        free(items);
    }
}

void ntk_long_items_give_back(const void *items, size_t bytes_count, bool is_mapped)
{
    if (is_mapped) {
        (void)madvise((void *)items, bytes_count, MADV_DONTNEED);
    }
}

void ntk_long_list_fini(struct ntk_long_list *list)
{
    ntk_long_items_free(list->items, list->capacity * list->item_bytes, list->is_mapped);
    if (list->is_mapped) {
        close(list->fd);
    }
    *list = (struct ntk_long_list){ 0 };
}

static int grow_on_heap(struct ntk_long_list *list, size_t capacity)
{
    bool is_new = !list->items;
    char *items = is_new ? calloc(capacity, list->item_bytes)
                         : realloc(list->items, capacity * list->item_bytes);

    if (!items) {
        return -ENOMEM;
    }
    if (is_new) {
        ntk_memory_is_large(items, capacity * list->item_bytes);
    } else {
        memset(items + list->capacity * list->item_bytes, 0,
               (capacity - list->capacity) * list->item_bytes);
    }
    list->items = items;
    list->capacity = capacity;
    return 0;
}

static int grow_in_file(struct ntk_long_list *list, size_t capacity)
{
    int fd = list->is_mapped ? list->fd : -1;
    int failed = 0;
    void *items = ntk_long_file_map(&fd, list->folder, 0, capacity * list->item_bytes, &failed);

    if (!items) {
        return failed;
    }
    if (!list->is_mapped && list->items) {
        memcpy(items, list->items, list->count * list->item_bytes);
    }
    ntk_long_items_free(list->items, list->capacity * list->item_bytes, list->is_mapped);
    list->items = items;
    list->capacity = capacity;
    list->is_mapped = true;
    list->fd = fd;
    return 0;
}

/* Grows the list; capacity must be larger than the current one. */
static int grow(struct ntk_long_list *list, size_t capacity)
{
    if (capacity > SIZE_MAX / 2 / list->item_bytes) {
        return -ENOMEM;
    }
    return list->is_mapped || capacity * list->item_bytes > list->heap_bytes_max
               ? grow_in_file(list, capacity)
               : grow_on_heap(list, capacity);
}

int ntk_long_list_resize(struct ntk_long_list *list, size_t count)
{
    int ret = count > list->capacity ? grow(list, count) : 0;

    if (ret == 0) {
        list->count = count;
    }
    return ret;
}

void *ntk_long_list_add(struct ntk_long_list *list, int *out_failed)
{
    if (list->count == list->capacity) {
        size_t step = list->is_mapped ? FILE_STEP_BYTES / list->item_bytes : list->capacity;
        int ret = grow(list, list->capacity + (step ? step : ITEMS_FIRST));

        if (ret < 0) {
            *out_failed = ret;
            return NULL;
        }
    }
    return (char *)list->items + list->item_bytes * list->count++;
}

void ntk_long_list_give_back(const struct ntk_long_list *list)
{
    ntk_long_items_give_back(list->items, list->capacity * list->item_bytes, list->is_mapped);
}
