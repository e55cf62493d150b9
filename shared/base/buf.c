/* SPDX-License-Identifier: MIT */
/* buf - a byte buffer that grows, for text and for binary output. */
#include "shared/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"

void ntk_buf_fini(struct ntk_buf *buf)
{
    free(buf->bytes);
    *buf = (struct ntk_buf){ 0 };
}

void ntk_buf_reset(struct ntk_buf *buf)
{
    buf->bytes_count = 0;
    buf->failed = false;
    if (buf->bytes) {
        buf->bytes[0] = '\0';
    }
}

bool ntk_buf_ok(const struct ntk_buf *buf)
{
    return !buf->failed;
}

const char *ntk_buf_text_get(const struct ntk_buf *buf)
{
    return buf->bytes ? buf->bytes : "";
}

char *ntk_buf_take(struct ntk_buf *buf, size_t *out_bytes_count)
{
    if (!buf->bytes && !buf->failed) {
        ntk_buf_add(buf, "", 0);
    }
    if (buf->failed) {
        ntk_buf_fini(buf);
        return NULL;
    }
    char *bytes = buf->bytes;
    if (out_bytes_count) {
        *out_bytes_count = buf->bytes_count;
    }
    *buf = (struct ntk_buf){ 0 };
    return bytes;
}

static bool reserve(struct ntk_buf *buf, size_t bytes_count)
{
    if (buf->failed) {
        return false;
    }
    if (bytes_count > SIZE_MAX / 2 - buf->bytes_count - 1) {
        buf->failed = true;
        return false;
    }
    size_t needed = buf->bytes_count + bytes_count + 1;
    if (needed <= buf->capacity) {
        return true;
    }
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *bytes = realloc(buf->bytes, capacity);
    if (!bytes) {
        buf->failed = true;
        return false;
    }
    buf->bytes = bytes;
    buf->capacity = capacity;
    return true;
}

/* Inline, because most writes are short and fit. */
static inline bool fits(const struct ntk_buf *buf, size_t bytes_count)
{
    return !buf->failed && bytes_count < buf->capacity - buf->bytes_count;
}

void *ntk_buf_extend(struct ntk_buf *buf, size_t bytes_count)
{
    if (!fits(buf, bytes_count) && !reserve(buf, bytes_count)) {
        return NULL;
    }
    void *room = buf->bytes + buf->bytes_count;
    buf->bytes_count += bytes_count;
    buf->bytes[buf->bytes_count] = '\0';
    return room;
}

void ntk_buf_add(struct ntk_buf *buf, const void *bytes, size_t bytes_count)
{
    if (fits(buf, bytes_count) && bytes_count) {
        memcpy(buf->bytes + buf->bytes_count, bytes, bytes_count);
        buf->bytes_count += bytes_count;
        buf->bytes[buf->bytes_count] = '\0';
        return;
    }
    void *room = ntk_buf_extend(buf, bytes_count);

    if (room && bytes_count) {
        memcpy(room, bytes, bytes_count);
    }
}

void ntk_buf_add_text(struct ntk_buf *buf, const char *text)
{
    ntk_buf_add(buf, text, strlen(text));
}

void ntk_buf_add_char(struct ntk_buf *buf, char c)
{
    if (fits(buf, 1)) {
        buf->bytes[buf->bytes_count++] = c;
        buf->bytes[buf->bytes_count] = '\0';
    } else {
        ntk_buf_add(buf, &c, 1);
    }
}

void ntk_buf_add_fill(struct ntk_buf *buf, char c, size_t count)
{
    void *room = ntk_buf_extend(buf, count);

    if (room && count) {
        memset(room, c, count);
    }
}

void ntk_buf_add_u64(struct ntk_buf *buf, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;

    while (value >= 100) {
        at -= 2;
        memcpy(digits + at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + value * 2, 2);
    } else {
        digits[--at] = (char)('0' + value);
    }
    ntk_buf_add(buf, digits + at, sizeof digits - at);
}

void ntk_buf_add_i64(struct ntk_buf *buf, int64_t value)
{
    if (value < 0) {
        ntk_buf_add_char(buf, '-');
        ntk_buf_add_u64(buf, 0 - (uint64_t)value);
    } else {
        ntk_buf_add_u64(buf, (uint64_t)value);
    }
}

/* Adds the character at text; returns its number of bytes. */
static size_t add_clean_character(struct ntk_buf *buf, const char *text, const char *end)
{
    uint32_t code;
    size_t length = ntk_str_utf8_read(text, (size_t)(end - text), &code);

    if (length == 0 || ntk_str_is_unsafe(code)) {
        ntk_buf_add_text(buf, "\xef\xbf\xbd");
        return length ? length : 1;
    }
    ntk_buf_add(buf, text, length);
    return length;
}

void ntk_buf_add_clean(struct ntk_buf *buf, const char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        text += add_clean_character(buf, text, end);
    }
}

/* Characters that make a spreadsheet evaluate a cell that begins with them. */
static bool is_formula(const char *text)
{
    char *end;

    if (text[0] == '\0' || text[1] == '\0' || !strchr("=+-@", text[0])) {
        return false;
    }
    (void)strtod(text, &end);
    return *end != '\0';
}

void ntk_buf_add_csv(struct ntk_buf *buf, const char *text)
{
    const char *end = text + strlen(text);
    bool is_quoted = strpbrk(text, ",\"") != NULL;

    ntk_buf_add_text(buf, is_quoted ? "\"" : "");
    ntk_buf_add_text(buf, is_formula(text) ? "'" : "");
    while (text < end) {
        ntk_buf_add_text(buf, *text == '"' ? "\"" : "");
        text += add_clean_character(buf, text, end);
    }
    ntk_buf_add_text(buf, is_quoted ? "\"" : "");
}

void ntk_buf_add_vformat(struct ntk_buf *buf, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        buf->failed = true;
    } else if (reserve(buf, (size_t)length)) {
        vsnprintf(buf->bytes + buf->bytes_count, (size_t)length + 1, format, again);
        buf->bytes_count += (size_t)length;
    }
    va_end(again);
}

void ntk_buf_add_format(struct ntk_buf *buf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    ntk_buf_add_vformat(buf, format, args);
    va_end(args);
}

static void put_little_endian(struct ntk_buf *buf, uint64_t value, size_t bytes_count)
{
    uint8_t *room = ntk_buf_extend(buf, bytes_count);

    for (size_t i = 0; room && i < bytes_count; i++) {
        room[i] = (uint8_t)(value >> (8 * i));
    }
}

void ntk_buf_put_u8(struct ntk_buf *buf, uint8_t value)
{
    put_little_endian(buf, value, 1);
}

void ntk_buf_put_u16(struct ntk_buf *buf, uint16_t value)
{
    put_little_endian(buf, value, 2);
}

void ntk_buf_put_u32(struct ntk_buf *buf, uint32_t value)
{
    put_little_endian(buf, value, 4);
}

void ntk_buf_put_u64(struct ntk_buf *buf, uint64_t value)
{
    put_little_endian(buf, value, 8);
}
