/* SPDX-License-Identifier: MIT */
/*
 * vendor_reading - state shared by the parts of the reader of the vendor's ntrace.pb: the current
 * record with the values of its keys (vendor_keys.c), and lost and damaged parts (vendor_losses.c).
 *
 * Private to vendor_*.c of this folder. Owner: vendor_spans.c. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_VENDOR_READING_H
#define NTK_PROFILER_SYSTEM_VENDOR_READING_H

#include "profiler/system/span_reading.h"
#include "profiler/system/vendor_session.h"

#define NTK_VENDOR_TYPES_MAX 1024U /* number of ids with names that are looked up once */
#define NTK_VENDOR_RINGS 65536U
#define NTK_VENDOR_KEY_SLOTS 64U /* more than the number of keys */

enum vendor_key {
    KEY_NC,
    KEY_WORKER,
    KEY_EXEC,
    KEY_MODEL,
    KEY_DEVICE_CORE,
    KEY_DEVICE_NS,
    KEY_SIZE,
    KEY_QUEUE,
    KEY_HBM,
    KEY_MLA,
    KEY_IS_HBM,
    KEY_ALLOCATED,
    KEY_FREED,
    KEY_TOTAL,
    KEY_USAGE_TOTAL,
    KEY_ADDRESS,
    KEY_CODE,
    KEY_VALUE,
    KEY_OPERATION,
    KEY_NUMBERS, /* larger values are numbers */
    KEY_USAGE_TYPE = KEY_NUMBERS,
    KEY_USAGE, /* only this project's runtime writes the following keys */
    KEY_TENSOR,
    KEY_MARK,
    KEY_COMMUNICATOR,
    KEY_COUNT,
};

struct vendor_ring {
    uint64_t first, last, count;
};

struct vendor_reading {
    struct span_reading base;
    struct vendor_ring *rings;
    const char *types[NTK_VENDOR_TYPES_MAX];
    const char *word, *use;                  /* last use of memory, in the file and in outputs */
    uint8_t key_slots[NTK_VENDOR_KEY_SLOTS]; /* key + 1; 0 if free */
    /* Values of the keys in the current record. */
    uint64_t number[KEY_NUMBERS];
    bool has[KEY_COUNT];
    struct ntk_vendor_trace_text text[KEY_COUNT];
    struct ntk_vendor_trace_record record;
    uint64_t damaged, damaged_at; /* number of incomplete records; offset of the first */
    uint64_t skipped_fields, no_time, no_phase, other_type, backwards;
    uint64_t too_many; /* number of ends that were not joined, beyond the limit */
};

/* ---- vendor_keys.c ---- */

void ntk_vendor_keys_init(struct vendor_reading *reading);
/* Sorts the keys of the record into known values and additional keys, which start at *out_extra.
 * Returns 0 or -errno. */
int ntk_vendor_keys_take(struct vendor_reading *reading, uint64_t *out_extra);
/* Returns the value of a key, limited to the largest number. */
uint32_t ntk_vendor_key_32(const struct vendor_reading *reading, enum vendor_key key);

/* ---- vendor_losses.c ---- */

void ntk_vendor_number_count(struct vendor_reading *reading, uint64_t number);
/* Adds notes about lost and damaged parts to the trace. */
void ntk_vendor_losses_note(struct vendor_reading *reading);

#endif
