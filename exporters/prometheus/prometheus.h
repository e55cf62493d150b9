/* SPDX-License-Identifier: MIT */
/*
 * prometheus - serves the page that Prometheus scrapes, as an exporter and for a separate program.
 */
#ifndef NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_H
#define NTK_EXPORTERS_PROMETHEUS_PROMETHEUS_H

#include "exporters/exporter.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct ntk_exporter ntk_exporter_prometheus;
/* "[ADDR]:PORT" of its server, read at creation; NULL: no server, the agent answers. */
extern const char *ntk_prometheus_address;
/* Returns the port of its server. */
unsigned ntk_prometheus_port_get(const void *state);

#ifdef __cplusplus
}
#endif
#endif
