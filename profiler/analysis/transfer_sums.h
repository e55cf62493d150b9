/* SPDX-License-Identifier: MIT */
/*
 * transfer_sums - counts transfers, and adds up their written bytes and times.
 *
 * Version 2.32 counts all transfers that instructions started, from the instructions and the groups
 * of the NEFF: count and bytes need no packets. Version 2.28 counts transfers with prepared
 * descriptors, if the packets of all of them are known.
 *
 * During the call, memory is used by transfers.h.
 */
#ifndef NTK_PROFILER_ANALYSIS_TRANSFER_SUMS_H
#define NTK_PROFILER_ANALYSIS_TRANSFER_SUMS_H

#include "profiler/analysis/dma_traffic.h"
#include "profiler/analysis/program.h"

struct ntk_transfer_sums {
    bool is_known; /* true if count and bytes_count are known */
    uint64_t count;
    uint64_t bytes_count; /* written bytes, without bytes of semaphore writes */
    bool has_time;        /* true if all packets of the transfers are known */
    /* sum of times from the first packet to the end of the last packet of each transfer */
    int64_t sum_ps;
};

/* If program is NULL, creates a temporary one. Returns 0 or -errno of a long list. */
int ntk_analysis_transfer_sums(const struct ntk_trace *trace, const struct ntk_program *program,
                               const struct ntk_dma_traffic *traffic,
                               struct ntk_transfer_sums *out_sums);

#endif
