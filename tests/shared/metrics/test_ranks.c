/* SPDX-License-Identifier: MIT */
/* Method: hand-made ranks of made-up machines, and their common verdict. */
#include "shared/metrics/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

#define RANKS 4u
#define SECOND UINT64_C(1000000000)
#define BEGAN (1000 * SECOND)

struct fixture {
    struct ntk_snapshot *snapshot; /* one process per rank, all in operation 10 for 7 s */
    struct ntk_ranks ranks;
};

static void rank_fill(struct ntk_rank_sample *rank, uint32_t index, uint32_t count)
{
    rank->key = 77;
    rank->rank = rank->world_rank = index;
    rank->rank_count = rank->world_count = count;
    rank->rendezvous = "10.0.0.1:46820";
    rank->join_timestamp_ns = BEGAN;
    rank->sequence = 10;
    rank->operation = NTK_COLLECTIVE_ALL_REDUCE;
    rank->in_flight = 1;
    rank->state_ns = 7 * SECOND;
    rank->longest_ns = SECOND / 10;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->snapshot = ntk_snapshot_create();
    assert_non_null(ntk_snapshot_alloc_runtimes(f->snapshot, RANKS));
    for (uint32_t i = 0; i < RANKS; i++) {
        f->snapshot->runtimes[i].pid = 100 + i;
        rank_fill(ntk_snapshot_alloc_ranks(f->snapshot, &f->snapshot->runtimes[i], 1), i, RANKS);
    }
    ntk_ranks_init(&f->ranks);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_ranks_fini(&f->ranks);
    ntk_snapshot_destroy(f->snapshot);
    free(f);
    return 0;
}

static struct ntk_rank_sample *rank_of(struct fixture *f, uint32_t index)
{
    return &f->snapshot->runtimes[index].ranks[0];
}

static const struct ntk_comm_verdict *judge(struct fixture *f, uint64_t threshold_ns)
{
    const struct ntk_ranks_clock own = { 0 };

    assert_int_equal(ntk_ranks_add(&f->ranks, f->snapshot, "", own), 0);
    assert_int_equal(ntk_ranks_judge(&f->ranks, threshold_ns), 0);
    assert_int_equal(f->ranks.verdicts.count, 1);
    return ntk_vec_at(&f->ranks.verdicts, 0);
}

static void left(struct ntk_rank_sample *rank, uint64_t sequence)
{
    rank->sequence = sequence;
    rank->in_flight = 0;
}

static void a_rank_missing_from_an_operation_is_reported(void **state)
{
    struct fixture *f = *state;

    left(rank_of(f, 2), 9);
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->kind, NTK_COMM_HANGS);
    assert_int_equal(verdict->sequence, 10);
    assert_int_equal(verdict->operation, NTK_COLLECTIVE_ALL_REDUCE);
    assert_int_equal(verdict->age_ns, 7 * SECOND);
    assert_int_equal(verdict->missing_count, 1);
    assert_int_equal(verdict->ranks[2].where, NTK_RANK_ELSEWHERE);
    assert_int_equal(verdict->ranks[2].row->pid, 102);
    assert_int_equal(verdict->ranks[0].where, NTK_RANK_ARRIVED);
}

static void the_hang_limit_follows_from_the_longest_operation_or_is_given(void **state)
{
    struct fixture *f = *state;

    left(rank_of(f, 2), 9);
    rank_of(f, 1)->longest_ns = SECOND;
    const struct ntk_comm_verdict *verdict = judge(f, 0);
    assert_int_equal(verdict->threshold_ns, 8 * SECOND);
    assert_true(verdict->is_learned);
    assert_int_equal(verdict->kind, NTK_COMM_GOES_ON);

    assert_int_equal(ntk_ranks_judge(&f->ranks, 3 * SECOND), 0);
    verdict = ntk_vec_at(&f->ranks.verdicts, 0);
    assert_int_equal(verdict->threshold_ns, 3 * SECOND);
    assert_false(verdict->is_learned);
    assert_int_equal(verdict->kind, NTK_COMM_HANGS);
}

static void without_earlier_operations_the_hang_limit_is_a_minute(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < RANKS; i++) {
        rank_of(f, i)->longest_ns = 0;
    }
    const struct ntk_comm_verdict *verdict = judge(f, 0);
    assert_int_equal(verdict->threshold_ns, NTK_RANKS_UNKNOWN_NS);
    assert_int_equal(verdict->kind, NTK_COMM_GOES_ON);
}

static void an_operation_that_all_ranks_entered_hangs_without_missing_ranks(void **state)
{
    const struct ntk_comm_verdict *verdict = judge(*state, 0);

    assert_int_equal(verdict->kind, NTK_COMM_HANGS);
    assert_int_equal(verdict->missing_count, 0);
}

static void a_rank_in_an_earlier_operation_is_reported_as_behind(void **state)
{
    struct fixture *f = *state;

    rank_of(f, 3)->sequence = 9;
    rank_of(f, 3)->state_ns = 20 * SECOND;
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->sequence, 10);
    assert_int_equal(verdict->age_ns, 7 * SECOND); /* of the operation that the ranks wait for */
    assert_int_equal(verdict->ranks[3].where, NTK_RANK_BEHIND);
}

static void ranks_that_left_died_or_were_never_seen_are_distinguished(void **state)
{
    struct fixture *f = *state;

    left(rank_of(f, 0), 9);
    rank_of(f, 0)->state = NTK_RANK_LEFT;
    f->snapshot->runtimes[1].ended = true;
    f->snapshot->runtimes[2].rank_count = 0;
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->kind, NTK_COMM_HANGS);
    assert_int_equal(verdict->missing_count, 3);
    assert_int_equal(verdict->ranks[0].where, NTK_RANK_GONE);
    assert_int_equal(verdict->ranks[1].where, NTK_RANK_LOST);
    assert_int_equal(verdict->seen, 3);
    assert_int_equal(ntk_comm_verdict_rank(verdict, 2).where, NTK_RANK_UNSEEN);
    assert_null(ntk_comm_verdict_rank(verdict, 2).row);
    assert_int_equal(ntk_comm_verdict_rank(verdict, 3).where, NTK_RANK_ARRIVED);
}

static void a_rank_lost_earlier_is_reported_as_lost(void **state)
{
    struct fixture *f = *state;
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(f->snapshot, 1);

    f->snapshot->runtimes[3].rank_count = 0;
    lost->pid = 4711;
    lost->lost_for_ns = 3 * SECOND;
    rank_fill(&lost->rank, 3, RANKS);
    lost->rank.sequence = 9;
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->ranks[3].where, NTK_RANK_LOST);
    assert_int_equal(verdict->ranks[3].row->pid, 4711);
    assert_int_equal(verdict->ranks[3].row->lost_for_ns, 3 * SECOND);
}

static void the_newer_of_two_processes_with_the_same_rank_is_used(void **state)
{
    struct fixture *f = *state;
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(f->snapshot, 1);

    rank_fill(&lost->rank, 2, RANKS);
    left(rank_of(f, 2), 1);
    rank_of(f, 2)->join_timestamp_ns = BEGAN + 60 * SECOND;
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->ranks[2].where, NTK_RANK_RESTARTED);
    assert_int_equal(verdict->ranks[2].row->pid, 102);
}

static void a_large_clock_error_prevents_a_restart_verdict(void **state)
{
    struct fixture *f = *state;
    const struct ntk_ranks_clock vague = { .error_ns = 300 * SECOND };

    left(rank_of(f, 2), 1);
    rank_of(f, 2)->join_timestamp_ns = BEGAN + 60 * SECOND;
    assert_int_equal(ntk_ranks_add(&f->ranks, f->snapshot, "far", vague), 0);
    assert_int_equal(ntk_ranks_judge(&f->ranks, 0), 0);
    const struct ntk_comm_verdict *verdict = ntk_vec_at(&f->ranks.verdicts, 0);

    assert_int_equal(verdict->ranks[2].where, NTK_RANK_ELSEWHERE);
}

static void a_communicator_without_waiting_ranks_is_idle_or_broken(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < RANKS; i++) {
        left(rank_of(f, i), 10);
    }
    const struct ntk_comm_verdict *verdict = judge(f, 0);
    assert_int_equal(verdict->kind, NTK_COMM_IDLE);
    assert_int_equal(verdict->sequence, 10);

    rank_of(f, 1)->state = NTK_RANK_BROKEN;
    assert_int_equal(ntk_ranks_judge(&f->ranks, 0), 0);
    verdict = ntk_vec_at(&f->ranks.verdicts, 0);
    assert_int_equal(verdict->kind, NTK_COMM_BROKE);

    /* Its process has been elsewhere for a long time. */
    rank_of(f, 1)->state_ns = NTK_RANKS_BROKE_NS + 1;
    assert_int_equal(ntk_ranks_judge(&f->ranks, 0), 0);
    verdict = ntk_vec_at(&f->ranks.verdicts, 0);
    assert_int_equal(verdict->kind, NTK_COMM_IDLE);
}

static void a_communicator_between_two_operations_is_not_hanging(void **state)
{
    struct fixture *f = *state;
    struct ntk_rank_verdict lost;

    for (uint32_t i = 0; i < RANKS; i++) {
        left(rank_of(f, i), 10);
    }
    rank_of(f, 2)->state_ns = SECOND / 100;
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->kind, NTK_COMM_GOES_ON);
    assert_int_equal(verdict->age_ns, 0);
    assert_false(ntk_comm_verdict_missing_as(verdict, NTK_RANK_LOST, 0, &lost));

    ntk_ranks_fini(&f->ranks);
    ntk_ranks_init(&f->ranks);
    f->snapshot->runtimes[3].ended = true;
    verdict = judge(f, 0);
    assert_int_equal(verdict->kind, NTK_COMM_BROKE);
    assert_true(ntk_comm_verdict_missing_as(verdict, NTK_RANK_LOST, 0, &lost));
    assert_int_equal(lost.rank, 3);
}

static void the_worst_verdict_is_first(void **state)
{
    struct fixture *f = *state;
    const struct ntk_ranks_clock own = { 0 };

    for (uint32_t i = 0; i < RANKS; i++) {
        /* Four communicators, each with three ranks that were not seen. */
        rank_of(f, i)->key = i + 1;
        rank_of(f, i)->state_ns = (i + 1) * 4 * SECOND;
    }
    left(rank_of(f, 3), 10);
    assert_int_equal(ntk_ranks_add(&f->ranks, f->snapshot, "", own), 0);
    assert_int_equal(ntk_ranks_judge(&f->ranks, 0), 0);
    const struct ntk_comm_verdict *verdicts = f->ranks.verdicts.items;

    assert_int_equal(f->ranks.verdicts.count, 4);
    assert_int_equal(verdicts[0].age_ns, 12 * SECOND);
    assert_int_equal(verdicts[1].age_ns, 8 * SECOND);
    assert_int_equal(verdicts[2].kind, NTK_COMM_GOES_ON);
    assert_int_equal(verdicts[3].kind, NTK_COMM_IDLE);
}

static void inconsistent_rank_rows_produce_a_bounded_verdict(void **state)
{
    struct fixture *f = *state;

    rank_of(f, 0)->rank_count = UINT32_MAX; /* ignored */
    rank_of(f, 1)->rank_count = 2;          /* not the size that the others report */
    rank_of(f, 2)->rank = 9;                /* not a rank of its communicator */
    rank_of(f, 3)->state_ns = UINT64_MAX;
    rank_of(f, 3)->longest_ns = UINT64_MAX;
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_in_range(verdict->rank_count, 2, RANKS);
    assert_int_equal(verdict->kind, NTK_COMM_HANGS);
}

static void verdict_size_is_bounded_by_rows_and_not_by_claimed_rank_counts(void **state)
{
    struct fixture *f = *state;
    struct ntk_rank_verdict missing;
    uint32_t count = 0;

    for (uint32_t i = 0; i < RANKS; i++) {
        rank_of(f, i)->rank = i * 20000;
        rank_of(f, i)->rank_count = NTK_RANKS_MAX;
    }
    left(rank_of(f, 1), 9);
    const struct ntk_comm_verdict *verdict = judge(f, 0);

    assert_int_equal(verdict->seen, RANKS);
    assert_int_equal(verdict->missing_count, NTK_RANKS_MAX - 3);
    assert_true(ntk_comm_verdict_missing(verdict, 0, &missing));
    assert_int_equal(missing.rank, 1); /* 0 has arrived */
    assert_true(ntk_comm_verdict_missing(verdict, 20000, &missing));
    assert_int_equal(missing.rank, 20000);
    assert_int_equal(missing.where, NTK_RANK_ELSEWHERE);
    for (uint32_t from = 0; ntk_comm_verdict_missing(verdict, from, &missing);
         from = missing.rank + 1) {
        count++;
    }
    assert_int_equal(count, verdict->missing_count);
}

static void ranks_that_left_during_an_operation_are_not_waiting(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < RANKS; i++) {
        rank_of(f, i)->state = NTK_RANK_LEFT;
    }
    assert_int_equal(judge(f, 0)->kind, NTK_COMM_IDLE);
}

static void a_clock_error_near_the_maximum_prevents_a_restart_verdict(void **state)
{
    struct fixture *f = *state;
    const struct ntk_ranks_clock vague = { .error_ns = UINT64_MAX - SECOND };

    left(rank_of(f, 2), 1);
    rank_of(f, 2)->join_timestamp_ns = BEGAN + 60 * SECOND;
    assert_int_equal(ntk_ranks_add(&f->ranks, f->snapshot, "far", vague), 0);
    assert_int_equal(ntk_ranks_judge(&f->ranks, 0), 0);
    const struct ntk_comm_verdict *verdict = ntk_vec_at(&f->ranks.verdicts, 0);

    assert_int_equal(verdict->ranks[2].where, NTK_RANK_ELSEWHERE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_rank_missing_from_an_operation_is_reported),
        TEST(the_hang_limit_follows_from_the_longest_operation_or_is_given),
        TEST(without_earlier_operations_the_hang_limit_is_a_minute),
        TEST(an_operation_that_all_ranks_entered_hangs_without_missing_ranks),
        TEST(a_rank_in_an_earlier_operation_is_reported_as_behind),
        TEST(ranks_that_left_died_or_were_never_seen_are_distinguished),
        TEST(a_rank_lost_earlier_is_reported_as_lost),
        TEST(the_newer_of_two_processes_with_the_same_rank_is_used),
        TEST(a_large_clock_error_prevents_a_restart_verdict),
        TEST(a_communicator_without_waiting_ranks_is_idle_or_broken),
        TEST(a_communicator_between_two_operations_is_not_hanging),
        TEST(the_worst_verdict_is_first),
        TEST(verdict_size_is_bounded_by_rows_and_not_by_claimed_rank_counts),
        TEST(ranks_that_left_during_an_operation_are_not_waiting),
        TEST(a_clock_error_near_the_maximum_prevents_a_restart_verdict),
        TEST(inconsistent_rank_rows_produce_a_bounded_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
