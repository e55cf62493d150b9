/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - the timeline page as one file that stands for itself: page, data and answers, to
 * be opened from a disk or a mail, without a server and without the network.
 *
 * Up to NTK_TIMELINE_HTML_SLICES_MAX slices it has them all in one tile. Beyond that, or where they
 * would make the file too large, it has the levels of the pyramid from the top down, as many as the
 * file may hold: with the last of them either every slice, or buckets of a width that the page and the
 * caller tell. Page, answers and the top level are there in any case. What lines of the source cost
 * takes at most a quarter of the file; where each slice comes from in the source, and the text of
 * files that have such lines, are there as far as there is room. The room that is left is for what
 * is known of single slices: operands, names, waits.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_HTML_H
#define NTK_PROFILER_TIMELINE_TIMELINE_HTML_H

#include "profiler/timeline/timeline.h"
#include "shared/formats/neff/source_text.h"

#define NTK_TIMELINE_HTML_BYTES ((uint64_t)16 << 20) /* most mail servers take that */
#define NTK_TIMELINE_HTML_SLICES_MAX 400000
#define NTK_TIMELINE_HTML_CHUNK 2048 /* slices whose details are packed together */
#define NTK_TIMELINE_HTML_LEVELS 5   /* of rows without slices, next to one tile with all slices */

/* How much of the timeline is in the file. */
struct ntk_timeline_html_extent {
    /* every one; else the finest are buckets of 2^level ps, but where slices are few */
    bool has_slices;
    unsigned level;
    bool lacks_positions; /* where slices come from in the source is known, and did not fit in */
    bool lacks_tensors;   /* the same of the tensors that they are about */
    bool lacks_host;      /* the same of what the host did */
    uint64_t slice_count;
    uint64_t detail_count; /* of those, whose operands, names and waits are there */
};

struct ntk_timeline_html_options {
    const char *title;
    const char *path;                             /* "-" is stdout */
    uint64_t bytes_max;                           /* 0: NTK_TIMELINE_HTML_BYTES */
    struct ntk_source_text *text;                 /* of the source; NULL: none */
    const struct ntk_system_trace *const *traces; /* of the hosts that are shown */
    size_t trace_count;
    bool shows_progress;     /* on stderr */
    const char *joined_json; /* answer of the analysis joined; NULL: ask the traces */
};

/* The file appears whole or not at all. 0 or -errno with a message. */
int ntk_timeline_html_write(const struct ntk_timeline *timeline,
                            const struct ntk_timeline_html_options *options,
                            struct ntk_timeline_html_extent *out_extent, struct ntk_err *err);

#endif
