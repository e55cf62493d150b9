/* SPDX-License-Identifier: MIT */
/* store_series - a figure over a window: watched time and values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/store/store_reader_state.h"
#include "shared/store/columns.h"
#include "shared/store/store_sql.h"

enum kind { SHARE, RATE, SIZE };

/* See ntk_store_window_add_filter(). */
#define PARTS_MACHINE 0
#define PARTS_DEVICE NTK_STORE_BY_DEVICE
#define PARTS_PROCESS NTK_STORE_BY_PROCESS
#define PARTS_CORE (NTK_STORE_BY_PROCESS | NTK_STORE_BY_CORE)
#define PARTS_EXECUTION PARTS_CORE
#define PARTS_MODEL (NTK_STORE_BY_PROCESS | NTK_STORE_BY_MODEL)

#define NTK_STORE_METRIC(id, name, family, kind, unit, value, largest, help) \
    { name, unit, help, PARTS_##family },
const struct ntk_store_metric_info ntk_store_metrics[NTK_STORE_METRIC_COUNT] = {
#include "shared/store/store_metrics.def"
};
#undef NTK_STORE_METRIC

static const struct {
    enum ntk_tier_family family;
    enum kind kind;
    const char *value;
    const char *largest;
} forms[NTK_STORE_METRIC_COUNT] = {
#define NTK_STORE_METRIC(id, name, family, kind, unit, value, largest, help) \
    { NTK_FAMILY_##family, kind, value, largest },
#include "shared/store/store_metrics.def"
#undef NTK_STORE_METRIC
};

/* The key that distinguishes entities of a family. */
static const char *const entity_of[NTK_FAMILY_COUNT] = {
    [NTK_FAMILY_MACHINE] = "'all'",
    [NTK_FAMILY_DEVICE] = "device",
    [NTK_FAMILY_PROCESS] = "process_id",
    [NTK_FAMILY_CORE] = "core",
    [NTK_FAMILY_EXECUTION] = "core",
    [NTK_FAMILY_MODEL] = "process_id || '/' || model_id",
    [NTK_FAMILY_RANK] = "process_id || '/' || communicator",
};

struct step {
    struct ntk_store_point point;
    uint64_t row_step_ns; /* the longest row in it */
    bool has_row;         /* of the request */
    uint64_t counting;    /* processes that count executions */
    uint64_t uncounted;   /* ... and that do not */
};

/* The state of one query. */
struct query {
    struct ntk_store_reader *reader;
    const struct ntk_store_filter *filter;
    struct ntk_store_window window; /* aligned */
    struct ntk_vec pieces;
    struct step *steps;
    size_t step_count; /* as divided; rows are numbered by these */
    size_t kept_count; /* number of them left by widen() */
};

enum ntk_store_metric ntk_store_metric_find(const char *name)
{
    int metric = 0;

    while (metric < NTK_STORE_METRIC_COUNT && strcmp(ntk_store_metrics[metric].name, name) != 0) {
        metric++;
    }
    return (enum ntk_store_metric)metric;
}

static void add_bucket(struct ntk_buf *sql, const struct query *query)
{
    ntk_buf_add_format(sql, "(time_ns - 1 - %llu) / %llu AS bucket",
                       (unsigned long long)query->window.from_ns,
                       (unsigned long long)query->window.step_ns);
}

static int prepare(struct query *query, struct ntk_buf *sql, sqlite3_stmt **out_statement,
                   struct ntk_err *err)
{
    int ret = ntk_buf_ok(sql) ? ntk_columns_prepare(query->reader->db, ntk_buf_text_get(sql),
                                                    out_statement, err)
                              : ntk_err_no_memory(err);

    if (ret == 0) {
        ntk_store_window_bind(*out_statement, query->filter);
    }
    ntk_buf_fini(sql);
    return ret;
}

/* The next row of a statement; bucket is the number of its step; false at the end, and with *ret
 * after an error. */
static bool next_row(const struct query *query, sqlite3_stmt *statement, size_t *out_index,
                     int *ret, struct ntk_err *err)
{
    int code = sqlite3_step(statement);

    if (code == SQLITE_DONE) {
        return false;
    }
    int64_t index = (int64_t)ntk_store_sql_u64(statement, "bucket");
    if (code != SQLITE_ROW) {
        *ret = ntk_store_sql_error(query->reader->db, "database", err);
        return false;
    }
    if (index < 0 || (uint64_t)index >= query->step_count) {
        *ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "a row outside the window");
        return false;
    }
    *out_index = (size_t)index;
    return true;
}

/* The watched part of each step. */
static int load_coverage(struct query *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;

    ntk_buf_add_text(&sql, "SELECT ");
    add_bucket(&sql, query);
    ntk_buf_add_text(&sql, ", add_up(period_ns) AS covered_ns, max(row_step_ns) AS row_ns FROM ");
    ntk_store_window_add_rows(&sql, &query->pieces, NTK_FAMILY_MACHINE, query->filter);
    ntk_buf_add_text(&sql, " GROUP BY 1");
    int ret = prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (next_row(query, statement, &i, &ret, err)) {
        query->steps[i].point.covered_ns = ntk_store_sql_u64(statement, "covered_ns");
        query->steps[i].row_step_ns = ntk_store_sql_u64(statement, "row_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

/* The processes that loaded the model of the filter. */
static void add_model_processes(struct ntk_buf *sql, const struct ntk_store_filter *filter,
                                const char *separator)
{
    if (filter->model) {
        ntk_buf_add_format(sql,
                           "%s process_id IN (SELECT process_id FROM model"
                           " WHERE name = :name OR name = :name || '.neff')",
                           separator);
    }
}

/* The number of processes in each step that count executions, and of those that do not. */
static int load_counting(struct query *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;

    ntk_buf_add_text(&sql, "SELECT ");
    add_bucket(&sql, query);
    ntk_buf_add_text(&sql,
                     ", count(DISTINCT CASE WHEN p." NTK_STORE_UNCOUNTED " THEN process_id END)"
                     " AS uncounted,"
                     " count(DISTINCT CASE WHEN (p." NTK_STORE_UNCOUNTED ") IS NOT 1"
                     " THEN process_id END) AS counting FROM ");
    ntk_store_window_add_rows(&sql, &query->pieces,
                              query->filter->has_core ? NTK_FAMILY_CORE : NTK_FAMILY_PROCESS,
                              query->filter);
    ntk_buf_add_text(&sql, " JOIN process p USING (process_id)");
    add_model_processes(&sql, query->filter, " WHERE");
    ntk_buf_add_text(&sql, " GROUP BY 1");
    int ret = prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (next_row(query, statement, &i, &ret, err)) {
        query->steps[i].uncounted = ntk_store_sql_u64(statement, "uncounted");
        query->steps[i].counting = ntk_store_sql_u64(statement, "counting");
    }
    sqlite3_finalize(statement);
    return ret;
}

static bool selects_processes(const struct ntk_store_filter *filter)
{
    return filter->process || filter->user || filter->model;
}

/* The part of each step in which a process of the filter ran. Rows of seconds have the same
 * period; a longer row has at most the time from the first to the last process in it. */
static int load_running(struct query *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;

    if (!selects_processes(query->filter)) {
        return 0;
    }
    ntk_buf_add_text(&sql, "SELECT bucket, add_up(ns) AS running_ns FROM (SELECT ");
    add_bucket(&sql, query);
    ntk_buf_add_format(&sql,
                       ", min(add_up(period_ns), max(max(period_ns), CASE WHEN row_step_ns > %llu"
                       " THEN min(time_ns, max(p.last_seen_ns))"
                       " - max(time_ns - row_step_ns, min(p.first_seen_ns)) ELSE 0 END)) AS ns"
                       " FROM ",
                       (unsigned long long)NTK_NS_PER_SECOND);
    ntk_store_window_add_rows(&sql, &query->pieces, NTK_FAMILY_PROCESS, query->filter);
    ntk_buf_add_text(&sql, " JOIN process p USING (process_id)");
    add_model_processes(&sql, query->filter, " WHERE");
    ntk_buf_add_text(&sql, " GROUP BY time_ns, row_step_ns) GROUP BY bucket");
    int ret = prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (next_row(query, statement, &i, &ret, err)) {
        query->steps[i].point.running_ns = ntk_store_sql_u64(statement, "running_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

/* Missing rows of executions have no meaning if they are not counted. */
static bool is_counted(const struct step *step)
{
    return step->counting > 0 || step->uncounted == 0;
}

static void fini(struct query *query)
{
    ntk_vec_fini(&query->pieces);
    free(query->steps);
}

/* Divides the window and finds the watched time; call fini() even if it fails. */
static int init(struct query *query, struct ntk_store_reader *reader,
                const struct ntk_store_filter *filter, const struct ntk_store_window *window,
                struct ntk_err *err)
{
    bool whole = window->step_ns == 0;

    *query = (struct query){ .reader = reader, .filter = filter, .window = *window };
    ntk_vec_init(&query->pieces, sizeof(struct ntk_store_piece));
    int ret = ntk_store_window_align(&query->window, err);
    if (ret == 0) {
        ret = ntk_store_window_cut(reader, &query->window, whole, &query->pieces, err);
    }
    if (ret < 0) {
        return ret;
    }
    query->step_count = (query->window.to_ns - query->window.from_ns) / query->window.step_ns;
    query->steps = calloc(query->step_count, sizeof *query->steps);
    if (!query->steps) {
        return ntk_err_no_memory(err);
    }
    for (size_t i = 0; i < query->step_count; i++) {
        query->steps[i].point.start_ns = query->window.from_ns + i * query->window.step_ns;
        query->steps[i].point.end_ns = query->steps[i].point.start_ns + query->window.step_ns;
    }
    ret = load_coverage(query, err);
    return ret < 0 ? ret : load_running(query, err);
}

/* Rows longer than a step replace the steps before theirs; covered is at most the length. */
static void widen(struct query *query)
{
    size_t kept = 0;

    for (size_t i = 0; i < query->step_count; i++) {
        struct step step = query->steps[i];
        while (step.row_step_ns > query->window.step_ns && kept > 0 &&
               query->steps[kept - 1].point.covered_ns == 0 &&
               query->steps[kept - 1].point.start_ns + step.row_step_ns >= step.point.end_ns) {
            step.point.start_ns = query->steps[--kept].point.start_ns;
        }
        step.point.counted_ns = step.point.covered_ns;
        step.point.is_running = step.point.running_ns > 0;
        if (!step.point.is_running || step.point.running_ns > step.point.counted_ns) {
            step.point.running_ns = step.point.counted_ns;
        }
        if (step.point.covered_ns > step.point.end_ns - step.point.start_ns) {
            step.point.covered_ns = step.point.end_ns - step.point.start_ns;
        }
        query->steps[kept++] = step;
    }
    query->kept_count = kept;
}

/* ---- series ---- */

static int load_values(struct query *query, enum ntk_store_metric metric, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;
    const char *largest = forms[metric].largest ? forms[metric].largest : "NULL";

    /* Sizes: the newest of each entity, then their sum; everything else is a sum already. */
    ntk_buf_add_text(&sql, "SELECT bucket, add_up(value) AS value, max(largest) AS largest,"
                           " count(*) AS entities FROM (SELECT ");
    add_bucket(&sql, query);
    ntk_buf_add_format(&sql,
                       forms[metric].kind == SIZE ? ", newest(%s, time_ns) AS value"
                                                  : ", add_up(%s) AS value",
                       forms[metric].value);
    ntk_buf_add_format(&sql, ", max(%s) AS largest FROM ", largest);
    ntk_store_window_add_rows(&sql, &query->pieces, forms[metric].family, query->filter);
    ntk_buf_add_format(&sql, " GROUP BY bucket, %s) GROUP BY bucket",
                       entity_of[forms[metric].family]);
    int ret = prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (next_row(query, statement, &i, &ret, err)) {
        struct ntk_store_point *point = &query->steps[i].point;
        query->steps[i].has_row = true;
        point->has_value = ntk_store_sql_known(statement, "value");
        point->value = (double)(int64_t)ntk_store_sql_u64(statement, "value");
        point->has_largest = ntk_store_sql_known(statement, "largest") &&
                             ntk_store_sql_u64(statement, "entities") == 1;
        point->largest = ntk_store_sql_double(statement, "largest");
    }
    sqlite3_finalize(statement);
    return ret;
}

/* The times at which the processes of the filter existed. */
static int load_lifetime(struct query *query, uint64_t *first_ns, uint64_t *last_ns,
                         struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(&sql, "SELECT min(first_seen_ns) AS first_ns, max(last_seen_ns) AS last_ns"
                           " FROM process WHERE 1");
    ntk_store_window_add_process(&sql, "", query->filter);
    add_model_processes(&sql, query->filter, " AND");
    int ret = prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *first_ns = ntk_store_sql_u64(statement, "first_ns");
        *last_ns = ntk_store_sql_u64(statement, "last_ns");
    }
    sqlite3_finalize(statement);
    return 0;
}

/* No row of executions means that nothing ran while the processes existed; no row of a core means
 * that no process owned it. */
static bool is_silent_zero(const struct query *query, enum ntk_tier_family family,
                           const struct step *step, uint64_t first_ns, uint64_t last_ns)
{
    const struct ntk_store_point *point = &step->point;

    if (point->covered_ns == 0) {
        return false;
    }
    switch (family) {
    case NTK_FAMILY_EXECUTION:
    case NTK_FAMILY_MODEL:
        return is_counted(step) && ((!query->filter->process && !query->filter->model) ||
                                    (point->end_ns > first_ns && point->start_ns < last_ns));
    case NTK_FAMILY_CORE:
        return !query->filter->process;
    default:
        return false;
    }
}

int ntk_store_reader_series(struct ntk_store_reader *reader, enum ntk_store_metric metric,
                            const struct ntk_store_filter *filter,
                            const struct ntk_store_window *window,
                            struct ntk_store_point **out_points, size_t *out_count,
                            struct ntk_err *err)
{
    struct query query = { 0 };
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    struct ntk_store_point *points = NULL;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = init(&query, reader, filter, window, err);
    if (ret == 0) {
        ret = load_values(&query, metric, err);
    }
    if (ret == 0 && (forms[metric].family == NTK_FAMILY_EXECUTION ||
                     forms[metric].family == NTK_FAMILY_MODEL)) {
        ret = load_counting(&query, err);
    }
    if (ret == 0) {
        ret = load_lifetime(&query, &first_ns, &last_ns, err);
    }
    ntk_store_reader_end(reader);
    if (ret == 0) {
        points = calloc(query.step_count, sizeof *points);
    }
    if (!points) {
        ret = ret < 0 ? ret : ntk_err_no_memory(err);
        fini(&query);
        return ret;
    }
    for (size_t i = 0; i < query.step_count; i++) {
        struct step *step = &query.steps[i];
        if (!step->has_row &&
            is_silent_zero(&query, forms[metric].family, step, first_ns, last_ns)) {
            step->point.has_value = true;
        }
    }
    widen(&query);
    for (size_t i = 0; i < query.kept_count; i++) {
        points[i] = query.steps[i].point;
        if (points[i].covered_ns == 0) {
            points[i].has_value = false;
            points[i].has_largest = false;
        } else if (forms[metric].kind == SHARE) {
            points[i].value /= (double)points[i].running_ns;
            if (filter->has_core && points[i].value > 1) { /* see BUSY_PERIOD in tier.c */
                points[i].value = 1;
            }
        } else if (forms[metric].kind == RATE) {
            points[i].value *= (double)NTK_NS_PER_SECOND / (double)points[i].running_ns;
        }
    }
    *out_points = points;
    *out_count = query.kept_count;
    fini(&query);
    return 0;
}

/* ---- executions ---- */

/* Counts and histograms of the steps that have any, with the column names of merged rows. */
static void add_execution_columns(struct ntk_buf *sql, bool of_model)
{
    ntk_buf_add_text(sql, ", histogram_merge(total_latency_histogram) AS total_latency_histogram,"
                          " histogram_merge(device_latency_histogram)"
                          " AS device_latency_histogram");
    if (of_model) {
        ntk_buf_add_text(sql, ", add_up(executions) AS executions, add_up(errors) AS errors");
        return;
    }
    ntk_buf_add_text(sql, "{execution|, add_up(%) AS %}");
}

/* An answer under construction. */
struct telling {
    struct ntk_histogram_dense total;
    struct ntk_histogram_dense device;
    struct ntk_histogram_entry entries[2][NTK_HISTOGRAM_BUCKETS];
};

static void take_executions(sqlite3_stmt *statement, bool of_model,
                            struct ntk_histogram_entry (*entries)[NTK_HISTOGRAM_BUCKETS],
                            struct ntk_store_executions *out)
{
    out->total_latency =
        ntk_store_reader_histogram(statement, "total_latency_histogram", entries[0]);
    out->device_latency =
        ntk_store_reader_histogram(statement, "device_latency_histogram", entries[1]);
    if (of_model) {
        out->failed = ntk_store_sql_u64(statement, "errors");
        /* "failed" includes those that never reached a core, "executions" those that did. */
        uint64_t executions = ntk_store_sql_u64(statement, "executions");
        out->completed = executions > out->failed ? executions - out->failed : 0;
        return;
    }
    out->has_outcomes = true;
    ntk_store_executions_get(statement, ntk_store_sql_u64, out->outcome, out->error_class);
    for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
        out->failed += i == NTK_OUTCOME_COMPLETED ? 0 : out->outcome[i];
    }
    out->completed = out->outcome[NTK_OUTCOME_COMPLETED];
}

/* ---- the unwatched part ---- */

/* The rows of unwatched, by time; none for a model, because its counts begin with the watch. */
static int prepare_unwatched(struct query *query, sqlite3_stmt **out_statement, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_buf_add_text(&sql, "SELECT time_ns");
    add_execution_columns(&sql, false);
    ntk_buf_add_text(&sql, " FROM unwatched");
    ntk_buf_add_format(&sql, " WHERE time_ns > %llu AND time_ns <= %llu",
                       (unsigned long long)query->window.from_ns,
                       (unsigned long long)query->window.to_ns);
    ntk_store_window_add_filter(&sql, NTK_FAMILY_EXECUTION, query->filter);
    ntk_buf_add_text(&sql, query->filter->model ? " AND 0" : "");
    ntk_buf_add_text(&sql, " GROUP BY time_ns ORDER BY time_ns");
    return prepare(query, &sql, out_statement, err);
}

static void merge_into(struct ntk_histogram *to, const struct ntk_histogram *more,
                       struct ntk_histogram_dense *dense, struct ntk_histogram_entry *entries)
{
    ntk_histogram_dense_reset(dense);
    ntk_histogram_dense_merge(dense, to);
    ntk_histogram_dense_merge(dense, more);
    to->count = dense->count;
    to->sum_ns = dense->sum_ns;
    to->entries = entries;
    to->entry_count = ntk_histogram_dense_entries(dense, entries, NTK_HISTOGRAM_BUCKETS);
}

/* Adds the rows up to the end of the step. has_row: whether the statement is on one. */
static int add_unwatched(const struct query *query, sqlite3_stmt *statement, bool *has_row,
                         struct telling *telling, struct ntk_store_executions *reported,
                         struct ntk_err *err)
{
    while (*has_row && ntk_store_sql_u64(statement, "time_ns") <= reported->end_ns) {
        struct ntk_histogram_entry(*entries)[NTK_HISTOGRAM_BUCKETS] = calloc(2, sizeof *entries);
        struct ntk_store_executions more = { 0 };
        if (!entries) {
            return ntk_err_no_memory(err);
        }
        take_executions(statement, false, entries, &more);
        reported->completed += more.completed;
        reported->failed += more.failed;
        reported->unwatched += more.completed + more.failed;
        for (int i = 0; i < NTK_OUTCOME_COUNT; i++) {
            reported->outcome[i] += more.outcome[i];
        }
        for (int i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
            reported->error_class[i] += more.error_class[i];
        }
        merge_into(&reported->total_latency, &more.total_latency, &telling->total,
                   telling->entries[0]);
        merge_into(&reported->device_latency, &more.device_latency, &telling->device,
                   telling->entries[1]);
        free(entries);
        int code = sqlite3_step(statement);
        *has_row = code == SQLITE_ROW;
        if (code != SQLITE_ROW && code != SQLITE_DONE) {
            return ntk_store_sql_error(query->reader->db, "database", err);
        }
    }
    return 0;
}

/* Goes through the steps and the rows in parallel: a step without a row has no executions. */
static int tell_steps(struct query *query, sqlite3_stmt *statement, sqlite3_stmt *unwatched,
                      bool of_model, ntk_store_executions_row row, void *ctx, struct ntk_err *err)
{
    struct telling *telling = calloc(1, sizeof *telling);
    int ret = 0;
    size_t index = 0;

    if (!telling) {
        return ntk_err_no_memory(err);
    }
    bool has_unwatched = sqlite3_step(unwatched) == SQLITE_ROW;
    bool has_row = next_row(query, statement, &index, &ret, err);
    widen(query);
    for (size_t i = 0; ret == 0 && i < query->kept_count; i++) {
        const struct ntk_store_point *point = &query->steps[i].point;
        struct ntk_store_executions reported = { .start_ns = point->start_ns,
                                                 .end_ns = point->end_ns,
                                                 .covered_ns = point->covered_ns,
                                                 .counted_ns = point->counted_ns,
                                                 .running_ns = point->running_ns,
                                                 .is_running = point->is_running,
                                                 .uncounted = query->steps[i].uncounted,
                                                 .has_outcomes = !of_model };
        bool is_its =
            has_row && query->window.from_ns + (index + 1) * query->window.step_ns == point->end_ns;
        if (is_its) {
            take_executions(statement, of_model, telling->entries, &reported);
        }
        if (reported.covered_ns >
            0) { /* after a gap it counts in the step in which the agent watched again */
            ret = add_unwatched(query, unwatched, &has_unwatched, telling, &reported, err);
        }
        reported.is_counted =
            is_counted(&query->steps[i]) || reported.completed > 0 || reported.failed > 0;
        ret = ret < 0 ? ret : row(&reported, ctx);
        if (is_its && ret == 0) {
            has_row = next_row(query, statement, &index, &ret, err);
        }
    }
    free(telling);
    return ret < 0 ? ret : 0;
}

int ntk_store_reader_executions(struct ntk_store_reader *reader,
                                const struct ntk_store_filter *filter,
                                const struct ntk_store_window *window, ntk_store_executions_row row,
                                void *ctx, struct ntk_err *err)
{
    struct query query = { 0 };
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    sqlite3_stmt *unwatched = NULL;
    bool of_model = filter->model != NULL;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = init(&query, reader, filter, window, err);
    ret = ret < 0 ? ret : load_counting(&query, err);
    if (ret == 0) {
        ntk_buf_add_text(&sql, "SELECT ");
        add_bucket(&sql, &query);
        add_execution_columns(&sql, of_model);
        ntk_buf_add_text(&sql, " FROM ");
        ntk_store_window_add_rows(&sql, &query.pieces,
                                  of_model ? NTK_FAMILY_MODEL : NTK_FAMILY_EXECUTION, filter);
        ntk_buf_add_text(&sql, " GROUP BY 1 ORDER BY 1");
        ret = prepare(&query, &sql, &statement, err);
    }
    ret = ret < 0 ? ret : prepare_unwatched(&query, &unwatched, err);
    if (ret == 0) {
        ret = tell_steps(&query, statement, unwatched, of_model, row, ctx, err);
    }
    sqlite3_finalize(unwatched);
    sqlite3_finalize(statement);
    ntk_store_reader_end(reader);
    fini(&query);
    return ret;
}
