/* SPDX-License-Identifier: MIT */
/*
 * json_place - the place of a value in a JSON text, and the cost of its tree.
 *
 * A parser that gives a tree keeps no places; this finds the place of a value that turns out to be
 * wrong. The text must be one that a parser accepted; for any other the line is arbitrary.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_JSON_PLACE_H
#define NTK_SHARED_BASE_JSON_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The line, from 1, of the value that path leads to ("groups[2].type", "" the whole), or of the
 * nearest one above it that exists. key, when not NULL, is one more step and may hold any
 * character, as keys of others may.
 */
unsigned int ntk_json_line_of(const char *text, size_t text_bytes, const char *path,
                              const char *key);

/* Memory that jansson's tree of the text takes at most, estimated from the characters that begin
 * its values. Those in strings count, too. */
uint64_t ntk_json_tree_bytes(const char *text, size_t text_bytes);

/* A list in a JSON text, so that its elements can be parsed one at a time. */
struct ntk_json_list {
    const char *text; /* from '[' to ']' */
    size_t text_bytes;
    const char *next; /* where the next element begins; NULL: at the first one */
};

/* The list of this key in the object; false: the object has no such list. */
bool ntk_json_list_find(const char *text, size_t text_bytes, const char *key,
                        struct ntk_json_list *out_list);
/* The text of the next element; false after the last one. An element that is missing is empty. */
bool ntk_json_list_next(struct ntk_json_list *list, const char **out_text, size_t *out_bytes);
/* Number of elements; begins again at the first one. */
size_t ntk_json_list_count(struct ntk_json_list *list);

#ifdef __cplusplus
}
#endif
#endif
