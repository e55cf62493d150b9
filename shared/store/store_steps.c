/* SPDX-License-Identifier: MIT */
/* store_steps - divides a window, and finds the observed time of each step. */
#include "shared/store/store_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "shared/store/columns.h"
#include "shared/store/store_sql.h"

void ntk_steps_add_bucket(struct ntk_buf *sql, const struct ntk_steps *query)
{
    ntk_buf_add_format(sql, "(time_ns - 1 - %llu) / %llu AS bucket",
                       (unsigned long long)query->window.from_ns,
                       (unsigned long long)query->window.step_ns);
}

int ntk_steps_prepare(struct ntk_steps *query, struct ntk_buf *sql, sqlite3_stmt **out_statement,
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

bool ntk_steps_next(const struct ntk_steps *query, sqlite3_stmt *statement, size_t *out_index,
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
        *ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "the database returned a row outside the window");
        return false;
    }
    *out_index = (size_t)index;
    return true;
}

/* Loads the observed part of each step. */
static int load_coverage(struct ntk_steps *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;

    ntk_buf_add_text(&sql, "SELECT ");
    ntk_steps_add_bucket(&sql, query);
    ntk_buf_add_text(&sql, ", add_up(period_ns) AS covered_ns, max(row_step_ns) AS row_ns FROM ");
    ntk_store_window_add_rows(&sql, &query->pieces, NTK_FAMILY_MACHINE, query->filter);
    ntk_buf_add_text(&sql, " GROUP BY 1");
    int ret = ntk_steps_prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (ntk_steps_next(query, statement, &i, &ret, err)) {
        query->steps[i].point.covered_ns = ntk_store_sql_u64(statement, "covered_ns");
        query->steps[i].row_step_ns = ntk_store_sql_u64(statement, "row_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

void ntk_steps_add_model_processes(struct ntk_buf *sql, const struct ntk_store_filter *filter,
                                   const char *separator)
{
    if (filter->model) {
        ntk_buf_add_format(sql,
                           "%s process_id IN (SELECT process_id FROM model"
                           " WHERE name = :name OR name = :name || '.neff')",
                           separator);
    }
}

int ntk_steps_load_counting(struct ntk_steps *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;

    ntk_buf_add_text(&sql, "SELECT ");
    ntk_steps_add_bucket(&sql, query);
    ntk_buf_add_text(&sql,
                     ", count(DISTINCT CASE WHEN p." NTK_STORE_UNCOUNTED " THEN process_id END)"
                     " AS uncounted,"
                     " count(DISTINCT CASE WHEN (p." NTK_STORE_UNCOUNTED ") IS NOT 1"
                     " THEN process_id END) AS counting FROM ");
    ntk_store_window_add_rows(&sql, &query->pieces,
                              query->filter->has_core ? NTK_FAMILY_CORE : NTK_FAMILY_PROCESS,
                              query->filter);
    ntk_buf_add_text(&sql, " JOIN process p USING (process_id)");
    ntk_steps_add_model_processes(&sql, query->filter, " WHERE");
    ntk_buf_add_text(&sql, " GROUP BY 1");
    int ret = ntk_steps_prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (ntk_steps_next(query, statement, &i, &ret, err)) {
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

/* Loads the part of each step in which a process of the filter ran. Rows of seconds all have the
 * same period; a longer row counts at most from the first to the last process in it. */
static int load_running(struct ntk_steps *query, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;

    if (!selects_processes(query->filter)) {
        return 0;
    }
    ntk_buf_add_text(&sql, "SELECT bucket, add_up(ns) AS running_ns FROM (SELECT ");
    ntk_steps_add_bucket(&sql, query);
    ntk_buf_add_format(&sql,
                       ", min(add_up(period_ns), max(max(period_ns), CASE WHEN row_step_ns > %llu"
                       " THEN min(time_ns, max(p.last_seen_ns))"
                       " - max(time_ns - row_step_ns, min(p.first_seen_ns)) ELSE 0 END)) AS ns"
                       " FROM ",
                       (unsigned long long)NTK_NS_PER_SECOND);
    ntk_store_window_add_rows(&sql, &query->pieces, NTK_FAMILY_PROCESS, query->filter);
    ntk_buf_add_text(&sql, " JOIN process p USING (process_id)");
    ntk_steps_add_model_processes(&sql, query->filter, " WHERE");
    ntk_buf_add_text(&sql, " GROUP BY time_ns, row_step_ns) GROUP BY bucket");
    int ret = ntk_steps_prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (ntk_steps_next(query, statement, &i, &ret, err)) {
        query->steps[i].point.running_ns = ntk_store_sql_u64(statement, "running_ns");
    }
    sqlite3_finalize(statement);
    return ret;
}

bool ntk_step_is_counted(const struct ntk_step *step)
{
    return step->counting > 0 || step->uncounted == 0;
}

void ntk_steps_fini(struct ntk_steps *query)
{
    ntk_vec_fini(&query->pieces);
    free(query->steps);
}

int ntk_steps_init(struct ntk_steps *query, struct ntk_store_reader *reader,
                   const struct ntk_store_filter *filter, const struct ntk_store_window *window,
                   struct ntk_err *err)
{
    bool whole = window->step_ns == 0;

    *query = (struct ntk_steps){ .reader = reader, .filter = filter, .window = *window };
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

void ntk_steps_widen(struct ntk_steps *query)
{
    size_t kept = 0;

    for (size_t i = 0; i < query->step_count; i++) {
        struct ntk_step step = query->steps[i];
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
