/* SPDX-License-Identifier: MIT */
/* rows_transfer - creates rows for whole transfers, and for the number in progress. */
#include "profiler/output/tables/rows.h"

#include "profiler/analysis/pending.h"

static const char *queue_type(const struct ntk_trace_core *core, const struct ntk_moves *moves,
                              const struct ntk_transfer *transfer)
{
    unsigned dma_class = core->packets[transfer->first].dma_class;

    if (moves && moves->is_prepared) {
        dma_class = moves->has_input    ? NTK_TRACE_DMA_INPUT
                    : moves->has_output ? NTK_TRACE_DMA_OUTPUT
                                        : NTK_TRACE_DMA_DATA;
    }
    return ntk_rows_queue_type(dma_class);
}

int64_t ntk_rows_block_id(const struct ntk_moves *moves)
{
    return moves && moves->is_prepared && moves->block_id <= INT32_MAX ? moves->block_id
                                                                       : NTK_ABSENT_I64;
}

static void fill_moves(const struct ntk_moves *moves, const struct ntk_transfer *transfer,
                       struct ntk_transfer_row *row)
{
    int64_t ps = transfer->end_ps - transfer->start_ps;

    row->op = moves ? moves->op : NULL;
    row->name = moves ? moves->name : NULL;
    row->variable = moves ? moves->variable : NULL;
    row->source = moves ? moves->sides[NTK_MOVES_SOURCE] : NULL;
    row->dest = moves ? moves->sides[NTK_MOVES_DEST] : NULL;
    row->source_json = moves ? moves->json[NTK_MOVES_SOURCE] : NULL;
    row->dest_json = moves ? moves->json[NTK_MOVES_DEST] : NULL;
    row->block_id = ntk_rows_block_id(moves);
    row->read_bytes = moves ? ntk_rows_i64(moves->bytes[NTK_MOVES_SOURCE]) : NTK_ABSENT_I64;
    row->write_bytes = moves ? ntk_rows_i64(moves->bytes[NTK_MOVES_DEST]) : NTK_ABSENT_I64;
    row->bytes_per_second = ps > 0 && moves
                                ? (double)moves->bytes[NTK_MOVES_DEST] / ((double)ps / 1e12)
                                : NTK_ABSENT_F64;
}

int ntk_rows_transfers(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    struct ntk_position_texts positions = { 0 };
    struct ntk_position_text text;
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        const struct ntk_trace_core *core = &export->trace->cores[c];
        const struct ntk_export_core *names = &export->cores[c];
        const struct ntk_transfers_core *of = &export->transfers.cores[c];
        struct ntk_transfer_row row = { .core_index =
                                            (int64_t)ntk_trace_core_number(export->trace, c),
                                        .subgraph = core->ntff->name };
        for (size_t t = 0; t < of->count && ret == 0; t++) {
            const struct ntk_transfer *from = &of->items[t];
            if (from->packet_count == 0) {
                continue;
            }
            const struct ntk_moves *moves =
                ntk_transfer_fact(&export->transfers, c, from)->code->moves;
            const struct ntk_trace_packet *first = &core->packets[from->first];
            row.id = names->first_transfer_id + (int64_t)t;
            row.trigger_id = names->first_instruction_id + from->instruction;
            row.start_ns = ntk_rows_ns(from->start_ps);
            row.end_ns = ntk_rows_ns(from->end_ps);
            row.duration_ns = ntk_rows_ns(from->end_ps - from->start_ps);
            row.queue = first->queue;
            row.queue_name = names->queue_names[first->engine % NTK_NTFF_DMA_ENGINES]
                                               [first->queue % NTK_NTFF_DMA_QUEUES];
            row.queue_type = queue_type(core, moves, from);
            row.packet_count = from->packet_count;
            row.packet_bytes = ntk_rows_i64(from->bytes_count);
            fill_moves(moves, from, &row);
            ret = ntk_position_texts_get(&positions, export, c,
                                         &core->instructions[from->instruction], &text);
            row.bir_location = text.bir_location;
            ret = ret == 0 ? put(ctx, &row) : ret;
            if (t % NTK_TRACE_LOOKS == 0) {
                ntk_transfers_give_back(&export->transfers, c);
            }
        }
    }
    ntk_position_texts_fini(&positions);
    return ret;
}

struct pending_target {
    struct ntk_pending_row row;
    ntk_row_put *put;
    void *ctx;
};

static int put_pending(void *ctx, int64_t time_ps, int64_t count)
{
    struct pending_target *target = ctx;

    target->row.time_ns = ntk_rows_ns(time_ps);
    target->row.value = count;
    return target->put(target->ctx, &target->row);
}

int ntk_rows_pending(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    int ret = 0;

    for (size_t c = 0; c < export->trace->core_count && ret == 0; c++) {
        struct pending_target target = {
            .row = { .core_index = (int64_t)ntk_trace_core_number(export->trace, c),
                     .subgraph = export->trace->cores[c].ntff->name },
            .put = put,
            .ctx = ctx,
        };
        ret = ntk_analysis_pending(&export->transfers, c, put_pending, &target);
    }
    return ret;
}
