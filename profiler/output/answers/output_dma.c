/* SPDX-License-Identifier: MIT */
/* output_dma - writes dma_efficiency.h as text and JSON. */
#include "profiler/analysis/queue_names.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"
#include "shared/base/units.h"

static void row_cells(struct ntk_text_table *table, const struct ntk_trace *trace,
                      const struct ntk_dma_queue_row *row, bool is_total)
{
    char name[NTK_NTFF_NAME_BYTES];
    uint64_t data_count = row->packet_count - row->size_counts[NTK_DMA_SIZE_SEMAPHORE];
    uint64_t data_bytes = row->bytes_count - row->size_bytes[NTK_DMA_SIZE_SEMAPHORE];

    if (is_total) {
        ntk_text_table_text(table, "all");
        ntk_text_table_text(table, "(all)");
    } else {
        ntk_cell_u64(table, trace->cores[row->core].ntff->core);
        ntk_text_table_text(table,
                            ntk_queue_name_show(row->name, row->dma_class, name, sizeof name));
    }
    ntk_cell_u64(table, row->engine_count);
    ntk_cell_u64(table, row->packet_count);
    ntk_cell_bytes(table, row->bytes_count);
    if (data_count) {
        ntk_cell_bytes(table, data_bytes / data_count);
    } else {
        ntk_text_table_text(table, "-");
    }
    ntk_cell_share(
        table, (double)(row->size_counts[NTK_DMA_SIZE_POOR] + row->size_counts[NTK_DMA_SIZE_SMALL]),
        (double)data_count);
    ntk_cell_us(table, row->active_ps);
    if (row->active_ps > 0) {
        ntk_text_table_format(table, "%.2f",
                              (double)row->bytes_count / (double)row->active_ps * 1e3);
    } else {
        ntk_text_table_text(table, "-");
    }
    ntk_cell_share(table, row->efficiency, row->has_rate ? 1 : 0);
    if (row->has_rate) {
        ntk_cell_bytes(table, (uint64_t)row->wasted_bytes);
    } else {
        ntk_text_table_text(table, "-");
    }
}

void ntk_output_dma_text(const struct ntk_trace *trace, const struct ntk_dma_efficiency *dma,
                         const struct ntk_hbm_traffic *hbm, struct ntk_buf *out)
{
    static const char *const heads[] = { "CORE",  "QUEUE",      "ENGINES", "PACKETS",
                                         "BYTES", "MEAN",       "SMALL",   "ACTIVE US",
                                         "GB/S",  "EFFICIENCY", "WASTED" };
    char read[NTK_UNITS_TEXT_BYTES];
    char written[NTK_UNITS_TEXT_BYTES];
    char spill[NTK_UNITS_TEXT_BYTES];
    struct ntk_text_table table;

    if (trace->is_cut.packets) {
        ntk_buf_add_text(out, "DMA packet records are truncated: the queue figures are lower "
                              "bounds\n");
    }
    ntk_buf_add_format(
        out, "Device memory: %s read, %s written\n",
        hbm->is_known ? ntk_units_bytes(read, sizeof read, hbm->read_bytes) : "unknown",
        hbm->is_known ? ntk_units_bytes(written, sizeof written, hbm->write_bytes) : "unknown");
    if (hbm->is_known && hbm->has_spills) {
        ntk_buf_add_format(out, "Spilled values: %s written, ",
                           ntk_units_bytes(spill, sizeof spill, hbm->save_bytes));
        ntk_buf_add_format(out, "%s read back",
                           ntk_units_bytes(spill, sizeof spill, hbm->reload_bytes));
    } else {
        ntk_buf_add_text(out, "Spilled values: unknown");
    }
    if (dma->has_spill) {
        ntk_buf_add_format(out, "; spill queues moved %s, including inputs and constants\n",
                           ntk_units_bytes(spill, sizeof spill, dma->spill_bytes));
    } else {
        ntk_buf_add_text(out, "; no queue is named a spill queue\n");
    }
    ntk_buf_add_format(out,
                       "MEAN and SMALL are for data packets; PACKETS and BYTES include semaphore "
                       "writes (packets of at most %u bytes)\n",
                       NTK_DMA_SEMAPHORE_BYTES);
    if (dma->engine_bytes_per_second > 0) {
        ntk_buf_add_format(out,
                           "Efficiency: bytes moved as a share of what the active engines can move "
                           "(%.0f GB/s each). "
                           "Small: packets below %u bytes\n",
                           dma->engine_bytes_per_second / 1e9, NTK_DMA_SMALL_BYTES);
    }
    ntk_text_table_init(&table, 11, 1u << 1, heads);
    row_cells(&table, trace, &dma->total, true);
    for (size_t i = 0; i < dma->row_count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        row_cells(&table, trace, &dma->rows[i], false);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_output_more(out, dma->row_count);
}

static void row_json(const struct ntk_trace *trace, const struct ntk_dma_queue_row *row,
                     bool is_total, struct ntk_json *json)
{
    char name[NTK_NTFF_NAME_BYTES];

    ntk_json_object_begin(json);
    if (!is_total) {
        ntk_json_key_u64(json, "core", trace->cores[row->core].ntff->core);
        ntk_json_key_text(json, "queue",
                          ntk_queue_name_show(row->name, row->dma_class, name, sizeof name));
        ntk_json_key_text(json, "class", ntk_trace_dma_class_name(row->dma_class));
    }
    ntk_json_key_u64(json, "engine_count", row->engine_count);
    ntk_json_key_u64(json, "packet_count", row->packet_count);
    ntk_json_key_u64(json, "bytes", row->bytes_count);
    ntk_json_key_object_begin(json, "packets_by_size");
    for (unsigned s = 0; s < NTK_DMA_SIZE_COUNT; s++) {
        ntk_json_key_u64(json, ntk_dma_size_name(s), row->size_counts[s]);
    }
    ntk_json_object_end(json);
    ntk_json_key_object_begin(json, "bytes_by_size");
    for (unsigned s = 0; s < NTK_DMA_SIZE_COUNT; s++) {
        ntk_json_key_u64(json, ntk_dma_size_name(s), row->size_bytes[s]);
    }
    ntk_json_object_end(json);
    ntk_json_key_ns(json, "active_ns", row->active_ps);
    ntk_json_key_ns(json, "busy_ns", row->busy_ps);
    ntk_json_key_share(json, "bytes_per_second", (double)row->bytes_count * 1e12,
                       (double)row->active_ps);
    ntk_json_key_share(json, "efficiency_ratio", row->efficiency, row->has_rate ? 1 : 0);
    ntk_json_key_share(json, "wasted_bytes", row->wasted_bytes, row->has_rate ? 1 : 0);
    ntk_json_object_end(json);
}

void ntk_output_dma_json(const struct ntk_trace *trace, const struct ntk_dma_efficiency *dma,
                         const struct ntk_hbm_traffic *hbm, struct ntk_json *json)
{
    bool has_spills = hbm->is_known && hbm->has_spills;

    ntk_json_object_begin(json);
    ntk_json_key_share(json, "engine_bytes_per_second", dma->engine_bytes_per_second,
                       dma->engine_bytes_per_second > 0 ? 1 : 0);
    ntk_json_key_share(json, "hbm_read_bytes", (double)hbm->read_bytes, hbm->is_known ? 1 : 0);
    ntk_json_key_share(json, "hbm_write_bytes", (double)hbm->write_bytes, hbm->is_known ? 1 : 0);
    ntk_json_key_share(json, "spill_save_bytes", (double)hbm->save_bytes, has_spills ? 1 : 0);
    ntk_json_key_share(json, "spill_reload_bytes", (double)hbm->reload_bytes, has_spills ? 1 : 0);
    ntk_json_key_u64(json, "spill_bytes", dma->spill_bytes);
    ntk_json_key(json, "total");
    row_json(trace, &dma->total, true, json);
    ntk_json_key_array_begin(json, "queues");
    for (size_t i = 0; i < dma->row_count; i++) {
        row_json(trace, &dma->rows[i], false, json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
