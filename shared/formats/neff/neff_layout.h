/* SPDX-License-Identifier: MIT */
/*
 * neff_layout - the bytes at the start of a NEFF file.
 *
 *   offset size field
 *        0    8 pkg_version           1 or 2
 *        8    8 header_size           1024
 *       16    8 data_size             payload bytes
 *       24    8 neff_version_major
 *       32    8 neff_version_minor
 *       40  128 neff_build_version    text, NUL padded
 *      168    4 num_tpb               cores for efficient execution
 *      172   32 hash                  MD5 in the first 16 bytes (pkg 2) or SHA-256 (pkg 1)
 *      204   16 uuid
 *      220  256 name                  NUL-terminated
 *      476    4 requested_tpb_count
 *      480   64 tpb_per_node          one u8 per node
 *      544    8 feature_bits
 *      552    4 lnc_size              0 = 1
 *      556  468 pad                   zero
 *     1024    - payload               a tar archive, with or without gzip
 *
 * All integers are little-endian. The payload ends with zero bytes up to a multiple of 10240.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_LAYOUT_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_NEFF_HEADER_BYTES 1024
#define NTK_NEFF_PAYLOAD_ALIGN 10240

/* Natural alignment holds for every field, so no packing is needed. */
struct ntk_neff_layout_header {
    uint64_t pkg_version;
    uint64_t header_size;
    uint64_t data_size;
    uint64_t neff_version_major;
    uint64_t neff_version_minor;
    char neff_build_version[128];
    uint32_t num_tpb;
    uint8_t hash[32];
    uint8_t uuid[16];
    char name[256];
    uint32_t requested_tpb_count;
    uint8_t tpb_per_node[64];
    uint64_t feature_bits;
    uint32_t lnc_size;
    uint8_t pad[468];
};

static_assert(offsetof(struct ntk_neff_layout_header, num_tpb) == 168, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, hash) == 172, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, uuid) == 204, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, name) == 220, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, requested_tpb_count) == 476, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, tpb_per_node) == 480, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, feature_bits) == 544, "NEFF header");
static_assert(offsetof(struct ntk_neff_layout_header, lnc_size) == 552, "NEFF header");
static_assert(sizeof(struct ntk_neff_layout_header) == NTK_NEFF_HEADER_BYTES, "NEFF header");

#endif
