/* SPDX-License-Identifier: MIT */
/* view_settings - draws the page of settings. */
#include "top/view/view.h"

#define NAME_COLUMN 2
#define VALUE_COLUMN 16
#define VALUE_CELLS 15
#define HELP_COLUMN (VALUE_COLUMN + VALUE_CELLS + 2)

static void draw_setting(const struct ntk_top_settings *settings, struct ntk_screen *screen,
                         int row, enum ntk_top_setting id)
{
    bool is_cursor = settings->row == (size_t)id;
    int style = is_cursor ? NTK_STYLE_CURSOR : NTK_STYLE_NORMAL;

    if (is_cursor) {
        ntk_screen_fill(screen, row, 0, screen->columns, style, ' ');
    }
    ntk_screen_put(screen, row, NAME_COLUMN, VALUE_COLUMN - NAME_COLUMN - 1, style,
                   ntk_top_settings_name(id));
    ntk_screen_format(screen, row, VALUE_COLUMN, VALUE_CELLS,
                      is_cursor ? NTK_STYLE_CURSOR : NTK_STYLE_VALUE, "< %s >",
                      settings->values[id]);
    ntk_screen_put(screen, row, HELP_COLUMN, screen->columns - HELP_COLUMN, style,
                   ntk_top_settings_help(id));
    /* A click selects; on the selected row it switches to the next choice. */
    ntk_screen_spot_add(screen, row, 0, screen->columns,
                        is_cursor ? NTK_TOP_ACTION_EXPAND : NTK_TOP_ACTION_CURSOR_TO, (int)id);
}

void ntk_top_view_settings(const struct ntk_top_settings *settings, struct ntk_screen *screen)
{
    int row = 1;
    int last = screen->rows - 1;
    /* If not all settings fit, show the settings around the selected one. */
    int shown = last - 2 < NTK_TOP_SETTING_COUNT ? last - 2 : NTK_TOP_SETTING_COUNT;
    int first = (int)settings->row < shown ? 0 : (int)settings->row - shown + 1;

    ntk_top_view_heading(screen, row++, "Settings");
    for (int i = first; i < first + shown; i++) {
        draw_setting(settings, screen, row++, (enum ntk_top_setting)i);
    }
    if (row + 1 < last) {
        row++;
    }
    if (row < last && settings->notice[0]) {
        ntk_screen_put(screen, row++, NAME_COLUMN, screen->columns, NTK_STYLE_WARNING,
                       settings->notice);
    }
    if (row + 1 < last) {
        ntk_screen_put(screen, row++, NAME_COLUMN, screen->columns, NTK_STYLE_DIM,
                       "columns and sort order of each list are saved too");
    }
    if (row < last) {
        ntk_screen_format(screen, row, NAME_COLUMN, screen->columns, NTK_STYLE_DIM, "saved in %s",
                          settings->path[0] ? settings->path : "no file: HOME is not set");
    }
    ntk_screen_fill(screen, last, 0, screen->columns, NTK_STYLE_TITLE, ' ');
    ntk_screen_put(screen, last, 1, screen->columns - 1, NTK_STYLE_TITLE,
                   "up, down: choose   left, right: change   escape: save and close");
    ntk_screen_spot_add(screen, last, 0, screen->columns, NTK_TOP_ACTION_BACK, 0);
}
