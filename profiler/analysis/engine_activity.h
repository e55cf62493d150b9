/* SPDX-License-Identifier: MIT */
/*
 * engine_activity - computes the busy time of each engine and of their union.
 *
 * Waiting in EVENT_SEMAPHORE is not activity: these instructions are counted, but not their time.
 * Memory does not grow with the trace.
 */
#ifndef NTK_PROFILER_ANALYSIS_ENGINE_ACTIVITY_H
#define NTK_PROFILER_ANALYSIS_ENGINE_ACTIVITY_H

#include "profiler/analysis/dma_traffic.h"

struct ntk_engine_activity {
    uint64_t instruction_count;
    int64_t instruction_ps; /* sum of durations */
    int64_t active_ps;      /* union over all cores */
};

struct ntk_activity {
    struct ntk_engine_activity engines[NTK_NTFF_ENGINE_COUNT];
    int64_t total_active_ps; /* time in which any engine or DMA packet is active */
    uint64_t matmul_count;
    uint64_t activate_count;
    int64_t activate_ps;
    uint64_t event_count, packet_count;
    /* From the first to the last instruction or packet, without setup and end of the program. */
    bool has_exec;
    int64_t exec_start_ps, exec_end_ps;
};

/* Returns true if instructions with this opcode set up or end programs. */
bool ntk_activity_sets_up(uint8_t opcode);

void ntk_analysis_engine_activity(const struct ntk_trace *trace, struct ntk_activity *out_activity);
/* Same, and also fills the result of ntk_analysis_dma_traffic(), in one pass. */
void ntk_analysis_activity_and_traffic(const struct ntk_trace *trace,
                                       struct ntk_activity *out_activity,
                                       struct ntk_dma_traffic *out_traffic);

#endif
