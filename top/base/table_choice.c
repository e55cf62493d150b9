/* SPDX-License-Identifier: MIT */
/* table_choice - reads and writes the columns and order of a list as words. */
#include "top/base/table_choice.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORD_BYTES 32
#define REVERSED "reversed"

static void name_of(const struct ntk_top_column *column, char out[WORD_BYTES])
{
    size_t i = 0;

    for (; column->title[i] && i + 1 < WORD_BYTES; i++) {
        out[i] = column->title[i] == ' ' ? '_' : (char)tolower((unsigned char)column->title[i]);
    }
    out[i] = '\0';
}

/* Returns columns->count if there is none. */
static size_t find(const struct ntk_top_columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        char word[WORD_BYTES];

        name_of(&columns->items[i], word);
        if (strcmp(word, name) == 0) {
            return i;
        }
    }
    return columns->count;
}

/* Takes the next word of *text and advances *text. Returns false at the end; a word that is too
 * long is truncated and then matches no name. */
static bool word_take(const char **text, char out[WORD_BYTES])
{
    size_t bytes;

    *text += strspn(*text, " \t");
    bytes = strcspn(*text, " \t");
    (void)snprintf(out, WORD_BYTES, "%.*s", (int)bytes, *text);
    *text += bytes;
    return bytes > 0;
}

void ntk_top_table_choice_init(const struct ntk_top_columns *columns,
                               struct ntk_top_table_choice *out)
{
    *out = (struct ntk_top_table_choice){ .hidden = ntk_top_columns_hidden(columns),
                                          .sort_column = columns->sort_column };
}

bool ntk_top_table_choice_read_columns(const struct ntk_top_columns *columns, const char *text,
                                       struct ntk_top_table_choice *choice)
{
    uint32_t hidden = choice->hidden;
    char word[WORD_BYTES];

    while (word_take(&text, word)) {
        size_t at = find(columns, word + 1);

        /* The first column identifies the row and is always shown. */
        if ((word[0] != '+' && word[0] != '-') || at >= columns->count ||
            (word[0] == '-' && at == 0)) {
            return false;
        }
        if (word[0] == '+') {
            hidden &= ~(UINT32_C(1) << at);
        } else {
            hidden |= UINT32_C(1) << at;
        }
    }
    choice->hidden = hidden;
    return true;
}

bool ntk_top_table_choice_read_sort(const struct ntk_top_columns *columns, const char *text,
                                    struct ntk_top_table_choice *choice)
{
    char word[WORD_BYTES];
    char more[WORD_BYTES];
    size_t at;
    bool is_reversed;

    if (!word_take(&text, word)) {
        return true;
    }
    at = find(columns, word);
    is_reversed = word_take(&text, more);
    if (at >= columns->count || (is_reversed && strcmp(more, REVERSED) != 0) ||
        word_take(&text, more)) {
        return false;
    }
    choice->sort_column = at;
    choice->sort_reversed = is_reversed;
    return true;
}

void ntk_top_table_choice_write_columns(const struct ntk_top_columns *columns,
                                        const struct ntk_top_table_choice *choice,
                                        char out[NTK_TOP_CHOICE_BYTES])
{
    struct ntk_top_table_choice usual;
    size_t used = 0;

    ntk_top_table_choice_init(columns, &usual);
    out[0] = '\0';
    for (size_t i = 0; i < columns->count; i++) {
        char word[WORD_BYTES];

        if (!((usual.hidden ^ choice->hidden) >> i & 1)) {
            continue;
        }
        name_of(&columns->items[i], word);
        used += (size_t)snprintf(out + used, NTK_TOP_CHOICE_BYTES - used, "%s%c%s",
                                 used > 0 ? " " : "", choice->hidden >> i & 1 ? '-' : '+', word);
        if (used >= NTK_TOP_CHOICE_BYTES) {
            out[0] = '\0'; /* cannot happen with 32 short titles */
            return;
        }
    }
}

void ntk_top_table_choice_write_sort(const struct ntk_top_columns *columns,
                                     const struct ntk_top_table_choice *choice,
                                     char out[NTK_TOP_CHOICE_BYTES])
{
    char word[WORD_BYTES];

    out[0] = '\0';
    if (choice->sort_column != columns->sort_column || choice->sort_reversed) {
        name_of(&columns->items[choice->sort_column], word);
        (void)snprintf(out, NTK_TOP_CHOICE_BYTES, "%s%s", word,
                       choice->sort_reversed ? " " REVERSED : "");
    }
}

struct ntk_top_table_choice ntk_top_table_choice_get(const struct ntk_top_table *table)
{
    return (struct ntk_top_table_choice){ table->hidden, table->sort_column, table->sort_reversed };
}

void ntk_top_table_choice_set(struct ntk_top_table *table,
                              const struct ntk_top_table_choice *choice)
{
    table->hidden = choice->hidden;
    table->sort_column = choice->sort_column;
    table->sort_reversed = choice->sort_reversed;
}
