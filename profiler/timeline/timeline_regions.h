/* SPDX-License-Identifier: MIT */
/*
 * timeline_regions - rows of what repeats: below the engines of a core a row for the regions of
 * each engine and one for its layers, with a slice for each time, in lanes as they nest.
 *
 * Owner: the timeline. Threads: as for the timeline.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_REGIONS_H
#define NTK_PROFILER_TIMELINE_TIMELINE_REGIONS_H

#include "profiler/analysis/regions.h"
#include "profiler/timeline/timeline_build.h"
#include "shared/base/json.h"

#define NTK_TIMELINE_REGION_LANES 6

/* For one source. */
struct ntk_timeline_regions {
    struct ntk_program *program;
    struct ntk_regions regions;
    uint16_t *whats; /* by region: what its slices are, plus 1 */
};

/* 0 or -errno with the message in the timeline's spill where a file fails. */
int ntk_timeline_regions_create(struct ntk_timeline_build *build, size_t source);
void ntk_timeline_regions_destroy(struct ntk_timeline_regions *regions);
/* The rows of one core. */
int ntk_timeline_build_regions(struct ntk_timeline_build *build, size_t source, size_t core_index,
                               uint32_t group, int64_t offset_ps);
/* The region and instance that a slice belongs to: groups of rows of the details. NULL: not a
 * region's. */
const struct ntk_region *ntk_timeline_region_of(const struct ntk_timeline *timeline,
                                                const struct ntk_timeline_track *track,
                                                const struct ntk_timeline_slice *slice,
                                                uint64_t *out_index);
/* Member "busiest" of the meta answer: source, name, kind, from and to of the region with the
 * longest total; none without regions. */
void ntk_timeline_put_busiest(const struct ntk_timeline *timeline, struct ntk_json *json);

#endif
