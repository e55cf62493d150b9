/* SPDX-License-Identifier: MIT */
/*
 * engine_run - the event loop of one core.
 *
 * All that will end is in one heap, ordered by device time and then by the order in which it began. After
 * each end every engine that stands is asked, in the order of the engine ids, whether its next
 * instruction can start. Compute instructions work on their data when they start; DMA moves its data when
 * it completes, so a program that forgets to wait for a load computes with what was there before, as
 * it would on hardware.
 */
#include "runtime-hooks/core/core_engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/cost_model.h"
#include "runtime-hooks/core/engine_core.h"
#include "runtime-hooks/core/engine_move.h"
#include "runtime-hooks/core/engine_program.h"
#include "runtime-hooks/core/kernel_dtype.h"

#define DMA_ENGINES_MAX 16

struct engine_state {
    const struct ntk_engine_instr *instrs;
    size_t count, next;
    uint64_t free_ps;
    bool is_running;
};

struct run {
    struct ntk_engine_core *core;
    const struct ntk_engine_program *program;
    const struct ntk_engine_run_options *options;
    const struct ntk_engine_trace *trace;
    struct ntk_engine_result *result;
    struct engine_state engines[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t busy_ps[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t dma_free_ps[DMA_ENGINES_MAX];
    uint64_t now_ps, last_ps;
    uint64_t order;
    size_t pending_count;
    size_t interval_count;
    bool has_nan;
    uint32_t nan_engine, nan_slot; /* the first that wrote one */
};

const char *ntk_engine_outcome_name(enum ntk_engine_outcome outcome)
{
    switch (outcome) {
    case NTK_RUN_OK:
        return "ok";
    case NTK_RUN_NUMERICAL_ERROR:
        return "numerical error";
    case NTK_RUN_OUT_OF_BOUNDS:
        return "out of bounds";
    case NTK_RUN_DEADLOCK:
        return "deadlock";
    case NTK_RUN_TIMEOUT:
        return "timeout";
    case NTK_RUN_BAD_INPUT:
        return "bad input";
    case NTK_RUN_NO_MEMORY:
        return "no memory";
    }
    return "?";
}

static uint64_t later(uint64_t time_ps, uint64_t duration_ps)
{
    uint64_t sum;

    return __builtin_add_overflow(time_ps, duration_ps, &sum) ? UINT64_MAX : sum;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- the heap --------------------------------------------------------------------------------------- */

static bool before(const struct ntk_engine_pending *a, const struct ntk_engine_pending *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps : a->order < b->order;
}

static void pending_push(struct run *run, uint64_t time_ps, enum ntk_engine_pending_kind kind,
                         uint32_t index)
{
    struct ntk_engine_pending *heap = run->core->pending;
    struct ntk_engine_pending item = { time_ps, run->order++, kind, index };
    size_t at = run->pending_count++;

    assert(run->pending_count <= run->core->pending_capacity);
    while (at > 0 && before(&item, &heap[(at - 1) / 2])) {
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
        if (child + 1 < run->pending_count && before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* --- semaphores and events --------------------------------------------------------------------------- */

static void semaphore_set(struct run *run, uint32_t engine, uint32_t semaphore, uint32_t value)
{
    run->core->semaphores[semaphore] = value;
    if (run->trace && run->trace->semaphore) {
        struct ntk_engine_semaphore_event event = { engine, semaphore, value, false, run->now_ps };

        run->trace->semaphore(&event, run->trace->ctx);
    }
}

static void semaphore_add(struct run *run, uint32_t engine, uint32_t semaphore, uint32_t value)
{
    uint32_t sum;

    if (__builtin_add_overflow(run->core->semaphores[semaphore], value, &sum)) {
        sum = UINT32_MAX;
    }
    semaphore_set(run, engine, semaphore, sum);
}

static void event_set(struct run *run, uint32_t engine, uint32_t number, bool is_set)
{
    run->core->events[number] = is_set;
    if (run->trace && run->trace->semaphore) {
        struct ntk_engine_semaphore_event event = { engine, number, is_set, true, run->now_ps };

        run->trace->semaphore(&event, run->trace->ctx);
    }
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
        event_set(run, engine, instr->sync_number, false);
        break;
    case NTK_ISA_SYNC_EVENT_SET:
        event_set(run, engine, instr->sync_number, true);
        break;
    case NTK_ISA_SYNC_SEMAPHORE_ADD:
        semaphore_add(run, engine, instr->sync_number, instr->sync_value);
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

/* --- DMA --------------------------------------------------------------------------------------------- */

static const struct ntk_engine_side *sources_of(const struct run *run,
                                                const struct ntk_engine_transfer *transfer)
{
    return (const struct ntk_engine_side *)run->program->sources.items + transfer->first_source;
}

static uint64_t side_address(const struct run *run, const struct ntk_engine_side *side)
{
    return side->region == NTK_ENGINE_REGION_VAR
               ? run->options->bindings[side->var_id].device_address + side->address
               : side->address;
}

/* Hands the pieces of a transfer to DMA engines; gives the time of the last byte. */
static uint64_t transfer_schedule(struct run *run, const struct ntk_engine_dma *dma,
                                  uint32_t number, const struct ntk_engine_transfer *transfer,
                                  uint64_t ready_ps, uint64_t *first_ps)
{
    const struct ntk_engine_core_spec *spec = run->program->spec;
    const struct ntk_engine_side *source = sources_of(run, transfer);
    uint32_t queues = run->program->queue_sets[dma->queue_set].queue_count;
    uint64_t pieces = queues < spec->dma_engine_count ? queues : spec->dma_engine_count;
    uint64_t done_ps = ready_ps;

    if (transfer->descriptors < pieces) {
        pieces = transfer->descriptors;
    }
    for (uint64_t p = 0; p < pieces; p++) {
        uint32_t queue = (uint32_t)((number + p) % queues);
        uint32_t engine = queue % spec->dma_engine_count;
        uint64_t reads = transfer->read_bytes / pieces + (p < transfer->read_bytes % pieces);
        uint64_t writes = transfer->write_bytes / pieces + (p < transfer->write_bytes % pieces);
        uint64_t start_ps =
            larger(later(ready_ps, NTK_COST_DMA_LATENCY_PS), run->dma_free_ps[engine]);
        uint64_t bytes = transfer->move == NTK_ENGINE_MOVE_TRANSPOSE
                             ? ntk_cost_dma_transpose_bytes(writes)
                             : larger(reads, writes);
        uint64_t end_ps = later(start_ps, ntk_cost_dma_ps(spec, bytes, transfer->run_bytes));

        run->dma_free_ps[engine] = end_ps;
        done_ps = larger(done_ps, end_ps);
        if (start_ps < *first_ps) {
            *first_ps = start_ps;
        }
        if (run->trace && run->trace->dma) {
            struct ntk_engine_dma_event event = { .queue_set = dma->queue_set,
                                                  .queue = queue,
                                                  .dma_engine = engine,
                                                  .group = number,
                                                  .read_bytes = reads,
                                                  .write_bytes = writes,
                                                  .from_variable = source->var_id,
                                                  .to_variable = transfer->to.var_id,
                                                  .from_address = side_address(run, source),
                                                  .to_address = side_address(run, &transfer->to),
                                                  .start_ps = start_ps,
                                                  .end_ps = end_ps };

            run->trace->dma(&event, run->trace->ctx);
        }
    }
    return done_ps;
}

/* A queue set holds the ring of one of its instances: that of another one is swapped in when all that
 * the set has begun is done. Gives the time from which the transfer can go. */
static uint64_t ring_ready(struct run *run, const struct ntk_engine_dma *dma)
{
    uint64_t *ring = &run->core->queue_rings[dma->queue_set];
    uint64_t wanted = (uint64_t)dma->instance + 1;
    bool swaps = dma->instance != NTK_NEFF_NONE && *ring != 0 && *ring != wanted;

    if (dma->instance != NTK_NEFF_NONE) {
        *ring = wanted;
    }
    return swaps ? larger(run->now_ps, run->core->queue_done_ps[dma->queue_set]) : run->now_ps;
}

static void dma_start(struct run *run, uint32_t dma_index)
{
    const struct ntk_engine_dma *dma = ntk_vec_at(&run->program->dmas, dma_index);
    uint64_t first_ps = UINT64_MAX;
    uint64_t ready_ps = ring_ready(run, dma);
    uint64_t done_ps = later(ready_ps, NTK_COST_DMA_LATENCY_PS);
    uint32_t number = dma->group_id;

    if (number == NTK_NEFF_NONE) {
        number = (uint32_t)run->core->queue_starts[dma->queue_set]++;
    }
    for (uint32_t t = 0; t < dma->transfer_count; t++) {
        const struct ntk_engine_transfer *transfer =
            ntk_vec_at(&run->program->transfers, dma->first_transfer + t);

        done_ps =
            larger(done_ps, transfer_schedule(run, dma, number, transfer, ready_ps, &first_ps));
    }
    if (first_ps < done_ps) {
        run->core->intervals[run->interval_count++] =
            (struct ntk_engine_interval){ first_ps, done_ps };
    }
    /* Transfers of one queue set complete in the order they were started. */
    done_ps = larger(done_ps, run->core->queue_done_ps[dma->queue_set]);
    run->core->queue_done_ps[dma->queue_set] = done_ps;
    pending_push(run, done_ps, NTK_ENGINE_PENDING_DMA, dma_index);
}

/* False when an index was out of bounds. */
static bool dma_complete(struct run *run, uint32_t dma_index)
{
    const struct ntk_engine_dma *dma = ntk_vec_at(&run->program->dmas, dma_index);
    struct ntk_engine_result *result = run->result;

    for (uint32_t t = 0; t < dma->transfer_count; t++) {
        const struct ntk_engine_transfer *transfer =
            ntk_vec_at(&run->program->transfers, dma->first_transfer + t);

        if (!ntk_engine_move(run->core, run->program, run->options->bindings, transfer)) {
            return false;
        }
        result->dma_transfer_count++;
        result->dma_bytes += transfer->write_bytes;
        result->hbm_read_bytes += transfer->hbm_read_bytes;
        result->hbm_write_bytes += transfer->hbm_write_bytes;
    }
    if (dma->semaphore != NTK_NEFF_NONE) {
        semaphore_add(run, NTK_ENGINE_DMA, dma->semaphore, dma->semaphore_value);
    }
    if (dma->signals_set) {
        const struct ntk_engine_queue_set *set = &run->program->queue_sets[dma->queue_set];

        for (uint32_t q = 0; q < set->semaphore_count; q++) {
            semaphore_add(run, NTK_ENGINE_DMA, set->semaphores[q], 1);
        }
    }
    if (dma->event != NTK_NEFF_NONE) {
        event_set(run, NTK_ENGINE_DMA, dma->event, true);
    }
    return true;
}

/* --- the loop ---------------------------------------------------------------------------------------- */

static void instr_start(struct run *run, uint32_t engine)
{
    struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];
    uint64_t end_ps = later(run->now_ps, instr->duration_ps);

    if (instr->wait_semaphore != NTK_ISA_NO_SEMAPHORE &&
        (instr->flags & (NTK_ISA_FLAG_WAIT_CONSUME | NTK_ISA_FLAG_WAIT_EVENT)) ==
            NTK_ISA_FLAG_WAIT_CONSUME) {
        semaphore_set(run, engine, instr->wait_semaphore,
                      run->core->semaphores[instr->wait_semaphore] - instr->wait_value);
    }
    if (run->trace && run->trace->instruction) {
        struct ntk_engine_instruction_event event = { .engine = engine,
                                                      .slot = instr->slot,
                                                      .opcode = instr->opcode,
                                                      .wait_ps = run->now_ps - state->free_ps,
                                                      .start_ps = run->now_ps,
                                                      .end_ps = end_ps };

        run->trace->instruction(&event, run->trace->ctx);
    }
    if (instr->kind == NTK_ENGINE_KIND_COMPUTE) {
        if (ntk_engine_compute(run->core, engine,
                               ntk_vec_at(&run->program->computes, instr->first)) &&
            !run->has_nan) {
            run->has_nan = true;
            run->nan_engine = engine;
            run->nan_slot = instr->slot;
        }
        run->result->flops += instr->flops;
        if (!instr->is_transpose) {
            run->result->effective_flops += instr->flops;
        }
    }
    run->result->instruction_count[engine]++;
    if (instr->kind != NTK_ENGINE_KIND_SYNC) { /* waiting is not working */
        run->busy_ps[engine] = later(run->busy_ps[engine], instr->duration_ps);
    }
    state->is_running = true;
    pending_push(run, end_ps, NTK_ENGINE_PENDING_INSTR, engine);
}

static void instr_end(struct run *run, uint32_t engine)
{
    struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];

    state->is_running = false;
    state->free_ps = run->now_ps;
    state->next++;
    if (instr->kind == NTK_ENGINE_KIND_SYNC) {
        sync_apply(run, engine, instr);
    }
    if (instr->signal_semaphore != NTK_ISA_NO_SEMAPHORE) {
        if (instr->flags & NTK_ISA_FLAG_SIGNAL_EVENT) {
            event_set(run, engine, instr->signal_semaphore, instr->signal_value != 0);
        } else {
            semaphore_add(run, engine, instr->signal_semaphore, instr->signal_value);
        }
    }
    if (instr->kind == NTK_ENGINE_KIND_DMA) {
        for (uint32_t s = 0; s < instr->count; s++) {
            dma_start(run, *(const uint32_t *)ntk_vec_at(&run->program->starts, instr->first + s));
        }
    }
}

/* What stands starts if it may. An instruction that takes a semaphore can stop another of the same
 * moment, so the order of the engines is part of the model; one that only waits cannot make
 * another start, so one pass is enough. */
static void start_ready(struct run *run)
{
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        struct engine_state *state = &run->engines[e];

        if (!state->is_running && state->next < state->count &&
            may_start(run, &state->instrs[state->next])) {
            instr_start(run, e);
        }
    }
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

/* Whether the instruction, once it runs, changes that semaphore or event. */
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

/* Whether an engine waits for what none of the others, which stand too, would ever change. */
static bool waits_in_vain(const struct run *run, uint32_t engine)
{
    const struct engine_state *state = &run->engines[engine];
    const struct ntk_engine_instr *instr = &state->instrs[state->next];
    bool is_event = (instr->flags & NTK_ISA_FLAG_WAIT_EVENT) != 0;

    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        for (uint32_t i = run->engines[e].next; e != engine && i < run->engines[e].count; i++) {
            if (may_change(run, &run->engines[e].instrs[i], instr->wait_semaphore, is_event)) {
                return false;
            }
        }
    }
    return true;
}

/* Most engines only wait for the one that cannot go on: that one is named, where it can be told. */
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

static void loop(struct run *run)
{
    uint64_t limit_ps = UINT64_MAX;

    if (run->options->timeout_ns > 0 && run->options->timeout_ns < UINT64_MAX / 1000) {
        limit_ps = run->options->timeout_ns * 1000;
    }
    start_ready(run);
    while (run->pending_count > 0) {
        if (run->core->pending[0].time_ps > limit_ps) {
            run->last_ps = limit_ps;
            stopped(run, NTK_RUN_TIMEOUT);
            return;
        }
        /* All ends of one moment come before the starts they allow. */
        run->now_ps = run->core->pending[0].time_ps;
        run->last_ps = run->now_ps;
        while (run->pending_count > 0 && run->core->pending[0].time_ps == run->now_ps) {
            struct ntk_engine_pending item = pending_pop(run);

            if (item.kind == NTK_ENGINE_PENDING_INSTR) {
                instr_end(run, item.index);
            } else if (!dma_complete(run, item.index)) {
                stopped(run, NTK_RUN_OUT_OF_BOUNDS);
                run->result->fault_engine = NTK_ENGINE_DMA;
                return;
            }
        }
        start_ready(run);
    }
    for (uint32_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        if (run->engines[e].next < run->engines[e].count) {
            deadlocked(run);
            return;
        }
    }
    if (run->has_nan) {
        run->result->outcome = NTK_RUN_NUMERICAL_ERROR;
        run->result->fault_engine = run->nan_engine;
        run->result->fault_slot = run->nan_slot;
    }
}

static int by_start(const void *a, const void *b)
{
    const struct ntk_engine_interval *x = a;
    const struct ntk_engine_interval *y = b;

    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

/* Length of the union of the DMA intervals, cut at the end of the run. */
static uint64_t dma_busy_ps(struct run *run)
{
    struct ntk_engine_interval *intervals = run->core->intervals;
    uint64_t covered_to = 0;
    uint64_t busy = 0;

    qsort(intervals, run->interval_count, sizeof *intervals, by_start);
    for (size_t i = 0; i < run->interval_count; i++) {
        uint64_t start = larger(intervals[i].start_ps, covered_to);
        uint64_t end = intervals[i].end_ps < run->last_ps ? intervals[i].end_ps : run->last_ps;

        if (end > start) {
            busy += end - start;
            covered_to = end;
        }
    }
    return busy;
}

static bool bindings_fit(const struct ntk_engine_program *program,
                         const struct ntk_engine_run_options *options, struct ntk_err *err)
{
    for (uint32_t v = 0; v < program->info.variable_count; v++) {
        const struct ntk_engine_variable *variable = &program->variables[v];

        if (!variable->is_used) {
            continue;
        }
        if (v >= options->binding_count || !options->bindings[v].bytes) {
            ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "variable %u has no memory", v);
            return false;
        }
        if (options->bindings[v].size < variable->bytes_count) {
            ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                        "variable %u has %llu bytes, the program needs %llu", v,
                        (unsigned long long)options->bindings[v].size,
                        (unsigned long long)variable->bytes_count);
            return false;
        }
    }
    return true;
}

static void outputs_zero(const struct ntk_engine_program *program,
                         const struct ntk_engine_run_options *options)
{
    for (uint32_t v = 0; v < program->info.variable_count && v < options->binding_count; v++) {
        const struct ntk_engine_variable *variable = &program->variables[v];
        const struct ntk_engine_binding *binding = &options->bindings[v];

        if (variable->is_output && binding->bytes) {
            memset(binding->bytes, 0,
                   binding->size < variable->bytes_count ? binding->size : variable->bytes_count);
        }
    }
}

/* Every pointer that somebody follows refers to a bound variable (bindings_fit). */
static void cells_fill(struct ntk_engine_core *core, const struct ntk_engine_program *program,
                       const struct ntk_engine_run_options *options)
{
    for (size_t i = 0; i < program->cells.count; i++) {
        uint32_t var_id = *(const uint32_t *)ntk_vec_at(&program->cells, i);

        core->cells[i] =
            var_id < options->binding_count ? options->bindings[var_id].device_address : 0;
    }
}

/* An opaque program passes its time and does nothing else. */
static void opaque_run(struct run *run)
{
    uint64_t timeout_ns = run->options->timeout_ns;

    run->last_ps = run->program->opaque_ps;
    if (timeout_ns > 0 && timeout_ns < run->last_ps / 1000) {
        run->last_ps = timeout_ns * 1000;
        run->result->outcome = NTK_RUN_TIMEOUT;
    }
}

int ntk_engine_run(struct ntk_engine_core *core, const struct ntk_engine_program *program,
                   const struct ntk_engine_run_options *options,
                   struct ntk_engine_result *out_result, struct ntk_err *err)
{
    struct run run = { .core = core,
                       .program = program,
                       .options = options,
                       .trace = options->trace,
                       .result = out_result };

    memset(out_result, 0, sizeof *out_result);
    out_result->fault_engine = NTK_ENGINE_COUNT;
    if (core->generation != program->generation) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a program for %s on a core of %s",
                           program->spec->name, core->spec->name);
    }
    if (!bindings_fit(program, options, err)) {
        out_result->outcome = NTK_RUN_BAD_INPUT;
        return 0;
    }
    if (ntk_engine_core_prepare(core, program) < 0) {
        ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
        out_result->outcome = NTK_RUN_NO_MEMORY;
        return 0;
    }
    if (program->info.is_opaque || options->zero_outputs) {
        outputs_zero(program, options);
    }
    for (uint32_t i = 0; program->has_random && i < NTK_ENGINE_SEQUENCER_COUNT * NTK_ISA_PARTITIONS;
         i++) {
        ntk_rng_seed(&core->rng[i / NTK_ISA_PARTITIONS][i % NTK_ISA_PARTITIONS], i);
    }
    memset(core->semaphores, 0, sizeof core->semaphores);
    memset(core->events, 0, sizeof core->events);
    memset(core->queue_done_ps, 0, program->info.queue_count * sizeof *core->queue_done_ps);
    memset(core->queue_starts, 0, program->info.queue_count * sizeof *core->queue_starts);
    memset(core->queue_rings, 0, program->info.queue_count * sizeof *core->queue_rings);
    cells_fill(core, program, options);
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        run.engines[e].instrs = program->instrs[e].items;
        run.engines[e].count = program->instrs[e].count;
    }
    if (program->info.is_opaque) {
        opaque_run(&run);
    } else {
        loop(&run);
    }
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        out_result->busy_ns[e] = run.busy_ps[e] / 1000;
    }
    out_result->busy_ns[NTK_ENGINE_DMA] = dma_busy_ps(&run) / 1000;
    out_result->duration_ns = run.last_ps / 1000 + (run.last_ps % 1000 != 0);
    return 0;
}
