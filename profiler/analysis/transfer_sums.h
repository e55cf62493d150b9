/* SPDX-License-Identifier: MIT */
/*
 * transfer_sums - the number of transfers, their written bytes and times.
 *
 * Version 2.32 counts all transfers that instructions started, from the instructions and the groups
 * of the NEFF: count and bytes need no packets. Version 2.28 counts those with prepared
 * descriptors, if the packets of all of them are known.
 *
 * Pure: trace to result. Memory is that of transfers.h, for the time of the call.
 */
#ifndef NTK_PROFILER_ANALYSIS_TRANSFER_SUMS_H
#define NTK_PROFILER_ANALYSIS_TRANSFER_SUMS_H

#include "profiler/analysis/dma_traffic.h"
#include "profiler/analysis/program.h"

struct ntk_transfer_sums {
    bool is_known; /* count and bytes_count */
    uint64_t count;
    uint64_t bytes_count; /* written, without those of semaphore writes */
    bool has_time;        /* the packets of all of them are known */
    int64_t sum_ps;       /* from the first to the end of the last packet of each */
};

/* program: NULL creates a temporary one. 0 or -errno of a long list. */
int ntk_analysis_transfer_sums(const struct ntk_trace *trace, const struct ntk_program *program,
                               const struct ntk_dma_traffic *traffic,
                               struct ntk_transfer_sums *out_sums);

#endif
