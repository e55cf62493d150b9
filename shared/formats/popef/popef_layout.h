/* SPDX-License-Identifier: MIT */
/*
 * popef_layout - the byte layout of OPEF 1, little endian; docs/formats/popef.md has the info
 * sections.
 *
 *   offset size field
 *        0    4 magic        "OPEF"
 *        4    2 format       1
 *        6    2 flags        bit 0: data is a zlib stream; the others 0
 *        8    4 type         enum popef_blob_type
 *       12    4 version_bytes
 *       16    8 size         48 + pad8(version_bytes) + pad8(info_bytes) + data_bytes
 *       24    8 info_bytes
 *       32    8 data_bytes   as stored
 *       40    8 full_bytes   after inflation; data_bytes when not compressed
 *       48      version string, padded with zeros to a multiple of 8
 *        …      info section, padded in the same way
 *        …      data; the next blob begins right after it
 */
#ifndef NTK_SHARED_FORMATS_POPEF_POPEF_LAYOUT_H
#define NTK_SHARED_FORMATS_POPEF_POPEF_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/formats/popef/popef.h"

#define NTK_OPEF_MAGIC "OPEF"
#define NTK_OPEF_FORMAT 1
#define NTK_OPEF_FLAG_COMPRESSED 1u
#define NTK_OPEF_FLAGS_KNOWN NTK_OPEF_FLAG_COMPRESSED
/* Our content of the version string. */
#define NTK_OPEF_VERSION "ours-1"

struct ntk_opef_header {
    char magic[4];
    uint16_t format;
    uint16_t flags;
    uint32_t type;
    uint32_t version_bytes;
    uint64_t size;
    uint64_t info_bytes;
    uint64_t data_bytes;
    uint64_t full_bytes;
};

#define NTK_OPEF_HEADER_BYTES 48

static_assert(sizeof(struct ntk_opef_header) == NTK_OPEF_HEADER_BYTES, "OPEF 1: the header");
static_assert(offsetof(struct ntk_opef_header, format) == 4, "OPEF 1: format");
static_assert(offsetof(struct ntk_opef_header, flags) == 6, "OPEF 1: flags");
static_assert(offsetof(struct ntk_opef_header, type) == 8, "OPEF 1: type");
static_assert(offsetof(struct ntk_opef_header, version_bytes) == 12, "OPEF 1: version length");
static_assert(offsetof(struct ntk_opef_header, size) == 16, "OPEF 1: size");
static_assert(offsetof(struct ntk_opef_header, info_bytes) == 24, "OPEF 1: info length");
static_assert(offsetof(struct ntk_opef_header, data_bytes) == 32, "OPEF 1: data length");
static_assert(offsetof(struct ntk_opef_header, full_bytes) == 40, "OPEF 1: inflated length");
static_assert(POPEF_BLOB_OPAQUE == 4 && POPEF_U64 == 12 && POPEF_F8152 == 14, "OPEF 1: numbers");

/* Rounds up to the next multiple of 8; bytes must be below 2^63. */
static inline uint64_t ntk_opef_pad8(uint64_t bytes)
{
    return (bytes + 7) & ~(uint64_t)7;
}

#endif
