/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - modules become data: addresses that an import map names, since a file from a disk
 * may import no other; data is deflated and written as base64 into scripts that are not run.
 */
#include "profiler/timeline/timeline_html.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "profiler/output/export_to.h"
#include "profiler/output/output.h"
#include "profiler/output/sink.h"
#include "profiler/timeline/page/page_files.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_insight.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_source.h"
#include "profiler/timeline/timeline_tile.h"
#include "profiler/trace/long_list.h"
#include "shared/base/str.h"

/* How modules name each other in the files, and in the one file. */
#define IMPORT_BEFORE "'./"
#define IMPORT_AFTER "'page/"

/* The modules of the page, which come behind the data. */
#define PAGE_BYTES ((uint64_t)256 << 10)

#define LINES_SHARE 4        /* they take at most this part of the room */
#define ITERATIONS_MAX 20000 /* of all loops */

struct writer {
    struct ntk_sink *sink;
    const struct ntk_timeline *timeline;
    uint64_t bytes_max;
    struct ntk_timeline_html_extent extent;
    /* Of each source. */
    struct ntk_analyses **analyses;
    struct ntk_operands **operands;
    struct ntk_source_lines **lines;
    struct ntk_source_text *source_text; /* NULL: none */
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static void add_base64(const void *data, size_t bytes_count, struct ntk_buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;

    for (size_t i = 0; i < bytes_count; i += 3) {
        size_t left = bytes_count - i;
        unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0U) |
                        (left > 2 ? bytes[i + 2] : 0U);
        char text[4] = { digits[word >> 18], digits[word >> 12 & 63],
                         left > 1 ? digits[word >> 6 & 63] : '=',
                         left > 2 ? digits[word & 63] : '=' };
        ntk_buf_add(out, text, sizeof text);
    }
}

static int put_base64(struct writer *w, const void *data, size_t bytes_count)
{
    add_base64(data, bytes_count, &w->sink->buf);
    return ntk_sink_step(w->sink);
}

/* <script type="text/plain" ATTRIBUTES>base64 of the deflated bytes</script> appended to text;
 * empties data. */
static int add_data(const char *attributes, struct ntk_buf *data, struct ntk_buf *text)
{
    uLongf packed_bytes = compressBound(data->bytes_count);
    unsigned char *packed = malloc(packed_bytes);
    int ret = packed && ntk_buf_ok(data) ? 0 : -ENOMEM;

    if (ret == 0 && compress2(packed, &packed_bytes, (const Bytef *)ntk_buf_text_get(data),
                              data->bytes_count, Z_DEFAULT_COMPRESSION) != Z_OK) {
        ret = -ENOMEM;
    }
    if (ret == 0) {
        ntk_buf_add_format(text, "<script type=\"text/plain\" %s>", attributes);
        add_base64(packed, packed_bytes, text);
        ntk_buf_add_text(text, "</script>\n");
    }
    free(packed);
    ntk_buf_reset(data);
    return ret;
}

static int put_data(struct writer *w, const char *attributes, struct ntk_buf *data)
{
    int ret = add_data(attributes, data, &w->sink->buf);

    return ret == 0 ? ntk_sink_step(w->sink) : ret;
}

/* What the file may still grow by. */
static uint64_t room_bytes(const struct writer *w)
{
    uint64_t used = w->sink->flushed_bytes + w->sink->buf.bytes_count + PAGE_BYTES;

    return used < w->bytes_max ? w->bytes_max - used : 0;
}

/* The text, when there is room for it; empties it. */
static int put_if_room(struct writer *w, struct ntk_buf *text, bool *out_is_put)
{
    int ret = ntk_buf_ok(text) ? 0 : -ENOMEM;

    *out_is_put = text->bytes_count <= room_bytes(w);
    if (ret == 0 && *out_is_put) {
        ntk_buf_add(&w->sink->buf, text->bytes, text->bytes_count);
        ret = ntk_sink_step(w->sink);
    }
    ntk_buf_reset(text);
    return ret;
}

static const struct ntk_http_file *file_get(const char *name)
{
    for (const struct ntk_http_file *file = ntk_timeline_page_files; file->name; file++) {
        if (strcmp(file->name, name) == 0) {
            return file;
        }
    }
    return NULL;
}

/* A module that names others as the map does. */
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

static int put_import_map(struct writer *w)
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
        ret = ntk_buf_ok(&module) ? put_base64(w, module.bytes, module.bytes_count) : -ENOMEM;
        ntk_buf_add_char(&w->sink->buf, '"');
        separator = ",\n";
    }
    ntk_buf_add_text(&w->sink->buf, "}}</script>\n");
    ntk_buf_fini(&module);
    return ret;
}

static int put_style(struct writer *w)
{
    const struct ntk_http_file *file = file_get("style.css");

    ntk_buf_add_text(&w->sink->buf, "<style>\n");
    ntk_buf_add(&w->sink->buf, file->bytes, file->bytes_count);
    ntk_buf_add_text(&w->sink->buf, "</style>");
    return ntk_sink_step(w->sink);
}

static int put_icon(struct writer *w)
{
    const struct ntk_http_file *file = file_get("icon.svg");

    ntk_buf_add_text(&w->sink->buf, "\"data:image/svg+xml;base64,");
    int ret = put_base64(w, file->bytes, file->bytes_count);
    ntk_buf_add_char(&w->sink->buf, '"');
    return ret;
}

/* What an answer or a tile looked at of long lists. */
static void give_back(const struct writer *w)
{
    ntk_timeline_give_back_all(w->timeline);
    for (size_t s = 0; s < w->timeline->source_count; s++) {
        ntk_analyses_give_back(w->analyses[s]);
    }
}

/* ---- data ------------------------------------------------------------------------------------ */

/* A value of the object that is open, made by a function that appends to a buffer. */
static void put_member(struct ntk_buf *out, const char *separator, const char *key)
{
    ntk_buf_add_text(out, separator);
    ntk_json_add_quoted(out, key);
    ntk_buf_add_char(out, ':');
}

static int put_analyses(const struct ntk_analyses *analyses, struct ntk_buf *out)
{
    const char *separator = "";

    ntk_buf_add_char(out, '{');
    for (size_t i = 0; i < ntk_analyses_count(); i++) {
        const struct ntk_analysis_info *info = ntk_analyses_info(i);
        struct ntk_buf value = { 0 };
        struct ntk_json json;
        ntk_json_init(&json, &value, false);
        int ret = ntk_analyses_put_brief(analyses, i, &json);
        put_member(out, separator, info->name);
        if (ret == -ENODATA) {
            ntk_buf_add_text(out, "{\"absent\":");
            ntk_json_add_quoted(out, info->absent);
        } else {
            ntk_buf_add_text(out, "{\"value\":");
            ntk_buf_add(out, ntk_buf_text_get(&value), value.bytes_count);
        }
        ntk_buf_add_char(out, '}');
        out->failed |= !ntk_buf_ok(&value);
        ntk_buf_fini(&value);
        if (ret < 0 && ret != -ENODATA) {
            return ret;
        }
        separator = ",";
    }
    ntk_buf_add_char(out, '}');
    return 0;
}

static int put_summary(const struct ntk_timeline_source *source, struct ntk_buf *out)
{
    struct ntk_summary summary = { 0 };
    int ret = ntk_analysis_summary(source->trace, &summary);

    if (ret == 0) {
        ntk_output_summary_json(&summary, source->name, out);
        ntk_summary_fini(&summary);
    }
    return ret;
}

static int put_answers(struct writer *w, const char *title, struct ntk_buf *out)
{
    const struct ntk_timeline *timeline = w->timeline;
    int64_t span_ps = timeline->end_ps - timeline->begin_ps;
    static const char *const keys[] = { "summaries", "analyses", "paths", "flames" };
    int ret = 0;

    put_member(out, "{", "meta");
    ntk_timeline_put_meta(timeline, title, false, out);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        put_member(out, ",", keys[k]);
        ntk_buf_add_char(out, '[');
        for (size_t s = 0; s < timeline->source_count && ret == 0; s++) {
            ntk_buf_add_text(out, s ? "," : "");
            switch (k) {
            case 0:
                ret = put_summary(&timeline->sources[s], out);
                break;
            case 1:
                ret = put_analyses(w->analyses[s], out);
                break;
            case 2:
                ntk_timeline_put_path(timeline, s, w->analyses[s], 0, span_ps, out);
                break;
            default:
                ntk_timeline_put_flame(timeline, s, w->analyses[s], 0, span_ps, out);
                break;
            }
            give_back(w);
        }
        ntk_buf_add_char(out, ']');
    }
    ntk_buf_add_char(out, '}');
    return ret;
}

static int put_flows(const struct writer *w, size_t track, size_t slice, struct ntk_buf *out,
                     struct ntk_err *err)
{
    size_t source = ntk_timeline_source_of(w->timeline, ntk_timeline_track_get(w->timeline, track));
    bool is_host = source == NTK_TIMELINE_NO_SOURCE;

    return ntk_timeline_put_flows(w->timeline, is_host ? NULL : w->analyses[source],
                                  is_host ? NULL : w->operands[source], track, slice, out, err);
}

static int put_position(const struct writer *w, size_t track, size_t slice, struct ntk_buf *out,
                        struct ntk_err *err)
{
    size_t source = ntk_timeline_source_of(w->timeline, ntk_timeline_track_get(w->timeline, track));

    return ntk_timeline_put_position(w->timeline,
                                     source == NTK_TIMELINE_NO_SOURCE ? NULL : w->analyses[source],
                                     track, slice, out, err);
}

/* [by source: {"lines": ..., "iterations": {"loop": ...}}] */
static int put_lines(struct writer *w, struct ntk_buf *out)
{
    size_t left = ITERATIONS_MAX;
    int ret = 0;

    for (size_t s = 0; s < w->timeline->source_count && ret == 0; s++) {
        const char *separator = "{";
        ret = ntk_timeline_lines_create(w->analyses[s], &w->lines[s]);
        if (ret < 0) {
            break;
        }
        const struct ntk_source_lines *lines = w->lines[s];
        put_member(out, s ? ",{" : "[{", "lines");
        ntk_timeline_put_lines(w->timeline, s, lines, w->source_text, out);
        put_member(out, ",", "iterations");
        for (size_t i = 0; i < lines->loop_count && ret == 0; i++) {
            char key[24];
            size_t count = (size_t)lines->loops[i].iteration_count;
            count = count < NTK_TIMELINE_ITERATIONS_MAX ? count : NTK_TIMELINE_ITERATIONS_MAX;
            if (count == 0 || count > left) {
                continue;
            }
            left -= count;
            (void)snprintf(key, sizeof key, "%zu", i);
            put_member(out, separator, key);
            separator = ",";
            ret = ntk_timeline_put_iterations(w->timeline, s, lines, i, out, NULL);
        }
        ntk_buf_add_text(out, separator[0] == '{' ? "{}}" : "}}");
        give_back(w);
    }
    ntk_buf_add_text(out, w->timeline->source_count ? "]" : "[]");
    return ret;
}

/* The text of each file, as far as there is room. */
static int put_source_files(struct writer *w)
{
    struct ntk_buf text = { 0 };
    struct ntk_buf data = { 0 };
    int ret = 0;

    for (size_t s = 0; s < w->timeline->source_count && w->lines[s]; s++) {
        for (uint64_t f = 0; ret == 0; f++) {
            char attributes[64];
            bool is_put = false;
            if (ntk_timeline_put_source_file(w->lines[s], w->source_text, f, &data, NULL) < 0) {
                break; /* the last was before */
            }
            if (data.bytes_count <= strlen("null")) {
                ntk_buf_reset(&data);
                continue;
            }
            (void)snprintf(attributes, sizeof attributes, "id=\"data-file-%zu-%llu\"", s,
                           (unsigned long long)f);
            ret = add_data(attributes, &data, &text);
            ret = ret == 0 ? put_if_room(w, &text, &is_put) : ret;
        }
    }
    ntk_buf_fini(&data);
    ntk_buf_fini(&text);
    return ret;
}

/* {"slices": [[...]], "flows": [[...]], "positions": [[...]]}: by track, then by slice; null where nothing is known. */
static void put_details(struct writer *w, struct ntk_buf *out)
{
    const struct ntk_timeline *timeline = w->timeline;

    static const char *const keys[] = { "slices", "flows", "positions" };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        put_member(out, k ? "," : "{", keys[k]);
        for (size_t t = 0; t < timeline->tracks.count; t++) {
            const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
            ntk_buf_add_text(out, t ? ",[" : "[[");
            for (size_t i = 0; i < track->slice_count; i++) {
                struct ntk_err err = { 0 };
                size_t before;
                ntk_buf_add_text(out, i ? "," : "");
                before = out->bytes_count;
                int ret = k == 0   ? ntk_timeline_put_slice(timeline, t, i, out, &err)
                          : k == 1 ? put_flows(w, t, i, out, &err)
                                   : put_position(w, t, i, out, &err);
                if (ret < 0) {
                    out->bytes_count = before;
                    ntk_buf_add_text(out, "null");
                }
            }
            ntk_buf_add_char(out, ']');
        }
        ntk_buf_add_text(out, timeline->tracks.count ? "]" : "[]");
    }
    ntk_buf_add_char(out, '}');
}

/* Whether all rows that have slices have them in the tile. */
static bool has_slices_only(const struct ntk_timeline *timeline, const struct ntk_buf *tile)
{
    struct ntk_timeline_tile_head head;
    size_t at = sizeof head;

    if (!ntk_buf_ok(tile) || tile->bytes_count < at) {
        return false;
    }
    memcpy(&head, tile->bytes, sizeof head);
    for (uint32_t i = 0; i < head.track_count; i++) {
        struct ntk_timeline_tile_section section;
        memcpy(&section, tile->bytes + at, sizeof section);
        if (section.form == NTK_TIMELINE_FORM_BUCKETS &&
            ntk_timeline_track_get(timeline, section.track)->kind != NTK_TIMELINE_RATE) {
            return false;
        }
        at +=
            sizeof section + section.entry_count * (section.form == NTK_TIMELINE_FORM_SLICES
                                                        ? sizeof(struct ntk_timeline_tile_slice)
                                                        : sizeof(struct ntk_timeline_tile_bucket));
    }
    return true;
}

/* All tiles of a level, as far as there is room. */
static int add_level(struct writer *w, unsigned level, const uint32_t *tracks, size_t count,
                     struct ntk_buf *text, bool *out_has_all)
{
    uint64_t last = (uint64_t)(w->timeline->end_ps - w->timeline->begin_ps) >>
                    (level + NTK_TIMELINE_TILE_SHIFT);
    struct ntk_buf tile = { 0 };
    int ret = 0;

    *out_has_all = true;
    for (uint64_t i = 0; i <= last && ret == 0 && text->bytes_count <= room_bytes(w); i++) {
        char attributes[96];
        ret = ntk_timeline_tile_put(w->timeline, level, i, tracks, count, &tile, NULL);
        *out_has_all = *out_has_all && has_slices_only(w->timeline, &tile);
        give_back(w);
        (void)snprintf(attributes, sizeof attributes,
                       "id=\"data-tile-%u-%llu\" data-tile=\"%u/%llu\"", level,
                       (unsigned long long)i, level, (unsigned long long)i);
        ret = ret == 0 ? add_data(attributes, &tile, text) : ret;
    }
    ntk_buf_fini(&tile);
    return ret;
}

/* Tiles of the tracks that the tile with all slices does not have: the top level in any case, then
 * one level after the other, until one has all slices, or is too large. */
static int put_tiles(struct writer *w, bool has_whole)
{
    const struct ntk_timeline *timeline = w->timeline;
    unsigned top = ntk_timeline_level_top(timeline->end_ps - timeline->begin_ps);
    unsigned level_count = has_whole ? NTK_TIMELINE_HTML_LEVELS : top + 1;
    uint32_t *tracks = malloc((timeline->tracks.count + 1) * sizeof *tracks);
    struct ntk_buf text = { 0 };
    bool has_all = false;
    bool has_room = true;
    size_t count = 0;
    int ret = tracks ? 0 : -ENOMEM;

    for (size_t t = 0; tracks && t < timeline->tracks.count; t++) {
        if (!has_whole || ntk_timeline_track_get(timeline, t)->slice_count == 0) {
            tracks[count++] = (uint32_t)t;
        }
    }
    for (unsigned n = 0; n < level_count && n <= top && count && ret == 0 && has_room; n++) {
        bool has_all_here = false;
        ret = add_level(w, top - n, tracks, count, &text, &has_all_here);
        if (ret == 0 && n == 0) {
            ntk_buf_add(&w->sink->buf, text.bytes, text.bytes_count);
            ntk_buf_reset(&text);
            ret = ntk_sink_step(w->sink);
        } else if (ret == 0) {
            ret = put_if_room(w, &text, &has_room);
        }
        if (has_room && !has_whole) {
            w->extent.level = top - n;
            has_all = has_all_here;
        }
        has_room = has_room && !has_all;
    }
    w->extent.has_slices = has_whole || has_all;
    ntk_buf_fini(&text);
    free(tracks);
    return ret;
}

static int put_extent(struct writer *w)
{
    struct ntk_buf data = { 0 };
    struct ntk_json json;

    ntk_json_init(&json, &data, false);
    ntk_json_object_begin(&json);
    ntk_json_key_u64(&json, "bytes_max", w->bytes_max);
    ntk_json_key_bool(&json, "has_slices", w->extent.has_slices);
    ntk_json_key_u64(&json, "level", w->extent.level);
    ntk_json_object_end(&json);
    int ret = put_data(w, "id=\"data-extent\"", &data);
    ntk_buf_fini(&data);
    return ret;
}

static int put_all_data(struct writer *w, const char *title)
{
    struct ntk_buf data = { 0 };
    struct ntk_buf text = { 0 };
    bool has_whole = false;
    bool has_details = false;
    int ret = put_answers(w, title, &data);

    if (ret == 0) {
        ret = put_data(w, "id=\"data-answers\"", &data);
    }
    if (ret == 0) {
        ret = put_lines(w, &data);
    }
    if (ret == 0) {
        ret = add_data("id=\"data-lines\"", &data, &text);
    }
    if (ret == 0 && text.bytes_count <= room_bytes(w) / LINES_SHARE) {
        bool is_put = false;
        ret = put_if_room(w, &text, &is_put);
    }
    ntk_buf_reset(&text);
    ntk_buf_reset(&data);
    if (ret == 0 && w->timeline->slice_count <= NTK_TIMELINE_HTML_SLICES_MAX) {
        ntk_timeline_tile_put_all(w->timeline, &data);
        ret = add_data("id=\"data-whole\"", &data, &text);
        ret = ret == 0 ? put_if_room(w, &text, &has_whole) : ret;
    }
    if (ret == 0) {
        ret = put_tiles(w, has_whole);
    }
    if (ret == 0 && has_whole && w->timeline->slice_count <= NTK_TIMELINE_HTML_DETAILS_MAX) {
        put_details(w, &data);
        ret = add_data("id=\"data-details\"", &data, &text);
        ret = ret == 0 ? put_if_room(w, &text, &has_details) : ret;
    }
    if (ret == 0) {
        ret = put_source_files(w);
    }
    if (ret == 0) {
        ret = put_extent(w);
    }
    ntk_buf_fini(&text);
    ntk_buf_fini(&data);
    return ret;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum piece { PIECE_ICON, PIECE_STYLE, PIECE_SCRIPT };

/* What index.html asks a server for, and what stands there instead. */
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

static int put_piece(struct writer *w, size_t index, const char *title)
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
        ret = put_all_data(w, title);
        ret = ret == 0 ? put_import_map(w) : ret;
        break;
    }
    ntk_buf_add_text(&w->sink->buf, pieces[index].after);
    return ret;
}

static int put_page(struct writer *w, const char *title)
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
        ret = put_piece(w, which, title);
        at = next + strlen(pieces[which].text);
    }
    ntk_buf_add(&w->sink->buf, at, (size_t)(end - at));
    return ret;
}

int ntk_timeline_html_write(const struct ntk_timeline *timeline, const char *title,
                            const char *path, uint64_t bytes_max, struct ntk_source_text *text,
                            struct ntk_timeline_html_extent *out_extent, struct ntk_err *err)
{
    struct ntk_sink sink;
    struct writer w = { .sink = &sink,
                        .timeline = timeline,
                        .source_text = text,
                        .bytes_max = bytes_max ? bytes_max : NTK_TIMELINE_HTML_BYTES };
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    w.analyses = calloc(timeline->source_count, sizeof(struct ntk_analyses *));
    w.operands = calloc(timeline->source_count, sizeof(struct ntk_operands *));
    w.lines = calloc(timeline->source_count + 1, sizeof(struct ntk_source_lines *));
    ret = w.analyses && w.operands && w.lines ? 0 : ntk_err_no_memory(err);
    for (size_t s = 0; ret == 0 && s < timeline->source_count; s++) {
        w.operands[s] = ntk_operands_create(timeline->sources[s].trace);
        ret = w.operands[s] ? ntk_analyses_create(timeline->sources[s].trace, &w.analyses[s])
                            : -ENOMEM;
        if (ret < 0) {
            ntk_long_list_err_set(err, ret, ntk_trace_folder_get(timeline->sources[s].trace));
        }
    }
    bool is_made = ret == 0;
    if (is_made) {
        ret = put_page(&w, title);
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
