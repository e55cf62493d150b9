/* SPDX-License-Identifier: MIT */
/* Tests of the schema: files of older versions are brought up to date, or read as they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/scratch.h"

/* What an agent of the first version left: one process, 130 seconds on two cores, a model, an error. */
static const char rows_1[] =
    "INSERT INTO memory_category VALUES (9, 'tensors', 'device');"
    "INSERT INTO process VALUES (1, '" TEST_BOOT_ID "', 77, 123456, 1077, 'trainer',"
    " 'python train.py', 'root', '', '2.31', '', 'trn1.2xlarge', 1, 1700000041000000000,"
    " 1700000170000000000, NULL);"
    "INSERT INTO model VALUES (1, 10001, 'mlp.neff', '', '', 4, 1, 1700000041000000000,"
    " 1700000170000000000, 260, 0);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 130)"
    " INSERT INTO machine_sample SELECT 1700000040000000000 + i * 1000000000, 1000000000, 0.25,"
    " 0.125, 1000, 2000, 0, 3, 0, 0 FROM n;"
    "INSERT INTO process_sample SELECT time_ns, 1, period_ns, NULL, NULL, NULL, 10, 4096, 0, 0"
    " FROM machine_sample;"
    "INSERT INTO core_sample SELECT time_ns, 1, 4, period_ns, 500000000, NULL, NULL, NULL, NULL,"
    " NULL, NULL, 7, 7, NULL, NULL, NULL, NULL FROM machine_sample;"
    "INSERT INTO execution_sample SELECT time_ns, 1, 4, period_ns, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,"
    " 0, 2, 5, 5, 5, NULL, NULL, x'010a010502', NULL FROM machine_sample;"
    "INSERT INTO model_sample SELECT time_ns, 1, 10001, period_ns, 2, 0, 5, 5, x'010a010502', NULL"
    " FROM machine_sample;"
    "INSERT INTO error_log VALUES (NULL, 1700000050000000000, 1, 'model', 1006, 4, 10001, 3);"
    "INSERT INTO core_total SELECT 1, 4, 1700000170000000000, 65000000000, 0, 0, 0, 0, 0, 0, 0, 0,"
    " 0, 0, 0, 0, 0, 260, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, x'010a010502', x'010000';"
    "PRAGMA application_id = 0x6e657572; PRAGMA user_version = 1;";

/* The text of the corpus as a database, then some more rows. */
static void make_file(const char *path, const char *corpus, const char *rows)
{
    char *schema_path = test_scratch_path(getenv("NTK_SOURCE_DIR"), corpus);
    uint8_t *schema;
    size_t count;
    sqlite3 *db;

    assert_int_equal(ntk_fs_read(schema_path, 1 << 20, &schema, &count, NULL), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    if (sqlite3_exec(db, (const char *)schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db, rows, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s", sqlite3_errmsg(db));
    }
    sqlite3_close(db);
    free(schema);
    free(schema_path);
}

static void make_file_1(const char *path)
{
    make_file(path, "tests/corpus/store/schema-1.sql", rows_1);
}

/* What an agent of the second version wrote itself. */
static void make_file_2(const char *path)
{
    make_file(path, "tests/corpus/store/schema-2.sql",
              "PRAGMA application_id = 0x6e657572; PRAGMA user_version = 2");
}

static struct ntk_store *open_store(const char *path)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 1000000 };
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };

    if (ntk_store_open(path, &options, &store, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return store;
}

/* Columns of every table and view, and the texts of views and indexes. */
static char *layout_of(const char *path)
{
    sqlite3 *db = test_tier_open(path);
    sqlite3_stmt *statement;
    char *layout = NULL;

    sqlite3_prepare_v2(db,
                       "SELECT group_concat(line, char(10)) FROM ("
                       " SELECT s.name || ' ' || c.cid || ' ' || c.name || ' ' || c.type || ' ' ||"
                       "  c.\"notnull\" || ' ' || c.pk AS line"
                       "  FROM sqlite_schema s, pragma_table_info(s.name) c"
                       " UNION ALL SELECT name || ' ' || sql FROM sqlite_schema"
                       "  WHERE type IN ('view', 'index') AND sql IS NOT NULL ORDER BY 1)",
                       -1, &statement, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    layout = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return layout;
}

static void a_file_of_schema_1_gets_the_layout_of_a_new_one_and_keeps_its_rows(void **state)
{
    char *folder = test_scratch_create();
    char *old_path = test_scratch_path(folder, "old.db");
    char *new_path = test_scratch_path(folder, "new.db");
    struct test_period period = { .time_ns = UINT64_C(1700000221000000000),
                                  .completed = 5,
                                  .latency_ns = 5 };
    (void)state;

    make_file_1(old_path);
    assert_int_equal(ntk_store_close(open_store(old_path), NULL), 0);
    assert_int_equal(ntk_store_close(open_store(new_path), NULL), 0);
    char *old_layout = layout_of(old_path);
    char *new_layout = layout_of(new_path);
    assert_string_equal(old_layout, new_layout);
    sqlite3 *db = test_tier_open(old_path);
    assert_int_equal(test_tier_number(db, "PRAGMA user_version"), NTK_STORE_SCHEMA_VERSION);
    assert_int_equal(test_tier_number(db, "SELECT sum(completed) FROM execution_sample"), 260);
    assert_int_equal(test_tier_number(db, "SELECT completed FROM process_overview"), 260);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM errors"), 1);
    /* What the first version did not know stays unknown. */
    assert_int_equal(test_tier_number(db, "SELECT count(in_flight) FROM core_sample"), 0);
    sqlite3_close(db);

    /* The next period of the same process: its past is merged, its histogram goes on. */
    struct ntk_store *store = open_store(old_path);
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    assert_int_equal(ntk_store_close(store, NULL), 0);
    db = test_tier_open(old_path);
    test_tier_check(db);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM process"), 1);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM execution_minute"), 3);
    assert_int_equal(test_tier_number(db, "SELECT sum(executions) FROM model_minute"), 260);
    assert_int_equal(test_tier_number(db, "SELECT vcpu_user_ns FROM machine_minute LIMIT 1"),
                     INT64_C(15000000000));
    assert_int_equal(test_tier_number(db, "SELECT latency_histogram = x'0123010507'"
                                          " FROM core_total WHERE core = 4"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT busy_percent = 50 FROM core_by_minute LIMIT 1"),
                     1);
    sqlite3_close(db);

    free(old_layout);
    free(new_layout);
    free(old_path);
    free(new_path);
    test_scratch_destroy(folder);
}

/* Method: a table in the way makes the last step fail; nothing of the steps before may be seen. */
static void a_migration_that_fails_leaves_the_old_file(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "old.db");
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };
    (void)state;

    make_file_1(path);
    sqlite3 *db = test_tier_open(path);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE core_hour (a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    char *before = layout_of(path);
    assert_true(ntk_store_open(path, NULL, &store, &err) < 0);
    assert_non_null(strstr(err.text, "core_hour"));
    char *after = layout_of(path);
    assert_string_equal(before, after);
    db = test_tier_open(path);
    assert_int_equal(test_tier_number(db, "PRAGMA user_version"), 1);
    sqlite3_close(db);
    free(before);
    free(after);
    free(path);
    test_scratch_destroy(folder);
}

static void a_file_of_schema_2_gets_the_layout_of_a_new_one_and_keeps_its_rows(void **state)
{
    char *folder = test_scratch_create();
    char *old_path = test_scratch_path(folder, "old.db");
    char *new_path = test_scratch_path(folder, "new.db");
    (void)state;

    make_file_2(old_path);
    sqlite3 *db = test_tier_open(old_path);
    int64_t completed = test_tier_number(db, "SELECT sum(completed) FROM execution_sample");
    assert_true(completed > 0);
    sqlite3_close(db);
    assert_int_equal(ntk_store_close(open_store(old_path), NULL), 0);
    assert_int_equal(ntk_store_close(open_store(new_path), NULL), 0);
    char *old_layout = layout_of(old_path);
    char *new_layout = layout_of(new_path);
    assert_string_equal(old_layout, new_layout);
    db = test_tier_open(old_path);
    assert_int_equal(test_tier_number(db, "PRAGMA user_version"), NTK_STORE_SCHEMA_VERSION);
    assert_int_equal(test_tier_number(db, "SELECT sum(completed) FROM execution_sample"),
                     completed);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM unwatched"), 0);
    test_tier_check(db);
    sqlite3_close(db);
    free(old_layout);
    free(new_layout);
    free(old_path);
    free(new_path);
    test_scratch_destroy(folder);
}

/* ---- read as they lie ---- */

static int add_executions(const struct ntk_store_executions *step, void *ctx)
{
    struct ntk_store_executions *sum = ctx;

    sum->completed += step->completed;
    sum->total_latency.count += step->total_latency.count;
    sum->covered_ns += step->covered_ns;
    return 0;
}

static int count_process(const struct ntk_store_process *process, void *ctx)
{
    assert_true(process->completed > 0);
    ++*(size_t *)ctx;
    return 0;
}

static int count_event(const struct ntk_store_event *event, void *ctx)
{
    assert_true(event->time_ns > 0);
    ++*(size_t *)ctx;
    return 0;
}

static int count_name(const char *name, void *ctx)
{
    assert_true(name[0] != '\0');
    ++*(size_t *)ctx;
    return 0;
}

/* Every question of the reader; the executions that it tells of. */
static uint64_t ask_all(const char *path)
{
    struct ntk_store_filter all = { 0 };
    struct ntk_store_filter nobody = { .has_core = true, .core = 99 };
    struct ntk_store_executions sum = { 0 };
    struct ntk_store_reader *reader = NULL;
    struct ntk_store_window window = { .step_ns = UINT64_C(60000000000) };
    struct ntk_snapshot *snapshot = NULL;
    struct ntk_store_point *points = NULL;
    struct ntk_err err = { 0 };
    uint64_t time_ns = 0;
    size_t count = 0;

    if (ntk_store_reader_open(path, &reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(
        ntk_store_reader_span(reader, NTK_STORE_SECOND, &window.from_ns, &window.to_ns, &err), 0);
    window.from_ns--;
    if (ntk_store_reader_executions(reader, &all, &window, add_executions, &sum, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(sum.total_latency.count, sum.completed);
    for (int metric = 0; metric < NTK_STORE_METRIC_COUNT; metric++) {
        if (ntk_store_reader_series(reader, (enum ntk_store_metric)metric, &all, &window, &points,
                                    &count, &err) < 0) {
            fail_msg("%s: %s", ntk_store_metrics[metric].name, err.text);
        }
        assert_true(count > 0);
        free(points);
    }
    count = 0;
    if (ntk_store_reader_processes(reader, &all, &window, count_process, &count, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(count, 1);
    count = 0;
    assert_int_equal(ntk_store_reader_models(reader, &all, &window, count_name, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_int_equal(ntk_store_reader_check(reader, &nobody, &err), -ENOENT);
    assert_int_equal(
        ntk_store_reader_next(reader, window.from_ns + UINT64_C(5000000000), &time_ns, &err), 0);
    if (ntk_store_reader_events(reader, &all, &window, NTK_STORE_EVENTS_ALL, count_event, &count,
                                &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_true(count > 1);
    if (ntk_store_reader_snapshot_at(reader, time_ns, &snapshot, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(snapshot->runtime_count, 1);
    assert_true(snapshot->runtimes[0].core_count > 0);
    ntk_snapshot_destroy(snapshot);
    ntk_store_reader_close(reader);
    return sum.completed;
}

/* Method: the bytes of the file before and after; then an agent brings it up to date and answers alike. */
static void check_read_as_it_lies(void (*make)(const char *path))
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "old.db");
    uint8_t *before;
    uint8_t *after;
    size_t before_count;
    size_t after_count;

    make(path);
    assert_int_equal(ntk_fs_read(path, 1 << 24, &before, &before_count, NULL), 0);
    uint64_t completed = ask_all(path);
    assert_true(completed > 0);
    assert_int_equal(ntk_fs_read(path, 1 << 24, &after, &after_count, NULL), 0);
    assert_int_equal(before_count, after_count);
    assert_memory_equal(before, after, before_count);
    assert_int_equal(ntk_store_close(open_store(path), NULL), 0);
    assert_int_equal(ask_all(path), completed);
    free(before);
    free(after);
    free(path);
    test_scratch_destroy(folder);
}

static void a_file_of_schema_1_is_read_as_it_lies(void **state)
{
    (void)state;
    check_read_as_it_lies(make_file_1);
}

static void a_file_of_schema_2_is_read_as_it_lies(void **state)
{
    (void)state;
    check_read_as_it_lies(make_file_2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_schema_1_gets_the_layout_of_a_new_one_and_keeps_its_rows),
        cmocka_unit_test(a_migration_that_fails_leaves_the_old_file),
        cmocka_unit_test(a_file_of_schema_2_gets_the_layout_of_a_new_one_and_keeps_its_rows),
        cmocka_unit_test(a_file_of_schema_1_is_read_as_it_lies),
        cmocka_unit_test(a_file_of_schema_2_is_read_as_it_lies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
