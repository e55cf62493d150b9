/* SPDX-License-Identifier: MIT */
/*
 * output_analysis - the results of analyses, each as text for a person and as one JSON value.
 *
 * Text: times in us, shares in percent of the execution. JSON: ns and fractions; names as everywhere. What
 * is not known is "-" in text and null in JSON. The same trace gives the same bytes.
 * Every function appends; an allocation that fails shows in ntk_buf_ok().
 */
#ifndef NTK_PROFILER_OUTPUT_OUTPUT_ANALYSIS_H
#define NTK_PROFILER_OUTPUT_OUTPUT_ANALYSIS_H

#include "profiler/analysis/critical_path.h"
#include "profiler/analysis/idle_reasons.h"
#include "profiler/output/text_table.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

void ntk_output_idle_text(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                          struct ntk_buf *out);
void ntk_output_idle_json(const struct ntk_program *program, const struct ntk_idle_reasons *idle,
                          struct ntk_json *json);

void ntk_output_path_text(const struct ntk_program *program, const struct ntk_critical_path *path,
                          struct ntk_buf *out);
void ntk_output_path_json(const struct ntk_program *program, const struct ntk_critical_path *path,
                          struct ntk_json *json);

#endif
