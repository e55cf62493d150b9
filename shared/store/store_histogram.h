/* SPDX-License-Identifier: MIT */
/*
 * store_histogram - encodes a latency histogram as a BLOB of the database.
 *
 * Byte 0 is the version (1); then varints (LEB128): sum of the values in ns, number of used
 * buckets, and for each its distance from the previous bucket (the first from 0) and its count.
 * Buckets are those of shared/abi/segment_abi.h.
 *
 * Owner:   the caller's buffers. Threads: any; plain data.
 */
#ifndef NTK_SHARED_STORE_STORE_HISTOGRAM_H
#define NTK_SHARED_STORE_STORE_HISTOGRAM_H

#include <stddef.h>

#include "shared/base/buf.h"
#include "shared/metrics/percentile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends to buf. */
void ntk_store_histogram_encode(const struct ntk_histogram *histogram, struct ntk_buf *buf);
void ntk_store_histogram_encode_dense(const struct ntk_histogram_dense *dense, struct ntk_buf *buf);
/* Reads a BLOB into entries, which out borrows. Returns 0, or -EBADMSG if it is malformed, which
 * leaves out unchanged. */
int ntk_store_histogram_read(const void *bytes, size_t bytes_count,
                             struct ntk_histogram_entry entries[NTK_HISTOGRAM_BUCKETS],
                             struct ntk_histogram *out);
/* Adds the values of a BLOB to dense. Returns 0, or -EBADMSG if it is malformed, which leaves dense
 * unchanged. */
int ntk_store_histogram_decode(const void *bytes, size_t bytes_count,
                               struct ntk_histogram_dense *dense);

/* Adds the values to a BLOB; a malformed or empty BLOB counts as zero. If out of memory, its bytes
 * stay, and ntk_buf_ok() is false. */
void ntk_store_histogram_add(struct ntk_buf *blob, const struct ntk_histogram *more);

#ifdef __cplusplus
}
#endif
#endif
