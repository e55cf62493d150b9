/* SPDX-License-Identifier: MIT */
/*
 * executions - how many executions a capture of a core holds, and when each was.
 *
 * A capture of several executions has them one after the other without a mark where one ends. A
 * program runs from its first instruction to its last, so an execution begins where an engine
 * continues with its first instruction right after its last one, and all engines must have started
 * as often. What a loop repeats does not look so: the instruction that ends a program is behind it.
 *
 * Owner:   ntk_executions_fini() frees. Threads: pure.
 */
#ifndef NTK_PROFILER_ANALYSIS_EXECUTIONS_H
#define NTK_PROFILER_ANALYSIS_EXECUTIONS_H

#include "profiler/trace/trace.h"

/* More are not told apart. */
#define NTK_EXECUTIONS_MAX 100000U

struct ntk_execution {
    int64_t start_ps, end_ps; /* of its instructions */
};

/* count 0: unknown. */
struct ntk_executions {
    struct ntk_execution *items;
    size_t count;
};

/* 0 or -ENOMEM. */
int ntk_analysis_executions(const struct ntk_trace_core *core,
                            struct ntk_executions *out_executions);
void ntk_executions_fini(struct ntk_executions *executions);

#endif
