/* SPDX-License-Identifier: MIT */
/* screen - clips, measures and cleans text, for every implementation. */
#include "top/screen/screen.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define TEXT_BYTES_MAX 1024

/* Takes one character of text: stores its bytes in `bytes`, advances *text, and returns its cells.
 * A character that cannot be shown becomes '?'. */
static int glyph_take(bool is_utf8, const char **text, char *bytes, size_t *out_count)
{
    const unsigned char *p = (const unsigned char *)*text;
    uint32_t code = p[0];
    size_t length = 1;
    int width;

    *out_count = 1;
    if (code < 0x80) {
        bytes[0] = (char)(code < 0x20 || code == 0x7f ? '?' : code);
        *text += 1;
        return 1;
    }
    if (code >= 0xc2 && code < 0xe0) {
        length = 2;
        code &= 0x1f;
    } else if (code >= 0xe0 && code < 0xf0) {
        length = 3;
        code &= 0x0f;
    } else if (code >= 0xf0 && code < 0xf5) {
        length = 4;
        code &= 0x07;
    }
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) { /* this check also ends at a NUL */
            length = 1;
            break;
        }
        code = code << 6 | (p[i] & 0x3f);
    }
    *text += length;
    if (length == 1 || (length == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
        (length == 4 && (code < 0x10000 || code > 0x10ffff))) {
        bytes[0] = '?';
        return 1;
    }
    width = wcwidth((wchar_t)code);
    if (width < 0 || !is_utf8) {
        bytes[0] = '?';
        return 1;
    }
    memcpy(bytes, p, length);
    *out_count = length;
    return width;
}

void ntk_screen_begin(struct ntk_screen *screen)
{
    ntk_vec_clear(&screen->spots);
    screen->ops->begin(screen);
}

void ntk_screen_end(struct ntk_screen *screen)
{
    screen->ops->end(screen);
}

int ntk_screen_put(struct ntk_screen *screen, int row, int column, int width, int style,
                   const char *text)
{
    char clean[TEXT_BYTES_MAX];
    size_t bytes = 0;
    int used = 0;

    if (row < 0 || row >= screen->rows || column < 0 || column >= screen->columns) {
        return 0;
    }
    if (width > screen->columns - column) {
        width = screen->columns - column;
    }
    while (*text && bytes + 4 < sizeof clean) {
        size_t count;
        int cells = glyph_take(screen->is_utf8, &text, clean + bytes, &count);

        if (cells == 0 && used == 0) {
            continue; /* a combining mark without a base character */
        }
        if (used + cells > width) {
            break;
        }
        bytes += count;
        used += cells;
    }
    if (used > 0) {
        screen->ops->put(screen, row, column, style, clean, bytes, used);
    }
    return used;
}

int ntk_screen_format(struct ntk_screen *screen, int row, int column, int width, int style,
                      const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ntk_screen_put(screen, row, column, width, style, text);
}

void ntk_screen_put_right(struct ntk_screen *screen, int row, int column, int width, int style,
                          const char *text)
{
    int cells = ntk_screen_width(screen, text);
    int skip = cells < width ? width - cells : 0;

    ntk_screen_put(screen, row, column + skip, width - skip, style, text);
}

void ntk_screen_fill(struct ntk_screen *screen, int row, int column, int width, int style, char c)
{
    char run[64];

    memset(run, c, sizeof run - 1);
    run[sizeof run - 1] = '\0';
    while (width > 0) {
        int part = width < (int)sizeof run - 1 ? width : (int)sizeof run - 1;
        int used = ntk_screen_put(screen, row, column, part, style, run);

        if (used == 0) {
            return;
        }
        column += used;
        width -= used;
    }
}

int ntk_screen_width(const struct ntk_screen *screen, const char *text)
{
    char bytes[4];
    size_t count;
    int cells = 0;

    while (*text && cells < INT_MAX / 2) {
        cells += glyph_take(screen->is_utf8, &text, bytes, &count);
    }
    return cells;
}

void ntk_screen_spot_add(struct ntk_screen *screen, int row, int column, int width, int action,
                         int argument)
{
    struct ntk_screen_spot spot = { row, column, width, action, argument };

    if (screen->spots.count < NTK_SCREEN_SPOTS_MAX) {
        (void)ntk_vec_push(&screen->spots, &spot); /* out of memory: it cannot be clicked */
    }
}

const struct ntk_screen_spot *ntk_screen_spot_find(const struct ntk_screen *screen, int row,
                                                   int column)
{
    for (size_t i = screen->spots.count; i > 0; i--) {
        const struct ntk_screen_spot *spot = ntk_vec_at(&screen->spots, i - 1);

        if (spot->row == row && spot->column <= column && column - spot->column < spot->width) {
            return spot;
        }
    }
    return NULL;
}

void ntk_screen_set_look(struct ntk_screen *screen, const struct ntk_screen_look *look)
{
    if (screen->ops->set_look) {
        screen->ops->set_look(screen, look);
    }
}

void ntk_screen_suspend(struct ntk_screen *screen)
{
    if (screen->ops->suspend) {
        screen->ops->suspend(screen);
    }
}

void ntk_screen_resume(struct ntk_screen *screen)
{
    if (screen->ops->resume) {
        screen->ops->resume(screen);
    }
}

int ntk_screen_key_take(struct ntk_screen *screen)
{
    return screen->ops->key_take(screen);
}

void ntk_screen_destroy(struct ntk_screen *screen)
{
    if (screen) {
        ntk_vec_fini(&screen->spots);
        screen->ops->destroy(screen);
    }
}
