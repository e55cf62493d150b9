/* SPDX-License-Identifier: MIT */
/* early_changes - compares changes and instructions of each engine and semaphore. */
#include "profiler/analysis/early_changes.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/order.h"

#define NUMBERS 256
#define LISTS 3

struct pair { /* an engine and a semaphore */
    size_t maker_count, change_count;
    size_t first; /* index in makers */
    size_t next;
    bool is_ordered; /* true if the k-th change belongs to the k-th maker */
};

struct finding {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    struct pair pairs[NTK_NTFF_ENGINE_COUNT][NUMBERS];
    int64_t last_ps[NUMBERS];    /* corrected time of the previous change */
    struct ntk_long_list makers; /* elements are int64_t: starts of instructions, pair by pair */
    struct ntk_lost_changes *out;
    int failed;
};

static struct pair *pair_of_instruction(struct finding *f, const struct ntk_trace_instruction *one)
{
    const struct ntk_slot_fact *fact = ntk_program_fact(f->program, f->core_index, one);

    return fact->code->signals_event || fact->code->signal_number >= NUMBERS
               ? NULL
               : &f->pairs[one->engine][fact->code->signal_number];
}

static struct pair *pair_of_change(struct finding *f, const struct ntk_trace_event *event)
{
    return event->is_semaphore && event->source < NTK_NTFF_ENGINE_COUNT
               ? &f->pairs[event->source][event->number]
               : NULL;
}

static int list_makers(struct finding *f)
{
    size_t count = 0;

    ntk_trace_each_instruction(f->core, one) {
        struct pair *pair = pair_of_instruction(f, one);
        if (pair) {
            pair->maker_count++;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (unsigned n = 0; n < NUMBERS; n++) {
            f->pairs[e][n].first = f->pairs[e][n].next = count;
            count += f->pairs[e][n].maker_count;
        }
    }
    ntk_long_list_init(&f->makers, f->program->trace, sizeof(int64_t), LISTS);
    int ret = ntk_long_list_resize(&f->makers, count);
    int64_t *starts = f->makers.items;
    if (ret == 0) {
        ntk_trace_each_instruction(f->core, one) {
            struct pair *pair = pair_of_instruction(f, one);
            if (pair) {
                starts[pair->next++] = one->start_ps;
            }
        }
    }
    return ret;
}

static int64_t start_of_next(const struct finding *f, struct pair *pair)
{
    return ((const int64_t *)f->makers.items)[pair->next++];
}

/* Finds pairs with as many changes as makers, none of them too early. */
static void compare(struct finding *f)
{
    ntk_trace_each_event(f->core, event) {
        struct pair *pair = pair_of_change(f, event);
        if (pair) {
            pair->change_count++;
        }
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (unsigned n = 0; n < NUMBERS; n++) {
            struct pair *pair = &f->pairs[e][n];
            pair->is_ordered = pair->change_count == pair->maker_count;
            pair->next = pair->first;
        }
    }
    ntk_trace_each_event(f->core, event) {
        struct pair *pair = pair_of_change(f, event);
        if (pair && pair->is_ordered &&
            start_of_next(f, pair) - event->time_ps > NTK_EARLY_CHANGES_PS) {
            pair->is_ordered = false;
        }
    }
}

static void replace(struct finding *f, const struct ntk_trace_event *event, int64_t time_ps)
{
    struct ntk_trace_event *moved = ntk_long_list_add(&f->out->list, &f->failed);

    if (moved) {
        *moved = *event;
        moved->time_ps = time_ps;
        uint32_t *index = ntk_long_list_add(&f->out->replaced, &f->failed);
        if (index) {
            *index = (uint32_t)(event - f->core->events);
        }
    }
}

static void correct(struct finding *f)
{
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (unsigned n = 0; n < NUMBERS; n++) {
            f->pairs[e][n].next = f->pairs[e][n].first;
        }
    }
    for (unsigned n = 0; n < NUMBERS; n++) {
        f->last_ps[n] = INT64_MIN;
    }
    ntk_trace_each_event(f->core, event) {
        struct pair *pair = pair_of_change(f, event);
        int64_t time_ps = event->time_ps;
        if (pair && pair->is_ordered) {
            int64_t start_ps = start_of_next(f, pair);
            /* An instruction is released before it makes a change, so the change is strictly after
             * its start. */
            time_ps = start_ps >= time_ps ? start_ps + 1 : time_ps;
        }
        if (event->is_semaphore) {
            int64_t *last_ps = &f->last_ps[event->number];
            bool is_moved = *last_ps != INT64_MIN && *last_ps >= time_ps &&
                            *last_ps - event->time_ps <= NTK_EARLY_CHANGES_PS;
            time_ps = is_moved ? *last_ps + 1 : time_ps;
            *last_ps = time_ps > *last_ps ? time_ps : *last_ps;
        }
        if (time_ps != event->time_ps && !f->failed) {
            replace(f, event, time_ps);
        }
    }
}

int ntk_early_changes_add(const struct ntk_program *program, size_t core_index,
                          struct ntk_lost_changes *changes)
{
    const struct ntk_trace *trace = program->trace;
    const struct ntk_trace_core *core = &trace->cores[core_index];

    if (trace->ntff->version != NTK_EARLY_CHANGES_VERSION || trace->is_part ||
        core->is_cut.instructions || core->is_cut.events) {
        return 0;
    }
    struct finding *f = calloc(1, sizeof *f);
    if (!f) {
        return -ENOMEM;
    }
    f->program = program;
    f->core_index = core_index;
    f->core = core;
    f->out = changes;
    f->failed = list_makers(f);
    if (!f->failed) {
        compare(f);
        correct(f);
    }
    int ret = f->failed;
    ntk_long_list_fini(&f->makers);
    free(f);
    return ret;
}

NTK_ORDER_NUMBERS(by_index, uint32_t);

/* Returns true if the second change is the first one, corrected. */
static bool is_same(const struct ntk_trace_event *recorded, const struct ntk_trace_event *derived)
{
    int64_t later_ps = derived->time_ps - recorded->time_ps;

    return recorded->is_semaphore == derived->is_semaphore && recorded->number == derived->number &&
           recorded->value == derived->value && recorded->source == derived->source &&
           later_ps > 0 && later_ps <= NTK_EARLY_CHANGES_PS + 1;
}

uint32_t ntk_early_changes_index(const struct ntk_lost_changes *changes,
                                 const struct ntk_trace_core *core, uint32_t recorded)
{
    const struct ntk_long_list *list = &changes->replaced;

    if (!list->count || !bsearch(&recorded, list->items, list->count, sizeof recorded, by_index)) {
        return recorded;
    }
    for (size_t i = 0; i < changes->count; i++) {
        if (is_same(&core->events[recorded], &changes->events[i])) {
            return (uint32_t)(core->event_count + i);
        }
    }
    return recorded;
}

uint32_t ntk_early_changes_recorded(const struct ntk_lost_changes *changes,
                                    const struct ntk_trace_core *core, uint32_t event)
{
    const uint32_t *replaced = changes->replaced.items;

    if (event < core->event_count) {
        return event;
    }
    for (size_t i = 0; i < changes->replaced.count; i++) {
        if (is_same(&core->events[replaced[i]], &changes->events[event - core->event_count])) {
            return replaced[i];
        }
    }
    return NTK_NO_CHANGE;
}
