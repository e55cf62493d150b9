/* SPDX-License-Identifier: MIT */
/* bubbles - joins idle parts to gaps, and groups gaps by their cause. */
#include "profiler/analysis/bubbles.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/vec.h"

#define PARTS_MAX 32 /* maximum number of causes in one gap; further causes count for the last */

/* A cause in the current gap. */
struct share {
    size_t cause;
    int64_t ps;
    int64_t longest_ps; /* longest of its parts */
    bool has_root, is_root_unknown;
    struct ntk_chain_link root;
};

struct gather {
    struct ntk_bubbles_options options;
    struct ntk_bubbles *bubbles;
    struct ntk_vec causes; /* elements are struct ntk_bubble_cause */
    struct ntk_map queues; /* index of the cause + 1, by name */
    struct ntk_map others; /* index of the cause + 1, by the properties that distinguish causes */
    bool is_open;
    struct ntk_bubble gap;
    size_t share_count;
    struct share shares[PARTS_MAX];
};

/* ---- causes ---------------------------------------------------------------------------------- */

static struct ntk_bubble_cause cause_of(const struct ntk_idle_row *row)
{
    struct ntk_bubble_cause cause = { .reason = row->reason };

    if (row->reason == NTK_IDLE_DMA) {
        cause.maker = (struct ntk_chain_link){ .is_transfer = true,
                                               .queue = row->queue,
                                               .is_foreign = row->is_foreign,
                                               .is_not_captured = row->is_not_captured };
    } else if (row->reason == NTK_IDLE_ENGINE) {
        cause.maker.engine = row->source;
        cause.maker.opcode = row->has_opcode ? row->opcode : 0;
        cause.maker.is_other_core = row->is_other_core;
        cause.maker.core = row->core;
    }
    return cause;
}

static uint64_t key_of(const struct ntk_bubble_cause *cause)
{
    const struct ntk_chain_link *maker = &cause->maker;

    return UINT64_C(1) << 60 | (uint64_t)maker->core << 32 | (uint64_t)maker->is_other_core << 25 |
           (uint64_t)maker->is_foreign << 24 | (uint64_t)cause->reason << 16 |
           (uint64_t)maker->engine << 8 | maker->opcode;
}

/* Finds a cause. Queues with the same name are one cause, on any core. Returns 0 if not found. */
static uintptr_t find(const struct gather *gather, const struct ntk_bubble_cause *cause)
{
    return (uintptr_t)(cause->maker.queue ? ntk_map_get(&gather->queues, cause->maker.queue)
                                          : ntk_map_get_number(&gather->others, key_of(cause)));
}

static int remember(struct gather *gather, const struct ntk_bubble_cause *cause, uintptr_t index)
{
    return cause->maker.queue ? ntk_map_put(&gather->queues, cause->maker.queue, (void *)index)
                              : ntk_map_put_number(&gather->others, key_of(cause), (void *)index);
}

/* Returns the index of the cause; SIZE_MAX if out of memory. */
static size_t cause_index(struct gather *gather, const struct ntk_idle_row *row)
{
    struct ntk_bubble_cause cause = cause_of(row);
    uintptr_t index = find(gather, &cause);

    if (!index && gather->causes.count >= NTK_BUBBLE_CAUSES_MAX) {
        cause.maker.opcode = 0;
        cause.maker.queue = NULL;
        index = find(gather, &cause);
    }
    if (!index) {
        index = gather->causes.count + 1;
        if (ntk_vec_push(&gather->causes, &cause) < 0 || remember(gather, &cause, index) < 0) {
            return SIZE_MAX;
        }
    }
    return index - 1;
}

/* ---- the longest gaps of a cause: a heap with the shortest of them on top -------------------- */

static bool is_before(const struct ntk_bubble *a, const struct ntk_bubble *b)
{
    int64_t a_ps = a->end_ps - a->start_ps;
    int64_t b_ps = b->end_ps - b->start_ps;

    if (a_ps != b_ps) {
        return a_ps > b_ps;
    }
    if (a->start_ps != b->start_ps) {
        return a->start_ps < b->start_ps;
    }
    return a->core != b->core ? a->core < b->core : a->engine < b->engine;
}

static void sink(struct ntk_bubble *heap, size_t count, size_t at)
{
    for (;;) {
        size_t last = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            last = is_before(&heap[last], &heap[child]) ? child : last;
        }
        if (last == at) {
            return;
        }
        struct ntk_bubble moved = heap[at];
        heap[at] = heap[last];
        heap[last] = moved;
        at = last;
    }
}

static int list_gap(struct ntk_bubble_cause *cause, size_t limit, const struct ntk_bubble *gap)
{
    size_t count = cause->bubble_count;

    if (count == limit) {
        if (is_before(gap, &cause->bubbles[0])) {
            cause->bubbles[0] = *gap;
            sink(cause->bubbles, count, 0);
        }
        return 0;
    }
    if ((count & (count - 1)) == 0) {
        struct ntk_bubble *grown = realloc(cause->bubbles, (count ? 2 * count : 1) * sizeof *grown);
        if (!grown) {
            return -ENOMEM;
        }
        cause->bubbles = grown;
    }
    cause->bubbles[cause->bubble_count++] = *gap;
    for (size_t at = count; at > 0; at = (at - 1) / 2) {
        struct ntk_bubble *parent = &cause->bubbles[(at - 1) / 2];
        struct ntk_bubble moved = *parent;
        if (!is_before(parent, &cause->bubbles[at])) {
            break;
        }
        *parent = cause->bubbles[at];
        cause->bubbles[at] = moved;
    }
    return 0;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static int end_gap(struct gather *gather)
{
    const struct share *most = gather->shares;
    struct ntk_bubble *gap = &gather->gap;
    int64_t gap_ps = gap->end_ps - gap->start_ps;

    if (!gather->is_open) {
        return 0;
    }
    gather->is_open = false;
    for (size_t i = 1; i < gather->share_count; i++) {
        most = gather->shares[i].ps > most->ps ? &gather->shares[i] : most;
    }
    struct ntk_bubble_cause *cause = ntk_vec_at(&gather->causes, most->cause);
    gap->cause_ps = most->ps;
    gap->has_root = most->has_root;
    gap->is_root_unknown = most->is_root_unknown;
    gap->root = most->root;
    cause->count++;
    cause->gaps_ps += gap_ps;
    cause->cause_ps += most->ps;
    gather->bubbles->count++;
    gather->bubbles->idle_ps += gap_ps;
    return list_gap(cause, gather->options.limit, gap);
}

/* Takes the root of the cause's longest wait, if it is not the cause itself. */
static void take_root(struct share *share, const struct ntk_wait_chain *chain)
{
    const struct ntk_chain_link *root = chain ? ntk_wait_chain_root(chain) : NULL;

    share->is_root_unknown = chain && !root;
    share->has_root = chain && (chain->link_count > 1 || chain->is_unknown);
    share->root = share->has_root && root ? *root : (struct ntk_chain_link){ 0 };
}

static int add_part(const struct ntk_idle_part *part, void *ctx)
{
    struct gather *gather = ctx;
    struct ntk_bubble *gap = &gather->gap;
    int64_t part_ps = part->end_ps - part->start_ps;
    int ret = 0;

    if (gather->options.engines && !(gather->options.engines >> part->engine & 1)) {
        return 0;
    }
    if (gather->is_open &&
        (gap->core != part->core || gap->engine != part->engine || gap->end_ps != part->start_ps)) {
        ret = end_gap(gather);
    }
    size_t cause = ret == 0 ? cause_index(gather, part->cause) : 0;
    if (ret < 0 || cause == SIZE_MAX) {
        return -ENOMEM;
    }
    if (!gather->is_open) {
        gather->is_open = true;
        gather->share_count = 0;
        *gap = (struct ntk_bubble){ .core = part->core,
                                    .engine = part->engine,
                                    .start_ps = part->start_ps };
    }
    gap->end_ps = part->end_ps;
    gap->next = part->item;
    size_t i = 0;
    while (i < gather->share_count && gather->shares[i].cause != cause) {
        i++;
    }
    if (i == gather->share_count && i < PARTS_MAX) {
        gather->shares[gather->share_count++] = (struct share){ .cause = cause };
    }
    struct share *share = &gather->shares[i < PARTS_MAX ? i : PARTS_MAX - 1];
    share->ps += part_ps;
    if (part_ps > share->longest_ps) {
        share->longest_ps = part_ps;
        take_root(share, part->chain);
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int compare_gaps(const void *a, const void *b)
{
    return is_before(b, a) - is_before(a, b);
}

static int compare_causes(const void *a, const void *b)
{
    const struct ntk_bubble_cause *x = a;
    const struct ntk_bubble_cause *y = b;

    if ((x->count == 0) != (y->count == 0)) {
        return x->count == 0 ? 1 : -1;
    }
    if ((x->reason == NTK_IDLE_END) != (y->reason == NTK_IDLE_END)) {
        return x->reason == NTK_IDLE_END ? 1 : -1;
    }
    if (x->gaps_ps != y->gaps_ps) {
        return x->gaps_ps > y->gaps_ps ? -1 : 1;
    }
    return x->count ? compare_gaps(x->bubbles, y->bubbles) : 0;
}

/* Removes causes that are not the main cause of any gap. */
static void sort(struct ntk_bubbles *bubbles)
{
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        struct ntk_bubble_cause *cause = &bubbles->causes[i];
        if (cause->bubble_count) {
            qsort(cause->bubbles, cause->bubble_count, sizeof *cause->bubbles, compare_gaps);
        }
    }
    if (bubbles->cause_count) {
        qsort(bubbles->causes, bubbles->cause_count, sizeof *bubbles->causes, compare_causes);
    }
    while (bubbles->cause_count && bubbles->causes[bubbles->cause_count - 1].count == 0) {
        bubbles->cause_count--;
    }
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        for (size_t b = 0; b < bubbles->causes[i].bubble_count; b++) {
            bubbles->causes[i].bubbles[b].cause = i;
        }
    }
}

int ntk_analysis_bubbles(const struct ntk_program *program,
                         const struct ntk_dependencies *dependencies,
                         const struct ntk_bubbles_options *options, struct ntk_bubbles *out_bubbles)
{
    struct ntk_bubbles bubbles = { 0 };
    struct ntk_idle_reasons idle = { 0 };
    struct gather gather = { .options = options ? *options : (struct ntk_bubbles_options){ 0 },
                             .bubbles = &bubbles,
                             .causes = NTK_VEC_INIT(struct ntk_bubble_cause) };

    if (gather.options.limit == 0) {
        gather.options.limit = NTK_BUBBLES_LIMIT;
    }
    int ret = ntk_analysis_idle_parts(program, dependencies, add_part, &gather, &idle);
    ret = ret ? ret : end_gap(&gather);
    bubbles.total_ps = idle.total_ps;
    for (size_t i = 0; i < idle.engine_count; i++) {
        bubbles.engine_count +=
            !gather.options.engines || gather.options.engines >> idle.engines[i].engine & 1;
    }
    bubbles.cause_count = gather.causes.count;
    bubbles.causes = gather.causes.items;
    ntk_map_fini(&gather.queues);
    ntk_map_fini(&gather.others);
    ntk_idle_reasons_fini(&idle);
    if (ret < 0) {
        ntk_bubbles_fini(&bubbles);
        return ret;
    }
    sort(&bubbles);
    *out_bubbles = bubbles;
    return 0;
}

void ntk_bubbles_fini(struct ntk_bubbles *bubbles)
{
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        free(bubbles->causes[i].bubbles);
    }
    free(bubbles->causes);
    *bubbles = (struct ntk_bubbles){ 0 };
}
