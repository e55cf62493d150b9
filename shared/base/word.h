/* SPDX-License-Identifier: MIT */
/* word - lists of words, such as the names of an enum. */
#ifndef NTK_SHARED_BASE_WORD_H
#define NTK_SHARED_BASE_WORD_H

#include <stddef.h>
#include <string.h>

/* The index of the text; word_count if the text is NULL or not in the list. NULL words are gaps. */
static inline size_t ntk_word_find(const char *text, const char *const *words, size_t word_count)
{
    size_t i = 0;

    while (i < word_count && !(text && words[i] && strcmp(text, words[i]) == 0)) {
        i++;
    }
    return i;
}

#endif
