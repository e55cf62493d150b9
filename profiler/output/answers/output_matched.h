/* SPDX-License-Identifier: MIT */
/*
 * output_matched - writes the relation of one program's layers and regions to another, as text and
 * JSON (analysis/work_match.h).
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_MATCHED_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_MATCHED_H

#include "profiler/analysis/work_match.h"
#include "profiler/output/answers/analyses.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

struct ntk_output_matched { /* all members are borrowed */
    const struct ntk_work_units *before, *after;
    const struct ntk_work_match *match;
};

/* Writes a table, or nothing if all units keep their names. */
void ntk_output_matched_text(const struct ntk_output_matched *matched, struct ntk_buf *out);
/* Writes an array. */
void ntk_output_matched_json(const struct ntk_output_matched *matched, struct ntk_json *json);
/* Appends "became NAME, NAME" for an old unit, "from NAME" for a new one. Returns false for an
 * unknown unit, or without a link. */
bool ntk_output_matched_add(const struct ntk_output_matched *matched, const char *key,
                            bool is_after, struct ntk_buf *out);

/* Writes all differences between two executions. Returns 0 or -errno of a long list. */
int ntk_output_compare_json(const struct ntk_analyses *before, const struct ntk_analyses *after,
                            struct ntk_json *json);

#endif
