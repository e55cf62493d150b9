/* SPDX-License-Identifier: MIT */
/*
 * span_reading - what the readers of both formats share: spans that wait for their other end
 * (span_waiting.c), and the order of all of them (span_order.c).
 *
 * Private to own_spans.c, vendor_*.c and span_*.c of this folder. Owner: own_spans.c,
 * vendor_spans.c. Threads: one.
 */
#ifndef NTK_PROFILER_SYSTEM_SPAN_READING_H
#define NTK_PROFILER_SYSTEM_SPAN_READING_H

#include "profiler/system/system_trace.h"

/* Spans that wait at a time; their table is half full then and has 64 MiB. */
#define NTK_SPAN_WAITING_MAX (((size_t)2 << 20) - 1)
#define NTK_SPAN_PASS 65536U /* after this many spans mapped memory is returned */
/* What a list of spans keeps on the heap. */
#define NTK_SPAN_HEAP_BYTES ((size_t)24 << 20)

struct span_slot { /* of the table of spans that wait for their other end */
    uint64_t tracking_id;
    uint64_t span; /* index + 1; 0: free */
};

/* Spans that wait for their other end, by tracking id. Zeroed is empty. */
struct span_waiting {
    struct span_slot *slots;
    size_t slot_count, count;
};

struct span_reading {
    struct ntk_system_trace *trace;
    struct ntk_long_list spans; /* in the order of the file; one without a type is dropped */
    struct span_waiting waiting;
    uint64_t no_start; /* stops whose start is missing, which are dropped */
    struct ntk_err *err;
};

/* ---- span_waiting.c ---- */

/* That of the span; a free one where none waits. NULL if out of memory. */
struct span_slot *ntk_span_waiting_find(struct span_waiting *waiting, uint64_t tracking_id);
/* What waits in the slot from now on. False: too many wait already. */
bool ntk_span_waiting_put(struct span_waiting *waiting, struct span_slot *slot,
                          uint64_t tracking_id, uint64_t span);
void ntk_span_waiting_remove(struct span_waiting *waiting, struct span_slot *slot);
void ntk_span_waiting_fini(struct span_waiting *waiting);

/* ---- span_order.c ---- */

/* The lists of spans, of the reading and of its trace. */
void ntk_span_reading_init(struct span_reading *reading, struct ntk_system_trace *trace,
                           struct ntk_err *err);
void ntk_span_reading_fini(struct span_reading *reading);
/* The trace's spans from those of the reading, by start. 0 or -errno with a message. */
int ntk_span_reading_sort(struct span_reading *reading);

#endif
