/* SPDX-License-Identifier: MIT */
/* The tiers: minutes and hours are always exactly the sums of their seconds. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/store.h"
#include "shared/store/store_histogram.h"
#include "shared/store/tier.h"
#include "tests/shared/store/fixture.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define HOUR_0 UINT64_C(1699999200000000000) /* on the hour */

static struct ntk_store *open_store(const char *path)
{
    struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                         .commit_ns = 20000000 };
    struct ntk_store *store = NULL;
    struct ntk_err err = { 0 };

    if (ntk_store_open(path, &options, &store, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return store;
}

static void put(struct ntk_store *store, struct test_period *period, uint64_t i)
{
    period->completed = 1 + i % 7;
    period->latency_ns = 1000 * (1 + i * i % 97);
    period->memory_bytes = 4096 * (1 + i * 31 % 57);
    struct ntk_snapshot *snapshot = test_make_snapshot(period);
    test_store_put(store, snapshot);
}

static void minute_and_hour_rows_are_sums_of_second_rows(void **state)
{
    struct fixture *f = *state;
    struct ntk_store *store = open_store(f->path);
    struct test_period period = { 0 };
    struct ntk_histogram_dense *minute = calloc(1, sizeof *minute);
    const double percent = 99;
    double p99_ns;

    /* Two hours and a bit, every second second, with a gap of twenty minutes. */
    for (uint64_t i = 2; i <= 7300; i += i == 4000 ? 1200 : 2) {
        period.time_ns = HOUR_0 + i * SECOND;
        put(store, &period, i);
        for (uint64_t n = 0; i > 60 && i <= 120 && n < period.completed; n++) {
            ntk_histogram_dense_record(minute, period.latency_ns);
        }
    }
    assert_int_equal(ntk_store_close(store, NULL), 0);

    sqlite3 *db = test_tier_open(f->path);
    test_tier_check(db);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM machine_hour"), 2);
    assert_int_equal(test_tier_number(db, "SELECT count(*) FROM machine_minute"), 121 - 19);
    assert_int_equal(test_tier_number(db, "SELECT samples FROM machine_hour LIMIT 1"), 1800);
    assert_int_equal(test_tier_number(db, "SELECT max(time_ns) FROM core_hour"),
                     HOUR_0 + 7200 * SECOND);
    assert_int_equal(test_tier_number(db, "SELECT busy_ns FROM core_hour WHERE core = 4 LIMIT 1"),
                     900 * SECOND);
    /* Compared with numbers that were not computed by the store. */
    assert_true(ntk_histogram_dense_percentiles(minute, &percent, 1, &p99_ns));
    assert_int_equal(test_tier_number(db, "SELECT total_latency_p99_ns FROM execution_minute"
                                          " WHERE core = 4 LIMIT 1 OFFSET 1"),
                     (int64_t)p99_ns);
    struct ntk_buf blob = { 0 };
    ntk_store_histogram_encode_dense(minute, &blob);
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(db,
                       "SELECT total_latency_histogram FROM execution_minute"
                       " WHERE core = 4 LIMIT 1 OFFSET 1",
                       -1, &statement, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_bytes(statement, 0), blob.bytes_count);
    assert_memory_equal(sqlite3_column_blob(statement, 0), blob.bytes, blob.bytes_count);
    sqlite3_finalize(statement);
    ntk_buf_fini(&blob);
    sqlite3_close(db);
    free(minute);
}

static void rows_are_complete_after_the_clock_is_set_back(void **state)
{
    struct fixture *f = *state;
    struct test_period period = { 0 };

    for (int round = 0; round < 3; round++) {
        struct ntk_store *store = open_store(f->path);
        /* Each round starts 200 s before the previous one ended, between its samples. */
        for (uint64_t i = 1; i <= 400; i++) {
            period.time_ns =
                HOUR_0 + (uint64_t)round * 200 * SECOND + i * SECOND + (uint64_t)round * 1000;
            put(store, &period, i);
        }
        assert_int_equal(ntk_store_close(store, NULL), 0);
        sqlite3 *db = test_tier_open(f->path);
        test_tier_check(db);
        sqlite3_close(db);
    }
    sqlite3 *db = test_tier_open(f->path);
    assert_int_equal(test_tier_number(db, "SELECT sum(samples) FROM machine_minute"),
                     3 * 400 - 21 /* the open minute */);
    sqlite3_close(db);
}

/* Method: a minute of one process is merged, its seconds are deleted, and in the repeated minute
 * there is only another process. */
static void entities_stay_in_a_minute_that_is_merged_again_without_them(void **state)
{
    static const char *const families[] = { "process", "core", "execution" };
    struct fixture *f = *state;
    struct test_period period = { .uid = 1 };
    struct test_period other = { .uid = 2 };
    char sql[256];

    for (int round = 0; round < 3; round++) {
        struct ntk_store *store = open_store(f->path);
        for (uint64_t i = round == 0 ? 1 : 31; i <= 70; i++) {
            struct test_period *now = round == 0 ? &period : &other;
            now->time_ns = HOUR_0 + i * SECOND;
            put(store, now, i);
        }
        assert_int_equal(ntk_store_close(store, NULL), 0);
        sqlite3 *db = test_tier_open(f->path);
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
            bool is_packed = strcmp(families[i], "execution") != 0;
            (void)snprintf(sql, sizeof sql, "DELETE FROM %s_sample%s", families[i],
                           is_packed ? "_packed" : "");
            assert_int_equal(round > 0 ? SQLITE_OK : sqlite3_exec(db, sql, NULL, NULL, NULL),
                             SQLITE_OK);
            (void)snprintf(sql, sizeof sql,
                           "SELECT count(*) FROM %s_minute WHERE process_id = 1 AND samples = 60",
                           families[i]);
            assert_int_equal(test_tier_number(db, sql), i == 0 ? 1 : 2);
            (void)snprintf(sql, sizeof sql,
                           "SELECT count(*) FROM %s_minute WHERE process_id = 2 AND samples = 30",
                           families[i]);
            assert_int_equal(test_tier_number(db, sql), round == 0 ? 0 : i == 0 ? 1 : 2);
        }
        sqlite3_close(db);
    }
}

static void stored_sums_that_overflow_are_limited_to_the_maximum(void **state)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(ntk_tier_add_functions(db, NULL), 0);
    assert_int_equal(test_tier_number(db, "SELECT add_up(column1) FROM"
                                          " (VALUES (9223372036854775807), (5), (NULL))"),
                     INT64_MAX);
    assert_int_equal(test_tier_number(db, "SELECT add_up(column1) IS NULL FROM (VALUES (NULL))"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT newest(column1, column2) FROM"
                                          " (VALUES (7, 3), (8, 5), (NULL, 9), (6, 1))"),
                     8);
    /* Malformed histograms are skipped. */
    assert_int_equal(test_tier_number(db,
                                      "SELECT hex(histogram_merge(column1)) = '01050105' || '01'"
                                      " FROM (VALUES (x'0105010501'), (x'02'), (x'01'), (NULL))"),
                     1);
    assert_int_equal(test_tier_number(db, "SELECT histogram_percentile(x'0105010501', 99)"), 5);
    assert_int_equal(test_tier_number(db, "SELECT histogram_percentile(x'010000', 99) IS NULL"), 1);
    assert_int_equal(test_tier_number(db, "SELECT histogram_percentile('text', 99) IS NULL"), 1);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(minute_and_hour_rows_are_sums_of_second_rows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rows_are_complete_after_the_clock_is_set_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(entities_stay_in_a_minute_that_is_merged_again_without_them,
                                        set_up, tear_down),
        cmocka_unit_test(stored_sums_that_overflow_are_limited_to_the_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
