/* SPDX-License-Identifier: MIT */
/*
 * rank_skew - computes the time between the first and last rank to start the same operation, the
 * late rank, and the cost of collectives.
 *
 * The n-th span of a kind on one rank matches the n-th span on every other rank, counted from the
 * end if rings lost (old) events. A rank is a worker of the system traces. Kinds are executions
 * (nc_exec_running), collectives (cc_running) and their barriers (cc_exec_barrier). The last rank
 * to begin is the late rank: all others wait for it. Times are host times, so differences between
 * machines include differences of their clocks.
 *
 * Returns 0 or -errno; long lists are stored in files.
 *
 * Owner:   the caller provides the storage of the result; ntk_rank_skew_fini() frees its content.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_SKEW_H
#define NTK_PROFILER_ANALYSIS_RANK_SKEW_H

#include "profiler/system/system_trace.h"

struct ntk_skew_rank {
    uint32_t worker;
    uint64_t span_count;
    uint64_t total_ns;   /* time in spans of the kind */
    uint64_t late_count; /* number of steps in which it was the last to start */
    uint64_t behind_ns;  /* time after the first to start, over all spans */
    uint64_t waited_ns;  /* time waited for the last to start */
};

struct ntk_skew_kind {
    const char *type;
    uint64_t step_count;                      /* number of steps that all ranks have */
    uint64_t most_count;                      /* number of spans in the rank with the most */
    bool is_from_end;                         /* counted from the last span */
    uint64_t skew_ns, median_ns, greatest_ns; /* last begin - first begin: sum, median, maximum */
    uint64_t greatest_at_ns;                  /* start of that step, since 1970 */
    size_t rank_count;
    struct ntk_skew_rank *ranks; /* by number */
};

struct ntk_rank_skew {
    size_t kind_count; /* number of kinds that at least two ranks have */
    struct ntk_skew_kind *kinds;
};

int ntk_analysis_rank_skew(const struct ntk_system_trace *const *traces, size_t trace_count,
                           struct ntk_rank_skew *out_skew);
void ntk_rank_skew_fini(struct ntk_rank_skew *skew);

#endif
