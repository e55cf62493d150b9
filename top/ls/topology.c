/* SPDX-License-Identifier: MIT */
/* topology - draws each shape. */
#include "top/ls/topology.h"

#define SIDE NTK_TOPOLOGY_SIDE
#define TORUS (SIDE * SIDE)
#define LEFT_WRAP "  *––►"
#define RIGHT_WRAP "◄––*"
#define LINK "◄––►"

enum ntk_topology ntk_ls_topology_find(const struct ntk_ls_machine *machine)
{
    struct ntk_topology_device devices[NTK_TOPOLOGY_DEVICES_MAX];

    for (size_t i = 0; i < machine->device_count && i < NTK_TOPOLOGY_DEVICES_MAX; i++) {
        const struct ntk_device_info *info = &machine->devices[i].info;

        devices[i] =
            (struct ntk_topology_device){ info->index, info->has_connected_devices,
                                          info->connected_device_count, info->connected_devices };
    }
    return ntk_topology_find(devices, machine->device_count);
}

static bool are_links_readable(const struct ntk_ls_machine *machine)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        if (!machine->devices[i].info.has_connected_devices) {
            return false;
        }
    }
    return true;
}

/* Writes devices in one line. */
static void write_line(size_t first, size_t count, struct ntk_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        ntk_buf_add_format(out, "%s[%2zu ]", i > 0 ? LINK : "", first + i);
    }
}

/* Writes one mark under or above each column. */
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
    enum ntk_topology shape = ntk_ls_topology_find(machine);

    if (shape == NTK_TOPOLOGY_NONE) {
        return;
    }
    ntk_buf_add_text(out, "\n\nNeuron Device Topology\n");
    switch (shape) {
    case NTK_TOPOLOGY_SWITCH:
        ntk_buf_add_text(out, "    All devices are connected through a switch\n");
        return;
    case NTK_TOPOLOGY_CHAIN:
        ntk_buf_add_text(out, "    ");
        write_line(0, machine->device_count, out);
        ntk_buf_add_char(out, '\n');
        return;
    case NTK_TOPOLOGY_RING:
        ntk_buf_add_text(out, LEFT_WRAP);
        write_line(0, machine->device_count, out);
        ntk_buf_add_text(out, RIGHT_WRAP "\n");
        break;
    case NTK_TOPOLOGY_TORUS:
        for (size_t base = 0; base < machine->device_count; base += TORUS) {
            ntk_buf_add_text(out, base > 0 ? "\n" : "");
            write_torus(base, out);
        }
        break;
    default:
        ntk_buf_add_text(
            out,
            are_links_readable(machine)
                ? "    No topology diagram is available for the links of these devices\n"
                : "    The links cannot be read; drivers before 2.28 show them only to root\n");
        return;
    }
    ntk_buf_add_text(out, "\n  Legend:\n\n          *––► = Wrap-around link\n");
}
