/* SPDX-License-Identifier: MIT */
/* store_jobs_read - reads the resources of jobs, and the work on them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/store/columns.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/store_sql.h"

#define CORES_MAX NTK_SNAPSHOT_JOB_CORES_MAX

/* The time for which a row holds; :seen_ns is the end of the known time. */
#define HOLD                                                                      \
    "WITH hold AS MATERIALIZED (SELECT core, max(time_ns, :from_ns) AS a,"        \
    " min(coalesce(to_ns, :seen_ns), :to_ns) AS b FROM job_core WHERE job_key IN" \
    " (SELECT job_key FROM job WHERE job_id = :job_id AND cluster = :cluster)"    \
    " AND time_ns < :to_ns AND coalesce(to_ns, :seen_ns) > :from_ns) "
/* A second belongs to the job that has the core at its end; a longer row is divided by time. */
#define IS_LONG "r.row_step_ns > 1000000000"
#define PART                                                                                 \
    "CASE WHEN " IS_LONG " THEN max(0, min(r.time_ns, h.b) - max(r.time_ns - r.row_step_ns," \
    " h.a)) * 1.0 / r.row_step_ns ELSE 1 END"
#define MEETS                                              \
    " r.time_ns > h.a AND r.time_ns - (CASE WHEN " IS_LONG \
    " THEN r.row_step_ns - 1 ELSE 0 END) <= h.b"

struct jobs_query {
    struct ntk_store_reader *reader;
    struct ntk_store_jobs_filter filter;
    uint64_t seen_ns; /* end of the last stored period */
    uint32_t cores[CORES_MAX];
    struct ntk_store_job job;
    struct ntk_vec pieces;
    uint32_t cores_per_device; /* physical cores per device; 0: unknown */
};

static uint64_t number_at(sqlite3_stmt *statement, const char *column)
{
    double value = ntk_store_sql_double(statement, column);

    return value < 1 ? value > 0.5 : value < 9e18 ? (uint64_t)(value + 0.5) : INT64_MAX;
}

/* Reads a time as it is stored. */
static uint64_t time_at(sqlite3_stmt *statement, const char *column)
{
    int64_t value = (int64_t)ntk_store_sql_u64(statement, column);

    return value > 0 ? (uint64_t)value : 0;
}

static void bind_window(sqlite3_stmt *statement, const struct jobs_query *query)
{
    ntk_store_sql_bind(statement, "from_ns", query->filter.window.from_ns);
    ntk_store_sql_bind(statement, "to_ns", query->filter.window.to_ns);
    ntk_store_sql_bind(statement, "seen_ns", query->seen_ns);
}

static int prepare(struct jobs_query *query, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                   struct ntk_err *err)
{
    int ret = ntk_store_sql_prepare_buf(query->reader->db, sql, out_statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind_text(*out_statement, "job_id", query->job.id);
    ntk_store_sql_bind_text(*out_statement, "cluster", query->job.cluster);
    bind_window(*out_statement, query);
    return 0;
}

/* Reads the only row of a statement, and finalizes the statement if there is none. */
static int prepare_row(struct jobs_query *query, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                       struct ntk_err *err)
{
    int ret = prepare(query, sql, out_statement, err);

    if (ret == 0 && sqlite3_step(*out_statement) != SQLITE_ROW) {
        ret = ntk_store_sql_error(query->reader->db, "database", err);
        sqlite3_finalize(*out_statement);
    }
    return ret;
}

static void add_rows(const struct jobs_query *query, struct ntk_buf *sql,
                     enum ntk_tier_family family)
{
    const struct ntk_store_filter all = { 0 };

    ntk_store_window_add_rows(sql, &query->pieces, family, &all);
}

/* -- resources --------------------------------------------------------------------------------- */

static int load_cores(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_store_job *job = &query->job;
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    uint64_t held_ns = 0;

    ntk_buf_add_text(&sql, HOLD "SELECT core, sum(b - a) AS held_ns FROM hold"
                                " WHERE core BETWEEN 0 AND 1023 GROUP BY core ORDER BY core");
    int ret = prepare(query, &sql, &statement, err);
    job->core_count = 0;
    while (ret == 0 && ntk_store_sql_next(query->reader->db, statement, &ret, err)) {
        if (job->core_count < CORES_MAX) {
            query->cores[job->core_count++] = (uint32_t)ntk_store_sql_u64(statement, "core");
            held_ns += time_at(statement, "held_ns");
        }
    }
    sqlite3_finalize(statement);
    job->cores = query->cores;
    job->held_ns = held_ns / job->lnc;
    return ret;
}

/* Cuts rows at the ends of the window: only their part inside counts. */
static int cut(struct jobs_query *query, struct ntk_err *err)
{
    const struct ntk_store_window window = { query->job.from_ns, query->job.to_ns,
                                             query->job.to_ns - query->job.from_ns };

    ntk_vec_clear(&query->pieces);
    query->job.is_coarse = false;
    if (window.step_ns == 0) {
        return 0;
    }
    int ret = ntk_store_window_cut(query->reader, &window, true, &query->pieces, err);
    ntk_vec_each(struct ntk_store_piece, piece, &query->pieces) {
        uint64_t step_ns = ntk_tier_step_ns[piece->tier];
        bool is_cut = piece->tier != NTK_STORE_SECOND &&
                      (piece->from_ns % step_ns != 0 || piece->to_ns % step_ns != 0);

        query->job.is_coarse = query->job.is_coarse || is_cut;
        if (is_cut) {
            piece->to_ns = (piece->to_ns + step_ns - 1) / step_ns * step_ns;
        }
    }
    return ret;
}

/* -- work on them ------------------------------------------------------------------------------ */

static int load_watched(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(&sql, HOLD "SELECT sum(h.n * r.period_ns * max(0, min(r.time_ns, h.b) -"
                                " max(r.time_ns - r.span_ns, h.a)) * 1.0 / r.span_ns)"
                                " AS watched_ns FROM"
                                " (SELECT *, CASE WHEN row_step_ns > 1000000000 THEN row_step_ns"
                                " ELSE max(period_ns, 1) END AS span_ns FROM ");
    add_rows(query, &sql, NTK_FAMILY_MACHINE);
    ntk_buf_add_text(&sql, ") r JOIN (SELECT a, b, count(*) AS n FROM hold GROUP BY a, b) h"
                           " ON r.time_ns > h.a AND r.time_ns - r.span_ns < h.b");
    int ret = prepare_row(query, &sql, &statement, err);
    if (ret == 0) {
        query->job.watched_ns = number_at(statement, "watched_ns") / query->job.lnc;
        sqlite3_finalize(statement);
    }
    return ret;
}

/* Unobserved time counts if the job was there for all of it. */
#define UNWATCHED \
    " FROM unwatched r JOIN hold h ON h.core = r.core AND r.since_ns >= h.a AND r.time_ns <= h.b"

static int load_used(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_store_job *job = &query->job;
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(&sql, HOLD
                     "SELECT count(*) AS rows, sum(n * busy_ns) AS busy_ns,"
                     " sum(n * effective_flops) AS flops,"
                     " sum(unwatched * busy_ns) AS unwatched_ns FROM (SELECT 0 AS unwatched, " PART
                     " AS n, r.busy_ns, r.effective_flops FROM ");
    add_rows(query, &sql, NTK_FAMILY_CORE);
    ntk_buf_add_text(&sql, " r JOIN hold h ON h.core = r.core AND" MEETS
                           " UNION ALL SELECT 1, 1, r.busy_ns, r.effective_flops" UNWATCHED ")");
    int ret = prepare_row(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    bool any = ntk_store_sql_u64(statement, "rows") > 0;
    uint64_t unwatched_ns = number_at(statement, "unwatched_ns");
    job->used_ns = number_at(statement, "busy_ns");
    job->used_watched_ns =
        (job->used_ns > unwatched_ns ? job->used_ns - unwatched_ns : 0) / job->lnc;
    job->used_ns /= job->lnc;
    job->has_used = any ? ntk_store_sql_known(statement, "busy_ns") : job->watched_ns > 0;
    job->effective_flops = ntk_store_sql_double(statement, "flops");
    job->has_flops = any ? ntk_store_sql_known(statement, "flops") : job->watched_ns > 0;
    sqlite3_finalize(statement);
    return 0;
}

/* Loads executions; they are unknown if one of the job's processes is not counted. */
static int load_executions(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_store_job *job = &query->job;
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_columns_tell(&sql, HOLD "SELECT (SELECT count(*) FROM process WHERE " NTK_STORE_UNCOUNTED
                                " AND process_id IN (SELECT r.process_id FROM ");
    add_rows(query, &sql, NTK_FAMILY_CORE);
    ntk_columns_tell(&sql, " r JOIN hold h ON h.core = r.core AND" MEETS
                           ")) AS uncounted{execution|, sum(n * %) AS %} FROM (SELECT " PART
                           " AS n{execution|, r.%} FROM ");
    add_rows(query, &sql, NTK_FAMILY_EXECUTION);
    ntk_columns_tell(&sql, " r JOIN hold h ON h.core = r.core AND" MEETS
                           " UNION ALL SELECT 1{execution|, r.%}" UNWATCHED ")");
    int ret = prepare_row(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    job->has_executions = ntk_store_sql_u64(statement, "uncounted") == 0 && job->watched_ns > 0;
    ntk_store_executions_get(statement, number_at, job->outcome, job->error_class);
    sqlite3_finalize(statement);
    return 0;
}

/* Loads memory of processes that used a core of the job while the job had it. */
static int load_memory(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_store_job *job = &query->job;
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(&sql, HOLD "SELECT count(*) AS rows, max(bytes) AS bytes FROM (SELECT"
                                " add_up(device_memory_bytes_max) AS bytes FROM ");
    add_rows(query, &sql, NTK_FAMILY_PROCESS);
    ntk_buf_add_text(&sql, " WHERE process_id IN (SELECT r.process_id FROM ");
    add_rows(query, &sql, NTK_FAMILY_CORE);
    ntk_buf_add_text(&sql, " r JOIN hold h ON h.core = r.core AND" MEETS ") GROUP BY time_ns)");
    int ret = prepare_row(query, &sql, &statement, err);
    if (ret == 0) {
        bool any = ntk_store_sql_u64(statement, "rows") > 0;
        job->has_memory = any ? ntk_store_sql_known(statement, "bytes") : job->watched_ns > 0;
        job->memory_bytes_max = time_at(statement, "bytes");
        sqlite3_finalize(statement);
    }
    return ret;
}

/* Loads the machine at the end of the window. */
static int load_machine(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_store_job *job = &query->job;
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(query->reader->db,
                                    "SELECT tensor_peak_flops, cores_per_device FROM machine"
                                    " WHERE since_ns <= :time_ns ORDER BY since_ns DESC LIMIT 1",
                                    &statement, err);

    if (ret < 0) {
        return ret;
    }
    ntk_store_sql_bind(statement, "time_ns", job->to_ns);
    job->has_peak = false;
    query->cores_per_device = 0;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        sqlite3_int64 cores = (int64_t)ntk_store_sql_u64(statement, "cores_per_device");
        double peak_flops = ntk_store_sql_double(statement, "tensor_peak_flops");
        job->has_peak = peak_flops > 0 && job->watched_ns > 0;
        job->peak_flops =
            peak_flops * job->lnc * (double)job->watched_ns / (double)NTK_NS_PER_SECOND;
        query->cores_per_device = cores > 0 && cores <= 64 ? (uint32_t)cores : 0;
    }
    sqlite3_finalize(statement);
    return 0;
}

/* Loads devices: power is divided by the job's share of a device's cores; a device's error counts
 * for every job that had one of its cores. */
static int load_devices(struct jobs_query *query, struct ntk_err *err)
{
    struct ntk_store_job *job = &query->job;
    uint32_t per_device = query->cores_per_device;
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    if (per_device == 0) {
        return 0;
    }
    ntk_buf_add_format(&sql,
                       HOLD ", held AS (SELECT core / %u AS device, a, b, count(*) AS n"
                            " FROM hold GROUP BY core / %u, a, b), whole AS (SELECT device,"
                            " min(a) AS a, max(b) AS b FROM held GROUP BY device)"
                            " SELECT s.power, s.known",
                       per_device, per_device);
    for (int i = 0; i < NTK_ECC_COUNT; i++) {
        ntk_buf_add_format(&sql, ", e.%s", ntk_ecc_names[i]);
    }
    ntk_buf_add_format(&sql,
                       " FROM (SELECT sum(h.n * r.power_ns * (" PART ")) / %u AS power,"
                       " sum(h.n * r.power_period_ns * (" PART ")) / %u AS known FROM ",
                       per_device, per_device);
    add_rows(query, &sql, NTK_FAMILY_DEVICE);
    ntk_buf_add_text(&sql, " r JOIN held h ON h.device = r.device AND" MEETS ") s, (SELECT 0");
    for (int i = 0; i < NTK_ECC_COUNT; i++) {
        ntk_buf_add_format(&sql, ", sum(r.%s * (" PART ")) AS %s", ntk_ecc_names[i],
                           ntk_ecc_names[i]);
    }
    ntk_buf_add_text(&sql, " FROM ");
    add_rows(query, &sql, NTK_FAMILY_DEVICE);
    ntk_buf_add_text(&sql, " r JOIN whole h ON h.device = r.device AND" MEETS ") e");
    int ret = prepare_row(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    job->has_power = ntk_store_sql_known(statement, "power") && number_at(statement, "known") > 0;
    job->full_power_ns = number_at(statement, "power");
    job->power_known_ns = number_at(statement, "known");
    for (int i = 0; i < NTK_ECC_COUNT; i++) {
        job->ecc_has |= ntk_store_sql_known(statement, ntk_ecc_names[i]) ? 1u << i : 0u;
        job->ecc[i] = number_at(statement, ntk_ecc_names[i]);
    }
    sqlite3_finalize(statement);
    return 0;
}

static int load_job(struct jobs_query *query, struct ntk_err *err)
{
    int ret = load_cores(query, err);

    ret = ret < 0 ? ret : cut(query, err);
    ret = ret < 0 ? ret : load_watched(query, err);
    ret = ret < 0 ? ret : load_used(query, err);
    ret = ret < 0 ? ret : load_executions(query, err);
    ret = ret < 0 ? ret : load_memory(query, err);
    ret = ret < 0 ? ret : load_machine(query, err);
    return ret < 0 ? ret : load_devices(query, err);
}

/* -- list of jobs ------------------------------------------------------------------------------ */

#define FOUND                                                                                    \
    " FROM job WHERE time_ns < :to_ns AND coalesce(to_ns, :seen_ns) > :from_ns AND (:job_id IS " \
    "NULL OR job_id = :job_id)"                                                                  \
    " AND (:user IS NULL OR user = :user) GROUP BY job_id, cluster"
/* Lists jobs with the newest texts that were reported. */
static const char list_sql[] =
    "SELECT * FROM (SELECT job_id, cluster, newest(nullif(user, ''), time_ns) AS user,"
    " newest(nullif(name, ''), time_ns) AS name,"
    " newest(nullif(partition, ''), time_ns) AS partition, count(*) AS runs,"
    " max(min(time_ns), :from_ns) AS first_ns, min(max(coalesce(to_ns, :seen_ns)), :to_ns) AS "
    "last_ns,"
    " count(*) = count(to_ns) AND max(to_ns) <= :to_ns AS is_ended, newest(lnc, time_ns) AS "
    "lnc" FOUND " ORDER BY first_ns DESC LIMIT :most) ORDER BY first_ns, job_id";
static const char count_sql[] = "SELECT count(*) AS jobs FROM (SELECT 1" FOUND ")";

static void bind_list(sqlite3_stmt *statement, const struct jobs_query *query)
{
    ntk_store_sql_bind_filter(statement, "job_id", query->filter.id);
    ntk_store_sql_bind_filter(statement, "user", query->filter.user);
    bind_window(statement, query);
}

static int count_jobs(struct jobs_query *query, size_t *out_more, struct ntk_err *err)
{
    size_t most = query->filter.most;
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(query->reader->db, count_sql, &statement, err);

    if (ret < 0) {
        return ret;
    }
    bind_list(statement, query);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        uint64_t count = ntk_store_sql_u64(statement, "jobs");
        *out_more = count > most ? count - most : 0;
    } else {
        ret = ntk_store_sql_error(query->reader->db, "database", err);
    }
    sqlite3_finalize(statement);
    return ret;
}

static void take_job(sqlite3_stmt *statement, struct ntk_store_job *job)
{
    sqlite3_int64 lnc = (int64_t)ntk_store_sql_u64(statement, "lnc");

    *job = (struct ntk_store_job){
        .id = ntk_store_sql_text(statement, "job_id"),
        .cluster = ntk_store_sql_text(statement, "cluster"),
        .user = ntk_store_sql_text(statement, "user"),
        .name = ntk_store_sql_text(statement, "name"),
        .partition = ntk_store_sql_text(statement, "partition"),
        .runs = (uint32_t)ntk_store_sql_u64(statement, "runs"),
        .from_ns = time_at(statement, "first_ns"),
        .to_ns = time_at(statement, "last_ns"),
        .is_ended = ntk_store_sql_u64(statement, "is_ended") != 0,
        .lnc = lnc == 2 ? 2 : 1,
    };
    job->to_ns = job->to_ns > job->from_ns ? job->to_ns : job->from_ns;
}

static int load_seen(struct jobs_query *query, struct ntk_err *err)
{
    int64_t seen_ns = 0;
    int ret = ntk_store_sql_number(query->reader->db,
                                   "SELECT max(t) FROM (SELECT max(time_ns) AS t FROM"
                                   " machine_sample UNION ALL SELECT max(time_ns) FROM"
                                   " machine_minute UNION ALL SELECT max(time_ns) FROM"
                                   " machine_hour)",
                                   &seen_ns, err);

    query->seen_ns = seen_ns > 0 ? (uint64_t)seen_ns : 0;
    return ret == -ENODATA ? 0 : ret;
}

static int tell_jobs(struct jobs_query *query, ntk_store_job_row row, void *ctx,
                     struct ntk_err *err)
{
    sqlite3_stmt *statement = NULL;
    int ret = ntk_store_sql_prepare(query->reader->db, list_sql, &statement, err);

    if (ret == 0) {
        bind_list(statement, query);
        ntk_store_sql_bind(statement, "most", ntk_store_sql_integer(query->filter.most));
    }
    while (ret == 0 && ntk_store_sql_next(query->reader->db, statement, &ret, err)) {
        take_job(statement, &query->job);
        ret = load_job(query, err);
        ret = ret < 0 ? ret : row(&query->job, ctx);
    }
    sqlite3_finalize(statement);
    return ret < 0 ? ret : 0;
}

int ntk_store_reader_jobs(struct ntk_store_reader *reader,
                          const struct ntk_store_jobs_filter *filter, size_t *out_more,
                          ntk_store_job_row row, void *ctx, struct ntk_err *err)
{
    struct jobs_query *query;

    *out_more = 0;
    if (filter->window.to_ns > INT64_MAX || filter->window.from_ns >= filter->window.to_ns) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the window is empty");
    }
    query = calloc(1, sizeof *query);
    if (!query) {
        return ntk_err_no_memory(err);
    }
    query->reader = reader;
    query->filter = *filter;
    ntk_vec_init(&query->pieces, sizeof(struct ntk_store_piece));
    int ret = ntk_store_reader_begin(reader, err);
    if (ret == 0) {
        ret = load_seen(query, err);
        ret = ret < 0 ? ret : count_jobs(query, out_more, err);
        ret = ret < 0 ? ret : tell_jobs(query, row, ctx, err);
        ntk_store_reader_end(reader);
    }
    ntk_vec_fini(&query->pieces);
    free(query);
    return ret;
}
