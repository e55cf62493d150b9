/* SPDX-License-Identifier: MIT */
/*
 * engine_endless - detects loops that never end. The timeline depends only on the state of the
 * sequencers and the values that they read from memory. If, when an engine jumps back, program
 * counters, registers, semaphores, events and everything in progress are the same as at an earlier
 * jump, and no changed value was read from memory in between, the loop continues forever, and the
 * time until the limit need not be simulated. A loop in which something changes (a counter, a
 * loaded value) is not endless; it ends normally or at the limit.
 *
 * The earlier state is stored each time the number of jumps has doubled (Brent), so a loop of any
 * length is found after at most three times its length, at the cost of a comparison that usually
 * ends at the first register.
 */
#include "runtime-hooks/engine/engine_run.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_LOOK 64 /* number of backward jumps before the first check */

struct engine_view {
    size_t next, count;
    uint32_t depth;
    uint32_t rank; /* position among the pending ends on this core, including ties */
    bool is_running, waits_for_cores;
    uint64_t left_ps;
};

struct core_view {
    struct engine_view engines[NTK_ENGINE_SEQUENCER_COUNT];
    uint32_t semaphores[NTK_ISA_SEMAPHORES];
    bool events[NTK_ISA_EVENTS];
    int32_t registers[NTK_ENGINE_SEQUENCER_COUNT][NTK_ISA_REGISTERS];
    struct ntk_engine_frame frames[NTK_ENGINE_SEQUENCER_COUNT][NTK_ENGINE_CALLS_MAX];
    /* Not compared: sums since the stored state. */
    struct ntk_engine_result result;
    uint64_t busy_ps[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t wait_ps[NTK_ENGINE_SEQUENCER_COUNT], matmul_wait_ps;
    uint64_t dma_busy_ps;
};

struct engine_watch {
    uint32_t core, engine; /* engine that jumped back */
    bool is_set;
    uint64_t power, jumps;
    uint64_t meetings, looks, changes;
    uint64_t time_ps;
    struct core_view cores[NTK_ENGINE_PAIR_MAX];
};

static void engines_view(const struct run *run, struct engine_view *views)
{
    const struct ntk_engine_pending *heap = run->core->pending;

    memset(views, 0, NTK_ENGINE_SEQUENCER_COUNT * sizeof *views);
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        const struct engine_state *state = &run->engines[e];

        views[e].next = state->next;
        views[e].count = state->count;
        views[e].depth = state->depth;
        views[e].is_running = state->is_running;
        views[e].waits_for_cores = state->waits_for_cores;
    }
    /* Only instructions are in progress; steady() ensures that. */
    for (size_t i = 0; i < run->pending_count; i++) {
        views[heap[i].index].left_ps = heap[i].time_ps - run->now_ps;
        for (size_t k = 0; k < run->pending_count; k++) {
            views[heap[i].index].rank += engine_pending_before(&heap[k], &heap[i]);
        }
    }
}

/* Returns true if states can be compared: DMA in progress would also have to be compared, but ends
 * soon. */
static bool steady(const struct engine_group *group)
{
    for (uint32_t c = 0; c < group->count; c++) {
        const struct run *run = &group->runs[c];

        for (size_t i = 0; i < run->pending_count; i++) {
            if (run->core->pending[i].kind != NTK_ENGINE_PENDING_INSTR) {
                return false;
            }
        }
    }
    return group->offers.count == 0;
}

static void remember(struct engine_group *group, uint32_t core, uint32_t engine)
{
    struct engine_watch *watch = group->watch;

    watch->core = core;
    watch->engine = engine;
    watch->meetings = group->meetings;
    watch->looks = group->looks;
    watch->changes = group->changes;
    watch->time_ps = group->runs[core].now_ps;
    watch->jumps = 0;
    watch->is_set = true;
    for (uint32_t c = 0; c < group->count; c++) {
        struct run *run = &group->runs[c];
        struct core_view *view = &watch->cores[c];

        engine_intervals_fold(run, run->now_ps);
        engines_view(run, view->engines);
        memcpy(view->semaphores, run->core->semaphores, sizeof view->semaphores);
        memcpy(view->events, run->core->events, sizeof view->events);
        memcpy(view->registers, run->core->registers, sizeof view->registers);
        memcpy(view->frames, run->core->frames, sizeof view->frames);
        memcpy(view->busy_ps, run->busy_ps, sizeof view->busy_ps);
        memcpy(view->wait_ps, run->wait_ps, sizeof view->wait_ps);
        view->matmul_wait_ps = run->matmul_wait_ps;
        view->dma_busy_ps = run->dma_busy_ps;
        view->result = *run->result;
    }
}

static bool frames_same(const struct run *run, const struct core_view *view)
{
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        for (uint32_t d = 0; d < run->engines[e].depth; d++) {
            if (run->core->frames[e][d].next != view->frames[e][d].next ||
                run->core->frames[e][d].count != view->frames[e][d].count) {
                return false;
            }
        }
    }
    return true;
}

static bool views_same(const struct engine_view *a, const struct engine_view *b)
{
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        if (a[e].next != b[e].next || a[e].count != b[e].count || a[e].depth != b[e].depth ||
            a[e].is_running != b[e].is_running || a[e].waits_for_cores != b[e].waits_for_cores ||
            a[e].left_ps != b[e].left_ps || a[e].rank != b[e].rank) {
            return false;
        }
    }
    return true;
}

static bool same(const struct run *run, const struct core_view *view)
{
    struct engine_view now[NTK_ENGINE_SEQUENCER_COUNT];

    if (memcmp(view->registers, run->core->registers, sizeof view->registers) != 0 ||
        memcmp(view->semaphores, run->core->semaphores, sizeof view->semaphores) != 0 ||
        memcmp(view->events, run->core->events, sizeof view->events) != 0) {
        return false;
    }
    engines_view(run, now);
    return views_same(now, view->engines) && frames_same(run, view);
}

/* Returns true if the state of the sequencers is sufficient: values read from memory are the same
 * unless memory has changed. */
static bool may_repeat(const struct engine_group *group)
{
    const struct engine_watch *watch = group->watch;

    return watch->meetings == group->meetings &&
           (watch->looks == group->looks || watch->changes == group->changes);
}

void engine_endless_look(struct run *run, uint32_t engine)
{
    struct engine_group *group = run->group;
    struct engine_watch *watch = group->watch;
    uint32_t core = run_index(run);
    bool is_same = true;

    if (++group->back_branches < FIRST_LOOK || !steady(group)) {
        return;
    }
    if (!watch) {
        watch = group->watch = calloc(1, sizeof *watch);
        if (!watch) {
            return; /* the time limit ends the loop */
        }
        watch->power = FIRST_LOOK;
    }
    watch->jumps++;
    if (watch->is_set && watch->core == core && watch->engine == engine && may_repeat(group) &&
        watch->time_ps < run->now_ps) {
        for (uint32_t c = 0; c < group->count && is_same; c++) {
            is_same = same(&group->runs[c], &watch->cores[c]);
        }
        if (is_same) {
            group->is_endless = true;
            return;
        }
    }
    if (!watch->is_set || watch->jumps >= watch->power) {
        watch->power *= 2;
        remember(group, core, engine);
    }
}

void engine_endless_spin(struct engine_group *group)
{
    const struct engine_watch *watch = group->watch;
    uint64_t now_ps = group->runs[watch->core].now_ps;
    uint64_t rounds = 0;

    if (group->limit_ps != UINT64_MAX && group->limit_ps > now_ps) {
        rounds = (group->limit_ps - now_ps) / (now_ps - watch->time_ps);
    }
    for (uint32_t c = 0; c < group->count; c++) {
        struct run *run = &group->runs[c];
        const struct core_view *view = &watch->cores[c];
        struct ntk_engine_result *result = run->result;

        engine_intervals_fold(run, run->now_ps);
        run->dma_busy_ps += rounds * (run->dma_busy_ps - view->dma_busy_ps);
        run->matmul_wait_ps += rounds * (run->matmul_wait_ps - view->matmul_wait_ps);
        for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
            run->busy_ps[e] += rounds * (run->busy_ps[e] - view->busy_ps[e]);
            run->wait_ps[e] += rounds * (run->wait_ps[e] - view->wait_ps[e]);
            result->instruction_count[e] +=
                rounds * (result->instruction_count[e] - view->result.instruction_count[e]);
        }
#define SPIN(field) result->field += rounds * (result->field - view->result.field)
        SPIN(matmul_count);
        SPIN(dma_transfer_count);
        SPIN(dma_bytes);
        SPIN(hbm_read_bytes);
        SPIN(hbm_write_bytes);
        SPIN(flops);
        SPIN(effective_flops);
#undef SPIN
    }
}

void engine_endless_fini(struct engine_group *group)
{
    free(group->watch);
}
