/* SPDX-License-Identifier: MIT */
/* engine_activity - unions and sums of instruction times. */
#include "profiler/analysis/engine_activity.h"

#include <string.h>

#include "profiler/analysis/interval.h"

int ntk_analysis_engine_activity(const struct ntk_trace *trace, struct ntk_activity *out_activity)
{
    struct ntk_intervals busy[NTK_NTFF_ENGINE_COUNT] = { 0 };
    struct ntk_intervals any = { 0 };
    struct ntk_activity activity = { 0 };
    int ret = 0;

    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        for (size_t i = 0; i < core->instruction_count; i++) {
            const struct ntk_trace_instruction *instruction = &core->instructions[i];
            struct ntk_engine_activity *engine = &activity.engines[instruction->engine];
            int64_t duration_ps = instruction->end_ps - instruction->start_ps;
            engine->instruction_count++;
            if (instruction->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
                continue;
            }
            engine->instruction_ps = ntk_ps_sum(engine->instruction_ps, duration_ps);
            ntk_intervals_add(&busy[instruction->engine], instruction->start_ps,
                              instruction->end_ps);
            ntk_intervals_add(&any, instruction->start_ps, instruction->end_ps);
            if (instruction->opcode == NTK_NTFF_OPCODE_MATMUL) {
                activity.matmul_count++;
            } else if (instruction->opcode == NTK_NTFF_OPCODE_ACTIVATE) {
                activity.activate_count++;
                activity.activate_ps = ntk_ps_sum(activity.activate_ps, duration_ps);
            }
        }
        for (size_t i = 0; i < core->packet_count; i++) {
            ntk_intervals_add(&any, core->packets[i].start_ps, core->packets[i].end_ps);
        }
        activity.event_count += core->event_count;
        activity.packet_count += core->packet_count;
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        activity.engines[e].active_ps = ntk_intervals_union_ps(&busy[e]);
        ret = busy[e].failed ? busy[e].failed : ret;
        ntk_intervals_fini(&busy[e]);
    }
    activity.total_active_ps = ntk_intervals_union_ps(&any);
    ret = any.failed ? any.failed : ret;
    ntk_intervals_fini(&any);
    if (ret == 0) {
        *out_activity = activity;
    }
    return ret;
}
