/* SPDX-License-Identifier: MIT */
/* json - writing JSON as a stream into a buffer. */
#include "shared/base/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The escape for the character at text; "" if it needs none. Also gives the number of bytes of the
 * character. */
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

/* The number of bytes before the first that needs an escape, eight at a time: most texts need
 * none. */
static size_t plain_count(const char *text, size_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t count = 0;

    for (uint64_t word; bytes - count >= sizeof word; count += sizeof word) {
        memcpy(&word, text + count, sizeof word);
        uint64_t quote = word ^ ones * '"';
        uint64_t slash = word ^ ones * '\\';
        /* The highest bit of a byte is set if the byte is below 0x20, from 0x7f on, or one of those
         * two. Other bytes neither borrow nor carry. */
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

static size_t put_text(char *buf, size_t buf_bytes, const char *text, size_t length)
{
    if (buf_bytes > 0) {
        size_t kept = length < buf_bytes ? length : buf_bytes - 1;

        memcpy(buf, text, kept);
        buf[kept] = '\0';
    }
    return length;
}

/* Without printf, which takes ten times as long. */
static size_t put_whole(char *buf, size_t buf_bytes, bool is_negative, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (is_negative) {
        digits[--at] = '-';
    }
    return put_text(buf, buf_bytes, digits + at, sizeof digits - at);
}

#define DIGITS_BYTES 40

/* Splits the text of %e into digits without trailing zeros and an exponent. */
static int split_digits(const char *text, char *digits, int *out_exponent)
{
    int count = 0;
    const char *at = text;

    for (; *at && *at != 'e'; at++) {
        if (*at != '.') {
            digits[count++] = *at;
        }
    }
    *out_exponent = atoi(at + 1);
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    digits[count] = '\0';
    return count;
}

/* The digits of seconds that are whole nanoseconds, as most values are; 0: it is another value. Up
 * to 15 digits, no shorter ones read back to the same double. */
static int nanosecond_digits(double value, char *digits, int *out_exponent)
{
    if (value >= 1e6 || value < 1e-9) {
        return 0;
    }
    uint64_t number = (uint64_t)(value * 1e9 + 0.5);
    if ((double)number / 1e9 != value) {
        return 0;
    }
    int count = (int)put_whole(digits, DIGITS_BYTES, false, number);
    *out_exponent = count - 10;
    while (digits[count - 1] == '0') {
        count--;
    }
    return count;
}

/* The shortest of 15, 16 and 17 digits that reads back to the same double: the last always does.
 * Shorter values are found by dropping zeros. Only below DBL_MIN do 15 digits differ from one. */
static int shortest_of_double(double value, char *digits, int *out_exponent)
{
    char text[40];
    int count = nanosecond_digits(value, digits, out_exponent);

    if (count > 0) {
        return count;
    }
    for (int precision = value < DBL_MIN ? 0 : 14; precision <= 16;
         precision = precision ? precision + 1 : 14) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (precision < 16 && strtod(text, NULL) == value) {
            break;
        }
    }
    return split_digits(text, digits, out_exponent);
}

/* The same of 6 to 9 digits. */
static int shortest_of_float(float value, char *digits, int *out_exponent)
{
    char text[40];

    for (int precision = value < FLT_MIN ? 0 : 5; precision <= 8;
         precision = precision ? precision + 1 : 5) {
        snprintf(text, sizeof text, "%.*e", precision, (double)value);
        if (precision < 8 && strtof(text, NULL) == value) {
            break;
        }
    }
    return split_digits(text, digits, out_exponent);
}

/* Writes digits of value = d.ddd x 10^exponent by Go's rules; the first `used` bytes of local are
 * the sign. */
static size_t place_digits(char *buf, size_t buf_bytes, char *local, size_t local_bytes,
                           size_t used, const char *digits, int count, int exponent)
{
    if (exponent < -6 || exponent >= 21) {
        local[used++] = digits[0];
        if (count > 1) {
            local[used++] = '.';
            memcpy(local + used, digits + 1, (size_t)count - 1);
            used += (size_t)count - 1;
        }
        used += (size_t)snprintf(local + used, local_bytes - used, "e%c%02d",
                                 exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
    } else if (exponent < 0) {
        local[used++] = '0';
        local[used++] = '.';
        for (int i = 1; i < -exponent; i++) {
            local[used++] = '0';
        }
        memcpy(local + used, digits, (size_t)count);
        used += (size_t)count;
    } else {
        for (int i = 0; i < count || i <= exponent; i++) {
            if (i == exponent + 1) {
                local[used++] = '.';
            }
            local[used++] = i < count ? digits[i] : '0';
        }
    }
    return put_text(buf, buf_bytes, local, used);
}

size_t ntk_json_format_double(char *buf, size_t buf_bytes, double value)
{
    char digits[DIGITS_BYTES];
    int exponent;
    char local[64];
    size_t used = 0;

    if (!isfinite(value)) {
        return (size_t)snprintf(buf, buf_bytes, "null");
    }
    if (value == 0) {
        return put_whole(buf, buf_bytes, signbit(value), 0);
    }
    if (value < 0) {
        local[used++] = '-';
        value = -value;
    }
    if (value < 9007199254740992.0 && value == (double)(uint64_t)value) {
        return put_whole(buf, buf_bytes, used > 0, (uint64_t)value);
    }
    int count = shortest_of_double(value, digits, &exponent);
    return place_digits(buf, buf_bytes, local, sizeof local, used, digits, count, exponent);
}

/* Integers that a float cannot hold exactly: the roundest number that reads back to the same
 * float. */
static uint64_t roundest_integer(float value)
{
    uint64_t exact = (uint64_t)value;

    uint64_t unit = 1;

    while (exact / unit >= 100000) { /* most need more than five digits */
        unit *= 10;
    }
    for (; unit > 1; unit /= 10) {
        uint64_t rounded = (exact + unit / 2) / unit * unit;
        if ((float)rounded == value) {
            return rounded;
        }
    }
    return exact;
}

size_t ntk_json_format_float(char *buf, size_t buf_bytes, float value)
{
    char digits[DIGITS_BYTES];
    int exponent;
    char local[64];
    size_t used = 0;

    if (!isfinite(value) || (fabsf(value) < 16777216.0F && value == truncf(value))) {
        return ntk_json_format_double(buf, buf_bytes, (double)value);
    }
    if (value < 0) {
        local[used++] = '-';
        value = -value;
    }
    if (value >= 16777216.0F && value < 1e18F) {
        return put_whole(buf, buf_bytes, used > 0, roundest_integer(value));
    }
    int count = shortest_of_float(value, digits, &exponent);
    return place_digits(buf, buf_bytes, local, sizeof local, used, digits, count, exponent);
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
