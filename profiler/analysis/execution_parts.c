/* SPDX-License-Identifier: MIT */
/* execution_parts - counts executions by the wraps of engines: from the highest slot that ran to
 * the lowest. */
#include <errno.h>

#include "profiler/analysis/executions.h"
#include "shared/base/vec.h"

struct wraps {
    bool is_there, has_before;
    uint32_t low, high; /* lowest and highest slot */
    uint32_t before;    /* slot of the previous instruction */
    size_t count;       /* number of parts so far */
};

static void widen(struct ntk_execution *execution, const struct ntk_trace_instruction *one)
{
    execution->start_ps = one->start_ps < execution->start_ps ? one->start_ps : execution->start_ps;
    execution->end_ps = one->end_ps > execution->end_ps ? one->end_ps : execution->end_ps;
}

static void range_find(const struct ntk_trace_core *core, struct wraps *engines)
{
    ntk_trace_each_instruction(core, one) {
        struct wraps *engine = &engines[one->engine % NTK_NTFF_ENGINE_COUNT];

        engine->low = engine->is_there && engine->low < one->slot ? engine->low : one->slot;
        engine->high = engine->is_there && engine->high > one->slot ? engine->high : one->slot;
        engine->is_there = true;
    }
}

/* Returns the part to which an instruction belongs, from 1; 0 if the program has a loop at its
 * lowest slot, or only one slot. */
static size_t part_of(struct wraps *engine, uint32_t slot)
{
    if (!engine->has_before) {
        engine->count = 1;
    } else if (slot == engine->low) {
        if (engine->before != engine->high || engine->low == engine->high) {
            return 0;
        }
        engine->count++;
    }
    engine->has_before = true;
    engine->before = slot;
    return engine->count;
}

int ntk_analysis_execution_parts(const struct ntk_trace_core *core,
                                 struct ntk_executions *out_parts)
{
    struct wraps engines[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct ntk_vec parts = NTK_VEC_INIT(struct ntk_execution);
    size_t count = 0;
    int ret = 0;

    *out_parts = (struct ntk_executions){ 0 };
    if (core->is_cut.instructions) {
        return 0;
    }
    range_find(core, engines);
    ntk_trace_each_instruction(core, one) {
        size_t of = part_of(&engines[one->engine % NTK_NTFF_ENGINE_COUNT], one->slot);

        if (of == 0 || of > NTK_EXECUTIONS_MAX) {
            ntk_vec_fini(&parts);
            return 0;
        }
        while (ret == 0 && parts.count < of) {
            ret = ntk_vec_push(&parts, &(struct ntk_execution){ INT64_MAX, INT64_MIN });
        }
        if (ret < 0) {
            ntk_vec_fini(&parts);
            return ret;
        }
        widen(ntk_vec_at(&parts, of - 1), one);
    }
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (engines[e].is_there && count > 0 && engines[e].count != count) {
            ntk_vec_fini(&parts);
            return 0;
        }
        count = engines[e].is_there ? engines[e].count : count;
    }
    *out_parts = (struct ntk_executions){ parts.items, parts.count };
    return 0;
}
