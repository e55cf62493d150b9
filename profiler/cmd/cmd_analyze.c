/* SPDX-License-Identifier: MIT */
/* cmd_analyze - prints analyses by name, as text or JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_analyze_names.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/output/answers/analyses.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/system_analyses.h"
#include "profiler/output/sink.h"
#include "profiler/output/tables/output_part.h"
#include "profiler/system/session_find.h"
#include "profiler/trace/long_list.h"
#include "shared/base/memory.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

static const char *arg_neff;
static const char *arg_session;
static const char *arg_folder;
static const char *arg_output;
static const char *arg_what_if[NTK_WHAT_IF_CHANGES_MAX]; /* values on the command line */
static size_t arg_what_if_count;
static struct ntk_joined_options arg_joined;
static struct ntk_what_if_changes arg_changes;
static int add_what_if(const char *value, struct ntk_err *err);
static int (*const on_what_if)(const char *value, struct ntk_err *err) = add_what_if;
#define UNLIMITED UINT64_MAX /* default of --limit */
static uint64_t arg_limit = UNLIMITED;
static unsigned engines; /* one bit per engine */
static int add_engines(const char *value, struct ntk_err *err);
static int (*const on_engine)(const char *value, struct ntk_err *err) = add_engines;
static bool arg_json;
static bool arg_list;

static const char *engine_name(size_t index)
{
    return index < NTK_NTFF_ENGINE_COUNT ? ntk_ntff_engine_name((unsigned)index) : NULL;
}

static const struct ntk_opt options[] = {
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "read this capture, or the capture in this folder" },
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "read names of queues, layers and tensors from this NEFF (default: the matching one next to "
      "the capture; - for none)" },
    { 'd', "session-dir", "FOLDER", NTK_OPT_TEXT, &arg_folder,
      "analyse the host activity in the inspection folders in and below FOLDER" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print JSON with all rows" },
    { 'l', "list", NULL, NTK_OPT_FLAG, &arg_list, "list the analyses and exit" },
    { 0, "what-if", "CHANGES", NTK_OPT_CALL, (void *)(uintptr_t)&on_what_if,
      "estimate the time if parts were faster; with the 'what-if' analysis of a capture, CHANGES "
      "contains dma, dma-latency, latency, transposes, engines, the name of an engine, or "
      "line:FILE:LINE, each with =FACTOR (without it, the part takes no time), or wait:NAME (do "
      "not wait for this semaphore, queue or line), such as dma=2,transposes; with -d and "
      "'joined', it contains run, host or link, optionally for one rank, such as "
      "link=2,rank3.host=0 (0: takes no time)" },
    { 0, "engine", NTK_OPT_LIST, NTK_OPT_CALL, (void *)(uintptr_t)&on_engine,
      "with the 'bubbles' analysis: show only gaps of these engines, such as tensor,vector",
      .word_get = engine_name },
    { 0, "limit", "N", NTK_OPT_U64, &arg_limit,
      "with the 'bubbles' analysis: list the N longest gaps (default 20); with --json, N per "
      "cause (default 100)" },
    NTK_PROFILE_OPT_METRICS_VERSION,
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write to FILE instead of stdout" },
    NTK_CUT_OPTIONS,
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program_options = {
    .name = "neuron-profile analyze",
    .operand_get = ntk_analyze_name,
    .repeats_operands = true,
    .usage = "[-s] FILE.ntff [-n FILE.neff] [OPTION]... [NAME]...\n"
             "[-d] FOLDER [OPTION]... [NAME]...\n"
             "--list",
    .summary = "Answers questions about a capture, or about host activity. Runs the "
               "analyses named NAME (default: all).",
    .options = options,
    .epilogue = "Shares are relative to the execution. Figures that the files do not contain are\n"
                "omitted, never estimated.",
};

static int add_what_if(const char *value, struct ntk_err *err)
{
    if (arg_what_if_count == NTK_WHAT_IF_CHANGES_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many changes (at most %u)",
                           NTK_WHAT_IF_CHANGES_MAX);
    }
    arg_what_if[arg_what_if_count++] = value;
    return 0;
}

/* Reads changes; the possible changes depend on the input. Returns 0 or -EINVAL with a message. */
static int changes_read(struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; i < arg_what_if_count && ret == 0; i++) {
        ret = arg_folder ? ntk_joined_changes_add(&arg_joined, arg_what_if[i], err)
                         : ntk_what_if_changes_add(&arg_changes, arg_what_if[i], err);
    }
    return ret;
}

static int add_engines(const char *value, struct ntk_err *err)
{
    const char *names[NTK_NTFF_ENGINE_COUNT];
    uint32_t bits;

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        names[e] = ntk_ntff_engine_name(e);
    }
    const char *bad =
        ntk_str_parse_names(value, names, sizeof *names, NTK_NTFF_ENGINE_COUNT, &bits);
    if (bad) {
        return ntk_err_set(err, -EINVAL, (uint64_t)(bad - value),
                           "expected tensor, scalar, gpsimd, vector or sync, separated by commas");
    }
    engines |= bits;
    return 0;
}

/* The input: a capture, or the traces in a folder. */
struct asked {
    bool is_system;
    const struct ntk_trace *part; /* for a capture: its trace, or the selected part */
    const struct ntk_analyses *analyses;
    struct ntk_system_asked folder;
};

static bool is_chosen(size_t index, char *const *names, int name_count, bool is_system)
{
    for (int n = 0; n < name_count; n++) {
        if (strcmp(names[n], ntk_analyze_info(is_system, index)->name) == 0) {
            return true;
        }
    }
    return name_count == 0;
}

static int run_one(const struct asked *asked, size_t index, struct ntk_sink *sink,
                   struct ntk_json *json)
{
    struct ntk_buf *out = &sink->buf;
    const struct ntk_analysis_info *info = ntk_analyze_info(asked->is_system, index);
    int ret;

    if (json) {
        ntk_json_key(json, info->name);
    } else {
        if (sink->flushed_bytes + out->bytes_count > 0) {
            ntk_buf_add_char(out, '\n');
        }
        ntk_analyze_heading(info, out);
    }
    size_t title_end = out->bytes_count;
    if (!json && !asked->is_system) {
        ntk_output_incomplete_text(asked->analyses->program, info->needs, out);
    }
    ret = asked->is_system ? ntk_system_analyses_put(&asked->folder, index, out, json)
                           : ntk_analyses_put(asked->analyses, index, out, json);
    if (ret == -ENODATA && json) {
        ntk_json_null(json);
    } else if (ret == -ENODATA) {
        char why[NTK_ANALYSES_ABSENT_BYTES];
        out->bytes_count = title_end; /* removes the line "Partial:" */
        ntk_buf_add_format(out, "Unavailable: %s\n",
                           asked->is_system
                               ? info->absent
                               : ntk_analyses_absent(asked->analyses, index, why, sizeof why));
    }
    return ret == -ENODATA ? 0 : ret;
}

static void step(void *sink)
{
    (void)ntk_sink_step(sink);
}

/* Runs the named analyses, or all of them, in order. Returns 0 or -errno. */
static int put(const struct asked *asked, char *const *names, int name_count, struct ntk_sink *sink)
{
    struct ntk_json json;
    int ret = 0;

    uint64_t executions = asked->part ? asked->analyses->program->execution_count : 1;
    ntk_json_init(&json, &sink->buf, true);
    json.ended = step;
    json.ended_ctx = sink;
    if (arg_json) {
        ntk_json_object_begin(&json);
        if (asked->part) {
            ntk_output_part_json(asked->part, &json);
            ntk_output_incomplete_json(asked->analyses->program, &json);
        }
        if (executions > 1) {
            ntk_json_key_u64(&json, "execution_count", executions);
        }
    } else if (asked->part && asked->part->is_part) {
        ntk_buf_add_text(&sink->buf, "Only ");
        ntk_output_part_text(asked->part, &sink->buf);
        ntk_buf_add_char(&sink->buf, '\n');
    }
    if (!arg_json && asked->part) {
        ntk_output_several_text(asked->analyses->program, &sink->buf);
    }
    for (size_t i = 0; i < ntk_analyze_count(asked->is_system) && ret == 0; i++) {
        if (is_chosen(i, names, name_count, asked->is_system)) {
            ret = run_one(asked, i, sink, arg_json ? &json : NULL);
            ret = ret ? ret : ntk_sink_step(sink);
        }
    }
    if (arg_json && ret == 0) {
        ntk_json_object_end(&json);
        ntk_buf_add_char(&sink->buf, '\n');
    }
    return ret;
}

static unsigned uses_of(char *const *names, int name_count)
{
    unsigned uses = 0;

    for (size_t i = 0; i < ntk_analyze_count(false); i++) {
        uses |= is_chosen(i, names, name_count, false) ? ntk_analyze_info(false, i)->uses : 0;
    }
    return uses;
}

/* Runs the command; returns the exit code. Output before a failure stays. */
static int run(const struct asked *asked, char *const *names, int name_count)
{
    struct ntk_sink sink = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_sink_open(&sink, arg_output ? arg_output : "-", &err);

    if (ret == 0) {
        ret = put(asked, names, name_count, &sink);
        /* The commit reports write errors; failures of analyses are reported here. */
        if (ret < 0 && asked->folder.err && asked->folder.err->text[0]) {
            err = *asked->folder.err;
        } else if (ret < 0 && sink.failed == 0) {
            ntk_long_list_err_set(&err, ret, ntk_fs_temporary_folder());
        } else {
            ret = ntk_sink_commit(&sink, &err);
        }
    }
    ntk_sink_abort(&sink);
    return ret < 0 ? ntk_profile_fail(&err) : 0;
}

static int run_capture(char *const *names, int name_count)
{
    struct ntk_profile profile = { 0 };
    struct ntk_analyses *analyses = NULL;
    struct ntk_err err = { 0 };
    char *path = ntk_profile_session_path(arg_session);
    int code = path ? ntk_profile_open(path, arg_neff, &profile) : 1;

    free(path);
    if (code) {
        return code;
    }
    int ret = ntk_analyses_create_shown(profile.trace, uses_of(names, name_count), &analyses);
    if (ret < 0) {
        ntk_long_list_err_set(&err, ret, profile.trace->folder);
        code = ntk_profile_fail(&err);
    } else if (ntk_what_if_changes_check(analyses->program, &arg_changes, &err) < 0) {
        code = ntk_profile_fail(&err);
    } else {
        analyses->bubbles =
            (struct ntk_bubbles_options){ .limit = arg_limit == UNLIMITED ? 0 : (size_t)arg_limit,
                                          .engines = engines };
        analyses->changes = arg_changes;
        analyses->is_shown = true;
        code =
            run(&(struct asked){ .part = profile.trace, .analyses = analyses }, names, name_count);
    }
    ntk_analyses_destroy(analyses);
    return ntk_profile_close(&profile, code);
}

/* Returns true if an analysis needs whole traces. */
static bool needs_traces(char *const *names, int name_count)
{
    for (size_t i = 0; i < ntk_system_analyses_count(); i++) {
        if (is_chosen(i, names, name_count, true) && !ntk_system_analyses_streams(i)) {
            return true;
        }
    }
    return false;
}

/* Opens the readable traces; reports problems on stderr. */
static size_t traces_open(const struct ntk_vec *paths, struct ntk_system_trace **traces,
                          int *out_code)
{
    struct ntk_err err = { 0 };
    size_t count = 0;

    ntk_vec_each(char *, path, paths) {
        if (ntk_system_trace_open(*path, &traces[count], &err) < 0) {
            *out_code = ntk_profile_fail(&err);
            continue;
        }
        ntk_vec_each(char *, warning, &traces[count]->warnings) {
            fprintf(stderr, "neuron-profile: %s\n", *warning);
            *out_code = 1;
        }
        if (ntk_system_trace_is_absent(traces[count])) {
            ntk_system_trace_close(traces[count]);
            continue;
        }
        count++;
    }
    return count;
}

/* Cuts the traces; returns false after printing a message. */
static bool traces_cut(struct ntk_system_trace **traces, size_t count)
{
    struct ntk_span_filter filter;
    struct ntk_cut_extent extent = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_span_filter_set(&filter, ntk_cut_cores(), NULL, NULL, &err);

    for (size_t i = 0; i < count; i++) {
        ntk_cut_extent_add(&extent, traces[i]);
    }
    ret = ret == 0 && count > 0 ? ntk_cut_of_traces(&extent, &filter, &err) : ret;
    for (size_t i = 0; i < count && ret == 0; i++) {
        ret = ntk_span_filter_apply(&filter, traces[i]);
        ret = ret < 0 ? ntk_err_no_memory(&err) : 0;
    }
    return ret == 0 || ntk_profile_fail(&err) == 0;
}

static int run_folder(char *const *names, int name_count)
{
    struct ntk_vec paths;
    struct ntk_err err = { 0 };
    size_t count = 0;
    int code = 0;
    bool has_warned = false;
    bool is_cut = false;

    if (ntk_session_find(arg_folder, &paths, &err) < 0) {
        return ntk_profile_fail(&err);
    }
    /* Only traces in memory can be cut. */
    bool is_whole = needs_traces(names, name_count) || ntk_cut_is_given();
    struct ntk_system_trace **traces = calloc(paths.count + 1, sizeof *traces);
    if (!traces) {
        ntk_err_no_memory(&err);
        code = ntk_profile_fail(&err);
    } else {
        count = is_whole ? traces_open(&paths, traces, &code) : 0;
        if (is_whole && count == 0 && code == 0) {
            ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET,
                        "%s: no trace of host activity, only captures: analyse one with -s",
                        arg_folder);
            code = ntk_profile_fail(&err);
        }
        is_cut = traces_cut(traces, count);
        code = is_cut ? code : 1;
    }
    if (traces && is_cut && (count > 0 || !is_whole)) {
        struct asked asked = {
            .is_system = true,
            .folder = { .traces = (const struct ntk_system_trace *const *)traces,
                        .trace_count = count,
                        .folders = &paths,
                        .options = &arg_joined,
                        .has_warned = &has_warned,
                        .err = &err },
        };
        int ran = run(&asked, names, name_count);
        code = ran ? ran : code ? code : has_warned;
    }
    for (size_t i = 0; i < count; i++) {
        ntk_system_trace_close(traces[i]);
    }
    free(traces);
    ntk_session_paths_fini(&paths);
    return code;
}

static bool is_named(int argc, char **argv, const char *name)
{
    bool found = argc == 0;

    for (int i = 0; i < argc; i++) {
        found = found || strcmp(argv[i], name) == 0;
    }
    return found;
}

/* Checks options of analyses that are not selected. Returns 0, or the exit code after printing a
 * message. */
static int check_options(int name_count, char **names)
{
    bool has_bubbles = !arg_folder && is_named(name_count, names, "bubbles");

    const char *changed = arg_folder ? "joined" : "what-if";

    if (arg_what_if_count > 0 && !is_named(name_count, names, changed)) {
        return ntk_opt_usage_error(&program_options, "--what-if requires the '%s' analysis",
                                   changed);
    }
    if ((engines || arg_limit != UNLIMITED) && !has_bubbles) {
        return ntk_opt_usage_error(&program_options,
                                   "--%s requires the 'bubbles' analysis of a capture (-s)",
                                   engines ? "engine" : "limit");
    }
    if (arg_limit != UNLIMITED && (arg_limit == 0 || arg_limit > NTK_BUBBLES_LIMIT_MAX)) {
        return ntk_opt_usage_error(&program_options, "--limit: expected 1 to %d",
                                   NTK_BUBBLES_LIMIT_MAX);
    }
    return 0;
}

/* Takes an input before the names, without -s or -d; a word that is an analysis is not an input. No
 * analysis has a dot or a slash in its name. */
static int take_input(int first, int argc, char **argv)
{
    struct ntk_analyze_near near;

    if (arg_session || arg_folder || first == argc ||
        !ntk_analyze_wrong(false, argv[first], &near) ||
        !ntk_analyze_wrong(true, argv[first], &near) ||
        (access(argv[first], F_OK) != 0 && !strpbrk(argv[first], "./"))) {
        return first;
    }
    ntk_profile_take_input(argv[first], &arg_session, &arg_folder);
    return first + 1;
}

int ntk_cmd_analyze(int argc, char **argv)
{
    int first = ntk_opt_parse(&program_options, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (arg_list) {
        ntk_analyze_print_list();
        return 0;
    }
    first = take_input(first, argc, argv);
    if (arg_folder && (arg_session || arg_neff)) {
        return ntk_opt_usage_error(&program_options, "-d cannot be combined with -s or -n");
    }
    struct ntk_err err = { 0 };
    if (changes_read(&err) < 0) {
        return ntk_opt_usage_error(&program_options, "--what-if: %s", err.text);
    }
    struct ntk_analyze_near near;
    int code = check_options(argc - first, argv + first);
    if (code) {
        return code;
    }
    for (int i = first; i < argc; i++) {
        const char *wrong = ntk_analyze_wrong(arg_folder != NULL, argv[i], &near);
        if (wrong) {
            return ntk_opt_usage_error(&program_options, wrong, argv[i], near.text);
        }
    }
    if (!arg_session && !arg_folder) {
        return ntk_opt_usage_error(&program_options, "no capture: use -s FILE or -d FOLDER");
    }
    ntk_memory_keep_freed();
    return arg_folder ? run_folder(argv + first, argc - first)
                      : run_capture(argv + first, argc - first);
}
