/* SPDX-License-Identifier: MIT */
/* str - parses numbers, lists, sizes and durations as users type them, and copies text safely. */
#include "shared/base/str.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

int ntk_str_parse_u64(const char *text, uint64_t *out_value)
{
    char *end;

    if (!isdigit((unsigned char)text[0])) {
        return -EINVAL;
    }
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (*end != '\0') {
        return -EINVAL;
    }
    if (errno == ERANGE) {
        return -ERANGE;
    }
    *out_value = value;
    return 0;
}

int ntk_str_parse_i64(const char *text, int64_t *out_value)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) && !(text[0] == '-' && isdigit((unsigned char)text[1]))) {
        return -EINVAL;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*end != '\0') {
        return -EINVAL;
    }
    if (errno == ERANGE) {
        return -ERANGE;
    }
    *out_value = value;
    return 0;
}

int ntk_str_parse_double(const char *text, double *out_value)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '.') {
        return -EINVAL;
    }
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        return -EINVAL;
    }
    *out_value = value;
    return 0;
}

bool ntk_str_is_true(const char *text)
{
    return text && strcasecmp(text, "true") == 0;
}

int ntk_str_parse_bool(const char *text, bool *out_value)
{
    bool is_on = ntk_str_is_true(text) || strcmp(text, "1") == 0;

    if (!is_on && strcasecmp(text, "false") != 0 && strcmp(text, "0") != 0) {
        return -EINVAL;
    }
    *out_value = is_on;
    return 0;
}

int ntk_str_parse_bytes(const char *text, uint64_t *out_bytes)
{
    static const char suffixes[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)text[0])) {
        return -EINVAL;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno == ERANGE) {
        return -ERANGE;
    }
    if (*end != '\0') {
        const char *suffix = strchr(suffixes, toupper((unsigned char)*end));
        if (suffix && *suffix) {
            unsigned int shift = 10 * (unsigned int)(suffix - suffixes + 1);
            if (value > UINT64_MAX >> shift) {
                return -ERANGE;
            }
            value <<= shift;
            end++;
            if (*end == 'i') {
                end++;
            }
        }
        if (*end == 'B') {
            end++;
        }
        if (*end != '\0') {
            return -EINVAL;
        }
    }
    *out_bytes = value;
    return 0;
}

int ntk_str_parse_duration_ns(const char *text, uint64_t *out_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = { { "ns", 1 },  { "us", 1e3 }, { "\xc2\xb5s", 1e3 }, { "ms", 1e6 },
                  { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
    double total = 0;

    if (*text == '\0') {
        return -EINVAL;
    }
    const char *at = text;
    while (*at) {
        char *end;
        if (!isdigit((unsigned char)*at) && *at != '.') {
            return -EINVAL;
        }
        double number = strtod(at, &end);
        if (end == at) {
            return -EINVAL;
        }
        if (*end == '\0' && at == text) {
            total = number * 1e9; /* a bare number is seconds */
            break;
        }
        size_t unit_bytes = strcspn(end, "0123456789.");
        double scale = 0;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (strlen(units[i].name) == unit_bytes && !strncmp(units[i].name, end, unit_bytes)) {
                scale = units[i].ns;
            }
        }
        if (scale == 0) {
            return -EINVAL;
        }
        total += number * scale;
        at = end + unit_bytes;
    }
    if (!(total < 9e18)) {
        return -ERANGE;
    }
    *out_ns = (uint64_t)(total + 0.5); /* without llround(), because libnds.a links without -lm */
    return 0;
}

static int parse_list_number(const char **at, uint32_t max, uint32_t *out_value)
{
    uint64_t value = 0;
    const char *c = *at;

    if (!isdigit((unsigned char)*c)) {
        return -EINVAL;
    }
    for (; isdigit((unsigned char)*c); c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > max) {
            return -ERANGE;
        }
    }
    *out_value = (uint32_t)value;
    *at = c;
    return 0;
}

const char *ntk_str_parse_names(const char *text, const void *rows, size_t row_bytes,
                                size_t row_count, uint32_t *out_bits)
{
    *out_bits = 0;
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        size_t i = 0;

        for (; i < row_count; i++) {
            const char *name = *(const char *const *)((const char *)rows + i * row_bytes);

            if (strlen(name) == bytes && memcmp(name, at, bytes) == 0) {
                break;
            }
        }
        if (i == row_count) {
            return at;
        }
        *out_bits |= UINT32_C(1) << i;
        at += bytes;
        if (!*at) {
            return NULL;
        }
    }
}

int ntk_str_parse_list(const char *text, uint32_t max, uint32_t *out_values, size_t *out_count)
{
    size_t capacity = *out_count;
    size_t count = 0;
    const char *at = text;

    for (;;) {
        uint32_t first;
        uint32_t last;
        int ret = parse_list_number(&at, max, &first);
        if (ret < 0) {
            return ret;
        }
        last = first;
        if (*at == '-') {
            at++;
            ret = parse_list_number(&at, max, &last);
            if (ret < 0) {
                return ret;
            }
            if (last < first) {
                return -EINVAL;
            }
        }
        for (uint64_t value = first; value <= last; value++) {
            if (count == capacity) {
                return -ENOSPC;
            }
            out_values[count++] = (uint32_t)value;
        }
        if (*at == '\0') {
            break;
        }
        if (*at != ',') {
            return -EINVAL;
        }
        at++;
    }
    *out_count = count;
    return 0;
}

bool ntk_str_copy(char *to, size_t to_bytes, const char *from)
{
    size_t length = strlen(from);

    if (to_bytes == 0) {
        return false;
    }
    bool fits = length < to_bytes;
    size_t copied = fits ? length : to_bytes - 1;
    memcpy(to, from, copied);
    to[copied] = '\0';
    return fits;
}

bool ntk_str_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool ntk_str_ends_with(const char *text, const char *suffix)
{
    size_t text_bytes = strlen(text);
    size_t suffix_bytes = strlen(suffix);

    return text_bytes >= suffix_bytes &&
           memcmp(text + text_bytes - suffix_bytes, suffix, suffix_bytes) == 0;
}

const char *ntk_str_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t ntk_str_utf8_read(const char *text, size_t bytes, uint32_t *out_code)
{
    /* The smallest code point for each UTF-8 length: a longer encoding than necessary is
     * invalid. */
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *c = (const unsigned char *)text;
    size_t length;
    uint32_t code;

    if (bytes == 0) {
        return 0;
    }
    length = c[0] < 0x80   ? 1
             : c[0] < 0xc2 ? 0
             : c[0] < 0xe0 ? 2
             : c[0] < 0xf0 ? 3
             : c[0] < 0xf5 ? 4
                           : 0;
    if (length == 0 || length > bytes) {
        return 0;
    }
    code = length == 1 ? c[0] : c[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (c[i] & 0x3f);
    }
    if (code < least[length] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) {
        return 0; /* overlong, a surrogate, or beyond U+10FFFF */
    }
    *out_code = code;
    return length;
}

size_t ntk_str_first_cells(const char *text, size_t *out_bytes)
{
    uint32_t code;
    size_t bytes = ntk_str_utf8_read(text, strnlen(text, 4), &code);
    int cells = bytes > 1 ? wcwidth((wchar_t)code) : 1;

    *out_bytes = bytes > 0 ? bytes : 1;
    return cells < 0 ? 1 : (size_t)cells;
}

size_t ntk_str_cells(const char *text)
{
    size_t all = 0;
    size_t bytes;

    for (; *text; text += bytes) {
        all += ntk_str_first_cells(text, &bytes);
    }
    return all;
}

bool ntk_str_is_unsafe(uint32_t code)
{
    /* Unsafe characters in ascending order, from Unicode's Cc, Zl, Zp, Bidi_Control and
     * Default_Ignorable_Code_Point. */
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },       { 0x34f, 0x34f },
        { 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
        { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
        { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
        { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && code >= ranges[i].first; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* The number of bytes of the character at text, which has at least one byte. */
static size_t next_character(const char *text, size_t bytes, bool *out_is_clean)
{
    uint32_t code;
    size_t length = ntk_str_utf8_read(text, bytes, &code);

    *out_is_clean = length > 0 && !ntk_str_is_unsafe(code);
    return length ? length : 1;
}

size_t ntk_str_clean(char *text, size_t bytes)
{
    size_t end = strnlen(text, bytes);

    for (size_t at = 0; at < end;) {
        bool is_clean;
        size_t length = next_character(text + at, end - at, &is_clean);

        if (!is_clean) {
            memset(text + at, '?', length);
        }
        at += length;
    }
    return end;
}

void ntk_str_copy_clean(char *to, size_t to_bytes, const char *from, size_t from_bytes)
{
    size_t used = 0;
    size_t at = 0;

    if (to_bytes == 0) {
        return;
    }
    while (at < from_bytes && from[at] != '\0') {
        bool is_clean;
        size_t length = next_character(from + at, from_bytes - at, &is_clean);
        const char *source = is_clean ? from + at : "\xef\xbf\xbd";
        size_t source_bytes = is_clean ? length : 3;

        if (used + source_bytes > to_bytes - 1) {
            break;
        }
        memcpy(to + used, source, source_bytes);
        used += source_bytes;
        at += length;
    }
    to[used] = '\0';
}

size_t ntk_str_utf8(char to[4], uint32_t code)
{
    static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    size_t count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = count - 1; i > 0; i--) {
        to[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    to[0] = (char)(first[count] | code);
    return count;
}

void ntk_str_hex(char *to, const uint8_t *bytes, size_t bytes_count)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes_count; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
    to[2 * bytes_count] = '\0';
}
