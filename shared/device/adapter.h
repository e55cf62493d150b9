/* SPDX-License-Identifier: MIT */
/*
 * adapter - counters of the machine's network adapters (shared/abi/adapter.def).
 *
 * Counters that an adapter lacks are absent. Each read searches again, so adapters may appear and
 * disappear.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_DEVICE_ADAPTER_H
#define NTK_SHARED_DEVICE_ADAPTER_H

#include <stddef.h>

#include "shared/abi/adapter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_ADAPTER_PORTS_MAX 128 /* further ports are not read */

/* Reads a family's ports below root (such as "/sys"), sorted by name and port; returns their
 * number. */
typedef size_t ntk_adapter_read(const char *root, struct ntk_adapter_port *out_ports, size_t max);
#define NTK_ADAPTER(family, word) ntk_adapter_read ntk_##word##_read;
#include "shared/abi/adapter.def"

#ifdef __cplusplus
}
#endif
#endif
