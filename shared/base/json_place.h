/* SPDX-License-Identifier: MIT */
/*
 * json_place - on which line of a JSON text a value stands.
 *
 * A parser that gives a tree keeps no places; who finds a value wrong afterwards asks here where it
 * was. The text is one that a parser took; of any other the answer is some line of it.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_JSON_PLACE_H
#define NTK_SHARED_BASE_JSON_PLACE_H

#include <stddef.h>

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

#ifdef __cplusplus
}
#endif
#endif
