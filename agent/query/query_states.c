/* SPDX-License-Identifier: MIT */
/* query_states - answers queries about ranks, their verdicts, idle time, and the health of
 * devices. */
#include "agent/query/query_states.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranks ---- */

static int add_rank(const struct ntk_store_rank *rank, void *ctx)
{
    struct ntk_query_table *table = ctx;
    bool has_any = rank->operations > 0;
    double wait =
        has_any && rank->period_ns > 0 ? (double)rank->wait_ns / (double)rank->period_ns : 0;

    ntk_query_table_add_text(table, rank->rendezvous);
    ntk_query_table_add_text(table, rank->communicator);
    ntk_query_table_add_count(table, true, rank->rank);
    ntk_query_table_add_count(table, true, rank->rank_count);
    ntk_query_table_add_text(table, rank->tag);
    ntk_query_table_add_count(table, true, rank->pid);
    ntk_query_table_add_count(table, true, rank->start_ns);
    ntk_query_table_add_count(table, true, rank->end_ns);
    ntk_query_table_add_count(table, true, rank->period_ns);
    ntk_query_table_add_count(table, true, rank->operations);
    ntk_query_table_add_count(table, true, rank->errors);
    ntk_query_table_add_count(table, true, rank->last_sequence);
    ntk_query_table_add_count(table, has_any, has_any ? rank->period_ns / rank->operations : 0);
    ntk_query_table_add_count(table, true, rank->in_operations_ns);
    ntk_query_table_add_count(table, rank->has_wait, rank->wait_ns);
    ntk_query_table_add_number(table, has_any && rank->has_wait, wait < 1 ? wait : 1);
    ntk_query_table_add_count(table, true, rank->core_busy_ns);
    ntk_query_table_add_count(table, true, rank->moved_bytes);
    ntk_query_table_add_text(table, rank->verdicts);
    return 0;
}

int ntk_query_answer_ranks(const struct ntk_query *query, struct ntk_query_table *table,
                           struct ntk_err *err)
{
    static const struct ntk_query_heading columns[] = {
        { NTK_QUERY_TEXT, "rendezvous" },
        { NTK_QUERY_TEXT, "communicator" },
        { NTK_QUERY_COUNT, "rank" },
        { NTK_QUERY_COUNT, "rank_count" },
        { NTK_QUERY_TEXT, "tag" },
        { NTK_QUERY_COUNT, "pid" },
        { NTK_QUERY_TIME, "from" },
        { NTK_QUERY_TIME, "to" },
        { NTK_QUERY_SECONDS, "at_work_seconds" },
        { NTK_QUERY_COUNT, "operations" },
        { NTK_QUERY_COUNT, "errors" },
        { NTK_QUERY_COUNT, "last_sequence" },
        { NTK_QUERY_NS, "interval_ns" },
        { NTK_QUERY_NS, "in_operations_ns" },
        { NTK_QUERY_NS, "wait_ns" },
        { NTK_QUERY_RATIO, "wait_ratio" },
        { NTK_QUERY_NS, "core_busy_ns" },
        { NTK_QUERY_BYTES, "moved_bytes" },
        { NTK_QUERY_TEXT, "verdicts" },
    };

    ntk_query_table_add_columns(table, columns, sizeof columns / sizeof *columns);
    return ntk_store_reader_ranks(query->reader, &query->filter, &query->window, add_rank, table,
                                  err);
}

static int add_verdict(const struct ntk_store_verdict *verdict, void *ctx)
{
    struct ntk_query_table *table = ctx;

    ntk_query_table_add_count(table, true, verdict->from_ns);
    ntk_query_table_add_count(table, verdict->to_ns > 0, verdict->to_ns);
    ntk_query_table_add_text(table, verdict->kind);
    ntk_query_table_add_count(table, verdict->has_rank, verdict->rank);
    ntk_query_table_add_count(table, true, verdict->rank_count);
    ntk_query_table_add_text(table, verdict->cause);
    ntk_query_table_add_text(table, verdict->tag);
    ntk_query_table_add_count(table, verdict->pid > 0, verdict->pid);
    ntk_query_table_add_text(table, verdict->rendezvous);
    ntk_query_table_add_text(table, verdict->communicator);
    ntk_query_table_add_text(table, verdict->operation);
    ntk_query_table_add_count(table, verdict->operation != NULL, verdict->sequence);
    ntk_query_table_add_count(table, verdict->missing_count > 0, verdict->missing_count);
    ntk_query_table_add_count(table, verdict->behind_ns > 0, verdict->behind_ns);
    ntk_query_table_add_count(table, verdict->interval_ns > 0, verdict->interval_ns);
    return 0;
}

int ntk_query_answer_verdicts(const struct ntk_query *query, struct ntk_query_table *table,
                              struct ntk_err *err)
{
    static const struct ntk_query_heading columns[] = {
        { NTK_QUERY_TIME, "from" },
        { NTK_QUERY_TIME, "to" },
        { NTK_QUERY_TEXT, "kind" },
        { NTK_QUERY_COUNT, "rank" },
        { NTK_QUERY_COUNT, "rank_count" },
        { NTK_QUERY_TEXT, "cause" },
        { NTK_QUERY_TEXT, "tag" },
        { NTK_QUERY_COUNT, "pid" },
        { NTK_QUERY_TEXT, "rendezvous" },
        { NTK_QUERY_TEXT, "communicator" },
        { NTK_QUERY_TEXT, "operation" },
        { NTK_QUERY_COUNT, "sequence" },
        { NTK_QUERY_COUNT, "missing_count" },
        { NTK_QUERY_NS, "behind_ns" },
        { NTK_QUERY_NS, "interval_ns" },
    };

    ntk_query_table_add_columns(table, columns, sizeof columns / sizeof *columns);
    return ntk_store_reader_verdicts(query->reader, &query->filter, &query->window, add_verdict,
                                     table, err);
}

/* ---- idle time ---- */

static void add_word(struct ntk_query_table *table, const char *text)
{
    ntk_query_table_add_text(table, text && text[0] ? text : NULL);
}

static int add_idle(const struct ntk_store_idle *idle, void *ctx)
{
    struct ntk_query_table *table = ctx;
    bool has_cause = idle->cause != NULL;
    double held_ns = (double)idle->held_ns;
    double all_ns = (double)idle->all_idle_ns;

    ntk_query_table_add_count(table, true, idle->start_ns);
    ntk_query_table_add_count(table, true, idle->end_ns);
    ntk_query_table_add_text(table, idle->tag);
    ntk_query_table_add_count(table, true, idle->pid);
    ntk_query_table_add_count(table, true, idle->period_ns);
    ntk_query_table_add_number(table, held_ns > 0, held_ns > 0 ? all_ns / held_ns : 0);
    add_word(table, idle->cause);
    ntk_query_table_add_number(table, has_cause && all_ns > 0,
                               all_ns > 0 ? (double)idle->idle_ns / all_ns : 0);
    ntk_query_table_add_count(table, has_cause, idle->idle_ns);
    ntk_query_table_add_count(table, has_cause, idle->gaps);
    ntk_query_table_add_count(table, has_cause, idle->longest_ns);
    add_word(table, idle->thread);
    add_word(table, idle->function);
    add_word(table, idle->module);
    add_word(table, idle->syscall);
    add_word(table, idle->object);
    ntk_query_table_add_count(table, true, idle->lost);
    return 0;
}

int ntk_query_answer_idle(const struct ntk_query *query, struct ntk_query_table *table,
                          struct ntk_err *err)
{
    static const struct ntk_query_heading columns[] = {
        { NTK_QUERY_TIME, "from" },
        { NTK_QUERY_TIME, "to" },
        { NTK_QUERY_TEXT, "tag" },
        { NTK_QUERY_COUNT, "pid" },
        { NTK_QUERY_SECONDS, "observed_seconds" },
        { NTK_QUERY_RATIO, "idle_ratio" },
        { NTK_QUERY_TEXT, "cause" },
        { NTK_QUERY_RATIO, "share_ratio" },
        { NTK_QUERY_SECONDS, "seconds" },
        { NTK_QUERY_COUNT, "gaps" },
        { NTK_QUERY_NS, "longest_ns" },
        { NTK_QUERY_TEXT, "thread" },
        { NTK_QUERY_TEXT, "function" },
        { NTK_QUERY_TEXT, "module" },
        { NTK_QUERY_TEXT, "syscall" },
        { NTK_QUERY_TEXT, "object" },
        { NTK_QUERY_COUNT, "lost" },
    };

    ntk_query_table_add_columns(table, columns, sizeof columns / sizeof *columns);
    return ntk_store_reader_idle(query->reader, &query->filter, &query->window, add_idle, table,
                                 err);
}

/* ---- the health of devices ---- */

static uint64_t number_of(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

static const struct ntk_query_heading health_columns[] = {
    { NTK_QUERY_COUNT, "device" }, { NTK_QUERY_TIME, "from" },   { NTK_QUERY_TIME, "to" },
    { NTK_QUERY_TEXT, "verdict" }, { NTK_QUERY_TEXT, "reason" }, { NTK_QUERY_TEXT, "action" },
    { NTK_QUERY_COUNT, "count" },  { NTK_QUERY_COUNT, "core" },  { NTK_QUERY_COUNT, "nrt_status" },
    { NTK_QUERY_TEXT, "detail" },
};

static int take_health(size_t column_count, const char *const *names, const char *const *values,
                       void *ctx)
{
    struct ntk_query_table *table = ctx;

    (void)names; /* unused in a release build */
    for (size_t i = 0; i < column_count; i++) {
        assert(strcmp(names[i], health_columns[i].name) == 0);
        if (health_columns[i].kind == NTK_QUERY_TEXT) {
            ntk_query_table_add_text(table, values[i] && values[i][0] ? values[i] : NULL);
        } else {
            ntk_query_table_add_count(table, values[i] != NULL, number_of(values[i]));
        }
    }
    return 0;
}

int ntk_query_answer_health(const struct ntk_query *query, struct ntk_query_table *table,
                            struct ntk_err *err)
{
    char device[48] = "";
    char sql[1536];

    ntk_query_table_add_columns(table, health_columns,
                                sizeof health_columns / sizeof *health_columns);
    if (query->filter.has_device) {
        snprintf(device, sizeof device, " AND d.device = %" PRIu32, query->filter.device);
    }
    /* A changed reason writes rows for all reasons; here a reason that continues is one row. */
    snprintf(sql, sizeof sql,
             "WITH h AS (SELECT *, (SELECT min(n.time_ns) FROM device_health n"
             " WHERE n.device = h.device AND n.time_ns > h.time_ns) AS to_ns FROM device_health h),"
             " b AS (SELECT *, lag(to_ns) OVER (PARTITION BY device, verdict, reason"
             " ORDER BY time_ns) IS NOT time_ns AS begins FROM h),"
             " s AS (SELECT *, sum(begins) OVER (PARTITION BY device, verdict, reason"
             " ORDER BY time_ns) AS stretch FROM b),"
             " r AS (SELECT device, reason, min(time_ns) AS begin_ns, max(time_ns) AS last_ns,"
             " CASE WHEN count(*) = count(to_ns) THEN max(to_ns) END AS to_ns"
             " FROM s GROUP BY device, verdict, reason, stretch)"
             " SELECT d.device AS device, begin_ns AS 'from', to_ns AS 'to', verdict,"
             " d.reason AS reason, action, count, core, nrt_status, detail"
             " FROM r JOIN device_health d ON d.time_ns = r.last_ns"
             " AND d.device = r.device AND d.reason = r.reason WHERE begin_ns <= %" PRIu64
             " AND (to_ns IS NULL OR to_ns > %" PRIu64 ")%s ORDER BY d.device, begin_ns, rank",
             query->window.to_ns, query->window.from_ns, device);
    return ntk_store_reader_query(query->reader, sql, take_health, table, err);
}
