/* SPDX-License-Identifier: MIT */
/*
 * summary_private - state of a summary being filled, and the formulas, separate from their inputs.
 * For summary*.c and their test.
 */
#ifndef NTK_PROFILER_ANALYSIS_SUMMARY_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_SUMMARY_PRIVATE_H

#include "profiler/analysis/dma_traffic.h"
#include "profiler/analysis/engine_activity.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/matmul_flops.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/transfer_sums.h"
#include "shared/base/vec.h"

#define PS_PER_SECOND 1e12

struct summary_filler {
    const struct ntk_trace *trace;
    const struct ntk_program *program; /* NULL if the caller has none */
    /* elements are struct ntk_summary_value, the metrics of the table first */
    struct ntk_vec values;
    uint64_t uncounted;
    int failed;
};

/* Returns 0 or -ENOMEM; the caller frees the values. */
int summary_begin(struct summary_filler *f, const struct ntk_trace *trace);

void summary_set_count(struct summary_filler *f, enum ntk_summary_id id, uint64_t count);
void summary_set_number(struct summary_filler *f, enum ntk_summary_id id, double number);
void summary_set_ps(struct summary_filler *f, enum ntk_summary_id id, int64_t ps);
/* Sets a share; the metric is absent if the divisor is 0. */
void summary_set_share(struct summary_filler *f, enum ntk_summary_id id, double part, double whole);
/* Sets a quotient of seconds, so that it is rounded like in the vendor's tool. */
void summary_set_ps_share(struct summary_filler *f, enum ntk_summary_id id, int64_t part_ps,
                          int64_t whole_ps);
void summary_set_text(struct summary_filler *f, enum ntk_summary_id id, const char *text);
/* Sets a metric that is not in the table. */
void summary_set_extra(struct summary_filler *f, enum ntk_summary_group group,
                       enum ntk_summary_kind kind, double number, uint64_t count, const char *name);
/* Sets cycles of the base clock, rounded like in the original tool: in 32-bit floats. */
void summary_set_cycles(struct summary_filler *f, enum ntk_summary_id id, int64_t ps);

/* Work that is compared with the peaks of the chip. */
struct summary_work {
    struct ntk_matmul_flops flops;
    struct ntk_hbm_traffic hbm;
    uint64_t model_flops; /* 0 if not counted by a compiler */
    bool has_sizes;       /* sizes of variables in the NEFF are known, in bytes */
    uint64_t inputs, outputs, weights;
};

void summary_fill_times(struct summary_filler *f, const struct ntk_activity *activity,
                        const struct ntk_transfer_sums *transfers);
void summary_fill_dma(struct summary_filler *f, const struct ntk_dma_traffic *traffic);
void summary_fill_transfers(struct summary_filler *f, const struct ntk_transfer_sums *transfers);
void summary_work_get(const struct ntk_trace *trace, const struct ntk_dma_traffic *traffic,
                      struct summary_work *out_work);
void summary_fill_work(struct summary_filler *f, const struct summary_work *work);
void summary_fill_onchip(struct summary_filler *f, const struct ntk_dma_traffic *traffic);
void summary_fill_throttling(struct summary_filler *f);

#endif
