/* SPDX-License-Identifier: MIT */
/* output_roofline - writes roofline.h and tensor_traffic.h as text and JSON. */
#include "profiler/output/answers/output_analysis.h"

#include "profiler/analysis/line_costs.h"
#include "profiler/output/answers/output_cells.h"

#define GIGA 1e9
#define TERA 1e12

/* ---- text ---- */

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

static void compute_text(const struct ntk_ceilings *ceilings, struct ntk_buf *out)
{
    double all = 0;
    char name[16];

    for (size_t i = 0; i < ceilings->type_count; i++) {
        all += (double)ceilings->types[i].flops;
    }
    ntk_buf_add_format(out, "Compute: %.2f TFLOPS, %zu of %zu core%s",
                       ceilings->flops_per_second / TERA, ceilings->ran_count, ceilings->core_count,
                       ceilings->core_count == 1 ? "" : "s");
    if (ceilings->type_count == 0) {
        ntk_buf_add_text(out, ceilings->has_transposes
                                  ? ", 16 bits: only transposes ran, no other matrix products\n"
                                  : ", 16 bits: no matrix products ran\n");
        return;
    }
    if (ceilings->type_count == 1) {
        ntk_buf_add_format(out, ", %s\n",
                           ntk_ceiling_type_name(&ceilings->types[0], name, sizeof name));
        return;
    }
    ntk_buf_add_text(out, ", weighted over the mix of ");
    for (size_t i = 0; i < ceilings->type_count; i++) {
        const struct ntk_ceiling_type *type = &ceilings->types[i];
        ntk_buf_add_format(out, "%s%s (%.1f%% of the FLOPs, at %.2f TFLOPS)", i ? ", " : "",
                           ntk_ceiling_type_name(type, name, sizeof name),
                           100 * (double)type->flops / all,
                           type->core_flops_per_second * (double)ceilings->ran_count / TERA);
    }
    ntk_buf_add_char(out, '\n');
}

static void ceilings_text(const struct ntk_trace *trace, const struct ntk_roofline *roofline,
                          struct ntk_buf *out)
{
    const struct ntk_ceilings *ceilings = &roofline->ceilings;
    bool is_dma = ceilings->dma_bytes_per_second < ceilings->memory_bytes_per_second;

    compute_text(ceilings, out);
    ntk_buf_add_format(out, "Memory: %.0f GB/s, limited by %s: %u DMA engine%s move %.0f GB/s",
                       ceilings->bytes_per_second / GIGA,
                       is_dma ? "the DMA engines" : "the device memory", ceilings->dma_engine_count,
                       ceilings->dma_engine_count == 1 ? "" : "s",
                       ceilings->dma_bytes_per_second / GIGA);
    if (!ceilings->dma_engines_known) {
        ntk_buf_add_text(out,
                         " (no DMA engine records: assuming all engines of the cores that ran)");
    }
    ntk_buf_add_format(out, ", %u memory stack%s %.0f GB/s\n", ceilings->stack_count,
                       ceilings->stack_count == 1 ? "" : "s",
                       ceilings->memory_bytes_per_second / GIGA);
    if (ceilings->stack_count > 0 &&
        ceilings->dma_bytes_per_second <
            ceilings->memory_bytes_per_second / ceilings->stack_count) {
        ntk_buf_add_text(out,
                         "MBU in the summary is a share of the peak of one memory stack, which "
                         "these DMA engines cannot reach\n");
    }
    ntk_buf_add_format(out, "Below %.1f FLOPs per byte, memory is the limit\n", roofline->ridge);
    if (roofline->has_mfu) {
        ntk_buf_add_format(out,
                           "MFU: %.2f%% of the 16-bit peak of all cores, by metrics version %s\n",
                           100 * roofline->mfu, ntk_metrics_version_name(trace->metrics));
    }
}

static void row_name(const struct ntk_program *program, const struct ntk_roofline_row *row,
                     struct ntk_buf *out)
{
    if (row->name) {
        ntk_buf_add_text(out, row->name);
    } else if (row->file) {
        ntk_line_name_add(program->positions, row->file, row->line, out);
    } else {
        ntk_buf_add_text(out, program->layers[row->layer]);
    }
}

static void list_text(const struct ntk_program *program, const char *title,
                      const struct ntk_roofline_row *total, const struct ntk_roofline_list *list,
                      struct ntk_buf *out)
{
    const char *const heads[] = { title,          "TIME US", "FLOPS",      "HBM BYTES",
                                  "FLOPS / BYTE", "BOUND",   "MINIMUM US", "OF ROOFLINE" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 8, 1u << 0 | 1u << 5, heads);
    if (total) {
        row_cells(&table, "(all)", total);
    }
    for (size_t i = 0; i < list->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        struct ntk_buf name = { 0 };
        row_name(program, &list->rows[i], &name);
        row_cells(&table, ntk_buf_ok(&name) ? ntk_buf_text_get(&name) : "", &list->rows[i]);
        ntk_buf_fini(&name);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    ntk_output_more(out, list->count);
}

static bool has_hidden(const struct ntk_roofline_list *list)
{
    for (size_t i = 0; i < list->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        if (list->rows[i].is_hidden) {
            return true;
        }
    }
    return false;
}

void ntk_output_roofline_text(const struct ntk_program *program,
                              const struct ntk_roofline *roofline, struct ntk_buf *out)
{
    static const struct ntk_roofline_list none = { 0 };

    ceilings_text(program->trace, roofline, out);
    ntk_buf_add_text(out, program->has_layers
                              ? "Layers: TIME is the layer's part of the critical path, and the "
                                "work is the sum over the layer's instructions\n"
                              : "");
    list_text(program, "LAYER", &roofline->total, program->has_layers ? &roofline->layers : &none,
              out);
    if (!program->has_layers) {
        ntk_buf_add_text(out, ntk_output_no_layers(program->trace));
    }
    if (roofline->regions.count) {
        ntk_buf_add_char(out, '\n');
        ntk_buf_add_text(
            out, "Regions: TIME is the total time that the repetitions cover, and the work is "
                 "everything that their engines\n"
                 "(all: every engine) start in this time, for any layer. A region therefore "
                 "differs from the layer with the same name,\n"
                 "and the work of regions does not add up\n");
        list_text(program, "REGION", NULL, &roofline->regions, out);
    }
    if (roofline->lines.count) {
        ntk_buf_add_char(out, '\n');
        list_text(program, "LINE", NULL, &roofline->lines, out);
    }
    if (has_hidden(&roofline->layers) || has_hidden(&roofline->regions) ||
        has_hidden(&roofline->lines)) {
        ntk_buf_add_text(out, "hidden: the minimum is longer than TIME, because transfers continue "
                              "after it\n");
    }
}

/* ---- JSON ---- */

static void row_json(const struct ntk_program *program, const char *name_key,
                     const struct ntk_roofline_row *row, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    if (name_key) {
        struct ntk_buf name = { 0 };
        row_name(program, row, &name);
        ntk_json_key_text(json, name_key, ntk_buf_ok(&name) ? ntk_buf_text_get(&name) : "");
        ntk_buf_fini(&name);
    }
    if (row->name) {
        ntk_json_key_u64(json, "id", row->region);
    }
    ntk_json_key_ns(json, "time_ns", row->time_ps);
    ntk_json_key_u64(json, "flops", row->flops);
    ntk_json_key_u64(json, "hbm_bytes", row->bytes);
    ntk_json_key_share(json, "flops_per_byte", row->intensity, row->has_intensity ? 1 : 0);
    ntk_json_key_share(json, "peak_flops_per_second", row->peak_flops_per_second,
                       row->peak_flops_per_second > 0 ? 1 : 0);
    ntk_json_key_text(json, "bound", ntk_roofline_bound_name(row->bound));
    ntk_json_key_ns(json, "least_ns", (int64_t)row->least_ps);
    ntk_json_key_bool(json, "is_hidden", row->is_hidden);
    ntk_json_key_share(json, "roofline_ratio", row->ratio, row->has_ratio ? 1 : 0);
    ntk_json_object_end(json);
}

static void ceilings_json(const struct ntk_ceilings *ceilings, struct ntk_json *json)
{
    char name[16];

    ntk_json_key_object_begin(json, "ceilings");
    ntk_json_key_u64(json, "core_count", ceilings->ran_count);
    ntk_json_key_u64(json, "core_total", ceilings->core_count);
    ntk_json_key_double(json, "flops_per_second_16_bits", ceilings->plain_per_second);
    ntk_json_key_array_begin(json, "types");
    for (size_t i = 0; i < ceilings->type_count; i++) {
        const struct ntk_ceiling_type *type = &ceilings->types[i];
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "type", ntk_ceiling_type_name(type, name, sizeof name));
        ntk_json_key_u64(json, "flops", type->flops);
        ntk_json_key_double(json, "flops_per_second",
                            type->core_flops_per_second * (double)ceilings->ran_count);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key_u64(json, "dma_engine_count", ceilings->dma_engine_count);
    ntk_json_key_bool(json, "dma_engines_known", ceilings->dma_engines_known);
    ntk_json_key_double(json, "dma_bytes_per_second", ceilings->dma_bytes_per_second);
    ntk_json_key_u64(json, "memory_stack_count", ceilings->stack_count);
    ntk_json_key_double(json, "memory_bytes_per_second", ceilings->memory_bytes_per_second);
    ntk_json_object_end(json);
}

static void list_json(const struct ntk_program *program, const char *key, const char *name_key,
                      const struct ntk_roofline_list *list, struct ntk_json *json)
{
    ntk_json_key_array_begin(json, key);
    for (size_t i = 0; i < list->count; i++) {
        row_json(program, name_key, &list->rows[i], json);
    }
    ntk_json_array_end(json);
}

void ntk_output_roofline_json(const struct ntk_program *program,
                              const struct ntk_roofline *roofline, struct ntk_json *json)
{
    static const struct ntk_roofline_list none = { 0 };

    ntk_json_object_begin(json);
    ntk_json_key_double(json, "peak_flops_per_second", roofline->ceilings.flops_per_second);
    ntk_json_key_double(json, "peak_bytes_per_second", roofline->ceilings.bytes_per_second);
    ntk_json_key_double(json, "ridge_flops_per_byte", roofline->ridge);
    ntk_json_key_text(json, "metrics_version", ntk_metrics_version_name(program->trace->metrics));
    ntk_json_key_share(json, "mfu_ratio", roofline->mfu, roofline->has_mfu ? 1 : 0);
    ceilings_json(&roofline->ceilings, json);
    ntk_json_key(json, "total");
    row_json(program, NULL, &roofline->total, json);
    list_json(program, "layers", "layer", program->has_layers ? &roofline->layers : &none, json);
    list_json(program, "regions", "region", &roofline->regions, json);
    list_json(program, "lines", "line", &roofline->lines, json);
    ntk_json_object_end(json);
}

/* ---- tensors ---- */

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
