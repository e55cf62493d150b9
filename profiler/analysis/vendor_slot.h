/* SPDX-License-Identifier: MIT */
/*
 * vendor_slot - the few fields of a Trainium2 instruction slot whose meaning is known, for reading
 * captures of real hardware. docs/formats/ntff.md has the table.
 */
#ifndef NTK_PROFILER_ANALYSIS_VENDOR_SLOT_H
#define NTK_PROFILER_ANALYSIS_VENDOR_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#define NTK_VENDOR_SLOT_GENERATION 3 /* NC-v3 */

static inline uint64_t ntk_vendor_slot_u(const uint8_t *slot, unsigned offset, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)slot[offset + i] << (8 * i);
    }
    return value;
}

/* MATMUL: columns of the moving tile; LDWEIGHTS, MATMUL: moves data only. */
static inline uint64_t ntk_vendor_slot_moving(const uint8_t *slot)
{
    return ntk_vendor_slot_u(slot, 26, 2) * ntk_vendor_slot_u(slot, 28, 2) *
           ntk_vendor_slot_u(slot, 30, 2);
}

static inline bool ntk_vendor_slot_is_transpose(const uint8_t *slot)
{
    return slot[34] == 1;
}

/* DMA_DIRECT2D */
static inline uint64_t ntk_vendor_slot_dma_bytes(const uint8_t *slot)
{
    return ntk_vendor_slot_u(slot, 36, 2) * ntk_vendor_slot_u(slot, 32, 2) *
           ntk_vendor_slot_u(slot, 34, 2);
}

static inline bool ntk_vendor_slot_address_is_hbm(uint64_t address)
{
    return address >> 56 == 0x20 || !((address >> 37) & 1);
}

static inline bool ntk_vendor_slot_dma_from_hbm(const uint8_t *slot)
{
    return ntk_vendor_slot_address_is_hbm(ntk_vendor_slot_u(slot, 16, 8));
}

static inline bool ntk_vendor_slot_dma_to_hbm(const uint8_t *slot)
{
    return ntk_vendor_slot_address_is_hbm(ntk_vendor_slot_u(slot, 40, 8));
}

#endif
