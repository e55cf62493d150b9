/* SPDX-License-Identifier: MIT */
/*
 * store_counts - counts the database as an output of this process
 * (exporters/transport/output_counts.h), in periods.
 *
 * Owner:   create / destroy; the store is borrowed for that time.
 * Threads: create and destroy from one.
 */
#ifndef NTK_AGENT_STORE_COUNTS_H
#define NTK_AGENT_STORE_COUNTS_H

#include "shared/store/store.h"

struct ntk_store_counts;

/* Returns NULL if out of memory; the database is then not counted. */
struct ntk_store_counts *ntk_store_counts_create(struct ntk_store *store);
/* Called before the store is closed. Accepts NULL. */
void ntk_store_counts_destroy(struct ntk_store_counts *counts);

#endif
