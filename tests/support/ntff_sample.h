/* SPDX-License-Identifier: MIT */
/*
 * ntff_sample - a small capture made byte by byte, in each version, with answers known by
 * construction, so that the expected results of a reader do not depend on our writer.
 *
 * One subgraph on core 4 of a trn2.3xlarge; the execution takes 100 us. Times below are ns since
 * its start.
 *
 *   Tensor  slot 0 NOTIFY 0-1 · 1 MATMUL 10000-30000 (512 columns) · 2 MATMUL 20000-40000 (128
 *           columns, transpose) · 3 EVENT_SEMAPHORE 40000-90000 · 4 NOTIFY 99999-100000 · 5 NOP
 *           before the start
 *   GpSimd  slot 0 DMA_DIRECT2D 1000-2000 (512 bytes from HBM) · 1 DMA_DIRECT2D 50000-51000 (256 to
 *           HBM)
 *   changes semaphore 3 to 1 at 2000 by GpSimd · event 9 set at 90000 by Tensor · semaphore 4 to 7
 *           at 95000 by DMA with bit 30 · one after the end
 *   DMA     qPoolDynamic (E64 Q0) 3000-5000 512 bytes, 5000-5500 4 bytes · qSPDynamicHW (E64 Q1)
 *           52000-54000 256 bytes · qActTable (E65 Q14) 60000-61000 1000 bytes · E65 Q0: a ring
 *           with a packet in progress at the start, which loses its packets
 *   throttle activity_0 8/8 from 10000 · activity_1 4/8 from 30000 · one record with n = 0
 */
#ifndef NTK_TESTS_NTFF_SAMPLE_H
#define NTK_TESTS_NTFF_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/buf.h"

#define NTFF_SAMPLE_UUID_TEXT "000102030405060708090a0b0c0d0e0f"

struct ntff_sample {
    unsigned version;      /* 4, 5 or 6 */
    uint8_t reserved;      /* value of bytes 8 to 0x7f */
    const uint8_t *uuid;   /* 16 bytes, written as a C string; NULL: the default below, complete */
    bool is_uuid_once;     /* version 6: omitted in the execution */
    bool is_uuid_in_node;  /* complete */
    uint64_t header_bytes; /* results */
    uint64_t payload_offset;
};

/* Appends the file to out. */
void ntff_sample_build(struct ntff_sample *sample, struct ntk_buf *out);

/* Protobuf, as bytes. */
void ntff_sample_varint(struct ntk_buf *out, unsigned field, uint64_t value);
void ntff_sample_bytes(struct ntk_buf *out, unsigned field, const void *bytes, size_t bytes_count);
/* The 128 bytes before a header message of this length. */
void ntff_sample_head(struct ntk_buf *out, unsigned version, uint64_t header_bytes,
                      uint8_t reserved);

#endif
