/* SPDX-License-Identifier: MIT */
/* read - reads devices and the machine around them. */
#include "top/ls/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/abi/core_number.h"
#include "shared/abi/paths.h"
#include "shared/base/str.h"
#include "shared/metrics/snapshot.h"
#include "top/ls/health.h"

static int read_devices(struct ntk_device_source *source, struct ntk_ls_machine *machine,
                        struct ntk_err *err)
{
    const struct ntk_device_tree *tree = ntk_device_source_tree(source);
    struct ntk_device_place *places;

    machine->devices = calloc(tree->device_count, sizeof *machine->devices);
    machine->pci = calloc(NTK_DEVICES_MAX, sizeof *machine->pci);
    places = calloc(tree->device_count, sizeof *places);
    if (!machine->devices || !machine->pci || !places) {
        free(places);
        return ntk_err_no_memory(err);
    }
    machine->device_count = machine->all_count = tree->device_count;
    machine->pci_count = ntk_device_source_pci(source, machine->pci, NTK_DEVICES_MAX);
    ntk_device_source_places(source, places, tree->device_count);
    for (size_t i = 0; i < tree->device_count; i++) {
        machine->devices[i].info = tree->devices[i];
        machine->devices[i].place = places[i];
    }
    free(places);
    ntk_device_source_server(source, &machine->server);
    ntk_str_copy(machine->driver_version, sizeof machine->driver_version, tree->driver_version);
    return ntk_ls_health_read(source, machine) < 0 ? ntk_err_no_memory(err) : 0;
}

static void number_cores(struct ntk_ls_machine *machine, const struct ntk_machine *row)
{
    for (size_t i = 0; i < machine->device_count; i++) {
        struct ntk_ls_device *device = &machine->devices[i];

        device->core_count = device->info.core_count / machine->lnc;
        device->first_core = ntk_core_number(device->info.index, device->core_count, 0);
        device->memory_bytes = row ? row->stack_bytes * row->stack_count : 0;
    }
}

/* Removes devices without a node, which belong to other containers and cannot be used here. */
static int hide_devices(uint64_t nodes, struct ntk_ls_machine *machine, struct ntk_err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->device_count; i++) {
        if (nodes >> machine->devices[i].info.index & 1) {
            machine->devices[kept++] = machine->devices[i];
        }
    }
    if (kept < machine->device_count) {
        machine->pci_count = 0; /* their assignment to the remaining devices is unknown */
    }
    machine->device_count = kept;
    return kept > 0 ? 0
                    : ntk_err_set(err, -ENODEV, NTK_ERR_NO_OFFSET,
                                  "the driver has %zu device%s, but /dev has no neuron node: pass "
                                  "the devices to the container, or use --all",
                                  machine->all_count, machine->all_count == 1 ? "" : "s");
}

int ntk_ls_read(const struct ntk_ls_read_options *options, struct ntk_ls_machine *out_machine,
                struct ntk_err *err)
{
    const struct ntk_device_options device_options = { .sysfs_root = options->sysfs_root,
                                                       .driver_sysfs = options->driver_sysfs,
                                                       .hooks_dir = options->hooks_dir,
                                                       .infos_only = true };
    struct ntk_ls_machine machine = { .processes = NTK_VEC_INIT(struct ntk_ls_process) };
    const struct ntk_device_tree *tree;
    struct ntk_device_source *source = NULL;
    struct ntk_machine_answer answer;
    uint32_t agreed = 0;
    int ret = ntk_device_source_open(&device_options, &source, err);

    if (ret < 0) {
        return ret;
    }
    tree = ntk_device_source_tree(source);
    if (tree->origin == NTK_DEVICE_ORIGIN_NONE || tree->device_count == 0) {
        ret = ntk_err_set(err,
                          tree->is_denied                          ? -EACCES
                          : tree->origin == NTK_DEVICE_ORIGIN_NONE ? -ENOENT
                                                                   : -ENODEV,
                          NTK_ERR_NO_OFFSET, "%s", tree->missing);
        goto out;
    }
    ret = read_devices(source, &machine, err);
    if (ret < 0) {
        goto out;
    }
    machine.is_software = ntk_device_source_is_software(source);
    answer = ntk_machine_of_tree(tree);
    if (!options->all_devices) {
        ret = hide_devices(ntk_device_source_nodes(source, options->dev_root), &machine, err);
        if (ret < 0) {
            goto out;
        }
    }
    ret = ntk_ls_read_processes(options, tree->origin == NTK_DEVICE_ORIGIN_SOFTWARE, &machine,
                                &agreed, &answer, err);
    if (ret < 0) {
        goto out;
    }
    ntk_str_copy(machine.instance_type, sizeof machine.instance_type, answer.type);
    if (tree->origin != NTK_DEVICE_ORIGIN_SOFTWARE) {
        ntk_device_firmware_instance_id(tree->root, machine.instance_id,
                                        sizeof machine.instance_id);
    }
    machine.lnc = agreed != 0 ? agreed : ntk_machine_lnc(answer.machine);
    machine.has_lnc = answer.machine && answer.machine->lnc_max > 1;
    number_cores(&machine, answer.machine);
    *out_machine = machine;
    memset(&machine, 0, sizeof machine);

out:
    ntk_ls_machine_fini(&machine);
    ntk_device_source_close(source);
    return ret;
}
