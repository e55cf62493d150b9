/* SPDX-License-Identifier: MIT */
/* query - implements neuron-monitor query: options, the window, and the format of the answer. */
#include "agent/query/query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/query/query_span.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"
#include "shared/base/suggest.h"

static const char *arg_db;
static struct ntk_query_span arg_span;
static struct ntk_query_bounds bounds;
static bool arg_csv;
static bool arg_json;
static uint32_t given; /* options in the command line */
static struct ntk_query query = {
    .metric = NTK_STORE_METRIC_COUNT,
    .percentiles = { 50, 90, 99, 100 },
    .percentile_count = 4,
    .event_kinds = NTK_QUERY_EVENT_KINDS,
};

static int set_index(const char *value, uint32_t *out_index, struct ntk_err *err)
{
    uint64_t index;

    if (ntk_str_parse_u64(value, &index) < 0 || index > UINT16_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "expected a number from 0 to 65535");
    }
    *out_index = (uint32_t)index;
    return 0;
}

static int set_core(const char *value, struct ntk_err *err)
{
    given |= NTK_QUERY_OF_CORE;
    query.filter.has_core = true;
    return set_index(value, &query.filter.core, err);
}

static int set_device(const char *value, struct ntk_err *err)
{
    given |= NTK_QUERY_OF_DEVICE;
    query.filter.has_device = true;
    return set_index(value, &query.filter.device, err);
}

static int set_percentiles(const char *value, struct ntk_err *err)
{
    given |= NTK_QUERY_OF_PERCENTILES;
    return ntk_query_percentiles_parse(value, &query, err);
}

static int set_kinds(const char *value, struct ntk_err *err)
{
    given |= NTK_QUERY_OF_KIND;
    return ntk_query_event_kinds_parse(value, &query.event_kinds, err);
}

static int set_metric(const char *value, struct ntk_err *err)
{
    query.metric = ntk_store_metric_find(value);
    if (query.metric == NTK_STORE_METRIC_COUNT) {
        struct ntk_suggest near = ntk_suggest_begin(value);
        for (int i = 0; i < NTK_STORE_METRIC_COUNT; i++) {
            ntk_suggest_add(&near, ntk_store_metrics[i].name);
        }
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "unknown metric%s: --metric help lists the metrics",
                           ntk_suggest_text(&near));
    }
    return 0;
}

static int (*const call_core)(const char *, struct ntk_err *) = set_core;
static int (*const call_device)(const char *, struct ntk_err *) = set_device;
static int (*const call_percentiles)(const char *, struct ntk_err *) = set_percentiles;
static int (*const call_kinds)(const char *, struct ntk_err *) = set_kinds;
static int (*const call_metric)(const char *, struct ntk_err *) = set_metric;
static const char *metric_name(size_t index)
{
    return index < NTK_STORE_METRIC_COUNT ? ntk_store_metrics[index].name : NULL;
}

static const char *kind_name(size_t index)
{
    return index < NTK_STORE_EVENT_COUNT    ? ntk_store_event_names[index]
           : index == NTK_STORE_EVENT_COUNT ? "all"
                                            : NULL;
}

#define CALL(function) ((void *)(uintptr_t) & (function))

static const struct ntk_opt option_rows[] = {
    { 0, "db", "FILE", NTK_OPT_TEXT, &arg_db,
      "read this database (written by neuron-monitor --db)" },
    { 0, "Window", 0, NTK_OPT_HEADING, 0, 0 },
    NTK_QUERY_SPAN_OPT(arg_span),
    { 0, "step", "TIME", NTK_OPT_DURATION, &query.window.step_ns,
      "print one row per TIME instead of one for the whole window", .is_above_zero = true },
    { 0, "Selection", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "process", "TAG", NTK_OPT_TEXT, &query.filter.process,
      "show only this tag or process id; add --user if several users have it" },
    { 0, "user", "NAME", NTK_OPT_TEXT, &query.filter.user,
      "show only processes of this user, by name or uid" },
    { 0, "job", "NAME", NTK_OPT_TEXT, &query.filter.job,
      "show only processes with this tag, or ranks that meet at this address (ranks, verdicts, "
      "idle)" },
    { 0, "model", "NAME", NTK_OPT_TEXT, &query.filter.model, "show only models with this name" },
    { 0, "core", "CORE", NTK_OPT_CALL, CALL(call_core),
      "show only this physical core on the machine" },
    { 0, "device", "N", NTK_OPT_CALL, CALL(call_device), "show only this device" },
    { 0, "metric", "NAME", NTK_OPT_CALL, CALL(call_metric),
      "show this metric (series); 'help' lists them", .word_get = metric_name },
    { 0, "kind", NTK_OPT_LIST, NTK_OPT_CALL, CALL(call_kinds),
      "show only these events: first_seen, end, load, unload, error, alloc, free, model_start, "
      "model_stop, mark, or all (default: all but alloc, free and mark)",
      .word_get = kind_name },
    { 0, "newest", "N", NTK_OPT_U64, &query.filter.newest_events,
      "show only the last N events of the window", .is_above_zero = true },
    { 0, "percentiles", "LIST", NTK_OPT_CALL, CALL(call_percentiles),
      "print these latency percentiles (default 50,90,99,100)" },
    { 0, "device-latency", 0, NTK_OPT_FLAG, &query.device_latency,
      "show the latency on the core instead of the latency of the call; for software cores this is "
      "host time" },
    { 0, "Output", 0, NTK_OPT_HEADING, 0, 0 },
    { 0, "csv", 0, NTK_OPT_FLAG, &arg_csv, "print comma-separated values" },
    { 'j', "json", 0, NTK_OPT_FLAG, &arg_json, "print a JSON array of objects" },
    NTK_OPT_COMMON_OTHER,
    { 0 },
};

static const char *question_name(size_t index)
{
    return ntk_query_questions[index].name;
}

static const struct ntk_opt_program program = {
    .name = "neuron-monitor query",
    .operand_get = question_name,
    .usage = "QUESTION --db FILE [OPTION]...",
    .summary =
        "Answers questions from a neuron-monitor database: latency, executions, errors, events, "
        "memory, cores, processes, ranks, verdicts, idle, health, series. The agent may be "
        "running.",
    .options = option_rows,
    .epilogue =
        "Questions:\n  latency      latency percentiles of each model\n  executions   executions "
        "and their results\n  errors       errors by class\n  events       processes that appeared "
        "or exited, loads, errors, the memory log\n  memory       the highest memory use of each "
        "process\n  cores    "
        "    how busy each core and its engines were\n  processes    the processes that ran\n  "
        "ranks        what each rank of a job did, and how long it waited\n  verdicts     which "
        "ranks hung, broke or were slow, when, and why\n  idle         why cores were idle: what "
        "host threads did\n  health       the health of each device, and why\n  series       one "
        "metric over time, see --metric",
};

/* Returns true for "--metric help", which needs no other option. */
static bool wants_metrics(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--metric=help") == 0 ||
            (strcmp(argv[i], "--metric") == 0 && i + 1 < argc &&
             strcmp(argv[i + 1], "help") == 0)) {
            return true;
        }
    }
    return false;
}

static void print_metrics(void)
{
    int width = 0;

    for (int i = 0; i < NTK_STORE_METRIC_COUNT; i++) {
        int length = (int)strlen(ntk_store_metrics[i].name);
        width = length > width ? length : width;
    }
    for (int i = 0; i < NTK_STORE_METRIC_COUNT; i++) {
        printf("%-*s  %-7s  %s\n", width, ntk_store_metrics[i].name, ntk_store_metrics[i].unit,
               ntk_store_metrics[i].help);
    }
}

/* Sets the window to the whole stored time, narrowed by the options. */
static int set_window(struct ntk_err *err)
{
    struct ntk_store_window *window = &query.window;
    int ret = ntk_query_window_whole(query.reader, window, err);

    return ret < 0 ? ret : ntk_query_window_narrow(query.reader, &bounds, window, err);
}

static int answer(const struct ntk_query_question *question, struct ntk_err *err)
{
    struct ntk_query_table table;
    int ret = ntk_store_reader_open(arg_db, &query.reader, err);

    if (ret < 0) {
        return ret;
    }
    ntk_query_table_init(&table);
    ret = ntk_store_reader_begin(query.reader, err);
    ret = ret < 0 ? ret : set_window(err);
    if (ret == 0) {
        ret = ntk_store_reader_check(query.reader, &query.filter, err);
    }
    if (ret == 0) {
        ret = question->answer(&query, &table, err);
    }
    if (ret < 0) {
        ntk_err_prefix(err, "%s", arg_db);
    } else {
        ret = ntk_query_table_print(&table,
                                    arg_csv    ? NTK_QUERY_FORM_CSV
                                    : arg_json ? NTK_QUERY_FORM_JSON
                                               : NTK_QUERY_FORM_TABLE,
                                    err);
        if (ret == 0 && question->empty && !arg_csv && !arg_json &&
            ntk_query_table_row_count(&table) == 0) {
            ntk_log_warn("", "%s", question->empty);
        }
    }
    ntk_query_table_fini(&table);
    ntk_store_reader_close(query.reader);
    return ret;
}

static const char *const option_names[NTK_QUERY_OPTION_COUNT] = {
    "--process", "--model",  "--core",        "--device",         "--step", "--metric",
    "--kind",    "--newest", "--percentiles", "--device-latency", "--job",
};

static int check_options(const struct ntk_query_question *question)
{
    if (!arg_db) {
        return ntk_opt_usage_error(&program, "no database: use --db FILE");
    }
    if (arg_csv && arg_json) {
        return ntk_opt_usage_error(&program, "--csv and --json are mutually exclusive");
    }
    if (question->options & NTK_QUERY_OF_METRIC && query.metric == NTK_STORE_METRIC_COUNT) {
        return ntk_opt_usage_error(&program, "no metric: use --metric NAME");
    }
    struct ntk_err err = { 0 };
    given |= (query.filter.process || query.filter.user ? NTK_QUERY_OF_PROCESS : 0) |
             (query.filter.model ? NTK_QUERY_OF_MODEL : 0) |
             (query.window.step_ns ? NTK_QUERY_OF_STEP : 0) |
             (query.metric != NTK_STORE_METRIC_COUNT ? NTK_QUERY_OF_METRIC : 0) |
             (query.filter.newest_events ? NTK_QUERY_OF_NEWEST : 0) |
             (query.device_latency ? NTK_QUERY_OF_LATENCY : 0) |
             (query.filter.job ? NTK_QUERY_OF_JOB : 0);
    if (ntk_query_span_parse(&arg_span, &bounds, &err) < 0 ||
        ntk_query_options_check(question, &query, given, option_names, &err) < 0) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    if (query.filter.newest_events > NTK_QUERY_EVENTS_MAX) {
        return ntk_opt_usage_error(&program, "--newest must be at most %d", NTK_QUERY_EVENTS_MAX);
    }
    return 0;
}

int ntk_query_main(int argc, char **argv)
{
    struct ntk_err err = { 0 };

    ntk_log_set_program(program.name);
    if (wants_metrics(argc, argv)) {
        print_metrics();
        return 0;
    }
    int first = ntk_opt_parse(&program, argc, argv);
    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first >= argc) {
        return ntk_opt_usage_error(&program,
                                   "missing argument QUESTION: --help lists the questions");
    }
    const struct ntk_query_question *question = ntk_query_question_find(argv[first]);
    if (!question) {
        struct ntk_suggest near = ntk_suggest_begin(argv[first]);
        for (question = ntk_query_questions; question->name; question++) {
            ntk_suggest_add(&near, question->name);
        }
        return ntk_opt_usage_error(&program, "unknown question '%s'%s: --help lists the questions",
                                   argv[first], ntk_suggest_text(&near));
    }
    if (first + 1 < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first + 1]);
    }
    int code = check_options(question);
    if (code) {
        return code;
    }
    if (answer(question, &err) < 0) {
        return ntk_log_failure(NULL, &err);
    }
    return 0;
}
