/* SPDX-License-Identifier: MIT */
/*
 * span_reading - common code of the readers of both formats: spans that wait for their other end
 * (span_waiting.c), and the order of all of them (span_order.c).
 *
 * Private to own_spans.c, vendor_*.c and span_*.c of this folder. Owner: own_spans.c,
 * vendor_spans.c. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_SPAN_READING_H
#define NTK_PROFILER_SYSTEM_SPAN_READING_H

#include "profiler/system/system_trace.h"

/* Maximum number of waiting spans; their table is then half full and takes 64 MiB. */
#define NTK_SPAN_WAITING_MAX (((size_t)2 << 20) - 1)
#define NTK_SPAN_PASS 65536U /* number of spans after which mapped memory is returned */
/* Maximum heap memory of a list of spans. */
#define NTK_SPAN_HEAP_BYTES ((size_t)24 << 20)

struct span_slot { /* an entry in the table of waiting spans */
    uint64_t tracking_id;
    uint64_t span; /* index + 1; 0 if free */
};

/* Spans that wait for their other end, by tracking id. A zeroed table is empty. */
struct span_waiting {
    struct span_slot *slots;
    size_t slot_count, count;
};

struct span_reading {
    struct ntk_system_trace *trace;
    struct ntk_long_list spans; /* in order of the file; spans without a type are dropped */
    struct span_waiting waiting;
    uint64_t no_start; /* number of dropped stops without a start */
    struct ntk_err *err;
};

/* ---- span_waiting.c ---- */

/* Returns the slot of the span; a free slot if it is not waiting. NULL if out of memory. */
struct span_slot *ntk_span_waiting_find(struct span_waiting *waiting, uint64_t tracking_id);
/* Stores a waiting span in the slot. Returns false if too many are waiting. */
bool ntk_span_waiting_put(struct span_waiting *waiting, struct span_slot *slot,
                          uint64_t tracking_id, uint64_t span);
void ntk_span_waiting_remove(struct span_waiting *waiting, struct span_slot *slot);
void ntk_span_waiting_fini(struct span_waiting *waiting);

/* ---- span_order.c ---- */

/* Initialises the lists of the reading and its trace. */
void ntk_span_reading_init(struct span_reading *reading, struct ntk_system_trace *trace,
                           struct ntk_err *err);
void ntk_span_reading_fini(struct span_reading *reading);
/* Fills the trace's spans from the spans of the reading, by start. Returns 0 or -errno with a
 * message. */
int ntk_span_reading_sort(struct span_reading *reading);

#endif
