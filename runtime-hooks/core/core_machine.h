/* SPDX-License-Identifier: MIT */
/*
 * core_machine - the catalogue of shared/abi/machine.def as structs. Threads: any; static data.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_MACHINE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/core/core.h"

#define NTK_CORE_DEFAULT_INSTANCE "trn1.2xlarge"

enum ntk_core_topology {
    NTK_CORE_TOPOLOGY_NONE,
    NTK_CORE_TOPOLOGY_CHAIN,
    NTK_CORE_TOPOLOGY_RING,
    NTK_CORE_TOPOLOGY_TORUS,
    NTK_CORE_TOPOLOGY_SWITCH,
};

struct ntk_core_machine_row {
    struct ntk_core_machine facts;
    const char *family; /* such as "TRN1" */
    enum ntk_core_topology topology;
    uint32_t vcpu_count;
    bool is_ultraserver;
    uint32_t cores_per_stack;
    uint64_t tensor_clock_mhz;
    const char *device_arch, *sysfs_instance, *device_name;
    uint32_t pci_device_id;
    bool has_hardware_leaves; /* the tree has stats/hardware and tensor_engine */
    bool has_health_leaves;   /* the tree has the leaves of driver 2.30 */
};

/* Returns NULL for an unknown instance type. */
const struct ntk_core_machine_row *ntk_core_machine_row_find(const char *instance);
/* Lists the names for messages: "trn1.2xlarge, ...". */
void ntk_core_machine_names(char *text, size_t bytes);
/* Gets a device's neighbours in the driver's order; returns their number, at most 4. */
size_t ntk_core_machine_neighbours(const struct ntk_core_machine_row *row, uint32_t device,
                                   uint32_t out_devices[4]);

#endif
