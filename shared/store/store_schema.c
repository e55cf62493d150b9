/* SPDX-License-Identifier: MIT */
/* store_schema - steps from one version of the schema to the next. */
#include "shared/store/store_schema.h"

#include <errno.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/metrics/snapshot.h"
#include "shared/store/schema.h" /* made from the *.sql files */
#include "shared/store/store_sql.h"
#include "shared/store/tier.h"

static int fill_categories(sqlite3 *db, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(db, "INSERT INTO memory_category VALUES (?1, ?2, ?3)",
                                    &statement, err);

    for (int i = 0; ret == 0 && i < NTK_MEMORY_CATEGORY_COUNT; i++) {
        bool on_host = ntk_memory_location_of((enum ntk_memory_category)i) == NTK_MEMORY_HOST;
        sqlite3_bind_int(statement, 1, i);
        sqlite3_bind_text(statement, 2, ntk_memory_category_names[i], -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, on_host ? "host" : "device", -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE) {
            ret = ntk_store_sql_error(db, "database", err);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return ret;
}

static int to_1(sqlite3 *db, struct ntk_err *err)
{
    int ret = ntk_store_sql_exec(db, ntk_store_schema_1, err);

    return ret == 0 ? fill_categories(db, err) : ret;
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

/* Runs the text with each `from` replaced. */
static int exec_replaced(sqlite3 *db, const char *text, const char *from, const char *to,
                         struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    add_replaced(&sql, text, from, to);
    int ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                               : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}

static int make_tier(sqlite3 *db, const char *name, struct ntk_err *err)
{
    return exec_replaced(db, ntk_store_schema_2_tiers, "@", name, err);
}

static int to_2(sqlite3 *db, struct ntk_err *err)
{
    int ret = ntk_store_sql_exec(db, ntk_store_schema_2, err);

    if (ret == 0) {
        ret = make_tier(db, "minute", err);
    }
    return ret == 0 ? make_tier(db, "hour", err) : ret;
}

static int to_3(sqlite3 *db, struct ntk_err *err)
{
    return ntk_store_sql_exec(db, ntk_store_schema_3, err);
}

static int (*const steps[NTK_STORE_SCHEMA_VERSION])(sqlite3 *db, struct ntk_err *err) = {
    to_1,
    to_2,
    to_3,
};

/* Views hold nothing, so those of an older version simply make room. */
static int drop_views(sqlite3 *db, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(db, "SELECT name FROM sqlite_schema WHERE type = 'view'",
                                    &statement, err);

    if (ret < 0) {
        return ret;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        char *drop = sqlite3_mprintf("DROP VIEW \"%w\";", sqlite3_column_text(statement, 0));
        ntk_buf_add_text(&sql, drop ? drop : "");
        sqlite3_free(drop);
    }
    sqlite3_finalize(statement);
    ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                           : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}

static int run_steps(sqlite3 *db, int64_t version, struct ntk_err *err)
{
    int ret = drop_views(db, err);

    while (ret == 0 && version < NTK_STORE_SCHEMA_VERSION) {
        ret = steps[version++](db, err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_exec(db, ntk_store_schema_views, err);
    }
    if (ret == 0) {
        char *pragmas = sqlite3_mprintf("PRAGMA application_id = %d; PRAGMA user_version = %d",
                                        NTK_STORE_APPLICATION_ID, NTK_STORE_SCHEMA_VERSION);
        ret = pragmas ? ntk_store_sql_exec(db, pragmas, err) : ntk_err_no_memory(err);
        sqlite3_free(pragmas);
    }
    return ret == 0 ? ntk_store_sql_exec(db, "COMMIT", err) : ret;
}

int ntk_store_schema_update(sqlite3 *db, int64_t version, struct ntk_err *err)
{
    int ret = 0;

    if (version == NTK_STORE_SCHEMA_VERSION) {
        return 0;
    }
    if (version == 0) {
        ret = ntk_store_sql_exec(db, "PRAGMA auto_vacuum = INCREMENTAL", err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_exec(db,
                                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                 "BEGIN IMMEDIATE",
                                 err);
    }
    if (ret == 0) {
        ret = run_steps(db, version, err);
    }
    if (ret < 0 && !sqlite3_get_autocommit(db)) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return ret;
}

/* ---- what a file may bring ---- */

/* What people add for themselves changes nothing for us: the figures of ANALYZE, and views. */
static const char known_sql[] =
    "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
    " WHERE NOT (type = 'view' AND sql LIKE 'CREATE VIEW %')"
    " AND (name, coalesce(sql, '')) NOT IN (VALUES"
    " ('sqlite_stat1', 'CREATE TABLE sqlite_stat1(tbl,idx,stat)'),"
    " ('sqlite_stat4', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'))"
    " ORDER BY name, type";

static const char *text_of(sqlite3_stmt *statement, int step, int column)
{
    const unsigned char *text = step == SQLITE_ROW ? sqlite3_column_text(statement, column) : NULL;

    return text ? (const char *)text : "";
}

static int compare(sqlite3 *db, sqlite3_stmt *theirs, sqlite3_stmt *ours, struct ntk_err *err)
{
    for (;;) {
        int their_step = sqlite3_step(theirs);
        int our_step = sqlite3_step(ours);

        if (their_step != SQLITE_ROW && their_step != SQLITE_DONE) {
            return ntk_store_sql_error(db, "database", err);
        }
        for (int column = 0; column < 4; column++) {
            const char *text = text_of(theirs, their_step, column);
            if (strcmp(text, text_of(ours, our_step, column)) != 0) {
                bool is_missing =
                    their_step == SQLITE_DONE ||
                    (our_step == SQLITE_ROW &&
                     strcmp(text_of(theirs, their_step, 1), text_of(ours, our_step, 1)) > 0);
                const char *name =
                    is_missing ? text_of(ours, our_step, 1) : text_of(theirs, their_step, 1);
                return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET,
                                   is_missing ? "not as neuron-monitor made it: '%.64s' is missing"
                                              : "not as neuron-monitor made it: '%.64s' is strange",
                                   name);
            }
        }
        if (their_step == SQLITE_DONE || our_step != SQLITE_ROW) {
            return 0;
        }
    }
}

/* A file of that version with nothing in it. */
static int make_model(int64_t version, sqlite3 **out_db, struct ntk_err *err)
{
    int ret = 0;

    if (sqlite3_open_v2(":memory:", out_db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        return ntk_err_no_memory(err);
    }
    for (int64_t step = 0; ret == 0 && step < version; step++) {
        ret = steps[step](*out_db, err);
    }
    return ret;
}

int ntk_store_schema_check(sqlite3 *db, int64_t version, struct ntk_err *err)
{
    sqlite3 *model = NULL;
    sqlite3_stmt *theirs = NULL;
    sqlite3_stmt *ours = NULL;
    int ret = make_model(version, &model, err);

    ret = ret < 0 ? ret : ntk_store_sql_prepare(db, known_sql, &theirs, err);
    ret = ret < 0 ? ret : ntk_store_sql_prepare(model, known_sql, &ours, err);
    ret = ret < 0 ? ret : compare(db, theirs, ours, err);
    sqlite3_finalize(theirs);
    sqlite3_finalize(ours);
    sqlite3_close(model);
    return ret;
}

/* ---- older files as they lie ---- */

/* What schema_2.sql adds to tables, as columns that are not known. */
static const char older_1_views[] =
    "CREATE TEMP VIEW process AS SELECT *, NULL AS uid, NULL AS software FROM main.process;"
    "CREATE TEMP VIEW model AS SELECT *, NULL AS estimated, NULL AS load_time_ns,"
    " NULL AS load_duration_ns, NULL AS unloaded_ns FROM main.model;"
    "CREATE TEMP VIEW machine_sample AS SELECT *, NULL AS vcpu_io_wait_ratio,"
    " NULL AS swap_total_bytes, NULL AS context_switches FROM main.machine_sample;"
    "CREATE TEMP VIEW device_sample AS SELECT *, NULL AS stack_0_used_bytes,"
    " NULL AS stack_1_used_bytes, NULL AS stack_2_used_bytes, NULL AS stack_3_used_bytes"
    " FROM main.device_sample;"
    "CREATE TEMP VIEW core_sample AS SELECT *, NULL AS in_flight, NULL AS host_to_device_bytes,"
    " NULL AS device_to_host_bytes FROM main.core_sample;";

/* The tables of a schema, empty and the connection's own. */
static int make_own(sqlite3 *db, const char *schema, struct ntk_err *err)
{
    return exec_replaced(db, schema, "CREATE TABLE ", "CREATE TEMP TABLE ", err);
}

static int make_own_tier(sqlite3 *db, const char *name, struct ntk_err *err)
{
    struct ntk_buf table = { 0 };

    add_replaced(&table, ntk_store_schema_2_tiers, "@", name);
    int ret =
        ntk_buf_ok(&table) ? make_own(db, ntk_buf_text_get(&table), err) : ntk_err_no_memory(err);
    ntk_buf_fini(&table);
    return ret;
}

int ntk_store_schema_read_older(sqlite3 *db, int64_t version, struct ntk_err *err)
{
    int ret = ntk_store_sql_exec(db, "PRAGMA temp_store = MEMORY", err);

    if (ret == 0 && version < 2) {
        ret = ntk_store_sql_exec(db, older_1_views, err);
        /* Its new tables stand behind its new columns. */
        const char *tables = strstr(ntk_store_schema_2, "CREATE TABLE ");
        ret = ret < 0 ? ret : make_own(db, tables ? tables : "", err);
        ret = ret < 0 ? ret : make_own_tier(db, "minute", err);
        ret = ret < 0 ? ret : make_own_tier(db, "hour", err);
    }
    if (ret == 0 && version < 3) {
        ret = make_own(db, ntk_store_schema_3, err);
    }
    return ret;
}
