/* SPDX-License-Identifier: MIT */
/*
 * engine_loop - the discrete-event loop.
 *
 * Each core has a heap of pending ends, ordered by device time and then by start. The cores of a
 * logical core advance in time together: first all ends of this moment are processed, core after
 * core; then, in the order of cores and engine ids, every waiting engine checks whether its next
 * instruction can start. Compute instructions process their data when they start; DMA moves data
 * when it completes, so a program that forgets to wait for a load computes with the old content, as
 * on hardware.
 */
#include "runtime-hooks/engine/engine_run.h"

#include <stdlib.h>

#include "runtime-hooks/engine/cost_model.h"

/* Maximum number of transfers in progress on one core. */
#define PENDING_MAX (UINT64_C(1) << 24)

/* --- the heap --------------------------------------------------------------------------------- */

/* Grows the heap. The starts of a program without jumps fit from the beginning; a loop may start
 * more. */
static bool pending_grow(struct ntk_engine_core *core)
{
    uint64_t capacity = 2 * core->pending_capacity;
    struct ntk_engine_pending *more =
        capacity <= PENDING_MAX ? realloc(core->pending, capacity * sizeof *more) : NULL;

    if (!more) {
        return false;
    }
    core->pending = more;
    core->pending_capacity = capacity;
    return true;
}

void engine_pending_push(struct run *run, uint64_t time_ps, enum ntk_engine_pending_kind kind,
                         uint32_t index)
{
    struct ntk_engine_pending item = { time_ps, run->order++, kind, index };
    struct ntk_engine_pending *heap;
    size_t at;

    if (run->pending_count >= run->core->pending_capacity && !pending_grow(run->core)) {
        run->has_no_memory = true;
        return;
    }
    heap = run->core->pending;
    at = run->pending_count++;
    while (at > 0 && engine_pending_before(&item, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = item;
}

static struct ntk_engine_pending pending_pop(struct run *run)
{
    struct ntk_engine_pending *heap = run->core->pending;
    struct ntk_engine_pending first = heap[0];
    struct ntk_engine_pending last = heap[--run->pending_count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= run->pending_count) {
            break;
        }
        if (child + 1 < run->pending_count &&
            engine_pending_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!engine_pending_before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* --- semaphores and events -------------------------------------------------------------------- */

static void semaphore_set(struct run *run, uint32_t engine, uint32_t semaphore, uint32_t value)
{
    run->core->semaphores[semaphore] = value;
    if (run->trace && run->trace->semaphore) {
        struct ntk_engine_semaphore_event event = { engine, semaphore, value, false, run->now_ps };

        run->trace->semaphore(&event, run->trace->ctx);
    }
}

void engine_semaphore_add(struct run *run, uint32_t engine, uint32_t semaphore, uint32_t value)
{
    uint32_t sum;

    if (__builtin_add_overflow(run->core->semaphores[semaphore], value, &sum)) {
        sum = UINT32_MAX;
    }
    semaphore_set(run, engine, semaphore, sum);
}

void engine_event_set(struct run *run, uint32_t engine, uint32_t number, bool is_set)
{
    run->core->events[number] = is_set;
    if (run->trace && run->trace->semaphore) {
        struct ntk_engine_semaphore_event event = { engine, number, is_set, true, run->now_ps };

        run->trace->semaphore(&event, run->trace->ctx);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

static void error_tell(const struct run *run, enum ntk_engine_outcome outcome, uint32_t engine,
                       uint32_t slot, uint64_t time_ps)
{
    if (run->trace && run->trace->error) {
        struct ntk_engine_error_event event = { outcome, engine, slot, time_ps };

        run->trace->error(&event, run->trace->ctx);
    }
}

/* Records a NaN; the first one is reported as the run's NaN. */
static void nan_written(struct run *run, uint32_t engine, uint32_t slot, uint64_t time_ps)
{
    if (!run->has_nan) {
        run->has_nan = true;
        run->nan_engine = engine;
        run->nan_slot = slot;
    }
    error_tell(run, NTK_RUN_NUMERICAL_ERROR, engine, slot, time_ps);
}

static bool may_start(const struct run *run, const struct ntk_engine_instr *instr)
{
    uint32_t value;

    if (instr->wait_semaphore == NTK_ISA_NO_SEMAPHORE) {
        return true;
    }
    if (instr->flags & NTK_ISA_FLAG_WAIT_EVENT) {
        return run->core->events[instr->wait_semaphore] == (instr->wait_value != 0);
    }
    value = run->core->semaphores[instr->wait_semaphore];
    return instr->flags & NTK_ISA_FLAG_WAIT_EQUAL ? value == instr->wait_value
                                                  : value >= instr->wait_value;
}

static void sync_apply(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    uint32_t value;

    switch (instr->sync_mode) {
    case NTK_ISA_SYNC_EVENT_CLEAR:
        engine_event_set(run, engine, instr->sync_number, false);
        break;
    case NTK_ISA_SYNC_EVENT_SET:
        engine_event_set(run, engine, instr->sync_number, true);
        break;
    case NTK_ISA_SYNC_SEMAPHORE_ADD:
        engine_semaphore_add(run, engine, instr->sync_number, instr->sync_value);
        break;
    case NTK_ISA_SYNC_SEMAPHORE_SUB:
        value = run->core->semaphores[instr->sync_number];
        semaphore_set(run, engine, instr->sync_number,
                      value > instr->sync_value ? value - instr->sync_value : 0);
        break;
    case NTK_ISA_SYNC_SEMAPHORE_WRITE:
        semaphore_set(run, engine, instr->sync_number, instr->sync_value);
        break;
    case NTK_ENGINE_SYNC_RANGE_CLEAR:
        for (uint32_t i = 0; i < instr->sync_value; i++) {
            semaphore_set(run, engine, instr->sync_number + i, 0);
        }
        break;
    default:
        break;
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void wait_consume(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    if (instr->wait_semaphore != NTK_ISA_NO_SEMAPHORE &&
        (instr->flags & (NTK_ISA_FLAG_WAIT_CONSUME | NTK_ISA_FLAG_WAIT_EVENT)) ==
            NTK_ISA_FLAG_WAIT_CONSUME) {
        semaphore_set(run, engine, instr->wait_semaphore,
                      run->core->semaphores[instr->wait_semaphore] - instr->wait_value);
    }
}

static uint64_t duration_of(const struct run *run, const struct ntk_engine_instr *instr)
{
    return ntk_cost_slower(instr->duration_ps, run->options->compute_factor);
}

static void instr_start(struct run *run, uint32_t engine)
{
    struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];
    uint64_t duration_ps = duration_of(run, instr);
    uint64_t end_ps = later(run->now_ps, duration_ps);
    uint64_t wait_ps = run->now_ps - state->free_ps;

    /* a barrier was recorded when the engine arrived */
    if (instr->kind != NTK_ENGINE_KIND_BARRIER) {
        wait_consume(run, engine, instr);
    }
    if (run->trace && run->trace->instruction) {
        struct ntk_engine_instruction_event event = { .engine = engine,
                                                      .slot = instr->slot,
                                                      .opcode = instr->opcode,
                                                      .wait_ps = wait_ps,
                                                      .start_ps = run->now_ps,
                                                      .end_ps = end_ps };

        run->trace->instruction(&event, run->trace->ctx);
    }
    if (instr->kind == NTK_ENGINE_KIND_COMPUTE) {
        run->group->changes++;
        if (ntk_engine_compute(run->core, engine, ntk_vec_at(&run->program->computes, instr->first),
                               run->options->printer)) {
            nan_written(run, engine, instr->slot, end_ps);
        }
        run->result->flops += instr->flops;
        if (!instr->is_transpose) {
            run->result->effective_flops += instr->flops;
        }
    } else if (instr->kind >= NTK_ENGINE_KIND_REGISTER_LOAD &&
               instr->kind <= NTK_ENGINE_KIND_REGISTER_ALU) {
        engine_flow_register(run, engine, instr);
    }
    run->result->instruction_count[engine]++;
    if (instr->flops > 0) {
        run->result->matmul_count++;
        run->matmul_wait_ps = later(run->matmul_wait_ps, wait_ps);
    }
    if (instr->kind != NTK_ENGINE_KIND_SYNC && instr->kind != NTK_ENGINE_KIND_BARRIER) {
        /* Waiting does not count as work. */
        run->busy_ps[engine] = later(run->busy_ps[engine], duration_ps);
    } else {
        wait_ps = later(wait_ps, duration_ps);
    }
    run->wait_ps[engine] = later(run->wait_ps[engine], wait_ps);
    state->is_running = true;
    engine_pending_push(run, end_ps, NTK_ENGINE_PENDING_INSTR, engine);
}

/* Applies the effects of an instruction's end; false on a data fault. */
static bool instr_follow(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr)
{
    switch (instr->kind) {
    case NTK_ENGINE_KIND_DMA:
        for (uint32_t s = 0; s < instr->count; s++) {
            engine_dma_start(
                run, *(const uint32_t *)ntk_vec_at(&run->program->starts, instr->first + s));
        }
        return true;
    case NTK_ENGINE_KIND_EXCHANGE:
        return engine_exchange_start(
            run, *(const uint32_t *)ntk_vec_at(&run->program->starts, instr->first));
    case NTK_ENGINE_KIND_BARRIER:
        run->engines[engine].waits_for_cores = false;
        return true;
    default:
        /* Must be last, so that all effects are complete when a loop is checked. */
        engine_flow_jump(run, engine, instr);
        return true;
    }
}

/* Ends the instruction; returns false if the engine cannot continue because of a data fault. */
static bool instr_end(struct run *run, uint32_t engine)
{
    struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];

    state->is_running = false;
    state->free_ps = run->now_ps;
    if (instr->kind < NTK_ENGINE_KIND_BRANCH) {
        state->next++;
        if (state->depth > 0 && state->next >= state->count) {
            engine_flow_return(run, state, engine);
        }
    }
    if (instr->kind == NTK_ENGINE_KIND_SYNC) {
        sync_apply(run, engine, instr);
    }
    if (instr->signal_semaphore != NTK_ISA_NO_SEMAPHORE) {
        if (instr->flags & NTK_ISA_FLAG_SIGNAL_EVENT) {
            engine_event_set(run, engine, instr->signal_semaphore, instr->signal_value != 0);
        } else {
            engine_semaphore_add(run, engine, instr->signal_semaphore, instr->signal_value);
        }
    }
    return instr->kind < NTK_ENGINE_KIND_DMA || instr_follow(run, engine, instr);
}

/* Returns true if an engine at a barrier may continue; *news is set if it has just arrived. */
static bool barrier_opens(struct run *run, uint32_t engine, bool *news)
{
    struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];

    if (!state->waits_for_cores) {
        if (!may_start(run, instr)) {
            return false;
        }
        wait_consume(run, engine, instr);
        *news = engine_barrier_arrive(run, engine) || *news;
    }
    return engine_barrier_open(run, engine);
}

/* Starts waiting instructions if possible; returns true if this may enable the other core. An
 * instruction that takes a semaphore can block another instruction at the same moment, so the order
 * of engines is part of the model. An instruction that only waits cannot enable another one on its
 * core, so one pass is sufficient. */
static bool start_ready(struct run *run)
{
    bool news = false;

    if (run->pinned_left > 0) {
        return false;
    }
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        struct engine_state *state = &run->engines[e];
        const struct ntk_engine_instr *instr;

        if (state->is_running || state->next >= state->count) {
            continue;
        }
        instr = &state->instrs[state->next];
        if (instr->kind == NTK_ENGINE_KIND_BARRIER ? barrier_opens(run, e, &news)
                                                   : may_start(run, instr)) {
            instr_start(run, e);
        }
    }
    return news;
}

static void fault_at(struct run *run, uint32_t engine)
{
    const struct engine_state *state = &run->engines[engine];

    run->result->fault_engine = engine;
    if (state->next < state->count) {
        run->result->fault_slot = state->instrs[state->next].slot;
    }
}

static void stopped(struct run *run, enum ntk_engine_outcome outcome)
{
    run->result->outcome = outcome;
    for (uint32_t e = NTK_ENGINE_SEQUENCER_COUNT; e-- > 0;) {
        if (run->engines[e].next < run->engines[e].count) {
            run->result->engines_not_done |= 1u << e;
            fault_at(run, e);
        }
    }
    if (run->result->engines_not_done == 0) {
        run->result->fault_engine = NTK_ENGINE_DMA;
    }
}

static bool set_signals(const struct ntk_engine_program *program, const struct ntk_engine_dma *dma,
                        uint32_t number)
{
    const struct ntk_engine_queue_set *set = &program->queue_sets[dma->queue_set];

    for (uint32_t q = 0; dma->signals_set && q < set->semaphore_count; q++) {
        if (set->semaphores[q] == number) {
            return true;
        }
    }
    return false;
}

/* Returns true if the instruction will change that semaphore or event. */
static bool may_change(const struct run *run, const struct ntk_engine_instr *instr, uint32_t number,
                       bool is_event)
{
    if (instr->signal_semaphore == number &&
        ((instr->flags & NTK_ISA_FLAG_SIGNAL_EVENT) != 0) == is_event) {
        return true;
    }
    if (instr->kind == NTK_ENGINE_KIND_SYNC && instr->sync_number == number) {
        bool on_event = instr->sync_mode == NTK_ISA_SYNC_EVENT_SET ||
                        instr->sync_mode == NTK_ISA_SYNC_EVENT_CLEAR;
        bool on_semaphore = instr->sync_mode == NTK_ISA_SYNC_SEMAPHORE_ADD ||
                            instr->sync_mode == NTK_ISA_SYNC_SEMAPHORE_SUB ||
                            instr->sync_mode == NTK_ISA_SYNC_SEMAPHORE_WRITE;

        if (is_event ? on_event : on_semaphore) {
            return true;
        }
    }
    for (uint32_t s = 0; instr->kind == NTK_ENGINE_KIND_DMA && s < instr->count; s++) {
        const struct ntk_engine_dma *dma =
            ntk_vec_at(&run->program->dmas,
                       *(const uint32_t *)ntk_vec_at(&run->program->starts, instr->first + s));

        if ((is_event ? dma->event : dma->semaphore) == number ||
            (!is_event && set_signals(run->program, dma, number))) {
            return true;
        }
    }
    return false;
}

/* Returns true if an engine waits for something that none of the other blocked engines would
 * change. */
static bool waits_in_vain(const struct run *run, uint32_t engine)
{
    const struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];
    bool is_event = (instr->flags & NTK_ISA_FLAG_WAIT_EVENT) != 0;

    if (state->waits_for_cores || may_start(run, instr) || run->group->count > 1) {
        return false; /* the other core may still arrive or signal */
    }
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        /* If there are jumps, any instruction may still follow. */
        size_t first = run->program->has_jumps ? 0 : run->engines[e].next;
        size_t end =
            run->program->has_jumps ? run->program->instrs[e].count : run->engines[e].count;

        if (run->engines[e].next >= run->engines[e].count) {
            continue; /* the engine has finished */
        }
        for (size_t i = first; e != engine && i < end; i++) {
            if (may_change(run, &run->engines[e].instrs[i], instr->wait_semaphore, is_event)) {
                return false;
            }
        }
    }
    return true;
}

/* Reports a deadlock. Most engines only wait for the one that is blocked: it is named if known. */
static void deadlocked(struct run *run)
{
    stopped(run, NTK_RUN_DEADLOCK);
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        if (run->engines[e].next < run->engines[e].count && waits_in_vain(run, e)) {
            fault_at(run, e);
            return;
        }
    }
}

static bool is_done(const struct run *run)
{
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        if (run->engines[e].next < run->engines[e].count) {
            return false;
        }
    }
    return run->pending_count == 0;
}

/* Marks unfinished engines as timed out. */
static void timed_out(struct engine_group *group)
{
    for (uint32_t c = 0; c < group->count; c++) {
        struct run *run = &group->runs[c];

        if (!is_done(run)) {
            if (group->limit_ps != UINT64_MAX) {
                run->last_ps = group->limit_ps;
            }
            stopped(run, NTK_RUN_TIMEOUT);
        }
    }
}

/* Finds the next end on any core; false if nothing is in progress. */
static inline bool next_moment(const struct engine_group *group, uint32_t count, uint64_t *out_ps)
{
    bool found = false;

    for (uint32_t c = 0; c < count; c++) {
        const struct run *run = &group->runs[c];

        if (run->pending_count > 0 && (!found || run->core->pending[0].time_ps < *out_ps)) {
            *out_ps = run->core->pending[0].time_ps;
            found = true;
        }
    }
    return found;
}

/* Processes the current ends on one core; returns false if that ends the run. */
static bool moment_end(struct run *run)
{
    while (run->pending_count > 0 && run->core->pending[0].time_ps == run->now_ps) {
        struct ntk_engine_pending item = pending_pop(run);
        bool is_sound = true;

        run->last_ps = run->now_ps;
        if (item.kind == NTK_ENGINE_PENDING_INSTR) {
            is_sound = instr_end(run, item.index);
        } else if (item.kind == NTK_ENGINE_PENDING_DMA) {
            is_sound = engine_dma_complete(run, item.index);
        } else {
            engine_exchange_complete(run, item.index);
        }
        if (!is_sound) {
            stopped(run, NTK_RUN_OUT_OF_BOUNDS);
            run->result->fault_engine = NTK_ENGINE_DMA;
            return false;
        }
    }
    if (run->has_no_memory) {
        stopped(run, NTK_RUN_NO_MEMORY);
        return false;
    }
    return true;
}

/* After one core has failed: records the state of the other cores. */
static void others_stop(struct engine_group *group, uint32_t failed)
{
    for (uint32_t c = 0; c < group->count; c++) {
        struct run *run = &group->runs[c];

        for (uint32_t e = 0; c != failed && e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
            if (run->engines[e].next < run->engines[e].count) {
                run->result->engines_not_done |= 1U << e;
            }
        }
    }
}

/* Starts instructions on one core after the other; repeats while an arrival at a barrier lets
 * another core continue. */
static inline void all_start_ready(struct engine_group *group, uint32_t count)
{
    bool news = true;

    while (news) {
        news = false;
        for (uint32_t c = 0; c < count; c++) {
            news = start_ready(&group->runs[c]) || news;
        }
        news = news && count > 1;
    }
}

static void all_ended(struct engine_group *group)
{
    for (uint32_t c = 0; c < group->count; c++) {
        struct run *run = &group->runs[c];

        if (!is_done(run)) {
            deadlocked(run);
        } else if (engine_exchange_waits(run)) {
            stopped(run, NTK_RUN_DEADLOCK);
        } else if (run->has_nan) {
            run->result->outcome = NTK_RUN_NUMERICAL_ERROR;
            run->result->fault_engine = run->nan_engine;
            run->result->fault_slot = run->nan_slot;
        }
    }
}

/* count is the group's, passed as a constant for a single core, to avoid overhead. */
static inline __attribute__((always_inline)) void loop(struct engine_group *group, uint32_t count)
{
    uint64_t moment_ps = 0;

    all_start_ready(group, count);
    while (next_moment(group, count, &moment_ps)) {
        if (moment_ps > group->limit_ps) {
            timed_out(group);
            return;
        }
        for (uint32_t c = 0; c < count; c++) {
            group->runs[c].now_ps = moment_ps;
        }
        /* Process all ends of a moment before the starts that they permit. */
        for (uint32_t c = 0; c < count; c++) {
            if (!moment_end(&group->runs[c])) {
                others_stop(group, c);
                return;
            }
            if (group->is_endless) {
                engine_endless_spin(group);
                timed_out(group);
                return;
            }
        }
        all_start_ready(group, count);
    }
    all_ended(group);
}

/* Reports the end of a core's run to a capture. */
static void end_tell(const struct run *run)
{
    const struct ntk_engine_result *result = run->result;

    switch (result->outcome) {
    case NTK_RUN_OUT_OF_BOUNDS:
    case NTK_RUN_DEADLOCK:
    case NTK_RUN_TIMEOUT:
        error_tell(run, result->outcome, result->fault_engine,
                   result->fault_engine < NTK_ENGINE_SEQUENCER_COUNT ? result->fault_slot : 0,
                   run->now_ps);
        break;
    default: /* it succeeded, wrote a NaN (which was reported), or involves no device */
        break;
    }
}

void engine_loop(struct engine_group *group)
{
    if (group->count == 1) {
        loop(group, 1);
    } else {
        loop(group, group->count);
    }
    for (uint32_t c = 0; c < group->count; c++) {
        end_tell(&group->runs[c]);
    }
}
