/* SPDX-License-Identifier: MIT */
/*
 * activity_over_time - when did each engine and each DMA queue work? Splits the execution into
 * equal pieces and computes the busy share of each.
 *
 * Busy as in engine_activity.h; a queue is busy while any DMA engine moves one of its packets.
 *
 * Pure: trace to result; -ENOMEM, or -ENODATA if the capture does not record how long the execution
 * took.
 *
 * Owner:   the result is the caller's storage; ntk_activity_over_time_fini() frees what it points
 *          to.
 */
#ifndef NTK_PROFILER_ANALYSIS_ACTIVITY_OVER_TIME_H
#define NTK_PROFILER_ANALYSIS_ACTIVITY_OVER_TIME_H

#include "profiler/trace/trace.h"

struct ntk_activity_row {
    size_t core;       /* index in the trace */
    uint8_t engine;    /* NTK_NTFF_ENGINE_AXI: a DMA queue */
    const char *name;  /* of a queue, from the file; NULL: rings without a name */
    uint8_t dma_class; /* of those */
    double busy_ratio; /* of the execution */
    float *pieces;     /* piece_count of them, 0 to 1 */
};

struct ntk_activity_over_time {
    int64_t total_ps;
    size_t piece_count;
    size_t row_count;
    struct ntk_activity_row *rows; /* by core: engines, then queues; idle ones are omitted */
    float *storage;
};

int ntk_analysis_activity_over_time(const struct ntk_trace *trace, size_t piece_count,
                                    struct ntk_activity_over_time *out_activity);
void ntk_activity_over_time_fini(struct ntk_activity_over_time *activity);

#endif
