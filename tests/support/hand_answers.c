/* SPDX-License-Identifier: MIT */
/* hand_answers - the analyses of one trace, and relations that hold between their numbers. */
#include "tests/support/hand_answers.h"

#include <errno.h>
#include <math.h>

#include "profiler/analysis/what_if.h"
#include "tests/support/unit.h"

static void expect_near(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-9 * (fabs(wanted) + 1)) {
        fail_msg("%.12g, not %.12g", value, wanted);
    }
}

/* ---- idle ---- */

/* Times of the execution at which the engine works, counted one by one. */
static int64_t count_busy_ps(const struct ntk_trace_core *core, unsigned engine, int64_t total_ps)
{
    int64_t busy_ps = 0;
    int64_t at_ps = 0;

    /* To the next edge, repeatedly: slow, and without assumptions about the order. */
    while (at_ps < total_ps) {
        int64_t next_ps = total_ps;
        bool is_busy = false;
        for (size_t i = 0; i < core->instruction_count; i++) {
            const struct ntk_trace_instruction *one = &core->instructions[i];
            if (one->engine != engine || one->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
                continue;
            }
            is_busy = is_busy || (one->start_ps <= at_ps && at_ps < one->end_ps);
            if (one->start_ps > at_ps && one->start_ps < next_ps) {
                next_ps = one->start_ps;
            }
            if (one->end_ps > at_ps && one->end_ps < next_ps) {
                next_ps = one->end_ps;
            }
        }
        busy_ps += is_busy ? next_ps - at_ps : 0;
        at_ps = next_ps;
    }
    return busy_ps;
}

static void check_idle(const struct hand_trace *h, const struct ntk_idle_reasons *idle)
{
    assert_int_equal(idle->total_ps, h->trace.total_ps);
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        int64_t reasons_ps[NTK_IDLE_REASON_COUNT] = { 0 };
        int64_t rows_ps = 0;
        int64_t sum_ps = 0;

        for (size_t r = 0; r < engine->row_count; r++) {
            const struct ntk_idle_row *row = &engine->rows[r];
            reasons_ps[row->reason] += row->idle_ps;
            rows_ps += row->idle_ps;
            assert_true(row->count > 0 && row->idle_ps > 0);
            assert_true(row->longest_ps > 0 && row->longest_ps <= row->idle_ps);
            assert_true(row->longest_at_ps >= 0);
            assert_true(row->longest_at_ps + row->longest_ps <= idle->total_ps);
            bool is_last = row->reason == NTK_IDLE_RUNTIME || row->reason == NTK_IDLE_END;
            if (r > 0) {
                const struct ntk_idle_row *before = &engine->rows[r - 1];
                bool was_last =
                    before->reason == NTK_IDLE_RUNTIME || before->reason == NTK_IDLE_END;
                assert_true(is_last || !was_last);
                assert_true(is_last != was_last || before->idle_ps >= row->idle_ps);
            }
        }
        for (unsigned r = 0; r < NTK_IDLE_REASON_COUNT; r++) {
            assert_int_equal(reasons_ps[r], engine->reasons_ps[r]);
            sum_ps += reasons_ps[r];
        }
        int64_t chains_ps = 0;
        for (size_t c = 0; c < engine->chains.count; c++) {
            const struct ntk_wait_chain *chain = &engine->chains.chains[c];
            int64_t parts_ps = 0;
            for (size_t l = 0; l < chain->link_count; l++) {
                parts_ps += chain->links[l].part_ps;
            }
            assert_true(parts_ps <= chain->idle_ps && chain->longest_ps <= chain->idle_ps);
            assert_true(c == 0 || engine->chains.chains[c - 1].idle_ps >= chain->idle_ps);
            chains_ps += chain->idle_ps;
        }
        assert_int_equal(chains_ps,
                         engine->reasons_ps[NTK_IDLE_ENGINE] + engine->reasons_ps[NTK_IDLE_DMA]);
        assert_int_equal(engine->idle_ps, sum_ps);
        assert_int_equal(engine->idle_ps, rows_ps);
        assert_int_equal(engine->busy_ps + engine->idle_ps, idle->total_ps);
        assert_int_equal(engine->busy_ps, count_busy_ps(&h->trace.cores[engine->core],
                                                        engine->engine, idle->total_ps));
    }
}

/* ---- bubbles ---- */

/* Whether the engine works at any time from start_ps to end_ps. */
static bool works_in(const struct ntk_trace_core *core, unsigned engine, int64_t start_ps,
                     int64_t end_ps)
{
    for (size_t i = 0; i < core->instruction_count; i++) {
        const struct ntk_trace_instruction *one = &core->instructions[i];
        if (one->engine == engine && one->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE &&
            one->start_ps < end_ps && one->end_ps > start_ps && one->end_ps > one->start_ps) {
            return true;
        }
    }
    return false;
}

static void check_bubbles(const struct hand_trace *h, const struct ntk_idle_reasons *idle,
                          const struct ntk_bubbles *bubbles)
{
    int64_t idle_ps[HAND_TRACE_CORES][NTK_NTFF_ENGINE_COUNT] = { 0 };
    int64_t sum_ps = 0;
    uint64_t count = 0;

    assert_int_equal(bubbles->total_ps, idle->total_ps);
    assert_int_equal(bubbles->engine_count, idle->engine_count);
    for (size_t i = 0; i < bubbles->cause_count; i++) {
        const struct ntk_bubble_cause *cause = &bubbles->causes[i];
        int64_t gaps_ps = 0;
        int64_t cause_ps = 0;

        assert_int_equal(cause->bubble_count, cause->count);
        assert_true(cause->count > 0);
        assert_true(i == 0 || cause->reason == NTK_IDLE_END ||
                    bubbles->causes[i - 1].gaps_ps >= cause->gaps_ps);
        for (size_t b = 0; b < cause->bubble_count; b++) {
            const struct ntk_bubble *one = &cause->bubbles[b];
            int64_t gap_ps = one->end_ps - one->start_ps;
            assert_int_equal(one->cause, i);
            assert_true(one->start_ps >= 0 && gap_ps > 0 && one->end_ps <= idle->total_ps);
            assert_true(one->cause_ps > 0 && one->cause_ps <= gap_ps);
            assert_true(b == 0 ||
                        cause->bubbles[b - 1].end_ps - cause->bubbles[b - 1].start_ps >= gap_ps);
            assert_false(
                works_in(&h->trace.cores[one->core], one->engine, one->start_ps, one->end_ps));
            idle_ps[one->core][one->engine] += gap_ps;
            gaps_ps += gap_ps;
            cause_ps += one->cause_ps;
        }
        assert_int_equal(cause->gaps_ps, gaps_ps);
        assert_int_equal(cause->cause_ps, cause_ps);
        count += cause->count;
        sum_ps += gaps_ps;
    }
    assert_int_equal(bubbles->count, count);
    assert_int_equal(bubbles->idle_ps, sum_ps);
    for (size_t i = 0; i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        assert_int_equal(idle_ps[engine->core][engine->engine], engine->idle_ps);
    }
}

/* ---- critical path ---- */

static void check_table(const struct ntk_path_table *table, int64_t wanted_ps)
{
    int64_t sum_ps = 0;

    for (size_t i = 0; i < table->count; i++) {
        sum_ps += table->shares[i].path_ps;
        assert_true(table->shares[i].count > 0 && table->shares[i].path_ps > 0);
        assert_true(i == 0 || table->shares[i - 1].path_ps >= table->shares[i].path_ps);
    }
    assert_int_equal(sum_ps, wanted_ps);
}

static int64_t engines_ps(const struct ntk_critical_path *path)
{
    return path->kinds_ps[NTK_PATH_INSTRUCTION] + path->kinds_ps[NTK_PATH_ISSUE] +
           path->kinds_ps[NTK_PATH_DRAIN];
}

static void check_path(const struct hand_trace *h, const struct ntk_critical_path *path)
{
    int64_t kinds_ps = 0;
    int64_t at_ps = 0;

    assert_int_equal(path->total_ps, h->trace.total_ps);
    for (size_t i = 0; i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        assert_int_equal(step->start_ps, at_ps);
        assert_true(step->end_ps > step->start_ps);
        at_ps = step->end_ps;
        if (step->kind == NTK_PATH_INSTRUCTION ||
            step->kind == NTK_PATH_DRAIN) { /* the path shows work only where the engine worked */
            const struct ntk_trace_instruction *one = ntk_path_instruction(&h->trace, step);
            assert_true(one->start_ps <= step->start_ps && step->end_ps <= one->end_ps);
        }
    }
    assert_int_equal(at_ps, path->total_ps);
    for (unsigned k = 0; k < NTK_PATH_KIND_COUNT; k++) {
        kinds_ps += path->kinds_ps[k];
    }
    assert_int_equal(kinds_ps, path->total_ps);
    check_table(&path->resources, path->total_ps);
    check_table(&path->layers, path->total_ps);
    check_table(&path->opcodes, engines_ps(path));
    check_table(&path->instructions, engines_ps(path));
}

/* ---- costs ---- */

static struct ntk_cost_row add_up(const struct ntk_cost_list *list)
{
    struct ntk_cost_row sum = { 0 };

    for (size_t i = 0; i < list->count; i++) {
        const struct ntk_cost_row *row = &list->rows[i];
        assert_true(row->active_ps <= row->instruction_ps);
        assert_true(row->transpose_flops <= row->flops);
        assert_true(row->count == 0 || row->end_ps - row->start_ps >= row->active_ps);
        sum.count += row->count;
        sum.instruction_ps += row->instruction_ps;
        sum.path_ps += row->path_ps;
        sum.flops += row->flops;
        sum.transpose_flops += row->transpose_flops;
        sum.read_bytes += row->read_bytes;
        sum.write_bytes += row->write_bytes;
    }
    return sum;
}

static void check_costs(const struct hand_trace *h, const struct hand_answers *a)
{
    struct ntk_cost_row layers = add_up(&a->costs.layers);
    struct ntk_cost_row operations = add_up(&a->costs.operations);
    struct ntk_cost_row instructions = add_up(&a->costs.instructions);
    uint64_t count = 0;

    for (size_t c = 0; c < h->trace.core_count; c++) {
        count += h->trace.cores[c].instruction_count;
    }
    assert_int_equal(layers.count, count);
    assert_int_equal(layers.path_ps, a->path.total_ps);
    assert_int_equal(instructions.path_ps, engines_ps(&a->path));
    assert_int_equal(operations.path_ps, instructions.path_ps);
    const struct ntk_cost_row *sums[] = { &operations, &instructions };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sums[i]->count, layers.count);
        assert_int_equal(sums[i]->instruction_ps, layers.instruction_ps);
        assert_int_equal(sums[i]->flops, layers.flops);
        assert_int_equal(sums[i]->transpose_flops, layers.transpose_flops);
        assert_int_equal(sums[i]->read_bytes, layers.read_bytes);
        assert_int_equal(sums[i]->write_bytes, layers.write_bytes);
    }
}

/* ---- DMA ---- */

static void check_dma(const struct hand_trace *h, const struct ntk_dma_efficiency *dma)
{
    struct ntk_dma_queue_row sum = { 0 };
    uint64_t packets = 0;

    for (size_t r = 0; r < dma->row_count; r++) {
        const struct ntk_dma_queue_row *row = &dma->rows[r];
        sum.packet_count += row->packet_count;
        sum.bytes_count += row->bytes_count;
        sum.busy_ps += row->busy_ps;
        sum.wasted_bytes += row->wasted_bytes;
        uint64_t sizes = 0;
        uint64_t bytes = 0;
        for (unsigned s = 0; s < NTK_DMA_SIZE_COUNT; s++) {
            sizes += row->size_counts[s];
            bytes += row->size_bytes[s];
            sum.size_counts[s] += row->size_counts[s];
        }
        assert_int_equal(sizes, row->packet_count);
        assert_int_equal(bytes, row->bytes_count);
        assert_true(row->active_ps <= row->busy_ps);
        assert_true(row->active_ps <= dma->total.active_ps);
        assert_true(row->efficiency >= 0 && row->efficiency <= 1 && row->wasted_bytes >= 0);
        assert_true(row->engine_count >= 1 && row->engine_count <= dma->total.engine_count);
    }
    for (size_t c = 0; c < h->trace.core_count; c++) {
        packets += h->trace.cores[c].packet_count;
    }
    assert_int_equal(sum.packet_count, packets);
    assert_int_equal(dma->total.packet_count, packets);
    assert_int_equal(dma->total.bytes_count, sum.bytes_count);
    assert_int_equal(dma->total.busy_ps, sum.busy_ps);
    for (unsigned s = 0; s < NTK_DMA_SIZE_COUNT; s++) {
        assert_int_equal(dma->total.size_counts[s], sum.size_counts[s]);
    }
    expect_near(dma->total.wasted_bytes, sum.wasted_bytes);
    assert_true(dma->spill_bytes <= dma->total.bytes_count);
    assert_true(dma->spill_active_ps <= dma->total.active_ps);
    assert_true(dma->total.efficiency >= 0 && dma->total.efficiency <= 1);
}

/* ---- roofline ---- */

static void check_roofline(const struct ntk_roofline *roofline)
{
    uint64_t flops = 0;
    uint64_t bytes = 0;
    int64_t time_ps = 0;
    double least_ps = 0;

    for (size_t r = 0; r < roofline->layers.count; r++) {
        const struct ntk_roofline_row *row = &roofline->layers.rows[r];
        flops += row->flops;
        bytes += row->bytes;
        time_ps += row->time_ps;
        least_ps += row->least_ps;
        assert_true(row->has_ratio == (row->bound != NTK_ROOFLINE_NONE && !row->is_hidden));
        assert_true(!row->has_ratio || (row->ratio > 0 && row->ratio <= 1));
        assert_true(row->has_intensity == (row->bytes > 0));
    }
    assert_int_equal(roofline->total.flops, flops);
    assert_int_equal(roofline->total.bytes, bytes);
    assert_int_equal(roofline->total.time_ps, time_ps);
    /* Layers one after another cannot be faster than all of them in parallel. */
    assert_true(roofline->total.least_ps <= least_ps * (1 + 1e-12));
}

/* ---- what-if ---- */

static void check_what_if_row(const struct ntk_what_if_row *row)
{
    int64_t sum_ps = 0;

    for (unsigned on = 0; on < NTK_WHAT_IF_ON_COUNT; on++) {
        sum_ps += row->path_ps[on];
    }
    assert_int_equal(sum_ps, row->total_ps);
    for (size_t i = 0; i < row->item_count; i++) {
        assert_true(row->items[i].path_ps > 0);
        assert_true(i == 0 || row->items[i - 1].path_ps >= row->items[i].path_ps);
    }
}

/* Without a change the length is the measured one; a faster part never increases it. */
static void check_what_if(const struct hand_trace *h, const struct hand_answers *a)
{
    struct ntk_what_if what_if;

    assert_int_equal(ntk_analysis_what_if(a->program, &a->transfers, NULL, NULL, &what_if), 0);
    assert_int_equal(what_if.measured_ps, h->trace.total_ps);
    assert_int_equal(what_if.as_is.total_ps, h->trace.total_ps);
    assert_true(what_if.tight_ps <= h->trace.total_ps);
    check_what_if_row(&what_if.as_is);
    for (size_t i = 0; i < what_if.row_count; i++) {
        assert_true(what_if.rows[i].total_ps <= h->trace.total_ps);
        assert_true(i == 0 || what_if.rows[i - 1].total_ps <= what_if.rows[i].total_ps);
        check_what_if_row(&what_if.rows[i]);
    }
    ntk_what_if_fini(&what_if);
}

void hand_answers_ask(struct hand_trace *h, struct hand_answers *out_answers)
{
    hand_answers_ask_with(h, NULL, out_answers);
}

void hand_answers_ask_with(struct hand_trace *h, struct ntk_neff_positions *positions,
                           struct hand_answers *out_answers)
{
    struct hand_answers a = { 0 };

    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &a.program), 0);
    if (positions) {
        ntk_neff_positions_destroy(a.program->positions);
        a.program->positions = positions;
    }
    assert_int_equal(ntk_analysis_dependencies(a.program, &a.dependencies), 0);
    assert_int_equal(ntk_transfers_init(&a.transfers, a.program), 0);
    int wanted = h->trace.has_total ? 0 : -ENODATA;
    assert_int_equal(ntk_analysis_critical_path(a.program, &a.dependencies, &a.path), wanted);
    assert_int_equal(ntk_analysis_idle_reasons(a.program, &a.dependencies, &a.idle), wanted);
    const struct ntk_bubbles_options all = { .limit = NTK_BUBBLES_LIMIT_MAX };
    assert_int_equal(ntk_analysis_bubbles(a.program, &a.dependencies, &all, &a.bubbles), wanted);
    assert_int_equal(ntk_analysis_cost_table(a.program, wanted ? NULL : &a.path, &a.costs), 0);
    assert_int_equal(ntk_analysis_dma_efficiency(&h->trace, &a.dma), 0);
    a.has_roofline = ntk_analysis_roofline(a.program, &a.costs, &a.roofline) == 0;
    if (wanted == 0) {
        check_idle(h, &a.idle);
        check_bubbles(h, &a.idle, &a.bubbles);
        check_path(h, &a.path);
        check_what_if(h, &a);
    }
    check_costs(h, &a);
    check_dma(h, &a.dma);
    if (a.has_roofline) {
        check_roofline(&a.roofline);
    }
    *out_answers = a;
}

void hand_answers_done(struct hand_trace *h, struct hand_answers *answers)
{
    ntk_transfers_fini(&answers->transfers);
    ntk_roofline_fini(&answers->roofline);
    ntk_dma_efficiency_fini(&answers->dma);
    ntk_cost_table_fini(&answers->costs);
    ntk_bubbles_fini(&answers->bubbles);
    ntk_idle_reasons_fini(&answers->idle);
    ntk_critical_path_fini(&answers->path);
    ntk_dependencies_fini(&answers->dependencies);
    ntk_program_destroy(answers->program);
    hand_trace_fini(h);
}
