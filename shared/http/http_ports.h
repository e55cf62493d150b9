/* SPDX-License-Identifier: MIT */
/*
 * http_ports - the default ports in one place. Files that cannot include this header (the unit, the
 * DaemonSet, documents) contain the same numbers; tests/docs/ports compares them.
 */
#ifndef NTK_SHARED_HTTP_HTTP_PORTS_H
#define NTK_SHARED_HTTP_HTTP_PORTS_H

/* The agent's port for page, API and metrics (--http). Also the default for clients that are given
 * only a host. */
#define NTK_HTTP_PORT_AGENT 9482
/* The port for metrics alone (--prometheus, neuron-monitor-prometheus), the same as the
 * vendor's. */
#define NTK_HTTP_PORT_METRICS 8000

#define NTK_HTTP_PORT_TEXT_OF(number) #number
#define NTK_HTTP_PORT_TEXT(number) NTK_HTTP_PORT_TEXT_OF(number)

#endif
