/* SPDX-License-Identifier: MIT */
/*
 * dma_rate - computes the bytes per second that DMA moved at each moment.
 *
 * A packet moves its bytes evenly from its start to its end; the rate of a core is the sum over the
 * packets in progress. Points closer than NTK_DMA_RATE_STEP_PS to the previous one are omitted, as
 * in the original tool. Memory use is one entry per packet in progress.
 */
#ifndef NTK_PROFILER_ANALYSIS_DMA_RATE_H
#define NTK_PROFILER_ANALYSIS_DMA_RATE_H

#include "profiler/trace/trace.h"

#define NTK_DMA_RATE_STEP_PS 10000

struct ntk_dma_rate_point {
    int64_t time_ps;
    double bytes_per_second;
    uint64_t total_bytes; /* bytes of all packets started so far */
};

/* Returns the rate of one packet in bytes per second, with the precision and order of operations of
 * the original tool; 0 without a duration. */
static inline float ntk_packet_rate(const struct ntk_trace_packet *packet)
{
    float seconds = (float)((double)(packet->end_ps - packet->start_ps) * 1e-12);

    return seconds > 0 ? (float)packet->bytes_count / seconds : 0;
}

/* Receives a point. A negative result stops the analysis and is returned. */
typedef int ntk_dma_rate_put(void *ctx, const struct ntk_dma_rate_point *point);

/* Returns 0, -ENOMEM or the result of put. */
int ntk_analysis_dma_rate(const struct ntk_trace_core *core, ntk_dma_rate_put *put, void *ctx);

#endif
