/* SPDX-License-Identifier: MIT */
/* Method: hand-made ranks with one that was lost a while ago, and their reported troubles. */
#include "agent/hang/hang_troubles.h"

#include <string.h>

#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define NOW (100000 * SECOND)

static struct ntk_rank_sample rank_of(uint32_t rank, enum ntk_rank_state state)
{
    return (struct ntk_rank_sample){ .key = 7,
                                     .rank = rank,
                                     .rank_count = 4,
                                     .state = state,
                                     .rendezvous = "",
                                     .group = "",
                                     .sequence = 9,
                                     .since_ns = 40 * SECOND };
}

static const struct ntk_rank_trouble *trouble_of(const struct ntk_snapshot *snapshot, uint32_t rank)
{
    for (size_t i = 0; i < snapshot->trouble_count; i++) {
        if (snapshot->troubles[i].has_rank && snapshot->troubles[i].rank == rank) {
            return &snapshot->troubles[i];
        }
    }
    fail_msg("no trouble of rank %u", rank);
    return NULL;
}

/* Rank 0 is there and was reported, rank 1 was lost, rank 2 ended after it, of rank 3 no process
 * reports. */
static void troubles_of_a_broken_communicator_began_when_it_broke(void **state)
{
    static const uint64_t ages[] = { 0, 50, 45, 50 };
    static const char *const causes[] = { "", "lost", "gone", "unseen" };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_hang_troubles troubles;
    struct ntk_change change;
    struct ntk_ranks ranks;

    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, 1));
    *ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[0], 1) = rank_of(0, NTK_RANK_BROKEN);
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(snapshot, 2);
    lost[0] = (struct ntk_lost_rank){
        .pid = 11, .tag = "", .command = "", .lost_for_ns = 50 * SECOND, .rank = rank_of(1, 0)
    };
    lost[1] = (struct ntk_lost_rank){ .pid = 12,
                                      .tag = "",
                                      .command = "",
                                      .lost_for_ns = 45 * SECOND,
                                      .rank = rank_of(2, NTK_RANK_LEFT) };
    snapshot->realtime_ns = NOW;
    ntk_hang_troubles_init(&troubles);
    ntk_change_init(&change);
    ntk_ranks_init(&ranks);
    assert_int_equal(ntk_ranks_add(&ranks, snapshot, "", (struct ntk_ranks_clock){ 0 }), 0);
    assert_int_equal(ntk_ranks_judge(&ranks, 0), 0);
    ntk_hang_troubles_set(&troubles, &ranks, &change, snapshot);
    for (uint32_t rank = 1; rank < 4; rank++) {
        const struct ntk_rank_trouble *trouble = trouble_of(snapshot, rank);

        assert_string_equal(trouble->cause, causes[rank]);
        assert_int_equal((NOW - trouble->since_realtime_ns) / SECOND, ages[rank]);
    }
    ntk_ranks_fini(&ranks);
    ntk_change_fini(&change);
    ntk_hang_troubles_fini(&troubles);
    ntk_snapshot_destroy(snapshot);
}

/* Method: two users' communicators meet at one place; a process of the first user, and of another
 * pid namespace, has the pid that is asked for. */
static void a_member_of_a_communicator_is_not_another_users_process(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_runtime_sample *runtimes = ntk_snapshot_alloc_runtimes(snapshot, 4);
    static const struct {
        uint32_t pid, uid;
        uint64_t key;
        bool ended;
    } rows[] = { { 30, 1001, 7, false },
                 { 31, 1002, 8, true },
                 { 32, 1002, 8, false },
                 { 33, 1002, 8, false } };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        runtimes[i].pid = rows[i].pid;
        runtimes[i].uid = rows[i].uid;
        runtimes[i].ended = rows[i].ended;
        struct ntk_rank_sample *rank = ntk_snapshot_alloc_ranks(snapshot, &runtimes[i], 1);
        *rank = rank_of(0, NTK_RANK_JOINED);
        rank->key = rows[i].key;
        rank->rendezvous = "127.0.0.1:62182";
    }
    assert_int_equal(ntk_hang_member(snapshot, 8, 30)->pid, 32);
    assert_int_equal(ntk_hang_member(snapshot, 8, 31)->pid, 32);
    assert_int_equal(ntk_hang_member(snapshot, 8, 33)->pid, 33);
    assert_int_equal(ntk_hang_member(snapshot, 7, 33)->uid, 1001);
    assert_null(ntk_hang_member(snapshot, 9, 30));
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_of_a_communicator_is_not_another_users_process),
        cmocka_unit_test(troubles_of_a_broken_communicator_began_when_it_broke),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
