/* SPDX-License-Identifier: MIT */
/*
 * attach_process - what /proc shows of a process that may be attached to.
 *
 * Owner:   plain data, all the caller's.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_PROCESS_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/abi/paths.h"
#include "shared/abi/segment_abi.h"

#define NTK_ATTACH_LIBRARIES 4 /* of one process, by different files */
#define NTK_ATTACH_CORES NTK_SEGMENT_CORES

/* A file that is mapped under the name libnrt.so... */
struct ntk_attach_library {
    uint64_t device;
    uint64_t inode;
    char path[NTK_PATH_BYTES]; /* as the process sees it */
    char link[64]; /* the same file as this process can open it: in /proc/PID/map_files */
};

struct ntk_attach_process {
    pid_t pid;
    uint64_t start_time;
    uint64_t stack; /* where it begins: another one with each program that the process executes */
    uint32_t uid;
    char command[NTK_VERSION_TEXT_BYTES];
    char tag[NTK_TAG_BYTES];

    struct ntk_attach_library libraries[NTK_ATTACH_LIBRARIES];
    uint32_t library_count;
    bool has_own_segment; /* it writes one itself, or will: hooks of ours are in it */

    char instance_type[NTK_VERSION_TEXT_BYTES]; /* of this machine; "" unknown */
    uint32_t lnc;
    uint32_t device_count; /* of the machine; 0 unknown */
    uint32_t cores_per_device;
    /* Logical cores in the order of the process's own numbers. */
    uint16_t cores[NTK_ATTACH_CORES];
    uint32_t core_count;
    bool cores_guessed; /* the cores are unknown */
    bool is_async;      /* its executions end after their calls */
};

/* The start time of a living process, 0 when there is none. */
uint64_t ntk_attach_process_start_time(pid_t pid);
/* As above; 0 unknown. */
uint64_t ntk_attach_process_stack(pid_t pid);
/* Whether a thread lives, by its number in the first pid namespace; true also where this program's
 * /proc does not show those numbers. */
bool ntk_attach_process_has_thread(pid_t pid, uint32_t tid);
/* Its libraries and whether it has hooks. 0, -ESRCH, or -EACCES when its mappings may not be
 * checked. */
int ntk_attach_process_read_maps(struct ntk_attach_process *process);
/* Everything; process->pid is set. As above. */
int ntk_attach_process_read(struct ntk_attach_process *process);
/* The path of the file that is mapped at an address; "" when it is none. */
void ntk_attach_process_file_at(pid_t pid, uint64_t address, char *path, size_t path_bytes);

#endif
