/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/cost_model.h"

#include <assert.h>

/* Per generation, NC-v1 first: docs/cost-model.md, section "Core generations". */
static const struct ntk_engine_core_spec specs[] = {
    { 1,
      "NC-v1",
      128,
      64,
      { 1000, 1000, 1000, 1000, 1000 },
      128,
      192 * 1024,
      16 * 1024,
      3,
      17000,
      16.384e12,
      26.8e9 },
    { 2,
      "NC-v2",
      128,
      128,
      { 2800, 1400, 1400, 1120, 1400 },
      128,
      192 * 1024,
      16 * 1024,
      16,
      17000,
      91.7504e12,
      410e9 },
    { 3,
      "NC-v3",
      128,
      128,
      { 2400, 1200, 1200, 960, 1200 },
      128,
      224 * 1024,
      16 * 1024,
      16,
      23000,
      78.6432e12,
      716e9 },
    { 4,
      "NC-v4",
      128,
      128,
      { 2400, 1200, 1200, 1200, 1200 },
      128,
      256 * 1024,
      16 * 1024,
      16,
      33000,
      78.6432e12,
      1225e9 },
};

static const struct {
    uint32_t floor, numerator, denominator, extra;
} rules[NTK_COST_RULE_COUNT] = {
#define X(id, floor, numerator, denominator, extra) { floor, numerator, denominator, extra },
    NTK_COST_RULES(X)
#undef X
};

/* The tensor engine: the shortest interval between matmuls, and the passes an fp32 product needs. */
#define PE_MIN_COLUMNS 64
#define PE_FP32_PASSES 4
/* Efficiency of a DMA by its contiguous run: full from 4 KiB, a tenth up to 256 bytes, linear between. */
#define DMA_FULL_RUN_BYTES 4096
#define DMA_POOR_RUN_BYTES 256
#define DMA_POOR_PERMILLE 100

const struct ntk_engine_core_spec *ntk_engine_core_spec_get(unsigned generation)
{
    if (generation < NTK_ENGINE_GENERATION_MIN || generation > NTK_ENGINE_GENERATION_MAX) {
        return NULL;
    }
    return &specs[generation - NTK_ENGINE_GENERATION_MIN];
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t ntk_cost_cycles(enum ntk_cost_rule rule, uint64_t elements_per_partition)
{
    uint64_t cycles;

    assert(rule < NTK_COST_RULE_COUNT);
    cycles = (elements_per_partition * rules[rule].numerator + rules[rule].denominator - 1) /
             rules[rule].denominator;
    return larger(rules[rule].floor, cycles) + rules[rule].extra;
}

uint64_t ntk_cost_matmul_cycles(uint64_t stationary_columns, uint64_t moving_columns, bool is_fp32)
{
    uint64_t cycles = larger(smaller(PE_MIN_COLUMNS, stationary_columns), moving_columns);

    return larger(cycles, 1) * (is_fp32 ? PE_FP32_PASSES : 1);
}

uint64_t ntk_cost_pe_transpose_cycles(uint64_t partitions, uint64_t columns)
{
    return larger(larger(partitions, smaller(PE_MIN_COLUMNS, columns)), 1);
}

uint64_t ntk_cost_cycles_to_ps(const struct ntk_engine_core_spec *spec, enum ntk_engine_id engine,
                               uint64_t cycles)
{
    uint64_t mhz;

    assert(engine < NTK_ENGINE_SEQUENCER_COUNT);
    mhz = spec->clock_mhz[engine];
    return (cycles * 1000000 + mhz / 2) / mhz;
}

uint64_t ntk_cost_dma_ps(const struct ntk_engine_core_spec *spec, uint64_t bytes,
                         uint64_t run_bytes)
{
    uint64_t run = smaller(larger(run_bytes, DMA_POOR_RUN_BYTES), DMA_FULL_RUN_BYTES);
    uint64_t permille = DMA_POOR_PERMILLE + (1000 - DMA_POOR_PERMILLE) *
                                                (run - DMA_POOR_RUN_BYTES) /
                                                (DMA_FULL_RUN_BYTES - DMA_POOR_RUN_BYTES);
    /* bytes / (rate x efficiency) in ps: 10^9 ps per ms, rate in bytes per us. */
    uint64_t bytes_per_ms = (uint64_t)spec->dma_bytes_per_us * permille;

    /* Split so that 2^63 bytes do not overflow. */
    return bytes / bytes_per_ms * 1000000000ULL +
           (bytes % bytes_per_ms * 1000000000ULL + bytes_per_ms - 1) / bytes_per_ms;
}
