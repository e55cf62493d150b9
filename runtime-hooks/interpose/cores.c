/* SPDX-License-Identifier: MIT */
/*
 * cores - finds the physical cores of the process: the cores requested in its environment, else the
 * cores that it may have got.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/interpose/observe.h"

#define DEVICES_MAX 64

struct interpose_cores interpose_cores;

/* ---- the machine ---- */

/* Facts about a family: physical cores per device, and the default number per logical core. */
struct family {
    uint32_t cores_per_device;
    uint32_t lnc;
};
enum family_id {
#define NTK_FAMILY(symbol, ...) FAMILY_##symbol,
#include "shared/abi/machine.def"
};
static const struct family families[] = {
#define NTK_FAMILY(symbol, generation, cores_per_chip, stacks, bytes, per_stack, default_lnc, ...) \
    [FAMILY_##symbol] = { cores_per_chip, default_lnc },
#include "shared/abi/machine.def"
};

static const struct machine {
    const char *instance;
    uint32_t public_family;
    enum family_id family;
    uint32_t device_count;
} machines[] = {
#define NTK_MACHINE(name, family, devices, topology, vcpus, public_family, ...) \
    { name, public_family, FAMILY_##family, devices },
#include "shared/abi/machine.def"
};

/* Finds the machine with nrt_get_instance_info(); NULL if unknown. */
static const struct machine *machine_find(void)
{
    static const char *const sizes[] = { "xlarge",   "2xlarge",  "4xlarge",  "6xlarge", "8xlarge",
                                         "24xlarge", "32xlarge", "48xlarge", "3xlarge" };
    nrt_instance_info_t info = { 0 };

    if (REAL(nrt_get_instance_info)(&info, sizeof info) != NRT_SUCCESS ||
        info.size >= sizeof sizes / sizeof *sizes) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        const char *size = strchr(machines[i].instance, '.');

        if (machines[i].public_family == info.family && size &&
            strcmp(size + 1, sizes[info.size]) == 0) {
            return &machines[i];
        }
    }
    return NULL;
}

/* Reads a variable with the value 1 or 2; 0 for other values. */
static uint32_t lnc_of(const char *variable)
{
    const char *text = getenv(variable);

    return text && (text[0] == '1' || text[0] == '2') && text[1] == '\0' ? (uint32_t)(text[0] - '0')
                                                                         : 0;
}

/* ---- the cores ---- */

/* Parses "0-3,8": logical cores in the order of the process. Returns 0 if invalid. */
static uint32_t list_read(const char *text, uint16_t *out_logical)
{
    uint32_t count = 0;

    while (*text != '\0') {
        char *end;
        unsigned long first = strtoul(text, &end, 10);
        unsigned long last = first;

        if (end == text) {
            return 0;
        }
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
            if (end == text) {
                return 0;
            }
        }
        for (unsigned long i = first; i <= last; i++) {
            if (i >= NTK_SEGMENT_CORES || count == NTK_SEGMENT_CORES) {
                return 0;
            }
            out_logical[count++] = (uint16_t)i;
        }
        if (*end != ',' && *end != '\0') {
            return 0;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

/* Returns the open devices of the process, one bit each. */
static uint64_t devices_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t devices = 0;
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        char target[64];
        unsigned int device;
        ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);

        if (bytes > 0) {
            target[bytes] = '\0';
            if (sscanf(target, "/dev/neuron%u", &device) == 1 && device < DEVICES_MAX) {
                devices |= (uint64_t)1 << device;
            }
        }
    }
    if (folder) {
        (void)closedir(folder);
    }
    return devices;
}

/* Guesses this many cores of the open devices, or from the first device on if none is open. */
static uint32_t cores_guess(uint32_t count, uint16_t *out_logical)
{
    uint32_t per_device = interpose_cores.cores_per_device / interpose_cores.lnc;
    uint64_t devices = per_device > 0 ? devices_open() : 0;
    uint32_t found = 0;

    for (uint32_t logical = 0; logical < NTK_SEGMENT_CORES && found < count; logical++) {
        if (devices == 0 ||
            (logical / per_device < DEVICES_MAX && (devices >> logical / per_device & 1) != 0)) {
            out_logical[found++] = (uint16_t)logical;
        }
    }
    return found;
}

static void lnc_find(const struct machine *machine)
{
    uint32_t lnc = lnc_of("NEURON_RT_VIRTUAL_CORE_SIZE");

    if (lnc == 0) {
        lnc = lnc_of("NEURON_LOGICAL_NC_CONFIG");
    }
    if (lnc == 0) {
        lnc = machine ? families[machine->family].lnc : 1;
    }
    interpose_cores.lnc = lnc;
}

void interpose_cores_find(void)
{
    const struct machine *machine = machine_find();
    const char *visible = getenv("NEURON_RT_VISIBLE_CORES");
    uint32_t count = 0;
    uint32_t total = 0;

    memset(&interpose_cores, 0, sizeof interpose_cores);
    interpose_cores.instance = machine ? machine->instance : "";
    interpose_cores.device_count = machine ? machine->device_count : 0;
    interpose_cores.cores_per_device = machine ? families[machine->family].cores_per_device : 0;
    lnc_find(machine);
    if (visible && visible[0] != '\0') {
        interpose_cores.count = list_read(visible, interpose_cores.logical);
    }
    if (interpose_cores.count > 0) {
        return;
    }
    if (REAL(nrt_get_visible_vnc_count)(&count) != NRT_SUCCESS) {
        count = 1;
    }
    if (REAL(nrt_get_total_vnc_count)(&total) != NRT_SUCCESS || total == 0) {
        total = NTK_SEGMENT_CORES;
    }
    interpose_cores.is_guessed = count != total;
    interpose_cores.count = cores_guess(count, interpose_cores.logical);
}

uint16_t interpose_core_get(int64_t vnc)
{
    uint32_t core = vnc >= 0 && vnc < interpose_cores.count
                        ? interpose_cores.logical[vnc] * interpose_cores.lnc
                        : NTK_SEGMENT_CORES;

    return core < NTK_SEGMENT_CORES ? (uint16_t)core : NTK_NO_CORE;
}

uint32_t interpose_vnc_get(uint16_t core)
{
    for (uint32_t i = 0; i < interpose_cores.count; i++) {
        if (interpose_cores.logical[i] * interpose_cores.lnc == core) {
            return i;
        }
    }
    return 0;
}
