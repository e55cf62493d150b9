/* SPDX-License-Identifier: MIT */
/* cmd_baseline - stores executions, and checks if later executions are slower. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/cmd/cmd.h"
#include "profiler/cmd/cmd_side.h"
#include "profiler/output/answers/baseline_file.h"
#include "profiler/output/answers/output_baseline.h"
#include "shared/base/clock.h"
#include "shared/base/opt.h"
#include "shared/base/str.h"

#define EXIT_BEYOND 3
#define DEFAULT_LIMIT "total=5%"

static const char *arg_neff;
static const char *arg_output;
static const char *arg_junit;
static bool arg_json;
static struct ntk_vec arg_limits = NTK_VEC_INIT(struct ntk_baseline_limit);

static int call_limit(const char *value, struct ntk_err *err)
{
    struct ntk_baseline_limit limit;
    int ret = ntk_baseline_limit_parse(value, &limit, err);

    if (ret == 0 && ntk_vec_push(&arg_limits, &limit) < 0) {
        free(limit.name);
        ret = ntk_err_no_memory(err);
    }
    return ret;
}
static int (*const limit_caller)(const char *, struct ntk_err *) = call_limit;

static const struct ntk_opt options[] = {
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "read the NEFF of the captures (default: the matching ones next to them; - for none)" },
    { 'l', "limit", "KIND[/NAME]=CHANGE", NTK_OPT_CALL, (void *)&limit_caller,
      "allow an increase of CHANGE, such as 5%, 2us or 64K (default " DEFAULT_LIMIT
      "); may be repeated" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "print JSON" },
    NTK_PROFILE_OPT_METRICS_VERSION,
    { 0, "junit", "FILE", NTK_OPT_TEXT, &arg_junit, "write test results for a CI system to FILE" },
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write to FILE instead of stdout" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_command verbs[] = { { .name = "save" }, { .name = "check" }, { 0 } };

static const struct ntk_opt_program program_options = {
    .name = "neuron-profile baseline",
    .usage = "save [-n FILE.neff] BASELINE CAPTURE...\n"
             "check [-n FILE.neff] [OPTION]... BASELINE CAPTURE...",
    .summary = "Saves the measures of captures, and checks whether later captures exceed the "
               "limits. CAPTURE is a file, or a folder with captures of repeated executions.",
    .options = options,
    .epilogue = "check exits with 0 if no limit is exceeded, 3 if one is, and 1 if it cannot\n"
                "decide. Four executions on each side are enough to tell a change from chance.",
    .commands = verbs,
};

/* Opens the files; returns 0, or 1 with the message printed. */
static int side_open(struct ntk_side *side, char **paths, int count, bool saves)
{
    const struct ntk_side_wanted wanted = { .paths = paths,
                                            .path_count = (size_t)count,
                                            .neff = arg_neff };
    int code = ntk_sides_open(side, &wanted, 1);

    if (code == 0 && side->is_incomplete) {
        struct ntk_err err = { 0 };

        ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET,
                    saves ? "an incomplete capture cannot be a baseline"
                          : "an incomplete capture cannot be compared with a baseline");
        code = ntk_profile_fail(&err);
    }
    if (code == 0 && side->has_stopped) { /* it may seem faster */
        struct ntk_err err = { 0 };

        ntk_err_set(&err, -EIO, NTK_ERR_NO_OFFSET,
                    "an execution that device errors stopped early cannot be %s; neuron-profile "
                    "show-session -e lists the errors",
                    saves ? "a baseline" : "compared with a baseline");
        code = ntk_profile_fail(&err);
    }
    return code;
}

static int save(const char *path, struct ntk_side *side)
{
    struct ntk_baseline baseline = { .saved_unix_ns = ntk_clock_realtime_ns(),
                                     .executions = side->executions.measures };
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    (void)ntk_str_copy(baseline.instance_type, sizeof baseline.instance_type, side->instance_type);
    (void)ntk_str_copy(baseline.metrics_version, sizeof baseline.metrics_version,
                       ntk_metrics_version_name(side->metrics));
    for (unsigned i = 0; i < side->uuid_known_bytes; i++) {
        (void)snprintf(baseline.neff_uuid + (size_t)2 * i, 3, "%02x", side->uuid[i]);
    }
    int ret = ntk_baseline_write(&baseline, &out, &err);
    int code = ret < 0 ? ntk_profile_fail(&err) : ntk_profile_put(&out, path);
    ntk_buf_fini(&out);
    if (code == 0 && strcmp(path, "-") != 0) {
        printf("%s: %zu execution%s\n", path, side->executions.measures.count,
               side->executions.measures.count == 1 ? "" : "s");
    }
    return code;
}

static int put(const struct ntk_output_baseline *check)
{
    struct ntk_buf out = { 0 };
    struct ntk_buf junit = { 0 };

    if (arg_json) {
        struct ntk_json json;

        ntk_json_init(&json, &out, true);
        ntk_output_baseline_json(check, &json);
        ntk_buf_add_char(&out, '\n');
    } else {
        ntk_output_baseline_text(check, &out);
    }
    int code = ntk_profile_put(&out, arg_output);
    if (arg_junit && code == 0) {
        ntk_output_baseline_junit(check, &junit);
        code = ntk_profile_put(&junit, arg_junit);
    }
    ntk_buf_fini(&junit);
    ntk_buf_fini(&out);
    return code ? code : check->result->beyond_count ? EXIT_BEYOND : 0;
}

/* Checks machines, because times of one machine do not apply to another. */
static int check_machines(const char *path, const struct ntk_baseline *baseline,
                          const struct ntk_side *side, struct ntk_err *err)
{
    if (!baseline->instance_type[0] || !side->instance_type[0] ||
        strcmp(baseline->instance_type, side->instance_type) == 0) {
        return 0;
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "%s was recorded on %s, but the captures were recorded on %s: only captures "
                       "from the same machine type can be compared",
                       path, baseline->instance_type, side->instance_type);
}

/* Checks versions, because utilization by different versions of the rules cannot be compared. */
static int check_metrics(const char *path, const struct ntk_baseline *baseline,
                         const struct ntk_side *side, struct ntk_err *err)
{
    if (!baseline->metrics_version[0] ||
        strcmp(baseline->metrics_version, ntk_metrics_version_name(side->metrics)) == 0) {
        return 0;
    }
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                       "%s was saved with version %s metrics: use --metrics-version %s", path,
                       baseline->metrics_version, baseline->metrics_version);
}

static int check(const char *path, const struct ntk_side *side)
{
    struct ntk_baseline baseline;
    struct ntk_comparison comparison = { 0 };
    struct ntk_baseline_result result = { 0 };
    struct ntk_err err = { 0 };
    int ret = ntk_baseline_read(path, &baseline, &err);
    int code = 1;

    if (ret < 0) {
        return ntk_profile_fail(&err);
    }
    ret = check_machines(path, &baseline, side, &err);
    ret = ret ? ret : check_metrics(path, &baseline, side, &err);
    if (ret == 0 && arg_limits.count == 0) {
        ret = call_limit(DEFAULT_LIMIT, &err);
    }
    if (ret == 0 && ntk_analysis_comparison(baseline.executions.items, baseline.executions.count,
                                            side->executions.measures.items,
                                            side->executions.measures.count, &comparison) < 0) {
        ret = ntk_err_no_memory(&err);
    }
    if (ret == 0 && comparison.is_unrelated) { /* another program may be shorter */
        ret = ntk_err_set(
            &err, -EINVAL, NTK_ERR_NO_OFFSET,
            "%s belongs to a different program: it shares %zu of %zu layers and regions "
            "with the captures; save a new baseline",
            path, comparison.own_common_count, comparison.own_before_count);
    }
    if (ret == 0) {
        ret = ntk_baseline_check(&comparison, arg_limits.items, arg_limits.count, &result, &err);
    }
    if (ret == 0) {
        const struct ntk_output_baseline report = { path, &baseline, &comparison, &result };

        code = put(&report);
    } else {
        code = ntk_profile_fail(&err);
    }
    ntk_baseline_result_fini(&result);
    ntk_comparison_fini(&comparison);
    ntk_baseline_fini(&baseline);
    return code;
}

static int run(int argc, char **argv)
{
    struct ntk_side side;
    int first = ntk_opt_parse(&program_options, argc, argv);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    bool saves = first < argc && strcmp(argv[first], "save") == 0;
    if (first == argc || (!saves && strcmp(argv[first], "check") != 0)) {
        return ntk_opt_command_error(&program_options, first < argc ? argv[first] : NULL);
    }
    if (argc - first < 3) {
        return ntk_opt_argument_error(&program_options, argc - first < 2 ? "BASELINE" : "CAPTURE",
                                      NULL);
    }
    if (saves && (arg_json || arg_junit || arg_output || arg_limits.count > 0)) {
        return ntk_opt_usage_error(
            &program_options, "--limit, --json, --junit and --output-file apply to 'check' only");
    }
    code = side_open(&side, argv + first + 2, argc - first - 2, saves);
    if (code == 0) {
        code = saves ? save(argv[first + 1], &side) : check(argv[first + 1], &side);
    }
    ntk_side_fini(&side);
    return code;
}

int ntk_cmd_baseline(int argc, char **argv)
{
    int code = run(argc, argv);

    ntk_vec_each(struct ntk_baseline_limit, limit, &arg_limits) {
        free(limit->name);
    }
    ntk_vec_fini(&arg_limits);
    return code;
}
