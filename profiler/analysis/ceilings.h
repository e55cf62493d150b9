/* SPDX-License-Identifier: MIT */
/*
 * ceilings - the peak compute and memory rates of the part of the chip that an execution used.
 *
 * Compute: the tensor peak of one core in 16 bits, divided by the weight of the element type, times
 * the cores that ran. Types are those of the executed matrix products; for several types it is the
 * peak rate of this mix. Without products it is the 16-bit peak.
 *
 * Memory: the smaller rate of the DMA engines that moved data and the memory stacks of the cores
 * that ran. A core ran when it executed an instruction of its program that computes or moves data;
 * if none did, all count. Packets of at most 4 bytes change a semaphore, and fetching programs does
 * not count as data. If the engines are not recorded, all engines of those cores count.
 *
 * Rates: profiler/trace/chip.h; weights: docs/formats/analyses.md. Pure: trace to result; nothing
 * to free.
 */
#ifndef NTK_PROFILER_ANALYSIS_CEILINGS_H
#define NTK_PROFILER_ANALYSIS_CEILINGS_H

#include "profiler/analysis/cost_table.h"

#define NTK_CEILING_TYPES_MAX 16 /* element types in passes; further ones have no entry */

struct ntk_ceiling_type {
    uint8_t dtype;                /* enum ntk_dtype */
    unsigned quarters;            /* of the time of the same product in 16 bits */
    uint64_t flops;               /* useful ones of the execution */
    double core_flops_per_second; /* of one core */
};

struct ntk_ceilings {
    size_t core_count, ran_count;
    double flops_per_second; /* of the mix, of the cores that ran */
    double plain_per_second; /* the same cores in 16 bits */
    bool has_transposes;     /* the tensor engine also moved data without computing */
    size_t type_count;
    struct ntk_ceiling_type types[NTK_CEILING_TYPES_MAX]; /* the most flops first */
    bool dma_engines_known;
    unsigned dma_engine_count, stack_count;
    double dma_bytes_per_second, memory_bytes_per_second; /* of those engines, of those stacks */
    double bytes_per_second;                              /* the smaller one */
};

/* False: the machine, or the type of a product, is unknown. */
bool ntk_analysis_ceilings(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_ceilings *out_ceilings);

/* From the model's operations if the NEFF has their number, else from the executed products, as the
 * version of the trace counts them: mfu_estimated_percent of the summary. False: unknown. */
bool ntk_analysis_mfu(const struct ntk_program *program, const struct ntk_cost_table *costs,
                      double *out_mfu);

/* "bf16", "fp32", "fp32 in one pass"; uses buf for an unnamed type. */
const char *ntk_ceiling_type_name(const struct ntk_ceiling_type *type, char *buf, size_t buf_bytes);

#endif
