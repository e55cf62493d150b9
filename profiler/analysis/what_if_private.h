/* SPDX-License-Identifier: MIT */
/*
 * what_if_private - the state of one walk of what_if_time.h, and its parts: factors (the effect of
 * changes on an instruction), instructions and packets (their start and end).
 *
 * "was" in a name means measured; other times are recomputed.
 *
 * Owner:   the walk owns all data. Threads: one at a time per walk.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_PRIVATE_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_PRIVATE_H

#include <string.h>

#include "profiler/analysis/what_if_time.h"

/* Placed before a function with loops over rows: it is also compiled for AVX2, if the compiler and
 * the loader support this. The results are the same. Sanitizers are not ready when the loader
 * selects a version. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NTK_RETIME_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define NTK_RETIME_CLONES
#endif

struct ntk_moment { /* recomputed times of an instruction */
    struct ntk_lanes start, own, end;
    uint32_t item;
    bool is_done; /* own and end are known */
};

/* Number of recent moments; earlier ones are recomputed from the stored data of each
 * instruction. */
#define NTK_RETIME_RECENT 512U
/* Number of moments kept per engine: its last instruction, and its holder. */
#define NTK_RETIME_KEPT 2

struct ntk_moved { /* a transfer */
    int64_t start_was_ps, end_was_ps;
    struct ntk_lanes start, end;
    /* Includes earlier transfers of its queue: a queue does not signal before they are complete. */
    int64_t done_was_ps;
    struct ntk_lanes done;
    uint32_t left;  /* number of remaining packets */
    uint32_t next;  /* next transfer of the queue; NTK_NO_INDEX if none */
    uint32_t queue; /* 1 + index in queues; 0 if unknown */
    bool is_done;   /* done_was_ps and done are known */
};

struct ntk_moved_queue {
    uint32_t first, last; /* range of transfers: from the first that is not done */
    int64_t was_ps;
    struct ntk_lanes is;
};

struct ntk_moved_lane { /* a DMA engine */
    bool is_used;
    uint8_t queue;   /* queue of the last packet */
    uint32_t number; /* 1 + transfer of the last packet */
    int64_t start_was_ps, end_was_ps;
    struct ntk_lanes start, end;
    int64_t covered_ps, busy_was_ps;
    struct ntk_lanes busy;
};

/* Rows in which an item takes a different time: so few that each is listed. */
struct ntk_retime_changed {
    size_t count;
    uint8_t lanes[NTK_RETIME_LANES];
    double factors[NTK_RETIME_LANES];
};

struct ntk_retime {
    struct ntk_retimed *to;
    struct ntk_retime *group; /* the walks of all cores of its group, itself included */
    const struct ntk_retime_input *input;
    size_t next_item, next_packet;
    const struct ntk_trace_core *core;
    struct ntk_moment *recent; /* NTK_RETIME_RECENT moments, by item */
    /* NTK_RETIME_KEPT moments for each engine that are no longer in recent */
    struct ntk_moment *kept;
    struct ntk_moment *again[2];
    unsigned again_next;
    struct ntk_moved *moved;
    struct ntk_moved_queue *queues;
    size_t queue_count;
    struct ntk_moved_lane *lanes;
    size_t lane_count;
    uint32_t previous[NTK_NTFF_ENGINE_COUNT];
    uint32_t pending[NTK_NTFF_ENGINE_COUNT]; /* started, and waits inside itself */
    int64_t pending_end_ps;                  /* earliest measured end of the pending instructions */
    int64_t covered_ps[NTK_NTFF_ENGINE_COUNT];
    /* Shortest measured time between a cause and the item that it releases. */
    int64_t issue_ps[NTK_NTFF_ENGINE_COUNT], release_ps[NTK_NTFF_ENGINE_COUNT], begin_ps;
    struct ntk_retime_changed dma, begin, latency;
    size_t execution; /* current one */
    int64_t from_ps;  /* its start, and the start of the next one; INT64_MAX if none */
    int64_t next_ps;
    struct ntk_retimed_end *ends; /* its rows */
    struct ntk_lanes end;         /* its end so far */
    uint32_t last[NTK_RETIME_LANES];
    uint32_t in_moved; /* bit of each row that ends in a transfer */
    int failed;
};

/* Files may have any times. Times are limited to this distance from the start (13 days), so that
 * sums of several times do not overflow, and a time and a cause fit in one number. */
#define NTK_RETIME_LIMIT_PS ((INT64_C(1) << 60) - 1)

static inline int64_t ntk_retime_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ntk_retime_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t ntk_retime_limited(int64_t ps)
{
    return ntk_retime_smaller(ntk_retime_larger(ps, -NTK_RETIME_LIMIT_PS), NTK_RETIME_LIMIT_PS);
}

static inline int64_t ntk_retime_scaled(int64_t ps, double factor)
{
    double scaled = (double)ps * factor;

    if (factor == 1) {
        return ps;
    }
    return scaled < 0x1p60 ? (scaled > -0x1p60 ? (int64_t)(scaled + 0.5) : -NTK_RETIME_LIMIT_PS)
                           : NTK_RETIME_LIMIT_PS;
}

static inline void ntk_lanes_fill(struct ntk_lanes *lanes, int64_t ps)
{
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        lanes->ps[k] = ps;
    }
}

/* Computes the time after `from`, which may be `out` itself, for a duration of ps; some rows have a
 * different duration. */
static inline void ntk_lanes_after(struct ntk_lanes *out, const struct ntk_lanes *from, int64_t ps,
                                   const struct ntk_retime_changed *changed)
{
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        out->ps[k] = ntk_retime_limited(from->ps[k] + ps);
    }
    for (size_t i = 0; i < changed->count; i++) {
        int64_t *at_ps = &out->ps[changed->lanes[i]];
        *at_ps = ntk_retime_limited(*at_ps - ps + ntk_retime_scaled(ps, changed->factors[i]));
    }
}

/* Computes the time between start and end with the same share as before_ps has of whole_ps. */
static inline void ntk_lanes_share(struct ntk_lanes *out, const struct ntk_lanes *start,
                                   const struct ntk_lanes *end, int64_t before_ps, int64_t whole_ps)
{
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        int64_t is_ps = end->ps[k] - start->ps[k];
        int64_t part_ps = before_ps;

        if (is_ps != whole_ps) {
            part_ps = ntk_retime_scaled(before_ps, (double)is_ps / (double)whole_ps);
        }
        out->ps[k] = ntk_retime_limited(start->ps[k] + part_ps);
    }
}

static inline void ntk_lanes_larger(struct ntk_lanes *of, const struct ntk_lanes *other)
{
    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        of->ps[k] = ntk_retime_larger(of->ps[k], other->ps[k]);
    }
}

static inline const struct ntk_slot_fact *ntk_retime_fact(const struct ntk_retime *r, uint32_t item)
{
    return ntk_program_fact(r->to->program, r->to->core, &r->core->instructions[item]);
}

/* Returns true if the instruction belongs to an earlier execution. */
static inline bool ntk_retime_is_before(const struct ntk_retime *r, uint32_t item)
{
    return r->execution > 0 && r->core->instructions[item].start_ps < r->from_ps;
}

/* Returns the walk of another core in the group; NULL if it is not in the group. */
static inline struct ntk_retime *ntk_retime_of_core(const struct ntk_retime *r, size_t core)
{
    const struct ntk_retimed *of = ntk_retimed_of_core(r->to, core);

    return of ? &r->group[of - r->to->group] : NULL;
}

/* The latest of the preconditions. */
struct ntk_retime_bound {
    bool is_first; /* true if there is none */
    int64_t was_ps;
    struct ntk_lanes is;
    uint8_t causes[NTK_RETIME_ROWS];
};

/* Initialises a bound without preconditions, at the start of the execution. */
static inline void ntk_retime_bound_init(const struct ntk_retime *r, struct ntk_retime_bound *bound)
{
    bound->is_first = true;
    bound->was_ps = r->from_ps;
    ntk_lanes_fill(&bound->is, r->from_ps);
    memset(bound->causes, NTK_MOMENT_FIRST, sizeof bound->causes);
}

static inline void ntk_retime_bind(struct ntk_retime_bound *bound, int64_t was_ps,
                                   const struct ntk_lanes *is, enum ntk_moment_cause cause)
{
    if (bound->is_first) {
        bound->is_first = false;
        memset(bound->causes, (int)cause, sizeof bound->causes);
    } else {
        for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
            bound->causes[k] = is->ps[k] > bound->is.ps[k] ? (uint8_t)cause : bound->causes[k];
        }
        if (was_ps > bound->was_ps) {
            bound->causes[NTK_RETIME_MEASURED] = (uint8_t)cause;
        }
    }
    ntk_lanes_larger(&bound->is, is);
    bound->was_ps = ntk_retime_larger(bound->was_ps, was_ps);
}

/* Computes the start of an item that was measured at start_ps. Returns the time before it that the
 * bound does not explain; a tight row drops it, unless is_known is false. */
static inline int64_t ntk_retime_start(const struct ntk_retime *r,
                                       const struct ntk_retime_bound *bound, int64_t start_ps,
                                       bool is_known, struct ntk_lanes *out)
{
    int64_t after_ps = start_ps - bound->was_ps;
    int64_t kept_ps = bound->is_first ? 0 : after_ps;

    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        out->ps[k] = ntk_retime_limited(bound->is.ps[k] + after_ps);
    }
    size_t tight = r->to->special.tight;
    if (tight < r->to->row_count && is_known && kept_ps > 0) {
        out->ps[tight] = ntk_retime_limited(bound->is.ps[tight]);
    }
    return kept_ps;
}

/* In special rows, an item that was measured at start_ps starts then, or as early as its bound
 * allows. */
static inline void ntk_retime_set_special(const struct ntk_retime *r,
                                          const struct ntk_retime_bound *bound, int64_t start_ps,
                                          struct ntk_lanes *out)
{
    const struct ntk_retime_special *special = &r->to->special;

    if (special->late < r->to->row_count) {
        out->ps[special->late] =
            ntk_retime_larger(ntk_retime_limited(bound->is.ps[special->late]), start_ps);
        out->ps[special->early] = ntk_retime_limited(bound->is.ps[special->early]);
    }
}

/* Updates the rows in which an item ends later than all previous items. */
static inline void ntk_retime_end(struct ntk_retime *r, const struct ntk_lanes *end, uint32_t item,
                                  bool is_moved)
{
    bool is_later = !is_moved && r->last[0] == NTK_NO_INDEX;

    for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
        is_later |= end->ps[k] > r->end.ps[k];
    }
    for (size_t k = 0; is_later && k < NTK_RETIME_LANES; k++) {
        if (end->ps[k] > r->end.ps[k] || (!is_moved && r->last[k] == NTK_NO_INDEX)) {
            r->end.ps[k] = end->ps[k];
            r->last[k] = item;
            r->in_moved = (r->in_moved & ~(1U << k)) | (unsigned)is_moved << k;
        }
    }
}

/* ---- what_if_factors ---- */

/* Returns 0 or -ENOMEM. */
int ntk_retime_read_changes(struct ntk_retime *r);
/* Return the rows in which the instruction takes a different time, and the rows in which it does
 * not wait. */
uint32_t ntk_retimed_changed_rows(const struct ntk_retimed *retimed, uint32_t item);
uint32_t ntk_retimed_unwaited_rows(const struct ntk_retimed *retimed, uint32_t item);
/* Returns the rows with other rules for what comes from outside the captured cores. */
static inline uint32_t ntk_retimed_rule_rows(const struct ntk_retimed *retimed)
{
    const struct ntk_retime_special *special = &retimed->special;

    return special->late < retimed->row_count ? 1U << special->late | 1U << special->early : 0;
}
/* Returns the factor for an instruction's duration. */
double ntk_retimed_factor(const struct ntk_retimed *retimed, uint32_t item, size_t lane);

/* ---- what_if_instructions ---- */

/* Recomputes an instruction; must be called in order of measured start. */
void ntk_retime_instruction(struct ntk_retime *r, uint32_t item);
/* Finishes instructions that have started and end until then, the earliest first. */
void ntk_retime_finish_pending(struct ntk_retime *r, int64_t time_ps);
static inline void ntk_retime_finish_until(struct ntk_retime *r, int64_t time_ps)
{
    if (r->pending_end_ps <= time_ps) {
        ntk_retime_finish_pending(r, time_ps);
    }
}
/* Returns a moment, borrowed until the second call after this one. */
const struct ntk_moment *ntk_retime_moment(struct ntk_retime *r, uint32_t item);

/* ---- what_if_packets ---- */

/* Links the transfers of each queue, and sets up the DMA engines. Returns 0 or -ENOMEM. */
int ntk_retime_prepare_packets(struct ntk_retime *r);
/* Recomputes a packet; must be called in order of measured start. */
void ntk_retime_packet(struct ntk_retime *r, size_t index);
/* Computes the time of the change by an instruction's transfer. Returns false if unknown. */
bool ntk_retime_change_of_transfer(struct ntk_retime *r, uint32_t by, int64_t change_ps,
                                   struct ntk_lanes *out);

/* Called after this many steps of a loop: returns memory of long lists to the system. */
void ntk_retime_passed(const struct ntk_retime *r, size_t looks);

/* ---- what_if_run ---- */

struct ntk_what_if_input {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    struct ntk_dependencies dependencies;
    struct ntk_progress *progress; /* NULL if not needed */
};

/* Retimes all cores for the changes of all rows, and sets their results. Unless what_if is NULL,
 * also finds the paths, except those of special rows, and the result without a change. Returns 0,
 * -ENOMEM or -errno of a long list. */
int ntk_what_if_run(const struct ntk_what_if_input *input, struct ntk_what_if_row *const *rows,
                    size_t count, const struct ntk_retime_special *special,
                    struct ntk_what_if *what_if);

#endif
