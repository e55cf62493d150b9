/* SPDX-License-Identifier: MIT */
/*
 * protobuf - helps to read protobuf messages from untrusted files: limits the memory used for
 * unpacking, and finds the intact part of a truncated message.
 *
 * Owner:   caller's storage.
 * Threads: one at a time per budget.
 */
#ifndef NTK_SHARED_FORMATS_COMMON_PROTOBUF_H
#define NTK_SHARED_FORMATS_COMMON_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Must not move between unpacking and freeing a message. */
struct ntk_protobuf_budget {
    size_t bytes_left;
    ProtobufCAllocator allocator; /* for protobuf_c_message_unpack() and _free_unpacked() */
};
void ntk_protobuf_budget_init(struct ntk_protobuf_budget *budget, size_t bytes);

enum ntk_protobuf_kind { /* numbers from the wire format */
                         NTK_PROTOBUF_VARINT = 0,
                         NTK_PROTOBUF_FIXED64 = 1,
                         NTK_PROTOBUF_BYTES = 2,
                         NTK_PROTOBUF_FIXED32 = 5,
};

/* One field in place, to read a message without unpacking it when few fields are needed. */
struct ntk_protobuf_field {
    uint64_t number;
    enum ntk_protobuf_kind kind;
    uint64_t value;       /* a varint or a fixed-size number; 0 for other kinds */
    const uint8_t *bytes; /* a text, message or packed list; NULL for other kinds */
    size_t bytes_count;
};
/* Reads the field at *position and moves *position to the field's end. Returns false at the end, or
 * if no complete field follows; *position is `count` only at the end. */
bool ntk_protobuf_next(const uint8_t *bytes, size_t count, size_t *position,
                       struct ntk_protobuf_field *out_field);
/* Reads the next number of a packed list in the same way. */
bool ntk_protobuf_next_packed(const struct ntk_protobuf_field *list, size_t *position,
                              uint64_t *out_value);

/* The number of bytes up to the end of the last complete field of a message. */
size_t ntk_protobuf_complete_bytes(const uint8_t *bytes, size_t count);

#ifdef __cplusplus
}
#endif
#endif
