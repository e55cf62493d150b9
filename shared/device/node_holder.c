/* SPDX-License-Identifier: MIT */
#include "shared/device/node_holder.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/device/device.h"

#define NODE "/dev/neuron"
#define FILES_MAX 65536u /* of a process */

uint64_t ntk_device_nodes_open(const char *proc_root, uint32_t pid)
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
        uint64_t index;

        target[got > 0 ? got : 0] = '\0';
        if (strncmp(target, NODE, sizeof NODE - 1) == 0 &&
            ntk_str_parse_u64(target + sizeof NODE - 1, &index) == 0 && index < NTK_DEVICES_MAX) {
            devices |= UINT64_C(1) << index;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return devices;
}
