/* SPDX-License-Identifier: MIT */
/* Moments in the past read back as stored, and gaps remain gaps. */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot.h"
#include "shared/store/retention.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/mixed_snapshot.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE_0 UINT64_C(1700000040000000000)

struct fixture {
    char *folder;
    char *path;
    struct ntk_store *store;
    struct ntk_store_reader *reader;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1000000 };

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "store.db");
    assert_int_equal(ntk_store_open(f->path, &options, &f->store, NULL), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_store_reader_close(f->reader);
    ntk_store_close(f->store, NULL);
    test_scratch_destroy(f->folder);
    free(f->path);
    free(f);
    return 0;
}

static void start_reading(struct fixture *f)
{
    assert_int_equal(ntk_store_close(f->store, NULL), 0);
    f->store = NULL;
    assert_int_equal(ntk_store_reader_open(f->path, &f->reader, NULL), 0);
}

static void put_snapshot(struct fixture *f, struct ntk_snapshot *snapshot)
{
    test_store_put(f->store, snapshot);
}

static void put(struct fixture *f, struct test_period *period)
{
    put_snapshot(f, test_make_snapshot(period));
    period->time_ns += SECOND;
}

static void assert_same_histogram(const struct ntk_histogram *a, const struct ntk_histogram *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->entry_count, b->entry_count);
    for (size_t i = 0; i < a->entry_count; i++) {
        assert_int_equal(a->entries[i].bucket, b->entries[i].bucket);
        assert_int_equal(a->entries[i].count, b->entries[i].count);
    }
}

static void assert_same_core(const struct ntk_core_sample *a, const struct ntk_core_sample *b)
{
    assert_int_equal(a->core, b->core);
    for (size_t i = 0; i < NTK_CORE_COUNTS; i++) {
        assert_int_equal(a->counts[i].period, b->counts[i].period);
    }
    assert_int_equal(a->busy_ns.total, b->busy_ns.total);
    assert_int_equal(a->in_flight, b->in_flight);
    assert_int_equal(a->has & NTK_CORE_HAS_ENGINES, b->has & NTK_CORE_HAS_ENGINES);
    assert_int_equal(a->has & NTK_CORE_HAS_BUSY, b->has & NTK_CORE_HAS_BUSY);
    assert_same_histogram(&a->total_latency, &b->total_latency);
    assert_same_histogram(&a->device_latency, &b->device_latency);
}

static void assert_same_runtime(const struct ntk_runtime_sample *a,
                                const struct ntk_runtime_sample *b)
{
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->header_pid, b->header_pid);
    assert_int_equal(a->start_time, b->start_time);
    assert_int_equal(a->uid, b->uid);
    assert_int_equal(a->software, b->software);
    assert_int_equal(a->ended + 2 * a->killed, b->ended + 2 * b->killed);
    assert_memory_equal(&a->exit, &b->exit, sizeof a->exit);
    assert_string_equal(a->tag, b->tag);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->user, b->user);
    assert_string_equal(a->container_id, b->container_id);
    assert_string_equal(b->pod.name, ""); /* not stored: nothing is known */
    assert_string_equal(b->pod.namespace_name, "");
    assert_string_equal(b->pod.container_name, "");
    assert_string_equal(a->runtime_version, b->runtime_version);
    assert_string_equal(a->framework_version, b->framework_version);
    assert_string_equal(a->instance_type, b->instance_type);
    assert_true(b->error[0] == '\0' && b->cpu_error[0] == '\0');
    assert_int_equal(a->lnc, b->lnc);
    assert_int_equal(a->has & NTK_RUNTIME_HAS_CPU, b->has & NTK_RUNTIME_HAS_CPU);
    assert_true(fabs(a->vcpu_user - b->vcpu_user) < 1e-6);
    assert_true(fabs(a->vcpu_system - b->vcpu_system) < 1e-6);
    assert_int_equal(a->rss_bytes, b->rss_bytes);
    assert_int_equal(a->in_flight, b->in_flight);
    assert_int_equal(a->core_count, b->core_count);
    for (size_t i = 0; i < a->core_count; i++) {
        assert_same_core(&a->cores[i], &b->cores[i]);
    }
    assert_int_equal(a->memory_count, b->memory_count);
    for (size_t i = 0; i < a->memory_count; i++) {
        uint64_t a_host = 0;
        uint64_t a_device = 0;
        uint64_t b_host = 0;
        uint64_t b_device = 0;
        const struct ntk_memory_sample *row = &a->memory[i];
        ntk_snapshot_memory_add(a, row->core, row->model_id, NULL, &a_host, &a_device);
        ntk_snapshot_memory_add(b, row->core, row->model_id, NULL, &b_host, &b_device);
        assert_int_equal(a_host, b_host);
        assert_int_equal(a_device, b_device);
    }
    assert_int_equal(a->model_count, b->model_count);
    for (size_t i = 0; i < a->model_count; i++) {
        assert_int_equal(a->models[i].id, b->models[i].id);
        assert_string_equal(a->models[i].name, b->models[i].name);
        assert_string_equal(a->models[i].neff_path, b->models[i].neff_path);
        assert_string_equal(a->models[i].uuid, b->models[i].uuid);
        assert_int_equal(a->models[i].loaded, b->models[i].loaded);
        assert_int_equal(a->models[i].estimated, b->models[i].estimated);
        assert_int_equal(a->models[i].core, b->models[i].core);
        assert_int_equal(a->models[i].core_count, b->models[i].core_count);
        assert_int_equal(a->models[i].executions.period, b->models[i].executions.period);
        assert_same_histogram(&a->models[i].total_latency, &b->models[i].total_latency);
    }
}

static void a_stored_snapshot_is_read_back_unchanged(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    struct ntk_snapshot *back = NULL;

    for (uint32_t lnc = 1; lnc <= 2; lnc++) {
        struct ntk_snapshot *was = test_sample_snapshot(lnc);
        if (!f->store) {
            ntk_store_reader_close(f->reader);
            f->reader = NULL;
            struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX,
                                                              UINT64_MAX } };
            assert_int_equal(ntk_store_open(f->path, &options, &f->store, NULL), 0);
        }
        was->realtime_ns += lnc * 3600 * SECOND;
        for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
            was->instance.texts[i] = ntk_snapshot_format(was, "instance %zu", i);
        }
        for (size_t i = 0; i < was->event_count; i++) {
            was->events[i].realtime_ns = was->realtime_ns - 10 + i;
            was->events[i].start_time += lnc;
            if (was->events[i].kind == NTK_EVENT_ERROR) { /* of the hardware, in the second round */
                was->events[i].error_code = lnc == 2 ? NTK_ERROR_CODE_ECC_SRAM_CORRECTED : 0;
                was->events[i].error_class =
                    lnc == 2 ? NTK_ERROR_CLASS_NONE : was->events[i].error_class;
            }
        }
        for (size_t i = 0; i < was->runtime_count; i++) {
            was->runtimes[i].start_time += lnc; /* other processes in the second round */
        }
        ntk_store_put(f->store, was);
        start_reading(f);
        if (ntk_store_reader_snapshot_at(f->reader, was->realtime_ns - 5, &back, &err) < 0) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(back->realtime_ns, was->realtime_ns);
        assert_int_equal(back->period_ns, was->period_ns);
        assert_string_equal(back->boot_id, was->boot_id);
        assert_string_equal(back->host_name, was->host_name);
        for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
            assert_string_equal(back->instance.texts[i],
                                ntk_instance_texts[i].column ? was->instance.texts[i] : "");
        }
        for (size_t i = 0; i < NTK_HARDWARE_TEXTS; i++) {
            assert_string_equal(back->hardware.texts[i], was->hardware.texts[i]);
        }
        assert_int_equal(back->hardware.has, was->hardware.has);
        assert_int_equal(back->hardware.software, was->hardware.software);
        assert_int_equal(back->hardware.lnc, was->hardware.lnc);
        assert_int_equal(back->hardware.device_count, was->hardware.device_count);
        assert_int_equal(back->hardware.cores_per_device, was->hardware.cores_per_device);
        assert_int_equal(back->hardware.device_memory_bytes, was->hardware.device_memory_bytes);
        assert_true(back->hardware.tensor_peak_flops == was->hardware.tensor_peak_flops);
        assert_int_equal(back->device_count, was->device_count);
        for (size_t i = 0; i < was->device_count; i++) {
            assert_string_equal(back->devices[i].name, was->devices[i].name);
            assert_string_equal(back->devices[i].serial_number, was->devices[i].serial_number);
            assert_int_equal(back->devices[i].connected_device_count,
                             was->devices[i].connected_device_count);
            assert_int_equal(back->devices[i].stack_count, was->devices[i].stack_count);
            assert_memory_equal(back->devices[i].memory_used_bytes,
                                was->devices[i].memory_used_bytes,
                                sizeof was->devices[i].memory_used_bytes);
            assert_int_equal(back->devices[i].has & NTK_DEVICE_HAS_POWER,
                             was->devices[i].has & NTK_DEVICE_HAS_POWER);
            assert_true(fabs(back->devices[i].power_average - was->devices[i].power_average) <
                        1e-6);
            assert_int_equal(back->devices[i].ecc_has, was->devices[i].ecc_has);
            for (size_t e = 0; e < NTK_ECC_COUNT; e++) {
                assert_int_equal(back->devices[i].ecc[e].period, was->devices[i].ecc[e].period);
            }
        }
        assert_int_equal(back->core_count, was->core_count);
        assert_int_equal(back->system.has, was->system.has);
        assert_int_equal(back->system.memory_used_bytes, was->system.memory_used_bytes);
        assert_int_equal(back->system.swap_total_bytes, was->system.swap_total_bytes);
        assert_int_equal(back->runtime_count, was->runtime_count);
        for (size_t i = 0; i < was->runtime_count; i++) {
            /* Ordered by start time, unlike those of the sample. */
            size_t other = was->runtimes[i].pid == back->runtimes[i].pid ? i : 1 - i;
            assert_same_runtime(&was->runtimes[i], &back->runtimes[other]);
        }
        size_t stored_events = 0;
        for (size_t i = 0; i < was->event_count; i++) {
            uint16_t kind = was->events[i].kind;
            if (kind != NTK_EVENT_MEM_ALLOC && kind != NTK_EVENT_MEM_FREE &&
                kind != NTK_EVENT_ERROR && kind != NTK_EVENT_MODEL_LOAD &&
                kind != NTK_EVENT_MODEL_UNLOAD) {
                continue;
            }
            assert_int_equal(back->events[stored_events].kind, kind);
            assert_int_equal(back->events[stored_events].core, was->events[i].core);
            assert_int_equal(back->events[stored_events].error_class, was->events[i].error_class);
            assert_int_equal(back->events[stored_events].error_code, was->events[i].error_code);
            assert_string_equal(back->events[stored_events].name,
                                kind == NTK_EVENT_ERROR ? "" : was->events[i].name);
            stored_events++;
        }
        assert_int_equal(back->event_count, stored_events);
        ntk_snapshot_destroy(back);
        ntk_snapshot_destroy(was);
    }
}

static int count_row(size_t column_count, const char *const *names, const char *const *values,
                     void *ctx)
{
    (void)column_count;
    (void)names;
    *(uint64_t *)ctx = strtoull(values[0], NULL, 10);
    return 0;
}

/* Method: a device that is unhealthy in two periods of five. Each state is stored once and holds
 * until the next one. */
static void device_health_is_stored_when_it_changes(void **state)
{
    struct fixture *f = *state;
    uint64_t rows = 0;

    for (uint64_t i = 1; i <= 5; i++) {
        struct ntk_snapshot *snapshot = test_sample_snapshot(1);
        snapshot->realtime_ns = MINUTE_0 + i * SECOND;
        snapshot->period_ns = SECOND;
        snapshot->devices[0].health[1].count = i; /* the rows have the latest count */
        if (i < 2 || i > 3) {
            snapshot->devices[0].verdict = NTK_HEALTH_HEALTHY;
            snapshot->devices[0].health_count = 0;
        }
        put_snapshot(f, snapshot);
    }
    start_reading(f);
    assert_int_equal(ntk_store_reader_query(f->reader, "SELECT count(*) FROM device_health",
                                            count_row, &rows, NULL),
                     0);
    assert_int_equal(rows, 1 + 2 + 1);
    for (uint64_t i = 1; i <= 5; i++) {
        struct ntk_snapshot *snapshot = NULL;
        assert_int_equal(
            ntk_store_reader_snapshot_at(f->reader, MINUTE_0 + i * SECOND, &snapshot, NULL), 0);
        const struct ntk_device_sample *device = &snapshot->devices[0];
        assert_true(device->has & NTK_DEVICE_HAS_HEALTH);
        assert_int_equal(device->verdict,
                         i < 2 || i > 3 ? NTK_HEALTH_HEALTHY : NTK_HEALTH_UNHEALTHY);
        assert_int_equal(device->health_count, i < 2 || i > 3 ? 0 : 2);
        if (i == 3) {
            assert_int_equal(device->verdict_since_ns, MINUTE_0 + 2 * SECOND);
            assert_string_equal(device->health[0].detail, "warp_core");
            assert_int_equal(device->health[1].reason, NTK_HEALTH_REASON_HARDWARE_ERROR);
            assert_int_equal(device->health[1].core, 1);
            assert_int_equal(device->health[1].status, 1203);
            assert_int_equal(device->health[1].count, 3);
        }
        ntk_snapshot_destroy(snapshot);
    }
}

static void replay_steps_across_gaps_and_coarser_tiers(void **state)
{
    struct fixture *f = *state;
    struct test_period period = {
        .time_ns = MINUTE_0 + SECOND, .completed = 4, .latency_ns = 1000, .memory_bytes = 4096
    };
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };
    uint64_t time_ns = 0;
    size_t count = 0;

    for (int i = 0; i < 300; i++) {
        period.memory_bytes = i < 100 ? 4096 : 8192;
        put(f, &period);
        if (i == 199) {
            period.time_ns += 100 * SECOND;
        }
    }
    start_reading(f);
    /* A gap is not a moment; the next moment is after it. */
    assert_int_equal(
        ntk_store_reader_snapshot_at(f->reader, MINUTE_0 + 250 * SECOND, &snapshot, &err),
        -ENODATA);
    assert_null(snapshot);
    assert_int_equal(ntk_store_reader_next(f->reader, MINUTE_0 + 250 * SECOND, &time_ns, &err), 0);
    assert_int_equal(time_ns, MINUTE_0 + 301 * SECOND);
    assert_int_equal(ntk_store_reader_before(f->reader, time_ns, &time_ns, &err), 0);
    assert_int_equal(time_ns, MINUTE_0 + 200 * SECOND);
    assert_int_equal(ntk_store_reader_next(f->reader, MINUTE_0 + 400 * SECOND, &time_ns, &err),
                     -ENODATA);
    /* Memory is what it was at that time, although its row is older. */
    assert_int_equal(
        ntk_store_reader_snapshot_at(f->reader, MINUTE_0 + 50 * SECOND, &snapshot, &err), 0);
    assert_int_equal(snapshot->runtimes[0].memory[0].current_bytes, 4096);
    ntk_snapshot_destroy(snapshot);

    /* Backwards through a tier: across the gap, to its first row. */
    assert_int_equal(ntk_store_reader_snapshot_before(f->reader, NTK_STORE_SECOND,
                                                      MINUTE_0 + 301 * SECOND, &snapshot, &err),
                     0);
    assert_int_equal(snapshot->realtime_ns, MINUTE_0 + 200 * SECOND);
    assert_int_equal(snapshot->runtimes[0].memory[0].current_bytes, 8192);
    ntk_snapshot_destroy(snapshot);
    snapshot = NULL;
    assert_int_equal(ntk_store_reader_snapshot_before(f->reader, NTK_STORE_SECOND,
                                                      MINUTE_0 + 1 * SECOND, &snapshot, &err),
                     -ENODATA);
    assert_null(snapshot);

    /* Without the first seconds, a minute represents them. */
    struct ntk_retention retention = { { 1, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
    sqlite3 *db = test_tier_open(f->path);
    while (ntk_retention_run(db, &retention, MINUTE_0 + 150 * SECOND, &err) > 0) {
    }
    sqlite3_close(db);
    assert_int_equal(
        ntk_store_reader_snapshot_at(f->reader, MINUTE_0 + 50 * SECOND, &snapshot, &err), 0);
    assert_int_equal(snapshot->realtime_ns, MINUTE_0 + 60 * SECOND);
    assert_int_equal(snapshot->period_ns, 60 * SECOND);
    assert_int_equal(snapshot->runtimes[0].cores[0].outcome[NTK_OUTCOME_COMPLETED].period, 240);
    assert_int_equal(snapshot->runtimes[0].cores[0].total_latency.count, 240);
    assert_int_equal(snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 480);
    assert_true(fabs(snapshot->runtimes[0].cores[0].utilization - 0.5) < 1e-9);
    assert_int_equal(snapshot->runtimes[0].models[0].executions.period, 240);
    assert_int_equal(snapshot->runtimes[0].has & NTK_RUNTIME_HAS_MEMORY, 0);
    ntk_snapshot_destroy(snapshot);
    assert_int_equal(ntk_store_reader_snapshot_before(f->reader, NTK_STORE_MINUTE,
                                                      MINUTE_0 + 119 * SECOND, &snapshot, &err),
                     0);
    assert_int_equal(snapshot->realtime_ns, MINUTE_0 + 60 * SECOND);
    assert_int_equal(snapshot->period_ns, 60 * SECOND);
    assert_true(fabs(snapshot->runtimes[0].cores[0].utilization - 0.5) < 1e-9);
    ntk_snapshot_destroy(snapshot);
    /* From the first remaining moment on, memory is known again. */
    assert_int_equal(
        ntk_store_reader_snapshot_at(f->reader, MINUTE_0 + 160 * SECOND, &snapshot, &err), 0);
    assert_int_equal(snapshot->runtimes[0].memory[0].current_bytes, 8192);
    ntk_snapshot_destroy(snapshot);
    /* Three minutes, since the third one lost seconds; then the seconds from 181 to 200, then those
     * after the gap. */
    time_ns = 0;
    while (ntk_store_reader_next(f->reader, time_ns, &time_ns, &err) == 0) {
        assert_int_equal(ntk_store_reader_snapshot_at(f->reader, time_ns, &snapshot, &err), 0);
        assert_int_equal(snapshot->realtime_ns, time_ns);
        ntk_snapshot_destroy(snapshot);
        count++;
    }
    assert_int_equal(count, 3 + 20 + 100);
}

/* Method: the seconds end between full seconds, so the first one left begins in a deleted
 * minute. */
static void replay_counts_each_execution_once_for_any_deleted_seconds(void **state)
{
    static const uint64_t deleted_seconds[] = { 0, 30, 60, 61, 119, 120, 150 };

    for (size_t i = 0; i < sizeof deleted_seconds / sizeof *deleted_seconds; i++) {
        struct fixture *f = *state;
        struct test_period period = { .time_ns = MINUTE_0 + SECOND * 3 / 2,
                                      .completed = 4,
                                      .latency_ns = 1000 };
        struct ntk_retention retention = { { 1, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
        struct ntk_err err = { 0 };
        uint64_t time_ns = 0;
        uint64_t completed = 0;

        for (int second = 0; second < 300; second++) {
            put(f, &period);
        }
        start_reading(f);
        sqlite3 *db = test_tier_open(f->path);
        while (ntk_retention_run(db, &retention, MINUTE_0 + deleted_seconds[i] * SECOND, &err) >
               0) {
        }
        sqlite3_close(db);
        while (ntk_store_reader_next(f->reader, time_ns, &time_ns, &err) == 0) {
            struct ntk_snapshot *snapshot = NULL;

            assert_int_equal(ntk_store_reader_snapshot_at(f->reader, time_ns, &snapshot, &err), 0);
            assert_int_equal(snapshot->realtime_ns, time_ns);
            completed += snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period;
            ntk_snapshot_destroy(snapshot);
        }
        assert_int_equal(completed, 300 * 2 * 4);
        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
    }
}

static void core_utilization_in_a_minute_covers_only_the_process_time(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = MINUTE_0 + SECOND, .completed = 4 };
    struct ntk_retention retention = { { 1, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_err err = { 0 };

    for (int i = 0; i < 150; i++) {
        struct ntk_snapshot *one = test_make_snapshot(&period);
        one->runtime_count = i < 15 ? one->runtime_count : 0;
        put_snapshot(f, one);
        period.time_ns += SECOND;
    }
    start_reading(f);
    sqlite3 *db = test_tier_open(f->path);
    while (ntk_retention_run(db, &retention, MINUTE_0 + 150 * SECOND, &err) > 0) {
    }
    sqlite3_close(db);
    assert_int_equal(
        ntk_store_reader_snapshot_at(f->reader, MINUTE_0 + 50 * SECOND, &snapshot, &err), 0);
    assert_int_equal(snapshot->period_ns, 60 * SECOND);
    assert_int_equal(snapshot->runtimes[0].cores[0].busy_ns.period, 15 * SECOND / 2);
    assert_true(fabs(snapshot->runtimes[0].cores[0].utilization - 0.5) < 1e-9);
    ntk_snapshot_destroy(snapshot);
}

/* Rows that no agent wrote: rejected or limited, never followed. */
/* How many values of a table are poison, in the period or in the total. */
static int64_t count_poison(sqlite3 *db, const char *table)
{
    sqlite3_stmt *statement;
    char sql[128];
    int64_t count = 0;

    snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            int64_t value = sqlite3_column_int64(statement, i);

            count += value > 0 && value % MIXED_POISON == 0;
        }
    }
    sqlite3_finalize(statement);
    return count;
}

/* Method: record two minutes of processes that are watched in three ways, then query seconds,
 * minutes and the file itself. */
static void values_unknown_to_hooks_are_null(void **state)
{
    static const char *const tables[] = { "process_sample",   "process_minute",   "core_sample",
                                          "core_minute",      "core_total",       "model",
                                          "execution_sample", "execution_minute", "model_sample" };
    const uint32_t histograms = NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_DEVICE_LATENCY;
    struct fixture *f = *state;
    struct ntk_snapshot *was = test_mixed_snapshot();
    const uint64_t begin_ns = was->realtime_ns / (60 * SECOND) * 60 * SECOND;
    sqlite3 *db;

    for (uint64_t i = 1; i <= 90; i++) {
        struct ntk_snapshot *second = test_mixed_snapshot();
        second->realtime_ns = begin_ns + i * SECOND;
        put_snapshot(f, second);
    }
    start_reading(f);
    for (int minute = 0; minute < 2; minute++) {
        struct ntk_snapshot *back = NULL;

        if (minute) {
            ntk_store_reader_close(f->reader);
            f->reader = NULL;
            assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
            assert_int_equal(sqlite3_exec(db, "DELETE FROM machine_sample", NULL, NULL, NULL), 0);
            assert_int_equal(sqlite3_exec(db,
                                          "UPDATE tier SET first_ns = (SELECT max(time_ns) FROM"
                                          " core_sample) WHERE tier = 'second'",
                                          NULL, NULL, NULL),
                             0);
            sqlite3_close(db);
            assert_int_equal(ntk_store_reader_open(f->path, &f->reader, NULL), 0);
        }
        assert_int_equal(
            ntk_store_reader_snapshot_at(f->reader, begin_ns + 60 * SECOND, &back, NULL), 0);
        assert_int_equal(back->runtime_count, MIXED_COUNT);
        for (int k = 0; k < MIXED_COUNT; k++) {
            const struct ntk_runtime_sample *a = &was->runtimes[k];
            const struct ntk_runtime_sample *b = &back->runtimes[k];

            assert_int_equal(a->hooks, b->hooks);
            assert_int_equal(a->cores_guessed, b->cores_guessed);
            assert_int_equal(a->executions_counted, b->executions_counted);
            assert_int_equal(a->has & (NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT),
                             b->has & (NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT));
            assert_int_equal(a->cores[0].has & ~histograms, b->cores[0].has & ~histograms);
            assert_int_equal(a->cores[0].busy_of_calls, b->cores[0].busy_of_calls);
            assert_int_equal(back->cores[k].busy_of_calls, k == MIXED_PRELOADED);
            assert_int_equal(a->models[0].memory_estimated, b->models[0].memory_estimated);
            assert_int_equal(ntk_snapshot_tells_group(b, NTK_GROUP_CONSTANTS), k == MIXED_OURS);
        }
        ntk_snapshot_destroy(back);
    }
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (count_poison(db, tables[i]) != 0) {
            fail_msg("%s has unknown values", tables[i]);
        }
    }
    /* Its host memory is not reported at all, so the total is unknown. */
    assert_int_equal(test_tier_number(db, "SELECT count(DISTINCT process_id) FROM process_sample"
                                          " WHERE host_memory_bytes IS NULL"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM process_sample"
                                          " WHERE host_memory_bytes = 0"),
                     0);
    assert_int_equal(test_tier_number(db, "SELECT count(DISTINCT process_id) FROM process_minute"
                                          " WHERE host_memory_bytes_max IS NULL"
                                          " AND device_memory_bytes_max > 0"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM process WHERE hooks = 'attached'"
                                          " AND cores_guessed AND executions_counted = 'none'"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM process_overview WHERE hooks ="
                                          " 'attached' AND completed IS NULL AND errors IS NULL"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM core_minute WHERE core = 1"
                                          " AND busy_of_calls_ns = busy_ns AND pe_busy_ns IS NULL"),
                     1);
    sqlite3_close(db);
    ntk_snapshot_destroy(was);
}

static void the_cost_of_replaying_a_hostile_file_is_limited(void **state)
{
    struct fixture *f = *state;
    struct ntk_snapshot *was = test_sample_snapshot(1);
    struct ntk_snapshot *back = NULL;
    struct ntk_err err = { 0 };
    static const char *const spoils[] = {
        "UPDATE machine SET core_count = 1000000000000, stack_count = -1, lnc = -5",
        "UPDATE device SET stack_count = 4000000, connected_devices = '1,999999,x', core_count = "
        "-1",
        "UPDATE core_sample_packed SET core = 100000, busy_ns = -5, period_ns = 0",
        "UPDATE core_sample_packed SET pe_busy_ns = x'', act_busy_ns = x'3b010203', flops = 'text',"
        " dma_busy_ns = x'2d3b01', sp_busy_ns = CAST('99999999999999999999999;1' AS BLOB)",
        "UPDATE core_sample_packed SET row_count = 1000000000000",
        "UPDATE process_sample_packed SET row_count = -1",
        "UPDATE device_sample_packed SET row_count = 9223372036854775807",
        "UPDATE execution_sample SET completed = 9223372036854775807, total_latency_histogram = "
        "x'01ff'",
        "UPDATE model SET uuid = printf('%.500c', 'x'), core_count = -1, core = 999999",
        "UPDATE memory_log SET category = 70000, kind = ''",
        "UPDATE error_log SET error_class = 'none of ours'",
        "UPDATE machine_sample SET period_ns = 9223372036854775807",
        "UPDATE memory_sample SET category = category + 900",
        "UPDATE memory_last SET category = category + 900",
    };

    was->realtime_ns = MINUTE_0;
    for (size_t i = 0; i < was->event_count; i++) {
        was->events[i].realtime_ns = MINUTE_0 - 10;
    }
    ntk_store_put(f->store, was);
    start_reading(f);
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        struct ntk_store_window window = { MINUTE_0 - SECOND, MINUTE_0 + SECOND, 0 };
        struct ntk_store_filter all = { 0 };
        struct ntk_store_point *points;
        size_t count;
        sqlite3 *db = test_tier_open(f->path);
        if (sqlite3_exec(db, spoils[i], NULL, NULL, NULL) != SQLITE_OK) {
            fail_msg("%s: %s", spoils[i], sqlite3_errmsg(db));
        }
        sqlite3_close(db);
        int ret = ntk_store_reader_snapshot_at(f->reader, MINUTE_0, &back, &err);
        if (ret == 0) {
            ntk_snapshot_destroy(back);
        } else {
            assert_int_equal(ret, -EBADMSG);
            assert_true(strlen(err.text) > 0);
        }
        assert_int_equal(ntk_store_reader_series(f->reader, NTK_STORE_EXECUTIONS, &all, &window,
                                                 &points, &count, &err),
                         0);
        assert_int_equal(count, 1);
        free(points);
    }
    ntk_snapshot_destroy(was);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stored_snapshot_is_read_back_unchanged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(device_health_is_stored_when_it_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replay_counts_each_execution_once_for_any_deleted_seconds,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(replay_steps_across_gaps_and_coarser_tiers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(core_utilization_in_a_minute_covers_only_the_process_time,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_unknown_to_hooks_are_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_cost_of_replaying_a_hostile_file_is_limited, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
