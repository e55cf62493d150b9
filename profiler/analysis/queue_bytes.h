/* SPDX-License-Identifier: MIT */
/*
 * queue_bytes - bytes moved over queues of the types in, out and data.
 *
 * Counts written bytes of executed transfers of the NEFF, without semaphore writes of packets.
 * Compilers use "in" for loads of inputs and stores of outputs alike. Unknown if prepared packets
 * moved and no NEFF describes them.
 *
 * Pure: trace to result. Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_QUEUE_BYTES_H
#define NTK_PROFILER_ANALYSIS_QUEUE_BYTES_H

#include "profiler/analysis/dma_traffic.h"

struct ntk_queue_bytes {
    bool is_known;
    uint64_t input_bytes, output_bytes, weight_bytes;
};

/* traffic of the same trace saves a pass over packets; NULL: not available. */
void ntk_analysis_queue_bytes(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                              struct ntk_queue_bytes *out_bytes);

#endif
