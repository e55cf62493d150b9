/* SPDX-License-Identifier: MIT */
/* output_onchip - writes the values of chip_memory.h: place, time, and content. */
#include "profiler/output/answers/output_analysis.h"

#include <stdio.h>
#include <stdlib.h>

#include "profiler/analysis/instruction_label.h"
#include "profiler/analysis/moves.h"
#include "profiler/output/answers/output_cells.h"

/* Returns the best available name: of the tensor from which it was loaded, from the compiler or
 * source line (labels may be NULL), else of the layer; NULL if none. */
static const char *name_of(const struct ntk_program *program, size_t core,
                           const struct ntk_labels *labels, const struct ntk_chip_life *life,
                           char buf[NTK_LABEL_BYTES])
{
    const struct ntk_slot_fact *fact =
        ntk_program_fact(program, core, &program->trace->cores[core].instructions[life->writer]);

    if (fact->code->moves && fact->code->moves->variable) {
        return fact->code->moves->variable;
    }
    if (labels && ntk_labels_is_kernel(labels, fact)) {
        return ntk_label_get(labels, fact, buf, NTK_LABEL_BYTES);
    }
    if (fact->named && fact->named->penguin_text &&
        !(labels && ntk_labels_is_layer(labels, fact))) {
        return fact->named->penguin_text;
    }
    return fact->code->layer > NTK_LAYER_RUNTIME ? program->layers[fact->code->layer] : NULL;
}

static double weight(const struct ntk_chip_life *life)
{
    return (double)(life->high - life->low) * (double)(life->until_ps - life->from_ps);
}

static int compare_weights(const void *a, const void *b)
{
    const struct ntk_chip_life *x = *(const struct ntk_chip_life *const *)a;
    const struct ntk_chip_life *y = *(const struct ntk_chip_life *const *)b;
    double d = weight(x) - weight(y);

    return d > 0 ? -1 : d < 0 ? 1 : (x > y) - (x < y);
}

void ntk_output_onchip_why(const struct ntk_program *program, char *buf, size_t buf_bytes)
{
    const struct ntk_trace *trace = program->trace;
    struct ntk_chip_unknown unknown = { 0 };
    char others[64] = "";
    char unnamed[8];

    if (!trace->has_total || trace->total_ps <= 0) {
        (void)snprintf(buf, buf_bytes, "the capture does not contain the execution time");
        return;
    }
    int ret = ntk_chip_find_unknown(program, &unknown);
    if (ret < 0) {
        (void)snprintf(buf, buf_bytes, "out of memory");
    } else if (unknown.is_instruction) {
        if (unknown.opcode_count > 1) {
            (void)snprintf(others, sizeof others, " and of %u other operations",
                           unknown.opcode_count - 1);
        }
        (void)snprintf(buf, buf_bytes, "cannot decode the operands of %s (%s, pc %u)%s",
                       ntk_ntff_opcode_name(unknown.opcode, unnamed, sizeof unnamed),
                       ntk_ntff_engine_title(unknown.engine), unknown.slot, others);
    } else {
        (void)snprintf(buf, buf_bytes, "%s",
                       trace->neff ? "the NEFF does not describe all prepared transfers"
                                   : "pass the NEFF with -n");
    }
}

static void space_cells(const struct ntk_program *program,
                        const struct ntk_chip_memory_space *space, struct ntk_text_table *table)
{
    const struct ntk_trace_core *core = &program->trace->cores[space->core];
    const struct ntk_chip_life **order = calloc(space->life_count + 1, sizeof *order);
    struct ntk_labels *labels = ntk_labels_create(program, space->core);
    char unnamed[8];

    for (size_t i = 0; order && i < space->life_count; i++) {
        order[i] = &space->lives[i];
    }
    if (order) {
        qsort(order, space->life_count, sizeof(const struct ntk_chip_life *), compare_weights);
    }
    for (size_t i = 0; order && i < space->life_count && i < NTK_OUTPUT_ROWS_MAX; i++) {
        const struct ntk_chip_life *life = order[i];
        const struct ntk_trace_instruction *writer = &core->instructions[life->writer];
        char label[NTK_LABEL_BYTES];
        const char *name = name_of(program, space->core, labels, life, label);
        ntk_cell_u64(table, core->ntff->core);
        ntk_text_table_text(table, ntk_chip_space_name(space->space));
        ntk_text_table_format(table, "0x%x", life->low);
        ntk_cell_bytes(table, life->high - life->low);
        ntk_cell_us(table, life->from_ps);
        ntk_cell_us(table, life->until_ps);
        ntk_text_table_format(table, "%s %s", ntk_ntff_engine_title(writer->engine),
                              ntk_ntff_opcode_name(writer->opcode, unnamed, sizeof unnamed));
        ntk_text_table_text(table, name ? name : "-");
    }
    ntk_labels_destroy(labels);
    free((void *)order);
}

void ntk_output_onchip_text(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_buf *out)
{
    static const char *const heads[] = { "CORE",    "SPACE",    "ADDRESS", "BYTES",
                                         "FROM US", "UNTIL US", "MADE BY", "NAME" };
    struct ntk_text_table table;

    ntk_buf_add_text(out, "Values of each space, sorted by BYTES (per partition) times duration, "
                          "largest first\n");
    ntk_text_table_init(&table, 8, 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7, heads);
    for (size_t s = 0; s < chip->space_count; s++) {
        space_cells(program, &chip->spaces[s], &table);
    }
    ntk_text_table_put(&table, out);
    ntk_text_table_fini(&table);
    for (size_t s = 0; s < chip->space_count; s++) {
        const struct ntk_chip_memory_space *space = &chip->spaces[s];
        if (space->value_count > NTK_OUTPUT_ROWS_MAX) {
            ntk_buf_add_format(out, "... and %llu more in %s of core %u\n",
                               (unsigned long long)(space->value_count - NTK_OUTPUT_ROWS_MAX),
                               ntk_chip_space_name(space->space),
                               program->trace->cores[space->core].ntff->core);
        }
    }
}

void ntk_output_onchip_json(const struct ntk_program *program, const struct ntk_chip_memory *chip,
                            struct ntk_json *json)
{
    char label[NTK_LABEL_BYTES];
    char unnamed[8];

    ntk_json_array_begin(json);
    for (size_t s = 0; s < chip->space_count; s++) {
        const struct ntk_chip_memory_space *space = &chip->spaces[s];
        const struct ntk_trace_core *core = &program->trace->cores[space->core];
        struct ntk_labels *labels = ntk_labels_create(program, space->core);

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", core->ntff->core);
        ntk_json_key_text(json, "space", ntk_chip_space_name(space->space));
        ntk_json_key_share(json, "partition_bytes", (double)space->capacity_bytes,
                           space->capacity_bytes ? 1 : 0);
        ntk_json_key_u64(json, "peak_bytes", space->peak_bytes);
        ntk_json_key_u64(json, "value_count", space->value_count);
        ntk_json_key_array_begin(json, "values");
        for (size_t i = 0; i < space->life_count; i++) {
            const struct ntk_chip_life *life = &space->lives[i];
            const struct ntk_trace_instruction *writer = &core->instructions[life->writer];
            ntk_json_object_begin(json);
            ntk_json_key_u64(json, "address", life->low);
            ntk_json_key_u64(json, "bytes", life->high - life->low);
            ntk_json_key_ns(json, "from_ns", life->from_ps);
            ntk_json_key_ns(json, "until_ns", life->until_ps);
            ntk_json_key_text(json, "name", name_of(program, space->core, labels, life, label));
            ntk_json_key_text(json, "engine", ntk_ntff_engine_name(writer->engine));
            ntk_json_key_text(json, "opcode",
                              ntk_ntff_opcode_name(writer->opcode, unnamed, sizeof unnamed));
            ntk_json_key_u64(json, "pc", writer->slot);
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
        ntk_labels_destroy(labels);
        ntk_json_key_array_begin(json, "over_time");
        for (size_t p = 0; p < chip->piece_count; p++) {
            ntk_json_u64(json, space->pieces[p]);
        }
        ntk_json_array_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}
