/* SPDX-License-Identifier: MIT */
/* device - selects the tree: the user's choice, the driver's, or the software machine's. */
#include "shared/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/driver.h"
#include "shared/base/str.h"
#include "shared/device/device_sysfs.h"

struct ntk_device_source {
    char *sysfs_root;
    char *driver_sysfs;
    char *hooks_dir;
    bool infos_only;
    struct ntk_sysfs *sysfs; /* NULL while the tree is missing */
    struct ntk_device_tree tree;
};

static int copy_text(char **to, const char *from)
{
    if (!from) {
        return 0;
    }
    *to = strdup(from);
    return *to ? 0 : -ENOMEM;
}

int ntk_device_source_open(const struct ntk_device_options *options,
                           struct ntk_device_source **out_source, struct ntk_err *err)
{
    struct ntk_device_source *source = calloc(1, sizeof *source);

    if (!source || copy_text(&source->sysfs_root, options->sysfs_root) < 0 ||
        copy_text(&source->driver_sysfs, options->driver_sysfs ? options->driver_sysfs : "/sys") <
            0 ||
        copy_text(&source->hooks_dir, options->hooks_dir) < 0) {
        ntk_device_source_close(source);
        return ntk_err_no_memory(err);
    }
    source->infos_only = options->infos_only;
    int ret = ntk_device_source_refresh(source, err);

    if (ret < 0) {
        ntk_device_source_close(source);
        return ret;
    }
    *out_source = source;
    return 0;
}

void ntk_device_source_close(struct ntk_device_source *source)
{
    if (!source) {
        return;
    }
    ntk_sysfs_close(source->sysfs);
    free(source->sysfs_root);
    free(source->driver_sysfs);
    free(source->hooks_dir);
    free(source);
}

static bool has_tree(const char *root)
{
    char path[1024];
    struct stat status;

    snprintf(path, sizeof path, "%s/" NTK_DRIVER_TREE, root);
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static enum ntk_device_origin find_root(const struct ntk_device_source *source, char *root,
                                        size_t root_bytes)
{
    if (source->sysfs_root) {
        ntk_str_copy(root, root_bytes, source->sysfs_root);
        return has_tree(root) ? NTK_DEVICE_ORIGIN_EXPLICIT : NTK_DEVICE_ORIGIN_NONE;
    }
    ntk_str_copy(root, root_bytes, source->driver_sysfs);
    if (has_tree(root)) {
        return NTK_DEVICE_ORIGIN_DRIVER;
    }
    if (ntk_device_soft_root(source->hooks_dir, root, root_bytes) == 0 && has_tree(root) &&
        ntk_device_soft_trusted(source->hooks_dir)) {
        return NTK_DEVICE_ORIGIN_SOFTWARE;
    }
    return NTK_DEVICE_ORIGIN_NONE;
}

/* Returns true if root may contain a tree that this user may not read. */
static bool is_denied(const char *root)
{
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/" NTK_DRIVER_TREE, root);
    return access(path, R_OK | X_OK) < 0 && errno == EACCES;
}

static void say_missing(struct ntk_device_source *source)
{
    struct ntk_device_tree *tree = &source->tree;
    const char *sysfs = source->sysfs_root ? source->sysfs_root : source->driver_sysfs;
    char soft[sizeof tree->root];

    if (tree->origin != NTK_DEVICE_ORIGIN_NONE) {
        if (tree->device_count == 0) {
            (void)snprintf(tree->missing, sizeof tree->missing, "no devices below '%s'",
                           tree->root);
        }
        return;
    }
    tree->is_denied = is_denied(sysfs);
    if (tree->is_denied) {
        (void)snprintf(tree->missing, sizeof tree->missing,
                       "permission denied for '%.512s/" NTK_DRIVER_TREE "'", sysfs);
    } else if (source->sysfs_root) {
        (void)snprintf(tree->missing, sizeof tree->missing, "no device tree below '%.512s'", sysfs);
    } else if (ntk_device_soft_root(source->hooks_dir, soft, sizeof soft) == 0 && is_denied(soft)) {
        tree->is_denied = true;
        (void)snprintf(tree->missing, sizeof tree->missing,
                       "no Neuron driver; permission denied for '%s'", soft);
    } else {
        (void)snprintf(tree->missing, sizeof tree->missing,
                       "no Neuron driver; create a software machine with 'neuron-bench machine'");
    }
}

int ntk_device_source_refresh(struct ntk_device_source *source, struct ntk_err *err)
{
    char root[sizeof source->tree.root];
    enum ntk_device_origin origin = find_root(source, root, sizeof root);
    struct ntk_device_tree tree = { 0 };
    struct ntk_sysfs *sysfs = NULL;
    int ret;

    if (origin == NTK_DEVICE_ORIGIN_NONE) {
        if (!source->sysfs) {
            say_missing(source);
            return 0;
        }
    } else {
        if (source->sysfs && origin == source->tree.origin &&
            strcmp(root, source->tree.root) == 0 && !ntk_sysfs_changed(source->sysfs)) {
            return 0;
        }
        ret = ntk_sysfs_open(root, source->infos_only, &sysfs, &tree);
        if (ret == -ENOMEM) {
            return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory");
        }
        if (ret < 0) {
            origin = NTK_DEVICE_ORIGIN_NONE; /* the tree disappeared in between */
        }
    }
    ntk_sysfs_close(source->sysfs);
    source->sysfs = sysfs;
    source->tree = tree;
    source->tree.origin = origin;
    if (origin != NTK_DEVICE_ORIGIN_NONE) {
        ntk_str_copy(source->tree.root, sizeof source->tree.root, root);
    }
    if (ntk_device_source_is_software(source)) {
        ntk_device_soft_machine_type(source->hooks_dir, source->tree.machine_type,
                                     sizeof source->tree.machine_type);
    }
    if (origin != NTK_DEVICE_ORIGIN_NONE && !source->tree.machine_type[0]) {
        ntk_device_firmware_instance_type(root, source->tree.machine_type,
                                          sizeof source->tree.machine_type);
    }
    say_missing(source);
    return 1;
}

const struct ntk_device_tree *ntk_device_source_tree(const struct ntk_device_source *source)
{
    return &source->tree;
}

void ntk_device_source_skip(struct ntk_device_source *source,
                            const uint8_t skipped[NTK_DEVICES_MAX])
{
    if (source->sysfs) {
        ntk_sysfs_skip(source->sysfs, skipped);
    }
}

size_t ntk_device_source_read(struct ntk_device_source *source, unsigned int read,
                              struct ntk_device_reading *readings, size_t capacity)
{
    size_t count = source->tree.device_count < capacity ? source->tree.device_count : capacity;

    if (!source->sysfs || count == 0) {
        return 0;
    }
    ntk_sysfs_read(source->sysfs, read, readings, count);
    return count;
}

bool ntk_device_source_is_software(const struct ntk_device_source *source)
{
    char root[sizeof source->tree.root];
    struct stat tree;
    struct stat soft;

    return source->tree.origin == NTK_DEVICE_ORIGIN_SOFTWARE ||
           (source->tree.origin == NTK_DEVICE_ORIGIN_EXPLICIT &&
            ntk_device_soft_root(source->hooks_dir, root, sizeof root) == 0 &&
            stat(source->tree.root, &tree) == 0 && stat(root, &soft) == 0 &&
            tree.st_dev == soft.st_dev && tree.st_ino == soft.st_ino);
}

size_t ntk_device_source_places(const struct ntk_device_source *source,
                                struct ntk_device_place *places, size_t capacity)
{
    if (source->tree.origin == NTK_DEVICE_ORIGIN_NONE) {
        return 0;
    }
    return ntk_sysfs_places(source->tree.root, ntk_device_source_is_software(source), &source->tree,
                            places, capacity);
}

size_t ntk_device_source_pci(const struct ntk_device_source *source,
                             struct ntk_device_place *places, size_t capacity)
{
    return source->tree.origin == NTK_DEVICE_ORIGIN_NONE
               ? 0
               : ntk_sysfs_pci(source->tree.root, &source->tree, places, capacity);
}

uint64_t ntk_device_source_nodes(const struct ntk_device_source *source, const char *dev_root)
{
    return source->tree.origin == NTK_DEVICE_ORIGIN_DRIVER
               ? ntk_sysfs_nodes(source->tree.root, &source->tree, dev_root ? dev_root : "/dev")
               : UINT64_MAX;
}

void ntk_device_source_server(const struct ntk_device_source *source,
                              struct ntk_device_server *out_server)
{
    memset(out_server, 0, sizeof *out_server);
    if (source->tree.origin != NTK_DEVICE_ORIGIN_NONE) {
        ntk_sysfs_server(source->tree.root, out_server);
    }
}
