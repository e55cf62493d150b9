/* SPDX-License-Identifier: MIT */
/*
 * store_core_counts - the counts of a core in the order of their columns in core_total and unwatched, for who
 * writes them and who reads them.
 *
 * Private to shared/store. Threads: constant, any.
 */
#ifndef NTK_SHARED_STORE_STORE_CORE_COUNTS_H
#define NTK_SHARED_STORE_STORE_CORE_COUNTS_H

#include <stddef.h>

#include "shared/metrics/snapshot.h"

/* Neighbours of one kind in struct ntk_core_sample. */
struct store_core_counts {
    size_t offset;
    size_t count;
};

#define STORE_CORE_COUNTS(field, count)                \
    {                                                  \
        offsetof(struct ntk_core_sample, field), count \
    }
static const struct store_core_counts store_core_counts[] = {
    STORE_CORE_COUNTS(busy_ns, 1),
    STORE_CORE_COUNTS(engine_busy_ns, NTK_ENGINE_COUNT),
    STORE_CORE_COUNTS(flops, 1),
    STORE_CORE_COUNTS(effective_flops, 1),
    STORE_CORE_COUNTS(hbm_bytes_read, 1),
    STORE_CORE_COUNTS(hbm_bytes_written, 1),
    STORE_CORE_COUNTS(dma_bytes, 1),
    STORE_CORE_COUNTS(host_to_device_bytes, 1),
    STORE_CORE_COUNTS(device_to_host_bytes, 1),
    STORE_CORE_COUNTS(outcome, NTK_OUTCOME_COUNT),
    STORE_CORE_COUNTS(error_class, NTK_ERROR_CLASS_COUNT),
};
#undef STORE_CORE_COUNTS

#endif
