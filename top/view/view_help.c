/* SPDX-License-Identifier: MIT */
/* view_help - draws the page of the keys, generated from keys.def and views.def. */
#include "top/view/view.h"
#include "top/view/views.h"

#define KEY_COLUMN 2
#define TEXT_COLUMN 14
#define PAGE_COLUMNS 78 /* width of one of two columns of keys */
#define LINES_MAX (NTK_TOP_ACTION_COUNT + NTK_TOP_VIEW_COUNT + 6)

struct line {
    const char *keys; /* NULL for a heading */
    const char *text;
};

static int lines_of_actions(struct line *lines, int count, bool with_views)
{
    for (int i = 0; i < NTK_TOP_ACTION_COUNT; i++) {
        const struct ntk_top_action_text *text = ntk_top_keys_text_get((enum ntk_top_action)i);

        if (text->help[0] && (text->place >= NTK_TOP_PLACE_VIEW) == with_views) {
            lines[count++] = (struct line){ text->keys, text->help };
        }
    }
    return count;
}

static int lines_make(struct line *lines)
{
    int count = 0;

    lines[count++] = (struct line){ NULL, "Views" };
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view_text *text = ntk_top_views_text_get((enum ntk_top_view_id)i);

        lines[count++] = (struct line){ text->keys, text->help };
    }
    lines[count++] = (struct line){ NULL, "Keys of a view" };
    count = lines_of_actions(lines, count, true);
    lines[count++] = (struct line){ NULL, "Keys" };
    count = lines_of_actions(lines, count, false);
    lines[count++] = (struct line){ NULL, "Recordings" };
    lines[count++] = (struct line){ "record", "neuron-monitor --db FILE" };
    lines[count++] = (struct line){ "show", "neuron-top --from FILE" };
    return count;
}

static void draw_line(struct ntk_screen *screen, int row, int column, int width,
                      const struct line *line)
{
    if (!line->keys) {
        ntk_screen_fill(screen, row, column, width, NTK_STYLE_HEADING, ' ');
        ntk_screen_put(screen, row, column, width, NTK_STYLE_HEADING, line->text);
        return;
    }
    ntk_screen_put(screen, row, column + KEY_COLUMN, TEXT_COLUMN - KEY_COLUMN - 1, NTK_STYLE_VALUE,
                   line->keys);
    ntk_screen_put(screen, row, column + TEXT_COLUMN, width - TEXT_COLUMN, NTK_STYLE_NORMAL,
                   line->text);
}

/* Returns the number of lines in the first of two columns: sections are not split if there is
 * space. */
static int split(const struct line *lines, int count, int rows)
{
    for (int i = count < rows ? count : rows; i > 0; i--) {
        if (i < count && !lines[i].keys && count - i <= rows) {
            return i;
        }
    }
    return rows;
}

void ntk_top_view_help(struct ntk_top_model *model, struct ntk_screen *screen)
{
    struct line lines[LINES_MAX];
    int count = lines_make(lines);
    int rows = screen->rows - 1;
    int columns = count > rows && screen->columns >= 2 * PAGE_COLUMNS ? 2 : 1;
    int width = screen->columns / columns;
    bool is_scrolled = columns * rows < count;
    int page = is_scrolled ? rows - 1 : rows; /* the last row shows that there is more */
    size_t last = is_scrolled ? (size_t)(count - page * columns) : 0;
    int first;
    int left; /* number of lines in the first column */

    model->help_first = model->help_first < last ? model->help_first : last;
    model->help_page = (size_t)page;
    first = (int)model->help_first;
    left = columns > 1 && !is_scrolled ? split(lines, count, page) : page;
    for (int i = 0; i < page * columns && first + i < count; i++) {
        bool is_right = i >= left;

        draw_line(screen, 1 + (is_right ? i - left : i), is_right ? width : 0, width,
                  &lines[first + i]);
    }
    if (is_scrolled) {
        ntk_screen_fill(screen, screen->rows - 1, 0, screen->columns, NTK_STYLE_TITLE, ' ');
        ntk_screen_format(screen, screen->rows - 1, 1, screen->columns, NTK_STYLE_TITLE,
                          "%d-%d of %d; up, down, pgup, pgdn scroll; other keys close", first + 1,
                          first + page * columns, count);
    }
}
