/* SPDX-License-Identifier: MIT */
/* store_replay - reads a past point in time as a snapshot. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/columns.h"
#include "shared/store/store_replay_state.h"
#include "shared/store/store_sql.h"

const char *ntk_replay_text(const struct ntk_replay *replay, sqlite3_stmt *statement,
                            const char *column)
{
    return ntk_snapshot_text(replay->snapshot, ntk_store_sql_word(statement, column));
}

/* Prepares "SELECT columns FROM (rows of the family) rest", bound to :time_ns. */
int ntk_replay_prepare(const struct ntk_replay *replay, enum ntk_tier_family family,
                       const char *columns, const char *rest, sqlite3_stmt **out_statement,
                       struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_buf_add_format(&sql, "SELECT %s FROM (", columns);
    ntk_tier_add_select(&sql, family, replay->tier);
    ntk_buf_add_format(&sql, " WHERE time_ns = :time_ns) r %s", rest);
    int ret = ntk_buf_ok(&sql)
                  ? ntk_columns_prepare(replay->db, ntk_buf_text_get(&sql), out_statement, err)
                  : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    if (ret == 0) {
        ntk_store_sql_bind(*out_statement, "time_ns", replay->time_ns);
    }
    return ret;
}

/* Prepares a separate statement, bound to :time_ns. */
int ntk_replay_prepare_plain(const struct ntk_replay *replay, const char *sql,
                             sqlite3_stmt **out_statement, struct ntk_err *err)
{
    int ret = ntk_store_sql_prepare(replay->db, sql, out_statement, err);

    if (ret == 0) {
        ntk_store_sql_bind(*out_statement, "time_ns", replay->time_ns);
    }
    return ret;
}

void *ntk_replay_add(struct ntk_vec *rows)
{
    return rows->count < NTK_REPLAY_ROWS_MAX ? ntk_vec_add(rows) : NULL;
}

int ntk_replay_next(const struct ntk_replay *replay, sqlite3_stmt *statement, struct ntk_err *err)
{
    int step = sqlite3_step(statement);

    return step == SQLITE_ROW    ? 1
           : step == SQLITE_DONE ? 0
                                 : ntk_store_sql_error(replay->db, "database", err);
}

struct ntk_histogram ntk_replay_histogram(struct ntk_replay *replay, sqlite3_stmt *statement,
                                          const char *column)
{
    struct ntk_histogram borrowed = ntk_store_reader_histogram(statement, column, replay->entries);

    ntk_histogram_dense_reset(&replay->dense);
    ntk_histogram_dense_merge(&replay->dense, &borrowed);
    return ntk_snapshot_histogram(replay->snapshot, &replay->dense);
}

/* Returns NULL if the process has no sample at this time. */
struct ntk_runtime_sample *ntk_replay_find_runtime(const struct ntk_replay *replay,
                                                   int64_t process_id)
{
    for (size_t i = 0; i < replay->snapshot->runtime_count; i++) {
        if (replay->process_ids[i] == process_id) {
            return &replay->snapshot->runtimes[i];
        }
    }
    return NULL;
}

/* ---- the moment ---- */

/* Reads time and period from the nearest row of the tier that ends before the time, or at or after
 * it. Returns 1, or 0 if there is none. */
static int take_row(struct ntk_replay *replay, bool is_before, uint64_t time_ns,
                    struct ntk_err *err)
{
    char sql[256];
    sqlite3_stmt *statement;

    snprintf(sql, sizeof sql,
             "SELECT time_ns, period_ns FROM machine%s WHERE time_ns %s %" PRIu64
             " ORDER BY time_ns %s LIMIT 1",
             ntk_tier_suffixes[replay->tier], is_before ? "<" : ">=", time_ns,
             is_before ? "DESC" : "ASC");
    int ret = ntk_store_sql_prepare(replay->db, sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_replay_next(replay, statement, err);
    if (ret > 0) {
        replay->time_ns = ntk_store_sql_u64(statement, "time_ns");
        replay->snapshot->period_ns = ntk_store_sql_u64(statement, "period_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

/* Finds the row of a tier with the time in its period. Returns 1, or 0 if there is none. */
static int find_row(struct ntk_replay *replay, uint64_t time_ns, struct ntk_err *err)
{
    uint64_t length_ns = ntk_tier_step_ns[replay->tier];
    int ret = take_row(replay, false, time_ns, err);

    if (ret <= 0) {
        return ret;
    }
    /* The ends and lengths of periods come from different clocks: half of a period is not a gap. */
    if (replay->tier == NTK_STORE_SECOND) {
        length_ns = replay->snapshot->period_ns + replay->snapshot->period_ns / 2;
    }
    return replay->time_ns - time_ns < length_ns;
}

/* Finds the last row of the tier that ends before the time. */
static int find_row_before(struct ntk_replay *replay, uint64_t time_ns, struct ntk_err *err)
{
    int ret = take_row(replay, true, time_ns, err);

    return ret > 0   ? 0
           : ret < 0 ? ret
                     : ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "no data before this time");
}

/* The time up to which rows of the next tier represent this one: the end of the step in which the
 * tier lost its last row, or its beginning as long as that step is not complete. */
static uint64_t begin_of(const struct ntk_tier_extent *extents, enum ntk_store_tier tier)
{
    uint64_t step_ns = ntk_tier_step_ns[tier + 1];
    uint64_t end_ns = (extents[tier].first_ns + step_ns - 1) / step_ns * step_ns;

    return end_ns <= extents[tier + 1].done_ns ? end_ns : extents[tier].first_ns;
}

/* Returns 1 if a row of the next tier, which represents deleted rows of this tier, ends at the
 * time; 0 if none does; or -errno. The row's period may overlap that of the first remaining row of
 * this tier. */
static int is_end_of_coarser(struct ntk_replay *replay, uint64_t time_ns, struct ntk_err *err)
{
    char sql[128];
    int64_t found = 0;

    if (replay->tier + 1 == NTK_STORE_TIER_COUNT ||
        time_ns > begin_of(replay->extents, replay->tier)) {
        return 0;
    }
    snprintf(sql, sizeof sql, "SELECT EXISTS (SELECT 1 FROM machine%s WHERE time_ns = %" PRIu64 ")",
             ntk_tier_suffixes[replay->tier + 1], time_ns);
    int ret = ntk_store_sql_number(replay->db, sql, &found, err);
    return ret < 0 ? ret : found != 0;
}

static int find_moment(struct ntk_replay *replay, uint64_t time_ns, struct ntk_err *err)
{
    for (int tier = 0; tier < NTK_STORE_TIER_COUNT; tier++) {
        replay->tier = (enum ntk_store_tier)tier;
        int ret = is_end_of_coarser(replay, time_ns, err);
        if (ret > 0) {
            continue;
        }
        ret = ret < 0 ? ret : find_row(replay, time_ns, err);
        if (ret != 0) {
            return ret < 0 ? ret : 0;
        }
        if (time_ns > replay->extents[tier].first_ns) {
            break; /* the row is missing because of a gap, not because it was deleted */
        }
    }
    return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "no data at this time");
}

static int load_all(struct ntk_replay *replay, struct ntk_err *err)
{
    replay->snapshot->realtime_ns = replay->time_ns;
    replay->snapshot->sequence = 1;
    replay->snapshot->lists_events = true;
    int ret = ntk_replay_load_machine(replay, err);
    if (ret == 0) {
        ret = ntk_replay_load_runtimes(replay, err);
    }
    if (ret == 0) {
        ret = ntk_replay_load_details(replay, err);
    }
    if (ret == 0 && !ntk_snapshot_ok(replay->snapshot)) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

static int read_moment(struct ntk_store_reader *reader, enum ntk_store_tier tier, uint64_t time_ns,
                       int (*find)(struct ntk_replay *, uint64_t, struct ntk_err *),
                       struct ntk_snapshot **out_snapshot, struct ntk_err *err)
{
    struct ntk_replay *replay = calloc(1, sizeof *replay);
    int ret;

    if (!replay) {
        return ntk_err_no_memory(err);
    }
    replay->db = reader->db;
    replay->tier = tier;
    replay->snapshot = ntk_snapshot_create();
    if (!replay->snapshot) {
        free(replay);
        return ntk_err_no_memory(err);
    }
    ret = ntk_store_reader_begin(reader, err);
    if (ret == 0) {
        ret = ntk_tier_load_extents(reader->db, replay->extents, err);
        ret = ret < 0 ? ret : find(replay, time_ns, err);
        ret = ret < 0 ? ret : load_all(replay, err);
        ntk_store_reader_end(reader);
    }
    if (ret == 0) {
        *out_snapshot = replay->snapshot;
        replay->snapshot = NULL;
    }
    ntk_snapshot_destroy(replay->snapshot);
    free(replay->process_ids);
    free(replay);
    return ret;
}

int ntk_store_reader_snapshot_at(struct ntk_store_reader *reader, uint64_t time_ns,
                                 struct ntk_snapshot **out_snapshot, struct ntk_err *err)
{
    return read_moment(reader, NTK_STORE_SECOND, time_ns, find_moment, out_snapshot, err);
}

int ntk_store_reader_snapshot_before(struct ntk_store_reader *reader, enum ntk_store_tier tier,
                                     uint64_t time_ns, struct ntk_snapshot **out_snapshot,
                                     struct ntk_err *err)
{
    return read_moment(reader, tier, time_ns, find_row_before, out_snapshot, err);
}

/* Finds the nearest row of any tier on one side. Each time is represented once: by coarse rows
 * where finer ones were deleted. */
static int find_neighbour(struct ntk_store_reader *reader, uint64_t time_ns, bool forwards,
                          uint64_t *out_time_ns, struct ntk_err *err)
{
    const char *nearest = forwards ? "min" : "max";
    const char *side = forwards ? ">" : "<";
    struct ntk_tier_extent extents[NTK_STORE_TIER_COUNT];
    char sql[640];
    int64_t found_ns = 0;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_tier_load_extents(reader->db, extents, err);
    uint64_t seconds_ns = ret < 0 ? 0 : begin_of(extents, NTK_STORE_SECOND);
    uint64_t minutes_ns = ret < 0 ? 0 : begin_of(extents, NTK_STORE_MINUTE);
    snprintf(sql, sizeof sql,
             "SELECT t FROM (SELECT %s(time_ns) AS t FROM machine_sample WHERE time_ns %s %" PRIu64
             "  AND time_ns > %" PRIu64
             " UNION ALL SELECT %s(time_ns) FROM machine_minute WHERE time_ns %s %" PRIu64
             "  AND time_ns <= %" PRIu64 " AND time_ns > %" PRIu64
             " UNION ALL SELECT %s(time_ns) FROM machine_hour WHERE time_ns %s %" PRIu64
             "  AND time_ns <= %" PRIu64 ")"
             " WHERE t IS NOT NULL ORDER BY t %s LIMIT 1",
             nearest, side, time_ns, seconds_ns, nearest, side, time_ns, seconds_ns, minutes_ns,
             nearest, side, time_ns, minutes_ns, forwards ? "ASC" : "DESC");
    ret = ret < 0 ? ret : ntk_store_sql_number(reader->db, sql, &found_ns, err);
    ntk_store_reader_end(reader);
    if (ret == -ENODATA) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "no data %s this time",
                           forwards ? "after" : "before");
    }
    *out_time_ns = (uint64_t)found_ns;
    return ret;
}

int ntk_store_reader_next(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_time_ns,
                          struct ntk_err *err)
{
    return find_neighbour(reader, time_ns, true, out_time_ns, err);
}

int ntk_store_reader_before(struct ntk_store_reader *reader, uint64_t time_ns,
                            uint64_t *out_time_ns, struct ntk_err *err)
{
    return find_neighbour(reader, time_ns, false, out_time_ns, err);
}
