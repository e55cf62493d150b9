/* SPDX-License-Identifier: MIT */
/* Method: hand-made periods of a process that is a rank, and its verdicts, stored and read back. */
#include <string.h>

#include "shared/base/clock.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define BEGAN (UINT64_C(1800000000) * SECOND)
#define KEY UINT64_C(0xfeed)

static struct ntk_snapshot *period_make(struct test_period *period, size_t ranks)
{
    struct ntk_snapshot *snapshot = test_make_snapshot(period);

    ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[0], ranks);
    for (size_t i = 0; i < ranks; i++) {
        struct ntk_rank_sample *rank = &snapshot->runtimes[0].ranks[i];

        rank->key = KEY;
        rank->rank = 1;
        rank->rank_count = 4;
        rank->rendezvous = "10.0.0.1:46820";
        rank->sequence = period->sequence;
        rank->operations[NTK_COLLECTIVE_BARRIER].period = 3;
        rank->in_operations_ns.period = SECOND / 2;
        rank->wait_ns.period = SECOND / 4;
        rank->core_busy_ns.period = SECOND / 8;
    }
    return snapshot;
}

static struct ntk_rank_trouble trouble_make(uint32_t rank, const char *cause)
{
    return (struct ntk_rank_trouble){ .kind = NTK_TROUBLE_SLOW,
                                      .key = KEY,
                                      .rendezvous = "10.0.0.1:46820",
                                      .rank_count = 4,
                                      .has_rank = true,
                                      .rank = rank,
                                      .tag = "train",
                                      .cause = cause,
                                      .behind_ns = 7,
                                      .interval_ns = 70 };
}

static struct ntk_store *store_open(const struct fixture *f)
{
    const struct ntk_store_options options = { 0 };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(f->path, &options, &store, NULL), 0);
    return store;
}

struct answer {
    struct ntk_store_rank ranks[4];
    struct ntk_store_verdict verdicts[4];
    char said[64], causes[4][16];
    size_t rank_count, verdict_count;
};

static int take_rank(const struct ntk_store_rank *rank, void *ctx)
{
    struct answer *answer = ctx;

    assert_in_range(answer->rank_count, 0, 3);
    strncpy(answer->said, rank->verdicts ? rank->verdicts : "", sizeof answer->said - 1);
    answer->ranks[answer->rank_count++] = *rank;
    return 0;
}

static int take_verdict(const struct ntk_store_verdict *verdict, void *ctx)
{
    struct answer *answer = ctx;

    assert_in_range(answer->verdict_count, 0, 3);
    strncpy(answer->causes[answer->verdict_count], verdict->cause, 15);
    answer->verdicts[answer->verdict_count++] = *verdict;
    return 0;
}

static struct answer ask(const struct fixture *f, const char *job, uint64_t step_ns)
{
    const struct ntk_store_filter filter = { .job = job };
    const struct ntk_store_window window = { BEGAN, BEGAN + 3600 * SECOND, step_ns };
    struct ntk_store_reader *reader = NULL;
    struct answer answer = { .rank_count = 0 };

    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    assert_int_equal(ntk_store_reader_ranks(reader, &filter, &window, take_rank, &answer, NULL), 0);
    assert_int_equal(
        ntk_store_reader_verdicts(reader, &filter, &window, take_verdict, &answer, NULL), 0);
    ntk_store_reader_close(reader);
    return answer;
}

/* Over two minutes, so that the first one is read from merged rows. */
static void rank_work_is_summed_over_tiers_and_steps(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { .time_ns = BEGAN };
    struct ntk_store *store = store_open(f);

    for (int i = 0; i < 90; i++) {
        period.time_ns += SECOND;
        test_store_put(store,
                       period_make(&period, i == 5 ? 2 : 1)); /* it left and joined again once */
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, NULL, 0);

    assert_int_equal(answer.rank_count, 1);
    assert_int_equal(answer.ranks[0].rank, 1);
    assert_int_equal(answer.ranks[0].rank_count, 4);
    assert_int_equal(answer.ranks[0].operations, 3 * 91);
    assert_int_equal(answer.ranks[0].period_ns, 90 * SECOND);
    assert_int_equal(answer.ranks[0].in_operations_ns, 91 * SECOND / 2);
    assert_int_equal(answer.ranks[0].wait_ns, 91 * SECOND / 4);
    assert_int_equal(answer.ranks[0].core_busy_ns, 90 * SECOND / 8);
    assert_int_equal(answer.ranks[0].last_sequence, 90);
    answer = ask(f, "10.0.0.1:46820", 60 * SECOND);
    assert_int_equal(answer.rank_count, 2);
    assert_int_equal(answer.ranks[0].operations, 3 * 61);
    assert_int_equal(answer.ranks[1].operations, 3 * 30);
    assert_int_equal(ask(f, "elsewhere", 0).rank_count, 0);
}

static void huge_rank_counts_are_limited_to_the_maximum(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { .time_ns = BEGAN };
    struct ntk_store *store = store_open(f);

    for (int i = 0; i < 3; i++) {
        period.time_ns += SECOND;
        struct ntk_snapshot *snapshot = period_make(&period, 2);

        snapshot->runtimes[0].ranks[0].in_operations_ns.period = UINT64_MAX;
        snapshot->runtimes[0].ranks[1].moved_bytes.period = UINT64_MAX - 5;
        snapshot->runtimes[0].ranks[1].operations[NTK_COLLECTIVE_ALL_REDUCE].period = UINT64_MAX;
        test_store_put(store, snapshot);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, NULL, 0);

    assert_int_equal(answer.rank_count, 1);
    assert_int_equal(answer.ranks[0].in_operations_ns, INT64_MAX);
    assert_int_equal(answer.ranks[0].operations, INT64_MAX);
    assert_int_equal(answer.ranks[0].wait_ns, 6 * SECOND / 4);
}

static void a_rank_verdict_is_a_row_with_start_and_end(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { .time_ns = BEGAN };
    struct ntk_store *store = store_open(f);

    for (int i = 1; i <= 20; i++) { /* from the 5th to the 9th, and from the 12th on */
        struct ntk_rank_trouble trouble = trouble_make(1, i < 10 ? "core" : "link");

        period.time_ns += SECOND;
        struct ntk_snapshot *snapshot = period_make(&period, 1);
        trouble.since_ns = period.time_ns - SECOND;
        trouble.behind_ns = (uint64_t)i;
        ntk_snapshot_set_troubles(snapshot, &trouble, (i >= 5 && i < 10) || i >= 12);
        test_store_put(store, snapshot);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, NULL, 0);

    assert_int_equal(answer.verdict_count, 2);
    assert_string_equal(answer.causes[0], "core");
    assert_int_equal(answer.verdicts[0].rank, 1);
    assert_int_equal(answer.verdicts[0].from_ns, BEGAN + 4 * SECOND);
    assert_int_equal(answer.verdicts[0].to_ns, BEGAN + 10 * SECOND);
    assert_int_equal(answer.verdicts[0].behind_ns, 9); /* the last */
    assert_int_equal(answer.verdicts[1].to_ns, 0);
    assert_string_equal(answer.said, "slow core, slow link");

    /* The next agent continues verdicts that hold, and ends others at the last period. */
    for (int i = 0; i < 2; i++) {
        struct ntk_rank_trouble trouble = trouble_make(1, "link");

        store = store_open(f);
        period.time_ns += 60 * SECOND;
        struct ntk_snapshot *snapshot = period_make(&period, 1);
        ntk_snapshot_set_troubles(snapshot, &trouble, i == 0);
        test_store_put(store, snapshot);
        assert_int_equal(ntk_store_close(store, NULL), 0);
        answer = ask(f, "train", 0);
        assert_int_equal(answer.verdict_count, 2);
        assert_int_equal(answer.verdicts[1].to_ns, i == 0 ? 0 : BEGAN + 80 * SECOND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rank_work_is_summed_over_tiers_and_steps, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(huge_rank_counts_are_limited_to_the_maximum, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_rank_verdict_is_a_row_with_start_and_end, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
