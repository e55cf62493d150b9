/* SPDX-License-Identifier: MIT */
/*
 * ring_segment_private - reads tables while their writer changes them; shared by the files
 * ring_segment*.c.
 */
#ifndef NTK_SHARED_RING_RING_SEGMENT_PRIVATE_H
#define NTK_SHARED_RING_RING_SEGMENT_PRIVATE_H

#include "shared/ring/ring_segment.h"

#define TRIES 3 /* tries of a sequence protocol, after which the last valid values are used */

static inline const uint8_t *segment_entry_at(const struct ntk_ring_segment *segment,
                                              enum ntk_segment_section_id section, uint32_t index)
{
    return segment->section[section].at + (size_t)index * segment->section[section].entry_bytes;
}

/* Copies consecutive 64-bit words that the writer may be changing. */
static inline void segment_copy_words(void *to, const void *from, size_t bytes)
{
    const ntk_abi_word *source = from;
    ntk_abi_word *target = to;
    size_t i;

    for (i = 0; i < bytes / sizeof *target; i++) {
        target[i] = ntk_abi_load(&source[i]);
    }
}

/* Makes text printable in place, up to its NUL or end, and adds a NUL; buf has bytes + 1 bytes. */
size_t ntk_ring_segment_make_printable(char *buf, size_t bytes);
/* Copies a fixed-size field as printable text; out has bytes + 1 bytes. */
void ntk_ring_segment_take_text(char *out, const char *field, size_t bytes);

#endif
