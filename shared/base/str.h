/* SPDX-License-Identifier: MIT */
/*
 * str - parsing of numbers, lists, sizes and durations as users type them, and safe copies.
 *
 * Every parser takes the whole text or nothing: trailing characters are an error. They return 0 or
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
/* "true" in either case: the only true value for OpenTelemetry and the SDKs of AWS; false for
 * NULL. */
bool ntk_str_is_true(const char *text);
/* Bytes with an optional suffix K, M, G or T (1024-based; B or iB may follow). */
int ntk_str_parse_bytes(const char *text, uint64_t *out_bytes);
/* Go durations ("1.5s", "500ms", "1m30s"); a bare number counts seconds. */
int ntk_str_parse_duration_ns(const char *text, uint64_t *out_ns);
/* "0-3,5" as a list of numbers, each at most max; *out_count holds the capacity on entry and the
 * number of entries on return; -ENOSPC when they do not fit. */
int ntk_str_parse_list(const char *text, uint32_t max, uint32_t *out_values, size_t *out_count);
/* "a,b" as bits: bit i for the name of row i; a row begins with its name (const char *). Returns
 * NULL, or the first unknown name. At most 32 rows. */
const char *ntk_str_parse_names(const char *text, const void *rows, size_t row_bytes,
                                size_t row_count, uint32_t *out_bits);
/* Copies with truncation; always adds NUL when bytes_count > 0. True if all of it fitted. */
bool ntk_str_copy(char *to, size_t to_bytes, const char *from);
bool ntk_str_starts_with(const char *text, const char *prefix);
bool ntk_str_ends_with(const char *text, const char *suffix);
/* The part of a path after the last slash, or all of it. Points into path. */
const char *ntk_str_base_name(const char *path);
/* Writes the UTF-8 of a Unicode code point, without NUL; returns the number of bytes. */
size_t ntk_str_utf8(char to[4], uint32_t code);
/* The number of bytes of the valid UTF-8 character at text (RFC 3629), of at most that many bytes;
 * 0 if it is invalid. */
size_t ntk_str_utf8_read(const char *text, size_t bytes, uint32_t *out_code);

/* The columns of the first character of a text on a terminal, from wcwidth() in the program's
 * LC_CTYPE, and its bytes. A byte that is not UTF-8 takes one column, and so does an unknown
 * character. */
size_t ntk_str_first_cells(const char *text, size_t *out_bytes);
size_t ntk_str_cells(const char *text);

/*
 * Text from outside: names, messages and paths that come from a file, a peer, the kernel or another
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
/* In place, for fixed fields: every byte that is unsafe or invalid UTF-8 becomes '?'. The text ends
 * at a NUL or after `bytes`; returns its length. Writes no NUL. */
size_t ntk_str_clean(char *text, size_t bytes);
/* Copies at most to_bytes - 1 bytes of valid UTF-8; unsafe or invalid characters become U+FFFD;
 * never cuts inside a character. */
void ntk_str_copy_clean(char *to, size_t to_bytes, const char *from, size_t from_bytes);

/* Lower-case hexadecimal of bytes; to has 2 * bytes_count + 1 bytes. */
void ntk_str_hex(char *to, const uint8_t *bytes, size_t bytes_count);

#ifdef __cplusplus
}
#endif
#endif
