/* SPDX-License-Identifier: MIT */
/*
 * host_gaps - computes the idle time of a core between two executions, by activity of the host.
 *
 * A gap is from the end of one run of a core to the start of its next, in host time. Each moment
 * belongs to one cause, the first that applies: tensors moved, a model loaded or unloaded, an
 * execution prepared or finished by the runtime, another call running, or none: the application did
 * other work. Only calls for that core count, from any thread.
 *
 * Returns 0 or -errno; long lists are stored in files.
 *
 * Owner:   the caller provides the storage of the result; ntk_host_gaps_fini() frees its content.
 */
#ifndef NTK_PROFILER_ANALYSIS_HOST_GAPS_H
#define NTK_PROFILER_ANALYSIS_HOST_GAPS_H

#include "profiler/system/system_trace.h"

enum ntk_gap_cause {
    NTK_GAP_TENSORS,
    NTK_GAP_MODEL,
    NTK_GAP_EXECUTION,
    NTK_GAP_OTHER_CALL,
    NTK_GAP_APPLICATION,
    NTK_GAP_CAUSE_COUNT
};

struct ntk_gap_core {
    uint32_t nc;
    uint64_t run_count; /* number of runs with start and end, on the first physical core */
    uint64_t run_ns;
    uint64_t span_ns; /* from the first start to the last end: runs and gaps */
    uint64_t gap_count;
    uint64_t gap_ns, median_ns, longest_ns;
    uint64_t longest_at_ns;                 /* ns since 1970 */
    uint64_t cause_ns[NTK_GAP_CAUSE_COUNT]; /* adds up to gap_ns */
};

struct ntk_host_gaps {
    size_t core_count;
    struct ntk_gap_core *cores; /* by number; only cores that ran */
};

int ntk_analysis_host_gaps(const struct ntk_system_trace *trace, struct ntk_host_gaps *out_gaps);
void ntk_host_gaps_fini(struct ntk_host_gaps *gaps);
/* Returns a name such as "tensors" or "model". */
const char *ntk_gap_cause_name(enum ntk_gap_cause cause);

#endif
