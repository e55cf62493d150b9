/* SPDX-License-Identifier: MIT */
/* advice_private - what the files of advice share while the list is made. */
#ifndef NTK_PROFILER_ANALYSIS_ADVICE_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_ADVICE_PRIVATE_H

#include "profiler/analysis/advice.h"
#include "profiler/analysis/line_costs.h"
#include "shared/base/vec.h"

/* Queues and engines that hardly worked give no advice about how they worked. */
#define NTK_ADVICE_SMALL_ACTIVE_RATIO 0.05
#define NTK_ADVICE_ACTIVE_RATIO 0.10

#define NTK_ADVICE_LINES_BYTES 200

struct ntk_advice_list {
    const struct ntk_advice_input *input;
    double total_ps;
    struct ntk_vec items; /* struct ntk_advice_item */
    int failed;
};

/* Adds the advice of a rule whose number is beyond its threshold. */
__attribute__((format(printf, 5, 6))) void ntk_advice_judge(struct ntk_advice_list *list,
                                                            enum ntk_advice_rule rule, double value,
                                                            double share, const char *format, ...);
/* ", most at attn.py:394 for attn.py:12 (12.345 us)": the most expensive lines, where cost has
 * per_unit of each unit; "" where no lines are known. what is "at" or "started at". Returns buf, of
 * NTK_ADVICE_LINES_BYTES. */
const char *ntk_advice_lines(const struct ntk_advice_list *list, const struct ntk_line_costs *costs,
                             const char *what, double per_unit, const char *unit, char *buf);

/* The tensor engine does at least as much of its peak as TENSOR_RATE demands. */
bool ntk_advice_is_compute_bound(const struct ntk_advice_list *list);

/* Each adds what its numbers say. */
void ntk_advice_path(struct ntk_advice_list *list);
void ntk_advice_idle(struct ntk_advice_list *list);
void ntk_advice_dma(struct ntk_advice_list *list);
void ntk_advice_round_trips(struct ntk_advice_list *list);
void ntk_advice_tensors(struct ntk_advice_list *list);
void ntk_advice_tensor_engine(struct ntk_advice_list *list);

#endif
