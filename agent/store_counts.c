/* SPDX-License-Identifier: MIT */
#include "agent/store_counts.h"

#include <stdlib.h>

#include "exporters/transport/output_counts.h"

struct ntk_store_counts {
    struct ntk_store *store;
    struct ntk_output_source source;
};

static void read_counts(void *ctx, struct ntk_output_counts *counts)
{
    const struct ntk_store_counts *own = ctx;
    struct ntk_store_status status;

    ntk_store_status_get(own->store, &status);
    counts->sent_items += status.snapshots_stored;
    counts->lost_items += status.snapshots_lost;
    counts->memory_items += status.snapshots_waiting;
    counts->retry_count += status.failures;
    counts->complete_ns = status.committed_realtime_ns;
    counts->has_complete = status.committed_realtime_ns > 0;
    counts->has_free = status.has_free;
    counts->free_bytes = status.free_bytes;
}

struct ntk_store_counts *ntk_store_counts_create(struct ntk_store *store)
{
    struct ntk_store_counts *counts = store ? calloc(1, sizeof *counts) : NULL;

    if (counts) {
        counts->store = store;
        counts->source =
            (struct ntk_output_source){ .name = "store", .read = read_counts, .ctx = counts };
        ntk_output_source_add(&counts->source);
    }
    return counts;
}

void ntk_store_counts_destroy(struct ntk_store_counts *counts)
{
    if (counts) {
        ntk_output_source_remove(&counts->source);
        free(counts);
    }
}
