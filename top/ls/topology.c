/* SPDX-License-Identifier: MIT */
/* topology - which shape the neighbours make, and its drawing. */
#include "top/ls/topology.h"

#define SIDE 4u /* of a torus */
#define TORUS (SIDE * SIDE)
#define LEFT_WRAP "  *––►"
#define RIGHT_WRAP "◄––*"
#define LINK "◄––►"

static uint64_t bit(size_t index)
{
    return UINT64_C(1) << index;
}

/* The neighbours that a device of the shape has, as bits. */
static uint64_t expected(enum ntk_ls_topology shape, size_t device, size_t count)
{
    uint64_t bits = 0;

    if (shape == NTK_LS_TOPOLOGY_TORUS) {
        size_t base = device / TORUS * TORUS;
        size_t row = device % TORUS / SIDE;
        size_t column = device % SIDE;

        bits |= bit(base + (row + SIDE - 1) % SIDE * SIDE + column);
        bits |= bit(base + (row + 1) % SIDE * SIDE + column);
        bits |= bit(base + row * SIDE + (column + SIDE - 1) % SIDE);
        bits |= bit(base + row * SIDE + (column + 1) % SIDE);
        return bits;
    }
    if (device > 0) {
        bits |= bit(device - 1);
    }
    if (device + 1 < count) {
        bits |= bit(device + 1);
    }
    if (shape == NTK_LS_TOPOLOGY_RING) {
        bits |= device == 0 ? bit(count - 1) : 0;
        bits |= device + 1 == count ? bit(0) : 0;
    }
    return bits;
}

static bool is_shape(const struct ntk_ls_machine *machine, enum ntk_ls_topology shape)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        const struct ntk_device_info *info = &machine->devices[i].info;
        uint64_t want = expected(shape, i, machine->device_count);
        uint64_t bits = 0;

        if (info->index != i) {
            return false; /* part of a machine */
        }
        for (uint32_t n = 0; n < info->neighbour_count; n++) {
            bits |= info->neighbours[n] < NTK_DEVICES_MAX ? bit(info->neighbours[n]) : 0;
        }
        if (bits != want || info->neighbour_count != (uint32_t)__builtin_popcountll(want)) {
            return false;
        }
    }
    return true;
}

static bool has_no_links(const struct ntk_ls_machine *machine)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        if (!machine->devices[i].info.has_neighbours ||
            machine->devices[i].info.neighbour_count > 0) {
            return false;
        }
    }
    return true;
}

enum ntk_ls_topology ntk_ls_topology_find(const struct ntk_ls_machine *machine)
{
    if (machine->device_count < 2) {
        return NTK_LS_TOPOLOGY_NONE;
    }
    if (has_no_links(machine)) {
        return NTK_LS_TOPOLOGY_SWITCH;
    }
    if (machine->device_count % TORUS == 0 && is_shape(machine, NTK_LS_TOPOLOGY_TORUS)) {
        return NTK_LS_TOPOLOGY_TORUS;
    }
    if (is_shape(machine, NTK_LS_TOPOLOGY_CHAIN)) {
        return NTK_LS_TOPOLOGY_CHAIN;
    }
    return is_shape(machine, NTK_LS_TOPOLOGY_RING) ? NTK_LS_TOPOLOGY_RING : NTK_LS_TOPOLOGY_OTHER;
}

/* Devices side by side. */
static void write_line(size_t first, size_t count, struct ntk_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_format(out, "%s[%2zu ]", i > 0 ? LINK : "", first + i);
    }
}

/* One mark under or above each column. */
static void write_marks(const char *mark, struct ntk_buf *out)
{
    for (size_t column = 0; column < SIDE; column++) {
        ntk_buf_add_format(out, "        %s", mark);
    }
    ntk_buf_add_char(out, '\n');
}

static void write_torus(size_t base, struct ntk_buf *out)
{
    write_marks("*", out);
    write_marks("│", out);
    write_marks("▼", out);
    for (size_t row = 0; row < SIDE; row++) {
        ntk_buf_add_text(out, LEFT_WRAP);
        write_line(base + row * SIDE, SIDE, out);
        ntk_buf_add_text(out, RIGHT_WRAP "\n");
        write_marks("▲", out);
        write_marks("│", out);
        write_marks(row + 1 < SIDE ? "▼" : "*", out);
    }
}

void ntk_ls_topology_write(const struct ntk_ls_machine *machine, struct ntk_buf *out)
{
    enum ntk_ls_topology shape = ntk_ls_topology_find(machine);

    if (shape == NTK_LS_TOPOLOGY_NONE) {
        return;
    }
    ntk_buf_add_text(out, "\n\nNeuron Device Topology\n");
    switch (shape) {
    case NTK_LS_TOPOLOGY_SWITCH:
        ntk_buf_add_text(out, "    All devices are connected through a switch\n");
        return;
    case NTK_LS_TOPOLOGY_CHAIN:
        ntk_buf_add_text(out, "    ");
        write_line(0, machine->device_count, out);
        ntk_buf_add_char(out, '\n');
        return;
    case NTK_LS_TOPOLOGY_RING:
        ntk_buf_add_text(out, LEFT_WRAP);
        write_line(0, machine->device_count, out);
        ntk_buf_add_text(out, RIGHT_WRAP "\n");
        break;
    case NTK_LS_TOPOLOGY_TORUS:
        for (size_t base = 0; base < machine->device_count; base += TORUS) {
            ntk_buf_add_text(out, base > 0 ? "\n" : "");
            write_torus(base, out);
        }
        break;
    default:
        ntk_buf_add_text(out, "    No drawing is known for the links of these devices\n");
        return;
    }
    ntk_buf_add_text(out, "\n  Legend:\n\n          *––► = Wrap-around link\n");
}
