/* SPDX-License-Identifier: MIT */
/* diag_host - checks the machine without load, by reading its files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "agent/diag/diag.h"
#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/metrics/snapshot.h"

#define CLOCK_FIRST_YEAR_NS (UINT64_C(1704067200) * NTK_NS_PER_SECOND) /* the start of 2024 */

static struct ntk_diag_result machine_result(enum ntk_diag_test test)
{
    return ntk_diag_result_make(test, NTK_DIAG_PASS, -1, -1);
}

static void driver_look(struct ntk_diag *diag, struct ntk_device_source *source)
{
    const struct ntk_device_tree *tree = ntk_device_source_tree(source);
    struct ntk_diag_result result = machine_result(NTK_DIAG_DRIVER_TEST);

    if (tree->origin == NTK_DEVICE_ORIGIN_NONE) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%s", tree->missing);
    } else if (diag->plan.is_software) {
        ntk_diag_say(&result, "software machine %s", tree->machine_type);
    } else {
        ntk_diag_say(&result, "driver %s",
                     tree->driver_version[0] ? tree->driver_version : "unknown version");
    }
    ntk_diag_add(diag, &result);
}

/* Finds the first unusable node; "" if none. */
static void node_find_bad(const struct ntk_device_tree *tree, char *out, size_t out_bytes)
{
    out[0] = '\0';
    for (size_t i = 0; i < tree->device_count && !out[0]; i++) {
        char node[32];

        (void)snprintf(node, sizeof node, "/dev/neuron%u", tree->devices[i].index);
        if (access(node, R_OK | W_OK) != 0) {
            (void)snprintf(out, out_bytes, "%s: %s", node, strerror(errno));
        }
    }
}

static void devices_look(struct ntk_diag *diag, struct ntk_device_source *source)
{
    const struct ntk_device_tree *tree = ntk_device_source_tree(source);
    const struct ntk_machine *machine = ntk_machine_find(diag->machine.type);
    struct ntk_diag_result result = machine_result(NTK_DIAG_DEVICES_TEST);
    char bad[96] = "";

    result.has_figure = true;
    result.figure = (double)tree->device_count;
    if (tree->origin == NTK_DEVICE_ORIGIN_DRIVER) {
        node_find_bad(tree, bad, sizeof bad);
    }
    if (tree->device_count == 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "no devices");
    } else if (machine && tree->device_count != machine->device_count) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "expected %u devices for machine type %s", machine->device_count,
                     machine->instance_type);
    } else if (bad[0]) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%s", bad);
    } else if (!machine) {
        ntk_diag_say(&result, "the expected number of devices is unknown for this machine");
    }
    ntk_diag_add(diag, &result);
}

static void folder_look(struct ntk_diag *diag)
{
    struct ntk_diag_result result = machine_result(NTK_DIAG_FOLDER_TEST);
    char folder[NTK_PATH_BYTES] = "";
    struct stat status;

    if (ntk_paths_writer_hooks_dir(folder, sizeof folder) < 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "$NEURON_HOOKS_DIR is too long");
    } else if (stat(folder, &status) != 0) {
        result.verdict = errno == ENOENT ? NTK_DIAG_PASS : NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%.200s: %s", folder,
                     errno == ENOENT ? "not created yet; the first process creates it"
                                     : strerror(errno));
    } else if (!S_ISDIR(status.st_mode)) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%.200s: not a folder", folder);
    } else if (access(folder, W_OK | X_OK) != 0) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "%.200s: %s", folder, strerror(errno));
    } else if ((status.st_mode & S_IWOTH) && !(status.st_mode & S_ISVTX)) {
        result.verdict = NTK_DIAG_WARN;
        ntk_diag_say(&result, "%.200s: any user can remove other users' files", folder);
    } else {
        ntk_diag_say(&result, "%.200s", folder);
    }
    ntk_diag_add(diag, &result);
}

static void clock_look(struct ntk_diag *diag)
{
    struct ntk_diag_result result = machine_result(NTK_DIAG_CLOCK_TEST);
    struct timex timex = { .modes = 0 };
    int state = adjtimex(&timex);

    if (ntk_clock_realtime_ns() < CLOCK_FIRST_YEAR_NS) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "the clock is not set: the year is before 2024");
    } else if (state < 0) {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the kernel does not report the clock state: %s", strerror(errno));
    } else {
        /* otherwise the error bound is meaningless */
        bool is_synchronized = !(timex.status & STA_UNSYNC);

        result.has_figure = is_synchronized;
        result.figure = (double)timex.maxerror / 1e6;
        ntk_diag_say(&result, "%s",
                     is_synchronized ? "the kernel's bound on the error"
                                     : "the clock is set, but the kernel reports no error bound");
    }
    ntk_diag_add(diag, &result);
}

static void room_look(struct ntk_diag *diag, enum ntk_diag_test test, const char *folder)
{
    struct ntk_diag_result result = machine_result(test);
    struct statvfs status;

    if (statvfs(folder, &status) == 0) {
        result.has_figure = true;
        result.figure = (double)status.f_bavail * (double)status.f_frsize;
        ntk_diag_say(&result, "%s", folder);
    } else {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "%s: %s", folder, strerror(errno));
    }
    ntk_diag_add(diag, &result);
}

/* ---- devices ---- */

/* Computes the sum of the readable counters; false if none is readable. */
static bool sum_of(const struct ntk_device_value *const *values, size_t count, uint64_t *out_sum)
{
    bool has = false;

    *out_sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i]->present) {
            *out_sum += values[i]->value;
            has = true;
        }
    }
    return has;
}

static void ecc_look(struct ntk_diag *diag, const struct ntk_device_reading *reading)
{
    const struct ntk_device_value *bad[] = { &reading->mem_ecc_uncorrected,
                                             &reading->mem_ecc_repairable_uncorrected,
                                             &reading->sram_ecc_uncorrected };
    const struct ntk_device_value *corrected[] = { &reading->mem_ecc_corrected,
                                                   &reading->sram_ecc_corrected };
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_ECC_TEST, NTK_DIAG_PASS, (int)reading->index, -1);
    uint64_t sum;

    if (sum_of(bad, sizeof bad / sizeof *bad, &sum)) {
        result.has_figure = true;
        result.figure = (double)sum;
        if (sum > 0) {
            uint64_t memory = bad[0]->value + bad[1]->value;

            ntk_diag_say(&result, "memory: %llu (%llu of them repairable), on-chip memory: %llu",
                         (unsigned long long)memory, (unsigned long long)bad[1]->value,
                         (unsigned long long)bad[2]->value);
        }
    } else {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the driver does not count these errors");
    }
    ntk_diag_add(diag, &result);
    result =
        ntk_diag_result_make(NTK_DIAG_ECC_CORRECTED_TEST, NTK_DIAG_PASS, (int)reading->index, -1);
    if (sum_of(corrected, sizeof corrected / sizeof *corrected, &sum)) {
        result.has_figure = true;
        result.figure = (double)sum;
    } else {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the driver does not count these errors");
    }
    ntk_diag_add(diag, &result);
}

static void components_look(struct ntk_diag *diag, const struct ntk_device_reading *reading)
{
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_COMPONENTS_TEST, NTK_DIAG_PASS, (int)reading->index, -1);

    if (!reading->has_unhealthy_components) {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the driver does not report the state of components");
    } else if (reading->unhealthy_components[0]) {
        result.verdict = NTK_DIAG_FAIL;
        ntk_diag_say(&result, "unhealthy: %s", reading->unhealthy_components);
    }
    ntk_diag_add(diag, &result);
}

static bool is_asked(const struct ntk_diag *diag, uint32_t device)
{
    return device < 64 && diag->devices >> device & 1;
}

void ntk_diag_counters_take(struct ntk_device_source *source, struct ntk_diag_counters *counters)
{
    counters->count =
        ntk_device_source_read(source, NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_STATUS,
                               counters->readings, NTK_DEVICES_MAX);
}

void ntk_diag_host(struct ntk_diag *diag, struct ntk_device_source *source)
{
    static struct ntk_diag_counters counters;

    driver_look(diag, source);
    devices_look(diag, source);
    folder_look(diag);
    clock_look(diag);
    room_look(diag, NTK_DIAG_DISK_TEST, ntk_fs_temporary_folder());
    room_look(diag, NTK_DIAG_SHM_TEST, NTK_HOOKS_PARENT);
    ntk_diag_counters_take(source, &counters);
    for (size_t i = 0; i < counters.count; i++) {
        if (is_asked(diag, counters.readings[i].index)) {
            ecc_look(diag, &counters.readings[i]);
            components_look(diag, &counters.readings[i]);
        }
    }
}

/* ---- before and after ---- */

struct growth {
    uint64_t sum;
    bool has;
    char names[160];
};

static void grown(struct growth *growth, const char *name, const struct ntk_device_value *before,
                  const struct ntk_device_value *after)
{
    size_t used = strlen(growth->names);

    if (!before->present || !after->present) {
        return;
    }
    growth->has = true;
    if (after->value > before->value) {
        uint64_t by = after->value - before->value;

        growth->sum += by;
        (void)snprintf(growth->names + used, sizeof growth->names - used, "%s%s %llu",
                       used ? ", " : "", name, (unsigned long long)by);
    }
}

static const char *const status_names[NTK_STATUS_COUNT] = {
#define NTK_STATUS(id, symbol, name, ...) [id] = name,
#include "shared/abi/status.def"
};

static void counters_compare(struct ntk_diag *diag, const struct ntk_device_reading *before,
                             const struct ntk_device_reading *after)
{
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_COUNTERS_TEST, NTK_DIAG_PASS, (int)after->index, -1);
    struct growth growth = { .sum = 0 };

    grown(&growth, "mem_ecc_corrected", &before->mem_ecc_corrected, &after->mem_ecc_corrected);
    grown(&growth, "mem_ecc_uncorrected", &before->mem_ecc_uncorrected,
          &after->mem_ecc_uncorrected);
    grown(&growth, "mem_ecc_repairable_uncorrected", &before->mem_ecc_repairable_uncorrected,
          &after->mem_ecc_repairable_uncorrected);
    grown(&growth, "sram_ecc_corrected", &before->sram_ecc_corrected, &after->sram_ecc_corrected);
    grown(&growth, "sram_ecc_uncorrected", &before->sram_ecc_uncorrected,
          &after->sram_ecc_uncorrected);
    for (size_t core = 0; core < NTK_DEVICE_CORES_MAX; core++) {
        for (size_t s = 0; s < NTK_STATUS_COUNT; s++) {
            char name[64];

            if (status_names[s] && strncmp(status_names[s], "hw_", 3) == 0) {
                (void)snprintf(name, sizeof name, "neuron_core%zu %s", core, status_names[s]);
                grown(&growth, name, &before->cores[core].status[s], &after->cores[core].status[s]);
            }
        }
    }
    if (growth.has) {
        result.has_figure = true;
        result.figure = (double)growth.sum;
        ntk_diag_say(&result, "%s", growth.names);
    } else {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the driver has no error counters");
    }
    ntk_diag_add(diag, &result);
}

static void power_tell(struct ntk_diag *diag, const struct ntk_device_reading *reading)
{
    struct ntk_diag_result result =
        ntk_diag_result_make(NTK_DIAG_POWER_TEST, NTK_DIAG_PASS, (int)reading->index, -1);

    if (reading->has_power) {
        result.has_figure = true;
        result.figure = reading->power_max_percent / 100.0;
    } else {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "no value yet: the driver publishes at most one per minute");
    }
    ntk_diag_add(diag, &result);
}

void ntk_diag_counters_compare(struct ntk_diag *diag, const struct ntk_diag_counters *before,
                               const struct ntk_diag_counters *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct ntk_device_reading *now = &after->readings[i];

        if (!is_asked(diag, now->index)) {
            continue;
        }
        for (size_t k = 0; k < before->count; k++) {
            if (before->readings[k].index == now->index) {
                counters_compare(diag, &before->readings[k], now);
            }
        }
        if (diag->plan.level >= 4) {
            power_tell(diag, now);
        }
    }
}

/* ---- links to the host ---- */

static bool link_read(const char *root, const char *bdf, const char *leaf, char *out,
                      size_t out_bytes)
{
    char path[NTK_PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s", root, bdf, leaf);
    return ntk_fs_read_text(path, out, out_bytes) > 0;
}

void ntk_diag_links(struct ntk_diag *diag, struct ntk_device_source *source)
{
    static struct ntk_device_place places[NTK_DEVICES_MAX];
    const char *root = ntk_device_source_tree(source)->root;
    size_t count = ntk_device_source_pci(source, places, NTK_DEVICES_MAX);
    struct ntk_diag_result result = machine_result(NTK_DIAG_HOST_LINK_TEST);
    size_t reported = 0;

    for (size_t i = 0; i < count; i++) {
        char speed[48];
        char speed_max[48];
        char width[16];
        char width_max[16];

        if (!link_read(root, places[i].bdf, "current_link_speed", speed, sizeof speed) ||
            !link_read(root, places[i].bdf, "max_link_speed", speed_max, sizeof speed_max) ||
            !link_read(root, places[i].bdf, "current_link_width", width, sizeof width) ||
            !link_read(root, places[i].bdf, "max_link_width", width_max, sizeof width_max)) {
            continue;
        }
        result = machine_result(NTK_DIAG_HOST_LINK_TEST);
        ntk_str_copy(result.part, sizeof result.part, places[i].bdf);
        if (strcmp(speed, speed_max) != 0 || strcmp(width, width_max) != 0) {
            result.verdict = NTK_DIAG_WARN;
            ntk_diag_say(&result, "%s x%s, maximum %s x%s", speed, width, speed_max, width_max);
        } else {
            ntk_diag_say(&result, "%s x%s", speed, width);
        }
        ntk_diag_add(diag, &result);
        reported++;
    }
    if (reported == 0) {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, diag->plan.is_software ? "not available on a software machine"
                                                     : "the kernel reports no links");
        ntk_diag_add(diag, &result);
    }
}
