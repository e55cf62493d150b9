/* SPDX-License-Identifier: MIT */
/*
 * activity_over_time - computes when each engine and each DMA queue worked: splits the execution
 * into equal pieces and computes the busy share of each piece.
 *
 * Engines are busy as in engine_activity.h; a queue is busy while any DMA engine moves one of its
 * packets.
 *
 * Returns -ENOMEM, or -ENODATA if the capture does not record the length of the execution.
 *
 * Owner:   the caller provides the storage of the result; ntk_activity_over_time_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_ACTIVITY_OVER_TIME_H
#define NTK_PROFILER_ANALYSIS_ACTIVITY_OVER_TIME_H

#include "profiler/trace/trace.h"

struct ntk_activity_row {
    size_t core;       /* index in the trace */
    uint8_t engine;    /* NTK_NTFF_ENGINE_AXI for a DMA queue */
    const char *name;  /* name of a queue in the file; NULL for rings without a name */
    uint8_t dma_class; /* class of rings without a name */
    double busy_ratio; /* share of the execution */
    float *pieces;     /* piece_count values from 0 to 1 */
};

struct ntk_activity_over_time {
    int64_t total_ps;
    size_t piece_count;
    size_t row_count;
    struct ntk_activity_row *rows; /* sorted by core: engines, then queues; idle rows are omitted */
    float *storage;
};

int ntk_analysis_activity_over_time(const struct ntk_trace *trace, size_t piece_count,
                                    struct ntk_activity_over_time *out_activity);
void ntk_activity_over_time_fini(struct ntk_activity_over_time *activity);

#endif
