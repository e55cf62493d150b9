/* SPDX-License-Identifier: MIT */
/*
 * chip_usage - the share of the state buffer and of PSUM that instructions have written and others
 * still read, over time: a row at each moment at which it may change.
 *
 * A byte is in use from the start of an instruction that writes it to the end of the last one that
 * reads it before the next write; or, without a reader, to the end of the writing one. Uses of a
 * byte that touch are one. Reading instructions count from one that began before the next write.
 * There is a row at the start of each write and at the end of each use, by the ps.
 *
 * As in the original tool, whose rows these are: in a vendor's program DMA neither writes nor
 * reads, for it has its own notifications, which captures lack. In the open encoding it does, when
 * the instruction runs that begins it.
 *
 * Nothing for cores where chip_access.h does not know all that ran. Memory does not grow with the
 * capture. Pure: trace to rows; -ENOMEM, or what put returned.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_USAGE_H
#define NTK_PROFILER_ANALYSIS_CHIP_USAGE_H

#include "profiler/analysis/chip_access.h"

#define NTK_CHIP_USAGE_PLACES NTK_CHIP_BANKS

struct ntk_chip_usage {
    enum ntk_chip_space space;
    int64_t time_ps;
    float mean;
    unsigned place_count; /* NTK_CHIP_SAMPLES partitions or NTK_CHIP_BANKS banks */
    /* For each partition its share; 1 for a bank with any byte in use. */
    float places[NTK_CHIP_USAGE_PLACES];
};

/* Less than 0 ends the rows. */
typedef int ntk_chip_usage_put(void *ctx, const struct ntk_chip_usage *usage);

/* Rows of the spaces (bits) in order of time, of one moment the state buffer first. */
int ntk_analysis_chip_usage(const struct ntk_program *program, size_t core_index, unsigned spaces,
                            ntk_chip_usage_put *put, void *ctx);

#endif
