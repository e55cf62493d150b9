/* SPDX-License-Identifier: MIT */
/*
 * html_details - writes details of slices, in chunks of a row, as far as they fit in the file:
 * engines first, then queues, then other rows; for each kind the start of all rows before the rest
 * of any.
 */
#include "profiler/timeline/html_private.h"

#include <stdio.h>

#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_insight.h"
#include "profiler/timeline/timeline_tensors.h"

static int put_flows(const struct ntk_html_writer *w, size_t track, size_t slice,
                     struct ntk_buf *out, struct ntk_err *err)
{
    size_t source = ntk_timeline_source_of(w->timeline, ntk_timeline_track_get(w->timeline, track));
    bool is_host = source == NTK_TIMELINE_NO_SOURCE;

    return ntk_timeline_put_flows(w->timeline, is_host ? NULL : w->analyses[source],
                                  is_host ? NULL : w->operands[source], track, slice, out, err);
}

/* Writes {"slices": [...], "flows": [...]} for slices from `first` on; null if none are known. */
static void put_chunk(const struct ntk_html_writer *w, size_t track, size_t first, size_t count,
                      struct ntk_buf *out)
{
    static const char *const keys[] = { "slices", "flows" };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        ntk_html_put_member(out, k ? "," : "{", keys[k]);
        for (size_t i = first; i < first + count; i++) {
            struct ntk_err err = { 0 };
            ntk_buf_add_text(out, i > first ? "," : "[");
            size_t before = out->bytes_count;
            int ret = k == 0 ? ntk_timeline_put_slice(w->timeline, track, i, out, &err)
                             : put_flows(w, track, i, out, &err);
            if (ret < 0) {
                out->bytes_count = before;
                ntk_buf_add_text(out, "null");
            }
        }
        ntk_buf_add_char(out, ']');
    }
    ntk_buf_add_char(out, '}');
}

/* Returns the order of the kinds. */
static unsigned rank_of(enum ntk_timeline_kind kind)
{
    return kind == NTK_TIMELINE_ENGINE ? 0 : kind == NTK_TIMELINE_QUEUE ? 1 : 2;
}

/* Writes the chunk with this number of a row. */
static int put_one(struct ntk_html_writer *w, size_t track, size_t chunk, struct ntk_buf *data,
                   struct ntk_buf *text, bool *has_room)
{
    size_t first = chunk * NTK_TIMELINE_HTML_CHUNK;
    size_t left = ntk_timeline_track_get(w->timeline, track)->slice_count - first;
    size_t count = left < NTK_TIMELINE_HTML_CHUNK ? left : NTK_TIMELINE_HTML_CHUNK;
    char attributes[64];

    put_chunk(w, track, first, count, data);
    (void)snprintf(attributes, sizeof attributes, "id=\"data-details-%zu-%zu\"", track, chunk);
    int ret = ntk_html_add_data(attributes, data, text);
    ret = ret == 0 ? ntk_html_put_if_room(w, text, has_room) : ret;
    w->extent.detail_count += ret == 0 && *has_room ? count : 0;
    ntk_html_give_back(w);
    return ret;
}

int ntk_html_put_details(struct ntk_html_writer *w)
{
    const struct ntk_timeline *timeline = w->timeline;
    struct ntk_buf data = { 0 };
    struct ntk_buf text = { 0 };
    bool has_room = w->extent.has_slices; /* otherwise the page cannot refer to a chunk */
    int ret = 0;

    w->extent.slice_count = timeline->slice_count;
    for (unsigned rank = 0; rank <= rank_of(NTK_TIMELINE_KIND_COUNT) && ret == 0; rank++) {
        bool has_more = true;
        for (size_t chunk = 0; has_more && has_room && ret == 0; chunk++) {
            has_more = false;
            for (size_t t = 0; t < timeline->tracks.count && has_room && ret == 0; t++) {
                const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
                if (rank_of(track->kind) == rank &&
                    chunk * NTK_TIMELINE_HTML_CHUNK < track->slice_count) {
                    ret = put_one(w, t, chunk, &data, &text, &has_room);
                    has_more = true;
                }
            }
        }
    }
    ntk_buf_fini(&data);
    ntk_buf_fini(&text);
    return ret;
}

/* Writes {"names": [...], "of": [[...]]}: the tensor of each slice, from 1 on, by row; empty for
 * rows without tensors. Only if all slices are in the file. */
int ntk_html_put_tensors(struct ntk_html_writer *w)
{
    const struct ntk_timeline *timeline = w->timeline;
    struct ntk_timeline_tensors *tensors = NULL;
    struct ntk_buf data = { 0 };
    struct ntk_buf text = { 0 };
    bool is_put = false;
    int ret =
        w->extent.has_slices ? ntk_timeline_tensors_create(timeline, w->analyses, &tensors) : 0;

    if (!tensors || ntk_timeline_tensors_count(tensors) == 0) {
        ntk_timeline_tensors_destroy(tensors);
        return ret;
    }
    ntk_html_put_member(&data, "{", "tensors");
    ntk_timeline_put_tensors(tensors, &data);
    ntk_html_put_member(&data, ",", "of");
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        bool has = track->kind == NTK_TIMELINE_ENGINE || track->kind == NTK_TIMELINE_QUEUE;
        ntk_buf_add_text(&data, t ? ",[" : "[[");
        for (size_t i = 0; has && i < track->slice_count; i++) {
            ntk_buf_add_format(&data, "%s%u", i ? "," : "",
                               ntk_timeline_tensor_of(tensors, track, &track->slices[i]));
        }
        ntk_buf_add_char(&data, ']');
        ntk_html_give_back(w);
    }
    ntk_buf_add_text(&data, timeline->tracks.count ? "]}" : "[]}");
    ret = ntk_html_add_data("id=\"data-tensors\"", &data, &text);
    ret = ret == 0 ? ntk_html_put_if_room(w, &text, &is_put) : ret;
    w->extent.lacks_tensors = !is_put;
    ntk_timeline_tensors_destroy(tensors);
    ntk_buf_fini(&data);
    ntk_buf_fini(&text);
    return ret;
}
