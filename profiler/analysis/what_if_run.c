/* SPDX-License-Identifier: MIT */
/* what_if_run - recomputes the times of all cores, and adds up their executions: the time between
 * two executions stays as measured, because the host decides when the next one starts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/what_if_private.h"

#define NO_CORE UINT16_MAX

/* A row of an execution: of the core that ends last, and of the busiest engine. */
struct longest {
    int64_t end_ps;
    int64_t bound_ps;
    uint16_t core;
    uint8_t bound_by; /* engine, or NTK_WHAT_IF_ON_DMA */
};
struct execution {
    struct longest rows[NTK_RETIME_ROWS];
};

struct run {
    const struct ntk_what_if_input *input;
    struct ntk_what_if_row *const *rows; /* by lane */
    size_t count;
    struct ntk_retime_special special;
    struct ntk_what_if *what_if; /* NULL: no paths, and no row without a change */
    struct ntk_long_list executions;
    struct ntk_retime_paths *paths;
    size_t *cores;  /* group by group */
    size_t *groups; /* for each core in that list: the size of the group if it is the first */
    size_t largest; /* size of the largest group */
};

static bool has_path(const struct run *run, size_t lane)
{
    return lane != run->special.tight && lane != run->special.late && lane != run->special.early;
}

static struct execution *execution_at(const struct run *run, size_t index)
{
    return &((struct execution *)run->executions.items)[index];
}

static void bound_by(struct longest *row, unsigned by, int64_t ps)
{
    if (ps > row->bound_ps) {
        row->bound_ps = ps;
        row->bound_by = (uint8_t)by;
    }
}

/* Adds the results of a core. */
static void add_core(struct run *run, const struct ntk_retimed *retimed)
{
    for (size_t e = 0; e < run->executions.count; e++) {
        for (size_t k = 0; k < NTK_RETIME_ROWS; k++) {
            const struct ntk_retimed_end *end = ntk_retimed_end_get(retimed, e, k);
            struct longest *row = &execution_at(run, e)->rows[k];
            if (end->end_ps > row->end_ps) {
                row->end_ps = end->end_ps;
                row->core = (uint16_t)retimed->core;
            }
            for (unsigned by = 0; by < NTK_NTFF_ENGINE_COUNT; by++) {
                bound_by(row, by, end->engine_busy_ps[by]);
            }
            bound_by(row, NTK_WHAT_IF_ON_DMA, end->dma_busy_ps);
        }
    }
}

/* Returns the measured time from the end of an execution to the next one, or to the end of the
 * capture. */
static int64_t gap_ps(const struct run *run, size_t execution)
{
    return ntk_retimed_until_ps(run->input->program, execution) -
           execution_at(run, execution)->rows[NTK_RETIME_MEASURED].end_ps;
}

/* Adds the paths of the executions that end on this core. */
static void add_paths(struct run *run, const struct ntk_retimed *retimed)
{
    for (size_t e = 0; e < run->executions.count; e++) {
        uint32_t rows = 0;
        for (size_t k = 0; k < NTK_RETIME_ROWS; k++) {
            bool is_used = k == NTK_RETIME_MEASURED || (k < run->count && has_path(run, k));
            if (is_used && execution_at(run, e)->rows[k].core == retimed->core) {
                rows |= 1U << k;
            }
        }
        for (uint32_t left = run->executions.count == 1 ? rows : 0; left; left &= left - 1) {
            ntk_retime_paths_clear(run->paths, (size_t)__builtin_ctz(left));
        }
        ntk_retime_paths_add(run->paths, retimed, e, rows);
    }
}

/* Joins the groups of two cores; of: one number for each core, the same within a group. */
static void join(size_t *of, size_t count, size_t core, size_t other)
{
    size_t from = of[core];

    for (size_t c = 0; c < count; c++) {
        of[c] = of[c] == from ? of[other] : of[c];
    }
}

static void groups_join(const struct run *run, size_t *of)
{
    const struct ntk_trace *trace = run->input->program->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_core_dependencies *dependencies = &run->input->dependencies.cores[c];
        ntk_trace_each_instruction(&trace->cores[c], one) {
            size_t i = (size_t)(one - trace->cores[c].instructions);
            if (dependencies->releases[i].core_away) {
                join(of, trace->core_count, c, ntk_release_core(c, &dependencies->releases[i]));
            }
            if (i % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
                ntk_dependencies_give_back(&trace->cores[c], dependencies);
            }
        }
    }
}

/* Lists the cores, group by group: cores that wait for one another. */
static int groups_find(struct run *run)
{
    size_t count = run->input->program->trace->core_count;
    size_t *of = calloc(count + 1, sizeof *of);
    size_t listed = 0;

    run->cores = calloc(count + 1, sizeof *run->cores);
    run->groups = calloc(count + 1, sizeof *run->groups);
    run->largest = 1;
    if (!of || !run->cores || !run->groups) {
        free(of);
        return -ENOMEM;
    }
    for (size_t c = 0; c < count; c++) {
        of[c] = c;
    }
    if (run->input->program->has_core_signals) {
        groups_join(run, of);
    }
    for (size_t g = 0; g < count; g++) {
        size_t first = listed;
        for (size_t c = 0; c < count; c++) {
            if (of[c] == g) {
                run->cores[listed++] = c;
            }
        }
        run->groups[first] = listed > first ? listed - first : run->groups[first];
        run->largest = listed - first > run->largest ? listed - first : run->largest;
    }
    free(of);
    return 0;
}

static void add_group(struct run *run, const struct ntk_retimed *retimed, size_t size,
                      bool is_first, bool is_last)
{
    for (size_t i = 0; i < size && is_first; i++) {
        add_core(run, &retimed[i]);
    }
    for (size_t i = 0; i < size && is_last && run->what_if; i++) {
        run->what_if->unknown_wait_count += retimed[i].unknown_wait_count;
        run->what_if->unknown_transfer_count += retimed[i].unknown_transfer_count;
        run->what_if->outside_wait_count += retimed[i].outside_wait_count;
        run->what_if->meeting_count += retimed[i].meeting_count;
        add_paths(run, &retimed[i]);
    }
}

/* Shares of the time, for a capture of 20 million events: after dependencies; of a walk, before its
 * paths. */
#define SHARE_DEPENDENCIES 0.25
#define SHARE_WALK 0.8

/* Returns the number of instructions of the cores in a part of the list of groups. */
static double instruction_count(const struct run *run, size_t first, size_t count)
{
    double sum = 0;

    for (size_t i = first; i < first + count; i++) {
        sum += (double)run->input->program->trace->cores[run->cores[i]].instruction_count;
    }
    return sum;
}

/* Retimes all cores. is_last: this is the pass that finds the paths. */
static int run_cores(struct run *run, const struct ntk_what_if_changes *const *changes,
                     bool is_first, bool is_last)
{
    const struct ntk_what_if_input *input = run->input;
    struct ntk_retime_input of = { .program = input->program,
                                   .transfers = input->transfers,
                                   .dependencies = &input->dependencies,
                                   .changes = changes,
                                   .count = run->count,
                                   .special = run->special,
                                   .progress = input->progress };
    /* Two passes share the time. */
    double width = (1 - SHARE_DEPENDENCIES) * (is_first && is_last ? 1 : 0.5);
    double share = is_first ? SHARE_DEPENDENCIES : 1 - width;
    double all = instruction_count(run, 0, input->program->trace->core_count);
    struct ntk_retimed *retimed = calloc(run->largest, sizeof *retimed);
    int ret = retimed ? 0 : -ENOMEM;

    for (size_t c = 0; c < input->program->trace->core_count && ret == 0; c += run->groups[c]) {
        double part = all > 0 ? width * instruction_count(run, c, run->groups[c]) / all : 0;
        of.share_from = share;
        of.share_to = share + SHARE_WALK * part;
        share += part;
        ret = ntk_retimed_init(retimed, &of, &run->cores[c], run->groups[c]);
        if (ret == 0) {
            add_group(run, retimed, run->groups[c], is_first, is_last);
        }
        ntk_progress_show(input->progress, share);
    }
    for (size_t i = 0; retimed && i < run->largest; i++) {
        ntk_retimed_fini(&retimed[i]);
    }
    free(retimed);
    return ret;
}

/* Adds up the executions of a row. */
static int sum_row(const struct run *run, size_t lane, struct ntk_what_if_row *row)
{
    const struct ntk_program *program = run->input->program;
    int64_t by_ps[NTK_WHAT_IF_ON_COUNT] = { 0 };
    int64_t gaps_ps = 0;
    int64_t rest_ps = 0;
    int ret = run->what_if && has_path(run, lane) ? ntk_retime_paths_put(run->paths, lane, row) : 0;

    for (size_t e = 0; e < run->executions.count; e++) {
        const struct longest *one = &execution_at(run, e)->rows[lane];

        row->total_ps += one->end_ps - ntk_execution_start_ps(&program->borders, e);
        row->bound_ps += one->bound_ps;
        by_ps[one->bound_by] += one->bound_ps;
        rest_ps = gap_ps(run, e);
        gaps_ps += e + 1 < run->executions.count ? rest_ps : 0;
    }
    for (unsigned by = 0; by < NTK_WHAT_IF_ON_COUNT; by++) {
        row->bound_by = by_ps[by] > by_ps[row->bound_by] ? by : row->bound_by;
    }
    row->path_ps[NTK_WHAT_IF_ON_START] += gaps_ps;
    row->path_ps[NTK_WHAT_IF_ON_END] = rest_ps;
    row->total_ps += gaps_ps + rest_ps;
    row->bound_ps = ntk_retime_smaller(row->bound_ps, row->total_ps);
    return ret;
}

static int executions_create(struct run *run)
{
    const struct ntk_program *program = run->input->program;

    ntk_long_list_init(&run->executions, program->trace, sizeof(struct execution), 1);
    int ret = ntk_long_list_resize(&run->executions, ntk_execution_known_count(&program->borders));
    for (size_t e = 0; e < run->executions.count && ret == 0; e++) {
        for (size_t k = 0; k < NTK_RETIME_ROWS; k++) {
            execution_at(run, e)->rows[k].end_ps = ntk_execution_start_ps(&program->borders, e);
            execution_at(run, e)->rows[k].core = NO_CORE;
        }
    }
    if (ret == 0 && run->what_if) {
        run->paths = ntk_retime_paths_create();
        ret = run->paths ? 0 : -ENOMEM;
    }
    return ret;
}

int ntk_what_if_run(const struct ntk_what_if_input *input, struct ntk_what_if_row *const *rows,
                    size_t count, const struct ntk_retime_special *special,
                    struct ntk_what_if *what_if)
{
    const struct ntk_what_if_changes *changes[NTK_RETIME_LANES];
    struct run run = {
        .input = input, .rows = rows, .count = count, .special = *special, .what_if = what_if
    };
    int ret = executions_create(&run);

    ret = ret ? ret : groups_find(&run);
    for (size_t i = 0; i < count; i++) {
        changes[i] = &rows[i]->changes;
    }
    /* The cores on which executions end decide which paths are added up. */
    bool has_two_passes =
        what_if && run.executions.count > 1 && input->program->trace->core_count > 1;
    if (ret == 0 && has_two_passes) {
        ret = run_cores(&run, changes, true, false);
    }
    ret = ret ? ret : run_cores(&run, changes, !has_two_passes, true);
    for (size_t i = 0; i < count && ret == 0; i++) {
        ret = sum_row(&run, i, rows[i]);
    }
    if (ret == 0 && what_if) {
        ret = sum_row(&run, NTK_RETIME_MEASURED, &what_if->as_is);
    }
    ntk_retime_paths_destroy(run.paths);
    ntk_long_list_fini(&run.executions);
    free(run.cores);
    free(run.groups);
    return ret;
}
