/* SPDX-License-Identifier: MIT */
#include "profiler/output/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

#define COLUMNS_MAX 32
#define CELL_BYTES 128

void ntk_text_table_init(struct ntk_text_table *table, size_t column_count, uint32_t left,
                         const char *const *heads)
{
    *table = (struct ntk_text_table){ .column_count = column_count, .left = left };
    ntk_vec_init(&table->cells, sizeof(char *));
    for (size_t i = 0; i < column_count; i++) {
        ntk_text_table_text(table, heads[i]);
    }
}

void ntk_text_table_text(struct ntk_text_table *table, const char *text)
{
    char cell[CELL_BYTES];

    ntk_str_copy_clean(cell, sizeof cell, text, strlen(text));
    char *copy = strdup(cell);
    if (!copy || ntk_vec_push(&table->cells, &copy) < 0) {
        free(copy);
        table->has_failed = true;
    }
}

void ntk_text_table_format(struct ntk_text_table *table, const char *format, ...)
{
    char cell[CELL_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(cell, sizeof cell, format, args);
    va_end(args);
    ntk_text_table_text(table, cell);
}

void ntk_text_table_us(struct ntk_text_table *table, uint64_t ns, bool is_present)
{
    if (is_present) {
        ntk_text_table_format(table, "%llu.%llu", (unsigned long long)(ns / 1000),
                              (unsigned long long)(ns % 1000 / 100));
    } else {
        ntk_text_table_text(table, "-");
    }
}

void ntk_text_table_put(const struct ntk_text_table *table, struct ntk_buf *out)
{
    size_t widths[COLUMNS_MAX] = { 0 };
    size_t columns = table->column_count < COLUMNS_MAX ? table->column_count : COLUMNS_MAX;
    char *const *cells = table->cells.items;

    if (table->has_failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t width = strlen(cells[i]);

        widths[i % columns] = width > widths[i % columns] ? width : widths[i % columns];
    }
    for (size_t i = 0; i < table->cells.count; i++) {
        size_t column = i % columns;
        size_t fill = widths[column] - strlen(cells[i]);
        bool is_left = (table->left >> column) & 1;
        bool is_last = column + 1 == columns;

        ntk_buf_add_fill(out, ' ', is_left ? 0 : fill);
        ntk_buf_add_text(out, cells[i]);
        ntk_buf_add_fill(out, ' ', is_last ? 0 : (is_left ? fill : 0) + 2);
        if (is_last) {
            ntk_buf_add_char(out, '\n');
        }
    }
}

void ntk_text_table_fini(struct ntk_text_table *table)
{
    ntk_vec_each(char *, cell, &table->cells) {
        free(*cell);
    }
    ntk_vec_fini(&table->cells);
}
