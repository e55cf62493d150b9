/* SPDX-License-Identifier: MIT */
/*
 * output_baseline - writes the result of a check against a baseline: as text, as JSON, and as XML
 * for CI systems (the format of JUnit's Ant task, which Jenkins and GitLab accept).
 *
 * Every function appends; ntk_buf_ok() reports a failed allocation.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_BASELINE_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_BASELINE_H

#include "profiler/analysis/baseline.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

/* The checked files, with the names given by the user. */
struct ntk_output_baseline {
    const char *path;
    const struct ntk_baseline *baseline;
    const struct ntk_comparison *comparison;
    const struct ntk_baseline_result *result;
};

void ntk_output_baseline_text(const struct ntk_output_baseline *check, struct ntk_buf *out);
void ntk_output_baseline_json(const struct ntk_output_baseline *check, struct ntk_json *json);
/* Writes a test case for each measure with a limit, with the new median as its time. */
void ntk_output_baseline_junit(const struct ntk_output_baseline *check, struct ntk_buf *out);

#endif
