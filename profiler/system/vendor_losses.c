/* SPDX-License-Identifier: MIT */
/* vendor_losses - reports missing and damaged parts of the vendor's trace. */
#include <inttypes.h>

#include "profiler/system/vendor_reading.h"

#define RINGS_NOTED_MAX 16U

void ntk_vendor_number_count(struct vendor_reading *reading, uint64_t number)
{
    struct vendor_ring *ring = &reading->rings[ntk_vendor_trace_ring(number)];
    uint64_t place = number & ((UINT64_C(1) << 48) - 1);

    ring->first = ring->count == 0 || place < ring->first ? place : ring->first;
    ring->last = place > ring->last ? place : ring->last;
    ring->count++;
}

static void lost_count(struct vendor_reading *reading)
{
    size_t noted = 0;

    reading->base.trace->record_count = reading->damaged;
    for (unsigned r = 0; r < NTK_VENDOR_RINGS; r++) {
        const struct vendor_ring *ring = &reading->rings[r];
        uint64_t lost = ring->count > 0 && ring->last >= ring->count ? ring->last - ring->count : 0;

        reading->base.trace->record_count += ring->count;
        reading->base.trace->lost += lost;
        if (lost > 0 && noted++ < RINGS_NOTED_MAX) {
            ntk_vendor_session_note(reading->base.trace, "Lost events",
                                    "ring %u lost %" PRIu64 " records, %" PRIu64
                                    " of them before the first one it kept",
                                    r, lost, ring->first > 0 ? ring->first - 1 : 0);
        }
    }
}

static void counts_note(struct vendor_reading *reading)
{
    const struct {
        uint64_t count;
        const char *what;
    } counts[] = {
        { reading->skipped_fields, "fields of an unexpected kind were skipped" },
        { reading->no_time, "records have no time and were dropped" },
        { reading->no_phase, "records other than start, stop and instant were dropped" },
        { reading->base.no_start, "stops without a start were dropped" },
        { reading->other_type, "spans with different types at start and stop were dropped" },
        { reading->too_many, "starts and stops are not matched: too many spans ran "
                             "at the same time (at most 2097151)" },
        { reading->backwards, "spans stop before they start; their duration is set to 0" },
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].count > 0) {
            ntk_vendor_session_note(reading->base.trace, "Damage", "%" PRIu64 " %s",
                                    counts[i].count, counts[i].what);
        }
    }
    if (reading->damaged > 0) {
        ntk_vendor_session_note(reading->base.trace, "Damage",
                                "%" PRIu64
                                " incomplete records were dropped, the first at offset %" PRIu64,
                                reading->damaged, reading->damaged_at);
    }
}

void ntk_vendor_losses_note(struct vendor_reading *reading)
{
    lost_count(reading);
    counts_note(reading);
}
