/* SPDX-License-Identifier: MIT */
/*
 * cursor - bounded reading of bytes; an error persists.
 *
 * Read all fields, then check ntk_cursor_ok() once. After the first read beyond the end, every read
 * returns zero and the position of the failure is kept. Integers are little-endian.
 *
 * Owner: borrows the bytes. Threads: one at a time per cursor.
 */
#ifndef NTK_SHARED_BASE_CURSOR_H
#define NTK_SHARED_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_cursor {
    const uint8_t *bytes;
    size_t bytes_count;
    size_t position;
    bool failed;
    size_t failed_at; /* position of the read that exceeded the end */
};

void ntk_cursor_init(struct ntk_cursor *cursor, const void *bytes, size_t bytes_count);
bool ntk_cursor_ok(const struct ntk_cursor *cursor);
size_t ntk_cursor_left(const struct ntk_cursor *cursor);
uint8_t ntk_cursor_u8(struct ntk_cursor *cursor);
uint16_t ntk_cursor_u16(struct ntk_cursor *cursor);
uint32_t ntk_cursor_u32(struct ntk_cursor *cursor);
uint64_t ntk_cursor_u64(struct ntk_cursor *cursor);
/* Borrowed. Returns NULL after a failure; fewer remaining bytes are a failure, too. */
const uint8_t *ntk_cursor_take(struct ntk_cursor *cursor, size_t bytes_count);

#ifdef __cplusplus
}
#endif
#endif
