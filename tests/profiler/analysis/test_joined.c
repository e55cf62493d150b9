/* SPDX-License-Identifier: MIT */
/* Method: hand-written traces of two or four ranks; their parts, path and times under changes were
 * computed on paper; then arbitrary times, for which sums must hold. */
#include <errno.h>
#include <string.h>

#include "profiler/analysis/joined.h"
#include "tests/support/unit.h"

#define SPAN(kind, rank, from, to)                                                       \
    {                                                                                    \
        .type = (kind), .name = "", .worker = (rank), .start_ns = (from), .end_ns = (to) \
    }
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define CC "cc_running"
#define RUN "nc_exec_running"

/* Rank 0 computes 100 to 150 and arrives at 160; rank 1 arrives at 200; both leave at 220. Then
 * rank 0 is late, at 300, and a core of rank 1 executes inside the collective from 240 to 310. */
static const struct ntk_system_span hand_0[] = {
    SPAN(CC, 0, 90, 100),   SPAN(RUN, 0, 100, 150), SPAN(CC, 0, 160, 220),
    SPAN(RUN, 0, 230, 300), SPAN(CC, 0, 300, 330),
};
static const struct ntk_system_span hand_1[] = {
    SPAN(CC, 1, 95, 100),  SPAN(RUN, 1, 110, 190), SPAN(CC, 1, 200, 220),
    SPAN(CC, 1, 230, 330), SPAN(RUN, 1, 240, 310),
};

static void parts_are(const struct ntk_joined_rank *rank, uint64_t run, uint64_t host,
                      uint64_t wait, uint64_t link, uint64_t inside)
{
    assert_int_equal(rank->part_ns[NTK_JOINED_RUN], run);
    assert_int_equal(rank->part_ns[NTK_JOINED_HOST], host);
    assert_int_equal(rank->part_ns[NTK_JOINED_WAIT], wait);
    assert_int_equal(rank->part_ns[NTK_JOINED_LINK], link);
    assert_int_equal(rank->part_ns[NTK_JOINED_INSIDE], inside);
}

static void join(const struct ntk_system_span *first, size_t first_count,
                 const struct ntk_system_span *second, size_t second_count,
                 const struct ntk_joined_options *options, struct ntk_joined *out)
{
    struct ntk_system_trace traces[] = {
        { .spans = (struct ntk_system_span *)first, .span_count = first_count },
        { .spans = (struct ntk_system_span *)second, .span_count = second_count },
    };
    const struct ntk_system_trace *list[] = { &traces[0], &traces[1] };

    assert_int_equal(ntk_analysis_joined(list, 2, options, out), 0);
}

static void parts_and_path_of_joined_ranks_match_manual_calculations(void **state)
{
    struct ntk_joined joined;

    join(hand_0, COUNT(hand_0), hand_1, COUNT(hand_1), NULL, &joined);
    assert_null(joined.unknown);
    assert_int_equal(joined.joint_count, 3);
    assert_int_equal(joined.rank_count, 2);
    parts_are(&joined.ranks[0], 50 + 70, 10 + 10, 40, 20 + 30, 0);
    parts_are(&joined.ranks[1], 80, 20 + 10, 10, 20 + 20, 70);
    assert_int_equal(joined.ranks[1].waited_ns, 70);
    /* 100 to 200 on rank 1, over the link to 220, 220 to 300 on rank 0, and the link to 330. */
    assert_int_equal(joined.total_ns, 230);
    assert_int_equal(joined.ranks[1].path_ns[NTK_JOINED_RUN], 80);
    assert_int_equal(joined.ranks[1].path_ns[NTK_JOINED_HOST], 20);
    assert_int_equal(joined.ranks[0].path_ns[NTK_JOINED_RUN], 70);
    assert_int_equal(joined.ranks[0].path_ns[NTK_JOINED_HOST], 10);
    assert_int_equal(joined.ranks[0].path_ns[NTK_JOINED_LINK], 20 + 30);
    assert_int_equal(joined.ranks[0].last_count, 1);
    assert_int_equal(joined.ranks[1].last_count, 1);
    assert_int_equal(joined.piece_count, 2);
    assert_int_equal(joined.pieces[0].worker, 1);
    assert_int_equal(joined.pieces[0].skew_ns, 40);
    assert_int_equal(joined.pieces[1].worker, 0);
    assert_int_equal(joined.pieces[1].skew_ns, 70);
    ntk_joined_fini(&joined);
}

static uint64_t with(const char *changes)
{
    struct ntk_joined_options options = { 0 };
    struct ntk_joined joined;

    assert_int_equal(ntk_joined_changes_add(&options, changes, NULL), 0);
    join(hand_0, COUNT(hand_0), hand_1, COUNT(hand_1), &options, &joined);
    assert_int_equal(joined.model_ns, 230);
    uint64_t estimate_ns = joined.estimate_ns;
    ntk_joined_fini(&joined);
    return estimate_ns;
}

static void what_if_changes_of_one_rank_are_recomputed_over_all_ranks(void **state)
{
    assert_int_equal(with("link=1"), 230);
    assert_int_equal(with("link=2"), 230 - 10 - 15);
    assert_int_equal(with("link=0"), 180);
    assert_int_equal(with("host=0"), 80 + 20 + 70 + 30);
    /* Then rank 1 arrives at 60, at the same time as rank 0. */
    assert_int_equal(with("rank1.run=2"), 60 + 20 + 80 + 30);
    assert_int_equal(with("rank1.run=0"), 60 + 20 + 80 + 30);
    assert_int_equal(with("rank0.run=0,rank0.host=0"), 100 + 20 + 10 + 30);
    assert_int_equal(with("rank7.run=0"), 230);
}

static void invalid_what_if_changes_are_rejected(void **state)
{
    static const char *const wrong[] = { "",           "link",
                                         "link=",      "link=-1",
                                         "wait=2",     "rank.run=2",
                                         "rank1run=2", "link=2,",
                                         "link=inf",   "link=1e-9",
                                         "link=1e300", "link=nan",
                                         "link=1x",    "rank99999999999.run=1" };

    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct ntk_joined_options options = { 0 };
        struct ntk_err err = { 0 };

        assert_int_equal(ntk_joined_changes_add(&options, wrong[i], &err), -EINVAL);
        assert_non_null(strstr(err.text, "link=2"));
    }
}

/* The second machine's clock is 1000 ahead: the offset is reported and subtracted, and nothing else
 * changes. */
static void clock_offsets_between_machines_are_derived_from_operation_ends(void **state)
{
    struct ntk_system_span ahead[COUNT(hand_1)];
    NtkNtracePb__Info here = { .instance_id = (char *)"i-a" };
    NtkNtracePb__Info there = { .instance_id = (char *)"i-b" };
    struct ntk_system_trace traces[] = {
        { .spans = (struct ntk_system_span *)hand_0, .span_count = COUNT(hand_0), .info = &here },
        { .spans = ahead, .span_count = COUNT(ahead), .info = &there },
    };
    const struct ntk_system_trace *list[] = { &traces[0], &traces[1] };
    struct ntk_joined joined;

    for (size_t i = 0; i < COUNT(ahead); i++) {
        ahead[i] = hand_1[i];
        ahead[i].start_ns += 1000;
        ahead[i].end_ns += 1000;
    }
    assert_int_equal(ntk_analysis_joined(list, 2, NULL, &joined), 0);
    assert_null(joined.unknown);
    assert_false(joined.ranks[0].has_other_clock);
    assert_true(joined.ranks[1].has_other_clock);
    assert_int_equal(joined.ranks[1].offset_ns, 1000);
    assert_int_equal(joined.ranks[1].offset_apart_ns, 0);
    assert_int_equal(joined.total_ns, 230);
    parts_are(&joined.ranks[1], 80, 20 + 10, 10, 20 + 20, 70);
    ntk_joined_fini(&joined);
    /* One clock: no rank can have left before the others came. */
    there.instance_id = here.instance_id;
    assert_int_equal(ntk_analysis_joined(list, 2, NULL, &joined), 0);
    assert_non_null(joined.unknown);
    ntk_joined_fini(&joined);
}

static void rank_traces_that_cannot_be_joined_are_reported_as_unknown(void **state)
{
    struct ntk_system_span first[] = { SPAN(CC, 0, 1, 9), SPAN(CC, 0, 11, 19) };
    struct ntk_system_span other[] = { SPAN(CC, 1, 1, 9), SPAN("cc_exec_barrier", 1, 11, 19) };
    struct ntk_system_span one[] = { SPAN(CC, 3, 1, 9) };
    struct ntk_joined joined;

    join(first, 2, other, 2, NULL, &joined);
    assert_non_null(strstr(joined.unknown, "different kinds"));
    ntk_joined_fini(&joined);
    join(first, 2, one, 1, NULL, &joined);
    assert_non_null(strstr(joined.unknown, "two collectives"));
    assert_int_equal(joined.absent_count, 2);
    assert_int_equal(joined.absent_first, 1);
    ntk_joined_fini(&joined);
    join(first, 2, first, 2, NULL, &joined); /* two processes claim to be worker 0 */
    assert_int_equal(joined.twice_count, 1);
    assert_int_equal(joined.rank_count, 0);
    assert_non_null(joined.unknown);
    ntk_joined_fini(&joined);
}

/* Impossible times are not collectives; the largest valid ones overflow no sum. */
static void spans_with_impossible_times_are_omitted(void **state)
{
    const uint64_t most_ns = UINT64_C(1) << 61;
    struct ntk_system_span wild[] = { SPAN(CC, 0, 1, 9), SPAN(CC, 0, UINT64_MAX - 1, UINT64_MAX),
                                      SPAN(CC, 0, 11, most_ns + 1) };
    struct ntk_system_span far[] = { SPAN(CC, 1, most_ns, most_ns), SPAN(CC, 1, most_ns, most_ns) };
    struct ntk_system_span near[] = { SPAN(CC, 0, 0, 0), SPAN(CC, 0, 0, most_ns) };
    NtkNtracePb__Info here = { .instance_id = (char *)"i-a" };
    NtkNtracePb__Info there = { .instance_id = (char *)"i-b" };
    struct ntk_system_trace traces[] = {
        { .spans = near, .span_count = 2, .info = &here },
        { .spans = far, .span_count = 2, .info = &there },
    };
    const struct ntk_system_trace *list[] = { &traces[0], &traces[1] };
    struct ntk_joined joined;

    join(wild, 3, far, 2, NULL, &joined);
    assert_int_equal(joined.joint_count, 1);
    assert_non_null(joined.unknown);
    ntk_joined_fini(&joined);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(ntk_analysis_joined(list, 2, NULL, &joined), 0);
        ntk_joined_fini(&joined);
        list[0] = &traces[1];
        list[1] = &traces[0];
    }
}

/* For any times, the parts of a rank sum to its span, and the path is as long as the whole. */
static void parts_of_ranks_sum_to_their_spans_for_random_times(void **state)
{
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct ntk_system_span spans[4 * 20 * 2];
        struct ntk_system_trace trace = { .spans = spans };
        const struct ntk_system_trace *list[] = { &trace };
        struct ntk_joined joined;
        uint64_t left_ns[4] = { 0 };
        uint32_t chance = seed;

        for (uint64_t step = 0; step < 20; step++) {
            uint64_t come_ns[4];
            uint64_t last_ns = 0;
            for (uint32_t rank = 0; rank < 4; rank++) {
                chance = chance * 1664525u + 1013904223u;
                come_ns[rank] = left_ns[rank] + (chance >> 8) % 900;
                struct ntk_system_span run = SPAN(RUN, rank, left_ns[rank] + (chance >> 4) % 300,
                                                  left_ns[rank] + 300 + (chance >> 12) % 900);
                spans[trace.span_count++] = run;
                last_ns = come_ns[rank] > last_ns ? come_ns[rank] : last_ns;
            }
            for (uint32_t rank = 0; rank < 4; rank++) {
                chance = chance * 1664525u + 1013904223u;
                left_ns[rank] = last_ns + (chance >> 8) % 100;
                struct ntk_system_span cc = SPAN(CC, rank, come_ns[rank], left_ns[rank]);
                spans[trace.span_count++] = cc;
            }
        }
        assert_int_equal(ntk_analysis_joined(list, 1, NULL, &joined), 0);
        assert_null(joined.unknown);
        uint64_t path_ns = 0;
        for (size_t r = 0; r < joined.rank_count; r++) {
            uint64_t sum_ns = 0;
            for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
                sum_ns += joined.ranks[r].part_ns[p];
                path_ns += joined.ranks[r].path_ns[p];
            }
            assert_int_equal(sum_ns, joined.ranks[r].span_ns);
        }
        assert_int_equal(path_ns, joined.total_ns);
        assert_true(joined.total_ns <= joined.model_ns);
        assert_int_equal(joined.estimate_ns, joined.model_ns);
        ntk_joined_fini(&joined);
    }
}

#define COMM(key, rank, of) "comm 000000000000000" #key " rank " #rank " of " #of ", 0 of 4 in all"
#define OP(which, who, number, from, to)                                                       \
    {                                                                                          \
        .type = CC, .name = (which), .worker = (who), .exec_id = (number), .start_ns = (from), \
        .end_ns = (to)                                                                         \
    }

/* Ranks 0 and 1 meet in a, 2 and 3 in b, all of them in c, each in its own order. */
static void communicators_join_only_their_own_ranks(void **state)
{
    struct ntk_system_span spans[] = {
        OP(COMM(a, 0, 2), 0, 1, 10, 20), OP(COMM(c, 0, 4), 0, 1, 30, 50),
        OP(COMM(a, 0, 2), 0, 2, 60, 90), OP(COMM(c, 0, 4), 0, 2, 100, 130),
        OP(COMM(a, 1, 2), 1, 1, 15, 20), OP(COMM(c, 1, 4), 1, 1, 40, 50),
        OP(COMM(a, 1, 2), 1, 2, 80, 90), OP(COMM(c, 1, 4), 1, 2, 100, 130),
        OP(COMM(b, 0, 2), 2, 1, 1, 8),   OP(COMM(b, 0, 2), 2, 2, 10, 18),
        OP(COMM(c, 2, 4), 2, 1, 20, 50), OP(COMM(c, 2, 4), 2, 2, 110, 130),
        OP(COMM(b, 1, 2), 3, 1, 2, 8),   OP(COMM(b, 1, 2), 3, 2, 16, 18),
        OP(COMM(c, 3, 4), 3, 1, 20, 50), OP(COMM(c, 3, 4), 3, 2, 120, 130),
    };
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_joined joined;

    assert_int_equal(ntk_analysis_joined(list, 1, NULL, &joined), 0);
    assert_null(joined.unknown);
    assert_true(joined.is_numbered);
    assert_int_equal(joined.joint_count, 6);
    assert_int_equal(joined.partial_count + joined.doubted_count, 0);
    parts_are(&joined.ranks[0], 0, 10 + 10 + 10, 10 + 20 + 20, 10 + 10 + 10, 0);
    parts_are(&joined.ranks[3], 0, 8 + 2 + 70, 20, 2 + 10 + 10, 0);
    /* While 0 waits for 1 in the second a, 1 is on the host from 50 to 80. */
    assert_int_equal(joined.ranks[0].cause_ns[NTK_JOINED_CAUSE_HOST], 10 + 20 + 20);
    /* In the first c, rank 2 waits from 20 on for 1, which left a at 20; in the second, for 3. */
    assert_int_equal(joined.ranks[2].cause_ns[NTK_JOINED_CAUSE_HOST], 6 + 20 + 10);
    /* 3 arrives last, at 120, on the host since 50; before that, 1 delayed the exit, on the host
     * since 20. */
    assert_int_equal(joined.total_ns, 10 + 70 + 10 + 20);
    assert_int_equal(joined.ranks[3].path_ns[NTK_JOINED_HOST], 70);
    assert_int_equal(joined.ranks[1].path_ns[NTK_JOINED_HOST], 20);
    ntk_joined_fini(&joined);
}

/* Two queues that two ranks start in different order, and a rank that waits for another in a ring,
 * which no real job can: the result is unknown, and the analysis terminates. */
static void collectives_in_a_different_order_are_joined_or_unknown(void **state)
{
    struct ntk_system_span spans[] = {
        OP(COMM(a, 0, 2), 0, 1, 10, 30), OP(COMM(b, 0, 2), 0, 1, 12, 31),
        OP(COMM(a, 0, 2), 0, 2, 40, 60), OP(COMM(b, 0, 2), 0, 2, 42, 61),
        OP(COMM(b, 1, 2), 1, 1, 9, 31),  OP(COMM(a, 1, 2), 1, 1, 13, 30),
        OP(COMM(b, 1, 2), 1, 2, 40, 61), OP(COMM(a, 1, 2), 1, 2, 43, 60),
    };
    struct ntk_system_span ring[200];
    struct ntk_system_trace trace = { .spans = spans, .span_count = COUNT(spans) };
    const struct ntk_system_trace *list[] = { &trace };
    struct ntk_joined joined;

    assert_int_equal(ntk_analysis_joined(list, 1, NULL, &joined), 0);
    assert_null(joined.unknown);
    assert_int_equal(joined.joint_count, 4);
    assert_int_equal(joined.partial_count + joined.doubted_count, 0);
    ntk_joined_fini(&joined);
    for (uint64_t i = 0; i < 200; i++) {
        bool is_second = i >= 100;
        uint64_t n = i % 100;
        bool is_a = (n < 50) != is_second;
        struct ntk_system_span one =
            OP(is_a ? COMM(a, 0, 2) : COMM(b, 0, 2), is_second, n % 50 + 1, 10 * n, 10 * n + 5);
        ring[i] = one;
    }
    trace.spans = ring;
    trace.span_count = COUNT(ring);
    assert_int_equal(ntk_analysis_joined(list, 1, NULL, &joined), 0);
    assert_non_null(joined.unknown);
    assert_int_equal(joined.joint_count, 0);
    ntk_joined_fini(&joined);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_and_path_of_joined_ranks_match_manual_calculations),
        cmocka_unit_test(what_if_changes_of_one_rank_are_recomputed_over_all_ranks),
        cmocka_unit_test(invalid_what_if_changes_are_rejected),
        cmocka_unit_test(clock_offsets_between_machines_are_derived_from_operation_ends),
        cmocka_unit_test(rank_traces_that_cannot_be_joined_are_reported_as_unknown),
        cmocka_unit_test(spans_with_impossible_times_are_omitted),
        cmocka_unit_test(communicators_join_only_their_own_ranks),
        cmocka_unit_test(collectives_in_a_different_order_are_joined_or_unknown),
        cmocka_unit_test(parts_of_ranks_sum_to_their_spans_for_random_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
