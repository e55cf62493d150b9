/* SPDX-License-Identifier: MIT */
/* advice_incomplete - reports records that a capture lacks, and the figures that depend on them. */
#include "profiler/analysis/advice_private.h"

#include <stdio.h>
#include <string.h>

#include "profiler/analysis/dropped.h"
#include "profiler/analysis/incomplete.h"

/* Maximum share of the path for waits of the program without a recorded cause that are explained by
 * a few missing records. Waits of the runtime's code do not count: captures lack changes of its
 * barriers even if the program's changes are complete. */
#define UNKNOWN_RATIO 0.05
/* Above this share of missing semaphore changes, findings about causes carry a caveat. */
#define MANY_LOST_RATIO ntk_advice_threshold(NTK_ADVICE_INCOMPLETE)

/* Returns the part of the path in which the program waits for unrecorded changes; 0 if too
 * small. */
static double unknown_ratio(const struct ntk_advice_input *known)
{
    const struct ntk_critical_path *path = known->path;
    int64_t wait_ps = 0;

    for (size_t i = 0; path && i < path->step_count; i++) {
        const struct ntk_path_step *step = &path->steps[i];
        ntk_critical_path_passed(known->program->trace, path, i);
        wait_ps += step->kind == NTK_PATH_WAIT && !step->queue && step->layer != NTK_LAYER_RUNTIME
                       ? step->end_ps - step->start_ps
                       : 0;
    }
    double ratio = path ? (double)wait_ps / (double)path->total_ps : 0;
    return ratio > UNKNOWN_RATIO ? ratio : 0;
}

/* Returns the action for the cause of the missing records. */
static const char *what_to_do(const struct ntk_program *program, unsigned most)
{
    const struct ntk_trace *trace = program->trace;

    if (trace->is_cut.instructions || trace->is_cut.events || trace->is_cut.packets) {
        return "the file is truncated: free disk space and record again; findings that need the "
               "missing records are omitted";
    }
    if (most) {
        return "record again, with all kinds of records; findings that need the missing records "
               "are omitted";
    }
    return "the file is not truncated: these records were lost while the device recorded; "
           "semaphore changes with a known origin are reconstructed; other causes of waits are "
           "unknown";
}

void ntk_advice_caveats(struct ntk_advice_list *list)
{
    double lost = ntk_lost_ratio(&list->input->program->dropped.changes);
    struct ntk_advice_item *items = list->items.items;

    for (size_t i = 0; i < list->items.count && lost > MANY_LOST_RATIO; i++) {
        struct ntk_advice_item *item = &items[i];
        size_t used = strlen(item->text);
        if (item->rule >= NTK_ADVICE_PATH_DMA && item->rule <= NTK_ADVICE_WAIT) {
            snprintf(item->text + used, sizeof item->text - used,
                     " (uncertain: %.0f%% of the semaphore changes are missing)", 100 * lost);
        }
    }
}

void ntk_advice_incomplete(struct ntk_advice_list *list, struct ntk_advice_input *known)
{
    const struct ntk_program *program = known->program;
    struct ntk_buf text = { 0 };
    unsigned most = ntk_program_lacks_most(program);
    unsigned count = ntk_incomplete_text(program, ntk_program_lacks(program), &text);
    double unknown = most & NTK_LACK_EVENTS ? 0 : unknown_ratio(known);

    if (unknown > 0) {
        ntk_buf_add_format(&text,
                           "%sthe critical path waits for unrecorded changes for %.1f%% of "
                           "the execution",
                           count++ ? ", " : "", 100 * unknown);
    }
    double changes = ntk_lost_ratio(&program->dropped.changes);
    double value = most ? 1 : changes > unknown ? changes : unknown;
    bool is_many = value > ntk_advice_threshold(NTK_ADVICE_INCOMPLETE);
    struct ntk_advice_item *item =
        !count ? NULL
               : ntk_advice_judge(list, NTK_ADVICE_INCOMPLETE, value, is_many ? 1 : 0,
                                  "the capture is incomplete: %s",
                                  ntk_buf_ok(&text) ? ntk_buf_text_get(&text) : "");
    if (item) {
        item->what = what_to_do(program, most);
    }
    ntk_buf_fini(&text);
    if (most & NTK_LACK_INSTRUCTIONS) {
        known->idle = NULL;
        known->costs = NULL;
        known->tensors = NULL;
    }
    if (most & (NTK_LACK_INSTRUCTIONS | NTK_LACK_EVENTS)) {
        known->path = NULL;
        list->has_no_waits = true;
    }
    /* Without any packets, the sum of packets does not show if any were lost. */
    if (most & NTK_LACK_PACKETS &&
        (program->trace->is_cut.packets || program->dropped.bytes.there)) {
        known->dma = NULL;
    }
}
