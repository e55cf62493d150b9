/* SPDX-License-Identifier: MIT */
/*
 * what_if_private - the state of one walk of what_if_time.h, and its parts: factors (what the
 * changes are for an instruction), instructions and packets (when each starts and ends).
 *
 * Was: as measured. Is: timed again.
 *
 * Owner:   the walk owns everything. Threads: one at a time per walk.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_PRIVATE_H

#include "profiler/analysis/what_if_time.h"

struct ntk_moved { /* a transfer */
    int64_t start_was_ps, start_is_ps;
    int64_t end_was_ps, end_is_ps;
    /* Including earlier ones of its queue: a queue signals only after they are complete. */
    int64_t done_was_ps, done_is_ps;
    uint32_t left;  /* packets */
    uint32_t next;  /* transfer of the queue; NTK_NO_INDEX: none */
    uint32_t queue; /* 1 + index in queues; 0: unknown */
    bool is_done;   /* done_was_ps and done_is_ps are valid */
};

struct ntk_moved_queue {
    uint32_t first, last; /* transfers: the first incomplete one */
    int64_t was_ps, is_ps;
};

struct ntk_moved_lane { /* a DMA engine */
    bool is_used;
    uint8_t queue;   /* of the last packet */
    uint32_t number; /* 1 + transfer of the last packet */
    int64_t start_was_ps, start_is_ps, end_was_ps, end_is_ps;
    int64_t covered_ps, busy_ps;
};

struct ntk_retime {
    struct ntk_retimed *to;
    const struct ntk_trace_core *core;
    struct ntk_moment *moments;
    struct ntk_moved *moved;
    struct ntk_moved_queue *queues;
    struct ntk_moved_lane *lanes;
    size_t lane_count;
    uint32_t pending[NTK_NTFF_ENGINE_COUNT]; /* started, and waits inside itself */
    int64_t covered_ps[NTK_NTFF_ENGINE_COUNT];
    /* The shortest measured time between a cause and what it releases. */
    int64_t issue_ps[NTK_NTFF_ENGINE_COUNT], release_ps[NTK_NTFF_ENGINE_COUNT], begin_ps;
    double engine_factors[NTK_NTFF_ENGINE_COUNT]; /* of durations */
    double dma_factor, begin_factor, latency_factor;
    bool has_single; /* changes of single instructions */
};

/* The latest of several predecessors. */
struct ntk_retime_bound {
    int64_t was_ps, is_ps;
    uint32_t from;
    enum ntk_moment_cause cause;
};

static inline int64_t ntk_retime_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ntk_retime_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Files may have any times: saturates at the largest number. */
static inline int64_t ntk_retime_sum(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static inline int64_t ntk_retime_scaled(int64_t ps, double factor)
{
    double scaled = (double)ps * factor;

    if (factor == 1) {
        return ps;
    }
    return scaled < 0x1p62 ? (scaled > -0x1p62 ? (int64_t)(scaled + 0.5) : -((int64_t)1 << 62))
                           : (int64_t)1 << 62;
}

static inline const struct ntk_slot_fact *ntk_retime_fact(const struct ntk_retime *r, uint32_t item)
{
    return ntk_program_fact(r->to->program, r->to->core, &r->core->instructions[item]);
}

void ntk_retime_bind(struct ntk_retime_bound *bound, int64_t was_ps, int64_t is_ps, uint32_t from,
                     enum ntk_moment_cause cause);
/* The new start of something measured at start_ps. *kept_ps is the time before it that the bound
 * does not explain; a tight walk drops it, unless is_known is false. */
int64_t ntk_retime_start_ps(const struct ntk_retime *r, const struct ntk_retime_bound *bound,
                            int64_t start_ps, bool is_known, int64_t *kept_ps);

/* ---- what_if_factors ---- */

void ntk_retime_read_changes(struct ntk_retime *r);
/* The factor for the duration of an instruction. */
double ntk_retime_factor(const struct ntk_retime *r, uint32_t item);
bool ntk_retime_is_wait_removed(const struct ntk_retime *r, uint32_t item);

/* ---- what_if_instructions ---- */

/* In order of their measured start. */
void ntk_retime_instruction(struct ntk_retime *r, uint32_t item);
/* Completes those that started and end until then, earliest first. */
void ntk_retime_finish_until(struct ntk_retime *r, int64_t time_ps);

/* ---- what_if_packets ---- */

/* Links the transfers of each queue; sets up the DMA engines. 0 or -ENOMEM. */
int ntk_retime_prepare_packets(struct ntk_retime *r);
/* In order of their measured start. */
void ntk_retime_packet(struct ntk_retime *r, size_t index);
/* When the change by the transfer of an instruction occurs. False: unknown. */
bool ntk_retime_change_of_transfer(struct ntk_retime *r, uint32_t by, int64_t change_ps,
                                   int64_t *out_ps);

/* Called after this many steps of a loop: returns memory of long lists. */
void ntk_retime_passed(const struct ntk_retime *r, size_t looks);

#endif
