/* SPDX-License-Identifier: MIT */
/*
 * Method: simulated jobs, operation by operation, checked once per second. By seed, a fault affects
 * all ranks, some, one or none. The reports are compared with what was injected. No clock is
 * involved.
 */
#include "shared/metrics/ranks_change.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/shared/metrics/random.h"
#include "tests/support/unit.h"

#define CASES 400u
#define RANKS_MAX 32u
#define SECONDS 240u
#define CHANGE_AT 120.0 /* s */
#define MS 1e6
#define SECOND 1e9
#define BEGAN UINT64_C(1800000000000000000)

enum put_in {
    NOTHING,
    ALL_CORES,
    ALL_LINKS,
    ALL_HOSTS,
    ONE_CORE,
    HALF_CORES,
    JITTER,
    PAUSES, /* of all ranks, occasionally */
    PUT_IN_COUNT
};

static const enum ntk_change_where wheres[PUT_IN_COUNT] = { [ALL_CORES] = NTK_CHANGE_EXECUTION,
                                                            [ALL_LINKS] = NTK_CHANGE_COLLECTIVES,
                                                            [ALL_HOSTS] = NTK_CHANGE_OUTSIDE };

struct job {
    enum put_in kind;
    uint32_t ranks;
    double step_ns;
    double size; /* of the injected fault, in steps */
    double noise;
    bool has_waits; /* the runtime reports them */
};

static struct job job_make(struct random *random)
{
    struct job job = { .kind = (enum put_in)(uniform(random) * PUT_IN_COUNT),
                       .ranks = 2 + (uint32_t)(uniform(random) * (RANKS_MAX - 2)),
                       .step_ns = (10 + 500 * uniform(random)) * MS,
                       .size = 0.25 + uniform(random),
                       .noise = 0.002 + 0.03 * uniform(random),
                       .has_waits = true };

    return job;
}

/* The steps of the job between two checks. */
struct run {
    const struct job *job;
    struct random *random;
    uint64_t steps; /* steps that have ended */
    double ended;   /* the end of the last one, ns */
    /* The current step: */
    bool is_at_hand;
    double core[RANKS_MAX], host[RANKS_MAX];
    double last, link;
};

static void step_begin(struct run *run)
{
    const struct job *job = run->job;
    double more = run->ended >= CHANGE_AT * SECOND ? job->size * job->step_ns : 0;

    run->link = 0.1 * job->step_ns + (job->kind == ALL_LINKS ? more : 0);
    run->last = 0;
    for (uint32_t i = 0; i < job->ranks; i++) {
        run->core[i] = 0.6 * job->step_ns * (1 + job->noise * fabs(normal(run->random)));
        run->host[i] = 0.3 * job->step_ns * (1 + job->noise * fabs(normal(run->random)));
        if (job->kind == ALL_CORES || (job->kind == HALF_CORES && i % 2 == 1) ||
            (job->kind == ONE_CORE && i == 1)) {
            run->core[i] += more;
        } else if (job->kind == ALL_HOSTS) {
            run->host[i] += more;
        } else if (job->kind == JITTER) {
            run->host[i] += job->size * 0.5 * job->step_ns * fabs(normal(run->random));
        }
    }
    if (job->kind == PAUSES && uniform(run->random) < 0.01) {
        run->host[0] += 10 * job->step_ns;
    }
    for (uint32_t i = 0; i < job->ranks; i++) {
        run->last = fmax(run->last, run->core[i] + run->host[i]);
    }
    run->is_at_hand = true;
}

static void step_end(struct run *run, struct ntk_snapshot *snapshot)
{
    for (uint32_t i = 0; i < run->job->ranks; i++) {
        struct ntk_rank_sample *rank = &snapshot->runtimes[i].ranks[0];
        double wait = run->last - run->core[i] - run->host[i];

        rank->operations[NTK_COLLECTIVE_ALL_REDUCE].period++;
        rank->in_operations_ns.period += (uint64_t)(wait + run->link);
        rank->wait_ns.period += run->job->has_waits ? (uint64_t)wait : 0;
        rank->core_busy_ns.period += (uint64_t)run->core[i];
    }
    run->ended += run->last + run->link;
    run->steps++;
    run->is_at_hand = false;
}

static struct ntk_snapshot *period(struct run *run, uint32_t second)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    double end = (second + 1) * SECOND;

    snapshot->period_ns = (uint64_t)SECOND;
    snapshot->realtime_ns = BEGAN + (second + 1) * (uint64_t)SECOND;
    assert_non_null(ntk_snapshot_alloc_runtimes(snapshot, run->job->ranks));
    for (uint32_t i = 0; i < run->job->ranks; i++) {
        struct ntk_rank_sample *rank =
            ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[i], 1);

        snapshot->runtimes[i].pid = 1000 + i;
        rank->key = 5;
        rank->rank = i;
        rank->rank_count = run->job->ranks;
    }
    for (;;) {
        if (!run->is_at_hand) {
            step_begin(run);
        }
        if (run->ended + run->last + run->link > end) {
            break;
        }
        step_end(run, snapshot);
    }
    for (uint32_t i = 0; i < run->job->ranks; i++) {
        struct ntk_rank_sample *rank = &snapshot->runtimes[i].ranks[0];
        double came = run->ended + run->core[i] + run->host[i];

        rank->in_flight = came <= end;
        rank->sequence = run->steps + rank->in_flight;
        rank->state_ns = (uint64_t)(end - (rank->in_flight ? came : run->ended));
    }
    return snapshot;
}

struct said {
    bool is_slower;
    struct ntk_change_verdict first;
};

static struct said job_watch(const struct job *job, struct random *random)
{
    struct run run = { .job = job, .random = random };
    struct said said = { false };
    struct ntk_change change;

    ntk_change_init(&change);
    for (uint32_t second = 0; second < SECONDS; second++) {
        struct ntk_snapshot *snapshot = period(&run, second);

        assert_int_equal(ntk_change_add(&change, snapshot), 0);
        const struct ntk_change_verdict *verdict = ntk_change_find(&change, 5);
        if (verdict && !said.is_slower) {
            said.is_slower = true;
            said.first = *verdict;
        }
        ntk_snapshot_destroy(snapshot);
    }
    ntk_change_fini(&change);
    return said;
}

static void only_slowdowns_of_all_ranks_are_reported(void **state)
{
    uint32_t put_in = 0, right = 0, wrong = 0, right_where = 0, right_when = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= CASES; seed++) {
        struct random random = { .state = seed * UINT64_C(0x9e3779b97f4a7c15) };
        struct job job = job_make(&random);
        struct said said = job_watch(&job, &random);
        bool is_put_in = wheres[job.kind] != NTK_CHANGE_UNKNOWN;
        double since = (double)(said.first.since_ns - BEGAN) / SECOND;

        put_in += is_put_in;
        right += said.is_slower && is_put_in;
        wrong += said.is_slower && !is_put_in;
        right_where += said.is_slower && is_put_in && said.first.where == wheres[job.kind];
        right_when += said.is_slower && is_put_in && fabs(since - CHANGE_AT) <= 6;
        if (said.is_slower != is_put_in) {
            printf("seed %u: kind %d of %u ranks, %.2f of %.0f ms: %s\n", seed, (int)job.kind,
                   job.ranks, job.size, job.step_ns / MS, said.is_slower ? "said" : "not said");
        }
    }
    printf("%u injected: %u reported, %u with the cause, %u with the time; %u reports of others\n",
           put_in, right, right_where, right_when, wrong);
    assert_true(right >= 0.95 * put_in);
    assert_true(right >= 0.99 * (right + wrong));
    assert_true(right_where >= 0.95 * right);
    assert_true(right_when >= 0.95 * right);
}

/* The content of a verdict, and its end. */
static void a_slowdown_is_reported_with_time_and_size_until_it_ends(void **state)
{
    struct random random = { .state = 99 };
    struct job job = { .kind = ALL_LINKS,
                       .ranks = 4,
                       .step_ns = 20 * MS,
                       .size = 0.5,
                       .noise = 0.01,
                       .has_waits = true };
    struct run run = { .job = &job, .random = &random };
    struct ntk_change change;

    (void)state;
    ntk_change_init(&change);
    for (uint32_t second = 0; second < 200; second++) {
        if (second == 150) {
            job.size = 0;
        }
        struct ntk_snapshot *snapshot = period(&run, second);
        assert_int_equal(ntk_change_add(&change, snapshot), 0);
        ntk_snapshot_destroy(snapshot);
        const struct ntk_change_verdict *verdict = ntk_change_find(&change, 5);
        if (second == 140) {
            assert_non_null(verdict);
            assert_int_equal(verdict->where, NTK_CHANGE_COLLECTIVES);
            assert_int_equal(verdict->seen, 4);
            assert_true(fabs((double)verdict->before_ns - 20.3 * MS) < MS);
            assert_true(fabs((double)verdict->after_ns - 30.3 * MS) < MS);
            assert_in_range((verdict->since_ns - BEGAN) / (uint64_t)SECOND, 119, 120);
        }
    }
    assert_null(ntk_change_find(&change, 5));
    ntk_change_fini(&change);
}

/* Around another runtime the waiting time of ranks is unknown: longer operations may be caused by
 * one rank, so nothing is claimed. */
static void operations_without_known_waits_have_no_verdict(void **state)
{
    struct random random = { .state = 7 };
    struct job job = { .kind = ONE_CORE, .ranks = 2, .step_ns = 20 * MS, .size = 1, .noise = 0.01 };

    (void)state;
    assert_false(job_watch(&job, &random).is_slower);
    job.kind = ALL_LINKS;
    assert_false(job_watch(&job, &random).is_slower);
    job.kind = ALL_CORES;
    assert_true(job_watch(&job, &random).is_slower);
}

static void old_communicators_are_dropped(void **state)
{
    struct random random = { .state = 3 };
    struct job job = { .ranks = 2, .step_ns = 20 * MS, .noise = 0.01 };
    struct run run = { .job = &job, .random = &random };
    struct ntk_change change;

    (void)state;
    ntk_change_init(&change);
    struct ntk_snapshot *snapshot = period(&run, 0);
    for (uint64_t key = 1; key <= NTK_CHANGE_COMMS_MAX + 50; key++) {
        snapshot->runtimes[0].ranks[0].key = key;
        snapshot->runtimes[1].ranks[0].key = key + 1;
        assert_int_equal(ntk_change_add(&change, snapshot), 0);
    }
    assert_int_equal(change.comms.count, 2);
    snapshot->runtimes[0].rank_count = snapshot->runtimes[1].rank_count = 0;
    assert_int_equal(ntk_change_add(&change, snapshot), 0);
    assert_int_equal(change.comms.count, 0);
    ntk_snapshot_destroy(snapshot);
    ntk_change_fini(&change);
}

static void impossible_sums_do_not_crash_change_detection(void **state)
{
    struct random random = { .state = 5 };
    struct job job = { .ranks = 3, .step_ns = 20 * MS, .noise = 0.01 };
    struct run run = { .job = &job, .random = &random };
    struct ntk_change change;

    (void)state;
    ntk_change_init(&change);
    for (uint32_t second = 0; second < 40; second++) {
        struct ntk_snapshot *snapshot = period(&run, second);

        snapshot->runtimes[0].ranks[0].in_operations_ns.period = second % 2 ? UINT64_MAX : 0;
        snapshot->runtimes[1].ranks[0].wait_ns.period = UINT64_MAX - second;
        snapshot->runtimes[2].ranks[0].core_busy_ns.period = UINT64_MAX;
        snapshot->period_ns = second % 3 ? UINT64_MAX : 0;
        assert_int_equal(ntk_change_add(&change, snapshot), 0);
        ntk_snapshot_destroy(snapshot);
    }
    ntk_change_fini(&change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_slowdowns_of_all_ranks_are_reported),
        cmocka_unit_test(a_slowdown_is_reported_with_time_and_size_until_it_ends),
        cmocka_unit_test(operations_without_known_waits_have_no_verdict),
        cmocka_unit_test(old_communicators_are_dropped),
        cmocka_unit_test(impossible_sums_do_not_crash_change_detection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
