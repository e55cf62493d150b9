/* SPDX-License-Identifier: MIT */
/* rows_source - creates rows for costs of lines, loops and iterations of the source. */
#include "profiler/output/tables/rows.h"

#include <errno.h>

#include "shared/base/json.h"
#include "shared/formats/neff/source_text.h"

static struct ntk_source_sums_row sums_of(const struct ntk_source_sums *sums)
{
    struct ntk_source_sums_row row = {
        .instruction_count = sums->instruction_count,
        .duration_ns = sums->duration_ns,
        .wait_ns = sums->wait_ns,
        .active_ns = ntk_rows_ns(sums->active.covered_ps),
        .hbm_read_bytes = sums->hbm_read_bytes,
        .hbm_write_bytes = sums->hbm_write_bytes,
        .sbuf_read_bytes = sums->sbuf_read_bytes,
        .sbuf_write_bytes = sums->sbuf_write_bytes,
        .psum_read_bytes = sums->psum_read_bytes,
        .psum_write_bytes = sums->psum_write_bytes,
        .flops = sums->flops,
        .transfer_bytes = sums->transfer_bytes,
    };

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        row.engine_counts[e] = sums->engine_counts[e];
    }
    return row;
}

static const char *file_of(const struct ntk_source_lines *lines, uint32_t file)
{
    return file ? lines->program->positions->files.entries[file - 1].key : NULL;
}

static const char *blocked_by(const struct ntk_source_lines *lines,
                              const struct ntk_source_line *line, struct ntk_buf *buf)
{
    struct ntk_json json;

    ntk_buf_reset(buf);
    ntk_json_init(&json, buf, false);
    ntk_json_array_begin(&json);
    for (size_t i = 0; i < line->blocker_count; i++) {
        const struct ntk_source_line *by = &lines->lines[line->blockers[i].line];
        const char *reason = ntk_source_blocker_reason(lines, &line->blockers[i]);
        ntk_json_object_begin(&json);
        if (reason) {
            ntk_json_key_text(&json, "reason", reason);
        } else {
            ntk_json_key_text(&json, "file_path", file_of(lines, by->file));
            ntk_json_key_u64(&json, "line_number", by->line);
        }
        ntk_json_key_i64(&json, "evt_wait_time", line->blockers[i].wait_ns);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    return ntk_buf_text_get(buf);
}

int ntk_rows_source_lines(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_source_lines *lines = NULL;
    struct ntk_buf buf = { 0 };
    int ret = ntk_export_source_lines(export, &lines);

    for (size_t i = 0; ret == 0 && i < lines->line_count; i++) {
        const struct ntk_source_line *line = &lines->lines[i];
        struct ntk_source_line_row row = {
            .file = file_of(lines, line->file),
            .line = line->file ? line->line : NTK_ABSENT_I64,
            .function = line->function,
            .reason = ntk_source_reason_name(line->reason),
            .text =
                ntk_source_text_line(export->source_text, file_of(lines, line->file), line->line),
            .sums = sums_of(&line->sums),
            .blocked_by = line->blocker_count ? blocked_by(lines, line, &buf) : NULL,
        };
        ret = ntk_buf_ok(&buf) ? put(ctx, &row) : -ENOMEM;
    }
    ntk_buf_fini(&buf);
    return ret;
}

int ntk_rows_source_loops(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_source_lines *lines = NULL;
    struct ntk_buf values = { 0 };
    int ret = ntk_export_source_lines(export, &lines);

    for (size_t i = 0; ret == 0 && i < lines->loop_count; i++) {
        const struct ntk_source_loop *loop = &lines->loops[i];
        const struct ntk_neff_loop *from =
            ntk_neff_row_get(&export->program->positions->kernel.loops, (uint32_t)i + 1);
        bool has_rows = loop->iteration_count > 0;
        struct ntk_source_loop_row row = {
            .id = (int64_t)i + 1,
            .parent_id = from->parent ? from->parent : NTK_ABSENT_I64,
            .file = from->file[0] ? from->file : NULL,
            .function = from->function[0] ? from->function : NULL,
            .variable = from->variable,
            .text = ntk_source_text_line(export->source_text, from->file, from->line),
            .line = from->line,
            .iteration_count = loop->iteration_count,
            .sums = sums_of(&loop->sums),
            .totals = sums_of(&loop->totals),
            .span_ns =
                has_rows ? ntk_rows_ns(loop->end_ps) - ntk_rows_ns(loop->start_ps) : NTK_ABSENT_I64,
            .max_span_ns = has_rows ? loop->span_max_ns : NTK_ABSENT_I64,
            .mean_span_ns = has_rows ? (double)loop->span_sum_ns / (double)loop->iteration_count
                                     : NTK_ABSENT_F64,
            .overlap = has_rows ? ntk_source_loop_overlap(loop) : NTK_ABSENT_F64,
        };
        if (has_rows) {
            ntk_buf_reset(&values);
            ntk_source_values_add(lines, loop->slowest, &values);
            row.max_span_values = ntk_buf_text_get(&values);
        }
        ret = ntk_buf_ok(&values) ? put(ctx, &row) : -ENOMEM;
    }
    ntk_buf_fini(&values);
    return ret;
}

int ntk_rows_source_iterations(const struct ntk_export *export, ntk_row_put *put, void *ctx)
{
    const struct ntk_source_lines *lines = NULL;
    struct ntk_buf values = { 0 };
    int ret = ntk_export_source_lines(export, &lines);

    for (size_t i = 0; ret == 0 && i < lines->iteration_count; i++) {
        const struct ntk_source_iteration *iteration = &lines->iterations[i];
        struct ntk_source_iteration_row row = {
            .loop_id = (int64_t)iteration->loop + 1,
            .start_ns = ntk_rows_ns(iteration->start_ps),
            .end_ns = ntk_rows_ns(iteration->end_ps),
            .sums = sums_of(&iteration->sums),
            .totals = sums_of(&iteration->totals),
        };
        ntk_buf_reset(&values);
        ntk_source_values_add(lines, (uint32_t)i, &values);
        row.values = ntk_buf_text_get(&values);
        row.span_ns = row.end_ns - row.start_ns;
        ret = ntk_buf_ok(&values) ? put(ctx, &row) : -ENOMEM;
    }
    ntk_buf_fini(&values);
    return ret;
}
