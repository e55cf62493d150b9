/* SPDX-License-Identifier: MIT */
/* json_scan - reads JSON in a single pass without building a tree. */
#include "shared/formats/neff/json_scan.h"

#include <string.h>

#include "shared/base/str.h"

bool ntk_json_scan_fail(struct ntk_json_scan *scan, const char *what)
{
    if (!scan->error) {
        scan->error = what;
        scan->error_position = scan->position;
    }
    return false;
}

/* The next byte that is not a blank, or 0 at the end and after an error. */
static uint8_t peek(struct ntk_json_scan *scan)
{
    while (scan->position < scan->count) {
        uint8_t c = scan->bytes[scan->position];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
            return scan->error ? 0 : c;
        }
        scan->position++;
    }
    return 0;
}

static bool take(struct ntk_json_scan *scan, char c)
{
    if (peek(scan) != (uint8_t)c) {
        return false;
    }
    scan->position++;
    return true;
}

static bool need(struct ntk_json_scan *scan, char c, const char *what)
{
    if (take(scan, c)) {
        return true;
    }
    return ntk_json_scan_fail(scan, scan->position == scan->count ? "the JSON is truncated" : what);
}

bool ntk_json_scan_is(struct ntk_json_scan *scan, char begin)
{
    return peek(scan) == (uint8_t)begin;
}

/* Returns true if another member follows. */
static bool next(struct ntk_json_scan *scan, bool *first, char begin, char end)
{
    bool is_first = *first;

    *first = false;
    if (is_first) {
        if (!need(scan, begin, begin == '{' ? "expected an object" : "expected an array")) {
            return false;
        }
        if (scan->depth == NTK_JSON_SCAN_DEPTH_MAX) {
            return ntk_json_scan_fail(scan, "the JSON is nested too deeply");
        }
        scan->depth++;
    }
    if (take(scan, end)) {
        scan->depth--;
        return false;
    }
    return is_first ? !scan->error : need(scan, ',', "expected ',' or the end of a list");
}

bool ntk_json_scan_key(struct ntk_json_scan *scan, bool *first, struct ntk_buf *out_key)
{
    return next(scan, first, '{', '}') && ntk_json_scan_text(scan, out_key) &&
           need(scan, ':', "expected ':'");
}

bool ntk_json_scan_item(struct ntk_json_scan *scan, bool *first)
{
    return next(scan, first, '[', ']');
}

static bool hex4(struct ntk_json_scan *scan, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, scan->position++) {
        uint8_t c = scan->position < scan->count ? scan->bytes[scan->position] : 0;
        uint32_t digit = c >= '0' && c <= '9'                 ? c - (uint32_t)'0'
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32U) - 'a' + 10
                                                              : 16;
        if (digit == 16) {
            return ntk_json_scan_fail(scan, "invalid escape in a string");
        }
        *out = *out << 4 | digit;
    }
    return true;
}

static bool escape(struct ntk_json_scan *scan, struct ntk_buf *out)
{
    static const char plain[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    uint8_t c = scan->position < scan->count ? scan->bytes[scan->position++] : 0;
    const char *found = c ? strchr(plain, c) : NULL;
    uint32_t code;
    uint32_t low;
    char utf8[4];

    if (found) {
        ntk_buf_add_char(out, meant[found - plain]);
        return true;
    }
    if (c != 'u') {
        return ntk_json_scan_fail(scan, "invalid escape in a string");
    }
    if (!hex4(scan, &code)) {
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00 && scan->count - scan->position >= 6 &&
        scan->bytes[scan->position] == '\\' && scan->bytes[scan->position + 1] == 'u') {
        scan->position += 2;
        if (!hex4(scan, &low)) {
            return false;
        }
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                                             : 0xfffd;
    }
    /* Replace NUL and lone surrogates, which are not allowed in a text. */
    code = code == 0 || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code;
    ntk_buf_add(out, utf8, ntk_str_utf8(utf8, code));
    return true;
}

/* Reads a text, or skips it if out is NULL. */
static bool text(struct ntk_json_scan *scan, struct ntk_buf *out)
{
    struct ntk_buf unused = { 0 };

    if (!need(scan, '"', "expected a string")) {
        return false;
    }
    while (scan->position < scan->count) {
        const uint8_t *from = scan->bytes + scan->position;
        size_t left = scan->count - scan->position;
        size_t run = 0;

        while (run < left && from[run] != '"' && from[run] != '\\' && from[run] >= 0x20) {
            run++;
        }
        if (out) {
            ntk_buf_add(out, from, run);
        }
        scan->position += run;
        if (run == left) {
            break;
        }
        uint8_t c = scan->bytes[scan->position++];
        if (c == '"') {
            return true;
        }
        if (c != '\\') {
            scan->position--;
            return ntk_json_scan_fail(scan, "control character in a string");
        }
        bool is_sound = escape(scan, out ? out : &unused);
        ntk_buf_fini(&unused);
        unused = (struct ntk_buf){ 0 };
        if (!is_sound) {
            return false;
        }
    }
    return ntk_json_scan_fail(scan, "the JSON is truncated");
}

bool ntk_json_scan_text(struct ntk_json_scan *scan, struct ntk_buf *out_text)
{
    size_t length = 0;

    ntk_buf_reset(out_text);
    if (peek(scan) != '"') {
        return text(scan, out_text);
    }
    const uint8_t *from = scan->bytes + scan->position + 1;
    size_t left = scan->count - scan->position - 1;
    /* Most texts are short and plain, and are copied directly. */
    size_t most = out_text->capacity ? out_text->capacity - 1 : 0;
    most = most < left ? most : left;
    while (length < most && from[length] != '"' && from[length] != '\\' && from[length] >= 0x20) {
        out_text->bytes[length] = (char)from[length];
        length++;
    }
    if (length == left || from[length] != '"') {
        return text(scan, out_text);
    }
    out_text->bytes_count = length;
    if (out_text->capacity) {
        out_text->bytes[length] = '\0';
    }
    scan->position += length + 2;
    return true;
}

/* Reads a number, true, false or null; the caller rejects other words of these letters. */
static bool word(struct ntk_json_scan *scan, const char **out, size_t *out_count)
{
    (void)peek(scan);
    size_t begin = scan->position;
    static const char letters[] = "+-.0123456789Eeaflnrstu";

    while (!scan->error && scan->position < scan->count && scan->bytes[scan->position] &&
           strchr(letters, scan->bytes[scan->position])) {
        scan->position++;
    }
    *out = (const char *)scan->bytes + begin;
    *out_count = scan->position - begin;
    return *out_count
               ? true
               : ntk_json_scan_fail(scan, scan->position == scan->count ? "the JSON is truncated"
                                                                        : "expected a value");
}

bool ntk_json_scan_scalar(struct ntk_json_scan *scan, struct ntk_buf *out_text)
{
    const char *from;
    size_t count;

    if (ntk_json_scan_is(scan, '"')) {
        return ntk_json_scan_text(scan, out_text);
    }
    ntk_buf_reset(out_text);
    if (!word(scan, &from, &count)) {
        return false;
    }
    ntk_buf_add(out_text, from, count);
    return true;
}

bool ntk_json_scan_u64(struct ntk_json_scan *scan, uint64_t max, uint64_t *out_value)
{
    const char *from;
    size_t count;
    uint64_t value = 0;

    if (!word(scan, &from, &count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (from[i] < '0' || from[i] > '9' || value > (max - (uint64_t)(from[i] - '0')) / 10) {
            scan->position -= count;
            return ntk_json_scan_fail(scan, "a number is not an integer or is out of range");
        }
        value = value * 10 + (uint64_t)(from[i] - '0');
    }
    *out_value = value;
    return true;
}

bool ntk_json_scan_skip(struct ntk_json_scan *scan)
{
    char ends[NTK_JSON_SCAN_DEPTH_MAX] = { 0 };
    int depth = 0;
    bool first = false;
    const char *from;
    size_t count;

    do {
        /* Every member except the first follows a comma. */
        if (depth && take(scan, ends[depth - 1])) {
            depth--;
            first = false;
            continue;
        }
        if (depth && !first && !need(scan, ',', "expected ',' or the end of a list")) {
            return false;
        }
        first = false;
        if (depth && ends[depth - 1] == '}' &&
            (!text(scan, NULL) || !need(scan, ':', "expected ':'"))) {
            return false;
        }
        uint8_t c = peek(scan);
        if (c == '{' || c == '[') {
            if (scan->depth + depth == NTK_JSON_SCAN_DEPTH_MAX) {
                return ntk_json_scan_fail(scan, "the JSON is nested too deeply");
            }
            scan->position++;
            ends[depth++] = c == '{' ? '}' : ']';
            first = true;
        } else if (c == '"' ? !text(scan, NULL) : !word(scan, &from, &count)) {
            return false;
        }
    } while (depth);
    return true;
}

bool ntk_json_scan_end(struct ntk_json_scan *scan)
{
    return peek(scan) == 0 && scan->position == scan->count && !scan->error
               ? true
               : ntk_json_scan_fail(scan, "unexpected text after the JSON document");
}
