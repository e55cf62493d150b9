/* SPDX-License-Identifier: MIT */
/*
 * kubernetes - reports the health of this machine's devices to Kubernetes, if requested: as a
 * condition of its node, and as taints of its devices.
 *
 * Its options are variables, as in every exporter. kubernetes.c defines the
 * struct ntk_exporter; names of nodes and times are in docs/health.md.
 */
#ifndef NTK_EXPORTERS_KUBERNETES_KUBERNETES_H
#define NTK_EXPORTERS_KUBERNETES_KUBERNETES_H

#include "exporters/exporter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_KUBERNETES_HEARTBEAT_NS UINT64_C(300000000000)
/* Pause before a server without taint support is checked again. */
#define NTK_KUBERNETES_UPGRADE_NS UINT64_C(600000000000)

extern const struct ntk_exporter ntk_exporter_kubernetes;

#ifdef __cplusplus
}
#endif
#endif
