/* SPDX-License-Identifier: MIT */
/*
 * engine_run - the state of a run, and the interfaces between the files of the event loop.
 *
 * Private to the engine: the public interface is engine.h. engine_loop.c is the event loop,
 * engine_run.c starts and completes transfers, engine_kernels.c computes, engine_flow.c handles
 * control flow, engine_pair.c synchronises the cores of one logical core, engine_endless.c detects
 * endless loops.
 *
 * Owner:   the run owns the group; each _init has a matching _fini.
 * Threads: one at a time per run.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_RUN_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_RUN_H

#include "runtime-hooks/engine/engine.h"
#include "runtime-hooks/engine/engine_core.h"
#include "runtime-hooks/engine/engine_program.h"

#define DMA_ENGINES_MAX 16

struct engine_state {
    const struct ntk_engine_instr *instrs;
    size_t next, count; /* next instruction, and end of its current function */
    uint64_t free_ps;
    uint32_t depth;       /* depth of calls */
    uint32_t ticket;      /* at a barrier: number of arrivals on this core, including this one */
    bool is_running;      /* an instruction is being executed */
    bool waits_for_cores; /* it has arrived at a barrier and waits for the other cores */
};

struct run {
    struct ntk_engine_core *core;
    const struct ntk_engine_program *program;
    const struct ntk_engine_run_options *options;
    const struct ntk_engine_trace *trace;
    struct ntk_engine_result *result;
    struct engine_group *group;
    struct engine_state engines[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t busy_ps[NTK_ENGINE_SEQUENCER_COUNT];
    uint64_t wait_ps[NTK_ENGINE_SEQUENCER_COUNT], matmul_wait_ps;
    uint64_t dma_free_ps[DMA_ENGINES_MAX];
    /* DMA busy time in the merged intervals, and the time up to which they were merged */
    uint64_t dma_busy_ps, dma_covered_ps;
    uint64_t now_ps, last_ps;
    uint64_t order;
    size_t pending_count;
    size_t interval_count;
    uint32_t arrivals[NTK_ISA_BARRIERS]; /* number of arrivals at each barrier */
    /* remaining pinned transfers; no instruction starts before they are done */
    uint32_t pinned_left;
    bool has_nan, has_no_memory;
    uint32_t nan_engine, nan_slot; /* where the first NaN was written */
};

/* Programs that run in parallel: the cores of one logical core. */
struct engine_group {
    uint32_t count;
    uint64_t limit_ps;
    /* Counts of events that a repeated state of the sequencers does not cover: synchronisations or
     * ring changes; registers or addresses read from memory; possible changes of memory. */
    uint64_t meetings, looks, changes;
    bool is_endless; /* the whole state repeats, so the program never ends */
    uint64_t back_branches;
    struct engine_watch *watch; /* NULL until the program has jumped back many times */
    struct ntk_vec offers;      /* elements are struct engine_offer (engine_pair.c) */
    struct ntk_vec exchanges;   /* elements are struct engine_exchange (engine_pair.c) */
    uint32_t exchanges_under_way;
    struct run runs[NTK_ENGINE_PAIR_MAX]; /* must be last: only `count` elements are allocated */
};

static inline uint64_t later(uint64_t time_ps, uint64_t duration_ps)
{
    uint64_t sum;

    return __builtin_add_overflow(time_ps, duration_ps, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint32_t run_index(const struct run *run)
{
    return (uint32_t)(run - run->group->runs);
}

/* The run on the other core; NULL for a single core. */
static inline struct run *run_partner(struct run *run)
{
    return run->group->count > 1 ? &run->group->runs[run_index(run) ^ 1U] : NULL;
}

/* --- engine_loop.c --- */

void engine_pending_push(struct run *run, uint64_t time_ps, enum ntk_engine_pending_kind kind,
                         uint32_t index);
/* Returns true if `a` ends before `b`. */
static inline bool engine_pending_before(const struct ntk_engine_pending *a,
                                         const struct ntk_engine_pending *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps : a->order < b->order;
}
/* engine is the engine that changes the semaphore, or NTK_ENGINE_DMA for a queue. */
void engine_semaphore_add(struct run *run, uint32_t engine, uint32_t semaphore, uint32_t value);
void engine_event_set(struct run *run, uint32_t engine, uint32_t number, bool is_set);
/* Runs the cores until each has ended or is blocked. */
void engine_loop(struct engine_group *group);

/* --- engine_run.c --- */

/* Starts a DMA; exchanges are in engine_pair.c. */
void engine_dma_start(struct run *run, uint32_t dma_index);
/* Distributes the pieces of one transfer to DMA engines; source is the side that is read. Returns
 * the time of the last byte. */
uint64_t engine_transfer_schedule(struct run *run, const struct ntk_engine_dma *dma,
                                  uint32_t number, const struct ntk_engine_transfer *transfer,
                                  const struct ntk_engine_side *source, uint64_t ready_ps,
                                  uint64_t *first_ps);
/* Records that a queue set is moving these bytes. */
void engine_dma_interval(struct run *run, uint64_t first_ps, uint64_t done_ps);
void engine_dma_count(struct run *run, const struct ntk_engine_transfer *transfer);
void engine_dma_signal(struct run *run, const struct ntk_engine_dma *dma);
/* Completes a DMA; returns false if an index was out of bounds. */
bool engine_dma_complete(struct run *run, uint32_t dma_index);
/* Merges DMA intervals up to that time into run->dma_busy_ps; later ones are kept. */
void engine_intervals_fold(struct run *run, uint64_t until_ps);
const struct ntk_engine_side *engine_sources_of(const struct run *run,
                                                const struct ntk_engine_transfer *transfer);
/* --- engine_flow.c --- */

/* Called at the start of a run of a program with jumps or registers. */
void engine_flow_reset(struct run *run);
/* Executes a load, store, move or calculation. */
void engine_flow_register(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr);
/* Executes a branch, call or return; state->next is then the next instruction. */
void engine_flow_jump(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr);
/* Called at the end of a function: returns to the innermost caller that has instructions left. */
void engine_flow_return(struct run *run, struct engine_state *state, uint32_t engine);

/* --- engine_endless.c --- */

/* Called after an engine has jumped back; sets group->is_endless if the state repeats. */
void engine_endless_look(struct run *run, uint32_t engine);
/* Skips whole iterations up to the time limit. */
void engine_endless_spin(struct engine_group *group);
void engine_endless_fini(struct engine_group *group);

/* --- engine_pair.c --- */

/* Called when an engine has reached a barrier; returns true if this may enable the other core. */
bool engine_barrier_arrive(struct run *run, uint32_t engine);
bool engine_barrier_open(const struct run *run, uint32_t engine);
/* Called when a sendrecv has started: offers its data, or matches the other core's offer. Returns
 * false if they do not match. */
bool engine_exchange_start(struct run *run, uint32_t dma_index);
/* Called when the data of both sides has arrived. */
void engine_exchange_complete(struct run *run, uint32_t exchange_index);
/* Returns true if the core has an offer that the other core has not matched. */
bool engine_exchange_waits(const struct run *run);
/* Signals the other core's semaphores; called for a group that has completed. */
void engine_remote_signal(struct run *run, const struct ntk_engine_dma *dma);
void engine_pair_init(struct engine_group *group);
void engine_pair_fini(struct engine_group *group);

#endif
