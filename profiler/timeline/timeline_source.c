/* SPDX-License-Identifier: MIT */
#include "profiler/timeline/timeline_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/timeline_insight.h"
#include "shared/base/json.h"
#include "shared/base/str.h"

#define TAB "    "

int ntk_timeline_lines_create(const struct ntk_analyses *analyses,
                              struct ntk_source_lines **out_lines)
{
    return ntk_source_lines_create(analyses->program, &analyses->transfers, &analyses->dependencies,
                                   out_lines);
}

static const struct ntk_neff_positions *positions_of(const struct ntk_source_lines *lines)
{
    return lines->program->positions;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t files_of(const struct ntk_source_lines *lines)
{
    size_t count = positions_of(lines) ? positions_of(lines)->files.count : 0;

    return count < NTK_TIMELINE_FILES_MAX ? count : NTK_TIMELINE_FILES_MAX;
}

static void put_files(const struct ntk_source_lines *lines, struct ntk_source_text *text,
                      struct ntk_json *json)
{
    ntk_json_key_array_begin(json, "files");
    for (size_t f = 0; f < files_of(lines); f++) {
        const char *path = positions_of(lines)->files.entries[f].key;
        size_t bytes = 0;
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "path", path);
        ntk_json_key_bool(json, "has_text", ntk_source_text_file(text, path, &bytes) != NULL);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void put_sums(const struct ntk_source_sums *sums, struct ntk_json *json)
{
    ntk_json_key_i64(json, "count", sums->instruction_count);
    ntk_json_key_i64(json, "wait", sums->wait_ns);
    ntk_json_key_i64(json, "duration", ntk_source_ns(sums->duration_ps));
    ntk_json_key_i64(json, "bytes", ntk_source_sums_by(sums, NTK_SOURCE_BY_BYTES));
}

static void put_line(const struct ntk_source_lines *lines, const struct ntk_source_line *line,
                     struct ntk_json *json)
{
    ntk_json_object_begin(json);
    if (line->file) {
        ntk_json_key_u64(json, "file", line->file - 1);
        ntk_json_key_u64(json, "line", line->line);
        ntk_json_key_text(json, "function", line->function);
    } else {
        ntk_json_key_text(json, "reason", ntk_source_reason_name(line->reason));
    }
    put_sums(&line->sums, json);
    ntk_json_key_i64(json, "active", line->sums.active.covered_ps);
    ntk_json_key_array_begin(json, "blocked_by");
    for (size_t b = 0; b < line->blocker_count; b++) {
        const struct ntk_source_line *by = &lines->lines[line->blockers[b].line];
        const char *reason = ntk_source_blocker_reason(lines, &line->blockers[b]);
        ntk_json_object_begin(json);
        if (reason) {
            ntk_json_key_text(json, "reason", reason);
        } else {
            ntk_json_key_u64(json, "file", by->file - 1);
            ntk_json_key_u64(json, "line", by->line);
        }
        ntk_json_key_i64(json, "wait", line->blockers[b].wait_ns);
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static int64_t zero_of(const struct ntk_timeline *timeline, size_t source)
{
    return timeline->begin_ps - timeline->sources[source].offset_ps;
}

static void put_loop(const struct ntk_source_lines *lines, size_t index, int64_t zero_ps,
                     struct ntk_json *json)
{
    const struct ntk_neff_loop *from = ntk_vec_at(&positions_of(lines)->kernel.loops, index);
    const struct ntk_source_loop *loop = &lines->loops[index];

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "id", index);
    if (from->parent) {
        ntk_json_key_u64(json, "parent", from->parent - 1);
    }
    ntk_json_key_text(json, "path", from->file);
    ntk_json_key_u64(json, "line", from->line);
    ntk_json_key_text(json, "variable", from->variable);
    ntk_json_key_text(json, "function", from->function);
    put_sums(&loop->totals, json);
    ntk_json_key_i64(json, "start", loop->start_ps - zero_ps);
    ntk_json_key_i64(json, "end", loop->end_ps - zero_ps);
    ntk_json_key_i64(json, "iterations", loop->iteration_count);
    ntk_json_key_double(json, "overlap", ntk_source_loop_overlap(loop));
    ntk_json_object_end(json);
}

void ntk_timeline_put_lines(const struct ntk_timeline *timeline, size_t source,
                            const struct ntk_source_lines *lines, struct ntk_source_text *text,
                            struct ntk_buf *out)
{
    struct ntk_json json;
    size_t shown = 0;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_bool(&json, "has_lines", lines->has_lines);
    put_files(lines, text, &json);
    ntk_json_key_u64(&json, "line_count", lines->line_count);
    ntk_json_key_array_begin(&json, "lines");
    for (size_t i = 0; i < lines->line_count; i++) {
        const struct ntk_source_line *line = &lines->lines[i];
        if (!line->file || (line->file <= files_of(lines) && shown < NTK_TIMELINE_LINES_MAX)) {
            put_line(lines, line, &json);
            shown++;
        }
    }
    ntk_json_array_end(&json);
    ntk_json_key_u64(&json, "loop_count", lines->loop_count);
    ntk_json_key_array_begin(&json, "loops");
    shown = 0;
    for (size_t i = 0; i < lines->loop_count && shown < NTK_TIMELINE_LOOPS_MAX; i++) {
        if (lines->loops[i].iteration_count) {
            put_loop(lines, i, zero_of(timeline, source), &json);
            shown++;
        }
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
}

static int64_t span_of(const struct ntk_source_iteration *iteration)
{
    return iteration->end_ps - iteration->start_ps;
}

static int compare_spans(const void *a, const void *b)
{
    const struct ntk_source_iteration *const *x = a;
    const struct ntk_source_iteration *const *y = b;
    int64_t diff = span_of(*y) - span_of(*x);

    return diff ? (diff < 0 ? -1 : 1) : (*x > *y) - (*x < *y);
}

static int compare_places(const void *a, const void *b)
{
    const struct ntk_source_iteration *const *x = a;
    const struct ntk_source_iteration *const *y = b;

    return (*x > *y) - (*x < *y); /* they are in order of their starts */
}

static void put_iteration(const struct ntk_source_lines *lines,
                          const struct ntk_source_iteration *iteration, int64_t zero_ps,
                          struct ntk_json *json)
{
    struct ntk_buf values = { 0 };

    ntk_source_values_add(lines, (uint32_t)(iteration - lines->iterations), &values);
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "values", ntk_buf_text_get(&values));
    ntk_json_key_i64(json, "start", iteration->start_ps - zero_ps);
    ntk_json_key_i64(json, "end", iteration->end_ps - zero_ps);
    ntk_json_key_i64(json, "wait", iteration->totals.wait_ns);
    ntk_json_key_i64(json, "duration", ntk_source_ns(iteration->totals.duration_ps));
    ntk_json_object_end(json);
    ntk_buf_fini(&values);
}

int ntk_timeline_put_iterations(const struct ntk_timeline *timeline, size_t source,
                                const struct ntk_source_lines *lines, uint64_t loop,
                                struct ntk_buf *out, struct ntk_err *err)
{
    if (loop >= lines->loop_count) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "unknown loop %llu",
                           (unsigned long long)loop);
    }
    struct ntk_vec found = NTK_VEC_INIT(const struct ntk_source_iteration *);
    struct ntk_json json;
    for (size_t i = 0; i < lines->iteration_count; i++) {
        const struct ntk_source_iteration *iteration = &lines->iterations[i];
        if (iteration->loop == loop && iteration->totals.instruction_count &&
            ntk_vec_push(&found, &iteration) < 0) {
            ntk_vec_fini(&found);
            return ntk_err_no_memory(err);
        }
    }
    size_t count = found.count;
    if (count > NTK_TIMELINE_ITERATIONS_MAX) {
        ntk_vec_sort(&found, compare_spans);
        found.count = NTK_TIMELINE_ITERATIONS_MAX;
        ntk_vec_sort(&found, compare_places);
    }
    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "count", count);
    ntk_json_key_array_begin(&json, "iterations");
    ntk_vec_each(const struct ntk_source_iteration *, iteration, &found) {
        put_iteration(lines, *iteration, zero_of(timeline, source), &json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_vec_fini(&found);
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_text_line(const char *at, size_t bytes, struct ntk_json *json)
{
    char clean[3 * NTK_SOURCE_TEXT_LINE_BYTES + 1];
    char spaced[NTK_SOURCE_TEXT_LINE_BYTES];
    size_t used = 0;

    bytes -= bytes > 0 && at[bytes - 1] == '\r';
    for (size_t i = 0; i < bytes && used + strlen(TAB) <= sizeof spaced; i++) {
        size_t width = at[i] == '\t' ? strlen(TAB) : 1;
        memcpy(spaced + used, at[i] == '\t' ? TAB : at + i, width);
        used += width;
    }
    ntk_str_copy_clean(clean, sizeof clean, spaced, used);
    ntk_json_text(json, clean);
}

int ntk_timeline_put_source_file(const struct ntk_source_lines *lines, struct ntk_source_text *text,
                                 uint64_t file, struct ntk_buf *out, struct ntk_err *err)
{
    if (file >= files_of(lines)) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "unknown file %llu",
                           (unsigned long long)file);
    }
    struct ntk_json json;
    size_t bytes = 0;
    const char *at =
        ntk_source_text_file(text, positions_of(lines)->files.entries[file].key, &bytes);
    ntk_json_init(&json, out, false);
    if (!at) {
        ntk_json_null(&json);
        return 0;
    }
    bool is_cut = bytes > NTK_TIMELINE_FILE_BYTES_MAX;
    const char *end = at + (is_cut ? NTK_TIMELINE_FILE_BYTES_MAX : bytes);
    ntk_json_object_begin(&json);
    ntk_json_key_bool(&json, "is_cut", is_cut);
    ntk_json_key_array_begin(&json, "lines");
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        put_text_line(at, (size_t)(stop - at), &json);
        at = stop + 1;
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    return 0;
}

/* ---- of a slice ------------------------------------------------------------------------------ */

static const struct ntk_neff_position *position_of(const struct ntk_timeline *timeline,
                                                   const struct ntk_analyses *analyses,
                                                   const struct ntk_timeline_track *track,
                                                   uint32_t ref)
{
    size_t source = ntk_timeline_source_of(timeline, track);
    size_t core = (size_t)(track->core - timeline->sources[source].trace->cores);

    if (track->kind == NTK_TIMELINE_QUEUE) {
        const struct ntk_transfer *transfer =
            ntk_transfer_of_packet(&analyses->transfers, core, ref);
        ref = transfer ? transfer->instruction : NTK_NO_INDEX;
    }
    return ref == NTK_NO_INDEX
               ? NULL
               : ntk_program_position(analyses->program, core, &track->core->instructions[ref]);
}

/* Writes values such as "kv_h=0 s_t=3". */
static void put_path(const struct ntk_neff_positions *positions, const struct ntk_neff_position *at,
                     struct ntk_json *json)
{
    const struct ntk_neff_iteration *path[NTK_NEFF_KERNEL_DEPTH_MAX];
    size_t count = ntk_neff_position_path(positions, at, path);
    struct ntk_buf text = { 0 };

    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_format(&text, "%s%s=", i ? " " : "", path[i]->variable);
        ntk_neff_iteration_value_add(path[i], &text);
    }
    ntk_json_key_text(json, "iteration", count ? ntk_buf_text_get(&text) : NULL);
    ntk_buf_fini(&text);
}

int ntk_timeline_put_position(const struct ntk_timeline *timeline,
                              const struct ntk_analyses *analyses, uint64_t track_index,
                              uint64_t slice, struct ntk_buf *out, struct ntk_err *err)
{
    const struct ntk_timeline_track *track =
        ntk_timeline_track_with(timeline, track_index, slice, err);
    const struct ntk_neff_position *at = NULL;
    struct ntk_json json;

    if (!track) {
        return -ENOENT;
    }
    if (analyses && (track->kind == NTK_TIMELINE_ENGINE || track->kind == NTK_TIMELINE_QUEUE)) {
        at = position_of(timeline, analyses, track, track->slices[slice].ref);
    }
    ntk_json_init(&json, out, false);
    if (!at) {
        ntk_json_null(&json);
        return 0;
    }
    const struct ntk_neff_positions *positions = analyses->program->positions;
    const struct ntk_neff_kernel_instruction *instruction =
        ntk_neff_position_instruction(positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(positions, instruction);
    ntk_json_object_begin(&json);
    if (at->file) {
        ntk_json_key_u64(&json, "file", at->file - 1);
    }
    ntk_json_key_text(&json, "path",
                      at->file   ? ntk_neff_position_file(positions, at)
                      : function ? function->file
                                 : NULL);
    ntk_json_key_u64(&json, "line", at->file ? at->line : instruction ? instruction->line : 0);
    ntk_json_key_text(&json, "function", function ? function->name : NULL);
    put_path(positions, at, &json);
    ntk_json_object_end(&json);
    return 0;
}
