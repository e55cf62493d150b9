/* SPDX-License-Identifier: MIT */
/* graph - draws values as dots. */
#include "top/base/graph.h"

#include <math.h>
#include <string.h>

#include "shared/base/str.h"

#define DOTS 4 /* dots per cell, vertically */
#define BRAILLE 0x2800u
#define HEAT_ROWS_MIN 5 /* minimum number of rows for a graph that is coloured by rows */
#define RUN_CELLS 64    /* number of cells drawn in one call */

size_t ntk_top_graph_count(const struct ntk_screen *screen, int columns)
{
    return (size_t)(columns > 0 ? columns : 0) * (screen->is_utf8 ? 2 : 1);
}

int ntk_top_graph_heat(double share)
{
    int level = (int)(share * NTK_STYLE_HEAT_LEVELS);

    level = level < 0 ? 0 : level >= NTK_STYLE_HEAT_LEVELS ? NTK_STYLE_HEAT_LEVELS - 1 : level;
    return NTK_STYLE_HEAT + level;
}

double ntk_top_graph_round_up(double value, bool of_bytes)
{
    static const double steps[] = { 1, 2, 5, 10 };
    double scale;

    if (!(value > 0)) {
        return 1;
    }
    if (of_bytes) {
        return exp2(ceil(log2(value)));
    }
    scale = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (value <= steps[i] * scale * (1 + 1e-9)) {
            return steps[i] * scale;
        }
    }
    return 10 * scale;
}

/* Returns the number of steps that a value fills in a graph of `steps` steps; at least one, -1 for
 * an unknown value. */
static int height_of(float value, double max, int steps)
{
    double height = floor((double)value / max * steps + 0.5);

    if (isnan(value)) {
        return -1;
    }
    return height < 1 ? 1 : height > steps ? steps : (int)height;
}

/* Returns the part of a height in the row, 0 to `steps`; row 0 is the lowest. */
static int part_of(int height, int row, int steps)
{
    int part = height - row * steps;

    return part < 0 ? 0 : part > steps ? steps : part;
}

/* Writes the bytes of a cell with one or two heights; a blank stays a blank. */
static size_t write_cell(const struct ntk_screen *screen, const int *heights, int row, char *out)
{
    static const unsigned char left[] = { 0, 0x40, 0x44, 0x46, 0x47 };
    static const unsigned char right[] = { 0, 0x80, 0xa0, 0xb0, 0xb8 };
    static const char signs[] = " _.:-=+*#";
    unsigned int code;

    if (!screen->is_utf8) {
        out[0] = signs[part_of(heights[0], row, (int)sizeof signs - 2)];
        return 1;
    }
    code = BRAILLE | left[part_of(heights[0], row, DOTS)] | right[part_of(heights[1], row, DOTS)];
    if (code == BRAILLE) {
        out[0] = ' ';
        return 1;
    }
    return ntk_str_utf8(out, code);
}

/* Returns the colour of a cell: by its row, or by the higher of its values if there are few
 * rows. */
static int style_of(const struct ntk_top_graph *graph, const int *heights, size_t count, int row,
                    int steps)
{
    int height = heights[0];

    if (!graph->is_heat) {
        return graph->style;
    }
    if (graph->rows >= HEAT_ROWS_MIN) {
        return ntk_top_graph_heat(row / (double)(graph->rows - 1));
    }
    for (size_t i = 1; i < count; i++) {
        height = heights[i] > height ? heights[i] : height;
    }
    return ntk_top_graph_heat((height - 1) / (double)(steps * graph->rows - 1));
}

static void draw_row(struct ntk_screen *screen, const struct ntk_top_graph *graph,
                     const float *values, int row)
{
    size_t per_cell = screen->is_utf8 ? 2 : 1;
    int steps = screen->is_utf8 ? DOTS : 8;
    char run[RUN_CELLS * 3 + 1];
    size_t bytes = 0;
    int cells = 0;
    int style = NTK_STYLE_NORMAL;

    for (int column = 0; column < graph->columns; column++) {
        int heights[2] = { -1, -1 };
        int cell_style;

        for (size_t i = 0; i < per_cell; i++) {
            heights[i] =
                height_of(values[(size_t)column * per_cell + i], graph->max, graph->rows * steps);
        }
        cell_style = style_of(graph, heights, per_cell, row, steps);
        if (cells > 0 && (cell_style != style || cells == RUN_CELLS)) {
            run[bytes] = '\0';
            ntk_screen_put(screen, graph->row + graph->rows - 1 - row,
                           graph->column + column - cells, cells, style, run);
            bytes = 0;
            cells = 0;
        }
        style = cell_style;
        bytes += write_cell(screen, heights, row, run + bytes);
        cells++;
    }
    run[bytes] = '\0';
    ntk_screen_put(screen, graph->row + graph->rows - 1 - row,
                   graph->column + graph->columns - cells, cells, style, run);
}

void ntk_top_graph_draw(struct ntk_screen *screen, const struct ntk_top_graph *graph,
                        const float *values)
{
    for (int row = 0; row < graph->rows; row++) {
        draw_row(screen, graph, values, row);
    }
}
