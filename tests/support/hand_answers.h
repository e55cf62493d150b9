/* SPDX-License-Identifier: MIT */
/*
 * hand_answers - all analyses of a hand-made trace at once.
 *
 * Some relations hold for every trace: idle reasons and gaps add up to the idle time, the steps of
 * the critical path are contiguous and as long as the execution, parts add up to their total,
 * shares are fractions. hand_answers_ask() asserts all of that, so a test only states what is
 * special about its own trace.
 */
#ifndef NTK_TESTS_HAND_ANSWERS_H
#define NTK_TESTS_HAND_ANSWERS_H

#include "profiler/analysis/bubbles.h"
#include "profiler/analysis/cost_table.h"
#include "profiler/analysis/critical_path.h"
#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/idle_reasons.h"
#include "profiler/analysis/roofline.h"
#include "profiler/analysis/transfers.h"
#include "tests/support/hand_trace.h"

struct hand_answers {
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_critical_path
        path; /* with idle and roofline: empty if the length of the execution is unknown */
    struct ntk_idle_reasons idle;
    struct ntk_bubbles bubbles; /* all of them; empty like idle */
    struct ntk_cost_table costs;
    struct ntk_dma_efficiency dma;
    struct ntk_transfers transfers;
    bool has_roofline;
    struct ntk_roofline roofline;
};

/* Ends the trace (hand_trace_end), which must stay until _done. Fails the test if a sum does not
 * hold. */
void hand_answers_ask(struct hand_trace *h, struct hand_answers *out_answers);
/* The same with source positions, which the program then owns. */
void hand_answers_ask_with(struct hand_trace *h, struct ntk_neff_positions *positions,
                           struct hand_answers *out_answers);
/* Also frees the trace. */
void hand_answers_done(struct hand_trace *h, struct hand_answers *answers);

#endif
