/* SPDX-License-Identifier: MIT */
/*
 * system_answers - writes answers about host activity, and their common parts. Each appends to
 * json, or to text if json is NULL; see ntk_system_analyses_put().
 *
 * Threads: any.
 */
#ifndef NTK_PROFILER_OUTPUT_ANSWERS_SYSTEM_ANSWERS_H
#define NTK_PROFILER_OUTPUT_ANSWERS_SYSTEM_ANSWERS_H

#include "profiler/output/answers/output_joined.h"
#include "profiler/output/tables/rows.h"
#include "profiler/system/system_trace.h"
#include "shared/base/text_table.h"

int ntk_output_host_gaps(const struct ntk_system_asked *asked, struct ntk_buf *text,
                         struct ntk_json *json);
int ntk_output_device_memory(const struct ntk_system_asked *asked, struct ntk_buf *text,
                             struct ntk_json *json);
int ntk_output_executions(const struct ntk_system_asked *asked, struct ntk_buf *text,
                          struct ntk_json *json);
int ntk_output_startup(const struct ntk_system_asked *asked, struct ntk_buf *text,
                       struct ntk_json *json);
int ntk_output_out_of_memory(const struct ntk_system_asked *asked, struct ntk_buf *text,
                             struct ntk_json *json);
int ntk_output_rank_skew(const struct ntk_system_asked *asked, struct ntk_buf *text,
                         struct ntk_json *json);

/* Writes host time in us. */
void ntk_cell_host_us(struct ntk_text_table *table, uint64_t ns);
/* Writes host time in us since the start of the trace. */
void ntk_cell_host_at(struct ntk_text_table *table, const struct ntk_system_trace *trace,
                      uint64_t ns);
void ntk_cell_process(struct ntk_text_table *table, const struct ntk_system_trace *trace);
/* Begins an object with the keys that all answers have for a process. */
void ntk_output_process_begin(const struct ntk_system_trace *trace, struct ntk_json *json);
/* Writes a note if a trace comes from software cores, because device time and host time differ a
 * lot there. */
void ntk_output_software_note(const struct ntk_system_asked *asked, const char *note,
                              struct ntk_buf *text);
/* Writes the rows of a table with its columns as keys. */
int ntk_output_rows_json(const struct ntk_system_trace *const *traces, size_t count,
                         const char *table,
                         int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx),
                         struct ntk_json *json);

#endif
