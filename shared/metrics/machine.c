/* SPDX-License-Identifier: MIT */
/* machine - the catalogue of machines as rows for lookups. */
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/metrics/snapshot.h"

enum generation {
#define NTK_CORE_GENERATION(symbol, ...) GENERATION_##symbol,
#include "shared/abi/machine.def"
    GENERATION_COUNT
};

static const struct {
    const char *arch;
    double tensor_peak_flops;
    uint32_t tensor_columns;
} generations[GENERATION_COUNT] = {
#define NTK_CORE_GENERATION(symbol, arch, rows, columns, pe_mhz, ...) \
    { arch, 2.0 * (rows) * (columns) * (pe_mhz)*1e6, columns },
#include "shared/abi/machine.def"
};

enum family {
#define NTK_FAMILY(symbol, ...) FAMILY_##symbol,
#include "shared/abi/machine.def"
    FAMILY_COUNT
};

struct family_row {
    enum generation generation;
    uint32_t cores;
    uint32_t stacks;
    uint64_t stack_bytes;
    uint32_t cores_per_stack;
    uint32_t lnc_default;
    uint32_t lnc_max;
    const char *device_arch;
    const char *instance_type;
    const char *device_name;
    const char *device_type;
    const char *device_version;
    const char *core_version;
    const char *core_version_lnc2;
    const char *memory_type;
};

static const struct family_row families[FAMILY_COUNT] = {
#define NTK_FAMILY(symbol, generation, cores, stacks, stack_bytes, cores_per_stack, lnc_default,  \
                   lnc_max, device_arch, instance_type, device_name, device_type, device_version, \
                   version_1, version_2, pci_id, hardware, health, memory_type)                   \
    { GENERATION_##generation,                                                                    \
      cores,                                                                                      \
      stacks,                                                                                     \
      stack_bytes,                                                                                \
      cores_per_stack,                                                                            \
      lnc_default,                                                                                \
      lnc_max,                                                                                    \
      device_arch,                                                                                \
      instance_type,                                                                              \
      device_name,                                                                                \
      device_type,                                                                                \
      device_version,                                                                             \
      version_1,                                                                                  \
      version_2,                                                                                  \
      memory_type },
#include "shared/abi/machine.def"
};

static const struct {
    const char *instance_type;
    enum family family;
    uint32_t devices;
    uint32_t vcpus;
} machine_rows[] = {
#define NTK_MACHINE(instance_type, family, devices, topology, vcpus, ...) \
    { instance_type, FAMILY_##family, devices, vcpus },
#include "shared/abi/machine.def"
};

#define MACHINE_COUNT (sizeof machine_rows / sizeof *machine_rows)

static struct ntk_machine machines[MACHINE_COUNT];

/* Filled before main(), so that it is complete for every thread. */
__attribute__((constructor)) static void fill_machines(void)
{
    for (size_t i = 0; i < MACHINE_COUNT; i++) {
        const struct family_row *family = &families[machine_rows[i].family];

        machines[i] = (struct ntk_machine){
            .instance_type = machine_rows[i].instance_type,
            .device_count = machine_rows[i].devices,
            .cores_per_device = family->cores,
            .stack_count = family->stacks,
            .cores_per_stack = family->cores_per_stack,
            .stack_bytes = family->stack_bytes,
            .lnc_default = family->lnc_default,
            .lnc_max = family->lnc_max,
            .sysfs_device_arch = family->device_arch,
            .sysfs_instance_type = family->instance_type,
            .sysfs_device_name = family->device_name,
            .device_type = family->device_type,
            .device_version = family->device_version,
            .core_version = family->core_version,
            .core_version_lnc2 = family->core_version_lnc2,
            .memory_type = family->memory_type,
            .core_arch = generations[family->generation].arch,
            .tensor_peak_flops = generations[family->generation].tensor_peak_flops,
            .tensor_columns = generations[family->generation].tensor_columns,
            .vcpu_count = machine_rows[i].vcpus,
        };
    }
}

const struct ntk_machine *ntk_machine_find(const char *instance_type)
{
    for (size_t i = 0; i < MACHINE_COUNT; i++) {
        if (strcmp(machines[i].instance_type, instance_type) == 0) {
            return &machines[i];
        }
    }
    return NULL;
}

const struct ntk_machine *ntk_machine_find_device(const char *sysfs_device_name)
{
    for (size_t i = 0; i < MACHINE_COUNT; i++) {
        if (strcmp(machines[i].sysfs_device_name, sysfs_device_name) == 0) {
            return &machines[i];
        }
    }
    return NULL;
}

const char *ntk_machine_memory_type(const struct ntk_hardware *hardware)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        if (strcmp(families[i].device_type, hardware->device_type) == 0) {
            return families[i].memory_type;
        }
    }
    return "HBM";
}

uint32_t ntk_machine_lnc(const struct ntk_machine *machine)
{
    static const char *const variables[] = { "NEURON_RT_VIRTUAL_CORE_SIZE",
                                             "NEURON_LOGICAL_NC_CONFIG" };

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        uint64_t lnc;

        if (text && ntk_str_parse_u64(text, &lnc) == 0 && (lnc == 1 || lnc == 2)) {
            return machine && lnc > machine->lnc_max ? machine->lnc_max : (uint32_t)lnc;
        }
    }
    return machine ? machine->lnc_default : 1;
}
