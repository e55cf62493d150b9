/* SPDX-License-Identifier: MIT */
/*
 * ceilings - computes the peak compute and memory rates for the part of the chip that an execution
 * used.
 *
 * The compute rate is the tensor peak of one core in 16 bits, divided by the weight of the element
 * type, times the cores that ran. The types of executed matrix products are used; for several types
 * it is the peak rate of this mix. Without products it is the 16-bit peak.
 *
 * The memory rate is the smaller rate of the DMA engines that moved data and the memory stacks of
 * the cores that ran. A core ran when it executed an instruction of its program that computes or
 * moves data; if none did, all count. Packets of at most 4 bytes change a semaphore, and fetching
 * programs does not count as data. If the engines are not recorded, all engines of those cores
 * count.
 *
 * Rates are in profiler/trace/chip.h, weights in docs/formats/analyses.md. The result needs no
 * freeing.
 */
#ifndef NTK_PROFILER_ANALYSIS_CEILINGS_H
#define NTK_PROFILER_ANALYSIS_CEILINGS_H

#include "profiler/analysis/cost_table.h"

#define NTK_CEILING_TYPES_MAX 16 /* maximum number of element types; further types have no entry */

struct ntk_ceiling_type {
    uint8_t dtype;     /* enum ntk_dtype */
    unsigned quarters; /* time as a multiple of the same product in 16 bits, in quarters */
    uint64_t flops;    /* useful operations in the execution */
    double core_flops_per_second; /* peak of one core */
};

struct ntk_ceilings {
    size_t core_count, ran_count;
    double flops_per_second; /* peak for the mix of types, for the cores that ran */
    double plain_per_second; /* peak of the same cores in 16 bits */
    bool has_transposes;     /* the tensor engine also moved data without computing */
    size_t type_count;
    struct ntk_ceiling_type types[NTK_CEILING_TYPES_MAX]; /* types with the most flops are first */
    bool dma_engines_known;
    unsigned dma_engine_count, stack_count;
    /* peaks of the used DMA engines and memory stacks */
    double dma_bytes_per_second, memory_bytes_per_second;
    double bytes_per_second; /* the smaller of the two */
};

/* Returns false if the machine, or the type of a product, is unknown. */
bool ntk_analysis_ceilings(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_ceilings *out_ceilings);

/* Computes mfu_estimated_percent of the summary, from the number of the model's operations if the
 * NEFF has it, else from the executed products, counted by the rules of the trace's version.
 * Returns false if unknown. */
bool ntk_analysis_mfu(const struct ntk_program *program, const struct ntk_cost_table *costs,
                      double *out_mfu);

/* Returns a name such as "bf16", "fp32" or "fp32 in one pass"; uses buf for an unnamed type. */
const char *ntk_ceiling_type_name(const struct ntk_ceiling_type *type, char *buf, size_t buf_bytes);

#endif
