/* SPDX-License-Identifier: MIT */
/*
 * ntff_layout - the bytes of a capture file that are not protobuf. Little-endian.
 *
 *   offset size field
 *        0    1 version
 *        1    7 length L of the header message
 *        8  120 reserved: garbage in real files, zero in ours, never read
 *     0x80    L header message (ntff.proto)
 *   0x80+L    - payload; offsets of buffers and sections count from here
 *
 * A record of a section:
 *
 *   offset size field
 *        0    4 w0            source and kind
 *        4    4 w1  details
 *        8    8 time: ps, in version 4 raw ticks of the clock of its source
 */
#ifndef NTK_SHARED_FORMATS_NTFF_NTFF_LAYOUT_H
#define NTK_SHARED_FORMATS_NTFF_NTFF_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define NTK_NTFF_HEADER_OFFSET 0x80
#define NTK_NTFF_RECORD_BYTES 16

struct ntk_ntff_raw_record {
    uint32_t w0;
    uint32_t w1;
    uint64_t time;
};
static_assert(sizeof(struct ntk_ntff_raw_record) == NTK_NTFF_RECORD_BYTES,
              "NTFF: a record is 16 bytes");
static_assert(offsetof(struct ntk_ntff_raw_record, w1) == 4, "NTFF record");
static_assert(offsetof(struct ntk_ntff_raw_record, time) == 8, "NTFF record");

/* w0 of an instruction record: top byte 0x80 | (engine + 1) << 2 | phase, low 24 bits address >>
 * 6. */
#define NTK_NTFF_W0_TRACE 0x80000000u
#define NTK_NTFF_W0_ADDRESS_MASK 0xffffffu
/* Mask of the slot number. Bit 21 of an address is sometimes set, with an unknown meaning. */
#define NTK_NTFF_SLOT_MASK 0x1fffffu
#define NTK_NTFF_PHASE_START 0u
#define NTK_NTFF_PHASE_END 1u
/* Changes of semaphores and events have phase 3; bit 30 may be set in addition. */
#define NTK_NTFF_PHASE_EVENT 3u
#define NTK_NTFF_W0_BIT30 0x40000000u
#define NTK_NTFF_W0_SEMAPHORE 0x100u
/* w1 of a DMA record: values of its low 4 bits. */
#define NTK_NTFF_DMA_START 1u
#define NTK_NTFF_DMA_END 5u
#define NTK_NTFF_DMA_COMPLETION 6u
/* Errors of our software core have phase 2 and a mark in w1, because the hardware's format is
 * unknown. */
#define NTK_NTFF_PHASE_ERROR 2u
#define NTK_NTFF_W1_ERROR_MARK 0x4e540000u
#define NTK_NTFF_W1_ERROR_MARK_MASK 0xffff0000u
#define NTK_NTFF_THROTTLE_BYTE 0x9eu
#define NTK_NTFF_CRC_NONE 0xffffu

/* Maximum size of the header message that the reader accepts. */
#define NTK_NTFF_HEADER_BYTES_MAX (UINT64_C(512) << 20)

#endif
