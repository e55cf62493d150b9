/* SPDX-License-Identifier: MIT */
/*
 * source_waits - finds the lines for which a line waited: each wait of an instruction is attributed
 * to the line that ended it, or to the reason why no line is known, so that no wait is lost.
 */
#include "profiler/analysis/idle_reasons.h"
#include "profiler/analysis/source_lines_private.h"
#include "shared/base/order.h"

#include <errno.h>

/* Value used instead of a line that ended a wait. */
#define NO_CONDITION (UINT32_MAX - 1)
#define UNKNOWN (UINT32_MAX - 2)

static void add_wait(struct ntk_line_finder *f, uint32_t waiting, uint32_t blocking, int64_t ns)
{
    uint64_t key = (uint64_t)waiting << 32 | blocking;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&f->by_pair, key);

    if (!number) {
        struct ntk_source_wait one = { waiting, blocking, 0 };
        number = f->waits.count + 1;
        if (ntk_vec_push(&f->waits, &one) < 0 ||
            ntk_map_put_number(&f->by_pair, key, (void *)number) < 0) {
            f->failed = -ENOMEM;
            return;
        }
    }
    struct ntk_source_wait *wait = ntk_vec_at(&f->waits, number - 1);
    wait->wait_ns = ntk_ps_sum(wait->wait_ns, ns);
}

/* Returns the instruction that has the condition of this wait. The runtime replaces the compiler's
 * trigger of prepared transfers with several instructions: the first has the condition, the last is
 * from the compiler, and the hardware records the same wait for all of them. */
static size_t condition_of(const struct ntk_program *program, size_t c, size_t i,
                           const struct ntk_core_dependencies *of)
{
    const struct ntk_trace_instruction *all = program->trace->cores[c].instructions;
    const struct ntk_slot_fact *fact = ntk_program_fact(program, c, &all[i]);
    uint32_t before = of->releases[i].previous;

    if (fact->code->is_open || !fact->code->is_transfer || fact->code->wait != NTK_WAIT_NONE ||
        before == NTK_NO_INDEX || all[before].slot + 1 != all[i].slot ||
        all[before].wait_cycles != all[i].wait_cycles) {
        return i;
    }
    return ntk_program_fact(program, c, &all[before])->code->is_runtime ? before : i;
}

/* Returns 1 + index of the line, or its substitute. */
static uint32_t blocking_of(struct ntk_line_finder *f, size_t c, size_t i,
                            const struct ntk_core_dependencies *of)
{
    const struct ntk_program *program = f->result->program;
    const struct ntk_trace_instruction *all = program->trace->cores[c].instructions;
    size_t at = condition_of(program, c, i, of);
    const struct ntk_slot_fact *fact = ntk_program_fact(program, c, &all[at]);

    if (fact->code->has_sync && fact->code->wait == NTK_WAIT_NONE) {
        return NO_CONDITION + 1;
    }
    const struct ntk_release *release = &of->releases[at];
    if (release->by == NTK_NO_INDEX) {
        return UNKNOWN + 1;
    }
    size_t by_core = ntk_release_core(c, release);
    return ntk_line_of_instruction(f, by_core,
                                   &program->trace->cores[by_core].instructions[release->by]);
}

/* Adds idle time of an engine to the line and loops of the waiting instruction. */
static int add_idle(const struct ntk_idle_part *part, void *ctx)
{
    struct ntk_line_finder *f = ctx;
    enum ntk_idle_reason reason = part->cause->reason;
    int64_t idle_ps = part->end_ps - part->start_ps;

    if (part->item == NTK_NO_INDEX ||
        (reason != NTK_IDLE_ENGINE && reason != NTK_IDLE_DMA && reason != NTK_IDLE_UNKNOWN)) {
        return 0;
    }
    const struct ntk_trace_instruction *waiting =
        &f->result->program->trace->cores[part->core].instructions[part->item];
    int64_t max_ns = ntk_source_wait_max_ns(f->result->program->trace);
    f->result->long_wait_count += max_ns > 0 && ntk_source_ns(idle_ps) > max_ns;
    uint32_t line = ntk_line_of_instruction(f, part->core, waiting);
    uint32_t path = ntk_path_of_instruction(f, part->core, waiting);
    if (f->failed) {
        return f->failed;
    }
    ((struct ntk_source_line *)ntk_vec_at(&f->lines, line - 1))->sums.idle_ps += idle_ps;
    struct ntk_source_iteration *paths = f->paths.items;
    for (uint32_t at = path; at; at = paths[at - 1].parent) {
        f->result->loops[paths[at - 1].loop].totals.idle_ps += idle_ps;
    }
    return 0;
}

static void add_idles(struct ntk_line_finder *f, const struct ntk_dependencies *dependencies)
{
    struct ntk_idle_reasons reasons = { 0 };
    int ret = ntk_analysis_idle_parts(f->result->program, dependencies, add_idle, f, &reasons);

    ntk_idle_reasons_fini(&reasons);
    f->failed = f->failed || ret == -ENODATA ? f->failed : ret;
}

void ntk_source_waits_add(struct ntk_line_finder *f, const struct ntk_dependencies *dependencies)
{
    const struct ntk_trace *trace = f->result->program->trace;
    bool has_waits = dependencies && f->result->has_lines;

    if (has_waits) {
        add_idles(f, dependencies);
    }
    for (size_t c = 0; has_waits && c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];

        for (size_t i = 0; i < core->instruction_count && !f->failed; i++) {
            int64_t ns = ntk_source_wait_ns(trace, core->instructions[i].wait_cycles);
            if (i % NTK_TRACE_LOOKS == 0) {
                ntk_dependencies_give_back(core, &dependencies->cores[c]);
            }
            uint32_t waiting = ns ? ntk_line_of_instruction(f, c, &core->instructions[i]) : 0;
            if (!waiting || !((struct ntk_source_line *)ntk_vec_at(&f->lines, waiting - 1))->file) {
                continue;
            }
            uint32_t blocking = blocking_of(f, c, i, &dependencies->cores[c]);
            if (!f->failed) {
                add_wait(f, waiting - 1, blocking - 1, ns);
            }
        }
    }
}

NTK_ORDER(compare_waits, struct ntk_source_wait,
          NTK_UP(waiting) NTK_DOWN(wait_ns) NTK_UP(blocking));

void ntk_source_waits_give(struct ntk_line_finder *f, const uint32_t *moved)
{
    struct ntk_source_line *lines = f->result->lines;
    struct ntk_source_line *before = NULL;
    size_t line_count = 0; /* number of lines with a file that blocked this line */

    ntk_vec_sort(&f->waits, compare_waits);
    ntk_vec_each(struct ntk_source_wait, wait, &f->waits) {
        struct ntk_source_line *line = &lines[moved[wait->waiting]];
        struct ntk_source_blocker one = { .wait_ns = wait->wait_ns };

        line_count = before && line == before ? line_count : 0;
        before = line;
        one.kind = wait->blocking == NO_CONDITION ? NTK_SOURCE_BLOCK_NO_CONDITION
                   : wait->blocking == UNKNOWN    ? NTK_SOURCE_BLOCK_UNKNOWN
                                                  : NTK_SOURCE_BLOCK_LINE;
        one.line = one.kind == NTK_SOURCE_BLOCK_LINE ? moved[wait->blocking] : 0;
        if (one.kind == NTK_SOURCE_BLOCK_LINE && lines[one.line].file &&
            ++line_count > NTK_SOURCE_BLOCKING_LINES_MAX) {
            continue;
        }
        line->blockers[line->blocker_count++] = one;
    }
}

const char *ntk_source_blocker_reason(const struct ntk_source_lines *lines,
                                      const struct ntk_source_blocker *blocker)
{
    return blocker->kind == NTK_SOURCE_BLOCK_NO_CONDITION ? "no_condition"
           : blocker->kind == NTK_SOURCE_BLOCK_UNKNOWN
               ? "unknown"
               : ntk_source_reason_name(lines->lines[blocker->line].reason);
}
