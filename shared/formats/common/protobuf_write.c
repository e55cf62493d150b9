/* SPDX-License-Identifier: MIT */
#include "shared/formats/common/protobuf_write.h"

#include <string.h>

#include "shared/formats/common/protobuf.h"

void ntk_protobuf_put_varint(struct ntk_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        ntk_buf_put_u8(buf, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    ntk_buf_put_u8(buf, (uint8_t)value);
}

static void put_tag(struct ntk_buf *buf, unsigned field, enum ntk_protobuf_kind kind)
{
    ntk_protobuf_put_varint(buf, (uint64_t)field << 3 | (uint64_t)kind);
}

void ntk_protobuf_put_number(struct ntk_buf *buf, unsigned field, uint64_t value)
{
    if (value) {
        put_tag(buf, field, NTK_PROTOBUF_VARINT);
        ntk_protobuf_put_varint(buf, value);
    }
}

void ntk_protobuf_put_float(struct ntk_buf *buf, unsigned field, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (bits) {
        put_tag(buf, field, NTK_PROTOBUF_FIXED32);
        ntk_buf_put_u32(buf, bits);
    }
}

void ntk_protobuf_put_head(struct ntk_buf *buf, unsigned field, size_t count)
{
    put_tag(buf, field, NTK_PROTOBUF_BYTES);
    ntk_protobuf_put_varint(buf, count);
}

void ntk_protobuf_put_bytes(struct ntk_buf *buf, unsigned field, const void *bytes, size_t count)
{
    ntk_protobuf_put_head(buf, field, count);
    ntk_buf_add(buf, bytes, count);
}

void ntk_protobuf_put_text(struct ntk_buf *buf, unsigned field, const char *text)
{
    if (text && text[0]) {
        ntk_protobuf_put_bytes(buf, field, text, strlen(text));
    }
}

void ntk_protobuf_put_message(struct ntk_buf *buf, unsigned field, struct ntk_buf *message)
{
    ntk_protobuf_put_bytes(buf, field, message->bytes, message->bytes_count);
    buf->failed = buf->failed || !ntk_buf_ok(message);
    ntk_buf_reset(message);
}
