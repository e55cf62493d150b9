/* SPDX-License-Identifier: MIT */
/*
 * attach_process - reads data in /proc about a process that may be attached to.
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

#define NTK_ATTACH_LIBRARIES 4 /* maximum libnrt files per process */
#define NTK_ATTACH_CORES NTK_SEGMENT_CORES

/* A file that is mapped with the name libnrt.so... */
struct ntk_attach_library {
    uint64_t device;
    uint64_t inode;
    char path[NTK_PATH_BYTES]; /* path in the process */
    char link[64]; /* path in /proc/PID/map_files by which this program can open the same file */
};

struct ntk_attach_process {
    pid_t pid;
    uint64_t start_time;
    uint64_t stack; /* start of the stack, which changes whenever the process executes a program */
    uint32_t uid;
    char command[NTK_VERSION_TEXT_BYTES];
    char tag[NTK_TAG_BYTES];

    struct ntk_attach_library libraries[NTK_ATTACH_LIBRARIES];
    uint32_t library_count;
    bool has_own_segment; /* it writes a segment itself, or will: our hooks are in it */

    char instance_type[NTK_VERSION_TEXT_BYTES]; /* type of this machine; "" if unknown */
    uint32_t lnc;
    uint32_t device_count; /* devices of the machine; 0 if unknown */
    uint32_t cores_per_device;
    /* Logical cores, in the order of the process's core numbers. */
    uint16_t cores[NTK_ATTACH_CORES];
    uint32_t core_count;
    bool cores_guessed; /* the core assignment is a guess */
    bool is_async;      /* executions end after the calls that start them */
};

/* The start time of a living process; 0 if there is none. */
uint64_t ntk_attach_process_start_time(pid_t pid);
/* Same, for the start of the stack; 0 if unknown. */
uint64_t ntk_attach_process_stack(pid_t pid);
/* Returns true if a thread is alive, by its tid in the first PID namespace. Returns true if /proc
 * does not show these tids. */
bool ntk_attach_process_has_thread(pid_t pid, uint32_t tid);
/* Reads the process's libraries and whether it has hooks. Returns 0, -ESRCH, or -EACCES if its
 * mappings may not be read. */
int ntk_attach_process_read_maps(struct ntk_attach_process *process);
/* Reads everything; process->pid must be set. Errors are the same as above. */
int ntk_attach_process_read(struct ntk_attach_process *process);
/* The path of the file mapped at an address; "" if there is none. */
void ntk_attach_process_file_at(pid_t pid, uint64_t address, char *path, size_t path_bytes);

#endif
