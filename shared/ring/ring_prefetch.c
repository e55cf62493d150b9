/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_prefetch.h"

#include "shared/ring/ring_segment_private.h"

#define LINE_BYTES 64u
/* The processor continues by itself after the first lines of a larger object. */
#define STREAM_BYTES (4 * LINE_BYTES)

static void load(const void *from, size_t bytes)
{
    const char *at = from;

    for (size_t i = 0; i < bytes; i += LINE_BYTES) {
        __builtin_prefetch(at + i);
    }
}

static void load_entry(const struct ntk_ring_segment *segment, enum ntk_segment_section_id section,
                       uint32_t index, size_t bytes)
{
    if (index < segment->section[section].count) {
        load(segment_entry_at(segment, section, index), bytes);
    }
}

/* Loads what this process keeps about the segment. */
static void load_own(const struct ntk_ring_segment *segment)
{
    load(segment, offsetof(struct ntk_ring_segment, core_seen));
    load(&segment->readers[0], sizeof segment->readers[0]);
    load(&segment->ring_usable[0], 1);
}

/* Loads the parts of the segment that every process uses. */
static void load_mapped(const struct ntk_ring_segment *segment)
{
    uint32_t core = segment->first_core;

    load(&((const struct ntk_segment_header *)(const void *)segment->base)->events_without_ring,
         2 * LINE_BYTES);
    load_entry(segment, NTK_SECTION_PROCESS, 0, 2 * LINE_BYTES);
    load_entry(segment, NTK_SECTION_CORES, core, STREAM_BYTES);
    load_entry(segment, NTK_SECTION_MODELS, 0, STREAM_BYTES);
    load_entry(segment, NTK_SECTION_COMMS, 0, LINE_BYTES);
    load_entry(segment, NTK_SECTION_MEMORY, 0, STREAM_BYTES);
    load_entry(segment, NTK_SECTION_RINGS, 0, 2 * LINE_BYTES);
    load_entry(segment, NTK_SECTION_HISTOGRAMS, core, 2 * LINE_BYTES);
    if (core < NTK_SEGMENT_CORES) {
        load(&segment->core_seen[core], sizeof segment->core_seen[core]);
    }
}

void ntk_ring_prefetch_after(const struct ntk_ring_registry *registry, size_t index)
{
    const struct ntk_ring_segment *next = ntk_ring_registry_get(registry, index + 1);
    const struct ntk_ring_segment *second = ntk_ring_registry_get(registry, index + 2);

    if (second) {
        load_own(second);
    }
    if (next) {
        load_mapped(next);
    }
}
