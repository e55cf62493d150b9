/* SPDX-License-Identifier: MIT */
/*
 * screen - a grid of cells on which a view draws, independent of the terminal.
 *
 * A view places text and chooses its style; the implementation decides how a style looks: a
 * terminal (screen_curses.c) or a grid in memory (screen_text.c, for --once, --batch and the
 * tests). Text is UTF-8 and may come from an application: control characters and invalid bytes are
 * replaced, wide characters take two cells and are never cut in half, everything is clipped at the
 * edges.
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
    NTK_STYLE_TITLE,        /* title bar and bottom bar */
    NTK_STYLE_HEADING,      /* bar above a section */
    NTK_STYLE_BAR_USER,     /* filled part of a bar */
    NTK_STYLE_BAR_SYSTEM,   /* second filled part of a bar */
    NTK_STYLE_BAR_EMPTY,    /* rest of a bar */
    NTK_STYLE_VALUE,        /* an important number */
    NTK_STYLE_DIM,          /* less important */
    NTK_STYLE_CURSOR,       /* selected row */
    NTK_STYLE_TAB_LABEL,    /* kind of the tabs */
    NTK_STYLE_TAB_SELECTED, /* shown tab */
    NTK_STYLE_KEY,          /* a key in the bottom bar or the help */
    NTK_STYLE_WARNING,      /* reason for missing data */
    NTK_STYLE_ERROR,        /* an error */
    NTK_STYLE_SERIES,       /* first of six parts of a whole, each with a different colour */
    NTK_STYLE_SERIES_LAST = NTK_STYLE_SERIES + 5,
    NTK_STYLE_HEAT, /* first of NTK_STYLE_HEAT_LEVELS, from cold to hot */
    NTK_STYLE_HEAT_LAST = NTK_STYLE_HEAT + 7,
    NTK_STYLE_COUNT,
};

/* Added to a style: draws on the colour of the selection. */
#define NTK_STYLE_SELECTED 0x100
/* Added to a style: its colour becomes the background. */
#define NTK_STYLE_REVERSED 0x200
#define NTK_STYLE_OF(style) ((style) & ~(NTK_STYLE_SELECTED | NTK_STYLE_REVERSED))

#define NTK_STYLE_HEAT_LEVELS (NTK_STYLE_HEAT_LAST - NTK_STYLE_HEAT + 1)

/* Keys without a character; a character is its code point. */
enum ntk_screen_key {
    NTK_SCREEN_KEY_NONE = -1, /* no key was typed */
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
    NTK_SCREEN_KEY_FUNCTION,                                     /* F1; see NTK_SCREEN_KEY_F(n) */
    NTK_SCREEN_KEY_FUNCTION_LAST = NTK_SCREEN_KEY_FUNCTION + 11, /* F12 */
    NTK_SCREEN_KEY_OTHER,                                        /* a key without a meaning here */
    NTK_SCREEN_KEY_CLICK, /* a click at mouse_row and mouse_column */
    NTK_SCREEN_KEY_WHEEL_UP,
    NTK_SCREEN_KEY_WHEEL_DOWN,
};

/* Effect of a click on several cells of a row; the code that draws defines the values. */
struct ntk_screen_spot {
    int row;
    int column;
    int width;
    int action;
    int argument;
};
#define NTK_SCREEN_SPOTS_MAX 1024 /* maximum per frame; further spots cannot be clicked */

enum ntk_screen_scheme {
    NTK_SCREEN_SCHEME_VENDOR,
    NTK_SCREEN_SCHEME_LIGHT,    /* for a light background */
    NTK_SCREEN_SCHEME_CONTRAST, /* does not distinguish by red and green */
    NTK_SCREEN_SCHEME_COUNT,
};

/* Settings for the use of a terminal. */
struct ntk_screen_look {
    enum ntk_screen_scheme scheme;
    bool no_colour;
    bool no_mouse;
    bool ascii; /* use ASCII even if the locale is UTF-8 */
};

#define NTK_SCREEN_KEY_F(n) (NTK_SCREEN_KEY_FUNCTION + (n)-1)

struct ntk_screen;

struct ntk_screen_ops {
    /* Starts an empty frame; sets rows and columns to the current size. */
    void (*begin)(struct ntk_screen *screen);
    /* Writes clean UTF-8 of cell_count cells that are inside the frame. */
    void (*put)(struct ntk_screen *screen, int row, int column, int style, const char *text,
                size_t bytes, int cell_count);
    /* Shows the frame. */
    void (*end)(struct ntk_screen *screen);
    int (*key_take)(struct ntk_screen *screen);
    /* NULL if the look cannot be changed. */
    void (*set_look)(struct ntk_screen *screen, const struct ntk_screen_look *look);
    /* NULL if no other process writes to its output. */
    void (*suspend)(struct ntk_screen *screen);
    void (*resume)(struct ntk_screen *screen);
    void (*destroy)(struct ntk_screen *screen);
};

struct ntk_screen {
    const struct ntk_screen_ops *ops;
    int rows;
    int columns;
    bool is_utf8;    /* characters other than ASCII can be shown */
    bool has_colour; /* false: letters replace styles */
    /* memory of the shown machine, for ntk_top_view_label(); NULL for HBM */
    const char *memory_type;
    int mouse_row; /* position of the last mouse key */
    int mouse_column;
    char label[128]; /* last label that had to be built */
    /* elements are struct ntk_screen_spot of the frame; later ones are on top */
    struct ntk_vec spots;
};

#define NTK_SCREEN_ROWS_MAX 20000
#define NTK_SCREEN_COLUMNS_MAX 4000

void ntk_screen_begin(struct ntk_screen *screen);
void ntk_screen_end(struct ntk_screen *screen);
/* Writes text from column on, at most width cells; returns the number of used cells. Writes nothing
 * outside the frame. */
int ntk_screen_put(struct ntk_screen *screen, int row, int column, int width, int style,
                   const char *text);
int ntk_screen_format(struct ntk_screen *screen, int row, int column, int width, int style,
                      const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Writes text right-aligned, so that it ends at column + width. */
void ntk_screen_put_right(struct ntk_screen *screen, int row, int column, int width, int style,
                          const char *text);
/* Writes width cells of one ASCII character. */
void ntk_screen_fill(struct ntk_screen *screen, int row, int column, int width, int style, char c);
/* Returns the number of cells for the whole text. */
int ntk_screen_width(const struct ntk_screen *screen, const char *text);
/* Defines the effect of a click on these cells, until the next frame begins. */
void ntk_screen_spot_add(struct ntk_screen *screen, int row, int column, int width, int action,
                         int argument);
/* Returns the spot at this position; NULL if there is none. */
const struct ntk_screen_spot *ntk_screen_spot_find(const struct ntk_screen *screen, int row,
                                                   int column);
void ntk_screen_set_look(struct ntk_screen *screen, const struct ntk_screen_look *look);
/* Restores the terminal for another program, until the next frame resumes. */
void ntk_screen_suspend(struct ntk_screen *screen);
void ntk_screen_resume(struct ntk_screen *screen);
/* Returns a code point, enum ntk_screen_key or NTK_SCREEN_KEY_NONE; never waits. */
int ntk_screen_key_take(struct ntk_screen *screen);
void ntk_screen_destroy(struct ntk_screen *screen); /* accepts NULL */

/* Creates a grid in memory. is_utf8 depends on the locale; tests may set it. -ENOMEM. */
int ntk_screen_text_create(int rows, int columns, struct ntk_screen **out_screen,
                           struct ntk_err *err);
/* Sets the size of the next frame. */
void ntk_screen_text_resize(struct ntk_screen *screen, int rows, int columns);
/* Appends the frame, without blanks at the ends of lines. */
void ntk_screen_text_write(const struct ntk_screen *screen, struct ntk_buf *buf);
/* Appends the grid with one letter per cell for its style, '.' if it is normal; upper case if
 * selected or reversed: n/a, t itle, h eading, u ser, s ystem, e mpty, v alue, d im, c ursor, l
 * abel, b (selected tab), k ey, w arning, f ailed, 1 to 6 the parts of a whole, g i j m o p q r
 * from cold to hot. */
void ntk_screen_text_write_styles(const struct ntk_screen *screen, struct ntk_buf *buf);

/* Opens the terminal of stdout; keys come from key_fd, which the caller keeps. */
int ntk_screen_curses_create(const struct ntk_screen_look *look, int key_fd,
                             struct ntk_screen **out_screen, struct ntk_err *err);

#endif
