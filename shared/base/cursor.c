/* SPDX-License-Identifier: MIT */
/* cursor - bounded reading of bytes; an error persists. */
#include "shared/base/cursor.h"

void ntk_cursor_init(struct ntk_cursor *cursor, const void *bytes, size_t bytes_count)
{
    *cursor = (struct ntk_cursor){ .bytes = bytes, .bytes_count = bytes_count };
}

bool ntk_cursor_ok(const struct ntk_cursor *cursor)
{
    return !cursor->failed;
}

size_t ntk_cursor_left(const struct ntk_cursor *cursor)
{
    return cursor->failed ? 0 : cursor->bytes_count - cursor->position;
}

const uint8_t *ntk_cursor_take(struct ntk_cursor *cursor, size_t bytes_count)
{
    if (cursor->failed) {
        return NULL;
    }
    if (bytes_count > cursor->bytes_count - cursor->position) {
        cursor->failed = true;
        cursor->failed_at = cursor->position;
        return NULL;
    }
    const uint8_t *taken = cursor->bytes + cursor->position;
    cursor->position += bytes_count;
    return taken;
}

static uint64_t take_little_endian(struct ntk_cursor *cursor, size_t bytes_count)
{
    const uint8_t *bytes = ntk_cursor_take(cursor, bytes_count);
    uint64_t value = 0;

    if (bytes) {
        for (size_t i = 0; i < bytes_count; i++) {
            value |= (uint64_t)bytes[i] << (8 * i);
        }
    }
    return value;
}

uint8_t ntk_cursor_u8(struct ntk_cursor *cursor)
{
    return (uint8_t)take_little_endian(cursor, 1);
}

uint16_t ntk_cursor_u16(struct ntk_cursor *cursor)
{
    return (uint16_t)take_little_endian(cursor, 2);
}

uint32_t ntk_cursor_u32(struct ntk_cursor *cursor)
{
    return (uint32_t)take_little_endian(cursor, 4);
}

uint64_t ntk_cursor_u64(struct ntk_cursor *cursor)
{
    return take_little_endian(cursor, 8);
}
