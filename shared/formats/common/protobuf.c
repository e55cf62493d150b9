/* SPDX-License-Identifier: MIT */
#include "shared/formats/common/protobuf.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

static void *budget_alloc(void *data, size_t bytes_count)
{
    struct ntk_protobuf_budget *budget = data;

    if (bytes_count > budget->bytes_left) {
        return NULL;
    }
    void *p = malloc(bytes_count ? bytes_count : 1);
    if (!p) {
        return NULL;
    }
    size_t taken = malloc_usable_size(p);
    budget->bytes_left -= taken < budget->bytes_left ? taken : budget->bytes_left;
    return p;
}

static void budget_free(void *data, void *p)
{
    struct ntk_protobuf_budget *budget = data;

    if (p) {
        budget->bytes_left += malloc_usable_size(p);
        free(p);
    }
}

void ntk_protobuf_budget_init(struct ntk_protobuf_budget *budget, size_t bytes)
{
    *budget = (struct ntk_protobuf_budget){ bytes, { budget_alloc, budget_free, budget } };
}

static inline bool skip_varint(const uint8_t *bytes, size_t count, size_t *position,
                               uint64_t *out_value)
{
    uint64_t value = 0;

    if (*position < count && bytes[*position] < 0x80) { /* most numbers are small */
        *out_value = bytes[(*position)++];
        return true;
    }
    for (unsigned shift = 0; shift < 70 && *position < count; shift += 7) {
        uint8_t byte = bytes[(*position)++];
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if (!(byte & 0x80)) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

bool ntk_protobuf_next(const uint8_t *bytes, size_t count, size_t *position,
                       struct ntk_protobuf_field *out_field)
{
    const uint8_t *content = NULL;
    size_t at = *position;
    uint64_t length = 0;
    uint64_t value = 0;
    uint64_t tag;

    if (!skip_varint(bytes, count, &at, &tag)) {
        return false;
    }
    switch (tag & 7) {
    case 0:
        if (!skip_varint(bytes, count, &at, &value)) {
            return false;
        }
        break;
    case 1:
        length = 8;
        break;
    case 2:
        if (!skip_varint(bytes, count, &at, &length)) {
            return false;
        }
        content = bytes + at;
        break;
    case 5:
        length = 4;
        break;
    default:
        return false;
    }
    if (length > count - at) {
        return false;
    }
    for (size_t i = 0; !content && i < length; i++) { /* from the least significant byte */
        value |= (uint64_t)bytes[at + i] << (8 * i);
    }
    *position = at + (size_t)length;
    out_field->number = tag >> 3;
    out_field->kind = (enum ntk_protobuf_kind)(tag & 7);
    out_field->value = value;
    out_field->bytes = content;
    out_field->bytes_count = content ? (size_t)length : 0;
    return true;
}

bool ntk_protobuf_next_packed(const struct ntk_protobuf_field *list, size_t *position,
                              uint64_t *out_value)
{
    size_t at = *position;

    if (!skip_varint(list->bytes, list->bytes_count, &at, out_value)) {
        return false;
    }
    *position = at;
    return true;
}

size_t ntk_protobuf_complete_bytes(const uint8_t *bytes, size_t count)
{
    struct ntk_protobuf_field field;
    size_t position = 0;

    while (ntk_protobuf_next(bytes, count, &position, &field)) {
    }
    return position;
}
