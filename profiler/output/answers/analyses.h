/* SPDX-License-Identifier: MIT */
/*
 * analyses - the questions that analyses answer, by name: one row of the table each.
 *
 * Owner:   ntk_analyses_create() allocates, _destroy() frees; it borrows the trace.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_ANALYSES_H
#define NTK_PROFILER_OUTPUT_ANSWERS_ANALYSES_H

#include "profiler/analysis/advice.h"
#include "profiler/analysis/bubbles.h"
#include "profiler/analysis/cost_table.h"
#include "profiler/analysis/critical_path.h"
#include "profiler/analysis/dependencies.h"
#include "profiler/analysis/incomplete.h"
#include "profiler/analysis/program.h"
#include "profiler/analysis/transfers.h"
#include "profiler/analysis/what_if.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* Parts of it that only some answers need. */
enum ntk_analysis_use {
    NTK_USES_DEPENDENCIES = 1,
    NTK_USES_TRANSFERS = 2,
    NTK_USES_PATH = 4 | NTK_USES_DEPENDENCIES,
    NTK_USES_COSTS = 8 | NTK_USES_PATH,
    NTK_USES_ALL = NTK_USES_COSTS | NTK_USES_TRANSFERS,
};

struct ntk_analyses { /* what analyses of a capture are made from */
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_transfers transfers;
    bool has_path; /* false: the capture does not record how long the execution took */
    struct ntk_critical_path path;
    struct ntk_cost_table costs;
    struct ntk_bubbles_options bubbles; /* zeroed: all engines, as many as usual */
    struct ntk_what_if_changes changes; /* none: the usual ones */
};

/* 0 or -errno, as for ntk_long_list_err_set(). */
int ntk_analyses_create(const struct ntk_trace *trace, struct ntk_analyses **out_analyses);
/* The same with its progress shown on stderr. uses: enum ntk_analysis_use. */
int ntk_analyses_create_shown(const struct ntk_trace *trace, unsigned uses,
                              struct ntk_analyses **out_analyses);
/* NULL is fine. */
void ntk_analyses_destroy(struct ntk_analyses *analyses);

struct ntk_analysis_info {
    const char *name, *title, *help;
    const char *absent; /* what -ENODATA means; NULL: it never occurs */
    unsigned needs;     /* enum ntk_lack: without these records the answer is partial */
    bool is_costly;     /* pages of long captures in a file do not have it */
    unsigned uses;      /* enum ntk_analysis_use */
};

size_t ntk_analyses_count(void);
/* index < ntk_analyses_count() */
const struct ntk_analysis_info *ntk_analyses_info(size_t index);
/* -1: no analysis has the name. */
int ntk_analyses_find(const char *name);
/* What -ENODATA means for these files, in buf or static. */
#define NTK_ANALYSES_ABSENT_BYTES 192
const char *ntk_analyses_absent(const struct ntk_analyses *analyses, size_t index, char *buf,
                                size_t buf_bytes);
/* The answer appended to json, or to text where json is NULL. 0, -ENOMEM, or -ENODATA: the files do
 * not record; nothing was appended then. */
int ntk_analyses_put(const struct ntk_analyses *analyses, size_t index, struct ntk_buf *text,
                     struct ntk_json *json);
/* The same as JSON, without what has an entry for each span of the execution: the steps of the
 * critical path. */
int ntk_analyses_put_brief(const struct ntk_analyses *analyses, size_t index,
                           struct ntk_json *json);
/* The findings that the analysis "advice" prints; the caller's to free with ntk_advice_fini(). As
 * ntk_analysis_advice(). */
int ntk_analyses_advice(const struct ntk_analyses *analyses, struct ntk_advice *out_advice);
/* Memory of what was checked of long lists, those of the trace too. */
void ntk_analyses_give_back(const struct ntk_analyses *analyses);

#endif
