/* SPDX-License-Identifier: MIT */
/*
 * prometheus_encode - encodes the page as bytes for a scraper, without other input or state.
 *
 * Families are in the order of shared/metrics/catalogue.def, labels in alphabetical order.
 *
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_ENCODE_H
#define NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_ENCODE_H

#include <stdbool.h>

#include "exporters/points/points_page.h"
#include "shared/base/buf.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_prometheus_format {
    NTK_PROMETHEUS_TEXT_0_0_4,
    NTK_PROMETHEUS_OPENMETRICS_1_0_0,
    NTK_PROMETHEUS_PROTOBUF, /* the format with native histograms, see prometheus_protobuf.h */
    NTK_PROMETHEUS_FORMAT_COUNT
};

/* Appends the whole page; check ntk_buf_ok(out). */
void ntk_prometheus_encode(const struct ntk_points_page *page, enum ntk_prometheus_format format,
                           bool vendor_only, struct ntk_buf *out);
/*
 * Encodes a page of text in parts, so that a large page is never completely in memory.
 *
 * Owner:   ntk_prometheus_parts_create() / _destroy(), which accepts NULL; the page is borrowed for
 *          that time.
 */
struct ntk_prometheus_parts;

/* NTK_PROMETHEUS_PROTOBUF is not supported. Returns NULL if out of memory. */
struct ntk_prometheus_parts *ntk_prometheus_parts_create(const struct ntk_points_page *page,
                                                         enum ntk_prometheus_format format,
                                                         bool vendor_only);
void ntk_prometheus_parts_destroy(struct ntk_prometheus_parts *parts);
/* Appends a part of at least bytes_min bytes, which ends after an application. Returns false after
 * the last; check ntk_buf_ok(out). */
bool ntk_prometheus_parts_next(struct ntk_prometheus_parts *parts, size_t bytes_min,
                               struct ntk_buf *out);
/* Continues with a copy of the page (ntk_points_page_freeze()). */
void ntk_prometheus_parts_move(struct ntk_prometheus_parts *parts,
                               const struct ntk_points_page *page);
/* Returns the Content-Type of a format. Static. */
const char *ntk_prometheus_content_type_get(enum ntk_prometheus_format format);

#ifdef __cplusplus
}
#endif
#endif
