/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - writes the timeline page as a self-contained file: page, data and answers, which
 * can be opened from a disk or a mail without a server or network.
 *
 * Up to NTK_TIMELINE_HTML_SLICES_MAX slices are all in one tile. With more, or if the file would be
 * too large, it has the levels of the pyramid from the top down, as many as fit: the last level has
 * either every slice, or buckets with a width that the page and the caller show. Page, answers and
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
#define NTK_TIMELINE_HTML_CHUNK 2048 /* number of slices with details in one chunk */
/* Number of levels for rows without slices, in addition to one tile with all slices */
#define NTK_TIMELINE_HTML_LEVELS 5

/* The part of the timeline that is in the file. */
struct ntk_timeline_html_extent {
    /* True if every slice is included; otherwise the finest level has buckets of 2^level ps, except
     * where slices are few */
    bool has_slices;
    unsigned level;
    bool lacks_positions; /* source positions of slices are known, but did not fit */
    bool lacks_tensors;   /* tensors of slices are known, but did not fit */
    bool lacks_host;      /* host activity is known, but did not fit */
    uint64_t slice_count;
    uint64_t detail_count; /* number of slices with operands, names and waits */
};

struct ntk_timeline_html_options {
    const char *title;
    const char *path;                             /* "-" means stdout */
    uint64_t bytes_max;                           /* 0 for NTK_TIMELINE_HTML_BYTES */
    struct ntk_source_text *text;                 /* text of the source; NULL if none */
    const struct ntk_system_trace *const *traces; /* traces of the displayed hosts */
    size_t trace_count;
    bool shows_progress;     /* on stderr */
    const char *joined_json; /* answer of the analysis joined; NULL to compute it */
};

/* Writes the file, which appears completely or not at all. Returns 0 or -errno with a message. */
int ntk_timeline_html_write(const struct ntk_timeline *timeline,
                            const struct ntk_timeline_html_options *options,
                            struct ntk_timeline_html_extent *out_extent, struct ntk_err *err);

#endif
