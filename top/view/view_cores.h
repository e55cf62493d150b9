/* SPDX-License-Identifier: MIT */
/* view_cores - facts for the layout about the pane of the cores. */
#ifndef NTK_TOP_VIEW_VIEW_CORES_H
#define NTK_TOP_VIEW_VIEW_CORES_H

#include "top/model/model.h"

/* The number of devices that fit side by side, at least 1. */
int ntk_top_view_cores_groups_max(const struct ntk_top_model *model, int columns);
/* The detail per core with this many of them: 2 bar and value, 1 value, 0 whole percents. */
int ntk_top_view_cores_detail(const struct ntk_top_model *model, int columns, int groups);

/* The line in place of devices: the reason why there are none, unless the notice gives it. */
const char *ntk_top_view_no_device(const struct ntk_top_model *model);

/* Whether bars keep a good size next to the share of memory. */
bool ntk_top_view_cores_has_room_for_hbm(const struct ntk_top_model *model, int columns);

#endif
