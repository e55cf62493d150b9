/* SPDX-License-Identifier: MIT */
/* what_if_path - finds the composition of the recomputed time, through all cores of a group. */
#include "profiler/analysis/what_if_private.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

/* Number of remembered items, because programs repeat: most items were on the path shortly
 * before. */
#define RECENT_BITS 8
#define RECENT (1U << RECENT_BITS)
struct known {
    uint64_t key;
    uint32_t number;
};

struct path {
    const struct ntk_retimed *of;
    size_t lane;
    int64_t path_ps[NTK_WHAT_IF_ON_COUNT];
    /* Current execution: it starts at from_ps, and all its time after at_ps is in path_ps. */
    int64_t from_ps, at_ps;
    uint32_t item; /* current item of the walk */
    size_t steps_left;
    struct known recent[RECENT];
    struct ntk_map numbers;
    struct ntk_vec items; /* elements are struct ntk_what_if_item, by number - 1 */
    bool has_no_memory;
};

struct ntk_retime_paths {
    struct path rows[NTK_RETIME_ROWS];
};

/* Adds the time from from_ps; returns the amount. */
static int64_t take(struct path *path, unsigned on, int64_t from_ps)
{
    int64_t ps = 0;

    if (from_ps < path->at_ps) {
        from_ps = ntk_retime_larger(from_ps, path->from_ps);
        ps = path->at_ps - from_ps;
        path->path_ps[on] += ps;
        path->at_ps = from_ps;
    }
    return ps;
}

/* Adds the time to one instruction, or to the queue of the transfer that it started. */
static void take_of(struct path *path, unsigned on, int64_t from_ps, uint32_t item)
{
    const struct ntk_trace_instruction *one =
        &path->of->program->trace->cores[path->of->core].instructions[item];
    const struct ntk_slot_fact *fact = ntk_program_fact(path->of->program, path->of->core, one);
    const char *queue = on == NTK_WHAT_IF_ON_DMA ? fact->code->queue : NULL;
    uint64_t key = queue ? (uintptr_t)queue : (uintptr_t)fact;
    int64_t ps = take(path, on, from_ps);

    if (ps == 0 || path->has_no_memory) {
        return;
    }
    /* An instruction that starts transfers without a known queue has one key for the transfers, and
     * one for itself. */
    key = key << 1 | (on == NTK_WHAT_IF_ON_DMA);
    struct known *recent = &path->recent[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS)];
    uintptr_t number =
        recent->key == key ? recent->number : (uintptr_t)ntk_map_get_number(&path->numbers, key);
    if (number) {
        *recent = (struct known){ key, (uint32_t)number };
        struct ntk_what_if_item *known = ntk_vec_at(&path->items, number - 1);
        known->path_ps += ps;
        return;
    }
    const struct ntk_what_if_item new = {
        .on = on, .core = path->of->core, .example = item, .queue = queue, .path_ps = ps
    };
    number = path->items.count + 1;
    path->has_no_memory = ntk_vec_push(&path->items, &new) < 0 ||
                          ntk_map_put_number(&path->numbers, key, (void *)number) < 0;
}

/* Returns the deciding cause; NTK_NO_INDEX if none. */
static uint32_t step(struct path *path, uint32_t item)
{
    const struct ntk_retimed *of = path->of;
    const struct ntk_retimed_item *kept = ntk_retimed_item_at(of, item);
    const struct ntk_trace_instruction *one =
        &of->program->trace->cores[of->core].instructions[item];
    const struct ntk_slot_fact *fact = ntk_program_fact(of->program, of->core, one);
    const struct ntk_release *release = &of->dependencies->releases[item];
    int64_t own = ntk_retimed_own(of, item, path->lane);
    int64_t own_ps = own >> NTK_MOMENT_CAUSE_BITS;
    unsigned cause = (unsigned)own & ((1U << NTK_MOMENT_CAUSE_BITS) - 1);
    uint32_t from = NTK_NO_INDEX;
    unsigned on = one->engine;

    if (kept->is_unknown && fact->code->waits_inside) {
        take(path, NTK_WHAT_IF_ON_WAIT, own_ps);
    } else {
        take_of(path, one->engine, own_ps, item);
    }
    /* Its wait while executing ended later than the condition for its start. */
    if (kept->kept_ps > 0 && cause < NTK_MOMENT_DRAINED) {
        bool may_wait = kept->is_unknown && !fact->code->waits_inside;
        take(path, may_wait ? NTK_WHAT_IF_ON_WAIT : NTK_WHAT_IF_ON_KEPT, own_ps - kept->kept_ps);
    }
    switch (cause) {
    case NTK_MOMENT_FIRST:
        take(path, NTK_WHAT_IF_ON_START, path->from_ps);
        return NTK_NO_INDEX;
    case NTK_MOMENT_PREVIOUS:
        from = release->previous;
        break;
    case NTK_MOMENT_HOLDER:
    case NTK_MOMENT_DRAINED:
        from = ntk_holder_of(of->dependencies, item);
        break;
    default:
        from = release->by;
        on = release->by_transfer ? NTK_WHAT_IF_ON_DMA : NTK_WHAT_IF_ON_LATENCY;
        break;
    }
    if (cause == NTK_MOMENT_CHANGE || cause == NTK_MOMENT_INSIDE) {
        path->of = ntk_retimed_of_core(of, ntk_release_core(of->core, release));
    }
    int64_t end_ps = ntk_retimed_end_ps(path->of, from, path->lane);
    if (on == NTK_WHAT_IF_ON_LATENCY) {
        take(path, on, end_ps);
    } else {
        take_of(path, on, end_ps, on == NTK_WHAT_IF_ON_DMA ? from : item);
    }
    return from;
}

NTK_ORDER(compare_items, struct ntk_what_if_item, NTK_DOWN(path_ps) NTK_UP(example));

static void path_begin(struct path *path, const struct ntk_retimed *retimed, size_t execution)
{
    const struct ntk_retimed_end *end = ntk_retimed_end_get(retimed, execution, path->lane);

    path->of = retimed;
    path->from_ps = ntk_execution_start_ps(&retimed->program->borders, execution);
    path->at_ps = end->end_ps;
    path->item = end->last;
    /* This limit ends the walk even if files contradict themselves. */
    path->steps_left = 0;
    for (size_t i = 0; i < retimed->group_count; i++) {
        path->steps_left +=
            retimed->program->trace->cores[retimed->group[i].core].instruction_count;
    }
    if (path->item != NTK_NO_INDEX && end->ends_in_moved) {
        take_of(path, NTK_WHAT_IF_ON_DMA, ntk_retimed_end_ps(retimed, path->item, path->lane),
                path->item);
    }
}

static bool continues(const struct path *path)
{
    return path->item != NTK_NO_INDEX && path->at_ps > path->from_ps && path->steps_left > 0;
}

struct ntk_retime_paths *ntk_retime_paths_create(void)
{
    struct ntk_retime_paths *paths = calloc(1, sizeof *paths);

    for (size_t k = 0; paths && k < NTK_RETIME_ROWS; k++) {
        ntk_retime_paths_clear(paths, k);
    }
    return paths;
}

void ntk_retime_paths_clear(struct ntk_retime_paths *paths, size_t lane)
{
    struct path *path = &paths->rows[lane];

    ntk_vec_fini(&path->items);
    ntk_map_fini(&path->numbers);
    *path = (struct path){ .lane = lane, .items = NTK_VEC_INIT(struct ntk_what_if_item) };
}

void ntk_retime_paths_destroy(struct ntk_retime_paths *paths)
{
    for (size_t k = 0; paths && k < NTK_RETIME_ROWS; k++) {
        ntk_retime_paths_clear(paths, k);
    }
    free(paths);
}

int ntk_retime_paths_put(struct ntk_retime_paths *paths, size_t lane, struct ntk_what_if_row *row)
{
    struct path *path = &paths->rows[lane];

    memcpy(row->path_ps, path->path_ps, sizeof row->path_ps);
    ntk_vec_sort(&path->items, compare_items);
    row->item_count = 0;
    ntk_vec_each(struct ntk_what_if_item, one, &path->items) {
        if (row->item_count < NTK_WHAT_IF_ITEMS_MAX) {
            row->items[row->item_count++] = *one;
        }
    }
    return path->has_no_memory ? -ENOMEM : 0;
}

static bool is_further(const struct path *path, const struct path *other)
{
    const struct ntk_trace_core *cores = path->of->program->trace->cores;

    return path->of == other->of ? path->item > other->item
                                 : cores[path->of->core].instructions[path->item].start_ps >
                                       cores[other->of->core].instructions[other->item].start_ps;
}

static void give_back(const struct ntk_retimed *retimed)
{
    for (size_t i = 0; i < retimed->group_count; i++) {
        const struct ntk_retimed *of = &retimed->group[i];

        ntk_dependencies_give_back(&of->program->trace->cores[of->core], of->dependencies);
        ntk_long_list_give_back(&of->items);
        ntk_long_list_give_back(&of->bases);
        ntk_long_list_give_back(&of->wide);
    }
}

/* The walk of the row that is furthest is continued next, because paths of one execution have much
 * in common: all pass the same instructions together, which are then read from memory once. */
void ntk_retime_paths_add(struct ntk_retime_paths *paths, const struct ntk_retimed *retimed,
                          size_t execution, uint32_t rows)
{
    size_t looks = 0;

    for (uint32_t left = rows; left; left &= left - 1) {
        path_begin(&paths->rows[__builtin_ctz(left)], retimed, execution);
    }
    for (;;) {
        const struct path *first = NULL;

        for (uint32_t left = rows; left; left &= left - 1) {
            const struct path *path = &paths->rows[__builtin_ctz(left)];
            if (continues(path) && (!first || is_further(path, first))) {
                first = path;
            }
        }
        if (!first) {
            break;
        }
        const struct ntk_retimed *of = first->of;
        uint32_t item = first->item;
        for (uint32_t left = rows; left; left &= left - 1) {
            struct path *path = &paths->rows[__builtin_ctz(left)];
            if (path->item == item && path->of == of && continues(path)) {
                path->steps_left--;
                path->item = step(path, item);
            }
        }
        if (looks++ % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
            give_back(retimed);
        }
    }
    for (uint32_t left = rows; left; left &= left - 1) {
        struct path *path = &paths->rows[__builtin_ctz(left)];
        take(path, NTK_WHAT_IF_ON_START, path->from_ps);
    }
}
