/* SPDX-License-Identifier: MIT */
/* what_if_path - the composition of a core's recomputed time. */
#include "profiler/analysis/what_if_private.h"

#include <errno.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"

struct path {
    const struct ntk_retimed *of;
    int64_t *path_ps;
    int64_t at_ps; /* everything from here on is in path_ps */
    struct ntk_map numbers;
    struct ntk_vec items; /* struct ntk_what_if_item, number - 1 */
    bool has_no_memory;
};

/* Returns the amount. */
static int64_t take(struct path *path, unsigned on, int64_t from_ps)
{
    int64_t ps = 0;

    if (from_ps < path->at_ps) {
        from_ps = ntk_retime_larger(from_ps, 0);
        ps = path->at_ps - from_ps;
        path->path_ps[on] += ps;
        path->at_ps = from_ps;
    }
    return ps;
}

/* The same for one instruction, or for the queue of the transfer that it started. */
static void take_of(struct path *path, unsigned on, int64_t from_ps, uint32_t item)
{
    const struct ntk_trace_instruction *one =
        &path->of->program->trace->cores[path->of->core].instructions[item];
    const struct ntk_slot_fact *fact = ntk_program_fact(path->of->program, path->of->core, one);
    const char *queue = on == NTK_WHAT_IF_ON_DMA ? fact->queue : NULL;
    uint64_t key = queue ? (uintptr_t)queue : (uintptr_t)fact;
    int64_t ps = take(path, on, from_ps);

    if (ps == 0 || path->has_no_memory) {
        return;
    }
    /* An instruction that starts transfers without a known queue has one key for these, and one for
     * itself. */
    key = key << 1 | (on == NTK_WHAT_IF_ON_DMA);
    uintptr_t number = (uintptr_t)ntk_map_get_number(&path->numbers, key);
    if (number) {
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

static void step(struct path *path, uint32_t item)
{
    const struct ntk_moment *moments = path->of->moments.items;
    const struct ntk_moment *moment = &moments[item];
    const struct ntk_trace_instruction *one =
        &path->of->program->trace->cores[path->of->core].instructions[item];
    const struct ntk_slot_fact *fact = ntk_program_fact(path->of->program, path->of->core, one);
    int64_t from_ps = moment->from == NTK_NO_INDEX ? 0 : moments[moment->from].end_ps;
    bool only_waits = moment->is_unknown && fact->waits_inside;

    if (only_waits) {
        take(path, NTK_WHAT_IF_ON_WAIT, moment->own_ps);
    } else {
        take_of(path, one->engine, moment->own_ps, item);
    }
    if (moment->kept_ps > 0) {
        bool may_wait = moment->is_unknown && !fact->waits_inside;
        if (may_wait) {
            take(path, NTK_WHAT_IF_ON_WAIT, moment->start_ps - moment->kept_ps);
        } else {
            take(path, NTK_WHAT_IF_ON_KEPT, moment->start_ps - moment->kept_ps);
        }
    }
    switch (moment->cause) {
    case NTK_MOMENT_ENGINE:
        take_of(path, one->engine, from_ps, item);
        break;
    case NTK_MOMENT_CHANGE:
        take(path, NTK_WHAT_IF_ON_LATENCY, from_ps);
        break;
    case NTK_MOMENT_TRANSFER:
        take_of(path, NTK_WHAT_IF_ON_DMA, from_ps, moment->from);
        break;
    default:
        take(path, NTK_WHAT_IF_ON_START, 0);
        break;
    }
}

static int compare_items(const void *a, const void *b)
{
    const struct ntk_what_if_item *x = a;
    const struct ntk_what_if_item *y = b;

    if (x->path_ps != y->path_ps) {
        return x->path_ps > y->path_ps ? -1 : 1;
    }
    return x->example < y->example ? -1 : x->example > y->example;
}

int ntk_retimed_path(const struct ntk_retimed *retimed, struct ntk_what_if_row *row)
{
    const struct ntk_trace_core *core = &retimed->program->trace->cores[retimed->core];
    const struct ntk_moment *moments = retimed->moments.items;
    struct path path = { .of = retimed,
                         .path_ps = row->path_ps,
                         .at_ps = retimed->end_ps,
                         .items = NTK_VEC_INIT(struct ntk_what_if_item) };
    uint32_t item = retimed->last;
    /* terminates even if files contradict themselves */
    size_t steps_left = core->instruction_count;

    if (item != NTK_NO_INDEX && retimed->ends_in_moved) {
        take_of(&path, NTK_WHAT_IF_ON_DMA, moments[item].end_ps, item);
    }
    while (item != NTK_NO_INDEX && path.at_ps > 0 && steps_left-- > 0) {
        step(&path, item);
        item = moments[item].from;
        if (steps_left % NTK_TRACE_LOOKS == 0) {
            ntk_dependencies_give_back(core, retimed->dependencies);
            ntk_long_list_give_back(&retimed->moments);
        }
    }
    take(&path, NTK_WHAT_IF_ON_START, 0);
    ntk_vec_sort(&path.items, compare_items);
    row->item_count = 0;
    ntk_vec_each(struct ntk_what_if_item, one, &path.items) {
        if (row->item_count < NTK_WHAT_IF_ITEMS_MAX) {
            row->items[row->item_count++] = *one;
        }
    }
    ntk_vec_fini(&path.items);
    ntk_map_fini(&path.numbers);
    return path.has_no_memory ? -ENOMEM : 0;
}
