/* SPDX-License-Identifier: MIT */
/* output_path - writes critical_path.h as text and JSON. */
#include <stdio.h>

#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

#define NAME_BYTES 400

#define OF_CORE_BYTES 32

/* Returns a text such as " of core 5" in a path over several cores, else "". */
static const char *of_core(const struct ntk_path_share *share, char buf[OF_CORE_BYTES])
{
    snprintf(buf, OF_CORE_BYTES, share->has_cores ? " of core %u" : "", share->core);
    return buf;
}

static void opcode_text(const struct ntk_path_share *share, char *buf, size_t buf_bytes)
{
    char opcode[16];
    char core[OF_CORE_BYTES];

    snprintf(buf, buf_bytes, "%s %s%s", ntk_ntff_source_title(share->engine),
             ntk_ntff_opcode_name(share->opcode, opcode, sizeof opcode), of_core(share, core));
}

static void instruction_text(const struct ntk_path_share *share, char *buf, size_t buf_bytes)
{
    char opcode[16];
    char core[OF_CORE_BYTES];

    snprintf(buf, buf_bytes, "%s pc %u %s%s", ntk_ntff_source_title(share->engine), share->slot,
             ntk_ntff_opcode_name(share->opcode, opcode, sizeof opcode), of_core(share, core));
}

static void layer_text(const struct ntk_path_share *share, char *buf, size_t buf_bytes)
{
    snprintf(buf, buf_bytes, "%s", share->name);
}

typedef void name_of(const struct ntk_path_share *share, char *buf, size_t buf_bytes);

static const struct {
    const char *key, *head;
    name_of *name;
} parts[] = {
    { "resources", "RESOURCE", ntk_path_resource_name },
    { "opcodes", "OPERATION", opcode_text },
    { "instructions", "INSTRUCTION", instruction_text },
    { "layers", "LAYER", layer_text },
};

static const struct ntk_path_table *part_get(const struct ntk_critical_path *path, size_t index)
{
    const struct ntk_path_table *const tables[] = { &path->resources, &path->opcodes,
                                                    &path->instructions, &path->layers };

    return tables[index];
}

void ntk_output_path_text(const struct ntk_program *program, const struct ntk_critical_path *path,
                          struct ntk_buf *out)
{
    ntk_buf_add_format(out,
                       "The chain of %zu steps that makes up the execution (%.3f us), %s core %u\n",
                       path->step_count, (double)path->total_ps / 1e6,
                       path->has_cores ? "over several cores to the end of" : "on",
                       program->trace->cores[path->core].ntff->core);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const struct ntk_path_table *of = part_get(path, p);
        const char *const heads[] = { parts[p].head, "STEPS",    "ON PATH US",
                                      "SHARE",       "ISSUE US", "DRAIN US" };
        bool has_phases = parts[p].name != layer_text;
        struct ntk_text_table table;
        if (parts[p].name == layer_text && !program->has_layers) {
            ntk_buf_add_char(out, '\n');
            ntk_buf_add_text(out, ntk_output_no_layers(program->trace));
            continue;
        }
        ntk_buf_add_char(out, '\n');
        ntk_text_table_init(&table, has_phases ? 6 : 4, 1u << 0, heads);
        for (size_t i = 0; i < of->count && i < NTK_OUTPUT_ROWS_MAX; i++) {
            char name[NAME_BYTES];
            parts[p].name(&of->shares[i], name, sizeof name);
            ntk_text_table_text(&table, name);
            ntk_cell_u64(&table, of->shares[i].count);
            ntk_cell_us(&table, of->shares[i].path_ps);
            ntk_cell_share(&table, (double)of->shares[i].path_ps, (double)path->total_ps);
            if (has_phases && of->shares[i].kind == NTK_PATH_INSTRUCTION) {
                ntk_cell_us(&table, of->shares[i].issue_ps);
                ntk_cell_us(&table, of->shares[i].drain_ps);
            } else if (has_phases) {
                ntk_cell_dashes(&table, 2);
            }
        }
        ntk_text_table_put(&table, out);
        ntk_text_table_fini(&table);
        ntk_output_more(out, of->count);
    }
}

static void step_json(const struct ntk_program *program, const struct ntk_path_step *step,
                      struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "kind", ntk_path_kind_name(step->kind));
    ntk_json_key_ns(json, "start_ns", step->start_ps);
    ntk_json_key_ns(json, "end_ns", step->end_ps);
    ntk_json_key_u64(json, "core", program->trace->cores[step->core].ntff->core);
    if (step->instruction != NTK_NO_INDEX) {
        const struct ntk_trace_instruction *instruction =
            ntk_path_instruction(program->trace, step);
        ntk_json_key_text(json, "engine", ntk_ntff_engine_name(instruction->engine));
        ntk_json_key_u64(json, "pc", instruction->slot);
        ntk_json_key_opcode(json, "opcode", instruction->opcode);
    }
    if (step->kind == NTK_PATH_TRANSFER || step->kind == NTK_PATH_WAIT) {
        ntk_json_key_queue(json, "queue", step->queue);
    }
    if (program->has_layers) {
        ntk_json_key_text(json, "layer", program->layers[step->layer]);
    }
    ntk_json_object_end(json);
}

/* Writes the start of an object for the path. */
static void shares_json(const struct ntk_program *program, const struct ntk_critical_path *path,
                        struct ntk_json *json)
{
    ntk_json_key_ns(json, "total_ns", path->total_ps);
    ntk_json_key_u64(json, "core", program->trace->cores[path->core].ntff->core);
    ntk_json_key_object_begin(json, "kinds_ns");
    for (unsigned k = 0; k < NTK_PATH_KIND_COUNT; k++) {
        ntk_json_key_ns(json, ntk_path_kind_name(k), path->kinds_ps[k]);
    }
    ntk_json_object_end(json);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const struct ntk_path_table *of = part_get(path, p);
        ntk_json_key_array_begin(json, parts[p].key);
        for (size_t i = 0; i < of->count && (parts[p].name != layer_text || program->has_layers);
             i++) {
            char name[NAME_BYTES];
            parts[p].name(&of->shares[i], name, sizeof name);
            ntk_json_object_begin(json);
            ntk_json_key_text(json, "name", name);
            ntk_json_key_u64(json, "steps", of->shares[i].count);
            ntk_json_key_ns(json, "path_ns", of->shares[i].path_ps);
            ntk_json_key_share(json, "path_ratio", (double)of->shares[i].path_ps,
                               (double)path->total_ps);
            if (of->shares[i].kind == NTK_PATH_INSTRUCTION && parts[p].name != layer_text) {
                ntk_json_key_ns(json, "issue_ns", of->shares[i].issue_ps);
                ntk_json_key_ns(json, "drain_ns", of->shares[i].drain_ps);
            }
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
    }
}

void ntk_output_path_brief_json(const struct ntk_program *program,
                                const struct ntk_critical_path *path, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    shares_json(program, path, json);
    ntk_json_object_end(json);
}

void ntk_output_path_json(const struct ntk_program *program, const struct ntk_critical_path *path,
                          struct ntk_json *json)
{
    ntk_json_object_begin(json);
    shares_json(program, path, json);
    ntk_json_key_array_begin(json, "steps");
    for (size_t i = 0; i < path->step_count; i++) {
        step_json(program, &path->steps[i], json);
        ntk_critical_path_passed(program->trace, path, i);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
