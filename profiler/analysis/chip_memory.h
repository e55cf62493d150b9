/* SPDX-License-Identifier: MIT */
/*
 * chip_memory - the contents of the state buffer and of PSUM that are still needed: the values, the
 * amount over time, its peak, and the layers that made it.
 *
 * Counts bytes of a partition, for any partitions of a tile, of the lives in chip_lives.h.
 *
 * Requires all ranges of chip_access.h (prepared transfers need the NEFF); else -ENODATA. Pure:
 * trace to result; -ENOMEM, -ENODATA.
 *
 * Owner:   the result is the caller's storage; ntk_chip_memory_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_MEMORY_H
#define NTK_PROFILER_ANALYSIS_CHIP_MEMORY_H

#include "profiler/analysis/chip_lives.h"

/* More values than this: only those with the largest product of bytes and time are listed. */
#define NTK_CHIP_LIVES_MAX 2000

struct ntk_chip_memory_part {
    uint32_t layer; /* that produced the values */
    uint64_t peak_bytes;
};

struct ntk_chip_memory_space {
    size_t core; /* index in the trace */
    enum ntk_chip_space space;
    uint64_t capacity_bytes; /* of a partition; 0: the machine is unknown */
    uint64_t peak_bytes;
    int64_t peak_ps;
    double mean_bytes; /* over the execution */
    uint64_t *pieces;  /* the maximum in each of piece_count equal pieces of the execution */
    size_t part_count;
    struct ntk_chip_memory_part *parts; /* at the peak, largest first */
    uint64_t value_count;               /* total number */
    size_t life_count;
    struct ntk_chip_life *lives; /* in time order */
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
