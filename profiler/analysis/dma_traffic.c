/* SPDX-License-Identifier: MIT */
/* dma_traffic - sums and unions of DMA packets. */
#include "profiler/analysis/dma_traffic.h"

#include "profiler/analysis/interval.h"

#define SEMAPHORE_WRITE_BYTES 4

static void add(struct ntk_dma_share *share, struct ntk_intervals *spans,
                const struct ntk_trace_packet *packet)
{
    share->packet_count++;
    share->bytes_count += packet->bytes_count;
    ntk_intervals_add(spans, packet->start_ps, packet->end_ps);
}

static int finish(struct ntk_dma_share *share, struct ntk_intervals *spans)
{
    int ret = spans->failed;

    share->active_ps = ntk_intervals_union_ps(spans);
    ntk_intervals_fini(spans);
    return ret;
}

int ntk_analysis_dma_traffic(const struct ntk_trace *trace, struct ntk_dma_traffic *out_traffic)
{
    struct ntk_dma_traffic traffic = { 0 };
    struct ntk_intervals all = { 0 };
    struct ntk_intervals fixed = { 0 };
    struct ntk_intervals classes[NTK_TRACE_DMA_CLASS_COUNT] = { 0 };
    int ret;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        traffic.queue_count += core->ntff->queue_count;
        for (size_t i = 0; i < core->packet_count; i++) {
            const struct ntk_trace_packet *packet = &core->packets[i];
            add(&traffic.all, &all, packet);
            add(&traffic.classes[packet->dma_class], &classes[packet->dma_class], packet);
            if (packet->dma_class != NTK_TRACE_DMA_SOFTWARE_DYNAMIC &&
                packet->dma_class != NTK_TRACE_DMA_HARDWARE_DYNAMIC) {
                add(&traffic.fixed, &fixed, packet);
            } else if (packet->bytes_count > SEMAPHORE_WRITE_BYTES) {
                traffic.dynamic_data_bytes += packet->bytes_count;
            }
        }
    }
    traffic.packet_ps = all.sum_ps;
    ret = finish(&traffic.all, &all);
    int fixed_ret = finish(&traffic.fixed, &fixed);
    ret = ret ? ret : fixed_ret;
    for (unsigned k = 0; k < NTK_TRACE_DMA_CLASS_COUNT; k++) {
        int class_ret = finish(&traffic.classes[k], &classes[k]);
        ret = ret ? ret : class_ret;
    }
    if (ret == 0) {
        *out_traffic = traffic;
    }
    return ret;
}
