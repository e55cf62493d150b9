/* SPDX-License-Identifier: MIT */
/*
 * graph - draws a line of values as a filled graph: Braille dots, two values per cell and four
 * steps per row, or ASCII characters, one value per cell. A value of 0 is a line at the bottom, an
 * unknown value is a gap. Threads: one.
 */
#ifndef NTK_TOP_BASE_GRAPH_H
#define NTK_TOP_BASE_GRAPH_H

#include <stddef.h>

#include "top/screen/screen.h"

struct ntk_top_graph {
    int row;
    int column;
    int rows;
    int columns;
    double max;   /* value that fills all rows, greater than 0 */
    bool is_heat; /* coloured by height: by row, or by value if there are few rows */
    int style;    /* style if is_heat is false */
};

/* Returns the number of values in a graph with that many columns. */
size_t ntk_top_graph_count(const struct ntk_screen *screen, int columns);
/* values: ntk_top_graph_count() numbers, NAN if unknown. */
void ntk_top_graph_draw(struct ntk_screen *screen, const struct ntk_top_graph *graph,
                        const float *values);
/* Returns the style for a share of the maximum, 0 to 1. */
int ntk_top_graph_heat(double share);
/* Returns the smallest round number that is not less than the value: 1, 2, 5, 10, ...; powers of
 * two for bytes. */
double ntk_top_graph_round_up(double value, bool of_bytes);

#endif
