/* SPDX-License-Identifier: MIT */
/*
 * prometheus_protobuf - encodes the page as delimited protobuf (metrics.proto), with the series of
 * the text, and native histograms in addition to the classic buckets.
 *
 * Native buckets have schema 6. If there are more than NTK_POINTS_NATIVE_MAX, pairs are merged
 * until they fit, so the schema of a series only decreases, which a scraper accepts without a gap.
 * A series without a whole histogram has classic buckets only.
 *
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_PROTOBUF_H
#define NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_PROTOBUF_H

#include <stdbool.h>

#include "exporters/points/points_page.h"
#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends the page; check ntk_buf_ok(out). */
void ntk_prometheus_protobuf_encode(const struct ntk_points_page *page, bool vendor_only,
                                    struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
