/* SPDX-License-Identifier: MIT */
/*
 * timeline_answer - what the page asks about a timeline, except tiles, as JSON.
 *
 * Times are ps since the timeline's begin, as in tiles. A range is [from, to).
 *
 * Threads: any; no state. Memory that fails sticks in out.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_ANSWER_H
#define NTK_PROFILER_TIMELINE_TIMELINE_ANSWER_H

#include "profiler/analysis/program.h"
#include "profiler/timeline/timeline.h"
#include "shared/base/buf.h"

#define NTK_TIMELINE_HITS_MAX 1000
#define NTK_TIMELINE_HIT_BUCKETS 512

/* What there is: groups, tracks, whats, sources. title is shown above the rows. */
void ntk_timeline_put_meta(const struct ntk_timeline *timeline, const char *title,
                           struct ntk_buf *out);
/* Everything that is known of one slice. -ENOENT with a message. */
int ntk_timeline_put_slice(const struct ntk_timeline *timeline, uint64_t track, uint64_t slice,
                           struct ntk_buf *out, struct ntk_err *err);
/* How busy each track is in the range, and with what; clipped to it. */
int ntk_timeline_put_stats(const struct ntk_timeline *timeline, int64_t from_ps, int64_t to_ps,
                           struct ntk_buf *out);
/* What a search is for. */
struct ntk_timeline_wanted {
    const bool *whats; /* by number: slices of these; NULL: of none */
    bool has_pc;       /* and instructions of this PC, on every engine */
    uint32_t pc;
    const struct ntk_program *program; /* and instructions of a line of it; NULL: of none */
    uint32_t file, line;               /* as positions have them */
};
/* Such slices: how many, where, and by time the first NTK_TIMELINE_HITS_MAX that begin at or after
 * from_ps; with is_back the last ones that begin before it. */
int ntk_timeline_put_hits(const struct ntk_timeline *timeline,
                          const struct ntk_timeline_wanted *wanted, int64_t from_ps, bool is_back,
                          struct ntk_buf *out);

#endif
