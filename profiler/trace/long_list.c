/* SPDX-License-Identifier: MIT */
/* long_list - realloc() up to a bound, then a file without a name whose room is reserved before it is mapped. */
#include "profiler/trace/long_list.h"

#include <errno.h>
#include <fcntl.h> /* posix_fallocate() */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/trace/trace.h"
#include "shared/base/fs.h"

#define ITEMS_FIRST 64
#define FILE_STEP_BYTES ((size_t)64 << 20)

int ntk_long_list_err_set(struct ntk_err *err, int code, const char *folder)
{
    if (code == -ENOMEM) {
        return ntk_err_no_memory(err);
    }
    return ntk_err_set(err, code, NTK_ERR_NO_OFFSET,
                       "cannot keep records in a temporary file in %s: %s (TMPDIR names another "
                       "folder)",
                       folder, strerror(-code));
}

void ntk_long_list_init(struct ntk_long_list *list, const struct ntk_trace *trace,
                        size_t item_bytes, size_t share)
{
    *list = (struct ntk_long_list){ .item_bytes = item_bytes,
                                    .heap_bytes_max =
                                        ntk_trace_list_bytes_get(trace) / (share ? share : 1),
                                    .folder = ntk_trace_folder_get(trace) };
}

void ntk_long_list_fini(struct ntk_long_list *list)
{
    if (list->is_mapped) {
        munmap(list->items, list->capacity * list->item_bytes);
        close(list->fd);
    } else {
        free(list->items);
    }
    *list = (struct ntk_long_list){ 0 };
}

static int grow_on_heap(struct ntk_long_list *list, size_t capacity)
{
    char *items = realloc(list->items, capacity * list->item_bytes);

    if (!items) {
        return -ENOMEM;
    }
    memset(items + list->capacity * list->item_bytes, 0,
           (capacity - list->capacity) * list->item_bytes);
    list->items = items;
    list->capacity = capacity;
    return 0;
}

/* The room is there before it is mapped: a full disk is an error, not SIGBUS at some write. */
static int grow_file(struct ntk_long_list *list, size_t capacity)
{
    size_t bytes_count = capacity * list->item_bytes;
    int ret = posix_fallocate(list->fd, 0, (off_t)bytes_count);

    if (ret != 0) {
        return -ret;
    }
    void *items =
        list->is_mapped
            ? mremap(list->items, list->capacity * list->item_bytes, bytes_count, MREMAP_MAYMOVE)
            : mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_SHARED, list->fd, 0);
    if (items == MAP_FAILED) {
        return -errno;
    }
    if (!list->is_mapped && list->items) {
        memcpy(items, list->items, list->count * list->item_bytes);
        free(list->items);
    }
    list->items = items;
    list->capacity = capacity;
    list->is_mapped = true;
    return 0;
}

static int move_to_file(struct ntk_long_list *list, size_t capacity)
{
    list->fd = ntk_fs_open_unnamed(list->folder, NULL);
    if (list->fd < 0) {
        return list->fd;
    }
    int ret = grow_file(list, capacity);

    if (ret < 0) {
        close(list->fd);
    }
    return ret;
}

/* capacity is larger than it is. */
static int grow(struct ntk_long_list *list, size_t capacity)
{
    if (capacity > SIZE_MAX / 2 / list->item_bytes) {
        return -ENOMEM;
    }
    if (list->is_mapped) {
        return grow_file(list, capacity);
    }
    return capacity * list->item_bytes > list->heap_bytes_max ? move_to_file(list, capacity)
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
    if (list->is_mapped) {
        (void)madvise(list->items, list->capacity * list->item_bytes, MADV_DONTNEED);
    }
}
