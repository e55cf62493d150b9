/* SPDX-License-Identifier: MIT */
/*
 * timeline_counters - builds the rows of analysis/counters.h. Private to this folder.
 *
 *   struct ntk_timeline_counters *counters = NULL;
 *   ntk_timeline_counters_create(build, source, &counters);
 *   ntk_timeline_counters_read(build, counters, core, parent);   // the group, if there are any
 *   ntk_timeline_counters_build(build, counters, offset_ps, end_ps);
 *   ntk_timeline_counters_destroy(counters);
 *
 * A row holds whole numbers in its scale, which fit in the 32 bits of a tile.
 *
 * Errors:  -ENOMEM, or -errno of a list, which is in timeline->spill with its message.
 * Owner:   create / destroy; the timeline owns the tracks.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_COUNTERS_H
#define NTK_PROFILER_TIMELINE_TIMELINE_COUNTERS_H

#include "profiler/timeline/timeline_build.h"

struct ntk_timeline_counters;

/* Requires the source's regions, because counters use their program. */
int ntk_timeline_counters_create(struct ntk_timeline_build *build, size_t source,
                                 struct ntk_timeline_counters **out_counters);
/* Accepts NULL. */
void ntk_timeline_counters_destroy(struct ntk_timeline_counters *counters);
/* Reads the points of a core, replacing the points of the previous core. */
int ntk_timeline_counters_read(struct ntk_timeline_build *build,
                               struct ntk_timeline_counters *counters, size_t core_index,
                               uint32_t parent);
/* Adds their tracks to the group created by reading. Values end with the core, at end_ps. */
int ntk_timeline_counters_build(struct ntk_timeline_build *build,
                                struct ntk_timeline_counters *counters, int64_t offset_ps,
                                int64_t end_ps);

#endif
