/* SPDX-License-Identifier: MIT */
/*
 * Power cuts at any moment: committed data exists, the file is intact, and the next agent
 * continues. Method: a disk that records writes and syncs. After the run, the states after cuts at
 * many points are written to a real disk and opened. Also a disk that is read-only, from the start
 * or all at once.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/store.h"
#include "shared/store/store_reader.h"
#include "tests/shared/store/make_snapshot.h"
#include "tests/shared/store/power_vfs.h"
#include "tests/shared/store/tier_check.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define T0 UINT64_C(1700000000000000000)
#define PERIODS 160
#define CUTS 240

static const struct ntk_store_options options = { .keep_ns = { UINT64_MAX, UINT64_MAX, UINT64_MAX },
                                                  .commit_ns = 1,
                                                  .retry_ns = 1000000 };

struct wait {
    struct ntk_store *store;
    uint64_t count;
    bool failing;
};

static int is_reached(void *ctx)
{
    struct wait *wait = ctx;
    struct ntk_store_status status;

    ntk_store_status_get(wait->store, &status);
    return wait->failing ? status.failing
                         : !status.failing && status.snapshots_stored >= wait->count;
}

static void put(struct ntk_store *store, struct test_period *period)
{
    period->time_ns += 7 * SECOND; /* a minute ends every ninth time */
    period->completed = 1 + period->sequence % 5;
    period->latency_ns = 1000 + 100 * period->sequence;
    period->memory_bytes = 4096 * period->sequence;
    struct ntk_snapshot *snapshot = test_make_snapshot(period);
    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
}

/* The file after a cut: intact, and complete up to the last mark. */
static void check_cut(const char *path, uint64_t committed)
{
    sqlite3 *db = test_tier_open(path);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    int64_t version = test_tier_number(db, "PRAGMA user_version");
    assert_true(version == NTK_STORE_SCHEMA_VERSION || (version == 0 && committed == 0));
    if (version != 0) {
        int64_t stored = test_tier_number(db, "SELECT count(*) FROM machine_sample");
        assert_true(stored >= (int64_t)committed);
        /* At most the period that was being committed. */
        assert_true(stored <= (int64_t)committed + 1);
        assert_int_equal(test_tier_number(db, "SELECT count(*) FROM core_sample"), 2 * stored);
        test_tier_check(db);
    }
    sqlite3_close(db);
}

/* An agent can continue with it. */
static void resume(const char *path)
{
    struct ntk_store *store = NULL;
    struct ntk_store_status status;
    struct ntk_err err = { 0 };
    struct test_period period = { .time_ns = T0 + 10000 * SECOND };

    if (ntk_store_open(path, &options, &store, &err) < 0) {
        fail_msg("%s", err.text);
    }
    put(store, &period);
    assert_true(test_wait_until(is_reached, &(struct wait){ store, 1, false }));
    ntk_store_status_get(store, &status);
    assert_int_equal(status.set_aside_count, 0);
    assert_int_equal(ntk_store_close(store, NULL), 0);
}

static void committed_rows_survive_a_power_failure(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "store.db");
    char *after = test_scratch_path(folder, "after.db");
    struct test_period period = { .time_ns = T0 };
    struct ntk_store *store = NULL;
    unsigned int seed = 11;

    power_vfs_record(path);
    assert_int_equal(ntk_store_open(path, &options, &store, NULL), 0);
    for (uint64_t i = 1; i <= PERIODS; i++) {
        put(store, &period);
        assert_true(test_wait_until(is_reached, &(struct wait){ store, i, false }));
        power_vfs_mark(i);
        if (i == PERIODS / 2) {
            /* An agent that exits and restarts: the log is merged into the file and removed. */
            assert_int_equal(ntk_store_close(store, NULL), 0);
            assert_int_equal(ntk_store_open(path, &options, &store, NULL), 0);
            put(store, &period);
            assert_true(test_wait_until(is_reached, &(struct wait){ store, 1, false }));
            power_vfs_mark(++i);
            assert_int_equal(ntk_store_close(store, NULL), 0);
            break;
        }
    }
    power_vfs_remove();
    assert_true(power_vfs_count() > 800);
    for (int cut = 0; cut < CUTS; cut++) {
        size_t at = cut == 0 ? power_vfs_count() : (size_t)rand_r(&seed) % power_vfs_count();
        power_vfs_restore(at, cut % 2 ? (unsigned int)rand_r(&seed) + 1 : 0, after);
        check_cut(after, power_vfs_marked(at));
        if (cut % 16 == 0) { /* its syncs are real, and slow */
            resume(after);
        }
    }
    power_vfs_forget();
    free(path);
    free(after);
    test_scratch_destroy(folder);
}

static int count_columns(size_t count, const char *const *names, const char *const *values,
                         void *ctx)
{
    (void)names;
    (void)values;
    *(size_t *)ctx += count;
    return 0;
}

static void a_database_on_a_read_only_disk_can_be_read(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "a?b#c%20.db");
    struct test_period period = { .time_ns = T0 };
    struct ntk_store *store = NULL;
    struct ntk_store_status status;
    struct ntk_store_reader *reader = NULL;
    struct ntk_err err = { 0 };
    size_t columns = 0;

    power_vfs_record(path);
    assert_int_equal(ntk_store_open(path, &options, &store, &err), 0);
    put(store, &period);
    assert_true(test_wait_until(is_reached, &(struct wait){ store, 1, false }));
    /* The disk becomes read-only: reported, kept in memory, and stored when the disk works again.
     * */
    power_vfs_set_read_only(true);
    put(store, &period);
    assert_true(test_wait_until(is_reached, &(struct wait){ store, 1, true }));
    ntk_store_status_get(store, &status);
    assert_true(strlen(status.text) > 0);
    assert_int_equal(status.set_aside_count, 0);
    power_vfs_set_read_only(false);
    assert_true(test_wait_until(is_reached, &(struct wait){ store, 2, false }));
    assert_int_equal(ntk_store_close(store, &err), 0);

    /* Read-only: an agent reports it, and a reader can read. */
    power_vfs_set_read_only(true);
    assert_true(ntk_store_open(path, &options, &store, &err) < 0);
    assert_non_null(strstr(err.text, path));
    if (ntk_store_reader_open(path, &reader, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ntk_store_reader_query(reader, "SELECT time_ns FROM machine_sample",
                                            count_columns, &columns, &err),
                     0);
    assert_int_equal(columns, 2);
    ntk_store_reader_close(reader);
    power_vfs_remove();
    power_vfs_forget();
    free(path);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_rows_survive_a_power_failure),
        cmocka_unit_test(a_database_on_a_read_only_disk_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
