/* SPDX-License-Identifier: MIT */
/*
 * process - facts of /proc about a process, for messages that name it, and names of users.
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

/* Texts have no control characters. */
struct ntk_process {
    uint32_t pid;
    uint32_t parent;
    uint32_t uid;
    char state;        /* as in proc(5): 'R', 'S', 'T' ... */
    char name[64];     /* name of its command, without arguments */
    char user[64];     /* "user 4711" if the user has no name */
    uint64_t start_ns; /* since 1970; 0 unknown */
};

/* Whether this process may read the files of every user: root, or the service with its rights. */
bool ntk_process_reads_all_users(void);

/* The login name of a user, else the number; false for a number. */
bool ntk_process_user(uint32_t uid, char *buf, size_t buf_bytes);

/* proc: NULL for "/proc". -ESRCH if the process does not exist or is hidden. */
int ntk_process_read(const char *proc, uint32_t pid, struct ntk_process *out);

/* A line of /proc/PID/maps. */
struct ntk_process_mapping {
    uint64_t start, end, offset;
    uint64_t device, inode;
    char flags[8];    /* "rw-s" */
    const char *path; /* in the line; "" none */
};
/* Cuts the line's end off. False: it does not describe a mapping. */
bool ntk_process_mapping_parse(char *line, struct ntk_process_mapping *out);

#define NTK_PROCESS_TEXT_BYTES 256
/* "process 4711 (python3) of alice since 2026-11-28T13:02:11Z". since_ns: the time to show; 0: the
 * start of the process. Returns buf. */
const char *ntk_process_format(const struct ntk_process *process, uint64_t since_ns, char *buf,
                               size_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
