/* SPDX-License-Identifier: MIT */
/* retention - deletes old rows from the database. */
#include "shared/store/retention.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shared/store/store_sql.h"
#include "shared/store/tier.h"

#define SQL_BYTES 768
#define OLDER_BYTES 96
#define VACUUM_PAGES "2000"

enum kept {
    KEPT_SECOND = NTK_STORE_SECOND,
    KEPT_MINUTE = NTK_STORE_MINUTE,
    KEPT_HOUR = NTK_STORE_HOUR,
    KEPT_ENDED,
    KEPT_LIFE,
    KEPT_SHORT_LIFE,
    KEPT_EVER,
};

static const struct table {
    const char *name;
    enum kept kept;
    int slice_rows; /* deleted at once; 0: NTK_RETENTION_SLICE_ROWS */
} tables[] = {
#define NTK_STORE_TABLE(name, kept, text) { #name, KEPT_##kept, 0 },
#define NTK_STORE_TABLE_PACKED(name, kept, text) \
    { #name "_packed", KEPT_##kept, NTK_RETENTION_SLICE_PACKED },
#include "shared/store/tables.def"
};

/* The next table after `table` (NULL: the first) with rows that are deleted with this tier; NULL
 * after the last. */
static const struct table *next_table(const struct table *table, enum ntk_store_tier tier)
{
    const struct table *end = tables + sizeof tables / sizeof *tables;

    for (table = table ? table + 1 : tables; table < end; table++) {
        if (table->kept == (enum kept)tier ||
            (table->kept == KEPT_ENDED && tier == NTK_STORE_HOUR)) {
            return table;
        }
    }
    return NULL;
}

#define table_each(table, tier)                                               \
    for (const struct table *table = next_table(NULL, (tier)); table != NULL; \
         table = next_table(table, (tier)))

/* Before rows of memory_sample are deleted, repeats the value of each key of a living process at
 * :time_ns, because a value applies until the next row. */
static const char restate_memory[] =
    "INSERT OR IGNORE INTO memory_sample"
    " SELECT :time_ns, process_id, core, category, model_id, current_bytes, peak_bytes FROM ("
    "  SELECT process_id, core, category, model_id, current_bytes, peak_bytes, max(time_ns)"
    "    FROM memory_sample WHERE time_ns < :time_ns GROUP BY process_id, core, category, model_id)"
    " WHERE current_bytes > 0 AND process_id IN"
    "  (SELECT process_id FROM process WHERE last_seen_ns >= :time_ns)";

/* Of ended processes, first the histograms and memory rows are deleted, and later the rest. */
static const char forget_histograms[] =
    "UPDATE core_total SET total_latency_histogram = x'010000', device_latency_histogram = "
    "x'010000'"
    " WHERE length(total_latency_histogram) > 3 AND process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)";
static const char forget_memory[] =
    "DELETE FROM memory_last WHERE process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)";
static const char *const forget_process[] = {
    "DELETE FROM core_total WHERE process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)",
    "DELETE FROM memory_sample WHERE process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)",
    "DELETE FROM unwatched WHERE process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)",
    "DELETE FROM rank WHERE process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)",
    "DELETE FROM model WHERE process_id IN"
    " (SELECT process_id FROM process WHERE last_seen_ns < :time_ns)",
    "DELETE FROM process WHERE last_seen_ns < :time_ns",
};

/* Runs a statement with the parameter :time_ns. */
static int exec_at(sqlite3 *db, const char *sql, int64_t time_ns, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(db, sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind(statement, "time_ns", (uint64_t)time_ns);
    if (sqlite3_step(statement) != SQLITE_DONE) {
        ret = ntk_store_sql_error(db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

/* The condition for rows of a table that are older than limit_ns; rows with an end are as old as
 * their end. */
static const char *older(const struct table *table, int64_t limit_ns, char sql[static OLDER_BYTES])
{
    int length = snprintf(sql, OLDER_BYTES, "time_ns < %" PRId64, limit_ns);

    if (table->kept == KEPT_ENDED) {
        snprintf(sql + length, OLDER_BYTES - (size_t)length, " AND to_ns < %" PRId64, limit_ns);
    }
    return sql;
}

static int slice_rows(const struct table *table)
{
    return table->slice_rows ? table->slice_rows : NTK_RETENTION_SLICE_ROWS;
}

/* Lowers end_ns so that at most slice_rows() rows are older, or those of the oldest time. */
static int bound_slice(sqlite3 *db, const struct table *table, int64_t *end_ns, struct ntk_err *err)
{
    char sql[SQL_BYTES];
    char condition[OLDER_BYTES];
    int64_t oldest_ns = 0;

    older(table, *end_ns, condition);
    snprintf(sql, sizeof sql, "SELECT time_ns FROM %s WHERE %s ORDER BY time_ns LIMIT 1",
             table->name, condition);
    int ret = ntk_store_sql_number(db, sql, &oldest_ns, err);
    if (ret == 0) {
        snprintf(sql, sizeof sql,
                 "SELECT time_ns FROM %s WHERE %s AND time_ns > %" PRId64
                 " ORDER BY time_ns LIMIT 1 OFFSET %d",
                 table->name, condition, oldest_ns, slice_rows(table) - 1);
        ret = ntk_store_sql_number(db, sql, end_ns, err);
    }
    return ret == -ENODATA ? 0 : ret;
}

/* Deletes the rows older than limit_ns, or a slice of the rows with an end; returns the number of
 * rows or a negative value. */
static int delete_rows(sqlite3 *db, const struct table *table, int64_t limit_ns,
                       struct ntk_err *err)
{
    char sql[SQL_BYTES];
    char condition[OLDER_BYTES];
    int64_t end_ns = limit_ns;
    int ret = table->kept == KEPT_ENDED ? bound_slice(db, table, &end_ns, err) : 0;

    if (ret < 0) {
        return ret;
    }
    if (strcmp(table->name, "memory_sample") == 0) {
        ret = exec_at(db, restate_memory, end_ns, err);
    }
    if (ret == 0) {
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE time_ns < %" PRId64 " AND %s", table->name,
                 end_ns, older(table, limit_ns, condition));
        ret = ntk_store_sql_exec(db, sql, err);
    }
    return ret < 0 ? ret : sqlite3_changes(db);
}

/* Deletes a slice of a tier: the same periods from all tables, so that the tier stays complete
 * since a time, which is stored. */
static int delete_slices(sqlite3 *db, enum ntk_store_tier tier, int64_t limit_ns, bool *more,
                         struct ntk_err *err)
{
    int64_t deleted_count = 0;
    int64_t end_ns = limit_ns;

    table_each(table, tier)
    {
        int ret = table->kept == KEPT_ENDED ? 0 : bound_slice(db, table, &end_ns, err);
        if (ret < 0) {
            return ret;
        }
    }
    *more = *more || end_ns < limit_ns;
    table_each(table, tier)
    {
        int64_t table_ns = table->kept == KEPT_ENDED ? limit_ns : end_ns;
        int deleted = delete_rows(db, table, table_ns, err);
        if (deleted < 0) {
            return deleted;
        }
        *more = *more || deleted >= slice_rows(table);
        deleted_count += deleted;
    }
    if (deleted_count == 0) {
        return 0;
    }
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql,
             "UPDATE tier SET first_ns = max(first_ns, %" PRId64 ") WHERE tier = '%s'", end_ns,
             ntk_tier_names[tier]);
    return ntk_store_sql_exec(db, sql, err);
}

/* Lowers limit_ns to the rows that the next tier already has; 0 if it has none. */
static int bound_limit(sqlite3 *db, enum ntk_store_tier tier, int64_t *limit_ns,
                       struct ntk_err *err)
{
    struct ntk_tier_extent extents[NTK_STORE_TIER_COUNT] = { 0 };

    if (tier + 1 == NTK_STORE_TIER_COUNT) {
        return 0;
    }
    int ret = ntk_tier_load_extents(db, extents, err);
    if (*limit_ns > (int64_t)extents[tier + 1].done_ns) {
        *limit_ns = (int64_t)extents[tier + 1].done_ns;
    }
    return ret;
}

static int run_by_age(sqlite3 *db, const struct ntk_retention *retention, uint64_t now_ns,
                      bool *more, struct ntk_err *err)
{
    int ret = 0;

    for (int tier = 0; ret == 0 && tier < NTK_STORE_TIER_COUNT; tier++) {
        uint64_t keep_ns = retention->keep_ns[tier];
        int64_t limit_ns = keep_ns < now_ns ? (int64_t)(now_ns - keep_ns) : 0;
        ret = bound_limit(db, (enum ntk_store_tier)tier, &limit_ns, err);
        if (ret == 0) {
            ret = delete_slices(db, (enum ntk_store_tier)tier, limit_ns, more, err);
        }
    }
    return ret;
}

static int forget_processes(sqlite3 *db, const struct ntk_retention *retention, uint64_t now_ns,
                            struct ntk_err *err)
{
    uint64_t young_ns = retention->keep_ns[NTK_STORE_SECOND];
    uint64_t old_ns = retention->keep_ns[NTK_STORE_HOUR];
    int ret = 0;

    if (young_ns < now_ns) {
        ret = exec_at(db, forget_histograms, (int64_t)(now_ns - young_ns), err);
        if (ret == 0) {
            ret = exec_at(db, forget_memory, (int64_t)(now_ns - young_ns), err);
        }
    }
    for (size_t i = 0; old_ns < now_ns && i < sizeof forget_process / sizeof *forget_process; i++) {
        if (ret == 0) {
            ret = exec_at(db, forget_process[i], (int64_t)(now_ns - old_ns), err);
        }
    }
    return ret;
}

static int file_bytes(sqlite3 *db, int64_t *out_bytes, struct ntk_err *err)
{
    int64_t pages = 0;
    int64_t free_pages = 0;
    int64_t page_bytes = 0;
    int ret = ntk_store_sql_number(db, "PRAGMA page_count", &pages, err);

    if (ret == 0) {
        ret = ntk_store_sql_number(db, "PRAGMA freelist_count", &free_pages, err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_number(db, "PRAGMA page_size", &page_bytes, err);
    }
    *out_bytes = (pages - free_pages) * page_bytes;
    return ret;
}

/* The size of a tier's tables in bytes; 0 if SQLite was built without dbstat. */
static int64_t tier_bytes(sqlite3 *db, enum ntk_store_tier tier)
{
    int64_t sum_bytes = 0;

    table_each(table, tier)
    {
        char sql[SQL_BYTES];
        int64_t bytes = 0;
        snprintf(sql, sizeof sql,
                 "SELECT coalesce(sum(pgsize), 0) FROM dbstat('main', 1) WHERE name = '%s'",
                 table->name);
        if (ntk_store_sql_number(db, sql, &bytes, NULL) == 0) {
            sum_bytes += bytes;
        }
    }
    return sum_bytes;
}

/* Deletes a tenth of a tier's time span; returns 1 if there was anything to delete. */
static int shorten(sqlite3 *db, enum ntk_store_tier tier, bool *more, struct ntk_err *err)
{
    char sql[SQL_BYTES];
    int64_t first_ns = 0;
    int64_t last_ns = 0;

    snprintf(sql, sizeof sql, "SELECT min(time_ns) FROM machine%s HAVING count(*) > 1",
             ntk_tier_suffixes[tier]);
    int ret = ntk_store_sql_number(db, sql, &first_ns, err);
    if (ret == 0) {
        snprintf(sql, sizeof sql, "SELECT max(time_ns) FROM machine%s", ntk_tier_suffixes[tier]);
        ret = ntk_store_sql_number(db, sql, &last_ns, err);
    }
    if (ret < 0) {
        return ret == -ENODATA ? 0 : ret;
    }
    int64_t limit_ns = first_ns + (last_ns - first_ns) / 10 + 1;
    ret = bound_limit(db, tier, &limit_ns, err);
    if (ret < 0 || limit_ns <= first_ns) {
        return ret;
    }
    *more = true;
    ret = delete_slices(db, tier, limit_ns, more, err);
    return ret < 0 ? ret : 1;
}

/* Shortens the tier that exceeds its share most, or else any tier that has rows to delete. */
static int run_by_size(sqlite3 *db, bool *more, struct ntk_err *err)
{
    double worst_ratio = 0;
    int worst = NTK_STORE_SECOND;

    for (int tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        double ratio = (double)tier_bytes(db, (enum ntk_store_tier)tier) / ntk_tier_shares[tier];
        if (ratio > worst_ratio) {
            worst_ratio = ratio;
            worst = tier;
        }
    }
    for (int i = 0; i < NTK_STORE_TIER_COUNT; i++) {
        int tier = (worst + i) % NTK_STORE_TIER_COUNT;
        int ret = shorten(db, (enum ntk_store_tier)tier, more, err);
        if (ret != 0) {
            return ret < 0 ? ret : 0;
        }
    }
    return 0;
}

int ntk_retention_run(sqlite3 *db, const struct ntk_retention *retention, uint64_t now_ns,
                      struct ntk_err *err)
{
    bool more = false;
    int64_t used_bytes = 0;
    int ret = ntk_store_sql_exec(db, "BEGIN IMMEDIATE", err);

    if (ret == 0) {
        ret = run_by_age(db, retention, now_ns, &more, err);
    }
    if (ret == 0) {
        ret = forget_processes(db, retention, now_ns, err);
    }
    if (ret == 0) {
        ret = file_bytes(db, &used_bytes, err);
    }
    if (ret == 0 && (uint64_t)used_bytes > retention->keep_bytes) {
        ret = run_by_size(db, &more, err);
    }
    if (ret == 0) {
        ret = ntk_store_sql_exec(db, "PRAGMA incremental_vacuum(" VACUUM_PAGES "); COMMIT", err);
    }
    return ret < 0 ? ret : more;
}
