/* SPDX-License-Identifier: MIT */
/*
 * queue_bytes - counts bytes moved over queues of the types in, out and data.
 *
 * It counts written bytes of executed transfers in the NEFF, without semaphore writes of packets.
 * Compilers use "in" both for loads of inputs and for stores of outputs. The bytes are unknown if
 * there are prepared packets without a NEFF.
 *
 * Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_QUEUE_BYTES_H
#define NTK_PROFILER_ANALYSIS_QUEUE_BYTES_H

#include "profiler/analysis/dma_traffic.h"

struct ntk_queue_bytes {
    bool is_known;
    uint64_t input_bytes, output_bytes, weight_bytes;
};

/* traffic of the same trace saves a pass over packets; may be NULL. */
void ntk_analysis_queue_bytes(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                              struct ntk_queue_bytes *out_bytes);

#endif
