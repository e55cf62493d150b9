/* SPDX-License-Identifier: MIT */
/*
 * points_view - converts points to families with the names of other programs, one row of
 * exporters/names/names.def at a time.
 *
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_VIEW_H
#define NTK_EXPORTERS_POINTS_POINTS_VIEW_H

#include "exporters/names/names.h"
#include "exporters/points/points_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the value of a label of the point; "" if absent. */
const char *ntk_points_label_get(const struct ntk_point *point, const char *name,
                                 size_t name_bytes);
/* Returns true if the point matches a `where` (exporters/names/names.def). */
bool ntk_points_is_chosen(const struct ntk_point *point, const char *where);
/* Like ntk_points_walk(), for a row of names and its following parts. If out of memory, points are
 * missing. */
void ntk_points_view_walk(const struct ntk_points_page *page, const struct ntk_name_row *row,
                          void (*visit)(const struct ntk_point *point, void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
