/* SPDX-License-Identifier: MIT */
/*
 * table_choice - a user's choice for a list, as text to store: columns and order.
 *
 * A column is called by its title in small letters, '_' for a blank. Columns are stored as
 * differences to what is shown by itself ("+rss -user"), so that a list which gets a new column
 * shows it also with an older choice. The order is a column, and "reversed" behind it where the
 * rows stand the other way round. "" is as the program has it.
 *
 * Threads: one.
 */
#ifndef NTK_TOP_BASE_TABLE_CHOICE_H
#define NTK_TOP_BASE_TABLE_CHOICE_H

#include "top/base/table.h"

#define NTK_TOP_CHOICE_BYTES 512 /* of every text, with its end */

struct ntk_top_table_choice {
    uint32_t hidden; /* as in a table */
    size_t sort_column;
    bool sort_reversed;
};

/* As the program has it. */
void ntk_top_table_choice_init(const struct ntk_top_columns *columns,
                               struct ntk_top_table_choice *out);
/* Takes the text over what *choice is at first; false, and *choice as it was, when a word is not
 * understood. */
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
/* For the table as it is; and the other way round. */
struct ntk_top_table_choice ntk_top_table_choice_get(const struct ntk_top_table *table);
void ntk_top_table_choice_set(struct ntk_top_table *table,
                              const struct ntk_top_table_choice *choice);

#endif
