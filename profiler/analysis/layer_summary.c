/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/layer_summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/interval.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

struct open_layer {
    struct ntk_layer layer;
    int64_t last_end_ps[NTK_NTFF_ENGINE_COUNT];
    bool has_last[NTK_NTFF_ENGINE_COUNT];
    struct ntk_cover covers[NTK_NTFF_ENGINE_COUNT];
    bool is_started;
};

static void add(struct open_layer *open, const struct ntk_trace *trace,
                const struct ntk_trace_instruction *instruction, const struct ntk_slot_fact *fact)
{
    struct ntk_layer *layer = &open->layer;
    unsigned e = instruction->engine;

    if (!open->is_started) {
        open->is_started = true;
        layer->start_ps = instruction->start_ps;
        layer->end_ps = instruction->end_ps;
        layer->has_flops = true;
    }
    if (instruction->end_ps > layer->end_ps) {
        layer->end_ps = instruction->end_ps;
    }
    if (!open->has_last[e] || instruction->end_ps > open->last_end_ps[e]) {
        open->has_last[e] = true;
        open->last_end_ps[e] = instruction->end_ps;
    }
    layer->engines[e].instruction_count++;
    if (instruction->opcode == NTK_NTFF_OPCODE_MATMUL) {
        uint64_t peak_flops = 0;
        bool has_peak = ntk_code_peak_flops(trace, fact->code, &peak_flops);
        layer->has_flops = layer->has_flops && fact->code->has_flops && has_peak;
        layer->peak_flops += peak_flops;
        layer->useful_peak_flops += fact->code->is_transpose ? 0 : peak_flops;
        layer->flops += fact->code->flops;
        layer->transpose_flops += fact->code->is_transpose ? fact->code->flops : 0;
    }
    if (instruction->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
        ntk_cover_add(&open->covers[e], instruction->start_ps, instruction->end_ps);
    }
}

static void finish(struct open_layer *open)
{
    unsigned e = open->layer.name ? NTK_NTFF_ENGINE_TENSOR : NTK_NTFF_ENGINE_VECTOR;

    if (open->has_last[e] && open->last_end_ps[e] > open->layer.start_ps) {
        open->layer.flops_ps = open->last_end_ps[e] - open->layer.start_ps;
    }
    for (unsigned k = 0; k < NTK_NTFF_ENGINE_COUNT; k++) {
        open->layer.engines[k].instruction_ps = open->covers[k].sum_ps;
        open->layer.engines[k].active_ps = open->covers[k].covered_ps;
    }
}

const char *ntk_layer_name(const struct ntk_program *program, const struct ntk_trace_core *core,
                           const struct ntk_slot_fact *fact)
{
    if (fact->code->layer > NTK_LAYER_RUNTIME) {
        return program->layers[fact->code->layer];
    }
    if (fact->hlo && fact->hlo->framework && fact->hlo->framework[0]) {
        return fact->hlo->framework;
    }
    return core->neff && !fact->code->is_open && fact->compiler_pc >= 1 ? NTK_LAYER_UNKNOWN : NULL;
}

/* Adds the rows of one core, which start at `first`; names map to 1 + their index. */
static int add_core(const struct ntk_trace *trace, const struct ntk_program *program,
                    size_t core_index, struct ntk_vec *opens)
{
    const struct ntk_trace_core *core = &trace->cores[core_index];
    struct ntk_map names = { 0 };
    size_t first = opens->count;
    int ret = 0;

    ntk_trace_each_instruction(core, instruction) {
        const struct ntk_slot_fact *fact = ntk_program_fact(program, core_index, instruction);
        const char *name = ntk_layer_name(program, core, fact);
        if (opens->count == first) {
            struct open_layer *whole = ntk_vec_add(opens);
            if (!whole) {
                ret = -ENOMEM;
                break;
            }
            whole->layer.core_index = core_index;
        }
        add(ntk_vec_at(opens, first), trace, instruction, fact);
        if (!name) {
            continue;
        }
        uintptr_t at = (uintptr_t)ntk_map_get(&names, name);
        if (!at) {
            struct open_layer *open = ntk_vec_add(opens);
            at = opens->count;
            if (!open ||
                ntk_map_put(&names, name, (void *)at) < 0) { // NOLINT(performance-no-int-to-ptr)
                ret = -ENOMEM;
                break;
            }
            open->layer.core_index = core_index;
            open->layer.name = name;
        }
        add(ntk_vec_at(opens, at - 1), trace, instruction, fact);
    }
    ntk_map_fini(&names);
    return ret;
}

int ntk_analysis_layer_summary(const struct ntk_trace *trace, const struct ntk_program *program,
                               struct ntk_layer_summary *out_summary)
{
    struct ntk_vec opens = NTK_VEC_INIT(struct open_layer);
    struct ntk_layer *layers = NULL;
    int ret = 0;

    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ret = add_core(trace, program, c, &opens);
    }
    if (ret == 0) {
        layers = calloc(opens.count + 1, sizeof *layers);
        ret = layers ? 0 : -ENOMEM;
    }
    for (size_t i = 0; i < opens.count && ret == 0; i++) {
        struct open_layer *open = ntk_vec_at(&opens, i);
        finish(open);
        layers[i] = open->layer;
    }
    if (ret == 0) {
        *out_summary = (struct ntk_layer_summary){ opens.count, layers };
    }
    ntk_vec_fini(&opens);
    return ret;
}

void ntk_layer_summary_fini(struct ntk_layer_summary *summary)
{
    free(summary->layers);
    *summary = (struct ntk_layer_summary){ 0 };
}
