/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/executions.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/trace/whole.h"
#include "shared/base/bisect.h"
#include "shared/base/order.h"

struct engine {
    bool is_there;
    uint32_t first, last; /* first and last slot of its program */
    uint32_t before;      /* index of the previous instruction */
    size_t count;         /* number of starts */
};

void ntk_executions_fini(struct ntk_executions *executions)
{
    free(executions->items);
    *executions = (struct ntk_executions){ 0 };
}

/* Finds the first and the last instruction of each engine. */
static void engines_find(const struct ntk_trace_core *core, struct engine *engines)
{
    ntk_trace_each_instruction(core, instruction) {
        struct engine *engine = &engines[instruction->engine % NTK_NTFF_ENGINE_COUNT];

        engine->first = engine->is_there ? engine->first : instruction->slot;
        engine->last = instruction->slot;
        engine->is_there = true;
    }
}

/* Returns the execution on its engine to which an instruction belongs, from 1; 0 if the capture
 * starts within it. */
static size_t execution_of(struct engine *engine, uint32_t slot)
{
    if (slot == engine->first) {
        if (engine->count > 0 && engine->before != engine->last) {
            return 0;
        }
        engine->count++;
    }
    engine->before = slot;
    return engine->count;
}

static size_t agreed_count(const struct engine *engines)
{
    size_t count = 0;

    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (engines[e].is_there && count > 0 && engines[e].count != count) {
            return 0;
        }
        count = engines[e].is_there ? engines[e].count : count;
    }
    return count;
}

int ntk_analysis_executions(const struct ntk_trace_core *core,
                            struct ntk_executions *out_executions)
{
    struct engine engines[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct ntk_execution *items = NULL;
    size_t room = 0;

    *out_executions = (struct ntk_executions){ 0 };
    if (core->is_cut.instructions) {
        return 0;
    }
    engines_find(core, engines);
    ntk_trace_each_instruction(core, instruction) {
        size_t of =
            execution_of(&engines[instruction->engine % NTK_NTFF_ENGINE_COUNT], instruction->slot);

        if (of == 0 || of > NTK_EXECUTIONS_MAX) {
            free(items);
            return 0;
        }
        if (of > room) {
            size_t more = room > 0 ? 2 * room : 8;
            struct ntk_execution *grown = realloc(items, more * sizeof *items);

            if (!grown) {
                free(items);
                return -ENOMEM;
            }
            items = grown;
            for (; room < more; room++) {
                items[room] = (struct ntk_execution){ INT64_MAX, INT64_MIN };
            }
        }
        struct ntk_execution *item = &items[of - 1];
        item->start_ps =
            instruction->start_ps < item->start_ps ? instruction->start_ps : item->start_ps;
        item->end_ps = instruction->end_ps > item->end_ps ? instruction->end_ps : item->end_ps;
    }
    *out_executions = (struct ntk_executions){ items, agreed_count(engines) };
    if (out_executions->count == 0) {
        ntk_executions_fini(out_executions);
    }
    return 0;
}

/* Programs of one instruction may repeat it for any reason. */
static bool has_a_program(const struct ntk_trace_core *core)
{
    uint32_t first[NTK_NTFF_ENGINE_COUNT];
    bool is_there[NTK_NTFF_ENGINE_COUNT] = { false };

    ntk_trace_each_instruction(core, instruction) {
        unsigned e = instruction->engine % NTK_NTFF_ENGINE_COUNT;

        if (is_there[e] && instruction->slot != first[e]) {
            return true;
        }
        first[e] = instruction->slot;
        is_there[e] = true;
    }
    return false;
}

size_t ntk_execution_of(const struct ntk_execution_borders *borders, int64_t time_ps)
{
    size_t count = 0;

    NTK_BISECT(count, borders->count, i, borders->items[i].start_ps <= time_ps);
    return count > 0 ? count - 1 : 0;
}

/* Sets the ends of executions from the instructions, and removes executions without any. */
static void ends_find(const struct ntk_trace *trace, struct ntk_execution_borders *borders)
{
    size_t kept = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];

        ntk_trace_each_instruction(core, instruction) {
            struct ntk_execution_border *border =
                &borders->items[ntk_execution_of(borders, instruction->start_ps)];

            if (instruction->end_ps > border->end_ps) {
                border->end_ps = instruction->end_ps;
                border->item = (uint32_t)(instruction - core->instructions);
                border->core = c;
            }
        }
    }
    for (size_t i = 0; i < borders->count; i++) {
        if (borders->items[i].end_ps != INT64_MIN) {
            borders->items[kept++] = borders->items[i];
        }
    }
    borders->count = kept;
}

int ntk_executions_find(const struct ntk_trace_core *core, struct ntk_executions *out_executions)
{
    int ret = ntk_analysis_executions(core, out_executions);

    return ret == 0 && out_executions->count == 0
               ? ntk_analysis_execution_parts(core, out_executions)
               : ret;
}

/* The executions of all cores, and their models (ntk_execution_models_find). */
struct found {
    const struct ntk_trace *trace;
    struct ntk_executions *cores;
    size_t *models;
};

static int found_init(struct found *found, const struct ntk_trace *trace)
{
    int ret = 0;

    *found = (struct found){ .trace = trace,
                             .cores = calloc(trace->core_count + 1, sizeof *found->cores),
                             .models = calloc(trace->core_count + 1, sizeof *found->models) };
    if (!found->cores || !found->models) {
        return -ENOMEM;
    }
    ntk_execution_models_find(trace, found->models);
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ret = ntk_executions_find(&trace->cores[c], &found->cores[c]);
    }
    return ret;
}

static void found_fini(struct found *found)
{
    for (size_t c = 0; found->cores && c < found->trace->core_count; c++) {
        ntk_executions_fini(&found->cores[c]);
    }
    free(found->cores);
    free(found->models);
}

/* Returns the number of executions of a model, of the core with the most; 1 if unknown, 0 without
 * instructions. */
static size_t count_of(const struct found *found, size_t model)
{
    size_t count = 0;

    for (size_t c = 0; c < found->trace->core_count; c++) {
        const struct ntk_trace_core *core = &found->trace->cores[c];
        if (found->models[c] != model || core->instruction_count == 0) {
            continue;
        }
        count = count ? count : 1;
        if (found->cores[c].count > count && has_a_program(core)) {
            count = found->cores[c].count;
        }
    }
    return count;
}

/* Adds the starts of a model's executions. Cores with a different number are ignored. */
static void starts_add(const struct found *found, size_t model, size_t count,
                       struct ntk_execution_border *items)
{
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct ntk_execution_border){ .start_ps = INT64_MAX, .end_ps = INT64_MIN };
    }
    for (size_t c = 0; c < found->trace->core_count; c++) {
        const struct ntk_trace_core *core = &found->trace->cores[c];
        if (found->models[c] != model || core->instruction_count == 0) {
            continue;
        }
        if (count == 1 && core->instructions[0].start_ps < items[0].start_ps) {
            items[0].start_ps = core->instructions[0].start_ps;
        }
        for (size_t i = 0; found->cores[c].count == count && i < count; i++) {
            int64_t start_ps = found->cores[c].items[i].start_ps;
            items[i].start_ps = start_ps < items[i].start_ps ? start_ps : items[i].start_ps;
        }
    }
}

NTK_ORDER(by_start, struct ntk_execution_border, NTK_UP(start_ps));

static int borders_find(const struct found *found, size_t count,
                        struct ntk_execution_borders *out_borders)
{
    struct ntk_execution_borders borders = { .items = calloc(count, sizeof *borders.items),
                                             .count = count };
    size_t added = 0;

    if (!borders.items) {
        return -ENOMEM;
    }
    for (size_t m = 0; m < found->trace->core_count; m++) {
        size_t of_model = count_of(found, m);
        starts_add(found, m, of_model, &borders.items[added]);
        added += of_model;
    }
    qsort(borders.items, borders.count, sizeof *borders.items, by_start);
    ends_find(found->trace, &borders);
    if (borders.count < count) { /* several start at the same time */
        ntk_execution_borders_fini(&borders);
    }
    *out_borders = borders;
    return 0;
}

/* Finds the executions of a trace without a window. */
static int whole_find(const struct ntk_trace *trace, uint64_t *out_count,
                      struct ntk_execution_borders *out_borders)
{
    struct found found;
    size_t count = 0;
    int ret = found_init(&found, trace);

    for (size_t m = 0; m < trace->core_count && ret == 0; m++) {
        count += count_of(&found, m);
    }
    if (ret == 0 && count > 1) {
        ret = borders_find(&found, count, out_borders);
    }
    found_fini(&found);
    *out_count = count ? count : 1;
    return ret;
}

void ntk_execution_borders_cut(const struct ntk_trace *trace, struct ntk_execution_borders *borders)
{
    int64_t length_ps = trace->part.to_ps - trace->part.from_ps;
    size_t kept = 0;

    for (size_t i = 0; i < borders->count; i++) {
        int64_t start_ps = borders->items[i].start_ps - trace->part.from_ps;

        if (start_ps >= length_ps) {
            break;
        }
        kept = start_ps <= 0 ? 0 : kept; /* an earlier one ended before the window */
        borders->items[kept++] =
            (struct ntk_execution_border){ .start_ps = start_ps > 0 ? start_ps : 0,
                                           .end_ps = INT64_MIN };
    }
    borders->count = kept;
    if (kept > 0) {
        ends_find(trace, borders);
    }
    if (borders->count < 2) {
        ntk_execution_borders_fini(borders);
    }
}

int ntk_execution_borders_find(const struct ntk_trace *trace, uint64_t *out_count,
                               struct ntk_execution_borders *out_borders)
{
    struct ntk_trace *whole = NULL;

    *out_borders = (struct ntk_execution_borders){ 0 };
    *out_count = 1;
    if (!ntk_trace_has_window(trace)) {
        return whole_find(trace, out_count, out_borders);
    }
    /* The window alone does not show where an engine's program starts and ends. */
    int ret = ntk_trace_whole_create(trace, &whole);
    ret = ret ? ret : whole_find(whole, out_count, out_borders);
    ntk_trace_destroy(whole);
    if (ret == 0) {
        ntk_execution_borders_cut(trace, out_borders);
        *out_count = ntk_execution_known_count(out_borders);
    }
    return ret;
}

void ntk_execution_window(const struct ntk_execution_borders *borders, size_t execution,
                          int64_t *out_from_ps, int64_t *out_to_ps)
{
    const struct ntk_execution_border *items = borders->items;
    bool has_next = execution + 1 < borders->count;
    int64_t next_ps = has_next ? items[execution + 1].start_ps : 0;

    *out_from_ps = ntk_execution_start_ps(borders, execution);
    *out_to_ps = has_next && items[execution].end_ps < next_ps ? items[execution].end_ps : next_ps;
}

void ntk_execution_borders_fini(struct ntk_execution_borders *borders)
{
    free(borders->items);
    *borders = (struct ntk_execution_borders){ 0 };
}
