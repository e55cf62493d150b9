/* SPDX-License-Identifier: MIT */
/*
 * machine - holds the facts that neuron-ls shows about a machine, as plain data: devices, their
 * places, their users. read.h fills it; table.h, topology.h and json.h print it.
 *
 * Owner:   a zeroed struct is empty; ntk_ls_machine_fini() frees the content. Texts are valid UTF-8
 *          without control characters, "" if unknown.
 * Threads: any; plain data.
 */
#ifndef NTK_TOP_LS_MACHINE_H
#define NTK_TOP_LS_MACHINE_H

#include "shared/base/vec.h"
#include "shared/device/device.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_LS_COMMAND_BYTES 4096

struct ntk_ls_device {
    struct ntk_device_info info;
    struct ntk_device_place place;
    uint32_t core_count;   /* number as seen by applications: physical / LNC; 0 if unknown */
    uint32_t first_core;   /* global id of the first core */
    uint64_t memory_bytes; /* 0 if unknown */
    struct ntk_device_sample health; /* health from one reading, if NTK_DEVICE_HAS_HEALTH is set */
};

struct ntk_ls_process {
    uint32_t pid;
    bool is_runtime;                             /* the process uses the Neuron runtime */
    char runtime_version[NTK_DEVICE_TEXT_BYTES]; /* version of the process's runtime, if known */
    char command[NTK_LS_COMMAND_BYTES];
    bool has_segment;
    uint32_t flags;    /* enum ntk_process_flags of the runtime */
    uint64_t since_ns; /* time at which it took its cores, since 1970 */
    uint64_t idle_ns;  /* time since its last execution; 0 while one runs */
    uint64_t devices;  /* one bit per index of a device that it uses */
    uint64_t nodes;    /* bits of the device nodes that it has open */
    uint8_t
        /* physical cores that it owns, one bit per core, by index of device */
        cores[NTK_DEVICES_MAX];
};

struct ntk_ls_machine {
    char instance_type[NTK_DEVICE_TEXT_BYTES];
    char instance_id[NTK_DEVICE_TEXT_BYTES];
    char driver_version[NTK_DEVICE_TEXT_BYTES];
    bool is_software;
    uint32_t lnc; /* physical cores per logical core, 1 or 2 */
    bool has_lnc; /* the family supports logical cores of two */
    struct ntk_device_server server;
    struct ntk_ls_device *devices; /* by index */
    size_t device_count;
    size_t all_count;             /* includes devices without a node, which are not listed */
    struct ntk_device_place *pci; /* Neuron devices on the PCI bus, by address */
    size_t pci_count;
    struct ntk_vec processes;    /* elements are struct ntk_ls_process, by pid */
    struct ntk_snapshot *judged; /* owns the reasons of devices; NULL if none */
};

void ntk_ls_machine_fini(struct ntk_ls_machine *machine);

/* Returns the printed version: of the runtime, "" if unknown, "NA" for a process without
 * runtime. */
const char *ntk_ls_process_version(const struct ntk_ls_process *process);
static inline bool ntk_ls_process_uses(const struct ntk_ls_process *process,
                                       const struct ntk_ls_device *device)
{
    return (process->devices >> device->info.index & 1) != 0;
}

#ifdef __cplusplus
}
#endif
#endif
