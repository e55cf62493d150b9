/* SPDX-License-Identifier: MIT */
/*
 * Every machine of the catalogue, in both layouts of the tree: what the software machine publishes is
 * what the tools' reader finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime-hooks/core/core.h"
#include "shared/device/device.h"
#include "tests/support/scratch.h"

#define SHM_BYTES_MIN (UINT64_C(1) << 30)

enum topology { NONE, CHAIN, RING, TORUS, SWITCH };

struct family {
    const char *key;
    uint32_t cores;
    const char *arch, *instance_type, *device_name;
    bool has_hardware_counters;
};

struct machine {
    const char *instance;
    const char *family;
    size_t devices;
    enum topology topology;
    bool is_ultraserver;
};

static const struct family families[] = {
#define NTK_FAMILY(symbol, generation, cores, stacks, stack_bytes, per_stack, lnc, largest, arch, \
                   instance, device, type, version, v1, v2, pci, hardware, health)                \
    { #symbol, cores, arch, instance, device, hardware },
#include "shared/abi/machine.def"
};

static const struct machine machines[] = {
#define NTK_MACHINE(instance, family, devices, topology, vcpus, nrt_family, ultraserver) \
    { instance, #family, devices, topology, ultraserver },
#include "shared/abi/machine.def"
};

static const struct family *family_of(const struct machine *machine)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(families[i].key, machine->family) == 0) {
            return &families[i];
        }
    }
    fail_msg("%s has no family", machine->instance);
    return &families[0];
}

/* How many neighbours device d lists. */
static uint32_t neighbours_of(const struct machine *machine, size_t d)
{
    switch (machine->topology) {
    case CHAIN:
        return d == 0 || d + 1 == machine->devices ? 1 : 2;
    case RING:
        return 2;
    case TORUS:
        return 4;
    case NONE:
    case SWITCH:
        break;
    }
    return 0;
}

static void device_check(const struct machine *machine, const struct ntk_device_tree *tree,
                         size_t d)
{
    const struct family *family = family_of(machine);
    const struct ntk_device_info *device = &tree->devices[d];

    assert_int_equal(device->index, d);
    assert_int_equal(device->core_count, family->cores);
    assert_string_equal(device->arch, family->arch);
    assert_string_equal(device->instance_type, family->instance_type);
    assert_string_equal(device->name, family->device_name);
    assert_int_equal(device->neighbour_count, neighbours_of(machine, d));
    for (uint32_t n = 0; n < device->neighbour_count; n++) {
        const struct ntk_device_info *other = &tree->devices[device->neighbours[n]];
        bool is_mutual = false;

        assert_true(device->neighbours[n] < machine->devices && device->neighbours[n] != d);
        for (uint32_t k = 0; k < other->neighbour_count; k++) {
            is_mutual = is_mutual || other->neighbours[k] == d;
        }
        assert_true(is_mutual);
    }
}

static void machine_check(const char *folder, const struct machine *machine, bool new_layout)
{
    static struct ntk_device_reading readings[NTK_DEVICES_MAX];
    struct ntk_device_options options = { .driver_sysfs = folder, .hooks_dir = folder };
    struct ntk_device_source *source = NULL;
    struct ntk_err err = { 0 };

    setenv("NEURON_SOFT_INSTANCE", machine->instance, 1);
    setenv("NEURON_SOFT_SYSFS", new_layout ? "new" : "old", 1);
    if (ntk_core_machine_build(&err) != 0) {
        fail_msg("%s: %s", machine->instance, err.text);
    }
    assert_int_equal(ntk_device_source_open(&options, &source, &err), 0);
    const struct ntk_device_tree *tree = ntk_device_source_tree(source);
    assert_int_equal(tree->origin, NTK_DEVICE_ORIGIN_SOFTWARE);
    assert_string_equal(tree->machine_type, machine->instance);
    assert_string_equal(tree->driver_version, new_layout ? "2.31.0.0" : "2.30.2.0");
    assert_int_equal(tree->new_layout, new_layout);
    assert_int_equal(tree->device_count, machine->devices);
    assert_string_equal(tree->ultraserver_mode, machine->is_ultraserver ? "1,2,3,4" : "");
    for (size_t d = 0; d < tree->device_count; d++) {
        device_check(machine, tree, d);
    }
    size_t count = ntk_device_source_read(source, NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_CORES,
                                          readings, NTK_DEVICES_MAX);
    assert_int_equal(count, machine->devices);
    for (size_t d = 0; d < count; d++) {
        assert_int_equal(readings[d].mem_ecc_uncorrected.present,
                         family_of(machine)->has_hardware_counters);
        for (uint32_t c = 0; c < family_of(machine)->cores; c++) {
            assert_true(readings[d].cores[c].inference_count.present);
            assert_true(readings[d].cores[c].device_memory_bytes.present);
            assert_int_equal(readings[d].cores[c].inference_count.value, 0);
        }
    }
    ntk_device_source_close(source);
}

static void machines_check(bool new_layout)
{
    char *folder = test_scratch_create();

    setenv("NEURON_HOOKS_DIR", folder, 1);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        machine_check(folder, &machines[i], new_layout);
    }
    test_scratch_destroy(folder);
}

static void every_machine_reads_back_in_the_old_layout(void **state)
{
    (void)state;
    machines_check(false);
}

static void every_machine_reads_back_in_the_new_layout(void **state)
{
    (void)state;
    machines_check(true);
}

int main(void)
{
    struct statvfs shm;

    /* Trees of tens of thousands of small files: in memory where there is some, as in life. */
    if (access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &shm) == 0 &&
        shm.f_bavail * shm.f_frsize > SHM_BYTES_MIN) {
        (void)setenv("TMPDIR", "/dev/shm", 1);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_reads_back_in_the_old_layout),
        cmocka_unit_test(every_machine_reads_back_in_the_new_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
