/* SPDX-License-Identifier: MIT */
/*
 * vectors - the five blobs of docs/formats/popef.md, in hexadecimal.
 */
#ifndef NTK_TESTS_SHARED_FORMATS_POPEF_VECTORS_H
#define NTK_TESTS_SHARED_FORMATS_POPEF_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#define VECTOR_COUNT 5

static const struct {
    const char *kind;
    size_t bytes_count;
    const char *hex; /* blanks are for readability */
} vectors[VECTOR_COUNT] = {
    { "executable", 68,
      "4f50454601000000 00000000 06000000 4400000000000000 0600000000000000 0400000000000000 "
      "0400000000000000 6f7572732d310000 0200000034320000 45584543" },
    { "tensor", 96,
      "4f50454601000000 02000000 06000000 6000000000000000 2000000000000000 0800000000000000 "
      "0800000000000000 6f7572732d310000 0f000000 696e7075745f706172616d65746572 03 01000000 "
      "0200000000000000 0000803f 00000040" },
    { "feed", 94,
      "4f50454601000000 03000000 06000000 5e00000000000000 1a00000000000000 0600000000000000 "
      "0600000000000000 6f7572732d310000 01000000 78 06 01000000 0300000000000000 "
      "0200000000000000 000000000000 010203040506" },
    { "opaque", 75,
      "4f50454601000000 04000000 06000000 4b00000000000000 1000000000000000 0300000000000000 "
      "0300000000000000 6f7572732d310000 06000000 706f70617274 02000000 3432 010203" },
    { "metadata", 208,
      "4f50454601000000 01000000 06000000 d000000000000000 9500000000000000 0000000000000000 "
      "0000000000000000 6f7572732d310000 02000000 3432 0100000000000000 0100000000000000 "
      "0200000000000000 01 00 0100000000000000 0100000000000000 00000000 00000000 00000000 "
      "01000000 00000000 01000000 05000000 00000000 01000000 05000000 07000000 50726f6772616d "
      "01000000 01000000 61 05000000 6832645f61 01 00 00 0100000000000000 03 01000000 "
      "0200000000000000 01000000 05000000 000000" },
};

#define VECTOR_BYTES_MAX 256

static inline unsigned vector_digit(char c)
{
    return c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
}

/* The bytes of one vector; returns their number. */
static inline size_t vector_bytes(size_t index, uint8_t *to)
{
    size_t count = 0;

    for (const char *at = vectors[index].hex; *at;) {
        if (*at == ' ') {
            at++;
        } else {
            to[count++] = (uint8_t)(vector_digit(at[0]) << 4 | vector_digit(at[1]));
            at += 2;
        }
    }
    return count;
}

/* All five in a row; VECTOR_COUNT * VECTOR_BYTES_MAX bytes are enough. */
static inline size_t vector_all(uint8_t *to)
{
    size_t count = 0;

    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        count += vector_bytes(i, to + count);
    }
    return count;
}

#endif
