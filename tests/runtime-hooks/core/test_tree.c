/* SPDX-License-Identifier: MIT */
/*
 * The device tree of the software machine: leaves, sums, both layouts, take-over, removal.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/core/core_tree.h"
#include "shared/abi/paths.h"
#include "shared/base/fs.h"
#include "shared/device/device.h"
#include "tests/support/observed.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static char *folder;
static struct ntk_core_options options; /* of the test */

static int setup(void **state)
{
    folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", folder, 1);
    options = (struct ntk_core_options){ 0 };
    return 0;
}

static int teardown(void **state)
{
    test_scratch_destroy(folder);
    return 0;
}

/* The text of a leaf below the root, "" if it does not exist. */
static const char *leaf(const char *path)
{
    static char text[1024];
    char full[1024];

    (void)snprintf(full, sizeof full, "%s/soft/sys/%s", folder, path);
    if (ntk_fs_read_text(full, text, sizeof text) < 0) {
        text[0] = '\0';
    }
    return text;
}

#define DEVICES "devices/virtual/neuron_device/"

static void build(const char *instance)
{
    struct ntk_err err = { 0 };

    options.machine.instance.value = instance;
    if (ntk_core_machine_build(&options.machine, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

static void a_built_machine_has_its_properties_in_the_tree(void **state)
{
    char link[256];
    char path[1024];

    build("trn1.32xlarge");
    assert_string_equal(leaf("module/neuron/version"), "2.30.2.0");
    assert_string_equal(leaf(DEVICES "neuron0/core_count"), "2");
    assert_string_equal(leaf(DEVICES "neuron0/connected_devices"), "12, 3, 4, 1");
    assert_string_equal(leaf(DEVICES "neuron15/connected_devices"), "11, 14, 3, 12");
    assert_string_equal(leaf(DEVICES "neuron3/info/serial_number"), "0a1b2c3d4e5f0003");
    assert_string_equal(leaf(DEVICES "neuron0/info/architecture/arch_type"), "NDv2");
    assert_string_equal(leaf(DEVICES "neuron0/info/architecture/instance_type"), "Trn1");
    assert_string_equal(leaf(DEVICES "neuron0/info/architecture/device_name"), "Trainium1");
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core1/info/architecture/arch_type"), "NCv2");
    assert_string_equal(leaf(DEVICES "neuron0/info/notify_delay"), "-1");
    assert_string_equal(leaf(DEVICES "neuron0/reset"), "1");
    assert_string_equal(leaf(DEVICES "neuron0/stats/power/utilization"),
                        "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00");
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core0/stats/status/success/total"), "0");
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core0/stats/tensor_engine/pe_cntrs"),
                        "xrow_grp,mm_active,wl_active,idle\n0,0,0,0\n1,0,0,0\n2,0,0,0\n3,0,0,0");
    assert_string_equal(leaf("class/neuron_device/ultraserver_mode"), "");
    assert_string_equal(leaf("class/neuron_device/node_id_4"), "-1");
    assert_string_equal(leaf("bus/pci/devices/0000:10:1c.0/device"), "0x7164");
    assert_string_equal(leaf("bus/pci/devices/0000:40:1f.0/numa_node"), "1");
    assert_string_equal(leaf("bus/pci/devices/0000:10:1c.0/local_cpulist"), "0-31,64-95");
    assert_string_equal(leaf(DEVICES "neuron16/core_count"), "");
    (void)snprintf(path, sizeof path, "%s/soft/sys/class/neuron_device/neuron7", folder);
    ssize_t bytes = readlink(path, link, sizeof link - 1);
    assert_true(bytes > 0);
    link[bytes] = '\0';
    assert_string_equal(link, "../../devices/virtual/neuron_device/neuron7");
}

static void a_different_instance_type_rebuilds_the_tree(void **state)
{
    build("inf1.6xlarge");
    assert_string_equal(leaf(DEVICES "neuron1/connected_devices"), "2, 0");
    build("trn2.3xlarge");
    assert_string_equal(leaf(DEVICES "neuron0/core_count"), "8");
    assert_string_equal(leaf(DEVICES "neuron1/core_count"), "");
    assert_string_equal(leaf(DEVICES "neuron0/connected_devices"), "");
    assert_string_equal(leaf(DEVICES "neuron0/stats/hardware/health_status/unhealthy_components"),
                        "");
    assert_true(strcmp(leaf(DEVICES "neuron0/stats/hardware/health_status/healthcheck_heartbeat"),
                       "") != 0);
    build("inf1.xlarge");
    assert_string_equal(leaf(DEVICES "neuron0/info/architecture/device_name"), "Inferentia");
    assert_string_equal(leaf(DEVICES "neuron0/stats/hardware/mem_ecc_uncorrected"), "");
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core3/info/architecture/arch_type"), "NCv1");
}

/* What a reader finds in the folder: this number of devices with this number of cores each. */
static void assert_found(size_t devices, uint32_t cores)
{
    const struct ntk_device_options found = { .driver_sysfs = "/nowhere", .hooks_dir = folder };
    struct ntk_device_source *source = NULL;

    assert_int_equal(ntk_device_source_open(&found, &source, NULL), 0);
    const struct ntk_device_tree *tree = ntk_device_source_tree(source);
    assert_int_equal(tree->device_count, devices);
    for (size_t i = 0; i < devices; i++) {
        assert_int_equal(tree->devices[i].core_count, cores);
        assert_string_not_equal(tree->devices[i].name, "");
        assert_string_not_equal(tree->devices[i].arch, "");
    }
    ntk_device_source_close(source);
}

static bool is_there(const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/soft/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* The steps of a publisher of a large machine, which publishes its facts before its counters. */
static void publish_in_steps(const char *instance, size_t devices_before, uint32_t cores_before)
{
    const struct ntk_core_soft_options request = { .instance = instance };
    const struct ntk_core_machine_row *row = ntk_core_machine_row_find(instance);
    struct ntk_core_soft *soft = NULL;
    struct core_tree tree;

    assert_int_equal(ntk_core_soft_open(&request, &soft, NULL), 0);
    assert_int_equal(ntk_core_tree_init(&tree, soft, row, NULL), 0);
    assert_false(ntk_core_tree_exists(&tree));
    assert_int_equal(ntk_core_tree_open(&tree, NULL), 0);
    assert_found(devices_before, cores_before);
    assert_int_equal(ntk_core_tree_write(&tree, false), 0);
    assert_found(devices_before, cores_before);
    assert_int_equal(ntk_core_tree_finish(&tree, NULL), 0);
    assert_found(row->facts.device_count, row->facts.cores_per_device);
    assert_true(ntk_core_tree_exists(&tree));
    /* The counters, in a later round. */
    ntk_core_tree_leave(&tree);
    assert_int_equal(ntk_core_tree_enter(&tree), 0);
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core0/stats/status/success/total"), "");
    assert_int_equal(ntk_core_tree_write(&tree, true), 0);
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core0/stats/status/success/total"), "0");
    ntk_core_tree_fini(&tree);
    ntk_core_soft_close(soft);
}

static void readers_find_a_complete_machine_tree_or_none(void **state)
{
    publish_in_steps("trn1.32xlarge", 0, 0);
    publish_in_steps("inf2.24xlarge", 16, 2);
    assert_false(is_there("sys.new"));
    assert_false(is_there("sys.old"));
}

/* Writes the tree on request, and is its publisher until then. */
static int slow_publisher(struct observed *parent, void *ctx)
{
    const struct ntk_core_soft_options request = { .instance = ctx };
    struct ntk_core_soft *soft = NULL;
    struct core_tree tree;
    struct ntk_err err = { 0 };
    int ret = ntk_core_soft_open(&request, &soft, &err);

    ret = ret < 0 ? ret : ntk_core_tree_init(&tree, soft, ntk_core_machine_row_find(ctx), &err);
    ret = ret < 0 ? ret : ntk_core_soft_lock(soft, NTK_SOFT_LOCK_PUBLISHER);
    observed_send(parent, ret == 1);
    (void)observed_receive(parent);
    ret = ntk_core_tree_open(&tree, &err);
    ret = ret < 0 ? ret : ntk_core_tree_write(&tree, true);
    ret = ret < 0 ? ret : ntk_core_tree_finish(&tree, &err);
    observed_send(parent, ret == 0);
    /* This process is still the publisher; the other process does not wait for its end. */
    (void)observed_receive(parent);
    return 0;
}

/* Whether the tree exists when the call returns. */
static int builder(struct observed *parent, void *ctx)
{
    const struct ntk_core_machine_options machine = { .instance.value = ctx };
    struct ntk_err err = { 0 };
    bool is_built = ntk_core_machine_build(&machine, &err) == 0;

    observed_send(parent, is_built && leaf(DEVICES "neuron0/core_count")[0] != '\0');
    return 0;
}

/* A process has its slot as soon as it has opened the state. */
static int has_process(void *ctx)
{
    return ntk_core_soft_holder(ctx, NTK_SOFT_LOCK_PROCESS) != 0;
}

static void a_machine_build_returns_once_another_process_created_the_tree(void **state)
{
    const struct ntk_core_soft_options whatever = { .instance = NULL };
    struct ntk_core_soft *soft = NULL;
    char instance[] = "inf2.xlarge";

    struct observed publisher = observed_start(folder, slow_publisher, instance);
    assert_int_equal(observed_receive(&publisher), 1);
    struct observed other = observed_start(folder, builder, instance);
    assert_int_equal(ntk_core_soft_open(&whatever, &soft, NULL), 0);
    assert_true(test_wait_until(has_process, soft));
    observed_send(&publisher, 1);
    assert_int_equal(observed_receive(&publisher), 1);
    assert_int_equal(observed_receive(&other), 1);
    assert_int_equal(observed_finish(&other, 0), 0);
    observed_send(&publisher, 1);
    assert_int_equal(observed_finish(&publisher, 0), 0);
    ntk_core_soft_close(soft);
}

/* Method: a process that was killed between the state and the tree, with half of the new tree
 * written. */
static void an_incomplete_tree_of_a_killed_process_is_not_used(void **state)
{
    const struct ntk_core_soft_options request = { .instance = "inf1.xlarge" };
    struct ntk_core_soft *soft = NULL;
    struct core_tree tree;

    build("trn1.32xlarge");
    assert_int_equal(ntk_core_soft_open(&request, &soft, NULL), 0);
    assert_int_equal(
        ntk_core_tree_init(&tree, soft, ntk_core_machine_row_find("inf1.xlarge"), NULL), 0);
    assert_int_equal(ntk_core_tree_open(&tree, NULL), 0);
    assert_int_equal(ntk_core_tree_write(&tree, false), 0);
    ntk_core_tree_fini(&tree);
    /* Makes sure that it is in another second. */
    soft->state->header.created_realtime_ns += 5 * NTK_NS_PER_SECOND;
    ntk_core_soft_close(soft);
    assert_true(is_there("sys.new"));
    assert_found(16, 2);
    build("inf1.xlarge");
    assert_found(1, 4);
    assert_false(is_there("sys.new"));
}

static void the_new_layout_has_statistics_in_the_telemetry_folder(void **state)
{
    options.machine.new_tree = true;
    build("inf2.xlarge");
    assert_string_equal(leaf("module/neuron/version"), "2.31.0.0");
    assert_string_equal(leaf(DEVICES "neuron0/telemetry/device/hardware/mem_ecc_uncorrected"), "0");
    assert_string_equal(
        leaf(DEVICES "neuron0/telemetry/neuron_core1/other_info/inference_count/total"), "0");
    assert_string_equal(leaf(DEVICES "neuron0/neuron_core1/info/architecture/arch_type"), "NCv2");
    assert_string_equal(leaf(DEVICES "neuron0/stats/power/utilization"), "");
}

static uint64_t number(const char *path)
{
    return strtoull(leaf(path), NULL, 10);
}

#define CORE DEVICES "neuron0/neuron_core0/stats/memory_usage/"

static void memory_files_are_updated_each_round_and_are_consistent(void **state)
{
    static const char *const categories[] = {
        "collectives",          "constants",      "dma_rings",
        "driver_memory",        "model_code",     "tensors",
        "notifications",        "runtime_memory", "model_shared_scratchpad",
        "nonshared_scratchpad", "uncategorized",
    };
    struct ntk_core *core = NULL;
    struct ntk_core_tensor *tensor = NULL;
    struct ntk_core_tensor *host = NULL;
    char path[256];
    uint64_t sum = 0;

    options.machine.instance.value = "trn1.2xlarge";
    assert_int_equal(ntk_core_open(&options, &core, NULL), 0);
    /* The tree was written after the cores were taken. */
    assert_int_equal(number(CORE "device_mem/total"), 96 << 20);
    assert_int_equal(number(CORE "device_mem/model_code/total"), 96 << 20);
    assert_int_equal(number(CORE "device_mem/model_code/peak"), 96 << 20);
    assert_int_equal(ntk_core_tensor_create(core, NTK_CORE_DEVICE, 0, 12345, "t", &tensor, NULL),
                     0);
    assert_int_equal(ntk_core_tensor_create(core, NTK_CORE_HOST, 0, 99, "h", &host, NULL), 0);
    ntk_core_tensor_destroy(tensor);
    ntk_core_tensor_destroy(host);
    ntk_core_close(core);
    assert_int_equal(number(CORE "device_mem/total"), 0);
    assert_int_equal(number(CORE "device_mem/tensors/total"), 0);
    assert_int_equal(number(CORE "device_mem/tensors/present"), 12345);
    assert_int_equal(number(CORE "device_mem/tensors/peak"), 12345);
    assert_int_equal(number(CORE "device_mem/peak"), (96 << 20) + 12345);
    assert_int_equal(number(CORE "host_mem/peak"), 99);
    assert_int_equal(number(DEVICES "neuron0/stats/memory_usage/host_mem/tensors/peak"), 99);
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        (void)snprintf(path, sizeof path, CORE "device_mem/%s/total", categories[i]);
        assert_true(leaf(path)[0] != '\0');
        sum += number(path);
    }
    assert_int_equal(sum, number(CORE "device_mem/total"));
}

static int holder(struct observed *parent, void *ctx)
{
    struct ntk_core *core = NULL;
    struct ntk_core_tensor *tensor = NULL;

    options.exact = true;
    options.first_core = *(uint32_t *)ctx;
    options.core_count = 1;
    observed_send(parent, (uint64_t)(ntk_core_open(&options, &core, NULL) == 0));
    (void)observed_receive(parent);
    (void)ntk_core_tensor_create(core, NTK_CORE_DEVICE, 0, 4096, "t", &tensor, NULL);
    observed_send(parent, 1);
    (void)observed_receive(parent);
    return 0;
}

static int tensor_shows(void *ctx)
{
    (void)ctx;
    return number(DEVICES "neuron0/neuron_core1/stats/memory_usage/device_mem/tensors/total") ==
           4096;
}

static void another_process_publishes_after_the_publisher_is_killed(void **state)
{
    uint32_t cores[2] = { 0, 1 };

    options.machine.instance.value = "trn1.2xlarge";
    struct observed first = observed_start(folder, holder, &cores[0]);
    assert_int_equal(observed_receive(&first), 1);
    struct observed second = observed_start(folder, holder, &cores[1]);
    assert_int_equal(observed_receive(&second), 1);
    assert_int_equal(observed_finish(&first, SIGKILL), 128 + SIGKILL);
    observed_send(&second, 1);
    assert_int_equal(observed_receive(&second), 1);
    assert_true(test_wait_until(tensor_shows, NULL));
    observed_send(&second, 1);
    assert_int_equal(observed_finish(&second, 0), 0);
}

/* --- text that users write -------------------------------------------------------------------- */

static void leaf_put(const char *path, const char *text)
{
    char full[1024];
    FILE *file;

    (void)snprintf(full, sizeof full, "%s/soft/sys/%s", folder, path);
    file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

struct expected {
    const char *path;
    uint64_t value;
};

static int shows(void *ctx)
{
    const struct expected *expected = ctx;

    return leaf(expected->path)[0] != '\0' && number(expected->path) == expected->value;
}

static bool will_show(const char *path, uint64_t value)
{
    struct expected expected = { path, value };

    return test_wait_until(shows, &expected);
}

#define TENSORS DEVICES "neuron0/neuron_core1/stats/memory_usage/device_mem/tensors/"

/* Method: another process holds 4,096 bytes and publishes; this one writes. */
static void writing_to_a_counter_file_clears_only_this_counter(void **state)
{
    uint32_t core = 1;

    options.machine.instance.value = "trn1.2xlarge";
    struct observed other = observed_start(folder, holder, &core);
    assert_int_equal(observed_receive(&other), 1);
    observed_send(&other, 1);
    assert_int_equal(observed_receive(&other), 1);
    assert_true(will_show(TENSORS "peak", 4096));
    leaf_put(TENSORS "peak", "anything");
    assert_true(will_show(TENSORS "peak", 0));
    assert_int_equal(number(TENSORS "total"), 4096);
    assert_int_equal(number(TENSORS "present"), 4096);
    leaf_put(TENSORS "present", "1\n");
    assert_true(will_show(TENSORS "present", 0));
    assert_int_equal(number(TENSORS "total"), 4096);
    /* The sum over all categories has a separate peak. */
    assert_true(number(DEVICES "neuron0/neuron_core1/stats/memory_usage/device_mem/peak") > 4096);
    leaf_put(DEVICES "neuron0/neuron_core1/stats/memory_usage/device_mem/peak", "0\n");
    assert_true(will_show(DEVICES "neuron0/neuron_core1/stats/memory_usage/device_mem/peak", 0));
    /* Not a counter: the old text comes back. */
    leaf_put(DEVICES "neuron0/stats/hardware/sram_ecc_corrected", "77\n");
    assert_true(will_show(DEVICES "neuron0/stats/hardware/sram_ecc_corrected", 0));
    leaf_put(DEVICES "neuron0/core_count", "9");
    assert_true(will_show(DEVICES "neuron0/core_count", 2));
    leaf_put(DEVICES "neuron0/info/notify_delay", "0\n");
    leaf_put(DEVICES "neuron0/info/serial_number", "1\n"); /* checked after notify_delay */
    assert_true(will_show(DEVICES "neuron0/info/serial_number", 0)); /* text leaves, too */
    assert_string_equal(leaf(DEVICES "neuron0/info/notify_delay"), "0");
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
}

#define RESETS(device, core) \
    DEVICES "neuron" #device "/neuron_core" #core "/stats/other_info/reset_req_count/total"

static void a_reset_of_an_unused_device_is_counted_on_every_core(void **state)
{
    uint32_t core = 1;

    options.machine.instance.value = "trn1.32xlarge";
    struct observed other = observed_start(folder, holder, &core);
    assert_int_equal(observed_receive(&other), 1);
    assert_true(will_show(RESETS(15, 1), 0));
    leaf_put(DEVICES "neuron0/reset", "1\n"); /* in use: ignored */
    leaf_put(DEVICES "neuron3/reset", "1\n"); /* any text works */
    assert_true(will_show(RESETS(3, 0), 1));
    assert_true(will_show(RESETS(3, 1), 1));
    assert_int_equal(number(RESETS(0, 0)), 0);
    assert_int_equal(number(RESETS(0, 1)), 0);
    assert_int_equal(number(RESETS(2, 0)), 0);
    leaf_put(DEVICES "neuron3/reset", "1\n");
    assert_true(will_show(RESETS(3, 1), 2));
    assert_int_equal(number(RESETS(0, 0)), 0);
    assert_string_equal(leaf(DEVICES "neuron3/reset"), "1");
    leaf_put(RESETS(3, 1), "0\n");
    assert_true(will_show(RESETS(3, 1), 0));
    assert_int_equal(number(RESETS(3, 0)), 2);
    observed_send(&other, 1);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
}

static void writes_to_the_tree_without_a_publisher_take_effect_at_next_start(void **state)
{
    struct ntk_core *core = NULL;

    build("trn1.2xlarge");
    leaf_put(DEVICES "neuron0/reset", "1\n");
    leaf_put(DEVICES "neuron0/info/architecture/device_name", "Abacus\n");
    build("trn1.2xlarge");
    assert_int_equal(number(RESETS(0, 0)), 1);
    assert_int_equal(number(RESETS(0, 1)), 1);
    assert_string_equal(leaf(DEVICES "neuron0/info/architecture/device_name"), "Trainium1");
    build("trn1.2xlarge");
    assert_int_equal(number(RESETS(0, 1)), 1);
    /* The process that opens the device next was not there at the time of the request. */
    leaf_put(DEVICES "neuron0/reset", "1\n");
    assert_int_equal(ntk_core_open(&options, &core, NULL), 0);
    ntk_core_close(core);
    assert_int_equal(number(RESETS(0, 0)), 2);
    assert_int_equal(number(RESETS(0, 1)), 2);
}

/* Method: the tree is removed while its publisher runs. */
static void a_removed_device_tree_is_published_again(void **state)
{
    uint32_t core = 1;
    char root[512];

    options.machine.instance.value = "trn1.2xlarge";
    struct observed other = observed_start(folder, holder, &core);
    assert_int_equal(observed_receive(&other), 1);
    observed_send(&other, 1);
    assert_int_equal(observed_receive(&other), 1);
    assert_true(will_show(TENSORS "total", 4096));
    (void)snprintf(root, sizeof root, "%s/soft/sys", folder);
    (void)ntk_fs_remove_tree(root, NULL); /* the publisher may be writing at the same time */
    assert_true(will_show(TENSORS "total", 4096));
    assert_true(will_show(DEVICES "neuron0/core_count", 2));
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
}

/* The time of the folder of devices is later than that of the last counter of a large tree. */
static int folder_is_the_youngest(void *ctx)
{
    struct stat devices;
    struct stat counter;
    char path[512];

    (void)ctx;
    (void)snprintf(path, sizeof path, "%s/soft/sys/%s", folder, DEVICES);
    if (stat(path, &devices) < 0) {
        return 0;
    }
    (void)snprintf(path, sizeof path, "%s/soft/sys/%s", folder, RESETS(15, 1));
    if (stat(path, &counter) < 0) {
        return 0;
    }
    return devices.st_mtim.tv_sec != counter.st_ctim.tv_sec
               ? devices.st_mtim.tv_sec > counter.st_ctim.tv_sec
               : devices.st_mtim.tv_nsec >= counter.st_ctim.tv_nsec;
}

/* Readers walk a tree again when the time of its folder of devices changes; the counters of a large
 * machine come after its devices. */
static void adding_counter_files_updates_the_folder_time(void **state)
{
    uint32_t core = 1;

    options.machine.instance.value = "trn1.32xlarge";
    struct observed other = observed_start(folder, holder, &core);
    assert_int_equal(observed_receive(&other), 1);
    assert_true(test_wait_until(folder_is_the_youngest, NULL));
    observed_send(&other, 1);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
}

static void removal_of_a_software_machine_in_use_is_rejected(void **state)
{
    struct ntk_err err = { 0 };
    uint32_t core = 1;
    char path[512];

    options.machine.instance.value = "trn1.2xlarge";
    struct observed other = observed_start(folder, holder, &core);
    assert_int_equal(observed_receive(&other), 1);
    assert_int_equal(ntk_core_machine_remove(&err), -EBUSY);
    assert_string_equal(leaf(DEVICES "neuron0/core_count"), "2");
    assert_int_equal(observed_finish(&other, SIGKILL), 128 + SIGKILL);
    assert_int_equal(ntk_core_machine_remove(&err), 0);
    assert_string_equal(leaf(DEVICES "neuron0/core_count"), "");
    (void)snprintf(path, sizeof path, "%s/" NTK_SOFT_STATE_NAME, folder);
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof path, "%s/soft", folder);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    test_scratch_in_memory();

    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_built_machine_has_its_properties_in_the_tree),
        TEST(a_different_instance_type_rebuilds_the_tree),
        TEST(readers_find_a_complete_machine_tree_or_none),
        TEST(a_machine_build_returns_once_another_process_created_the_tree),
        TEST(an_incomplete_tree_of_a_killed_process_is_not_used),
        TEST(the_new_layout_has_statistics_in_the_telemetry_folder),
        TEST(memory_files_are_updated_each_round_and_are_consistent),
        TEST(another_process_publishes_after_the_publisher_is_killed),
        TEST(writing_to_a_counter_file_clears_only_this_counter),
        TEST(a_reset_of_an_unused_device_is_counted_on_every_core),
        TEST(writes_to_the_tree_without_a_publisher_take_effect_at_next_start),
        TEST(a_removed_device_tree_is_published_again),
        TEST(adding_counter_files_updates_the_folder_time),
        TEST(removal_of_a_software_machine_in_use_is_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
