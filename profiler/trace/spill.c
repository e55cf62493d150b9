/* SPDX-License-Identifier: MIT */
/* spill - grows the file by extents that are mapped in place; arrays are allocated from the newest
 * extent. */
#include "profiler/trace/spill.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/trace/long_list.h"
#include "profiler/trace/trace.h"
#include "shared/base/fs.h"

#define EXTENT_BYTES ((size_t)16 << 20)
#define ALIGN_BYTES 64

struct piece {
    char *first;
    size_t bytes_count;
    bool is_mapped;
};

void ntk_spill_init(struct ntk_spill *spill, size_t heap_bytes, const char *folder)
{
    *spill = (struct ntk_spill){
        .folder = folder ? folder : ntk_fs_temporary_folder(),
        .heap_left_bytes = heap_bytes ? heap_bytes : NTK_SPILL_HEAP_BYTES,
        .fd = -1,
    };
    ntk_vec_init(&spill->pieces, sizeof(struct piece));
}

void ntk_spill_fini(struct ntk_spill *spill)
{
    ntk_vec_each(struct piece, piece, &spill->pieces) {
        ntk_long_items_free(piece->first, piece->bytes_count, piece->is_mapped);
    }
    ntk_vec_fini(&spill->pieces);
    if (spill->fd >= 0) {
        close(spill->fd);
    }
    spill->fd = -1;
}

static void *fail(struct ntk_spill *spill, int code)
{
    if (!spill->failed) {
        spill->failed = code;
        ntk_long_list_err_set(&spill->err, code, spill->folder);
    }
    return NULL;
}

static void *keep(struct ntk_spill *spill, void *first, size_t bytes_count, bool is_mapped)
{
    struct piece piece = { first, bytes_count, is_mapped };

    if (ntk_vec_push(&spill->pieces, &piece) < 0) {
        ntk_long_items_free(first, bytes_count, is_mapped);
        return fail(spill, -ENOMEM);
    }
    return first;
}

static bool add_extent(struct ntk_spill *spill, size_t bytes_count)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t extent_bytes = bytes_count > EXTENT_BYTES ? bytes_count : EXTENT_BYTES;
    int failed = 0;

    extent_bytes = (extent_bytes + page_bytes - 1) / page_bytes * page_bytes;
    void *mapped =
        ntk_long_file_map(&spill->fd, spill->folder, spill->file_bytes, extent_bytes, &failed);
    if (!mapped) {
        return fail(spill, failed);
    }
    if (!keep(spill, mapped, extent_bytes, true)) {
        return false;
    }
    spill->file_bytes += extent_bytes;
    spill->free_first = mapped;
    spill->free_end = spill->free_first + extent_bytes;
    return true;
}

void *ntk_spill_take(struct ntk_spill *spill, size_t count, size_t item_bytes)
{
    size_t bytes_count = (count ? count : 1) * item_bytes;

    if (spill->failed) {
        return NULL;
    }
    if (count > SIZE_MAX / 2 / item_bytes) {
        return fail(spill, -ENOMEM);
    }
    if (bytes_count <= spill->heap_left_bytes) {
        void *first = calloc(1, bytes_count);
        spill->heap_left_bytes -= bytes_count;
        return first ? keep(spill, first, bytes_count, false) : fail(spill, -ENOMEM);
    }
    bytes_count = (bytes_count + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    if (bytes_count > (size_t)(spill->free_end - spill->free_first) &&
        !add_extent(spill, bytes_count)) {
        return NULL;
    }
    void *first = spill->free_first;
    spill->free_first += bytes_count;
    return first;
}

void ntk_spill_give_back(const struct ntk_spill *spill, const void *first, size_t bytes_count)
{
    ntk_vec_each(const struct piece, piece, &spill->pieces) {
        uintptr_t at = (uintptr_t)first - (uintptr_t)piece->first;
        if (piece->is_mapped && (uintptr_t)first >= (uintptr_t)piece->first &&
            at < piece->bytes_count) {
            ntk_trace_pages_give_back(first, (const char *)first + bytes_count);
            return;
        }
    }
}

void ntk_spill_give_back_all(const struct ntk_spill *spill)
{
    ntk_vec_each(const struct piece, piece, &spill->pieces) {
        ntk_long_items_give_back(piece->first, piece->bytes_count, piece->is_mapped);
    }
}
