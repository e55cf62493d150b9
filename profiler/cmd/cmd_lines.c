/* SPDX-License-Identifier: MIT */
/* cmd_lines - prints the cost of lines and loops of the source. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/output/answers/output_lines.h"
#include "profiler/output/sink.h"
#include "profiler/output/tables/tables.h"
#include "profiler/trace/long_list.h"
#include "shared/base/opt.h"
#include "shared/formats/neff/source_text.h"

static const char *arg_neff;
static const char *arg_session;
static const char *arg_by = "stall";
static const char *arg_output;
static const char *arg_nki_root;
static const char *arg_framework_root;
static bool arg_loops;
static bool arg_json;

static const struct ntk_opt options[] = {
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session,
      "read this capture, or the capture in this folder" },
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "read the lines from this NEFF (default: the matching one next to the capture)" },
    { 0, "by", "WHAT", NTK_OPT_CHOICE, &arg_by, "sort by stall (default), idle, time or bytes",
      .choices = "stall idle time bytes" },
    { 0, "loops", NULL, NTK_OPT_FLAG, &arg_loops,
      "show loops instead of lines: span, iterations, slowest iteration and overlap" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json,
      "print JSON with all rows of source_line, or with --loops, of source_loop and "
      "source_iteration" },
    NTK_PROFILE_OPT_METRICS_VERSION,
    NTK_CUT_OPTIONS_OF_CAPTURES,
    NTK_OPT_SOURCE_ROOTS(&arg_nki_root, &arg_framework_root),
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write to FILE instead of stdout" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-profile lines",
    .usage = "[-s] FILE.ntff [-n FILE.neff] [OPTION]...",
    .summary = "Shows the cost of each source line: stall, time and bytes, and the line that it "
               "waited for.",
    .options = options,
    .epilogue = "A NEFF contains source lines only if the compiler recorded them. Loops are\n"
                "listed only if the kernel was compiled with NKI_DEBUG_INFO=True.",
};

static enum ntk_source_order order_of(const char *name)
{
    return strcmp(name, "idle") == 0    ? NTK_SOURCE_BY_IDLE
           : strcmp(name, "time") == 0  ? NTK_SOURCE_BY_TIME
           : strcmp(name, "bytes") == 0 ? NTK_SOURCE_BY_BYTES
                                        : NTK_SOURCE_BY_STALL;
}

/* Adds an option with a file, for a shell. */
static void add_file(struct ntk_buf *text, const char *option, const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "./_-+=:,@%";
    bool is_plain = path[strspn(path, plain)] == '\0';

    ntk_buf_add_format(text, "%s%s %s", text->bytes_count ? " " : "", option, is_plain ? "" : "'");
    for (const char *c = path; *c; c++) {
        ntk_buf_add_text(text, *c == '\'' ? "'\\'" : "");
        ntk_buf_add_char(text, *c);
    }
    ntk_buf_add_text(text, is_plain ? "" : "'");
}

static int put_text(const struct ntk_export *export, enum ntk_source_order order,
                    struct ntk_buf *out)
{
    struct ntk_buf files = { 0 };
    int ret = ntk_output_lines_text(export, order, out);

    add_file(&files, "-s", arg_session);
    if (arg_neff) {
        add_file(&files, "-n", arg_neff);
    }
    if (ret == 0 && !ntk_buf_ok(&files)) {
        ret = -ENOMEM;
    }
    if (ret == 0) {
        ntk_output_lines_next(*export->source_lines, ntk_buf_text_get(&files), out);
    }
    ntk_buf_fini(&files);
    return ret;
}

static int put(const struct ntk_export *export, struct ntk_sink *sink)
{
    /* The part, and an unusual version of the figures, are printed last. */
    bool has_info = export->trace->is_part || export->trace->metrics != NTK_METRICS_2_32;
    const char *info = has_info ? "profile_info" : NULL;
    const char *const lines[] = { "source_line", info, NULL };
    const char *const loops[] = { "source_loop", "source_iteration", info, NULL };
    enum ntk_source_order order = order_of(arg_by);
    const struct ntk_source_lines *ranked;
    int ret = ntk_export_source_lines(export, &ranked);

    if (ret == 0) {
        ret = ntk_source_lines_sort(*export->source_lines, order);
    }
    if (ret < 0) {
        return ret;
    }
    if (arg_json) {
        return ntk_output_tables_json(export, arg_loops ? loops : lines, sink);
    }
    return arg_loops ? ntk_output_loops_text(export, order, &sink->buf)
                     : put_text(export, order, &sink->buf);
}

/* Runs the command; returns the exit code. */
static int run(const struct ntk_profile *profile, struct ntk_source_text *text)
{
    struct ntk_export *export = NULL;
    struct ntk_sink sink = { 0 };
    struct ntk_err err = { 0 };
    char *name = ntk_profile_name(profile->ntff_path);
    int ret = name ? ntk_export_create_lines(profile->trace, &export) : -ENOMEM;

    if (ret < 0) {
        free(name);
        ntk_long_list_err_set(&err, ret, profile->trace->folder);
        return ntk_profile_fail(&err);
    }
    export->profile_name = name;
    export->path = profile->ntff_path;
    export->source_text = text;
    ret = ntk_sink_open(&sink, arg_output ? arg_output : "-", &err);
    if (ret == 0) {
        ret = put(export, &sink);
        if (ret < 0 && sink.failed == 0) {
            ntk_long_list_err_set(&err, ret, profile->trace->folder);
        } else {
            ret = ntk_sink_commit(&sink, &err);
        }
    }
    ntk_sink_abort(&sink);
    const struct ntk_neff_positions *positions = export->program->positions;
    for (size_t i = 0; positions && i < positions->warnings.count; i++) {
        fprintf(stderr, "neuron-profile: %s\n", *(char **)ntk_vec_at(&positions->warnings, i));
    }
    if (export->program->names_err.text[0]) {
        fprintf(stderr, "neuron-profile: %s\n", export->program->names_err.text);
    }
    ntk_export_destroy(export);
    free(name);
    return ret < 0 ? ntk_profile_fail(&err) : 0;
}

int ntk_cmd_lines(int argc, char **argv)
{
    int first = ntk_opt_parse(&program, argc, argv);
    struct ntk_profile profile = { 0 };
    struct ntk_source_text *text = NULL;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (first < argc && !arg_session) {
        arg_session = argv[first++];
    }
    if (first < argc) {
        return ntk_opt_argument_error(&program, NULL, argv[first]);
    }
    if (!arg_session) {
        return ntk_opt_usage_error(&program, "no capture: use -s FILE");
    }
    char *path = ntk_profile_session_path(arg_session);
    int code = path ? ntk_profile_open(path, arg_neff, &profile) : 1;
    free(path);
    if (code) {
        return code;
    }
    code = ntk_profile_source_text(&profile, arg_nki_root, arg_framework_root, &text);
    code = code ? code : run(&profile, text);
    ntk_profile_source_text_close(text);
    return ntk_profile_close(&profile, code);
}
