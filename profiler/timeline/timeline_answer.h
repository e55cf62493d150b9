/* SPDX-License-Identifier: MIT */
/*
 * timeline_answer - answers the page's requests about a timeline, except tiles, as JSON.
 *
 * Times are ps since the start of the timeline, as in tiles. A range is [from, to).
 *
 * Threads: any; no state. Out of memory is recorded in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_ANSWER_H
#define NTK_PROFILER_TIMELINE_TIMELINE_ANSWER_H

#include "profiler/analysis/program.h"
#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"

#define NTK_TIMELINE_HITS_MAX 1000
#define NTK_TIMELINE_HIT_BUCKETS 512

/* Writes the content: groups, tracks, whats, sources. title is shown above the rows. */
void ntk_timeline_put_meta(const struct ntk_timeline *timeline, const char *title,
                           struct ntk_buf *out);
/* Writes all details of one slice. -ENOENT with a message. */
int ntk_timeline_put_slice(const struct ntk_timeline *timeline, uint64_t track, uint64_t slice,
                           struct ntk_buf *out, struct ntk_err *err);
/* Writes the busy time and the content of each track in the range; slices are clipped to it. */
int ntk_timeline_put_stats(const struct ntk_timeline *timeline, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out);
/* The target of a search. */
struct ntk_timeline_wanted {
    const bool *whats; /* by number: slices of these kinds; NULL if none */
    bool has_pc;       /* also instructions at this PC, on every engine */
    uint32_t pc;
    const struct ntk_program *program; /* also instructions of a source line; NULL if none */
    uint32_t file, line;               /* same numbers as in positions */
};
/* Writes matching slices: their number and distribution, and the first NTK_TIMELINE_HITS_MAX by
 * time that start at or after from_ps; with is_back the last ones that start before it. */
int ntk_timeline_put_hits(const struct ntk_timeline *timeline,
                          const struct ntk_timeline_wanted *wanted, int64_t from_ps, bool is_back,
                          struct ntk_buf *out);

#endif
