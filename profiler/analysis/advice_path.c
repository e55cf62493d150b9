/* SPDX-License-Identifier: MIT */
/* advice_path - gives advice about the critical path: engines, DMA, latency, the runtime. */
#include "profiler/analysis/advice_private.h"

#include <stdio.h>
#include <string.h>

#define LATE_PS 500000 /* delay of a semaphore change after its maker */

uint32_t ntk_advice_transfer_of(const struct ntk_advice_input *input, size_t i)
{
    const struct ntk_critical_path *path = input->path;
    const struct ntk_path_step *step = &path->steps[i];

    if (step->kind == NTK_PATH_TRANSFER) {
        return step->loads_code ? NTK_NO_INDEX : step->instruction;
    }
    if (step->kind == NTK_PATH_LATENCY && i && path->steps[i - 1].kind == NTK_PATH_TRANSFER &&
        path->steps[i - 1].core == step->core) {
        return path->steps[i - 1].instruction;
    }
    return ntk_path_is_engine(step->kind) &&
                   ntk_program_fact(input->program, step->core,
                                    ntk_path_instruction(input->program->trace, step))
                       ->code->is_transfer
               ? step->instruction
               : NTK_NO_INDEX;
}

int64_t ntk_advice_free_ps(const struct ntk_advice_input *input, struct ntk_advice_sweep *sweep,
                           const struct ntk_path_step *step)
{
    const struct ntk_trace_core *core = &input->program->trace->cores[step->core];
    const struct ntk_trace_instruction *all = core->instructions;
    struct ntk_advice_sweep_core *of = &sweep->cores[step->core % NTK_ADVICE_SWEEP_CORES];
    int64_t at_ps = step->start_ps;
    int64_t free_ps = 0;

    while (at_ps < step->end_ps) {
        int64_t until_ps = step->end_ps;

        for (; of->next < core->instruction_count && all[of->next].start_ps <= at_ps; of->next++) {
            int64_t end_ps = ntk_only_waits(&all[of->next]) ? 0 : all[of->next].end_ps;
            of->until_ps = end_ps > of->until_ps ? end_ps : of->until_ps;
        }
        bool is_busy = of->until_ps > at_ps;
        if (is_busy && of->until_ps < until_ps) {
            until_ps = of->until_ps;
        } else if (!is_busy && of->next < core->instruction_count &&
                   all[of->next].start_ps < until_ps) {
            until_ps = all[of->next].start_ps;
        }
        free_ps += is_busy ? 0 : until_ps - at_ps;
        at_ps = until_ps;
    }
    return free_ps;
}

double ntk_advice_queue_path(const struct ntk_advice_list *list, const char *name)
{
    const struct ntk_path_table *of = &list->input->path->resources;
    int64_t path_ps = 0;

    for (size_t i = 0; name && i < of->count; i++) {
        path_ps +=
            of->shares[i].name && strcmp(of->shares[i].name, name) == 0 ? of->shares[i].path_ps : 0;
    }
    return (double)path_ps / list->total_ps;
}

/* Adds the parts of the path from which gains are estimated. */
static void add_parts(struct ntk_advice_list *list, struct ntk_advice_sweep *sweep, size_t i)
{
    const struct ntk_path_step *step = &list->input->path->steps[i];
    double share = (double)(step->end_ps - step->start_ps) / list->total_ps;
    bool is_dma = (step->kind == NTK_PATH_TRANSFER && !step->loads_code) ||
                  (step->kind == NTK_PATH_WAIT && step->queue);

    if (is_dma) {
        double free = (double)ntk_advice_free_ps(list->input, sweep, step) / list->total_ps;
        bool is_spill = step->queue && strstr(step->queue, "SpillReload");
        list->dma.path += share;
        list->dma.free += free;
        list->spill_dma.path += is_spill ? share : 0;
        list->spill_dma.free += is_spill ? free : 0;
    }
    if (is_dma || ntk_advice_transfer_of(list->input, i) != NTK_NO_INDEX) {
        list->dma_bound += share;
    }
    if (step->layer != NTK_LAYER_RUNTIME && (is_dma || ntk_path_is_engine(step->kind))) {
        list->work += share;
    }
}

/* Judges DMA of all queues together, because the share of a single queue means less if a program
 * has. */
static void judge_dma(struct ntk_advice_list *list, const struct ntk_line_costs *lines)
{
    const struct ntk_critical_path *path = list->input->path;
    const struct ntk_path_share *most = NULL;
    int64_t dma_ps = 0;
    uint64_t count = 0;
    char name[300];
    char line[NTK_ADVICE_LINES_BYTES];

    for (size_t i = 0; i < path->resources.count; i++) {
        const struct ntk_path_share *of = &path->resources.shares[i];

        if ((of->kind == NTK_PATH_TRANSFER && of->slot != NTK_LAYER_RUNTIME) ||
            (of->kind == NTK_PATH_WAIT && of->name)) {
            most = most ? most : of; /* the longest share is first */
            dma_ps += of->path_ps;
            count += of->count;
        }
    }
    if (most) {
        double share = (double)dma_ps / list->total_ps;

        struct ntk_path_share queue = *most;

        queue.kind = NTK_PATH_TRANSFER;
        ntk_path_resource_name(&queue, name, sizeof name);
        struct ntk_advice_item *item =
            ntk_advice_judge(list, NTK_ADVICE_PATH_DMA, share, share,
                             "%.1f%% of the execution is spent waiting for DMA: %.3f us in %llu "
                             "transfer%s on the critical path, most of it (%.3f us) for %s%s",
                             100 * share, (double)dma_ps / 1e6, (unsigned long long)count,
                             count == 1 ? "" : "s", (double)most->path_ps / 1e6, name,
                             ntk_advice_lines(list, lines, "at", 1e6, " us", line));
        ntk_advice_gain(item, list->dma.free, list->dma_bound);
        ntk_advice_limit(list, item, 0, NTK_ADVICE_NO_DMA);
    }
}

struct path_sum {
    int64_t path_ps;
    int64_t longest_ps;         /* longest duration of one step */
    int64_t issue_ps, drain_ps; /* parts of path_ps in an engine */
    uint64_t count;
    struct ntk_line_costs lines;
    struct ntk_line_costs issue_lines; /* lines for issue_ps */
};

/* Finds the line for the instruction of a step. NULL without an instruction or a line. */
static const struct ntk_neff_position *position_of(const struct ntk_advice_list *list, size_t step)
{
    const struct ntk_critical_path *path = list->input->path;
    const struct ntk_program *program = list->input->program;

    if (step >= path->step_count || path->steps[step].instruction == NTK_NO_INDEX) {
        return NULL;
    }
    return ntk_program_position(program, path->steps[step].core,
                                ntk_path_instruction(program->trace, &path->steps[step]));
}

/* Adds the line that the step delays, and the line for which it waits. */
static void add_lines(const struct ntk_advice_list *list, size_t i, struct ntk_line_costs *lines)
{
    const struct ntk_path_step *step = &list->input->path->steps[i];
    const struct ntk_neff_position *own = position_of(list, i);
    double cost = (double)(step->end_ps - step->start_ps);

    switch (step->kind) {
    case NTK_PATH_TRANSFER:
        ntk_line_costs_add(lines, position_of(list, i + 1), own, cost);
        break;
    case NTK_PATH_LATENCY:
        ntk_line_costs_add(lines, own, i ? position_of(list, i - 1) : NULL, cost);
        break;
    default:
        ntk_line_costs_add(lines, own, NULL, cost);
        break;
    }
}

/* Judges one engine, with its phases. */
static void judge_engine(struct ntk_advice_list *list, unsigned engine, const struct path_sum *sum)
{
    double share = (double)sum->path_ps / list->total_ps;
    double issue = (double)sum->issue_ps / list->total_ps;
    double drain = (double)sum->drain_ps / list->total_ps;
    bool is_compute = engine == NTK_NTFF_ENGINE_TENSOR && ntk_advice_is_compute_bound(list);
    char line[NTK_ADVICE_LINES_BYTES];

    ntk_advice_lines(list, &sum->issue_lines, "at", 1e6, " us", line);
    struct ntk_advice_item *item =
        ntk_advice_judge(list, NTK_ADVICE_PATH_ISSUE, issue, issue,
                         "the %s engine issues instructions for %.1f%% of the execution: %.3f us "
                         "between %llu steps on the critical path%s",
                         ntk_ntff_engine_title(engine), 100 * issue, (double)sum->issue_ps / 1e6,
                         (unsigned long long)sum->count, line);
    ntk_advice_gain(item, issue / 2, issue); /* gain: half as many instructions */
    /* If issue dominates, advice about issue is more useful. GpSimd has separate rules. */
    ntk_advice_lines(list, &sum->lines, "at", 1e6, " us", line);
    item = ntk_advice_judge(
        list, is_compute ? NTK_ADVICE_PATH_COMPUTE : NTK_ADVICE_PATH_ENGINE,
        engine == NTK_NTFF_ENGINE_GPSIMD ||
                (issue > share / 2 && issue > ntk_advice_threshold(NTK_ADVICE_PATH_ISSUE))
            ? 0
            : share,
        share,
        "%.1f%% of the execution is spent in the %s engine: %.3f us in %llu steps on "
        "the critical path (%.1f%% execution, %.1f%% issue, %.1f%% drain)%s",
        100 * share, ntk_ntff_engine_title(engine), (double)sum->path_ps / 1e6,
        (unsigned long long)sum->count, 100 * (share - issue - drain), 100 * issue, 100 * drain,
        line);
    /* Only this engine multiplies matrices; work of the other engines can be moved to an idle
     * engine. */
    ntk_advice_gain(item,
                    is_compute                         ? share * ntk_advice_transpose_ratio(list)
                    : engine == NTK_NTFF_ENGINE_TENSOR ? issue + drain
                                                       : share / 2,
                    share);
    if (is_compute) {
        ntk_advice_limit(list, item, 0, "transposes");
    } else if (engine != NTK_NTFF_ENGINE_TENSOR) {
        ntk_advice_limit(list, item, (issue + drain) / 2, "%s=2", ntk_ntff_engine_name(engine));
    }
}

/* Reports changes that took far longer than the 0.05 us of hardware: smaller steps are not the
 * reason. */
static void judge_late(struct ntk_advice_list *list, const struct path_sum *late)
{
    double share = (double)late->path_ps / list->total_ps;
    char line[NTK_ADVICE_LINES_BYTES];

    if (late->count == 0) {
        return;
    }
    struct ntk_advice_item *item = ntk_advice_judge(
        list, NTK_ADVICE_PATH_LATE, share, share,
        "%.1f%% of the execution is spent waiting for %llu semaphore change%s on the critical path "
        "that arrive%s at least 0.5 us late: %.3f us in total, at most %.3f us for one%s",
        100 * share, (unsigned long long)late->count, late->count == 1 ? "" : "s",
        late->count == 1 ? "s" : "", (double)late->path_ps / 1e6, (double)late->longest_ps / 1e6,
        ntk_advice_lines(list, &late->lines, "at", 1e6, " us", line));
    ntk_advice_gain(item, share / 2, share); /* gain: half as many changes at the same time */
    ntk_advice_limit(list, item, 0, "latency=2");
}

/* Returns true if a step of the runtime can be in its prologue or epilogue. A time range without
 * the start of the execution has no prologue, and a step at its start has an earlier cause. */
static bool is_around_program(const struct ntk_trace *trace, const struct ntk_path_step *step)
{
    bool has_start = !ntk_trace_has_window(trace) || trace->part.from_ps <= 0;
    bool has_end = !ntk_trace_has_window(trace) || trace->part.is_open ||
                   trace->part.to_ps >= trace->part.total_ps;

    return has_start || (has_end && step->start_ps > 0);
}

void ntk_advice_path(struct ntk_advice_list *list)
{
    const struct ntk_program *program = list->input->program;
    const struct ntk_critical_path *path = list->input->path;
    struct path_sum engines[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct path_sum latency = { 0 };
    struct path_sum late = { 0 };
    int64_t load_ps = 0; /* time in which the runtime loads the program */
    struct path_sum runtime = { 0 };
    struct path_sum dma = { 0 };
    struct ntk_advice_sweep sweep = { 0 };
    char line[NTK_ADVICE_LINES_BYTES];

    for (size_t i = 0; i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        struct path_sum *sum = NULL;

        ntk_critical_path_passed(program->trace, path, i);
        add_parts(list, &sweep, i);
        /* The runtime did not cause the time after the last record. */
        if (step->layer == NTK_LAYER_RUNTIME) {
            bool is_around = is_around_program(program->trace, step);
            sum = step->kind == NTK_PATH_END || !is_around ? NULL : &runtime;
        } else if (ntk_path_is_engine(step->kind)) {
            sum = &engines[ntk_path_instruction(program->trace, step)->engine];
        } else if (step->kind == NTK_PATH_LATENCY) {
            bool is_late = step->is_arrival && step->end_ps - step->start_ps >= LATE_PS;
            sum = is_late ? &late : &latency;
        } else if (step->kind == NTK_PATH_TRANSFER ||
                   (step->kind == NTK_PATH_WAIT && step->queue)) {
            sum = &dma;
        }
        if (sum) {
            int64_t step_ps = step->end_ps - step->start_ps;
            load_ps += step->loads_code ? step_ps : 0;
            sum->path_ps += step_ps;
            sum->longest_ps = step_ps > sum->longest_ps ? step_ps : sum->longest_ps;
            sum->issue_ps += step->kind == NTK_PATH_ISSUE ? step_ps : 0;
            sum->drain_ps += step->kind == NTK_PATH_DRAIN ? step_ps : 0;
            sum->count++;
        }
        if (sum && sum != &runtime && program->positions) {
            add_lines(list, i, &sum->lines);
            if (step->kind == NTK_PATH_ISSUE) {
                add_lines(list, i, &sum->issue_lines);
            }
        }
    }
    list->tensor = (double)engines[NTK_NTFF_ENGINE_TENSOR].path_ps / list->total_ps;
    judge_dma(list, &dma.lines);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        judge_engine(list, e, &engines[e]);
        ntk_line_costs_fini(&engines[e].lines);
        ntk_line_costs_fini(&engines[e].issue_lines);
    }
    if (latency.count) {
        double share = (double)latency.path_ps / list->total_ps;

        struct ntk_advice_item *item = ntk_advice_judge(
            list, NTK_ADVICE_PATH_LATENCY, share, share,
            "%.1f%% of the execution is semaphore latency in %llu steps on the critical "
            "path: %.3f us on average, at most %.3f us%s",
            100 * share, (unsigned long long)latency.count,
            (double)latency.path_ps / 1e6 / (double)latency.count, (double)latency.longest_ps / 1e6,
            ntk_advice_lines(list, &latency.lines, "at", 1e6, " us", line));
        ntk_advice_gain(item, share / 2, share); /* gain: half as many steps */
        ntk_advice_limit(list, item, 0, "latency=2");
    }
    judge_late(list, &late);
    ntk_line_costs_fini(&latency.lines);
    ntk_line_costs_fini(&late.lines);
    ntk_line_costs_fini(&dma.lines);
    char load[80] = "";
    if (load_ps > 0) {
        snprintf(load, sizeof load, ", %.3f us of it to load the program", (double)load_ps / 1e6);
    }
    double share = (double)runtime.path_ps / list->total_ps;
    struct ntk_advice_item *item =
        ntk_advice_judge(list, NTK_ADVICE_RUNTIME, share, share,
                         "%.1f%% of the execution is spent in the prologue and epilogue added by "
                         "the runtime: %.3f us%s",
                         100 * share, (double)runtime.path_ps / 1e6, load);
    ntk_advice_gain(item, share / 2, share); /* gain: twice the work per execution */
}
