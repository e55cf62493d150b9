/* SPDX-License-Identifier: MIT */
/*
 * bpf_kernel - structs of the kernel that the BPF program (hostwork.bpf.c) reads.
 *
 * They are declared with only the members that are used; the loader adjusts their offsets to the
 * running kernel.
 */
#ifndef NTK_SHARED_HOSTWORK_BPF_KERNEL_H
#define NTK_SHARED_HOSTWORK_BPF_KERNEL_H

#include "shared/hostwork/bpf_events.h"

/* Values of __state. */
#define TASK_STOPPED_OR_TRACED 0xcu
#define TASK_DEAD_OR_ZOMBIE 0xb0u

#ifdef __bpf__
#define RELOCATED __attribute__((preserve_access_index))
#else
#define RELOCATED
#endif
struct cfs_rq {
    int throttle_count;
} RELOCATED;
struct sched_entity {
    struct cfs_rq *cfs_rq;
} RELOCATED;
typedef struct {
    int counter;
} RELOCATED atomic_t;
struct signal_struct {
    atomic_t live;
} RELOCATED;
struct upid {
    int nr;
    void *ns;
} RELOCATED;
struct pid {
    unsigned int level;
    struct upid numbers[1]; /* level + 1 numbers */
} RELOCATED;
struct task_struct {
    unsigned int __state;
    int pid;
    int tgid;
    struct sched_entity se;
    char comm[NTK_HOST_BPF_COMM];
    struct signal_struct *signal;
    struct pid *thread_pid;
} RELOCATED;

#endif
