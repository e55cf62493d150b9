/* SPDX-License-Identifier: MIT */
/* what_if - selects the changes to simulate, and sorts their results. */
#include "profiler/analysis/what_if.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/what_if_private.h"
#include "shared/base/vec.h"

/* Number of the most expensive waits that are simulated by default. */
#define WAITS_MAX 5
#define SEMAPHORES 256

const char *ntk_what_if_on_name(unsigned on)
{
    static const char *const names[NTK_WHAT_IF_ON_COUNT] = {
        [NTK_WHAT_IF_ON_DMA] = "dma",     [NTK_WHAT_IF_ON_LATENCY] = "latency",
        [NTK_WHAT_IF_ON_WAIT] = "wait",   [NTK_WHAT_IF_ON_KEPT] = "unexplained",
        [NTK_WHAT_IF_ON_START] = "start", [NTK_WHAT_IF_ON_END] = "end",
    };

    return on < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_name(on) : names[on];
}

/* ---- estimates ---- */

static int add(struct ntk_vec *rows, enum ntk_what_if_part part, double speed, unsigned number)
{
    struct ntk_what_if_row row = { .changes = { .count = 1 } };

    row.changes.list[0] =
        (struct ntk_what_if_change){ .part = part, .speed = speed, .number = number };
    return ntk_vec_push(rows, &row);
}

/* Finds the time in which engines had nothing to execute before the change of each semaphore. */
static void waits_find(const struct ntk_what_if_input *input, int64_t *semaphores_ps)
{
    const struct ntk_trace *trace = input->program->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        const struct ntk_core_dependencies *dependencies = &input->dependencies.cores[c];
        ntk_trace_each_instruction(core, one) {
            size_t i = (size_t)(one - core->instructions);
            const struct ntk_release *release = &dependencies->releases[i];
            const struct ntk_slot_fact *fact = ntk_program_fact(input->program, c, one);
            int64_t free_ps = release->previous == NTK_NO_INDEX
                                  ? 0
                                  : core->instructions[release->previous].end_ps;
            /* The program cannot remove the waits of the runtime. */
            if (release->event == NTK_NO_INDEX || fact->code->is_runtime ||
                (fact->code->wait != NTK_WAIT_AT_LEAST && fact->code->wait != NTK_WAIT_EQUAL)) {
                continue;
            }
            int64_t wait_ps = ntk_change_at(core, dependencies, release->event)->time_ps - free_ps;
            semaphores_ps[fact->code->wait_number % SEMAPHORES] += wait_ps > 0 ? wait_ps : 0;
            if (i % NTK_TRACE_LOOKS == 0) {
                ntk_dependencies_give_back(core, dependencies);
            }
        }
    }
}

static int add_waits(const struct ntk_what_if_input *input, struct ntk_vec *rows)
{
    int64_t semaphores_ps[SEMAPHORES] = { 0 };
    int ret = 0;

    waits_find(input, semaphores_ps);
    for (unsigned n = 0; n < WAITS_MAX && ret == 0; n++) {
        unsigned longest = 0;
        for (unsigned s = 1; s < SEMAPHORES; s++) {
            longest = semaphores_ps[s] > semaphores_ps[longest] ? s : longest;
        }
        if (semaphores_ps[longest] <= 0) {
            break;
        }
        ret = add(rows, NTK_WHAT_IF_WAIT, 0, longest);
        semaphores_ps[longest] = 0;
    }
    return ret;
}

static bool applies_somewhere(const struct ntk_program *program,
                              const struct ntk_what_if_change *change)
{
    for (size_t c = 0; c < program->trace->core_count; c++) {
        const struct ntk_trace_core *core = &program->trace->cores[c];
        ntk_trace_each_instruction(core, one) {
            if (ntk_what_if_applies(program, c, (uint32_t)(one - core->instructions), change)) {
                return true;
            }
        }
    }
    return false;
}

static bool has_engine(const struct ntk_trace *trace, unsigned engine)
{
    for (size_t c = 0; c < trace->core_count; c++) {
        ntk_trace_each_instruction(&trace->cores[c], one) {
            if (one->engine == engine) {
                return true;
            }
        }
    }
    return false;
}

static int add_standard(const struct ntk_what_if_input *input, struct ntk_vec *rows)
{
    const struct ntk_what_if_change transposes = { .part = NTK_WHAT_IF_TRANSPOSES };
    bool has_transfers = false;
    int ret = 0;

    for (size_t c = 0; c < input->transfers->core_count; c++) {
        has_transfers = has_transfers || input->transfers->cores[c].count > 0;
    }
    if (has_transfers) {
        ret = add(rows, NTK_WHAT_IF_DMA, 2, 0);
        ret = ret ? ret : add(rows, NTK_WHAT_IF_DMA, 0, 0);
        ret = ret ? ret : add(rows, NTK_WHAT_IF_DMA_LATENCY, 0, 0);
    }
    ret = ret ? ret : add(rows, NTK_WHAT_IF_LATENCY, 0, 0);
    if (applies_somewhere(input->program, &transposes)) {
        ret = ret ? ret : add(rows, NTK_WHAT_IF_TRANSPOSES, 0, 0);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (has_engine(input->program->trace, e)) {
            ret = ret ? ret : add(rows, NTK_WHAT_IF_ENGINE, 2, e);
        }
    }
    return ret ? ret : add_waits(input, rows);
}

static int compare_rows(const void *a, const void *b)
{
    const struct ntk_what_if_row *x = a;
    const struct ntk_what_if_row *y = b;

    if (x->total_ps != y->total_ps) {
        return x->total_ps < y->total_ps ? -1 : 1;
    }
    if (x->changes.list[0].part != y->changes.list[0].part) {
        return x->changes.list[0].part < y->changes.list[0].part ? -1 : 1;
    }
    return x->changes.list[0].number < y->changes.list[0].number ? -1 : 1;
}

int ntk_what_if_changes_check(const struct ntk_program *program,
                              const struct ntk_what_if_changes *changes, struct ntk_err *err)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct ntk_what_if_change *change = &changes->list[i];
        struct ntk_what_if_changes alone = { .count = 1, .list = { *change } };
        char text[NTK_WHAT_IF_NAME_BYTES + 64];
        bool is_single = change->part == NTK_WHAT_IF_LINE ||
                         change->part == NTK_WHAT_IF_TRANSPOSES ||
                         ntk_what_if_is_wait(change->part);

        if (is_single && !applies_somewhere(program, change)) {
            return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                               change->part == NTK_WHAT_IF_LINE
                                   ? "--what-if %s: no instruction of the capture is from this "
                                     "line (lines require the NEFF: -n)"
                               : change->part == NTK_WHAT_IF_TRANSPOSES
                                   ? "--what-if %s: the capture has no transposes on the tensor "
                                     "engine"
                                   : "--what-if %s: no instruction of the capture waits for this; "
                                     "the 'idle' analysis lists what engines wait for",
                               ntk_what_if_changes_text(&alone, text, sizeof text));
        }
    }
    return 0;
}

static void set_bounds(struct ntk_what_if_row *row, const struct ntk_what_if_row bounds[2])
{
    row->has_bounds = true;
    row->least_total_ps = row->largest_total_ps = row->total_ps;
    for (size_t i = 0; i < 2; i++) {
        row->least_total_ps = ntk_retime_smaller(row->least_total_ps, bounds[i].total_ps);
        row->largest_total_ps = ntk_retime_larger(row->largest_total_ps, bounds[i].total_ps);
    }
}

int ntk_analysis_what_if(const struct ntk_program *program, const struct ntk_transfers *transfers,
                         const struct ntk_what_if_changes *changes, struct ntk_progress *progress,
                         struct ntk_what_if *out_what_if)
{
    struct ntk_what_if_input input = { .program = program,
                                       .transfers = transfers,
                                       .progress = progress };
    struct ntk_what_if result = { .measured_ps = program->trace->total_ps,
                                  .is_standard = !changes || changes->count == 0 };
    struct ntk_what_if_row tight = { 0 };
    struct ntk_what_if_row bounds[2] = { 0 };
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_what_if_row);

    if (!program->trace->has_total || program->trace->total_ps <= 0) {
        return -ENODATA;
    }
    int ret = ntk_analysis_dependencies_hidden(program, transfers, &input.dependencies);
    if (ret == 0 && result.is_standard) {
        ret = add_standard(&input, &rows);
    } else if (ret == 0) {
        const struct ntk_what_if_row row = { .changes = *changes };
        ret = ntk_vec_push(&rows, &row);
    }
    struct ntk_what_if_row *wanted[NTK_RETIME_LANES] = { &tight };
    size_t count = 1;
    ntk_vec_each(struct ntk_what_if_row, row, &rows) {
        assert(count < NTK_RETIME_LANES);
        wanted[count++] = row;
    }
    struct ntk_retime_special special = { 0, NTK_RETIME_ROWS, NTK_RETIME_ROWS };
    if (!result.is_standard) {
        special.late = count;
        special.early = count + 1;
        bounds[0].changes = bounds[1].changes = *changes;
        wanted[count++] = &bounds[0];
        wanted[count++] = &bounds[1];
    }
    ret = ret ? ret : ntk_what_if_run(&input, wanted, count, &special, &result);
    if (ret == 0 && !result.is_standard && (result.outside_wait_count || result.meeting_count)) {
        set_bounds(rows.items, bounds);
    }
    result.tight_ps = tight.total_ps;
    ntk_dependencies_fini(&input.dependencies);
    if (ret < 0) {
        ntk_vec_fini(&rows);
        return ret;
    }
    ntk_vec_sort(&rows, compare_rows);
    result.rows = rows.items;
    result.row_count = rows.count;
    *out_what_if = result;
    return 0;
}

static int gains_of(const struct ntk_what_if_input *input,
                    const struct ntk_what_if_changes *changes, size_t count, int64_t *out_gains_ps)
{
    struct ntk_what_if_row *rows[NTK_RETIME_LANES];
    struct ntk_what_if_row *all = calloc(count, sizeof *all);

    if (!all) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        all[i].changes = changes[i];
        rows[i] = &all[i];
    }
    const struct ntk_retime_special none = { NTK_RETIME_ROWS, NTK_RETIME_ROWS, NTK_RETIME_ROWS };
    int ret = ntk_what_if_run(input, rows, count, &none, NULL);
    for (size_t i = 0; i < count; i++) {
        out_gains_ps[i] = input->program->trace->total_ps - all[i].total_ps;
    }
    free(all);
    return ret;
}

int ntk_what_if_gains(const struct ntk_program *program, const struct ntk_transfers *transfers,
                      const struct ntk_what_if_changes *changes, size_t count,
                      int64_t *out_gains_ps)
{
    struct ntk_what_if_input input = { .program = program, .transfers = transfers };
    int ret = ntk_analysis_dependencies_hidden(program, transfers, &input.dependencies);

    for (size_t first = 0; first < count && ret == 0; first += NTK_RETIME_LANES) {
        ret = gains_of(&input, &changes[first],
                       count - first < NTK_RETIME_LANES ? count - first : NTK_RETIME_LANES,
                       &out_gains_ps[first]);
    }
    ntk_dependencies_fini(&input.dependencies);
    return ret;
}

void ntk_what_if_fini(struct ntk_what_if *what_if)
{
    free(what_if->rows);
    *what_if = (struct ntk_what_if){ 0 };
}
