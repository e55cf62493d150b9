/* SPDX-License-Identifier: MIT */
/*
 * view_full - draws the frame of every view except the tree: title, notice, body, strip of the
 * views, keys. Frames without keys have the tabs instead of the strip.
 */
#include <stdio.h>

#include "top/view/view.h"
#include "top/view/view_table.h"
#include "top/view/views.h"

#define STRIP_GAP 2
#define LABELLED_ROWS_MIN 8 /* minimum number of body rows */

/* Length of a view's name in the strip. */
enum strip_level {
    STRIP_NOTHING,
    STRIP_KEY,
    STRIP_NAME, /* name with its key */
};

struct strip {
    enum strip_level levels[NTK_TOP_VIEW_COUNT];
    int gap;
};

/* Returns the number of cells of an entry; the open entry has a mark on either side instead of the
 * colon. */
static int entry_cells(struct ntk_screen *screen, int view, int open, enum strip_level level)
{
    const struct ntk_top_view_text *text = ntk_top_views_text_get((enum ntk_top_view_id)view);
    int name = 1 + ntk_screen_width(screen, ntk_top_view_label(screen, text->title)) +
               (view == open ? 1 : 0);

    return level == STRIP_NOTHING
               ? 0
               : ntk_screen_width(screen, text->keys) + (level == STRIP_NAME ? name : 0);
}

/* Returns the gap after an entry: the second mark of the open view takes a cell of the gap, so that
 * the others do not move. */
static int gap_behind(const struct strip *strip, int view, int open)
{
    return strip->gap - (view == open && strip->gap > 1 ? 1 : 0);
}

static int strip_cells(struct ntk_screen *screen, const struct strip *strip, int open)
{
    int cells = 0;

    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        cells += entry_cells(screen, i, open, strip->levels[i]);
        cells += strip->levels[i] != STRIP_NOTHING ? gap_behind(strip, i, open) : 0;
    }
    return cells - 1; /* the gap after the last one is not needed */
}

/*
 * Selects a strip that fits: all names, else the open name, the names around it and the keys of the
 * others; if even these do not fit, the farthest are dropped.
 */
static struct strip choose_strip(const struct ntk_top_model *model, struct ntk_screen *screen,
                                 int open, int room)
{
    struct strip strip = { .gap = STRIP_GAP };

    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        strip.levels[i] =
            ntk_top_model_has_view(model, (enum ntk_top_view_id)i) ? STRIP_NAME : STRIP_NOTHING;
    }
    if (strip_cells(screen, &strip, open) <= room) {
        return strip;
    }
    strip.gap = 1;
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        strip.levels[i] =
            strip.levels[i] == STRIP_NOTHING || i == open ? strip.levels[i] : STRIP_KEY;
    }
    for (int far = NTK_TOP_VIEW_COUNT - 1; far > 0; far--) {
        for (int side = -1; side <= 1; side += 2) {
            int at = open + side * far;

            if (at >= 0 && at < NTK_TOP_VIEW_COUNT && strip_cells(screen, &strip, open) > room) {
                strip.levels[at] = STRIP_NOTHING;
            }
        }
    }
    for (int far = 1; far < NTK_TOP_VIEW_COUNT; far++) {
        for (int side = 1; side >= -1; side -= 2) {
            int at = open + side * far;
            enum strip_level before;

            if (at < 0 || at >= NTK_TOP_VIEW_COUNT || strip.levels[at] == STRIP_NOTHING) {
                continue;
            }
            before = strip.levels[at];
            strip.levels[at] = STRIP_NAME;
            if (strip_cells(screen, &strip, open) > room) {
                strip.levels[at] = before;
            }
        }
    }
    return strip;
}

/* Writes the visible rows of the list, such as "only 7286 mine 25-48 of 120 ". */
static void place_text(const struct ntk_top_model *model, char *out, size_t bytes)
{
    const struct ntk_top_table *table = &model->tables[model->view];
    int length = 0;

    out[0] = '\0';
    if (model->tab_index > 0) {
        length = snprintf(out, bytes, "only %.20s ", ntk_top_model_tab_get(model)->tag);
    }
    if (model->only_mine && model->views[model->view]->is_owned && !model->page.is_open) {
        length += snprintf(out + length, bytes - (size_t)length, "mine ");
    }
    if (!model->page.is_open && table->columns && table->order.count > table->page &&
        table->page > 0) {
        (void)snprintf(out + length, bytes - (size_t)length, "%zu-%zu of %zu ", table->first + 1,
                       table->first + table->page, table->order.count);
    }
}

/* Draws the names of the views with their keys, with a mark at the open view; the position in the
 * list is at the right. */
static void draw_strip(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    struct strip strip;
    char place[128];
    int width;
    int end;
    int column = 1;

    place_text(model, place, sizeof place);
    width = ntk_screen_width(screen, place);
    end = screen->columns - width;
    ntk_screen_fill(screen, row, 0, screen->columns, NTK_STYLE_TITLE, ' ');
    ntk_screen_put(screen, row, end, width, NTK_STYLE_TITLE, place);
    strip = choose_strip(model, screen, (int)model->view, end - 1 - column);
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view_text *text = ntk_top_views_text_get((enum ntk_top_view_id)i);
        bool is_open = i == (int)model->view;
        int start = column;

        if (strip.levels[i] == STRIP_NOTHING) {
            continue;
        }
        column += ntk_screen_put(screen, row, column, end - 1 - column,
                                 is_open ? NTK_STYLE_TAB_SELECTED : NTK_STYLE_KEY, text->keys);
        if (strip.levels[i] == STRIP_NAME) {
            column += ntk_screen_format(screen, row, column, end - 1 - column,
                                        is_open ? NTK_STYLE_TAB_SELECTED : NTK_STYLE_TITLE,
                                        is_open ? ">%s<" : ":%s",
                                        ntk_top_view_label(screen, text->title));
        }
        ntk_screen_spot_add(screen, row, start, column - start, NTK_TOP_ACTION_VIEW, i);
        column += gap_behind(&strip, i, (int)model->view);
    }
}

/* Returns true if a row labels times as host time; the body has `rows` rows. */
static bool labels_time(const struct ntk_top_model *model, int rows)
{
    bool shows_time = model->page.is_open || model->views[model->view]->shows_time;

    return shows_time && rows >= LABELLED_ROWS_MIN && ntk_top_view_has_software(model);
}

/* Returns the text of an empty list. */
static const char *empty_text(const struct ntk_top_model *model, const struct ntk_top_view *view)
{
    if (model->only_mine && view->is_owned && model->snapshot &&
        model->snapshot->runtime_count > 0) {
        return "none of these belongs to you (u: all users)";
    }
    if (model->is_recording && view->empty_recording) {
        return view->empty_recording;
    }
    return view->empty ? view->empty : ntk_top_view_no_application(model);
}

void ntk_top_view_full(struct ntk_top_model *model, struct ntk_screen *screen, bool with_keys)
{
    const struct ntk_top_view *view = model->views[model->view];
    struct ntk_top_table *table = &model->tables[model->view];
    int bottom = screen->rows - (with_keys ? 2 : 1); /* row of the strip, or of the tabs */
    int row = 1;
    int head;

    ntk_top_view_title(model, screen);
    if (model->alert[0]) {
        ntk_top_view_alert(model, screen, row++, with_keys);
    }
    if (model->notice[0]) {
        ntk_screen_put(screen, row++, 0, screen->columns, NTK_STYLE_WARNING, model->notice);
    }
    if (labels_time(model, bottom - row)) {
        ntk_screen_put(screen, row++, 0, screen->columns, NTK_STYLE_DIM,
                       "software cores: BUSY and DEV are host time; captures have device time");
    }
    if (model->page.is_open) {
        ntk_top_view_page(model, screen, row, bottom - row);
    } else if (view->draw) {
        view->draw(model, screen, row, bottom - row);
    } else {
        head = view->head_rows ? view->head_rows(model, bottom - row, screen->columns) : 0;
        if (head > 0) {
            view->draw_head(model, screen, row, head);
            row += head;
        }
        ntk_top_view_table(table, screen, row, bottom - row, empty_text(model, view));
    }
    if (!with_keys) {
        ntk_top_view_tabs(model, screen, bottom);
    } else {
        draw_strip(model, screen, bottom); /* the position of the list is known now */
        ntk_top_view_keys(screen, bottom + 1,
                          model->page.is_open ? NTK_TOP_PLACE_VIEW
                          : view->is_owned    ? NTK_TOP_PLACE_OWNED
                          : view->columns     ? NTK_TOP_PLACE_LIST
                                              : NTK_TOP_PLACE_DRAWN);
    }
}

int ntk_top_view_full_rows(const struct ntk_top_model *model, int columns)
{
    const struct ntk_top_view *view = model->views[model->view];
    int rows = 2 + (model->notice[0] ? 1 : 0) + (model->alert[0] ? 1 : 0);
    int head = view->head_rows ? view->head_rows(model, NTK_SCREEN_ROWS_MAX, columns) : 0;

    rows += head + labels_time(model, NTK_SCREEN_ROWS_MAX);
    rows += view->columns ? ntk_top_view_table_rows(&model->tables[model->view]) : 0;
    return rows < NTK_TOP_ROWS_MIN ? NTK_TOP_ROWS_MIN : rows;
}
