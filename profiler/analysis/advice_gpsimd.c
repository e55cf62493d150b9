/* SPDX-License-Identifier: MIT */
/* advice_gpsimd - gives advice about the GpSimd engine: its operations, and its control code. */
#include "profiler/analysis/advice_private.h"

#include <stdio.h>

#define OPCODES 256
#define OPCODES_NAMED 3

/* Part of the critical path: operations on data, or control code, which includes the start of
 * transfers. */
struct part {
    enum ntk_advice_rule rule;
    int64_t path_ps, issue_ps, drain_ps;
    uint64_t count;
    int64_t opcodes_ps[OPCODES];
    struct ntk_line_costs lines;
};

static void add_step(const struct ntk_advice_list *list, size_t i, struct part *parts)
{
    const struct ntk_program *program = list->input->program;
    const struct ntk_path_step *step = &list->input->path->steps[i];
    const struct ntk_trace_instruction *one;
    int64_t step_ps = step->end_ps - step->start_ps;

    if (step->layer == NTK_LAYER_RUNTIME || !ntk_path_is_engine(step->kind)) {
        return;
    }
    one = ntk_path_instruction(program->trace, step);
    if (one->engine != NTK_NTFF_ENGINE_GPSIMD) {
        return;
    }
    const struct ntk_slot_fact *fact = ntk_program_fact(program, step->core, one);
    bool is_control = fact->code->is_transfer || !ntk_fact_is_work(fact, one->opcode);
    struct part *part = &parts[is_control];
    part->path_ps += step_ps;
    part->issue_ps += step->kind == NTK_PATH_ISSUE ? step_ps : 0;
    part->drain_ps += step->kind == NTK_PATH_DRAIN ? step_ps : 0;
    part->count++;
    part->opcodes_ps[one->opcode] += step_ps;
    if (program->positions) {
        ntk_line_costs_add(&part->lines, ntk_program_position(program, step->core, one), NULL,
                           (double)step_ps);
    }
}

/* Writes the operations with the most time, such as ": IOTA 3.000 us, COPY 1.000 us". */
static const char *opcodes_text(struct part *part, char *buf, size_t buf_bytes)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned n = 0; n < OPCODES_NAMED; n++) {
        char name[16];
        unsigned most = 0;

        for (unsigned i = 1; i < OPCODES; i++) {
            most = part->opcodes_ps[i] > part->opcodes_ps[most] ? i : most;
        }
        if (part->opcodes_ps[most] == 0 || used >= buf_bytes) {
            break;
        }
        int added = snprintf(buf + used, buf_bytes - used, "%s%s %.3f us", n ? ", " : ": ",
                             ntk_ntff_opcode_name((uint8_t)most, name, sizeof name),
                             (double)part->opcodes_ps[most] / 1e6);
        used += added > 0 ? (size_t)added : 0;
        part->opcodes_ps[most] = 0;
    }
    return buf;
}

/* Returns the largest share of the execution for which GpSimd of a core executes or issues; 0 if
 * unknown. */
static double occupied(const struct ntk_advice_list *list)
{
    const struct ntk_idle_reasons *idle = list->input->idle;
    int64_t most_ps = 0;

    for (size_t i = 0; idle && i < idle->engine_count; i++) {
        const struct ntk_idle_engine *engine = &idle->engines[i];
        int64_t ps = engine->busy_ps + engine->reasons_ps[NTK_IDLE_ISSUE];
        most_ps = engine->engine == NTK_NTFF_ENGINE_GPSIMD && ps > most_ps ? ps : most_ps;
    }
    return (double)most_ps / list->total_ps;
}

static void judge_part(struct ntk_advice_list *list, struct part *part)
{
    double share = (double)part->path_ps / list->total_ps;
    double other = (double)(part->issue_ps + part->drain_ps) / list->total_ps;
    char opcodes[160];
    char line[NTK_ADVICE_LINES_BYTES];
    char all[80] = "";
    double all_share = occupied(list);

    if (all_share > 0) {
        (void)snprintf(all, sizeof all, "; it is occupied for %.1f%% of the execution in total",
                       100 * all_share);
    }
    struct ntk_advice_item *item = ntk_advice_judge(
        list, part->rule, share, share,
        "%.1f%% of the execution is spent in the GpSimd engine, which %s: %.3f us in %llu step%s "
        "on "
        "the critical path%s%s%s",
        100 * share,
        part->rule == NTK_ADVICE_GPSIMD_CONTROL ? "executes control code" : "executes operations",
        (double)part->path_ps / 1e6, (unsigned long long)part->count, part->count == 1 ? "" : "s",
        opcodes_text(part, opcodes, sizeof opcodes),
        ntk_advice_lines(list, &part->lines, "at", 1e6, " us", line), all);
    ntk_advice_gain(item, share / 2, share); /* gain: half of it moves to an idle engine */
    ntk_advice_limit(list, item, other / 2, "gpsimd=2");
}

void ntk_advice_gpsimd(struct ntk_advice_list *list)
{
    struct part parts[2] = { { .rule = NTK_ADVICE_GPSIMD }, { .rule = NTK_ADVICE_GPSIMD_CONTROL } };
    const struct ntk_critical_path *path = list->input->path;

    for (size_t i = 0; i < path->step_count; i++) {
        ntk_critical_path_passed(list->input->program->trace, path, i);
        add_step(list, i, parts);
    }
    for (size_t i = 0; i < 2; i++) {
        judge_part(list, &parts[i]);
        ntk_line_costs_fini(&parts[i].lines);
    }
}
