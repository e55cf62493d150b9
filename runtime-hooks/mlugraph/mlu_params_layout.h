/* SPDX-License-Identifier: MIT */
/*
 * mlu_params_layout - the bytes of a raw parameter file, version 1. All numbers are little-endian.
 *
 *   header   offset size field
 *                 0    8 magic        "NTKPARAM"
 *                 8    4 version      1
 *                12    4 count        of entries
 *                16    8 file_bytes   of the whole file
 *                24    8 reserved     0
 *   entries, count of them, right after the header
 *                 0    4 dtype        mlu_dtype.def
 *                 4    4 dim_count    0 to 8
 *                 8   64 dims[8]      unused ones are 0
 *                72    8 name_offset  in the file
 *                80    8 name_bytes   1 to 1024, no NUL
 *                88    8 data_offset  in the file, a multiple of 64
 *                96    8 data_bytes   elements in C order
 *   names and data in any order, between the entries and the end
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_PARAMS_LAYOUT_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_PARAMS_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define MLU_PARAMS_MAGIC "NTKPARAM"
#define MLU_PARAMS_VERSION 1
#define MLU_PARAMS_ALIGN 64
#define MLU_PARAMS_NAME_BYTES_MAX 1024

struct mlu_params_header {
    char magic[8];
    uint32_t version;
    uint32_t count;
    uint64_t file_bytes;
    uint64_t reserved;
};

struct mlu_params_entry {
    uint32_t dtype;
    uint32_t dim_count;
    uint64_t dims[8];
    uint64_t name_offset;
    uint64_t name_bytes;
    uint64_t data_offset;
    uint64_t data_bytes;
};

static_assert(sizeof(struct mlu_params_header) == 32, "raw parameters 1: header");
static_assert(offsetof(struct mlu_params_header, file_bytes) == 16, "raw parameters 1: header");
static_assert(sizeof(struct mlu_params_entry) == 104, "raw parameters 1: entry");
static_assert(offsetof(struct mlu_params_entry, name_offset) == 72, "raw parameters 1: entry");
static_assert(offsetof(struct mlu_params_entry, data_bytes) == 96, "raw parameters 1: entry");

#endif
