/* SPDX-License-Identifier: MIT */
#include "profiler/output/answers/analyses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "shared/base/progress.h"

#define TEXT_PIECES 72
#define JSON_PIECES 1000
#define NO_LENGTH "the capture does not contain the execution time"
#define NO_PACKETS "the capture does not contain DMA packet records"
#define NO_ONCHIP "some instructions were not decoded, or the duration of the execution is unknown"
#define NO_ROOFLINE \
    "the machine, the work, the device memory traffic or the duration of the execution is unknown"
#define NO_TENSORS                                                              \
    "this analysis requires the NEFF (-n); for vendor programs, each transfer " \
    "must also name its tensor"

/* Writes an answer; text or json is NULL. Returns 0, -ENOMEM, or -ENODATA if it is not recorded in
 * the files. */
typedef int answer(const struct ntk_analyses *asked, struct ntk_buf *text, struct ntk_json *json);

/* Defines the answer of an analysis with one result, as JSON or as text. */
#define ANSWER(question, type, make, put_json, put_text)                                 \
    static int answer_##question(const struct ntk_analyses *asked, struct ntk_buf *text, \
                                 struct ntk_json *json)                                  \
    {                                                                                    \
        struct type result;                                                              \
        int ret = make;                                                                  \
        if (ret < 0) {                                                                   \
            return ret;                                                                  \
        }                                                                                \
        if (json) {                                                                      \
            put_json;                                                                    \
        } else {                                                                         \
            put_text;                                                                    \
        }                                                                                \
        type##_fini(&result);                                                            \
        return 0;                                                                        \
    }                                                                                    \
    static answer answer_##question /* consumes the semicolon */

ANSWER(idle, ntk_idle_reasons,
       ntk_analysis_idle_reasons(asked->program, &asked->dependencies, &result),
       ntk_output_idle_json(asked->program, &result, json),
       ntk_output_idle_text(asked->program, &result, text));
ANSWER(bubbles, ntk_bubbles,
       ntk_analysis_bubbles(asked->program, &asked->dependencies, &asked->bubbles, &result),
       ntk_output_bubbles_json(asked->program, &result, json),
       ntk_output_bubbles_text(asked->program, &result, asked->bubbles.limit, text));
ANSWER(regions, ntk_regions, ntk_analysis_regions(asked->program, &result),
       ntk_output_regions_json(asked->program, &result, json),
       ntk_output_regions_text(asked->program, &result, text));
ANSWER(tensors, ntk_tensor_traffic, ntk_analysis_tensor_traffic(asked->program, &result),
       ntk_output_tensors_json(&result, json), ntk_output_tensors_text(&result, text));
ANSWER(roofline, ntk_roofline, ntk_analysis_roofline(asked->program, &asked->costs, &result),
       ntk_output_roofline_json(asked->program, &result, json),
       ntk_output_roofline_text(asked->program, &result, text));
ANSWER(activity, ntk_activity_over_time,
       ntk_analysis_activity_over_time(asked->program->trace, json ? JSON_PIECES : TEXT_PIECES,
                                       &result),
       ntk_output_activity_json(asked->program->trace, &result, json),
       ntk_output_activity_text(asked->program->trace, &result, text));
ANSWER(onchip, ntk_chip_memory, ntk_analysis_chip_memory(asked->program, JSON_PIECES, &result),
       ntk_output_onchip_json(asked->program, &result, json),
       ntk_output_onchip_text(asked->program, &result, text));
/* It takes longer than all other analyses. */
static int estimate(const struct ntk_analyses *asked, struct ntk_what_if *out_what_if)
{
    struct ntk_progress progress;

    if (!asked->is_shown) {
        return ntk_analysis_what_if(asked->program, &asked->transfers, &asked->changes, NULL,
                                    out_what_if);
    }
    ntk_progress_begin(&progress, "estimating");
    int ret = ntk_analysis_what_if(asked->program, &asked->transfers, &asked->changes, &progress,
                                   out_what_if);
    ntk_progress_end(&progress);
    return ret;
}

ANSWER(what_if, ntk_what_if, estimate(asked, &result),
       ntk_output_what_if_json(asked->program, &result, json),
       ntk_output_what_if_text(asked->program, &result, text));

static int answer_path(const struct ntk_analyses *asked, struct ntk_buf *text,
                       struct ntk_json *json)
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

static int brief_path(const struct ntk_analyses *asked, struct ntk_buf *text, struct ntk_json *json)
{
    (void)text;
    if (!asked->has_path) {
        return -ENODATA;
    }
    ntk_output_path_brief_json(asked->program, &asked->path, json);
    return 0;
}

static int answer_top(const struct ntk_analyses *asked, struct ntk_buf *text, struct ntk_json *json)
{
    if (json) {
        ntk_output_costs_json(asked->program, &asked->costs, json);
    } else {
        ntk_output_costs_text(asked->program, &asked->costs, text);
    }
    return 0;
}

static int answer_dma(const struct ntk_analyses *asked, struct ntk_buf *text, struct ntk_json *json)
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
    if (ntk_program_lacks_packets(asked->program) && traffic.all.packet_count == 0) {
        ntk_dma_efficiency_fini(&dma);
        return -ENODATA;
    }
    ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
    if (json) {
        ntk_output_dma_json(trace, &dma, &hbm, json);
    } else {
        ntk_output_dma_text(trace, &dma, &hbm, text);
    }
    ntk_dma_efficiency_fini(&dma);
    return 0;
}

int ntk_analyses_advice(const struct ntk_analyses *asked, struct ntk_advice *out_advice)
{
    const struct ntk_trace *trace = asked->program->trace;
    struct ntk_idle_reasons idle = { 0 };
    struct ntk_dma_efficiency dma = { 0 };
    struct ntk_tensor_traffic tensors = { 0 };
    struct ntk_dma_traffic traffic;
    struct ntk_hbm_traffic hbm;
    int idle_ret = ntk_analysis_idle_reasons(asked->program, &asked->dependencies, &idle);
    int tensors_ret = ntk_analysis_tensor_traffic(asked->program, &tensors);
    int ret = ntk_analysis_dma_efficiency(trace, &dma);

    ntk_analysis_dma_traffic(trace, &traffic);
    ntk_analysis_hbm_traffic(trace, &traffic, &hbm);
    ret = idle_ret == -ENOMEM || tensors_ret == -ENOMEM ? -ENOMEM : ret;
    if (ret == 0) {
        struct ntk_advice_input input = { .program = asked->program,
                                          .idle = idle_ret == 0 ? &idle : NULL,
                                          .path = asked->has_path ? &asked->path : NULL,
                                          .costs = &asked->costs,
                                          .dma = &dma,
                                          .hbm = &hbm,
                                          .tensors = tensors_ret == 0 ? &tensors : NULL,
                                          .transfers = &asked->transfers };
        ret = ntk_analysis_advice(&input, out_advice);
    }
    ntk_tensor_traffic_fini(&tensors);
    ntk_dma_efficiency_fini(&dma);
    ntk_idle_reasons_fini(&idle);
    return ret;
}

static int answer_advice(const struct ntk_analyses *asked, struct ntk_buf *text,
                         struct ntk_json *json)
{
    struct ntk_advice advice = { 0 };
    int ret = ntk_analyses_advice(asked, &advice);

    if (ret == 0 && json) {
        ntk_output_advice_json(&advice, json);
    } else if (ret == 0) {
        ntk_output_advice_text(&advice, text);
    }
    ntk_advice_fini(&advice);
    return ret;
}

static int answer_memory(const struct ntk_analyses *asked, struct ntk_buf *text,
                         struct ntk_json *json)
{
    struct ntk_chip_memory chip;
    int ret = ntk_analysis_chip_memory(asked->program, JSON_PIECES, &chip);

    if (ret < 0 && ret != -ENODATA) {
        return ret;
    }
    if (json) {
        ntk_output_memory_json(asked->program, ret == 0 ? &chip : NULL, json);
    } else {
        ntk_output_memory_text(asked->program, ret == 0 ? &chip : NULL, text);
    }
    if (ret == 0) {
        ntk_chip_memory_fini(&chip);
    }
    return 0;
}

static const struct {
    struct ntk_analysis_info info;
    answer *run;
    answer *brief; /* NULL if the output of run does not grow with the execution */
    /* Writes a better reason than info.absent; NULL if none. */
    void (*why)(const struct ntk_program *program, char *buf, size_t buf_bytes);
} analyses[] = {
    { { "advice", "Advice", "findings to check first, each with its measured value", NO_LENGTH,
        .uses = NTK_USES_ALL },
      answer_advice },
    { { "activity", "Activity", "activity of each engine and queue, as bars over time", NO_LENGTH,
        NTK_LACK_INSTRUCTIONS | NTK_LACK_PACKETS },
      answer_activity },
    { { "idle", "Engines", "how busy each engine is, and what it waits for", NO_LENGTH,
        NTK_LACK_INSTRUCTIONS | NTK_LACK_EVENTS, .uses = NTK_USES_DEPENDENCIES },
      answer_idle },
    { { "bubbles", "Bubbles", "gaps of each engine by cause, and the longest of them", NO_LENGTH,
        NTK_LACK_INSTRUCTIONS | NTK_LACK_EVENTS, .uses = NTK_USES_DEPENDENCIES },
      answer_bubbles },
    { { "critical-path", "Critical path", "what determines the duration of the execution",
        NO_LENGTH, NTK_LACK_INSTRUCTIONS | NTK_LACK_EVENTS, .uses = NTK_USES_PATH },
      answer_path,
      brief_path },
    { { "top", "Costs", "most expensive layers, operations and instructions", NULL,
        NTK_LACK_INSTRUCTIONS, .uses = NTK_USES_COSTS },
      answer_top },
    { { "regions", "Regions", "what repeats, how long it takes, and which repetitions took longer",
        NULL, NTK_LACK_INSTRUCTIONS },
      answer_regions },
    { { "tensors", "Tensors", "tensor reads and writes in device memory", NO_TENSORS,
        NTK_LACK_INSTRUCTIONS },
      answer_tensors },
    { { "dma", "DMA", "how well queues use their engines: packet sizes, rates, waste", NO_PACKETS },
      answer_dma },
    { { "memory", "Memory", "contents of device memory, state buffer and PSUM over time", NULL,
        NTK_LACK_INSTRUCTIONS },
      answer_memory },
    { { "on-chip", "On the chip", "location and lifetime of data in the state buffer and in PSUM",
        NO_ONCHIP, NTK_LACK_INSTRUCTIONS },
      answer_onchip,
      NULL,
      ntk_output_onchip_why },
    { { "roofline", "Roofline",
        "distance from the chip's peak rates, in total, by layer, region and source line",
        NO_ROOFLINE, NTK_LACK_INSTRUCTIONS | NTK_LACK_PACKETS, .uses = NTK_USES_COSTS },
      answer_roofline },
    { { "what-if", "What if", "execution time if parts were faster or did not wait", NO_LENGTH,
        NTK_LACK_ANY, true, .uses = NTK_USES_TRANSFERS },
      answer_what_if },
};

size_t ntk_analyses_count(void)
{
    return sizeof analyses / sizeof *analyses;
}

const struct ntk_analysis_info *ntk_analyses_info(size_t index)
{
    return &analyses[index].info;
}

const char *ntk_analyses_absent(const struct ntk_analyses *asked, size_t index, char *buf,
                                size_t buf_bytes)
{
    if (!analyses[index].why) {
        return analyses[index].info.absent;
    }
    analyses[index].why(asked->program, buf, buf_bytes);
    return buf;
}

int ntk_analyses_find(const char *name)
{
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        if (strcmp(analyses[i].info.name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int ntk_analyses_put(const struct ntk_analyses *asked, size_t index, struct ntk_buf *text,
                     struct ntk_json *json)
{
    return analyses[index].run(asked, text, json);
}

int ntk_analyses_put_brief(const struct ntk_analyses *asked, size_t index, struct ntk_json *json)
{
    answer *put = analyses[index].brief ? analyses[index].brief : analyses[index].run;

    return put(asked, NULL, json);
}

/* Share of the time after which a part is done, for a capture of 20 million events. */
#define SHARE_PROGRAM 0.09
#define SHARE_DEPENDENCIES 0.38
#define SHARE_TRANSFERS 0.55
#define SHARE_PATH 0.75

static bool contains(unsigned uses, unsigned use)
{
    return (uses & use) == use;
}

/* whole: NULL unless the trace is a slice. */
static int create(const struct ntk_program *whole, const struct ntk_trace *trace, unsigned uses,
                  struct ntk_progress *progress, struct ntk_analyses **out_analyses)
{
    struct ntk_analyses *asked = calloc(1, sizeof *asked);

    if (!asked) {
        return -ENOMEM;
    }
    int ret = whole ? ntk_program_create_slice(whole, trace, &asked->program)
                    : ntk_program_create(trace, &asked->program);
    ntk_progress_show(progress, SHARE_PROGRAM);
    if (ret == 0 && uses & NTK_USES_DEPENDENCIES) {
        ret = ntk_analysis_dependencies(asked->program, &asked->dependencies);
    }
    ntk_progress_show(progress, SHARE_DEPENDENCIES);
    if (ret == 0 && uses & NTK_USES_TRANSFERS) {
        ret = ntk_transfers_init(&asked->transfers, asked->program);
    }
    ntk_progress_show(progress, SHARE_TRANSFERS);
    if (ret == 0 && contains(uses, NTK_USES_PATH)) {
        ret = ntk_analysis_critical_path(asked->program, &asked->dependencies, &asked->path);
        asked->has_path = ret == 0;
        ret = ret == -ENODATA ? 0 : ret;
    }
    ntk_progress_show(progress, SHARE_PATH);
    if (ret == 0 && contains(uses, NTK_USES_COSTS)) {
        ret = ntk_analysis_cost_table(asked->program, asked->has_path ? &asked->path : NULL,
                                      &asked->costs);
    }
    ntk_progress_show(progress, 1);
    if (ret < 0) {
        ntk_analyses_destroy(asked);
        return ret;
    }
    *out_analyses = asked;
    return 0;
}

int ntk_analyses_create(const struct ntk_trace *trace, struct ntk_analyses **out_analyses)
{
    return create(NULL, trace, NTK_USES_ALL, NULL, out_analyses);
}

int ntk_analyses_create_slice(const struct ntk_program *whole, const struct ntk_trace *slice,
                              unsigned uses, struct ntk_analyses **out_analyses)
{
    struct ntk_progress progress;

    ntk_progress_begin(&progress, "analysing");
    int ret = create(whole, slice, uses, &progress, out_analyses);
    ntk_progress_end(&progress);
    return ret;
}

int ntk_analyses_create_shown(const struct ntk_trace *trace, unsigned uses,
                              struct ntk_analyses **out_analyses)
{
    return ntk_analyses_create_slice(NULL, trace, uses, out_analyses);
}

void ntk_analyses_give_back(const struct ntk_analyses *asked)
{
    for (size_t c = 0; c < asked->dependencies.core_count; c++) {
        ntk_dependencies_give_back(&asked->program->trace->cores[c], &asked->dependencies.cores[c]);
        ntk_transfers_give_back(&asked->transfers, c);
    }
    ntk_long_list_give_back(&asked->path.list);
}

void ntk_analyses_destroy(struct ntk_analyses *asked)
{
    if (!asked) {
        return;
    }
    ntk_cost_table_fini(&asked->costs);
    ntk_critical_path_fini(&asked->path);
    ntk_transfers_fini(&asked->transfers);
    ntk_dependencies_fini(&asked->dependencies);
    ntk_program_destroy(asked->program);
    free(asked);
}
