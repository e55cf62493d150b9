/* SPDX-License-Identifier: MIT */
/*
 * mlumodel_layout - the bytes of an offline model, version 1. Numbers are little-endian.
 *
 *   offset size field
 *        0    8 magic "NTKMLU1" and a NUL
 *        8    4 version        1
 *       12    4 head_bytes     64
 *       16    8 file_bytes     all of the file
 *       24    4 function_count 1 .. 4096
 *       28    4 entry_bytes    128
 *       32    8 table_offset   of the entries
 *       40   24 reserved       0
 *
 * An entry:
 *        0   64 symbol         text, at least one NUL at its end
 *       64    8 program_offset multiple of 64
 *       72    8 program_bytes  at least 1
 *       80    4 parallelism    at least 1
 *       84   44 reserved       0
 */
#ifndef NTK_SHARED_FORMATS_MLUMODEL_MLUMODEL_LAYOUT_H
#define NTK_SHARED_FORMATS_MLUMODEL_MLUMODEL_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define MLUMODEL_MAGIC UINT64_C(0x31554c4d4b544e) /* "NTKMLU1" and a NUL */
#define MLUMODEL_VERSION 1U
#define MLUMODEL_ALIGN 64U

struct mlumodel_head {
    uint64_t magic;
    uint32_t version;
    uint32_t head_bytes;
    uint64_t file_bytes;
    uint32_t function_count;
    uint32_t entry_bytes;
    uint64_t table_offset;
    uint8_t reserved[24];
};
static_assert(sizeof(struct mlumodel_head) == 64, "offline model 1");
static_assert(offsetof(struct mlumodel_head, file_bytes) == 16, "offline model 1");
static_assert(offsetof(struct mlumodel_head, function_count) == 24, "offline model 1");
static_assert(offsetof(struct mlumodel_head, table_offset) == 32, "offline model 1");

struct mlumodel_entry {
    char symbol[64];
    uint64_t program_offset;
    uint64_t program_bytes;
    uint32_t parallelism;
    uint8_t reserved[44];
};
static_assert(sizeof(struct mlumodel_entry) == 128, "offline model 1");
static_assert(offsetof(struct mlumodel_entry, program_offset) == 64, "offline model 1");
static_assert(offsetof(struct mlumodel_entry, parallelism) == 80, "offline model 1");

#endif
