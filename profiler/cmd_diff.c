/* SPDX-License-Identifier: MIT */
/* cmd_diff - two captures, or two folders of captures of repeated executions, side by side. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/analysis/comparison.h"
#include "profiler/cmd.h"
#include "profiler/output/analyses.h"
#include "profiler/output/output_analysis.h"
#include "profiler/system/session_find.h"
#include "profiler/trace/long_list.h"
#include "shared/base/opt.h"

static const char *arg_neff;
static const char *arg_neff_after;
static const char *arg_output;
static bool arg_json;

static const struct ntk_opt options[] = {
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "the NEFF of BEFORE, and of AFTER if it is the same" },
    { 0, "neff-after", "FILE", NTK_OPT_TEXT, &arg_neff_after, "the NEFF of AFTER" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "as JSON, with all rows" },
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write there, not to stdout" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program_options = {
    .name = "neuron-profile diff",
    .usage = "[-n FILE.neff [--neff-after FILE.neff]] [OPTION]... BEFORE AFTER",
    .summary = "Tells what became slower or faster. BEFORE and AFTER are captures, or folders with "
               "captures of one program's repeated executions.",
    .options = options,
    .epilogue = "With repeated executions each change is tested: it is called significant when\n"
                "it is more than chance.",
};

struct side {
    struct ntk_vec measures; /* struct ntk_measures */
    bool is_incomplete;
    unsigned uuid_known_bytes; /* of the capture that tells most, as far as it does */
    uint8_t uuid[NTK_NTFF_UUID_BYTES];
};

/* The measures of an open capture. */
static int measure(const struct ntk_trace *trace, struct ntk_measures *out)
{
    struct ntk_analyses *analyses = NULL;
    int ret = ntk_analyses_create(trace, &analyses);

    if (ret == 0) {
        ret = ntk_analysis_measures(analyses->program, analyses->has_path ? &analyses->path : NULL,
                                    &analyses->costs, out);
    }
    ntk_analyses_destroy(analyses);
    return ret;
}

static bool is_of_another(const struct side *side, const struct ntk_ntff *ntff)
{
    unsigned known = side->uuid_known_bytes < ntff->neff_uuid_known_bytes
                         ? side->uuid_known_bytes
                         : ntff->neff_uuid_known_bytes;

    return memcmp(side->uuid, ntff->neff_uuid, known) != 0;
}

/* 0, or 1 with the sentence printed. */
static int side_add(struct side *side, const char *path, const char *neff)
{
    struct ntk_profile profile = { 0 };
    struct ntk_measures measures = { 0 };
    struct ntk_err err = { 0 };
    int ret = 0;
    int code = ntk_profile_open(path, neff, &profile);

    if (code) {
        return code;
    }
    side->is_incomplete = side->is_incomplete || profile.is_incomplete;
    if (is_of_another(side, profile.ntff)) {
        ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET,
                    "%s: of another program than the captures before it: executions of one "
                    "program are compared with executions of one program",
                    path);
        code = ntk_profile_fail(&err);
    } else if ((ret = measure(profile.trace, &measures)) < 0 ||
               (ret = ntk_vec_push(&side->measures, &measures)) < 0) {
        ntk_measures_fini(&measures);
        ntk_long_list_err_set(&err, ret, profile.trace->folder);
        code = ntk_profile_fail(&err);
    } else if (side->uuid_known_bytes < profile.ntff->neff_uuid_known_bytes) {
        side->uuid_known_bytes = profile.ntff->neff_uuid_known_bytes;
        memcpy(side->uuid, profile.ntff->neff_uuid, sizeof side->uuid);
    }
    profile.is_incomplete = false; /* told of the side as a whole */
    return ntk_profile_close(&profile, code);
}

static int side_open(struct side *side, const char *path, const char *neff)
{
    struct ntk_vec files = { 0 };
    struct ntk_err err = { 0 };
    struct stat status;
    int code = 0;

    ntk_vec_init(&side->measures, sizeof(struct ntk_measures));
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
        return side_add(side, path, neff);
    }
    if (ntk_session_files(path, ".ntff", &files) < 0 || files.count == 0) {
        ntk_err_set(&err, -ENOENT, NTK_ERR_NO_OFFSET, "%s: no captures (*.ntff) there", path);
        code = ntk_profile_fail(&err);
    }
    ntk_vec_each(char *, file, &files) {
        code = code ? code : side_add(side, *file, neff);
    }
    ntk_session_paths_fini(&files);
    return code;
}

static void side_close(struct side *side)
{
    ntk_vec_each(struct ntk_measures, measures, &side->measures) {
        ntk_measures_fini(measures);
    }
    ntk_vec_fini(&side->measures);
}

static int put(const struct side *before, const struct side *after)
{
    struct ntk_comparison comparison;
    struct ntk_buf out = { 0 };
    int code;

    if (ntk_analysis_comparison(before->measures.items, before->measures.count,
                                after->measures.items, after->measures.count, &comparison) < 0) {
        out.failed = true;
    } else {
        if (arg_json) {
            struct ntk_json json;
            ntk_json_init(&json, &out, true);
            ntk_output_comparison_json(&comparison, &json);
            ntk_buf_add_char(&out, '\n');
        } else {
            ntk_output_comparison_text(&comparison, &out);
        }
        ntk_comparison_fini(&comparison);
    }
    code = ntk_profile_put(&out, arg_output);
    ntk_buf_fini(&out);
    return code ? code : before->is_incomplete || after->is_incomplete;
}

int ntk_cmd_diff(int argc, char **argv)
{
    struct side before = { 0 };
    struct side after = { 0 };
    int first = ntk_opt_parse(&program_options, argc, argv);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    if (argc - first != 2) {
        return ntk_opt_usage_error(&program_options, argc - first < 2
                                                         ? "BEFORE and AFTER are missing"
                                                         : "two captures or folders, not more");
    }
    code = side_open(&before, argv[first], arg_neff);
    if (code == 0) {
        code = side_open(&after, argv[first + 1], arg_neff_after ? arg_neff_after : arg_neff);
        if (code && arg_neff && !arg_neff_after) {
            fprintf(stderr,
                    "neuron-profile: if AFTER is of another NEFF, name that with --neff-after\n");
        }
    } else {
        ntk_vec_init(&after.measures, sizeof(struct ntk_measures));
    }
    code = code ? code : put(&before, &after);
    side_close(&before);
    side_close(&after);
    return code;
}
