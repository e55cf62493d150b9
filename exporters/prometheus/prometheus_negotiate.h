/* SPDX-License-Identifier: MIT */
/*
 * prometheus_negotiate - which form of the page a scraper needs, from its request headers. Pure.
 *
 * The header with the highest quality wins, the first of equals (RFC 9110, section 12.5). Clients
 * that accept neither OpenMetrics (1.0, 0.0.1 or any version) nor delimited protobuf of metric
 * families get the older text format.
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

/* The value of Accept; NULL when there is none. */
enum ntk_prometheus_format ntk_prometheus_negotiate_format(const char *accept);
/* The value of Accept-Encoding: whether gzip may be used. */
bool ntk_prometheus_negotiate_gzip(const char *accept_encoding);

#ifdef __cplusplus
}
#endif
#endif
