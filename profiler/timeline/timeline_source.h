/* SPDX-License-Identifier: MIT */
/*
 * timeline_source - writes the source of kernels for the page: the cost of lines and loops, the
 * iterations of a loop, the text of a file, and the source position of a slice.
 *
 * Times are ps since the start of the timeline, sums are ns as in source_lines.h. Answers are
 * bounded by the program, not by its number of runs: lines, loops, iterations and text up to the
 * numbers below, and their total number.
 *
 * Owner:   the caller frees the lines with ntk_source_lines_destroy(); they borrow the analyses.
 * Threads: any, except for the text, which has one; no state. Out of memory is recorded in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_SOURCE_H
#define NTK_PROFILER_TIMELINE_TIMELINE_SOURCE_H

#include "profiler/analysis/source_lines.h"
#include "profiler/output/answers/analyses.h"
#include "profiler/timeline/timeline.h"
#include "profiler/timeline/timeline_answer.h"
#include "shared/formats/neff/source_text.h"

#define NTK_TIMELINE_LINES_MAX 20000
#define NTK_TIMELINE_LOOPS_MAX 1000
#define NTK_TIMELINE_ITERATIONS_MAX 2000 /* maximum per loop: the slowest iterations */
#define NTK_TIMELINE_FILE_BYTES_MAX ((size_t)4 << 20)
#define NTK_TIMELINE_FILES_MAX 4096

/* Returns 0, or -errno as for ntk_long_list_err_set(). */
int ntk_timeline_lines_create(const struct ntk_analyses *analyses,
                              struct ntk_source_lines **out_lines);
/* Writes {"files": [{"path", "has_text"}], "lines": [...], "loops": [...]}: files with lines,
 * numbered as in positions. text may be NULL. */
void ntk_timeline_put_lines(const struct ntk_timeline *timeline, size_t source,
                            const struct ntk_source_lines *lines, struct ntk_source_text *text,
                            struct ntk_buf *out);
/* Writes {"count", "iterations": [{"values", "start", "end", "wait", "duration"}]} by start;
 * -ENOENT with a message. */
int ntk_timeline_put_iterations(const struct ntk_timeline *timeline, size_t source,
                                const struct ntk_source_lines *lines, uint64_t loop,
                                struct ntk_buf *out, struct ntk_err *err);
/* Writes {"lines": [text], "is_cut"}, or null without text; -ENOENT with a message. */
int ntk_timeline_put_source_file(const struct ntk_source_lines *lines, struct ntk_source_text *text,
                                 uint64_t file, struct ntk_buf *out, struct ntk_err *err);
/* Writes {"file", "path", "line", "function", "iteration": "kv_h=0 s_t=3"} for an instruction, or
 * for the instruction that started a packet's transfer; null if unknown. -ENOENT with a message. */
int ntk_timeline_put_position(const struct ntk_timeline *timeline,
                              const struct ntk_analyses *analyses, uint64_t track, uint64_t slice,
                              struct ntk_buf *out, struct ntk_err *err);

#endif
