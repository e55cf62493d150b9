/* SPDX-License-Identifier: MIT */
/*
 * prepared - how many transfers of prepared descriptors were done, how long did each take, how much
 * did they write?
 *
 * Not known without a NEFF, and where the packets of any of them are not.
 * Pure: trace to result. Memory is that of transfers.h, for the time of the call.
 */
#ifndef NTK_PROFILER_ANALYSIS_PREPARED_H
#define NTK_PROFILER_ANALYSIS_PREPARED_H

#include "profiler/trace/trace.h"

struct ntk_prepared {
    bool is_known;
    uint64_t count;
    uint64_t bytes_count; /* written, without those of semaphore writes */
    int64_t sum_ps;       /* from the first to the end of the last packet of each */
};

/* 0 or -errno of a long list. */
int ntk_analysis_prepared(const struct ntk_trace *trace, struct ntk_prepared *out_prepared);

#endif
