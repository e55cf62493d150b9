/* SPDX-License-Identifier: MIT */
/* load_split - allocations and copies by core and start, and unions of those inside of each
 * load. */
#include "profiler/analysis/load_split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/vec.h"

/* Looked at for all loads together: a hostile file nests them. */
#define WORKS_TRIED_MAX ((uint64_t)1 << 27)

struct work {
    uint64_t start_ns, end_ns, bytes;
    uint32_t nc;
    bool is_copy;
};

struct cover { /* union of what comes by start */
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

static int compare_works(const void *a, const void *b)
{
    const struct work *x = a;
    const struct work *y = b;

    if (x->nc != y->nc) {
        return x->nc < y->nc ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static size_t first_from(const struct ntk_vec *works, uint32_t nc, uint64_t start_ns)
{
    struct work key = { .start_ns = start_ns, .nc = nc };
    size_t low = 0;
    size_t high = works->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_works(ntk_vec_at(works, middle), &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void load_fill(struct ntk_split_load *load, const struct ntk_vec *works, uint64_t *tried)
{
    uint64_t end_ns = load->start_ns + load->duration_ns;
    struct cover allocs = { 0 };
    struct cover copies = { 0 };
    struct cover both = { 0 };

    for (size_t i = first_from(works, load->nc, load->start_ns);
         i < works->count && *tried < WORKS_TRIED_MAX; i++, (*tried)++) {
        const struct work *work = ntk_vec_at(works, i);

        if (work->nc != load->nc || work->start_ns > end_ns) {
            break;
        }
        if (work->end_ns > end_ns) {
            continue;
        }
        cover_add(&both, work->start_ns, work->end_ns);
        if (work->is_copy) {
            load->copy_count++;
            load->copy_bytes += work->bytes;
            cover_add(&copies, work->start_ns, work->end_ns);
        } else {
            load->alloc_count++;
            load->alloc_bytes += work->bytes;
            cover_add(&allocs, work->start_ns, work->end_ns);
        }
    }
    load->alloc_ns = allocs.sum_ns;
    load->copy_ns = copies.sum_ns;
    load->rest_ns = load->duration_ns - both.sum_ns;
}

struct pass {
    struct cover loads, device;
    uint64_t first_ns, last_ns, first_run_ns;
    struct ntk_vec works, items;
};

static int span_take(struct pass *pass, const struct ntk_system_trace *trace,
                     const struct ntk_system_span *span)
{
    const struct ntk_system_memory *memory = ntk_system_span_memory(trace, span);
    bool is_copy = strcmp(span->type, "dmem_buf_copyin") == 0;
    bool is_alloc = strcmp(span->type, "nrt_dma_mem_alloc") == 0;

    pass->first_ns = pass->first_ns ? pass->first_ns : span->start_ns;
    if (!span->is_partial) {
        pass->last_ns = span->end_ns > pass->last_ns ? span->end_ns : pass->last_ns;
    }
    if (strcmp(span->type, "nrt_load") == 0 && !span->is_instant) {
        struct ntk_split_load load = { .model_id = span->model_id,
                                       .model = span->model_id ? span->name : "",
                                       .start_ns = span->start_ns,
                                       .duration_ns = span->end_ns - span->start_ns,
                                       .nc = span->nc,
                                       .is_partial = span->is_partial };

        cover_add(&pass->loads, span->start_ns, span->end_ns);
        return ntk_vec_push(&pass->items, &load);
    }
    if (strcmp(span->type, "nc_exec_running") == 0 && !span->is_partial) {
        pass->first_run_ns = pass->first_run_ns ? pass->first_run_ns : span->start_ns;
        cover_add(&pass->device, span->start_ns, span->end_ns);
    }
    if ((is_copy || is_alloc) && !span->is_partial &&
        !(memory && ntk_system_memory_failed(memory))) {
        struct work work = { span->start_ns, span->end_ns, span->bytes, span->nc, is_copy };

        return ntk_vec_push(&pass->works, &work);
    }
    return 0;
}

int ntk_analysis_load_split(const struct ntk_system_trace *trace, struct ntk_load_split *out_split)
{
    struct pass pass = { .works = NTK_VEC_INIT(struct work),
                         .items = NTK_VEC_INIT(struct ntk_split_load) };
    uint64_t tried = 0;
    int ret = 0;

    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        ret = span_take(&pass, trace, &trace->spans[i]);
        ntk_system_trace_passed(trace, i);
    }
    ntk_vec_sort(&pass.works, compare_works);
    ntk_vec_each(struct ntk_split_load, load, &pass.items) {
        load_fill(load, &pass.works, &tried);
    }
    ntk_vec_fini(&pass.works);
    if (ret < 0) {
        ntk_vec_fini(&pass.items);
        return ret;
    }
    /* Of a part the begin is that of its window. */
    bool has_begin = trace->info && trace->begin_ns && trace->begin_ns == trace->info->begin_ns &&
                     pass.first_ns >= trace->begin_ns;
    *out_split = (struct ntk_load_split){
        .count = pass.items.count,
        .items = pass.items.items,
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
    free(split->items);
    *split = (struct ntk_load_split){ 0 };
}
