/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - the timeline page as one file that stands for itself: page, data and answers, to
 * be opened from a disk or a mail, without a server and without the network.
 *
 * Up to NTK_TIMELINE_HTML_SLICES_MAX slices it has them all in one tile, and up to
 * NTK_TIMELINE_HTML_DETAILS_MAX all that is known of each. Beyond that, or where they would make
 * the file too large, it has the levels of the pyramid from the top down, as many as the file may
 * hold: with the last of them either every slice, or buckets of a width that the page and the
 * caller tell. Page, answers and the top level are there in any case. What lines of the source cost
 * takes at most a quarter of the file; where each slice comes from in the source, and the text of
 * files that have such lines, are there as far as there is room.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_HTML_H
#define NTK_PROFILER_TIMELINE_TIMELINE_HTML_H

#include "profiler/timeline/timeline.h"
#include "shared/formats/neff/source_text.h"

#define NTK_TIMELINE_HTML_BYTES ((uint64_t)16 << 20) /* most mail servers take that */
#define NTK_TIMELINE_HTML_SLICES_MAX 400000
#define NTK_TIMELINE_HTML_DETAILS_MAX 20000
#define NTK_TIMELINE_HTML_LEVELS 5 /* of rows without slices, next to one tile with all slices */

/* How much of the timeline is in the file. */
struct ntk_timeline_html_extent {
    /* every one; else the finest are buckets of 2^level ps, but where slices are few */
    bool has_slices;
    unsigned level;
    bool lacks_positions; /* where slices come from in the source is known, and did not fit in */
};

/* The file appears whole or not at all; "-" is stdout. bytes_max 0: NTK_TIMELINE_HTML_BYTES. 0 or
 * -errno with a message. text: of the source; NULL: none. */
int ntk_timeline_html_write(const struct ntk_timeline *timeline, const char *title,
                            const char *path, uint64_t bytes_max, struct ntk_source_text *text,
                            struct ntk_timeline_html_extent *out_extent, struct ntk_err *err);

#endif
