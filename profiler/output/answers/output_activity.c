/* SPDX-License-Identifier: MIT */
/* output_activity - writes activity_over_time.h as bars of text, and as JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/queue_names.h"
#include "profiler/output/answers/output_analysis.h"
#include "profiler/output/answers/output_cells.h"

#define NAME_WIDTH 20

/* Returns a character for a ratio: idle is blank; any work is visible. */
static char shade(float ratio)
{
    static const char shades[] = " .:+*#";
    size_t levels = sizeof shades - 2;

    return shades[ratio <= 0 ? 0 : ratio >= 1 ? levels : 1 + (size_t)(ratio * (float)(levels - 1))];
}

static const char *row_name(const struct ntk_activity_row *row, char *buf, size_t buf_bytes)
{
    if (row->engine != NTK_NTFF_ENGINE_AXI) {
        snprintf(buf, buf_bytes, "%s", ntk_ntff_engine_title(row->engine));
    } else {
        ntk_queue_name_show(row->name, row->dma_class, buf, buf_bytes);
    }
    return buf;
}

void ntk_output_activity_text(const struct ntk_trace *trace,
                              const struct ntk_activity_over_time *activity, struct ntk_buf *out)
{
    char name[NTK_NTFF_NAME_BYTES];
    char head[64];
    size_t width = activity->piece_count;

    ntk_buf_add_format(
        out, "One character is %.3f us: blank is idle; . : + * and # are increasingly busy\n",
        (double)activity->total_ps / 1e6 / (double)width);
    ntk_buf_add_text(
        out, "The last column is the busy share of the execution, for one core (in the summary: "
             "for all cores together). A queue is busy while "
             "any of its DMA engines is busy\n");
    ntk_buf_add_format(out, "%-*s |0", 4 + NAME_WIDTH, "");
    snprintf(head, sizeof head, "%.3f us|", (double)activity->total_ps / 1e6);
    ntk_buf_add_fill(out, ' ', width > strlen(head) ? width - strlen(head) : 0);
    ntk_buf_add_format(out, "%s\n", head);
    for (size_t r = 0; r < activity->row_count; r++) {
        const struct ntk_activity_row *row = &activity->rows[r];

        ntk_buf_add_format(out, "%3u %-*.*s |", trace->cores[row->core].ntff->core, NAME_WIDTH,
                           NAME_WIDTH, row_name(row, name, sizeof name));
        for (size_t p = 0; p < width; p++) {
            ntk_buf_add_char(out, shade(row->pieces[p]));
        }
        ntk_buf_add_format(out, "| %5.1f%%\n", 100 * row->busy_ratio);
    }
}

void ntk_output_activity_json(const struct ntk_trace *trace,
                              const struct ntk_activity_over_time *activity, struct ntk_json *json)
{
    char name[NTK_NTFF_NAME_BYTES];

    ntk_json_object_begin(json);
    ntk_json_key_ns(json, "total_ns", activity->total_ps);
    ntk_json_key_ns(json, "piece_ns", activity->total_ps / (int64_t)activity->piece_count);
    ntk_json_key_array_begin(json, "rows");
    for (size_t r = 0; r < activity->row_count; r++) {
        const struct ntk_activity_row *row = &activity->rows[r];

        ntk_json_object_begin(json);
        ntk_json_key_u64(json, "core", trace->cores[row->core].ntff->core);
        ntk_json_key_text(json, "kind", row->engine == NTK_NTFF_ENGINE_AXI ? "queue" : "engine");
        ntk_json_key_text(json, "name", row_name(row, name, sizeof name));
        ntk_json_key_double(json, "busy_ratio", row->busy_ratio);
        ntk_json_key_array_begin(json, "pieces");
        for (size_t p = 0; p < activity->piece_count; p++) {
            ntk_json_double(json, rint(row->pieces[p] * 1e4) / 1e4);
        }
        ntk_json_array_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
