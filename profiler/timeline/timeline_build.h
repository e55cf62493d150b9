/* SPDX-License-Identifier: MIT */
/*
 * timeline_build - common code of the builders of tracks. Private to this folder.
 *
 * Functions that return a pointer or NTK_TIMELINE_NO_GROUP fail only if out of memory.
 *
 * Owner:   the timeline owns tracks and slices; pointers are valid until the next one is added.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_BUILD_H
#define NTK_PROFILER_TIMELINE_TIMELINE_BUILD_H

#include "profiler/timeline/timeline.h"
#include "shared/base/map.h"

/* Maximum number of names of slices; further ones get the first name. */
#define NTK_TIMELINE_WHATS_MAX 60000

struct ntk_timeline_build {
    struct ntk_timeline *timeline;
    uint16_t opcodes[256]; /* what + 1; 0 if none yet */
    uint16_t classes[NTK_TRACE_DMA_CLASS_COUNT];
    uint16_t sources[256];
    struct ntk_map types; /* for host events: what + 1 */
};

uint32_t ntk_timeline_add_group(struct ntk_timeline_build *build, const char *name, uint32_t parent,
                                uint32_t source, bool is_folded);
/* Returns the number of a name in the table, added at its first use; *known caches it. Returns 0 or
 * -ENOMEM. */
int ntk_timeline_what_of(struct ntk_timeline_build *build, uint16_t *known, const char *name,
                         const char *family, uint16_t *out_what);
/* Adds a track with capacity for this many slices. NULL if out of memory, or timeline->spill has
 * the reason. */
struct ntk_timeline_track *ntk_timeline_add_track(struct ntk_timeline_build *build,
                                                  enum ntk_timeline_kind kind, uint32_t group,
                                                  size_t slice_count);
struct ntk_timeline_slice *ntk_timeline_add_slice(struct ntk_timeline_track *track,
                                                  int64_t start_ps, int64_t end_ps, size_t ref);

/* In timeline_host.c: builds the rows of one inspected process. Returns 0 or -ENOMEM. */
int ntk_timeline_build_host(struct ntk_timeline_build *build, const struct ntk_timeline_host *host);

/* In timeline_ranks.c: builds the rows of ranks, if they can be joined. Returns 0 or -errno. */
int ntk_timeline_build_ranks(struct ntk_timeline_build *build, struct ntk_rank_list *list,
                             uint64_t zero_ns);

#endif
