/* SPDX-License-Identifier: MIT */
/* The view of ranks: the words for each rank, and the mark of the one that others wait for. */

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "tests/top/scene.h"
#include "tests/top/view/views_fixture.h"
#include "top/model/model_ranks.h"
#include "top/model/model_watch.h"
#include "top/view/views.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define OPERATIONS 20u /* per second */

/* Second s of a job of two ranks; the one that is slow spends little time in operations. Rank 0 is
 * in the current operation if is_waiting. */
static struct ntk_snapshot *second(uint64_t s, uint32_t slow, bool is_waiting)
{
    struct scene scene = scene_trn1;

    scene.realtime_ns += s * SECOND;
    struct ntk_snapshot *snapshot = (struct ntk_snapshot *)scene_snapshot(&scene);
    assert_int_equal(snapshot->runtime_count, 2);
    snapshot->period_ns = SECOND;
    for (uint32_t i = 0; i < 2; i++) {
        struct ntk_rank_sample *rank =
            ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[i], 1);
        bool is_inside = is_waiting && i == 0;

        rank->key = 5;
        rank->rank = i;
        rank->rank_count = rank->world_count = 2;
        rank->rendezvous = ntk_snapshot_text(snapshot, "here");
        rank->members = ntk_snapshot_text(snapshot, "");
        rank->core = snapshot->runtimes[i].cores[0].core;
        rank->sequence = s * OPERATIONS + is_inside;
        rank->in_flight = is_inside;
        rank->state_ns = MS;
        rank->longest_ns = 50 * MS;
        rank->operation = NTK_COLLECTIVE_ALL_GATHER;
        rank->operations[NTK_COLLECTIVE_ALL_GATHER].period = OPERATIONS;
        rank->in_operations_ns.period = OPERATIONS * (i == slow ? 2 : 25) * MS;
        rank->core_busy_ns.period = OPERATIONS * 10 * MS;
    }
    return snapshot;
}

/* "progressing passed" of a rank. */
static void assert_rank(const struct ntk_top_model *model, const char *rank, const char *state,
                        const char *where)
{
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_RANKS];

    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);

        if (strcmp(ntk_top_table_cell_get(table, row, NTK_TOP_RANKS_RANK)->text, rank) == 0) {
            assert_string_equal(ntk_top_table_cell_get(table, row, NTK_TOP_RANKS_STATE)->text,
                                state);
            assert_string_equal(ntk_top_table_cell_get(table, row, NTK_TOP_RANKS_WHERE)->text,
                                where);
            return;
        }
    }
    fail_msg("no rank %s", rank);
}

static void a_rank_that_left_the_operation_is_shown_as_passed(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_RANKS);

    (void)state;
    assert_int_equal(ntk_top_model_update(model, second(1, 2, false), NULL), 0);
    assert_rank(model, "0/2", "progressing", "passed");
    assert_rank(model, "1/2", "progressing", "passed");
    assert_int_equal(ntk_top_model_update(model, second(2, 2, true), NULL), 0);
    assert_rank(model, "0/2", "progressing", "arrived");
    assert_rank(model, "1/2", "progressing", "elsewhere");
    ntk_top_model_destroy(model);
}

/* Method: the process of rank 1 was killed two minutes ago, after 5 s in its operation. */
static void the_time_since_a_lost_rank_entered_its_operation_goes_on(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_RANKS);
    struct ntk_snapshot *snapshot = second(1, 2, true);
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(snapshot, 1);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_RANKS];

    (void)state;
    *lost = (struct ntk_lost_rank){ .pid = snapshot->runtimes[1].pid,
                                    .tag = snapshot->runtimes[1].tag,
                                    .command = snapshot->runtimes[1].command,
                                    .lost_for_ns = 120 * SECOND,
                                    .rank = snapshot->runtimes[1].ranks[0] };
    lost->rank.in_flight = 1;
    lost->rank.state_ns = 5 * SECOND;
    snapshot->runtimes[1].rank_count = 0;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    for (size_t i = 0; i < table->order.count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, i);
        const char *rank = ntk_top_table_cell_get(table, row, NTK_TOP_RANKS_RANK)->text;

        assert_true(ntk_top_table_cell_get(table, row, NTK_TOP_RANKS_SINCE)->value ==
                    (strcmp(rank, "1/2") == 0 ? 125e9 : 1e6));
    }
    assert_int_equal(table->order.count, 2);
    ntk_top_model_destroy(model);
}

/* Method: rank 1 is slow for some windows, then none. The past shows it as it was. */
static void a_rank_that_delays_the_other_ranks_is_marked_slow_and_listed_first(void **state)
{
    static struct ntk_top_past past;
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_RANKS);
    const struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_RANKS];

    (void)state;
    for (uint64_t s = 1; s <= 40; s++) {
        struct ntk_snapshot *snapshot = second(s, s <= 20 ? 1 : 2, false);

        ntk_top_past_add(&past, snapshot);
        assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
        if (s == 4 || s == 40) { /* no window yet; a window of equal ranks */
            assert_rank(model, "1/2", "progressing", "passed");
        } else if (s == 15) {
            assert_rank(model, "1/2", "slow", "passed");
            assert_rank(model, "0/2", "progressing", "passed");
            assert_int_equal(ntk_top_table_row_get(table, 0)->kind, NTK_TOP_ROW_WARNING);
            assert_string_equal(
                ntk_top_table_cell_get(table, ntk_top_table_row_get(table, 0), NTK_TOP_RANKS_RANK)
                    ->text,
                "1/2");
        }
    }
    assert_int_equal(ntk_top_model_show_past(model, &past, 16, NULL), 0);
    assert_rank(model, "1/2", "slow", "passed");
    assert_int_equal(ntk_top_model_show_past(model, &past, 39, NULL), 0);
    assert_rank(model, "1/2", "progressing", "passed");
    ntk_top_past_fini(&past);
    ntk_top_model_destroy(model);
}

/* Method: a report of an agent that judged; the ranks themselves are equal. */
static void a_rank_with_a_slow_verdict_is_shown_as_slow(void **state)
{
    struct ntk_top_model *model = open_view(&scene_trn1, NTK_TOP_VIEW_RANKS);
    struct ntk_snapshot *snapshot = second(1, 2, false);

    (void)state;
    snapshot->troubles = ntk_snapshot_alloc(snapshot, 2, sizeof *snapshot->troubles);
    assert_non_null(snapshot->troubles);
    snapshot->troubles[0] = (struct ntk_rank_trouble){
        .kind = NTK_TROUBLE_SLOW, .key = 5, .rank_count = 2, .has_rank = true, .rank = 1
    };
    snapshot->troubles[1] = (struct ntk_rank_trouble){
        .kind = NTK_TROUBLE_SLOWER, .key = 5, .rank_count = 2, .has_rank = true, .rank = 0
    };
    snapshot->trouble_count = 2;
    assert_int_equal(ntk_top_model_update(model, snapshot, NULL), 0);
    assert_rank(model, "0/2", "progressing", "passed");
    assert_rank(model, "1/2", "slow", "passed");
    ntk_top_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_left_the_operation_is_shown_as_passed),
        cmocka_unit_test(the_time_since_a_lost_rank_entered_its_operation_goes_on),
        cmocka_unit_test(a_rank_with_a_slow_verdict_is_shown_as_slow),
        cmocka_unit_test(a_rank_that_delays_the_other_ranks_is_marked_slow_and_listed_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
