/* SPDX-License-Identifier: MIT */
/*
 * table - holds the rows and columns of a list view, and the user's position in them: sorting,
 * filter, search, chosen columns, scrolling. It uses no terminal; view_table.c draws it.
 *
 * A projection calls ntk_top_table_begin, then ntk_top_table_add for each object, fills the known
 * cells (the others are absent, a dash on the screen) and calls ntk_top_table_end. Rows have a key,
 * the identity of the object over refreshes: the selection stays on the object while rows move, and
 * near its place when the object disappears. Until the user moves, the selection stays on the first
 * row.
 *
 * Owner:   init/fini; texts of cells are borrowed until the next begin (ntk_top_table_text keeps
 *          some).
 * Threads: one.
 */
#ifndef NTK_TOP_BASE_TABLE_H
#define NTK_TOP_BASE_TABLE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/vec.h"

#define NTK_TOP_COLUMNS_MAX 32 /* maximum, because a mask of 32 bits selects the shown columns */
#define NTK_TOP_TEXT_MAX 64    /* maximum bytes of a filter or a search */
#define NTK_TOP_CELL_BYTES 256 /* maximum bytes of a cell's text */

/* The kind of value in a cell, and its format. Numbers are right-aligned, texts left-aligned. */
enum ntk_top_format {
    NTK_TOP_AS_TEXT,
    NTK_TOP_AS_ID,      /* a number that is a name, such as 10001 */
    NTK_TOP_AS_COUNT,   /* such as 99999 or 1.23M */
    NTK_TOP_AS_PERCENT, /* such as 71.2% */
    NTK_TOP_AS_BAR,     /* a percentage after a bar, if there is space */
    NTK_TOP_AS_BYTES,   /* such as 441.8MB */
    NTK_TOP_AS_BYTES_PER_SECOND,
    NTK_TOP_AS_TERAFLOPS, /* teraflops per second, such as 10.004TF */
    NTK_TOP_AS_DURATION,  /* from ns, such as 4.56ms */
    NTK_TOP_AS_RATE,      /* per second, such as 12.3 */
    NTK_TOP_AS_TIME,      /* ns since 1970, shown as local time such as 12:34:56.789 */
};

enum ntk_top_column_flags {
    NTK_TOP_COLUMN_HIDDEN = 1u << 0,    /* hidden until chosen */
    NTK_TOP_COLUMN_ASCENDING = 1u << 1, /* smallest number first, as for texts */
    NTK_TOP_COLUMN_BY_VALUE = 1u << 2,  /* a text that is sorted by the value of its cell */
    NTK_TOP_COLUMN_FIRST = 1u << 3,     /* gets its width_more before the other columns */
    NTK_TOP_COLUMN_IF_ANY = 1u << 4,    /* shown only while a row has a value in it */
};

struct ntk_top_column {
    const char *title;
    const char *help; /* help text in the chooser */
    enum ntk_top_format format;
    int width;      /* minimum number of cells */
    int width_more; /* number of further cells if there is space */
    unsigned flags;
};

struct ntk_top_columns {
    const struct ntk_top_column *items; /* the first column stays when the others scroll */
    size_t count;
    size_t sort_column; /* initial sort column */
    uint32_t hidden;    /* bit i: items[i] is initially hidden, independent of its flags */
};

enum ntk_top_row_kind {
    NTK_TOP_ROW_NORMAL,
    NTK_TOP_ROW_DIM,     /* less important: idle or ended */
    NTK_TOP_ROW_WARNING, /* needs attention */
    NTK_TOP_ROW_ERROR,   /* an error */
};

struct ntk_top_cell {
    bool present;
    bool estimated; /* for bytes and percentages: shown with a tilde */
    double value;
    const char *text;
};

struct ntk_top_row {
    uint64_t key;
    enum ntk_top_row_kind kind;
    size_t tab;        /* tab of the row's application; 0 if none */
    size_t first_cell; /* index in table->cells */
};

/* The open box, which gets the keys. */
enum ntk_top_input {
    NTK_TOP_INPUT_NONE,
    NTK_TOP_INPUT_FILTER,
    NTK_TOP_INPUT_SEARCH,
    NTK_TOP_INPUT_COLUMNS,
};

/* A text or, if it is valid, a regular expression. */
struct ntk_top_pattern {
    char text[NTK_TOP_TEXT_MAX]; /* "" if none */
    bool is_regex;
    regex_t regex;
};

struct ntk_top_table {
    const struct ntk_top_columns *columns; /* NULL if it is not a list */
    struct ntk_vec rows;  /* elements are struct ntk_top_row, in the order of adding */
    struct ntk_vec cells; /* elements are struct ntk_top_cell */
    struct ntk_vec order; /* elements are size_t: the shown rows, sorted and filtered */
    void *texts;          /* private to table.c */

    size_t sort_column;
    bool sort_reversed;
    uint32_t hidden; /* bit i is set if columns->items[i] is not chosen */
    uint32_t filled; /* bit i is set if a row has a value in the column */
    struct ntk_top_pattern filter;
    struct ntk_top_pattern search;

    size_t cursor_index;   /* index in order */
    size_t first;          /* first shown row */
    size_t page;           /* number of shown rows, set by the view */
    size_t column_first;   /* number of columns scrolled away after the first */
    bool has_more_columns; /* there are more columns to the right; set by the view */
    uint64_t cursor_key;
    bool has_cursor_key; /* the user has moved; otherwise the first row is selected */

    enum ntk_top_input input;
    char input_before[NTK_TOP_TEXT_MAX]; /* restored by escape */
    bool search_fails;                   /* no row matches the search */
    size_t input_cursor;                 /* row from which a search starts */
    size_t chooser_cursor;
};

/* Returns a mask of the columns that are initially hidden. */
uint32_t ntk_top_columns_hidden(const struct ntk_top_columns *columns);
void ntk_top_table_init(struct ntk_top_table *table, const struct ntk_top_columns *columns);
void ntk_top_table_fini(struct ntk_top_table *table);

/* ---- for projections ---- */
void ntk_top_table_begin(struct ntk_top_table *table);
/* Adds a row; returns its columns->count cells, all absent, valid until the next call. NULL if out
 * of memory. */
struct ntk_top_cell *ntk_top_table_add(struct ntk_top_table *table, uint64_t key,
                                       enum ntk_top_row_kind kind);
/* Assigns the last added row to the application of that tab. */
void ntk_top_table_set_tab(struct ntk_top_table *table, size_t tab);
/* Returns a text that is valid until the next begin; "" if out of memory. */
const char *ntk_top_table_text(struct ntk_top_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns 0 or -ENOMEM. */
int ntk_top_table_end(struct ntk_top_table *table);

static inline struct ntk_top_cell ntk_top_cell_number(double value)
{
    return (struct ntk_top_cell){ .present = true, .value = value };
}
/* Returns a text cell, absent if text is "". */
static inline struct ntk_top_cell ntk_top_cell_text(const char *text)
{
    return (struct ntk_top_cell){ .present = text[0] != '\0', .text = text };
}
static inline struct ntk_top_cell ntk_top_cell_if(bool present, double value)
{
    return (struct ntk_top_cell){ .present = present, .value = present ? value : 0 };
}

/* ---- for views ---- */
/* Returns a row of order; NULL after the last. */
const struct ntk_top_row *ntk_top_table_row_get(const struct ntk_top_table *table, size_t index);
const struct ntk_top_row *ntk_top_table_cursor_get(const struct ntk_top_table *table);
const struct ntk_top_cell *ntk_top_table_cell_get(const struct ntk_top_table *table,
                                                  const struct ntk_top_row *row, size_t column);
/* Returns the text of the cell; for a bar its percentage. The result is buf or a text of the
 * cell. */
const char *ntk_top_table_cell_text(const struct ntk_top_column *column,
                                    const struct ntk_top_cell *cell, char buf[NTK_TOP_CELL_BYTES]);
bool ntk_top_table_is_chosen(const struct ntk_top_table *table, size_t column);
/* Returns true if a column is chosen and, if it is only shown while a row has a value in it, has
 * one. */
bool ntk_top_table_is_shown(const struct ntk_top_table *table, size_t column);
bool ntk_top_table_is_descending(const struct ntk_top_table *table);
/* Sets the number of shown rows; moves `first` so that the selection is visible. */
void ntk_top_table_set_page(struct ntk_top_table *table, size_t rows);

/* ---- for the model ---- */
/* Handles a key for an open box; returns false if none is open. */
bool ntk_top_table_key(struct ntk_top_table *table, int key);
/* Handles an enum ntk_top_action and its argument; returns false if it has no effect here. */
bool ntk_top_table_act(struct ntk_top_table *table, int action, int argument);

#endif
