/* SPDX-License-Identifier: MIT */
/*
 * Every machine of the catalogue, in both layouts of the tree: the tools' reader finds what the
 * software machine publishes.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core.h"
#include "shared/device/device.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

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
                   instance, device, type, version, v1, v2, pci, hardware, health, memory)        \
    { #symbol, cores, arch, instance, device, hardware },
#include "shared/abi/machine.def"
};

static const struct machine machines[] = {
#define NTK_MACHINE(instance, family, devices, topology, vcpus, nrt_family, ultraserver) \
    { instance, #family, devices, topology, ultraserver },
#include "shared/abi/machine.def"
};

/* The same machines in an independent hand-written table. */
enum link { ALONE, RISING, FALLING, AROUND, AROUND_FALLING, TORUS_TRN1, TORUS_TRN2, SWITCHED };

static const struct {
    const char *instance;
    uint32_t devices, cores, logical_cores, gib;
    enum link link;
} facts[] = {
    { "inf1.xlarge", 1, 4, 4, 8, ALONE },
    { "inf1.2xlarge", 1, 4, 4, 8, ALONE },
    { "inf1.6xlarge", 4, 4, 4, 8, FALLING },
    { "inf1.24xlarge", 16, 4, 4, 8, AROUND_FALLING },
    { "inf2.xlarge", 1, 2, 2, 32, ALONE },
    { "inf2.8xlarge", 1, 2, 2, 32, ALONE },
    { "inf2.24xlarge", 6, 2, 2, 32, RISING },
    { "inf2.48xlarge", 12, 2, 2, 32, AROUND },
    { "trn1.2xlarge", 1, 2, 2, 32, ALONE },
    { "trn1.32xlarge", 16, 2, 2, 32, TORUS_TRN1 },
    { "trn1n.32xlarge", 16, 2, 2, 32, TORUS_TRN1 },
    { "trn2.3xlarge", 1, 8, 4, 96, ALONE },
    { "trn2.48xlarge", 16, 8, 4, 96, TORUS_TRN2 },
    { "trn2n.48xlarge", 16, 8, 4, 96, TORUS_TRN2 },
    { "trn2u.48xlarge", 16, 8, 4, 96, TORUS_TRN2 },
    { "trn3.3xlarge", 1, 8, 4, 144, ALONE },
    { "trn3.48xlarge", 16, 8, 4, 144, SWITCHED },
    { "trn3pds98.48xlarge", 4, 8, 4, 144, SWITCHED },
    { "mlu100", 1, 4, 4, 16, ALONE },
    { "mlu270", 1, 4, 4, 16, ALONE },
    { "mlu270x4", 4, 4, 4, 16, ALONE },
};

/* Listed in the order of the driver. */
static const uint32_t torus[2][16][4] = {
    { { 12, 3, 4, 1 },
      { 13, 0, 5, 2 },
      { 14, 1, 6, 3 },
      { 15, 2, 7, 0 },
      { 0, 7, 8, 5 },
      { 1, 4, 9, 6 },
      { 2, 5, 10, 7 },
      { 3, 6, 11, 4 },
      { 4, 11, 12, 9 },
      { 5, 8, 13, 10 },
      { 6, 9, 14, 11 },
      { 7, 10, 15, 8 },
      { 8, 15, 0, 13 },
      { 9, 12, 1, 14 },
      { 10, 13, 2, 15 },
      { 11, 14, 3, 12 } },
    { { 12, 1, 3, 4 },
      { 0, 13, 5, 2 },
      { 14, 3, 1, 6 },
      { 2, 15, 7, 0 },
      { 8, 5, 7, 0 },
      { 4, 9, 1, 6 },
      { 10, 7, 5, 2 },
      { 6, 11, 3, 4 },
      { 4, 9, 11, 12 },
      { 8, 5, 13, 10 },
      { 6, 11, 9, 14 },
      { 10, 7, 15, 8 },
      { 0, 13, 15, 8 },
      { 12, 1, 9, 14 },
      { 2, 15, 13, 10 },
      { 14, 3, 11, 12 } },
};

static void links_check(enum link link, const struct ntk_device_tree *tree, uint32_t d)
{
    const struct ntk_device_info *device = &tree->devices[d];
    uint32_t n = (uint32_t)tree->device_count;
    uint32_t expected[4];
    uint32_t count = 0;

    switch (link) {
    case ALONE:
    case SWITCHED:
        break;
    case RISING:
    case FALLING:
        if (link == RISING && d > 0) {
            expected[count++] = d - 1;
        }
        if (d + 1 < n) {
            expected[count++] = d + 1;
        }
        if (link == FALLING && d > 0) {
            expected[count++] = d - 1;
        }
        break;
    case AROUND:
        expected[count++] = (d + n - 1) % n;
        expected[count++] = (d + 1) % n;
        break;
    case AROUND_FALLING:
        expected[count++] = (d + 1) % n;
        expected[count++] = (d + n - 1) % n;
        break;
    case TORUS_TRN1:
    case TORUS_TRN2:
        memcpy(expected, torus[link == TORUS_TRN2][d], sizeof expected);
        count = 4;
        break;
    }
    assert_int_equal(device->connected_device_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(device->connected_devices[i], expected[i]);
    }
}

static void facts_check(const struct ntk_device_tree *tree)
{
    const struct ntk_core_machine_options there = { .new_tree = false };
    struct ntk_core_machine machine;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_core_machine_find(&there, &machine, &err), 0);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strcmp(facts[i].instance, machine.instance) != 0) {
            continue;
        }
        assert_int_equal(machine.device_count, facts[i].devices);
        assert_int_equal(machine.cores_per_device, facts[i].cores);
        assert_int_equal(machine.cores_per_device / machine.default_lnc, facts[i].logical_cores);
        assert_int_equal(machine.stacks_per_device * machine.stack_bytes >> 30, facts[i].gib);
        for (uint32_t d = 0; d < tree->device_count; d++) {
            links_check(facts[i].link, tree, d);
        }
        return;
    }
    fail_msg("%s is unknown", machine.instance);
}

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
    assert_int_equal(device->connected_device_count, neighbours_of(machine, d));
    for (uint32_t n = 0; n < device->connected_device_count; n++) {
        const struct ntk_device_info *other = &tree->devices[device->connected_devices[n]];
        bool is_mutual = false;

        assert_true(device->connected_devices[n] < machine->devices &&
                    device->connected_devices[n] != d);
        for (uint32_t k = 0; k < other->connected_device_count; k++) {
            is_mutual = is_mutual || other->connected_devices[k] == d;
        }
        assert_true(is_mutual);
    }
}

/* The core reports the links and addresses that its tree shows. */
static void core_check(const struct machine *machine, const struct ntk_device_source *source,
                       const struct ntk_device_tree *tree)
{
    static struct ntk_device_place places[NTK_DEVICES_MAX];
    const struct ntk_core_machine_options wanted = { .instance = { .value = machine->instance } };
    struct ntk_core_machine found;
    char bdf[NTK_CORE_BDF_BYTES];

    assert_int_equal(ntk_core_machine_find(&wanted, &found, NULL), 0);
    assert_int_equal(ntk_device_source_places(source, places, NTK_DEVICES_MAX), machine->devices);
    for (uint32_t d = 0; d < machine->devices; d++) {
        const struct ntk_device_info *device = &tree->devices[d];

        ntk_core_machine_bdf(d, bdf);
        assert_string_equal(places[d].bdf, bdf);
        for (uint32_t other = 0; other < machine->devices; other++) {
            bool is_linked = machine->topology == SWITCH && other != d;

            for (uint32_t n = 0; n < device->connected_device_count; n++) {
                is_linked = is_linked || device->connected_devices[n] == other;
            }
            assert_int_equal(ntk_core_machine_has_link(&found, d, other), is_linked);
        }
    }
}

static void machine_check(const char *folder, const struct machine *machine, bool new_layout)
{
    static struct ntk_device_reading readings[NTK_DEVICES_MAX];
    struct ntk_device_options options = { .driver_sysfs = folder, .hooks_dir = folder };
    struct ntk_device_source *source = NULL;
    struct ntk_err err = { 0 };

    const struct ntk_core_machine_options wanted = { .instance = { .value = machine->instance },
                                                     .new_tree = new_layout };
    if (ntk_core_machine_build(&wanted, &err) != 0) {
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
    core_check(machine, source, tree);
    facts_check(tree);
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

static void every_machine_type_is_read_back_in_the_old_tree_layout(void **state)
{
    machines_check(false);
}

static void every_machine_type_is_read_back_in_the_new_tree_layout(void **state)
{
    machines_check(true);
}

int main(void)
{
    test_scratch_in_memory();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_type_is_read_back_in_the_old_tree_layout),
        cmocka_unit_test(every_machine_type_is_read_back_in_the_new_tree_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
