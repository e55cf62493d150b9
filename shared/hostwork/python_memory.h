/* SPDX-License-Identifier: MIT */
/*
 * python_memory - how python.c and python_offsets.c read the process.
 */
#ifndef NTK_SHARED_HOSTWORK_PYTHON_MEMORY_H
#define NTK_SHARED_HOSTWORK_PYTHON_MEMORY_H

#include <string.h>

#include "shared/hostwork/python.h"

static inline uint64_t u64_at(const uint8_t *bytes, size_t at)
{
    uint64_t value;

    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static inline bool read_bytes(const struct ntk_host_memory *memory, uint64_t address, void *out,
                              size_t bytes)
{
    const struct ntk_host_range range = { address, bytes };

    return memory->read(memory->ctx, &range, 1, out) == bytes;
}

#endif
