/* SPDX-License-Identifier: MIT */
/*
 * read - reads the machine's current state: the device tree through shared/device, runtimes through
 * their segments, holders of /dev/neuronN and command lines through /proc.
 *
 * It writes nothing and takes no lock, so that any number of readers may run at a time.
 * Threads: any; one at a time per machine.
 */
#ifndef NTK_TOP_LS_READ_H
#define NTK_TOP_LS_READ_H

#include "shared/base/err.h"
#include "shared/collect/machine.h"
#include "top/ls/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_ls_read_options {
    const char *sysfs_root;   /* a tree that replaces /sys; NULL: the tree is searched for */
    const char *driver_sysfs; /* NULL for "/sys"; set by tests */
    const char *hooks_dir;    /* NULL: see shared/abi/paths.h */
    const char *proc_root;    /* NULL for "/proc" */
    const char *dev_root;     /* NULL for "/dev" */
    bool all_devices;         /* include devices without a node */
    bool all_processes;       /* include processes without a runtime: agents, and this one */
};

/*
 * Fills a zeroed machine. -ENODEV: the tree has no device, or none of its devices has a node;
 * -ENOENT: no tree; -EACCES: this user may not read the tree; -ENOMEM; after an error the
 * machine is empty.
 */
int ntk_ls_read(const struct ntk_ls_read_options *options, struct ntk_ls_machine *out_machine,
                struct ntk_err *err);

/* Private to this folder. Adds the processes that use devices in the machine; *out_lnc is the LNC
 * that is the same in all running runtimes, else unchanged; *answer gets the instance types that
 * they report. -ENOMEM. */
int ntk_ls_read_processes(const struct ntk_ls_read_options *options, bool is_software,
                          struct ntk_ls_machine *machine, uint32_t *out_lnc,
                          struct ntk_machine_answer *answer, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
