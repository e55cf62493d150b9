/* SPDX-License-Identifier: MIT */
/*
 * screen_changes - finds the cells of a frame that differ from the last frame.
 *
 * curses compares frames, too, but it keeps three screens, and each cell has 28 bytes. Writing a
 * whole frame to it costs several times as much as the comparison here, with 8 bytes per cell.
 *
 * Owner:   the caller provides the storage, zeroed first; _fini frees the content.
 * Threads: one.
 */
#ifndef NTK_TOP_SCREEN_SCREEN_CHANGES_H
#define NTK_TOP_SCREEN_SCREEN_CHANGES_H

#include "shared/base/buf.h"
#include "top/screen/screen.h"

/* Style of a cell without text. */
#define NTK_SCREEN_STYLE_EMPTY 0x400
/* Maximum number of bytes in a change; a longer one is several. */
#define NTK_SCREEN_CHANGE_BYTES 1024

struct ntk_screen_cell;

struct ntk_screen_changes {
    int rows;
    int columns;
    struct ntk_screen_cell *frame; /* the frame being drawn */
    struct ntk_screen_cell *shown; /* what the terminal shows */
    struct ntk_buf marked;         /* characters with combining marks */
};

/* Consecutive cells with the same style. */
struct ntk_screen_change {
    int row;
    int column;
    int cells;
    int style;
    size_t bytes;
    char text[NTK_SCREEN_CHANGE_BYTES];
};

/* Sets the size; both frames are empty then. If out of memory, the size is 0. */
int ntk_screen_changes_resize(struct ntk_screen_changes *changes, int rows, int columns);
void ntk_screen_changes_fini(struct ntk_screen_changes *changes);

/* Starts an empty frame. */
void ntk_screen_changes_begin(struct ntk_screen_changes *changes);
/* Writes clean UTF-8 that is inside the frame. */
void ntk_screen_changes_put(struct ntk_screen_changes *changes, int row, int column, int style,
                            const char *text, size_t bytes);
/* Passes the changes to the function; then the frame counts as shown. */
void ntk_screen_changes_take(struct ntk_screen_changes *changes,
                             void (*take)(const struct ntk_screen_change *change, void *ctx),
                             void *ctx);
/* Records that the terminal is empty. */
void ntk_screen_changes_forget(struct ntk_screen_changes *changes);

#endif
