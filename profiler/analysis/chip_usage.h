/* SPDX-License-Identifier: MIT */
/*
 * chip_usage - computes the share of the state buffer and PSUM in use over time: a row for each
 * time at which it may change.
 *
 * A byte is in use from the start of an instruction that writes it to the end of the last
 * instruction that reads it before the next write, or, without a reader, to the end of the writing
 * instruction. Adjacent uses of a byte are one. A reading instruction counts if it started before
 * the next write. There is a row at the start of each write and at the end of each use, with a
 * precision of 1 ps.
 *
 * The rows are the same as in the original tool: in a vendor's program DMA neither writes nor
 * reads, because captures lack its notifications. In the open encoding it does, when the
 * instruction that starts it runs.
 *
 * Cores with unknown ranges (chip_access.h) have no rows. Memory does not grow with the capture.
 * Errors:  -ENOMEM, or the result of put.
 */
#ifndef NTK_PROFILER_ANALYSIS_CHIP_USAGE_H
#define NTK_PROFILER_ANALYSIS_CHIP_USAGE_H

#include "profiler/analysis/chip_access.h"

#define NTK_CHIP_USAGE_PLACES NTK_CHIP_BANKS

struct ntk_chip_usage {
    enum ntk_chip_space space;
    int64_t time_ps;
    float mean;
    unsigned place_count; /* NTK_CHIP_SAMPLES for partitions or NTK_CHIP_BANKS for banks */
    /* Share of each partition; 1 for a bank with any byte in use. */
    float places[NTK_CHIP_USAGE_PLACES];
};

/* Receives a row. A negative result stops the analysis. */
typedef int ntk_chip_usage_put(void *ctx, const struct ntk_chip_usage *usage);

/* Reports the rows of the spaces (bits) in order of time; at equal times the state buffer is
 * first. */
int ntk_analysis_chip_usage(const struct ntk_program *program, size_t core_index, unsigned spaces,
                            ntk_chip_usage_put *put, void *ctx);

#endif
