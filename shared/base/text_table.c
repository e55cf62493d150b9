/* SPDX-License-Identifier: MIT */
#include "shared/base/text_table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

#define CELL_BYTES 128

void ntk_text_table_init(struct ntk_text_table *table, size_t column_count, uint32_t left,
                         const char *const *heads)
{
    assert(column_count > 0 && column_count <= NTK_TEXT_TABLE_COLUMNS_MAX);
    *table = (struct ntk_text_table){ .column_count = column_count,
                                      .cell_bytes = CELL_BYTES,
                                      .left = left };
    for (size_t i = 0; heads && i < column_count; i++) {
        ntk_text_table_text(table, heads[i]);
    }
}

void ntk_text_table_text(struct ntk_text_table *table, const char *text)
{
    ntk_text_table_colour(table, "", text);
}

void ntk_text_table_colour(struct ntk_text_table *table, const char *colour, const char *text)
{
    char cell[NTK_TEXT_TABLE_CELL_BYTES_MAX];
    size_t *width = &table->widths[table->cell_count++ % table->column_count];

    ntk_str_copy_clean(cell, table->cell_bytes, text, strlen(text));
    size_t cells = ntk_str_cells(cell);
    *width = cells > *width ? cells : *width;
    ntk_buf_add_text(&table->cells, colour);
    ntk_buf_add(&table->cells, cell, strlen(cell) + 1);
}

void ntk_text_table_format(struct ntk_text_table *table, const char *format, ...)
{
    char cell[NTK_TEXT_TABLE_CELL_BYTES_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(cell, sizeof cell, format, args);
    va_end(args);
    ntk_text_table_text(table, cell);
}

void ntk_text_table_us(struct ntk_text_table *table, uint64_t ns, bool is_present)
{
    if (is_present) {
        ntk_text_table_format(table, "%.1f", (double)ns / 1e3);
    } else {
        ntk_text_table_text(table, "-");
    }
}

void ntk_text_table_rule(struct ntk_text_table *table)
{
    ntk_buf_add(&table->cells, "\n", 2);
}

static void put_rule(const struct ntk_text_table *table, struct ntk_buf *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (!(table->hidden >> i & 1)) {
            ntk_buf_add_char(out, '+');
            ntk_buf_add_fill(out, '-', table->widths[i] + 2);
        }
    }
    ntk_buf_add_text(out, "+\n");
}

static void put_cell(const struct ntk_text_table *table, size_t index, const char *text,
                     struct ntk_buf *out)
{
    size_t column = index % table->column_count;
    /* The length of the escape sequence. The text itself contains no ESC. */
    size_t colour = *text == '\033' ? strcspn(text, "m") + 1 : 0;
    size_t fill = table->widths[column] - ntk_str_cells(text + colour);
    bool is_last = column + 1 == table->column_count;
    size_t before = table->left >> column & 1 ? 0 : fill;

    if (index < table->framed * table->column_count) {
        before = fill / 2;
    }
    if (!(table->hidden >> column & 1)) {
        ntk_buf_add_text(out, table->framed ? "| " : "");
        ntk_buf_add_fill(out, ' ', before);
        ntk_buf_add_text(out, text);
        ntk_buf_add_text(out, colour > 0 ? "\033[0m" : "");
        if (table->framed) {
            ntk_buf_add_fill(out, ' ', fill - before + 1);
        } else {
            ntk_buf_add_fill(out, ' ', is_last ? 0 : fill - before + 2);
        }
    }
    if (is_last) {
        ntk_buf_add_text(out, table->framed ? "|\n" : "\n");
    }
}

void ntk_text_table_put(const struct ntk_text_table *table, struct ntk_buf *out)
{
    size_t index = 0;

    out->failed = out->failed || !ntk_buf_ok(&table->cells);
    for (size_t at = 0; !out->failed && at < table->cells.bytes_count;) {
        const char *text = table->cells.bytes + at;
        if (*text == '\n') {
            put_rule(table, out);
        } else {
            put_cell(table, index++, text, out);
        }
        at += strlen(text) + 1;
    }
}

void ntk_text_table_fini(struct ntk_text_table *table)
{
    ntk_buf_fini(&table->cells);
}
