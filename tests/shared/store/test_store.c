/* SPDX-License-Identifier: MIT */
/* Tests of the database: what was put in is found, restarts go on, bad files are refused. */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/metrics/snapshot_merge.h"
#include "shared/store/retention.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define T0 UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)
#define MINUTE_0 UINT64_C(1700000040000000000) /* on the minute */

static int take_text(size_t count, const char *const *names, const char *const *values, void *ctx)
{
    (void)names;
    assert_true(count >= 1);
    snprintf(ctx, 256, "%s", values[0] ? values[0] : "NULL");
    return 0;
}

/* The first column of the last row of a query on the file. */
static const char *ask(const char *path, const char *sql)
{
    static char text[256];
    struct ntk_store_reader *reader;
    struct ntk_err err = { 0 };

    text[0] = '\0';
    if (ntk_store_reader_open(path, &reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (ntk_store_reader_query(reader, sql, take_text, text, &err) < 0) {
        fail_msg("%s: %s", sql, err.text);
    }
    ntk_store_reader_close(reader);
    return text;
}

/* The same as people ask: our reader looks at no view of a file. */
static const char *ask_sqlite(const char *path, const char *sql)
{
    static char text[256];
    sqlite3 *db;
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const char *value = (const char *)sqlite3_column_text(statement, 0);
    snprintf(text, sizeof text, "%s", value ? value : "NULL");
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}

static void put(struct ntk_store *store, struct test_period *period)
{
    struct ntk_snapshot *snapshot = test_make_snapshot(period);

    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    period->time_ns += SECOND;
}

static void wait_for_room(struct ntk_store *store)
{
    struct ntk_store_status status;

    do {
        ntk_store_status_get(store, &status);
    } while (status.snapshots_waiting > NTK_STORE_QUEUE_MAX / 2);
}

static struct ntk_store *open_store(const char *path)
{
    /* The samples of these tests are years old. */
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1000000 };
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };

    if (ntk_store_open(path, &options, &store, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return store;
}

static void what_was_put_in_is_found(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);
    struct test_period period = { .time_ns = T0,
                                  .completed = 10,
                                  .latency_ns = 5000000,
                                  .memory_bytes = 4096,
                                  .with_events = true };

    for (int i = 0; i < 5; i++) {
        put(store, &period);
        period.with_events = false;
    }
    period.ended = true;
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);

    assert_string_equal(ask_sqlite(f->path, "SELECT sum(completed) FROM execution_sample"), "120");
    assert_string_equal(ask_sqlite(f->path, "SELECT sum(completed) FROM core_total"), "120");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed FROM process_overview"), "120");
    assert_string_equal(ask_sqlite(f->path, "SELECT busy_percent FROM core_overview LIMIT 1"),
                        "50.0");
    assert_string_equal(ask_sqlite(f->path, "SELECT executions_total FROM model"), "50");
    assert_string_equal(ask_sqlite(f->path, "SELECT ended_ns IS NOT NULL FROM process"), "1");
    assert_string_equal(ask_sqlite(f->path, "SELECT abs(latency_p99_ns - 5000000) < 40000"
                                            " FROM execution_sample LIMIT 1"),
                        "1");
    /* A row when it changed only: once as it appears, once as it goes. */
    assert_string_equal(
        ask_sqlite(f->path, "SELECT group_concat(current_bytes) FROM memory_sample"), "4096,0");
    assert_string_equal(
        ask_sqlite(f->path, "SELECT current_bytes || ' ' || peak_bytes FROM memory_now"), "0 4096");
    assert_string_equal(ask_sqlite(f->path, "SELECT operation || ' ' || category || ' ' || tensor"
                                            " FROM memory_events"),
                        "alloc tensors weights");
    assert_string_equal(ask_sqlite(f->path, "SELECT error_class || ' ' || nrt_status FROM errors"),
                        "model 1006");
    assert_string_equal(ask_sqlite(f->path, "SELECT operation || ' ' || name FROM model_log"),
                        "load weights");
    assert_string_equal(ask_sqlite(f->path, "SELECT per_second FROM execution_rate LIMIT 1"),
                        "20.0");
    /* What is not known is NULL, not 0. */
    assert_string_equal(ask_sqlite(f->path, "SELECT pe_busy_ns FROM core_sample LIMIT 1"), "NULL");
    assert_string_equal(ask_sqlite(f->path, "PRAGMA integrity_check"), "ok");
}

static void a_writer_that_starts_again_goes_on_where_the_last_one_stopped(void **state)
{
    struct fixture *f = *state;
    struct test_period period = {
        .time_ns = T0, .completed = 7, .latency_ns = 1000, .memory_bytes = 100
    };
    struct ntk_core_sample cores[4];
    struct ntk_store_reader *reader;
    size_t count;

    for (int round = 0; round < 3; round++) {
        struct ntk_store *store = open_store(f->path);
        put(store, &period);
        put(store, &period);
        assert_int_equal(ntk_store_close(store, NULL), 0);
    }
    assert_string_equal(ask(f->path, "SELECT count(*) FROM process"), "1");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM memory_sample"), "1");
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    struct ntk_process_key key = { TEST_HEADER_PID, 0, TEST_START_TIME };
    assert_true(ntk_store_reader_totals_get(TEST_BOOT_ID, key, 0, cores, 4, &count, reader));
    assert_int_equal(count, 2);
    assert_int_equal(cores[0].core, 4);
    assert_int_equal(cores[1].core, 5);
    assert_int_equal(cores[0].outcome[NTK_OUTCOME_COMPLETED].total, 42);
    assert_int_equal(cores[0].total_latency.count, 42);
    assert_int_equal(cores[0].busy_ns.total, 6 * SECOND / 2);
    key.header_pid++;
    assert_false(ntk_store_reader_totals_get(TEST_BOOT_ID, key, 0, cores, 4, &count, reader));
    ntk_store_reader_close(reader);
}

/* What is stored of core 4 of the process since its segment began. */
static uint64_t total_of(const char *path, uint64_t began_ns)
{
    const struct ntk_process_key key = { TEST_HEADER_PID, 0, TEST_START_TIME };
    struct ntk_core_sample cores[4] = { 0 };
    struct ntk_store_reader *reader;
    size_t count;

    assert_int_equal(ntk_store_reader_open(path, &reader, NULL), 0);
    bool found = ntk_store_reader_totals_get(TEST_BOOT_ID, key, began_ns, cores, 4, &count, reader);
    uint64_t total = cores[0].outcome[NTK_OUTCOME_COMPLETED].total;
    assert_int_equal(found, count == 2);
    if (found) {
        assert_int_equal(cores[0].core, 4);
        assert_int_equal(cores[0].total_latency.count, total);
    }
    ntk_store_reader_close(reader);
    return total;
}

/* Stores a period of one device. */
static void put_ecc(struct ntk_store *store, uint64_t time_ns, const char *boot_id,
                    uint64_t counter, uint64_t total, uint64_t period, uint64_t unwatched)
{
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_device_sample *device = ntk_snapshot_alloc_devices(snapshot, 1);

    snapshot->realtime_ns = time_ns;
    snapshot->period_ns = SECOND;
    snapshot->boot_id = boot_id;
    device->index = 3;
    device->has = NTK_DEVICE_HAS_ECC | NTK_DEVICE_HAS_ECC_TOTAL;
    device->ecc_has = 1u << NTK_ECC_MEM_CORRECTED;
    device->ecc[NTK_ECC_MEM_CORRECTED] = (struct ntk_count){ period, total };
    device->ecc_counter[NTK_ECC_MEM_CORRECTED] = counter;
    device->ecc_unwatched[NTK_ECC_MEM_CORRECTED] = unwatched;
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
}

static void assert_stored_ecc(const char *path, const char *boot_id, uint64_t counter,
                              uint64_t total)
{
    struct ntk_store_reader *reader;
    struct ntk_ecc_stored stored;

    assert_int_equal(ntk_store_reader_open(path, &reader, NULL), 0);
    assert_false(ntk_store_reader_ecc_get(boot_id, 2, &stored, reader));
    assert_true(ntk_store_reader_ecc_get(boot_id, 3, &stored, reader));
    assert_int_equal(stored.has, 1u << NTK_ECC_MEM_CORRECTED);
    assert_int_equal(stored.counter[NTK_ECC_MEM_CORRECTED], counter);
    assert_int_equal(stored.total[NTK_ECC_MEM_CORRECTED], total);
    ntk_store_reader_close(reader);
}

static void ecc_counters_continue_and_the_day_has_what_happened_without_an_agent(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);

    put_ecc(store, T0, "boot", 5, 5, 0, 0);
    put_ecc(store, T0 + SECOND, "boot", 7, 7, 2, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_stored_ecc(f->path, "boot", 7, 7);
    assert_stored_ecc(f->path, "another boot", 0, 7); /* the driver counts from 0 again */
    store = open_store(f->path);
    put_ecc(store, T0 + 60 * SECOND, "boot", 19, 19, 0, 12);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_stored_ecc(f->path, "boot", 19, 19);
    assert_string_equal(ask_sqlite(f->path, "SELECT sum(mem_ecc_corrected) FROM device_sample"),
                        "14");
}

static void begin_life(struct test_period *period, uint64_t began_ns, uint64_t completed)
{
    period->began_ns = began_ns;
    period->completed = completed;
    period->completed_total = 0;
}

/* Method: a process closes the runtime and begins again, twice: the second time within one period
 * and while another writer is at work. */
static void what_a_process_did_is_the_sum_of_its_lives(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .latency_ns = 1000, .memory_bytes = 100 };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader;
    struct ntk_snapshot *totals;

    begin_life(&period, 100, 7);
    put(store, &period);
    period.ended = true;
    period.completed = 1;
    put(store, &period);
    period.ended = false;
    begin_life(&period, 200, 3);
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);

    store = open_store(f->path);
    struct ntk_snapshot *older = test_make_snapshot(&period);
    begin_life(&period, 300, 5);
    struct ntk_snapshot *newer = test_make_snapshot(&period);
    struct ntk_snapshot *both = ntk_snapshot_merge(older, newer);
    ntk_store_put(store, both);
    ntk_snapshot_destroy(older);
    ntk_snapshot_destroy(newer);
    ntk_snapshot_destroy(both);
    assert_int_equal(ntk_store_close(store, NULL), 0);

    assert_int_equal(total_of(f->path, 100), 8);
    assert_int_equal(total_of(f->path, 200), 6);
    assert_int_equal(total_of(f->path, 300), 5);
    assert_int_equal(total_of(f->path, 400), 0);
    assert_string_equal(ask_sqlite(f->path, "SELECT sum(completed) FROM execution_sample"), "38");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed || ' of ' || cores"
                                            " FROM process_overview"),
                        "38 of 2");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed FROM core_overview"), "19");
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    assert_int_equal(ntk_store_reader_totals_snapshot(reader, true, &totals, NULL), 0);
    assert_int_equal(totals->runtime_count, 1);
    assert_int_equal(totals->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, 38);
    ntk_snapshot_destroy(totals);
    ntk_store_reader_close(reader);
}

/* Method: two segments of a process that claims as many executions as a number can have. */
static void counts_without_measure_keep_nobody_from_the_totals(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .latency_ns = 1000, .memory_bytes = 100 };
    struct ntk_store *store = open_store(f->path);
    struct ntk_store_reader *reader;
    struct ntk_snapshot *totals;
    struct ntk_err err = { 0 };

    for (uint64_t i = 1; i <= 2; i++) {
        begin_life(&period, i * SECOND, 1);
        period.completed_total = INT64_MAX - 1;
        put(store, &period);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    if (ntk_store_reader_totals_snapshot(reader, true, &totals, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(totals->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].period, INT64_MAX);
    assert_int_equal(totals->cores[4].busy_ns.period, 3 * SECOND / 2);
    ntk_snapshot_destroy(totals);
    ntk_store_reader_close(reader);
}

/* Method: so many lives that the totals of the first ones become one row. */
static void a_process_of_many_lives_has_a_bounded_number_of_totals(void **state)
{
    enum { LIVES = 700 };
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .latency_ns = 1000, .memory_bytes = 100 };
    struct ntk_store *store = open_store(f->path);

    for (uint64_t i = 1; i <= LIVES; i++) {
        begin_life(&period, i * SECOND, 2);
        put(store, &period);
        wait_for_room(store);
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_string_equal(ask(f->path, "SELECT sum(completed) FROM core_total WHERE core = 4"),
                        "1400");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM core_total WHERE core = 4"), "514");
    assert_string_equal(
        ask(f->path, "SELECT completed FROM core_total WHERE core = 5 AND began_ns = 0"), "374");
    assert_int_equal(total_of(f->path, LIVES * SECOND), 2);
    assert_int_equal(total_of(f->path, (LIVES - 512) * SECOND), 2);
    assert_int_equal(total_of(f->path, (LIVES - 513) * SECOND), 0);
}

/* Method: two users whose segments claim the same pid and start time, in turn, over a restart of
 * the writer. */
static void claims_of_two_users_on_one_process_never_share_a_row(void **state)
{
    struct fixture *f = *state;
    struct test_period periods[2] = {
        { .time_ns = T0, .uid = 1000, .completed = 7, .memory_bytes = 100, .with_events = true },
        { .time_ns = T0, .uid = 1001, .completed = 11, .memory_bytes = 900, .with_events = true },
    };
    struct ntk_store_reader *reader;

    for (int round = 0; round < 2; round++) {
        struct ntk_store *store = open_store(f->path);
        for (size_t i = 0; i < 2; i++) {
            periods[i].time_ns = T0 + (uint64_t)(2 * round + (int)i) * SECOND;
            put(store, &periods[i]);
        }
        assert_int_equal(ntk_store_close(store, NULL), 0);
    }
    assert_string_equal(ask(f->path, "SELECT group_concat(uid) FROM process"), "1000,1001");
    assert_string_equal(
        ask(f->path, "SELECT group_concat(n) FROM (SELECT sum(completed) AS n FROM execution_sample"
                     " GROUP BY process_id ORDER BY 1)"),
        "28,44");
    assert_string_equal(ask(f->path, "SELECT group_concat(current_bytes) FROM memory_last"),
                        "100,900");
    assert_string_equal(ask(f->path, "SELECT group_concat(n) FROM (SELECT count(*) AS n"
                                     " FROM error_log GROUP BY process_id)"),
                        "2,2");
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct ntk_process_key key = { TEST_HEADER_PID, periods[i].uid, TEST_START_TIME };
        struct ntk_core_sample cores[4];
        struct ntk_snapshot *snapshot;
        size_t count;

        assert_true(ntk_store_reader_totals_get(TEST_BOOT_ID, key, 0, cores, 4, &count, reader));
        assert_int_equal(cores[0].outcome[NTK_OUTCOME_COMPLETED].total, 2 * periods[i].completed);
        assert_int_equal(
            ntk_store_reader_snapshot_at(reader, T0 + (2 + i) * SECOND, &snapshot, NULL), 0);
        assert_int_equal(snapshot->runtime_count, 1);
        assert_int_equal(snapshot->event_count, 3);
        for (size_t e = 0; e < snapshot->event_count; e++) {
            assert_true(ntk_runtime_has_event(&snapshot->runtimes[0], &snapshot->events[e]));
        }
        ntk_snapshot_destroy(snapshot);
    }
    ntk_store_reader_close(reader);
}

static void between_begin_and_end_all_answers_are_of_one_moment(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .completed = 7 };
    struct ntk_store_reader *reader;
    uint64_t first_ns;
    uint64_t last_ns[3];

    struct ntk_store *store = open_store(f->path);
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(ntk_store_reader_open(f->path, &reader, NULL), 0);
    assert_int_equal(ntk_store_reader_begin(reader, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ntk_store_reader_begin(reader, NULL), 0); /* as a question does */
        assert_int_equal(
            ntk_store_reader_span(reader, NTK_STORE_SECOND, &first_ns, &last_ns[i], NULL), 0);
        ntk_store_reader_end(reader);
        if (i == 0) {
            store = open_store(f->path);
            put(store, &period);
            assert_int_equal(ntk_store_close(store, NULL), 0);
        } else if (i == 1) {
            ntk_store_reader_end(reader);
        }
    }
    assert_int_equal(last_ns[0], T0);
    assert_int_equal(last_ns[1], T0);
    assert_int_equal(last_ns[2], T0 + SECOND);
    ntk_store_reader_close(reader);
}

static void every_view_for_people_answers(void **state)
{
    static const char *const views[] = {
        "process_overview",       "core_overview",   "core_by_minute",
        "core_by_hour",           "model_by_minute", "model_by_hour",
        "process_memory_by_hour", "execution_rate",  "memory_now",
        "memory_events",          "errors",
    };
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .completed = 7, .with_events = true };
    struct ntk_store *store = open_store(f->path);
    char sql[128];

    for (int i = 0; i < 2; i++) { /* the second is in the next hour */
        put(store, &period);
        period.time_ns += 3600 * SECOND;
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) > 0 FROM %s", views[i]);
        assert_string_equal(ask_sqlite(f->path, sql), "1");
    }
    snprintf(sql, sizeof sql, "SELECT count(*) = %zu FROM sqlite_schema WHERE type = 'view'",
             sizeof views / sizeof *views);
    assert_string_equal(ask_sqlite(f->path, sql), "1");
}

/* Counts are what other people's processes say. */
static void views_for_people_answer_whatever_was_counted(void **state)
{
    static const char hostile[] =
        "UPDATE core_total SET completed = 9223372036854775807, generic = 9223372036854775807;"
        "UPDATE execution_sample SET completed = 9223372036854775807;"
        "UPDATE core_sample SET busy_ns = 9223372036854775807, effective_flops = "
        "9223372036854775807;";
    struct fixture *f = *state;
    struct test_period period = { .time_ns = T0, .completed = 7, .latency_ns = 1000 };
    struct ntk_store *store = open_store(f->path);
    sqlite3 *db;

    put(store, &period);
    put(store, &period);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE core_total SET completed = 4611686018427387903", NULL, NULL, NULL),
        SQLITE_OK);
    assert_string_equal(ask_sqlite(f->path, "SELECT completed FROM process_overview"),
                        "9223372036854775806"); /* of two cores, to the last digit */
    assert_int_equal(sqlite3_exec(db, hostile, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_string_equal(
        ask_sqlite(f->path, "SELECT round(completed / 1e18, 1) FROM process_overview"), "18.4");
    assert_string_equal(ask_sqlite(f->path, "SELECT errors > 1e19 FROM process_overview"), "1");
    assert_string_equal(ask_sqlite(f->path, "SELECT busy_percent FROM core_overview LIMIT 1"),
                        "100.0");
    assert_string_equal(ask_sqlite(f->path, "SELECT completed > 1e19 FROM execution_rate LIMIT 1"),
                        "1");
}

static void a_second_writer_is_refused_and_readers_are_not(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);
    struct ntk_store *second = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_store_open(f->path, NULL, &second, &err), -EBUSY);
    assert_null(second);
    assert_non_null(strstr(err.text, f->path));
    assert_non_null(strstr(err.text, "another neuron-monitor"));
    assert_string_equal(ask(f->path, "SELECT count(*) FROM process"), "0");
    ntk_store_close(store, NULL);
    ntk_store_close(open_store(f->path), NULL);
}

static void foreign_and_newer_files_are_refused_untouched(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    sqlite3 *db;

    ntk_fs_write(f->path, "this is a text file, not a database, and longer than a header", 61,
                 NULL);
    assert_int_equal(ntk_store_open(f->path, NULL, &store, &err), -EPROTO);
    assert_int_equal(unlink(f->path), 0);

    sqlite3_open(f->path, &db);
    sqlite3_exec(db, "CREATE TABLE theirs (a)", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(ntk_store_open(f->path, NULL, &store, &err), -EPROTO);
    assert_non_null(strstr(err.text, "something else"));
    assert_int_equal(unlink(f->path), 0);

    ntk_store_close(open_store(f->path), NULL);
    sqlite3_open(f->path, &db);
    sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_int_equal(ntk_store_open(f->path, NULL, &store, &err), -EPROTO);
    assert_non_null(strstr(err.text, "schema version 99"));

    struct ntk_store_reader *reader;
    assert_int_equal(ntk_store_reader_open("/nonexistent/x.db", &reader, &err), -ENOENT);
    assert_int_equal(ntk_store_open("/nonexistent/x.db", NULL, &store, &err), -ENOENT);
}

static int is_failing(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return status.failing;
}

static int has_stored_all(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return !status.failing && status.snapshots_waiting == 0;
}

/* A file size limit stands for the full disk: SQLite sees a write fail. In a child, since the limit
 * holds for every file of the process. */
static void a_full_disk_stops_storing_and_loses_nothing_when_it_comes_back(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1,
                                         .retry_ns = 20000000 };
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ntk_store *store;
        struct rlimit limit = { 4096, RLIM_INFINITY };
        signal(SIGXFSZ, SIG_IGN);
        if (ntk_store_open(f->path, &options, &store, NULL) < 0) {
            _exit(10);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < 10; i++) {
            put(store, &period);
        }
        if (!test_wait_until(is_failing, store)) {
            _exit(11);
        }
        limit.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
        if (!test_wait_until(has_stored_all, store)) {
            _exit(12);
        }
        _exit(ntk_store_close(store, NULL) == 0 ? 0 : 13);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(ask(f->path, "SELECT sum(completed) FROM execution_sample"), "60");
    assert_string_equal(ask(f->path, "PRAGMA integrity_check"), "ok");
}

/* Method: what is put fits into memory, so that only the commit fails, again and again; more than
 * waits apart. */
static void a_store_closes_while_the_disk_stays_full(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 3600 * SECOND };
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ntk_store *store;
        struct rlimit limit = { 4096, RLIM_INFINITY };
        struct ntk_err err = { 0 };
        signal(SIGXFSZ, SIG_IGN);
        alarm(120); /* it used to try for ever */
        if (ntk_store_open(f->path, &options, &store, NULL) < 0) {
            _exit(10);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < NTK_STORE_QUEUE_MAX + 6; i++) {
            put(store, &period);
        }
        if (ntk_store_close(store, &err) != -EIO) {
            _exit(11);
        }
        _exit(strncmp(err.text, "the last 70.0 s were not stored: ", 33) == 0 ? 0 : 12);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Method: more periods than wait while nothing can be written, in the third of them a process ends;
 * then the disk is there again. The child says how many were joined and lost. */
static void overflow(const char *path, size_t joined_bytes, uint64_t joined, uint64_t lost)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1,
                                         .retry_ns = 3600 * SECOND,
                                         .joined_bytes = joined_bytes };
    struct test_period period = { .time_ns = T0, .completed = 1, .latency_ns = 1000 };
    struct test_period last = { .time_ns = T0 + 2 * SECOND + 7,
                                .uid = 1001,
                                .completed = 5,
                                .latency_ns = 1000,
                                .ended = true };

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct ntk_store *store;
        struct ntk_store_status store_status;
        struct rlimit limit = { 4096, RLIM_INFINITY };
        signal(SIGXFSZ, SIG_IGN);
        if (ntk_store_open(path, &options, &store, NULL) < 0) {
            _exit(10);
        }
        setrlimit(RLIMIT_FSIZE, &limit);
        put(store, &period);
        if (!test_wait_until(is_failing, store)) {
            _exit(11);
        }
        for (int i = 1; i < NTK_STORE_QUEUE_MAX + 6; i++) {
            put(store, &period);
            if (i == 2) {
                put(store, &last);
            }
        }
        ntk_store_status_get(store, &store_status);
        if (store_status.sequence_stored != 0 || store_status.snapshots_joined != joined ||
            store_status.snapshots_lost != lost) {
            _exit(12);
        }
        limit.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(ntk_store_close(store, NULL) == 0 ? 0 : 13);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void a_queue_that_overflows_adds_up_the_oldest_and_loses_no_count(void **state)
{
    struct fixture *f = *state;

    overflow(f->path, 0, 7, 0);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "64");
    assert_string_equal(ask(f->path, "SELECT min(time_ns) - 1700000000000000000 FROM"
                                     " machine_sample"),
                        "6000000000");
    assert_string_equal(ask(f->path, "SELECT max(period_ns) FROM machine_sample"), "8000000000");
    assert_string_equal(ask(f->path, "SELECT sum(period_ns) / 1000000000 FROM machine_sample"),
                        "71");
    assert_string_equal(ask(f->path, "SELECT group_concat(n) FROM (SELECT sum(completed) AS n"
                                     " FROM execution_sample GROUP BY process_id ORDER BY 1)"),
                        "10,140");
    assert_string_equal(ask_sqlite(f->path, "SELECT group_concat(completed) FROM (SELECT completed"
                                            " FROM process_overview ORDER BY 1)"),
                        "10,140");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM process WHERE ended_ns IS NOT NULL"),
                        "1");
}

static void what_is_added_up_has_a_bound_and_what_is_beyond_is_counted(void **state)
{
    struct fixture *f = *state;

    overflow(f->path, 1, 0, 7);
    /* The first and the last ones are there. */
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "64");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"
                                     " WHERE time_ns = 1700000000000000000"),
                        "1");
    assert_string_equal(ask(f->path, "SELECT max(completed) FROM core_total"), "70");
}

static int has_stored_one(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return status.snapshots_stored == 1;
}

/* The only file beside the database that was set aside; freed by the caller. */
static char *find_set_aside(const struct fixture *f, const struct ntk_store_status *status)
{
    glob_t found;
    char *pattern = test_scratch_path(f->folder, "store.db.damaged-*Z");
    char *path;

    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    path = strdup(found.gl_pathv[0]);
    assert_non_null(strstr(status->set_aside, path));
    assert_non_null(strstr(status->set_aside, "is damaged"));
    globfree(&found);
    free(pattern);
    return path;
}

static void overwrite(const char *path, long offset, int byte, size_t count)
{
    FILE *file = fopen(path, "r+");

    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    for (size_t i = 0; i < count; i++) {
        fputc(byte, file);
    }
    fclose(file);
}

/* Opens, stores one period, and says what became of the damaged file. */
static void store_one(const struct fixture *f, struct ntk_store_status *out_status)
{
    struct test_period period = { .time_ns = T0, .completed = 3, .latency_ns = 1000 };
    struct ntk_store *store = open_store(f->path);

    put(store, &period);
    assert_true(test_wait_until(has_stored_one, store));
    ntk_store_status_get(store, out_status);
    assert_false(out_status->failing);
    assert_int_equal(out_status->snapshots_lost, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void a_damaged_file_is_set_aside_and_storing_goes_on(void **state)
{
    struct fixture *f = *state;
    struct ntk_store_status status;
    static const struct {
        const char *page; /* which page is spoilt: SQL for its number */
        long from;        /* offset in it */
        int byte;
    } damages[] = {
        { "SELECT 1", 0, 0 },      /* blocks that never reached the disk */
        { "SELECT 1", 100, 0xff }, /* the schema */
        /* Shows only when the table is written to, in the writer's thread. */
        { "SELECT rootpage FROM sqlite_schema WHERE name = 'machine_sample'", 0, 0xff },
        { "SELECT rootpage FROM sqlite_schema WHERE name = 'core_sample'", 0, 0xff },
    };

    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        store_one(f, &status);
        assert_int_equal(status.set_aside_count, 0);
        long page = atol(ask(f->path, damages[i].page));
        overwrite(f->path, (page - 1) * 4096 + damages[i].from, damages[i].byte,
                  4096 - (size_t)damages[i].from);
        struct stat before;
        struct stat after;
        assert_int_equal(stat(f->path, &before), 0);

        store_one(f, &status);
        assert_int_equal(status.set_aside_count, 1);
        char *aside = find_set_aside(f, &status);
        assert_int_equal(stat(aside, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(before.st_size, after.st_size);
        assert_string_equal(ask(f->path, "SELECT sum(completed) FROM execution_sample"), "6");
        assert_int_equal(unlink(aside), 0);
        assert_int_equal(unlink(f->path), 0);
        free(aside);
    }
}

/* Method: a sound file, bytes of its header spoilt alone, then all of the header. Whatever that
 * does, the database opens: as it is, or a new one after the old one was set aside. */
static void a_damaged_header_stops_no_agent(void **state)
{
    static const int places[] = { 0,  15, 16, 18, 19, 20, 21, 23, 28, 44,
                                  47, 52, 56, 59, 60, 61, 68, 71, 96, 100 }; /* 100: all */
    struct fixture *f = *state;
    uint8_t *sound;
    size_t bytes;
    struct ntk_store *store;
    struct ntk_err err = { 0 };
    char *all = test_scratch_path(f->folder, "*");
    char command[600];

    assert_int_equal(ntk_store_close(open_store(f->path), NULL), 0);
    assert_int_equal(ntk_fs_read(f->path, 1 << 24, &sound, &bytes, NULL), 0);
    (void)snprintf(command, sizeof command, "rm -f %s", all);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        int at = places[k];

        for (int i = 0; i < 100; i++) {
            sound[i] ^= at == i || at == 100 ? 0xff : 0;
        }
        assert_int_equal(system(command), 0);
        assert_int_equal(ntk_fs_write(f->path, sound, bytes, NULL), 0);
        if (ntk_store_open(f->path, NULL, &store, &err) < 0) {
            fail_msg("byte %d: %s", at, err.text);
        }
        assert_int_equal(ntk_store_close(store, NULL), 0);
        for (int i = 0; i < 100; i++) {
            sound[i] ^= at == i || at == 100 ? 0xff : 0;
        }
    }
    free(all);
    free(sound);
}

static void a_damaged_file_of_someone_else_stays_where_it_is(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    sqlite3 *db;

    sqlite3_open(f->path, &db);
    sqlite3_exec(db, "CREATE TABLE theirs (a)", NULL, NULL, NULL);
    sqlite3_close(db);
    overwrite(f->path, 100, 0xff, 1000);
    assert_int_equal(ntk_store_open(f->path, NULL, &store, &err), -EPROTO);
    assert_non_null(strstr(err.text, "not one of neuron-monitor"));
    assert_int_equal(access(f->path, F_OK), 0);
}

/* Minutes are merged after the commit that shows that they are over. */
static int has_six_minutes(void *ctx)
{
    return strcmp(ask(ctx, "SELECT count(*) FROM machine_minute"), "6") == 0;
}

/* A reader in the middle of a transaction sees its moment; the writer goes on as if it were not
 * there. */
static void a_reader_that_holds_a_transaction_does_not_block_the_writer(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { .time_ns = MINUTE_0, .completed = 3, .latency_ns = 1000 };
    struct ntk_store *store = open_store(f->path);
    sqlite3 *db;
    sqlite3_stmt *statement;

    put(store, &period);
    assert_true(test_wait_until(has_stored_one, store));
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_prepare_v2(db, "SELECT count(*) FROM machine_sample", -1, &statement, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 1);

    for (int i = 0; i < 300; i++) {
        put(store, &period);
        wait_for_room(store);
    }
    assert_true(test_wait_until(has_stored_all, store));
    sqlite3_reset(statement);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 1);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "301");
    assert_true(test_wait_until(has_six_minutes, f->path));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void retention_removes_by_age_and_by_size(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);
    struct test_period period = { .time_ns = MINUTE_0 + SECOND,
                                  .completed = 2,
                                  .latency_ns = 1000,
                                  .memory_bytes = 4096,
                                  .with_events = true };
    struct ntk_retention retention = { { 200 * SECOND, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
    struct ntk_err err = { 0 };
    sqlite3 *db;

    for (int i = 0; i < 320; i++) {
        put(store, &period);
        wait_for_room(store);
    }
    ntk_store_close(store, NULL);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(ntk_retention_run(db, &retention, MINUTE_0 + 320 * SECOND, &err), 0);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "201");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM core_sample"), "402");
    assert_string_equal(ask(f->path, "SELECT first_ns FROM tier WHERE tier = 'second'"),
                        "1700000160000000000");
    /* Totals and minutes are not samples. */
    assert_string_equal(ask(f->path, "SELECT sum(completed) FROM core_total"), "1280");
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_minute"), "5");
    /* The value of memory holds where its row went. */
    assert_string_equal(ask(f->path, "SELECT group_concat(time_ns || ' ' || current_bytes)"
                                     " FROM memory_sample"),
                        "1700000160000000000 4096");
    for (int i = 0; i < 200 && ntk_retention_run(db, &retention, MINUTE_0, &err) > 0; i++) {
    }
    /* Never what is not merged yet: the last, open minute. */
    retention.keep_bytes = 1;
    for (int i = 0; i < 200 && ntk_retention_run(db, &retention, MINUTE_0, &err) > 0; i++) {
    }
    sqlite3_close(db);
    assert_string_equal(ask(f->path, "SELECT count(*) FROM machine_sample"), "21");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_put_in_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_writer_that_starts_again_goes_on_where_the_last_one_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            ecc_counters_continue_and_the_day_has_what_happened_without_an_agent, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(what_a_process_did_is_the_sum_of_its_lives, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(counts_without_measure_keep_nobody_from_the_totals, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_process_of_many_lives_has_a_bounded_number_of_totals,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(claims_of_two_users_on_one_process_never_share_a_row,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(between_begin_and_end_all_answers_are_of_one_moment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_view_for_people_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_for_people_answer_whatever_was_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_writer_is_refused_and_readers_are_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(foreign_and_newer_files_are_refused_untouched, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_full_disk_stops_storing_and_loses_nothing_when_it_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_closes_while_the_disk_stays_full, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_queue_that_overflows_adds_up_the_oldest_and_loses_no_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_added_up_has_a_bound_and_what_is_beyond_is_counted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_header_stops_no_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_set_aside_and_storing_goes_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_file_of_someone_else_stays_where_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_reader_that_holds_a_transaction_does_not_block_the_writer,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(retention_removes_by_age_and_by_size, set_up, tear_down),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
