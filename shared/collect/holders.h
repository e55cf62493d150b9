/* SPDX-License-Identifier: MIT */
/*
 * holders - checks whether a process owns a core in the machine's tree, so that its reports about
 * the core can be trusted.
 *
 * Any user can write a segment with any core and any process. The kernel decides: the process has
 * the core's lock (software machine) or the device's node open (driver), and it runs as the owner
 * of the segment. If ownership is unknown, the process is not trusted. The owner of a software
 * machine is always trusted about it, because that user owns the whole tree.
 *
 * Answers are cached for a moment, so that a segment cannot make the collector busy with checks.
 *
 * Owner:   init / fini.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_COLLECT_HOLDERS_H
#define NTK_SHARED_COLLECT_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/map.h"
#include "shared/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HOLDERS_CORES_MAX 1024 /* number of bytes of soft.lock, one per core */

struct ntk_holders {
    const char *proc_root; /* borrowed */
    const char *hooks_dir; /* borrowed; NULL: the default folder */
    /* Time of the last check of the software machine's locks. */
    uint64_t looked_ns;
    uint32_t cores;
    uint32_t pids[NTK_HOLDERS_CORES_MAX];
    bool has_owner;
    uint32_t owner; /* uid of the owner */
    /* For a driver: struct holder_process by pid. */
    struct ntk_map processes;
};

void ntk_holders_init(struct ntk_holders *holders, const char *proc_root, const char *hooks_dir);
void ntk_holders_fini(struct ntk_holders *holders);

/* core is the global physical number in this tree. */
bool ntk_holders_has(struct ntk_holders *holders, const struct ntk_device_tree *tree,
                     bool is_software, uint32_t pid, uint32_t uid, uint32_t core,
                     uint64_t monotonic_ns);

#ifdef __cplusplus
}
#endif
#endif
