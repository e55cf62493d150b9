/* SPDX-License-Identifier: MIT */
/* output_memory - writes device memory of a capture, and chip_memory.h, as text and JSON. */
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

static uint64_t device_total(const struct ntk_ntff_subgraph *subgraph)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < subgraph->memory_count; i++) {
        bytes += subgraph->memory[i].bytes_count;
    }
    return bytes;
}

static void device_text(const struct ntk_trace *trace, struct ntk_buf *out)
{
    static const char *const heads[] = { "CORE", "DEVICE MEMORY", "BYTES", "SHARE" };
    struct ntk_text_table table;

    ntk_text_table_init(&table, 4, 1u << 1, heads);
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;

        for (size_t i = 0; i < subgraph->memory_count; i++) {
            if (subgraph->memory[i].bytes_count == 0) {
                continue;
            }
            ntk_cell_u64(&table, subgraph->core);
            ntk_text_table_text(&table, subgraph->memory[i].name);
            ntk_cell_bytes(&table, subgraph->memory[i].bytes_count);
            ntk_cell_share(&table, (double)subgraph->memory[i].bytes_count,
                           (double)device_total(subgraph));
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

static void chip_text(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                      struct ntk_buf *out)
{
    static const char *const heads[] = { "CORE",  "SPACE", "CAPACITY", "PEAK",   "FULL",
                                         "AT US", "MEAN",  "LAYER",    "AT PEAK" };
    struct ntk_text_table table;

    ntk_buf_add_text(out, "\n"
                          "Live values, bytes per partition\n");
    ntk_text_table_init(&table, 9, 1u << 1 | 1u << 7, heads);
    for (size_t s = 0; s < chip->space_count; s++) {
        const struct ntk_chip_memory_space *space = &chip->spaces[s];

        for (size_t p = 0; p < space->part_count && p < NTK_OUTPUT_ROWS_MAX; p++) {
            ntk_cell_u64(&table, program->trace->cores[space->core].ntff->core);
            ntk_text_table_text(&table, ntk_chip_space_name(space->space));
            ntk_cell_bytes_or_dash(&table, space->capacity_bytes);
            ntk_cell_bytes(&table, space->peak_bytes);
            ntk_cell_share(&table, (double)space->peak_bytes, (double)space->capacity_bytes);
            ntk_cell_us(&table, space->peak_ps);
            ntk_cell_bytes(&table, (uint64_t)space->mean_bytes);
            ntk_text_table_text(&table, program->layers[space->parts[p].layer]);
            ntk_cell_bytes(&table, space->parts[p].peak_bytes);
        }
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
}

void ntk_output_memory_text(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_buf *out)
{
    device_text(program->trace, out);
    if (chip) {
        chip_text(program, chip, out);
    } else {
        char why[NTK_OUTPUT_WHY_BYTES];
        ntk_output_onchip_why(program, why, sizeof why);
        ntk_buf_add_format(out, "\nState buffer and PSUM are unknown: %s\n", why);
    }
}

static void chip_json(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                      struct ntk_json *json)
{
    ntk_json_array_begin(json);
    for (size_t s = 0; s < chip->space_count; s++) {
        const struct ntk_chip_memory_space *space = &chip->spaces[s];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", program->trace->cores[space->core].ntff->core);
        ntk_json_key_text(json, "space", ntk_chip_space_name(space->space));
        ntk_json_key_share(json, "partition_bytes", (double)space->capacity_bytes,
                           space->capacity_bytes ? 1 : 0);
        ntk_json_key_u64(json, "peak_bytes", space->peak_bytes);
        ntk_json_key_ns(json, "peak_ns", space->peak_ps);
        ntk_json_key_double(json, "mean_bytes", space->mean_bytes);
        ntk_json_key_array_begin(json, "layers_at_peak");
        for (size_t p = 0; p < space->part_count; p++) {
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "layer", program->layers[space->parts[p].layer]);
            ntk_json_key_u64(json, "bytes", space->parts[p].peak_bytes);
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
        ntk_json_key_array_begin(json, "over_time");
        for (size_t p = 0; p < chip->piece_count; p++) {
            ntk_json_u64(json, space->pieces[p]);
        }
        ntk_json_array_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

void ntk_output_memory_json(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_json *json)
{
    const struct ntk_trace *trace = program->trace;

    ntk_json_object_begin(json);
    ntk_json_key_array_begin(json, "device");
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_ntff_subgraph *subgraph = trace->cores[c].ntff;

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", subgraph->core);
        ntk_json_key_u64(json, "total_bytes", device_total(subgraph));
        ntk_json_key_array_begin(json, "uses");
        for (size_t i = 0; i < subgraph->memory_count; i++) {
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "name", subgraph->memory[i].name);
            ntk_json_key_u64(json, "bytes", subgraph->memory[i].bytes_count);
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_key(json, "chip");
    if (chip) {
        chip_json(program, chip, json);
    } else {
        char why[NTK_OUTPUT_WHY_BYTES];
        ntk_json_null(json);
        ntk_output_onchip_why(program, why, sizeof why);
        ntk_json_key_text(json, "chip_absent", why);
    }
    ntk_json_object_end(json);
}
