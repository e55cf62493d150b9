/* SPDX-License-Identifier: MIT */
/*
 * executions - finds the number and times of executions in the capture of a core.
 *
 * A capture of several executions has no marks between them. A program runs from its first
 * instruction to its last, so an execution starts where an engine continues with its first
 * instruction right after its last one, and all engines must have the same number of starts. A loop
 * is different, because it does not include the last instruction of the program.
 *
 * Owner: ntk_executions_fini() frees the result. Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_EXECUTIONS_H
#define NTK_PROFILER_ANALYSIS_EXECUTIONS_H

#include "profiler/trace/trace.h"

/* Maximum number of executions that are distinguished. */
#define NTK_EXECUTIONS_MAX 100000U

struct ntk_execution {
    int64_t start_ps, end_ps; /* times of its first and last instruction */
};

/* count is 0 if unknown. */
struct ntk_executions {
    struct ntk_execution *items;
    size_t count;
};

/* Returns 0 or -ENOMEM. */
int ntk_analysis_executions(const struct ntk_trace_core *core,
                            struct ntk_executions *out_executions);
/* Same, if the records of a core start or end within an execution, so that the first and last
 * slots of its programs are unknown. An execution starts where an engine continues with its lowest
 * slot right after its highest one. The lowest slot must always follow the highest one, and all
 * engines must have the same number of parts. */
int ntk_analysis_execution_parts(const struct ntk_trace_core *core,
                                 struct ntk_executions *out_parts);
/* The first of both that is known. */
int ntk_executions_find(const struct ntk_trace_core *core, struct ntk_executions *out_executions);
void ntk_executions_fini(struct ntk_executions *executions);

/* The borders between executions: the next one starts when the one before has ended on all
 * cores. */
struct ntk_execution_border {
    int64_t start_ps; /* start of the execution */
    int64_t end_ps;   /* end of its last instruction */
    uint32_t item;    /* index of the last instruction in its core */
    size_t core;
};
struct ntk_execution_borders {
    struct ntk_execution_border *items;
    size_t count; /* 0: one execution, or unknown */
};
/* Number of executions with a known start. */
static inline size_t ntk_execution_known_count(const struct ntk_execution_borders *borders)
{
    return borders->count ? borders->count : 1;
}
/* Start of an execution; the first one includes the time before its instructions. */
static inline int64_t ntk_execution_start_ps(const struct ntk_execution_borders *borders,
                                             size_t execution)
{
    return execution ? borders->items[execution].start_ps : 0;
}
/* Finds the model of each core, as the index of its first core. Each subgraph of a capture is a
 * core of the trace, and several models that take turns on one physical core have one each. The
 * NEFF identifies the model, and a NEFF that was loaded twice is two models. If no models share a
 * physical core, all cores are one model: their executions are joined by number. */
void ntk_execution_models_find(const struct ntk_trace *trace, size_t *out_models);
/* Finds the borders, and the number of executions that the trace records: the sum over models, of
 * the core with the most in each; 1 if it is unknown. In a window, each execution with an
 * instruction there counts, and the first border is the start of the window. For that, all
 * instructions of the capture are read again. Returns 0 or -errno. */
int ntk_execution_borders_find(const struct ntk_trace *trace, uint64_t *out_count,
                               struct ntk_execution_borders *out_borders);
/* Converts the borders of the whole capture to those of a trace with a window. Fewer than two
 * become none. */
void ntk_execution_borders_cut(const struct ntk_trace *trace,
                               struct ntk_execution_borders *borders);
void ntk_execution_borders_fini(struct ntk_execution_borders *borders);
/* The window of an execution in its capture, as for struct ntk_trace_part. The last one includes
 * the time after its instructions (to_ps 0). */
void ntk_execution_window(const struct ntk_execution_borders *borders, size_t execution,
                          int64_t *out_from_ps, int64_t *out_to_ps);
/* The execution with this time: the last one that started before or at it; 0 before the first,
 * and without borders. */
size_t ntk_execution_of(const struct ntk_execution_borders *borders, int64_t time_ps);

#endif
