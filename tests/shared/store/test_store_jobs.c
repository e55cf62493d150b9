/* SPDX-License-Identifier: MIT */
/* Method: hand-made seconds of a process on cores 4 and 5 of a machine of two devices with four
 * cores each, with jobs that come and go; stored and queried: figures with known answers. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/store/retention.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/unit.h"

#define SECOND NTK_NS_PER_SECOND
#define BEGAN (UINT64_C(1800000000) * SECOND) /* on the hour */
#define AT(second) (BEGAN + (uint64_t)(second)*SECOND)

/* One second: each core is busy for half of it, completes 10 executions and does a quarter of its
 * peak FLOPs; device 1 uses half of its power and has one corrected error. */
static struct ntk_snapshot *second_make(struct test_period *period, int second, uint32_t lnc)
{
    period->time_ns = AT(second);
    period->completed = 10;
    period->latency_ns = 1000;
    period->memory_bytes = second == 60 ? 9000 : 5000;
    struct ntk_snapshot *snapshot = test_make_snapshot(period);
    struct ntk_device_sample *devices = ntk_snapshot_alloc_devices(snapshot, 2);
    snapshot->hardware.has = NTK_HARDWARE_HAS_DEVICES | NTK_HARDWARE_HAS_PEAK;
    snapshot->hardware.device_count = 2;
    snapshot->hardware.cores_per_device = 4;
    snapshot->hardware.lnc = lnc;
    snapshot->hardware.tensor_peak_flops = 100e9;
    for (uint32_t i = 0; i < 2; i++) {
        devices[i].index = i;
        devices[i].core_count = 4;
    }
    devices[1].has = NTK_DEVICE_HAS_POWER | NTK_DEVICE_HAS_ECC;
    devices[1].power_average = 0.5;
    devices[1].ecc_has = 1u << NTK_ECC_MEM_CORRECTED;
    devices[1].ecc[NTK_ECC_MEM_CORRECTED].period = 1;
    for (size_t i = 0; i < snapshot->runtimes[0].core_count; i++) {
        struct ntk_core_sample *core = &snapshot->runtimes[0].cores[i];
        core->has |= NTK_CORE_HAS_EFFECTIVE_FLOPS;
        core->effective_flops.period = 25000000000u;
        core->error_class[NTK_ERROR_NUMERICAL].period = second == 50;
        core->outcome[NTK_OUTCOME_COMPLETED_WITH_NUM_ERR].period = second == 50;
    }
    snapshot->jobs.is_asked = true;
    return snapshot;
}

static struct ntk_job job_make(const char *id, const char *user, int since, uint32_t *cores,
                               size_t count)
{
    return (struct ntk_job){ .id = id,
                             .user = user,
                             .name = "train",
                             .partition = "trn",
                             .cluster = "",
                             .since_ns = AT(since),
                             .cores = cores,
                             .core_count = count };
}

static void put(struct ntk_store *store, struct ntk_snapshot *snapshot, struct ntk_job *jobs,
                size_t count)
{
    ntk_snapshot_set_jobs(
        snapshot,
        &(struct ntk_jobs){ .is_asked = true, .error = "", .rows = jobs, .count = count });
    test_store_put(store, snapshot);
}

static struct ntk_store *store_open(const struct fixture *f)
{
    const struct ntk_store_options options = { .commit_ns = 1000000 };
    struct ntk_store *store = NULL;

    assert_int_equal(ntk_store_open(f->path, &options, &store, NULL), 0);
    return store;
}

/* Seconds first + 1 to last, during which the jobs exist. */
static void run(struct ntk_store *store, struct test_period *period, int first, int last,
                struct ntk_job *jobs, size_t count)
{
    for (int second = first + 1; second <= last; second++) {
        put(store, second_make(period, second, 1), jobs, count);
    }
}

struct answer {
    struct ntk_store_job jobs[8];
    char ids[8][16];
    uint32_t first_core;
    size_t count;
    size_t more;
};

static int take(const struct ntk_store_job *job, void *ctx)
{
    struct answer *answer = ctx;

    assert_in_range(answer->count, 0, 7);
    snprintf(answer->ids[answer->count], sizeof answer->ids[0], "%s", job->id);
    answer->first_core = job->core_count > 0 ? job->cores[0] : UINT32_MAX;
    answer->jobs[answer->count++] = *job;
    return 0;
}

static struct answer ask_within(const struct fixture *f, const char *id, const char *user, int from,
                                int to, size_t most)
{
    const struct ntk_store_jobs_filter filter = { id, user, { AT(from), AT(to), 0 }, most };
    struct ntk_store_reader *reader = NULL;
    struct answer answer = { .count = 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    if (ntk_store_reader_jobs(reader, &filter, &answer.more, take, &answer, &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_store_reader_close(reader);
    return answer;
}

static struct answer ask(const struct fixture *f, const char *id, const char *user)
{
    return ask_within(f, id, user, -86400, 86400, 100);
}

/* Job 42, which held cores 4 and 5 from second 30 until its end was detected at 91. */
static void assert_known_figures(const struct ntk_store_job *job)
{
    assert_int_equal(job->from_ns, AT(30));
    assert_int_equal(job->to_ns, AT(91));
    assert_true(job->is_ended);
    assert_int_equal(job->runs, 1);
    assert_int_equal(job->core_count, 2);
    assert_int_equal(job->held_ns, 122 * SECOND);
    assert_int_equal(job->watched_ns, 122 * SECOND);
    assert_true(job->has_used);
    assert_int_equal(job->used_ns, 61 * SECOND);
    assert_int_equal(job->used_watched_ns, 61 * SECOND);
    assert_true(job->has_executions);
    assert_int_equal(job->outcome[NTK_OUTCOME_COMPLETED], 1220);
    assert_true(job->has_memory);
    assert_int_equal(job->memory_bytes_max, 9000);
    assert_true(job->has_flops);
    assert_true(job->has_peak);
    assert_true(fabs(job->effective_flops / job->peak_flops - 0.25) < 1e-9);
    assert_true(job->has_power);
    assert_int_equal(job->full_power_ns, 15250 * (SECOND / 1000));
    assert_int_equal(job->power_known_ns, 30500 * (SECOND / 1000));
    assert_int_equal(job->ecc_has, 1u << NTK_ECC_MEM_CORRECTED);
    assert_int_equal(job->ecc[NTK_ECC_MEM_CORRECTED], 61);
}

static void store_two_jobs(const struct fixture *f)
{
    struct test_period period = { 0 };
    struct ntk_store *store = store_open(f);
    uint32_t cores[] = { 4, 5, 7 };
    struct ntk_job jobs[] = { job_make("42", "alice", 30, cores, 2),
                              job_make("43", "bob", 30, cores, 1),
                              job_make("44", "alice", 100, &cores[2], 1) };

    run(store, &period, 0, 30, NULL, 0);
    run(store, &period, 30, 90, jobs, 2);
    run(store, &period, 90, 100, &jobs[1], 1);
    run(store, &period, 100, 190, &jobs[1], 2);
    run(store, &period, 190, 200, &jobs[2], 1);
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void held_and_used_core_time_of_a_job_is_summed(void **state)
{
    const struct fixture *f = *state;

    store_two_jobs(f);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.first_core, 4);
    assert_known_figures(&answer.jobs[0]);
    assert_int_equal(answer.jobs[0].error_class[NTK_ERROR_NUMERICAL], 2);
    assert_int_equal(answer.jobs[0].outcome[NTK_OUTCOME_COMPLETED_WITH_NUM_ERR], 2);
    assert_false(answer.jobs[0].is_coarse);
    /* A job longer than minutes, which are merged. */
    answer = ask(f, "43", NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.jobs[0].held_ns, 161 * SECOND);
    assert_int_equal(answer.jobs[0].watched_ns, 161 * SECOND);
    assert_int_equal(answer.jobs[0].used_ns, 161 * SECOND / 2);
    assert_int_equal(answer.jobs[0].outcome[NTK_OUTCOME_COMPLETED], 1610);
    assert_int_equal(answer.jobs[0].full_power_ns, 161 * SECOND / 8);
    /* Nothing ran on it, which is known; it is still running. */
    answer = ask(f, "44", NULL);
    assert_int_equal(answer.jobs[0].held_ns, 100 * SECOND);
    assert_false(answer.jobs[0].is_ended);
    assert_true(answer.jobs[0].has_used);
    assert_int_equal(answer.jobs[0].used_ns, 0);
    assert_true(answer.jobs[0].has_executions);
    assert_int_equal(answer.jobs[0].outcome[NTK_OUTCOME_COMPLETED], 0);
    assert_int_equal(ask(f, "4", NULL).count, 0);
}

static void jobs_are_selected_by_user_and_time_window(void **state)
{
    const struct fixture *f = *state;

    store_two_jobs(f);
    struct answer answer = ask(f, NULL, "alice");
    assert_int_equal(answer.count, 2);
    assert_string_equal(answer.ids[0], "42");
    assert_string_equal(answer.ids[1], "44");
    assert_int_equal(answer.more, 0);
    assert_int_equal(ask(f, NULL, NULL).count, 3);
    assert_int_equal(ask(f, "42", "bob").count, 0);
    answer = ask_within(f, NULL, NULL, -86400, 86400, 2); /* the newest */
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.more, 1);
    assert_string_equal(answer.ids[1], "44");
    answer = ask_within(f, NULL, NULL, -86400, 86400, SIZE_MAX);
    assert_int_equal(answer.count, 3);
    assert_int_equal(answer.more, 0);
    answer = ask_within(f, NULL, "alice", 60, 80, 100);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.jobs[0].held_ns, 40 * SECOND);
    assert_int_equal(answer.jobs[0].outcome[NTK_OUTCOME_COMPLETED], 400);
    assert_false(answer.jobs[0].is_ended);
}

/* As retention leaves it. */
static void job_figures_use_minutes_after_seconds_were_deleted(void **state)
{
    const struct fixture *f = *state;
    sqlite3 *db = NULL;

    store_two_jobs(f);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "DELETE FROM machine_sample WHERE time_ns <= 1800000180000000000;"
                     "DELETE FROM core_sample_packed WHERE time_ns <= 1800000180000000000;"
                     "DELETE FROM device_sample_packed WHERE time_ns <= 1800000180000000000;"
                     "DELETE FROM process_sample_packed WHERE time_ns <= 1800000180000000000;"
                     "DELETE FROM execution_sample WHERE time_ns <="
                     " 1800000180000000000;"
                     "UPDATE tier SET first_ns = 1800000180000000000"
                     " WHERE tier = 'second'",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.count, 1);
    assert_known_figures(&answer.jobs[0]);
    assert_true(answer.jobs[0].is_coarse);
}

static void a_restarted_agent_continues_the_stored_row_of_a_job(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { 0 };
    uint32_t cores[] = { 4, 5 };
    struct ntk_job jobs[] = { job_make("42", "alice", 0, cores, 2),
                              job_make("43", "bob", 0, cores, 1) };
    struct ntk_store *store = store_open(f);

    run(store, &period, 0, 20, jobs, 2);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    store = store_open(f); /* half a minute later; one of them ended meanwhile */
    run(store, &period, 50, 60, jobs, 1);
    run(store, &period, 60, 62, NULL, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.jobs[0].runs, 1);
    assert_int_equal(answer.jobs[0].held_ns, 122 * SECOND);
    assert_int_equal(answer.jobs[0].watched_ns, 62 * SECOND);
    assert_int_equal(answer.jobs[0].used_ns, 31 * SECOND);
    answer = ask(f, "43", NULL);
    assert_true(answer.jobs[0].is_ended);
    assert_int_equal(answer.jobs[0].to_ns, AT(20));
    assert_int_equal(answer.jobs[0].held_ns, 20 * SECOND);
}

static void a_requeued_job_is_one_job_with_two_runs(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { 0 };
    uint32_t cores[] = { 4, 5 };
    struct ntk_job first = job_make("42", "alice", 10, cores, 1);
    struct ntk_job second = job_make("42", "alice", 30, cores, 2);
    struct ntk_store *store = store_open(f);

    run(store, &period, 0, 10, NULL, 0);
    run(store, &period, 10, 19, &first, 1);
    run(store, &period, 19, 30, NULL, 0);
    run(store, &period, 30, 35, &second, 1);
    second.core_count = 1; /* it returns one core */
    run(store, &period, 35, 39, &second, 1);
    run(store, &period, 39, 40, NULL, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.jobs[0].runs, 2);
    assert_int_equal(answer.jobs[0].from_ns, AT(10));
    assert_int_equal(answer.jobs[0].to_ns, AT(40));
    assert_int_equal(answer.jobs[0].held_ns, (10 + 10 + 6) * SECOND);
    assert_int_equal(answer.jobs[0].used_ns, 13 * SECOND);
}

/* As if the folder cannot be read for a moment: its file still has the start time. */
static void core_time_of_a_temporarily_missing_job_is_counted_once(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { 0 };
    uint32_t cores[] = { 4, 5 };
    struct ntk_job job = job_make("42", "alice", 0, cores, 2);
    struct ntk_store *store = store_open(f);

    run(store, &period, 0, 20, &job, 1);
    run(store, &period, 20, 21, NULL, 0);
    run(store, &period, 21, 30, &job, 1);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.jobs[0].from_ns, AT(0));
    assert_int_equal(answer.jobs[0].held_ns, 60 * SECOND);
    assert_int_equal(answer.jobs[0].used_ns, 30 * SECOND);
}

/* Of three jobs that started long ago, one is still running and one ended a moment ago. */
static void job_rows_are_kept_long_after_the_job_ended(void **state)
{
    const struct fixture *f = *state;
    const struct ntk_retention retention = { { UINT64_MAX, UINT64_MAX, 60 * SECOND }, UINT64_MAX };
    struct test_period period = { 0 };
    uint32_t cores[] = { 4, 5, 7 };
    struct ntk_job jobs[] = { job_make("there", "alice", -7200, cores, 1),
                              job_make("ended", "alice", -7200, &cores[1], 1),
                              job_make("old", "alice", -7200, &cores[2], 1) };
    struct ntk_store *store = store_open(f);
    sqlite3 *db = NULL;

    run(store, &period, 0, 5, jobs, 3);
    run(store, &period, 5, 90, jobs, 2);
    run(store, &period, 90, 100, jobs, 1);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    while (ntk_retention_run(db, &retention, AT(101), NULL) > 0) {
    }
    sqlite3_close(db);
    struct answer answer = ask(f, NULL, NULL);
    assert_int_equal(answer.count, 2);
    for (size_t i = 0; i < answer.count; i++) {
        assert_string_not_equal(answer.ids[i], "old");
        assert_int_equal(answer.jobs[i].core_count, 1);
    }
}

static void held_time_of_a_job_is_measured_in_logical_cores(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { 0 };
    uint32_t cores[] = { 2 };
    struct ntk_job job = job_make("42", "alice", 0, cores, 1);
    struct ntk_store *store = store_open(f);

    for (int second = 1; second <= 10; second++) {
        put(store, second_make(&period, second, 2), &job, 1);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.jobs[0].lnc, 2);
    assert_int_equal(answer.jobs[0].core_count, 2);
    assert_int_equal(answer.first_core, 4);
    assert_int_equal(answer.jobs[0].held_ns, 10 * SECOND);
    assert_int_equal(answer.jobs[0].used_ns, 5 * SECOND);
    assert_int_equal(answer.jobs[0].outcome[NTK_OUTCOME_COMPLETED], 200);
    assert_true(fabs(answer.jobs[0].effective_flops / answer.jobs[0].peak_flops - 0.25) < 1e-9);
}

/* Another runtime, which has no counts. */
static void unknown_job_values_are_absent_rather_than_zero(void **state)
{
    const struct fixture *f = *state;
    struct test_period period = { 0 };
    uint32_t cores[] = { 4 };
    struct ntk_job job = job_make("42", "", 0, cores, 1);
    struct ntk_store *store = store_open(f);

    for (int second = 1; second <= 10; second++) {
        struct ntk_snapshot *snapshot = second_make(&period, second, 1);
        struct ntk_runtime_sample *runtime = &snapshot->runtimes[0];
        for (size_t i = 0; i < runtime->core_count; i++) {
            runtime->cores[i].has = 0;
        }
        runtime->has = 0;
        runtime->hooks = NTK_HOOKS_ATTACHED;
        runtime->executions_counted = NTK_EXECUTIONS_NONE;
        snapshot->hardware.has = NTK_HARDWARE_HAS_DEVICES;
        snapshot->devices[1].has = 0;
        put(store, snapshot, &job, 1);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    struct answer answer = ask(f, "42", NULL);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.jobs[0].held_ns, 10 * SECOND);
    assert_false(answer.jobs[0].has_used);
    assert_false(answer.jobs[0].has_flops);
    assert_false(answer.jobs[0].has_peak);
    assert_false(answer.jobs[0].has_power);
    assert_false(answer.jobs[0].has_executions);
    assert_int_equal(answer.jobs[0].ecc_has, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(held_and_used_core_time_of_a_job_is_summed),
        TEST(jobs_are_selected_by_user_and_time_window),
        TEST(job_figures_use_minutes_after_seconds_were_deleted),
        TEST(a_restarted_agent_continues_the_stored_row_of_a_job),
        TEST(a_requeued_job_is_one_job_with_two_runs),
        TEST(core_time_of_a_temporarily_missing_job_is_counted_once),
        TEST(job_rows_are_kept_long_after_the_job_ended),
        TEST(held_time_of_a_job_is_measured_in_logical_cores),
        TEST(unknown_job_values_are_absent_rather_than_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
