/* SPDX-License-Identifier: MIT */
/*
 * bubbles - lists the gaps of each engine, with length and cause.
 *
 * A gap is a longest stretch of the execution in which an engine does not work (idle_reasons.h). It
 * may have parts with different reasons: a wait, then issue. Its cause is the reason with most of
 * its time, or the earlier of two equal ones. So the gaps of an engine add up to its idle time, and
 * the gaps of all causes to the idle time of all engines.
 *
 * A cause is the engine and operation, or the DMA queue, that ended the wait. Semaphores of one
 * queue or one operation are one cause. Beyond NTK_BUBBLE_CAUSES_MAX causes, new causes have
 * neither operation nor queue.
 *
 * Errors:  -ENOMEM, or -ENODATA if the capture does not record the length of the execution.
 *
 * Owner:   the caller provides the storage of the result; ntk_bubbles_fini() frees its content. The
 *          program owns names of queues.
 */
#ifndef NTK_PROFILER_ANALYSIS_BUBBLES_H
#define NTK_PROFILER_ANALYSIS_BUBBLES_H

#include "profiler/analysis/idle_reasons.h"

#define NTK_BUBBLES_LIMIT 100
#define NTK_BUBBLES_LIMIT_MAX 100000
#define NTK_BUBBLE_CAUSES_MAX 1024

struct ntk_bubble {
    size_t core; /* index in the trace */
    uint8_t engine;
    size_t cause; /* index in the causes */
    int64_t start_ps, end_ps;
    int64_t cause_ps; /* time due to the cause; the rest has other reasons */
    uint32_t next;    /* instruction after the gap; NTK_NO_INDEX if the execution ended */
    /* The root of the cause's longest wait, if it is not the cause itself. */
    bool has_root, is_root_unknown;
    struct ntk_chain_link root;
};

struct ntk_bubble_cause {
    enum ntk_idle_reason reason;
    /* For NTK_IDLE_ENGINE and _DMA: the link that ended the wait; part_ps is 0 */
    struct ntk_chain_link maker;
    uint64_t count;             /* number of gaps */
    int64_t gaps_ps;            /* total duration of the gaps */
    int64_t cause_ps;           /* part of gaps_ps due to the cause */
    size_t bubble_count;        /* at most the limit */
    struct ntk_bubble *bubbles; /* longest gaps of the cause, by length, then time */
};

struct ntk_bubbles_options {
    size_t limit;     /* maximum number of listed gaps per cause; 0 for NTK_BUBBLES_LIMIT */
    unsigned engines; /* one bit per selected engine; 0 for all */
};

struct ntk_bubbles {
    int64_t total_ps; /* length of the execution */
    size_t engine_count;
    uint64_t count; /* number of gaps */
    int64_t idle_ps;
    size_t cause_count;
    /* By descending time, but NTK_IDLE_END is last, because it cannot be shortened. */
    struct ntk_bubble_cause *causes;
};

/* options is NULL for the defaults. */
int ntk_analysis_bubbles(const struct ntk_program *program,
                         const struct ntk_dependencies *dependencies,
                         const struct ntk_bubbles_options *options,
                         struct ntk_bubbles *out_bubbles);
void ntk_bubbles_fini(struct ntk_bubbles *bubbles);

#endif
