/* SPDX-License-Identifier: MIT */
/*
 * onchip_traffic - bytes that the instructions of an execution read from and wrote to the state
 * buffer and the accumulation buffer.
 *
 * Known for programs in the open encoding (docs/isa.md), whose operands can be read: each time an
 * instruction ran, its tiles count once, a repeated element as often as it is taken; adding to what
 * the accumulation buffer holds is a write. DMA between memories counts by where its sides lie.
 *
 * Known for a vendor's programs too (docs/formats/vendor-slots.md), by the rules of the trace's
 * version. An instruction that is unknown has no bytes: sums of the state buffer are absent then,
 * those of the accumulation buffer only where it has an address of that. Data of queues that were
 * prepared before the run goes to the state buffer, and only a NEFF tells how much.
 *
 * Pure: trace to result. Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_ONCHIP_TRAFFIC_H
#define NTK_PROFILER_ANALYSIS_ONCHIP_TRAFFIC_H

#include "profiler/analysis/dma_traffic.h"

struct ntk_onchip_traffic {
    bool sbuf_is_known, psum_is_known;
    uint64_t uncounted; /* times that an instruction without known bytes ran */
    uint64_t sbuf_read_bytes, sbuf_write_bytes;
    uint64_t psum_read_bytes, psum_write_bytes;
    /* By instructions that take from the accumulation buffer and give to the state buffer. */
    uint64_t psum_to_sbuf_count, psum_to_sbuf_bytes;
};

void ntk_analysis_onchip_traffic(const struct ntk_trace *trace, const struct ntk_dma_traffic *dma,
                                 struct ntk_onchip_traffic *out);

#endif
