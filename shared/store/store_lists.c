/* SPDX-License-Identifier: MIT */
/* store_lists - reads the processes and models in a window, and their totals. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "shared/base/clock.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/columns.h"
#include "shared/store/store_sql.h"

int ntk_store_reader_span(struct ntk_store_reader *reader, enum ntk_store_tier tier,
                          uint64_t *out_first_ns, uint64_t *out_last_ns, struct ntk_err *err)
{
    char sql[160];
    int64_t first_ns = 0;
    int64_t last_ns = 0;

    snprintf(sql, sizeof sql, "SELECT time_ns FROM machine%s ORDER BY time_ns LIMIT 1",
             ntk_tier_suffixes[tier]);
    int ret = ntk_store_sql_number(reader->db, sql, &first_ns, err);
    if (ret == 0) {
        snprintf(sql, sizeof sql, "SELECT max(time_ns) FROM machine%s", ntk_tier_suffixes[tier]);
        ret = ntk_store_sql_number(reader->db, sql, &last_ns, err);
    }
    if (ret == -ENODATA) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "the database is empty");
    }
    *out_first_ns = (uint64_t)first_ns;
    *out_last_ns = (uint64_t)last_ns;
    return ret;
}

int ntk_store_reader_has_all(struct ntk_store_reader *reader, enum ntk_store_tier tier,
                             struct ntk_err *err)
{
    struct ntk_tier_extent extents[NTK_STORE_TIER_COUNT];
    int ret = ntk_tier_load_extents(reader->db, extents, err);

    return ret < 0 ? ret : extents[tier].first_ns == 0;
}

int ntk_store_reader_near(struct ntk_store_reader *reader, uint64_t time_ns, uint64_t *out_time_ns,
                          struct ntk_err *err)
{
    char sql[160];
    int64_t near_ns = 0;

    snprintf(sql, sizeof sql,
             "SELECT time_ns FROM machine_sample WHERE time_ns >= %" PRIu64
             " AND time_ns < %" PRIu64 " ORDER BY time_ns LIMIT 1",
             time_ns, time_ns + NTK_NS_PER_SECOND / 2);
    int ret = ntk_store_sql_number(reader->db, sql, &near_ns, err);
    *out_time_ns = (uint64_t)near_ns;
    return ret;
}

/* Checks if a query with the filter's parameters has a row. If not, returns -ENOENT with the
 * message "unknown", what and name. */
static int check_one(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                     const char *sql, const char *what, const char *name, struct ntk_err *err)
{
    sqlite3_stmt *statement;
    int ret = ntk_store_sql_prepare(reader->db, sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_window_bind(statement, filter);
    int step = sqlite3_step(statement);
    if (step == SQLITE_DONE) {
        ret = ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "unknown %s '%s'", what, name);
    } else if (step != SQLITE_ROW) {
        ret = ntk_store_sql_error(reader->db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

/* Rejects a name that processes of several users have, because these do not belong together. */
static int check_users(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                       struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(
        &sql,
        "SELECT count(*) AS users, group_concat(name, ', ') AS names FROM (SELECT DISTINCT uid,"
        " coalesce(nullif(user, ''), uid) AS name FROM process WHERE 1");
    ntk_store_window_add_process(&sql, "", filter);
    ntk_buf_add_text(&sql, " GROUP BY uid LIMIT 16)");
    int ret = ntk_store_sql_prepare_buf(reader->db, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    ntk_store_window_bind(statement, filter);
    if (sqlite3_step(statement) != SQLITE_ROW) {
        ret = ntk_store_sql_error(reader->db, "database", err);
    } else if (ntk_store_sql_u64(statement, "users") > 1) {
        ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "process '%s' belongs to several users (%s): select one by user",
                          filter->process, ntk_store_sql_word(statement, "names"));
    }
    sqlite3_finalize(statement);
    return ret;
}

int ntk_store_reader_check(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                           struct ntk_err *err)
{
    char sql[256];
    char number[16];
    int ret = 0;

    if (filter->process) {
        ret =
            check_one(reader, filter,
                      "SELECT 1 FROM process WHERE tag = :process OR CAST(pid AS TEXT) = :process",
                      "process", filter->process, err);
    }
    if (ret == 0 && filter->user) {
        ret = check_one(reader, filter,
                        "SELECT 1 FROM process WHERE user = :user OR CAST(uid AS TEXT) = :user",
                        "user", filter->user, err);
    }
    if (ret == 0 && filter->process) {
        ret = check_users(reader, filter, err);
    }
    if (ret == 0 && filter->model) {
        ret = check_one(reader, filter,
                        "SELECT 1 FROM model WHERE name = :name OR name = :name || '.neff'",
                        "model", filter->model, err);
    }
    if (ret == 0 && filter->job) {
        ret = check_one(reader, filter,
                        "SELECT 1 FROM rank r JOIN process p USING (process_id)"
                        " WHERE r.rendezvous = :name OR p.tag = :name UNION ALL"
                        " SELECT 1 FROM rank_verdict WHERE rendezvous = :name OR tag = :name"
                        " UNION ALL SELECT 1 FROM idle JOIN process p USING (process_id)"
                        " WHERE p.tag = :name",
                        "job", filter->job, err);
    }
    if (ret == 0 && filter->has_core) {
        /* The machine may have the core although no process used it. */
        snprintf(sql, sizeof sql,
                 "SELECT 1 FROM machine WHERE core_count > %" PRIu32
                 " UNION ALL SELECT 1 FROM core_total WHERE core = %" PRIu32 " LIMIT 1",
                 filter->core, filter->core);
        snprintf(number, sizeof number, "%" PRIu32, filter->core);
        ret = check_one(reader, filter, sql, "core", number, err);
    }
    if (ret == 0 && filter->has_device) {
        snprintf(sql, sizeof sql, "SELECT 1 FROM device WHERE device = %" PRIu32 " LIMIT 1",
                 filter->device);
        snprintf(number, sizeof number, "%" PRIu32, filter->device);
        ret = check_one(reader, filter, sql, "device", number, err);
    }
    return ret;
}

/* ---- processes ---- */

static const char process_columns[] =
    "SELECT p.pid, p.tag, p.command, p.user, p.container_id, p.first_seen_ns, p.last_seen_ns,"
    " p.ended_ns, p.exit_code, p.exit_signal, (SELECT count(DISTINCT t.core) FROM core_total t"
    "  WHERE t.process_id = p.process_id) AS cores,"
    " (SELECT group_concat(core) FROM (SELECT DISTINCT t.core FROM core_total t"
    "  WHERE t.process_id = p.process_id ORDER BY t.core)) AS core_numbers,"
    " m.host, m.device, m.rss, e.completed, e.failed, e.unwatched, p.hooks, p.executions_counted,"
    " m.process_id AS sampled_id, EXISTS (SELECT 1 FROM model o WHERE o.process_id = p.process_id"
    "  AND o.memory_estimated) AS device_estimated"
    " FROM process p LEFT JOIN"
    " (SELECT process_id, max(host_memory_bytes_max) AS host, max(device_memory_bytes_max) AS "
    "device,"
    "  max(rss_bytes_max) AS rss FROM ";
static const char execution_columns[] =
    " GROUP BY process_id) m USING (process_id) LEFT JOIN"
    " (SELECT process_id, add_up(completed) AS completed, add_up(0{failed| + %}) AS failed,"
    " add_up(is_unwatched * (completed{failed| + %})) AS unwatched FROM"
    " (SELECT process_id, 0 AS is_unwatched{outcome|, %} FROM ";

static void take_process(sqlite3_stmt *statement, struct ntk_store_process *process)
{
    *process = (struct ntk_store_process){
        .pid = (uint32_t)ntk_store_sql_u64(statement, "pid"),
        .tag = ntk_store_sql_word(statement, "tag"),
        .command = ntk_store_sql_word(statement, "command"),
        .user = ntk_store_sql_word(statement, "user"),
        .container_id = ntk_store_sql_word(statement, "container_id"),
        .first_seen_ns = ntk_store_sql_u64(statement, "first_seen_ns"),
        .last_seen_ns = ntk_store_sql_u64(statement, "last_seen_ns"),
        .ended_ns = ntk_store_sql_u64(statement, "ended_ns"),
        .exit = ntk_store_sql_exit(statement),
        .core_count = (uint32_t)ntk_store_sql_u64(statement, "cores"),
        .cores = ntk_store_sql_word(statement, "core_numbers"),
        .has_samples = ntk_store_sql_known(statement, "sampled_id"),
        .has_host = ntk_store_sql_known(statement, "host"),
        .host_bytes_max = ntk_store_sql_u64(statement, "host"),
        .has_device = ntk_store_sql_known(statement, "device"),
        .device_estimated = ntk_store_sql_u64(statement, "device_estimated") != 0,
        .device_bytes_max = ntk_store_sql_u64(statement, "device"),
        .has_rss = ntk_store_sql_known(statement, "rss"),
        .rss_bytes_max = ntk_store_sql_u64(statement, "rss"),
        .completed = ntk_store_sql_u64(statement, "completed"),
        .failed = ntk_store_sql_u64(statement, "failed"),
        .unwatched = ntk_store_sql_u64(statement, "unwatched"),
        .hooks = ntk_store_sql_word(statement, "hooks"),
        .executions_counted = ntk_store_sql_word(statement, "executions_counted"),
    };
}

/* Makes SQL for the rows of a window that is one step; takes ownership of the vector of pieces. */
static int cut_whole(struct ntk_store_reader *reader, const struct ntk_store_window *window,
                     struct ntk_vec *pieces, struct ntk_err *err)
{
    struct ntk_store_window whole = *window;

    whole.step_ns = 0;
    int ret = ntk_store_window_align(&whole, err);
    return ret < 0 ? ret : ntk_store_window_cut(reader, &whole, true, pieces, err);
}

static void add_lifetime(struct ntk_buf *sql, const char *first, const char *last,
                         const struct ntk_store_window *window)
{
    ntk_buf_add_format(sql, " %s <= %" PRIu64 " AND %s > %" PRIu64, first, window->to_ns, last,
                       window->from_ns);
}

static int make_process_sql(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window, struct ntk_buf *sql,
                            struct ntk_err *err)
{
    struct ntk_vec pieces = NTK_VEC_INIT(struct ntk_store_piece);
    int ret = cut_whole(reader, window, &pieces, err);

    ntk_buf_add_text(sql, process_columns);
    ntk_store_window_add_rows(sql, &pieces, NTK_FAMILY_PROCESS, filter);
    ntk_buf_add_text(sql, execution_columns);
    ntk_store_window_add_rows(sql, &pieces, NTK_FAMILY_EXECUTION, filter);
    ntk_buf_add_text(sql, " UNION ALL SELECT process_id, 1{outcome|, %} FROM unwatched");
    ntk_buf_add_format(sql, " WHERE time_ns > %" PRIu64 " AND time_ns <= %" PRIu64, window->from_ns,
                       window->to_ns);
    ntk_store_window_add_filter(sql, NTK_FAMILY_EXECUTION, filter);
    ntk_buf_add_text(sql, ") GROUP BY process_id) e USING (process_id) WHERE");
    add_lifetime(sql, "p.first_seen_ns", "p.last_seen_ns", window);
    ntk_store_window_add_process(sql, "p.", filter);
    if (filter->has_core) {
        ntk_buf_add_format(sql,
                           " AND EXISTS (SELECT 1 FROM core_total t WHERE t.process_id ="
                           " p.process_id AND t.core = %" PRIu32 ")",
                           filter->core);
    }
    if (filter->model) {
        ntk_buf_add_text(sql, " AND EXISTS (SELECT 1 FROM model o WHERE o.process_id ="
                              " p.process_id AND (o.name = :name OR o.name = :name || '.neff'))");
    }
    ntk_buf_add_text(sql, " ORDER BY p.first_seen_ns, p.process_id");
    ntk_vec_fini(&pieces);
    if (ret == 0 && !ntk_buf_ok(sql)) {
        ret = ntk_err_no_memory(err);
    }
    return ret;
}

int ntk_store_reader_processes(struct ntk_store_reader *reader,
                               const struct ntk_store_filter *filter,
                               const struct ntk_store_window *window, ntk_store_process_row row,
                               void *ctx, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = make_process_sql(reader, filter, window, &sql, err);
    if (ret == 0) {
        ret = ntk_columns_prepare(reader->db, ntk_buf_text_get(&sql), &statement, err);
    }
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        struct ntk_store_process process;
        take_process(statement, &process);
        ret = row(&process, ctx);
    }
    sqlite3_finalize(statement);
    ntk_buf_fini(&sql);
    ntk_store_reader_end(reader);
    return ret < 0 ? ret : 0;
}

int ntk_store_reader_models(struct ntk_store_reader *reader, const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window, ntk_store_name_row row,
                            void *ctx, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(&sql, "SELECT DISTINCT m.name FROM model m JOIN process p USING (process_id)"
                           " WHERE");
    add_lifetime(&sql, "m.first_seen_ns", "m.last_seen_ns", window);
    ntk_store_window_add_process(&sql, "p.", filter);
    if (filter->model) {
        ntk_buf_add_text(&sql, " AND (m.name = :name OR m.name = :name || '.neff')");
    }
    ntk_buf_add_text(&sql, " ORDER BY m.name");
    int ret = ntk_store_sql_prepare_buf(reader->db, &sql, &statement, err);
    if (ret == 0) {
        ntk_store_window_bind(statement, filter);
    }
    while (ret == 0 && ntk_store_sql_next(reader->db, statement, &ret, err)) {
        ret = row(ntk_store_sql_word(statement, "name"), ctx);
    }
    sqlite3_finalize(statement);
    return ret < 0 ? ret : 0;
}
