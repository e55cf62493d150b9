/* SPDX-License-Identifier: MIT */
/* thrift - writes structs in Thrift's compact protocol. */
#include "shared/parquet/thrift.h"

#include <assert.h>
#include <string.h>

enum {
    TYPE_TRUE = 1,
    TYPE_FALSE = 2,
    TYPE_I32 = 5,
    TYPE_I64 = 6,
    TYPE_BINARY = 8,
    TYPE_LIST = 9,
    TYPE_STRUCT = 12,
    FIELD_DELTA_MAX = 15,
    LIST_SHORT_MAX = 14,
};

void ntk_thrift_init(struct ntk_thrift *thrift, struct ntk_buf *buf)
{
    *thrift = (struct ntk_thrift){ .buf = buf };
}

void ntk_thrift_varint(struct ntk_buf *buf, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        ntk_buf_put_u8(buf, (uint8_t)(value | 0x80));
    }
    ntk_buf_put_u8(buf, (uint8_t)value);
}

static void put_zigzag(struct ntk_buf *buf, int64_t value)
{
    ntk_thrift_varint(buf, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_text(struct ntk_buf *buf, const char *text)
{
    ntk_thrift_varint(buf, strlen(text));
    ntk_buf_add_text(buf, text);
}

static void put_field(struct ntk_thrift *thrift, int field, int type)
{
    int *last = &thrift->last[thrift->depth - 1];

    assert(thrift->depth > 0 && field > *last && field - *last <= FIELD_DELTA_MAX);
    ntk_buf_put_u8(thrift->buf, (uint8_t)((field - *last) << 4 | type));
    *last = field;
}

void ntk_thrift_i32(struct ntk_thrift *thrift, int field, int32_t value)
{
    put_field(thrift, field, TYPE_I32);
    put_zigzag(thrift->buf, value);
}

void ntk_thrift_i64(struct ntk_thrift *thrift, int field, int64_t value)
{
    put_field(thrift, field, TYPE_I64);
    put_zigzag(thrift->buf, value);
}

void ntk_thrift_bool(struct ntk_thrift *thrift, int field, bool value)
{
    put_field(thrift, field, value ? TYPE_TRUE : TYPE_FALSE);
}

void ntk_thrift_binary(struct ntk_thrift *thrift, int field, const void *bytes, size_t bytes_count)
{
    put_field(thrift, field, TYPE_BINARY);
    ntk_thrift_varint(thrift->buf, bytes_count);
    ntk_buf_add(thrift->buf, bytes, bytes_count);
}

void ntk_thrift_text(struct ntk_thrift *thrift, int field, const char *text)
{
    put_field(thrift, field, TYPE_BINARY);
    put_text(thrift->buf, text);
}

void ntk_thrift_list(struct ntk_thrift *thrift, int field, enum ntk_thrift_type type, size_t count)
{
    put_field(thrift, field, TYPE_LIST);
    if (count <= LIST_SHORT_MAX) {
        ntk_buf_put_u8(thrift->buf, (uint8_t)(count << 4 | type));
    } else {
        ntk_buf_put_u8(thrift->buf, (uint8_t)(0xf0 | type));
        ntk_thrift_varint(thrift->buf, count);
    }
}

void ntk_thrift_element_i32(struct ntk_thrift *thrift, int32_t value)
{
    put_zigzag(thrift->buf, value);
}

void ntk_thrift_element_text(struct ntk_thrift *thrift, const char *text)
{
    put_text(thrift->buf, text);
}

void ntk_thrift_begin(struct ntk_thrift *thrift, int field)
{
    if (field) {
        put_field(thrift, field, TYPE_STRUCT);
    }
    assert(thrift->depth < NTK_THRIFT_DEPTH_MAX);
    thrift->last[thrift->depth++] = 0;
}

void ntk_thrift_end(struct ntk_thrift *thrift)
{
    ntk_buf_put_u8(thrift->buf, 0);
    thrift->depth--;
}
