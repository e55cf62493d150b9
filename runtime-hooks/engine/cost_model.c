/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/cost_model.h"

#include <assert.h>

#define PARTITIONS 128

enum { NUMBER_V1 = 1, NUMBER_V2, NUMBER_V3, NUMBER_V4, NUMBER_MLU1, NUMBER_MLU2 };

static const struct ntk_engine_core_spec specs[] = {
#define NTK_CORE_GENERATION(symbol, arch, rows, columns, pe_mhz, dve_mhz, act_mhz, pool_mhz,   \
                            sp_mhz, sbuf_bytes, psum_bytes, stack_rate, dma_engines, dma_rate) \
    { .generation = NUMBER_##symbol,                                                           \
      .name = arch,                                                                            \
      .pe_rows = rows,                                                                         \
      .pe_columns = columns,                                                                   \
      .clock_mhz = { pe_mhz, act_mhz, pool_mhz, dve_mhz, sp_mhz },                             \
      .partition_count = PARTITIONS,                                                           \
      .sbuf_partition_bytes = (sbuf_bytes) / PARTITIONS,                                       \
      .psum_partition_bytes = (psum_bytes) / PARTITIONS,                                       \
      .dma_engine_count = dma_engines,                                                         \
      .dma_bytes_per_us = dma_rate,                                                            \
      .tensor_peak_flops = 2e6 * (rows) * (columns) * (pe_mhz),                                \
      .hbm_bytes_per_second = stack_rate },
#include "shared/abi/machine.def"
};
static_assert(sizeof specs / sizeof specs[0] == NTK_ENGINE_GENERATION_MAX, "a row per generation");

static const struct {
    uint32_t floor, numerator, denominator, extra;
} rules[NTK_COST_RULE_COUNT] = {
#define X(id, floor, numerator, denominator, extra) { floor, numerator, denominator, extra },
    NTK_COST_RULES(X)
#undef X
};

/* The tensor engine's shortest interval between matmuls, and the passes of an fp32 product. */
#define PE_MIN_COLUMNS 64
#define PE_FP32_PASSES 4
/* Efficiency of a DMA, depending on its contiguous run: full from 4 KiB on, a tenth up to 256
 * bytes, linear in between. */
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

uint64_t ntk_cost_local_gather_cycles(uint64_t n, uint64_t width, uint64_t bytes)
{
    /* The result is n / C with C = ((28 + t e) / (t e)) / min(4 / size, e) and t = 4; min(...) =
     * min(4, e size) / size. */
    uint64_t steps = 4 * width;
    uint64_t numerator = n * steps * smaller(4, width * bytes);
    uint64_t denominator = bytes * (28 + steps);

    return 150 + (numerator + denominator - 1) / denominator;
}

uint64_t ntk_cost_cycles_to_ps(const struct ntk_engine_core_spec *spec, enum ntk_engine engine,
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
    /* Computes bytes / (rate x efficiency) in ps: there are 10^9 ps per ms, and the rate is in
     * bytes per us. */
    uint64_t bytes_per_ms = (uint64_t)spec->dma_bytes_per_us * permille;

    /* Split into quotient and remainder, so that 2^63 bytes do not overflow. */
    return bytes / bytes_per_ms * 1000000000ULL +
           (bytes % bytes_per_ms * 1000000000ULL + bytes_per_ms - 1) / bytes_per_ms;
}

uint64_t ntk_cost_dma_transpose_bytes(uint64_t bytes)
{
    return bytes + bytes / 9 + (bytes % 9 != 0);
}
