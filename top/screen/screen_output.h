/* SPDX-License-Identifier: MIT */
/*
 * screen_output - writes text at positions of a terminal, one write(2) per frame.
 *
 * The sequences are those of terminfo, from curses. curses itself writes whenever it moves the
 * cursor, so a slow terminal would show incomplete frames.
 *
 * Owner:   the caller provides the storage; _fini frees the content.
 * Threads: one; only one output at a time.
 */
#ifndef NTK_TOP_SCREEN_SCREEN_OUTPUT_H
#define NTK_TOP_SCREEN_SCREEN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "top/screen/screen.h"
#include "top/screen/screen_changes.h"

/* A style and its variants (selected, reversed, both), and an empty cell. */
#define NTK_SCREEN_LOOKS (4 * NTK_STYLE_COUNT + 1)

/* Attributes and colour pair of curses. */
struct ntk_screen_pen {
    unsigned int attributes;
    short pair;
};

/* Positions of the sequences in the texts. */
struct ntk_screen_sequences {
    bool is_known;
    uint32_t on; /* from the normal style to this one */
    uint32_t off;
    uint32_t end;
};

struct ntk_screen_output {
    int fd;
    struct ntk_buf frame;
    struct ntk_buf texts;
    struct ntk_screen_sequences looks[NTK_SCREEN_LOOKS];
    const struct ntk_screen_sequences *look; /* current; NULL: normal */
    int row;                                 /* cursor; -1: unknown */
    int column;
    bool is_ansi; /* the cursor moves as on an xterm */
};

/* Call it after the initialisation of curses. */
void ntk_screen_output_init(struct ntk_screen_output *output, int fd);
void ntk_screen_output_fini(struct ntk_screen_output *output);
/* The colours of styles have changed. */
void ntk_screen_output_forget(struct ntk_screen_output *output);
void ntk_screen_output_clear(struct ntk_screen_output *output, int rows);
/* Writes a change of a frame of this size. Pens of equal styles are equal until _forget(). */
void ntk_screen_output_put(struct ntk_screen_output *output, const struct ntk_screen_change *change,
                           struct ntk_screen_pen pen, int height, int width);
/* Sends the frame. */
void ntk_screen_output_send(struct ntk_screen_output *output);

#endif
