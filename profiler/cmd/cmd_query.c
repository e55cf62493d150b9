/* SPDX-License-Identifier: MIT */
/* cmd_query - runs SQL over a capture, or over the folders of inspections. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/output/tables/query.h"
#include "shared/base/opt.h"

#define SQL_BYTES_MAX (1 << 20)

static const char *arg_neff;
static const char *arg_session;
static const char *arg_folder;
static const char *arg_output;
static const char *arg_nki_root;
static const char *arg_framework_root;
static bool arg_tracker;
static bool arg_tables;
static bool arg_json;
static bool arg_csv;
static uint64_t arg_rows;

static bool is_cut; /* the query failed after printing rows */

static const struct ntk_opt options[] = {
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "read this capture, or the capture in this folder" },
    { 'd', "session-dir", "FOLDER", NTK_OPT_TEXT, &arg_folder,
      "read the inspection folders in and below FOLDER instead of a capture" },
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "read this NEFF (default: the matching one next to the capture; - for none)" },
    { 0, "tables", NULL, NTK_OPT_FLAG, &arg_tables,
      "list the tables of a capture or, with -d, those of folders; with a NAME, list its columns" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print a JSON array of objects" },
    { 0, "csv", NULL, NTK_OPT_FLAG, &arg_csv, "print comma-separated values" },
    { 0, "rows", "N", NTK_OPT_U64, &arg_rows, "print at most N rows (default 0: all)" },
    NTK_OPT_MEMORY_TRACKER(&arg_tracker),
    NTK_OPT_SOURCE_ROOTS(&arg_nki_root, &arg_framework_root),
    NTK_PROFILE_OPT_METRICS_VERSION,
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write to FILE; - is stdout" },
    NTK_CUT_OPTIONS,
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile query",
    .usage = "[-s] FILE.ntff [-n FILE.neff] [OPTION]... SELECT\n"
             "[-d] FOLDER [OPTION]... SELECT\n"
             "--tables [-d FOLDER] [NAME]",
    .summary = "Runs an SQLite SELECT on the tables of a capture, without writing a database\n"
               "first. SELECT - reads the query from stdin.",
    .options = options,
};

static int answer(const struct ntk_export *export, const void *ctx, struct ntk_err *err)
{
    enum ntk_query_format format = arg_json  ? NTK_QUERY_JSON
                                   : arg_csv ? NTK_QUERY_CSV
                                             : NTK_QUERY_TEXT;
    struct ntk_sink sink = { 0 };
    bool has_more = false;
    int ret = ntk_sink_open(&sink, arg_output ? arg_output : "-", err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_query_run(export, ctx, format, arg_rows, &sink, &has_more, err);
    if (ret < 0) {
        is_cut = sink.is_stdout && sink.flushed_bytes > 0;
        ntk_sink_abort(&sink);
        return ret;
    }
    ret = ntk_sink_commit(&sink, err);
    if (ret == 0 && has_more) {
        fprintf(stderr,
                "neuron-profile: printed the first %" PRIu64
                " rows; use a larger --rows for more\n",
                arg_rows);
    }
    return ret;
}

static int query_capture(const char *path, const char *sql)
{
    struct ntk_profile profile;
    struct ntk_export *export = NULL;
    struct ntk_source_text *text = NULL;
    struct ntk_err err = { 0 };
    int code = ntk_profile_open(path, arg_neff, &profile);
    char *name = code == 0 ? ntk_profile_name(path) : NULL;

    if (code) {
        return code;
    }
    int ret = !name ? -ENOMEM
              : ntk_query_is_of_rows(sql)
                  ? ntk_export_create_rows(profile.trace, name, path, &export)
                  : ntk_export_create(profile.trace, name, path, &export);
    if (ret < 0) {
        ntk_err_no_memory(&err);
        code = ntk_profile_fail(&err);
    } else if (ntk_profile_source_text(&profile, arg_nki_root, arg_framework_root, &text)) {
        code = 1;
    } else {
        export->has_memory_tracker = arg_tracker;
        export->source_text = text;
        if (!arg_tracker && strcasestr(sql, "SbufAllocation")) {
            fputs("neuron-profile: SbufAllocation is empty without --enable-memory-tracker\n",
                  stderr);
        }
        code = answer(export, sql, &err) < 0 ? ntk_profile_fail(&err) : 0;
    }
    ntk_export_destroy(export);
    ntk_profile_source_text_close(text);
    free(name);
    return ntk_profile_close(&profile, code);
}

static int list(const char *name)
{
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int code = ntk_query_list(arg_folder != NULL, name, arg_json, &text, &err) < 0
                   ? ntk_profile_fail(&err)
                   : ntk_profile_put(&text, arg_output);

    ntk_buf_fini(&text);
    return code;
}

/* Returns the statement; "-" reads stdin. NULL after printing a message; the caller frees the
 * result. */
static char *statement_of(const char *operand)
{
    struct ntk_err err = { 0 };
    char *text = strcmp(operand, "-") != 0 ? strdup(operand) : calloc(1, SQL_BYTES_MAX + 1);

    if (!text) {
        ntk_err_no_memory(&err);
    } else if (strcmp(operand, "-") == 0 &&
               fread(text, 1, SQL_BYTES_MAX + 1, stdin) > SQL_BYTES_MAX) {
        ntk_err_set(&err, -EFBIG, NTK_ERR_NO_OFFSET, "the query on stdin is longer than %d bytes",
                    SQL_BYTES_MAX);
    } else {
        return text;
    }
    (void)ntk_profile_fail(&err);
    free(text);
    return NULL;
}

/* Takes an input before the query, without -s or -d. A missing file is an input if a query follows;
 * two words of a query without quotes are not. */
static int take_input(int first, int argc, char **argv)
{
    if (arg_session || arg_folder || arg_tables || argc - first != 2 ||
        (access(argv[first], F_OK) != 0 && strcmp(argv[first + 1], "-") != 0 &&
         !strchr(argv[first + 1], ' '))) {
        return first;
    }
    ntk_profile_take_input(argv[first], &arg_session, &arg_folder);
    return first + 1;
}

int ntk_cmd_query(int argc, char **argv)
{
    int first = ntk_opt_parse(&program, argc, argv);

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    first = take_input(first, argc, argv);
    if (argc - first > 1) {
        return ntk_opt_usage_error(&program,
                                   "unexpected argument '%s': put the query in quotes, and pass a "
                                   "capture with -s",
                                   argv[first + 1]);
    }
    if (arg_json && arg_csv) {
        return ntk_opt_usage_error(&program, "--json and --csv are mutually exclusive");
    }
    if (arg_tables) {
        return arg_csv ? ntk_opt_usage_error(&program, "--tables prints text, or JSON with --json")
                       : list(first < argc ? argv[first] : NULL);
    }
    if (first == argc) {
        return ntk_opt_usage_error(&program, "no query: pass a SELECT in quotes, or --tables");
    }
    if (!arg_session == !arg_folder) {
        return ntk_opt_usage_error(&program, arg_session ? "-d and -s are mutually exclusive"
                                                         : "no capture: use -s FILE or -d FOLDER");
    }
    char *path = arg_session ? ntk_profile_session_path(arg_session) : NULL;
    char *sql = arg_session && !path ? NULL : statement_of(argv[first]);
    int code = 1;
    if (sql) {
        code = path ? query_capture(path, sql)
                    : ntk_profile_folder(&(struct ntk_folder_options){ .folder = arg_folder,
                                                                       .neff = arg_neff,
                                                                       .format = "sqlite",
                                                                       .ask = answer,
                                                                       .ask_ctx = sql });
    }
    free(sql);
    free(path);
    return code && is_cut ? NTK_QUERY_EXIT_CUT : code;
}
