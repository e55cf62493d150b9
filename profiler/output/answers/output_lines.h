/* SPDX-License-Identifier: MIT */
/*
 * output_lines - writes the cost of lines and loops of the source, as text with bars.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_LINES_H
#define NTK_PROFILER_OUTPUT_ANSWERS_OUTPUT_LINES_H

#include "profiler/output/export.h"

/* Writes the first NTK_OUTPUT_ROWS_MAX rows, with source text if export->source_text has it.
 * Returns 0 or
 * -errno. */
int ntk_output_lines_text(const struct ntk_export *export, enum ntk_source_order order,
                          struct ntk_buf *out);
/* Writes the two lines with the longest idle time (without any, the longest active time), their
 * cause, and the command that estimates the gain. files contains the options of the capture. */
void ntk_output_lines_next(const struct ntk_source_lines *lines, const char *files,
                           struct ntk_buf *out);
int ntk_output_loops_text(const struct ntk_export *export, enum ntk_source_order order,
                          struct ntk_buf *out);

#endif
