/* SPDX-License-Identifier: MIT */
/* output_roofline - roofline.h and tensor_traffic.h as text and JSON. */
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

static void row_cells(struct ntk_text_table *table, const char *name,
                      const struct ntk_roofline_row *row)
{
    ntk_text_table_text(table, name);
    ntk_cell_us(table, row->time_ps);
    ntk_cell_count(table, (double)row->flops);
    ntk_cell_bytes(table, row->bytes);
    if (row->has_intensity) {
        ntk_text_table_format(table, "%.1f", row->intensity);
    } else {
        ntk_text_table_text(table, "-");
    }
    ntk_text_table_text(table, ntk_roofline_bound_name(row->bound));
    ntk_cell_us(table, (int64_t)row->least_ps);
    if (row->is_hidden) {
        ntk_text_table_text(table, "hidden");
    } else {
        ntk_cell_share(table, row->ratio, row->has_ratio ? 1 : 0);
    }
}

void ntk_output_roofline_text(const struct ntk_program *program,
                              const struct ntk_roofline *roofline, struct ntk_buf *out)
{
    static const char *const heads[] = { "LAYER",        "ON PATH US", "FLOPS",    "HBM BYTES",
                                         "FLOPS / BYTE", "BOUND",      "LEAST US", "OF ROOFLINE" };
    struct ntk_text_table table;

    ntk_buf_add_format(
        out, "Peak %.2f TFLOPS and %.0f GB/s: below %.1f flops per byte, memory is the limit\n",
        roofline->peak_flops_per_second / 1e12, roofline->peak_bytes_per_second / 1e9,
        roofline->ridge);
    ntk_text_table_init(&table, 8, 1u << 0 | 1u << 5, heads);
    row_cells(&table, "(all)", &roofline->total);
    for (size_t i = 0; program->has_layers && i < roofline->row_count && i < NTK_OUTPUT_ROWS_MAX;
         i++) {
        row_cells(&table, program->layers[roofline->rows[i].layer], &roofline->rows[i]);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    if (program->has_layers) {
        ntk_output_more(out, roofline->row_count);
    } else {
        ntk_buf_add_text(out, ntk_output_no_layers(program->trace));
    }
}

static void row_json(const char *name, const struct ntk_roofline_row *row, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    if (name) {
        ntk_json_key_text(json, "layer", name);
    }
    ntk_json_key_ns(json, "time_ns", row->time_ps);
    ntk_json_key_u64(json, "flops", row->flops);
    ntk_json_key_u64(json, "hbm_bytes", row->bytes);
    ntk_json_key_share(json, "flops_per_byte", row->intensity, row->has_intensity ? 1 : 0);
    ntk_json_key_text(json, "bound", ntk_roofline_bound_name(row->bound));
    ntk_json_key_ns(json, "least_ns", (int64_t)row->least_ps);
    ntk_json_key_bool(json, "is_hidden", row->is_hidden);
    ntk_json_key_share(json, "roofline_ratio", row->ratio, row->has_ratio ? 1 : 0);
    ntk_json_object_end(json);
}

void ntk_output_roofline_json(const struct ntk_program *program,
                              const struct ntk_roofline *roofline, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_double(json, "peak_flops_per_second", roofline->peak_flops_per_second);
    ntk_json_key_double(json, "peak_bytes_per_second", roofline->peak_bytes_per_second);
    ntk_json_key_double(json, "ridge_flops_per_byte", roofline->ridge);
    ntk_json_key(json, "total");
    row_json(NULL, &roofline->total, json);
    ntk_json_key_array_begin(json, "layers");
    for (size_t i = 0; program->has_layers && i < roofline->row_count; i++) {
        row_json(program->layers[roofline->rows[i].layer], &roofline->rows[i], json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

void ntk_output_tensors_text(const struct ntk_tensor_traffic *tensors, struct ntk_buf *out)
{
    static const char *const heads[] = { "TENSOR", "KIND",    "SIZE",   "READ",
                                         "READS",  "WRITTEN", "WRITES", "READ / SIZE" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 8, 1u << 0 | 1u << 1, heads);
    for (size_t i = 0; i < tensors->row_count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_tensor_row *row = &tensors->rows[i];

        ntk_text_table_text(&table, row->name);
        ntk_text_table_text(&table, row->kind);
        ntk_cell_bytes(&table, row->size_bytes);
        ntk_cell_bytes_or_dash(&table, row->read_bytes);
        ntk_cell_u64(&table, row->read_count);
        ntk_cell_bytes_or_dash(&table, row->write_bytes);
        ntk_cell_u64(&table, row->write_count);
        if (row->has_reload) {
            ntk_text_table_format(&table, "%.2f", row->reload_ratio);
        } else {
            ntk_text_table_text(&table, "-");
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_output_more(out, tensors->row_count);
}

void ntk_output_tensors_json(const struct ntk_tensor_traffic *tensors, struct ntk_json *json)
{
    ntk_json_array_begin(json);
    for (size_t i = 0; i < tensors->row_count; i++) {
        const struct ntk_tensor_row *row = &tensors->rows[i];

        ntk_json_object_begin(json);
        ntk_json_key_text(json, "name", row->name);
        ntk_json_key_text(json, "kind", row->kind);
        ntk_json_key_u64(json, "size_bytes", row->size_bytes);
        ntk_json_key_u64(json, "read_bytes", row->read_bytes);
        ntk_json_key_u64(json, "read_count", row->read_count);
        ntk_json_key_u64(json, "write_bytes", row->write_bytes);
        ntk_json_key_u64(json, "write_count", row->write_count);
        ntk_json_key_share(json, "reload_ratio", row->reload_ratio, row->has_reload ? 1 : 0);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}
