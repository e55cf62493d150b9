/* SPDX-License-Identifier: MIT */
/*
 * engine_run - a run: its start and end, and the effects of its transfers on memory. engine_loop.c
 * has the timing.
 */
#include "runtime-hooks/engine/engine_run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/cost_model.h"
#include "runtime-hooks/engine/engine_move.h"
#include "runtime-hooks/engine/kernel_dtype.h"
#include "shared/base/order.h"

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
        return "invalid input";
    case NTK_RUN_NO_MEMORY:
        return "out of memory";
    }
    return "?";
}

/* --- DMA -------------------------------------------------------------------------------------- */

const struct ntk_engine_side *engine_sources_of(const struct run *run,
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

NTK_ORDER(by_start, struct ntk_engine_interval, NTK_UP(start_ps));

void engine_intervals_fold(struct run *run, uint64_t until_ps)
{
    struct ntk_engine_interval *intervals = run->core->intervals;
    size_t kept = 0;

    qsort(intervals, run->interval_count, sizeof *intervals, by_start);
    for (size_t i = 0; i < run->interval_count; i++) {
        uint64_t start = larger(intervals[i].start_ps, run->dma_covered_ps);
        uint64_t end = intervals[i].end_ps < until_ps ? intervals[i].end_ps : until_ps;

        if (end > start) {
            run->dma_busy_ps += end - start;
            run->dma_covered_ps = end;
        }
        if (intervals[i].end_ps > until_ps) {
            intervals[kept++] =
                (struct ntk_engine_interval){ larger(intervals[i].start_ps, until_ps),
                                              intervals[i].end_ps };
        }
    }
    run->interval_count = kept;
}

/* Makes room for another interval. The intervals of a program without jumps fit; a loop may start
 * more. */
static bool interval_room(struct run *run)
{
    struct ntk_engine_core *core = run->core;
    struct ntk_engine_interval *more;

    if (run->interval_count < core->interval_capacity) {
        return true;
    }
    engine_intervals_fold(run, run->now_ps);
    if (run->interval_count < core->interval_capacity / 2) {
        return true;
    }
    more = realloc(core->intervals, (2 * core->interval_capacity + 64) * sizeof *more);
    if (!more) {
        return run->interval_count < core->interval_capacity;
    }
    core->intervals = more;
    core->interval_capacity = 2 * core->interval_capacity + 64;
    return true;
}

void engine_dma_interval(struct run *run, uint64_t first_ps, uint64_t done_ps)
{
    if (first_ps >= done_ps) {
        return;
    }
    if (!interval_room(run)) {
        run->has_no_memory = true;
        return;
    }
    run->core->intervals[run->interval_count++] = (struct ntk_engine_interval){ first_ps, done_ps };
}

uint64_t engine_transfer_schedule(struct run *run, const struct ntk_engine_dma *dma,
                                  uint32_t number, const struct ntk_engine_transfer *transfer,
                                  const struct ntk_engine_side *source, uint64_t ready_ps,
                                  uint64_t *first_ps)
{
    const struct ntk_engine_core_spec *spec = run->program->spec;
    uint32_t queues = run->program->queue_sets[dma->queue_set].queue_count;
    uint64_t pieces = queues < spec->dma_engine_count ? queues : spec->dma_engine_count;
    uint64_t done_ps = ready_ps;
    uint64_t first = dma->at_first_queue ? 0 : number;
    bool of_hbm = transfer->hbm_read_bytes + transfer->hbm_write_bytes > 0;
    double slower = of_hbm ? run->options->hbm_factor : 1;

    if (transfer->descriptors < pieces) {
        pieces = transfer->descriptors;
    }
    for (uint64_t p = 0; p < pieces; p++) {
        uint32_t queue = (uint32_t)((first + p) % queues);
        uint32_t engine = queue % spec->dma_engine_count;
        uint64_t reads = transfer->read_bytes / pieces + (p < transfer->read_bytes % pieces);
        uint64_t writes = transfer->write_bytes / pieces + (p < transfer->write_bytes % pieces);
        uint64_t start_ps =
            larger(later(ready_ps, NTK_COST_DMA_LATENCY_PS), run->dma_free_ps[engine]);
        uint64_t bytes = transfer->move == NTK_ENGINE_MOVE_TRANSPOSE
                             ? ntk_cost_dma_transpose_bytes(writes)
                             : larger(reads, writes);
        uint64_t move_ps = ntk_cost_dma_ps(spec, bytes, transfer->run_bytes);
        uint64_t end_ps = later(start_ps, ntk_cost_slower(move_ps, slower));

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

/* A queue set contains the ring of one instance; another ring replaces it when all transfers
 * started on the set are done. Returns the earliest time of the transfer. */
static uint64_t ring_ready(struct run *run, const struct ntk_engine_dma *dma)
{
    uint64_t *ring = &run->core->queue_rings[dma->queue_set];
    uint64_t wanted = (uint64_t)dma->instance + 1;
    bool swaps = dma->instance != NTK_NEFF_NONE && *ring != 0 && *ring != wanted;

    if (dma->instance != NTK_NEFF_NONE) {
        *ring = wanted;
    }
    run->group->meetings += swaps;
    return swaps ? larger(run->now_ps, run->core->queue_done_ps[dma->queue_set]) : run->now_ps;
}

void engine_dma_start(struct run *run, uint32_t dma_index)
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

        done_ps = larger(done_ps, engine_transfer_schedule(run, dma, number, transfer,
                                                           engine_sources_of(run, transfer),
                                                           ready_ps, &first_ps));
    }
    engine_dma_interval(run, first_ps, done_ps);
    /* Transfers of one queue set complete in the order of their starts. */
    done_ps = larger(done_ps, run->core->queue_done_ps[dma->queue_set]);
    run->core->queue_done_ps[dma->queue_set] = done_ps;
    engine_pending_push(run, done_ps, NTK_ENGINE_PENDING_DMA, dma_index);
}

void engine_dma_count(struct run *run, const struct ntk_engine_transfer *transfer)
{
    struct ntk_engine_result *result = run->result;

    result->dma_transfer_count++;
    result->dma_bytes += transfer->write_bytes;
    result->hbm_read_bytes += transfer->hbm_read_bytes;
    result->hbm_write_bytes += transfer->hbm_write_bytes;
}

void engine_dma_signal(struct run *run, const struct ntk_engine_dma *dma)
{
    if (dma->semaphore != NTK_NEFF_NONE) {
        engine_semaphore_add(run, NTK_ENGINE_DMA, dma->semaphore, dma->semaphore_value);
    }
    if (dma->signals_set) {
        const struct ntk_engine_queue_set *set = &run->program->queue_sets[dma->queue_set];

        for (uint32_t q = 0; q < set->semaphore_count; q++) {
            engine_semaphore_add(run, NTK_ENGINE_DMA, set->semaphores[q], 1);
        }
    }
    if (dma->event != NTK_NEFF_NONE) {
        engine_event_set(run, NTK_ENGINE_DMA, dma->event, true);
    }
    if (dma->remote_count > 0) {
        engine_remote_signal(run, dma);
    }
}

bool engine_dma_complete(struct run *run, uint32_t dma_index)
{
    const struct ntk_engine_dma *dma = ntk_vec_at(&run->program->dmas, dma_index);

    for (uint32_t t = 0; t < dma->transfer_count; t++) {
        const struct ntk_engine_transfer *transfer =
            ntk_vec_at(&run->program->transfers, dma->first_transfer + t);

        run->group->looks += transfer->move == NTK_ENGINE_MOVE_INDIRECT;
        run->group->changes++;
        if (!ntk_engine_move(run->core, run->program, run->options->bindings, transfer)) {
            return false;
        }
        engine_dma_count(run, transfer);
    }
    run->pinned_left -= dma->is_pinned ? 1 : 0;
    engine_dma_signal(run, dma);
    return true;
}

/* --- begin and end ---------------------------------------------------------------------------- */

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
                        "variable %u has %llu bytes, but the program requires %llu", v,
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

/* Fills the cells. bindings_fit() has checked that every pointer that is followed refers to a bound
 * variable. */
static void cells_fill(struct ntk_engine_core *core, const struct ntk_engine_program *program,
                       const struct ntk_engine_run_options *options)
{
    for (size_t i = 0; i < program->cells.count; i++) {
        uint32_t var_id = *(const uint32_t *)ntk_vec_at(&program->cells, i);

        core->cells[i] =
            var_id < options->binding_count ? options->bindings[var_id].device_address : 0;
    }
}

/* Runs an opaque program, which only takes time. */
static void opaque_run(struct run *run)
{
    uint64_t timeout_ns = run->options->timeout_ns;

    run->last_ps = ntk_cost_slower(run->program->opaque_ps, run->options->compute_factor);
    if (timeout_ns > 0 && timeout_ns < run->last_ps / 1000) {
        run->last_ps = timeout_ns * 1000;
        run->result->outcome = NTK_RUN_TIMEOUT;
    }
}

static int run_begin(struct run *run, struct ntk_err *err)
{
    const struct ntk_engine_program *program = run->program;
    struct ntk_engine_core *core = run->core;

    memset(run->result, 0, sizeof *run->result);
    run->result->fault_engine = NTK_ENGINE_COUNT;
    if (core->generation != program->generation) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the program is for %s, but the core is %s", program->spec->name,
                           core->spec->name);
    }
    if (program->info.needs_partner && run->group->count < 2) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the program requires a pair of cores, but runs on a single core");
    }
    if (!bindings_fit(program, run->options, err)) {
        run->result->outcome = NTK_RUN_BAD_INPUT;
        return 0;
    }
    if (ntk_engine_core_prepare(core, program) < 0) {
        ntk_err_no_memory(err);
        run->result->outcome = NTK_RUN_NO_MEMORY;
        return 0;
    }
    if (program->info.is_opaque || run->options->zero_outputs) {
        outputs_zero(program, run->options);
    }
    for (uint32_t i = 0; program->has_random && i < NTK_ENGINE_SEQUENCER_COUNT * NTK_ISA_PARTITIONS;
         i++) {
        ntk_rng_seed(&core->rng[i / NTK_ISA_PARTITIONS][i % NTK_ISA_PARTITIONS], i);
    }
    if (program->has_latches) {
        ntk_latches_reset(&core->latches);
    }
    core->rounding = run->options->rounds_by_chance && core->generation > 1 ? &core->noise : NULL;
    ntk_tile_packs_forget(core->packs);
    memset(core->semaphores, 0, sizeof core->semaphores);
    memset(core->events, 0, sizeof core->events);
    memset(core->queue_done_ps, 0, program->info.queue_count * sizeof *core->queue_done_ps);
    memset(core->queue_starts, 0, program->info.queue_count * sizeof *core->queue_starts);
    memset(core->queue_rings, 0, program->info.queue_count * sizeof *core->queue_rings);
    cells_fill(core, program, run->options);
    if (program->has_flow) {
        engine_flow_reset(run);
    }
    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        run->engines[e].instrs = program->instrs[e].items;
        run->engines[e].count = program->main_end[e];
    }
    if (run->options->is_start) {
        run->pinned_left = program->pinned_count;
    }
    for (uint32_t i = 0; i < run->pinned_left; i++) {
        engine_dma_start(
            run, *(const uint32_t *)ntk_vec_at(&program->starts, program->pinned_first + i));
    }
    return 0;
}

static void run_finish(struct run *run)
{
    struct ntk_engine_result *result = run->result;

    for (int e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        result->busy_ns[e] = run->busy_ps[e] / 1000;
        result->wait_ns[e] = run->wait_ps[e] / 1000;
    }
    result->matmul_wait_ns = run->matmul_wait_ps / 1000;
    engine_intervals_fold(run, run->last_ps);
    result->busy_ns[NTK_ENGINE_DMA] = run->dma_busy_ps / 1000;
    result->duration_ns = run->last_ps / 1000 + (run->last_ps % 1000 != 0);
}

int ntk_engine_run_together(const struct ntk_engine_member *members, size_t count,
                            struct ntk_engine_result *out_results, struct ntk_err *err)
{
    struct engine_group group;
    uint64_t timeout_ns = members[0].options->timeout_ns;
    bool is_opaque = true;
    int ret = 0;

    assert(count >= 1 && count <= NTK_ENGINE_PAIR_MAX);
    memset(&group, 0, offsetof(struct engine_group, runs) + count * sizeof group.runs[0]);
    group.count = (uint32_t)count;
    group.limit_ps = UINT64_MAX;
    engine_pair_init(&group);
    if (timeout_ns > 0 && timeout_ns < UINT64_MAX / 1000) {
        group.limit_ps = timeout_ns * 1000;
    }
    for (uint32_t c = 0; c < count && ret == 0; c++) {
        struct run *run = &group.runs[c];

        run->group = &group;
        run->core = members[c].core;
        run->program = members[c].program;
        run->options = members[c].options;
        run->trace = members[c].options->trace;
        run->result = &out_results[c];
        ret = run_begin(run, err);
        is_opaque = is_opaque && run->program->info.is_opaque;
    }
    for (uint32_t c = 0; c < count && ret == 0; c++) {
        if (out_results[c].outcome != NTK_RUN_OK) {
            return 0; /* no core computed anything */
        }
    }
    if (ret == 0 && !is_opaque) {
        engine_loop(&group);
    }
    for (uint32_t c = 0; c < count && ret == 0; c++) {
        if (group.runs[c].program->info.is_opaque) {
            opaque_run(&group.runs[c]);
        }
        run_finish(&group.runs[c]);
    }
    engine_endless_fini(&group);
    engine_pair_fini(&group);
    return ret;
}

int ntk_engine_run(struct ntk_engine_core *core, const struct ntk_engine_program *program,
                   const struct ntk_engine_run_options *options,
                   struct ntk_engine_result *out_result, struct ntk_err *err)
{
    const struct ntk_engine_member member = { core, program, options };

    return ntk_engine_run_together(&member, 1, out_result, err);
}
