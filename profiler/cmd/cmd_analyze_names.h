/* SPDX-License-Identifier: MIT */
/*
 * cmd_analyze_names - lists the analyses of `neuron-profile analyze`: their names, headings and
 * list.
 *
 * is_system: analyses of a folder with inspections (-d); otherwise analyses of a capture (-s).
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
/* index must be below ntk_analyze_count(). */
const struct ntk_analysis_info *ntk_analyze_info(bool is_system, size_t index);
/* Returns the names for a capture, then the names only for a folder; NULL at the end. */
const char *ntk_analyze_name(size_t index);
void ntk_analyze_print_list(void);
/* Writes a heading such as "== Engines (idle) ==", with the name in parentheses unless both are the
 * same word. */
void ntk_analyze_heading(const struct ntk_analysis_info *info, struct ntk_buf *out);

struct ntk_analyze_near {
    char text[96]; /* such as " (did you mean 'idle'?)", or "" */
};
/* Returns NULL if the word is an analysis of this input; otherwise the message, as a format for the
 * word and out_near->text. For a word of a heading, the message suggests its analysis. */
const char *ntk_analyze_wrong(bool is_system, const char *word, struct ntk_analyze_near *out_near);

#endif
