/* SPDX-License-Identifier: MIT */
/*
 * topology - finds the shape of the links between devices from their lists of neighbours. Pure.
 * Threads: any.
 */
#ifndef NTK_SHARED_METRICS_TOPOLOGY_H
#define NTK_SHARED_METRICS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_topology {
    NTK_TOPOLOGY_NONE, /* at most one device */
    NTK_TOPOLOGY_CHAIN,
    NTK_TOPOLOGY_RING,
    NTK_TOPOLOGY_TORUS,  /* one or several 4 x 4 tori */
    NTK_TOPOLOGY_SWITCH, /* the lists are empty */
    NTK_TOPOLOGY_OTHER,  /* unreadable or wrong lists, or only a part of a machine */
};

#define NTK_TOPOLOGY_SIDE 4u /* side of a torus */
#define NTK_TOPOLOGY_DEVICES_MAX 64

struct ntk_topology_device {
    uint32_t index;
    bool has_neighbours;
    uint32_t neighbour_count;
    const uint8_t *neighbours; /* borrowed */
};

/* Finds the shape; devices are sorted by index. More than NTK_TOPOLOGY_DEVICES_MAX devices have no
 * known shape. */
enum ntk_topology ntk_topology_find(const struct ntk_topology_device *devices, size_t count);

#ifdef __cplusplus
}
#endif
#endif
