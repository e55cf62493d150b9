/* SPDX-License-Identifier: MIT */
/*
 * screen - a grid of cells that a view draws on, independent of the terminal.
 *
 * A view places text and chooses its style; the implementation decides how a style looks: a
 * terminal (screen_curses.c, the only file that uses curses) or a grid in memory (screen_text.c,
 * for --once, --batch and the tests). Text is UTF-8 and may come from an application: control
 * characters and invalid bytes are replaced, wide characters take two cells and are never cut in
 * half, everything is clipped at the edges.
 *
 * Owner:   create allocates, ntk_screen_destroy() frees (and restores the terminal).
 * Threads: one.
 */
#ifndef NTK_TOP_SCREEN_SCREEN_H
#define NTK_TOP_SCREEN_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"

enum ntk_screen_style {
    NTK_STYLE_NORMAL,
    NTK_STYLE_TITLE,        /* title bar, bottom bar */
    NTK_STYLE_HEADING,      /* the bar above a section */
    NTK_STYLE_BAR_USER,     /* filled part of a bar */
    NTK_STYLE_BAR_SYSTEM,   /* second filled part of a bar */
    NTK_STYLE_BAR_EMPTY,    /* rest of a bar */
    NTK_STYLE_VALUE,        /* an important number */
    NTK_STYLE_DIM,          /* of second rank */
    NTK_STYLE_CURSOR,       /* the selected row */
    NTK_STYLE_TAB_LABEL,    /* the kind of the tabs */
    NTK_STYLE_TAB_SELECTED, /* the tab that is shown */
    NTK_STYLE_KEY,          /* a key in the bottom bar or the help */
    NTK_STYLE_WARNING,      /* the reason for missing data */
    NTK_STYLE_ERROR,        /* what went wrong */
    NTK_STYLE_SERIES,       /* the first of six parts of a whole, each with a different colour */
    NTK_STYLE_SERIES_LAST = NTK_STYLE_SERIES + 5,
    NTK_STYLE_HEAT, /* the first of NTK_STYLE_HEAT_LEVELS, from cold to hot */
    NTK_STYLE_HEAT_LAST = NTK_STYLE_HEAT + 7,
    NTK_STYLE_COUNT,
};

/* Added to a style: on the colour of the selection. */
#define NTK_STYLE_SELECTED 0x100
/* Added to a style: its colour becomes the background. */
#define NTK_STYLE_REVERSED 0x200
#define NTK_STYLE_OF(style) ((style) & ~(NTK_STYLE_SELECTED | NTK_STYLE_REVERSED))

#define NTK_STYLE_HEAT_LEVELS (NTK_STYLE_HEAT_LAST - NTK_STYLE_HEAT + 1)

/* Keys without a character; characters are their code point. */
enum ntk_screen_key {
    NTK_SCREEN_KEY_NONE = -1, /* nothing was typed */
    NTK_SCREEN_KEY_UP = 0x200000,
    NTK_SCREEN_KEY_DOWN,
    NTK_SCREEN_KEY_LEFT,
    NTK_SCREEN_KEY_RIGHT,
    NTK_SCREEN_KEY_PAGE_UP,
    NTK_SCREEN_KEY_PAGE_DOWN,
    NTK_SCREEN_KEY_HOME,
    NTK_SCREEN_KEY_END,
    NTK_SCREEN_KEY_ENTER,
    NTK_SCREEN_KEY_ESCAPE,
    NTK_SCREEN_KEY_BACKSPACE,
    NTK_SCREEN_KEY_TAB_BACK,                                     /* shift and tab */
    NTK_SCREEN_KEY_FUNCTION,                                     /* F1; NTK_SCREEN_KEY_F(n) */
    NTK_SCREEN_KEY_FUNCTION_LAST = NTK_SCREEN_KEY_FUNCTION + 11, /* F12 */
    NTK_SCREEN_KEY_OTHER,                                        /* a key without a meaning here */
    NTK_SCREEN_KEY_CLICK, /* the mouse, at mouse_row and mouse_column */
    NTK_SCREEN_KEY_WHEEL_UP,
    NTK_SCREEN_KEY_WHEEL_DOWN,
};

/* The effect of a click on some cells of a row; the code that draws defines the values. */
struct ntk_screen_spot {
    int row;
    int column;
    int width;
    int action;
    int argument;
};
#define NTK_SCREEN_SPOTS_MAX 1024 /* of a frame; more of them cannot be clicked */

enum ntk_screen_scheme {
    NTK_SCREEN_SCHEME_VENDOR,
    NTK_SCREEN_SCHEME_LIGHT,    /* for a light background */
    NTK_SCREEN_SCHEME_CONTRAST, /* does not distinguish by red and green */
    NTK_SCREEN_SCHEME_COUNT,
};

/* How a terminal is used. */
struct ntk_screen_look {
    enum ntk_screen_scheme scheme;
    bool no_colour;
    bool no_mouse;
    bool ascii; /* though the locale is UTF-8 */
};

#define NTK_SCREEN_KEY_F(n) (NTK_SCREEN_KEY_FUNCTION + (n)-1)

struct ntk_screen;

struct ntk_screen_ops {
    /* Starts an empty frame; sets rows and columns to the current size. */
    void (*begin)(struct ntk_screen *screen);
    /* Clean UTF-8 of cell_count cells that are inside the frame. */
    void (*put)(struct ntk_screen *screen, int row, int column, int style, const char *text,
                size_t bytes, int cell_count);
    /* Shows the frame. */
    void (*end)(struct ntk_screen *screen);
    int (*key_take)(struct ntk_screen *screen);
    /* NULL: the look cannot be changed. */
    void (*set_look)(struct ntk_screen *screen, const struct ntk_screen_look *look);
    /* NULL: no other process writes to its output. */
    void (*suspend)(struct ntk_screen *screen);
    void (*resume)(struct ntk_screen *screen);
    void (*destroy)(struct ntk_screen *screen);
};

struct ntk_screen {
    const struct ntk_screen_ops *ops;
    int rows;
    int columns;
    bool is_utf8;            /* other characters than ASCII can be shown */
    bool has_colour;         /* else letters replace styles */
    const char *memory_type; /* of the machine that is shown, for ntk_top_view_label(); NULL: HBM */
    int mouse_row;           /* of the last key of the mouse */
    int mouse_column;
    char label[128];      /* the last label that had to be built */
    struct ntk_vec spots; /* struct ntk_screen_spot of the frame, later ones on top */
};

#define NTK_SCREEN_ROWS_MAX 20000
#define NTK_SCREEN_COLUMNS_MAX 4000

void ntk_screen_begin(struct ntk_screen *screen);
void ntk_screen_end(struct ntk_screen *screen);
/* Writes text from column on, at most width cells; returns the cells used. Outside of the frame it
 * writes nothing. */
int ntk_screen_put(struct ntk_screen *screen, int row, int column, int width, int style,
                   const char *text);
int ntk_screen_format(struct ntk_screen *screen, int row, int column, int width, int style,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Right-aligned: ends at column + width. */
void ntk_screen_put_right(struct ntk_screen *screen, int row, int column, int width, int style,
                          const char *text);
/* width cells of one ASCII character. */
void ntk_screen_fill(struct ntk_screen *screen, int row, int column, int width, int style, char c);
/* The cells that the whole text takes. */
int ntk_screen_width(const struct ntk_screen *screen, const char *text);
/* Defines the effect of a click on these cells, until the next frame begins. */
void ntk_screen_spot_add(struct ntk_screen *screen, int row, int column, int width, int action,
                         int argument);
/* The spot there, NULL when there is none. */
const struct ntk_screen_spot *ntk_screen_spot_find(const struct ntk_screen *screen, int row,
                                                   int column);
void ntk_screen_set_look(struct ntk_screen *screen, const struct ntk_screen_look *look);
/* Restores the terminal for another program, until the next frame resumes. */
void ntk_screen_suspend(struct ntk_screen *screen);
void ntk_screen_resume(struct ntk_screen *screen);
/* A code point, enum ntk_screen_key or NTK_SCREEN_KEY_NONE; never waits. */
int ntk_screen_key_take(struct ntk_screen *screen);
void ntk_screen_destroy(struct ntk_screen *screen); /* NULL is fine */

/* A grid in memory. is_utf8 from the locale; tests may set it. -ENOMEM. */
int ntk_screen_text_create(int rows, int columns, struct ntk_screen **out_screen,
                           struct ntk_err *err);
/* The size of the next frame. */
void ntk_screen_text_resize(struct ntk_screen *screen, int rows, int columns);
/* Appends the frame, without blanks at the ends of lines. */
void ntk_screen_text_write(const struct ntk_screen *screen, struct ntk_buf *buf);
/* The same grid with one letter per cell for its style, '.' where it is normal; upper case when
 * selected or reversed: n/a, t itle, h eading, u ser, s ystem, e mpty, v alue, d im, c ursor, l
 * abel, b (selected tab), k ey, w arning, f ailed, 1 to 6 the parts of a whole, g i j m o p q r
 * from cold to hot. */
void ntk_screen_text_write_styles(const struct ntk_screen *screen, struct ntk_buf *buf);

/* The terminal of stdout; keys come from key_fd, which the caller keeps. */
int ntk_screen_curses_create(const struct ntk_screen_look *look, int key_fd,
                             struct ntk_screen **out_screen, struct ntk_err *err);

#endif
