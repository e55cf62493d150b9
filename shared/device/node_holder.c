/* SPDX-License-Identifier: MIT */
#include "shared/device/node_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/device/device.h"

#define NODE "/dev/neuron"
#define NUMBERS "dev/char"      /* below /sys, contains a link for each device number */
#define CLASS "/neuron_device/" /* part of the target of the driver's links */
#define FILES_MAX 65536u        /* maximum files of a process */

static uint32_t index_of(const char *text)
{
    uint64_t index;

    return ntk_str_parse_u64(text, &index) == 0 && index < NTK_DEVICES_MAX ? (uint32_t)index
                                                                           : NTK_DEVICES_MAX;
}

/* Asks the kernel, because a user with a private /dev can give any name to a file. */
static uint32_t device_of_number(const char *sysfs_root, unsigned int major, unsigned int minor)
{
    char path[PATH_MAX];
    char target[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/" NUMBERS "/%u:%u", sysfs_root, major, minor);
    ssize_t got = readlink(path, target, sizeof target - 1);
    target[got > 0 ? got : 0] = '\0';
    const char *name = strstr(target, CLASS "neuron");
    return name ? index_of(name + sizeof CLASS - 1 + strlen("neuron")) : NTK_DEVICES_MAX;
}

uint32_t ntk_device_node_of(const char *sysfs_root, int fd_folder, const char *name,
                            const char *target)
{
    char numbers[PATH_MAX];
    struct statx status;

    if (strncmp(target, NODE, sizeof NODE - 1) != 0) {
        return NTK_DEVICES_MAX;
    }
    (void)snprintf(numbers, sizeof numbers, "%s/" NUMBERS, sysfs_root);
    if (!sysfs_root[0] || access(numbers, F_OK) < 0) { /* no tree, or one that replaces /sys */
        return index_of(target + sizeof NODE - 1);
    }
    /* Use the kernel's cache, without a request to a file server. */
    return statx(fd_folder, name, AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
                   S_ISCHR(status.stx_mode)
               ? device_of_number(sysfs_root, status.stx_rdev_major, status.stx_rdev_minor)
               : NTK_DEVICES_MAX;
}

uint64_t ntk_device_nodes_open(const char *proc_root, const char *sysfs_root, uint32_t pid)
{
    const struct dirent *entry;
    uint64_t devices = 0;
    size_t looked = 0;
    char path[1024];
    DIR *dir;

    (void)snprintf(path, sizeof path, "%s/%u/fd", proc_root, pid);
    dir = opendir(path);
    while (dir && looked++ < FILES_MAX && (entry = readdir(dir))) {
        char target[64];
        ssize_t got = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        uint32_t device;

        target[got > 0 ? got : 0] = '\0';
        device = ntk_device_node_of(sysfs_root, dirfd(dir), entry->d_name, target);
        if (device < NTK_DEVICES_MAX) {
            devices |= UINT64_C(1) << device;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return devices;
}
