/* SPDX-License-Identifier: MIT */
/* advice_private - common code of the advice files, used while the list is built. */
#ifndef NTK_PROFILER_ANALYSIS_ADVICE_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_ADVICE_PRIVATE_H

#include "profiler/analysis/advice.h"
#include "profiler/analysis/line_costs.h"
#include "shared/base/vec.h"

/* Minimum active share for advice about the work of a queue or engine. */
#define NTK_ADVICE_SMALL_ACTIVE_RATIO 0.05
#define NTK_ADVICE_ACTIVE_RATIO 0.10

#define NTK_ADVICE_LINES_BYTES 200

/* Parts of the path, as shares of the execution. */
struct ntk_advice_path_part {
    double path; /* share on the critical path */
    double free; /* part of path in which no engine executes */
};

struct ntk_advice_list {
    const struct ntk_advice_input *input;
    double total_ps;
    bool has_no_waits; /* the causes of engine waits are unknown */
    /* The members below are set if there is a path. */
    struct ntk_advice_path_part dma, spill_dma;
    /* Share of DMA, including hand-overs from DMA and the instructions that start it */
    double dma_bound;
    double tensor;         /* share of the tensor engine */
    double work;           /* share of engines and DMA, without work of the runtime */
    struct ntk_vec items;  /* elements are struct ntk_advice_item */
    struct ntk_vec limits; /* used by advice_what_if.c */
    int failed;
};

/* Adds the advice of a rule if its value exceeds the threshold; otherwise returns NULL. */
__attribute__((format(printf, 5, 6))) struct ntk_advice_item *
ntk_advice_judge(struct ntk_advice_list *list, enum ntk_advice_rule rule, double value,
                 double share, const char *format, ...);
/* Sets the estimated gain, limited by the maximum gain, as shares of the execution. item may be
 * NULL. */
void ntk_advice_gain(struct ntk_advice_item *item, double gain, double bound);

/* Limits the gain of the item later to the gain of these changes (what_if.h) plus other_gain, which
 * they do not include. item may be NULL; otherwise it must be the last item. */
__attribute__((format(printf, 4, 5))) void ntk_advice_limit(struct ntk_advice_list *list,
                                                            const struct ntk_advice_item *item,
                                                            double other_gain, const char *format,
                                                            ...);
/* The change that computes the gain for all transfers together. */
#define NTK_ADVICE_NO_DMA "dma,dma-latency"
void ntk_advice_limit_gains(struct ntk_advice_list *list);

/* Returns the instruction that started the transfer of a step: the step is the transfer, its
 * hand-over to a waiter, or part of this instruction. NTK_NO_INDEX if there is none. */
uint32_t ntk_advice_transfer_of(const struct ntk_advice_input *input, size_t step);

/* State of a sweep: the instructions of each core that have started so far, and the end of the
 * latest. */
#define NTK_ADVICE_SWEEP_CORES 64
struct ntk_advice_sweep {
    struct ntk_advice_sweep_core {
        size_t next;
        int64_t until_ps;
    } cores[NTK_ADVICE_SWEEP_CORES];
};
/* Returns the time of the step in which no instruction executes. Steps must be passed in order. */
int64_t ntk_advice_free_ps(const struct ntk_advice_input *input, struct ntk_advice_sweep *sweep,
                           const struct ntk_path_step *step);
/* Returns the share of the queue `name` in the path. */
double ntk_advice_queue_path(const struct ntk_advice_list *list, const char *name);
/* Writes the most expensive lines, such as ", most at attn.py:394 for attn.py:12 (12.345 us)", for
 * a cost with per_unit per unit; "" if no lines are known. `what` is "at" or "started at". Returns
 * buf, of NTK_ADVICE_LINES_BYTES. */
const char *ntk_advice_lines(const struct ntk_advice_list *list, const struct ntk_line_costs *costs,
                             const char *what, double per_unit, const char *unit, char *buf);

/* Returns true if the tensor engine reaches the share of its peak that TENSOR_RATE requires. */
bool ntk_advice_is_compute_bound(const struct ntk_advice_list *list);
/* Returns the transposes as a share of all operations on the tensor engine; 0 if unknown. */
double ntk_advice_transpose_ratio(const struct ntk_advice_list *list);

void ntk_advice_errors(struct ntk_advice_list *list);
/* Called before the rest: reports the records that the capture lacks, and removes the figures that
 * need them from `known`. */
void ntk_advice_incomplete(struct ntk_advice_list *list, struct ntk_advice_input *known);
/* Called after the rest: marks the findings that rest on a kind of record with many missing. */
void ntk_advice_caveats(struct ntk_advice_list *list);
/* Add the advice of their rules. ntk_advice_path() must be first, because the others need its
 * parts. */
void ntk_advice_path(struct ntk_advice_list *list);
void ntk_advice_gpsimd(struct ntk_advice_list *list);
void ntk_advice_idle(struct ntk_advice_list *list);
void ntk_advice_dma(struct ntk_advice_list *list);
void ntk_advice_round_trips(struct ntk_advice_list *list);
void ntk_advice_tensors(struct ntk_advice_list *list);
void ntk_advice_tensor_engine(struct ntk_advice_list *list);

#endif
