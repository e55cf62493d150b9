/* SPDX-License-Identifier: MIT */
#include "top/screen/screen_output.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
/* Defines many short words as macros, so it is the last one. */
#include <term.h>

static struct ntk_buf *sink; /* gets the bytes of curses */

static int add_byte(int byte)
{
    ntk_buf_add_char(sink, (char)byte);
    return byte;
}

static void add_capability(struct ntk_buf *to, const char *text, int rows)
{
    sink = to;
    if (text) {
        (void)tputs(text, rows, add_byte);
    }
}

void ntk_screen_output_init(struct ntk_screen_output *output, int fd)
{
    *output = (struct ntk_screen_output){
        .fd = fd,
        .row = -1,
        .is_ansi = cursor_address && strcmp(cursor_address, "\033[%i%p1%d;%p2%dH") == 0,
    };
}

void ntk_screen_output_fini(struct ntk_screen_output *output)
{
    ntk_buf_fini(&output->frame);
    ntk_buf_fini(&output->texts);
}

void ntk_screen_output_forget(struct ntk_screen_output *output)
{
    memset(output->looks, 0, sizeof output->looks);
    ntk_buf_reset(&output->texts);
}

/* ---- styles ---- */

static size_t look_index(int style)
{
    return style & NTK_SCREEN_STYLE_EMPTY
               ? NTK_SCREEN_LOOKS - 1
               : (size_t)NTK_STYLE_OF(style) + (style & NTK_STYLE_SELECTED ? NTK_STYLE_COUNT : 0) +
                     (style & NTK_STYLE_REVERSED ? 2 * NTK_STYLE_COUNT : 0);
}

/* Returns the sequences of a style. curses composes them once, relative to the normal style. */
static const struct ntk_screen_sequences *find_look(struct ntk_screen_output *output, int style,
                                                    struct ntk_screen_pen pen)
{
    struct ntk_screen_sequences *look = &output->looks[look_index(style)];

    if (!look->is_known) {
        sink = &output->texts;
        look->is_known = true;
        look->on = (uint32_t)output->texts.bytes_count;
        (void)vid_puts(pen.attributes, pen.pair, NULL, add_byte);
        look->off = (uint32_t)output->texts.bytes_count;
        (void)vid_puts(A_NORMAL, 0, NULL, add_byte);
        look->end = (uint32_t)output->texts.bytes_count;
    }
    return look;
}

static void use_look(struct ntk_screen_output *output, const struct ntk_screen_sequences *look)
{
    const char *texts = ntk_buf_text_get(&output->texts);

    if (look == output->look) {
        return;
    }
    if (output->look) {
        ntk_buf_add(&output->frame, texts + output->look->off,
                    output->look->end - output->look->off);
    }
    if (look) {
        ntk_buf_add(&output->frame, texts + look->on, look->off - look->on);
    }
    output->look = look;
}

/* ---- text ---- */

static void move_to(struct ntk_screen_output *output, int row, int column)
{
    if (output->row == row && output->column == column) {
        return;
    }
    if (!move_standout_mode) {
        use_look(output, NULL);
    }
    if (output->is_ansi) {
        ntk_buf_add(&output->frame, "\033[", 2);
        ntk_buf_add_u64(&output->frame, (uint64_t)row + 1);
        ntk_buf_add_char(&output->frame, ';');
        ntk_buf_add_u64(&output->frame, (uint64_t)column + 1);
        ntk_buf_add_char(&output->frame, 'H');
    } else {
        add_capability(&output->frame, tiparm(cursor_address, row, column), 1);
    }
}

void ntk_screen_output_clear(struct ntk_screen_output *output, int rows)
{
    use_look(output, NULL);
    if (!clear_screen) {
        output->row = -1;
        move_to(output, 0, 0);
    }
    add_capability(&output->frame, clear_screen ? clear_screen : clr_eos, rows);
    output->row = -1;
}

void ntk_screen_output_put(struct ntk_screen_output *output, const struct ntk_screen_change *change,
                           struct ntk_screen_pen pen, int height, int width)
{
    int end = change->column + change->cells;
    size_t bytes = change->bytes;

    /* A terminal that wraps immediately would scroll after its last cell. */
    if (end == width && change->row == height - 1 && auto_right_margin && !eat_newline_glitch) {
        while (bytes > 0 && (change->text[--bytes] & 0xc0) == 0x80) {
        }
    }
    move_to(output, change->row, change->column);
    use_look(output, find_look(output, change->style, pen));
    ntk_buf_add(&output->frame, change->text, bytes);
    output->row = end < width ? change->row : -1;
    output->column = end;
}

/* ---- frames ---- */

static void write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);

        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN) {
            struct pollfd wait = { fd, POLLOUT, 0 };

            (void)poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return; /* the terminal is gone; reading keys reports it */
        }
    }
}

void ntk_screen_output_send(struct ntk_screen_output *output)
{
    use_look(output, NULL);
    if (ntk_buf_ok(&output->frame)) {
        write_all(output->fd, output->frame.bytes, output->frame.bytes_count);
    }
    ntk_buf_reset(&output->frame);
    output->row = -1;
}
