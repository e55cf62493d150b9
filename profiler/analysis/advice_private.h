/* SPDX-License-Identifier: MIT */
/* advice_private - the common part of the advice files, used while the list is built. */
#ifndef NTK_PROFILER_ANALYSIS_ADVICE_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_ADVICE_PRIVATE_H

#include "profiler/analysis/advice.h"
#include "profiler/analysis/line_costs.h"
#include "shared/base/vec.h"

/* Queues and engines with hardly any work get no advice about how they worked. */
#define NTK_ADVICE_SMALL_ACTIVE_RATIO 0.05
#define NTK_ADVICE_ACTIVE_RATIO 0.10

#define NTK_ADVICE_LINES_BYTES 200

/* Shares of the execution. */
struct ntk_advice_path_part {
    double path; /* on the critical path */
    double free; /* of path: no engine executes in it */
};

struct ntk_advice_list {
    const struct ntk_advice_input *input;
    double total_ps;
    bool has_no_waits; /* the reasons of engine waits are unknown */
    /* With a path: */
    struct ntk_advice_path_part dma, spill_dma;
    /* DMA, including hand-overs from it and the instructions that start it */
    double dma_bound;
    double tensor;         /* of the tensor engine */
    double work;           /* of engines and DMA, without that of the runtime */
    struct ntk_vec items;  /* struct ntk_advice_item */
    struct ntk_vec limits; /* used by advice_what_if.c */
    int failed;
};

/* Adds the advice of a rule if its number is beyond the threshold; else NULL. */
__attribute__((format(printf, 5, 6))) struct ntk_advice_item *
ntk_advice_judge(struct ntk_advice_list *list, enum ntk_advice_rule rule, double value,
                 double share, const char *format, ...);
/* Shares of the execution: the estimate, limited by the maximum gain. item may be NULL. */
void ntk_advice_gain(struct ntk_advice_item *item, double gain, double bound);

/* Later limits the gain of the item to that of these changes (what_if.h) plus other_gain, which
 * they do not include. item may be NULL; it is the last one. */
__attribute__((format(printf, 4, 5))) void ntk_advice_limit(struct ntk_advice_list *list,
                                                            const struct ntk_advice_item *item,
                                                            double other_gain, const char *format,
                                                            ...);
/* The change for the gain of all transfers together. */
#define NTK_ADVICE_NO_DMA "dma,dma-latency"
void ntk_advice_limit_gains(struct ntk_advice_list *list);

/* The transfer that a step belongs to: the step is the transfer, its hand-over to a waiter, or part
 * of the instruction that starts it. Returns that instruction; NTK_NO_INDEX: none. */
uint32_t ntk_advice_transfer_of(const struct ntk_advice_input *input, size_t step);

/* The instructions of each core that have started so far, and the end of the latest one. */
#define NTK_ADVICE_SWEEP_CORES 64
struct ntk_advice_sweep {
    struct ntk_advice_sweep_core {
        size_t next;
        int64_t until_ps;
    } cores[NTK_ADVICE_SWEEP_CORES];
};
/* The time of the step in which no instruction executes. Steps come in order. */
int64_t ntk_advice_free_ps(const struct ntk_advice_input *input, struct ntk_advice_sweep *sweep,
                           const struct ntk_path_step *step);
/* The share of the queue `name` in the path. */
double ntk_advice_queue_path(const struct ntk_advice_list *list, const char *name);
/* ", most at attn.py:394 for attn.py:12 (12.345 us)": the most expensive lines, for a cost with
 * per_unit of each unit; "" if no lines are known. what is "at" or "started at". Returns buf, of
 * NTK_ADVICE_LINES_BYTES. */
const char *ntk_advice_lines(const struct ntk_advice_list *list, const struct ntk_line_costs *costs,
                             const char *what, double per_unit, const char *unit, char *buf);

/* Whether the tensor engine reaches the share of its peak that TENSOR_RATE requires. */
bool ntk_advice_is_compute_bound(const struct ntk_advice_list *list);
/* Transposes, as a share of all operations of the tensor engine; 0: unknown. */
double ntk_advice_transpose_ratio(const struct ntk_advice_list *list);

void ntk_advice_errors(struct ntk_advice_list *list);
/* Called before the rest: reports which records the capture lacks, and removes from known the figures that
 * need them. */
void ntk_advice_incomplete(struct ntk_advice_list *list, struct ntk_advice_input *known);
/* The path comes first, because others need its parts. Each adds the advice of its rules. */
void ntk_advice_path(struct ntk_advice_list *list);
void ntk_advice_idle(struct ntk_advice_list *list);
void ntk_advice_dma(struct ntk_advice_list *list);
void ntk_advice_round_trips(struct ntk_advice_list *list);
void ntk_advice_tensors(struct ntk_advice_list *list);
void ntk_advice_tensor_engine(struct ntk_advice_list *list);

#endif
