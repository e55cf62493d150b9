/* SPDX-License-Identifier: MIT */
/* view_help - the page of the keys, written from keys.def. */
#include "top/view.h"

#define KEY_COLUMN 2
#define TEXT_COLUMN 14

void ntk_top_view_help(struct ntk_screen *screen)
{
    int row = 1;

    ntk_top_view_heading(screen, row++, "Keys");
    for (int i = 0; i < NTK_TOP_ACTION_COUNT && row < screen->rows; i++) {
        const struct ntk_top_action_text *text = ntk_top_keys_text_get((enum ntk_top_action)i);

        if (text->help[0]) {
            ntk_screen_put(screen, row, KEY_COLUMN, TEXT_COLUMN - KEY_COLUMN - 1, NTK_STYLE_VALUE,
                           text->keys);
            ntk_screen_put(screen, row, TEXT_COLUMN, screen->columns, NTK_STYLE_NORMAL, text->help);
            row++;
        }
    }
}
