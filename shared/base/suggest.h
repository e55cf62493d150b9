/* SPDX-License-Identifier: MIT */
/*
 * suggest - finds the existing name that is nearest to an unknown word.
 *
 *   struct ntk_suggest near = ntk_suggest_begin("lins");
 *   ntk_suggest_add(&near, "lines");
 *   "unknown command '%s'%s", "lins", ntk_suggest_text(&near)   -> ... (did you mean 'lines'?)
 *
 * A name is near if it begins with the word, or if few edits turn the word into it: at most a third
 * of the letters of the longer one, rounded. An edit adds, removes or replaces a letter or swaps
 * two neighbours; case is ignored. The name with the fewest edits is chosen; of equal ones, the
 * first. Dashes alone are near no name, because every option begins with them.
 *
 * Threads: each object belongs to one thread.
 */
#ifndef NTK_SHARED_BASE_SUGGEST_H
#define NTK_SHARED_BASE_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SUGGEST_NAME_MAX 64U /* in bytes; longer words and names are never near */

struct ntk_suggest {
    const char *word;
    size_t edits;  /* edits to the nearest name so far */
    bool is_known; /* the word is one of the names */
    char text[NTK_SUGGEST_NAME_MAX + 24];
};

struct ntk_suggest ntk_suggest_begin(const char *word);
void ntk_suggest_add(struct ntk_suggest *near, const char *name);
/* Adds names from a text in which blanks separate them. */
void ntk_suggest_add_words(struct ntk_suggest *near, const char *names);
/* Returns true if the word is exactly one of the names. */
bool ntk_suggest_is_known(const struct ntk_suggest *near);
/* " (did you mean 'lines'?)", or "" if no name is near; lives as long as `near`. */
const char *ntk_suggest_text(const struct ntk_suggest *near);

#ifdef __cplusplus
}
#endif
#endif
