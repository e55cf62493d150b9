/* SPDX-License-Identifier: MIT */
/*
 * prometheus_negotiate - selects the format of the page for a scraper from its request headers.
 *
 * The element with the highest quality is used, the first among equals (RFC 9110, section 12.5).
 * Clients that accept neither OpenMetrics (1.0, 0.0.1 or any version) nor delimited protobuf of
 * metric families get the older text format.
 *
 * Threads: any; no state.
 */
#ifndef NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_NEGOTIATE_H
#define NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_NEGOTIATE_H

#include <stdbool.h>

#include "exporters/prometheus/prometheus_encode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* accept: value of the header Accept; NULL if it is missing. */
enum ntk_prometheus_format ntk_prometheus_negotiate_format(const char *accept);
/* Returns true if gzip may be used, from the value of Accept-Encoding. */
bool ntk_prometheus_negotiate_gzip(const char *accept_encoding);

#ifdef __cplusplus
}
#endif
#endif
