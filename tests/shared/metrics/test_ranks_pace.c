/* SPDX-License-Identifier: MIT */
/*
 * Method: simulated jobs, operation by operation, with faults injected by seed. Ranks compute for
 * their own time, arrive, and leave together when the last one has arrived. The verdict over the
 * window's sums is compared with what was injected. No clock is involved.
 */
#include "shared/metrics/ranks_pace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/shared/metrics/random.h"
#include "tests/support/unit.h"

#define CASES 500u
#define RANKS_MAX 64u
#define MS 1e6

enum fault {
    FAULT_NONE,
    FAULT_SLOW_CORE, /* of one rank: its executions last longer */
    FAULT_SLOW_HOST, /* of one rank: it waits for data */
    FAULT_JITTER,    /* of all ranks, so none is the cause */
    FAULT_PAUSE,     /* of one rank, once; over by the time of its detection */
    FAULT_HALF,      /* of every second rank, so no single one */
    FAULT_COUNT
};

struct job {
    uint32_t ranks;
    uint32_t steps;
    enum fault fault;
    uint32_t struck;
    double size; /* of the fault, as a share of a step */
    double noise;
};

static struct job job_make(struct random *random)
{
    struct job job = { .ranks = 2 + (uint32_t)(uniform(random) * (RANKS_MAX - 2)),
                       .steps = 20 + (uint32_t)(uniform(random) * 200),
                       .fault = (enum fault)(uniform(random) * FAULT_COUNT),
                       .size = 0.25 + 2 * uniform(random),
                       .noise = 0.002 + 0.03 * uniform(random) };

    job.struck = (uint32_t)(uniform(random) * job.ranks);
    return job;
}

static bool is_struck(const struct job *job, uint32_t rank)
{
    return job->fault == FAULT_HALF ? rank % 2 == 1 : rank == job->struck;
}

/* A window of the job as a single snapshot. */
static struct ntk_snapshot *job_run(const struct job *job, struct random *random)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    double host[RANKS_MAX];
    double core[RANKS_MAX];
    double now = 0;

    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, job->ranks));
    for (uint32_t i = 0; i < job->ranks; i++) {
        struct ntk_rank_sample *rank =
            ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[i], 1);

        snapshot->runtimes[i].pid = 1000 + i;
        rank->key = 5;
        rank->rank = i;
        rank->rank_count = job->ranks;
    }
    for (uint32_t step = 0; step < job->steps; step++) {
        double last = 0;

        for (uint32_t i = 0; i < job->ranks; i++) {
            bool strikes = is_struck(job, i);

            core[i] = 40 * MS * (1 + job->noise * fabs(normal(random)));
            host[i] = 10 * MS * (1 + job->noise * fabs(normal(random)));
            if (strikes && (job->fault == FAULT_SLOW_CORE || job->fault == FAULT_HALF)) {
                core[i] += job->size * 50 * MS;
            } else if (strikes && job->fault == FAULT_SLOW_HOST) {
                host[i] += job->size * 50 * MS * (0.5 + uniform(random));
            } else if (strikes && job->fault == FAULT_PAUSE && step == job->steps / 2) {
                host[i] += 40 * MS;
            } else if (job->fault == FAULT_JITTER) {
                host[i] += job->size * 25 * MS * fabs(normal(random));
            }
            last = core[i] + host[i] > last ? core[i] + host[i] : last;
        }
        for (uint32_t i = 0; i < job->ranks; i++) {
            struct ntk_rank_sample *rank = &snapshot->runtimes[i].ranks[0];

            rank->operations[NTK_COLLECTIVE_ALL_REDUCE].period++;
            rank->in_operations_ns.period += (uint64_t)(last - core[i] - host[i] + 2 * MS);
            rank->core_busy_ns.period += (uint64_t)core[i];
        }
        now += last + 2 * MS;
    }
    snapshot->period_ns = (uint64_t)now;
    return snapshot;
}

static struct ntk_pace_verdict judge(const struct ntk_snapshot *snapshot, struct ntk_pace *pace)
{
    ntk_pace_init(pace);
    assert_int_equal(ntk_pace_add(pace, snapshot, ""), 0);
    assert_int_equal(ntk_pace_judge(pace), 0);
    assert_int_equal(pace->verdicts.count, 1);
    return *(struct ntk_pace_verdict *)ntk_vec_at(&pace->verdicts, 0);
}

static void only_injected_slow_ranks_are_reported_as_slow(void **state)
{
    uint32_t hits = 0, wrong = 0, missed = 0, wheres = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= CASES; seed++) {
        struct random random = { .state = seed * UINT64_C(0x9e3779b97f4a7c15) };
        struct job job = job_make(&random);
        struct ntk_snapshot *snapshot = job_run(&job, &random);
        struct ntk_pace pace;
        struct ntk_pace_verdict verdict = judge(snapshot, &pace);
        bool is_slow = job.fault == FAULT_SLOW_CORE || job.fault == FAULT_SLOW_HOST;
        bool is_right = is_slow && verdict.slow && verdict.slow->rank == job.struck;

        hits += is_right;
        wrong += verdict.slow && !is_right;
        missed += is_slow && !is_right;
        wheres += is_right &&
                  verdict.where == (job.fault == FAULT_SLOW_CORE ? NTK_PACE_CORE : NTK_PACE_HOST);
        ntk_pace_fini(&pace);
        ntk_snapshot_destroy(snapshot);
    }
    printf("%u cases: %u found, %u missed, %u blamed wrongly, %u with the right cause\n", CASES,
           hits, missed, wrong, wheres);
    assert_true(hits > 100);
    assert_true(hits >= 0.99 * (hits + wrong));
    assert_true(hits >= 0.95 * (hits + missed));
    assert_true(wheres >= 0.95 * hits);
}

static void a_slow_rank_requires_two_ranks_and_enough_operations(void **state)
{
    struct random random = { .state = 7 };
    struct job job = {
        .ranks = 2, .steps = 30, .fault = FAULT_SLOW_HOST, .struck = 1, .size = 1, .noise = 0.01
    };
    struct ntk_snapshot *snapshot = job_run(&job, &random);
    struct ntk_pace pace;
    struct ntk_pace_verdict verdict = judge(snapshot, &pace);

    (void)state;
    assert_non_null(verdict.slow);
    assert_int_equal(verdict.slow->rank, 1);
    assert_int_equal(verdict.slow->pid, 1001);
    assert_int_equal(verdict.where, NTK_PACE_HOST);
    assert_in_range(verdict.behind_ns, 40 * (uint64_t)MS, 60 * (uint64_t)MS);
    ntk_pace_fini(&pace);
    ntk_snapshot_destroy(snapshot);

    job.steps = NTK_PACE_OPERATIONS_MIN - 1;
    snapshot = job_run(&job, &random);
    verdict = judge(snapshot, &pace);
    assert_null(verdict.slow);
    assert_int_equal(verdict.seen, 0);
    ntk_pace_fini(&pace);
    ntk_snapshot_destroy(snapshot);
}

/* Ranks of the same program: longer transfers with the same engine times mean slow memory. With
 * different programs, or if transfers are not reported, only the core is known. */
static void slow_memory_is_distinguished_from_slow_cores(void **state)
{
    static const struct {
        uint64_t engine_ns, dma_ns, bytes; /* of the slow one; the others have 10 ms, 20 ms, 1000 */
        enum ntk_pace_where where;
        bool has_transfers;
    } cases[] = {
        { 10, 60, 1000, NTK_PACE_MEMORY, true }, { 30, 20, 1000, NTK_PACE_CORE, true },
        { 30, 60, 1000, NTK_PACE_CORE, true },   { 10, 60, 3000, NTK_PACE_CORE, false },
        { 0, 0, 0, NTK_PACE_CORE, false },
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct random random = { .state = 11 };
        struct job job = {
            .ranks = 4, .steps = 50, .fault = FAULT_SLOW_CORE, .struck = 2, .size = 1, .noise = 0.01
        };
        struct ntk_snapshot *snapshot = job_run(&job, &random);
        struct ntk_pace pace;

        for (uint32_t i = 0; i < job.ranks; i++) {
            struct ntk_rank_sample *rank = &snapshot->runtimes[i].ranks[0];
            bool is_slow = i == job.struck;

            rank->engine_busy_ns.period = (is_slow ? cases[c].engine_ns : 10) * 50000000;
            rank->dma_busy_ns.period = (is_slow ? cases[c].dma_ns : 20) * 50000000;
            rank->dma_bytes.period = (is_slow ? cases[c].bytes : 1000) * 50;
        }
        struct ntk_pace_verdict verdict = judge(snapshot, &pace);

        assert_non_null(verdict.slow);
        assert_int_equal(verdict.slow->rank, 2);
        assert_int_equal(verdict.where, cases[c].where);
        assert_int_equal(verdict.has_transfers, cases[c].has_transfers);
        ntk_pace_fini(&pace);
        ntk_snapshot_destroy(snapshot);
    }
}

/* A rank that worked only while the other did nothing is not compared with it. */
static void ranks_that_never_run_together_are_not_compared(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_pace pace;

    (void)state;
    ntk_pace_init(&pace);
    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, 2));
    snapshot->period_ns = 1000000000;
    for (uint32_t i = 0; i < 2; i++) {
        struct ntk_rank_sample *rank =
            ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[i], 1);

        snapshot->runtimes[i].pid = 1 + i;
        rank->key = 9;
        rank->rank = i;
        rank->rank_count = 2;
    }
    for (uint32_t period = 0; period < 2; period++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct ntk_rank_sample *rank = &snapshot->runtimes[i].ranks[0];

            rank->operations[NTK_COLLECTIVE_BARRIER].period = i == period ? 20 : 0;
            rank->in_operations_ns.period = i == period ? 20 * (1 + 30000000 * (uint64_t)i) : 0;
        }
        assert_int_equal(ntk_pace_add(&pace, snapshot, ""), 0);
    }
    assert_int_equal(ntk_pace_judge(&pace), 0);
    assert_null(((struct ntk_pace_verdict *)ntk_vec_at(&pace.verdicts, 0))->slow);
    ntk_pace_fini(&pace);
    ntk_snapshot_destroy(snapshot);
}

static void a_rank_that_rejoins_counts_its_period_once(void **state)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_pace pace;

    (void)state;
    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, 1));
    struct ntk_rank_sample *ranks = ntk_snapshot_alloc_ranks(snapshot, snapshot->runtimes, 2);
    for (int i = 0; i < 2; i++) {
        ranks[i].key = 5;
        ranks[i].rank_count = 2;
        ranks[i].operations[0].period = 20;
        ranks[i].in_operations_ns.period = (uint64_t)MS;
        ranks[i].core_busy_ns.period = 3 * (uint64_t)MS;
    }
    snapshot->period_ns = 1000 * (uint64_t)MS;
    ntk_pace_init(&pace);
    assert_int_equal(ntk_pace_add(&pace, snapshot, ""), 0);
    assert_int_equal(ntk_pace_add(&pace, snapshot, ""), 0);
    assert_int_equal(pace.ranks.count, 1);
    const struct ntk_pace_rank *rank = ntk_vec_at(&pace.ranks, 0);
    assert_int_equal(rank->span_ns, 2000 * (uint64_t)MS);
    assert_int_equal(rank->operations, 80);
    assert_int_equal(rank->period_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rank->periods[i].busy_ns, 3 * (uint64_t)MS);
        assert_int_equal(rank->periods[i].time_ns, 2 * (uint64_t)MS);
        assert_int_equal(rank->periods[i].operations, 40);
    }
    ntk_pace_fini(&pace);
    ntk_snapshot_destroy(snapshot);
}

/* Every period looks up every rank, which must be fast for 60,000 ranks. */
/* Every rank is on its own machine, and each is read in every period. */
static void ranks_of_many_machines_are_compared(void **state)
{
    enum { RANKS = 4, WINDOWS = 6 };
    static const char *const hosts[RANKS] = { "a", "b", "c", "d" };
    static const uint64_t times[2][RANKS] = { { 20, 20, 1, 20 }, { 20, 20, 20, 20 } };
    struct ntk_snapshot *snapshots[RANKS];
    struct ntk_pace pace;

    (void)state;
    for (uint32_t i = 0; i < RANKS; i++) {
        snapshots[i] = ntk_snapshot_create();
        assert_non_null(ntk_snapshot_alloc_runtimes(snapshots[i], 1));
        struct ntk_rank_sample *rank =
            ntk_snapshot_alloc_ranks(snapshots[i], snapshots[i]->runtimes, 1);
        rank->key = 5;
        rank->rank = i;
        rank->rank_count = RANKS;
        rank->operations[0].period = 5;
        snapshots[i]->period_ns = 5 * 30 * (uint64_t)MS;
    }
    for (int steady = 0; steady < 2; steady++) { /* otherwise it is late in two of three */
        ntk_pace_init(&pace);
        for (int w = 0; w < WINDOWS; w++) {
            for (uint32_t i = 0; i < RANKS; i++) {
                snapshots[i]->runtimes[0].ranks[0].in_operations_ns.period =
                    5 * (uint64_t)MS * times[!steady && w % 3 == 2][i];
                assert_int_equal(ntk_pace_add(&pace, snapshots[i], hosts[i]), 0);
            }
        }
        assert_int_equal(ntk_pace_judge(&pace), 0);
        const struct ntk_pace_verdict *verdict = ntk_vec_at(&pace.verdicts, 0);
        assert_int_equal(verdict->seen, RANKS);
        assert_int_equal(verdict->slow != NULL, steady);
        assert_true(!verdict->slow || strcmp(verdict->slow->host, "c") == 0);
        ntk_pace_fini(&pace);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        ntk_snapshot_destroy(snapshots[i]);
    }
}

static void many_ranks_are_found_by_hash(void **state)
{
    enum { MANY = 60000, PERIODS = 5 };
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_pace pace;

    (void)state;
    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, 1));
    struct ntk_rank_sample *ranks = ntk_snapshot_alloc_ranks(snapshot, snapshot->runtimes, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        ranks[i].key = 5;
        ranks[i].rank = i;
        ranks[i].rank_count = MANY;
    }
    ntk_pace_init(&pace);
    for (int i = 0; i < PERIODS; i++) {
        assert_int_equal(ntk_pace_add(&pace, snapshot, "host"), 0);
    }
    assert_int_equal(pace.ranks.count, MANY);
    assert_int_equal(pace.by_hash.count, MANY);
    ntk_pace_fini(&pace);
    ntk_snapshot_destroy(snapshot);
}

static void impossible_sums_do_not_crash_pace_detection(void **state)
{
    struct random random = { .state = 7 };
    struct job job = { .ranks = 4, .steps = 30, .noise = 0.01 };
    struct ntk_snapshot *snapshot = job_run(&job, &random);
    struct ntk_pace pace;

    (void)state;
    snapshot->runtimes[0].ranks[0].in_operations_ns.period = UINT64_MAX;
    snapshot->runtimes[1].ranks[0].operations[0].period = UINT64_MAX;
    snapshot->runtimes[2].ranks[0].core_busy_ns.period = UINT64_MAX;
    snapshot->runtimes[3].ranks[0].rank = UINT32_MAX;
    snapshot->period_ns = UINT64_MAX;
    (void)judge(snapshot, &pace);
    ntk_pace_fini(&pace);
    ntk_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_injected_slow_ranks_are_reported_as_slow),
        cmocka_unit_test(a_slow_rank_requires_two_ranks_and_enough_operations),
        cmocka_unit_test(slow_memory_is_distinguished_from_slow_cores),
        cmocka_unit_test(ranks_that_never_run_together_are_not_compared),
        cmocka_unit_test(a_rank_that_rejoins_counts_its_period_once),
        cmocka_unit_test(ranks_of_many_machines_are_compared),
        cmocka_unit_test(many_ranks_are_found_by_hash),
        cmocka_unit_test(impossible_sums_do_not_crash_pace_detection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
