/* SPDX-License-Identifier: MIT */
/*
 * points_page_parts - updates the parts of the page: applications, the contribution of a runtime to
 * its application, and the machine. Private to this folder.
 *
 * Owner:   the page owns applications; points_tags_fini() frees them.
 * Threads: one, like the page.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_PAGE_PARTS_H
#define NTK_EXPORTERS_POINTS_POINTS_PAGE_PARTS_H

#include <string.h>

#include "exporters/points/points_page.h"
#include "shared/base/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The end and the length of a snapshot's period. */
struct points_moment {
    uint64_t now_ns; /* Unix time */
    uint64_t period_ns;
};

static inline void points_clean(char to[NTK_POINTS_LABEL_BYTES], const char *from)
{
    ntk_str_copy_clean(to, NTK_POINTS_LABEL_BYTES, from, strlen(from));
}

/* Returns the time from which a newly seen group counts. */
uint64_t points_began_ns(const struct points_moment *moment, uint64_t group_period_ns);

/* -- points_page_tags -------------------------------------------------------------------------- */

/* Returns the application of a runtime, added if missing; NULL if the page is full. */
struct ntk_points_tag *points_tag_find(struct ntk_points_page *page,
                                       const struct ntk_runtime_sample *runtime,
                                       const struct points_moment *moment);
/* Clears all values except counters. */
void points_tag_clear(struct ntk_points_page *page, struct ntk_points_tag *tag);
/* Called before and after the runtimes of an update. */
void points_tags_begin(struct ntk_points_page *page);
void points_tags_end(struct ntk_points_page *page, uint64_t now_ns);
/* Drops last counts that were scraped often enough; returns true if there were any. */
bool points_tags_forget(struct ntk_points_page *page, uint64_t now_ns);
/* Copies the applications to an empty page, for text output: without whole histograms. Returns 0 or
 * -ENOMEM. */
int points_tags_copy(const struct ntk_points_page *page, struct ntk_points_page *out);
void points_tags_fini(struct ntk_points_page *page);

/* -- points_page_runtime, points_page_host ----------------------------------------------------- */

/* Returns 0 or -ENOMEM. */
int points_runtime_add(struct ntk_points_page *page, const struct ntk_runtime_sample *runtime,
                       const struct points_moment *moment);
void points_host_update(struct ntk_points_page *page, const struct ntk_snapshot *snapshot);

#ifdef __cplusplus
}
#endif
#endif
