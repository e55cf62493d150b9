/* SPDX-License-Identifier: MIT */
/*
 * cmd_analyze_names - the analyses of `neuron-profile analyze`: their names, headings and list.
 *
 * is_system: those of a folder with inspections (-d), else those of a capture (-s).
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_CMD_CMD_ANALYZE_NAMES_H
#define NTK_PROFILER_CMD_CMD_ANALYZE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "profiler/output/answers/analyses.h"
#include "shared/base/buf.h"

size_t ntk_analyze_count(bool is_system);
/* index < ntk_analyze_count() */
const struct ntk_analysis_info *ntk_analyze_info(bool is_system, size_t index);
/* Those of a capture, then those of a folder only; NULL: no more. */
const char *ntk_analyze_name(size_t index);
void ntk_analyze_print_list(void);
/* "== Engines (idle) ==": with the name to type, unless both are the same word. */
void ntk_analyze_heading(const struct ntk_analysis_info *info, struct ntk_buf *out);

struct ntk_analyze_near {
    char text[96]; /* " (did you mean 'idle'?)", or "" */
};
/* NULL: the word is an analysis of this input. Else the message, as a format for the word and
 * out_near->text. The words of headings lead to their analysis. */
const char *ntk_analyze_wrong(bool is_system, const char *word, struct ntk_analyze_near *out_near);

#endif
