/* SPDX-License-Identifier: MIT */
/* diag_owner - who has a core. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/diag/diag.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/device/node_holder.h"
#include "shared/device/soft_holder.h"

static uint32_t node_holder(const struct ntk_diag_plan *plan, uint32_t device, uint32_t except)
{
    const char *sys = plan->sysfs_root ? plan->sysfs_root : "/sys";
    const struct dirent *entry;
    uint32_t pid = 0;
    DIR *dir = opendir("/proc");

    while (dir && pid == 0 && (entry = readdir(dir))) {
        uint64_t number;

        if (isdigit((unsigned char)entry->d_name[0]) &&
            ntk_str_parse_u64(entry->d_name, &number) == 0 && number != (uint64_t)getpid() &&
            number != except &&
            ntk_device_nodes_open("/proc", sys, (uint32_t)number) >> device & 1) {
            pid = (uint32_t)number;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return pid;
}

struct ntk_diag_owner ntk_diag_owner_of(const struct ntk_diag_plan *plan, uint32_t core)
{
    struct ntk_process process;
    struct ntk_diag_owner owner = {
        .pid = plan->is_software ? ntk_soft_lock_holder(NULL, core * plan->lnc, plan->lnc)
                                 : node_holder(plan, core / plan->cores_per_device, 0),
    };

    if (owner.pid != 0 && owner.pid != NTK_SOFT_HOLDER_ELSEWHERE &&
        ntk_process_read(NULL, owner.pid, &process) == 0) {
        ntk_str_copy(owner.command, sizeof owner.command, process.name);
    }
    return owner;
}

bool ntk_diag_owner_is_wanted(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker)
{
    uint32_t pid =
        plan->is_software
            ? ntk_soft_lock_holder(NULL, NTK_SOFT_LOCK_WANTED + core * plan->lnc, plan->lnc)
            : node_holder(plan, core / plan->cores_per_device, worker);

    return pid != 0 && pid != worker; /* the worker itself wanted it, a moment ago */
}

bool ntk_diag_owner_yield(const struct ntk_diag_plan *plan, uint32_t core)
{
    struct flock lock = { .l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = NTK_SOFT_LOCK_YIELDS + core * plan->lnc,
                          .l_len = plan->lnc };
    int fd = plan->is_software ? ntk_soft_lock_open(NULL, O_RDWR) : -1;

    if (fd < 0) {
        return true;
    }
    /* It stays open: closing any descriptor of the file drops the locks of the process. */
    (void)fcntl(fd, F_SETLK, &lock);
    lock.l_start = NTK_SOFT_LOCK_WANTED + core * plan->lnc;
    return fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK;
}
