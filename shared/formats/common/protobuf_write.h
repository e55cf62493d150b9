/* SPDX-License-Identifier: MIT */
/*
 * protobuf_write - appends fields of protobuf messages to a buffer. As in all protobuf writers, a
 * number of 0 and an empty text are omitted.
 *
 * Errors:  the same as buf.h; the buffer keeps them.
 * Owner:  nothing is owned. Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_COMMON_PROTOBUF_WRITE_H
#define NTK_SHARED_FORMATS_COMMON_PROTOBUF_WRITE_H

#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of bytes that _put_varint() appends. */
static inline size_t ntk_protobuf_varint_bytes(uint64_t value)
{
    size_t bytes = 1;

    for (; value >= 0x80; value >>= 7) {
        bytes++;
    }
    return bytes;
}

void ntk_protobuf_put_varint(struct ntk_buf *buf, uint64_t value);
void ntk_protobuf_put_number(struct ntk_buf *buf, unsigned field, uint64_t value);
void ntk_protobuf_put_float(struct ntk_buf *buf, unsigned field, float value);
/* Appends the bytes before a message of this many bytes; the caller appends the message. */
void ntk_protobuf_put_head(struct ntk_buf *buf, unsigned field, size_t count);
/* Appends a text, a message or a packed list, even if it is empty. */
void ntk_protobuf_put_bytes(struct ntk_buf *buf, unsigned field, const void *bytes, size_t count);
void ntk_protobuf_put_text(struct ntk_buf *buf, unsigned field, const char *text);
/* Appends a message and empties its buffer for the next one; a failure is stored in buf. */
void ntk_protobuf_put_message(struct ntk_buf *buf, unsigned field, struct ntk_buf *message);

#ifdef __cplusplus
}
#endif
#endif
