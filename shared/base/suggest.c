/* SPDX-License-Identifier: MIT */
/* suggest - distances by optimal string alignment: insert, delete, replace, swap neighbours. */
#include "shared/base/suggest.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES NTK_SUGGEST_NAME_MAX

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t edits_between(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    /* Rows i-2, i-1 and i of the matrix of distances between prefixes. */
    size_t rows[3][NAME_MAX_BYTES + 1];

    for (size_t j = 0; j <= b_bytes; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        const size_t *before = rows[(i + 1) % 3];
        const size_t *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t replaced = above[j - 1] + !is_same(a[i - 1], b[j - 1]);

            row[j] = min(replaced, min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1])) {
                row[j] = min(row[j], before[j - 2] + 1);
            }
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

struct ntk_suggest ntk_suggest_begin(const char *word)
{
    return (struct ntk_suggest){ .word = word, .edits = SIZE_MAX };
}

static void add(struct ntk_suggest *near, const char *name, size_t name_bytes)
{
    size_t word_bytes = strlen(near->word);

    near->is_known =
        near->is_known || (word_bytes == name_bytes && !memcmp(near->word, name, name_bytes));
    bool has_letters = near->word[strspn(near->word, "-")] != '\0';
    if (!has_letters || word_bytes > NAME_MAX_BYTES || name_bytes > NAME_MAX_BYTES) {
        return;
    }
    bool begins =
        word_bytes > 1 && word_bytes < name_bytes && strncasecmp(near->word, name, word_bytes) == 0;
    size_t edits = begins ? 1 : edits_between(near->word, word_bytes, name, name_bytes);
    size_t longer = word_bytes > name_bytes ? word_bytes : name_bytes;

    if (edits < near->edits && (begins || edits <= (longer + 1) / 3)) {
        near->edits = edits;
        (void)snprintf(near->text, sizeof near->text, " (did you mean '%.*s'?)", (int)name_bytes,
                       name);
    }
}

void ntk_suggest_add(struct ntk_suggest *near, const char *name)
{
    add(near, name, strlen(name));
}

void ntk_suggest_add_words(struct ntk_suggest *near, const char *names)
{
    while (*names) {
        size_t bytes = strcspn(names, " ");

        if (bytes > 0) {
            add(near, names, bytes);
        }
        names += bytes + (names[bytes] == ' ');
    }
}

bool ntk_suggest_is_known(const struct ntk_suggest *near)
{
    return near->is_known;
}

const char *ntk_suggest_text(const struct ntk_suggest *near)
{
    return near->text;
}
