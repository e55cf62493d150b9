/* SPDX-License-Identifier: MIT */
/* html_source - writes the cost of lines, their text, and the source position of each slice. */
#include "profiler/timeline/html_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/timeline_insight.h"
#include "shared/base/map.h"

#define ITERATIONS_MAX 20000 /* maximum over all loops */

/* Writes [by source: {"lines": ..., "iterations": {"loop": ...}}]. */
int ntk_html_put_lines(struct ntk_html_writer *w, struct ntk_buf *out)
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
        ntk_html_put_member(out, s ? ",{" : "[{", "lines");
        ntk_timeline_put_lines(w->timeline, s, lines, w->source_text, out);
        ntk_html_put_member(out, ",", "iterations");
        for (size_t i = 0; i < lines->loop_count && ret == 0; i++) {
            char key[24];
            size_t count = (size_t)lines->loops[i].iteration_count;
            count = count < NTK_TIMELINE_ITERATIONS_MAX ? count : NTK_TIMELINE_ITERATIONS_MAX;
            if (count == 0 || count > left) {
                continue;
            }
            left -= count;
            (void)snprintf(key, sizeof key, "%zu", i);
            ntk_html_put_member(out, separator, key);
            separator = ",";
            ret = ntk_timeline_put_iterations(w->timeline, s, lines, i, out, NULL);
        }
        ntk_buf_add_text(out, separator[0] == '{' ? "{}}" : "}}");
        ntk_html_give_back(w);
    }
    ntk_buf_add_text(out, w->timeline->source_count ? "]" : "[]");
    return ret;
}

/* Writes the text of each file, as far as it fits. */
int ntk_html_put_source_files(struct ntk_html_writer *w)
{
    struct ntk_buf text = { 0 };
    struct ntk_buf data = { 0 };
    int ret = 0;

    for (size_t s = 0; s < w->timeline->source_count && w->lines[s]; s++) {
        for (uint64_t f = 0; ret == 0; f++) {
            char attributes[64];
            bool is_put = false;
            if (ntk_timeline_put_source_file(w->lines[s], w->source_text, f, &data, NULL) < 0) {
                break; /* the previous file was the last */
            }
            if (data.bytes_count <= strlen("null")) {
                ntk_buf_reset(&data);
                continue;
            }
            (void)snprintf(attributes, sizeof attributes, "id=\"data-file-%zu-%llu\"", s,
                           (unsigned long long)f);
            ret = ntk_html_add_data(attributes, &data, &text);
            ret = ret == 0 ? ntk_html_put_if_room(w, &text, &is_put) : ret;
        }
    }
    ntk_buf_fini(&data);
    ntk_buf_fini(&text);
    return ret;
}

static int put_position(const struct ntk_html_writer *w, size_t track, size_t slice,
                        struct ntk_buf *out, struct ntk_err *err)
{
    size_t source = ntk_timeline_source_of(w->timeline, ntk_timeline_track_get(w->timeline, track));

    return ntk_timeline_put_position(w->timeline,
                                     source == NTK_TIMELINE_NO_SOURCE ? NULL : w->analyses[source],
                                     track, slice, out, err);
}

/* Place numbers of slices, 0 for none, because there are far fewer places than slices. */
struct places {
    struct ntk_map numbers; /* maps JSON to a number */
    struct ntk_buf list;    /* JSON of each place */
    size_t count;
};

/* Returns 0 if unknown, or if out of memory, which the list records. */
static uintptr_t number_of(struct places *places, struct ntk_buf *json)
{
    const char *key = ntk_buf_text_get(json);
    uintptr_t number = (uintptr_t)ntk_map_get(&places->numbers, key);

    if (json->bytes_count == 0 || strcmp(key, "null") == 0 || number) {
        return number;
    }
    number = ++places->count;
    if (!ntk_buf_ok(json) || ntk_map_put(&places->numbers, key, (void *)number) < 0) {
        places->list.failed = true;
        return 0;
    }
    ntk_buf_add_text(&places->list, number > 1 ? "," : "");
    ntk_buf_add(&places->list, json->bytes, json->bytes_count);
    return number;
}

static bool has_positions(const struct ntk_html_writer *w)
{
    for (size_t s = 0; s < w->timeline->source_count; s++) {
        if (w->analyses[s]->program->positions) {
            return true;
        }
    }
    return false;
}

/* Returns true if positions are written for the track: in a long timeline only for engines. */
static bool is_written(const struct ntk_timeline *timeline, const struct ntk_timeline_track *track)
{
    return track->kind == NTK_TIMELINE_ENGINE ||
           (track->kind == NTK_TIMELINE_QUEUE &&
            timeline->slice_count <= NTK_TIMELINE_HTML_SLICES_MAX);
}

static size_t slices_written(const struct ntk_timeline *timeline)
{
    size_t count = 0;

    for (size_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        count += is_written(timeline, track) ? track->slice_count : 0;
    }
    return count;
}

/* Writes {"places": [...], "of": [[...]]}: numbers of places from 1 on, by track, then by slice. */
int ntk_html_put_positions(struct ntk_html_writer *w)
{
    const struct ntk_timeline *timeline = w->timeline;
    struct places places = { 0 };
    struct ntk_buf of = { 0 };
    struct ntk_buf one = { 0 };
    struct ntk_buf text = { 0 };
    bool is_put = false;
    int ret = 0;

    w->extent.lacks_positions = has_positions(w);
    if (!has_positions(w) || slices_written(timeline) > NTK_TIMELINE_HTML_SLICES_MAX) {
        return 0;
    }
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        ntk_buf_add_text(&of, t ? ",[" : "[");
        for (size_t i = 0; is_written(timeline, track) && i < track->slice_count; i++) {
            ntk_buf_reset(&one);
            if (put_position(w, t, i, &one, NULL) < 0) {
                ntk_buf_reset(&one);
            }
            ntk_buf_add_format(&of, "%s%zu", i ? "," : "", (size_t)number_of(&places, &one));
            if (i % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
                ntk_html_give_back(w);
            }
        }
        ntk_buf_add_char(&of, ']');
    }
    ntk_html_give_back(w);
    w->extent.lacks_positions = places.count > 0;
    if (places.count > 0 && ntk_buf_ok(&places.list) && ntk_buf_ok(&of)) {
        ntk_buf_reset(&one);
        ntk_buf_add_format(&one, "{\"places\":[%s],\"of\":[", ntk_buf_text_get(&places.list));
        ntk_buf_add(&one, of.bytes, of.bytes_count);
        ntk_buf_add_text(&one, "]}");
        ret = ntk_html_add_data("id=\"data-positions\"", &one, &text);
        ret = ret == 0 ? ntk_html_put_if_room(w, &text, &is_put) : ret;
        w->extent.lacks_positions = !is_put;
    } else if (places.list.failed || of.failed) {
        ret = -ENOMEM;
    }
    ntk_map_fini(&places.numbers);
    ntk_buf_fini(&places.list);
    ntk_buf_fini(&of);
    ntk_buf_fini(&one);
    ntk_buf_fini(&text);
    return ret;
}
