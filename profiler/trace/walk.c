/* SPDX-License-Identifier: MIT */
/* walk - merges sorted lists through a heap of the next element of each. */
#include "profiler/trace/walk.h"

static bool is_before(const struct ntk_walk_next *a, const struct ntk_walk_next *b)
{
    return a->start_ps != b->start_ps ? a->start_ps < b->start_ps : a->list < b->list;
}

/* Puts an entry at the free place `at`, or below. */
static inline void sink(struct ntk_walk *walk, size_t at, struct ntk_walk_next moving)
{
    struct ntk_walk_next *heap = walk->heap;

    for (size_t child; (child = 2 * at + 1) < walk->left_count;) {
        child += child + 1 < walk->left_count && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &moving)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static int64_t start_of(const struct ntk_walk_list *list)
{
    return list->has_packets ? ((const struct ntk_trace_packet *)list->at)->start_ps
                             : ((const struct ntk_trace_instruction *)list->at)->start_ps;
}

static void add_list(struct ntk_walk *walk, const struct ntk_trace_core *core, bool has_packets)
{
    size_t count = has_packets ? core->packet_count : core->instruction_count;

    if (count == 0 || walk->list_count == NTK_WALK_LISTS_MAX) {
        return;
    }
    struct ntk_walk_list *list = &walk->lists[walk->list_count];
    *list = (struct ntk_walk_list){ .core = core, .has_packets = has_packets };
    if (has_packets) {
        list->is_mapped = core->is_mapped.packets;
        list->first = core->packets;
        list->end = core->packets + count;
    } else {
        list->is_mapped = core->is_mapped.instructions;
        list->first = core->instructions;
        list->end = core->instructions + count;
    }
    list->at = list->first;
    walk->heap[walk->list_count] = (struct ntk_walk_next){ start_of(list), walk->list_count };
    walk->list_count++;
}

static void order(struct ntk_walk *walk)
{
    walk->left_count = walk->list_count;
    for (size_t at = walk->left_count / 2; at-- > 0;) {
        sink(walk, at, walk->heap[at]);
    }
}

static void add_core(struct ntk_walk *walk, const struct ntk_trace_core *core, unsigned what)
{
    if (what & NTK_WALK_INSTRUCTIONS) {
        add_list(walk, core, false);
    }
    if (what & NTK_WALK_PACKETS) {
        add_list(walk, core, true);
    }
}

void ntk_walk_init(struct ntk_walk *walk, const struct ntk_trace *trace, unsigned what)
{
    walk->list_count = 0;
    for (size_t c = 0; c < trace->core_count; c++) {
        add_core(walk, &trace->cores[c], what);
    }
    order(walk);
}

bool ntk_walk_next(struct ntk_walk *walk, struct ntk_walk_span *out_span)
{
    if (walk->left_count == 0) {
        return false;
    }
    struct ntk_walk_next next = walk->heap[0];
    struct ntk_walk_list *list = &walk->lists[next.list];

    out_span->core = list->core;
    out_span->start_ps = next.start_ps;
    out_span->instruction = NULL;
    out_span->packet = NULL;
    if (list->has_packets) {
        const struct ntk_trace_packet *packet = list->at;
        out_span->packet = packet;
        out_span->end_ps = packet->end_ps;
        list->at = packet + 1;
    } else {
        const struct ntk_trace_instruction *instruction = list->at;
        out_span->instruction = instruction;
        out_span->end_ps = instruction->end_ps;
        list->at = instruction + 1;
    }
    if (ntk_trace_scan_step(list->is_mapped, list->first, list->at, list->end)) {
        next.start_ps = start_of(list);
    } else {
        next = walk->heap[--walk->left_count];
    }
    sink(walk, 0, next);
    return true;
}
