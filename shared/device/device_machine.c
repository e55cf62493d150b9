/* SPDX-License-Identifier: MIT */
/* device_machine - facts about the machine around the devices: PCI places, the set of servers, the
 * firmware. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/device/device_sysfs.h"

#define PCI_FOLDER "bus/pci/devices"
#define PCI_ENTRIES_MAX 65536
#define PCI_VENDOR "0x1d0f"
#define NAME_BYTES 320
#define NODES_LOOKED_MAX 65536

/* The PCI device id of a family, by its device_name; 0 for other families. */
static unsigned int pci_device_id(const char *device_name)
{
    static const struct {
        const char *name;
        unsigned int id;
    } families[] = {
#define NTK_FAMILY(symbol, generation, cores, stacks, stack_bytes, cores_per_stack, lnc, lnc_max, \
                   arch, instance, device_name, type, version, version_1, version_2, pci_id, ...) \
    { device_name, pci_id },
#include "shared/abi/machine.def"
    };

    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(families[i].name, device_name) == 0) {
            return families[i].id;
        }
    }
    return 0;
}

/* Returns true if the name is a PCI address such as "0000:10:1c.0". */
static bool is_address(const char *name)
{
    static const char form[] = "xxxx:xx:xx.x";

    for (size_t i = 0; i < sizeof form - 1; i++) {
        if (form[i] == 'x' ? !isxdigit((unsigned char)name[i]) : name[i] != form[i]) {
            return false;
        }
    }
    return name[sizeof form - 1] == '\0';
}

static void read_pci_text(const char *root, const char *address, const char *leaf, char *buf,
                          size_t buf_bytes)
{
    char name[NAME_BYTES];

    (void)snprintf(name, sizeof name, PCI_FOLDER "/%s/%s", address, leaf);
    ntk_sysfs_read_root_text(root, name, buf, buf_bytes);
}

/* Mask of a family's block of device ids, because Inferentia uses more than one id. */
#define PCI_ID_BLOCK 0xfu

static bool is_neuron(const char *root, const char *address, unsigned int device_id)
{
    char text[NTK_DEVICE_TEXT_BYTES];
    char *end;
    unsigned long id;

    read_pci_text(root, address, "vendor", text, sizeof text);
    if (strcmp(text, PCI_VENDOR) != 0) {
        return false;
    }
    read_pci_text(root, address, "device", text, sizeof text);
    id = strtoul(text, &end, 16);
    return end != text && *end == '\0' && (id | PCI_ID_BLOCK) == (device_id | PCI_ID_BLOCK);
}

static void read_place(const char *root, const char *address, struct ntk_device_place *out)
{
    char text[NTK_DEVICE_TEXT_BYTES];
    int64_t node;

    memset(out, 0, sizeof *out);
    ntk_str_copy(out->bdf, sizeof out->bdf, address);
    read_pci_text(root, address, "local_cpulist", out->cpu_list, sizeof out->cpu_list);
    read_pci_text(root, address, "numa_node", text, sizeof text);
    if (ntk_str_parse_i64(text, &node) == 0 && node >= -1 && node <= INT32_MAX) {
        out->has_numa_node = true;
        out->numa_node = (int32_t)node;
    }
}

NTK_ORDER(compare_places, struct ntk_device_place, NTK_TEXT(bdf));

/* Lists at most capacity Neuron devices on the PCI bus, sorted by address. */
static size_t list_pci(const char *root, unsigned int device_id, struct ntk_device_place *places,
                       size_t capacity)
{
    char path[sizeof((struct ntk_device_tree *)0)->root + sizeof PCI_FOLDER + 1];
    const struct dirent *entry;
    size_t looked = 0;
    size_t count = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/%s", root, PCI_FOLDER);
    dir = opendir(path);
    if (!dir) {
        return 0;
    }
    while (count < capacity && looked++ < PCI_ENTRIES_MAX && (entry = readdir(dir))) {
        if (is_address(entry->d_name) && is_neuron(root, entry->d_name, device_id)) {
            read_place(root, entry->d_name, &places[count++]);
        }
    }
    closedir(dir);
    qsort(places, count, sizeof *places, compare_places);
    return count;
}

/* Keeps only facts that hold for all places, because the assignment is unknown. */
static void keep_common(struct ntk_device_place *places, size_t count)
{
    struct ntk_device_place common = places[0];

    common.bdf[0] = '\0';
    for (size_t i = 1; i < count; i++) {
        if (strcmp(places[i].cpu_list, common.cpu_list) != 0) {
            common.cpu_list[0] = '\0';
        }
        if (!places[i].has_numa_node || places[i].numa_node != common.numa_node) {
            common.has_numa_node = false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        places[i] = common;
    }
}

/* A device that is a child of a PCI device in the kernel has a link to it. The known drivers have
 * none, because their devices are virtual; if there is a link, it is used. */
static bool find_parent(const char *root, uint32_t device, struct ntk_device_place *out)
{
    char path[sizeof((struct ntk_device_tree *)0)->root + 64];
    char target[NAME_BYTES];
    const char *address;
    ssize_t bytes;

    (void)snprintf(path, sizeof path, "%s/devices/virtual/neuron_device/neuron%u/device", root,
                   (unsigned int)device);
    bytes = readlink(path, target, sizeof target - 1);
    if (bytes <= 0) {
        return false;
    }
    target[bytes] = '\0';
    address = strrchr(target, '/');
    address = address ? address + 1 : target;
    if (!is_address(address)) {
        return false;
    }
    read_place(root, address, out);
    return true;
}

size_t ntk_sysfs_pci(const char *root, const struct ntk_device_tree *tree,
                     struct ntk_device_place *places, size_t capacity)
{
    unsigned int id = tree->device_count > 0 ? pci_device_id(tree->devices[0].name) : 0;

    return id != 0 ? list_pci(root, id, places, capacity) : 0;
}

/* Derives the places from the devices on the PCI bus. */
static void guess_places(const char *root, bool in_order, const struct ntk_device_tree *tree,
                         struct ntk_device_place *places, size_t count)
{
    /* one more than the maximum, to notice that there are too many */
    struct ntk_device_place found[NTK_DEVICES_MAX + 1];
    size_t found_count = ntk_sysfs_pci(root, tree, found, sizeof found / sizeof *found);

    if (found_count == 0) {
        return;
    }
    if (found_count != tree->device_count || (found_count > 1 && !in_order)) {
        keep_common(found, found_count);
        for (size_t i = 0; i < count; i++) {
            places[i] = found[0];
        }
    } else {
        memcpy(places, found, count * sizeof *places);
    }
}

size_t ntk_sysfs_places(const char *root, bool in_order, const struct ntk_device_tree *tree,
                        struct ntk_device_place *places, size_t capacity)
{
    size_t count = tree->device_count < capacity ? tree->device_count : capacity;

    memset(places, 0, count * sizeof *places);
    guess_places(root, in_order, tree, places, count);
    for (size_t i = 0; i < count; i++) {
        (void)find_parent(root, tree->devices[i].index, &places[i]);
    }
    return count;
}

void ntk_sysfs_server(const char *root, struct ntk_device_server *out_server)
{
    char name[64];
    char text[NTK_DEVICE_TEXT_BYTES];

    memset(out_server, 0, sizeof *out_server);
    ntk_sysfs_read_root_text(root, "class/neuron_device/ultraserver_mode", out_server->modes,
                             sizeof out_server->modes);
    if (strspn(out_server->modes, "0123456789,") != strlen(out_server->modes) ||
        !out_server->modes[0]) { /* "busy" while the servers are still finding one another */
        out_server->modes[0] = '\0';
        return;
    }
    out_server->is_ultraserver = true;
    for (size_t i = 0; i < 2; i++) {
        unsigned int size = i == 0 ? 2 : 4;
        uint64_t node;

        out_server->sets[i].size = size;
        (void)snprintf(name, sizeof name, "class/neuron_device/node_id_%u", size);
        ntk_sysfs_read_root_text(root, name, text, sizeof text);
        if (ntk_str_parse_u64(text, &node) < 0 || node >= size) {
            continue; /* not in a set, or still busy */
        }
        (void)snprintf(name, sizeof name, "class/neuron_device/server_id_%u", size);
        ntk_sysfs_read_root_text(root, name, text, sizeof text);
        if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
            continue;
        }
        out_server->sets[i].present = true;
        out_server->sets[i].node = (uint32_t)node;
        ntk_str_copy(out_server->sets[i].server_id, sizeof out_server->sets[i].server_id, text);
    }
}

/* /sys/class/dmi/id is a link to the first of these folders. */
static void read_firmware_text(const char *root, const char *name, char *buf, size_t buf_bytes)
{
    static const char *const folders[] = { "devices/virtual/dmi/id", "class/dmi/id" };

    buf[0] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !buf[0]; i++) {
        char path[64];

        (void)snprintf(path, sizeof path, "%s/%s", folders[i], name);
        ntk_sysfs_read_root_text(root ? root : "/sys", path, buf, buf_bytes);
    }
}

void ntk_device_firmware_instance_type(const char *root, char *buf, size_t buf_bytes)
{
    char vendor[NTK_DEVICE_TEXT_BYTES];
    char text[NTK_DEVICE_TEXT_BYTES];
    bool is_ec2;

    read_firmware_text(root, "sys_vendor", vendor, sizeof vendor);
    read_firmware_text(root, "product_name", text, sizeof text);
    is_ec2 = vendor[0] ? strcmp(vendor, "Amazon EC2") == 0
                       : ntk_str_starts_with(text, "inf") || ntk_str_starts_with(text, "trn");
    ntk_str_copy(buf, buf_bytes, is_ec2 && strchr(text, '.') ? text : "");
}

void ntk_device_firmware_instance_id(const char *root, char *buf, size_t buf_bytes)
{
    char text[NTK_DEVICE_TEXT_BYTES];

    read_firmware_text(root, "board_asset_tag", text, sizeof text);
    ntk_str_copy(buf, buf_bytes, ntk_str_starts_with(text, "i-") ? text : "");
}

/* ---- nodes ---- */

/* The device of the node dev_root/name, by its device number in the tree, because names in a
 * container are arbitrary; otherwise by its name. NTK_DEVICES_MAX if there is none. */
static uint32_t device_of_node(const char *root, const struct ntk_device_tree *tree, int dev_fd,
                               const char *name)
{
    struct stat status;
    uint64_t index;

    if (!ntk_str_starts_with(name, "neuron") || ntk_str_parse_u64(name + 6, &index) < 0 ||
        fstatat(dev_fd, name, &status, 0) < 0) {
        return NTK_DEVICES_MAX;
    }
    for (size_t i = 0; S_ISCHR(status.st_mode) && i < tree->device_count; i++) {
        char path[64];
        char number[32];
        char text[NTK_DEVICE_TEXT_BYTES];

        (void)snprintf(path, sizeof path, "devices/virtual/neuron_device/neuron%u/dev",
                       (unsigned int)tree->devices[i].index);
        (void)snprintf(number, sizeof number, "%u:%u", major(status.st_rdev),
                       minor(status.st_rdev));
        ntk_sysfs_read_root_text(root, path, text, sizeof text);
        if (strcmp(text, number) == 0) {
            return tree->devices[i].index;
        }
    }
    return index < NTK_DEVICES_MAX ? (uint32_t)index : NTK_DEVICES_MAX;
}

uint64_t ntk_sysfs_nodes(const char *root, const struct ntk_device_tree *tree, const char *dev_root)
{
    DIR *dir = opendir(dev_root);
    const struct dirent *entry;
    uint64_t nodes = 0;
    size_t looked = 0;

    if (!dir) {
        return UINT64_MAX;
    }
    while (looked++ < NODES_LOOKED_MAX && (entry = readdir(dir))) {
        uint32_t device = device_of_node(root, tree, dirfd(dir), entry->d_name);

        nodes |= device < NTK_DEVICES_MAX ? UINT64_C(1) << device : 0;
    }
    closedir(dir);
    return nodes;
}
