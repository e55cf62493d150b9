/* SPDX-License-Identifier: MIT */
/* pending - merges starts in order with ends from a heap. */
#include "profiler/analysis/pending.h"

/* Pushes an end to a binary heap with the smallest at [0]. */
static int push(struct ntk_long_list *heap, int64_t end_ps)
{
    int ret = 0;

    if (!ntk_long_list_add(heap, &ret)) {
        return ret;
    }
    int64_t *ends = heap->items;
    size_t at = heap->count - 1;
    while (at > 0 && ends[(at - 1) / 2] > end_ps) {
        ends[at] = ends[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    ends[at] = end_ps;
    return 0;
}

static void pop(struct ntk_long_list *heap)
{
    int64_t *ends = heap->items;
    size_t count = --heap->count;
    int64_t moved = ends[count];
    size_t at = 0;

    for (size_t below = 1; below < count; below = 2 * at + 1) {
        below += below + 1 < count && ends[below + 1] < ends[below];
        if (ends[below] >= moved) {
            break;
        }
        ends[at] = ends[below];
        at = below;
    }
    ends[at] = moved;
}

static int put_ends(struct ntk_long_list *heap, int64_t until_ps, ntk_pending_put *put, void *ctx)
{
    int ret = 0;

    while (ret == 0 && heap->count && *(int64_t *)heap->items <= until_ps) {
        int64_t end_ps = *(int64_t *)heap->items;
        pop(heap);
        ret = put(ctx, end_ps, (int64_t)heap->count);
    }
    return ret;
}

int ntk_analysis_pending(const struct ntk_transfers *transfers, size_t core, ntk_pending_put *put,
                         void *ctx)
{
    const struct ntk_trace *trace = transfers->program->trace;
    const struct ntk_transfers_core *of = &transfers->cores[core];
    struct ntk_long_list heap;
    int ret = 0;

    ntk_long_list_init(&heap, trace, sizeof(int64_t), 1);
    for (size_t t = 0; t < of->count && ret == 0; t++) {
        const struct ntk_transfer *transfer = &of->items[t];
        int64_t start_ps = trace->cores[core].instructions[transfer->instruction].start_ps;
        if (transfer->packet_count) {
            ret = put_ends(&heap, start_ps, put, ctx);
            ret = ret ? ret : push(&heap, transfer->end_ps);
            ret = ret ? ret : put(ctx, start_ps, (int64_t)heap.count);
        }
        if (t % NTK_TRACE_LOOKS == 0) {
            ntk_transfers_give_back(transfers, core);
        }
    }
    ret = ret ? ret : put_ends(&heap, INT64_MAX, put, ctx);
    ntk_long_list_fini(&heap);
    return ret;
}
