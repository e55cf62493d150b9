/* SPDX-License-Identifier: MIT */
/*
 * system_answers - answers about what the host did, and what they have in common. Each appends to
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

/* Host time in us. */
void ntk_cell_host_us(struct ntk_text_table *table, uint64_t ns);
/* The same since the trace began. */
void ntk_cell_host_at(struct ntk_text_table *table, const struct ntk_system_trace *trace,
                      uint64_t ns);
void ntk_cell_process(struct ntk_text_table *table, const struct ntk_system_trace *trace);
/* Begins an object with the keys that all answers have for a process. */
void ntk_output_process_begin(const struct ntk_system_trace *trace, struct ntk_json *json);
/* The note, if a trace is of software cores: device time and host time differ a lot there. */
void ntk_output_software_note(const struct ntk_system_asked *asked, const char *note,
                              struct ntk_buf *text);
/* The rows of a table; its columns are the keys. */
int ntk_output_rows_json(const struct ntk_system_trace *const *traces, size_t count,
                         const char *table,
                         int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx),
                         struct ntk_json *json);

#endif
