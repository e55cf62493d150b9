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

#ifdef __bpf__

/* ---- registers of user code, where a system call saves them ---- */

#if defined(__TARGET_ARCH_x86)
#define NTK_REGISTERS_BYTES sizeof(struct pt_regs)
#define NTK_STACK_POINTER 19 /* index in words */
#else
#define NTK_REGISTERS_BYTES (36 * sizeof(uint64_t))
#define NTK_STACK_POINTER 31
#endif

/* The system call that a thread is in, with its arguments; -1: none. */
static inline __attribute__((always_inline)) int32_t call_of(struct task_struct *task,
                                                             uint64_t out_argument[3])
{
    const uint64_t *registers = (const uint64_t *)bpf_task_pt_regs(task);
    int32_t number;

#if defined(__TARGET_ARCH_x86)
    uint64_t words[4]; /* dx, si, di, number */
    bpf_probe_read_kernel(words, sizeof words, registers + 12);
    number = (int64_t)words[3] >= 0 ? (int32_t)words[3] : -1;
    out_argument[0] = number < 0 ? 0 : words[2];
    out_argument[1] = number < 0 ? 0 : words[1];
    out_argument[2] = number < 0 ? 0 : words[0];
#else
    uint64_t last[2];  /* x1, x2 */
    uint64_t first[2]; /* the first argument, because x0 has the result; number */
    bpf_probe_read_kernel(last, sizeof last, registers + 1);
    bpf_probe_read_kernel(first, sizeof first, registers + 34);
    number = (int32_t)first[1] >= 0 ? (int32_t)first[1] : -1;
    out_argument[0] = number < 0 ? 0 : first[0];
    out_argument[1] = number < 0 ? 0 : last[0];
    out_argument[2] = number < 0 ? 0 : last[1];
#endif
    return number;
}

/* Also used for a sample of user code: its registers are in the same place. */
static inline __attribute__((always_inline)) void read_registers(struct task_struct *task,
                                                                 struct ntk_host_bpf_stack *stack)
{
    __builtin_memset(stack->registers, 0, sizeof stack->registers);
    bpf_probe_read_kernel(stack->registers, NTK_REGISTERS_BYTES, (void *)bpf_task_pt_regs(task));
}

#endif
#endif
