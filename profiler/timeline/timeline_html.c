/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - writes modules as data with URLs in an import map, because a file on disk cannot
 * import another; data is deflated and written as base64 into scripts that are not executed.
 */
#include "profiler/timeline/timeline_html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/export_to.h"
#include "profiler/timeline/html_private.h"
#include "profiler/timeline/page/page_files.h"
#include "profiler/timeline/timeline_tile.h"
#include "profiler/trace/long_list.h"
#include "shared/base/str.h"

/* Prefix of imports in the module files, and in the single file. */
#define IMPORT_BEFORE "'./"
#define IMPORT_AFTER "'page/"

/* space for a module in the map: longer names of imports, its address */
#define MODULE_MORE_BYTES 512

#define EXTENT_BYTES 4096 /* space reserved for the extent and the end of the page */

#define LINES_SHARE 4 /* 1 / maximum part of the space for lines */

static const struct ntk_http_file *file_get(const char *name)
{
    for (const struct ntk_http_file *file = ntk_timeline_page_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) {
            return file;
        }
    }
    return NULL;
}

/* Writes a module with imports as in the map. */
static void put_module(const struct ntk_http_file *file, struct ntk_buf *out)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->bytes_count;
    const char *found;

    while ((found = memmem(at, (size_t)(end - at), IMPORT_BEFORE, strlen(IMPORT_BEFORE)))) {
        ntk_buf_add(out, at, (size_t)(found - at));
        ntk_buf_add_text(out, IMPORT_AFTER);
        at = found + strlen(IMPORT_BEFORE);
    }
    ntk_buf_add(out, at, (size_t)(end - at));
}

static int put_import_map(struct ntk_html_writer *w)
{
    struct ntk_buf module = { 0 };
    const char *separator = "";
    int ret = 0;

    ntk_buf_add_text(&w->sink->buf, "<script type=\"importmap\">{\"imports\":{");
    for (const struct ntk_http_file *file = ntk_timeline_page_files; file->name && ret == 0;
         file++) {
        const struct ntk_http_file *from =
            strcmp(file->name, "source.js") == 0 ? file_get("embedded.js") : file;
        if (!ntk_str_ends_with(file->name, ".js") || strcmp(file->name, "embedded.js") == 0) {
            continue;
        }
        ntk_buf_reset(&module);
        put_module(from, &module);
        ntk_buf_add_format(&w->sink->buf, "%s\"page/%s\":\"data:text/javascript;base64,", separator,
                           file->name);
        ret = ntk_buf_ok(&module) ? ntk_html_put_base64(w, module.bytes, module.bytes_count)
                                  : -ENOMEM;
        ntk_buf_add_char(&w->sink->buf, '"');
        separator = ",\n";
    }
    ntk_buf_add_text(&w->sink->buf, "}}</script>\n");
    ntk_buf_fini(&module);
    return ret;
}

/* Returns the number of bytes for the map. */
static uint64_t import_map_bytes(void)
{
    uint64_t bytes = 0;

    for (const struct ntk_http_file *file = ntk_timeline_page_files; file->name; file++) {
        if (ntk_str_ends_with(file->name, ".js")) {
            bytes += (file->bytes_count + MODULE_MORE_BYTES) / 3 * 4 + strlen(file->name);
        }
    }
    return bytes;
}

static int put_style(struct ntk_html_writer *w)
{
    const struct ntk_http_file *file = file_get("style.css");

    ntk_buf_add_text(&w->sink->buf, "<style>\n");
    ntk_buf_add(&w->sink->buf, file->bytes, file->bytes_count);
    ntk_buf_add_text(&w->sink->buf, "</style>");
    return ntk_sink_step(w->sink);
}

static int put_icon(struct ntk_html_writer *w)
{
    const struct ntk_http_file *file = file_get("icon.svg");

    ntk_buf_add_text(&w->sink->buf, "\"data:image/svg+xml;base64,");
    int ret = ntk_html_put_base64(w, file->bytes, file->bytes_count);
    ntk_buf_add_char(&w->sink->buf, '"');
    return ret;
}

static int put_extent(struct ntk_html_writer *w)
{
    struct ntk_buf data = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &data, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "bytes_max", w->bytes_max);
    ntk_json_key_bool(&json, "has_slices", w->extent.has_slices);
    ntk_json_key_u64(&json, "level", w->extent.level);
    ntk_json_key_bool(&json, "lacks_positions", w->extent.lacks_positions);
    ntk_json_key_bool(&json, "lacks_tensors", w->extent.lacks_tensors);
    ntk_json_key_bool(&json, "lacks_host", w->extent.lacks_host);
    ntk_json_key_u64(&json, "slices", w->extent.slice_count);
    ntk_json_key_u64(&json, "details", w->extent.detail_count);
    ntk_json_key_u64(&json, "chunk", NTK_TIMELINE_HTML_CHUNK);
    ntk_json_object_end(&json);
    int ret = ntk_html_put_data(w, "id=\"data-extent\"", &data);
    ntk_buf_fini(&data);
    return ret;
}

static int put_all_data(struct ntk_html_writer *w, const struct ntk_timeline_html_options *options)
{
    struct ntk_buf data = { 0 };
    struct ntk_buf text = { 0 };
    bool has_whole = false;
    int ret = ntk_html_put_answers(w, options->title, &data);

    if (ret == 0) {
        ret = ntk_html_put_data(w, "id=\"data-answers\"", &data);
    }
    if (ret == 0) {
        ret = ntk_html_put_lines(w, &data);
    }
    if (ret == 0) {
        ret = ntk_html_add_data("id=\"data-lines\"", &data, &text);
    }
    if (ret == 0 && text.bytes_count <= ntk_html_room_bytes(w) / LINES_SHARE) {
        bool is_put = false;
        ret = ntk_html_put_if_room(w, &text, &is_put);
    }
    ntk_html_passed(w, NTK_HTML_SHARE_LINES);
    ntk_buf_reset(&text);
    ntk_buf_reset(&data);
    if (ret == 0 && w->timeline->slice_count <= NTK_TIMELINE_HTML_SLICES_MAX) {
        ntk_timeline_tile_put_all(w->timeline, &data);
        ret = ntk_html_add_data("id=\"data-whole\"", &data, &text);
        ret = ret == 0 ? ntk_html_put_if_room(w, &text, &has_whole) : ret;
    }
    if (ret == 0) {
        ret = ntk_html_put_tiles(w, has_whole);
    }
    ret = ret ? ret : ntk_html_put_host(w, options);
    ret = ret ? ret : ntk_html_put_positions(w);
    ret = ret ? ret : ntk_html_put_source_files(w);
    ret = ret ? ret : ntk_html_put_tensors(w);
    ret = ret ? ret : ntk_html_put_details(w); /* details take all the remaining space */
    ret = ret ? ret : put_extent(w);
    ntk_html_passed(w, 1);
    ntk_buf_fini(&text);
    ntk_buf_fini(&data);
    return ret;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum piece { PIECE_ICON, PIECE_STYLE, PIECE_SCRIPT };

/* Requests of index.html to a server, and their replacements. */
static const struct {
    const char *text;
    enum piece piece;
    const char *before, *after;
} pieces[] = {
    { "<link rel=\"icon\" href=\"icon.svg\" type=\"image/svg+xml\">", PIECE_ICON,
      "<link rel=\"icon\" type=\"image/svg+xml\" href=", ">" },
    { "<link rel=\"stylesheet\" href=\"style.css\">", PIECE_STYLE, "", "" },
    { "<script type=\"module\" src=\"main.js\"></script>", PIECE_SCRIPT, "",
      "<script type=\"module\">import 'page/main.js';</script>" },
    { "\"icon.svg\"", PIECE_ICON, "", "" },
};

static int put_piece(struct ntk_html_writer *w, size_t index,
                     const struct ntk_timeline_html_options *options)
{
    int ret = 0;

    ntk_buf_add_text(&w->sink->buf, pieces[index].before);
    switch (pieces[index].piece) {
    case PIECE_ICON:
        ret = put_icon(w);
        break;
    case PIECE_STYLE:
        ret = put_style(w);
        break;
    case PIECE_SCRIPT:
        ret = put_all_data(w, options);
        ret = ret == 0 ? put_import_map(w) : ret;
        break;
    }
    ntk_buf_add_text(&w->sink->buf, pieces[index].after);
    return ret;
}

static int put_page(struct ntk_html_writer *w, const struct ntk_timeline_html_options *options)
{
    const struct ntk_http_file *file = file_get("index.html");
    const char *at = (const char *)file->bytes;
    const char *end = at + file->bytes_count;
    int ret = 0;

    while (ret == 0) {
        const char *next = NULL;
        size_t which = 0;
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            const char *found =
                memmem(at, (size_t)(end - at), pieces[p].text, strlen(pieces[p].text));
            if (found && (!next || found < next)) {
                next = found;
                which = p;
            }
        }
        if (!next) {
            break;
        }
        ntk_buf_add(&w->sink->buf, at, (size_t)(next - at));
        ret = put_piece(w, which, options);
        at = next + strlen(pieces[which].text);
    }
    ntk_buf_add(&w->sink->buf, at, (size_t)(end - at));
    return ret;
}

int ntk_timeline_html_write(const struct ntk_timeline *timeline,
                            const struct ntk_timeline_html_options *options,
                            struct ntk_timeline_html_extent *out_extent, struct ntk_err *err)
{
    struct ntk_sink sink;
    struct ntk_html_writer w = { .sink = &sink,
                                 .timeline = timeline,
                                 .source_text = options->text,
                                 .shows_progress = options->shows_progress,
                                 .page_bytes = import_map_bytes() + EXTENT_BYTES,
                                 .bytes_max = options->bytes_max ? options->bytes_max
                                                                 : NTK_TIMELINE_HTML_BYTES };
    int ret = ntk_sink_open(&sink, options->path, err);

    if (ret < 0) {
        return ret;
    }
    w.analyses = calloc(timeline->source_count, sizeof(struct ntk_analyses *));
    w.operands = calloc(timeline->source_count, sizeof(struct ntk_operands *));
    w.lines = calloc(timeline->source_count + 1, sizeof(struct ntk_source_lines *));
    ret = w.analyses && w.operands && w.lines ? 0 : ntk_err_no_memory(err);
    for (size_t s = 0; ret == 0 && s < timeline->source_count; s++) {
        w.operands[s] = ntk_operands_create(timeline->sources[s].trace);
        const struct ntk_trace *trace = timeline->sources[s].trace;
        ret = !w.operands[s] ? -ENOMEM
              : options->shows_progress
                  ? ntk_analyses_create_shown(trace, NTK_USES_ALL, &w.analyses[s])
                  : ntk_analyses_create(trace, &w.analyses[s]);
        if (ret < 0) {
            ntk_long_list_err_set(err, ret, ntk_trace_folder_get(timeline->sources[s].trace));
        }
    }
    bool is_made = ret == 0;
    if (is_made) {
        ntk_progress_begin(&w.progress, "writing the page");
        ret = put_page(&w, options);
        ntk_progress_end(&w.progress);
    }
    for (size_t s = 0; w.analyses && w.operands && w.lines && s < timeline->source_count; s++) {
        ntk_source_lines_destroy(w.lines[s]);
        ntk_analyses_destroy(w.analyses[s]);
        ntk_operands_destroy(w.operands[s]);
    }
    free(w.lines);
    free(w.analyses);
    free(w.operands);
    if (!is_made) {
        ntk_sink_abort(&sink);
        return ret;
    }
    *out_extent = w.extent;
    return ntk_export_finish(&sink, ret, err);
}
