/* SPDX-License-Identifier: MIT */
/*
 * Reading and printing together. Method: a tree of the files that neuron-ls reads, for every row of
 * the catalogue, with the neighbours as the drivers list them; the output is golden/<instance
 * type>.txt.
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/base/fs.h"
#include "shared/metrics/snapshot.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"
#include "tests/top/ls/golden.h"
#include "top/ls/json.h"
#include "top/ls/read.h"
#include "top/ls/table.h"
#include "top/ls/topology.h"

#define DEVICES "devices/virtual/neuron_device"

enum links { LINKS_NONE, LINKS_CHAIN, LINKS_RING, LINKS_TORUS, LINKS_SWITCH };

static const struct row {
    const char *type;
    enum links links;
    unsigned int pci_id;
    bool is_ultraserver;
    bool reverse; /* the higher neighbour comes first */
} rows[] = {
    { "inf1.xlarge", LINKS_NONE, 0x7064, false, true },
    { "inf1.2xlarge", LINKS_NONE, 0x7064, false, true },
    { "inf1.6xlarge", LINKS_CHAIN, 0x7064, false, true },
    { "inf1.24xlarge", LINKS_RING, 0x7064, false, true },
    { "inf2.xlarge", LINKS_NONE, 0x7264, false, false },
    { "inf2.8xlarge", LINKS_NONE, 0x7264, false, false },
    { "inf2.24xlarge", LINKS_CHAIN, 0x7264, false, false },
    { "inf2.48xlarge", LINKS_RING, 0x7264, false, false },
    { "trn1.2xlarge", LINKS_NONE, 0x7164, false, false },
    { "trn1.32xlarge", LINKS_TORUS, 0x7164, false, false },
    { "trn1n.32xlarge", LINKS_TORUS, 0x7164, false, false },
    { "trn2.3xlarge", LINKS_NONE, 0x7364, false, false },
    { "trn2.48xlarge", LINKS_TORUS, 0x7364, false, false },
    { "trn2n.48xlarge", LINKS_TORUS, 0x7364, false, false },
    { "trn2u.48xlarge", LINKS_TORUS, 0x7364, true, false },
    { "trn3.3xlarge", LINKS_NONE, 0x7464, false, false },
    { "trn3.48xlarge", LINKS_SWITCH, 0x7464, true, false },
    { "trn3pds98.48xlarge", LINKS_SWITCH, 0x7464, true, false },
    { "mlu100", LINKS_NONE, 0x0100, false, false },
    { "mlu270", LINKS_NONE, 0x0270, false, false },
    { "mlu270x4", LINKS_NONE, 0x0270, false, false },
};

static const char *const torus_trn1[] = {
    "12, 3, 4, 1",  "13, 0, 5, 2",  "14, 1, 6, 3",   "15, 2, 7, 0",
    "0, 7, 8, 5",   "1, 4, 9, 6",   "2, 5, 10, 7",   "3, 6, 11, 4",
    "4, 11, 12, 9", "5, 8, 13, 10", "6, 9, 14, 11",  "7, 10, 15, 8",
    "8, 15, 0, 13", "9, 12, 1, 14", "10, 13, 2, 15", "11, 14, 3, 12",
};

static const char *const torus_trn2[] = {
    "12, 1, 3, 4",  "0, 13, 5, 2",  "14, 3, 1, 6",   "2, 15, 7, 0",
    "8, 5, 7, 0",   "4, 9, 1, 6",   "10, 7, 5, 2",   "6, 11, 3, 4",
    "4, 9, 11, 12", "8, 5, 13, 10", "6, 11, 9, 14",  "10, 7, 15, 8",
    "0, 13, 15, 8", "12, 1, 9, 14", "2, 15, 13, 10", "14, 3, 11, 12",
};

struct fixture {
    char *folder; /* the hooks folder */
    char *root;   /* <folder>/soft/sys: treated as the software machine's */
    char *proc;
    struct ntk_ls_machine machine;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->folder = test_scratch_create();
    f->root = test_scratch_path(f->folder, "soft/sys");
    f->proc = test_scratch_path(f->folder, "proc");
    unsetenv("NEURON_RT_VIRTUAL_CORE_SIZE");
    unsetenv("NEURON_LOGICAL_NC_CONFIG");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    ntk_ls_machine_fini(&f->machine);
    test_scratch_destroy(f->folder);
    free(f->root);
    free(f->proc);
    free(f);
    return 0;
}

static void put_at(const char *root, const char *name, const char *text, size_t bytes)
{
    char *path = test_scratch_path(root, name);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    assert_int_equal(ntk_fs_make_folders(path, 0700, NULL), 0);
    *slash = '/';
    assert_int_equal(ntk_fs_write(path, text, bytes, NULL), 0);
    free(path);
}

__attribute__((format(printf, 3, 4))) static void put(const struct fixture *f, const char *name,
                                                      const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_at(f->root, name, text, strlen(text));
}

static void put_device(const struct fixture *f, unsigned int device, const char *leaf,
                       const char *text)
{
    char name[256];

    (void)snprintf(name, sizeof name, DEVICES "/neuron%u/%s", device, leaf);
    put(f, name, "%s", text);
}

static void neighbours(const struct row *row, unsigned int device, unsigned int count, char *out,
                       size_t bytes)
{
    unsigned int before = (device + count - 1) % count;
    unsigned int after = (device + 1) % count;
    bool has_before = row->links == LINKS_RING || device > 0;
    bool has_after = row->links == LINKS_RING || device + 1 < count;

    out[0] = '\0';
    if (row->links == LINKS_TORUS) {
        (void)snprintf(out, bytes, "%s",
                       row->type[3] == '1' ? torus_trn1[device] : torus_trn2[device]);
    } else if (row->links == LINKS_CHAIN || row->links == LINKS_RING) {
        if (has_before && has_after) {
            (void)snprintf(out, bytes, "%u, %u", row->reverse ? after : before,
                           row->reverse ? before : after);
        } else {
            (void)snprintf(out, bytes, "%u", has_before ? before : after);
        }
    }
}

static void put_machine(const struct fixture *f, const struct row *row)
{
    const struct ntk_machine *machine = ntk_machine_find(row->type);
    char text[128];
    char name[160];

    assert_non_null(machine);
    put(f, "module/neuron/version", "2.30.2.0\n");
    put(f, "devices/virtual/dmi/id/product_name", "%s\n", row->type);
    put(f, "devices/virtual/dmi/id/board_asset_tag", "i-0123456789abcdef0\n");
    put(f, "class/neuron_device/ultraserver_mode", "%s\n", row->is_ultraserver ? "1,2,3,4" : "");
    put(f, "class/neuron_device/node_id_2", "-1\n");
    put(f, "class/neuron_device/server_id_2", "0000000000000000\n");
    put(f, "class/neuron_device/node_id_4", "%s\n", row->is_ultraserver ? "2" : "-1");
    put(f, "class/neuron_device/server_id_4", "%s\n",
        row->is_ultraserver ? "00c0ffee00c0ffee" : "0000000000000000");
    for (unsigned int i = 0; i < machine->device_count; i++) {
        (void)snprintf(text, sizeof text, "%u", machine->cores_per_device);
        put_device(f, i, "core_count", text);
        neighbours(row, i, machine->device_count, text, sizeof text);
        (void)snprintf(name, sizeof name, "%s\n", text);
        put_device(f, i, "connected_devices", name);
        put_device(f, i, "info/architecture/arch_type", machine->sysfs_device_arch);
        put_device(f, i, "info/architecture/device_name", machine->sysfs_device_name);
        put_device(f, i, "info/serial_number", "0a1b2c3d4e5f6071\n");
        put_device(f, i, "neuron_core0/info/architecture/arch_type", machine->core_arch);
        (void)snprintf(name, sizeof name, "bus/pci/devices/0000:%02x:%02x.0", 16 + 16 * (i / 4),
                       28 + i % 4);
        (void)snprintf(text, sizeof text, "%s/vendor", name);
        put(f, text, "0x1d0f\n");
        (void)snprintf(text, sizeof text, "%s/device", name);
        put(f, text, "0x%04x\n", row->pci_id);
        (void)snprintf(text, sizeof text, "%s/local_cpulist", name);
        put(f, text, "%s\n", i < (machine->device_count + 1) / 2 ? "0-31,64-95" : "32-63,96-127");
        (void)snprintf(text, sizeof text, "%s/numa_node", name);
        put(f, text, "%d\n", machine->device_count == 1 ? -1 : (int)(i / 8));
    }
    put(f, "bus/pci/devices/0000:00:1f.0/vendor", "0x8086\n"); /* not ours */
    put(f, "bus/pci/devices/0000:00:1f.0/device", "0x%04x\n", row->pci_id);
}

static const struct row *row_of(const char *type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].type, type) == 0) {
            return &rows[i];
        }
    }
    fail();
    return NULL;
}

static int read_again(struct fixture *f, bool all, bool is_software)
{
    const struct ntk_ls_read_options options = { .sysfs_root = f->root,
                                                 .hooks_dir = is_software ? f->folder : f->proc,
                                                 .proc_root = f->proc,
                                                 .all_processes = all };
    struct ntk_err err = { 0 };

    ntk_ls_machine_fini(&f->machine);
    return ntk_ls_read(&options, &f->machine, &err);
}

static void every_instance_type_is_listed_and_drawn(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ntk_buf text = { 0 };

        assert_int_equal(ntk_fs_remove_tree(f->root, NULL), 0);
        put_machine(f, &rows[i]);
        assert_int_equal(read_again(f, false, true), 0);
        ntk_ls_header_write(&f->machine, &text);
        ntk_ls_table_write(&f->machine, NTK_LS_FORM_DEFAULT, &text);
        ntk_ls_table_write(&f->machine, NTK_LS_FORM_TOPOLOGY, &text);
        ntk_ls_topology_write(&f->machine, &text);
        golden_assert(&text, rows[i].type);
    }
}

static void the_test_table_lists_every_machine_of_the_catalogue(void **state)
{
    size_t count = 0;

#define NTK_MACHINE(type, ...) count += row_of(type) != NULL;
#include "shared/abi/machine.def"
    assert_int_equal(count, sizeof rows / sizeof *rows);
}

static void json_output_is_an_array_or_an_object(void **state)
{
    static const char *const types[] = { "inf1.6xlarge", "trn1.2xlarge", "trn2.3xlarge",
                                         "trn3pds98.48xlarge" };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct ntk_buf text = { 0 };
        char name[64];

        assert_int_equal(ntk_fs_remove_tree(f->root, NULL), 0);
        put_machine(f, row_of(types[i]));
        assert_int_equal(read_again(f, false, true), 0);
        ntk_ls_json_write_array(&f->machine, &text);
        (void)snprintf(name, sizeof name, "%s_array", types[i]);
        golden_assert(&text, name);
        ntk_ls_json_write_object(&f->machine, &text);
        (void)snprintf(name, sizeof name, "%s_object", types[i]);
        golden_assert(&text, name);
    }
}

static void logical_cores_follow_the_environment(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };

    put_machine(f, row_of("trn2.48xlarge"));
    setenv("NEURON_LOGICAL_NC_CONFIG", "1", 1);
    assert_int_equal(read_again(f, false, true), 0);
    unsetenv("NEURON_LOGICAL_NC_CONFIG");
    assert_int_equal(f->machine.lnc, 1);
    assert_int_equal(f->machine.devices[15].core_count, 8);
    assert_int_equal(f->machine.devices[15].first_core, 120);
    ntk_ls_header_write(&f->machine, &text);
    ntk_ls_table_write(&f->machine, NTK_LS_FORM_DEFAULT, &text);
    golden_assert(&text, "trn2.48xlarge_lnc1");
}

static void ambiguous_pci_devices_are_not_mapped_to_neuron_devices(void **state)
{
    struct fixture *f = *state;
    struct ntk_buf text = { 0 };

    put_machine(f, row_of("trn1.32xlarge"));
    assert_int_equal(read_again(f, false, false), 0);
    assert_string_equal(f->machine.devices[0].place.bdf, "");
    assert_string_equal(f->machine.devices[0].place.cpu_list, "");
    assert_false(f->machine.devices[0].place.has_numa_node);
    assert_int_equal(f->machine.pci_count, 16);
    ntk_ls_table_write(&f->machine, NTK_LS_FORM_DEFAULT, &text);
    /* All of them, without anything in the order of devices. */
    ntk_ls_pci_write(&f->machine, &text);
    golden_assert(&text, "driver_trn1.32xlarge");

    assert_int_equal(ntk_fs_remove_tree(f->root, NULL), 0);
    put_machine(f, row_of("trn1.2xlarge"));
    assert_int_equal(read_again(f, false, false), 0);
    assert_string_equal(f->machine.devices[0].place.bdf, "0000:10:1c.0");
    ntk_ls_pci_write(&f->machine, &text);
    assert_int_equal(text.bytes_count, 0); /* everything is known */

    /* Facts that all devices share are known; three devices in the tree, four on the bus. */
    assert_int_equal(ntk_fs_remove_tree(f->root, NULL), 0);
    put_machine(f, row_of("inf1.6xlarge"));
    for (int i = 28; i < 32; i++) {
        char name[128];

        (void)snprintf(name, sizeof name, "bus/pci/devices/0000:10:%02x.0/local_cpulist", i);
        put(f, name, "0-23\n");
    }
    assert_int_equal(read_again(f, false, false), 0);
    assert_string_equal(f->machine.devices[3].place.bdf, "");
    assert_string_equal(f->machine.devices[3].place.cpu_list, "0-23");
    assert_true(f->machine.devices[3].place.has_numa_node);
    assert_int_equal(f->machine.devices[3].place.numa_node, 0);
}

static void every_pci_id_of_a_device_family_is_recognized(void **state)
{
    static const struct {
        const char *id;
        bool is_ours;
    } cases[] = {
        { "0x7064\n", true },  { "0x7065\n", true },  { "0x7067\n", true },   { "0x7164\n", false },
        { "0x8061\n", false }, { "0xefa1\n", false }, { "0x17064\n", false }, { "\n", false },
    };
    struct fixture *f = *state;

    put_machine(f, row_of("inf1.xlarge"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(f, "bus/pci/devices/0000:10:1c.0/device", "%s", cases[i].id);
        assert_int_equal(read_again(f, false, false), 0);
        assert_string_equal(f->machine.devices[0].place.bdf,
                            cases[i].is_ours ? "0000:10:1c.0" : "");
    }
}

/* No known driver creates the link. In this test the order of the bus differs from the order of the
 * devices. */
static void a_device_is_identified_by_its_link_to_the_pci_device(void **state)
{
    static const char *const targets[] = { "../../../pci0000:10/0000:10:1f.0", "0000:10:1e.0",
                                           "../../../../platform/other", "../../0000:10:1c.0" };
    struct fixture *f = *state;

    put_machine(f, row_of("inf1.6xlarge"));
    for (int i = 0; i < 4; i++) {
        char name[512];

        (void)snprintf(name, sizeof name, "%s/devices/virtual/neuron_device/neuron%d/device",
                       f->root, i);
        assert_int_equal(symlink(targets[i], name), 0);
    }
    assert_int_equal(read_again(f, false, false), 0);
    assert_string_equal(f->machine.devices[0].place.bdf, "0000:10:1f.0");
    assert_string_equal(f->machine.devices[1].place.bdf, "0000:10:1e.0");
    assert_string_equal(f->machine.devices[2].place.bdf, "");
    assert_string_equal(f->machine.devices[3].place.bdf, "0000:10:1c.0");
    assert_true(f->machine.devices[0].place.has_numa_node);
}

static void put_process(const struct fixture *f, const char *pid, const char *command, size_t bytes,
                        const char *maps, const char *target)
{
    char name[64];
    char *path;

    (void)snprintf(name, sizeof name, "%s/cmdline", pid);
    put_at(f->proc, name, command, bytes);
    (void)snprintf(name, sizeof name, "%s/maps", pid);
    put_at(f->proc, name, maps, strlen(maps));
    (void)snprintf(name, sizeof name, "%s/fd/0", pid);
    put_at(f->proc, name, "", 0); /* no link */
    (void)snprintf(name, sizeof name, "%s/fd/7", pid);
    path = test_scratch_path(f->proc, name);
    assert_int_equal(symlink(target, path), 0);
    free(path);
}

static void processes_with_open_device_nodes_are_listed(void **state)
{
    static const char runtime[] = "python\0train.py\0--name\0\xff\xfe\n\0";
    static const char agent[] = "neuron-monitor";
    struct fixture *f = *state;
    const struct ntk_ls_process *process;
    char *path;

    put_machine(f, row_of("trn1.32xlarge"));
    put_process(f, "4711", runtime, sizeof runtime, "7f00-7f01 r-xp 0 0:0 0 /opt/libnrt.so.1\n",
                "/dev/neuron3");
    put_process(f, "4712", agent, sizeof agent, "\n", "/dev/neuron15");
    put_process(f, "4713", agent, sizeof agent, "\n", "/dev/neuron64"); /* does not exist */
    put_process(f, "4714", agent, sizeof agent, "\n", "/dev/neuronx");
    put_process(f, "4715", agent, sizeof agent,
                "7f00-7f01 r-xp 0 0:0 0 /opt/aws/neuron/lib/libnrt.so.2.31.24.0\n", "/dev/neuron4");

    put_process(f, "4716", agent, sizeof agent, "7f00-7f01 r-xp 0 0:0 0 /opt/libnrt.so\n",
                "/dev/neuron4");
    path = test_scratch_path(f->proc, "4716/cmdline");
    assert_int_equal(unlink(path), 0); /* that of another container */
    free(path);

    assert_int_equal(read_again(f, false, false), 0);
    assert_int_equal(f->machine.processes.count, 3);
    process = ntk_vec_at(&f->machine.processes, 2);
    assert_int_equal(process->pid, 4716);
    assert_string_equal(process->command, "");
    process = ntk_vec_at(&f->machine.processes, 1);
    assert_int_equal(process->pid, 4715);
    assert_string_equal(ntk_ls_process_version(process), "2.31.24.0"); /* according to its file */
    process = ntk_vec_at(&f->machine.processes, 0);
    assert_int_equal(process->pid, 4711);
    assert_true(process->is_runtime);
    assert_string_equal(ntk_ls_process_version(process), ""); /* unknown */
    assert_string_equal(process->command, "python train.py --name \xef\xbf\xbd\xef\xbf\xbd");
    assert_true(process->devices == UINT64_C(1) << 3);

    assert_int_equal(read_again(f, true, false), 0);
    assert_int_equal(f->machine.processes.count, 5); /* and this process */
    ntk_vec_each(const struct ntk_ls_process, one, &f->machine.processes) {
        if (one->pid == 4712) {
            assert_string_equal(ntk_ls_process_version(one), "NA");
            assert_true(one->devices == UINT64_C(1) << 15);
        } else if (one->pid == (uint32_t)getpid()) {
            assert_true(one->devices == 0xffff);
        } else {
            assert_true(one->pid == 4711 || one->pid == 4715 || one->pid == 4716);
        }
    }
}

static void a_missing_tree_or_device_is_reported(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->root, DEVICES);

    assert_int_equal(read_again(f, false, true), -ENOENT);
    assert_int_equal(ntk_fs_make_folders(path, 0700, NULL), 0);
    assert_int_equal(read_again(f, false, true), -ENODEV);
    free(path);
}

/* All forms of a machine; they must be valid UTF-8 without control characters except line
 * breaks. */
static void print_all(const struct ntk_ls_machine *machine)
{
    static const enum ntk_ls_form forms[] = { NTK_LS_FORM_DEFAULT, NTK_LS_FORM_WIDE,
                                              NTK_LS_FORM_ALL, NTK_LS_FORM_WIDE_ALL,
                                              NTK_LS_FORM_TOPOLOGY };
    struct ntk_buf text = { 0 };

    ntk_ls_header_write(machine, &text);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ntk_ls_table_write(machine, forms[i], &text);
    }
    ntk_ls_topology_write(machine, &text);
    ntk_ls_pci_write(machine, &text);
    ntk_ls_json_write_array(machine, &text);
    ntk_ls_json_write_object(machine, &text);
    assert_true(ntk_buf_ok(&text));
    assert_int_not_equal(mbstowcs(NULL, ntk_buf_text_get(&text), 0), (size_t)-1);
    for (const char *c = ntk_buf_text_get(&text); *c; c++) {
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    }
    ntk_buf_fini(&text);
}

static void a_device_tree_with_invalid_values_is_printed_safely(void **state)
{
    static const struct {
        const char *leaf;
        const char *text;
    } lies[] = {
        { "core_count", "99999999999999999999999999" },
        { "core_count", "-1" },
        { "core_count", "" },
        { "core_count", "\xff\xfe" },
        { "connected_devices", "1, 1, 1, 1\n" },
        { "connected_devices", "0\n" },
        { "connected_devices", "18446744073709551616, -3, 63, x, , 64\n" },
        { "connected_devices", "\n" },
        { "connected_devices", "" },
        { "info/architecture/device_name", "Trainium9\n" },
        { "info/architecture/device_name", "\x1b[31m\xc3\x28\n" },
        { "info/architecture/device_name", "" },
        { "info/serial_number", "\xf0\x9f\n" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        assert_int_equal(ntk_fs_remove_tree(f->root, NULL), 0);
        put_machine(f, row_of("inf2.24xlarge"));
        put_device(f, 0, lies[i].leaf, lies[i].text);
        assert_int_equal(read_again(f, true, true), 0);
        assert_int_equal(f->machine.device_count, 6);
        print_all(&f->machine);
    }
    put(f, "class/neuron_device/ultraserver_mode", "busy\n");
    put(f, "module/neuron/version", "\xff\xff\n");
    put(f, "devices/virtual/dmi/id/product_name", "trn\x1b.\xff\n");
    put(f, "bus/pci/devices/0000:10:1c.0/local_cpulist", "\x1b[2J\n");
    put(f, "bus/pci/devices/0000:10:1c.0/numa_node", "99999999999\n");
    assert_int_equal(read_again(f, true, true), 0);
    assert_false(f->machine.server.is_ultraserver);
    print_all(&f->machine);
}

static void a_cycle_of_unknown_shape_is_not_drawn(void **state)
{
    struct fixture *f = *state;

    put_machine(f, row_of("inf1.6xlarge"));
    put_device(f, 0, "connected_devices", "0\n");
    assert_int_equal(read_again(f, false, true), 0);
    assert_int_equal(ntk_ls_topology_find(&f->machine), NTK_TOPOLOGY_OTHER);
    put_device(f, 0, "connected_devices", "1, 1\n");
    assert_int_equal(read_again(f, false, true), 0);
    assert_int_equal(ntk_ls_topology_find(&f->machine), NTK_TOPOLOGY_OTHER);
    put_device(f, 0, "connected_devices", "1\n");
    assert_int_equal(read_again(f, false, true), 0);
    assert_int_equal(ntk_ls_topology_find(&f->machine), NTK_TOPOLOGY_CHAIN);
}

static void missing_device_files_are_shown_as_empty_cells(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->root, DEVICES "/neuron1");
    struct ntk_buf text = { 0 };

    put_machine(f, row_of("inf1.6xlarge"));
    assert_int_equal(ntk_fs_remove_tree(path, NULL), 0);
    assert_int_equal(ntk_fs_make_folders(path, 0700, NULL), 0);
    assert_int_equal(read_again(f, false, true), 0);
    ntk_ls_table_write(&f->machine, NTK_LS_FORM_DEFAULT, &text);
    golden_assert(&text, "missing_leaves");
    free(path);
}

static void device_properties_are_found_in_unknown_folders(void **state)
{
    struct fixture *f = *state;

    put(f, DEVICES "/neuron0/telemetry/facts/core_count", "2");
    put(f, DEVICES "/neuron0/telemetry/facts/device_name", "Trainium1\n");
    put(f, DEVICES "/neuron0/telemetry/facts/connected_devices", "\n");
    assert_int_equal(read_again(f, false, true), 0);
    assert_int_equal(f->machine.devices[0].core_count, 2);
    assert_true(f->machine.devices[0].memory_bytes == UINT64_C(32) << 30);
}

static int child_has_a_core_of_an_unknown_machine(struct observed *child, void *ctx)
{
    const struct ntk_hooks_config config = { .lnc = 1, .process_flags = NTK_PROCESS_ATTACHED };

    (void)ctx;
    if (ntk_hooks_attach(&config, NULL, 0) < 0) {
        return 3;
    }
    ntk_hooks_core_claim(3, 3, 1);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_detach();
    return 0;
}

/* An attached program that writes the segment may not know the machine, but the tree does. */
static void a_process_of_an_unknown_machine_is_listed_on_tree_devices(void **state)
{
    struct fixture *f = *state;

    put_machine(f, row_of("trn1.32xlarge"));
    struct observed child = observed_start(f->folder, child_has_a_core_of_an_unknown_machine, NULL);
    (void)observed_receive(&child);
    assert_int_equal(read_again(f, false, true), 0);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
    assert_int_equal(f->machine.processes.count, 1);
    const struct ntk_ls_process *process = ntk_vec_at(&f->machine.processes, 0);
    assert_int_equal(process->devices, 1u << 1);
    assert_int_equal(process->cores[1], 1u << 1);
}

static int read_in_container(struct fixture *f, bool all_devices, struct ntk_err *err)
{
    char *dev = test_scratch_path(f->folder, "dev");
    const struct ntk_ls_read_options options = { .driver_sysfs = f->root,
                                                 .hooks_dir = f->proc,
                                                 .proc_root = f->proc,
                                                 .dev_root = dev,
                                                 .all_devices = all_devices };
    int ret;

    ntk_ls_machine_fini(&f->machine);
    ret = ntk_ls_read(&options, &f->machine, err);
    free(dev);
    return ret;
}

static void a_container_lists_only_devices_with_a_device_node(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };
    struct ntk_buf text = { 0 };

    put_machine(f, row_of("trn1.32xlarge"));
    put_at(f->folder, "dev/null", "", 0);
    assert_int_equal(read_in_container(f, false, &err), -ENODEV);
    assert_string_equal(err.text, "the driver has 16 devices, but /dev has no neuron node: pass "
                                  "the devices to the container, or use --all");
    assert_int_equal(read_in_container(f, true, &err), 0);
    assert_int_equal(f->machine.device_count, 16);

    put_at(f->folder, "dev/neuron4", "", 0);
    put_at(f->folder, "dev/neuron5", "", 0);
    put_process(f, "4711", "x", 2, "7f00-7f01 r-xp 0 0:0 0 /opt/libnrt.so.1\n", "/dev/neuron5");
    assert_int_equal(read_in_container(f, false, &err), 0);
    assert_string_equal(f->machine.instance_type, "trn1.32xlarge");
    assert_int_equal(f->machine.device_count, 2);
    assert_int_equal(f->machine.devices[0].info.index, 4);
    assert_int_equal(f->machine.devices[1].first_core, 10);
    print_all(&f->machine);
    ntk_ls_header_write(&f->machine, &text);
    ntk_ls_table_write(&f->machine, NTK_LS_FORM_DEFAULT, &text);
    ntk_ls_hidden_write(&f->machine, &text);
    golden_assert(&text, "container");

    assert_int_equal(read_in_container(f, true, &err), 0);
    assert_int_equal(f->machine.device_count, 16);
    ntk_ls_hidden_write(&f->machine, &text);
    assert_int_equal(text.bytes_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(every_instance_type_is_listed_and_drawn),
        TEST(the_test_table_lists_every_machine_of_the_catalogue),
        TEST(json_output_is_an_array_or_an_object),
        TEST(logical_cores_follow_the_environment),
        TEST(every_pci_id_of_a_device_family_is_recognized),
        TEST(a_device_is_identified_by_its_link_to_the_pci_device),
        TEST(ambiguous_pci_devices_are_not_mapped_to_neuron_devices),
        TEST(processes_with_open_device_nodes_are_listed),
        TEST(a_missing_tree_or_device_is_reported),
        TEST(a_device_tree_with_invalid_values_is_printed_safely),
        TEST(a_cycle_of_unknown_shape_is_not_drawn),
        TEST(missing_device_files_are_shown_as_empty_cells),
        TEST(device_properties_are_found_in_unknown_folders),
        TEST(a_process_of_an_unknown_machine_is_listed_on_tree_devices),
        TEST(a_container_lists_only_devices_with_a_device_node),
    };

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    test_scratch_in_memory();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
