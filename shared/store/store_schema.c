/* SPDX-License-Identifier: MIT */
/* store_schema - creates and checks the layout of the database. */
#include "shared/store/store_schema.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"
#include "shared/store/schema.h" /* generated from the *.sql files */
#include "shared/store/columns.h"
#include "shared/store/packed.h"
#include "shared/store/store_sql.h"
#include "shared/store/tier.h"

static int fill_categories(sqlite3 *db, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    uint64_t row_count = 0;
    int ret = ntk_store_sql_prepare_row(db, "memory_category", "", &statement, err);

    for (int i = 0; ret == 0 && i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        bool on_host = ntk_memory_location_of((enum ntk_memory_category)i) == NTK_MEMORY_HOST;
        ntk_store_sql_bind(statement, "category", (uint64_t)i);
        ntk_store_sql_bind_text(statement, "name", ntk_memory_category_names[i]);
        ntk_store_sql_bind_text(statement, "location", on_host ? "host" : "device");
        ret = ntk_store_sql_run(db, statement, &row_count, err);
    }
    sqlite3_finalize(statement);
    return ret;
}

static void add_replaced(struct ntk_buf *sql, const char *text, const char *from, const char *to)
{
    const char *next;

    while ((next = strstr(text, from))) {
        ntk_buf_add(sql, text, (size_t)(next - text));
        ntk_buf_add_text(sql, to);
        text = next + strlen(from);
    }
    ntk_buf_add_text(sql, text);
}

static int make_tier(sqlite3 *db, const char *name, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    add_replaced(&sql, ntk_store_schema_tiers, "@", name);
    int ret = ntk_buf_ok(&sql) ? ntk_columns_exec(db, ntk_buf_text_get(&sql), err)
                               : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}

/* Runs the text for each packed table. */
static int exec_packed(sqlite3 *db, const char *text, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    for (int i = 0; i < NTK_FAMILY_COUNT * NTK_STORE_TIER_COUNT; i++) {
        enum ntk_tier_family family = (enum ntk_tier_family)(i / NTK_STORE_TIER_COUNT);
        enum ntk_store_tier tier = (enum ntk_store_tier)(i % NTK_STORE_TIER_COUNT);
        char name[NTK_PACKED_NAME_BYTES];
        if (ntk_packed_is(family)) {
            ntk_packed_name(family, tier, name);
            ntk_packed_tell(&sql, text, name);
        }
    }
    int ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                               : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}

static int make_tables(sqlite3 *db, struct ntk_err *err)
{
    int ret = ntk_columns_exec(db, ntk_store_schema, err);

    ret = ret < 0 ? ret : exec_packed(db, ntk_store_schema_packed, err);
    ret = ret < 0 ? ret : make_tier(db, ntk_tier_names[NTK_STORE_MINUTE], err);
    return ret < 0 ? ret : make_tier(db, ntk_tier_names[NTK_STORE_HOUR], err);
}

static int fill(sqlite3 *db, struct ntk_err *err)
{
    int ret = make_tables(db, err);

    ret = ret < 0 ? ret : exec_packed(db, ntk_store_views_packed, err);
    ret = ret < 0 ? ret : ntk_columns_exec(db, ntk_store_views, err);
    ret = ret < 0 ? ret : fill_categories(db, err);
    if (ret == 0) {
        char *end = sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                                    NTK_STORE_APPLICATION_ID, NTK_STORE_SCHEMA_VERSION);
        ret = end ? ntk_store_sql_exec(db, end, err) : ntk_err_no_memory(err);
        sqlite3_free(end);
    }
    return ret;
}

int ntk_store_schema_make(sqlite3 *db, struct ntk_err *err)
{
    int ret = ntk_store_sql_exec(db,
                                 "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
                                 "PRAGMA synchronous = FULL; BEGIN IMMEDIATE",
                                 err);

    ret = ret < 0 ? ret : fill(db, err);
    if (ret < 0 && !sqlite3_get_autocommit(db)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return ret;
}

/* ---- permitted contents of a file ---- */

/* Additions by users that do not affect us: the tables of ANALYZE, and views. */
static const char known_sql[] =
    "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
    " WHERE NOT (type = 'view' AND sql LIKE 'CREATE VIEW %')"
    " AND (name, coalesce(sql, '')) NOT IN (VALUES"
    " ('sqlite_stat1', 'CREATE TABLE sqlite_stat1(tbl,idx,stat)'),"
    " ('sqlite_stat4', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'))"
    " ORDER BY name, type";

enum { TYPE, NAME, TABLE, SQL, KNOWN_COLUMNS };

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return text ? text : "";
}

static int make_layout(struct ntk_buf *layout, struct ntk_err *err)
{
    sqlite3 *model = NULL;
    sqlite3_stmt *objects = NULL;
    int step = SQLITE_DONE;
    int ret = sqlite3_open_v2(":memory:", &model,
                              SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                              NULL) == SQLITE_OK
                  ? make_tables(model, err)
                  : ntk_err_no_memory(err);

    ret = ret < 0 ? ret : ntk_store_sql_prepare(model, known_sql, &objects, err);
    while (ret == 0 && (step = sqlite3_step(objects)) == SQLITE_ROW) {
        for (int column = 0; column < KNOWN_COLUMNS; column++) {
            const char *text = text_of(objects, column);
            ntk_buf_add(layout, text, strlen(text) + 1);
        }
    }
    ret = ret == 0 && step != SQLITE_DONE ? ntk_store_sql_error(model, "database", err) : ret;
    sqlite3_finalize(objects);
    sqlite3_close(model);
    return ret < 0 || ntk_buf_ok(layout) ? ret : ntk_err_no_memory(err);
}

/* What known_sql lists for a database of ours: the columns of each object, each with its NUL.
 * Made once per process, because that takes longer than opening a file. */
static int get_layout(const struct ntk_buf **out_layout, struct ntk_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ntk_buf layout;
    struct ntk_buf made = { 0 };

    pthread_mutex_lock(&lock);
    int ret = layout.bytes ? 0 : make_layout(&made, err);
    if (ret < 0) {
        ntk_buf_fini(&made);
    } else if (!layout.bytes) {
        layout = made;
    }
    pthread_mutex_unlock(&lock);
    *out_layout = &layout;
    return ret;
}

static int complain(bool is_missing, const char *name, struct ntk_err *err)
{
    return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                       is_missing ? "not a neuron-monitor database: missing '%.64s'"
                                  : "not created by neuron-monitor: unexpected '%.64s'",
                       name);
}

static int compare(sqlite3 *db, sqlite3_stmt *theirs, const struct ntk_buf *layout,
                   struct ntk_err *err)
{
    const char *ours = layout->bytes;
    const char *end = ours + layout->bytes_count;
    int step;

    while ((step = sqlite3_step(theirs)) == SQLITE_ROW) {
        const char *our_name = ours < end ? ours + strlen(ours) + 1 : NULL;
        for (int column = 0; column < KNOWN_COLUMNS; column++) {
            if (ours == end || strcmp(text_of(theirs, column), ours) != 0) {
                const char *name = text_of(theirs, NAME);
                bool is_missing = our_name && strcmp(name, our_name) > 0;
                return complain(is_missing, is_missing ? our_name : name, err);
            }
            ours += strlen(ours) + 1;
        }
    }
    if (step != SQLITE_DONE) {
        return ntk_store_sql_error(db, "database", err);
    }
    return ours == end ? 0 : complain(true, ours + strlen(ours) + 1, err);
}

int ntk_store_schema_check(sqlite3 *db, struct ntk_err *err)
{
    const struct ntk_buf *layout;
    sqlite3_stmt *theirs = NULL;
    int ret = get_layout(&layout, err);

    ret = ret < 0 ? ret : ntk_store_sql_prepare(db, known_sql, &theirs, err);
    ret = ret < 0 ? ret : compare(db, theirs, layout, err);
    sqlite3_finalize(theirs);
    return ret;
}
