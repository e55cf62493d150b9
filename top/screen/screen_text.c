/* SPDX-License-Identifier: MIT */
/* screen_text - implements the screen as a grid in memory, for --once, --batch and tests. */
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "top/screen/screen.h"

#define CELL_BYTES 15 /* a character and its combining marks; further marks are dropped */

struct cell {
    char text[CELL_BYTES + 1]; /* "" for the right half of a wide character */
    short style;
};

struct text_screen {
    struct ntk_screen base;
    struct cell *cells;
    int next_rows;
    int next_columns;
};

static struct cell *cell_at(const struct text_screen *screen, int row, int column)
{
    return &screen->cells[(size_t)row * (size_t)screen->base.columns + (size_t)column];
}

static void text_begin(struct ntk_screen *base)
{
    struct text_screen *screen = (struct text_screen *)base;

    if (screen->next_rows != base->rows || screen->next_columns != base->columns) {
        size_t count = (size_t)screen->next_rows * (size_t)screen->next_columns;
        struct cell *cells = realloc(screen->cells, count * sizeof *cells);

        if (cells) { /* otherwise the old size stays */
            screen->cells = cells;
            base->rows = screen->next_rows;
            base->columns = screen->next_columns;
        }
    }
    for (int i = 0; i < base->rows * base->columns; i++) {
        screen->cells[i] = (struct cell){ " ", NTK_STYLE_NORMAL };
    }
}

static void text_put(struct ntk_screen *base, int row, int column, int style, const char *text,
                     size_t bytes, int cell_count)
{
    struct text_screen *screen = (struct text_screen *)base;
    struct cell *last = NULL;
    int end = column + cell_count;

    /* A wide character that is half overwritten leaves a blank. */
    if (column > 0 && cell_at(screen, row, column)->text[0] == '\0') {
        memcpy(cell_at(screen, row, column - 1)->text, " ", 2);
    }
    if (end < base->columns && cell_at(screen, row, end)->text[0] == '\0') {
        memcpy(cell_at(screen, row, end)->text, " ", 2);
    }
    while (bytes > 0) {
        unsigned char c = (unsigned char)*text;
        size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        int width = 1;

        if (length > 1) {
            wchar_t wide = (wchar_t)(c & (0x7f >> length));

            for (size_t i = 1; i < length; i++) {
                wide = wide << 6 | (text[i] & 0x3f);
            }
            width = wcwidth(wide);
        }
        if (width > 0) {
            last = cell_at(screen, row, column);
            last->text[0] = '\0';
            last->style = (short)style;
            if (width == 2) {
                *cell_at(screen, row, column + 1) = (struct cell){ "", (short)style };
            }
            column += width;
        }
        if (last && strlen(last->text) + length <= CELL_BYTES) {
            size_t at = strlen(last->text);

            memcpy(last->text + at, text, length);
            last->text[at + length] = '\0';
        }
        text += length;
        bytes -= length;
    }
}

static void text_end(struct ntk_screen *base)
{
    (void)base;
}

static int text_key_take(struct ntk_screen *base)
{
    (void)base;
    return NTK_SCREEN_KEY_NONE;
}

static void text_destroy(struct ntk_screen *base)
{
    struct text_screen *screen = (struct text_screen *)base;

    free(screen->cells);
    free(screen);
}

static const struct ntk_screen_ops text_ops = { .begin = text_begin,
                                                .put = text_put,
                                                .end = text_end,
                                                .key_take = text_key_take,
                                                .destroy = text_destroy };

void ntk_screen_text_resize(struct ntk_screen *base, int rows, int columns)
{
    struct text_screen *screen = (struct text_screen *)base;

    screen->next_rows = rows < 1 ? 1 : rows > NTK_SCREEN_ROWS_MAX ? NTK_SCREEN_ROWS_MAX : rows;
    screen->next_columns = columns < 1                        ? 1
                           : columns > NTK_SCREEN_COLUMNS_MAX ? NTK_SCREEN_COLUMNS_MAX
                                                              : columns;
}

int ntk_screen_text_create(int rows, int columns, struct ntk_screen **out_screen,
                           struct ntk_err *err)
{
    struct text_screen *screen = calloc(1, sizeof *screen);

    if (!screen) {
        return ntk_err_no_memory(err);
    }
    screen->base.ops = &text_ops;
    ntk_vec_init(&screen->base.spots, sizeof(struct ntk_screen_spot));
    screen->base.is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    ntk_screen_text_resize(&screen->base, rows, columns);
    text_begin(&screen->base);
    if (!screen->cells) {
        free(screen);
        return ntk_err_no_memory(err);
    }
    *out_screen = &screen->base;
    return 0;
}

static bool is_blank(const struct cell *cell)
{
    return strcmp(cell->text, " ") == 0;
}

void ntk_screen_text_write(const struct ntk_screen *base, struct ntk_buf *buf)
{
    const struct text_screen *screen = (const struct text_screen *)base;

    for (int row = 0; row < base->rows; row++) {
        int end = base->columns;

        while (end > 0 && is_blank(cell_at(screen, row, end - 1))) {
            end--;
        }
        for (int column = 0; column < end; column++) {
            ntk_buf_add_text(buf, cell_at(screen, row, column)->text);
        }
        ntk_buf_add_char(buf, '\n');
    }
}

void ntk_screen_text_write_styles(const struct ntk_screen *base, struct ntk_buf *buf)
{
    static const char letters[NTK_STYLE_COUNT + 1] = ".thusevdclbkwf123456gijmopqr";
    const struct text_screen *screen = (const struct text_screen *)base;

    for (int row = 0; row < base->rows; row++) {
        for (int column = 0; column < base->columns; column++) {
            short style = cell_at(screen, row, column)->style;
            char letter = letters[NTK_STYLE_OF(style)];

            if (style & (NTK_STYLE_SELECTED | NTK_STYLE_REVERSED)) {
                letter = (char)(letter == '.' ? 'N' : letter - 'a' + 'A');
            }
            ntk_buf_add_char(buf, letter);
        }
        ntk_buf_add_char(buf, '\n');
    }
}
