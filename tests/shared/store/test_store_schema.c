/* SPDX-License-Identifier: MIT */
/* Tests of the schema: a file of the first version is brought up to date, with all that is in it. */
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

static void make_file_1(const char *path)
{
    char *schema_path =
        test_scratch_path(getenv("NTK_SOURCE_DIR"), "tests/corpus/store/schema-1.sql");
    uint8_t *schema;
    size_t count;
    sqlite3 *db;

    assert_int_equal(ntk_fs_read(schema_path, 1 << 20, &schema, &count, NULL), 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, (const char *)schema, NULL, NULL, NULL), SQLITE_OK);
    if (sqlite3_exec(db, rows_1, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s", sqlite3_errmsg(db));
    }
    sqlite3_close(db);
    free(schema);
    free(schema_path);
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

static void a_reader_says_what_brings_an_old_file_up_to_date(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "old.db");
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };
    (void)state;

    make_file_1(path);
    assert_int_equal(ntk_store_reader_open(path, &reader, &err), -EPROTO);
    assert_non_null(strstr(err.text, "neuron-monitor --db"));
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_schema_1_gets_the_layout_of_a_new_one_and_keeps_its_rows),
        cmocka_unit_test(a_migration_that_fails_leaves_the_old_file),
        cmocka_unit_test(a_reader_says_what_brings_an_old_file_up_to_date),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
