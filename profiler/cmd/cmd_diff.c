/* SPDX-License-Identifier: MIT */
/* cmd_diff - compares two captures, or two folders with captures of repeated executions. */
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/comparison.h"
#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_cut.h"
#include "profiler/cmd/cmd_side.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_matched.h"
#include "shared/base/opt.h"

static const char *arg_neff;
static const char *arg_neff_after;
static const char *arg_output;
static bool arg_json;

static const struct ntk_opt options[] = {
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "read the NEFF of BEFORE, and of AFTER unless --neff-after is given (default: the "
      "matching ones next to the captures; - for none)" },
    { 0, "neff-after", "FILE", NTK_OPT_TEXT, &arg_neff_after,
      "read the NEFF of AFTER (default: the one given for BEFORE)" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print JSON with all rows" },
    NTK_PROFILE_OPT_METRICS_VERSION,
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write to FILE instead of stdout" },
    NTK_CUT_OPTIONS_OF_CAPTURES,
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program_options = {
    .name = "neuron-profile diff",
    .usage = "[-n FILE.neff [--neff-after FILE.neff]] [OPTION]... BEFORE AFTER",
    .summary = "Shows what became slower or faster. BEFORE and AFTER are captures, or folders with "
               "captures of repeated executions of one program.",
    .options = options,
    .epilogue = "With repeated executions, each change is tested: significant changes are\n"
                "unlikely to be due to chance.",
};

static void put_comparison(const struct ntk_comparison *comparison,
                           const struct ntk_output_matched *matched, struct ntk_buf *out)
{
    if (arg_json) {
        struct ntk_json json;
        ntk_json_init(&json, out, true);
        ntk_output_comparison_json(comparison, matched, &json);
        ntk_buf_add_char(out, '\n');
    } else {
        ntk_output_comparison_text(comparison, matched, out);
    }
}

/* Warns about different machines. */
static void warn_of_machines(const struct ntk_side *before, const struct ntk_side *after,
                             struct ntk_buf *out)
{
    if (!before->instance_type[0] || !after->instance_type[0] ||
        strcmp(before->instance_type, after->instance_type) == 0) {
        return;
    }
    ntk_buf_add_format(out,
                       "BEFORE was recorded on %s, AFTER on %s: differences may be due to "
                       "the machines\n",
                       before->instance_type, after->instance_type);
}

/* Warns about records that a side lacks. */
static void warn_of_lacks(const struct ntk_side *side, const char *name, struct ntk_buf *out)
{
    if (!side->lacking_count) {
        return;
    }
    if (side->capture_count > 1) {
        ntk_buf_add_format(out, "%zu of %zu captures of ", side->lacking_count,
                           side->capture_count);
    }
    ntk_buf_add_format(out, "%s %s incomplete: %s; %s\n", name,
                       side->lacking_count > 1 ? "are" : "is", side->lacks,
                       side->hides_figures ? "figures that need these records are unknown"
                                           : "its critical path is approximate");
}

/* Same, for executions that are not compared one by one. */
static void note_executions(const struct ntk_side *side, const char *name, struct ntk_buf *out)
{
    if (side->executions.mean_count) {
        ntk_buf_add_format(out,
                           "%s: a %s %llu executions%s; its figures are means per execution, "
                           "and its regions are not compared\n",
                           name, ntk_cut_has_times() ? "window covers" : "capture has",
                           (unsigned long long)side->executions.mean_count,
                           ntk_cut_has_times() ? "" : " of several models, or of unknown length");
    }
    if (side->executions.omitted_count) {
        ntk_buf_add_format(
            out, "%s: skipping %llu executions: at most %u per capture are compared\n", name,
            (unsigned long long)side->executions.omitted_count, NTK_EXECUTION_MEASURES_MAX);
    }
}

/* Same, for errors. */
static void warn_of_errors(const struct ntk_side *side, const char *name, struct ntk_buf *out)
{
    unsigned long long count = side->error_count;

    if (count) {
        ntk_buf_add_format(out,
                           "%s: the device recorded %llu error%s%s; neuron-profile show-session -e "
                           "lists them\n",
                           name, count, count == 1 ? "" : "s",
                           side->has_stopped ? ", so an execution stopped early and its times are "
                                               "too short"
                                             : "");
    }
}

static int put(const struct ntk_side *before, const struct ntk_side *after)
{
    struct ntk_comparison comparison;
    struct ntk_work_match match;
    struct ntk_buf out = { 0 };
    struct ntk_buf notes = { 0 }; /* before the text; with JSON, on stderr */
    int code;

    warn_of_machines(before, after, &notes);
    warn_of_lacks(before, "BEFORE", &notes);
    warn_of_lacks(after, "AFTER", &notes);
    warn_of_errors(before, "BEFORE", &notes);
    warn_of_errors(after, "AFTER", &notes);
    note_executions(before, "BEFORE", &notes);
    note_executions(after, "AFTER", &notes);
    if (!arg_json) {
        ntk_buf_add_text(&out, ntk_buf_text_get(&notes));
    } else if (ntk_buf_ok(&notes)) {
        fputs(ntk_buf_text_get(&notes), stderr);
    }
    out.failed = out.failed || notes.failed;
    ntk_buf_fini(&notes);
    if (ntk_analysis_comparison(before->executions.measures.items,
                                before->executions.measures.count, after->executions.measures.items,
                                after->executions.measures.count, &comparison) < 0) {
        out.failed = true;
    } else {
        if (ntk_analysis_work_match(&before->executions.units, &after->executions.units, &match) <
            0) {
            out.failed = true;
        } else {
            const struct ntk_output_matched matched = { &before->executions.units,
                                                        &after->executions.units, &match };
            put_comparison(&comparison,
                           before->executions.has_units && after->executions.has_units ? &matched
                                                                                       : NULL,
                           &out);
            ntk_work_match_fini(&match);
        }
        ntk_comparison_fini(&comparison);
    }
    code = ntk_profile_put(&out, arg_output);
    ntk_buf_fini(&out);
    return code ? code : before->is_incomplete || after->is_incomplete;
}

int ntk_cmd_diff(int argc, char **argv)
{
    struct ntk_side sides[2] = { 0 };
    int first = ntk_opt_parse(&program_options, argc, argv);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc - first != 2) {
        return ntk_opt_argument_error(&program_options, argc == first ? "BEFORE" : "AFTER",
                                      argc - first < 2 ? NULL : argv[first + 2]);
    }
    const struct ntk_side_wanted wanted[2] = {
        { .paths = argv + first, .path_count = 1, .neff = arg_neff, .wants_units = true },
        { .paths = argv + first + 1,
          .path_count = 1,
          .neff = arg_neff_after ? arg_neff_after : arg_neff,
          .wants_units = true },
    };
    code = ntk_sides_open(sides, wanted, 2);
    if (sides[1].has_failed && arg_neff && !arg_neff_after) {
        fprintf(stderr,
                "neuron-profile: if AFTER has a different NEFF, pass it with --neff-after\n");
    }
    code = code ? code : put(&sides[0], &sides[1]);
    ntk_side_fini(&sides[0]);
    ntk_side_fini(&sides[1]);
    return code;
}
