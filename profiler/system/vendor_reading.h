/* SPDX-License-Identifier: MIT */
/*
 * vendor_reading - what the parts of the reader of the vendor's ntrace.pb share: the current record
 * with the values of its keys (vendor_keys.c), spans that wait for their other end
 * (vendor_waiting.c), and what was lost or damaged (vendor_losses.c).
 *
 * Private to vendor_*.c and own_spans.c of this folder. Owner: vendor_spans.c, own_spans.c. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_VENDOR_READING_H
#define NTK_PROFILER_SYSTEM_VENDOR_READING_H

#include "profiler/system/vendor_session.h"

/* Spans that wait at a time; their table is half full then and has 64 MiB. */
#define NTK_VENDOR_WAITING_MAX (((size_t)2 << 20) - 1)
#define NTK_VENDOR_TYPES_MAX 1024U /* ids whose name is looked up once */
#define NTK_VENDOR_RINGS 65536U
#define NTK_VENDOR_KEY_SLOTS 64U     /* more than there are keys */
#define NTK_VENDOR_PASS_SPANS 65536U /* after this many passes mapped memory is given back */
/* What a list of spans keeps on the heap. */
#define NTK_VENDOR_SPANS_HEAP_BYTES ((size_t)24 << 20)

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
    KEY_NUMBERS, /* those above are numbers */
    KEY_USAGE_TYPE = KEY_NUMBERS,
    KEY_USAGE, /* from here on only our runtime writes them */
    KEY_TENSOR,
    KEY_MARK,
    KEY_COMMUNICATOR,
    KEY_COUNT,
};

struct vendor_ring {
    uint64_t first, last, count;
};

struct vendor_slot { /* of the table of spans that wait for their other end */
    uint64_t tracking_id;
    uint64_t span; /* index + 1; 0: free */
};

/* Spans that wait for their other end, by tracking id. */
struct vendor_waiting {
    struct vendor_slot *slots;
    size_t slot_count, count;
};

struct vendor_reading {
    struct ntk_system_trace *trace;
    struct ntk_long_list spans; /* in the order of the file; one without a type is dropped */
    struct vendor_waiting waiting;
    struct vendor_ring *rings;
    const char *types[NTK_VENDOR_TYPES_MAX];
    const char *word, *use; /* the last use of memory, as the file and as outputs call it */
    uint8_t key_slots[NTK_VENDOR_KEY_SLOTS]; /* key + 1; 0: free */
    /* The values of the keys of the current record. */
    uint64_t number[KEY_NUMBERS];
    bool has[KEY_COUNT];
    struct ntk_vendor_trace_text text[KEY_COUNT];
    struct ntk_vendor_trace_record record;
    uint64_t damaged, damaged_at; /* records that are not whole; the first */
    uint64_t skipped_fields, no_time, no_phase, no_start, other_type, backwards;
    uint64_t too_many; /* ends of spans that are not joined with the other one */
    struct ntk_err *err;
};

/* ---- vendor_keys.c ---- */

void ntk_vendor_keys_init(struct vendor_reading *reading);
/* Sorts the keys of the record into known values and further ones, which begin at *out_extra. 0 or
 * -errno. */
int ntk_vendor_keys_take(struct vendor_reading *reading, uint64_t *out_extra);
/* The largest number where it does not fit. */
uint32_t ntk_vendor_key_32(const struct vendor_reading *reading, enum vendor_key key);

/* ---- vendor_waiting.c ---- */

/* That of the span; a free one where none waits. NULL without memory. */
struct vendor_slot *ntk_vendor_waiting_find(struct vendor_waiting *waiting, uint64_t tracking_id);
/* What waits in the slot from now on. False: too many wait already. */
bool ntk_vendor_waiting_put(struct vendor_waiting *waiting, struct vendor_slot *slot,
                            uint64_t tracking_id, uint64_t span);
void ntk_vendor_waiting_remove(struct vendor_waiting *waiting, struct vendor_slot *slot);
void ntk_vendor_waiting_fini(struct vendor_waiting *waiting);

/* ---- vendor_order.c ---- */

/* The trace's spans from those of the reading, by start. 0 or -errno with a message. */
int ntk_vendor_spans_sort(struct vendor_reading *reading);

/* ---- vendor_losses.c ---- */

void ntk_vendor_number_count(struct vendor_reading *reading, uint64_t number);
/* Notes of the trace about what was lost or damaged. */
void ntk_vendor_losses_note(struct vendor_reading *reading);

#endif
