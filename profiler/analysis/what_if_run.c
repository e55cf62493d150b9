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
    size_t tight;
    struct ntk_what_if *what_if; /* NULL: no paths, and no row without a change */
    struct ntk_long_list executions;
    struct ntk_retime_paths *paths;
};

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
            bool is_used = k == NTK_RETIME_MEASURED || (k < run->count && k != run->tight);
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

/* Retimes all cores. is_last: this is the pass that finds the paths. */
static int run_cores(struct run *run, const struct ntk_what_if_changes *const *changes,
                     bool is_first, bool is_last)
{
    const struct ntk_what_if_input *input = run->input;
    struct ntk_retimed retimed = { 0 };
    int ret = 0;

    for (size_t c = 0; c < input->program->trace->core_count && ret == 0; c++) {
        ret = ntk_retimed_init(&retimed, input->program, input->transfers, &input->dependencies, c,
                               changes, run->count, run->tight);
        if (ret == 0 && is_first) {
            add_core(run, &retimed);
        }
        if (ret == 0 && is_last && run->what_if) {
            run->what_if->unknown_wait_count += retimed.unknown_wait_count;
            run->what_if->unknown_transfer_count += retimed.unknown_transfer_count;
            add_paths(run, &retimed);
        }
    }
    ntk_retimed_fini(&retimed);
    return ret;
}

/* Adds up the executions of a row. */
static int sum_row(const struct run *run, size_t lane, struct ntk_what_if_row *row)
{
    const struct ntk_program *program = run->input->program;
    int64_t by_ps[NTK_WHAT_IF_ON_COUNT] = { 0 };
    int64_t gaps_ps = 0;
    int64_t rest_ps = 0;
    int ret = run->what_if && lane != run->tight ? ntk_retime_paths_put(run->paths, lane, row) : 0;

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
                    size_t count, size_t tight, struct ntk_what_if *what_if)
{
    const struct ntk_what_if_changes *changes[NTK_RETIME_LANES];
    struct run run = { input, rows, count, tight, what_if, { 0 }, NULL };
    int ret = executions_create(&run);

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
    return ret;
}
