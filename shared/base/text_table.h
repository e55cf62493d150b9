/* SPDX-License-Identifier: MIT */
/*
 * text_table - prints rows of cells as aligned text: texts to the left, numbers to the right.
 *
 * Columns are as wide as their widest cell, in cells of a terminal (ntk_str_cells). The first rows
 * are headings. A plain table has two blanks between columns and nothing after the last; a framed
 * one has lines between columns, centred headings, and rules where the caller adds them.
 *
 * Owner: caller's storage, _fini frees. Threads: one. A lack of memory appears in the output
 *        buffer.
 */
#ifndef NTK_SHARED_BASE_TEXT_TABLE_H
#define NTK_SHARED_BASE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_TEXT_TABLE_COLUMNS_MAX 32
#define NTK_TEXT_TABLE_CELL_BYTES_MAX 1024

struct ntk_text_table {
    size_t column_count;
    size_t cell_bytes; /* limit after which cells are cut; 128 unless changed after init */
    uint32_t left;     /* bit mask of columns with texts */
    uint32_t hidden;   /* bit mask of columns that are not written */
    size_t framed;     /* number of heading rows in a frame; 0: no frame */
    size_t cell_count;
    size_t widths[NTK_TEXT_TABLE_COLUMNS_MAX];
    struct ntk_buf cells; /* each cell: its colour, its text and a NUL; a rule is "\n" */
};

/* column_count is at most NTK_TEXT_TABLE_COLUMNS_MAX. heads has column_count texts, or is NULL. */
void ntk_text_table_init(struct ntk_text_table *table, size_t column_count, uint32_t left,
                         const char *const *heads);
/* Adds the next cell; control characters become U+FFFD. */
void ntk_text_table_text(struct ntk_text_table *table, const char *text);
/* Adds the next cell in a colour: an escape sequence that ends with 'm', or "" for none. */
void ntk_text_table_colour(struct ntk_text_table *table, const char *colour, const char *text);
void ntk_text_table_format(struct ntk_text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds nanoseconds as microseconds, rounded to one digit, or "-" if unknown. */
void ntk_text_table_us(struct ntk_text_table *table, uint64_t ns, bool is_present);
/* Adds a line of the frame below the last full row, or above the first. */
void ntk_text_table_rule(struct ntk_text_table *table);
void ntk_text_table_put(const struct ntk_text_table *table, struct ntk_buf *out);
void ntk_text_table_fini(struct ntk_text_table *table);

#ifdef __cplusplus
}
#endif
#endif
