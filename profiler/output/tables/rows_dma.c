/* SPDX-License-Identifier: MIT */
/* rows_dma - creates rows for DMA activity: packets and the rate over time. */
#include "profiler/output/tables/rows.h"

#include <stdio.h>

#include "profiler/analysis/dma_rate.h"

const char *ntk_rows_queue_type(unsigned dma_class)
{
    return dma_class == NTK_TRACE_DMA_IO ? "unknown" : ntk_trace_dma_class_name(dma_class);
}

static void fill_transfer(const struct ntk_export *export, size_t core, uint32_t packet,
                          struct ntk_packet_row *row)
{
    const struct ntk_transfer *transfer = ntk_transfer_of_packet(&export->transfers, core, packet);
    const struct ntk_moves *moves =
        transfer ? ntk_transfer_fact(&export->transfers, core, transfer)->code->moves : NULL;

    row->transfer_id = transfer ? export->cores[core].first_transfer_id +
                                      (transfer - export->transfers.cores[core].items)
                                : NTK_ABSENT_I64;
    row->op = moves ? moves->op : NULL;
    row->variable = moves ? moves->variable : NULL;
    row->source_json = moves ? moves->json[NTK_MOVES_SOURCE] : NULL;
    row->dest_json = moves ? moves->json[NTK_MOVES_DEST] : NULL;
    if (packet % NTK_TRACE_LOOKS == 0) {
        ntk_transfers_give_back(&export->transfers, core);
    }
}

unsigned ntk_rows_packet_unused(const struct ntk_column *columns, size_t count)
{
    for (size_t c = 0; c < count; c++) {
        if (columns[c].presence != NTK_COLUMN_NEVER &&
            columns[c].offset >= offsetof(struct ntk_packet_row, transfer_id)) {
            return 0;
        }
    }
    return NTK_PART_TRANSFER;
}

unsigned ntk_rows_unused(const struct ntk_table *table, const struct ntk_column *columns,
                         size_t count)
{
    return table->rows == ntk_rows_instructions ? ntk_rows_instruction_unused(columns, count)
           : table->rows == ntk_rows_packets    ? ntk_rows_packet_unused(columns, count)
                                                : 0;
}

int ntk_rows_packets(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_trace *trace = export->trace;
    bool has_transfers = !(export->skipped_parts & NTK_PART_TRANSFER);

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        const struct ntk_export_core *names = &export->cores[c];
        int64_t counts[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES] = { 0 };
        char lanes[NTK_NTFF_DMA_ENGINES][NTK_NTFF_DMA_QUEUES][24] = { 0 };
        struct ntk_packet_row row = {
            .core_index = (int64_t)ntk_trace_core_number(export->trace, c),
            .subgraph = core->ntff->name,
            .no = "no",
            .is_cc = trace->has_collectives ? NULL : "no",
            .semaphore = "-1",
            .transfer_id = NTK_ABSENT_I64,
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
            row.queue_type = ntk_rows_queue_type(from->dma_class);
            row.queue_name = names->queue_names[e][q];
            row.bytes = from->bytes_count;
            row.bytes_per_second = ps > 0 ? ntk_packet_rate(from) : NTK_ABSENT_F64;
            row.crc = from->crc;
            row.index = counts[e][q]++;
            row.ring_id = 1 + (int64_t)((c * NTK_NTFF_DMA_ENGINES + e) * NTK_NTFF_DMA_QUEUES + q);
            if (has_transfers) {
                fill_transfer(export, c, (uint32_t)(from - core->packets), &row);
            }
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
            .row = { .core_index = (int64_t)ntk_trace_core_number(export->trace, c),
                     .subgraph = core->ntff->name,
                     .uses_hbm = "false" },
            .put = put,
            .ctx = ctx,
        };
        ret = ntk_analysis_dma_rate(core, put_rate, &target);
    }
    return ret;
}
