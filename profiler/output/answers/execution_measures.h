/* SPDX-License-Identifier: MIT */
/*
 * execution_measures - measures each execution of a capture, so that captures are compared
 * execution by execution: one slow execution does not make a program slower.
 *
 * Owner:   the caller provides zeroed storage; _fini frees the content.
 * Errors:  -errno of a long list.
 * Threads: any.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_EXECUTION_MEASURES_H
#define NTK_PROFILER_OUTPUT_ANSWERS_EXECUTION_MEASURES_H

#include "profiler/analysis/measures.h"
#include "profiler/output/answers/analyses.h"

/* Most executions of one capture that are measured; of more, some are skipped evenly. */
#define NTK_EXECUTION_MEASURES_MAX 64U

struct ntk_execution_measures {
    struct ntk_vec measures; /* elements are struct ntk_measures, one for each execution */
    bool has_units;
    struct ntk_work_units units; /* units of the first execution, if requested */
    /* Number of executions in the capture with the most that has only their means: captures with a
     * window, or with several models. */
    uint64_t mean_count;
    uint64_t omitted_count; /* executions beyond NTK_EXECUTION_MEASURES_MAX of a capture */
};

/* Adds the executions of a capture. whole: the analyses of the trace with costs; NULL if there are
 * none yet. name: of the capture, in sources; NULL if not needed. on_program: called once, with the
 * program of the whole trace; NULL if not needed. */
int ntk_execution_measures_add(struct ntk_execution_measures *to, const struct ntk_trace *trace,
                               const struct ntk_analyses *whole, const char *name, bool wants_units,
                               void (*on_program)(const struct ntk_program *program, void *ctx),
                               void *ctx);
void ntk_execution_measures_fini(struct ntk_execution_measures *measures);

#endif
