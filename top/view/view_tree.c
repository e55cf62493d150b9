/* SPDX-License-Identifier: MIT */
/* view_tree - draws memory by device, core, model and purpose; the cursor is a full row. */
#include <stdio.h>

#include "top/base/format.h"
#include "top/view/view.h"

#define MEMORY_MIN 10  /* such as "1023.9MB" between blanks */
#define ID_MIN 10      /* "Model ID" between blanks */
#define NAME_MIN 24    /* the model id is dropped if names have fewer cells */
#define TITLES_LONG 15 /* width from which "Device Memory" fits */
#define INDENT 4
#define MARK_CELLS 3 /* such as "[+]" */

struct columns {
    int id; /* -1 if not shown */
    int device;
    int host;
    int width; /* width of each column */
};

static struct columns columns_make(int width)
{
    struct columns columns;

    columns.width = width / 7 > MEMORY_MIN ? width / 7 : MEMORY_MIN;
    columns.host = width - columns.width;
    columns.device = columns.host - columns.width;
    columns.id = columns.device - (width / 7 > ID_MIN ? width / 7 : ID_MIN);
    if (columns.id < NAME_MIN) {
        columns.id = -1;
    }
    return columns;
}

static int columns_first(const struct columns *columns)
{
    return columns->id >= 0 ? columns->id : columns->device;
}

/* Draws the heading, with the visible part if it is not everything. */
static void draw_heading(const struct ntk_top_model *model, struct ntk_screen *screen, int row,
                         size_t shown, int width)
{
    char text[96] = "Memory Usage Details";
    size_t count = model->nodes.count;

    if (count > shown) {
        size_t last = model->tree_first + shown < count ? model->tree_first + shown : count;

        (void)snprintf(text, sizeof text, "Memory Usage Details (%zu-%zu of %zu)",
                       model->tree_first + 1, last, count);
    }
    ntk_top_view_heading(screen, row, "");
    if (ntk_screen_width(screen, text) < width) {
        ntk_screen_put(screen, row, 0, width, NTK_STYLE_HEADING, text);
    } else {
        ntk_screen_put(screen, row, 0, width, NTK_STYLE_HEADING, "Memory Details");
    }
}

static void draw_titles(struct ntk_screen *screen, int row, const struct columns *columns,
                        int style)
{
    bool is_long = columns->width >= TITLES_LONG;

    if (columns->id >= 0) {
        ntk_screen_put(screen, row, columns->id, columns->width, style, "Model ID");
    }
    ntk_screen_put(screen, row, columns->device, columns->width, style,
                   is_long ? "Device Memory" : "Device");
    ntk_screen_put(screen, row, columns->host, columns->width, style,
                   is_long ? "Host Memory" : "Host");
}

static void draw_node(struct ntk_screen *screen, int row, const struct columns *columns,
                      const struct ntk_top_node *node, bool is_cursor)
{
    int style = is_cursor ? NTK_STYLE_CURSOR : NTK_STYLE_NORMAL;
    int name_end = columns_first(columns);
    int column = 1 + INDENT * node->depth;
    const char *mark = !node->can_expand ? "" : node->is_expanded ? "[-] " : "[+] ";
    char text[NTK_TOP_FORMAT_BYTES];

    if (is_cursor) {
        ntk_screen_fill(screen, row, 0, screen->columns, style, ' ');
    }
    column += ntk_screen_put(screen, row, column, name_end - column, style, mark);
    ntk_screen_put(screen, row, column, name_end - column - 1, style, node->text);
    if (columns->id >= 0 && node->model_id != 0) {
        ntk_screen_format(screen, row, columns->id + 1, columns->width - 1, style, "%u",
                          node->model_id);
    }
    ntk_screen_put(screen, row, columns->device + 1, columns->width - 1, style,
                   ntk_top_format_bytes(text, node->device_bytes));
    ntk_screen_put(screen, row, columns->host + 1, columns->width - 1, style,
                   ntk_top_format_bytes(text, node->host_bytes));
}

/* Adds spots: a click selects; on the selected row or on a mark it folds. */
static void add_spots(struct ntk_screen *screen, int row, const struct ntk_top_node *node,
                      size_t index, bool is_cursor)
{
    enum ntk_top_action action = is_cursor ? NTK_TOP_ACTION_TOGGLE : NTK_TOP_ACTION_CURSOR_TO;

    ntk_screen_spot_add(screen, row, 0, screen->columns, (int)action, (int)index);
    if (node->can_expand) {
        ntk_screen_spot_add(screen, row, 1 + INDENT * node->depth, MARK_CELLS,
                            NTK_TOP_ACTION_TOGGLE_AT, (int)index);
    }
}

const char *ntk_top_view_no_application(const struct ntk_top_model *model)
{
    if (model->is_partial) {
        return "no readable Neuron application";
    }
    return !model->snapshot || ntk_top_model_has_no_application(model)
               ? "no Neuron application is running"
               : "no Neuron application with hooks is running; others are not visible";
}

void ntk_top_view_tree(const struct ntk_top_model *model, struct ntk_screen *screen,
                       const struct ntk_top_layout *layout)
{
    struct columns columns = columns_make(screen->columns);
    int row = layout->tree_row;
    size_t count = model->nodes.count;

    draw_heading(model, screen, row, (size_t)layout->tree_rows,
                 layout->tree_has_titles ? screen->columns : columns_first(&columns));
    if (layout->tree_has_titles) {
        draw_titles(screen, ++row, &columns, NTK_STYLE_NORMAL);
    } else {
        draw_titles(screen, row, &columns, NTK_STYLE_HEADING);
    }
    row++;
    if (count == 0) {
        ntk_screen_put(screen, row, 1, screen->columns - 1, NTK_STYLE_DIM,
                       model->tabs.count == 1             ? ntk_top_view_no_application(model)
                       : model->memory.host_total.present ? "no Neuron memory in use"
                                                          : "memory unknown");
        return;
    }
    for (int i = 0; i < layout->tree_rows && model->tree_first + (size_t)i < count; i++) {
        size_t index = model->tree_first + (size_t)i;

        draw_node(screen, row + i, &columns, ntk_vec_at(&model->nodes, index),
                  index == model->cursor_index);
        add_spots(screen, row + i, ntk_vec_at(&model->nodes, index), index,
                  index == model->cursor_index);
    }
}
