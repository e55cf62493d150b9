/* SPDX-License-Identifier: MIT */
/* load_split - sorts allocations and copies by core and start, and computes their unions within
 * each load. */
#include "profiler/analysis/load_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "profiler/trace/sorter.h"
#include "shared/base/bisect.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

/* Maximum number of checks for all loads, because a hostile file may nest them. */
#define WORKS_TRIED_MAX ((uint64_t)1 << 27)

#define HEAP_BYTES ((size_t)4 << 20) /* memory per list; longer lists are stored in a file */

#define PASS_LOADS 64U

struct work { /* item of the sorter */
    int64_t nc;
    uint64_t start_ns, span, is_copy;
};

struct cover { /* union of spans in order of start */
    uint64_t until_ns, sum_ns;
};

static void cover_add(struct cover *cover, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t from_ns = start_ns > cover->until_ns ? start_ns : cover->until_ns;

    if (end_ns > from_ns) {
        cover->sum_ns += end_ns - from_ns;
        cover->until_ns = end_ns;
    }
}

NTK_ORDER(compare_works, struct work, NTK_UP(start_ns));

static size_t first_from(const struct ntk_sorted *works, uint32_t nc, uint64_t start_ns)
{
    const struct work *all = works->items;
    size_t low = 0;

    NTK_BISECT(low, works->count, i,
               all[i].nc < nc || (all[i].nc == nc && all[i].start_ns < start_ns));
    return low;
}

static void load_fill(struct ntk_split_load *load, const struct ntk_system_trace *trace,
                      const struct ntk_sorted *works, uint64_t *tried)
{
    const struct work *all = works->items;
    uint64_t end_ns = load->start_ns + load->duration_ns;
    struct cover allocs = { 0 };
    struct cover copies = { 0 };
    struct cover both = { 0 };

    for (size_t i = first_from(works, load->nc, load->start_ns);
         i < works->count && *tried < WORKS_TRIED_MAX; i++, (*tried)++) {
        const struct ntk_system_span *span = &trace->spans[all[i].span];

        if (all[i].nc != load->nc || all[i].start_ns > end_ns) {
            break;
        }
        if (span->end_ns > end_ns) {
            continue;
        }
        cover_add(&both, span->start_ns, span->end_ns);
        if (all[i].is_copy) {
            load->copy_count++;
            load->copy_bytes = ntk_count_sum(load->copy_bytes, span->bytes);
            cover_add(&copies, span->start_ns, span->end_ns);
        } else {
            load->alloc_count++;
            load->alloc_bytes = ntk_count_sum(load->alloc_bytes, span->bytes);
            cover_add(&allocs, span->start_ns, span->end_ns);
        }
    }
    load->alloc_ns = allocs.sum_ns;
    load->copy_ns = copies.sum_ns;
    load->rest_ns = load->duration_ns - both.sum_ns;
}

struct pass {
    struct cover loads, device;
    bool has_allocs, has_alloc_times, has_copies;
    uint64_t first_ns, last_ns, first_run_ns;
    struct ntk_sorter works;
    struct ntk_long_list items;
};

static int span_take(struct pass *pass, const struct ntk_system_trace *trace, size_t index)
{
    const struct ntk_system_span *span = &trace->spans[index];
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);
    bool is_copy = strcmp(span->type, "dmem_buf_copyin") == 0;
    bool is_alloc = strcmp(span->type, "nrt_dma_mem_alloc") == 0;

    pass->has_allocs = pass->has_allocs || is_alloc;
    pass->has_alloc_times = pass->has_alloc_times || (is_alloc && span->end_ns > span->start_ns);
    pass->has_copies = pass->has_copies || is_copy;
    pass->first_ns = pass->first_ns ? pass->first_ns : span->start_ns;
    if (!span->is_partial) {
        pass->last_ns = span->end_ns > pass->last_ns ? span->end_ns : pass->last_ns;
    }
    if (strcmp(span->type, "nrt_load") == 0 && !span->is_instant) {
        int failed = 0;
        struct ntk_split_load *load = ntk_long_list_add(&pass->items, &failed);

        if (!load) {
            return failed;
        }
        *load = (struct ntk_split_load){ .model_id = span->model_id,
                                         .model = span->model_id ? span->name : "",
                                         .start_ns = span->start_ns,
                                         .duration_ns = span->end_ns - span->start_ns,
                                         .nc = span->nc,
                                         .is_partial = span->is_partial };

        cover_add(&pass->loads, span->start_ns, span->end_ns);
        return 0;
    }
    if (strcmp(span->type, "nc_exec_running") == 0 && !span->is_partial) {
        pass->first_run_ns = pass->first_run_ns ? pass->first_run_ns : span->start_ns;
        cover_add(&pass->device, span->start_ns, span->end_ns);
    }
    if ((is_copy || is_alloc) && !span->is_partial &&
        !(memory && ntk_system_memory_failed(memory))) {
        struct work *work = ntk_sorter_add(&pass->works);

        if (!work) {
            return pass->works.failed;
        }
        *work = (struct work){ span->nc, span->start_ns, index, is_copy };
    }
    return 0;
}

int ntk_analysis_load_split(const struct ntk_system_trace *trace, struct ntk_load_split *out_split)
{
    const char *folder = ntk_fs_temporary_folder();
    struct pass pass = { .items = { .item_bytes = sizeof(struct ntk_split_load),
                                    .heap_bytes_max = HEAP_BYTES,
                                    .folder = folder } };
    struct ntk_sorted works = { 0 };
    uint64_t tried = 0;
    int ret = 0;

    ntk_sorter_init(&pass.works, sizeof(struct work), compare_works, HEAP_BYTES, folder);
    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        ret = span_take(&pass, trace, i);
        ntk_system_trace_passed(trace, i);
    }
    ret = ret < 0 ? ret : ntk_sorter_finish(&pass.works, HEAP_BYTES, &works, NULL);
    struct ntk_split_load *loads = pass.items.items;
    for (size_t i = 0; i < pass.items.count && ret == 0; i++) {
        load_fill(&loads[i], trace, &works, &tried);
        if (i % PASS_LOADS == PASS_LOADS - 1) {
            ntk_system_trace_give_back(trace);
        }
    }
    ntk_sorted_fini(&works, sizeof(struct work));
    ntk_sorter_fini(&pass.works);
    if (ret < 0) {
        ntk_long_list_fini(&pass.items);
        return ret;
    }
    /* For a part, the start is the start of its window. */
    bool has_begin = trace->info && trace->begin_ns && trace->begin_ns == trace->info->begin_ns &&
                     pass.first_ns > trace->begin_ns;
    *out_split = (struct ntk_load_split){
        .count = pass.items.count,
        .items = pass.items.items,
        .list = pass.items,
        .has_allocs = pass.has_allocs,
        .has_copies = pass.has_copies,
        .has_alloc_times = pass.has_alloc_times,
        .has_begin = has_begin,
        .has_run = pass.first_run_ns > 0,
        .first_event_ns = has_begin ? pass.first_ns - trace->begin_ns : 0,
        .first_device_ns = pass.first_run_ns ? pass.first_run_ns - pass.first_ns : 0,
        .loads_ns = pass.loads.sum_ns,
        .device_ns = pass.device.sum_ns,
        .events_ns = pass.last_ns > pass.first_ns ? pass.last_ns - pass.first_ns : 0,
    };
    return 0;
}

void ntk_load_split_fini(struct ntk_load_split *split)
{
    ntk_long_list_fini(&split->list);
    *split = (struct ntk_load_split){ 0 };
}
