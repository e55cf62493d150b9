/* SPDX-License-Identifier: MIT */
/* store_fixture - a store that periods are put to, and SQL queries on its file. */
#include "tests/shared/store/store_fixture.h"

#include <sqlite3.h>
#include <stdio.h>

#include "shared/store/store_reader.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static int take_text(size_t count, const char *const *names, const char *const *values, void *ctx)
{
    (void)names;
    assert_true(count >= 1);
    snprintf(ctx, 256, "%s", values[0] ? values[0] : "NULL");
    return 0;
}

const char *ask(const char *path, const char *sql)
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

const char *ask_sqlite(const char *path, const char *sql)
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

void put(struct ntk_store *store, struct test_period *period)
{
    struct ntk_snapshot *snapshot = test_make_snapshot(period);

    ntk_store_put(store, snapshot);
    ntk_snapshot_destroy(snapshot);
    period->time_ns += SECOND;
}

static int has_room(void *store)
{
    struct ntk_store_status status;

    ntk_store_status_get(store, &status);
    return status.snapshots_waiting <= NTK_STORE_QUEUE_MAX / 2;
}

void wait_for_room(struct ntk_store *store)
{
    assert_true(test_wait_until(has_room, store));
}

struct ntk_store *open_store(const char *path)
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

void begin_life(struct test_period *period, uint64_t began_ns, uint64_t completed)
{
    period->began_ns = began_ns;
    period->completed = completed;
    period->completed_total = 0;
}

int has_stored_all(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return !status.failing && status.snapshots_waiting == 0;
}

int has_stored_one(void *ctx)
{
    struct ntk_store_status status;

    ntk_store_status_get(ctx, &status);
    return status.snapshots_stored == 1;
}
