/* SPDX-License-Identifier: MIT */
/*
 * sbuf_allocations - finds the bytes of the state buffer that hold a value, with start, end and
 * writing instruction.
 *
 * Partitions 0, 32, 64 and 96 are examined separately. A value occupies its bytes from the start of
 * the write to the end of the last read before they are overwritten; without a read, to the end of
 * the write. Accesses of a transfer have the times of its packets if known, else the times of the
 * instruction that started it. Neighbouring bytes with the same writer and end are one allocation.
 * Contents before the first write are unknown and have none; accumulation keeps the value of its
 * first writer.
 *
 * Cores with unknown ranges (chip_access.h) have no rows. Memory does not grow with the capture.
 * Errors:  -ENOMEM, -errno of a sorter, or the result of put.
 */
#ifndef NTK_PROFILER_ANALYSIS_SBUF_ALLOCATIONS_H
#define NTK_PROFILER_ANALYSIS_SBUF_ALLOCATIONS_H

#include "profiler/analysis/chip_access.h"
#include "profiler/analysis/transfers.h"

struct ntk_sbuf_allocation {
    int64_t start_ps, end_ps;
    uint32_t low, high; /* bytes of a partition, [low, high) */
    /* index in the core of the writer, or of the instruction that started the writing transfer */
    uint32_t instruction;
    unsigned partition; /* 0, 32, 64, 96 */
};

/* Receives a row. A negative result stops the analysis. */
typedef int ntk_sbuf_allocation_put(void *ctx, const struct ntk_sbuf_allocation *allocation);

/* Reports rows sorted by start, address and partition. */
int ntk_analysis_sbuf_allocations(const struct ntk_transfers *transfers, size_t core_index,
                                  ntk_sbuf_allocation_put *put, void *ctx);
/* Checks that all ranges of the core are known. Returns 0 or -ENOMEM. */
int ntk_sbuf_allocations_are_known(const struct ntk_program *program, size_t core_index,
                                   bool *out_is_known);

#endif
