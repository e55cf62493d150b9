/* SPDX-License-Identifier: MIT */
/*
 * engine_run - shared by the files of the event loop: the state of a run and their interfaces.
 *
 * Private to the engine: the public interface is engine.h. engine_loop.c is the event loop,
 * engine_run.c starts and completes transfers, engine_kernels.c computes, engine_flow.c handles
 * control flow, engine_pair.c synchronises the cores of one logical core, engine_endless.c detects
 * endless loops.
 *
 * Owner:   the run owns the group; each init has its fini.
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
    size_t next, count; /* count: end of its current function */
    uint64_t free_ps;
    uint32_t depth;       /* of calls */
    uint32_t ticket;      /* at a barrier: number of arrivals on this core, including itself */
    bool is_running;      /* an instruction */
    bool waits_for_cores; /* it has arrived at a barrier */
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
    uint64_t dma_busy_ps, dma_covered_ps; /* of merged intervals, up to this time */
    uint64_t now_ps, last_ps;
    uint64_t order;
    size_t pending_count;
    size_t interval_count;
    uint32_t arrivals[NTK_ISA_BARRIERS]; /* at each barrier */
    uint32_t pinned_left; /* remaining pinned transfers; nothing else starts before */
    bool has_nan, has_no_memory;
    uint32_t nan_engine, nan_slot; /* the first one */
};

/* Programs that run in parallel: the cores of one logical core. */
struct engine_group {
    uint32_t count;
    uint64_t limit_ps;
    /* Counts events that a repeated state of the sequencers does not cover: synchronised cores or
     * swapped rings; registers or addresses read from memory; possible changes of memory. */
    uint64_t meetings, looks, changes;
    bool is_endless; /* the whole state repeats: it will never end */
    uint64_t back_branches;
    struct engine_watch *watch; /* NULL until a program has jumped back many times */
    struct ntk_vec offers;      /* engine_pair.c: struct engine_offer */
    struct ntk_vec exchanges;   /* engine_pair.c: struct engine_exchange */
    uint32_t exchanges_under_way;
    struct run runs[NTK_ENGINE_PAIR_MAX]; /* last member: only `count` are allocated */
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

/* NULL for a single core. */
static inline struct run *run_partner(struct run *run)
{
    return run->group->count > 1 ? &run->group->runs[run_index(run) ^ 1U] : NULL;
}

/* --- engine_loop.c --- */

void engine_pending_push(struct run *run, uint64_t time_ps, enum ntk_engine_pending_kind kind,
                         uint32_t index);
/* Whether a ends before b. */
static inline bool engine_pending_before(const struct ntk_engine_pending *a,
                                         const struct ntk_engine_pending *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps : a->order < b->order;
}
/* engine: the one that changes it; NTK_ENGINE_DMA for a queue. */
void engine_semaphore_add(struct run *run, uint32_t engine, uint32_t semaphore, uint32_t value);
void engine_event_set(struct run *run, uint32_t engine, uint32_t number, bool is_set);
/* Runs all of them until each has ended or is blocked. */
void engine_loop(struct engine_group *group);

/* --- engine_run.c --- */

/* Starts dma; exchanges are in engine_pair.c. */
void engine_dma_start(struct run *run, uint32_t dma_index);
/* Distributes the pieces of one transfer to DMA engines; source: of the read data. Returns the time
 * of the last byte. */
uint64_t engine_transfer_schedule(struct run *run, const struct ntk_engine_dma *dma,
                                  uint32_t number, const struct ntk_engine_transfer *transfer,
                                  const struct ntk_engine_side *source, uint64_t ready_ps,
                                  uint64_t *first_ps);
/* Records that a queue set is moving these bytes. */
void engine_dma_interval(struct run *run, uint64_t first_ps, uint64_t done_ps);
void engine_dma_count(struct run *run, const struct ntk_engine_transfer *transfer);
void engine_dma_signal(struct run *run, const struct ntk_engine_dma *dma);
/* False when an index was out of bounds. */
bool engine_dma_complete(struct run *run, uint32_t dma_index);
/* Merges DMA intervals up to that time into run->dma_busy_ps; later ones are kept. */
void engine_intervals_fold(struct run *run, uint64_t until_ps);
const struct ntk_engine_side *engine_sources_of(const struct run *run,
                                                const struct ntk_engine_transfer *transfer);
/* --- engine_flow.c --- */

/* At the start of a run of a program with jumps or registers. */
void engine_flow_reset(struct run *run);
/* Load, store, move or calculate. */
void engine_flow_register(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr);
/* After a branch, call or return: state->next is the next instruction. */
void engine_flow_jump(struct run *run, uint32_t engine, const struct ntk_engine_instr *instr);
/* The engine is at the end of its function: returns to the innermost caller with instructions
 * left. */
void engine_flow_return(struct run *run, struct engine_state *state, uint32_t engine);

/* --- engine_endless.c --- */

/* Call it after an engine has jumped back; sets group->is_endless if the state repeats. */
void engine_endless_look(struct run *run, uint32_t engine);
/* Skips whole rounds up to the time limit. */
void engine_endless_spin(struct engine_group *group);
void engine_endless_fini(struct engine_group *group);

/* --- engine_pair.c --- */

/* An engine is at a barrier that it waits for; true if this may enable the other core. */
bool engine_barrier_arrive(struct run *run, uint32_t engine);
bool engine_barrier_open(const struct run *run, uint32_t engine);
/* A sendrecv has started: offers its data, or matches the other core's offer. False: they do not
 * match. */
bool engine_exchange_start(struct run *run, uint32_t dma_index);
/* The data of both has arrived. */
void engine_exchange_complete(struct run *run, uint32_t exchange_index);
/* Whether the core has an unclaimed offer. */
bool engine_exchange_waits(const struct run *run);
/* Called for a group that has completed. */
void engine_remote_signal(struct run *run, const struct ntk_engine_dma *dma);
void engine_pair_init(struct engine_group *group);
void engine_pair_fini(struct engine_group *group);

#endif
