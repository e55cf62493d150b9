/* SPDX-License-Identifier: MIT */
/*
 * dma_traffic - counts packets, bytes and active time of DMA, by kind of queue.
 *
 * Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_DMA_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_DMA_TRAFFIC_H

#include "profiler/analysis/interval.h"
#include "profiler/trace/trace.h"

struct ntk_dma_share {
    uint64_t packet_count;
    uint64_t bytes_count;
    int64_t active_ps; /* union of packet times */
};

struct ntk_dma_traffic {
    struct ntk_dma_share all;
    struct ntk_dma_share fixed;   /* all classes except the two dynamic classes */
    struct ntk_dma_share dynamic; /* the two dynamic classes */
    struct ntk_dma_share classes[NTK_TRACE_DMA_CLASS_COUNT];
    int64_t packet_ps;    /* sum of packet times */
    uint64_t queue_count; /* number of (engine, queue) pairs in the file */
};

/* Returns the number of packets in queues with descriptors created before the run. */
uint64_t ntk_dma_prepared_packets(const struct ntk_dma_traffic *traffic);

/* State of the same analysis for a shared walk: packets are passed in order of their start. */
struct ntk_dma_counting {
    struct ntk_dma_traffic traffic;
    struct ntk_cover all, fixed, dynamic, classes[NTK_TRACE_DMA_CLASS_COUNT];
};
void ntk_dma_counting_add(struct ntk_dma_counting *counting, const struct ntk_trace_packet *packet);
void ntk_dma_counting_end(struct ntk_dma_counting *counting, const struct ntk_trace *trace,
                          struct ntk_dma_traffic *out_traffic);

void ntk_analysis_dma_traffic(const struct ntk_trace *trace, struct ntk_dma_traffic *out_traffic);

#endif
