/* SPDX-License-Identifier: MIT */
/* query_list - lists the tables that a query can read, and their columns. */
#include <errno.h>
#include <sqlite3.h>

#include "profiler/output/tables/query.h"
#include "profiler/output/tables/tables.h"
#include "shared/base/json.h"
#include "shared/base/suggest.h"
#include "shared/base/text_table.h"

static void list_json(const struct ntk_table *tables, size_t count, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_array_begin(&json);
    for (size_t t = 0; t < count; t++) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "table", tables[t].name);
        ntk_json_key_text(&json, "meaning", tables[t].meaning);
        ntk_json_key_array_begin(&json, "columns");
        for (size_t c = 0; c < tables[t].column_count; c++) {
            const struct ntk_column *column = &tables[t].columns[c];

            if (column->presence == NTK_COLUMN_NEVER) {
                continue;
            }
            ntk_json_object_begin(&json);
            ntk_json_key_text(&json, "column", column->name);
            ntk_json_key_text(&json, "type", ntk_column_type_name(column->kind));
            ntk_json_key_text(&json, "unit", column->unit);
            ntk_json_key_text(&json, "meaning", column->meaning);
            ntk_json_object_end(&json);
        }
        ntk_json_array_end(&json);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_buf_add_char(out, '\n');
}

/* Adds empty columns that files have because readers of the vendor's files expect them. */
static void empty_columns(const struct ntk_table *table, struct ntk_buf *out)
{
    size_t count = 0;

    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].presence == NTK_COLUMN_NEVER) {
            ntk_buf_add_text(out, count++ ? ", " : "Always NULL (columns of the vendor's tool): ");
            ntk_buf_add_text(out, table->columns[c].name);
        }
    }
    ntk_buf_add_text(out, count ? "\n" : "");
}

/* Lists tables; if has_columns, the columns of one table. */
static void list_text(const struct ntk_table *tables, size_t count, bool has_columns,
                      struct ntk_buf *out)
{
    static const char *const table_heads[] = { "table", "meaning" };
    static const char *const column_heads[] = { "column", "type", "unit", "meaning" };
    struct ntk_text_table text;

    ntk_text_table_init(&text, has_columns ? 4 : 2, 0xF, has_columns ? column_heads : table_heads);
    text.cell_bytes = NTK_TEXT_TABLE_CELL_BYTES_MAX;
    for (size_t t = 0; t < count; t++) {
        for (size_t c = 0; c < tables[t].column_count && has_columns; c++) {
            const struct ntk_column *column = &tables[t].columns[c];

            if (column->presence != NTK_COLUMN_NEVER) {
                ntk_text_table_text(&text, column->name);
                ntk_text_table_text(&text, ntk_column_type_name(column->kind));
                ntk_text_table_text(&text, column->unit);
                ntk_text_table_text(&text, column->meaning);
            }
        }
        if (!has_columns) {
            ntk_text_table_text(&text, tables[t].name);
            ntk_text_table_text(&text, tables[t].meaning);
        }
    }
    ntk_text_table_put(&text, out);
    ntk_text_table_fini(&text);
    if (has_columns) {
        empty_columns(&tables[0], out);
    }
}

int ntk_query_list(bool is_of_folders, const char *name, bool is_json, struct ntk_buf *out,
                   struct ntk_err *err)
{
    size_t count;
    const struct ntk_table *tables =
        is_of_folders ? ntk_tables_system(&count) : ntk_tables_schema(&count);

    for (size_t t = 0; t < count && name; t++) {
        if (sqlite3_stricmp(tables[t].name, name) == 0) {
            tables = &tables[t];
            count = 1;
            name = NULL;
            is_json ? list_json(tables, count, out) : list_text(tables, count, true, out);
            return 0;
        }
    }
    if (name) {
        struct ntk_suggest near = ntk_suggest_begin(name);
        for (size_t t = 0; t < count; t++) {
            ntk_suggest_add(&near, tables[t].name);
        }
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                           "unknown table '%s'%s: --tables lists the tables of %s", name,
                           ntk_suggest_text(&near),
                           is_of_folders ? "folders" : "a capture and, with -d, those of folders");
    }
    is_json ? list_json(tables, count, out) : list_text(tables, count, false, out);
    return 0;
}
