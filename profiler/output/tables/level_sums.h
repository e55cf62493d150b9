/* SPDX-License-Identifier: MIT */
/*
 * level_sums - adds up cost and times of the rows of one instruction, operation or node of a
 * compiler level.
 *
 * Rows must be in order of time. Adjacent or overlapping rows are one interval; the last of
 * NTK_LEVEL_INTERVALS_MAX includes all later ones.
 *
 * Owner:   the caller provides the storage; _fini() frees the content, and accepts a zeroed struct.
 * Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_LEVEL_SUMS_H
#define NTK_PROFILER_OUTPUT_TABLES_LEVEL_SUMS_H

#include "profiler/analysis/program.h"
#include "shared/base/buf.h"
#include "shared/base/vec.h"

#define NTK_LEVEL_INTERVALS_MAX 1024

struct ntk_level_interval {
    int64_t start_ps, end_ps;
    /* Number of multiply-adds of MATMUL, and of those that only move data */
    uint64_t elements, transposed;
    uint64_t hbm_bytes; /* read and written by DMA */
    /* weighted as for shares of the peak; useful_flops excludes operations that only move data */
    uint64_t peak_flops, useful_flops;
};

struct ntk_level_sums {
    struct ntk_vec intervals; /* elements are struct ntk_level_interval */
    int64_t covered_ps;       /* union of the rows */
    int64_t end_ps;
    bool lacks_flops; /* true if the weight of a MATMUL is unknown */
    uint64_t hbm_read_bytes, hbm_write_bytes, sbuf_read_bytes, sbuf_write_bytes, weight_bytes;
    int64_t engine_counts[NTK_NTFF_ENGINE_COUNT];
};

/* Returns 0 or -ENOMEM. */
int ntk_level_sums_add(struct ntk_level_sums *sums, const struct ntk_trace *trace,
                       const struct ntk_slot_fact *fact, const struct ntk_trace_instruction *row);
void ntk_level_sums_fini(struct ntk_level_sums *sums);

/* Lists such as [[1, 10], [20, 50]] for rows; the storage is reused for the next row. */
enum ntk_level_list {
    NTK_LEVEL_TIMES,
    NTK_LEVEL_ELEMENTS,
    NTK_LEVEL_TRANSPOSED,
    NTK_LEVEL_HBM,
    NTK_LEVEL_LIST_COUNT
};
struct ntk_level_texts {
    struct ntk_buf lists[NTK_LEVEL_LIST_COUNT];
};
/* Returns 0 or -ENOMEM. */
int ntk_level_texts_fill(struct ntk_level_texts *texts, const struct ntk_level_sums *sums);
void ntk_level_texts_fini(struct ntk_level_texts *texts);

#endif
