/* SPDX-License-Identifier: MIT */
/*
 * table_choice - converts a user's choice for a list to text and back: columns and order.
 *
 * A column is named by its title in lower case, with '_' for a blank. Columns are stored as
 * differences to the default ("+rss -user"), so that an older choice also shows a new column. The
 * order is a column, followed by "reversed" for the other direction. "" is the default.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_BASE_TABLE_CHOICE_H
#define NTK_TOP_BASE_TABLE_CHOICE_H

#include "top/base/table.h"

#define NTK_TOP_CHOICE_BYTES 512 /* maximum bytes of any text, including its NUL */

struct ntk_top_table_choice {
    uint32_t hidden; /* same as in a table */
    size_t sort_column;
    bool sort_reversed;
};

/* Sets the default of the program. */
void ntk_top_table_choice_init(const struct ntk_top_columns *columns,
                               struct ntk_top_table_choice *out);
/* Applies the text to *choice; returns false, with *choice unchanged, if a word is unknown. */
bool ntk_top_table_choice_read_columns(const struct ntk_top_columns *columns, const char *text,
                                       struct ntk_top_table_choice *choice);
bool ntk_top_table_choice_read_sort(const struct ntk_top_columns *columns, const char *text,
                                    struct ntk_top_table_choice *choice);
void ntk_top_table_choice_write_columns(const struct ntk_top_columns *columns,
                                        const struct ntk_top_table_choice *choice,
                                        char out[NTK_TOP_CHOICE_BYTES]);
void ntk_top_table_choice_write_sort(const struct ntk_top_columns *columns,
                                     const struct ntk_top_table_choice *choice,
                                     char out[NTK_TOP_CHOICE_BYTES]);
/* Return the choice of a table, and apply a choice to it. */
struct ntk_top_table_choice ntk_top_table_choice_get(const struct ntk_top_table *table);
void ntk_top_table_choice_set(struct ntk_top_table *table,
                              const struct ntk_top_table_choice *choice);

#endif
