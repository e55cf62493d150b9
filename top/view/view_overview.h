/* SPDX-License-Identifier: MIT */
/*
 * view_overview - draws the head of the overview, above its processes: a line about the machine,
 * and the cores, memory and power of each device.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_VIEW_VIEW_OVERVIEW_H
#define NTK_TOP_VIEW_VIEW_OVERVIEW_H

#include "top/model/model.h"
#include "top/screen/screen.h"

/* Functions for struct ntk_top_view. */
int ntk_top_view_overview_rows(const struct ntk_top_model *model, int rows, int columns);
void ntk_top_view_overview_head(const struct ntk_top_model *model, struct ntk_screen *screen,
                                int row, int rows);
/* Draws its first line. */
void ntk_top_view_overview_line(const struct ntk_top_model *model, struct ntk_screen *screen,
                                int row);

#endif
