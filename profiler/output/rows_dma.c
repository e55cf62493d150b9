/* SPDX-License-Identifier: MIT */
/* rows_dma - what DMA did: packets and the rate over time. */
#include "profiler/output/rows.h"

#include <stdio.h>

#include "profiler/analysis/dma_rate.h"

/* What the schema calls a kind of queue; of an IO queue only the NEFF tells which. */
static const char *queue_type(unsigned dma_class)
{
    return dma_class == NTK_TRACE_DMA_IO ? "unknown" : ntk_trace_dma_class_name(dma_class);
}

int ntk_rows_packets(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        const struct ntk_export_core *names = &export->cores[c];
        int64_t counts[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES] = { 0 };
        char lanes[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES][24] = { 0 };
        struct ntk_packet_row row = {
            .core_index = (int64_t)c,
            .subgraph = core->ntff->name,
            .no = "no",
            .is_cc = trace->has_collectives ? NULL : "no",
            .semaphore = "-1",
        };
        ntk_trace_each_packet(core, from) {
            size_t e = from->engine % NTK_NTFF_DMA_ENGINES;
            size_t q = from->queue % NTK_NTFF_DMA_QUEUES;
            int64_t ps = from->end_ps - from->start_ps;
            if (!lanes[e][q][0]) {
                snprintf(lanes[e][q], sizeof lanes[e][q], "Q%u-E%u", from->queue, from->engine);
            }
            row.id = names->first_packet_id + (from - core->packets);
            row.start_ns = ntk_rows_ns(from->start_ps);
            row.end_ns = ntk_rows_ns(from->end_ps);
            row.duration_ns = ntk_rows_ns(ps);
            row.lane = lanes[e][q];
            row.engine = from->engine;
            row.queue = from->queue;
            row.queue_type = queue_type(from->dma_class);
            row.queue_name = names->queue_names[e][q];
            row.bytes = from->bytes_count;
            row.bytes_per_second = ps > 0 ? ntk_packet_rate(from) : NTK_ABSENT_F64;
            row.crc = from->crc;
            row.index = counts[e][q]++;
            row.ring_id = 1 + (int64_t)((c * NTK_NTFF_DMA_ENGINES + e) * NTK_NTFF_DMA_QUEUES + q);
            int ret = put(ctx, &row);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

struct rate_target {
    struct ntk_rate_row row;
    ntk_row_put *put;
    void *ctx;
};

static int put_rate(void *ctx, const struct ntk_dma_rate_point *point)
{
    struct rate_target *target = ctx;

    target->row.time_ns = ntk_rows_ns(point->time_ps);
    target->row.bytes_per_second = (float)point->bytes_per_second;
    target->row.total_bytes = ntk_rows_i64(point->total_bytes);
    return target->put(target->ctx, &target->row);
}

int ntk_rows_rates(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        struct rate_target target = {
            .row = { .core_index = (int64_t)c, .subgraph = core->ntff->name, .uses_hbm = "false" },
            .put = put,
            .ctx = ctx,
        };
        ret = ntk_analysis_dma_rate(core, put_rate, &target);
    }
    return ret;
}
