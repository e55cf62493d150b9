/* SPDX-License-Identifier: MIT */
/* html_tiles - writes tiles of the timeline, from the top level down, as many as fit in the
 * file. */
#include "profiler/timeline/html_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_tile.h"

/* Returns true if all rows with slices have them in the tile. */
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

/* Shows progress: levels are written until the space, estimated from the first level, is used
 * up. */
static void show_progress(struct ntk_html_writer *w, uint64_t first_room, size_t bytes_count)
{
    uint64_t room = ntk_html_room_bytes(w);
    uint64_t used = (first_room > room ? first_room - room : 0) + bytes_count;
    double share = used < first_room ? (double)used / (double)first_room : 1;

    ntk_html_passed(w,
                    NTK_HTML_SHARE_LINES + (NTK_HTML_SHARE_TILES - NTK_HTML_SHARE_LINES) * share);
}

/* Adds all tiles of a level, as far as they fit. */
static int add_level(struct ntk_html_writer *w, unsigned level, const uint32_t *tracks,
                     size_t count, uint64_t first_room, struct ntk_buf *text, bool *out_has_all)
{
    uint64_t last = (uint64_t)(w->timeline->end_ps - w->timeline->begin_ps) >>
                    (level + NTK_TIMELINE_TILE_SHIFT);
    struct ntk_buf tile = { 0 };
    int ret = 0;

    *out_has_all = true;
    for (uint64_t i = 0; i <= last && ret == 0 && text->bytes_count <= ntk_html_room_bytes(w);
         i++) {
        char attributes[96];
        ret = ntk_timeline_tile_put(w->timeline, level, i, tracks, count, &tile, NULL);
        *out_has_all = *out_has_all && has_slices_only(w->timeline, &tile);
        ntk_html_give_back(w);
        (void)snprintf(attributes, sizeof attributes,
                       "id=\"data-tile-%u-%llu\" data-tile=\"%u/%llu\"", level,
                       (unsigned long long)i, level, (unsigned long long)i);
        ret = ret == 0 ? ntk_html_add_data(attributes, &tile, text) : ret;
        show_progress(w, first_room, text->bytes_count);
    }
    ntk_buf_fini(&tile);
    return ret;
}

/* Writes tiles of the tracks that are not in the tile with all slices: always the top level, then
 * one level after the other until one has all slices or is too large. */
int ntk_html_put_tiles(struct ntk_html_writer *w, bool has_whole)
{
    const struct ntk_timeline *timeline = w->timeline;
    unsigned top = ntk_timeline_level_top(timeline->end_ps - timeline->begin_ps);
    unsigned level_count = has_whole ? NTK_TIMELINE_HTML_LEVELS : top + 1;
    uint32_t *tracks = malloc((timeline->tracks.count + 1) * sizeof *tracks);
    uint64_t first_room = ntk_html_room_bytes(w);
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
        ret = add_level(w, top - n, tracks, count, first_room, &text, &has_all_here);
        if (ret == 0 && n == 0) {
            ntk_buf_add(&w->sink->buf, text.bytes, text.bytes_count);
            ntk_buf_reset(&text);
            ret = ntk_sink_step(w->sink);
        } else if (ret == 0) {
            ret = ntk_html_put_if_room(w, &text, &has_room);
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
