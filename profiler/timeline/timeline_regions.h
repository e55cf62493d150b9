/* SPDX-License-Identifier: MIT */
/*
 * timeline_regions - builds rows of repeated regions: below the engines of a core a row for the
 * regions of each engine and one for its layers, with a slice per instance, in nested lanes.
 *
 * Owner: the timeline. Threads: same as for the timeline.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_REGIONS_H
#define NTK_PROFILER_TIMELINE_TIMELINE_REGIONS_H

#include "profiler/analysis/regions.h"
#include "profiler/timeline/timeline_build.h"
#include "shared/base/json.h"

#define NTK_TIMELINE_REGION_LANES 6

/* Regions of one source. */
struct ntk_timeline_regions {
    struct ntk_program *program;
    struct ntk_regions regions;
    uint16_t *whats; /* indexed by region: kind of its slices + 1 */
};

/* Returns 0 or -errno with a message in the timeline's spill if a file fails. */
int ntk_timeline_regions_create(struct ntk_timeline_build *build, size_t source);
void ntk_timeline_regions_destroy(struct ntk_timeline_regions *regions);
/* Builds the rows of one core. */
int ntk_timeline_build_regions(struct ntk_timeline_build *build, size_t source, size_t core_index,
                               uint32_t group, int64_t offset_ps);
/* Returns the region and instance of a slice, as groups of rows in the details. NULL if it is not a
 * region. */
const struct ntk_region *ntk_timeline_region_of(const struct ntk_timeline *timeline,
                                                const struct ntk_timeline_track *track,
                                                const struct ntk_timeline_slice *slice,
                                                uint64_t *out_index);
/* Writes the member "busiest" of the meta answer: source, name, kind, from and to of the region
 * with the longest total; absent without regions. */
void ntk_timeline_put_busiest(const struct ntk_timeline *timeline, struct ntk_json *json);

#endif
