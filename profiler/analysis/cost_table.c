/* SPDX-License-Identifier: MIT */
/* cost_table - adds instructions in order of time to their layer, operation and slot. */
#include "profiler/analysis/cost_table.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/interval.h"
#include "profiler/trace/walk.h"
#include "shared/base/order.h"

#define OPCODES 256

struct group {
    struct ntk_cost_row *rows;
    struct ntk_cover *covers;
    size_t count;
};

struct sums {
    const struct ntk_program *program;
    struct group layers, operations, instructions;
    size_t *first_slots; /* first slot of each core and engine in instructions */
};

static int group_init(struct group *group, size_t count)
{
    group->count = count;
    group->rows = calloc(count + 1, sizeof *group->rows);
    group->covers = calloc(count + 1, sizeof *group->covers);
    return group->rows && group->covers ? 0 : -ENOMEM;
}

static void group_fini(struct group *group)
{
    free(group->rows);
    free(group->covers);
}

static size_t instruction_at(const struct sums *sums, size_t core,
                             const struct ntk_trace_instruction *instruction)
{
    return sums->first_slots[core * NTK_NTFF_ENGINE_COUNT + instruction->engine] +
           instruction->slot;
}

static size_t operation_at(const struct ntk_trace_instruction *instruction)
{
    return (size_t)instruction->engine * OPCODES + instruction->opcode;
}

static void add(struct group *group, size_t at, const struct ntk_trace_instruction *instruction,
                uint32_t layer)
{
    struct ntk_cost_row *row = &group->rows[at];

    if (row->count++ == 0) {
        row->start_ps = instruction->start_ps;
        row->end_ps = instruction->end_ps;
        row->engine = instruction->engine;
        row->opcode = instruction->opcode;
        row->slot = instruction->slot;
        row->layer = layer;
    }
    if (instruction->end_ps > row->end_ps) {
        row->end_ps = instruction->end_ps;
    }
    if (instruction->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
        ntk_cover_add(&group->covers[at], instruction->start_ps, instruction->end_ps);
    }
}

/* Adds the work of each execution of a slot. */
static void add_work(struct ntk_cost_row *row, const struct ntk_slot_fact *fact, uint64_t count,
                     uint64_t useful_peak_flops)
{
    row->flops += count * fact->code->flops;
    row->transpose_flops += count * (fact->code->is_transpose ? fact->code->flops : 0);
    row->useful_peak_flops += count * useful_peak_flops;
    row->useful_flops += count * fact->code->useful_flops;
    row->weighted_flops += count * (fact->code->useful_flops ? fact->code->adjusted_flops : 0);
    row->read_bytes += count * fact->code->read_bytes;
    row->write_bytes += count * fact->code->write_bytes;
}

static void add_slot(struct sums *sums, size_t core, unsigned engine, size_t slot,
                     struct ntk_cost_table *table)
{
    const struct ntk_program *program = sums->program;
    const struct ntk_slot_fact *fact = &program->facts[core * NTK_NTFF_ENGINE_COUNT + engine][slot];
    struct ntk_cost_row *row =
        &sums->instructions.rows[sums->first_slots[core * NTK_NTFF_ENGINE_COUNT + engine] + slot];
    uint64_t peak_flops = 0;

    if (row->count == 0) {
        return;
    }
    bool has_peak = ntk_code_peak_flops(program->trace, fact->code, &peak_flops);
    bool is_matmul = row->opcode == NTK_NTFF_OPCODE_MATMUL;
    uint64_t useful = fact->code->is_transpose ? 0 : peak_flops;
    row->core = core;
    table->flops_known = table->flops_known && ((fact->code->has_flops && has_peak) || !is_matmul);
    table->weights_known =
        table->weights_known && ((fact->code->has_flops && fact->code->has_adjusted) || !is_matmul);
    table->bytes_known = table->bytes_known && (fact->code->has_bytes || !fact->code->is_transfer);
    add_work(&sums->layers.rows[fact->code->layer], fact, row->count, useful);
    add_work(&sums->operations.rows[(size_t)row->engine * OPCODES + row->opcode], fact, row->count,
             useful);
    add_work(row, fact, row->count, useful);
}

static void add_slots(struct sums *sums, struct ntk_cost_table *table)
{
    const struct ntk_trace *trace = sums->program->trace;
    size_t buffers = trace->core_count * NTK_NTFF_ENGINE_COUNT;

    for (size_t i = 0; i < buffers; i++) {
        size_t end = i + 1 < buffers ? sums->first_slots[i + 1] : sums->instructions.count;
        for (size_t s = sums->first_slots[i]; s < end; s++) {
            add_slot(sums, i / NTK_NTFF_ENGINE_COUNT, i % NTK_NTFF_ENGINE_COUNT,
                     s - sums->first_slots[i], table);
        }
    }
}

/* Adds the path: every step belongs to a layer; operations and instructions only have their own
 * work. */
static void add_path(struct sums *sums, const struct ntk_critical_path *path)
{
    const struct ntk_trace *trace = sums->program->trace;

    for (size_t i = 0; i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        int64_t step_ps = step->end_ps - step->start_ps;

        ntk_critical_path_passed(trace, path, i);
        sums->layers.rows[step->layer].path_ps += step_ps;
        if (ntk_path_is_engine(step->kind)) {
            const struct ntk_trace_instruction *instruction = ntk_path_instruction(trace, step);
            sums->operations.rows[operation_at(instruction)].path_ps += step_ps;
            sums->instructions.rows[instruction_at(sums, step->core, instruction)].path_ps +=
                step_ps;
        }
    }
}

NTK_ORDER(compare, struct ntk_cost_row,
          NTK_DOWN(active_ps) NTK_UP(layer) NTK_UP(core) NTK_UP(engine) NTK_UP(slot)
              NTK_UP(opcode));

NTK_ORDER(compare_layers, struct ntk_cost_row, NTK_DOWN(path_ps) NTK_THEN(compare));

/* Lists rows that ran or are on the path. */
static void list_take(struct group *group, int (*order)(const void *a, const void *b),
                      struct ntk_cost_list *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < group->count; i++) {
        struct ntk_cost_row row = group->rows[i];

        row.active_ps = group->covers[i].covered_ps;
        row.instruction_ps = group->covers[i].sum_ps;
        if (row.count || row.path_ps) {
            group->rows[kept++] = row;
        }
    }
    qsort(group->rows, kept, sizeof *group->rows, order);
    out->rows = group->rows;
    out->count = kept;
    group->rows = NULL;
}

static int sums_init(struct sums *sums)
{
    const struct ntk_trace *trace = sums->program->trace;
    size_t slots = 0;

    sums->first_slots =
        calloc(trace->core_count * NTK_NTFF_ENGINE_COUNT + 1, sizeof *sums->first_slots);
    if (!sums->first_slots) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < trace->core_count * NTK_NTFF_ENGINE_COUNT; i++) {
        const struct ntk_ntff_buffer *buffer =
            trace->cores[i / NTK_NTFF_ENGINE_COUNT].ntff->engine_buffers[i % NTK_NTFF_ENGINE_COUNT];

        sums->first_slots[i] = slots;
        slots += buffer ? buffer->code_bytes / NTK_NTFF_SLOT_BYTES : 0;
    }
    int ret = group_init(&sums->layers, sums->program->layer_count);
    ret = ret ? ret : group_init(&sums->operations, (size_t)NTK_NTFF_ENGINE_COUNT * OPCODES);
    return ret ? ret : group_init(&sums->instructions, slots);
}

int ntk_analysis_cost_table(const struct ntk_program *program, const struct ntk_critical_path *path,
                            struct ntk_cost_table *out_table)
{
    const struct ntk_trace *trace = program->trace;
    struct sums sums = { .program = program };
    struct ntk_cost_table table = {
        .has_path = path != NULL, .flops_known = true, .weights_known = true, .bytes_known = true
    };
    struct ntk_walk walk;
    struct ntk_walk_span span;
    int ret = sums_init(&sums);

    if (ret == 0) {
        ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS);
    }
    while (ret == 0 && ntk_walk_next(&walk, &span)) {
        size_t core = (size_t)(span.core - trace->cores);
        uint32_t layer = ntk_program_fact(program, core, span.instruction)->code->layer;

        add(&sums.layers, layer, span.instruction, layer);
        add(&sums.operations, operation_at(span.instruction), span.instruction, layer);
        add(&sums.instructions, instruction_at(&sums, core, span.instruction), span.instruction,
            layer);
    }
    if (ret == 0) {
        add_slots(&sums, &table);
        for (size_t l = 0; l < sums.layers.count; l++) {
            sums.layers.rows[l].layer = (uint32_t)l;
        }
        if (path) {
            add_path(&sums, path);
        }
        list_take(&sums.layers, compare_layers, &table.layers);
        list_take(&sums.operations, compare, &table.operations);
        list_take(&sums.instructions, compare, &table.instructions);
        *out_table = table;
    }
    group_fini(&sums.layers);
    group_fini(&sums.operations);
    group_fini(&sums.instructions);
    free(sums.first_slots);
    return ret;
}

void ntk_cost_table_fini(struct ntk_cost_table *table)
{
    free(table->layers.rows);
    free(table->operations.rows);
    free(table->instructions.rows);
    *table = (struct ntk_cost_table){ 0 };
}
