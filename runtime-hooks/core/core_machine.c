/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_machine.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct generation {
    const char *arch;
    uint32_t number;
    uint32_t tensor_clock_mhz;
};

enum generation_id {
#define NTK_CORE_GENERATION(symbol, ...) GENERATION_##symbol,
#include "shared/abi/machine.def"
};

static const struct generation generations[] = {
#define NTK_CORE_GENERATION(symbol, arch, rows, columns, pe_mhz, ...) \
    { arch, GENERATION_##symbol + 1, pe_mhz },
#include "shared/abi/machine.def"
};

struct family {
    const char *name;
    enum generation_id generation;
    uint32_t cores, stacks;
    uint64_t stack_bytes;
    uint32_t cores_per_stack, default_lnc, largest_lnc;
    const char *device_arch, *sysfs_instance, *device_name;
    uint32_t pci_device_id;
    bool has_hardware, has_health;
};

enum family_id {
#define NTK_FAMILY(symbol, ...) FAMILY_##symbol,
#include "shared/abi/machine.def"
};

static const struct family families[] = {
#define NTK_FAMILY(symbol, generation, cores, stacks, stack_bytes, per_stack, lnc, largest_lnc,  \
                   device_arch, sysfs_instance, device_name, type, version, core_1, core_2, pci, \
                   hardware, health, memory)                                                     \
    { #symbol,     GENERATION_##generation,                                                      \
      cores,       stacks,                                                                       \
      stack_bytes, per_stack,                                                                    \
      lnc,         largest_lnc,                                                                  \
      device_arch, sysfs_instance,                                                               \
      device_name, pci,                                                                          \
      hardware,    health },
#include "shared/abi/machine.def"
};

static const struct {
    const char *instance;
    enum family_id family;
    uint32_t devices;
    enum ntk_core_topology topology;
    uint32_t vcpus;
    uint32_t number; /* number of the family */
    bool is_ultraserver;
} machines[] = {
#define NTK_MACHINE(instance, family, devices, topology, vcpus, number, ultraserver)                 \
    {                                                                                                \
        instance, FAMILY_##family, devices, NTK_CORE_TOPOLOGY_##topology, vcpus, number, ultraserver \
    },
#include "shared/abi/machine.def"
};

#define MACHINE_COUNT (sizeof machines / sizeof *machines)

/* Combines three tables into a row; the constant tables above are authoritative. */
static void row_fill(size_t index, struct ntk_core_machine_row *row)
{
    const struct family *family = &families[machines[index].family];
    const struct generation *generation = &generations[family->generation];

    *row = (struct ntk_core_machine_row){
        .facts = { .instance = machines[index].instance,
                   .core_arch = generation->arch,
                   .family = machines[index].number,
                   .generation = generation->number,
                   .device_count = machines[index].devices,
                   .cores_per_device = family->cores,
                   .stacks_per_device = family->stacks,
                   .stack_bytes = family->stack_bytes,
                   .default_lnc = family->default_lnc,
                   .largest_lnc = family->largest_lnc },
        .family = family->name,
        .topology = machines[index].topology,
        .vcpu_count = machines[index].vcpus,
        .is_ultraserver = machines[index].is_ultraserver,
        .cores_per_stack = family->cores_per_stack,
        .tensor_clock_mhz = generation->tensor_clock_mhz,
        .device_arch = family->device_arch,
        .sysfs_instance = family->sysfs_instance,
        .device_name = family->device_name,
        .pci_device_id = family->pci_device_id,
        .has_hardware_leaves = family->has_hardware,
        .has_health_leaves = family->has_health,
    };
}

static struct ntk_core_machine_row rows[MACHINE_COUNT];

static pthread_once_t rows_once = PTHREAD_ONCE_INIT;

static void rows_fill(void)
{
    for (size_t i = 0; i < MACHINE_COUNT; i++) {
        row_fill(i, &rows[i]);
    }
}

const struct ntk_core_machine_row *ntk_core_machine_row_find(const char *instance)
{
    pthread_once(&rows_once, rows_fill);
    for (size_t i = 0; i < MACHINE_COUNT; i++) {
        if (strcmp(rows[i].facts.instance, instance) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

void ntk_core_machine_names(char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < MACHINE_COUNT && used < bytes; i++) {
        int length =
            snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", machines[i].instance);

        used += length > 0 ? (size_t)length : 0;
    }
}

static size_t line_neighbours(uint32_t count, bool is_ring, bool east_first, uint32_t device,
                              uint32_t out_devices[4])
{
    size_t found = 0;
    bool has_west = is_ring || device > 0;
    bool has_east = is_ring || device + 1 < count;
    uint32_t west = (device + count - 1) % count;
    uint32_t east = (device + 1) % count;

    if (east_first && has_east) {
        out_devices[found++] = east;
    }
    if (has_west) {
        out_devices[found++] = west;
    }
    if (!east_first && has_east) {
        out_devices[found++] = east;
    }
    return found;
}

size_t ntk_core_machine_neighbours(const struct ntk_core_machine_row *row, uint32_t device,
                                   uint32_t out_devices[4])
{
    /* The driver's output for a 4 x 4 torus of the third generation, which is in no regular
     * order. */
    static const uint8_t torus_3[16][4] = {
        { 12, 1, 3, 4 },  { 0, 13, 5, 2 },  { 14, 3, 1, 6 },   { 2, 15, 7, 0 },
        { 8, 5, 7, 0 },   { 4, 9, 1, 6 },   { 10, 7, 5, 2 },   { 6, 11, 3, 4 },
        { 4, 9, 11, 12 }, { 8, 5, 13, 10 }, { 6, 11, 9, 14 },  { 10, 7, 15, 8 },
        { 0, 13, 15, 8 }, { 12, 1, 9, 14 }, { 2, 15, 13, 10 }, { 14, 3, 11, 12 },
    };
    uint32_t count = row->facts.device_count;
    bool east_first = strcmp(row->family, "INF1") == 0;

    switch (row->topology) {
    case NTK_CORE_TOPOLOGY_CHAIN:
        return line_neighbours(count, false, east_first, device, out_devices);
    case NTK_CORE_TOPOLOGY_RING:
        return line_neighbours(count, true, east_first, device, out_devices);
    case NTK_CORE_TOPOLOGY_TORUS: {
        uint32_t r = device / 4;
        uint32_t c = device % 4;
        uint32_t north_west_south_east[4] = { (r + 3) % 4 * 4 + c, r * 4 + (c + 3) % 4,
                                              (r + 1) % 4 * 4 + c, r * 4 + (c + 1) % 4 };

        for (size_t i = 0; i < 4; i++) {
            out_devices[i] =
                row->facts.generation == 3 ? torus_3[device % 16][i] : north_west_south_east[i];
        }
        return 4;
    }
    case NTK_CORE_TOPOLOGY_NONE:
    case NTK_CORE_TOPOLOGY_SWITCH:
        break;
    }
    return 0;
}

void ntk_core_machine_bdf(uint32_t device, char out_bdf[NTK_CORE_BDF_BYTES])
{
    (void)snprintf(out_bdf, NTK_CORE_BDF_BYTES, "0000:%02x:%02x.0", (16 + 16 * (device / 4)) & 0xff,
                   28 + device % 4);
}

bool ntk_core_machine_has_link(const struct ntk_core_machine *machine, uint32_t a, uint32_t b)
{
    const struct ntk_core_machine_row *row = ntk_core_machine_row_find(machine->instance);
    uint32_t neighbours[4];
    size_t count = row ? ntk_core_machine_neighbours(row, a, neighbours) : 0;

    /* With a switch, each device can reach every other device. */
    if (row && row->topology == NTK_CORE_TOPOLOGY_SWITCH) {
        return a != b;
    }
    for (size_t i = 0; i < count; i++) {
        if (neighbours[i] == b) {
            return true;
        }
    }
    return false;
}
