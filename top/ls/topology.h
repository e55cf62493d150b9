/* SPDX-License-Identifier: MIT */
/*
 * topology - the links between the devices as a drawing, made from their lists of neighbours. Pure.
 */
#ifndef NTK_TOP_LS_TOPOLOGY_H
#define NTK_TOP_LS_TOPOLOGY_H

#include "shared/base/buf.h"
#include "top/ls/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_ls_topology {
    NTK_LS_TOPOLOGY_NONE, /* one device */
    NTK_LS_TOPOLOGY_CHAIN,
    NTK_LS_TOPOLOGY_RING,
    NTK_LS_TOPOLOGY_TORUS,  /* 4 x 4, one or several */
    NTK_LS_TOPOLOGY_SWITCH, /* the lists are empty */
    NTK_LS_TOPOLOGY_OTHER,  /* unreadable lists, part of a machine, or lies */
};

enum ntk_ls_topology ntk_ls_topology_find(const struct ntk_ls_machine *machine);
/* Title, drawing and legend; nothing for one device. */
void ntk_ls_topology_write(const struct ntk_ls_machine *machine, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
