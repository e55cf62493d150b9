/* SPDX-License-Identifier: MIT */
/*
 * dma_efficiency - computes the efficiency with which each DMA queue used its engines.
 *
 * A queue is one name in the capture on one core, over all DMA engines; rings without a name are
 * grouped by kind. busy_ps adds up the packet times of all engines; wasted_bytes is the number of
 * bytes that these engines could have moved in that time at their rate (chip.h), minus the bytes
 * that they moved (0 if packets were faster); efficiency is bytes_count / (bytes_count +
 * wasted_bytes). The total adds up the rows, but counts overlaps and engines once. Packets with at
 * most 4 bytes are semaphore writes; below NTK_DMA_SMALL_BYTES the overhead of a packet is
 * significant, below NTK_DMA_POOR_BYTES it dominates.
 *
 * Errors:  -ENOMEM.
 *
 * Owner:   the caller provides the storage of the result; ntk_dma_efficiency_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_DMA_EFFICIENCY_H
#define NTK_PROFILER_ANALYSIS_DMA_EFFICIENCY_H

#include "profiler/trace/trace.h"

#define NTK_DMA_SEMAPHORE_BYTES 4 /* packets of at most this size are not data */
#define NTK_DMA_POOR_BYTES 256
#define NTK_DMA_SMALL_BYTES 2048
#define NTK_DMA_FULL_BYTES 4096 /* packets of at least this size reach the full rate */

enum ntk_dma_size {
    NTK_DMA_SIZE_SEMAPHORE,
    NTK_DMA_SIZE_POOR,
    NTK_DMA_SIZE_SMALL,
    NTK_DMA_SIZE_MEDIUM,
    NTK_DMA_SIZE_FULL,
    NTK_DMA_SIZE_COUNT
};

struct ntk_dma_queue_row {
    size_t core;       /* index in the trace */
    const char *name;  /* name in the file; NULL for a ring without a name */
    uint8_t dma_class; /* enum ntk_trace_dma_class */
    unsigned engine_count;
    uint64_t packet_count, bytes_count;
    uint64_t size_counts[NTK_DMA_SIZE_COUNT]; /* number of packets per size */
    uint64_t size_bytes[NTK_DMA_SIZE_COUNT];
    int64_t active_ps; /* overlaps are counted once */
    int64_t busy_ps;   /* sum over engines */
    int64_t small_ps;  /* part of busy_ps: data packets below NTK_DMA_SMALL_BYTES */
    bool has_rate;     /* true if the machine and its rate are known */
    double efficiency; /* 0 to 1 */
    double wasted_bytes;
};

struct ntk_dma_efficiency {
    double engine_bytes_per_second; /* peak of one engine; 0 if unknown */
    bool has_spill;                 /* true if there are spill queues */
    uint64_t spill_bytes;    /* bytes moved by queues named SpillReload, in both directions */
    int64_t spill_active_ps; /* activity of these queues; overlaps are counted once */
    struct ntk_dma_queue_row total; /* sum of the rows; name is NULL */
    size_t row_count;
    struct ntk_dma_queue_row *rows; /* rows with the longest activity first */
};

int ntk_analysis_dma_efficiency(const struct ntk_trace *trace,
                                struct ntk_dma_efficiency *out_efficiency);
void ntk_dma_efficiency_fini(struct ntk_dma_efficiency *efficiency);
/* Returns a name such as "4 bytes or fewer". */
const char *ntk_dma_size_name(enum ntk_dma_size size);

#endif
