/* SPDX-License-Identifier: MIT */
/* query_table - holds the rows of an answer, and writes them in several formats. */
#include "agent/query/query_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/str.h"
#include "shared/base/text_table.h"
#include "shared/base/timestamp.h"
#include "shared/base/units.h"

#define CELL_BYTES 256

struct cell {
    bool known;
    bool is_count;
    uint64_t count;
    double number;
    const char *text;
};

void ntk_query_table_init(struct ntk_query_table *table)
{
    *table = (struct ntk_query_table){ 0 };
    ntk_vec_init(&table->cells, sizeof(struct cell));
    ntk_vec_init(&table->texts, sizeof(char *));
}

void ntk_query_table_fini(struct ntk_query_table *table)
{
    for (size_t i = 0; i < table->texts.count; i++) {
        free(*(char **)ntk_vec_at(&table->texts, i));
    }
    ntk_vec_fini(&table->cells);
    ntk_vec_fini(&table->texts);
}

void ntk_query_table_add_column(struct ntk_query_table *table, enum ntk_query_kind kind,
                                const char *name)
{
    assert(table->column_count < NTK_QUERY_COLUMNS_MAX && table->cells.count == 0);
    assert(strlen(name) < NTK_QUERY_NAME_BYTES);
    struct ntk_query_column *column = &table->columns[table->column_count++];
    column->kind = kind;
    ntk_str_copy(column->name, sizeof column->name, name);
}

void ntk_query_table_add_optional_column(struct ntk_query_table *table, enum ntk_query_kind kind,
                                         const char *name)
{
    ntk_query_table_add_column(table, kind, name);
    table->columns[table->column_count - 1].is_optional = true;
}

void ntk_query_table_add_columns(struct ntk_query_table *table,
                                 const struct ntk_query_heading *headings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ntk_query_table_add_column(table, headings[i].kind, headings[i].name);
    }
}

static bool is_full(struct ntk_query_table *table)
{
    bool full = table->row_max && table->cells.count >= table->row_max * table->column_count;

    table->omitted += full;
    return full;
}

static void add(struct ntk_query_table *table, struct cell cell)
{
    if (ntk_vec_push(&table->cells, &cell) < 0) {
        table->failed = true;
    }
}

void ntk_query_table_add_number(struct ntk_query_table *table, bool known, double value)
{
    if (!is_full(table)) {
        add(table, (struct cell){ .known = known, .number = value });
    }
}

void ntk_query_table_add_count(struct ntk_query_table *table, bool known, uint64_t value)
{
    if (!is_full(table)) {
        add(table, (struct cell){
                       .known = known, .is_count = true, .count = value, .number = (double)value });
    }
}

void ntk_query_table_add_text(struct ntk_query_table *table, const char *text)
{
    if (is_full(table)) {
        return;
    }
    bool known = text && text[0];
    char *copy = known ? strdup(text) : NULL;
    if (known && (!copy || ntk_vec_push(&table->texts, &copy) < 0)) {
        free(copy);
        table->failed = true;
        return;
    }
    add(table, (struct cell){ .known = known, .text = copy });
}

/* ---- single cells ---- */

/* Formats the value for programs. */
static void format_plain(const struct cell *cell, enum ntk_query_kind kind, char *buf,
                         size_t buf_bytes)
{
    if (kind == NTK_QUERY_TIME) {
        ntk_timestamp_format(cell->count, buf, buf_bytes);
    } else if (kind == NTK_QUERY_SECONDS) {
        ntk_json_format_double(buf, buf_bytes, cell->number / (double)NTK_NS_PER_SECOND);
    } else if (kind == NTK_QUERY_ESTIMATED) {
        snprintf(buf, buf_bytes, "%s", cell->count ? "true" : "false");
    } else if (cell->is_count) {
        snprintf(buf, buf_bytes, "%llu", (unsigned long long)cell->count);
    } else {
        ntk_json_format_double(buf, buf_bytes, cell->number);
    }
}

/* Returns a value without fraction, limited to 64 bits. */
static uint64_t whole(const struct cell *cell)
{
    if (cell->is_count) {
        return cell->count;
    }
    return cell->number >= (double)UINT64_MAX ? UINT64_MAX
           : cell->number > 0                 ? (uint64_t)cell->number
                                              : 0;
}

/* Formats the value for users; control characters are removed. */
static void format_cell(const struct cell *cell, enum ntk_query_kind kind, char *buf,
                        size_t buf_bytes)
{
    if (!cell->known) {
        snprintf(buf, buf_bytes, "-");
        return;
    }
    switch (kind) {
    case NTK_QUERY_TEXT:
        ntk_str_copy_clean(buf, buf_bytes, cell->text, strlen(cell->text));
        return;
    case NTK_QUERY_NS:
        ntk_units_duration(buf, buf_bytes, whole(cell));
        return;
    case NTK_QUERY_BYTES:
        ntk_units_bytes(buf, buf_bytes, whole(cell));
        return;
    case NTK_QUERY_RATIO:
        snprintf(buf, buf_bytes, "%.1f%%", 100 * cell->number);
        return;
    case NTK_QUERY_SECONDS:
        snprintf(buf, buf_bytes, "%.0fs", cell->number / (double)NTK_NS_PER_SECOND);
        return;
    case NTK_QUERY_DECIMAL:
        snprintf(buf, buf_bytes, cell->number < 100 ? "%.3f" : "%.0f", cell->number);
        return;
    case NTK_QUERY_NUMBER:
        if (cell->number < 100) { /* three executions per minute must not become 0 per second */
            snprintf(buf, buf_bytes, "%.3g", cell->number);
        } else {
            ntk_units_count(buf, buf_bytes, cell->number);
        }
        return;
    default:
        format_plain(cell, kind, buf, buf_bytes);
    }
}

/* ---- forms ---- */

static const struct cell *cell_at(const struct ntk_query_table *table, size_t row, size_t column)
{
    return ntk_vec_at(&table->cells, row * table->column_count + column);
}

size_t ntk_query_table_row_count(const struct ntk_query_table *table)
{
    return table->column_count > 0 ? table->cells.count / table->column_count : 0;
}

/* Removes the unit from the name, because each value has a unit. */
static void shorten(char *buf, size_t buf_bytes, const char *name)
{
    static const char *const units[] = { "_ns", "_seconds", "_bytes", "_ratio" };

    ntk_str_copy(buf, buf_bytes, name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ntk_str_ends_with(buf, units[i])) {
            buf[strlen(buf) - strlen(units[i])] = '\0';
            return;
        }
    }
}

static bool is_mark(const struct ntk_query_table *table, size_t column)
{
    return column < table->column_count && table->columns[column].kind == NTK_QUERY_ESTIMATED;
}

/* Returns true for a column that users do not see. */
static bool is_hidden(const struct ntk_query_table *table, size_t column)
{
    bool has_value = !table->columns[column].is_optional;

    for (size_t r = 0; !has_value && r < ntk_query_table_row_count(table); r++) {
        has_value = cell_at(table, r, column)->known;
    }
    return !has_value || is_mark(table, column);
}

/* Writes a heading, which keeps its unit if an earlier column has the same: "wait" and "wait
 * ratio". */
static void put_heading(const struct ntk_query_table *table, size_t column,
                        struct ntk_text_table *lines)
{
    char text[NTK_QUERY_NAME_BYTES];
    char earlier[NTK_QUERY_NAME_BYTES];

    shorten(text, sizeof text, table->columns[column].name);
    for (size_t c = 0; c < column; c++) {
        shorten(earlier, sizeof earlier, table->columns[c].name);
        if (strcmp(text, earlier) == 0) {
            ntk_str_copy(text, sizeof text, table->columns[column].name);
        }
    }
    for (char *c = text; *c; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    ntk_text_table_text(lines, text);
}

/* Writes a cell, with a mark if it is an estimate. */
static void put_cell(const struct ntk_query_table *table, size_t row, size_t column,
                     struct ntk_text_table *lines)
{
    bool is_estimated = is_mark(table, column + 1) && cell_at(table, row, column + 1)->count;
    char text[1 + CELL_BYTES] = "~";

    format_cell(cell_at(table, row, column), table->columns[column].kind, text + 1, CELL_BYTES);
    ntk_text_table_text(lines, text + !is_estimated);
}

/* Writes texts aligned left, numbers aligned right. */
static void write_table(const struct ntk_query_table *table, struct ntk_buf *out)
{
    struct ntk_text_table lines;
    uint32_t left = 0;
    size_t columns = 0;
    bool hidden[NTK_QUERY_COLUMNS_MAX];

    for (size_t c = 0; c < table->column_count; c++) {
        hidden[c] = is_hidden(table, c);
        enum ntk_query_kind kind = table->columns[c].kind;
        left |= (uint32_t)(kind == NTK_QUERY_TEXT || kind == NTK_QUERY_TIME) << columns;
        columns += !hidden[c];
    }
    ntk_text_table_init(&lines, columns, left, NULL);
    lines.cell_bytes = 1 + CELL_BYTES;
    for (size_t c = 0; c < table->column_count; c++) {
        if (!hidden[c]) {
            put_heading(table, c, &lines);
        }
    }
    for (size_t r = 0; r < ntk_query_table_row_count(table); r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (!hidden[c]) {
                put_cell(table, r, c, &lines);
            }
        }
    }
    ntk_text_table_put(&lines, out);
    ntk_text_table_fini(&lines);
}

static void write_list(const struct ntk_query_table *table, struct ntk_buf *out)
{
    struct ntk_text_table lines;

    for (size_t r = 0; r < ntk_query_table_row_count(table); r++) {
        ntk_buf_add_text(out, r > 0 ? "\n" : "");
        ntk_text_table_init(&lines, 2, 3, NULL);
        lines.cell_bytes = 1 + CELL_BYTES;
        for (size_t c = 0; c < table->column_count; c++) {
            if (!is_hidden(table, c)) {
                put_heading(table, c, &lines);
                put_cell(table, r, c, &lines);
            }
        }
        ntk_text_table_put(&lines, out);
        ntk_text_table_fini(&lines);
    }
}

static void write_csv(const struct ntk_query_table *table, struct ntk_buf *out)
{
    char text[CELL_BYTES];

    for (size_t c = 0; c < table->column_count; c++) {
        ntk_buf_add_text(out, c > 0 ? "," : "");
        ntk_buf_add_csv(out, table->columns[c].name);
    }
    ntk_buf_add_text(out, "\r\n");
    for (size_t r = 0; r < ntk_query_table_row_count(table); r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            const struct cell *cell = cell_at(table, r, c);
            ntk_buf_add_text(out, c > 0 ? "," : "");
            if (cell->known && table->columns[c].kind == NTK_QUERY_TEXT) {
                ntk_buf_add_csv(out, cell->text);
            } else if (cell->known) {
                format_plain(cell, table->columns[c].kind, text, sizeof text);
                ntk_buf_add_text(out, text);
            }
        }
        ntk_buf_add_text(out, "\r\n");
    }
}

static void add_json_cell(struct ntk_json *json, const struct cell *cell, enum ntk_query_kind kind)
{
    char text[CELL_BYTES];

    if (!cell->known) {
        ntk_json_null(json);
    } else if (kind == NTK_QUERY_TEXT) {
        ntk_json_text(json, cell->text);
    } else {
        format_plain(cell, kind, text, sizeof text);
        if (kind == NTK_QUERY_TIME) {
            ntk_json_text(json, text);
        } else {
            ntk_json_raw(json, text, strlen(text));
        }
    }
}

static void write_any_json(const struct ntk_query_table *table, bool pretty, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, pretty);
    ntk_json_array_begin(&json);
    for (size_t r = 0; r < ntk_query_table_row_count(table); r++) {
        ntk_json_object_begin(&json);
        for (size_t c = 0; c < table->column_count; c++) {
            ntk_json_key(&json, table->columns[c].name);
            add_json_cell(&json, cell_at(table, r, c), table->columns[c].kind);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_buf_add_char(out, '\n');
}

static void write_json(const struct ntk_query_table *table, struct ntk_buf *out)
{
    write_any_json(table, true, out);
}

static void write_dense_json(const struct ntk_query_table *table, struct ntk_buf *out)
{
    write_any_json(table, false, out);
}

void ntk_query_table_write(const struct ntk_query_table *table, enum ntk_query_form form,
                           struct ntk_buf *out)
{
    static void (*const writers[])(const struct ntk_query_table *, struct ntk_buf *) = {
        [NTK_QUERY_FORM_TABLE] = write_table,
        [NTK_QUERY_FORM_LIST] = write_list,
        [NTK_QUERY_FORM_CSV] = write_csv,
        [NTK_QUERY_FORM_JSON] = write_json,
        [NTK_QUERY_FORM_JSON_DENSE] = write_dense_json,
    };

    assert(ntk_query_table_row_count(table) * table->column_count == table->cells.count);
    writers[form](table, out);
}

int ntk_query_table_print(const struct ntk_query_table *table, enum ntk_query_form form,
                          struct ntk_err *err)
{
    struct ntk_buf out = { 0 };

    ntk_query_table_write(table, form, &out);
    int ret = table->failed ? ntk_err_no_memory(err) : ntk_fs_print(&out, err);
    ntk_buf_fini(&out);
    return ret;
}
