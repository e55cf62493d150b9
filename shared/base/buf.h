/* SPDX-License-Identifier: MIT */
/*
 * buf - a byte buffer that grows, for text and for binary output.
 *
 * After an allocation failed, later writes do nothing and ntk_buf_ok() is false, so a caller checks
 * once at the end. The bytes are always followed by a NUL that is not counted.
 *
 * Owner:   caller's storage; a zeroed struct is an empty buffer; ntk_buf_fini() frees.
 * Threads: one at a time per buffer.
 */
#ifndef NTK_SHARED_BASE_BUF_H
#define NTK_SHARED_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_buf {
    char *bytes; /* NULL until something is written */
    size_t bytes_count;
    size_t capacity;
    bool failed;
};

void ntk_buf_fini(struct ntk_buf *buf);
/* Empties the buffer, keeps its memory and forgets an earlier failure. */
void ntk_buf_reset(struct ntk_buf *buf);
bool ntk_buf_ok(const struct ntk_buf *buf);
/* The text, borrowed until the next write; "" for an empty buffer. */
const char *ntk_buf_text_get(const struct ntk_buf *buf);
/* The caller frees the bytes with free(); the buffer is empty afterwards. NULL after a failure. */
char *ntk_buf_take(struct ntk_buf *buf, size_t *out_bytes_count);
void ntk_buf_add(struct ntk_buf *buf, const void *bytes, size_t bytes_count);
void ntk_buf_add_text(struct ntk_buf *buf, const char *text);
void ntk_buf_add_char(struct ntk_buf *buf, char c);
void ntk_buf_add_fill(struct ntk_buf *buf, char c, size_t count);
void ntk_buf_add_u64(struct ntk_buf *buf, uint64_t value); /* decimal text */
void ntk_buf_add_i64(struct ntk_buf *buf, int64_t value);  /* decimal text */
void ntk_buf_add_format(struct ntk_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ntk_buf_add_vformat(struct ntk_buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Adds text from outside after cleaning it (str.h): unsafe characters and invalid UTF-8 become
 * U+FFFD. */
void ntk_buf_add_clean(struct ntk_buf *buf, const char *text);
/* Adds a CSV field (RFC 4180): clean, quoted if necessary, and with ' before text that a
 * spreadsheet would evaluate as a formula. Numbers stay unchanged. */
void ntk_buf_add_csv(struct ntk_buf *buf, const char *text);
/* Add little-endian binary numbers. */
void ntk_buf_put_u8(struct ntk_buf *buf, uint8_t value);
void ntk_buf_put_u16(struct ntk_buf *buf, uint16_t value);
void ntk_buf_put_u32(struct ntk_buf *buf, uint32_t value);
void ntk_buf_put_u64(struct ntk_buf *buf, uint64_t value);
/* Appends bytes_count uninitialised bytes and returns them, or NULL if out of memory. Valid until
 * the next write. */
void *ntk_buf_extend(struct ntk_buf *buf, size_t bytes_count);

#ifdef __cplusplus
}
#endif
#endif
