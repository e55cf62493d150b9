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

/* The text with each @ replaced by the name of the tier. */
static int make_tier(sqlite3 *db, const char *name, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    for (const char *c = ntk_store_schema_2_tiers; *c; c++) {
        if (*c == '@') {
            ntk_buf_add_text(&sql, name);
        } else {
            ntk_buf_add_char(&sql, *c);
        }
    }
    int ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                               : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    ntk_buf_fini(&sql);
    return ret;
}

static int to_2(sqlite3 *db, struct ntk_err *err)
{
    int ret = ntk_store_sql_exec(db, ntk_store_schema_2, err);

    if (ret == 0) {
        ret = make_tier(db, "minute", err);
    }
    return ret == 0 ? make_tier(db, "hour", err) : ret;
}

static int (*const steps[NTK_STORE_SCHEMA_VERSION])(sqlite3 *db, struct ntk_err *err) = {
    to_1,
    to_2,
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
                           : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
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
        ret = pragmas ? ntk_store_sql_exec(db, pragmas, err)
                      : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
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
