/* SPDX-License-Identifier: MIT */
/* diag_owner - finds the process that holds a core. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/diag/diag.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/process.h"
#include "shared/base/str.h"
#include "shared/device/node_holder.h"
#include "shared/device/soft_holder.h"

#define LOOK_NS (100 * NTK_NS_PER_MS) /* interval of checks for --wait */

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

static bool find_owned(const struct ntk_diag *diag, uint32_t *out_core,
                       struct ntk_diag_owner *out_owner)
{
    for (size_t i = 0; i < diag->core_count; i++) {
        *out_owner = diag->owner_of ? diag->owner_of(&diag->plan, diag->cores[i])
                                    : ntk_diag_owner_of(&diag->plan, diag->cores[i]);
        *out_core = diag->cores[i];
        if (out_owner->pid != 0) {
            return true;
        }
    }
    return false;
}

int ntk_diag_owner_await(const struct ntk_diag *diag, uint64_t wait_ns, struct ntk_err *err)
{
    uint64_t end_ns = ntk_clock_now_ns(diag->clock) + wait_ns;
    struct ntk_diag_owner owner;
    uint32_t core;
    bool is_announced = false;

    while (find_owned(diag, &core, &owner)) {
        char holder[128] = "a process in another container";
        uint64_t now_ns = ntk_clock_now_ns(diag->clock);

        if (owner.pid != NTK_SOFT_HOLDER_ELSEWHERE) {
            (void)snprintf(holder, sizeof holder, "process %u%s%s%s", owner.pid,
                           owner.command[0] ? " (" : "", owner.command,
                           owner.command[0] ? ")" : "");
        }
        if (now_ns >= end_ns) {
            return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                               "%s holds %s %u: no test ran; wait for its release with --wait, or "
                               "select other cores with --core or --device",
                               holder, diag->plan.is_software ? "core" : "the device of core",
                               core);
        }
        if (!is_announced) {
            ntk_log_warn(NULL, "%s holds core %u; waiting for its release", holder, core);
            is_announced = true;
        }
        ntk_cond_sleep(diag->clock, now_ns + LOOK_NS);
    }
    return 0;
}

bool ntk_diag_owner_is_wanted(const struct ntk_diag_plan *plan, uint32_t core, uint32_t worker)
{
    uint32_t pid =
        plan->is_software
            ? ntk_soft_lock_holder(NULL, NTK_SOFT_LOCK_WANTED + core * plan->lnc, plan->lnc)
            : node_holder(plan, core / plan->cores_per_device, worker);

    return pid != 0 && pid != worker; /* the worker may have taken the core a moment ago */
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
    /* The file stays open, because closing any descriptor of it drops the locks of the process. */
    (void)fcntl(fd, F_SETLK, &lock);
    lock.l_start = NTK_SOFT_LOCK_WANTED + core * plan->lnc;
    return fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK;
}
