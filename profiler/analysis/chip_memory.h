/* SPDX-License-Identifier: MIT */
/*
 * chip_memory - computes the contents of the state buffer and PSUM that are still needed: the
 * values, the amount over time, its peak, and the layers that produced it.
 *
 * It counts bytes per partition for the lives in chip_lives.h, whatever partitions a tile uses.
 *
 * It requires all ranges of chip_access.h (prepared transfers need the NEFF). Errors: -ENOMEM,
 * -ENODATA.
 *
 * Owner:   the caller provides the storage of the result; ntk_chip_memory_fini() frees its content.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_MEMORY_H
#define NTK_PROFILER_ANALYSIS_CHIP_MEMORY_H

#include "profiler/analysis/chip_lives.h"

/* Maximum number of listed values: those with the largest product of bytes and time. */
#define NTK_CHIP_LIVES_MAX 2000

struct ntk_chip_memory_part {
    uint32_t layer; /* layer that produced the values */
    uint64_t peak_bytes;
};

struct ntk_chip_memory_space {
    size_t core; /* index in the trace */
    enum ntk_chip_space space;
    uint64_t capacity_bytes; /* bytes per partition; 0 if the machine is unknown */
    uint64_t peak_bytes;
    int64_t peak_ps;
    double mean_bytes; /* mean over the execution */
    uint64_t *pieces;  /* maximum in each of piece_count equal pieces of the execution */
    size_t part_count;
    struct ntk_chip_memory_part *parts; /* values at the peak, largest first */
    uint64_t value_count;               /* number of all values */
    size_t life_count;
    struct ntk_chip_life *lives; /* listed values, in order of time */
};

struct ntk_chip_memory {
    int64_t total_ps;
    size_t piece_count;
    size_t space_count; /* two for each core with values */
    struct ntk_chip_memory_space *spaces;
};

int ntk_analysis_chip_memory(const struct ntk_program *program, size_t piece_count,
                             struct ntk_chip_memory *out_memory);
void ntk_chip_memory_fini(struct ntk_chip_memory *memory);

#endif
