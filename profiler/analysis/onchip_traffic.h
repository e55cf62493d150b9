/* SPDX-License-Identifier: MIT */
/*
 * onchip_traffic - bytes that the instructions of an execution read from and wrote to the state
 * buffer and the accumulation buffer.
 *
 * Known for programs in the open encoding (docs/isa.md), which has readable operands: each time an
 * instruction ran, its tiles count once, and a repeated element as often as it is read;
 * accumulating in the accumulation buffer is a write. Of DMA, the sides in these buffers count.
 *
 * Known for a vendor's programs too (docs/formats/vendor-slots.md), by the rules of the trace's
 * version. With an unknown instruction, sums of the state buffer are absent, and those of the
 * accumulation buffer if it has an address in it. Data of queues prepared before the run goes to
 * the state buffer, and only a NEFF has its size.
 *
 * Pure: trace to result. Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_ONCHIP_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_ONCHIP_TRAFFIC_H

#include "profiler/analysis/dma_traffic.h"

struct ntk_onchip_traffic {
    bool sbuf_is_known, psum_is_known;
    uint64_t uncounted; /* number of runs of instructions with unknown bytes */
    uint64_t sbuf_read_bytes, sbuf_write_bytes;
    uint64_t psum_read_bytes, psum_write_bytes;
    /* By instructions that read the accumulation buffer and write the state buffer. */
    uint64_t psum_to_sbuf_count, psum_to_sbuf_bytes;
};

void ntk_analysis_onchip_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *dma,
                                 struct ntk_onchip_traffic *out);

#endif
