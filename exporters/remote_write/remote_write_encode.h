/* SPDX-License-Identifier: MIT */
/*
 * remote_write_encode - encodes the page as requests of Prometheus remote write 1.0 or 2.0. Its
 * only state is the known series.
 *
 * The series are the same as in the text, and if requested a native histogram in addition to the
 * classic buckets of each latency. A request has at most NTK_REMOTE_WRITE_SAMPLES samples, labels
 * sorted by name, "job" and "instance" added, empty labels omitted. A series that disappeared gets
 * one last sample, the staleness marker. The slowest execution of the last period is the exemplar
 * of its bucket. 2.0 adds types, help texts, units and start times.
 *
 * Source:  prometheus/docs, specs/prw/remote_write_spec.md and remote_write_spec_2_0.md.
 * Owner:   create / destroy.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_ENCODE_H
#define NTK_EXPORTERS_REMOTE_WRITE_REMOTE_WRITE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/points/points_page.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_REMOTE_WRITE_SAMPLES 2000
/* Bits of the staleness marker; it must not be used in arithmetic. */
#define NTK_REMOTE_WRITE_STALE_BITS UINT64_C(0x7ff0000000000002)

struct ntk_remote_write_options {
    const char *job;
    const char *instance;
    bool vendor_only;
    bool has_native; /* true: the page keeps fine latencies */
};

struct ntk_remote_write;

/* The texts are borrowed. Returns NULL if out of memory. */
struct ntk_remote_write *ntk_remote_write_create(const struct ntk_remote_write_options *options);
void ntk_remote_write_destroy(struct ntk_remote_write *state);

/* Calls emit with each finished request: snappy bytes, which emit may take from the buffer. */
int ntk_remote_write_encode(struct ntk_remote_write *state, const struct ntk_points_page *page,
                            int64_t time_ms, bool is_v2,
                            int (*emit)(struct ntk_buf *request, uint64_t sample_count, void *ctx,
                                        struct ntk_err *err),
                            void *ctx, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
