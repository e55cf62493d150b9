/* SPDX-License-Identifier: MIT */
/*
 * json_place - finds the position of a value in a JSON text, and the memory that its tree needs.
 *
 * Parsed trees have no positions; this module finds the line of a value that turns out to be wrong.
 * A parser must have accepted the text; for any other text the line is arbitrary.
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
 * The line number (from 1) of the value at path, such as "groups[2].type" ("": the whole text), or
 * of its nearest existing ancestor. If not NULL, key is one more step and may contain any
 * character.
 */
unsigned int ntk_json_line_of(const char *text, size_t text_bytes, const char *path,
                              const char *key);

/* An upper bound on the memory for jansson's tree of the text, estimated from the characters that
 * begin its values. Characters in strings count, too. */
uint64_t ntk_json_tree_bytes(const char *text, size_t text_bytes);

/* A list in a JSON text, so that its elements can be parsed one at a time. */
struct ntk_json_list {
    const char *text; /* from '[' to ']' */
    size_t text_bytes;
    const char *next; /* start of the next element; NULL: before the first one */
};

/* Finds the list with this key in the object; false if the object has no such list. */
bool ntk_json_list_find(const char *text, size_t text_bytes, const char *key,
                        struct ntk_json_list *out_list);
/* The text of the next element; false after the last one. A missing element is empty. */
bool ntk_json_list_next(struct ntk_json_list *list, const char **out_text, size_t *out_bytes);
/* Counts the elements; the next element is then the first one again. */
size_t ntk_json_list_count(struct ntk_json_list *list);

#ifdef __cplusplus
}
#endif
#endif
