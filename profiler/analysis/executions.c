/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/executions.h"

#include <errno.h>
#include <stdlib.h>

struct engine {
    bool is_there;
    uint32_t first, last; /* slots of its program */
    uint32_t before;      /* index of the previous instruction */
    size_t count;         /* number of its starts */
};

void ntk_executions_fini(struct ntk_executions *executions)
{
    free(executions->items);
    *executions = (struct ntk_executions){ 0 };
}

/* The first and the last instruction of each engine. */
static void engines_find(const struct ntk_trace_core *core, struct engine *engines)
{
    for (size_t i = 0; i < core->instruction_count; i++) {
        const struct ntk_trace_instruction *instruction = &core->instructions[i];
        struct engine *engine = &engines[instruction->engine % NTK_NTFF_ENGINE_COUNT];

        engine->first = engine->is_there ? engine->first : instruction->slot;
        engine->last = instruction->slot;
        engine->is_there = true;
    }
}

/* The execution of its engine that an instruction belongs to, from 1; 0: the capture starts within
 * it. */
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
    for (size_t i = 0; i < core->instruction_count; i++) {
        const struct ntk_trace_instruction *instruction = &core->instructions[i];
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
