/* SPDX-License-Identifier: MIT */
/* store_series - reads the values of a metric over a window. */
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/store/store_sql.h"
#include "shared/store/store_steps.h"

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

/* The key columns that distinguish the entities of a family. */
static const char *const entity_of[NTK_FAMILY_COUNT] = {
    [NTK_FAMILY_MACHINE] = "'all'",
    [NTK_FAMILY_DEVICE] = "device",
    [NTK_FAMILY_PROCESS] = "process_id",
    [NTK_FAMILY_CORE] = "core",
    [NTK_FAMILY_EXECUTION] = "core",
    [NTK_FAMILY_MODEL] = "process_id || '/' || model_id",
    [NTK_FAMILY_RANK] = "process_id || '/' || communicator",
};

enum ntk_store_metric ntk_store_metric_find(const char *name)
{
    int metric = 0;

    while (metric < NTK_STORE_METRIC_COUNT && strcmp(ntk_store_metrics[metric].name, name) != 0) {
        metric++;
    }
    return (enum ntk_store_metric)metric;
}

static int load_values(struct ntk_steps *query, enum ntk_store_metric metric, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;
    size_t i;
    const char *largest = forms[metric].largest ? forms[metric].largest : "NULL";

    /* For sizes, adds up the newest values of all entities; everything else is already
     * a sum. */
    ntk_buf_add_text(&sql, "SELECT bucket, add_up(value) AS value, max(largest) AS largest,"
                           " count(*) AS entities FROM (SELECT ");
    ntk_steps_add_bucket(&sql, query);
    ntk_buf_add_format(&sql,
                       forms[metric].kind == SIZE ? ", newest(%s, time_ns) AS value"
                                                  : ", add_up(%s) AS value",
                       forms[metric].value);
    ntk_buf_add_format(&sql, ", max(%s) AS largest FROM ", largest);
    ntk_store_window_add_rows(&sql, &query->pieces, forms[metric].family, query->filter);
    ntk_buf_add_format(&sql, " GROUP BY bucket, %s) GROUP BY bucket",
                       entity_of[forms[metric].family]);
    int ret = ntk_steps_prepare(query, &sql, &statement, err);
    if (ret < 0) {
        return ret;
    }
    while (ntk_steps_next(query, statement, &i, &ret, err)) {
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

/* Finds the time range in which the processes of the filter existed. */
static int load_lifetime(struct ntk_steps *query, uint64_t *first_ns, uint64_t *last_ns,
                         struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *statement = NULL;

    ntk_buf_add_text(&sql, "SELECT min(first_seen_ns) AS first_ns, max(last_seen_ns) AS last_ns"
                           " FROM process WHERE 1");
    ntk_store_window_add_process(&sql, "", query->filter);
    ntk_steps_add_model_processes(&sql, query->filter, " AND");
    int ret = ntk_steps_prepare(query, &sql, &statement, err);
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

/* Returns true if a missing value means zero: no row of executions means that nothing ran while the
 * processes existed; no row of a core means that no process owned it. */
static bool is_silent_zero(const struct ntk_steps *query, enum ntk_tier_family family,
                           const struct ntk_step *step, uint64_t first_ns, uint64_t last_ns)
{
    const struct ntk_store_point *point = &step->point;

    if (point->covered_ns == 0) {
        return false;
    }
    switch (family) {
    case NTK_FAMILY_EXECUTION:
    case NTK_FAMILY_MODEL:
        return ntk_step_is_counted(step) &&
               ((!query->filter->process && !query->filter->model) ||
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
    struct ntk_steps query = { 0 };
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    struct ntk_store_point *points = NULL;
    int ret = ntk_store_reader_begin(reader, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_steps_init(&query, reader, filter, window, err);
    if (ret == 0) {
        ret = load_values(&query, metric, err);
    }
    if (ret == 0 && (forms[metric].family == NTK_FAMILY_EXECUTION ||
                     forms[metric].family == NTK_FAMILY_MODEL)) {
        ret = ntk_steps_load_counting(&query, err);
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
        ntk_steps_fini(&query);
        return ret;
    }
    for (size_t i = 0; i < query.step_count; i++) {
        struct ntk_step *step = &query.steps[i];
        if (!step->has_row &&
            is_silent_zero(&query, forms[metric].family, step, first_ns, last_ns)) {
            step->point.has_value = true;
        }
    }
    ntk_steps_widen(&query);
    for (size_t i = 0; i < query.kept_count; i++) {
        points[i] = query.steps[i].point;
        if (points[i].covered_ns == 0) {
            points[i].has_value = false;
            points[i].has_largest = false;
        } else if (forms[metric].kind == SHARE) {
            points[i].value /= (double)points[i].running_ns;
            if (filter->has_core && points[i].value > 1) { /* see BUSY_PERIOD in columns.def */
                points[i].value = 1;
            }
        } else if (forms[metric].kind == RATE) {
            points[i].value *= (double)NTK_NS_PER_SECOND / (double)points[i].running_ns;
        }
    }
    *out_points = points;
    *out_count = query.kept_count;
    ntk_steps_fini(&query);
    return 0;
}
