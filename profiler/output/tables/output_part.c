/* SPDX-License-Identifier: MIT */
/* output_part - writes a window and cores as text and as JSON. */
#include "profiler/output/tables/output_part.h"

#include "profiler/output/tables/rows.h"
#include "shared/base/units.h"

static void add_time(struct ntk_buf *out, int64_t ps)
{
    char text[NTK_UNITS_TEXT_BYTES];

    ntk_buf_add_text(out, ntk_units_duration(text, sizeof text, (uint64_t)ntk_rows_ns(ps)));
}

void ntk_output_part_cores(const struct ntk_trace *trace, struct ntk_buf *out)
{
    for (size_t c = 0; c < trace->core_count; c++) {
        ntk_buf_add_text(out, c ? "," : "");
        ntk_buf_add_u64(out, trace->cores[c].ntff->core);
    }
}

void ntk_output_part_text(const struct ntk_trace *trace, struct ntk_buf *out)
{
    add_time(out, trace->part.from_ps);
    ntk_buf_add_text(out, " to ");
    add_time(out, trace->part.to_ps);
    if (trace->has_total) {
        ntk_buf_add_text(out, " of ");
        add_time(out, trace->part.total_ps);
    }
    ntk_buf_add_text(out, ", NC ");
    ntk_output_part_cores(trace, out);
}

void ntk_output_part_json(const struct ntk_trace *trace, struct ntk_json *json)
{
    if (!trace->is_part) {
        return;
    }
    ntk_json_key_object_begin(json, "window");
    ntk_json_key_i64(json, "start_ns", ntk_rows_ns(trace->part.from_ps));
    ntk_json_key_i64(json, "end_ns", ntk_rows_ns(trace->part.to_ps));
    if (trace->has_total) {
        ntk_json_key_i64(json, "of_ns", ntk_rows_ns(trace->part.total_ps));
    }
    ntk_json_key_array_begin(json, "cores");
    for (size_t c = 0; c < trace->core_count; c++) {
        ntk_json_u64(json, trace->cores[c].ntff->core);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}
