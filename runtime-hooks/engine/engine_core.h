/* SPDX-License-Identifier: MIT */
/*
 * engine_core - the hardware state of one software core, and the buffers of its runs.
 *
 * Private to the engine: the public interface is engine.h.
 *
 * Threads: one at a time per core.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_CORE_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_CORE_H

#include "runtime-hooks/engine/engine.h"
#include "runtime-hooks/engine/engine_writes.h"
#include "runtime-hooks/engine/kernel_pack.h"
#include "runtime-hooks/engine/kernel_select.h"
#include "runtime-hooks/engine/kernel_tile.h"
#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_engine_compute;
struct ntk_engine_program;

enum ntk_engine_pending_kind {
    NTK_ENGINE_PENDING_INSTR,
    NTK_ENGINE_PENDING_DMA,
    NTK_ENGINE_PENDING_EXCHANGE, /* an exchange between both cores, in the heap of the first core */
};

/* A future end. `order` breaks ties, so that the timeline is the same in every run. */
struct ntk_engine_pending {
    uint64_t time_ps;
    uint64_t order;
    uint32_t kind;
    uint32_t index; /* index of the engine, or in the program's dmas, or in the group's exchanges */
};

struct ntk_engine_interval {
    uint64_t start_ps, end_ps;
};

#define NTK_ENGINE_CALLS_MAX 16 /* maximum depth of calls */

/* Where a caller continues after a return, as indices of instructions. */
struct ntk_engine_frame {
    uint32_t next, count;
};

struct ntk_engine_core {
    unsigned generation;
    const struct ntk_engine_core_spec *spec;
    uint8_t *memory; /* state buffer, then PSUM, between inaccessible pages */
    size_t memory_bytes;
    uint8_t *sbuf, *psum;
    struct ntk_engine_writes written; /* parts that programs have written since they were cleared */
    uint32_t semaphores[NTK_ISA_SEMAPHORES];
    bool events[NTK_ISA_EVENTS];
    /* Registers of the sequencers; set to 0 only for programs with registers or calls. */
    int32_t registers[NTK_ENGINE_SEQUENCER_COUNT][NTK_ISA_REGISTERS];
    struct ntk_engine_frame frames[NTK_ENGINE_SEQUENCER_COUNT][NTK_ENGINE_CALLS_MAX];
    struct ntk_rng rng[NTK_ENGINE_SEQUENCER_COUNT][NTK_ISA_PARTITIONS];
    struct ntk_latches latches;
    struct ntk_rng noise;     /* random numbers, which continue from one run to the next */
    struct ntk_rng *rounding; /* the same, in a run with stochastic rounding; otherwise NULL */
    /* Buffers of a run, grown before it starts, and reused. */
    struct ntk_tile_scratch scratch;
    struct ntk_tile_packs *packs; /* NULL until the first program with a matmul */
    void *row_memory;
    float *matmul_memory;
    uint8_t *bounce;
    uint64_t bounce_bytes;
    struct ntk_engine_pending *pending; /* binary heap */
    struct ntk_engine_interval *intervals;
    uint64_t *queue_done_ps; /* indexed by queue set */
    uint64_t *queue_starts;  /* by queue set: number of dma_copy instructions started */
    uint64_t *queue_rings;   /* by queue set: 1 + instance of its current ring; 0: none yet */
    uint64_t *cells;         /* values of the pointer variables */
    uint64_t cell_capacity;
    uint64_t pending_capacity, interval_capacity, queue_capacity;
};

/* Computes one instruction; returns true if it wrote a NaN. */
bool ntk_engine_compute(struct ntk_engine_core *core, uint32_t engine,
                        const struct ntk_engine_compute *work,
                        const struct ntk_engine_printer *printer);

/* Grows the buffers for the program, and records what it may write. Returns 0 or -ENOMEM. */
int ntk_engine_core_prepare(struct ntk_engine_core *core, const struct ntk_engine_program *program);

#ifdef __cplusplus
}
#endif
#endif
