/* SPDX-License-Identifier: MIT */
/*
 * sbuf_allocations - which bytes of the state buffer hold a value, from when to when, and which
 * instruction put it there.
 *
 * Looked at are the partitions 0, 32, 64 and 96, one by one. A value occupies its bytes from the
 * start of what wrote them to the end of the last read before they are overwritten; without a read
 * to the end of the write. What a transfer writes and reads is written and read by its packets
 * where they are known, else by the instruction that began it. Neighbouring bytes of one writer
 * with the same end are one allocation. What lay there before the first write is unknown and has
 * none; what an instruction adds to stays the value of its first writer.
 *
 * Nothing for cores where chip_access.h does not know all places. Memory does not grow with the
 * capture. Pure: trace to rows; -ENOMEM, -errno of a sorter, or what put returned.
 */
#ifndef NTK_PROFILER_ANALYSIS_SBUF_ALLOCATIONS_H
#define NTK_PROFILER_ANALYSIS_SBUF_ALLOCATIONS_H

#include "profiler/analysis/chip_access.h"
#include "profiler/analysis/transfers.h"

struct ntk_sbuf_allocation {
    int64_t start_ps, end_ps;
    uint32_t low, high;   /* bytes of a partition, [low, high) */
    uint32_t instruction; /* of the core: that wrote them, or began the transfer that did */
    unsigned partition;   /* 0, 32, 64, 96 */
};

/* Less than 0 ends the rows. */
typedef int ntk_sbuf_allocation_put(void *ctx, const struct ntk_sbuf_allocation *allocation);

/* In order of start, address and partition. */
int ntk_analysis_sbuf_allocations(const struct ntk_transfers *transfers, size_t core_index,
                                  ntk_sbuf_allocation_put *put, void *ctx);
/* Whether all places of the core are known. 0 or -ENOMEM. */
int ntk_sbuf_allocations_are_known(const struct ntk_program *program, size_t core_index,
                                   bool *out_is_known);

#endif
