/* SPDX-License-Identifier: MIT */
/*
 * advice - lists the problems to fix first, each with its evidence.
 *
 * advice.def has the rules with their thresholds. A rule without a known number reports no advice,
 * and all advice has its number. share is the affected part of the execution. The list is ordered
 * by the estimated gain, which has an upper bound; docs/advice.md describes the estimate of each
 * rule. If source lines are known, a message names the most expensive line and, for waits, the line
 * that it waits for.
 *
 * Owner:   the caller provides the storage; _fini frees the content, which includes the texts.
 *          Errors: -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_ADVICE_H
#define NTK_PROFILER_ANALYSIS_ADVICE_H

#include "profiler/analysis/cost_table.h"
#include "profiler/analysis/critical_path.h"
#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/idle_reasons.h"
#include "profiler/analysis/tensor_traffic.h"
#include "profiler/analysis/transfers.h"

enum ntk_advice_rule {
#define NTK_ADVICE(symbol, id, threshold, measured, what) NTK_ADVICE_##symbol,
#include "profiler/analysis/advice.def"
    NTK_ADVICE_RULE_COUNT
};

struct ntk_advice_input { /* NULL members are unknown */
    const struct ntk_program *program;
    const struct ntk_idle_reasons *idle;
    const struct ntk_critical_path *path;
    const struct ntk_cost_table *costs;
    const struct ntk_dma_efficiency *dma;
    const struct ntk_hbm_traffic *hbm;
    const struct ntk_tensor_traffic *tensors;
    const struct ntk_transfers *transfers;
};

struct ntk_advice_item {
    enum ntk_advice_rule rule;
    double value; /* measured value */
    double share; /* affected share of the execution */
    bool has_gain;
    double gain, gain_bound; /* estimate and maximum, as shares of the execution */
    const char *what;        /* recommendation */
    char text[512];          /* message with the measured value */
};

struct ntk_advice {
    double total_ps; /* length of the execution */
    size_t count;
    /* First errors and many missing records, then the rest by descending estimated gain; items
     * without an estimate come last. */
    struct ntk_advice_item *items;
};

int ntk_analysis_advice(const struct ntk_advice_input *input, struct ntk_advice *out_advice);
void ntk_advice_fini(struct ntk_advice *advice);

const char *ntk_advice_id(enum ntk_advice_rule rule);
double ntk_advice_threshold(enum ntk_advice_rule rule);
const char *ntk_advice_measured(enum ntk_advice_rule rule);
/* Returns the recommendation of a rule. */
const char *ntk_advice_what(enum ntk_advice_rule rule);

#endif
