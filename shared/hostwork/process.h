/* SPDX-License-Identifier: MIT */
/*
 * process - finds the processes and threads of a job in /proc, and whether this program may trace
 * them.
 *
 * Pids and tids are those of this program's PID namespace. Processes and threads may vanish at any
 * time, which is not an error.
 */
#ifndef NTK_SHARED_HOSTWORK_PROCESS_H
#define NTK_SHARED_HOSTWORK_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/hostwork/hostwork.h"

#define NTK_HOST_PROCESSES_MAX 1024u

/* Lists the process and its descendants, the process first; returns their number. */
size_t ntk_host_process_tree(uint32_t pid, uint32_t *out_pids, size_t out_count);
/* Returns true if the kernel allows this program to attach as a debugger: the condition for reading
 * memory and stacks. */
bool ntk_host_process_may_trace(uint32_t pid);
/* A number for the program that the process executes, which exec() changes, and for the process, as
 * pids are reused; 0 if unknown. */
uint64_t ntk_host_process_image(uint32_t pid);
/* Returns true if this program's pids are the same as in BPF programs. */
bool ntk_host_process_is_first_namespace(void);
/* Adds new threads to the records, observed from first_ns until now or later. */
void ntk_host_process_threads(uint32_t pid, uint64_t first_ns, uint64_t now_ns,
                              struct ntk_host_records *records);
/* Adds one thread, or extends the time of a known thread. name may be NULL. */
void ntk_host_process_thread(struct ntk_host_records *records, uint32_t pid, uint32_t tid,
                             const char *name, uint64_t first_ns, uint64_t now_ns);
/* The thread's tid in its innermost PID namespace (a container); 0 if unknown. */
uint32_t ntk_host_process_inner_tid(uint32_t pid, uint32_t tid);
/* Key in a map from inner tids to tids; processes may be in different namespaces. */
static inline uint64_t ntk_host_process_inner_key(uint32_t pid, uint32_t inner_tid)
{
    return (uint64_t)pid << 32 | inner_tid;
}
/* The system call that a thread is in, with its first arguments; *out_number is -1 if the thread
 * runs. Returns false if it waits outside of calls, or cannot be read; *out_number is -1 then,
 * too. */
bool ntk_host_process_syscall(uint32_t pid, uint32_t tid, int32_t *out_number,
                              uint64_t out_argument[3]);
/* The file of a descriptor, as one of the texts in stacks; NULL if unknown. */
const char *ntk_host_process_file(uint32_t pid, uint64_t descriptor,
                                  struct ntk_host_stacks *stacks);

#endif
