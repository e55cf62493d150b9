/* SPDX-License-Identifier: MIT */
/* advice_incomplete - records that a capture lacks, and what cannot be known without them. */
#include "profiler/analysis/advice_private.h"

#include "shared/base/buf.h"

/* Of the program that ran. */
static bool any_waits(const struct ntk_program *program)
{
    for (size_t c = 0; c < program->trace->core_count; c++) {
        ntk_trace_each_instruction(&program->trace->cores[c], instruction) {
            const struct ntk_slot_fact *fact = ntk_program_fact(program, c, instruction);

            if (fact->has_sync && fact->wait != NTK_WAIT_NONE) {
                return true;
            }
        }
    }
    return false;
}

void ntk_advice_incomplete(struct ntk_advice_list *list, struct ntk_advice_input *known)
{
    const struct ntk_program *program = known->program;
    const struct ntk_trace *trace = program->trace;
    uint64_t events = 0;
    unsigned count = 0;
    struct ntk_buf text = { 0 };

    for (size_t c = 0; c < trace->core_count; c++) {
        events += trace->cores[c].event_count;
    }
    /* A part of an execution may have none. Every capture has a few instructions without a start or
     * an end: those that ran when it began and ended. */
    bool has_no_events = !events && !trace->is_part && any_waits(program);
    bool has_no_packets = ntk_program_lacks_packets(program);
    const struct {
        bool is_so;
        const char *what;
    } lacks[] = {
        { trace->is_cut.instructions, "instruction records are truncated" },
        { trace->is_cut.events, "semaphore records are truncated" },
        { has_no_events && !trace->is_cut.events, "semaphore records are missing" },
        { trace->is_cut.packets, "DMA records are truncated" },
        { has_no_packets && !trace->is_cut.packets, "DMA records are missing" },
    };
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        if (lacks[i].is_so) {
            ntk_buf_add_format(&text, "%s%s", count++ ? ", " : "", lacks[i].what);
        }
    }
    ntk_advice_judge(list, NTK_ADVICE_INCOMPLETE, count, 1, "the capture is incomplete: %s",
                     ntk_buf_ok(&text) && count ? ntk_buf_text_get(&text) : "");
    ntk_buf_fini(&text);
    if (trace->is_cut.instructions) {
        known->idle = NULL;
        known->costs = NULL;
        known->tensors = NULL;
    }
    if (trace->is_cut.instructions || trace->is_cut.events || has_no_events) {
        known->path = NULL;
        list->has_no_waits = true;
    }
    if (trace->is_cut.packets) {
        known->dma = NULL;
    }
}
