/* SPDX-License-Identifier: MIT */
/*
 * sorter - implements an external merge sort that costs little more than a copy if the items are in
 * order.
 *
 * When memory is full, it is sorted, and its lower half is written to the file. A later item that
 * is before a written item is late: it is written to a file of late runs. Without late runs the
 * first file is the result, else all runs are merged into another file.
 */
#include "profiler/trace/sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/trace/long_list.h"
#include "shared/base/bisect.h"
#include "shared/base/fs.h"
#include "shared/base/memory.h"

#define ITEMS_FIRST 4096
/* A longer list reserves all its space immediately, so that it is never copied again; unused space
 * takes no memory. */
#define GROWING_BYTES_MAX ((size_t)1 << 20)
/* Maximum size of a read from a run. All reads together take no more than scratch, which is not
 * needed at that time: a run has less if there are many runs. */
#define RUN_BYTES_MAX ((size_t)256 << 10)
#define RUN_ITEMS_MIN 16

struct late_run {
    uint64_t first, count;
};

struct source { /* one run while all are merged */
    int fd;
    uint64_t offset; /* offset of the unread part */
    uint64_t unread; /* number of unread items */
    size_t rank;     /* order of arrival, for equal items */
    char *buffer, *at, *end;
};

struct merger { /* heap of sources */
    const struct ntk_sorter *sorter;
    size_t source_count;
    struct source *sources;
    size_t buffer_items;
    char *buffers;
};

void ntk_sorter_init(struct ntk_sorter *sorter, size_t item_bytes, ntk_merge_sort_compare *compare,
                     size_t memory_bytes, const char *folder)
{
    size_t items_max = memory_bytes / item_bytes;

    *sorter = (struct ntk_sorter){
        .item_bytes = item_bytes,
        .compare = compare,
        .folder = folder,
        .items_max = items_max < NTK_SORTER_ITEMS_MIN ? NTK_SORTER_ITEMS_MIN : items_max,
        .fd = -1,
        .late_fd = -1,
    };
    ntk_vec_init(&sorter->late_runs, sizeof(struct late_run));
}

static void close_files(struct ntk_sorter *sorter)
{
    if (sorter->fd >= 0) {
        close(sorter->fd);
    }
    if (sorter->late_fd >= 0) {
        close(sorter->late_fd);
    }
    sorter->fd = -1;
    sorter->late_fd = -1;
}

void ntk_sorter_fini(struct ntk_sorter *sorter)
{
    close_files(sorter);
    ntk_vec_fini(&sorter->late_runs);
    free(sorter->items);
    free(sorter->scratch);
    sorter->items = NULL;
    sorter->scratch = NULL;
    sorter->count = 0;
    sorter->capacity = 0;
}

static bool fail(struct ntk_sorter *sorter, int code)
{
    if (!sorter->failed) {
        sorter->failed = code;
        ntk_long_list_err_set(&sorter->err, code, sorter->folder);
    }
    return false;
}

static bool is_before(const struct ntk_sorter *sorter, const void *a, const void *b)
{
    return ntk_merge_sort_is_before(a, b, sorter->compare);
}

static bool sort(struct ntk_sorter *sorter)
{
    if (sorter->count < 2) {
        return true;
    }
    if (!sorter->scratch) {
        sorter->scratch = malloc((sorter->capacity / 2 + 1) * sorter->item_bytes);
        if (!sorter->scratch) {
            return fail(sorter, -ENOMEM);
        }
    }
    ntk_merge_sort(sorter->items, sorter->count, sorter->item_bytes, sorter->compare,
                   sorter->scratch);
    return true;
}

static bool append(struct ntk_sorter *sorter, int *fd, uint64_t *written, const char *items,
                   size_t count)
{
    int ret;

    if (*fd < 0) {
        *fd = ntk_fs_open_unnamed(sorter->folder, NULL);
        if (*fd < 0) {
            return fail(sorter, *fd);
        }
    }
    ret = ntk_fs_pwrite(*fd, items, count * sorter->item_bytes, *written * sorter->item_bytes);
    if (ret < 0) {
        return fail(sorter, ret);
    }
    *written += count;
    return true;
}

/* Returns the number of sorted items in memory that are before the last written item. */
static size_t count_late(const struct ntk_sorter *sorter)
{
    size_t low = 0;

    NTK_BISECT(low, sorter->written ? sorter->count : 0, i,
               is_before(sorter, sorter->items + i * sorter->item_bytes, sorter->last));
    return low;
}

/* Sorts memory, writes late items, and all other items except `keep` of them. */
static bool flush(struct ntk_sorter *sorter, size_t keep)
{
    if (!sort(sorter)) {
        return false;
    }
    size_t late = count_late(sorter);
    if (late) {
        struct late_run run = { sorter->late_written, late };
        if (!append(sorter, &sorter->late_fd, &sorter->late_written, sorter->items, late)) {
            return false;
        }
        if (ntk_vec_push(&sorter->late_runs, &run) < 0) {
            return fail(sorter, -ENOMEM);
        }
    }
    size_t rest = sorter->count - late;
    size_t ready = rest > keep ? rest - keep : 0;
    if (ready) {
        const char *first = sorter->items + late * sorter->item_bytes;
        if (!append(sorter, &sorter->fd, &sorter->written, first, ready)) {
            return false;
        }
        memcpy(sorter->last, first + (ready - 1) * sorter->item_bytes, sorter->item_bytes);
    }
    sorter->count = rest - ready;
    memmove(sorter->items, sorter->items + (late + ready) * sorter->item_bytes,
            sorter->count * sorter->item_bytes);
    return true;
}

bool ntk_sorter_make_room(struct ntk_sorter *sorter)
{
    if (sorter->failed) {
        return false;
    }
    if (sorter->capacity == sorter->items_max) {
        return flush(sorter, sorter->items_max / 2);
    }
    size_t capacity = sorter->capacity ? 2 * sorter->capacity : ITEMS_FIRST;
    bool is_long = capacity * sorter->item_bytes > GROWING_BYTES_MAX;
    capacity = capacity < sorter->items_max && !is_long ? capacity : sorter->items_max;
    char *items = realloc(sorter->items, capacity * sorter->item_bytes);
    if (!items) {
        return fail(sorter, -ENOMEM);
    }
    ntk_memory_is_large(items, capacity * sorter->item_bytes);
    sorter->items = items;
    sorter->capacity = capacity;
    return true;
}

/* ---- late runs ---- */

static bool source_fill(struct merger *m, struct source *source)
{
    size_t item_bytes = m->sorter->item_bytes;
    size_t count = source->unread < m->buffer_items ? (size_t)source->unread : m->buffer_items;

    source->at = source->buffer;
    source->end = source->buffer + count * item_bytes;
    source->unread -= count;
    int ret = ntk_fs_pread(source->fd, source->buffer, count * item_bytes, source->offset);
    source->offset += count * item_bytes;
    return ret == 0;
}

static bool source_is_before(const struct merger *m, const struct source *a, const struct source *b)
{
    if (is_before(m->sorter, a->at, b->at)) {
        return true;
    }
    return !is_before(m->sorter, b->at, a->at) && a->rank < b->rank;
}

static void sink(struct merger *m, size_t at)
{
    struct source moving = m->sources[at];

    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= m->source_count) {
            break;
        }
        if (child + 1 < m->source_count &&
            source_is_before(m, &m->sources[child + 1], &m->sources[child])) {
            child++;
        }
        if (!source_is_before(m, &m->sources[child], &moving)) {
            break;
        }
        m->sources[at] = m->sources[child];
        at = child;
    }
    m->sources[at] = moving;
}

static bool merger_init(struct merger *m, const struct ntk_sorter *sorter)
{
    const struct late_run *runs = sorter->late_runs.items;
    size_t item_bytes = sorter->item_bytes;
    size_t count = sorter->late_runs.count + 1;
    size_t run_bytes = sorter->items_max / 2 * item_bytes / count;

    run_bytes = run_bytes < RUN_BYTES_MAX ? run_bytes : RUN_BYTES_MAX;
    *m = (struct merger){ .sorter = sorter, .source_count = count };
    m->buffer_items =
        run_bytes / item_bytes > RUN_ITEMS_MIN ? run_bytes / item_bytes : RUN_ITEMS_MIN;
    m->sources = calloc(count, sizeof *m->sources);
    m->buffers = malloc(count * m->buffer_items * item_bytes);
    if (!m->sources || !m->buffers) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        m->sources[i] = (struct source){ .fd = sorter->fd, .unread = sorter->written, .rank = i };
        if (i > 0) {
            m->sources[i].fd = sorter->late_fd;
            m->sources[i].offset = runs[i - 1].first * item_bytes;
            m->sources[i].unread = runs[i - 1].count;
        }
        m->sources[i].buffer = m->buffers + i * m->buffer_items * item_bytes;
    }
    return true;
}

/* Merges all runs; the memory of the sorter holds items ready to be written. */
static int merge_all(struct ntk_sorter *sorter, struct merger *m, int fd)
{
    size_t item_bytes = sorter->item_bytes;
    uint64_t written = 0;
    int ret = 0;

    for (size_t i = 0; i < m->source_count; i++) {
        if (!source_fill(m, &m->sources[i])) {
            return -EIO;
        }
    }
    for (size_t at = m->source_count / 2; at-- > 0;) {
        sink(m, at);
    }
    sorter->count = 0;
    while (m->source_count && ret == 0) {
        struct source *source = &m->sources[0];
        memcpy(sorter->items + sorter->count++ * item_bytes, source->at, item_bytes);
        source->at += item_bytes;
        if (source->at == source->end) {
            if (source->unread == 0) {
                *source = m->sources[--m->source_count];
            } else if (!source_fill(m, source)) {
                return -EIO;
            }
        }
        sink(m, 0);
        if (sorter->count == sorter->capacity || m->source_count == 0) {
            ret =
                ntk_fs_pwrite(fd, sorter->items, sorter->count * item_bytes, written * item_bytes);
            written += sorter->count;
            sorter->count = 0;
        }
    }
    return ret;
}

static bool merge_runs(struct ntk_sorter *sorter)
{
    struct merger m;
    int fd = ntk_fs_open_unnamed(sorter->folder, NULL);
    int ret = fd < 0 ? fd : 0;

    if (ret == 0) {
        free(sorter->scratch);
        sorter->scratch = NULL;
        ret = merger_init(&m, sorter) ? merge_all(sorter, &m, fd) : -ENOMEM;
        free(m.sources);
        free(m.buffers);
    }
    close_files(sorter);
    sorter->fd = fd;
    sorter->written += sorter->late_written;
    return ret < 0 ? fail(sorter, ret) : true;
}

static bool take_file(struct ntk_sorter *sorter, struct ntk_sorted *sorted)
{
    if (!flush(sorter, 0)) {
        return false;
    }
    if (sorter->late_runs.count && !merge_runs(sorter)) {
        return false;
    }
    size_t bytes_count = (size_t)sorter->written * sorter->item_bytes;
    int failed = 0;
    void *mapped = ntk_long_file_map(&sorter->fd, sorter->folder, 0, bytes_count, &failed);
    if (!mapped) {
        return fail(sorter, failed);
    }
    *sorted = (struct ntk_sorted){ mapped, (size_t)sorter->written, true };
    return true;
}

static bool take_memory(struct ntk_sorter *sorter, struct ntk_sorted *sorted)
{
    if (!sort(sorter)) {
        return false;
    }
    if (sorter->count) {
        sorted->items = realloc(sorter->items, sorter->count * sorter->item_bytes);
        if (!sorted->items) {
            sorted->items = sorter->items; /* longer than needed */
        }
        sorted->count = sorter->count;
        sorter->items = NULL;
    }
    return true;
}

int ntk_sorter_finish(struct ntk_sorter *sorter, size_t heap_bytes, struct ntk_sorted *out_sorted,
                      struct ntk_err *err)
{
    struct ntk_sorted sorted = { 0 };
    bool is_long = sorter->fd >= 0 || sorter->count * sorter->item_bytes > heap_bytes;
    bool is_good =
        !sorter->failed && (is_long ? take_file(sorter, &sorted) : take_memory(sorter, &sorted));
    int ret = sorter->failed;

    if (is_good) {
        *out_sorted = sorted;
    } else if (err) {
        *err = sorter->err;
    }
    ntk_sorter_fini(sorter);
    return ret;
}

void ntk_sorted_fini(struct ntk_sorted *sorted, size_t item_bytes)
{
    ntk_long_items_free(sorted->items, sorted->count * item_bytes, sorted->is_mapped);
    *sorted = (struct ntk_sorted){ 0 };
}
