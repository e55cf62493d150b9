/* SPDX-License-Identifier: MIT */
/*
 * topology - draws the links between the devices, from their lists of neighbours.
 */
#ifndef NTK_TOP_LS_TOPOLOGY_H
#define NTK_TOP_LS_TOPOLOGY_H

#include "shared/base/buf.h"
#include "shared/metrics/topology.h"
#include "top/ls/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_topology ntk_ls_topology_find(const struct ntk_ls_machine *machine);
/* Writes title, drawing and legend; nothing for one device. */
void ntk_ls_topology_write(const struct ntk_ls_machine *machine, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
