/* SPDX-License-Identifier: MIT */
/* device_sysfs - opens and closes a tree, and checks whether it is still the same. */
#include "shared/device/device_sysfs_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/order.h"
#include "shared/base/str.h"

#define YOUNG_SECONDS 2
#define TEXT_CHECKS 5 /* every fifth check reads the texts of the signature */
#define WALKS_MAX 8   /* of a tree that changes during each walk */

static struct leaf *find_leaf(const struct ntk_sysfs *sysfs, uint16_t device, enum leaf_kind kind)
{
    ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
        if (leaf->device == device && leaf->kind == kind) {
            return leaf;
        }
    }
    return NULL;
}

/* Without the texts, it has those of the walk: the driver makes new folders when it is loaded, so
 * only a tree that is written in place has other texts in the same folders. */
static bool take_signature(struct ntk_sysfs *sysfs, bool with_texts, struct signature *out)
{
    char path[SYSFS_PATH_BYTES + 64];
    struct stat status;
    struct leaf *name;

    memset(out, 0, sizeof *out);
    snprintf(path, sizeof path, "%s/devices/virtual/neuron_device", sysfs->root);
    if (stat(path, &status) < 0) {
        return false;
    }
    out->device = status.st_dev;
    out->folder = status.st_ino;
    out->changed = status.st_mtim;
    if (sysfs->device_count > 0) {
        char first[32];

        snprintf(first, sizeof first, "neuron%u", (unsigned)sysfs->devices[0].index);
        if (fstatat(sysfs->folder, first, &status, AT_SYMLINK_NOFOLLOW) < 0) {
            return false;
        }
        out->first = status.st_ino;
        out->first_changed = status.st_mtim;
        name = with_texts ? find_leaf(sysfs, 0, LEAF_NAME) : NULL;
        if (name) {
            sysfs_read_text(sysfs, name, out->name, sizeof out->name);
        }
    }
    if (!with_texts) {
        memcpy(out->version, sysfs->signature.version, sizeof out->version);
        memcpy(out->name, sysfs->signature.name, sizeof out->name);
        return true;
    }
    ntk_sysfs_read_root_text(sysfs->root, "module/neuron/version", out->version,
                             sizeof out->version);
    return true;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Except for the name of its devices, which is unknown before the walk. */
static bool is_same_tree(const struct signature *a, const struct signature *b)
{
    return a->device == b->device && a->folder == b->folder && a->first == b->first &&
           same_time(a->changed, b->changed) && same_time(a->first_changed, b->first_changed) &&
           strcmp(a->version, b->version) == 0;
}

bool ntk_sysfs_changed(struct ntk_sysfs *sysfs)
{
    struct signature now;
    bool with_texts = ++sysfs->checks % TEXT_CHECKS == 0;

    return sysfs->young || !take_signature(sysfs, with_texts, &now) ||
           !is_same_tree(&now, &sysfs->signature) || strcmp(now.name, sysfs->signature.name) != 0;
}

NTK_ORDER(compare_devices, struct ntk_device_info, NTK_UP(index));

static int list_devices(struct ntk_sysfs *sysfs)
{
    int fd = openat(sysfs->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    size_t looked = 0;

    if (!dir) {
        if (fd >= 0) {
            close(fd);
        }
        return -ENOENT;
    }
    while (sysfs->device_count < NTK_DEVICES_MAX && looked++ < NTK_SYSFS_ENTRIES_MAX &&
           (entry = readdir(dir))) {
        uint64_t index;

        if (ntk_str_starts_with(entry->d_name, "neuron") && entry->d_name[6] >= '0' &&
            entry->d_name[6] <= '9' && ntk_str_parse_u64(entry->d_name + 6, &index) == 0 &&
            index < NTK_DEVICES_MAX && (entry->d_name[6] != '0' || entry->d_name[7] == '\0')) {
            sysfs->devices[sysfs->device_count++].index = (uint32_t)index;
        }
    }
    closedir(dir);
    qsort(sysfs->devices, sysfs->device_count, sizeof *sysfs->devices, compare_devices);
    return 0;
}

static bool is_new_layout(const char *version)
{
    unsigned int major = 0;
    unsigned int minor = 0;

    return sscanf(version, "%9u.%9u", &major, &minor) == 2 &&
           (major > 2 || (major == 2 && minor >= 31));
}

/* The other half is for other files of the process. The limit is not raised here, because a reader
 * may be any program; see ntk_collector_create(). */
static size_t open_max(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < NTK_SYSFS_OPEN_MAX
               ? (size_t)limit.rlim_cur / 2
               : NTK_SYSFS_OPEN_MAX;
}

/* -EAGAIN: the tree was replaced during the walk. */
static int walk_tree(struct ntk_sysfs *sysfs)
{
    struct signature before;
    int ret = list_devices(sysfs);

    if (ret == 0 && !take_signature(sysfs, true, &before)) {
        ret = -EAGAIN;
    }
    if (ret == 0) {
        ret = sysfs_walk_devices(sysfs);
    }
    if (ret == 0 && (!take_signature(sysfs, true, &sysfs->signature) ||
                     !is_same_tree(&before, &sysfs->signature))) {
        ret = -EAGAIN;
    }
    return ret;
}

static int sysfs_open(const char *root, bool infos_only, struct ntk_sysfs **out_sysfs,
                      struct ntk_device_tree *out_tree)
{
    struct ntk_sysfs *sysfs = calloc(1, sizeof *sysfs);
    char path[SYSFS_PATH_BYTES + 64];
    struct timespec now;
    int ret = -ENOMEM;

    if (!sysfs) {
        return -ENOMEM;
    }
    sysfs->folder = -1;
    sysfs->infos_only = infos_only;
    sysfs->open_max = open_max();
    ntk_vec_init(&sysfs->leaves, sizeof(struct leaf));
    sysfs->devices = calloc(NTK_DEVICES_MAX, sizeof *sysfs->devices);
    if (!sysfs->devices) {
        goto out;
    }
    if (!ntk_str_copy(sysfs->root, sizeof sysfs->root, root)) {
        ret = -ENOENT;
        goto out;
    }
    snprintf(path, sizeof path, "%s/devices/virtual/neuron_device", root);
    sysfs->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sysfs->folder < 0) {
        ret = -ENOENT;
        goto out;
    }
    ret = walk_tree(sysfs);
    if (ret < 0) {
        goto out;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (int64_t)now.tv_sec - (int64_t)sysfs->signature.changed.tv_sec;

    sysfs->young = age >= 0 && age < YOUNG_SECONDS;

    memset(out_tree, 0, sizeof *out_tree);
    ntk_str_copy(out_tree->driver_version, sizeof out_tree->driver_version,
                 sysfs->signature.version);
    out_tree->new_layout = is_new_layout(out_tree->driver_version);
    ntk_sysfs_read_root_text(root, "class/neuron_device/ultraserver_mode",
                             out_tree->ultraserver_mode, sizeof out_tree->ultraserver_mode);
    out_tree->identity = ((uint64_t)sysfs->signature.device << 48) ^
                         ((uint64_t)sysfs->signature.folder << 24) ^ sysfs->signature.first;
    out_tree->devices = sysfs->devices;
    out_tree->device_count = sysfs->device_count;
    for (size_t i = 0; i < sysfs->device_count; i++) {
        if (sysfs->devices[i].core_count > out_tree->cores_per_device) {
            out_tree->cores_per_device = sysfs->devices[i].core_count;
        }
    }
    *out_sysfs = sysfs;
    sysfs = NULL;

out:
    ntk_sysfs_close(sysfs);
    return ret;
}

int ntk_sysfs_open(const char *root, bool infos_only, struct ntk_sysfs **out_sysfs,
                   struct ntk_device_tree *out_tree)
{
    int ret = -EAGAIN;

    for (int i = 0; i < WALKS_MAX && ret == -EAGAIN; i++) {
        ret = sysfs_open(root, infos_only, out_sysfs, out_tree);
    }
    return ret == -EAGAIN ? -ENOENT : ret;
}

void ntk_sysfs_close(struct ntk_sysfs *sysfs)
{
    if (!sysfs) {
        return;
    }
    ntk_vec_each(struct leaf, leaf, &sysfs->leaves) {
        free(leaf->path);
        if (leaf->fd >= 0) {
            close(leaf->fd);
        }
    }
    ntk_vec_fini(&sysfs->leaves);
    if (sysfs->folder >= 0) {
        close(sysfs->folder);
    }
    free(sysfs->devices);
    free(sysfs);
}
