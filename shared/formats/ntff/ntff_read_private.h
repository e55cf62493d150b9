/* SPDX-License-Identifier: MIT */
/*
 * ntff_read_private - shared by the files of the capture reader, with settings that tests change.
 */
#ifndef NTK_SHARED_FORMATS_NTFF_NTFF_READ_PRIVATE_H
#define NTK_SHARED_FORMATS_NTFF_NTFF_READ_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/* Smaller files are copied, so that a file that shrinks during reading does no harm. Tests lower
 * this limit to use mapping with small captures. */
extern size_t ntk_ntff_map_from_bytes;

static inline uint32_t ntff_load_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

#endif
