/* SPDX-License-Identifier: MIT */
/* Packed tables: any program reads the same values through the view in the file as our connections
 * do through their virtual table, and both return what was packed. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/store/packed.h"
#include "shared/store/retention.h"
#include "shared/store/store_rows.h"
#include "shared/store/store_schema.h"
#include "shared/store/tier.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/support/unit.h"

/* "plain" holds the rows of core_sample as they are. */
static int set_up(void **state)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(ntk_store_schema_make(db, NULL), 0);
    assert_int_equal(ntk_tier_add_functions(db, NULL), 0);
    assert_int_equal(
        sqlite3_exec(db, "CREATE TEMP TABLE plain AS SELECT * FROM core_sample", NULL, NULL, NULL),
        SQLITE_OK);
    *state = db;
    return 0;
}

static int tear_down(void **state)
{
    sqlite3_close(*state);
    return 0;
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
}

static int64_t ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Packs all rows of "plain" of one time. */
static void pack(sqlite3 *db, int64_t time_ns)
{
    struct ntk_packer *packer = NULL;
    sqlite3_stmt *rows = NULL;
    uint64_t row_count = 0;

    assert_int_equal(ntk_packer_create(db, NTK_FAMILY_CORE, &packer, NULL), 0);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT * FROM plain WHERE time_ns = ?1", -1, &rows, NULL),
        SQLITE_OK);
    sqlite3_bind_int64(rows, 1, time_ns);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        ntk_packer_add(packer);
        for (int c = 1; c < sqlite3_column_count(rows); c++) {
            if (sqlite3_column_type(rows, c) != SQLITE_NULL) {
                ntk_packer_set(packer, ntk_packer_column(packer, sqlite3_column_name(rows, c)),
                               sqlite3_column_int64(rows, c));
            }
        }
    }
    sqlite3_finalize(rows);
    assert_int_equal(ntk_packer_write(packer, (uint64_t)time_ns, &row_count, NULL), 0);
    ntk_packer_destroy(packer);
}

static void assert_same(sqlite3 *db, const char *a, const char *b)
{
    char sql[256];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM %s)", a, b);
    if (ask(db, sql) != 0) {
        fail_msg("%s has rows that are not in %s", a, b);
    }
}

static void assert_unpacked(sqlite3 *db)
{
    int64_t count = ask(db, "SELECT count(*) FROM plain");

    assert_int_equal(ask(db, "SELECT count(*) FROM main.core_sample"), count);
    assert_int_equal(ask(db, "SELECT count(*) FROM temp.core_sample"), count);
    assert_same(db, "plain", "main.core_sample");
    assert_same(db, "plain", "temp.core_sample");
    assert_same(db, "main.core_sample", "plain");
    assert_same(db, "temp.core_sample", "plain");
}

/* Method: for each number of bytes, values just below and above it, alone, next to each other, far
 * from zero, and with unknown values among them. */
static void every_value_is_unpacked_unchanged(void **state)
{
    sqlite3 *db = *state;
    int64_t time_ns = 0;
    char sql[512];

    for (int bits = 0; bits <= 63; bits++) {
        int64_t edge = bits == 63 ? INT64_MAX : (int64_t)1 << bits;
        const int64_t values[][3] = {
            { edge, edge, edge },      { 0, edge - 1, edge },     { edge - 2, edge - 1, edge },
            { -edge, -1, -edge + 1 },  { 1, 1 + edge / 2, edge }, { -edge, 0, edge },
            { -edge, edge - 1, edge },
        };
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            time_ns++;
            (void)snprintf(
                sql, sizeof sql,
                "INSERT INTO plain (time_ns, process_id, core, period_ns, busy_ns, pe_busy_ns)"
                " VALUES (%1$lld, 1, 0, 1, %2$lld, NULL), (%1$lld, 1, 1, 1, %3$lld, %3$lld),"
                " (%1$lld, 2, 7, 1, %4$lld, %4$lld)",
                (long long)time_ns, (long long)values[i][0], (long long)values[i][1],
                (long long)values[i][2]);
            run(db, sql);
            pack(db, time_ns);
        }
    }
    assert_unpacked(db);
}

static void a_packed_row_can_have_more_rows_than_any_before(void **state)
{
    sqlite3 *db = *state;

    run(db, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)"
            " INSERT INTO plain (time_ns, process_id, core, period_ns, busy_ns)"
            " SELECT 5 + i / 1000, i / 8, i % 8, 1, i * 7919 % 1009 FROM n");
    pack(db, 5);
    pack(db, 6);
    pack(db, 7);
    assert_unpacked(db);
    run(db, "DELETE FROM plain WHERE time_ns = 6 AND core > 0");
    pack(db, 6); /* replaces all rows of the time */
    assert_unpacked(db);
}

static void missing_numbers_are_added_again(void **state)
{
    sqlite3 *db = *state;

    run(db, "DELETE FROM number WHERE i IN (3, 8)");
    run(db, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)"
            " INSERT INTO plain (time_ns, process_id, core, period_ns, busy_ns)"
            " SELECT 5, 1, i, 1, i * 7919 % 1009 FROM n");
    pack(db, 5);
    assert_unpacked(db);
    assert_int_equal(ask(db, "SELECT count(*) FROM number"), 20);
}

/* Method: a file with few numbers, and a write that is rolled back. */
static void views_have_all_rows_after_a_rollback(void **state)
{
    sqlite3 *db = *state;
    struct test_period period = { .time_ns = 5, .completed = 3, .latency_ns = 1000 };
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    struct ntk_store_rows *rows = NULL;
    uint64_t row_count = 0;

    run(db, "DELETE FROM number WHERE i > 0");
    assert_int_equal(ntk_store_rows_create(db, &rows, NULL), 0);
    run(db, "BEGIN");
    assert_int_equal(ntk_store_rows_write(rows, snapshot, &row_count, NULL), 0);
    run(db, "ROLLBACK");
    ntk_store_rows_forget(rows);
    assert_int_equal(ntk_store_rows_write(rows, snapshot, &row_count, NULL), 0);
    assert_int_equal(ask(db, "SELECT count(*) FROM temp.core_sample"), 2);
    assert_int_equal(ask(db, "SELECT count(*) FROM main.core_sample"), 2);
    ntk_store_rows_destroy(rows);
    ntk_snapshot_destroy(snapshot);
}

/* Counters in a segment can have any value. */
static void a_counter_above_the_range_does_not_change_other_rows(void **state)
{
    sqlite3 *db = *state;
    struct test_period period = { .time_ns = 5, .completed = 3, .latency_ns = 1000 };
    struct ntk_snapshot *snapshot = test_make_snapshot(&period);
    struct ntk_core_sample *cores = snapshot->runtimes[0].cores;
    struct ntk_store_rows *rows = NULL;
    uint64_t row_count = 0;

    cores[0].has |= NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS;
    cores[1].has |= NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS;
    cores[0].busy_ns.total = UINT64_MAX;
    cores[1].busy_ns.total = 7;
    cores[0].busy_ns.period = UINT64_C(1) << 63;
    cores[1].busy_ns.period = 0;
    assert_int_equal(ntk_store_rows_create(db, &rows, NULL), 0);
    assert_int_equal(ntk_store_rows_write(rows, snapshot, &row_count, NULL), 0);
    for (int i = 0; i < 2; i++) {
        char sql[256];
        (void)snprintf(sql, sizeof sql,
                       "SELECT group_concat(busy_total_ns || ' ' || busy_ns) ="
                       " '9223372036854775807 9223372036854775807,7 0' FROM %s.core_sample",
                       i == 0 ? "main" : "temp");
        assert_int_equal(ask(db, sql), 1);
    }
    ntk_store_rows_destroy(rows);
    ntk_snapshot_destroy(snapshot);
}

/* Fills the seconds of machine_sample and core_sample, which are all merged. */
static void fill_seconds(sqlite3 *db, int count)
{
    char sql[512];

    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO machine_sample (time_ns, period_ns, events_read, events_lost,"
                   " events_unlisted) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
                   " FROM n WHERE i < %d) SELECT i, 1, 0, 0, 0 FROM n",
                   count);
    run(db, sql);
    run(db, "INSERT INTO core_sample_packed (time_ns, row_count, process_id, core, period_ns)"
            " SELECT time_ns, 1, 1, 0, 1 FROM machine_sample");
    run(db, "UPDATE tier SET done_ns = 1000000 WHERE tier <> 'second'");
}

/* Method: the age limit deletes more than a slice, then the size limit more than a slice. */
static void retention_keeps_the_same_periods_of_all_tables(void **state)
{
    enum { SECONDS = 20 * NTK_RETENTION_SLICE_PACKED, OLD = 3 * NTK_RETENTION_SLICE_PACKED };
    sqlite3 *db = *state;
    struct ntk_retention retention = { { SECONDS - OLD, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
    int ret = 1;

    fill_seconds(db, SECONDS);
    for (int run_count = 0; run_count < 12 && ret > 0; run_count++) {
        retention.keep_bytes = run_count < 6 ? UINT64_MAX : 1;
        ret = ntk_retention_run(db, &retention, SECONDS, NULL);
        assert_true(ret >= 0);
        int64_t first_ns = ask(db, "SELECT first_ns FROM tier WHERE tier = 'second'");
        assert_true(first_ns > 0);
        assert_int_equal(ask(db, "SELECT min(time_ns) FROM core_sample_packed"), first_ns);
        assert_int_equal(ask(db, "SELECT min(time_ns) FROM machine_sample"), first_ns);
        if (ret == 0 && retention.keep_bytes == UINT64_MAX) {
            assert_int_equal(first_ns, OLD);
            ret = 1;
        }
    }
    assert_true(ask(db, "SELECT first_ns FROM tier WHERE tier = 'second'") > 2 * OLD);
}

static void retention_passes_a_time_with_more_rows_than_a_slice(void **state)
{
    sqlite3 *db = *state;
    const struct ntk_retention retention = { { 1, UINT64_MAX, UINT64_MAX }, UINT64_MAX };
    char sql[512];
    int ret = 1;

    fill_seconds(db, 9);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO memory_sample WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
                   " SELECT i + 1 FROM n WHERE i < %d) SELECT 4 + i / %d, 1, i, 0, 0, 1, 1 FROM n",
                   3 * NTK_RETENTION_SLICE_ROWS, NTK_RETENTION_SLICE_ROWS + 1);
    run(db, sql);
    for (int i = 0; i < 4 && ret > 0; i++) {
        ret = ntk_retention_run(db, &retention, 9, NULL);
    }
    assert_int_equal(ret, 0);
    assert_int_equal(ask(db, "SELECT count(*) FROM memory_sample"), 0);
    assert_int_equal(ask(db, "SELECT min(time_ns) FROM core_sample"), 8);
}

static void aggregates_pack_the_same_way(void **state)
{
    sqlite3 *db = *state;

    run(db, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
            " INSERT INTO core_minute_packed (time_ns, row_count, process_id, core, samples,"
            " period_ns, busy_ratio_max, busy_ns, flops)"
            " SELECT 60, count(*), pack(i / 4), pack(i % 4), pack(60), pack(60), pack(i / 100.0),"
            " pack(i * i * i * 1000003), pack(CASE WHEN i % 3 THEN i - 50 END) FROM n");
    run(db, "INSERT OR IGNORE INTO number WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
            " SELECT i + 1 FROM n WHERE i < 99) SELECT i FROM n");
    assert_same(db, "main.core_minute", "temp.core_minute");
    assert_same(db, "temp.core_minute", "main.core_minute");
    assert_int_equal(ask(db, "SELECT count(*) FROM core_minute WHERE flops IS NULL"), 34);
    assert_int_equal(ask(db, "SELECT sum(flops) FROM core_minute"), -33);
    assert_int_equal(ask(db, "SELECT busy_ns FROM core_minute WHERE process_id = 24 AND core = 3"),
                     INT64_C(99) * 99 * 99 * 1000003);
    assert_int_equal(ask(db, "SELECT count(*) FROM core_minute"
                             " WHERE busy_ratio_max = (process_id * 4 + core) / 100.0"
                             " AND typeof(busy_ratio_max) = 'real'"),
                     100);
}

static void the_virtual_table_finds_times_in_both_directions(void **state)
{
    static const char *const conditions[] = { "time_ns = 7",
                                              "time_ns > 3 AND time_ns <= 8",
                                              "time_ns >= 9 OR time_ns < 2",
                                              "time_ns BETWEEN 4 AND 5 AND core = 1",
                                              "time_ns IN (2, 4, 99)",
                                              "time_ns > 6.5",
                                              "time_ns < 'abc'",
                                              "time_ns > 'abc'",
                                              "time_ns < x'00'",
                                              "(time_ns > 3 AND time_ns < 5) OR (time_ns > 7 AND"
                                              " time_ns < 9)",
                                              "time_ns = 2 OR time_ns = 5",
                                              "time_ns > NULL",
                                              "time_ns = '7'" };
    sqlite3 *db = *state;
    char sql[512];

    for (int64_t time_ns = 1; time_ns <= 9; time_ns++) {
        (void)snprintf(sql, sizeof sql,
                       "INSERT INTO plain (time_ns, process_id, core, period_ns, busy_ns) VALUES"
                       " (%1$lld, 1, 0, 1, %1$lld), (%1$lld, 1, 1, 1, 100 + %1$lld)",
                       (long long)time_ns);
        run(db, sql);
        pack(db, time_ns);
    }
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        for (int backwards = 0; backwards < 2; backwards++) {
            const char *order = backwards ? "DESC" : "ASC";
            (void)snprintf(sql, sizeof sql,
                           "SELECT (SELECT group_concat(busy_ns) FROM (SELECT busy_ns FROM"
                           " core_sample WHERE %1$s ORDER BY time_ns %2$s, core)) IS (SELECT"
                           " group_concat(busy_ns) FROM (SELECT busy_ns FROM plain WHERE %1$s"
                           " ORDER BY time_ns %2$s, core))",
                           conditions[i], order);
            if (ask(db, sql) != 1) {
                fail_msg("%s %s: other rows", conditions[i], order);
            }
        }
    }
    /* The statement does not use the columns of the key. */
    assert_int_equal(ask(db, "SELECT sum(busy_ns) FROM core_sample WHERE (time_ns > 3 AND"
                             " time_ns < 5) OR (time_ns > 7 AND time_ns < 9)"),
                     2 * 4 + 2 * 8 + 200);
    assert_int_equal(ask(db, "SELECT min(time_ns) FROM core_sample WHERE time_ns > 4"), 5);
    assert_int_equal(ask(db, "SELECT max(time_ns) FROM core_sample"), 9);
    assert_int_equal(ask(db, "SELECT time_ns FROM core_sample ORDER BY time_ns DESC LIMIT 1"), 9);
    assert_int_equal(ask(db, "SELECT sum(c.busy_ns) FROM plain p LEFT JOIN core_sample c"
                             " ON c.time_ns = p.time_ns AND c.core = p.core"),
                     2 * 45 + 900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_value_is_unpacked_unchanged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_packed_row_can_have_more_rows_than_any_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(missing_numbers_are_added_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(views_have_all_rows_after_a_rollback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_counter_above_the_range_does_not_change_other_rows,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(retention_keeps_the_same_periods_of_all_tables, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(retention_passes_a_time_with_more_rows_than_a_slice, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(aggregates_pack_the_same_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_virtual_table_finds_times_in_both_directions, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
