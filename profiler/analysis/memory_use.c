/* SPDX-License-Identifier: MIT */
/* memory_use - keeps a running sum by name of use, which is copied whenever the total reaches a new
 * peak. */
#include "profiler/analysis/memory_use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "shared/base/fs.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

#define HEAP_BYTES ((size_t)8 << 20) /* memory for points; further points are stored in a file */
/* Maximum number of uses, because all uses are copied at each peak, and a hostile file may have a
 * use per allocation. */
#define USES_MAX 256U
#define OTHER_USES "other"

struct use {
    struct ntk_memory_part part;
    uint64_t bytes; /* current bytes */
};

struct sums {
    struct ntk_memory_use result;
    struct ntk_vec uses;         /* elements are struct use */
    struct ntk_map indices;      /* maps a name to index + 1 */
    struct ntk_long_list points; /* elements are struct ntk_memory_point */
    uint64_t bytes;
    int failed;
};

static struct use *use_of(struct sums *sums, const char *name)
{
    uintptr_t index = (uintptr_t)ntk_map_get(&sums->indices, name);

    if (!index && sums->uses.count >= USES_MAX) {
        name = OTHER_USES;
        index = (uintptr_t)ntk_map_get(&sums->indices, name);
    }
    if (!index) {
        struct use use = { .part = { .name = name } };
        index = sums->uses.count + 1;
        if (ntk_vec_push(&sums->uses, &use) < 0 ||
            ntk_map_put(&sums->indices, name, (void *)index) < 0) {
            sums->failed = -ENOMEM;
            return NULL;
        }
    }
    return ntk_vec_at(&sums->uses, index - 1);
}

static void change(struct sums *sums, const struct ntk_system_span *span, bool is_free)
{
    struct use *use = use_of(sums, span->name);

    if (!use) {
        return;
    }
    if (is_free) {
        uint64_t bytes = span->bytes < use->bytes ? span->bytes : use->bytes;
        sums->result.free_count++;
        if (bytes < span->bytes) {
            sums->result.unmatched_count++;
            sums->result.unmatched_bytes =
                ntk_count_sum(sums->result.unmatched_bytes, span->bytes - bytes);
        }
        use->bytes -= bytes;
        /* The sum is smaller than the use if the use began before the trace. */
        sums->bytes -= bytes < sums->bytes ? bytes : sums->bytes;
    } else {
        sums->result.allocation_count++;
        sums->bytes = ntk_count_sum(sums->bytes, span->bytes);
        use->bytes = ntk_count_sum(use->bytes, span->bytes);
        if (use->bytes > use->part.most_bytes) {
            use->part.most_bytes = use->bytes;
        }
    }
    struct ntk_memory_point *point = ntk_long_list_add(&sums->points, &sums->failed);
    if (point) {
        *point = (struct ntk_memory_point){ span->start_ns, sums->bytes };
    }
    if (sums->bytes > sums->result.peak_bytes) {
        sums->result.peak_bytes = sums->bytes;
        sums->result.peak_ns = span->start_ns;
        ntk_vec_each(struct use, each, &sums->uses) {
            each->part.peak_bytes = each->bytes;
        }
    }
}

/* Adds the contents of accounts before the trace; parts of uses that the trace does not touch are
 * unknown. */
static void bases_add(struct sums *sums, const struct ntk_system_trace *trace)
{
    ntk_vec_each(const struct ntk_system_account, account, &trace->accounts) {
        uint64_t left = account->base_bytes;

        for (size_t u = 0; u <= account->usage_count; u++) {
            bool is_known = u < account->usage_count;
            uint64_t bytes = is_known && account->usages[u].base_bytes < left
                                 ? account->usages[u].base_bytes
                                 : left;

            if (bytes == 0) {
                continue;
            }
            struct use *use = use_of(sums, is_known ? account->usages[u].usage : "unknown");
            if (!use) {
                return;
            }
            left -= bytes;
            use->bytes = ntk_count_sum(use->bytes, bytes);
            use->part.most_bytes = use->bytes;
            sums->bytes = ntk_count_sum(sums->bytes, bytes);
        }
    }
}

/* Returns true for records in the vendor's files that are about the host, or without effect. */
static bool is_no_change(const struct ntk_system_trace *trace, const struct ntk_system_span *span)
{
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);

    return memory && (memory->is_host || ntk_system_memory_failed(memory));
}

NTK_ORDER(compare, struct ntk_memory_part, NTK_DOWN(peak_bytes) NTK_TEXT(name));

int ntk_analysis_memory_use(const struct ntk_system_trace *trace, struct ntk_memory_use *out_use)
{
    struct sums sums = { .uses = NTK_VEC_INIT(struct use),
                         .points = { .item_bytes = sizeof(struct ntk_memory_point),
                                     .heap_bytes_max = HEAP_BYTES,
                                     .folder = ntk_fs_temporary_folder() } };

    bases_add(&sums, trace);
    for (size_t i = 0; i < trace->span_count && !sums.failed; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        bool is_free = strcmp(span->type, "nrt_dma_mem_dealloc") == 0;

        if ((is_free || strcmp(span->type, "nrt_dma_mem_alloc") == 0) &&
            !is_no_change(trace, span)) {
            change(&sums, span, is_free);
        }
        ntk_system_trace_passed(trace, i);
    }
    sums.result.parts = calloc(sums.uses.count + 1, sizeof *sums.result.parts);
    sums.failed = sums.result.parts ? sums.failed : -ENOMEM;
    if (!sums.failed) {
        sums.result.end_bytes = sums.bytes;
        ntk_vec_each(const struct use, use, &sums.uses) {
            sums.result.parts[sums.result.part_count++] = use->part;
        }
        qsort(sums.result.parts, sums.result.part_count, sizeof *sums.result.parts, compare);
        sums.result.points = sums.points.items;
        sums.result.point_count = sums.points.count;
        sums.result.point_list = sums.points;
        *out_use = sums.result;
    } else {
        free(sums.result.parts);
        ntk_long_list_fini(&sums.points);
    }
    ntk_map_fini(&sums.indices);
    ntk_vec_fini(&sums.uses);
    return sums.failed;
}

void ntk_memory_use_fini(struct ntk_memory_use *use)
{
    ntk_long_list_fini(&use->point_list);
    free(use->parts);
    *use = (struct ntk_memory_use){ 0 };
}
