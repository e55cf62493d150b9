/* SPDX-License-Identifier: MIT */
/* advice_path - what decides how long the execution takes: engines, DMA, latency, the runtime. */
#include "profiler/analysis/advice_private.h"

/* DMA of all queues together; of one queue alone the share says less the more queues a program
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

        if (of->kind == NTK_PATH_TRANSFER || (of->kind == NTK_PATH_WAIT && of->name)) {
            most = most ? most : of; /* the longest comes first */
            dma_ps += of->path_ps;
            count += of->count;
        }
    }
    if (most) {
        double share = (double)dma_ps / list->total_ps;

        struct ntk_path_share queue = *most;

        queue.kind = NTK_PATH_TRANSFER;
        ntk_path_resource_name(&queue, name, sizeof name);
        ntk_advice_judge(list, NTK_ADVICE_PATH_DMA, share, share,
                         "%.1f %% of the execution is spent waiting for DMA: %.3f us in %llu "
                         "transfers on the critical path, most of it (%.3f us) for %s%s",
                         100 * share, (double)dma_ps / 1e6, (unsigned long long)count,
                         (double)most->path_ps / 1e6, name,
                         ntk_advice_lines(list, lines, "at", 1e6, " us", line));
    }
}

struct path_sum {
    int64_t path_ps;
    int64_t issue_ps, drain_ps; /* of path_ps, in an engine */
    uint64_t count;
    struct ntk_line_costs lines;
};

/* For the instruction of a step; NULL: it has none, or no line. */
static const struct ntk_neff_position *position_of(const struct ntk_advice_list *list, size_t step)
{
    const struct ntk_critical_path *path = list->input->path;
    const struct ntk_program *program = list->input->program;

    if (step >= path->step_count || path->steps[step].instruction == NTK_NO_INDEX) {
        return NULL;
    }
    return ntk_program_position(
        program, path->core,
        &program->trace->cores[path->core].instructions[path->steps[step].instruction]);
}

/* The line that the step delays, and the line that it waits for. */
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

/* One engine, with its phases. */
static void judge_engine(struct ntk_advice_list *list, unsigned engine, const struct path_sum *sum)
{
    double share = (double)sum->path_ps / list->total_ps;
    double issue = (double)sum->issue_ps / list->total_ps;
    double drain = (double)sum->drain_ps / list->total_ps;
    bool is_compute = engine == NTK_NTFF_ENGINE_TENSOR && ntk_advice_is_compute_bound(list);
    char line[NTK_ADVICE_LINES_BYTES];

    ntk_advice_lines(list, &sum->lines, "at", 1e6, " us", line);
    ntk_advice_judge(list, NTK_ADVICE_PATH_ISSUE, issue, issue,
                     "the %s engine issues instructions for %.1f %% of the execution: %.3f us "
                     "between %llu steps on the critical path%s",
                     ntk_ntff_engine_title(engine), 100 * issue, (double)sum->issue_ps / 1e6,
                     (unsigned long long)sum->count, line);
    /* Where issue is most of it, that advice says more. */
    ntk_advice_judge(
        list, is_compute ? NTK_ADVICE_PATH_COMPUTE : NTK_ADVICE_PATH_ENGINE,
        issue > share / 2 && issue > ntk_advice_threshold(NTK_ADVICE_PATH_ISSUE) ? 0 : share, share,
        "%.1f %% of the execution is spent in the %s engine: %.3f us in %llu steps on "
        "the critical path (%.1f %% execution, %.1f %% issue, %.1f %% drain)%s",
        100 * share, ntk_ntff_engine_title(engine), (double)sum->path_ps / 1e6,
        (unsigned long long)sum->count, 100 * (share - issue - drain), 100 * issue, 100 * drain,
        line);
}

void ntk_advice_path(struct ntk_advice_list *list)
{
    const struct ntk_program *program = list->input->program;
    const struct ntk_critical_path *path = list->input->path;
    struct path_sum engines[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct path_sum latency = { 0 };
    struct path_sum runtime = { 0 };
    struct path_sum dma = { 0 };
    char line[NTK_ADVICE_LINES_BYTES];

    for (size_t i = 0; i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        struct path_sum *sum = NULL;

        ntk_critical_path_passed(program->trace, path, i);
        if (step->layer == NTK_LAYER_RUNTIME) {
            sum = &runtime;
        } else if (ntk_path_is_engine(step->kind)) {
            sum =
                &engines[program->trace->cores[path->core].instructions[step->instruction].engine];
        } else if (step->kind == NTK_PATH_LATENCY) {
            sum = &latency;
        } else if (step->kind == NTK_PATH_TRANSFER ||
                   (step->kind == NTK_PATH_WAIT && step->queue)) {
            sum = &dma;
        }
        if (sum) {
            int64_t step_ps = step->end_ps - step->start_ps;
            sum->path_ps += step_ps;
            sum->issue_ps += step->kind == NTK_PATH_ISSUE ? step_ps : 0;
            sum->drain_ps += step->kind == NTK_PATH_DRAIN ? step_ps : 0;
            sum->count++;
        }
        if (sum && sum != &runtime && program->positions) {
            add_lines(list, i, &sum->lines);
        }
    }
    judge_dma(list, &dma.lines);
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        judge_engine(list, e, &engines[e]);
        ntk_line_costs_fini(&engines[e].lines);
    }
    if (latency.count) {
        double share = (double)latency.path_ps / list->total_ps;

        ntk_advice_judge(
            list, NTK_ADVICE_PATH_LATENCY, share, share,
            "%.1f %% of the execution is semaphore latency in %llu steps on the critical "
            "path: %.3f us on average%s",
            100 * share, (unsigned long long)latency.count,
            (double)latency.path_ps / 1e6 / (double)latency.count,
            ntk_advice_lines(list, &latency.lines, "at", 1e6, " us", line));
    }
    ntk_line_costs_fini(&latency.lines);
    ntk_line_costs_fini(&dma.lines);
    double share = (double)runtime.path_ps / list->total_ps;
    ntk_advice_judge(
        list, NTK_ADVICE_RUNTIME, share, share,
        "%.1f %% of the execution is spent in the start and end added by the runtime: %.3f us",
        100 * share, (double)runtime.path_ps / 1e6);
}
