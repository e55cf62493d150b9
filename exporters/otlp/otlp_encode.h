/* SPDX-License-Identifier: MIT */
/*
 * otlp_encode - encodes the page of metrics as requests of OTLP metrics (protobuf). Its only state
 * is the known series.
 *
 * Counters are cumulative monotonic sums that start when the page starts to count. Histograms have
 * the page's edges, or exponential buckets of scale NTK_POINTS_SCALE_MAX, reduced until at most
 * NTK_OTLP_BUCKETS_MAX are needed. A series that disappeared gets one last point without a value.
 * Names and units are chosen so that their translation to Prometheus produces the names of the
 * Prometheus exporter (docs/decisions/exporters.md).
 *
 * Source:  opentelemetry-proto 1.x, metrics.proto.
 * Owner:   create / destroy.
 * Threads: one.
 */
#ifndef NTK_EXPORTERS_OTLP_OTLP_ENCODE_H
#define NTK_EXPORTERS_OTLP_OTLP_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "exporters/points/points_buckets.h"
#include "exporters/points/points_page.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/metrics/catalogue.h"
#include "shared/metrics/percentile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* maximum per request; further points are sent in the next request */
#define NTK_OTLP_POINTS_MAX 5000
#define NTK_OTLP_BUCKETS_MAX 160
#define NTK_OTLP_NAME_BYTES 96

struct ntk_otlp;

struct ntk_otlp_options {
    bool vendor_only;
    bool has_exponential; /* true: the page keeps fine latencies */
    /* elements are struct ntk_otlp_pair, which override the default attributes; borrowed; NULL if
     * none */
    const struct ntk_vec *attributes;
};

/* Returns NULL if out of memory. */
struct ntk_otlp *ntk_otlp_create(const struct ntk_otlp_options *options);
void ntk_otlp_destroy(struct ntk_otlp *state);

/* Calls emit with each finished request; emit may take the bytes from the buffer. */
int ntk_otlp_encode(struct ntk_otlp *state, const struct ntk_points_page *page,
                    const char *host_name, uint64_t time_ns,
                    int (*emit)(struct ntk_buf *request, uint64_t point_count, void *ctx,
                                struct ntk_err *err),
                    void *ctx, struct ntk_err *err);

/* Returns the OTLP name of a family, and its unit (UCUM, "" if none; static). */
const char *ntk_otlp_name(const struct ntk_metric_row *row, char name[NTK_OTLP_NAME_BYTES]);

/* Exponential buckets: bucket offset + i counts values above base^(offset + i) and up to
 * base^(offset + i + 1) seconds, with base = 2^(2^-scale). */
struct ntk_otlp_buckets {
    int32_t scale;
    int32_t offset;
    uint32_t bucket_count;
    uint64_t count; /* total, including zero_count */
    uint64_t zero_count;
    uint64_t bucket[NTK_OTLP_BUCKETS_MAX];
};
void ntk_otlp_buckets_make(const struct ntk_histogram_dense *histogram,
                           struct ntk_otlp_buckets *out);

/* Reads the meaning of a response; false if it is not of this kind. The text is truncated to fit,
 * without control characters. */
bool ntk_otlp_read_partial(const void *bytes, size_t bytes_count, uint64_t *out_refused_points,
                           char *text, size_t text_bytes);
bool ntk_otlp_read_status(const void *bytes, size_t bytes_count, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif
