/* SPDX-License-Identifier: MIT */
#include "top/screen/screen_changes.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "shared/base/str.h"

enum cell_kind {
    CELL_TEXT,
    CELL_REST,   /* right half of a wide character; the left half has the text */
    CELL_MARKED, /* the character has combining marks, see struct marked */
};

/*
 *   offset size field
 *        0    4 text    UTF-8, the rest 0; or the position in the texts with marks
 *        4    2 style
 *        6    1 bytes   of the text
 *        7    1 kind
 */
struct ntk_screen_cell {
    union {
        char text[4];
        uint32_t at;
    };
    uint16_t style;
    uint8_t bytes;
    uint8_t kind;
};
static_assert(sizeof(struct ntk_screen_cell) == 8, "rows are compared as bytes");

#define CELL_BYTES_MAX UINT8_MAX /* further marks of a character are dropped */

static const struct ntk_screen_cell empty = { .text = " ",
                                              .style = NTK_SCREEN_STYLE_EMPTY,
                                              .bytes = 1 };

static size_t cell_count(const struct ntk_screen_changes *changes)
{
    return (size_t)changes->rows * (size_t)changes->columns;
}

static struct ntk_screen_cell *cell_at(const struct ntk_screen_changes *changes,
                                       struct ntk_screen_cell *cells, int row, int column)
{
    return &cells[(size_t)row * (size_t)changes->columns + (size_t)column];
}

static void clear(const struct ntk_screen_changes *changes, struct ntk_screen_cell *cells)
{
    for (size_t i = 0; i < cell_count(changes); i++) {
        cells[i] = empty;
    }
}

int ntk_screen_changes_resize(struct ntk_screen_changes *changes, int rows, int columns)
{
    size_t count = (size_t)rows * (size_t)columns;

    free(changes->frame);
    free(changes->shown);
    changes->frame = malloc(count * sizeof *changes->frame);
    changes->shown = malloc(count * sizeof *changes->shown);
    changes->rows = rows;
    changes->columns = columns;
    if (!changes->frame || !changes->shown) {
        changes->rows = changes->columns = 0;
        return -ENOMEM;
    }
    ntk_screen_changes_begin(changes);
    ntk_screen_changes_forget(changes);
    return 0;
}

void ntk_screen_changes_fini(struct ntk_screen_changes *changes)
{
    free(changes->frame);
    free(changes->shown);
    ntk_buf_fini(&changes->marked);
}

void ntk_screen_changes_begin(struct ntk_screen_changes *changes)
{
    clear(changes, changes->frame);
    ntk_buf_reset(&changes->marked);
}

void ntk_screen_changes_forget(struct ntk_screen_changes *changes)
{
    clear(changes, changes->shown);
}

/* Adds a combining mark to the character of a cell; if out of memory, drops it. */
static void add_mark(struct ntk_screen_changes *changes, struct ntk_screen_cell *cell,
                     const char *mark, size_t bytes)
{
    struct ntk_buf *marked = &changes->marked;

    if (cell->bytes + bytes > CELL_BYTES_MAX) {
        return;
    }
    if (cell->kind != CELL_MARKED) {
        size_t at = marked->bytes_count;

        ntk_buf_add(marked, cell->text, cell->bytes);
        if (marked->failed || at > UINT32_MAX) {
            return;
        }
        cell->kind = CELL_MARKED;
        cell->at = (uint32_t)at;
    }
    /* The marks of a character follow it, so its text is the last one. */
    ntk_buf_add(marked, mark, bytes);
    cell->bytes = (uint8_t)(cell->bytes + (marked->failed ? 0 : bytes));
}

/* A wide character that is half overwritten leaves a blank in the other half. */
static void split_wide(struct ntk_screen_changes *changes, int row, int begin, int end)
{
    struct ntk_screen_cell *cells = cell_at(changes, changes->frame, row, 0);

    if (begin > 0 && cells[begin].kind == CELL_REST) {
        uint16_t style = cells[begin - 1].style;

        cells[begin - 1] = empty;
        cells[begin - 1].style = style;
    }
    if (end < changes->columns && cells[end].kind == CELL_REST) {
        uint16_t style = cells[end].style;

        cells[end] = empty;
        cells[end].style = style;
    }
}

void ntk_screen_changes_put(struct ntk_screen_changes *changes, int row, int column, int style,
                            const char *text, size_t bytes)
{
    struct ntk_screen_cell *cells = cell_at(changes, changes->frame, row, 0);
    struct ntk_screen_cell *last = NULL;

    while (bytes > 0) {
        uint32_t code = (unsigned char)text[0];
        size_t length = code < 0x80 ? 1 : ntk_str_utf8_read(text, bytes, &code);
        int width = code < 0x80 ? 1 : wcwidth((wchar_t)code);

        if (length == 0) {
            return; /* invalid */
        }
        if (width > 0 && column + width > changes->columns) {
            return;
        }
        if (width > 0) {
            split_wide(changes, row, column, column + width);
            last = &cells[column];
            *last = (struct ntk_screen_cell){ .style = (uint16_t)style, .bytes = (uint8_t)length };
            memcpy(last->text, text, length);
            if (width == 2) {
                last[1] = (struct ntk_screen_cell){ .style = (uint16_t)style, .kind = CELL_REST };
            }
            column += width;
        } else if (last) {
            add_mark(changes, last, text, length);
        }
        text += length;
        bytes -= length;
    }
}

/* Texts with marks are not compared, because they are rare. */
static bool is_same(const struct ntk_screen_cell *frame, const struct ntk_screen_cell *shown)
{
    return memcmp(frame, shown, sizeof *frame) == 0 && frame->kind != CELL_MARKED;
}

static const char *text_of(const struct ntk_screen_changes *changes,
                           const struct ntk_screen_cell *cell)
{
    return cell->kind == CELL_MARKED ? ntk_buf_text_get(&changes->marked) + cell->at : cell->text;
}

/* Collects changed cells with the same style from a column on. Returns the column after them. */
static int collect(const struct ntk_screen_changes *changes, int row, int column,
                   struct ntk_screen_change *out)
{
    const struct ntk_screen_cell *frame = cell_at(changes, changes->frame, row, 0);
    const struct ntk_screen_cell *shown = cell_at(changes, changes->shown, row, 0);

    out->row = row;
    out->column = column;
    out->style = frame[column].style;
    out->bytes = 0;
    for (; column < changes->columns; column++) {
        const struct ntk_screen_cell *cell = &frame[column];

        if (cell->kind == CELL_REST) {
            continue; /* written with its left half */
        }
        if (is_same(cell, &shown[column]) || cell->style != out->style ||
            out->bytes + cell->bytes > sizeof out->text) {
            break;
        }
        memcpy(out->text + out->bytes, text_of(changes, cell), cell->bytes);
        out->bytes += cell->bytes;
    }
    out->cells = column - out->column;
    return column;
}

void ntk_screen_changes_take(struct ntk_screen_changes *changes,
                             void (*take)(const struct ntk_screen_change *change, void *ctx),
                             void *ctx)
{
    size_t row_bytes = (size_t)changes->columns * sizeof *changes->frame;
    struct ntk_screen_change change;

    for (int row = 0; row < changes->rows; row++) {
        const struct ntk_screen_cell *frame = cell_at(changes, changes->frame, row, 0);
        struct ntk_screen_cell *shown = cell_at(changes, changes->shown, row, 0);

        if (changes->marked.bytes_count == 0 && memcmp(frame, shown, row_bytes) == 0) {
            continue;
        }
        for (int column = 0; column < changes->columns;) {
            if (frame[column].kind == CELL_REST || is_same(&frame[column], &shown[column])) {
                column++;
                continue;
            }
            column = collect(changes, row, column, &change);
            take(&change, ctx);
        }
        memcpy(shown, frame, row_bytes);
    }
}
