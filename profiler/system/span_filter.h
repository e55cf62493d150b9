/* SPDX-License-Identifier: MIT */
/*
 * span_filter - selects events of a system trace by core, type, machine and time window.
 *
 * Owner:   the caller provides the storage; texts are borrowed and must outlive it; nothing must be
 *          freed.
 * Threads: one filter, any number of readers.
 */
#ifndef NTK_PROFILER_SYSTEM_SPAN_FILTER_H
#define NTK_PROFILER_SYSTEM_SPAN_FILTER_H

#include "profiler/system/system_trace.h"

#define NTK_SPAN_FILTER_CORES_MAX 128

struct ntk_span_filter {
    bool has_cores;
    size_t core_count;
    uint32_t cores[NTK_SPAN_FILTER_CORES_MAX];
    /* Comma-separated lists; NULL for all. A word of types is a name, or a group: hardware,
     * software; a ^ before the word excludes it. */
    const char *types, *instances;
    /* The window since 1970: from its start on and before its end; 0 and UINT64_MAX mean open.
     * Spans that cross an end are clipped and partial. */
    uint64_t from_ns, to_ns;
    uint64_t first_ns; /* first event of all displayed traces; 0: of this trace */
};

/* Each text may be NULL for no filter. cores: such as "0,2-4". -EINVAL with a message. */
int ntk_span_filter_set(struct ntk_span_filter *filter, const char *cores, const char *types,
                        const char *instances, struct ntk_err *err);
/* Removes all other spans and samples; the trace then starts and ends with the window. Children of
 * a removed span move to its parent. Returns 0 or -ENOMEM. */
int ntk_span_filter_apply(const struct ntk_span_filter *filter, struct ntk_system_trace *trace);

#endif
