/* SPDX-License-Identifier: MIT */
/*
 * analyses - the analyses by name: one row of the table each.
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

struct ntk_analyses { /* inputs of the analyses of a capture */
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_transfers transfers;
    bool has_path; /* false: the capture does not record the length of the execution */
    struct ntk_critical_path path;
    struct ntk_cost_table costs;
    struct ntk_bubbles_options bubbles; /* zeroed: all engines, default limit */
    struct ntk_what_if_changes changes; /* none: the usual ones */
};

/* 0 or -errno, as for ntk_long_list_err_set(). */
int ntk_analyses_create(const struct ntk_trace *trace, struct ntk_analyses **out_analyses);
/* The same with progress on stderr. uses: enum ntk_analysis_use. */
int ntk_analyses_create_shown(const struct ntk_trace *trace, unsigned uses,
                              struct ntk_analyses **out_analyses);
/* NULL is fine. */
void ntk_analyses_destroy(struct ntk_analyses *analyses);

struct ntk_analysis_info {
    const char *name, *title, *help;
    const char *absent; /* meaning of -ENODATA; NULL: it never occurs */
    unsigned needs;     /* enum ntk_lack: without these records the answer is partial */
    bool is_costly;     /* omitted in pages of long captures in a file */
    unsigned uses;      /* enum ntk_analysis_use */
};

size_t ntk_analyses_count(void);
/* index < ntk_analyses_count() */
const struct ntk_analysis_info *ntk_analyses_info(size_t index);
/* -1: unknown name. */
int ntk_analyses_find(const char *name);
/* The meaning of -ENODATA for these files, in buf or static. */
#define NTK_ANALYSES_ABSENT_BYTES 192
const char *ntk_analyses_absent(const struct ntk_analyses *analyses, size_t index, char *buf,
                                size_t buf_bytes);
/* Appends the answer to json, or to text if json is NULL. 0, -ENOMEM, or -ENODATA if not recorded
 * in the files; then nothing is appended. */
int ntk_analyses_put(const struct ntk_analyses *analyses, size_t index, struct ntk_buf *text,
                     struct ntk_json *json);
/* The same as JSON, without the parts that have an entry per span: the steps of the critical
 * path. */
int ntk_analyses_put_brief(const struct ntk_analyses *analyses, size_t index,
                           struct ntk_json *json);
/* The findings of the analysis "advice"; the caller frees them with ntk_advice_fini(). Like
 * ntk_analysis_advice(). */
int ntk_analyses_advice(const struct ntk_analyses *analyses, struct ntk_advice *out_advice);
/* Returns memory of checked parts of long lists, including those of the trace. */
void ntk_analyses_give_back(const struct ntk_analyses *analyses);

#endif
