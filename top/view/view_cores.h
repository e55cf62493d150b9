/* SPDX-License-Identifier: MIT */
/* view_cores - returns facts about the pane of the cores for the layout. */
#ifndef NTK_TOP_VIEW_VIEW_CORES_H
#define NTK_TOP_VIEW_VIEW_CORES_H

#include "top/model/model.h"

/* Returns the number of devices that fit in one line, at least 1. */
int ntk_top_view_cores_groups_max(const struct ntk_top_model *model, int columns);
/* Returns the detail per core with this many groups: 2 bar and value, 1 value, 0 whole percents. */
int ntk_top_view_cores_detail(const struct ntk_top_model *model, int columns, int groups);

/* Returns the line in place of devices: the reason why there are none, unless the notice has it. */
const char *ntk_top_view_no_device(const struct ntk_top_model *model);

/* Returns true if bars keep a good size with the share of memory in the line. */
bool ntk_top_view_cores_has_room_for_hbm(const struct ntk_top_model *model, int columns);

#endif
