/* SPDX-License-Identifier: MIT */
/* table - sorts, filters and scrolls the rows of a list view. */
#include "top/base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/str.h"
#include "shared/base/units.h"
#include "top/base/format.h"
#include "top/base/keys.h"
#include "top/screen/screen.h"

#define TEXT_BLOCK_BYTES 4096

struct text_block {
    struct text_block *next;
    size_t used;
    char bytes[TEXT_BLOCK_BYTES];
};

/* ---- life ---- */

void ntk_top_table_init(struct ntk_top_table *table, const struct ntk_top_columns *columns)
{
    *table = (struct ntk_top_table){ .columns = columns };
    ntk_vec_init(&table->rows, sizeof(struct ntk_top_row));
    ntk_vec_init(&table->cells, sizeof(struct ntk_top_cell));
    ntk_vec_init(&table->order, sizeof(size_t));
    if (!columns) {
        return;
    }
    table->sort_column = columns->sort_column;
    table->hidden = ntk_top_columns_hidden(columns);
}

uint32_t ntk_top_columns_hidden(const struct ntk_top_columns *columns)
{
    uint32_t hidden = columns->hidden;

    for (size_t i = 0; i < columns->count; i++) {
        if (columns->items[i].flags & NTK_TOP_COLUMN_HIDDEN) {
            hidden |= UINT32_C(1) << i;
        }
    }
    return hidden;
}

static void pattern_set(struct ntk_top_pattern *pattern, const char *text)
{
    if (pattern->is_regex) {
        regfree(&pattern->regex);
    }
    ntk_str_copy(pattern->text, sizeof pattern->text, text);
    pattern->is_regex =
        text[0] && regcomp(&pattern->regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0;
}

static void texts_free(struct ntk_top_table *table)
{
    struct text_block *block = table->texts;

    while (block) {
        struct text_block *next = block->next;

        free(block);
        block = next;
    }
    table->texts = NULL;
}

void ntk_top_table_fini(struct ntk_top_table *table)
{
    pattern_set(&table->filter, "");
    pattern_set(&table->search, "");
    texts_free(table);
    ntk_vec_fini(&table->rows);
    ntk_vec_fini(&table->cells);
    ntk_vec_fini(&table->order);
}

/* ---- rows ---- */

void ntk_top_table_begin(struct ntk_top_table *table)
{
    ntk_vec_clear(&table->rows);
    ntk_vec_clear(&table->cells);
    ntk_vec_clear(&table->order);
    texts_free(table);
}

struct ntk_top_cell *ntk_top_table_add(struct ntk_top_table *table, uint64_t key,
                                       enum ntk_top_row_kind kind)
{
    const struct ntk_top_row row = { key, kind, 0, table->cells.count };
    struct ntk_top_cell *cells = ntk_vec_add_many(&table->cells, table->columns->count);

    if (!cells || ntk_vec_push(&table->rows, &row) < 0) {
        return NULL;
    }
    memset(cells, 0, table->columns->count * sizeof *cells);
    return cells;
}

void ntk_top_table_set_tab(struct ntk_top_table *table, size_t tab)
{
    struct ntk_top_row *row = ntk_vec_at(&table->rows, table->rows.count - 1);

    row->tab = tab;
}

const char *ntk_top_table_text(struct ntk_top_table *table, const char *format, ...)
{
    char text[NTK_TOP_CELL_BYTES];
    struct text_block *block = table->texts;
    va_list args;
    size_t bytes;
    char *kept;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bytes = strlen(text) + 1;
    if (!block || block->used + bytes > sizeof block->bytes) {
        block = malloc(sizeof *block);
        if (!block) {
            return "";
        }
        block->next = table->texts;
        block->used = 0;
        table->texts = block;
    }
    kept = block->bytes + block->used;
    memcpy(kept, text, bytes);
    block->used += bytes;
    return kept;
}

const struct ntk_top_row *ntk_top_table_row_get(const struct ntk_top_table *table, size_t index)
{
    return index < table->order.count
               ? ntk_vec_at(&table->rows, *(const size_t *)ntk_vec_at(&table->order, index))
               : NULL;
}

const struct ntk_top_row *ntk_top_table_cursor_get(const struct ntk_top_table *table)
{
    return ntk_top_table_row_get(table, table->cursor_index);
}

const struct ntk_top_cell *ntk_top_table_cell_get(const struct ntk_top_table *table,
                                                  const struct ntk_top_row *row, size_t column)
{
    return ntk_vec_at(&table->cells, row->first_cell + column);
}

/* ---- texts ---- */

static const char *text_of_time(double realtime_ns, char *buf)
{
    time_t seconds = (time_t)(realtime_ns / (double)NTK_NS_PER_SECOND);
    int ms =
        (int)((realtime_ns - (double)seconds * (double)NTK_NS_PER_SECOND) / (double)NTK_NS_PER_MS);
    struct tm tm = { 0 };

    (void)localtime_r(&seconds, &tm);
    (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%02d:%02d:%02d.%03d", tm.tm_hour, tm.tm_min, tm.tm_sec,
                   ms < 0 ? 0 : ms);
    return buf;
}

/* Returns the integer that a cell had before it became a double; bounded. */
static uint64_t whole(double value)
{
    return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

const char *ntk_top_table_cell_text(const struct ntk_top_column *column,
                                    const struct ntk_top_cell *cell, char buf[NTK_TOP_CELL_BYTES])
{
    const struct ntk_top_number number = { cell->value, true, cell->estimated };
    double value = cell->value > 0 ? cell->value : 0.0;

    if (!cell->present) {
        return "-";
    }
    switch (column->format) {
    case NTK_TOP_AS_TEXT:
        return cell->text;
    case NTK_TOP_AS_ID:
        (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%.0f", value);
        break;
    case NTK_TOP_AS_COUNT:
        if (value < 99999.5) {
            (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%.0f", value);
        } else {
            (void)ntk_units_count(buf, NTK_TOP_CELL_BYTES, value);
        }
        break;
    case NTK_TOP_AS_PERCENT:
    case NTK_TOP_AS_BAR:
        (void)ntk_top_format_percent_short(buf, 5, number);
        break;
    case NTK_TOP_AS_BYTES:
        (void)ntk_top_format_bytes(buf,
                                   (struct ntk_top_bytes){ whole(value), true, cell->estimated });
        break;
    case NTK_TOP_AS_BYTES_PER_SECOND: {
        char bytes[NTK_TOP_FORMAT_BYTES];

        (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%s/s",
                       ntk_top_format_bytes(bytes, (struct ntk_top_bytes){ whole(value), true }));
        break;
    }
    case NTK_TOP_AS_TERAFLOPS:
        (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%.3fTF", value);
        break;
    case NTK_TOP_AS_DURATION:
        (void)ntk_units_duration(buf, NTK_TOP_CELL_BYTES, whole(value));
        break;
    case NTK_TOP_AS_RATE:
        if (value < 99.95) {
            (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%.1f", value);
        } else if (value < 99999.5) {
            (void)snprintf(buf, NTK_TOP_CELL_BYTES, "%.0f", value);
        } else {
            (void)ntk_units_count(buf, NTK_TOP_CELL_BYTES, value);
        }
        break;
    case NTK_TOP_AS_TIME:
        return text_of_time(value, buf);
    }
    return buf;
}

bool ntk_top_table_is_chosen(const struct ntk_top_table *table, size_t column)
{
    return !(table->hidden >> column & 1);
}

bool ntk_top_table_is_shown(const struct ntk_top_table *table, size_t column)
{
    return ntk_top_table_is_chosen(table, column) &&
           (!(table->columns->items[column].flags & NTK_TOP_COLUMN_IF_ANY) ||
            (table->filled >> column & 1));
}

/* ---- filter and search ---- */

static bool text_matches(const struct ntk_top_pattern *pattern, const char *text)
{
    return pattern->is_regex ? regexec(&pattern->regex, text, 0, NULL, 0) == 0
                             : strcasestr(text, pattern->text) != NULL;
}

/* Returns true if one of the shown cells matches. */
static bool row_matches(const struct ntk_top_table *table, const struct ntk_top_pattern *pattern,
                        const struct ntk_top_row *row)
{
    char buf[NTK_TOP_CELL_BYTES];

    for (size_t c = 0; c < table->columns->count; c++) {
        const struct ntk_top_cell *cell = ntk_top_table_cell_get(table, row, c);

        if (cell->present && ntk_top_table_is_shown(table, c) &&
            text_matches(pattern, ntk_top_table_cell_text(&table->columns->items[c], cell, buf))) {
            return true;
        }
    }
    return false;
}

/* ---- order ---- */

static bool is_by_text(const struct ntk_top_column *column)
{
    return column->format == NTK_TOP_AS_TEXT && !(column->flags & NTK_TOP_COLUMN_BY_VALUE);
}

bool ntk_top_table_is_descending(const struct ntk_top_table *table)
{
    const struct ntk_top_column *column = &table->columns->items[table->sort_column];
    bool is_ascending = column->format == NTK_TOP_AS_TEXT || column->format == NTK_TOP_AS_ID ||
                        (column->flags & NTK_TOP_COLUMN_ASCENDING);

    return is_ascending == table->sort_reversed;
}

/* Compares rows; absent values are last in both directions; equal values keep their order. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct ntk_top_table *table = ctx;
    size_t index_a = *(const size_t *)a;
    size_t index_b = *(const size_t *)b;
    const struct ntk_top_column *column = &table->columns->items[table->sort_column];
    const struct ntk_top_cell *cell_a =
        ntk_top_table_cell_get(table, ntk_vec_at(&table->rows, index_a), table->sort_column);
    const struct ntk_top_cell *cell_b =
        ntk_top_table_cell_get(table, ntk_vec_at(&table->rows, index_b), table->sort_column);
    int order = 0;

    if (cell_a->present != cell_b->present) {
        return cell_a->present ? -1 : 1;
    }
    if (cell_a->present && is_by_text(column)) {
        order = strcasecmp(cell_a->text, cell_b->text);
    } else if (cell_a->present) {
        order = (cell_a->value > cell_b->value) - (cell_a->value < cell_b->value);
    }
    if (order != 0) {
        return ntk_top_table_is_descending(table) ? -order : order;
    }
    return (index_a > index_b) - (index_a < index_b);
}

static void cursor_find(struct ntk_top_table *table)
{
    if (!table->has_cursor_key) {
        table->cursor_index = 0;
        return;
    }
    for (size_t i = 0; i < table->order.count; i++) {
        if (ntk_top_table_row_get(table, i)->key == table->cursor_key) {
            table->cursor_index = i;
            return;
        }
    }
    /* If the row is gone, select its neighbour. */
    if (table->cursor_index >= table->order.count) {
        table->cursor_index = table->order.count > 0 ? table->order.count - 1 : 0;
    }
    if (ntk_top_table_cursor_get(table)) {
        table->cursor_key = ntk_top_table_cursor_get(table)->key;
    }
}

int ntk_top_table_end(struct ntk_top_table *table)
{
    ntk_vec_clear(&table->order);
    table->filled = 0;
    for (size_t i = 0; i < table->cells.count; i++) {
        const struct ntk_top_cell *cell = ntk_vec_at(&table->cells, i);

        table->filled |= (uint32_t)cell->present << i % table->columns->count;
    }
    for (size_t i = 0; i < table->rows.count; i++) {
        if ((!table->filter.text[0] ||
             row_matches(table, &table->filter, ntk_vec_at(&table->rows, i))) &&
            ntk_vec_push(&table->order, &i) < 0) {
            return -ENOMEM;
        }
    }
    if (table->order.count > 1) {
        qsort_r(table->order.items, table->order.count, sizeof(size_t), compare_rows, table);
    }
    cursor_find(table);
    return 0;
}

/* ---- the user ---- */

static void cursor_set(struct ntk_top_table *table, size_t index)
{
    const struct ntk_top_row *row;

    if (table->order.count == 0) {
        return;
    }
    table->cursor_index = index < table->order.count ? index : table->order.count - 1;
    row = ntk_top_table_cursor_get(table);
    table->cursor_key = row->key;
    table->has_cursor_key = true;
}

void ntk_top_table_set_page(struct ntk_top_table *table, size_t rows)
{
    size_t count = table->order.count;

    table->page = rows;
    if (table->cursor_index < table->first) {
        table->first = table->cursor_index;
    } else if (table->cursor_index >= table->first + rows) {
        table->first = table->cursor_index - rows + 1;
    }
    if (table->first + rows > count) {
        table->first = count > rows ? count - rows : 0;
    }
}

/* Searches from the selected row on, or after it; wraps around. */
static void search_go(struct ntk_top_table *table, bool is_forward, bool is_same_fine)
{
    size_t count = table->order.count;

    table->search_fails = table->search.text[0] != '\0';
    if (!table->search.text[0]) {
        return;
    }
    for (size_t step = is_same_fine ? 0 : 1; count > 0 && step <= count; step++) {
        size_t index = (table->cursor_index + (is_forward ? step : 2 * count - step)) % count;

        if (row_matches(table, &table->search, ntk_top_table_row_get(table, index))) {
            table->search_fails = false;
            cursor_set(table, index);
            return;
        }
    }
}

/* Moves the sort column; skips hidden columns; the first column is always shown. */
static void sort_go(struct ntk_top_table *table, bool is_forward)
{
    size_t count = table->columns->count;

    do {
        table->sort_column = (table->sort_column + (is_forward ? 1 : count - 1)) % count;
    } while (!ntk_top_table_is_shown(table, table->sort_column));
    table->sort_reversed = false;
}

static void input_apply(struct ntk_top_table *table, const char *text)
{
    if (table->input == NTK_TOP_INPUT_FILTER) {
        pattern_set(&table->filter, text);
        (void)ntk_top_table_end(
            table); /* out of memory: rows are missing until the next snapshot */
    } else {
        pattern_set(&table->search, text);
        cursor_set(table, table->input_cursor);
        search_go(table, true, true);
    }
}

static struct ntk_top_pattern *input_pattern(struct ntk_top_table *table)
{
    return table->input == NTK_TOP_INPUT_FILTER ? &table->filter : &table->search;
}

static void input_open(struct ntk_top_table *table, enum ntk_top_input input)
{
    table->input = input;
    table->input_cursor = table->cursor_index;
    memcpy(table->input_before, input_pattern(table)->text, sizeof table->input_before);
    if (input == NTK_TOP_INPUT_SEARCH) {
        pattern_set(&table->search, "");
    }
}

/* Appends the UTF-8 bytes of a code point to text; does nothing if they do not fit. */
static void append_character(char *text, size_t text_bytes, uint32_t code)
{
    char bytes[4];
    size_t used = strlen(text);
    size_t count = ntk_str_utf8(bytes, code);

    if (used + count < text_bytes) {
        memcpy(text + used, bytes, count);
        text[used + count] = '\0';
    }
}

static void remove_character(char *text)
{
    size_t end = strlen(text);

    while (end > 0 && (text[--end] & 0xc0) == 0x80) {
    }
    text[end] = '\0';
}

static void text_key(struct ntk_top_table *table, int key)
{
    char text[NTK_TOP_TEXT_MAX];

    memcpy(text, input_pattern(table)->text, sizeof text);
    if (key == NTK_SCREEN_KEY_ENTER) {
        table->input = NTK_TOP_INPUT_NONE;
    } else if (key == NTK_SCREEN_KEY_ESCAPE) {
        input_apply(table, table->input_before);
        table->input = NTK_TOP_INPUT_NONE;
    } else if (key == NTK_SCREEN_KEY_BACKSPACE) {
        remove_character(text);
        input_apply(table, text);
    } else if (key == 21) { /* ctrl-u, as in a shell */
        input_apply(table, "");
    } else if (key >= ' ' && key < NTK_SCREEN_KEY_UP) {
        append_character(text, sizeof text, (uint32_t)key);
        input_apply(table, text);
    } else {
        int argument = 0;

        /* Arrows and pages move in the rows that match so far. */
        enum ntk_top_action action = ntk_top_keys_find(key, &argument);

        (void)ntk_top_table_act(table, (int)action, argument);
    }
}

static void chooser_key(struct ntk_top_table *table, int key)
{
    size_t count = table->columns->count;
    size_t at = table->chooser_cursor;

    switch (key) {
    case NTK_SCREEN_KEY_UP:
        table->chooser_cursor = at > 0 ? at - 1 : 0;
        break;
    case NTK_SCREEN_KEY_DOWN:
        table->chooser_cursor = at + 1 < count ? at + 1 : at;
        break;
    case NTK_SCREEN_KEY_HOME:
    case NTK_SCREEN_KEY_PAGE_UP:
        table->chooser_cursor = 0;
        break;
    case NTK_SCREEN_KEY_END:
    case NTK_SCREEN_KEY_PAGE_DOWN:
        table->chooser_cursor = count - 1;
        break;
    case ' ':
        if (at > 0) { /* the first column identifies the row */
            table->hidden ^= UINT32_C(1) << at;
        }
        break;
    case 'r':
    case 'R':
        table->sort_reversed = !table->sort_reversed;
        break;
    case NTK_SCREEN_KEY_ENTER:
        table->sort_reversed = false;
        table->sort_column = at;
        table->hidden &= ~(UINT32_C(1) << at);
        table->input = NTK_TOP_INPUT_NONE;
        break;
    case NTK_SCREEN_KEY_ESCAPE:
    case NTK_SCREEN_KEY_F(6):
    case 'c':
    case 'C':
    case 'q':
    case 'Q':
        table->input = NTK_TOP_INPUT_NONE;
        break;
    default:
        return;
    }
    (void)ntk_top_table_end(table);
}

bool ntk_top_table_key(struct ntk_top_table *table, int key)
{
    if (!table->columns || table->input == NTK_TOP_INPUT_NONE || key == 3) {
        return false;
    }
    if (table->input == NTK_TOP_INPUT_COLUMNS) {
        chooser_key(table, key);
    } else {
        text_key(table, key);
    }
    return true;
}

static size_t page_of(const struct ntk_top_table *table)
{
    return table->page > 1 ? table->page - 1 : 1;
}

bool ntk_top_table_act(struct ntk_top_table *table, int action, int argument)
{
    size_t cursor = table->cursor_index;

    switch (action) {
    case NTK_TOP_ACTION_CURSOR_UP:
        cursor_set(table, cursor > 0 ? cursor - 1 : 0);
        return true;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        cursor_set(table, cursor + 1);
        return true;
    case NTK_TOP_ACTION_PAGE_UP:
        cursor_set(table, cursor > page_of(table) ? cursor - page_of(table) : 0);
        return true;
    case NTK_TOP_ACTION_PAGE_DOWN:
        cursor_set(table, cursor + page_of(table));
        return true;
    case NTK_TOP_ACTION_CURSOR_FIRST:
        table->has_cursor_key = false;
        table->cursor_index = 0;
        return true;
    case NTK_TOP_ACTION_CURSOR_LAST:
        cursor_set(table, SIZE_MAX);
        return true;
    case NTK_TOP_ACTION_COLLAPSE:
        table->column_first -= table->column_first > 0;
        return true;
    case NTK_TOP_ACTION_EXPAND:
        table->column_first += table->has_more_columns;
        return true;
    case NTK_TOP_ACTION_FILTER:
        input_open(table, NTK_TOP_INPUT_FILTER);
        return true;
    case NTK_TOP_ACTION_SEARCH:
        input_open(table, NTK_TOP_INPUT_SEARCH);
        return true;
    case NTK_TOP_ACTION_COLUMNS:
        table->input = NTK_TOP_INPUT_COLUMNS;
        table->chooser_cursor = table->sort_column;
        return true;
    case NTK_TOP_ACTION_SEARCH_NEXT:
        search_go(table, true, false);
        return true;
    case NTK_TOP_ACTION_SEARCH_PREVIOUS:
        search_go(table, false, false);
        return true;
    case NTK_TOP_ACTION_SORT_NEXT:
        sort_go(table, true);
        (void)ntk_top_table_end(table);
        return true;
    case NTK_TOP_ACTION_SORT_PREVIOUS:
        sort_go(table, false);
        (void)ntk_top_table_end(table);
        return true;
    case NTK_TOP_ACTION_SORT_BY:
        if (argument < 0 || (size_t)argument >= table->columns->count) {
            return false;
        }
        table->sort_reversed =
            (size_t)argument == table->sort_column ? !table->sort_reversed : false;
        table->sort_column = (size_t)argument;
        (void)ntk_top_table_end(table);
        return true;
    case NTK_TOP_ACTION_COLUMN_AT:
        if (table->input != NTK_TOP_INPUT_COLUMNS || argument < 0 ||
            (size_t)argument >= table->columns->count) {
            return false;
        }
        table->chooser_cursor = (size_t)argument;
        chooser_key(table, ' ');
        return true;
    case NTK_TOP_ACTION_CURSOR_TO:
        cursor_set(table, (size_t)argument);
        return true;
    case NTK_TOP_ACTION_SORT_REVERSE:
        table->sort_reversed = !table->sort_reversed;
        (void)ntk_top_table_end(table);
        return true;
    case NTK_TOP_ACTION_BACK:
        if (!table->filter.text[0] && !table->search.text[0]) {
            return false;
        }
        pattern_set(&table->filter, "");
        pattern_set(&table->search, "");
        (void)ntk_top_table_end(table);
        return true;
    default:
        return false;
    }
}
