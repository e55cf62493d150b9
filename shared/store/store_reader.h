/* SPDX-License-Identifier: MIT */
/*
 * store_reader - the reading side of the database: what an agent that starts again must know, and a
 * plain way to ask in SQL. Readers never block the writer.
 *
 * Owner:   ntk_store_reader_open() allocates, _close() frees.
 * Threads: one reader, one thread at a time.
 */
#ifndef NTK_SHARED_STORE_STORE_READER_H
#define NTK_SHARED_STORE_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_store_reader;

/* Read-only; -ENOENT when there is no file, -EPROTO when it is no database of ours. */
int ntk_store_reader_open(const char *path, struct ntk_store_reader **out_reader,
                          struct ntk_err *err);
void ntk_store_reader_close(struct ntk_store_reader *reader);

/*
 * The totals stored of a process: what ntk_collector_options.totals_get asks, with ctx = the reader.
 * The histograms in cores[] are the reader's until the next call.
 */
bool ntk_store_reader_totals_get(const char *boot_id, uint32_t header_pid, uint64_t start_time,
                                 struct ntk_core_sample *cores, size_t capacity, size_t *out_count,
                                 void *ctx);

/* Runs one SELECT; row is called for each row with texts (NULL for NULL) that last for the call; a
 * negative return stops. 0 or negative. */
typedef int (*ntk_store_row)(size_t column_count, const char *const *names,
                             const char *const *values, void *ctx);
int ntk_store_reader_query(struct ntk_store_reader *reader, const char *sql, ntk_store_row row,
                           void *ctx, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
