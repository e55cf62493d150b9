/* SPDX-License-Identifier: MIT */
/* output_csv - writes tables as comma-separated values (RFC 4180): a line of names, then a line per
 * row. */
#include <stdlib.h>

#include "profiler/output/tables/folder.h"
#include "shared/base/json.h"

struct writer {
    const struct ntk_table *table;
    struct ntk_buf *buf;
};

static void put_cell(struct ntk_buf *buf, const struct ntk_column *column, union ntk_cell cell)
{
    char number[32];

    switch (column->kind) {
    case NTK_COLUMN_JSON:
    case NTK_COLUMN_TEXT:
        /* An empty text is quoted, to distinguish it from an absent text. */
        ntk_buf_add_csv(buf, cell.text);
        ntk_buf_add_text(buf, cell.text[0] ? "" : "\"\"");
        break;
    case NTK_COLUMN_F64:
        ntk_buf_add(buf, number, ntk_json_format_double(number, sizeof number, cell.f64));
        break;
    case NTK_COLUMN_F32:
        ntk_buf_add(buf, number, ntk_json_format_float(number, sizeof number, (float)cell.f64));
        break;
    case NTK_COLUMN_BOOL:
        ntk_buf_add_text(buf, cell.i64 ? "true" : "false");
        break;
    default:
        ntk_buf_add_i64(buf, cell.i64);
        break;
    }
}

static void *begin(const struct ntk_table *table, struct ntk_sink *sink)
{
    struct writer *writer = malloc(sizeof *writer);

    if (!writer) {
        return NULL;
    }
    *writer = (struct writer){ table, &sink->buf };
    for (size_t i = 0; i < table->column_count; i++) {
        ntk_buf_add_text(writer->buf, i ? "," : "");
        ntk_buf_add_text(writer->buf, table->columns[i].name);
    }
    ntk_buf_add_char(writer->buf, '\n');
    return writer;
}

static int put(void *state, const void *row)
{
    struct writer *writer = state;

    for (size_t i = 0; i < writer->table->column_count; i++) {
        union ntk_cell cell;
        if (i) {
            ntk_buf_add_char(writer->buf, ',');
        }
        if (ntk_cell_get(&writer->table->columns[i], row, &cell)) {
            put_cell(writer->buf, &writer->table->columns[i], cell);
        }
    }
    ntk_buf_add_char(writer->buf, '\n');
    return 0;
}

static int end(void *state)
{
    (void)state;
    return 0;
}

int ntk_export_to_csv(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    static const struct ntk_folder_format format = { "csv", begin, put, end, free };

    return ntk_folder_export(export, path, &format, err);
}
