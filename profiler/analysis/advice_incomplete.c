/* SPDX-License-Identifier: MIT */
/* advice_incomplete - missing records of a capture, and what cannot be known without them. */
#include "profiler/analysis/advice_private.h"

#include "profiler/analysis/incomplete.h"

/* Above this share of the path, waits without a recorded cause are more than a few missing
 * records. */
#define DROPPED_RATIO 0.05

/* The same for all waits, including those in code that the runtime adds. */
#define UNKNOWN_RATIO 0.20

/* The part of the path that waits for unrecorded changes; 0: too small to report. */
static double dropped_ratio(const struct ntk_advice_input *known)
{
    const struct ntk_critical_path *path = known->path;
    int64_t wait_ps = 0;
    int64_t all_ps = 0;

    for (size_t i = 0; path && i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        ntk_critical_path_passed(known->program->trace, path, i);
        if (step->kind == NTK_PATH_WAIT && !step->queue) {
            int64_t step_ps = step->end_ps - step->start_ps;
            all_ps += step_ps;
            wait_ps += step->layer != NTK_LAYER_RUNTIME ? step_ps : 0;
        }
    }
    double all = path ? (double)all_ps / (double)path->total_ps : 0;
    double ratio = path ? (double)wait_ps / (double)path->total_ps : 0;
    return all > UNKNOWN_RATIO || ratio > DROPPED_RATIO ? all : 0;
}

void ntk_advice_incomplete(struct ntk_advice_list *list, struct ntk_advice_input *known)
{
    const struct ntk_program *program = known->program;
    const struct ntk_trace *trace = program->trace;
    struct ntk_buf text = { 0 };
    unsigned lacks = ntk_program_lacks(program);
    unsigned count = ntk_incomplete_text(program, lacks, &text);
    double dropped = lacks & NTK_LACK_EVENTS ? 0 : dropped_ratio(known);

    if (dropped > 0) {
        ntk_buf_add_format(&text,
                           "%ssome semaphore changes were not recorded: the critical path waits "
                           "for them for %.1f%% of the execution",
                           count++ ? ", " : "", 100 * dropped);
    }
    ntk_advice_judge(list, NTK_ADVICE_INCOMPLETE, count, 1, "the capture is incomplete: %s",
                     ntk_buf_ok(&text) && count ? ntk_buf_text_get(&text) : "");
    ntk_buf_fini(&text);
    if (trace->is_cut.instructions) {
        known->idle = NULL;
        known->costs = NULL;
        known->tensors = NULL;
    }
    if (lacks & (NTK_LACK_INSTRUCTIONS | NTK_LACK_EVENTS)) {
        known->path = NULL;
        list->has_no_waits = true;
    }
    if (trace->is_cut.packets) {
        known->dma = NULL;
    }
}
