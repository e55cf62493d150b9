/* SPDX-License-Identifier: MIT */
/* cmd_analyze - analyses by name, as text or JSON. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/cmd.h"
#include "profiler/output/analyses.h"
#include "shared/base/opt.h"

#define CHOSEN_MAX 32

static const char *arg_neff;
static const char *arg_session;
static const char *arg_output;
static bool arg_json;
static bool arg_list;

static const struct ntk_opt options[] = {
    { 's', "session-file", "FILE", NTK_OPT_TEXT, &arg_session, "the capture" },
    { 'n', "neff-path", "FILE", NTK_OPT_TEXT, &arg_neff,
      "the NEFF that was captured: adds names of queues, layers and tensors" },
    { 'j', "json", NULL, NTK_OPT_FLAG, &arg_json, "as JSON, with all rows" },
    { 'l', "list", NULL, NTK_OPT_FLAG, &arg_list, "list the analyses and exit" },
    { 0, "output-file", "FILE", NTK_OPT_TEXT, &arg_output, "write there, not to stdout" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program_options = {
    .name = "neuron-profile analyze",
    .usage = "-s FILE.ntff [-n FILE.neff] [OPTION]... [NAME]...\n"
             "--list",
    .summary =
        "Answers questions about a capture. NAMEs choose among the analyses; without any, all.",
    .options = options,
    .epilogue = "Shares are of the execution. What the files do not say is absent, never guessed.",
};

static int run_one(const struct ntk_analyses *analyses, size_t index, struct ntk_buf *out,
                   struct ntk_json *json)
{
    const struct ntk_analysis_info *info = ntk_analyses_info(index);
    int ret;

    if (json) {
        ntk_json_key(json, info->name);
    } else {
        if (out->bytes_count > 0) {
            ntk_buf_add_char(out, '\n');
        }
        ntk_buf_add_format(out, "== %s ==\n", info->title);
    }
    ret = ntk_analyses_put(analyses, index, out, json);
    if (ret == -ENODATA && json) {
        ntk_json_null(json);
    } else if (ret == -ENODATA) {
        ntk_buf_add_format(out, "Not known: %s\n", info->absent);
    }
    return ret == -ENODATA ? 0 : ret;
}

int ntk_cmd_analyze(int argc, char **argv)
{
    struct ntk_profile profile = { 0 };
    struct ntk_analyses *analyses = NULL;
    struct ntk_buf out = { 0 };
    struct ntk_json json;
    bool is_chosen[CHOSEN_MAX] = { 0 };
    int first = ntk_opt_parse(&program_options, argc, argv);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    assert(ntk_analyses_count() <= CHOSEN_MAX);
    for (size_t i = 0; arg_list && i < ntk_analyses_count(); i++) {
        printf("%-14s %s\n", ntk_analyses_info(i)->name, ntk_analyses_info(i)->help);
    }
    if (arg_list) {
        return 0;
    }
    for (int i = first; i < argc; i++) {
        int found = ntk_analyses_find(argv[i]);
        if (found < 0) {
            return ntk_opt_usage_error(&program_options, "no analysis '%s'; --list shows them",
                                       argv[i]);
        }
        is_chosen[found] = true;
    }
    if (!arg_session) {
        return ntk_opt_usage_error(&program_options, "the capture is missing: -s FILE");
    }
    code = ntk_profile_open(arg_session, arg_neff, &profile);
    if (code) {
        return code;
    }
    out.failed = ntk_analyses_create(profile.trace, &analyses) < 0;
    ntk_json_init(&json, &out, true);
    if (arg_json) {
        ntk_json_object_begin(&json);
    }
    for (size_t i = 0; i < ntk_analyses_count() && ntk_buf_ok(&out); i++) {
        if ((first == argc || is_chosen[i]) &&
            run_one(analyses, i, &out, arg_json ? &json : NULL) < 0) {
            out.failed = true;
        }
    }
    if (arg_json) {
        ntk_json_object_end(&json);
        ntk_buf_add_char(&out, '\n');
    }
    code = ntk_profile_put(&out, arg_output);
    code = code ? code : profile.is_incomplete;
    ntk_buf_fini(&out);
    ntk_analyses_destroy(analyses);
    ntk_profile_close(&profile);
    return code;
}
