/* SPDX-License-Identifier: MIT */
#include "profiler/analysis/incomplete.h"

#include "profiler/analysis/dropped.h"
#include "shared/base/units.h"

/* Returns true if an executed instruction waits. */
static bool any_waits(const struct ntk_program *program)
{
    for (size_t c = 0; c < program->trace->core_count; c++) {
        ntk_trace_each_instruction(&program->trace->cores[c], instruction) {
            const struct ntk_slot_fact *fact = ntk_program_fact(program, c, instruction);

            if (fact->code->has_sync && fact->code->wait != NTK_WAIT_NONE) {
                return true;
            }
        }
    }
    return false;
}

/* Returns the lacking kinds of records. Every capture has a few instructions without a start or
 * end: the instructions that ran when it started or stopped. */
static unsigned lacks_all(const struct ntk_program *program)
{
    const struct ntk_trace *trace = program->trace;
    uint64_t events = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        events += trace->cores[c].event_count;
    }
    bool has_no_events = trace->is_cut.events || (!events && !trace->is_part && any_waits(program));
    return (trace->is_cut.instructions ? NTK_LACK_INSTRUCTIONS : 0) |
           (has_no_events ? NTK_LACK_EVENTS : 0) |
           (ntk_program_lacks_packets(program) ? NTK_LACK_PACKETS : 0);
}

unsigned ntk_program_lacks(const struct ntk_program *program)
{
    const struct ntk_dropped *dropped = &program->dropped;

    return lacks_all(program) | (dropped->instructions.lost ? NTK_LACK_INSTRUCTIONS : 0) |
           (dropped->changes.lost ? NTK_LACK_EVENTS : 0) |
           (dropped->bytes.lost ? NTK_LACK_PACKETS : 0);
}

unsigned ntk_program_lacks_most(const struct ntk_program *program)
{
    const struct ntk_dropped *dropped = &program->dropped;
    bool loses_many = ntk_lost_ratio(&dropped->instructions) > NTK_DROPPED_RATIO;
    bool loses_bytes = ntk_lost_ratio(&dropped->bytes) > NTK_DROPPED_RATIO;

    return lacks_all(program) | (loses_many ? NTK_LACK_INSTRUCTIONS : 0) |
           (loses_bytes ? NTK_LACK_PACKETS : 0);
}

static void add_count(const struct ntk_lost *lost, const char *what, struct ntk_buf *out)
{
    ntk_buf_add_format(out, "at least %llu of %llu %s were not recorded",
                       (unsigned long long)lost->lost,
                       (unsigned long long)(lost->lost + lost->there), what);
}

static void add_bytes(const struct ntk_lost *lost, struct ntk_buf *out)
{
    char part[NTK_UNITS_TEXT_BYTES];
    char all[NTK_UNITS_TEXT_BYTES];

    ntk_buf_add_format(out, "DMA records of at least %s of %s were dropped",
                       ntk_units_bytes(part, sizeof part, lost->lost),
                       ntk_units_bytes(all, sizeof all, lost->lost + lost->there));
}

unsigned ntk_incomplete_text(const struct ntk_program *program, unsigned lacks, struct ntk_buf *out)
{
    const struct ntk_trace *trace = program->trace;
    const struct ntk_dropped *dropped = &program->dropped;
    unsigned all = lacks_all(program);
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
        unsigned lack = lacks & kinds[i].lack;
        if (!lack) {
            continue;
        }
        ntk_buf_add_text(out, count++ ? ", " : "");
        if (lack & all) {
            ntk_buf_add_format(out, "%s records are %s", kinds[i].of,
                               kinds[i].is_cut ? "truncated" : "missing");
        } else if (lack == NTK_LACK_INSTRUCTIONS) {
            add_count(&dropped->instructions, "instructions", out);
        } else if (lack == NTK_LACK_EVENTS) {
            add_count(&dropped->changes, "semaphore changes", out);
        } else {
            add_bytes(&dropped->bytes, out);
        }
    }
    return count;
}
