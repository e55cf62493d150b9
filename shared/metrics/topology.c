/* SPDX-License-Identifier: MIT */
/* topology - compares lists of neighbours with the lists of known shapes. */
#include "shared/metrics/topology.h"

#define TORUS (NTK_TOPOLOGY_SIDE * NTK_TOPOLOGY_SIDE)

static uint64_t bit(size_t index)
{
    return UINT64_C(1) << index;
}

/* The neighbours that a device has in a shape, as bits. */
static uint64_t expected(enum ntk_topology shape, size_t device, size_t count)
{
    uint64_t bits = 0;

    if (shape == NTK_TOPOLOGY_TORUS) {
        size_t base = device / TORUS * TORUS;
        size_t row = device % TORUS / NTK_TOPOLOGY_SIDE;
        size_t column = device % NTK_TOPOLOGY_SIDE;

        bits |= bit(base + (row + NTK_TOPOLOGY_SIDE - 1) % NTK_TOPOLOGY_SIDE * NTK_TOPOLOGY_SIDE +
                    column);
        bits |= bit(base + (row + 1) % NTK_TOPOLOGY_SIDE * NTK_TOPOLOGY_SIDE + column);
        bits |= bit(base + row * NTK_TOPOLOGY_SIDE +
                    (column + NTK_TOPOLOGY_SIDE - 1) % NTK_TOPOLOGY_SIDE);
        bits |= bit(base + row * NTK_TOPOLOGY_SIDE + (column + 1) % NTK_TOPOLOGY_SIDE);
        return bits;
    }
    if (device > 0) {
        bits |= bit(device - 1);
    }
    if (device + 1 < count) {
        bits |= bit(device + 1);
    }
    if (shape == NTK_TOPOLOGY_RING) {
        bits |= device == 0 ? bit(count - 1) : 0;
        bits |= device + 1 == count ? bit(0) : 0;
    }
    return bits;
}

static bool is_shape(const struct ntk_topology_device *devices, size_t count,
                     enum ntk_topology shape)
{
    for (size_t i = 0; i < count; i++) {
        const struct ntk_topology_device *device = &devices[i];
        uint64_t want = expected(shape, i, count);
        uint64_t bits = 0;

        if (device->index != i) {
            return false; /* only a part of a machine */
        }
        for (uint32_t n = 0; n < device->neighbour_count; n++) {
            bits |=
                device->neighbours[n] < NTK_TOPOLOGY_DEVICES_MAX ? bit(device->neighbours[n]) : 0;
        }
        if (bits != want || device->neighbour_count != (uint32_t)__builtin_popcountll(want)) {
            return false;
        }
    }
    return true;
}

static bool has_no_links(const struct ntk_topology_device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!devices[i].has_neighbours || devices[i].neighbour_count > 0) {
            return false;
        }
    }
    return true;
}

enum ntk_topology ntk_topology_find(const struct ntk_topology_device *devices, size_t count)
{
    if (count < 2) {
        return NTK_TOPOLOGY_NONE;
    }
    if (count > NTK_TOPOLOGY_DEVICES_MAX) {
        return NTK_TOPOLOGY_OTHER;
    }
    if (has_no_links(devices, count)) {
        return NTK_TOPOLOGY_SWITCH;
    }
    if (count % TORUS == 0 && is_shape(devices, count, NTK_TOPOLOGY_TORUS)) {
        return NTK_TOPOLOGY_TORUS;
    }
    if (is_shape(devices, count, NTK_TOPOLOGY_CHAIN)) {
        return NTK_TOPOLOGY_CHAIN;
    }
    return is_shape(devices, count, NTK_TOPOLOGY_RING) ? NTK_TOPOLOGY_RING : NTK_TOPOLOGY_OTHER;
}
