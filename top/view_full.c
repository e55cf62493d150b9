/* SPDX-License-Identifier: MIT */
/*
 * view_full - the frame of every view but the first: title, strip of the views, notice, body, tabs, keys.
 */
#include <stdio.h>

#include "top/view.h"
#include "top/view_table.h"
#include "top/views.h"

#define STRIP_GAP 2

/* The names of the views with their keys, the open one marked; where the list is at the right. */
static void draw_strip(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    const struct ntk_top_table *table = &model->tables[model->view];
    int end = screen->columns;
    int column = 1;
    int open_column = 1;
    bool has_room;

    ntk_screen_fill(screen, row, 0, screen->columns, NTK_STYLE_TITLE, ' ');
    if (table->columns && table->order.count > table->page && table->page > 0) {
        char place[64];
        int width = snprintf(place, sizeof place, "%zu-%zu of %zu ", table->first + 1,
                             table->first + table->page, table->order.count);

        end = screen->columns - width;
        ntk_screen_put(screen, row, end, width, NTK_STYLE_TITLE, place);
    }
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view_text *text = ntk_top_views_text_get((enum ntk_top_view_id)i);

        open_column += i <= (int)model->view ? ntk_screen_width(screen, text->title) + 2 : 0;
        open_column += i < (int)model->view ? STRIP_GAP : 0;
    }
    has_room = open_column + 1 < end; /* with the mark behind the open one */
    /* Where not all fit, those from the open one on. */
    for (int i = has_room ? 0 : (int)model->view; i < NTK_TOP_VIEW_COUNT && column < end - 1; i++) {
        const struct ntk_top_view_text *text = ntk_top_views_text_get((enum ntk_top_view_id)i);
        bool is_open = i == (int)model->view;
        int start = column;

        column += ntk_screen_put(screen, row, column, end - 1 - column,
                                 is_open ? NTK_STYLE_TAB_SELECTED : NTK_STYLE_KEY, text->keys);
        column += ntk_screen_format(screen, row, column, end - 1 - column,
                                    is_open ? NTK_STYLE_TAB_SELECTED : NTK_STYLE_TITLE,
                                    is_open ? ">%s<" : ":%s", text->title);
        ntk_screen_spot_add(screen, row, start, column - start, NTK_TOP_ACTION_VIEW, i);
        column += is_open ? STRIP_GAP - 1 : STRIP_GAP;
    }
}

void ntk_top_view_full(struct ntk_top_model *model, struct ntk_screen *screen, bool with_keys)
{
    const struct ntk_top_view *view = ntk_top_views_get(model->view);
    struct ntk_top_table *table = &model->tables[model->view];
    int bottom = screen->rows - (with_keys ? 2 : 1); /* the row of the tabs */
    int row = 1;
    int head;

    ntk_top_view_title(model, screen);
    if (with_keys) {
        row++;
    }
    if (model->notice[0]) {
        ntk_screen_put(screen, row++, 0, screen->columns, NTK_STYLE_WARNING, model->notice);
    }
    if (view->draw) {
        view->draw(model, screen, row, bottom - row);
    } else {
        head = view->head_rows ? view->head_rows(model, bottom - row, screen->columns) : 0;
        if (head > 0) {
            view->draw_head(model, screen, row, head);
            row += head;
        }
        ntk_top_view_table(table, screen, row, bottom - row,
                           view->empty ? view->empty : ntk_top_view_nobody(model));
    }
    if (with_keys) {
        draw_strip(model, screen, 1); /* the list knows now where it is */
    }
    ntk_top_view_tabs(model, screen, bottom);
    if (with_keys) {
        ntk_top_view_keys(screen, bottom + 1,
                          view->columns ? NTK_TOP_PLACE_LIST : NTK_TOP_PLACE_DRAWN);
    }
}

int ntk_top_view_full_rows(const struct ntk_top_model *model, int columns)
{
    const struct ntk_top_view *view = ntk_top_views_get(model->view);
    int rows = 2 + (model->notice[0] ? 1 : 0);
    int head = view->head_rows ? view->head_rows(model, NTK_SCREEN_ROWS_MAX, columns) : 0;

    rows += head;
    rows += view->columns ? ntk_top_view_table_rows(&model->tables[model->view]) : 0;
    return rows < NTK_TOP_ROWS_MIN ? NTK_TOP_ROWS_MIN : rows;
}
