/* SPDX-License-Identifier: MIT */
/* view_table - draws the list of a view. */
#ifndef NTK_TOP_VIEW_VIEW_TABLE_H
#define NTK_TOP_VIEW_VIEW_TABLE_H

#include "top/base/table.h"
#include "top/screen/screen.h"

/* Draws the list on the rows from `top` on, with its heading; `empty` if it has no rows. */
void ntk_top_view_table(struct ntk_top_table *table, struct ntk_screen *screen, int top, int rows,
                        const char *empty);
/* Returns the number of rows with which nothing is omitted. */
int ntk_top_view_table_rows(const struct ntk_top_table *table);
/* Returns the style of a cell that is not selected. */
int ntk_top_view_table_cell_style(const struct ntk_top_row *row,
                                  const struct ntk_top_column *column,
                                  const struct ntk_top_cell *cell);

#endif
