/* SPDX-License-Identifier: MIT */
/* query_questions - lists the queries, and fills the table of each answer. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query/query.h"
#include "agent/query/query_figures.h"
#include "agent/query/query_states.h"
#include "agent/query/query_steps.h"
#include "shared/base/buf.h"
#include "shared/base/clock.h"

/* An answer being built. */
struct answer {
    const struct ntk_query *query;
    struct ntk_query_table *table;
    struct ntk_store_filter filter;
    const char *model; /* model of the current rows */
    struct ntk_err *err;
};

/* ---- latency ---- */

static int add_latency(const struct ntk_store_executions *step, void *ctx)
{
    const struct answer *answer = ctx;
    const struct ntk_query *query = answer->query;
    const struct ntk_histogram *histogram =
        query->device_latency ? &step->device_latency : &step->total_latency;
    double values[NTK_QUERY_PERCENTILES_MAX] = { 0 };
    bool watched = step->covered_ns > 0;
    bool counted = watched && step->is_counted;
    bool known =
        ntk_histogram_percentiles(histogram, query->percentiles, query->percentile_count, values);

    ntk_query_table_add_text(answer->table, answer->model);
    ntk_query_add_step(answer->table, step->start_ns, step->end_ns, step->covered_ns);
    ntk_query_table_add_count(answer->table, counted, step->completed);
    ntk_query_table_add_count(answer->table, counted, step->failed);
    ntk_query_table_add_count(answer->table, counted && step->has_outcomes, step->unwatched);
    ntk_query_table_add_count(answer->table, watched, step->uncounted);
    ntk_query_table_add_count(answer->table, known,
                              known ? histogram->sum_ns / histogram->count : 0);
    for (size_t i = 0; i < query->percentile_count; i++) {
        ntk_query_table_add_number(answer->table, known, (double)(uint64_t)values[i]);
    }
    return 0;
}

static int keep_name(const char *name, void *ctx)
{
    char *copy = strdup(name);

    if (!copy || ntk_vec_push(ctx, &copy) < 0) {
        free(copy);
        return -ENOMEM;
    }
    return 0;
}

/* Adds each model of the window by name, over all its processes. */
static int add_models(struct answer *answer)
{
    struct ntk_vec names = NTK_VEC_INIT(char *);
    const struct ntk_query *query = answer->query;
    int ret = ntk_store_reader_models(query->reader, &query->filter, &query->window, keep_name,
                                      &names, answer->err);

    if (ret == -ENOMEM) {
        ntk_err_no_memory(answer->err);
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = *(char **)ntk_vec_at(&names, i);
        answer->model = name;
        answer->filter = query->filter;
        answer->filter.model = name;
        if (ret == 0) {
            ret = ntk_store_reader_executions(query->reader, &answer->filter, &query->window,
                                              add_latency, answer, answer->err);
        }
        free(name);
    }
    ntk_vec_fini(&names);
    return ret;
}

static int answer_latency(const struct ntk_query *query, struct ntk_query_table *table,
                          struct ntk_err *err)
{
    struct answer answer = { .query = query, .table = table, .err = err };
    int ret = 0;

    ntk_query_table_add_column(table, NTK_QUERY_TEXT, "model");
    ntk_query_step_columns(table);
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "completed");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "failed");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "unwatched");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "uncounted");
    ntk_query_table_add_column(table, NTK_QUERY_NS, "mean_ns");
    for (size_t i = 0; i < query->percentile_count; i++) {
        char name[NTK_QUERY_NAME_BYTES];
        snprintf(name, sizeof name, "p%g_ns", query->percentiles[i]);
        ntk_query_table_add_column(table, NTK_QUERY_NS, name);
    }
    if (!query->filter.has_core) {
        ret = add_models(&answer);
    }
    if (ret == 0 && !query->filter.model) {
        answer.model = "(all)";
        ret = ntk_store_reader_executions(query->reader, &query->filter, &query->window,
                                          add_latency, &answer, err);
    }
    return ret;
}

/* ---- executions ---- */

static int add_executions(const struct ntk_store_executions *step, void *ctx)
{
    const struct answer *answer = ctx;
    bool watched = step->covered_ns > 0;
    bool counted = watched && step->is_counted;
    bool detailed = counted && step->has_outcomes;
    uint64_t all = step->completed + step->failed - step->unwatched;
    bool has_rate =
        counted && (!ntk_query_has_running(answer->query) || step->is_running || all > 0);

    ntk_query_add_step(answer->table, step->start_ns, step->end_ns, step->covered_ns);
    ntk_query_add_running(answer->query, answer->table, watched, step->is_running,
                          step->running_ns);
    ntk_query_table_add_number(
        answer->table, has_rate,
        has_rate ? (double)all * (double)NTK_NS_PER_SECOND / (double)step->running_ns : 0);
    ntk_query_table_add_count(answer->table, counted, step->completed);
    ntk_query_table_add_count(answer->table, counted, step->failed);
    ntk_query_table_add_count(answer->table, detailed, step->unwatched);
    ntk_query_table_add_count(answer->table, watched, step->uncounted);
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        if (i != NTK_OUTCOME_COMPLETED) {
            ntk_query_table_add_count(answer->table, detailed, step->outcome[i]);
        }
    }
    return 0;
}

static int answer_executions(const struct ntk_query *query, struct ntk_query_table *table,
                             struct ntk_err *err)
{
    struct answer answer = { .query = query, .table = table, .err = err };

    ntk_query_rate_columns(query, table);
    ntk_query_table_add_column(table, NTK_QUERY_NUMBER, "per_second");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "completed");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "failed");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "unwatched");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "uncounted");
    for (size_t i = 0; i < NTK_OUTCOME_COUNT; i++) {
        if (i != NTK_OUTCOME_COMPLETED) {
            ntk_query_table_add_column(table, NTK_QUERY_COUNT, ntk_outcome_names[i]);
        }
    }
    return ntk_store_reader_executions(query->reader, &query->filter, &query->window,
                                       add_executions, &answer, err);
}

static int add_errors(const struct ntk_store_executions *step, void *ctx)
{
    const struct answer *answer = ctx;
    bool watched = step->covered_ns > 0;
    bool known = watched && step->is_counted && step->has_outcomes;

    ntk_query_add_step(answer->table, step->start_ns, step->end_ns, step->covered_ns);
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        ntk_query_table_add_count(answer->table, known, step->error_class[i]);
    }
    ntk_query_table_add_count(answer->table, watched, step->uncounted);
    return 0;
}

static int answer_errors(const struct ntk_query *query, struct ntk_query_table *table,
                         struct ntk_err *err)
{
    struct answer answer = { .query = query, .table = table, .err = err };

    ntk_query_step_columns(table);
    for (size_t i = 0; i < NTK_ERROR_CLASS_COUNT; i++) {
        ntk_query_table_add_column(table, NTK_QUERY_COUNT, ntk_error_class_names[i]);
    }
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "uncounted");
    return ntk_store_reader_executions(query->reader, &query->filter, &query->window, add_errors,
                                       &answer, err);
}

/* ---- processes and their memory ---- */

/* Adds a list of cores as ranges: "4,5,6,12" becomes "4-6,12". */
static void add_core_ranges(struct ntk_query_table *table, const char *cores)
{
    struct ntk_buf text = { 0 };
    char *at = (char *)(uintptr_t)(cores ? cores : "");

    while (*at) {
        unsigned long first = strtoul(at, &at, 10);
        unsigned long last = first;
        char *next = at;
        while (*next == ',' && strtoul(next + 1, &next, 10) == last + 1) {
            last++;
            at = next;
        }
        ntk_buf_add_format(&text, last > first ? "%s%lu-%lu" : "%s%lu",
                           text.bytes_count > 0 ? "," : "", first, last);
        at += strcspn(at, ",");
        at += *at == ',';
    }
    ntk_query_table_add_text(table, ntk_buf_ok(&text) ? ntk_buf_text_get(&text) : NULL);
    table->failed |= !ntk_buf_ok(&text);
    ntk_buf_fini(&text);
}

static int add_process(const struct ntk_store_process *process, void *ctx)
{
    const struct answer *answer = ctx;
    struct ntk_query_table *table = answer->table;

    ntk_query_table_add_text(table, process->tag);
    ntk_query_table_add_count(table, true, process->pid);
    ntk_query_table_add_count(table, true, process->first_seen_ns);
    ntk_query_table_add_count(table, true, process->last_seen_ns);
    ntk_query_table_add_count(table, process->ended_ns > 0, process->ended_ns);
    ntk_query_table_add_count(table, process->exit.kind == NTK_EXIT_CODE, process->exit.value);
    ntk_query_table_add_count(table, process->exit.kind == NTK_EXIT_SIGNAL, process->exit.value);
    ntk_query_table_add_count(table, true, process->core_count);
    add_core_ranges(table, process->cores);
    const char *counted = process->executions_counted;
    bool is_counted = process->has_samples && !(counted && strcmp(counted, "none") == 0);
    ntk_query_table_add_count(table, is_counted, process->completed);
    ntk_query_table_add_count(table, is_counted, process->failed);
    ntk_query_table_add_count(table, is_counted, process->unwatched);
    ntk_query_table_add_text(table, counted);
    ntk_query_table_add_text(table, process->hooks);
    ntk_query_table_add_text(table, process->user);
    ntk_query_table_add_text(table, process->container_id);
    ntk_query_table_add_text(table, process->command);
    return 0;
}

static int answer_processes(const struct ntk_query *query, struct ntk_query_table *table,
                            struct ntk_err *err)
{
    struct answer answer = { .query = query, .table = table, .err = err };
    static const struct ntk_query_heading columns[] = {
        { NTK_QUERY_TEXT, "tag" },
        { NTK_QUERY_COUNT, "pid" },
        { NTK_QUERY_TIME, "first_seen" },
        { NTK_QUERY_TIME, "last_seen" },
        { NTK_QUERY_TIME, "ended" },
        { NTK_QUERY_COUNT, "exit_code" },
        { NTK_QUERY_COUNT, "exit_signal" },
        { NTK_QUERY_COUNT, "cores" },
        { NTK_QUERY_TEXT, "core_list" },
        { NTK_QUERY_COUNT, "completed" },
        { NTK_QUERY_COUNT, "failed" },
        { NTK_QUERY_COUNT, "unwatched" },
        { NTK_QUERY_TEXT, "executions_counted" },
        { NTK_QUERY_TEXT, "hooks" },
        { NTK_QUERY_TEXT, "user" },
        { NTK_QUERY_TEXT, "container_id" },
        { NTK_QUERY_TEXT, "command" },
    };

    ntk_query_table_add_columns(table, columns, sizeof columns / sizeof *columns);
    return ntk_store_reader_processes(query->reader, &query->filter, &query->window, add_process,
                                      &answer, err);
}

static int add_memory(const struct ntk_store_process *process, void *ctx)
{
    const struct answer *answer = ctx;
    struct ntk_query_table *table = answer->table;

    ntk_query_table_add_text(table, process->tag);
    ntk_query_table_add_count(table, true, process->pid);
    ntk_query_table_add_count(table, process->has_device, process->device_bytes_max);
    ntk_query_table_add_count(table, process->has_device, process->device_estimated);
    ntk_query_table_add_count(table, process->has_host, process->host_bytes_max);
    ntk_query_table_add_count(table, process->has_rss, process->rss_bytes_max);
    return 0;
}

static int answer_memory(const struct ntk_query *query, struct ntk_query_table *table,
                         struct ntk_err *err)
{
    struct answer answer = { .query = query, .table = table, .err = err };

    ntk_query_table_add_column(table, NTK_QUERY_TEXT, "tag");
    ntk_query_table_add_column(table, NTK_QUERY_COUNT, "pid");
    ntk_query_table_add_column(table, NTK_QUERY_BYTES, "peak_device_memory_bytes");
    ntk_query_table_add_column(table, NTK_QUERY_ESTIMATED, "memory_estimated");
    ntk_query_table_add_column(table, NTK_QUERY_BYTES, "peak_host_memory_bytes");
    ntk_query_table_add_column(table, NTK_QUERY_BYTES, "peak_rss_bytes");
    return ntk_store_reader_processes(query->reader, &query->filter, &query->window, add_memory,
                                      &answer, err);
}

/* ---- events ---- */

static int add_event(const struct ntk_store_event *event, void *ctx)
{
    const struct answer *answer = ctx;
    struct ntk_query_table *table = answer->table;
    char address[32];

    if (ntk_query_table_row_count(table) == NTK_QUERY_EVENTS_MAX) {
        return ntk_err_set(answer->err, -E2BIG, NTK_ERR_NO_OFFSET,
                           "more than %d events: use a shorter window, fewer kinds or --newest",
                           NTK_QUERY_EVENTS_MAX);
    }
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)event->address);
    ntk_query_table_add_count(table, true, event->time_ns);
    ntk_query_table_add_text(table, ntk_store_event_names[event->kind]);
    ntk_query_table_add_text(table, event->tag);
    ntk_query_table_add_count(table, true, event->pid);
    ntk_query_table_add_count(table, event->has_core, event->core);
    ntk_query_table_add_text(table, event->model);
    ntk_query_table_add_text(table, event->what && event->what[0] ? event->what : NULL);
    ntk_query_table_add_count(table, event->has_status, event->status);
    ntk_query_table_add_count(table, event->has_execution, event->execution);
    ntk_query_table_add_count(table, event->has_bytes, event->bytes);
    ntk_query_table_add_count(table, event->has_duration, event->duration_ns);
    ntk_query_table_add_text(table, event->has_address ? address : NULL);
    ntk_query_table_add_text(table, event->name && event->name[0] ? event->name : NULL);
    ntk_query_table_add_count(table, event->has_value, event->value);
    return 0;
}

static int answer_events(const struct ntk_query *query, struct ntk_query_table *table,
                         struct ntk_err *err)
{
    struct answer answer = { .query = query, .table = table, .err = err };
    static const struct ntk_query_heading columns[] = {
        { NTK_QUERY_TIME, "time" },          { NTK_QUERY_TEXT, "kind" },
        { NTK_QUERY_TEXT, "tag" },           { NTK_QUERY_COUNT, "pid" },
        { NTK_QUERY_COUNT, "core" },         { NTK_QUERY_TEXT, "model" },
        { NTK_QUERY_TEXT, "what" },          { NTK_QUERY_COUNT, "nrt_status" },
        { NTK_QUERY_COUNT, "execution_id" }, { NTK_QUERY_BYTES, "bytes" },
        { NTK_QUERY_NS, "duration_ns" },     { NTK_QUERY_TEXT, "address" },
        { NTK_QUERY_TEXT, "name" },          { NTK_QUERY_COUNT, "value" },
    };

    ntk_query_table_add_columns(table, columns, sizeof columns / sizeof *columns);
    return ntk_store_reader_events(query->reader, &query->filter, &query->window,
                                   query->event_kinds, add_event, &answer, err);
}

#define OF_EACH (NTK_QUERY_OF_PROCESS | NTK_QUERY_OF_MODEL | NTK_QUERY_OF_CORE)
/* Options for executions; models have no figures per core. */
#define OF_EXECUTIONS (OF_EACH | NTK_QUERY_MODEL_OR_CORE | NTK_QUERY_OF_STEP)

const struct ntk_query_question ntk_query_questions[] = {
    { "latency", "latency percentiles of each model", NULL,
      OF_EXECUTIONS | NTK_QUERY_OF_PERCENTILES | NTK_QUERY_OF_LATENCY, answer_latency },
    { "executions", "executions and their results", NULL, OF_EXECUTIONS, answer_executions },
    { "errors", "errors by class", NULL, OF_EXECUTIONS, answer_errors },
    { "events", "processes that appeared or exited, loads, errors, the memory log", NULL,
      OF_EACH | NTK_QUERY_OF_KIND | NTK_QUERY_OF_NEWEST, answer_events,
      "no events of these kinds in the window" },
    { "memory", "the highest memory use of each process", NULL, OF_EACH, answer_memory },
    { "cores", "how busy each core and its engines were", NULL,
      NTK_QUERY_OF_PROCESS | NTK_QUERY_OF_CORE | NTK_QUERY_OF_STEP, ntk_query_answer_cores },
    { "processes", "the processes that ran", NULL, OF_EACH, answer_processes },
    { "ranks", "what each rank of a job did, and how long it waited", "rank_history",
      NTK_QUERY_OF_JOB | NTK_QUERY_OF_PROCESS | NTK_QUERY_OF_STEP, ntk_query_answer_ranks,
      "no process was a rank of a communicator in the window" },
    { "verdicts", "which ranks hung, broke or were slow, when, and why", NULL,
      NTK_QUERY_OF_JOB | NTK_QUERY_OF_PROCESS, ntk_query_answer_verdicts,
      "no rank hung, broke or was slow in the window" },
    { "idle", "why cores were idle: what host threads did", NULL,
      NTK_QUERY_OF_JOB | NTK_QUERY_OF_PROCESS | NTK_QUERY_OF_STEP, ntk_query_answer_idle,
      "no causes in the window: the agent records them with --idle" },
    { "health", "the health of each device, and why", NULL, NTK_QUERY_OF_DEVICE,
      ntk_query_answer_health },
    { "series", "one metric over time, see --metric", NULL, NTK_QUERY_OF_METRIC | NTK_QUERY_OF_STEP,
      ntk_query_answer_series },
    { NULL, NULL, NULL, 0, NULL },
};
