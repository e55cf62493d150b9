/* SPDX-License-Identifier: MIT */
/* output_costs - writes cost_table.h as text and JSON. */
#include <stdio.h>

#include "profiler/analysis/instruction_label.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

#define NAME_BYTES 400

typedef void name_of(const struct ntk_program *program, const struct ntk_cost_row *row, char *buf,
                     size_t buf_bytes);

const char *ntk_output_no_layers(const struct ntk_trace *trace)
{
    return trace->neff ? "No layers: the NEFF contains no layer names\n"
                       : "No layers: pass the NEFF that contains their names with -n\n";
}

static void layer_name(const struct ntk_program *program, const struct ntk_cost_row *row, char *buf,
                       size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "%s", program->layers[row->layer]);
}

static void operation_name(const struct ntk_program *program, const struct ntk_cost_row *row,
                           char *buf, size_t buf_bytes)
{
    char opcode[16];

    (void)program;
    snprintf(buf, buf_bytes, "%s %s", ntk_ntff_source_title(row->engine),
             ntk_ntff_opcode_name(row->opcode, opcode, sizeof opcode));
}

static const struct ntk_slot_fact *fact_of(const struct ntk_program *program,
                                           const struct ntk_cost_row *row)
{
    return &program->facts[row->core * NTK_NTFF_ENGINE_COUNT + row->engine][row->slot];
}

static void instruction_name(const struct ntk_program *program, const struct ntk_cost_row *row,
                             char *buf, size_t buf_bytes)
{
    char opcode[16];
    char line[NTK_LABEL_BYTES];

    (void)ntk_label_line(fact_of(program, row), line, sizeof line);
    snprintf(buf, buf_bytes, "NC %u %s pc %u %s%s%s", program->trace->cores[row->core].ntff->core,
             ntk_ntff_source_title(row->engine), row->slot,
             ntk_ntff_opcode_name(row->opcode, opcode, sizeof opcode), line[0] ? " " : "", line);
}

static const struct {
    const char *key, *head;
    name_of *name;
} parts[] = {
    { "layers", "LAYER", layer_name },
    { "operations", "OPERATION", operation_name },
    { "instructions", "INSTRUCTION", instruction_name },
};

static const struct ntk_cost_list *part_get(const struct ntk_cost_table *costs, size_t index)
{
    const struct ntk_cost_list *const lists[] = { &costs->layers, &costs->operations,
                                                  &costs->instructions };

    return lists[index];
}

static bool is_shown(const struct ntk_program *program, size_t part)
{
    return parts[part].name != layer_name || program->has_layers;
}

static const char waits_note[] = "EVENT_SEMAPHORE only waits, so its time counts as idle here; "
                                 "OpcodeSummary and show-session include it\n";

/* Returns true if shown rows have only waits. */
static bool has_waits_only(const struct ntk_cost_list *list)
{
    for (size_t i = 0; i < list->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        if (list->rows[i].opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE &&
            list->rows[i].instruction_ps == 0) {
            return true;
        }
    }
    return false;
}

void ntk_output_costs_text(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_buf *out)
{
    double total_ps = (double)program->trace->total_ps;

    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const struct ntk_cost_list *list = part_get(costs, p);
        const char *const heads[] = { parts[p].head, "COUNT", "SUM US", "ACTIVE US", "ACTIVE",
                                      "ON PATH",     "FLOPS", "READ",   "WRITTEN" };
        struct ntk_text_table table;

        if (p > 0) {
            ntk_buf_add_char(out, '\n');
        }
        if (!is_shown(program, p)) {
            ntk_buf_add_text(out, ntk_output_no_layers(program->trace));
            continue;
        }
        ntk_text_table_init(&table, 9, 1u << 0, heads);
        for (size_t i = 0; i < list->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
            const struct ntk_cost_row *row = &list->rows[i];
            char name[NAME_BYTES];

            parts[p].name(program, row, name, sizeof name);
            ntk_text_table_text(&table, name);
            ntk_cell_u64(&table, row->count);
            ntk_cell_us(&table, row->instruction_ps);
            ntk_cell_us(&table, row->active_ps);
            ntk_cell_share(&table, (double)row->active_ps, total_ps);
            ntk_cell_share(&table, (double)row->path_ps, costs->has_path ? total_ps : 0);
            if (row->flops) {
                ntk_cell_count(&table, (double)row->flops);
            } else {
                ntk_text_table_text(&table, "-");
            }
            ntk_cell_bytes_or_dash(&table, row->read_bytes);
            ntk_cell_bytes_or_dash(&table, row->write_bytes);
        }
        ntk_text_table_put(&table, out);
        ntk_text_table_fini(&table);
        ntk_output_more(out, list->count);
        if (has_waits_only(list)) {
            ntk_buf_add_text(out, waits_note);
        }
    }
}

static void row_json(const struct ntk_program *program, const struct ntk_cost_table *costs,
                     size_t part, const struct ntk_cost_row *row, struct ntk_json *json)
{
    char name[NAME_BYTES];

    parts[part].name(program, row, name, sizeof name);
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", name);
    if (parts[part].name == instruction_name) {
        ntk_json_key_u64(json, "core", program->trace->cores[row->core].ntff->core);
        ntk_json_key_u64(json, "pc", row->slot);
        ntk_json_key_text(json, "layer", program->has_layers ? program->layers[row->layer] : NULL);
    }
    if (parts[part].name != layer_name) {
        ntk_json_key_text(json, "engine", ntk_ntff_engine_name(row->engine));
        ntk_json_key_opcode(json, "opcode", row->opcode);
    }
    ntk_json_key_u64(json, "count", row->count);
    ntk_json_key_ns(json, "instruction_ns", row->instruction_ps);
    ntk_json_key_ns(json, "active_ns", row->active_ps);
    ntk_json_key_share(json, "active_ratio", (double)row->active_ps,
                       (double)program->trace->total_ps);
    if (costs->has_path) {
        ntk_json_key_ns(json, "path_ns", row->path_ps);
    }
    ntk_json_key_ns(json, "start_ns", row->start_ps);
    ntk_json_key_ns(json, "end_ns", row->end_ps);
    if (costs->flops_known) {
        ntk_json_key_u64(json, "flops", row->flops);
        ntk_json_key_u64(json, "transpose_flops", row->transpose_flops);
    }
    if (costs->bytes_known) {
        ntk_json_key_u64(json, "hbm_read_bytes", row->read_bytes);
        ntk_json_key_u64(json, "hbm_write_bytes", row->write_bytes);
    }
    ntk_json_object_end(json);
}

void ntk_output_costs_json(const struct ntk_program *program, const struct ntk_cost_table *costs,
                           struct ntk_json *json)
{
    ntk_json_object_begin(json);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const struct ntk_cost_list *list = part_get(costs, p);

        ntk_json_key_array_begin(json, parts[p].key);
        for (size_t i = 0; i < list->count && is_shown(program, p); i++) {
            row_json(program, costs, p, &list->rows[i], json);
        }
        ntk_json_array_end(json);
    }
    ntk_json_object_end(json);
}
