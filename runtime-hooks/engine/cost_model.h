/* SPDX-License-Identifier: MIT */
/*
 * cost_model - durations in device time.
 *
 * docs/cost-model.md has every number and its source; in the code they are only in the table of
 * cost_model.c. Times are whole picoseconds; cycles are those of the engine's clock.
 *
 * Threads: any; constant data.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_COST_MODEL_H
#define NTK_RUNTIME_HOOKS_ENGINE_COST_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * cycles = max(floor, n * numerator / denominator) + extra, n = elements per partition (rounded up)
 *
 *        id               floor num den extra */
#define NTK_COST_RULES(X)                                                                          \
    X(CONTROL, 64, 0, 1, 0)      /* semaphores, DMA triggers, no-operations: the issue interval */ \
    X(ELEMENT, 64, 1, 1, 0)      /* one element per partition and cycle; also the default */       \
    X(ELEMENT_HALF, 64, 1, 2, 0) /* zero bf16 memset; bf16 add and max reductions */               \
    X(ELEMENT_DOUBLE, 64, 2, 1, 0)  /* two SBUF sources through one read port */                   \
    X(ELEMENT_REDUCE, 64, 1, 1, 64) /* element-wise, followed by a reduction */                    \
    X(RECIPROCAL, 64, 8, 1, 0)                                                                     \
    X(POOL_INDEX, 0, 1, 1, 150) /* iota, affine_select: start-up of the pool engine */             \
    X(BN_AGGR, 64, 13, 3, 0)                                                                       \
    X(DYNAMIC_COPY, 600, 1, 1, 0) /* addresses come from the state buffer */                       \
    X(TOPK, 0, 4, 1, 0)           /* plus one cycle for each element that is kept */

enum ntk_cost_rule {
#define X(id, floor, numerator, denominator, extra) NTK_COST_##id,
    NTK_COST_RULES(X)
#undef X
        NTK_COST_RULE_COUNT
};

uint64_t ntk_cost_cycles(enum ntk_cost_rule rule, uint64_t elements_per_partition);
/* Cycles of a product of stationary and moving columns; fp32 inputs take four passes. */
uint64_t ntk_cost_matmul_cycles(uint64_t stationary_columns, uint64_t moving_columns, bool is_fp32);
/* Cycles of a transpose on the tensor engine: the tile (partitions x columns) is the moving
 * side. */
uint64_t ntk_cost_pe_transpose_cycles(uint64_t partitions, uint64_t columns);

/* Cycles for n elements of a partition, in indices of `width` elements of `bytes` each. */
uint64_t ntk_cost_local_gather_cycles(uint64_t n, uint64_t width, uint64_t bytes);

/* Only for engines with a sequencer. */
uint64_t ntk_cost_cycles_to_ps(const struct ntk_engine_core_spec *spec, enum ntk_engine engine,
                               uint64_t cycles);

/* Multiplies a duration by the factor of a fault; factors up to 1 have no effect. Limited to the
 * maximum time. */
static inline uint64_t ntk_cost_slower(uint64_t duration, double factor)
{
    double slower = (double)duration * factor;

    if (!(factor > 1)) {
        return duration;
    }
    return slower < 0x1p64 ? (uint64_t)slower : UINT64_MAX;
}

/* Time from the trigger to the first byte. */
#define NTK_COST_DMA_LATENCY_PS 1300000ULL
/* The time to move bytes on one DMA engine, in contiguous runs of run_bytes. */
uint64_t ntk_cost_dma_ps(const struct ntk_engine_core_spec *spec, uint64_t bytes,
                         uint64_t run_bytes);
/* The number of bytes that take as long to copy as these take to transpose. */
uint64_t ntk_cost_dma_transpose_bytes(uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
