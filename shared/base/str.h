/* SPDX-License-Identifier: MIT */
/*
 * str - parses numbers, lists, sizes and durations as users type them, and copies text safely.
 *
 * Every parser must consume the whole text: trailing characters are an error. Parsers return 0 or
 * -EINVAL (-ERANGE for a number that is too large) and set the result only on success.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_STR_H
#define NTK_SHARED_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int ntk_str_parse_u64(const char *text, uint64_t *out_value); /* decimal or 0x hexadecimal */
int ntk_str_parse_i64(const char *text, int64_t *out_value);
int ntk_str_parse_double(const char *text, double *out_value);
int ntk_str_parse_bool(const char *text, bool *out_value); /* 0, 1, false, true, in either case */
/* Returns true if the text is "true" in upper or lower case, the only true value for OpenTelemetry
 * and the AWS SDKs. NULL is false. */
bool ntk_str_is_true(const char *text);
/* Parses bytes with an optional suffix K, M, G or T (1024-based; B or iB may follow). */
int ntk_str_parse_bytes(const char *text, uint64_t *out_bytes);
/* Parses Go durations ("1.5s", "500ms", "1m30s"); a bare number means seconds. */
int ntk_str_parse_duration_ns(const char *text, uint64_t *out_ns);
/* Parses "0-3,5" as a list of numbers, each at most max. *out_count is the capacity on entry and
 * the number of entries on return. Returns -ENOSPC if they do not fit. */
int ntk_str_parse_list(const char *text, uint32_t max, uint32_t *out_values, size_t *out_count);
/* Parses "a,b" into bits: bit i stands for the name in row i; a row begins with its name (const
 * char *). Returns NULL, or the first unknown name. At most 32 rows. */
const char *ntk_str_parse_names(const char *text, const void *rows, size_t row_bytes,
                                size_t row_count, uint32_t *out_bits);
/* Copies and truncates if necessary; always adds a NUL when to_bytes > 0. Returns true if all of it
 * fitted. */
bool ntk_str_copy(char *to, size_t to_bytes, const char *from);
bool ntk_str_starts_with(const char *text, const char *prefix);
bool ntk_str_ends_with(const char *text, const char *suffix);
/* The part of a path after the last slash, or the whole path. Points into path. */
const char *ntk_str_base_name(const char *path);
/* Encodes a Unicode code point as UTF-8, without a NUL; returns the number of bytes. */
size_t ntk_str_utf8(char to[4], uint32_t code);
/* The number of bytes of the valid UTF-8 character at text (RFC 3629), of at most that many bytes;
 * 0 if it is invalid. */
size_t ntk_str_utf8_read(const char *text, size_t bytes, uint32_t *out_code);

/* The terminal columns of the first character of a text, from wcwidth() in the program's LC_CTYPE,
 * and its number of bytes. An invalid byte and an unknown character take one column each. */
size_t ntk_str_first_cells(const char *text, size_t *out_bytes);
size_t ntk_str_cells(const char *text);

/*
 * Text from outside. Names, messages and paths that come from a file, a peer, the kernel or another
 * process may contain escape sequences, a line end that begins a forged line, characters that
 * reverse others, or bytes that are not UTF-8. Code that reads text from outside (readers of files,
 * segments, /proc, sysfs and answers) or prints it passes it through one of these functions; no
 * module has private rules. The last places before output: log (every line), json (every text, with
 * escapes), labels and attributes of exporters, cells of tables and of terminals, lines printed to
 * stdout. ntk_err cleans its texts.
 */
/* C0, DEL, C1, the separators of lines and paragraphs, characters that change the direction of
 * writing, and invisible ones (joiners, fillers, selectors, tags), because two names must not look
 * the same. */
bool ntk_str_is_unsafe(uint32_t code);
/* Cleans a fixed field in place: every byte that is unsafe or invalid UTF-8 becomes '?'. The text
 * ends at a NUL or after `bytes`. Returns its length; writes no NUL. */
size_t ntk_str_clean(char *text, size_t bytes);
/* Copies at most to_bytes - 1 bytes of valid UTF-8; unsafe or invalid characters become U+FFFD;
 * never cuts inside a character. */
void ntk_str_copy_clean(char *to, size_t to_bytes, const char *from, size_t from_bytes);

/* Writes bytes as lower-case hexadecimal; `to` has 2 * bytes_count + 1 bytes. */
void ntk_str_hex(char *to, const uint8_t *bytes, size_t bytes_count);

#ifdef __cplusplus
}
#endif
#endif
