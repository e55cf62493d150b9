/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ls - a device tree with any bytes in its leaves, listed in every form.
 *
 * Input: the contents of the leaves below, in order, separated by bytes 0xff 0x00; leaves beyond
 * the input are empty. The output has no control characters except line breaks.
 */
#include <fcntl.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "top/ls/json.h"
#include "top/ls/read.h"
#include "top/ls/table.h"
#include "top/ls/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEURON "devices/virtual/neuron_device/"

static const char *const leaves[] = {
    NEURON "neuron0/core_count",
    NEURON "neuron0/connected_devices",
    NEURON "neuron0/info/architecture/device_name",
    NEURON "neuron0/info/serial_number",
    NEURON "neuron1/connected_devices",
    NEURON "neuron1/core_count",
    "class/neuron_device/ultraserver_mode",
    "class/neuron_device/node_id_4",
    "class/neuron_device/server_id_4",
    "devices/virtual/dmi/id/product_name",
    "devices/virtual/dmi/id/board_asset_tag",
    "bus/pci/devices/0000:10:1c.0/device",
    "bus/pci/devices/0000:10:1c.0/local_cpulist",
    "bus/pci/devices/0000:10:1c.0/numa_node",
    "bus/pci/devices/0000:10:1c.0/vendor",
    "module/neuron/version",
};

#define LEAF_COUNT (sizeof leaves / sizeof *leaves)

static char *root;

static void remove_root(void)
{
    test_scratch_destroy(root);
}

static void make_root(void)
{
    test_scratch_in_memory();
    root = test_scratch_create();
    (void)atexit(remove_root);
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    for (size_t i = 0; i < LEAF_COUNT; i++) {
        char *path = test_scratch_path(root, leaves[i]);

        *strrchr(path, '/') = '\0';
        if (ntk_fs_make_folders(path, 0700, NULL) < 0) {
            abort();
        }
        free(path);
    }
}

static void write_leaf(size_t leaf, const uint8_t *bytes, size_t count)
{
    char *path = test_scratch_path(root, leaves[leaf]);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || (count > 0 && write(fd, bytes, count) != (ssize_t)count)) {
        abort();
    }
    close(fd);
    free(path);
}

static void print_all(const struct ntk_ls_machine *machine)
{
    struct ntk_buf text = { 0 };

    ntk_ls_header_write(machine, &text);
    ntk_ls_table_write(machine, NTK_LS_FORM_DEFAULT, &text);
    ntk_ls_table_write(machine, NTK_LS_FORM_ALL, &text);
    ntk_ls_topology_write(machine, &text);
    ntk_ls_json_write_array(machine, &text);
    ntk_ls_json_write_object(machine, &text);
    for (size_t i = 0; i < text.bytes_count; i++) {
        if ((unsigned char)text.bytes[i] < 0x20 && text.bytes[i] != '\n') {
            abort();
        }
    }
    ntk_buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_ls_read_options options = { 0 };
    struct ntk_ls_machine machine = { 0 };
    struct ntk_err err = { 0 };

    if (size > 65536) {
        return 0;
    }
    if (!root) {
        make_root();
    }
    for (size_t leaf = 0; leaf < LEAF_COUNT; leaf++) {
        size_t count = 0;

        while (count < size && !(data[count] == 0xff && count + 1 < size && data[count + 1] == 0)) {
            count++;
        }
        write_leaf(leaf, data, count);
        data += count < size ? count + 2 : count;
        size -= count < size ? count + 2 : count;
    }
    options.sysfs_root = root;
    options.hooks_dir = root;
    options.proc_root = root;
    if (ntk_ls_read(&options, &machine, &err) == 0) {
        print_all(&machine);
        ntk_ls_machine_fini(&machine);
    }
    return 0;
}
