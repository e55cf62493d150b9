/* SPDX-License-Identifier: MIT */
/* Cores that have been in one execution for too long, with hand-made rows. */
#include "shared/metrics/stuck.h"

#include <string.h>

#include "shared/metrics/ranks.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)

/* One process per core, with this time in flight and this longest earlier execution. */
static struct ntk_snapshot *snapshot_of(size_t count, const uint64_t (*cores)[2])
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, count);

    assert_non_null(runtimes);
    for (size_t i = 0; i < count; i++) {
        runtimes[i].pid = 100 + (uint32_t)i;
        runtimes[i].cores = ntk_snapshot_alloc(snapshot, 1, sizeof *runtimes[i].cores);
        runtimes[i].core_count = 1;
        runtimes[i].cores[0] = (struct ntk_core_sample){ .core = (uint32_t)i,
                                                         .in_flight = cores[i][0] > 0,
                                                         .running_ns = cores[i][0],
                                                         .longest_ns = cores[i][1] };
    }
    return snapshot;
}

static void the_stuck_limit_follows_from_the_longest_execution(void **state)
{
    static const uint64_t cores[][2] = {
        { 59 * SECOND, 0 },   /* below the limit for a core that has never completed one */
        { 61 * SECOND, 0 },   /* above it */
        { 4 * SECOND, 1000 }, /* the limit is at least 5 s */
        /* The limit is eight times the longest. */
        { 6 * SECOND, 1000 },
        { 79 * SECOND, 10 * SECOND },
        /* The limit is at most ten minutes. */
        { 81 * SECOND, 10 * SECOND },
        { 599 * SECOND, UINT64_MAX },
        { 601 * SECOND, UINT64_MAX },
        { 0, 10 * SECOND },
    };
    struct ntk_snapshot *snapshot = snapshot_of(sizeof cores / sizeof *cores, cores);
    static const uint32_t expected[] = { 7, 5, 1, 3 }; /* ordered by duration, longest first */
    struct ntk_stuck stuck;

    (void)state;
    ntk_stuck_init(&stuck);
    assert_int_equal(ntk_stuck_add(&stuck, snapshot, "host", 0), 0);
    ntk_stuck_sort(&stuck);
    assert_int_equal(stuck.rows.count, 4);
    assert_int_equal(stuck.running, 8);
    for (size_t i = 0; i < 4; i++) {
        const struct ntk_stuck_row *row = ntk_vec_at(&stuck.rows, i);

        assert_int_equal(row->core->core, expected[i]);
        assert_string_equal(row->host, "host");
        assert_int_equal(row->is_learned, expected[i] != 1);
        assert_int_equal(row->runtime->pid, 100 + expected[i]);
    }
    ntk_stuck_fini(&stuck);
    ntk_snapshot_destroy(snapshot);
}

static void an_explicit_stuck_limit_applies_to_all_processes(void **state)
{
    static const uint64_t cores[][2] = { { 2 * SECOND, 0 },
                                         { 2 * SECOND, 100 * SECOND },
                                         { 1, 0 } };
    struct ntk_snapshot *snapshot = snapshot_of(3, cores);
    struct ntk_stuck stuck;

    (void)state;
    ntk_stuck_init(&stuck);
    assert_int_equal(ntk_stuck_add(&stuck, snapshot, "", SECOND), 0);
    assert_int_equal(stuck.rows.count, 2);
    ntk_stuck_fini(&stuck);
    ntk_snapshot_destroy(snapshot);
}

static void ranks_that_run_with_others_or_have_exited_are_omitted(void **state)
{
    static const uint64_t cores[][2] = {
        { 100 * SECOND, 0 }, { 100 * SECOND, 0 }, { 100 * SECOND, 0 }, { 100 * SECOND, 0 }
    };
    struct ntk_snapshot *snapshot = snapshot_of(4, cores);
    struct ntk_stuck stuck;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct ntk_rank_sample *rank =
            ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[i], 1);

        /* The host calls the operations of 1, so its execution is its own. */
        rank->model_id = i == 1 ? 0 : 7;
        rank->in_flight = i == 2 ? 0 : 1; /* 2 is not in an operation at the moment */
    }
    snapshot->runtimes[3].ended = true;
    ntk_stuck_init(&stuck);
    assert_int_equal(ntk_stuck_add(&stuck, snapshot, "", 0), 0);
    assert_int_equal(stuck.rows.count, 2);
    assert_int_equal(((struct ntk_stuck_row *)ntk_vec_at(&stuck.rows, 0))->runtime->pid, 101);
    assert_int_equal(((struct ntk_stuck_row *)ntk_vec_at(&stuck.rows, 1))->runtime->pid, 102);
    ntk_stuck_fini(&stuck);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stuck_limit_follows_from_the_longest_execution),
        cmocka_unit_test(an_explicit_stuck_limit_applies_to_all_processes),
        cmocka_unit_test(ranks_that_run_with_others_or_have_exited_are_omitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
