/* SPDX-License-Identifier: MIT */
/* view_table - draws the list of a view: heading, rows, the line of filter and search, the box of
 * columns. */
#include <string.h>

#include "top/base/format.h"
#include "top/base/keys.h"
#include "top/view/view.h"
#include "top/view/view_table.h"

#define GAP 1           /* cells between two columns */
#define BAR_MIN 5       /* a shorter bar is useless */
#define PERCENT_CELLS 5 /* such as "71.2%"; there is a blank before it */
#define CHOOSER_CELLS 70
#define CHOOSER_TITLE_CELLS 12

struct slot {
    size_t column;
    int start;
    int width;
};

/* Distributes cells to the columns that can use them; returns the rest. Bars get none if it would
 * be too little. */
static int slots_grow(const struct ntk_top_columns *columns, struct slot *slots, size_t count,
                      int rest, bool is_first)
{
    for (int with_bars = 1; with_bars >= 0; with_bars--) {
        int wish = 0;
        int bar_wish = 0;

        for (size_t i = 0; i < count; i++) {
            const struct ntk_top_column *column = &columns->items[slots[i].column];
            bool is_bar = column->format == NTK_TOP_AS_BAR;

            if (((column->flags & NTK_TOP_COLUMN_FIRST) != 0) == is_first &&
                (with_bars || !is_bar)) {
                wish += column->width_more;
                bar_wish = is_bar && (bar_wish == 0 || column->width_more < bar_wish)
                               ? column->width_more
                               : bar_wish;
            }
        }
        if (wish == 0 || (bar_wish > 0 && rest < wish && rest * bar_wish / wish < BAR_MIN)) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            const struct ntk_top_column *column = &columns->items[slots[i].column];

            if (((column->flags & NTK_TOP_COLUMN_FIRST) != 0) == is_first &&
                (with_bars || column->format != NTK_TOP_AS_BAR)) {
                int part = rest < wish ? rest * column->width_more / wish : column->width_more;

                slots[i].width += part;
                rest -= part;
                wish -= column->width_more;
            }
        }
        break;
    }
    return rest;
}

/* Computes the positions of the columns. The first column stays; the others start at
 * column_first. */
static size_t slots_make(struct ntk_top_table *table, int width, struct slot *slots)
{
    const struct ntk_top_columns *columns = table->columns;
    size_t behind[NTK_TOP_COLUMNS_MAX];
    size_t behind_count = 0;
    size_t count = 1;
    int used = columns->items[0].width;
    int rest;

    for (size_t c = 1; c < columns->count; c++) {
        if (ntk_top_table_is_shown(table, c)) {
            behind[behind_count++] = c;
        }
    }
    if (table->column_first + 1 > behind_count) {
        table->column_first = behind_count > 0 ? behind_count - 1 : 0;
    }
    slots[0] = (struct slot){ 0, 0, used };
    for (size_t i = table->column_first; i < behind_count; i++) {
        const struct ntk_top_column *column = &columns->items[behind[i]];

        if (used + GAP + column->width > width) {
            break;
        }
        used += GAP + column->width;
        slots[count++] = (struct slot){ behind[i], 0, column->width };
    }
    table->has_more_columns = table->column_first + count - 1 < behind_count;

    rest = slots_grow(columns, slots, count, width - used, true);
    (void)slots_grow(columns, slots, count, rest, false);
    for (size_t i = 1; i < count; i++) {
        slots[i].start = slots[i - 1].start + slots[i - 1].width + GAP;
    }
    return count;
}

static bool is_left(const struct ntk_top_column *column)
{
    return column->format == NTK_TOP_AS_TEXT || column->format == NTK_TOP_AS_TIME;
}

/* Writes text in the cells of the slot; a truncated text ends with a mark. */
static void put_in(struct ntk_screen *screen, int row, const struct slot *slot, int style,
                   bool left, const char *text)
{
    int width = ntk_screen_width(screen, text);

    if (width <= slot->width && !left) {
        ntk_screen_put_right(screen, row, slot->start, slot->width, style, text);
    } else if (width <= slot->width) {
        ntk_screen_put(screen, row, slot->start, slot->width, style, text);
    } else {
        int used = ntk_screen_put(screen, row, slot->start, slot->width - 1, style, text);

        ntk_screen_put(screen, row, slot->start + used, 1, style,
                       screen->is_utf8 ? "\xe2\x80\xa6" : "~");
    }
}

static void draw_titles(const struct ntk_top_table *table, struct ntk_screen *screen, int row,
                        const struct slot *slots, size_t count)
{
    ntk_screen_fill(screen, row, 0, screen->columns, NTK_STYLE_HEADING, ' ');
    for (size_t i = 0; i < count; i++) {
        const struct ntk_top_column *column = &table->columns->items[slots[i].column];
        struct slot slot = slots[i];

        ntk_screen_spot_add(screen, row, slot.start, slot.width, NTK_TOP_ACTION_SORT_BY,
                            (int)slot.column);
        if (slot.column == table->sort_column) {
            bool descending = ntk_top_table_is_descending(table);
            const char *mark = screen->is_utf8 ? (descending ? "\xe2\x96\xbc" : "\xe2\x96\xb2")
                               : descending    ? "v"
                                               : "^";

            ntk_screen_fill(screen, row, slot.start, slot.width, NTK_STYLE_TITLE, ' ');
            ntk_screen_put(screen, row, slot.start + slot.width - 1, 1, NTK_STYLE_TITLE, mark);
            slot.width--;
            put_in(screen, row, &slot, NTK_STYLE_TITLE, is_left(column),
                   ntk_top_view_label(screen, column->title));
        } else {
            put_in(screen, row, &slot, NTK_STYLE_HEADING, is_left(column),
                   ntk_top_view_label(screen, column->title));
        }
    }
    if (table->has_more_columns) {
        ntk_screen_put(screen, row, screen->columns - 1, 1, NTK_STYLE_HEADING, ">");
    }
}

int ntk_top_view_table_cell_style(const struct ntk_top_row *row,
                                  const struct ntk_top_column *column,
                                  const struct ntk_top_cell *cell)
{
    bool is_number = !is_left(column) && column->format != NTK_TOP_AS_ID;

    if (row->kind == NTK_TOP_ROW_WARNING) {
        return NTK_STYLE_WARNING;
    }
    if (row->kind == NTK_TOP_ROW_ERROR && cell->present && !(is_number && cell->value <= 0)) {
        return NTK_STYLE_ERROR;
    }
    if (row->kind == NTK_TOP_ROW_DIM || !cell->present || (is_number && cell->value <= 0)) {
        return NTK_STYLE_DIM;
    }
    return column->format == NTK_TOP_AS_BAR ? NTK_STYLE_VALUE : NTK_STYLE_NORMAL;
}

static void draw_row(const struct ntk_top_table *table, struct ntk_screen *screen, int at,
                     const struct ntk_top_row *row, const struct slot *slots, size_t count,
                     bool is_cursor)
{
    if (is_cursor) {
        ntk_screen_fill(screen, at, 0, screen->columns, NTK_STYLE_CURSOR, ' ');
    }
    for (size_t i = 0; i < count; i++) {
        const struct ntk_top_column *column = &table->columns->items[slots[i].column];
        const struct ntk_top_cell *cell = ntk_top_table_cell_get(table, row, slots[i].column);
        char buf[NTK_TOP_CELL_BYTES];
        int bar = slots[i].width - PERCENT_CELLS - 1;

        put_in(screen, at, &slots[i],
               is_cursor ? NTK_STYLE_CURSOR : ntk_top_view_table_cell_style(row, column, cell),
               is_left(column), ntk_top_table_cell_text(column, cell, buf));
        if (column->format == NTK_TOP_AS_BAR && bar >= BAR_MIN) {
            const struct ntk_top_number percent = { cell->value, cell->present };
            const struct ntk_top_number none = { 0 };

            if (is_cursor) {
                int filled = cell->present ? (int)(cell->value * bar / 100) : 0;

                filled = filled < bar ? filled : bar;
                ntk_screen_fill(screen, at, slots[i].start, filled, NTK_STYLE_CURSOR, '|');
                ntk_screen_fill(screen, at, slots[i].start + filled, bar - filled, NTK_STYLE_CURSOR,
                                cell->present ? '.' : ' ');
            } else {
                ntk_top_view_bar(screen, at, slots[i].start, bar, percent, none, 0);
            }
        }
    }
}

static void draw_input(const struct ntk_top_table *table, struct ntk_screen *screen, int row)
{
    bool is_search = table->input == NTK_TOP_INPUT_SEARCH ||
                     (table->input != NTK_TOP_INPUT_FILTER && !table->filter.text[0]);
    const struct ntk_top_pattern *pattern = is_search ? &table->search : &table->filter;
    bool is_open = table->input == NTK_TOP_INPUT_FILTER || table->input == NTK_TOP_INPUT_SEARCH;
    int column = 0;

    column += ntk_screen_put(screen, row, column, screen->columns, NTK_STYLE_VALUE,
                             is_search ? "search " : "filter ");
    column += ntk_screen_put(screen, row, column, screen->columns, NTK_STYLE_NORMAL, pattern->text);
    if (is_open) {
        column += ntk_screen_put(screen, row, column, 1, NTK_STYLE_CURSOR, " ");
    }
    if (pattern->text[0] && !pattern->is_regex) {
        column += ntk_screen_put(screen, row, column, screen->columns, NTK_STYLE_DIM,
                                 " (invalid regular expression: searching for the text)");
    }
    if (is_search && pattern->text[0] && table->search_fails) {
        ntk_screen_put(screen, row, column + 1, screen->columns, NTK_STYLE_WARNING, "no match");
    }
    if (!is_search) {
        ntk_screen_format(screen, row, column + 1, screen->columns, NTK_STYLE_DIM, "%zu of %zu",
                          table->order.count, table->rows.count);
    }
}

static void draw_chooser(struct ntk_top_table *table, struct ntk_screen *screen, int top, int rows)
{
    static const char *const hints[] = { "space show or hide", "enter sort by it",
                                         "r reverse   esc close" };
    int hint_count = rows >= 10 ? (int)(sizeof hints / sizeof *hints) : 0;
    int count = (int)table->columns->count;
    int shown = rows - hint_count < count ? rows - hint_count : count;
    int width = screen->columns < CHOOSER_CELLS ? screen->columns : CHOOSER_CELLS;
    int column = screen->columns - width;
    size_t cursor = table->chooser_cursor;
    size_t first = cursor < (size_t)shown ? 0 : cursor - (size_t)shown + 1;

    for (int i = 0; i < shown; i++) {
        size_t index = first + (size_t)i;
        const struct ntk_top_column *item = &table->columns->items[index];
        bool is_sort = index == table->sort_column;
        int style = index == cursor ? NTK_STYLE_CURSOR : NTK_STYLE_TITLE;

        ntk_screen_fill(screen, top + i, column, width, style, ' ');
        ntk_screen_spot_add(screen, top + i, column, width, NTK_TOP_ACTION_COLUMN_AT, (int)index);
        ntk_screen_format(screen, top + i, column + 1, 6, style, "[%c] %c",
                          ntk_top_table_is_chosen(table, index) ? 'x' : ' ',
                          is_sort ? (ntk_top_table_is_descending(table) ? 'v' : '^') : ' ');
        ntk_screen_put(screen, top + i, column + 7, CHOOSER_TITLE_CELLS - 1, style,
                       ntk_top_view_label(screen, item->title));
        ntk_screen_put(screen, top + i, column + 7 + CHOOSER_TITLE_CELLS,
                       width - 7 - CHOOSER_TITLE_CELLS, style,
                       ntk_top_view_label(screen, item->help));
    }
    for (int i = 0; i < hint_count; i++) {
        ntk_screen_fill(screen, top + shown + i, column, width, NTK_STYLE_HEADING, ' ');
        ntk_screen_spot_add(screen, top + shown + i, column, width, NTK_TOP_ACTION_NONE, 0);
        ntk_screen_put(screen, top + shown + i, column + 1, width - 1, NTK_STYLE_HEADING, hints[i]);
    }
}

void ntk_top_view_table(struct ntk_top_table *table, struct ntk_screen *screen, int top, int rows,
                        const char *empty)
{
    struct slot slots[NTK_TOP_COLUMNS_MAX];
    size_t count = slots_make(table, screen->columns, slots);
    bool has_input = table->filter.text[0] || table->search.text[0] ||
                     table->input == NTK_TOP_INPUT_FILTER || table->input == NTK_TOP_INPUT_SEARCH;
    int list_rows = rows - 1 - (has_input && rows > 2 ? 1 : 0);

    if (table->has_more_columns) {
        count = slots_make(table, screen->columns - 1,
                           slots); /* the last cell shows that there are more */
    }
    ntk_top_table_set_page(table, (size_t)(list_rows > 0 ? list_rows : 1));
    draw_titles(table, screen, top, slots, count);
    for (int i = 0; i < list_rows; i++) {
        size_t index = table->first + (size_t)i;
        const struct ntk_top_row *row = ntk_top_table_row_get(table, index);

        if (row) {
            bool is_cursor = index == table->cursor_index;

            draw_row(table, screen, top + 1 + i, row, slots, count, is_cursor);
            ntk_screen_spot_add(screen, top + 1 + i, 0, screen->columns,
                                is_cursor ? NTK_TOP_ACTION_TOGGLE : NTK_TOP_ACTION_CURSOR_TO,
                                (int)index);
        }
    }
    if (table->order.count == 0) {
        ntk_screen_put(screen, top + 1, 1, screen->columns - 1, NTK_STYLE_DIM,
                       table->rows.count > 0 ? "no matching rows" : empty);
    }
    if (has_input && rows > 2) {
        draw_input(table, screen, top + rows - 1);
    }
    if (table->input == NTK_TOP_INPUT_COLUMNS) {
        draw_chooser(table, screen, top, rows);
    }
}

int ntk_top_view_table_rows(const struct ntk_top_table *table)
{
    return 1 + (table->order.count > 0 ? (int)table->order.count : 1) +
           (table->filter.text[0] || table->search.text[0] ? 1 : 0);
}
