/* SPDX-License-Identifier: MIT */
/* Method: hand-made ranks, one already lost, and the troubles reported for them. */
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
                                     .members = "",
                                     .sequence = 9,
                                     .state_ns = 40 * SECOND };
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

/* Rank 0 exists and was reported, rank 1 was lost, rank 2 exited after it, no process reports rank
 * 3. */
static void a_broken_communicator_is_reported_since_its_first_lost_rank(void **state)
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
        assert_int_equal((NOW - trouble->since_ns) / SECOND, ages[rank]);
    }
    ntk_ranks_fini(&ranks);
    ntk_change_fini(&change);
    ntk_hang_troubles_fini(&troubles);
    ntk_snapshot_destroy(snapshot);
}

/* Method: communicators of two users have the same rendezvous; a process of the first user, in
 * another PID namespace, has the requested pid. */
static void a_requested_rank_process_belongs_to_the_user_of_the_communicator(void **state)
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

/* Ranks 0 and 1, on the logical cores 0 and 5. */
static void add_ranks(struct ntk_snapshot *snapshot)
{
    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, 2));
    for (uint32_t i = 0; i < 2; i++) {
        struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        runtime->tag = "train";
        runtime->cores = ntk_snapshot_alloc(snapshot, 1, sizeof *runtime->cores);
        runtime->cores[0].core = i == 0 ? 0 : 11;
        runtime->core_count = 1;
        *ntk_snapshot_alloc_ranks(snapshot, runtime, 1) = rank_of(i, NTK_RANK_JOINED);
        runtime->ranks[0].in_flight = i == 0;
    }
}

static void add_lost(struct ntk_snapshot *snapshot)
{
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(snapshot, 1);

    lost[0] = (struct ntk_lost_rank){ .pid = 11,
                                      .tag = "train",
                                      .command = "",
                                      .lost_for_ns = SECOND,
                                      .rank = rank_of(1, NTK_RANK_JOINED) };
}

/* Method: ranks over several periods, one of them on a core of a batch job. The job ends, then a
 * rank is lost, then the communicator disappears. */
static void the_batch_job_of_ranks_is_kept_after_their_exit(void **state)
{
    static const struct {
        bool has_job;
        void (*add)(struct ntk_snapshot *snapshot);
        const char *expected;
    } periods[] = { { false, add_ranks, "" },   { true, add_ranks, "17" },
                    { false, add_ranks, "17" }, { false, add_lost, "17" },
                    { false, NULL, "" },        { false, add_lost, "" } };
    struct ntk_hang_troubles troubles;
    struct ntk_change change;

    (void)state;
    ntk_hang_troubles_init(&troubles);
    ntk_change_init(&change);
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        struct ntk_snapshot *snapshot = ntk_snapshot_create();
        struct ntk_job job = { .id = "17", .cores = (uint32_t[]){ 5 }, .core_count = 1 };
        const struct ntk_jobs jobs = {
            .is_asked = true, .error = "", .rows = &job, .count = periods[i].has_job
        };
        struct ntk_ranks ranks;

        snapshot->realtime_ns = NOW;
        snapshot->hardware.lnc = 2;
        ntk_snapshot_set_jobs(snapshot, &jobs);
        if (periods[i].add) {
            periods[i].add(snapshot);
        }
        ntk_ranks_init(&ranks);
        assert_int_equal(ntk_ranks_add(&ranks, snapshot, "", (struct ntk_ranks_clock){ 0 }), 0);
        assert_int_equal(ntk_ranks_judge(&ranks, 1), 0);
        ntk_hang_troubles_set(&troubles, &ranks, &change, snapshot);
        assert_int_equal(snapshot->trouble_count > 0, periods[i].add != NULL);
        for (size_t k = 0; k < snapshot->trouble_count; k++) {
            assert_string_equal(snapshot->troubles[k].job_id, periods[i].expected);
            assert_string_equal(snapshot->troubles[k].tag, "train"); /* also of unseen ranks */
        }
        ntk_ranks_fini(&ranks);
        ntk_snapshot_destroy(snapshot);
    }
    ntk_change_fini(&change);
    ntk_hang_troubles_fini(&troubles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_batch_job_of_ranks_is_kept_after_their_exit),
        cmocka_unit_test(a_requested_rank_process_belongs_to_the_user_of_the_communicator),
        cmocka_unit_test(a_broken_communicator_is_reported_since_its_first_lost_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
