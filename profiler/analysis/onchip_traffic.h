/* SPDX-License-Identifier: MIT */
/*
 * onchip_traffic - counts the bytes that the instructions of an execution read from and wrote to
 * the state buffer and the accumulation buffer.
 *
 * The bytes are known for programs in the open encoding (docs/isa.md), which has readable operands:
 * each time an instruction ran, its tiles count once, and a repeated element as often as it is
 * read; accumulating in the accumulation buffer is a write. For DMA, the sides in these buffers
 * count.
 *
 * They are also known for a vendor's programs (docs/formats/vendor-slots.md), by the rules of the
 * trace's version. With an unknown instruction, sums of the state buffer are absent, and sums of
 * the accumulation buffer if it has an address there. Data of queues prepared before the run is
 * written to the state buffer, and only a NEFF has its size.
 *
 * Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_ONCHIP_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_ONCHIP_TRAFFIC_H

#include "profiler/analysis/dma_traffic.h"

struct ntk_onchip_traffic {
    bool sbuf_is_known, psum_is_known;
    uint64_t uncounted; /* runs of instructions with unknown bytes */
    uint64_t sbuf_read_bytes, sbuf_write_bytes;
    uint64_t psum_read_bytes, psum_write_bytes;
    /* Transfers by instructions that read the accumulation buffer and write the state buffer. */
    uint64_t psum_to_sbuf_count, psum_to_sbuf_bytes;
};

void ntk_analysis_onchip_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *dma,
                                 struct ntk_onchip_traffic *out);

#endif
