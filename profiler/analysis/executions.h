/* SPDX-License-Identifier: MIT */
/*
 * executions - the number and times of the executions in a capture of a core.
 *
 * A capture of several executions has no marks between them. A program runs from its first
 * instruction to its last, so an execution starts where an engine continues with its first
 * instruction right after its last one, and all engines must have the same number of starts. A loop
 * is different, because it does not include the last instruction of the program.
 *
 * Owner: ntk_executions_fini() frees. Threads: pure.
 */
#ifndef NTK_PROFILER_ANALYSIS_EXECUTIONS_H
#define NTK_PROFILER_ANALYSIS_EXECUTIONS_H

#include "profiler/trace/trace.h"

/* More executions are not distinguished. */
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
