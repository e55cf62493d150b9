/* SPDX-License-Identifier: MIT */
/* neff_npy - reads the header of a NumPy array file: magic, version, length, a Python dictionary as
 * text. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "shared/base/cursor.h"
#include "shared/formats/neff/neff.h"

#define BAD(...) ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

/* The text after 'key': in the dictionary, or NULL if the key is missing. */
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = text; (at = strstr(at, key)); at += length) {
        const char *after = at + length;

        if (at > text && (at[-1] == '\'' || at[-1] == '"') && *after == at[-1]) {
            after++;
            while (isspace((unsigned char)*after)) {
                after++;
            }
            if (*after == ':') {
                after++;
                while (isspace((unsigned char)*after)) {
                    after++;
                }
                return after;
            }
        }
    }
    return NULL;
}

static int parse_shape(const char *text, struct ntk_neff_npy *npy, struct ntk_err *err)
{
    if (!text || *text != '(') {
        return BAD("the header has no shape");
    }
    text++;
    for (;;) {
        uint64_t value = 0;

        while (isspace((unsigned char)*text) || *text == ',') {
            text++;
        }
        if (*text == ')') {
            return 0;
        }
        if (!isdigit((unsigned char)*text)) {
            return BAD("the shape in the header is damaged");
        }
        while (isdigit((unsigned char)*text)) {
            if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
                __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) {
                return BAD("a dimension in the header is too large");
            }
            text++;
        }
        if (npy->dim_count == NTK_NEFF_DIMS_MAX) {
            return BAD("too many dimensions (at most %d)", NTK_NEFF_DIMS_MAX);
        }
        npy->dims[npy->dim_count++] = value;
    }
}

/* The element size in "<f4": the digits after byte order and kind; 0 for any other text. */
static uint64_t element_bytes(const char *descr)
{
    uint64_t bytes = 0;

    if (*descr == '<' || *descr == '|' || *descr == '=') {
        descr++;
    }
    if (!strchr("fiubcV", *descr) || *descr == '\0') {
        return 0;
    }
    for (descr++; isdigit((unsigned char)*descr) && bytes < 1024; descr++) {
        bytes = bytes * 10 + (uint64_t)(*descr - '0');
    }
    return *descr == '\0' ? bytes : 0;
}

int ntk_neff_npy_read_start(const void *bytes, size_t start_bytes, uint64_t bytes_count,
                            struct ntk_neff_npy *out_npy, size_t *out_offset, struct ntk_err *err)
{
    struct ntk_neff_npy npy = { 0 };
    struct ntk_cursor cursor;
    const uint8_t *magic;
    const uint8_t *header;
    char text[4096];
    size_t header_bytes;
    const char *value;
    size_t length;
    uint64_t total;
    uint8_t version;
    int ret;

    ntk_cursor_init(&cursor, bytes, start_bytes);
    magic = ntk_cursor_take(&cursor, 6);
    if (!magic || memcmp(magic, "\x93NUMPY", 6) != 0) {
        return BAD("not a NumPy array file");
    }
    version = ntk_cursor_u8(&cursor);
    ntk_cursor_u8(&cursor);
    if (version < 1 || version > 3) {
        return BAD("unsupported NumPy file version %u", version);
    }
    header_bytes = version == 1 ? ntk_cursor_u16(&cursor) : ntk_cursor_u32(&cursor);
    header = ntk_cursor_take(&cursor, header_bytes);
    if (!header) {
        return BAD("the file ends inside the header");
    }
    if (header_bytes >= sizeof text) {
        return BAD("the header of %zu bytes is too long", header_bytes);
    }
    memcpy(text, header, header_bytes);
    text[header_bytes] = '\0';

    value = value_of(text, "descr");
    if (!value || (*value != '\'' && *value != '"')) {
        return BAD("the header has no descr");
    }
    length = strcspn(value + 1, "'\"");
    if (length >= sizeof npy.descr) {
        return BAD("the descr of the header is too long");
    }
    memcpy(npy.descr, value + 1, length);
    total = element_bytes(npy.descr);
    if (total == 0) {
        return BAD("unsupported element type '%s'", npy.descr);
    }
    value = value_of(text, "fortran_order");
    npy.fortran_order = value && strncmp(value, "True", 4) == 0;
    ret = parse_shape(value_of(text, "shape"), &npy, err);
    if (ret < 0) {
        return ret;
    }
    for (uint32_t i = 0; i < npy.dim_count; i++) {
        if (__builtin_mul_overflow(total, npy.dims[i], &total)) {
            return BAD("the array is too large");
        }
    }
    if (total > bytes_count - cursor.position) {
        return BAD("the array is truncated after %llu bytes",
                   (unsigned long long)(bytes_count - cursor.position));
    }
    npy.data_bytes = (size_t)total;
    *out_npy = npy;
    *out_offset = cursor.position;
    return 0;
}

int ntk_neff_npy_read(const void *bytes, size_t bytes_count, struct ntk_neff_npy *out_npy,
                      struct ntk_err *err)
{
    size_t offset = 0;
    int ret = ntk_neff_npy_read_start(bytes, bytes_count, bytes_count, out_npy, &offset, err);

    if (ret == 0) {
        out_npy->data = (const uint8_t *)bytes + offset;
    }
    return ret;
}
