/* SPDX-License-Identifier: MIT */
/* advice_engines - gives advice about engines and cores that wait, and the tensor engine's work. */
#include "profiler/analysis/advice_private.h"

#include <stdio.h>

#include "profiler/analysis/engine_activity.h"
#include "profiler/trace/walk.h"

/* Returns a text such as ", the largest part (59.0% of that time) for DMA", with the root cause of
 * the waits for a source, if it is not the source itself; else "". */
static const char *root_text(const struct ntk_chain_link *root, unsigned source, int64_t for_ps,
                             char *buf, size_t buf_bytes)
{
    bool is_direct = root->is_transfer ? source == NTK_NTFF_ENGINE_AXI : root->engine == source;

    buf[0] = '\0';
    if (root->part_ps > 0 && (!is_direct || root->is_other_core)) {
        char name[NTK_NTFF_NAME_BYTES + 32];
        ntk_chain_link_name(root, name, sizeof name);
        snprintf(buf, buf_bytes, ", the largest part (%.1f%% of that time) for %s",
                 100 * (double)root->part_ps / (double)for_ps, name);
    }
    return buf;
}

void ntk_advice_idle(struct ntk_advice_list *list)
{
    const struct ntk_idle_reasons *idle = list->input->idle;
    const struct ntk_trace *trace = list->input->program->trace;
    int64_t most_ps = 1;
    char line[NTK_ADVICE_LINES_BYTES];
    char root[NTK_NTFF_NAME_BYTES + 100];

    for (size_t i = 0; i < idle->engine_count; i++) {
        most_ps = idle->engines[i].busy_ps > most_ps ? idle->engines[i].busy_ps : most_ps;
    }
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        int64_t for_ps[NTK_SOURCES] = { 0 };

        for (size_t r = 0; r < engine->row_count; r++) {
            const struct ntk_idle_row *row = &engine->rows[r];
            bool is_wait = row->reason == NTK_IDLE_DMA || row->reason == NTK_IDLE_ENGINE;
            if (is_wait && ntk_idle_source(row) < NTK_SOURCES) {
                for_ps[ntk_idle_source(row)] += row->idle_ps;
            }
        }
        /* An engine with little work may wait without advice, unless all engines have little
         * work. */
        for (unsigned e = 0; e < NTK_SOURCES; e++) {
            double share = list->has_no_waits ? 0 : (double)for_ps[e] / list->total_ps;
            double busy = (double)engine->busy_ps / list->total_ps;
            struct ntk_chain_link from;
            bool has_root = ntk_wait_chains_root(&engine->chains, e, &from);
            double part = has_root ? (double)from.part_ps / list->total_ps : share;
            from.part_ps = has_root ? from.part_ps : 0;

            struct ntk_advice_item *item = ntk_advice_judge(
                list, NTK_ADVICE_WAIT,
                busy >= NTK_ADVICE_ACTIVE_RATIO || engine->busy_ps == most_ps ? share : 0, share,
                "%s of core %u is busy for %.1f%% of the execution and idle for %.1f%% (%.3f us), "
                "waiting for %s%s%s",
                ntk_ntff_engine_title(engine->engine), trace->cores[engine->core].ntff->core,
                100 * busy, 100 * share, (double)for_ps[e] / 1e6,
                e == NTK_SOURCE_OTHER_CORE ? "another core"
                : e == NTK_NTFF_ENGINE_AXI ? "DMA"
                                           : ntk_ntff_engine_title(e),
                root_text(&from, e, for_ps[e], root, sizeof root),
                ntk_advice_lines(list, &engine->lines[e], "at", 1e6, " us", line));
            /* gain: the root's part overlaps with work of this engine */
            ntk_advice_gain(item, part < busy ? part : busy, share);
            ntk_advice_limit(list, item, 0, "wait:%s", ntk_ntff_engine_name(engine->engine));
        }
    }
    for (size_t c = 0; c < trace->core_count && trace->core_count > 1; c++) {
        int64_t least_ps = INT64_MAX; /* least idle time of any engine */

        for (size_t i = 0; i < idle->engine_count; i++) {
            if (idle->engines[i].core == c &&
                idle->engines[i].reasons_ps[NTK_IDLE_END] < least_ps) {
                least_ps = idle->engines[i].reasons_ps[NTK_IDLE_END];
            }
        }
        if (least_ps < INT64_MAX) {
            double share = (double)least_ps / list->total_ps;

            struct ntk_advice_item *item =
                ntk_advice_judge(list, NTK_ADVICE_IDLE_CORE, share, share,
                                 "core %u is idle for %.1f%% of the execution (%.3f us)",
                                 trace->cores[c].ntff->core, 100 * share, (double)least_ps / 1e6);
            if (list->input->path) { /* gain: two cores do half of the work each */
                ntk_advice_gain(item, list->work / 2, share / 2);
            }
        }
    }
}

/* Adds the tensor engine's busy time, by line. Instructions overlap: time is
 * counted for the first one, so the lines add up to the time in the advice. */
static void add_busy_lines(const struct ntk_advice_list *list, struct ntk_line_costs *busy)
{
    const struct ntk_program *program = list->input->program;
    int64_t until_ps = INT64_MIN;
    struct ntk_walk walk;
    struct ntk_walk_span span;

    if (!program->positions) {
        return;
    }
    ntk_walk_init(&walk, program->trace, NTK_WALK_INSTRUCTIONS);
    while (ntk_walk_next(&walk, &span)) {
        const struct ntk_trace_instruction *one = span.instruction;
        int64_t from_ps = one->start_ps > until_ps ? one->start_ps : until_ps;

        if (one->engine == NTK_NTFF_ENGINE_TENSOR && one->end_ps > from_ps &&
            one->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
            size_t core = (size_t)(span.core - program->trace->cores);
            ntk_line_costs_add(busy, ntk_program_position(program, core, one), NULL,
                               (double)(one->end_ps - from_ps));
            until_ps = one->end_ps;
        }
    }
}

/* Adds the transposes of the tensor engine, by line. */
static void add_moved_lines(const struct ntk_advice_list *list, struct ntk_line_costs *moved)
{
    const struct ntk_cost_list *all = &list->input->costs->instructions;
    const struct ntk_program *program = list->input->program;

    for (size_t i = 0; program->positions && i < all->count; i++) {
        const struct ntk_cost_row *row = &all->rows[i];
        struct ntk_trace_instruction of = { .engine = row->engine, .slot = row->slot };
        if (row->engine == NTK_NTFF_ENGINE_TENSOR) {
            const struct ntk_neff_position *at = ntk_program_position(program, row->core, &of);
            ntk_line_costs_add(moved, at, NULL, (double)row->transpose_flops);
        }
    }
}

/* Computes the useful operations of the tensor engine as a share of its peak while busy, and the
 * share of the execution to which it applies; false if unknown. */
static bool tensor_rate(const struct ntk_advice_list *list, double *out_rate, double *out_share)
{
    const struct ntk_trace *trace = list->input->program->trace;
    const struct ntk_cost_table *costs = list->input->costs;
    uint64_t useful = 0; /* counted in the same way as for mfu */
    struct ntk_activity activity;

    for (size_t i = 0; costs && costs->flops_known && i < costs->operations.count; i++) {
        useful += costs->operations.rows[i].useful_peak_flops;
    }
    if (!useful || !trace->has_chip) {
        return false;
    }
    ntk_analysis_engine_activity(trace, &activity);
    double active_ps = (double)activity.engines[NTK_NTFF_ENGINE_TENSOR].active_ps;
    *out_share = active_ps / list->total_ps;
    *out_rate = (double)useful / (trace->chip.core_flops_per_second * active_ps / 1e12);
    return active_ps > 0;
}

bool ntk_advice_is_compute_bound(const struct ntk_advice_list *list)
{
    double rate, share;

    return tensor_rate(list, &rate, &share) && rate >= ntk_advice_threshold(NTK_ADVICE_TENSOR_RATE);
}

double ntk_advice_transpose_ratio(const struct ntk_advice_list *list)
{
    const struct ntk_cost_table *costs = list->input->costs;
    uint64_t flops = 0;
    uint64_t transposes = 0;

    for (size_t i = 0; costs && costs->flops_known && i < costs->operations.count; i++) {
        flops += costs->operations.rows[i].flops;
        transposes += costs->operations.rows[i].transpose_flops;
    }
    return flops ? (double)transposes / (double)flops : 0;
}

void ntk_advice_tensor_engine(struct ntk_advice_list *list)
{
    const struct ntk_trace *trace = list->input->program->trace;
    const struct ntk_cost_table *costs = list->input->costs;
    struct ntk_line_costs moved = { 0 }; /* transposes, by line */
    struct ntk_line_costs busy = { 0 };
    char line[NTK_ADVICE_LINES_BYTES];
    struct ntk_activity activity;
    double rate;
    double busy_share;

    if (!costs->flops_known) {
        return;
    }
    add_moved_lines(list, &moved);
    ntk_analysis_engine_activity(trace, &activity);
    double share = (double)activity.engines[NTK_NTFF_ENGINE_TENSOR].active_ps / list->total_ps;
    double ratio = ntk_advice_transpose_ratio(list);
    struct ntk_advice_item *item =
        ntk_advice_judge(list, NTK_ADVICE_TRANSPOSES, ratio, share * ratio,
                         "%.1f%% of tensor engine operations only move data (transposes)%s",
                         100 * ratio, ntk_advice_lines(list, &moved, "at", 1e9, " billion", line));
    if (list->input->path) {
        ntk_advice_gain(item, list->tensor * ratio, list->tensor);
        ntk_advice_limit(list, item, 0, "transposes");
    }
    if (tensor_rate(list, &rate, &busy_share) && busy_share >= NTK_ADVICE_ACTIVE_RATIO) {
        add_busy_lines(list, &busy);
        item = ntk_advice_judge(list, NTK_ADVICE_TENSOR_RATE, rate, busy_share,
                                "while busy (%.1f%% of the execution%s), the tensor engine "
                                "reaches %.1f%% of its peak rate%s",
                                100 * busy_share, trace->core_count > 1 ? ", on any core" : "",
                                100 * rate, ntk_advice_lines(list, &busy, "at", 1e6, " us", line));
        if (list->input->path) { /* gain: up to the threshold; bound: up to the peak */
            ntk_advice_gain(
                item, list->tensor * (1 - rate / ntk_advice_threshold(NTK_ADVICE_TENSOR_RATE)),
                list->tensor * (1 - rate));
            ntk_advice_limit(list, item, 0, "tensor=%.15g",
                             ntk_advice_threshold(NTK_ADVICE_TENSOR_RATE) / rate);
        }
    }
    ntk_line_costs_fini(&moved);
    ntk_line_costs_fini(&busy);
}
