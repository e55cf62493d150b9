/* SPDX-License-Identifier: MIT */
/*
 * process - facts about a process from /proc, for messages that name it, and user names.
 *
 * Threads: any.
 */
#ifndef NTK_SHARED_BASE_PROCESS_H
#define NTK_SHARED_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A process. Its texts have no control characters. */
struct ntk_process {
    uint32_t pid;
    uint32_t parent;
    uint32_t uid;
    char state;        /* state letter of proc(5): 'R', 'S', 'T' ... */
    char name[64];     /* command name without arguments */
    char user[64];     /* user name, or "user 4711" if the user has no name */
    uint64_t start_ns; /* start time, since 1970; 0 unknown */
};

/* Returns true if this process may read the files of every user: root, or the service with its
 * rights. */
bool ntk_process_reads_all_users(void);

/* Writes the user's login name and returns true, or writes the number and returns false. */
bool ntk_process_user(uint32_t uid, char *buf, size_t buf_bytes);

/* proc NULL: "/proc". Returns -ESRCH if the process does not exist or is hidden. */
int ntk_process_read(const char *proc, uint32_t pid, struct ntk_process *out);

/* A line of /proc/PID/maps. */
struct ntk_process_mapping {
    uint64_t start, end, offset;
    uint64_t device, inode;
    char flags[8];    /* permissions, such as "rw-s" */
    const char *path; /* points into the line; "" if the mapping has no path */
};
/* Parses the line, and cuts off its line end. Returns false if it does not describe a mapping. */
bool ntk_process_mapping_parse(char *line, struct ntk_process_mapping *out);

#define NTK_PROCESS_TEXT_BYTES 256
/* Formats "process 4711 (python3) of alice since 2026-11-28T13:02:11Z". since_ns is the time to
 * show; 0: the process's start. Returns buf. */
const char *ntk_process_format(const struct ntk_process *process, uint64_t since_ns, char *buf,
                               size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
