/* SPDX-License-Identifier: MIT */
/*
 * screen_frame - sends the output of curses for one frame to the terminal in one write.
 *
 * While curses draws, its descriptor is a file in memory; then the whole content is sent. Between
 * frames, curses needs the terminal on that descriptor for modes and size.
 *
 * Owner:   the caller provides the storage; _fini closes and frees.
 * Threads: one.
 */
#ifndef NTK_TOP_SCREEN_SCREEN_FRAME_H
#define NTK_TOP_SCREEN_SCREEN_FRAME_H

#include <stdbool.h>
#include <stddef.h>

struct ntk_screen_frame {
    int out;         /* descriptor of curses, borrowed */
    int terminal_fd; /* -1: it could not be opened */
    int frame_fd;    /* file in memory; -1: curses writes directly to the terminal */
    char *bytes;     /* bytes of the frame */
    size_t capacity;
};

void ntk_screen_frame_init(struct ntk_screen_frame *frame, int out);
void ntk_screen_frame_fini(struct ntk_screen_frame *frame);
/* Redirects the output to memory. Returns false if curses writes directly to the terminal. */
bool ntk_screen_frame_begin(const struct ntk_screen_frame *frame);
/* Sends the frame. */
void ntk_screen_frame_end(struct ntk_screen_frame *frame);

#endif
