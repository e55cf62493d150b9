/* SPDX-License-Identifier: MIT */
/* advice_incomplete - records that a capture lacks, and what cannot be known without them. */
#include "profiler/analysis/advice_private.h"

#include "profiler/analysis/incomplete.h"

void ntk_advice_incomplete(struct ntk_advice_list *list, struct ntk_advice_input *known)
{
    const struct ntk_program *program = known->program;
    const struct ntk_trace *trace = program->trace;
    struct ntk_buf text = { 0 };
    unsigned lacks = ntk_program_lacks(program);
    unsigned count = ntk_incomplete_text(program, lacks, &text);

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
