/* SPDX-License-Identifier: MIT */
/*
 * json - writing JSON as a stream into a buffer.
 *
 *   ntk_json_object_begin(&w);
 *   ntk_json_key(&w, "period"); ntk_json_double(&w, 1.5);
 *   ntk_json_object_end(&w);
 *
 * The writer adds commas and, when pretty, line breaks. Numbers follow the rules of Go's encoder,
 * which the vendor's tools use: shortest text that reads back to the same double, integral values
 * without a point, an exponent only below 1e-6 and from 1e21. A number that is not finite is
 * written as null. Texts are always written as valid UTF-8: characters that could harm a terminal
 * or a reader (str.h) become \uXXXX. Parsing is jansson's job.
 *
 * Owner: borrows the buffer. Threads: one at a time per writer.
 */
#ifndef NTK_SHARED_BASE_JSON_H
#define NTK_SHARED_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_JSON_DEPTH_MAX 32

struct ntk_json {
    struct ntk_buf *buf;
    bool pretty;    /* writes one value per line */
    int indent;     /* blanks per level when pretty: 2, unless changed after _init */
    int depth;      /* current depth, at most NTK_JSON_DEPTH_MAX (asserted) */
    bool after_key; /* a key was written, so a value must follow */
    /* Called after the end of each object and array, so that the owner can write the buffer out
     * when it is full; NULL: none. */
    void (*ended)(void *ctx);
    void *ended_ctx;
    bool has_item[NTK_JSON_DEPTH_MAX];
};

void ntk_json_init(struct ntk_json *json, struct ntk_buf *buf, bool pretty);
void ntk_json_object_begin(struct ntk_json *json);
void ntk_json_object_end(struct ntk_json *json);
void ntk_json_array_begin(struct ntk_json *json);
void ntk_json_array_end(struct ntk_json *json);
void ntk_json_key(struct ntk_json *json, const char *key);
void ntk_json_text(struct ntk_json *json, const char *text); /* NULL is written as null */
void ntk_json_u64(struct ntk_json *json, uint64_t value);
void ntk_json_i64(struct ntk_json *json, int64_t value);
void ntk_json_double(struct ntk_json *json, double value);
void ntk_json_bool(struct ntk_json *json, bool value);
void ntk_json_null(struct ntk_json *json);
/* Adds text that is already JSON. */
void ntk_json_raw(struct ntk_json *json, const char *raw, size_t raw_bytes);

/* Adds a key and a value. */
void ntk_json_key_text(struct ntk_json *json, const char *key, const char *text);
void ntk_json_key_u64(struct ntk_json *json, const char *key, uint64_t value);
void ntk_json_key_i64(struct ntk_json *json, const char *key, int64_t value);
void ntk_json_key_double(struct ntk_json *json, const char *key, double value);
void ntk_json_key_bool(struct ntk_json *json, const char *key, bool value);
void ntk_json_key_object_begin(struct ntk_json *json, const char *key);
void ntk_json_key_array_begin(struct ntk_json *json, const char *key);

/* Adds only a quoted text, for writers that combine pieces. */
void ntk_json_add_quoted(struct ntk_buf *buf, const char *text);

/* Formats one double by the rules above, for any text format. buf has at least 32 bytes. */
size_t ntk_json_format_double(char *buf, size_t buf_bytes, double value);
/* Same, with the shortest text that reads back to the same float. */
size_t ntk_json_format_float(char *buf, size_t buf_bytes, float value);

#ifdef __cplusplus
}
#endif
#endif
