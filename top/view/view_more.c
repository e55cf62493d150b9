/* SPDX-License-Identifier: MIT */
/* view_more - draws the part below the cores on a tall terminal: applications, and the last minute
 * of the cores as a graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/clock.h"
#include "top/base/format.h"
#include "top/base/graph.h"
#include "top/model/model_graphs.h"
#include "top/model/model_processes.h"
#include "top/view/view.h"

#define SIDE_BY_SIDE 120 /* number of columns from which the graph is at the right */
#define GAP 2
#define GUTTER 6
#define SPAN_NS (60 * NTK_NS_PER_SECOND)
#define GRAPH_ROWS_MIN 5

struct area {
    int row;
    int column;
    int rows;
    int columns;
};

/* Fields of a line; if they do not fit, the last ones are dropped. */
static const struct {
    enum ntk_top_processes_column id;
    int width;
    bool is_left;
} fields[] = {
    { NTK_TOP_PROCESSES_PID, 8, false },  { NTK_TOP_PROCESSES_TAG, 18, true },
    { NTK_TOP_PROCESSES_BUSY, 7, false }, { NTK_TOP_PROCESSES_HBM, 9, false },
    { NTK_TOP_PROCESSES_RATE, 8, false }, { NTK_TOP_PROCESSES_CPU, 7, false },
    { NTK_TOP_PROCESSES_HOST, 9, false }, { NTK_TOP_PROCESSES_CORES, 12, true },
    { NTK_TOP_PROCESSES_USER, 12, true },
};

/* Draws one line of fields; if row is NULL, their titles. */
static void draw_fields(const struct ntk_top_table *table, struct ntk_screen *screen,
                        const struct area *area, int y, const struct ntk_top_row *row, int style)
{
    int column = area->column + 1;
    int end = area->column + area->columns;

    for (size_t i = 0; i < sizeof fields / sizeof *fields && column + fields[i].width <= end; i++) {
        const struct ntk_top_column *what = &table->columns->items[fields[i].id];
        char buf[NTK_TOP_CELL_BYTES];
        const char *text = row ? ntk_top_table_cell_text(
                                     what, ntk_top_table_cell_get(table, row, fields[i].id), buf)
                               : ntk_top_view_label(screen, what->title);

        if (fields[i].is_left) {
            ntk_screen_put(screen, y, column, fields[i].width, style, text);
        } else {
            ntk_screen_put_right(screen, y, column, fields[i].width, style, text);
        }
        column += fields[i].width + GAP;
    }
}

static void draw_applications(struct ntk_top_model *model, struct ntk_screen *screen,
                              const struct area *area)
{
    struct ntk_top_table *table = &model->tables[NTK_TOP_VIEW_PROCESSES];
    size_t count;
    int room = area->rows - 2;

    ntk_top_model_project_list(model, NTK_TOP_VIEW_PROCESSES);
    count = table->order.count;
    ntk_screen_put(screen, area->row, area->column, area->columns, NTK_STYLE_HEADING,
                   "Neuron Applications");
    if (count == 0) {
        ntk_screen_put(screen, area->row + 1, area->column + 1, area->columns - 1, NTK_STYLE_DIM,
                       ntk_top_view_no_application(model));
        return;
    }
    draw_fields(table, screen, area, area->row + 1, NULL, NTK_STYLE_DIM);
    room -= (int)count > room;
    for (int i = 0; i < room && i < (int)count; i++) {
        const struct ntk_top_row *row = ntk_top_table_row_get(table, (size_t)i);
        int y = area->row + 2 + i;

        draw_fields(table, screen, area, y, row,
                    row->kind == NTK_TOP_ROW_ERROR     ? NTK_STYLE_ERROR
                    : row->kind == NTK_TOP_ROW_WARNING ? NTK_STYLE_WARNING
                    : row->kind == NTK_TOP_ROW_DIM     ? NTK_STYLE_DIM
                                                       : NTK_STYLE_NORMAL);
        ntk_screen_spot_add(screen, y, area->column, area->columns, NTK_TOP_ACTION_TAB,
                            (int)row->tab + 1);
    }
    if (room < (int)count) {
        ntk_screen_format(screen, area->row + 2 + room, area->column + 1, area->columns - 1,
                          NTK_STYLE_DIM, "and %zu more (p)", count - (size_t)room);
    }
}

static void draw_graph(struct ntk_top_model *model, struct ntk_screen *screen,
                       const struct area *area)
{
    struct ntk_top_graph graph = { .row = area->row + 1,
                                   .column = area->column + GUTTER,
                                   .rows = area->rows - 2,
                                   .columns = area->columns - GUTTER,
                                   .max = 100,
                                   .is_heat = true };
    size_t count = ntk_top_graph_count(screen, graph.columns);
    float *values = calloc(count + 1, sizeof *values);
    int last = area->row + area->rows - 1;

    model->past_ns = SPAN_NS;
    ntk_screen_put(screen, area->row, area->column, area->columns, NTK_STYLE_HEADING,
                   "Busy in the last minute");
    if (values && ntk_top_model_graphs_read_span(model, NTK_TOP_QUANTITY_BUSY, NTK_TOP_GRAPHS_TOTAL,
                                                 SPAN_NS, count, values) == 0) {
        ntk_screen_put_right(screen, graph.row, area->column, GUTTER - 1, NTK_STYLE_DIM, "100%");
        ntk_screen_put_right(screen, last - 1, area->column, GUTTER - 1, NTK_STYLE_DIM, "0%");
        ntk_top_graph_draw(screen, &graph, values);
        ntk_screen_put(screen, last, graph.column, graph.columns, NTK_STYLE_DIM, "-1m");
        ntk_screen_put(screen, last, graph.column + graph.columns / 2, graph.columns / 2,
                       NTK_STYLE_DIM, "-30s");
        ntk_screen_put_right(screen, last, graph.column, graph.columns, NTK_STYLE_DIM,
                             ntk_top_view_end(model));
    }
    free(values);
}

void ntk_top_view_more(struct ntk_top_model *model, struct ntk_screen *screen, int row, int rows)
{
    bool is_wide = screen->columns >= SIDE_BY_SIDE;
    struct area left = { row, 0, rows, screen->columns };
    struct area right = { row, 0, rows, screen->columns };

    ntk_top_view_heading(screen, row, "");
    if (is_wide) {
        left.columns = screen->columns * 11 / 20;
        right.column = left.columns + GAP;
        right.columns = screen->columns - right.column;
    } else {
        left.rows = rows - (rows / 2 < GRAPH_ROWS_MIN + 2 ? 0 : rows / 2);
        right.row = row + left.rows;
        right.rows = rows - left.rows;
    }
    draw_applications(model, screen, &left);
    if (right.rows >= GRAPH_ROWS_MIN) {
        if (!is_wide) {
            ntk_top_view_heading(screen, right.row, "");
        }
        draw_graph(model, screen, &right);
    }
}
