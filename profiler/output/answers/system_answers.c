/* SPDX-License-Identifier: MIT */
/* system_answers - writes cells, keys and rows that several answers share. */
#include "profiler/output/answers/system_answers.h"

#include <errno.h>
#include <stdlib.h>

#include "profiler/output/answers/output_system.h"
#include "profiler/output/tables/rows_system.h"

void ntk_cell_host_us(struct ntk_text_table *table, uint64_t ns)
{
    ntk_text_table_format(table, "%.1f", (double)ns / 1e3);
}

void ntk_cell_host_at(struct ntk_text_table *table, const struct ntk_system_trace *trace,
                      uint64_t ns)
{
    ntk_cell_host_us(table, ntk_system_trace_after_ns(trace, ns));
}

void ntk_cell_process(struct ntk_text_table *table, const struct ntk_system_trace *trace)
{
    char process[NTK_SYSTEM_PROCESS_BYTES];

    ntk_text_table_text(table, ntk_output_system_process(trace, process, sizeof process));
}

/* Returns true if the trace is known to be from software cores; old files and files with the
 * vendor's layout do not record it. */
static bool is_software(const struct ntk_system_trace *trace)
{
    return trace->info && trace->info->software_cores;
}

void ntk_output_process_begin(const struct ntk_system_trace *trace, struct ntk_json *json)
{
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "session", trace->folder);
    if (ntk_rows_system_process(trace) != NTK_ABSENT_I64) {
        ntk_json_key_i64(json, "process_id", ntk_rows_system_process(trace));
    }
    if (is_software(trace)) {
        ntk_json_key_bool(json, "software_cores", true);
    }
}

void ntk_output_software_note(const struct ntk_system_asked *asked, const char *note,
                              struct ntk_buf *text)
{
    for (size_t t = 0; t < asked->trace_count; t++) {
        if (is_software(asked->traces[t])) {
            ntk_buf_add_format(text, "Software cores: %s\n", note);
            return;
        }
    }
}

int ntk_output_rows_json(const struct ntk_system_trace *const *traces, size_t count,
                         const char *table,
                         int (*rows)(const struct ntk_export *export, ntk_row_put *put, void *ctx),
                         struct ntk_json *json)
{
    struct ntk_system_view *views = calloc(count + 1, sizeof *views);
    struct ntk_system_rows_json to = { json, table };

    if (!views) {
        return -ENOMEM;
    }
    for (size_t t = 0; t < count; t++) {
        views[t].trace = traces[t];
    }
    struct ntk_export export = { .folders = views, .folder_count = count };
    ntk_json_array_begin(json);
    int ret = rows(&export, ntk_output_system_row_json, &to);
    ntk_json_array_end(json);
    free(views);
    return ret;
}
