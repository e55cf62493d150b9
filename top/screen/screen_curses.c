/* SPDX-License-Identifier: MIT */
/*
 * screen_curses - implements the screen on a terminal: curses describes the terminal, sets its
 * modes and colours, and reads keys; screen_changes.h and screen_output.h write frames.
 *
 * The screen of curses stays empty, so that curses does not write to the terminal by itself.
 */
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "shared/base/log.h"
#include "top/screen/screen.h"
#include "top/screen/screen_changes.h"
#include "top/screen/screen_output.h"

struct curses_screen {
    struct ntk_screen base;
    SCREEN *terminal;
    FILE *keys;
    FILE *out;
    struct ntk_screen_output output;
    bool is_started;  /* the terminal is in the mode of curses */
    bool needs_clear; /* before the next frame */
    bool can_colour;
    attr_t attributes[NTK_STYLE_COUNT]; /* include colours */
    struct ntk_screen_changes changes;
};

/* Colours of the vendor's screen, to which users are accustomed, with the attributes for terminals
 * without colours. */
static const struct {
    short foreground, background;
    attr_t with_colour, without_colour;
} looks[NTK_STYLE_COUNT] = {
    [NTK_STYLE_NORMAL] = { -1, -1, 0, 0 },
    [NTK_STYLE_TITLE] = { COLOR_WHITE, COLOR_BLUE, A_BOLD, A_REVERSE },
    [NTK_STYLE_HEADING] = { COLOR_BLACK, COLOR_CYAN, 0, A_REVERSE },
    [NTK_STYLE_BAR_USER] = { COLOR_GREEN, -1, 0, A_BOLD },
    [NTK_STYLE_BAR_SYSTEM] = { COLOR_RED, -1, 0, 0 },
    [NTK_STYLE_BAR_EMPTY] = { COLOR_BLACK, -1, A_BOLD, A_DIM },
    [NTK_STYLE_VALUE] = { COLOR_GREEN, -1, 0, A_BOLD },
    [NTK_STYLE_DIM] = { COLOR_BLACK, -1, A_BOLD, A_DIM },
    [NTK_STYLE_CURSOR] = { COLOR_YELLOW, COLOR_RED, A_BOLD, A_REVERSE },
    [NTK_STYLE_TAB_LABEL] = { COLOR_YELLOW, COLOR_BLUE, A_BOLD, A_REVERSE },
    [NTK_STYLE_TAB_SELECTED] = { COLOR_GREEN, COLOR_BLUE, A_BOLD, A_REVERSE | A_BOLD },
    [NTK_STYLE_KEY] = { COLOR_YELLOW, COLOR_BLUE, 0, A_REVERSE },
    [NTK_STYLE_WARNING] = { COLOR_YELLOW, -1, A_BOLD, A_BOLD },
    [NTK_STYLE_ERROR] = { COLOR_RED, -1, A_BOLD, A_BOLD },
    [NTK_STYLE_SERIES] = { COLOR_GREEN, -1, 0, 0 },
    [NTK_STYLE_SERIES + 1] = { COLOR_CYAN, -1, 0, 0 },
    [NTK_STYLE_SERIES + 2] = { COLOR_YELLOW, -1, 0, 0 },
    [NTK_STYLE_SERIES + 3] = { COLOR_MAGENTA, -1, 0, 0 },
    [NTK_STYLE_SERIES + 4] = { COLOR_BLUE, -1, A_BOLD, 0 },
    [NTK_STYLE_SERIES + 5] = { COLOR_RED, -1, 0, 0 },
    [NTK_STYLE_HEAT] = { COLOR_BLUE, -1, 0, A_DIM },
    [NTK_STYLE_HEAT + 1] = { COLOR_CYAN, -1, 0, 0 },
    [NTK_STYLE_HEAT + 2] = { COLOR_GREEN, -1, 0, 0 },
    [NTK_STYLE_HEAT + 3] = { COLOR_GREEN, -1, A_BOLD, 0 },
    [NTK_STYLE_HEAT + 4] = { COLOR_YELLOW, -1, 0, 0 },
    [NTK_STYLE_HEAT + 5] = { COLOR_YELLOW, -1, A_BOLD, A_BOLD },
    [NTK_STYLE_HEAT + 6] = { COLOR_RED, -1, 0, A_BOLD },
    [NTK_STYLE_HEAT + 7] = { COLOR_RED, -1, A_BOLD, A_BOLD },
};

/* Colours from cold to hot on terminals with 256 colours; the scheme "contrast" does not put red
 * next to green. */
static const short heat_of_256[2][NTK_STYLE_HEAT_LEVELS] = {
    { 31, 37, 35, 106, 178, 208, 202, 196 },
    { 32, 38, 37, 72, 107, 143, 185, 226 },
};

/* Colours that are dark enough to read on white: from cold to hot, and the eight colours. */
static const short light_heat_of_256[] = { 24, 30, 29, 64, 94, 130, 160, 124 };
static const short light_of_256[] = {
    [COLOR_BLACK] = COLOR_BLACK, [COLOR_RED] = 160,           [COLOR_GREEN] = 28,
    [COLOR_YELLOW] = 94,         [COLOR_BLUE] = 26,           [COLOR_MAGENTA] = 90,
    [COLOR_CYAN] = 30,           [COLOR_WHITE] = COLOR_BLACK,
};

/* Colours that are bright enough to read on the blue of the selected row: from cold to hot, and
 * the eight colours. */
static const short selected_heat_of_256[] = { 117, 80, 79, 148, 184, 214, 216, 217 };
static const short selected_of_256[] = {
    [COLOR_BLACK] = 252, [COLOR_RED] = 217,     [COLOR_GREEN] = 120, [COLOR_YELLOW] = 227,
    [COLOR_BLUE] = 117,  [COLOR_MAGENTA] = 219, [COLOR_CYAN] = 123,  [COLOR_WHITE] = COLOR_WHITE,
};
#define SELECTED_EMPTY_OF_256 111 /* empty part of a bar */

/* Replacements in other schemes. */
static const struct {
    enum ntk_screen_scheme scheme;
    enum ntk_screen_style style;
    short foreground, background;
    attr_t attributes;
} other_looks[] = {
    { NTK_SCREEN_SCHEME_LIGHT, NTK_STYLE_WARNING, COLOR_RED, -1, A_BOLD },
    { NTK_SCREEN_SCHEME_LIGHT, NTK_STYLE_CURSOR, COLOR_WHITE, COLOR_RED, A_BOLD },
    { NTK_SCREEN_SCHEME_LIGHT, NTK_STYLE_TAB_SELECTED, COLOR_BLUE, COLOR_WHITE, A_BOLD },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_BAR_USER, COLOR_CYAN, -1, 0 },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_BAR_SYSTEM, COLOR_YELLOW, -1, A_BOLD },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_VALUE, COLOR_CYAN, -1, A_BOLD },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_CURSOR, COLOR_BLACK, COLOR_WHITE, 0 },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_TAB_SELECTED, COLOR_BLACK, COLOR_YELLOW, 0 },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_ERROR, COLOR_MAGENTA, -1, A_BOLD | A_UNDERLINE },
    { NTK_SCREEN_SCHEME_CONTRAST, NTK_STYLE_WARNING, COLOR_YELLOW, -1, A_BOLD | A_UNDERLINE },
};

#define GREY 8          /* bright black on a terminal with sixteen colours */
#define GREY_OF_256 242 /* the same in every palette */
#define BLUE_OF_256 33

/* Draws everything again in the next frame. */
static void draw_all(struct curses_screen *screen)
{
    ntk_screen_changes_forget(&screen->changes);
    screen->needs_clear = true;
}

/* If out of memory, nothing is shown. */
static void set_size(struct curses_screen *screen, int rows, int columns)
{
    (void)ntk_screen_changes_resize(&screen->changes, rows, columns);
    screen->base.rows = screen->changes.rows;
    screen->base.columns = screen->changes.columns;
}

static void curses_begin(struct ntk_screen *base)
{
    struct curses_screen *screen = (struct curses_screen *)base;
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
        (size.ws_row != screen->changes.rows || size.ws_col != screen->changes.columns)) {
        set_size(screen, size.ws_row, size.ws_col);
        draw_all(screen); /* terminals reflow text when they are resized */
    }
    ntk_screen_changes_begin(&screen->changes);
}

static void curses_put(struct ntk_screen *base, int row, int column, int style, const char *text,
                       size_t bytes, int cell_count)
{
    (void)cell_count;
    ntk_screen_changes_put(&((struct curses_screen *)base)->changes, row, column, style, text,
                           bytes);
}

static struct ntk_screen_pen pen_of(const struct curses_screen *screen, int style)
{
    int look = NTK_STYLE_OF(style);
    bool is_selected = style & NTK_STYLE_SELECTED;
    struct ntk_screen_pen pen = { 0 };

    if (style & NTK_SCREEN_STYLE_EMPTY) {
        return pen;
    }
    pen.attributes =
        screen->base.has_colour ? screen->attributes[look] : looks[look].without_colour;
    if (screen->base.has_colour) {
        pen.pair = (short)(1 + look + (is_selected ? NTK_STYLE_COUNT : 0));
    } else if (is_selected) {
        pen.attributes |= A_UNDERLINE;
    }
    pen.attributes |= style & NTK_STYLE_REVERSED ? A_REVERSE : 0;
    return pen;
}

static void put_change(const struct ntk_screen_change *change, void *ctx)
{
    struct curses_screen *screen = ctx;

    ntk_screen_output_put(&screen->output, change, pen_of(screen, change->style),
                          screen->changes.rows, screen->changes.columns);
}

static void curses_end(struct ntk_screen *base)
{
    struct curses_screen *screen = (struct curses_screen *)base;

    if (!screen->is_started) {
        screen->is_started = true;
        refresh();
    }
    if (screen->needs_clear) {
        screen->needs_clear = false;
        ntk_screen_output_clear(&screen->output, screen->changes.rows);
    }
    ntk_screen_changes_take(&screen->changes, put_change, screen);
    ntk_screen_output_send(&screen->output);
}

static int mouse_take(struct ntk_screen *base)
{
    MEVENT event;

    if (getmouse(&event) == ERR) {
        return NTK_SCREEN_KEY_OTHER;
    }
    base->mouse_row = event.y;
    base->mouse_column = event.x;
    return event.bstate & BUTTON1_PRESSED   ? (int)NTK_SCREEN_KEY_CLICK
           : event.bstate & BUTTON4_PRESSED ? (int)NTK_SCREEN_KEY_WHEEL_UP
           : event.bstate & BUTTON5_PRESSED ? (int)NTK_SCREEN_KEY_WHEEL_DOWN
                                            : (int)NTK_SCREEN_KEY_OTHER;
}

static int curses_key_take(struct ntk_screen *base)
{
    static const struct {
        int code;
        enum ntk_screen_key key;
    } keys[] = {
        { KEY_UP, NTK_SCREEN_KEY_UP },         { KEY_DOWN, NTK_SCREEN_KEY_DOWN },
        { KEY_LEFT, NTK_SCREEN_KEY_LEFT },     { KEY_RIGHT, NTK_SCREEN_KEY_RIGHT },
        { KEY_PPAGE, NTK_SCREEN_KEY_PAGE_UP }, { KEY_NPAGE, NTK_SCREEN_KEY_PAGE_DOWN },
        { KEY_HOME, NTK_SCREEN_KEY_HOME },     { KEY_END, NTK_SCREEN_KEY_END },
        { KEY_ENTER, NTK_SCREEN_KEY_ENTER },   { KEY_BACKSPACE, NTK_SCREEN_KEY_BACKSPACE },
        { KEY_BTAB, NTK_SCREEN_KEY_TAB_BACK },
    };
    wint_t code;
    int kind = get_wch(&code);

    if (kind == ERR) {
        return NTK_SCREEN_KEY_NONE;
    }
    if (kind == KEY_CODE_YES && code == KEY_MOUSE) {
        return mouse_take(base);
    }
    if (kind == KEY_CODE_YES) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            if (keys[i].code == (int)code) {
                return (int)keys[i].key;
            }
        }
        if ((int)code >= KEY_F(1) && (int)code <= KEY_F(12)) {
            return NTK_SCREEN_KEY_F((int)code - KEY_F0);
        }
        return NTK_SCREEN_KEY_OTHER;
    }
    if (code == 127 || code == '\b') {
        return NTK_SCREEN_KEY_BACKSPACE;
    }
    if (code == '\n' || code == '\r') {
        return NTK_SCREEN_KEY_ENTER;
    }
    return code == 27 ? (int)NTK_SCREEN_KEY_ESCAPE : (int)code;
}

static void free_screen(struct curses_screen *screen)
{
    if (screen->out) {
        (void)fclose(screen->out);
    }
    if (screen->keys) {
        (void)fclose(screen->keys);
    }
    ntk_screen_output_fini(&screen->output);
    ntk_screen_changes_fini(&screen->changes);
    free(screen);
}

static void curses_destroy(struct ntk_screen *base)
{
    struct curses_screen *screen = (struct curses_screen *)base;

    endwin();
    delscreen(screen->terminal);
    free_screen(screen);
}

/* Starts colours, once per terminal. Returns true if it has enough colours. */
static bool start_colours(void)
{
    if (!has_colors()) {
        return false;
    }
    start_color();
    if (use_default_colors() == ERR) {
        (void)assume_default_colors(COLOR_WHITE, COLOR_BLACK);
    }
    return COLOR_PAIRS > 2 * NTK_STYLE_COUNT;
}

/* Returns the colour of a style on a white background. */
static short on_white(int style, short foreground)
{
    if (COLORS < 256) {
        return foreground == COLOR_YELLOW ? COLOR_MAGENTA : foreground;
    }
    if (style >= NTK_STYLE_HEAT && style <= NTK_STYLE_HEAT_LAST) {
        return light_heat_of_256[style - NTK_STYLE_HEAT];
    }
    return foreground >= 0 && foreground <= COLOR_WHITE ? light_of_256[foreground] : foreground;
}

/* Returns the foreground of a style in the selected row; -1 if the terminal's default is readable
 * there. */
static short on_blue(int style, short foreground, enum ntk_screen_scheme scheme)
{
    if (style == NTK_STYLE_BAR_EMPTY && COLORS >= 256) {
        return SELECTED_EMPTY_OF_256;
    }
    if (foreground == -1 || foreground == GREY || foreground == GREY_OF_256) {
        return foreground == -1 && scheme != NTK_SCREEN_SCHEME_LIGHT ? -1 : COLOR_WHITE;
    }
    if (COLORS >= 256 && style >= NTK_STYLE_HEAT && style <= NTK_STYLE_HEAT_LAST) {
        return selected_heat_of_256[style - NTK_STYLE_HEAT];
    }
    if (COLORS >= 256 && foreground <= COLOR_WHITE) {
        return selected_of_256[foreground];
    }
    return foreground == COLOR_GREEN || foreground == COLOR_YELLOW || foreground == COLOR_CYAN
               ? foreground
               : COLOR_WHITE;
}

static void set_colours(struct curses_screen *screen, enum ntk_screen_scheme scheme)
{
    short grey = COLORS >= 256 ? GREY_OF_256 : COLORS > GREY ? GREY : COLOR_BLACK;

    for (int i = 0; i < NTK_STYLE_COUNT; i++) {
        short foreground = looks[i].foreground;
        short background = looks[i].background;

        screen->attributes[i] = looks[i].with_colour;
        for (size_t o = 0; o < sizeof other_looks / sizeof *other_looks; o++) {
            if (other_looks[o].scheme == scheme && (int)other_looks[o].style == i) {
                foreground = other_looks[o].foreground;
                background = other_looks[o].background;
                screen->attributes[i] = other_looks[o].attributes;
            }
        }
        if (i >= NTK_STYLE_HEAT && i <= NTK_STYLE_HEAT_LAST && COLORS >= 256) {
            foreground = heat_of_256[scheme == NTK_SCREEN_SCHEME_CONTRAST][i - NTK_STYLE_HEAT];
            screen->attributes[i] = 0;
        }
        if (foreground == COLOR_BLACK && background == -1) {
            foreground = grey;
            if (COLORS > GREY) {
                screen->attributes[i] = 0; /* grey is a separate colour there */
            }
        }
        short shown = foreground;
        if (scheme == NTK_SCREEN_SCHEME_LIGHT && background == -1) {
            shown = on_white(i, foreground);
        } else if (foreground == COLOR_BLUE && background == -1 && COLORS >= 256) {
            shown = BLUE_OF_256; /* blue of eight colours is hardly readable on black */
        }
        init_pair((short)(1 + i), shown, background);
        init_pair((short)(1 + i + NTK_STYLE_COUNT), on_blue(i, foreground, scheme), COLOR_BLUE);
    }
}

static void curses_set_look(struct ntk_screen *base, const struct ntk_screen_look *look)
{
    struct curses_screen *screen = (struct curses_screen *)base;

    base->is_utf8 = !look->ascii && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    base->has_colour = !look->no_colour && screen->can_colour;
    if (base->has_colour) {
        set_colours(screen, look->scheme);
    }
    (void)mousemask(look->no_mouse ? 0 : BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    ntk_screen_output_forget(&screen->output);
    draw_all(screen); /* unchanged cells look different now */
}

static void curses_suspend(struct ntk_screen *base)
{
    (void)base;
    endwin();
}

static void curses_resume(struct ntk_screen *base)
{
    clearok(curscr, TRUE);
    refresh();
    draw_all((struct curses_screen *)base);
    curses_end(base); /* the last frame */
    flushinp();       /* keys typed for other programs */
}

static const struct ntk_screen_ops curses_ops = { .begin = curses_begin,
                                                  .put = curses_put,
                                                  .end = curses_end,
                                                  .key_take = curses_key_take,
                                                  .set_look = curses_set_look,
                                                  .suspend = curses_suspend,
                                                  .resume = curses_resume,
                                                  .destroy = curses_destroy };

/* Returns false for a terminal without cursor positioning ("dumb"), which would get one long
 * line. */
static bool can_move(void)
{
    static char address[] = "cup";
    const char *text = tigetstr(address);

    return text != NULL && text != (const char *)-1;
}

/* Opens the terminal of this process; a terminal without a description on this machine is treated
 * as an xterm, which new terminals resemble. */
static SCREEN *open_terminal(FILE *out, FILE *keys)
{
    static const char *const likely[] = { "xterm-256color", "xterm", "vt100" };
    const char *name = getenv("TERM");
    SCREEN *terminal = name && name[0] ? newterm(NULL, out, keys) : NULL;

    for (size_t i = 0; !terminal && i < sizeof likely / sizeof *likely; i++) {
        terminal = newterm(likely[i], out, keys);
        if (terminal) {
            ntk_log_info("", "unknown terminal type '%s'; using %s", name ? name : "", likely[i]);
        }
    }
    return terminal;
}

int ntk_screen_curses_create(const struct ntk_screen_look *look, int key_fd,
                             struct ntk_screen **out_screen, struct ntk_err *err)
{
    struct curses_screen *screen;

    screen = calloc(1, sizeof *screen);
    if (!screen) {
        return ntk_err_no_memory(err);
    }
    screen->out = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "w");
    screen->keys = fdopen(fcntl(key_fd, F_DUPFD_CLOEXEC, 0), "r");
    screen->terminal =
        screen->keys && screen->out ? open_terminal(screen->out, screen->keys) : NULL;
    if (screen->terminal && !can_move()) {
        endwin();
        delscreen(screen->terminal);
        screen->terminal = NULL;
    }
    if (!screen->terminal) {
        const char *name = getenv("TERM");

        free_screen(screen);
        return ntk_err_set(err, -ENOTTY, NTK_ERR_NO_OFFSET,
                           "the terminal type '%s' is unknown or lacks required capabilities",
                           name ? name : "");
    }
    screen->base.ops = &curses_ops;
    ntk_vec_init(&screen->base.spots, sizeof(struct ntk_screen_spot));
    ntk_screen_output_init(&screen->output, fileno(screen->out));
    set_size(screen, LINES, COLS);
    (void)cbreak();
    (void)noecho();
    (void)curs_set(0);
    (void)set_escdelay(25);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)mouseinterval(0); /* a press is immediately a click */
    screen->can_colour = start_colours();
    curses_set_look(&screen->base, look);
    *out_screen = &screen->base;
    return 0;
}
