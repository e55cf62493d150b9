/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/incomplete.h"

/* For the program that ran. */
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

unsigned ntk_program_lacks(const struct ntk_program *program)
{
    const struct ntk_trace *trace = program->trace;
    uint64_t events = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        events += trace->cores[c].event_count;
    }
    /* Every capture has a few instructions without a start or end: those running when it started or
     * stopped. */
    bool has_no_events = trace->is_cut.events || (!events && !trace->is_part && any_waits(program));
    return (trace->is_cut.instructions ? NTK_LACK_INSTRUCTIONS : 0) |
           (has_no_events ? NTK_LACK_EVENTS : 0) |
           (ntk_program_lacks_packets(program) ? NTK_LACK_PACKETS : 0);
}

unsigned ntk_incomplete_text(const struct ntk_program *program, unsigned lacks, struct ntk_buf *out)
{
    const struct ntk_trace *trace = program->trace;
    const struct {
        unsigned lack;
        bool is_cut;
        const char *of;
    } kinds[] = {
        { NTK_LACK_INSTRUCTIONS, trace->is_cut.instructions, "instruction" },
        { NTK_LACK_EVENTS, trace->is_cut.events, "semaphore" },
        { NTK_LACK_PACKETS, trace->is_cut.packets, "DMA" },
    };
    unsigned count = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (lacks & kinds[i].lack) {
            ntk_buf_add_format(out, "%s%s records are %s", count++ ? ", " : "", kinds[i].of,
                               kinds[i].is_cut ? "truncated" : "missing");
        }
    }
    return count;
}
