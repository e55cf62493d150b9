/* SPDX-License-Identifier: MIT */
/*
 * http_ports - the default ports, once. Files that cannot include this (the unit, the DaemonSet,
 * documents) name the same numbers; tests/docs/ports compares them.
 */
#ifndef NTK_SHARED_HTTP_HTTP_PORTS_H
#define NTK_SHARED_HTTP_HTTP_PORTS_H

/* For the agent: page, API and metrics (--http). The default for clients with only a host. */
#define NTK_HTTP_PORT_AGENT 9482
/* Only for metrics (--prometheus, neuron-monitor-prometheus): the vendor's port. */
#define NTK_HTTP_PORT_METRICS 8000

#define NTK_HTTP_PORT_TEXT_OF(number) #number
#define NTK_HTTP_PORT_TEXT(number) NTK_HTTP_PORT_TEXT_OF(number)

#endif
