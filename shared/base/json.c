/* SPDX-License-Identifier: MIT */
/* json - writing JSON as a stream into a buffer. */
#include "shared/base/json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/str.h"

void ntk_json_init(struct ntk_json *json, struct ntk_buf *buf, bool pretty)
{
    *json = (struct ntk_json){ .buf = buf, .pretty = pretty, .indent = 2 };
}

static void new_line(struct ntk_json *json)
{
    if (json->pretty) {
        ntk_buf_add_char(json->buf, '\n');
        ntk_buf_add_fill(json->buf, ' ', (size_t)json->indent * (size_t)json->depth);
    }
}

/* Writes the separator before a value or a key. */
static void separate(struct ntk_json *json)
{
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth > 0) {
        if (json->has_item[json->depth - 1]) {
            ntk_buf_add_char(json->buf, ',');
        }
        json->has_item[json->depth - 1] = true;
        new_line(json);
    }
}

static void begin(struct ntk_json *json, char bracket)
{
    assert(json->depth < NTK_JSON_DEPTH_MAX);
    separate(json);
    ntk_buf_add_char(json->buf, bracket);
    json->has_item[json->depth++] = false;
}

static void end(struct ntk_json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->has_item[json->depth]) {
        new_line(json);
    }
    ntk_buf_add_char(json->buf, bracket);
    if (json->ended) {
        json->ended(json->ended_ctx);
    }
}

void ntk_json_object_begin(struct ntk_json *json)
{
    begin(json, '{');
}

void ntk_json_object_end(struct ntk_json *json)
{
    end(json, '}');
}

void ntk_json_array_begin(struct ntk_json *json)
{
    begin(json, '[');
}

void ntk_json_array_end(struct ntk_json *json)
{
    end(json, ']');
}

/* The escape sequence for the character at text; "" if it needs none. Also sets the number of bytes
 * of the character. */
static size_t escape(const char *text, size_t bytes, char out[13])
{
    static const char special[] = "\"\\\n\t\r";
    static const char letters[] = "\"\\ntr";
    const char *found = strchr(special, *text);
    uint32_t code;
    size_t length = ntk_str_utf8_read(text, bytes, &code);

    out[0] = '\0';
    if (found) {
        (void)snprintf(out, 13, "\\%c", letters[found - special]);
    } else if (length == 0 || (ntk_str_is_unsafe(code) && code <= 0xffff)) {
        (void)snprintf(out, 13, "\\u%04x", length ? (unsigned int)code & 0xffff : 0xfffd);
    } else if (ntk_str_is_unsafe(code)) {
        (void)snprintf(out, 13, "\\u%04x\\u%04x", 0xd7c0 + (unsigned int)(code >> 10),
                       0xdc00 + (unsigned int)code % 0x400);
    }
    return length ? length : 1;
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* The number of bytes before the first one that needs an escape. Checks eight bytes at a time,
 * because most texts need no escape. */
static size_t plain_count(const char *text, size_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t count = 0;

    for (uint64_t word; bytes - count >= sizeof word; count += sizeof word) {
        memcpy(&word, text + count, sizeof word);
        uint64_t quote = word ^ ones * '"';
        uint64_t slash = word ^ ones * '\\';
        /* The highest bit of a byte is set if the byte is below 0x20, at least 0x7f, or one of
         * these two characters. Other bytes neither borrow nor carry. */
        uint64_t other =
            (word - ones * 0x20) | word | (word + ones) | (quote - ones) | (slash - ones);

        if (other & ones << 7) {
            break;
        }
    }
    while (count < bytes && is_plain(text[count])) {
        count++;
    }
    return count;
}

void ntk_json_add_quoted(struct ntk_buf *buf, const char *text)
{
    size_t bytes = strlen(text);
    size_t plain = plain_count(text, bytes);
    const char *plain_end = text + plain;

    if (plain == bytes) {
        char *room = ntk_buf_extend(buf, plain + 2);
        if (room) {
            room[0] = '"';
            memcpy(room + 1, text, plain);
            room[plain + 1] = '"';
        }
        return;
    }
    const char *end = text + bytes;
    const char *start = text;

    ntk_buf_add_char(buf, '"');
    text = plain_end;
    while (text < end) {
        char escaped[13];

        if (is_plain(*text)) {
            text++;
            continue;
        }
        size_t length = escape(text, (size_t)(end - text), escaped);
        if (escaped[0]) {
            ntk_buf_add(buf, start, (size_t)(text - start));
            ntk_buf_add_text(buf, escaped);
            start = text + length;
        }
        text += length;
    }
    ntk_buf_add(buf, start, (size_t)(end - start));
    ntk_buf_add_char(buf, '"');
}

void ntk_json_key(struct ntk_json *json, const char *key)
{
    assert(json->depth > 0 && !json->after_key);
    separate(json);
    ntk_json_add_quoted(json->buf, key);
    ntk_buf_add_text(json->buf, json->pretty ? ": " : ":");
    json->after_key = true;
}

void ntk_json_text(struct ntk_json *json, const char *text)
{
    separate(json);
    if (text) {
        ntk_json_add_quoted(json->buf, text);
    } else {
        ntk_buf_add_text(json->buf, "null");
    }
}

void ntk_json_u64(struct ntk_json *json, uint64_t value)
{
    separate(json);
    ntk_buf_add_u64(json->buf, value);
}

void ntk_json_i64(struct ntk_json *json, int64_t value)
{
    separate(json);
    ntk_buf_add_i64(json->buf, value);
}

void ntk_json_bool(struct ntk_json *json, bool value)
{
    separate(json);
    ntk_buf_add_text(json->buf, value ? "true" : "false");
}

void ntk_json_null(struct ntk_json *json)
{
    separate(json);
    ntk_buf_add_text(json->buf, "null");
}

void ntk_json_raw(struct ntk_json *json, const char *raw, size_t raw_bytes)
{
    separate(json);
    ntk_buf_add(json->buf, raw, raw_bytes);
}

void ntk_json_double(struct ntk_json *json, double value)
{
    char text[64];

    separate(json);
    ntk_buf_add(json->buf, text, ntk_json_format_double(text, sizeof text, value));
}

void ntk_json_key_text(struct ntk_json *json, const char *key, const char *text)
{
    ntk_json_key(json, key);
    ntk_json_text(json, text);
}

void ntk_json_key_u64(struct ntk_json *json, const char *key, uint64_t value)
{
    ntk_json_key(json, key);
    ntk_json_u64(json, value);
}

void ntk_json_key_i64(struct ntk_json *json, const char *key, int64_t value)
{
    ntk_json_key(json, key);
    ntk_json_i64(json, value);
}

void ntk_json_key_double(struct ntk_json *json, const char *key, double value)
{
    ntk_json_key(json, key);
    ntk_json_double(json, value);
}

void ntk_json_key_bool(struct ntk_json *json, const char *key, bool value)
{
    ntk_json_key(json, key);
    ntk_json_bool(json, value);
}

void ntk_json_key_object_begin(struct ntk_json *json, const char *key)
{
    ntk_json_key(json, key);
    ntk_json_object_begin(json);
}

void ntk_json_key_array_begin(struct ntk_json *json, const char *key)
{
    ntk_json_key(json, key);
    ntk_json_array_begin(json);
}
