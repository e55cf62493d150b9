/* SPDX-License-Identifier: MIT */
/* cmd_analyze - the questions that analyses answer, by name: one row of the table each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/cmd.h"
#include "profiler/output/output_analysis.h"
#include "shared/base/opt.h"

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

struct asked { /* what analyses of a capture are made from */
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    bool has_path; /* false: the capture does not say how long the execution took */
    struct ntk_critical_path path;
    struct ntk_cost_table costs;
};

#define NO_LENGTH "the capture does not say how long the execution took"
#define NO_ROOFLINE "machine, work, bytes of device memory or length of the execution are not known"
#define NO_TENSORS "names of tensors need the NEFF (-n), and a program in the open encoding"

/* Either of text and json is NULL. 0, -ENOMEM, or -ENODATA: the files do not say. */
typedef int answer(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json);

static int answer_idle(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json)
{
    struct ntk_idle_reasons idle;
    int ret = ntk_analysis_idle_reasons(asked->program, &asked->dependencies, &idle);

    if (ret < 0) {
        return ret;
    }
    if (json) {
        ntk_output_idle_json(asked->program, &idle, json);
    } else {
        ntk_output_idle_text(asked->program, &idle, text);
    }
    ntk_idle_reasons_fini(&idle);
    return 0;
}

static int answer_path(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json)
{
    if (!asked->has_path) {
        return -ENODATA;
    }
    if (json) {
        ntk_output_path_json(asked->program, &asked->path, json);
    } else {
        ntk_output_path_text(asked->program, &asked->path, text);
    }
    return 0;
}

static int answer_top(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json)
{
    if (json) {
        ntk_output_costs_json(asked->program, &asked->costs, json);
    } else {
        ntk_output_costs_text(asked->program, &asked->costs, text);
    }
    return 0;
}

static int answer_tensors(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json)
{
    struct ntk_tensor_traffic tensors;
    int ret = ntk_analysis_tensor_traffic(asked->program, &tensors);

    if (ret < 0) {
        return ret;
    }
    if (json) {
        ntk_output_tensors_json(&tensors, json);
    } else {
        ntk_output_tensors_text(&tensors, text);
    }
    ntk_tensor_traffic_fini(&tensors);
    return 0;
}

static int answer_roofline(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json)
{
    struct ntk_roofline roofline;
    int ret = ntk_analysis_roofline(asked->program, &asked->costs, &roofline);

    if (ret < 0) {
        return ret;
    }
    if (json) {
        ntk_output_roofline_json(asked->program, &roofline, json);
    } else {
        ntk_output_roofline_text(asked->program, &roofline, text);
    }
    ntk_roofline_fini(&roofline);
    return 0;
}

static int answer_dma(const struct asked *asked, struct ntk_buf *text, struct ntk_json *json)
{
    const struct ntk_trace *trace = asked->program->trace;
    struct ntk_dma_efficiency dma;
    struct ntk_dma_traffic traffic;
    struct ntk_hbm_traffic hbm;
    int ret = ntk_analysis_dma_efficiency(trace, &dma);

    if (ret < 0) {
        return ret;
    }
    ntk_analysis_dma_traffic(trace, &traffic);
    ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
    if (json) {
        ntk_output_dma_json(trace, &dma, &hbm, json);
    } else {
        ntk_output_dma_text(trace, &dma, &hbm, text);
    }
    ntk_dma_efficiency_fini(&dma);
    return 0;
}

static const struct {
    const char *name, *title, *help;
    const char *absent; /* what -ENODATA means */
    answer *run;
} analyses[] = {
    { "idle", "Engines", "how busy each engine is, and what it waits for", NO_LENGTH, answer_idle },
    { "critical-path", "Critical path", "what decides how long the execution takes", NO_LENGTH,
      answer_path },
    { "top", "Costs", "what costs most: layers, operations, instructions", NULL, answer_top },
    { "tensors", "Tensors", "reads and writes of tensors in device memory", NO_TENSORS,
      answer_tensors },
    { "dma", "DMA", "how well queues use their engines: packet sizes, rates, waste", NULL,
      answer_dma },
    { "roofline", "Roofline", "how near to the peaks of the chip, in all and by layer", NO_ROOFLINE,
      answer_roofline },
};

enum { ANALYSIS_COUNT = sizeof analyses / sizeof *analyses };

static int find_analysis(const char *name)
{
    for (int i = 0; i < ANALYSIS_COUNT; i++) {
        if (strcmp(analyses[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static int asked_init(const struct ntk_trace *trace, struct asked *asked)
{
    int ret = ntk_program_create(trace, &asked->program);

    ret = ret ? ret : ntk_analysis_dependencies(asked->program, &asked->dependencies);
    if (ret == 0) {
        ret = ntk_analysis_critical_path(asked->program, &asked->dependencies, &asked->path);
        asked->has_path = ret == 0;
        ret = ret == -ENODATA ? 0 : ret;
    }
    return ret ? ret
               : ntk_analysis_cost_table(asked->program, asked->has_path ? &asked->path : NULL,
                                         &asked->costs);
}

static void asked_fini(struct asked *asked)
{
    ntk_cost_table_fini(&asked->costs);
    ntk_critical_path_fini(&asked->path);
    ntk_dependencies_fini(&asked->dependencies);
    ntk_program_destroy(asked->program);
}

static int run_one(const struct asked *asked, int index, struct ntk_buf *out, struct ntk_json *json)
{
    int ret;

    if (json) {
        ntk_json_key(json, analyses[index].name);
    } else {
        if (out->bytes_count > 0) {
            ntk_buf_add_char(out, '\n');
        }
        ntk_buf_add_format(out, "== %s ==\n", analyses[index].title);
    }
    ret = analyses[index].run(asked, out, json);
    if (ret == -ENODATA && json) {
        ntk_json_null(json);
    } else if (ret == -ENODATA) {
        ntk_buf_add_format(out, "Not known: %s\n", analyses[index].absent);
    }
    return ret == -ENODATA ? 0 : ret;
}

int ntk_cmd_analyze(int argc, char **argv)
{
    struct ntk_profile profile = { 0 };
    struct asked asked = { 0 };
    struct ntk_buf out = { 0 };
    struct ntk_json json;
    bool is_chosen[ANALYSIS_COUNT] = { 0 };
    int first = ntk_opt_parse(&program_options, argc, argv);
    int code;

    if (first < 0) {
        return ntk_opt_exit_code(first);
    }
    for (int i = 0; arg_list && i < ANALYSIS_COUNT; i++) {
        printf("%-14s %s\n", analyses[i].name, analyses[i].help);
    }
    if (arg_list) {
        return 0;
    }
    for (int i = first; i < argc; i++) {
        int found = find_analysis(argv[i]);
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
    out.failed = asked_init(profile.trace, &asked) < 0;
    ntk_json_init(&json, &out, true);
    if (arg_json) {
        ntk_json_object_begin(&json);
    }
    for (int i = 0; i < ANALYSIS_COUNT && ntk_buf_ok(&out); i++) {
        if ((first == argc || is_chosen[i]) &&
            run_one(&asked, i, &out, arg_json ? &json : NULL) < 0) {
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
    asked_fini(&asked);
    ntk_profile_close(&profile);
    return code;
}
