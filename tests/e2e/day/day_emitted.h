/* SPDX-License-Identifier: MIT */
/*
 * day_emitted - counts the items that exporters pass to their queues, before the queue counts them.
 *
 * The spool of remote write is so small that an outage loses data.
 *
 * A program that links this has -Wl,--wrap=ntk_outbox_create,--wrap=ntk_outbox_put.
 *
 * Threads: any.
 */
#ifndef NTK_TESTS_E2E_DAY_EMITTED_H
#define NTK_TESTS_E2E_DAY_EMITTED_H

#include <stddef.h>
#include <stdint.h>

#include "exporters/transport/output_counts.h"

/* Size limit of the remote write spool, less than an outage of an hour needs. */
#define DAY_SPOOL_BYTES (UINT64_C(256) << 10)
#define DAY_EMITTED_MAX NTK_OUTPUT_COUNTS_MAX

struct day_emitted {
    char name[NTK_OUTPUT_NAME_BYTES];
    uint64_t items;
};

/* Counts since the start of the process; returns the number of names. */
size_t day_emitted_read(struct day_emitted rows[DAY_EMITTED_MAX]);

#endif
