/* SPDX-License-Identifier: MIT */
/*
 * rank_skew - how far apart do the ranks of a job begin the same operation, which is late, what do
 * collectives cost?
 *
 * The n-th span of a kind on one rank belongs with the n-th on every other; where rings lost
 * events, which are the oldest, the n-th from the end. A rank is a worker of the system traces.
 * Kinds are executions (nc_exec_running), collectives (cc_running) and their barriers
 * (cc_exec_barrier). The last rank to begin is the late one: all others wait for it. Times are host
 * times; ranks of several machines are as far apart as their clocks.
 *
 * Pure: traces to result; 0 or -errno: long lists go to files.
 *
 * Owner:   the result is the caller's storage; ntk_rank_skew_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_RANK_SKEW_H
#define NTK_PROFILER_ANALYSIS_RANK_SKEW_H

#include "profiler/system/system_trace.h"

struct ntk_skew_rank {
    uint32_t worker;
    uint64_t span_count;
    uint64_t total_ns;   /* in spans of the kind */
    uint64_t late_count; /* it was the last to begin */
    uint64_t behind_ns;  /* after the first to begin, all spans together */
    uint64_t waited_ns;  /* for the last to begin */
};

struct ntk_skew_kind {
    const char *type;
    uint64_t step_count;                      /* that all ranks have */
    uint64_t most_count;                      /* spans of the rank that has most */
    bool is_from_end;                         /* counted from the last one */
    uint64_t skew_ns, median_ns, greatest_ns; /* last begin - first begin: sum, median, greatest */
    uint64_t greatest_at_ns;                  /* since 1970: its first begin */
    size_t rank_count;
    struct ntk_skew_rank *ranks; /* by number */
};

struct ntk_rank_skew {
    size_t kind_count; /* those that two ranks or more have */
    struct ntk_skew_kind *kinds;
};

int ntk_analysis_rank_skew(const struct ntk_system_trace *const *traces, size_t trace_count,
                           struct ntk_rank_skew *out_skew);
void ntk_rank_skew_fini(struct ntk_rank_skew *skew);

#endif
