/* SPDX-License-Identifier: MIT */
/* Cores with fault counters that a reader skips: a tree of one device in a scratch folder, and
 * hand-made readings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/collect/health.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define DEVICE "sys/devices/virtual/neuron_device/neuron0"

static void put(const char *folder, const char *name, const char *text)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/" DEVICE "/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(ntk_fs_make_folders(path, 0700, NULL), 0);
    *slash = '/';
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

static void the_counters_of_a_skipped_core_are_not_read(void **state)
{
    uint8_t skipped[NTK_DEVICES_MAX] = { 1 << 1 };
    char *folder = test_scratch_create();
    char root[1024];
    struct ntk_device_options options = { .sysfs_root = root };
    struct ntk_device_source *source = NULL;
    struct ntk_device_reading reading;

    (void)state;
    snprintf(root, sizeof root, "%s/sys", folder);
    put(folder, "core_count", "2");
    put(folder, "neuron_core0/stats/status/hw_dma_abort_error/total", "0");
    put(folder, "neuron_core1/stats/status/hw_dma_abort_error/total", "0");
    assert_int_equal(ntk_device_source_open(&options, &source, NULL), 0);
    assert_true(ntk_device_source_refresh(source, NULL) >= 0);

    assert_int_equal(ntk_device_source_read(source, NTK_DEVICE_READ_FAULTS, &reading, 1), 1);
    assert_true(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].present);
    assert_int_equal(reading.skipped_cores, 0);
    ntk_device_source_skip(source, skipped);
    assert_int_equal(ntk_device_source_read(source, NTK_DEVICE_READ_FAULTS, &reading, 1), 1);
    assert_true(reading.cores[0].status[NTK_STATUS_HW_DMA_ABORT].present);
    assert_false(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].present);
    assert_int_equal(reading.skipped_cores, 1 << 1);
    /* A reader that requests all statuses gets them. */
    assert_int_equal(ntk_device_source_read(source, NTK_DEVICE_READ_STATUS, &reading, 1), 1);
    assert_true(reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].present);

    ntk_device_source_close(source);
    test_scratch_destroy(folder);
}

/* Method: a status is read once, then skipped for a minute, finally with another value. */
static void a_skipped_core_keeps_its_last_status(void **state)
{
    static struct ntk_device_info info = { .index = 0, .core_count = 2 };
    const struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                          .devices = &info,
                                          .device_count = 1,
                                          .cores_per_device = 2 };
    struct ntk_device_reading reading = { .mem_ecc_uncorrected = { 0, true } };
    struct ntk_health_time now = { NTK_NS_PER_SECOND, 1700000000 * NTK_NS_PER_SECOND };
    struct ntk_health *health = ntk_health_create();
    const unsigned int read = NTK_DEVICE_READ_HEALTH | NTK_DEVICE_READ_FAULTS;
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    struct ntk_device_sample device = { 0 };

    (void)state;
    ntk_health_tree(health, &tree, true, now);
    reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT] = (struct ntk_device_value){ 5, true };
    ntk_health_reading(health, &reading, read, false, false, now);
    reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT].present = false;
    reading.skipped_cores = 1 << 1;
    for (int second = 0; second < 60; second++) {
        now.monotonic_ns += NTK_NS_PER_SECOND;
        now.realtime_ns += NTK_NS_PER_SECOND;
        ntk_health_reading(health, &reading, read, false, false, now);
    }
    ntk_health_fill(health, snapshot, &device);
    assert_int_equal(device.verdict, NTK_HEALTH_HEALTHY);

    reading.cores[1].status[NTK_STATUS_HW_DMA_ABORT] = (struct ntk_device_value){ 6, true };
    reading.skipped_cores = 0;
    ntk_health_reading(health, &reading, read, false, false, now);
    ntk_health_fill(health, snapshot, &device);
    assert_int_equal(device.health_count, 1);
    assert_int_equal(device.health[0].reason, NTK_HEALTH_REASON_DMA_ABORT);
    ntk_snapshot_destroy(snapshot);
    ntk_health_destroy(health);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counters_of_a_skipped_core_are_not_read),
        cmocka_unit_test(a_skipped_core_keeps_its_last_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
