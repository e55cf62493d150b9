/* SPDX-License-Identifier: MIT */
/* dma_traffic - computes sums and unions of DMA packets. */
#include "profiler/analysis/dma_traffic.h"

#include "profiler/trace/walk.h"

static void add(struct ntk_dma_share *share, struct ntk_cover *cover,
                const struct ntk_trace_packet *packet)
{
    share->packet_count++;
    share->bytes_count += packet->bytes_count;
    ntk_cover_add(cover, packet->start_ps, packet->end_ps);
}

uint64_t ntk_dma_prepared_packets(const struct ntk_dma_traffic *traffic)
{
    uint64_t count = 0;

    for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
        count += ntk_trace_is_prepared(k) ? traffic->classes[k].packet_count : 0;
    }
    return count;
}

void ntk_dma_counting_add(struct ntk_dma_counting *counting, const struct ntk_trace_packet *packet)
{
    struct ntk_dma_traffic *traffic = &counting->traffic;
    unsigned dma_class = packet->dma_class;

    add(&traffic->all, &counting->all, packet);
    add(&traffic->classes[dma_class], &counting->classes[dma_class], packet);
    if (dma_class != NTK_TRACE_DMA_SOFTWARE_DYNAMIC &&
        dma_class != NTK_TRACE_DMA_HARDWARE_DYNAMIC) {
        add(&traffic->fixed, &counting->fixed, packet);
    } else {
        add(&traffic->dynamic, &counting->dynamic, packet);
    }
}

void ntk_dma_counting_end(struct ntk_dma_counting *counting, const struct ntk_trace *trace,
                          struct ntk_dma_traffic *out_traffic)
{
    struct ntk_dma_traffic *traffic = &counting->traffic;

    for (size_t c = 0; c < trace->core_count; c++) {
        traffic->queue_count += trace->cores[c].ntff->queue_count;
    }
    traffic->packet_ps = counting->all.sum_ps;
    traffic->all.active_ps = counting->all.covered_ps;
    traffic->fixed.active_ps = counting->fixed.covered_ps;
    traffic->dynamic.active_ps = counting->dynamic.covered_ps;
    for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
        traffic->classes[k].active_ps = counting->classes[k].covered_ps;
    }
    *out_traffic = *traffic;
}

void ntk_analysis_dma_traffic(const struct ntk_trace *trace, struct ntk_dma_traffic *out_traffic)
{
    struct ntk_dma_counting counting = { 0 };
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_walk_init(&walk, trace, NTK_WALK_PACKETS);
    while (ntk_walk_next(&walk, &span)) {
        ntk_dma_counting_add(&counting, span.packet);
    }
    ntk_dma_counting_end(&counting, trace, out_traffic);
}
