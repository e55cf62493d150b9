/* SPDX-License-Identifier: MIT */
/* view_tabs - draws the bottom bar: a tab per application, and the keys. */
#include <stdio.h>
#include <string.h>

#include "top/view/view.h"

#define TAB_MIN 13 /* such as ">[1]:7286<" and a blank; names stay visible in any width */
#define TAB_TEXT_BYTES (NTK_TOP_TAB_TEXT_BYTES + 32)
#define LABEL "Neuron Apps"
#define KEY_GAP_MIN 2
#define KEY_GAP_MAX 6

static void tab_text(const struct ntk_top_model *model, size_t index, char *out)
{
    const struct ntk_top_tab *tab = ntk_vec_at(&model->tabs, index);
    bool is_selected = index == model->tab_index;

    (void)snprintf(out, TAB_TEXT_BYTES, "%s[%zu]:%s%s%s", is_selected ? ">" : "", index + 1,
                   tab->tag, tab->ended ? " (ended)" : "", is_selected ? "<" : "");
}

void ntk_top_view_tabs(const struct ntk_top_model *model, struct ntk_screen *screen, int row)
{
    char text[TAB_TEXT_BYTES];
    size_t count = model->tabs.count;
    int left = screen->columns / 6 > TAB_MIN ? screen->columns / 6 : TAB_MIN;
    int slot = left;
    int widest = 0;
    size_t page;
    size_t first;

    ntk_screen_fill(screen, row, 0, screen->columns, NTK_STYLE_TITLE, ' ');
    ntk_screen_put(screen, row, 0, left, NTK_STYLE_TAB_LABEL, LABEL);

    /* All tabs are as wide as the longest name if there is space. The width must not depend on the
     * selected tab, so the arrows are included for all. */
    for (size_t i = 0; i < count && i < (size_t)screen->columns; i++) {
        int width;

        tab_text(model, i, text);
        width = ntk_screen_width(screen, text) + (i == model->tab_index ? 1 : 3);
        widest = width > widest ? width : widest;
    }
    if (widest > slot && count <= (size_t)screen->columns) {
        int share = (screen->columns - left) / (int)count;

        slot = widest < share ? widest : share > slot ? share : slot;
    }
    page = (size_t)((screen->columns - left) / slot);
    page = page < 1 ? 1 : page;
    first = model->tab_index / page * page;
    for (size_t i = first; i < first + page && i < count; i++) {
        bool is_selected = i == model->tab_index;
        int column = left + (int)(i - first) * slot;
        int used;

        tab_text(model, i, text);
        ntk_screen_spot_add(screen, row, column, slot, NTK_TOP_ACTION_TAB, (int)i + 1);
        used = ntk_screen_put(screen, row, column, slot - (is_selected ? 2 : 1),
                              is_selected ? NTK_STYLE_TAB_SELECTED : NTK_STYLE_TITLE, text);
        if (is_selected && used < ntk_screen_width(screen, text)) {
            ntk_screen_put(screen, row, column + used, 1, NTK_STYLE_TAB_SELECTED, "<");
        }
    }
    if (first > 0) {
        ntk_screen_put(screen, row, left - 2, 1, NTK_STYLE_KEY, "<");
        ntk_screen_spot_add(screen, row, left - 3, 3, NTK_TOP_ACTION_TAB, (int)first);
    }
    if (first + page < count) {
        ntk_screen_put(screen, row, screen->columns - 1, 1, NTK_STYLE_KEY, ">");
        ntk_screen_spot_add(screen, row, screen->columns - 2, 2, NTK_TOP_ACTION_TAB,
                            (int)(first + page) + 1);
    }
}

/* Returns the number of cells of an action in the bar; 0 if it is not in the bar of this place. */
static int key_cells(const struct ntk_top_action_text *text, enum ntk_top_place place)
{
    bool is_here = text->place == NTK_TOP_PLACE_ALL || text->place == place ||
                   (text->place == NTK_TOP_PLACE_VIEW && place > NTK_TOP_PLACE_VIEW) ||
                   (text->place == NTK_TOP_PLACE_LIST && place == NTK_TOP_PLACE_OWNED);

    return text->bar[0] && is_here ? (int)(strlen(text->keys) + strlen(": ") + strlen(text->bar))
                                   : 0;
}

/* Adds spots for clicks with the effect of the entry's key; the left and right half are the two
 * actions of an entry that also covers the next row of the table. */
static void add_key_spots(struct ntk_screen *screen, int row, int column, int width, int action)
{
    const struct ntk_top_action_text *next =
        action + 1 < NTK_TOP_ACTION_COUNT ? ntk_top_keys_text_get((enum ntk_top_action)(action + 1))
                                          : NULL;

    if (action == NTK_TOP_ACTION_TAB) {
        return; /* the tab for the click */
    }
    ntk_screen_spot_add(screen, row, column, width, action, 0);
    if (next && !next->keys[0] && !next->help[0]) {
        ntk_screen_spot_add(screen, row, column + width / 2, width - width / 2, action + 1, 0);
    }
}

/* Draws as many complete keys as fit; ? lists all keys. */
void ntk_top_view_keys(struct ntk_screen *screen, int row, enum ntk_top_place place)
{
    int count = 0;
    int width = 0;
    int end = 0; /* end of the last action that fits */

    for (; end < NTK_TOP_ACTION_COUNT; end++) {
        int cells = key_cells(ntk_top_keys_text_get((enum ntk_top_action)end), place);

        if (cells && width + cells + KEY_GAP_MIN * count > screen->columns - 1) {
            break;
        }
        width += cells;
        count += cells > 0;
    }
    int gap = count > 1 ? (screen->columns - 2 - width) / (count - 1) : KEY_GAP_MIN;
    gap = gap < KEY_GAP_MIN ? KEY_GAP_MIN : gap > KEY_GAP_MAX ? KEY_GAP_MAX : gap;
    int column = (screen->columns - width - gap * (count - 1)) / 2;
    column = column < 1 ? 1 : column;
    ntk_screen_fill(screen, row, 0, screen->columns, NTK_STYLE_TITLE, ' ');
    for (int i = 0; i < end; i++) {
        const struct ntk_top_action_text *text = ntk_top_keys_text_get((enum ntk_top_action)i);

        if (key_cells(text, place)) {
            add_key_spots(screen, row, column, key_cells(text, place), i);
            column +=
                ntk_screen_put(screen, row, column, screen->columns, NTK_STYLE_KEY, text->keys);
            column += ntk_screen_format(screen, row, column, screen->columns, NTK_STYLE_TITLE,
                                        ": %s", text->bar);
            column += gap;
        }
    }
}
