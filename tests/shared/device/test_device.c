/* SPDX-License-Identifier: MIT */
/* The reader of the device tree: trees of both layouts, and hostile ones, in a scratch folder. */
#include <dirent.h>
#include <fcntl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/fs.h"
#include "shared/device/device.h"
#include "shared/device/device_sysfs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define DEVICES "devices/virtual/neuron_device"

struct fixture {
    char *folder;
    char *root; /* <folder>/sys */
    struct ntk_device_source *source;
};

static void make_parents(const char *path)
{
    char *copy = strdup(path);

    assert_non_null(copy);
    *strrchr(copy, '/') = '\0';
    assert_int_equal(ntk_fs_make_folders(copy, 0700, NULL), 0);
    free(copy);
}

/* Writes in place, as the software machine does. */
static void put_at(const char *root, const char *name, const char *text)
{
    char *path = test_scratch_path(root, name);
    FILE *file;

    make_parents(path);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

/* A leaf of a device; name is relative to its folder. */
static void put(struct fixture *f, unsigned int device, const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, DEVICES "/neuron%u/%s", device, name);
    put_at(f->root, path, text);
}

/* One device with two cores; stats have other names in the new layout. */
static void put_device(struct fixture *f, unsigned int device, bool new_layout)
{
    static const char *const infos[][2] = {
        { "core_count", "2" },
        { "connected_devices", "12, 3, 4, 1\n" },
        { "info/serial_number", "0a1b2c3d4e5f6071\n" },
        { "info/architecture/arch_type", "NDv2\n" },
        { "info/architecture/instance_type", "Trn1\n" },
        { "info/architecture/device_name", "Trainium1\n" },
    };
    static const char *const stats[][2] = {
        { "hardware/sram_ecc_uncorrected", "1\n" },
        { "hardware/mem_ecc_uncorrected", "2\n" },
        { "hardware/mem_ecc_repairable_uncorrected", "3\n" },
        { "hardware/mem_ecc_corrected", "4\n" },
        { "power/utilization", "POWER_STATUS_VALID,1760000040,12.05,87.30,55.41\n" },
        { "hardware/health_status/unhealthy_components", "hbm,sram\n" },
        { "hardware/health_status/healthcheck_heartbeat", "48211\n" },
    };
    static const char *const core_stats[][2] = {
        { "other_info/nc_time_in_use/total", "1980000000\n" },
        { "other_info/nc_time_in_use/present", "79200000\n" },
        { "other_info/flop_count/total", "91750000000000000\n" },
        { "other_info/inference_count/total", "125000\n" },
        { "other_info/model_load_count/total", "12\n" },
        { "memory_usage/host_mem/total", "45678592\n" },
        { "memory_usage/device_mem/total", "6583410688\n" },
        { "memory_usage/device_mem/peak", "7120281600\n" },
        { "memory_usage/device_mem/tensors/total", "942070784\n" },
        { "memory_usage/device_mem/model_code/total", "201326592\n" },
        { "memory_usage/device_mem/dma_rings/total", "18446744073709551000\n" },
        { "status/success/total", "125000\n" },
        { "status/infer_completed_with_num_error/total", "5\n" },
        { "status/success/present", "5000\n" },
        { "status/hw_dma_abort_error/total", "3\n" },
        { "other_info/reset_req_count/total", "7\n" },
    };
    char name[256];

    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        put(f, device, infos[i][0], infos[i][1]);
    }
    for (size_t i = 0; i < sizeof stats / sizeof *stats; i++) {
        snprintf(name, sizeof name, "%s/%s", new_layout ? "telemetry/device" : "stats",
                 stats[i][0]);
        put(f, device, name, stats[i][1]);
    }
    for (unsigned int core = 0; core < 2; core++) {
        snprintf(name, sizeof name, "neuron_core%u/info/architecture/arch_type", core);
        put(f, device, name, "NCv2\n");
        for (size_t i = 0; i < sizeof core_stats / sizeof *core_stats; i++) {
            if (new_layout) {
                snprintf(name, sizeof name, "telemetry/neuron_core%u/%s", core, core_stats[i][0]);
            } else {
                snprintf(name, sizeof name, "neuron_core%u/stats/%s", core, core_stats[i][0]);
            }
            put(f, device, name, core_stats[i][1]);
        }
    }
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f) {
        return -1;
    }
    f->folder = test_scratch_create();
    f->root = test_scratch_path(f->folder, "sys");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_device_source_close(f->source);
    free(f->root);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static const struct ntk_device_tree *open_root(struct fixture *f)
{
    struct ntk_device_options options = { .sysfs_root = f->root };
    struct ntk_err err = { 0 };

    ntk_device_source_close(f->source);
    f->source = NULL;
    assert_int_equal(ntk_device_source_open(&options, &f->source, &err), 0);
    return ntk_device_source_tree(f->source);
}

static void check_tree(struct fixture *f)
{
    const struct ntk_device_tree *tree = open_root(f);
    struct ntk_device_reading readings[4];
    const struct ntk_device_core_reading *core;

    assert_int_equal(tree->origin, NTK_DEVICE_ORIGIN_EXPLICIT);
    assert_int_equal(tree->device_count, 2);
    assert_int_equal(tree->cores_per_device, 2);
    assert_int_equal(tree->devices[1].index, 11);
    assert_int_equal(tree->devices[1].core_count, 2);
    assert_true(tree->devices[1].has_connected_devices);
    assert_int_equal(tree->devices[1].connected_device_count, 4);
    assert_int_equal(tree->devices[1].connected_devices[0], 12);
    assert_int_equal(tree->devices[1].connected_devices[3], 1);
    assert_string_equal(tree->devices[1].serial_number, "0a1b2c3d4e5f6071");
    assert_string_equal(tree->devices[1].arch, "NDv2");
    assert_string_equal(tree->devices[1].name, "Trainium1");
    assert_string_equal(tree->devices[1].instance_type, "Trn1");
    assert_string_equal(tree->devices[1].core_arch, "NCv2");

    assert_int_equal(ntk_device_source_read(f->source,
                                            NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_CORES |
                                                NTK_DEVICE_READ_CATEGORIES | NTK_DEVICE_READ_STATUS,
                                            readings, 4),
                     2);
    assert_int_equal(readings[1].index, 11);
    assert_true(readings[1].sram_ecc_uncorrected.present);
    assert_int_equal(readings[1].sram_ecc_uncorrected.value, 1);
    assert_int_equal(readings[1].mem_ecc_uncorrected.value, 2);
    assert_int_equal(readings[1].mem_ecc_repairable_uncorrected.value, 3);
    assert_int_equal(readings[1].mem_ecc_corrected.value, 4);
    assert_false(readings[1].sram_ecc_corrected.present);
    assert_true(readings[1].has_power);
    assert_int_equal(readings[1].power_timestamp_seconds, 1760000040);
    assert_true(readings[1].power_max_percent == 87.30);
    assert_true(readings[1].has_unhealthy_components);
    assert_string_equal(readings[1].unhealthy_components, "hbm,sram");
    assert_int_equal(readings[1].heartbeat.value, 48211);
    core = &readings[1].cores[1];
    assert_int_equal(core->busy_us.value, 1980000000);
    assert_int_equal(core->flops.value, UINT64_C(91750000000000000));
    assert_int_equal(core->inference_count.value, 125000);
    assert_int_equal(core->model_load_count.value, 12);
    assert_int_equal(core->host_memory_bytes.value, 45678592);
    assert_int_equal(core->device_memory_bytes.value, UINT64_C(6583410688));
    assert_int_equal(core->device_memory_peak_bytes.value, UINT64_C(7120281600));
    assert_int_equal(core->category_bytes[NTK_MEMORY_TENSORS].value, 942070784);
    assert_false(core->category_bytes[NTK_MEMORY_CONSTANTS].present);
    /* cleared below the amount in use: it wrapped around */
    assert_true(core->category_bytes[NTK_MEMORY_DMA_RINGS_IO].present);
    assert_int_equal(core->category_bytes[NTK_MEMORY_DMA_RINGS_IO].value, 0);
    assert_int_equal(core->status[NTK_STATUS_SUCCESS].value, 125000);
    assert_int_equal(core->status[NTK_STATUS_NUM_ERR].value, 5);
    assert_false(readings[1].cores[2].busy_us.present);
}

static void fault_indicators_are_read_separately(void **state)
{
    static const char *const components = "stats/hardware/health_status/unhealthy_components";
    struct fixture *f = *state;
    struct ntk_device_reading reading;

    put_device(f, 0, false);
    open_root(f);
    assert_int_equal(ntk_device_source_read(
                         f->source, NTK_DEVICE_READ_HEALTH | NTK_DEVICE_READ_FAULTS, &reading, 1),
                     1);
    assert_int_equal(reading.mem_ecc_uncorrected.value, 2);
    assert_int_equal(reading.heartbeat.value, 48211);
    assert_string_equal(reading.unhealthy_components, "hbm,sram");
    assert_int_equal(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].value, 3);
    assert_int_equal(reading.cores[1].reset_requests.value, 7);
    assert_false(reading.mem_ecc_corrected.present);
    assert_false(reading.has_power);
    assert_false(reading.cores[1].status[NTK_STATUS_NUM_ERR].present);
    assert_false(reading.cores[1].busy_us.present);

    /* An empty line means none; so does an empty file, and a word that keeps missing its line
     * end. */
    put(f, 0, components, "\n");
    ntk_device_source_read(f->source, NTK_DEVICE_READ_HEALTH, &reading, 1);
    assert_true(reading.has_unhealthy_components);
    assert_string_equal(reading.unhealthy_components, "");
    put(f, 0, components, "sram");
    ntk_device_source_read(f->source, NTK_DEVICE_READ_HEALTH, &reading, 1);
    assert_true(reading.has_unhealthy_components);
    assert_string_equal(reading.unhealthy_components, "sram");
}

static void the_old_device_tree_layout_is_read(void **state)
{
    struct fixture *f = *state;

    put_at(f->root, "module/neuron/version", "2.30.2.0\n");
    put_device(f, 0, false);
    put_device(f, 11, false);
    check_tree(f);
    assert_false(ntk_device_source_tree(f->source)->new_layout);
    assert_string_equal(ntk_device_source_tree(f->source)->driver_version, "2.30.2.0");
}

static void the_new_device_tree_layout_has_the_same_values(void **state)
{
    struct fixture *f = *state;

    put_at(f->root, "module/neuron/version", "2.31.0.0\n");
    put_device(f, 0, true);
    put_device(f, 11, true);
    check_tree(f);
    assert_true(ntk_device_source_tree(f->source)->new_layout);
}

/* Files below the tree that this process has open. */
static size_t open_leaves(const struct fixture *f)
{
    DIR *dir = opendir("/proc/self/fd");
    char target[1024];
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        ssize_t bytes = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        struct stat status;

        target[bytes > 0 ? bytes : 0] = '\0';
        count += strncmp(target, f->root, strlen(f->root)) == 0 &&
                 fstatat(dirfd(dir), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode);
    }
    closedir(dir);
    return count;
}

/* Whether reading opened the counter of DMA aborts of a core, according to the kernel. */
static bool is_opened_by_reading(struct fixture *f, unsigned int read_parts)
{
    char *path = test_scratch_path(f->root, DEVICES
                                   "/neuron0/neuron_core1/stats/status/hw_dma_abort_error/total");
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    struct ntk_device_reading reading;
    char events[4096];
    ssize_t got;

    assert_true(fd >= 0);
    assert_true(inotify_add_watch(fd, path, IN_OPEN) >= 0);
    ntk_device_source_read(f->source, read_parts, &reading, 1);
    assert_int_equal(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].value, 3);
    assert_int_equal(reading.cores[1].reset_requests.value, 7);
    got = read(fd, events, sizeof events);
    close(fd);
    free(path);
    return got > 0;
}

/* Method: one device with 7 leaves of errors, health and power, and 3 per core, is read twice. */
static void fault_files_are_opened_only_once(void **state)
{
    const unsigned int parts = NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_FAULTS;
    struct fixture *f = *state;
    struct ntk_device_reading reading;

    put_device(f, 0, false);
    open_root(f);
    assert_true(is_opened_by_reading(f, parts));
    size_t count = open_leaves(f);
    assert_int_equal(count, 7 + 2 * 3);
    assert_false(is_opened_by_reading(f, parts));
    assert_int_equal(open_leaves(f), count);

    /* A leaf that is replaced or removed is detected within five reads. */
    char *path = test_scratch_path(f->root, DEVICES
                                   "/neuron0/neuron_core1/stats/status/hw_dma_abort_error/total");
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 5; i++) {
        ntk_device_source_read(f->source, parts, &reading, 1);
    }
    assert_false(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].present);
    put(f, 0, "neuron_core1/stats/status/hw_dma_abort_error/total", "9\n");
    ntk_device_source_read(f->source, parts, &reading, 1);
    assert_int_equal(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].value, 9);
    free(path);
}

static void fault_files_are_reopened_if_descriptors_are_scarce(void **state)
{
    const unsigned int parts = NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_FAULTS;
    struct fixture *f = *state;
    struct rlimit limit;

    put_device(f, 0, false);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit few = { .rlim_cur = 16, .rlim_max = limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    open_root(f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(is_opened_by_reading(f, parts));
    assert_int_equal(open_leaves(f), 8);
    assert_true(is_opened_by_reading(f, parts));
    assert_int_equal(open_leaves(f), 8);
}

static void counters_are_read_again_for_each_sample(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_reading reading;

    put_device(f, 0, false);
    open_root(f);
    for (unsigned int i = 0; i < 3; i++) {
        char text[32];

        snprintf(text, sizeof text, "%u\n", 100 + i);
        put(f, 0, "stats/hardware/mem_ecc_uncorrected", text);
        ntk_device_source_read(f->source, NTK_DEVICE_READ_DEVICE, &reading, 1);
        assert_int_equal(reading.mem_ecc_uncorrected.value, 100 + i);
        assert_false(reading.cores[0].busy_us.present); /* not requested */
    }
    /* a line that is still being written */
    put(f, 0, "stats/hardware/mem_ecc_uncorrected", "10");
    ntk_device_source_read(f->source, NTK_DEVICE_READ_DEVICE, &reading, 1);
    assert_false(reading.mem_ecc_uncorrected.present);
}

static void half_of_the_devices_are_read_and_the_others_keep_their_values(void **state)
{
    const unsigned int parts = NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_FAULTS;
    struct fixture *f = *state;
    struct ntk_device_reading readings[2];

    put_device(f, 0, false);
    put_device(f, 1, false);
    open_root(f);
    ntk_device_source_read(f->source, parts, readings, 2);
    for (int i = 1; i <= 6; i++) {
        char text[32];
        unsigned int fresh;

        snprintf(text, sizeof text, "%d\n", 100 + i);
        for (unsigned int device = 0; device < 2; device++) {
            put(f, device, "stats/hardware/mem_ecc_uncorrected", text);
            put(f, device, "neuron_core1/stats/status/hw_dma_abort_error/total", text);
        }
        ntk_device_source_read(f->source, parts | NTK_DEVICE_READ_HALF, readings, 2);
        fresh = readings[1].mem_ecc_uncorrected.value == 100u + (unsigned int)i;
        assert_int_equal(readings[fresh].mem_ecc_uncorrected.value, 100 + i);
        assert_int_equal(readings[!fresh].mem_ecc_uncorrected.value, i == 1 ? 2 : 100 + i - 1);
        for (unsigned int device = 0; device < 2; device++) {
            assert_int_equal(readings[device].index, device);
            assert_true(readings[device].has_power);
            assert_string_equal(readings[device].unhealthy_components, "hbm,sram");
            assert_int_equal(readings[device].cores[1].status[NTK_STATUS_HW_DMA_ABORT].value,
                             100 + i);
        }
    }
}

static void texts_written_in_place_are_detected_within_five_refreshes(void **state)
{
    static const char *const names[] = { "module/neuron/version",
                                         DEVICES "/neuron0/info/architecture/device_name" };
    struct fixture *f = *state;
    char folder[1024];
    const struct timespec loaded[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

    put_at(f->root, "module/neuron/version", "2.30.2.0\n");
    put_device(f, 0, false);
    snprintf(folder, sizeof folder, "%s/" DEVICES, f->root);
    assert_int_equal(utimensat(AT_FDCWD, folder, loaded, 0), 0); /* not while it is built */
    open_root(f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int changes = 0;

        for (int refresh = 0; refresh < 5; refresh++) {
            assert_int_equal(ntk_device_source_refresh(f->source, NULL), 0);
        }
        put_at(f->root, names[i], "another\n");
        for (int refresh = 0; refresh < 5; refresh++) {
            changes += ntk_device_source_refresh(f->source, NULL);
        }
        assert_int_equal(changes, 1);
    }
    assert_string_equal(ntk_device_source_tree(f->source)->driver_version, "another");
    assert_string_equal(ntk_device_source_tree(f->source)->devices[0].name, "another");
}

static void values_from_missing_and_malformed_files_are_absent(void **state)
{
    static const char *const odd[] = {
        "", "\n", "-1\n", "12x\n", "NaN\n", " \n", "99999999999999999999999\n"
    };
    struct fixture *f = *state;
    struct ntk_device_reading reading;
    const struct ntk_device_tree *tree;

    /* core_count cannot be read (old drivers): folders are counted */
    put(f, 0, "neuron_core3/info/architecture/arch_type", "NCv3\n");
    put(f, 0, "stats/hardware/mem_ecc_uncorrected", "1\n");
    put(f, 0, "stats/power/utilization", "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n");
    tree = open_root(f);
    assert_int_equal(tree->device_count, 1);
    assert_int_equal(tree->devices[0].core_count, 4);
    assert_false(tree->devices[0].has_connected_devices);
    assert_string_equal(tree->devices[0].name, "");
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        put(f, 0, "stats/hardware/mem_ecc_uncorrected", odd[i]);
        ntk_device_source_read(f->source, NTK_DEVICE_READ_DEVICE, &reading, 1);
        assert_false(reading.mem_ecc_uncorrected.present);
        assert_false(reading.has_power);
        put(f, 0, "stats/power/utilization", odd[i]);
    }
}

/* Only one of several equal cores is walked. A core with different folders is walked, too, and
 * values are never swapped. */
static void a_core_with_a_different_folder_layout_is_read_correctly(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_reading readings[2];

    for (int layout = 0; layout < 2; layout++) {
        const char *stats = layout ? "telemetry/neuron_core1" : "neuron_core1/stats";
        char name[256];

        put_device(f, 0, layout);
        put_device(f, 1, layout);
        snprintf(name, sizeof name, "%s/other_info/nc_time_in_use/total", stats);
        put(f, 0, name, "17\n");
        put(f, 1, name, "18\n");
        snprintf(name, sizeof name, "%s/more/status/timeout/total", stats); /* another shape */
        put(f, 1, name, "4\n");
        snprintf(name, sizeof name, "%s/" DEVICES "/neuron0/%s/status/success/total", f->root,
                 stats);
        assert_int_equal(unlink(name), 0); /* the same shape */
        open_root(f);
        assert_int_equal(ntk_device_source_read(f->source,
                                                NTK_DEVICE_READ_CORES | NTK_DEVICE_READ_STATUS,
                                                readings, 2),
                         2);
        assert_int_equal(readings[0].cores[0].busy_us.value, 1980000000);
        assert_int_equal(readings[0].cores[1].busy_us.value, 17);
        assert_int_equal(readings[1].cores[0].busy_us.value, 1980000000);
        assert_int_equal(readings[1].cores[1].busy_us.value, 18);
        assert_int_equal(readings[1].cores[1].flops.value, UINT64_C(91750000000000000));
        assert_true(readings[1].cores[0].status[NTK_STATUS_SUCCESS].present);
        assert_false(readings[0].cores[1].status[NTK_STATUS_SUCCESS].present);
        assert_true(readings[1].cores[1].status[NTK_STATUS_TIMEOUT].present);
        assert_false(readings[1].cores[0].status[NTK_STATUS_TIMEOUT].present);
        ntk_device_source_close(f->source);
        f->source = NULL;
        assert_int_equal(ntk_fs_remove_tree(f->root, NULL), 0);
    }
}

static void a_refresh_detects_added_and_removed_devices(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    const struct ntk_device_tree *tree = open_root(f);
    char *devices = test_scratch_path(f->root, DEVICES);

    assert_int_equal(tree->origin, NTK_DEVICE_ORIGIN_NONE);
    assert_int_equal(tree->device_count, 0);
    assert_int_equal(ntk_device_source_refresh(f->source, &err), 0);

    put_device(f, 0, false);
    assert_int_equal(ntk_device_source_refresh(f->source, &err), 1);
    assert_int_equal(ntk_device_source_tree(f->source)->device_count, 1);

    put_device(f, 1, false);
    assert_int_equal(ntk_device_source_refresh(f->source, &err), 1);
    assert_int_equal(ntk_device_source_tree(f->source)->device_count, 2);

    assert_int_equal(ntk_fs_remove_tree(devices, &err), 0);
    assert_int_equal(ntk_device_source_refresh(f->source, &err), 1);
    assert_int_equal(ntk_device_source_tree(f->source)->device_count, 0);
    free(devices);
}

/* Method: the three places, filled one after another. */
static void a_given_tree_is_preferred_over_driver_and_software_machine(void **state)
{
    struct fixture *f = *state;
    struct ntk_soft_header header = { .magic = NTK_SOFT_MAGIC,
                                      .abi_version = NTK_SOFT_ABI_VERSION,
                                      .instance_type = "trn1.2xlarge" };
    char *hooks = test_scratch_path(f->folder, "hooks");
    char *soft = test_scratch_path(hooks, "soft/sys");
    char *driver = test_scratch_path(f->folder, "driver");
    char *soft_state = test_scratch_path(hooks, NTK_SOFT_STATE_NAME);
    struct ntk_device_options options = { .driver_sysfs = driver, .hooks_dir = hooks };
    struct ntk_err err = { 0 };
    struct ntk_device_source *source;
    char root[512];

    assert_int_equal(ntk_device_soft_root(hooks, root, sizeof root), 0);
    assert_string_equal(root, soft);
    assert_int_equal(ntk_device_soft_root(hooks, root, 8), -ENAMETOOLONG);

    assert_int_equal(ntk_device_source_open(&options, &source, &err), 0);
    assert_int_equal(ntk_device_source_tree(source)->origin, NTK_DEVICE_ORIGIN_NONE);

    put_at(soft, DEVICES "/neuron0/info/architecture/device_name", "Trainium1\n");
    assert_int_equal(ntk_fs_write(soft_state, &header, sizeof header, &err), 0);
    assert_int_equal(ntk_device_source_refresh(source, &err), 1);
    assert_int_equal(ntk_device_source_tree(source)->origin, NTK_DEVICE_ORIGIN_SOFTWARE);
    assert_string_equal(ntk_device_source_tree(source)->machine_type, "trn1.2xlarge");

    put_at(driver, DEVICES "/neuron0/info/architecture/device_name", "Trainium2\n");
    assert_int_equal(ntk_device_source_refresh(source, &err), 1);
    assert_int_equal(ntk_device_source_tree(source)->origin, NTK_DEVICE_ORIGIN_DRIVER);
    assert_string_equal(ntk_device_source_tree(source)->machine_type, "");
    assert_string_equal(ntk_device_source_tree(source)->devices[0].name, "Trainium2");
    ntk_device_source_close(source);

    /* a named root that does not exist: no other is used instead */
    options.sysfs_root = f->root;
    assert_int_equal(ntk_device_source_open(&options, &source, &err), 0);
    assert_int_equal(ntk_device_source_tree(source)->origin, NTK_DEVICE_ORIGIN_NONE);
    put_at(f->root, DEVICES "/neuron0/info/architecture/device_name", "Inferentia\n");
    assert_int_equal(ntk_device_source_refresh(source, &err), 1);
    assert_int_equal(ntk_device_source_tree(source)->origin, NTK_DEVICE_ORIGIN_EXPLICIT);
    ntk_device_source_close(source);
    free(soft_state);
    free(driver);
    free(soft);
    free(hooks);
}

/* ---- hostile trees ---- */

static void links_fifos_and_folders_in_place_of_files_are_not_read(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_reading reading;
    char *secret = test_scratch_path(f->folder, "secret");
    char *leaf = test_scratch_path(f->root, DEVICES "/neuron0/info/serial_number");
    char *ecc = test_scratch_path(f->root, DEVICES "/neuron0/stats/hardware/mem_ecc_uncorrected");
    char *sram = test_scratch_path(f->root, DEVICES "/neuron0/stats/hardware/sram_ecc_uncorrected");
    char *power = test_scratch_path(f->root, DEVICES "/neuron0/stats/power");
    char *outside = test_scratch_path(f->folder, "outside");

    put_at(f->folder, "secret", "12345\n");
    put_at(f->folder, "outside/utilization", "POWER_STATUS_VALID,1,1.00,1.00,1.00\n");
    put_device(f, 0, false);
    unlink(leaf);
    assert_int_equal(symlink(secret, leaf), 0);
    unlink(ecc);
    assert_int_equal(mkfifo(ecc, 0600), 0);
    unlink(sram);
    assert_int_equal(mkdir(sram, 0700), 0);
    assert_int_equal(ntk_fs_remove_tree(power, NULL), 0);
    assert_int_equal(symlink(outside, power), 0);

    assert_string_equal(open_root(f)->devices[0].serial_number, "");
    ntk_device_source_read(f->source, NTK_DEVICE_READ_DEVICE, &reading, 1);
    assert_false(reading.mem_ecc_uncorrected.present);
    assert_false(reading.sram_ecc_uncorrected.present);
    assert_false(reading.has_power);
    assert_true(reading.mem_ecc_corrected.present); /* the rest is still read */

    /* a leaf becomes a link between the walk and the reading */
    unlink(leaf);
    put(f, 0, "stats/hardware/sram_ecc_corrected", "1\n");
    open_root(f);
    {
        char *swapped =
            test_scratch_path(f->root, DEVICES "/neuron0/stats/hardware/sram_ecc_corrected");

        unlink(swapped);
        assert_int_equal(symlink(secret, swapped), 0);
        ntk_device_source_read(f->source, NTK_DEVICE_READ_DEVICE, &reading, 1);
        assert_false(reading.sram_ecc_corrected.present);
        free(swapped);
    }
    free(outside);
    free(power);
    free(sram);
    free(ecc);
    free(leaf);
    free(secret);
}

static void excessively_deep_wide_and_long_trees_are_truncated(void **state)
{
    struct fixture *f = *state;
    const struct ntk_device_tree *tree;
    char name[1024] = DEVICES "/neuron0";
    char text[8192];
    size_t used;

    put_device(f, 0, false);
    used = strlen(name);
    for (int i = 0; i < 60; i++) {
        used += (size_t)snprintf(name + used, sizeof name - used, "/deep");
    }
    snprintf(name + used, sizeof name - used, "/serial_number");
    put_at(f->root, name, "deep\n");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    put_at(f->root, DEVICES "/neuron0/info/architecture/device_name", text);
    put_at(f->root, DEVICES "/neuron0/core_count", "4000000000");
    put_at(f->root, DEVICES "/neuron0/connected_devices", "1,2,999,-3,,x,4,5,6,7,8,9\n");
    for (int i = 0; i < 80; i++) {
        snprintf(text, sizeof text, DEVICES "/neuron%d/info/serial_number", i);
        put_at(f->root, text, "wide\n");
    }
    put_at(f->root, DEVICES "/neuron00/info/serial_number", "x\n");
    put_at(f->root, DEVICES "/neuron-1/info/serial_number", "x\n");
    put_at(f->root, DEVICES "/neuronx/info/serial_number", "x\n");
    tree = open_root(f);
    assert_int_equal(tree->device_count, NTK_DEVICES_MAX);
    assert_int_equal(tree->devices[0].core_count, 2);
    assert_true(strlen(tree->devices[0].name) < NTK_DEVICE_TEXT_BYTES);
    assert_int_equal(tree->devices[0].connected_device_count, 8);
    assert_string_equal(tree->devices[0].serial_number, "wide");
    for (size_t i = 1; i < tree->device_count; i++) {
        assert_true(tree->devices[i].index > tree->devices[i - 1].index);
    }
}

static void control_characters_in_device_strings_are_replaced(void **state)
{
    struct fixture *f = *state;

    put_device(f, 0, false);
    put_at(f->root, DEVICES "/neuron0/info/serial_number", "a\033[31mb\n");
    open_root(f);
    assert_null(strchr(ntk_device_source_tree(f->source)->devices[0].serial_number, '\033'));
}

static const struct ntk_device_tree *open_driver(struct fixture *f)
{
    struct ntk_device_options options = { .driver_sysfs = f->root, .hooks_dir = f->folder };
    struct ntk_err err = { 0 };

    ntk_device_source_close(f->source);
    f->source = NULL;
    assert_int_equal(ntk_device_source_open(&options, &f->source, &err), 0);
    return ntk_device_source_tree(f->source);
}

static void the_machine_type_of_a_driver_tree_is_read_from_firmware(void **state)
{
    struct fixture *f = *state;

    put_device(f, 0, true);
    assert_string_equal(open_driver(f)->machine_type, "");
    put_at(f->root, "devices/virtual/dmi/id/product_name", "trn2.3xlarge\n");
    assert_string_equal(open_driver(f)->machine_type, "trn2.3xlarge");
    assert_string_equal(open_root(f)->machine_type, "trn2.3xlarge");
    put_at(f->root, "class/dmi/id/sys_vendor", "LENOVO\n");
    assert_string_equal(open_driver(f)->machine_type, "");
}

/* Method: a link to /dev/null is a character device with the number 1:3. */
static void device_nodes_are_matched_by_number_or_name(void **state)
{
    struct fixture *f = *state;
    char *dev = test_scratch_path(f->folder, "dev");
    char *node = test_scratch_path(dev, "neuron0");

    for (unsigned int i = 0; i < 6; i++) {
        put_device(f, i, true);
    }
    open_driver(f);
    /* The folder does not exist. */
    assert_true(ntk_device_source_nodes(f->source, dev) == UINT64_MAX);
    put_at(dev, "null", "");
    put_at(dev, "neuron", "");
    put_at(dev, "neuronx1", "");
    put_at(dev, "neuron64", "");
    assert_true(ntk_device_source_nodes(f->source, dev) == 0);
    put_at(dev, "neuron4", "");
    put_at(dev, "neuron5", "");
    assert_true(ntk_device_source_nodes(f->source, dev) == 0x30);

    assert_int_equal(symlink("/dev/null", node), 0);
    /* The tree has no device numbers. */
    assert_true(ntk_device_source_nodes(f->source, dev) == 0x31);
    put_at(f->root, DEVICES "/neuron3/dev", "1:3\n");
    assert_true(ntk_device_source_nodes(f->source, dev) == 0x38);

    open_root(f); /* a tree that the user named may belong to another machine */
    assert_true(ntk_device_source_nodes(f->source, dev) == UINT64_MAX);
    free(node);
    free(dev);
}

/* Changes made during a walk of the tree. */
static struct {
    struct fixture *fixture;
    unsigned int times; /* number of walks that it disturbs */
    unsigned int walks; /* walks that were disturbed */
} meanwhile;

/* Replaces a machine of a single device by one of two devices, or back. */
static void exchange_trees(struct fixture *f)
{
    char *other = test_scratch_path(f->folder, "other");
    char *aside = test_scratch_path(f->folder, "aside");

    assert_int_equal(rename(f->root, aside), 0);
    assert_int_equal(rename(other, f->root), 0);
    assert_int_equal(rename(aside, other), 0);
    free(aside);
    free(other);
}

/* Replaces the C library's function: the reader calls it for every folder, first for that of the
 * devices, then for that of the first device. */
DIR *fdopendir(int fd)
{
    static bool is_listed;
    DIR *(*real)(int) = NULL;
    struct stat devices;
    struct stat this;

    *(void **)&real = dlsym(RTLD_NEXT, "fdopendir");
    if (meanwhile.fixture) {
        char *path = test_scratch_path(meanwhile.fixture->root, DEVICES);

        if (is_listed && meanwhile.walks < meanwhile.times) {
            meanwhile.walks++;
            exchange_trees(meanwhile.fixture);
        }
        is_listed =
            stat(path, &devices) == 0 && fstat(fd, &this) == 0 && devices.st_ino == this.st_ino;
        free(path);
    }
    return real(fd);
}

/* Method: the reader lists devices, and before it reads them, another machine takes their place. */
static void a_machine_replaced_while_its_tree_is_read_is_read_again(void **state)
{
    struct fixture *f = *state;
    const struct ntk_device_tree *tree;

    put_device(f, 0, false);
    char *other = test_scratch_path(f->folder, "other");
    assert_int_equal(rename(f->root, other), 0);
    put(f, 0, "info/architecture/device_name", "Inferentia\n");
    put(f, 0, "core_count", "4");
    put(f, 1, "info/architecture/device_name", "Inferentia\n");
    put(f, 1, "core_count", "4");
    meanwhile.fixture = f;
    meanwhile.times = 1;
    meanwhile.walks = 0;
    tree = open_root(f);
    assert_int_equal(meanwhile.walks, 1);
    assert_int_equal(tree->device_count, 1);
    assert_int_equal(tree->devices[0].core_count, 2);
    assert_string_equal(tree->devices[0].name, "Trainium1");
    ntk_device_source_close(f->source);
    f->source = NULL;

    /* A machine that changes during every walk is not read at all: a half is never shown. */
    meanwhile.times = 1000;
    meanwhile.walks = 0;
    tree = open_root(f);
    assert_true(meanwhile.walks > 1);
    assert_int_equal(tree->device_count, 0);
    meanwhile.fixture = NULL;
    free(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_old_device_tree_layout_is_read),
        TEST(the_new_device_tree_layout_has_the_same_values),
        TEST(fault_indicators_are_read_separately),
        TEST(counters_are_read_again_for_each_sample),
        TEST(half_of_the_devices_are_read_and_the_others_keep_their_values),
        TEST(texts_written_in_place_are_detected_within_five_refreshes),
        TEST(fault_files_are_opened_only_once),
        TEST(fault_files_are_reopened_if_descriptors_are_scarce),
        TEST(values_from_missing_and_malformed_files_are_absent),
        TEST(a_core_with_a_different_folder_layout_is_read_correctly),
        TEST(values_from_missing_and_malformed_files_are_absent),
        TEST(a_refresh_detects_added_and_removed_devices),
        TEST(a_given_tree_is_preferred_over_driver_and_software_machine),
        TEST(links_fifos_and_folders_in_place_of_files_are_not_read),
        TEST(excessively_deep_wide_and_long_trees_are_truncated),
        TEST(control_characters_in_device_strings_are_replaced),
        TEST(the_machine_type_of_a_driver_tree_is_read_from_firmware),
        TEST(device_nodes_are_matched_by_number_or_name),
        TEST(a_machine_replaced_while_its_tree_is_read_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
