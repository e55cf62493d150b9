/* SPDX-License-Identifier: MIT */
/* cmd_view - shows a capture as a summary, or as a page with its timeline. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/output/export_to.h"
#include "profiler/output/output.h"
#include "profiler/output/tables/output_schema.h"
#include "profiler/output/traces/system_lines.h"
#include "profiler/timeline/timeline_serve.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

#define HTML_PATH "ntff.html"

static const char *arg_neff;
static const char *arg_session;
static const char *arg_folder;
static const char *arg_format;
static const char *arg_output;
static bool arg_ignore_device;
static bool arg_ignore_system;
static bool arg_private;
static uint64_t arg_port = UINT64_MAX; /* UINT64_MAX if not given */
static bool arg_no_open;
static const char *arg_compare;
static const char *arg_compare_neff;
static const char *arg_cores;
static const char *arg_types;
static const char *arg_instances;
static const char *arg_primary;
static const char *arg_secondary;
static bool arg_flows;
static uint64_t arg_html_bytes;
static bool arg_terminology;
static bool arg_all;
static bool arg_brief;
static const char *arg_name;
static const char *arg_store;
static bool arg_no_page;
static bool arg_force;
static bool arg_pretty;
static const char *arg_nki_root;
static const char *arg_framework_root;
static bool arg_tracker;

#define FORMATS                                                                                 \
    "page summary-text summary-json json csv sqlite parquet perfetto chrome html pprof folded " \
    "kineto chakra"

static int format_set(const char *value, struct ntk_err *err)
{
    if (strcmp(value, "db") == 0) { /* names in the vendor's tool */
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "database servers are not supported; sqlite and parquet have the same "
                           "tables");
    }
    arg_format = value;
    return ntk_opt_choice_check(FORMATS, value, err);
}
static int (*const format_setter)(const char *value, struct ntk_err *err) = format_set;

static const struct ntk_opt options[] = {
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "read this capture, or the capture in this folder" },
    { 'd', "session-dir", "FOLDER", NTK_OPT_TEXT, &arg_folder,
      "read the inspection folders in and below FOLDER instead of a capture; with -n, read all "
      "captures of that NEFF" },
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "add the names and figures that the capture lacks, from this NEFF (default: the matching one "
      "next to the capture; - for none)" },
    { 0, "output-format", "FORMAT", NTK_OPT_CALL, (void *)(uintptr_t)&format_setter,
      "write page (default on a terminal), summary-text (default elsewhere), summary-json, json, "
      "csv, sqlite, parquet, perfetto, chrome, html, pprof or folded; with -d also kineto and "
      "chakra, but not pprof and folded",
      .choices = FORMATS },
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output,
      "write to FILE; - is stdout (default for summaries)" },
    { 0, "json-pretty-print", NULL, NTK_OPT_FLAG, &arg_pretty,
      "indent json; summary-json is always indented" },
    { 0, "html-size", "SIZE", NTK_OPT_BYTES, &arg_html_bytes,
      "limit html to SIZE (default 16M) by omitting details of slices, then the finest zoom levels",
      .is_above_zero = true },
    { 0, "port", "PORT", NTK_OPT_U64, &arg_port,
      "serve the page on PORT (default 3001, or the next free one; 0: any)" },
    { 0, "compare", "FILE", NTK_OPT_TEXT, &arg_compare,
      "show a later capture next to the first one, row by row, with the changes (page or html)" },
    { 0, "compare-neff", "FILE", NTK_OPT_TEXT, &arg_compare_neff,
      "read this NEFF for --compare (default: the same NEFF)" },
    { 0, "no-open", NULL, NTK_OPT_FLAG, &arg_no_open, "serve the page without starting a browser" },
    { 0, "ignore-device-profile", NULL, NTK_OPT_FLAG, &arg_ignore_device,
      "with -d: omit captures" },
    { 0, "ignore-system-profile", NULL, NTK_OPT_FLAG, &arg_ignore_system,
      "with -d: omit host events" },
    { 0, "private", NULL, NTK_OPT_FLAG, &arg_private,
      "with -d: also show the host's address and name, if the files contain them" },
    { 0, "system-trace-filter-neuron-core", "LIST", NTK_OPT_TEXT, &arg_cores,
      "with -d: show only events on these cores, such as 0,2-4" },
    { 0, "system-trace-filter-event-type", "LIST", NTK_OPT_TEXT, &arg_types,
      "with -d: show only events of these types, or of hardware or software; ^ before a name shows "
      "all others" },
    { 0, "system-trace-filter-instance-id", "LIST", NTK_OPT_TEXT, &arg_instances,
      "with -d: show only events from these machines" },
    { 0, "system-trace-primary-group", "LIST", NTK_OPT_TEXT, &arg_primary,
      "with -d in perfetto and chrome: group processes by LIST (default " NTK_SYSTEM_PRIMARY_DEFAULT
      ")" },
    { 0, "system-trace-secondary-group", "LIST", NTK_OPT_TEXT, &arg_secondary,
      "with -d in perfetto and chrome: group lines by LIST (default " NTK_SYSTEM_SECONDARY_DEFAULT
      ")" },
    NTK_CUT_OPTIONS,
    { 0, "show-perfetto-flows", NULL, NTK_OPT_FLAG, &arg_flows,
      "draw an arrow to each slice that waited, from the slice that ended the wait, in perfetto "
      "and chrome; with -d in perfetto, also draw one from each call to its execution on the "
      "core" },
    NTK_PROFILE_OPT_METRICS_VERSION,
    { 0, "brief", NULL, NTK_OPT_FLAG, &arg_brief,
      "summary-text: print ten figures, a bar for each engine and three findings (default on a "
      "terminal)" },
    { 0, "all", NULL, NTK_OPT_FLAG, &arg_all,
      "summary-text: print every metric (default elsewhere)" },
    { 0, "terminology", NULL, NTK_OPT_FLAG, &arg_terminology,
      "print the meaning of each metric and exit" },
    { 0, "display-name", "NAME", NTK_OPT_TEXT, &arg_name,
      "set the profile name in outputs (default: the file's name)" },
    { 0, "data-path", "FOLDER", NTK_OPT_TEXT, &arg_store,
      "write parquet to FOLDER/profiles/global/NAME@latest" },
    { 0, "disable-ui", NULL, NTK_OPT_FLAG, &arg_no_page, "serve no page, even on a terminal" },
    { 0, "ingest-only", NULL, NTK_OPT_FLAG, &arg_no_page, "same as --disable-ui" },
    NTK_OPT_MEMORY_TRACKER(&arg_tracker),
    NTK_OPT_SOURCE_ROOTS(&arg_nki_root, &arg_framework_root),
    { 0, "force", NULL, NTK_OPT_FLAG, &arg_force, "ignored: files are always read again" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile view",
    .usage = "[-s] FILE.ntff [-n FILE.neff] [OPTION]...\n"
             "[-d] FOLDER [-n FILE.neff] [OPTION]...",
    .summary = "Shows the figures of a capture: times, utilization, traffic, operations.",
    .options = options,
    .epilogue = "Fields named percent are fractions from 0 to 1, and times are in seconds; only\n"
                "summary-text on a terminal shows percent and microseconds instead. Metrics that\n"
                "the files do not contain are omitted.",
};

/* Returns the name of the capture, or --display-name. */
static char *profile_name(const char *path)
{
    return arg_name ? strdup(arg_name) : ntk_profile_name(path);
}

/* Returns the path below --data-path where the original's explorer expects a profile; creates
 * parent folders. NULL after printing a message. */
static char *store_path(const char *of)
{
    char *name = profile_name(of);
    char *parent = NULL;
    char *path = NULL;
    struct ntk_err err = { 0 };
    int ret = -ENOMEM;

    if (name && asprintf(&parent, "%s/profiles/global", arg_store) < 0) {
        parent = NULL;
    }
    if (parent && asprintf(&path, "%s/%s@latest", parent, name) < 0) {
        path = NULL;
    }
    if (path) {
        ret = ntk_fs_make_folders(parent, 0777, &err);
    } else {
        ntk_err_no_memory(&err);
    }
    if (ret < 0) {
        (void)ntk_profile_fail(&err);
        free(path);
        path = NULL;
    }
    free(parent);
    free(name);
    return path;
}

/* Checks --display-name and --data-path; returns 0, or the exit code. */
static int check_store(void)
{
    if (arg_name && (!arg_name[0] || strchr(arg_name, '/'))) {
        return ntk_opt_usage_error(
            &program, "invalid value '%s' for --display-name: expected a name without slashes",
            arg_name);
    }
    if (arg_store && (arg_output || strcmp(arg_format, "parquet") != 0)) {
        return ntk_opt_usage_error(&program, "--data-path requires parquet without --output-file");
    }
    return 0;
}

/* The default format: the page if a port is given or at a terminal; text for scripts, which need a
 * program that exits. */
static int export_profile(const struct ntk_profile *profile, const struct ntk_export_format *format)
{
    const char *path = arg_output ? arg_output : format->default_path;
    struct ntk_export *export = NULL;
    struct ntk_err err = { 0 };
    struct ntk_source_text *text = NULL;
    char *name = profile_name(arg_session);
    int ret = name ? ntk_export_create(profile->trace, name, arg_session, &export) : -ENOMEM;

    if (ret == 0 && ntk_profile_source_text(profile, arg_nki_root, arg_framework_root, &text)) {
        ntk_export_destroy(export);
        free(name);
        return 1;
    }

    if (ret < 0) {
        ntk_err_no_memory(&err);
    } else {
        export->has_flows = arg_flows;
        export->is_pretty = arg_pretty;
        export->has_memory_tracker = arg_tracker;
        export->source_text = text;
        ret = format->write(export, path, &err);
    }
    ntk_export_destroy(export);
    ntk_profile_source_text_close(text);
    free(name);
    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    if (!arg_output) {
        printf("neuron-profile: wrote %s\n", path);
    }
    return 0;
}

/* The default when no format is named: the page for a user who asks for a port or is at a terminal;
 * text for a script, which needs a program that ends. */
static const char *default_format(void)
{
    bool wants_page = arg_port != UINT64_MAX || arg_no_open || arg_compare;

    if (arg_store) {
        return "parquet";
    }
    return !arg_output && !arg_no_page && !arg_brief && !arg_all &&
                   (wants_page || (!arg_folder && isatty(STDOUT_FILENO)))
               ? "page"
               : "summary-text";
}

/* Reports source folders without effect, because scripts for the vendor's program pass the folders
 * to every view. */
static void say_unused_source_roots(bool is_page)
{
    static const char *const with_text[] = { "html", "json", "csv", "sqlite", "parquet" };
    const char *option = arg_nki_root         ? "--nki-source-root"
                         : arg_framework_root ? "--framework-source-root"
                                              : NULL;
    bool has_text = is_page;

    for (size_t i = 0; i < sizeof with_text / sizeof *with_text; i++) {
        bool is_of_captures = !arg_folder || strcmp(with_text[i], "html") == 0;
        has_text = has_text || (is_of_captures && strcmp(arg_format, with_text[i]) == 0);
    }
    if (option && !has_text) {
        ntk_log_warn("profile",
                     "%s ignored: %s%s shows no source lines; use page or html%s, or "
                     "neuron-profile lines",
                     option, arg_format, arg_folder ? " with -d" : "",
                     arg_folder ? "" : ", json, csv, sqlite or parquet");
        arg_nki_root = arg_framework_root = NULL;
    }
}

/* Checks options of the page; returns 0, or the exit code with the message printed. */
static int check_page_options(bool is_page)
{
    if (arg_port != UINT64_MAX && arg_port > UINT16_MAX) {
        return ntk_opt_usage_error(&program, "--port must be at most 65535");
    }
    if (!is_page && (arg_port != UINT64_MAX || arg_no_open)) {
        return ntk_opt_usage_error(&program, "--port and --no-open require --output-format page");
    }
    if (!is_page && arg_compare && strcmp(arg_format, "html") != 0) {
        return ntk_opt_usage_error(&program, "--compare requires --output-format page or html");
    }
    if (is_page && arg_output) {
        return ntk_opt_usage_error(
            &program,
            "--output-file and --output-format page are mutually exclusive: the page is served");
    }
    if (is_page && arg_no_page) {
        return ntk_opt_usage_error(&program,
                                   "--disable-ui and --output-format page are mutually exclusive");
    }
    if (arg_compare && !arg_session) {
        return ntk_opt_usage_error(&program, "--compare requires -s");
    }
    if (arg_compare_neff && !arg_compare) {
        return ntk_opt_usage_error(&program, "--compare-neff requires --compare");
    }
    if (is_page && arg_folder && arg_session) {
        return ntk_opt_usage_error(&program, "-d and -s are mutually exclusive");
    }
    if (arg_brief && arg_all) {
        return ntk_opt_usage_error(&program, "--brief and --all are mutually exclusive");
    }
    if ((arg_brief || arg_all) && strcmp(arg_format, "summary-text") != 0) {
        return ntk_opt_usage_error(&program, "%s requires --output-format summary-text",
                                   arg_brief ? "--brief" : "--all");
    }
    if ((arg_brief || arg_all) && arg_folder) {
        return ntk_opt_usage_error(&program, "%s requires one capture: pass it with -s",
                                   arg_brief ? "--brief" : "--all");
    }
    if (arg_html_bytes && strcmp(arg_format, "html") != 0) {
        return ntk_opt_usage_error(&program, "--html-size requires --output-format html");
    }
    return 0;
}

/* Writes the page to a file. */
static int view_html(void)
{
    int code =
        ntk_profile_page(&(struct ntk_page_options){ .session = arg_session,
                                                     .folder = arg_folder,
                                                     .neff = arg_neff,
                                                     .ignore_device = arg_ignore_device,
                                                     .ignore_system = arg_ignore_system,
                                                     .output = arg_output ? arg_output : HTML_PATH,
                                                     .compare = arg_compare,
                                                     .compare_neff = arg_compare_neff,
                                                     .output_bytes_max = arg_html_bytes,
                                                     .nki_root = arg_nki_root,
                                                     .framework_root = arg_framework_root });

    if (!arg_output && code == 0) {
        printf("neuron-profile: wrote %s\n", HTML_PATH);
    }
    return code;
}

/* Shows a folder of inspections, or of captures of one NEFF. */
static int view_folder(bool is_json)
{
    struct ntk_system_grouping grouping;
    struct ntk_err err = { 0 };
    struct ntk_folder_options wanted = { .folder = arg_folder,
                                         .format = arg_format,
                                         .output = arg_output,
                                         .neff = arg_neff,
                                         .ignore_device = arg_ignore_device,
                                         .ignore_system = arg_ignore_system,
                                         .shows_private = arg_private,
                                         .cores = arg_cores,
                                         .types = arg_types,
                                         .instances = arg_instances,
                                         .grouping = &grouping,
                                         .has_flows = arg_flows };
    bool is_html = strcmp(arg_format, "html") == 0;
    bool is_summary = is_json || strcmp(arg_format, "summary-text") == 0;

    const struct ntk_export_format *format = ntk_export_format_find(arg_format);

    if (arg_session) {
        return ntk_opt_usage_error(&program, "-d and -s are mutually exclusive");
    }
    if (format && !format->system_path) {
        return ntk_opt_usage_error(&program, "%s requires one capture: pass it with -s",
                                   arg_format);
    }
    if (arg_cores && ntk_cut_cores()) {
        return ntk_opt_usage_error(
            &program, "--core and --system-trace-filter-neuron-core are mutually exclusive");
    }
    bool is_of_neff = arg_neff && strcmp(arg_neff, NTK_PROFILE_NO_NEFF) != 0;
    if (is_of_neff && (arg_cores || arg_types || arg_instances)) {
        return ntk_opt_usage_error(&program,
                                   "-d with -n shows only captures: use the filters without -n");
    }
    if (is_of_neff && !is_summary && !is_html) {
        return ntk_opt_usage_error(&program,
                                   "output format '%s' cannot be combined with -d and -n: use "
                                   "summary-text, summary-json or html",
                                   arg_format);
    }
    if (ntk_system_grouping_set(&grouping, arg_primary, arg_secondary, &err) < 0) {
        return ntk_opt_usage_error(&program, "%s", err.text);
    }
    if (is_html) {
        return view_html();
    }
    return is_of_neff ? ntk_profile_ranks(&wanted, arg_neff) : ntk_profile_folder(&wanted);
}

/* Accepts an argument without an option: a capture or a folder of captures. Returns 0, or the exit
 * code. */
static int take_operand(int count, char **operands)
{
    if (count > 1 || (count == 1 && (arg_session || arg_folder))) {
        return ntk_opt_argument_error(&program, NULL, operands[arg_session || arg_folder ? 0 : 1]);
    }
    if (count == 1) {
        ntk_profile_take_input(operands[0], &arg_session, &arg_folder);
    }
    return 0;
}

/* Serves the page until interrupted. */
static int view_page(void)
{
    return ntk_profile_page(
        &(struct ntk_page_options){ .session = arg_session,
                                    .folder = arg_folder,
                                    .neff = arg_neff,
                                    .compare = arg_compare,
                                    .compare_neff = arg_compare_neff,
                                    .ignore_device = arg_ignore_device,
                                    .ignore_system = arg_ignore_system,
                                    .port = arg_port == UINT64_MAX ? NTK_TIMELINE_PORT : arg_port,
                                    .no_open = arg_no_open,
                                    .nki_root = arg_nki_root,
                                    .framework_root = arg_framework_root });
}

static int view_terminology(void)
{
    struct ntk_buf text = { 0 };

    ntk_output_terminology(&text);
    int code = ntk_profile_put(&text, arg_output);
    ntk_buf_fini(&text);
    return code;
}

static int view_summary(const struct ntk_profile *profile, bool is_json)
{
    struct ntk_summary summary = { 0 };
    struct ntk_buf text = { 0 };
    bool is_file = arg_output && strcmp(arg_output, "-") != 0;
    bool is_screen = !is_file && isatty(STDOUT_FILENO);

    if (!is_json && !arg_all && (arg_brief || is_screen)) {
        char *name = profile_name(arg_session);
        int code = ntk_profile_brief(profile, name ? name : "", arg_output);
        free(name);
        return code;
    }

    if (ntk_analysis_summary(profile->trace, &summary) < 0) {
        text.failed = true;
    } else if (is_json) {
        char *name = profile_name(arg_session);
        ntk_output_summary_json(&summary, name ? name : "", &text);
        free(name);
    } else {
        ntk_output_summary_text(&summary, is_screen, &text);
    }
    int code = ntk_profile_put(&text, arg_output);
    ntk_buf_fini(&text);
    ntk_summary_fini(&summary);
    return code;
}

/* Shows one capture, in any format except the page. */
static int view_capture(bool is_json)
{
    struct ntk_profile profile = { 0 };

    if (arg_cores || arg_types || arg_instances || arg_primary || arg_secondary) {
        return ntk_opt_usage_error(&program, "--system-trace-... options require -d");
    }
    if (arg_flows && strcmp(arg_format, "perfetto") != 0 && strcmp(arg_format, "chrome") != 0) {
        return ntk_opt_usage_error(&program,
                                   "--show-perfetto-flows requires perfetto or chrome: the page "
                                   "always draws what an instruction waited for");
    }
    if (!arg_session) {
        return ntk_opt_usage_error(&program, "no capture: use -s FILE or -d FOLDER");
    }
    if (strcmp(arg_format, "html") == 0) {
        return view_html();
    }
    const struct ntk_export_format *format = ntk_export_format_find(arg_format);
    if (format && !format->default_path) {
        return ntk_opt_usage_error(
            &program, "%s requires traces of several ranks: pass their folder with -d", arg_format);
    }
    int code = ntk_profile_open(arg_session, arg_neff, &profile);
    if (code) {
        return code;
    }
    return ntk_profile_close(&profile, format ? export_profile(&profile, format)
                                              : view_summary(&profile, is_json));
}

int ntk_cmd_view(int argc, char **argv)
{
    int first = ntk_opt_parse(&program, argc, argv);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    code = take_operand(argc - first, argv + first);
    if (code) {
        return code;
    }
    if (arg_terminology) {
        return view_terminology();
    }
    if (arg_session && !arg_folder) {
        arg_session = ntk_profile_session_path(arg_session); /* allocated until the program ends */
        if (!arg_session) {
            return 1;
        }
    }
    arg_format = arg_format ? arg_format : default_format();
    bool is_json = strcmp(arg_format, "summary-json") == 0;
    bool is_page = strcmp(arg_format, "page") == 0;
    code = check_page_options(is_page);
    code = code ? code : check_store();
    if (code) {
        return code;
    }
    say_unused_source_roots(is_page);
    if (is_page && (arg_session || arg_folder)) {
        return view_page();
    }
    if (arg_store && (arg_session || arg_folder)) {
        arg_output = store_path(arg_session ? arg_session : arg_folder);
        if (!arg_output) {
            return 1;
        }
    }
    return arg_folder ? view_folder(is_json) : view_capture(is_json);
}
