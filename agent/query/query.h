/* SPDX-License-Identifier: MIT */
/*
 * query - implements neuron-monitor query: answers queries from a database of the agent as a table,
 * CSV or JSON.
 *
 * A query (query_questions.c) reads shared/store and fills a table (query_table.h). Windows and
 * output formats are common to all queries.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_QUERY_QUERY_H
#define NTK_AGENT_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/query/query_span.h"
#include "agent/query/query_table.h"
#include "shared/base/err.h"
#include "shared/store/store_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_QUERY_PERCENTILES_MAX 16

struct ntk_query {
    struct ntk_store_reader *reader;
    struct ntk_store_filter filter;
    struct ntk_store_window window;
    enum ntk_store_metric metric;
    double percentiles[NTK_QUERY_PERCENTILES_MAX]; /* in ascending order */
    size_t percentile_count;
    bool device_latency;
    uint32_t event_kinds; /* mask of NTK_STORE_EVENT_* */
};

/* The filters and subjects of a query, as a mask; the first four are filters in shared/store. */
enum ntk_query_option {
    NTK_QUERY_OF_PROCESS = NTK_STORE_BY_PROCESS,
    NTK_QUERY_OF_MODEL = NTK_STORE_BY_MODEL,
    NTK_QUERY_OF_CORE = NTK_STORE_BY_CORE,
    NTK_QUERY_OF_DEVICE = NTK_STORE_BY_DEVICE,
    NTK_QUERY_OF_STEP = 1 << 4,
    NTK_QUERY_OF_METRIC = 1 << 5,
    NTK_QUERY_OF_KIND = 1 << 6,
    NTK_QUERY_OF_NEWEST = 1 << 7,
    NTK_QUERY_OF_PERCENTILES = 1 << 8,
    NTK_QUERY_OF_LATENCY = 1 << 9,
    NTK_QUERY_OF_JOB = 1 << 10,
    NTK_QUERY_MODEL_OR_CORE = 1 << 11, /* the query accepts at most one of the two */
};
#define NTK_QUERY_OPTION_COUNT 11

struct ntk_query_question {
    const char *name;
    const char *help;
    const char *route; /* name over HTTP, if `name` is already used there; NULL for `name` */
    uint32_t options;  /* options that apply; for 'series' the metric decides */
    int (*answer)(const struct ntk_query *query, struct ntk_query_table *table,
                  struct ntk_err *err);
    const char *empty; /* what an answer without rows means; NULL: the headings say enough */
};
/* A NULL name ends the list. */
extern const struct ntk_query_question ntk_query_questions[];
/* Returns NULL if there is none. */
const struct ntk_query_question *ntk_query_question_find(const char *name);

/* Checks that each given option applies to the query, because an ignored filter would give a
 * misleading answer. names has the caller's names of the bits; query->metric is set if the query is
 * about a metric. -EINVAL and a message. */
int ntk_query_options_check(const struct ntk_query_question *question,
                            const struct ntk_query *query, uint32_t given,
                            const char *const names[NTK_QUERY_OPTION_COUNT], struct ntk_err *err);

/* Parses ascending numbers from 0 to 100, such as "50,90,99". -EINVAL. */
int ntk_query_percentiles_parse(const char *value, struct ntk_query *query, struct ntk_err *err);

/* The default: all kinds except the long logs of memory and marks. */
#define NTK_QUERY_EVENT_KINDS \
    (NTK_STORE_EVENTS_ALL & ~(NTK_STORE_EVENTS_MEMORY | 1u << NTK_STORE_EVENT_MARK))
/* Maximum number of event rows; the query fails beyond it. */
#define NTK_QUERY_EVENTS_MAX 200000
/* Parses names of kinds, such as "error,load", or "all". -EINVAL. */
int ntk_query_event_kinds_parse(const char *value, uint32_t *out_kinds, struct ntk_err *err);

/* Sets the window from the first to the last stored sample, in any tier; step_ns is unchanged.
 * -ENODATA. */
int ntk_query_window_whole(struct ntk_store_reader *reader, struct ntk_store_window *window,
                           struct ntk_err *err);

/* Narrows a window that ends with the last row. With `last` and without `to`, a row that ends
 * shortly after the beginning is not a part of it, because rows are not exactly a second apart. */
int ntk_query_window_narrow(struct ntk_store_reader *reader, const struct ntk_query_bounds *bounds,
                            struct ntk_store_window *window, struct ntk_err *err);

/* The whole subcommand; argv[0] is "query". The exit code. */
int ntk_query_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
