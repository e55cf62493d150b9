/* SPDX-License-Identifier: MIT */
#include "shared/collect/holders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/device/node_holder.h"
#include "shared/device/soft_holder.h"

/* Pause between two checks of the locks, or of a process. */
#define LOOK_NS (50 * NTK_NS_PER_MS)
/* The pause grows up to this if reading the open files takes long. */
#define WAIT_NS (30 * NTK_NS_PER_SECOND)
/* Processes known at the same time; if there are more, all are checked again. */
#define PROCESSES_MAX 4096u
#define UIDS 4 /* real, effective, saved and file system uid */

struct holder_process {
    uint64_t looked_ns;
    uint64_t wait_ns; /* time until the next check */
    uint32_t uids[UIDS];
    uint64_t devices; /* bit i: the process has /dev/neuron<i> open */
    bool is_known;
};

void ntk_holders_init(struct ntk_holders *holders, const char *proc_root, const char *hooks_dir)
{
    *holders = (struct ntk_holders){ .proc_root = proc_root, .hooks_dir = hooks_dir };
}

static void processes_free(struct ntk_holders *holders)
{
    ntk_map_each(entry, &holders->processes) {
        free(entry->value);
    }
    ntk_map_fini(&holders->processes);
}

void ntk_holders_fini(struct ntk_holders *holders)
{
    processes_free(holders);
}

/* ---- processes ---- */

static bool read_uids(const struct ntk_holders *holders, uint32_t pid, uint32_t uids[UIDS])
{
    char path[NTK_PATH_BYTES];
    char text[4096];

    (void)snprintf(path, sizeof path, "%s/%u/status", holders->proc_root, pid);
    if (ntk_fs_read_text(path, text, sizeof text) <= 0) {
        return false;
    }
    const char *at = strstr(text, "\nUid:");
    return at && sscanf(at, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) == UIDS;
}

/* The entry of a process; NULL if the process does not exist or memory is exhausted. */
static const struct holder_process *process_get(struct ntk_holders *holders, const char *sysfs_root,
                                                bool is_software, uint32_t pid,
                                                uint64_t monotonic_ns)
{
    struct holder_process *process = ntk_map_get_number(&holders->processes, pid);

    if (!process) {
        if (holders->processes.count >= PROCESSES_MAX) {
            processes_free(holders);
        }
        process = calloc(1, sizeof *process);
        if (!process || ntk_map_put_number(&holders->processes, pid, process) < 0) {
            free(process);
            return NULL;
        }
    } else if (monotonic_ns - process->looked_ns < process->wait_ns) {
        return process;
    }
    uint64_t devices = is_software ? 0 : ntk_device_nodes_open(holders->proc_root, sysfs_root, pid);

    process->wait_ns = is_software || devices != process->devices || process->wait_ns == 0 ? LOOK_NS
                       : process->wait_ns < WAIT_NS / 2 ? 2 * process->wait_ns
                                                        : WAIT_NS;
    process->looked_ns = monotonic_ns;
    process->devices = devices;
    process->is_known = read_uids(holders, pid, process->uids);
    return process;
}

/* ---- the software machine ---- */

static void locks_read(struct ntk_holders *holders, uint32_t cores, uint64_t monotonic_ns)
{
    struct stat status;

    if (cores == holders->cores && monotonic_ns - holders->looked_ns < LOOK_NS) {
        return;
    }
    holders->looked_ns = monotonic_ns;
    holders->cores = cores;
    for (uint32_t core = 0; core < cores; core++) {
        holders->pids[core] = ntk_soft_lock_holder(holders->hooks_dir, core, 1);
    }
    int fd = ntk_soft_lock_open(holders->hooks_dir, O_RDONLY);
    holders->has_owner = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    holders->owner = holders->has_owner ? status.st_uid : 0;
    if (fd >= 0) {
        close(fd);
    }
}

bool ntk_holders_has(struct ntk_holders *holders, const struct ntk_device_tree *tree,
                     bool is_software, uint32_t pid, uint32_t uid, uint32_t core,
                     uint64_t monotonic_ns)
{
    size_t cores = tree->device_count * tree->cores_per_device;

    if (core >= cores || core >= NTK_HOLDERS_CORES_MAX || pid == 0) {
        return false;
    }
    if (is_software) {
        locks_read(holders,
                   (uint32_t)(cores < NTK_HOLDERS_CORES_MAX ? cores : NTK_HOLDERS_CORES_MAX),
                   monotonic_ns);
        if (holders->has_owner && holders->owner == uid) {
            return true;
        }
        if (holders->pids[core] != pid) {
            return false;
        }
    }
    const struct holder_process *process =
        process_get(holders, tree->root, is_software, pid, monotonic_ns);
    bool is_owner = uid == 0; /* root created its file and may have switched to any user */

    for (size_t i = 0; process && process->is_known && i < UIDS; i++) {
        is_owner = is_owner || process->uids[i] == uid;
    }
    return is_owner && (is_software || process->devices >> (core / tree->cores_per_device) & 1);
}
