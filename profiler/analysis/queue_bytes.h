/* SPDX-License-Identifier: MIT */
/*
 * queue_bytes - bytes of the packets of input, output and weight queues.
 *
 * Of a queue with IO in its name the NEFF says what its transfers touch: inputs, outputs, or constants. Not
 * known without the NEFF, or when packets came over a queue that holds several of these.
 *
 * Pure: trace to result. Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_QUEUE_BYTES_H
#define NTK_PROFILER_ANALYSIS_QUEUE_BYTES_H

#include "profiler/trace/trace.h"

struct ntk_queue_bytes {
    bool is_known;
    uint64_t input_bytes, output_bytes, weight_bytes;
};

void ntk_analysis_queue_bytes(const struct ntk_trace *trace, struct ntk_queue_bytes *out_bytes);

#endif
