/* SPDX-License-Identifier: MIT */
/* Who may use a database at the same time: writers, readers, users with SQL, and files of
 * others. */

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/metrics/snapshot_merge.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/store_fixture.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void all_queries_of_a_transaction_return_the_same_state(void **state)
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
        assert_int_equal(ntk_store_reader_begin(reader, NULL), 0); /* as a query does */
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

static void every_public_view_can_be_queried(void **state)
{
    static const char *const views[] = {
        "process_overview",
        "core_overview",
        "core_by_minute",
        "core_by_hour",
        "model_by_minute",
        "model_by_hour",
        "process_memory_by_hour",
        "execution_rate",
        "memory_now",
        "memory_events",
        "errors",
        "device_sample",
        "device_minute",
        "device_hour",
        "process_sample",
        "process_minute",
        "process_hour",
        "core_sample",
        "core_minute",
        "core_hour",
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
        bool is_of_devices = strncmp(views[i], "device", strlen("device")) == 0;
        snprintf(sql, sizeof sql, "SELECT count(*) > %d FROM %s", is_of_devices ? -1 : 0, views[i]);
        assert_string_equal(ask_sqlite(f->path, sql), "1");
    }
    snprintf(sql, sizeof sql, "SELECT count(*) = %zu FROM sqlite_schema WHERE type = 'view'",
             sizeof views / sizeof *views);
    assert_string_equal(ask_sqlite(f->path, sql), "1");
}

/* Counts come from other users' processes. */
static void public_views_can_be_queried_with_maximum_counts(void **state)
{
    static const char hostile[] =
        "UPDATE core_total SET completed = 9223372036854775807, generic = 9223372036854775807;"
        "UPDATE execution_sample SET completed = 9223372036854775807;"
        "UPDATE core_sample_packed SET busy_ns = 9223372036854775807, effective_flops = "
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
                        "9223372036854775806"); /* of two cores, exact to the last digit */
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

static void a_second_writer_is_rejected_but_readers_are_accepted(void **state)
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

static void foreign_and_newer_files_are_rejected_unchanged(void **state)
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
    assert_non_null(strstr(err.text, "a database created by another program"));
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

/* Minutes are merged after the commit that shows their end. */
static int has_six_minutes(void *ctx)
{
    return strcmp(ask(ctx, "SELECT count(*) FROM machine_minute"), "6") == 0;
}

/* A reader in the middle of a transaction keeps its view; the writer continues as if the reader
 * were not there. */
static void an_open_read_transaction_does_not_block_the_writer(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_queries_of_a_transaction_return_the_same_state, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(every_public_view_can_be_queried, set_up, tear_down),
        cmocka_unit_test_setup_teardown(public_views_can_be_queried_with_maximum_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_writer_is_rejected_but_readers_are_accepted,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_and_newer_files_are_rejected_unchanged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_open_read_transaction_does_not_block_the_writer, set_up,
                                        tear_down),
    };

    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
