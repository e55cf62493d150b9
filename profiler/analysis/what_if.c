/* SPDX-License-Identifier: MIT */
/* what_if - selects the changes to simulate, and computes their effect on all cores. */
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

struct work {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    struct ntk_dependencies dependencies;
};

const char *ntk_what_if_on_name(unsigned on)
{
    static const char *const names[NTK_WHAT_IF_ON_COUNT] = {
        [NTK_WHAT_IF_ON_DMA] = "dma",     [NTK_WHAT_IF_ON_LATENCY] = "latency",
        [NTK_WHAT_IF_ON_WAIT] = "wait",   [NTK_WHAT_IF_ON_KEPT] = "unexplained",
        [NTK_WHAT_IF_ON_START] = "start", [NTK_WHAT_IF_ON_END] = "end",
    };

    return on < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_name(on) : names[on];
}

static void bound_by(struct ntk_what_if_row *row, unsigned by, int64_t ps)
{
    if (ps > row->bound_ps) {
        row->bound_ps = ps;
        row->bound_by = by;
    }
}

/* Adds a row of a core to the row of the execution. The total comes from the core that ends last;
 * returns true if it is this core. */
static bool add_core(const struct ntk_retimed_end *end, struct ntk_what_if_row *row)
{
    bool is_last = end->end_ps > row->total_ps;

    if (is_last) {
        row->total_ps = end->end_ps;
        memset(row->path_ps, 0, sizeof row->path_ps);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        bound_by(row, e, end->engine_busy_ps[e]);
    }
    bound_by(row, NTK_WHAT_IF_ON_DMA, end->dma_busy_ps);
    return is_last;
}

/* Adds the time in the capture after its last core. */
static void add_rest(struct ntk_what_if_row *row, int64_t rest_ps)
{
    row->path_ps[NTK_WHAT_IF_ON_END] = rest_ps;
    row->total_ps += rest_ps;
    row->bound_ps = row->bound_ps < row->total_ps ? row->bound_ps : row->total_ps;
}

/* Simulates all changes in one run. tight: the row in which time that no dependency explains is
 * dropped; `count` if there is none. Unless what_if is NULL, also computes their paths, and the
 * result without a change. */
static int run_some(const struct work *work, struct ntk_what_if_row *const *rows, size_t count,
                    size_t tight, struct ntk_what_if *what_if)
{
    const struct ntk_trace *trace = work->program->trace;
    const struct ntk_what_if_changes *changes[NTK_RETIME_LANES];
    struct ntk_retimed retimed = { 0 };
    int64_t measured_ps = 0;
    int ret = 0;

    for (size_t i = 0; i < count; i++) {
        changes[i] = &rows[i]->changes;
    }
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        ret = ntk_retimed_init(&retimed, work->program, work->transfers, &work->dependencies, c,
                               changes, count, tight);
        if (ret < 0) {
            return ret;
        }
        measured_ps = retimed.measured_end_ps > measured_ps ? retimed.measured_end_ps : measured_ps;
        struct ntk_what_if_row *paths[NTK_RETIME_ROWS] = { NULL };
        for (size_t i = 0; i < count; i++) {
            bool is_last = add_core(&retimed.ends[i], rows[i]);
            paths[i] = is_last && what_if && i != tight ? rows[i] : NULL;
        }
        if (what_if) {
            bool is_last = add_core(&retimed.ends[NTK_RETIME_MEASURED], &what_if->as_is);
            paths[NTK_RETIME_MEASURED] = is_last ? &what_if->as_is : NULL;
            what_if->unknown_wait_count += retimed.unknown_wait_count;
            what_if->unknown_transfer_count += retimed.unknown_transfer_count;
            ret = ntk_retimed_paths(&retimed, paths);
        }
    }
    ntk_retimed_fini(&retimed);
    for (size_t i = 0; i < count; i++) {
        add_rest(rows[i], trace->total_ps - measured_ps);
    }
    if (what_if) {
        add_rest(&what_if->as_is, trace->total_ps - measured_ps);
    }
    return ret;
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
static void waits_find(const struct work *work, int64_t *semaphores_ps)
{
    const struct ntk_trace *trace = work->program->trace;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        const struct ntk_core_dependencies *dependencies = &work->dependencies.cores[c];
        ntk_trace_each_instruction(core, one) {
            size_t i = (size_t)(one - core->instructions);
            const struct ntk_release *release = &dependencies->releases[i];
            const struct ntk_slot_fact *fact = ntk_program_fact(work->program, c, one);
            int64_t free_ps = release->previous == NTK_NO_INDEX
                                  ? 0
                                  : core->instructions[release->previous].end_ps;
            if (release->event == NTK_NO_INDEX ||
                (fact->wait != NTK_WAIT_AT_LEAST && fact->wait != NTK_WAIT_EQUAL)) {
                continue;
            }
            int64_t wait_ps = ntk_change_at(core, dependencies, release->event)->time_ps - free_ps;
            semaphores_ps[fact->wait_number % SEMAPHORES] += wait_ps > 0 ? wait_ps : 0;
            if (i % NTK_TRACE_LOOKS == 0) {
                ntk_dependencies_give_back(core, dependencies);
            }
        }
    }
}

static int add_waits(const struct work *work, struct ntk_vec *rows)
{
    int64_t semaphores_ps[SEMAPHORES] = { 0 };
    int ret = 0;

    waits_find(work, semaphores_ps);
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

static int add_standard(const struct work *work, struct ntk_vec *rows)
{
    const struct ntk_what_if_change transposes = { .part = NTK_WHAT_IF_TRANSPOSES };
    bool has_transfers = false;
    int ret = 0;

    for (size_t c = 0; c < work->transfers->core_count; c++) {
        has_transfers = has_transfers || work->transfers->cores[c].count > 0;
    }
    if (has_transfers) {
        ret = add(rows, NTK_WHAT_IF_DMA, 2, 0);
        ret = ret ? ret : add(rows, NTK_WHAT_IF_DMA, 0, 0);
        ret = ret ? ret : add(rows, NTK_WHAT_IF_DMA_LATENCY, 0, 0);
    }
    ret = ret ? ret : add(rows, NTK_WHAT_IF_LATENCY, 0, 0);
    if (applies_somewhere(work->program, &transposes)) {
        ret = ret ? ret : add(rows, NTK_WHAT_IF_TRANSPOSES, 0, 0);
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        if (has_engine(work->program->trace, e)) {
            ret = ret ? ret : add(rows, NTK_WHAT_IF_ENGINE, 2, e);
        }
    }
    return ret ? ret : add_waits(work, rows);
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
                                     "the analysis 'idle' lists what engines wait for",
                               ntk_what_if_changes_text(&alone, text, sizeof text));
        }
    }
    return 0;
}

int ntk_analysis_what_if(const struct ntk_program *program, const struct ntk_transfers *transfers,
                         const struct ntk_what_if_changes *changes, struct ntk_what_if *out_what_if)
{
    struct work work = { .program = program, .transfers = transfers };
    struct ntk_what_if result = { .measured_ps = program->trace->total_ps,
                                  .is_standard = !changes || changes->count == 0 };
    struct ntk_what_if_row tight = { 0 };
    struct ntk_vec rows = NTK_VEC_INIT(struct ntk_what_if_row);

    if (!program->trace->has_total || program->trace->total_ps <= 0) {
        return -ENODATA;
    }
    int ret = ntk_analysis_dependencies_hidden(program, transfers, &work.dependencies);
    if (ret == 0 && result.is_standard) {
        ret = add_standard(&work, &rows);
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
    ret = ret ? ret : run_some(&work, wanted, count, 0, &result);
    result.tight_ps = tight.total_ps;
    ntk_dependencies_fini(&work.dependencies);
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

static int gains_of(const struct work *work, const struct ntk_what_if_changes *changes,
                    size_t count, int64_t *out_gains_ps)
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
    int ret = run_some(work, rows, count, count, NULL);
    for (size_t i = 0; i < count; i++) {
        out_gains_ps[i] = work->program->trace->total_ps - all[i].total_ps;
    }
    free(all);
    return ret;
}

int ntk_what_if_gains(const struct ntk_program *program, const struct ntk_transfers *transfers,
                      const struct ntk_what_if_changes *changes, size_t count,
                      int64_t *out_gains_ps)
{
    struct work work = { .program = program, .transfers = transfers };
    int ret = ntk_analysis_dependencies_hidden(program, transfers, &work.dependencies);

    for (size_t first = 0; first < count && ret == 0; first += NTK_RETIME_LANES) {
        ret = gains_of(&work, &changes[first],
                       count - first < NTK_RETIME_LANES ? count - first : NTK_RETIME_LANES,
                       &out_gains_ps[first]);
    }
    ntk_dependencies_fini(&work.dependencies);
    return ret;
}

void ntk_what_if_fini(struct ntk_what_if *what_if)
{
    free(what_if->rows);
    *what_if = (struct ntk_what_if){ 0 };
}
