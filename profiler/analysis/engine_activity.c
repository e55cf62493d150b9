/* SPDX-License-Identifier: MIT */
/* engine_activity - computes unions and sums of instruction times. */
#include "profiler/analysis/engine_activity.h"

#include "profiler/analysis/interval.h"
#include "profiler/trace/walk.h"

/* Adds an instruction; returns true if it counts as activity. */
static bool add_instruction(struct ntk_activity *activity, struct ntk_cover *busy,
                            const struct ntk_trace_instruction *instruction)
{
    activity->engines[instruction->engine].instruction_count++;
    if (instruction->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
        return false;
    }
    ntk_cover_add(&busy[instruction->engine], instruction->start_ps, instruction->end_ps);
    if (instruction->opcode == NTK_NTFF_OPCODE_MATMUL) {
        activity->matmul_count++;
    } else if (instruction->opcode == NTK_NTFF_OPCODE_ACTIVATE) {
        activity->activate_count++;
        activity->activate_ps =
            ntk_ps_sum(activity->activate_ps, instruction->end_ps - instruction->start_ps);
    }
    return true;
}

bool ntk_activity_sets_up(uint8_t opcode)
{
    static const bool sets_up[256] = {
        [NTK_NTFF_OPCODE_NOP] = true,
        [NTK_NTFF_OPCODE_SET_ORDERING_MODE] = true,
        [NTK_NTFF_OPCODE_EVENT_SEMAPHORE] = true,
        [NTK_NTFF_OPCODE_EVENT_SEMAPHORE_RANGE_CLEAR] = true,
        [NTK_NTFF_OPCODE_NOTIFY] = true,
        [NTK_NTFF_OPCODE_COMPARE_BRANCH] = true,
        [NTK_NTFF_OPCODE_DRAIN] = true,
        [NTK_NTFF_OPCODE_WRITE] = true,
        [NTK_NTFF_OPCODE_TENSOR_LOAD] = true,
    };

    return sets_up[opcode];
}

static void add_exec(struct ntk_activity *activity, const struct ntk_walk_span *span)
{
    if (span->instruction && ntk_activity_sets_up(span->instruction->opcode)) {
        return;
    }
    if (!activity->has_exec) {
        activity->has_exec = true;
        activity->exec_start_ps = span->start_ps; /* spans are in order of their start */
        activity->exec_end_ps = span->end_ps;
    }
    if (span->end_ps > activity->exec_end_ps) {
        activity->exec_end_ps = span->end_ps;
    }
}

void ntk_analysis_engine_activity(const struct ntk_trace *trace, struct ntk_activity *out_activity)
{
    ntk_analysis_activity_and_traffic(trace, out_activity, NULL);
}

void ntk_analysis_activity_and_traffic(const struct ntk_trace *trace,
                                       struct ntk_activity *out_activity,
                                       struct ntk_dma_traffic *out_traffic)
{
    struct ntk_dma_counting counting = { 0 };
    struct ntk_cover busy[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct ntk_cover any = { 0 };
    struct ntk_activity activity = { 0 };
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_walk_init(&walk, trace, NTK_WALK_INSTRUCTIONS | NTK_WALK_PACKETS);
    while (ntk_walk_next(&walk, &span)) {
        add_exec(&activity, &span);
        if (!span.instruction || add_instruction(&activity, busy, span.instruction)) {
            ntk_cover_add(&any, span.start_ps, span.end_ps);
        }
        if (span.packet && out_traffic) {
            ntk_dma_counting_add(&counting, span.packet);
        }
    }
    if (out_traffic) {
        ntk_dma_counting_end(&counting, trace, out_traffic);
    }
    for (size_t c = 0; c < trace->core_count; c++) {
        activity.event_count += trace->cores[c].event_count + trace->cores[c].more_event_count;
        activity.packet_count += trace->cores[c].packet_count;
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        activity.engines[e].active_ps = busy[e].covered_ps;
        activity.engines[e].instruction_ps = busy[e].sum_ps;
    }
    activity.total_active_ps = any.covered_ps;
    *out_activity = activity;
}
