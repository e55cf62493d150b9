/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - the timeline page as a self-contained file: page, data and answers, which can be
 * opened from a disk or a mail without a server or network.
 *
 * Up to NTK_TIMELINE_HTML_SLICES_MAX slices are all in one tile. With more, or if the file would be
 * too large, it has the levels of the pyramid from the top down, as many as fit: the last one has
 * either every slice, or buckets of a width that the page and the caller show. Page, answers and
 * the top level are always included. The cost of source lines takes at most a quarter of the file;
 * source positions of slices and the text of source files are included as far as they fit. The
 * remaining space is used for details of slices: operands, names, waits.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_HTML_H
#define NTK_PROFILER_TIMELINE_TIMELINE_HTML_H

#include "profiler/timeline/timeline.h"
#include "shared/formats/neff/source_text.h"

#define NTK_TIMELINE_HTML_BYTES ((uint64_t)16 << 20) /* accepted by most mail servers */
#define NTK_TIMELINE_HTML_SLICES_MAX 400000
#define NTK_TIMELINE_HTML_CHUNK 2048 /* slices with details in one chunk */
/* of rows without slices, in addition to one tile with all slices */
#define NTK_TIMELINE_HTML_LEVELS 5

/* The part of the timeline in the file. */
struct ntk_timeline_html_extent {
    /* every slice is included; else the finest are buckets of 2^level ps, except where slices are
     * few */
    bool has_slices;
    unsigned level;
    bool lacks_positions; /* source positions of slices are known, but did not fit */
    bool lacks_tensors;   /* the same for the tensors of slices */
    bool lacks_host;      /* the same for host activity */
    uint64_t slice_count;
    uint64_t detail_count; /* number of these with operands, names and waits */
};

struct ntk_timeline_html_options {
    const char *title;
    const char *path;                             /* "-" is stdout */
    uint64_t bytes_max;                           /* 0: NTK_TIMELINE_HTML_BYTES */
    struct ntk_source_text *text;                 /* of the source; NULL: none */
    const struct ntk_system_trace *const *traces; /* of the displayed hosts */
    size_t trace_count;
    bool shows_progress;     /* on stderr */
    const char *joined_json; /* answer of the analysis joined; NULL: compute it */
};

/* The file appears whole or not at all. 0 or -errno with a message. */
int ntk_timeline_html_write(const struct ntk_timeline *timeline,
                            const struct ntk_timeline_html_options *options,
                            struct ntk_timeline_html_extent *out_extent, struct ntk_err *err);

#endif
