/* SPDX-License-Identifier: MIT */
/*
 * analyses - runs analyses by name: each is one row of a table.
 *
 * Owner:   ntk_analyses_create() allocates, _destroy() frees; the trace is borrowed.
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

/* Inputs that only some answers need. */
enum ntk_analysis_use {
    NTK_USES_DEPENDENCIES = 1,
    NTK_USES_TRANSFERS = 2,
    NTK_USES_PATH = 4 | NTK_USES_DEPENDENCIES,
    NTK_USES_COSTS = 8 | NTK_USES_PATH,
    NTK_USES_ALL = NTK_USES_COSTS | NTK_USES_TRANSFERS,
};

struct ntk_analyses { /* inputs for the analyses of a capture */
    struct ntk_program *program;
    struct ntk_dependencies dependencies;
    struct ntk_transfers transfers;
    bool has_path; /* false if the capture does not record the length of the execution */
    struct ntk_critical_path path;
    struct ntk_cost_table costs;
    struct ntk_bubbles_options bubbles; /* zeroed: all engines, default limit */
    struct ntk_what_if_changes changes; /* empty: the usual changes */
    bool is_shown;                      /* set by the caller: long analyses show progress */
};

/* Returns 0 or -errno, as for ntk_long_list_err_set(). */
int ntk_analyses_create(const struct ntk_trace *trace, struct ntk_analyses **out_analyses);
/* Like ntk_analyses_create(), with progress on stderr. uses: mask of enum ntk_analysis_use. */
int ntk_analyses_create_shown(const struct ntk_trace *trace, unsigned uses,
                              struct ntk_analyses **out_analyses);
/* Same, for one execution, as in ntk_program_create_slice(). */
int ntk_analyses_create_slice(const struct ntk_program *whole, const struct ntk_trace *slice,
                              unsigned uses, struct ntk_analyses **out_analyses);
/* Accepts NULL. */
void ntk_analyses_destroy(struct ntk_analyses *analyses);

struct ntk_analysis_info {
    const char *name, *title, *help;
    const char *absent; /* meaning of -ENODATA; NULL if it never occurs */
    unsigned needs;     /* mask of enum ntk_lack: without these records the answer is partial */
    bool is_costly;     /* omitted in pages of long captures in a file */
    unsigned uses;      /* mask of enum ntk_analysis_use */
};

size_t ntk_analyses_count(void);
/* index must be below ntk_analyses_count(). */
const struct ntk_analysis_info *ntk_analyses_info(size_t index);
/* Returns -1 for an unknown name. */
int ntk_analyses_find(const char *name);
/* Returns the meaning of -ENODATA for these files, in buf or static. */
#define NTK_ANALYSES_ABSENT_BYTES 192
const char *ntk_analyses_absent(const struct ntk_analyses *analyses, size_t index, char *buf,
                                size_t buf_bytes);
/* Appends the answer to json, or to text if json is NULL. Returns 0, -ENOMEM, or -ENODATA if it is
 * not recorded in the files; then nothing is appended. */
int ntk_analyses_put(const struct ntk_analyses *analyses, size_t index, struct ntk_buf *text,
                     struct ntk_json *json);
/* Appends the answer as JSON, without the parts that have an entry per span: the steps of the
 * critical path. */
int ntk_analyses_put_brief(const struct ntk_analyses *analyses, size_t index,
                           struct ntk_json *json);
/* Returns the findings of the analysis "advice", like ntk_analysis_advice(); the caller frees them
 * with ntk_advice_fini(). */
int ntk_analyses_advice(const struct ntk_analyses *analyses, struct ntk_advice *out_advice);
/* Returns memory of checked parts of long lists to the system, including lists of the trace. */
void ntk_analyses_give_back(const struct ntk_analyses *analyses);

#endif
