/* SPDX-License-Identifier: MIT */
/* store_executions - reads outcomes and latencies of executions in a window, and those from the
 * time when no agent was running. */
#include <stdlib.h>

#include "shared/store/columns.h"
#include "shared/store/store_sql.h"
#include "shared/store/store_steps.h"

/* Adds the columns with counts and histograms, named like those of merged rows, for the steps that
 * have any. */
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
        /* "failed" includes executions that never reached a core; "executions" contains only those
         * that did. */
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

/* ---- executions while no agent was running ---- */

/* Selects the rows of unwatched by time; none for a model, because its counts begin when an agent
 * observes it. */
static int prepare_unwatched(struct ntk_steps *query, sqlite3_stmt **out_statement,
                             struct ntk_err *err)
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
    return ntk_steps_prepare(query, &sql, out_statement, err);
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

/* Adds the rows up to the end of the step. has_row: whether the statement has a current row. */
static int add_unwatched(const struct ntk_steps *query, sqlite3_stmt *statement, bool *has_row,
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

/* Walks through steps and rows in parallel: a step without a row has no executions. */
static int tell_steps(struct ntk_steps *query, sqlite3_stmt *statement, sqlite3_stmt *unwatched,
                      bool of_model, ntk_store_executions_row row, void *ctx, struct ntk_err *err)
{
    struct telling *telling = calloc(1, sizeof *telling);
    int ret = 0;
    size_t index = 0;

    if (!telling) {
        return ntk_err_no_memory(err);
    }
    bool has_unwatched = sqlite3_step(unwatched) == SQLITE_ROW;
    bool has_row = ntk_steps_next(query, statement, &index, &ret, err);
    ntk_steps_widen(query);
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
        /* Executions during a gap count in the step in which an agent was running again. */
        if (reported.covered_ns > 0) {
            ret = add_unwatched(query, unwatched, &has_unwatched, telling, &reported, err);
        }
        reported.is_counted =
            ntk_step_is_counted(&query->steps[i]) || reported.completed > 0 || reported.failed > 0;
        ret = ret < 0 ? ret : row(&reported, ctx);
        if (is_its && ret == 0) {
            has_row = ntk_steps_next(query, statement, &index, &ret, err);
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
    struct ntk_steps query = { 0 };
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    sqlite3_stmt *unwatched = NULL;
    bool of_model = filter->model != NULL;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_steps_init(&query, reader, filter, window, err);
    ret = ret < 0 ? ret : ntk_steps_load_counting(&query, err);
    if (ret == 0) {
        ntk_buf_add_text(&sql, "SELECT ");
        ntk_steps_add_bucket(&sql, &query);
        add_execution_columns(&sql, of_model);
        ntk_buf_add_text(&sql, " FROM ");
        ntk_store_window_add_rows(&sql, &query.pieces,
                                  of_model ? NTK_FAMILY_MODEL : NTK_FAMILY_EXECUTION, filter);
        ntk_buf_add_text(&sql, " GROUP BY 1 ORDER BY 1");
        ret = ntk_steps_prepare(&query, &sql, &statement, err);
    }
    ret = ret < 0 ? ret : prepare_unwatched(&query, &unwatched, err);
    if (ret == 0) {
        ret = tell_steps(&query, statement, unwatched, of_model, row, ctx, err);
    }
    sqlite3_finalize(unwatched);
    sqlite3_finalize(statement);
    ntk_store_reader_end(reader);
    ntk_steps_fini(&query);
    return ret;
}
