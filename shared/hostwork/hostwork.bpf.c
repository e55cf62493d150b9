/* SPDX-License-Identifier: MIT */
/*
 * hostwork.bpf - the BPF program that observes a job's idle time: it records when and why a thread
 * of the job leaves a CPU, and samples running threads.
 *
 * When a thread leaves a CPU, its entry of `waiting` is filled, and its stack goes to `copies`;
 * when it comes back, the wait is reported if a core was idle during it. Whether a core is idle is
 * read from the segment's in-flight words, which the owner of the cores has mapped. They can only
 * be read while the owner is the current process; otherwise the last answer is used.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "shared/hostwork/bpf_events.h"
#include "shared/hostwork/bpf_kernel.h"

#define TICK_NS 100000000ull
#define CHUNK 1024

enum { BLOCKED, PREEMPTED, QUOTA, FAULTING, HALTED }; /* enum ntk_host_slice_kind */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, NTK_HOST_BPF_RING);
} ring SEC(".maps");

struct tick {
    uint64_t number, copies;
};

#define MAP(name, kind, entries, flags, value_type) \
    struct {                                        \
        __uint(type, BPF_MAP_TYPE_##kind);          \
        __uint(max_entries, entries);               \
        __uint(map_flags, flags);                   \
        __type(key, uint32_t);                      \
        __type(value, value_type);                  \
    } name SEC(".maps")
MAP(processes, HASH, 4096, 0, uint32_t);
MAP(interpreters, HASH, 256, 0, struct ntk_host_bpf_interpreter);
MAP(waiting, HASH, 16384, BPF_F_NO_PREALLOC, struct ntk_host_bpf_waiting);
/* Stacks of the threads that left a CPU last; the loader sets their maximum number. */
MAP(copies, LRU_HASH, 512, 0, struct ntk_host_bpf_stack);
MAP(control, ARRAY, 1, BPF_F_MMAPABLE, struct ntk_host_bpf_control);
MAP(counts, ARRAY, 1, 0, struct ntk_host_bpf_counts);
MAP(ticks, PERCPU_ARRAY, 1, 0, struct tick);
/* Template for a new entry of `copies`, which is too large for a BPF program's stack. */
MAP(blank, ARRAY, 1, 0, struct ntk_host_bpf_stack);

static __always_inline struct ntk_host_bpf_control *control_get(void)
{
    uint32_t zero = 0;

    return bpf_map_lookup_elem(&control, &zero);
}

#define COUNT(member)                                                                       \
    do {                                                                                    \
        uint32_t count_zero = 0;                                                            \
        struct ntk_host_bpf_counts *counts_now = bpf_map_lookup_elem(&counts, &count_zero); \
        if (counts_now) {                                                                   \
            __sync_fetch_and_add(&counts_now->member, 1);                                   \
        }                                                                                   \
    } while (0)

/* Most switches on the machine are of other processes: they end at the filter, which takes no call
 * of the kernel. */
static __always_inline int is_of_job(const struct ntk_host_bpf_control *now, uint32_t pid)
{
    return now->process_count[pid % NTK_HOST_BPF_PIDS] != 0 &&
           bpf_map_lookup_elem(&processes, &pid) != NULL;
}

/* ---- is a core idle ---- */

static __always_inline int is_idle(struct ntk_host_bpf_control *now, uint64_t time_ns)
{
    if ((uint32_t)(bpf_get_current_pid_tgid() >> 32) == now->owner && now->in_flight[0] != 0) {
        uint32_t idle = 0;
        for (int i = 0; i < NTK_HOST_BPF_CORES && now->in_flight[i] != 0; i++) {
            uint64_t word = 1;
            if (bpf_probe_read_user(&word, sizeof word, (void *)now->in_flight[i]) == 0 &&
                word == 0) {
                idle = 1;
            }
        }
        now->is_idle = idle;
    }
    if (now->is_idle) {
        now->last_idle_ns = time_ns;
    }
    return (int)now->is_idle;
}

/* ---- stacks ---- */

static __always_inline int may_copy(struct ntk_host_bpf_control *now, uint64_t time_ns)
{
    uint32_t zero = 0;
    struct tick *tick = bpf_map_lookup_elem(&ticks, &zero);
    uint64_t number = time_ns / TICK_NS;

    if (!tick) {
        return 0;
    }
    if (tick->number != number) {
        tick->number = number;
        tick->copies = 0;
    }
    if (tick->copies >= now->stacks_per_tick) {
        COUNT(stacks_skipped);
        return 0;
    }
    tick->copies++;
    return 1;
}

#if defined(__TARGET_ARCH_x86)
#define USER_REGISTERS_BYTES sizeof(struct pt_regs)
#define STACK_POINTER 19 /* index in words */
#define SYSCALL_OF(words) ((int32_t)(words)[15])
#define IS_SYSCALL(words) ((int64_t)(words)[15] >= 0)
#define ARGUMENT_0(words) (words)[14]
#define ARGUMENT_1(words) (words)[13]
#define ARGUMENT_2(words) (words)[12]
#else
#define USER_REGISTERS_BYTES (36 * sizeof(uint64_t))
#define STACK_POINTER 31
#define SYSCALL_OF(words) ((int32_t)(words)[35])
#define IS_SYSCALL(words) ((int32_t)(words)[35] >= 0)
#define ARGUMENT_0(words) (words)[34] /* the original argument, because x0 has the result */
#define ARGUMENT_1(words) (words)[1]
#define ARGUMENT_2(words) (words)[2]
#endif

static __always_inline void copy_bytes(struct ntk_host_bpf_stack *stack)
{
    uint64_t from = stack->registers[STACK_POINTER];
    uint32_t done = 0;

#pragma unroll
    for (int i = 0; i < NTK_HOST_BPF_STACK / CHUNK; i++) {
        if (done == (uint32_t)i * CHUNK &&
            bpf_probe_read_user(stack->bytes + i * CHUNK, CHUNK, (void *)(from + i * CHUNK)) == 0) {
            done = ((uint32_t)i + 1) * CHUNK;
        }
    }
    stack->bytes_count = done;
}

static __always_inline uint32_t frames_of(long bytes)
{
    return bytes > 0 ? (uint32_t)bytes / 8 : 0;
}

/* The entry of a thread, created if missing; NULL without room. */
static __always_inline struct ntk_host_bpf_stack *copy_of(uint32_t tid)
{
    uint32_t zero = 0;
    struct ntk_host_bpf_stack *stack = bpf_map_lookup_elem(&copies, &tid);

    if (!stack) {
        struct ntk_host_bpf_stack *empty = bpf_map_lookup_elem(&blank, &zero);
        if (empty) {
            bpf_map_update_elem(&copies, &tid, empty, BPF_NOEXIST);
        }
        stack = bpf_map_lookup_elem(&copies, &tid);
    }
    return stack;
}

/* ---- messages ---- */

static __always_inline void tell(const struct ntk_host_bpf_event *event,
                                 const struct ntk_host_bpf_stack *stack)
{
    COUNT(events);
    if (stack) {
        struct ntk_host_bpf_full *full = bpf_ringbuf_reserve(&ring, sizeof *full, 0);
        if (full) {
            full->event = *event;
            full->event.has_stack = 1;
            bpf_probe_read_kernel(&full->stack, sizeof full->stack, stack);
            bpf_ringbuf_submit(full, BPF_RB_NO_WAKEUP);
            return;
        }
    } else {
        struct ntk_host_bpf_event *small = bpf_ringbuf_reserve(&ring, sizeof *small, 0);
        if (small) {
            *small = *event;
            bpf_ringbuf_submit(small, BPF_RB_NO_WAKEUP);
            return;
        }
    }
    COUNT(lost);
}

/* ---- off the CPU ---- */

static __always_inline int is_throttled(struct task_struct *task)
{
    return bpf_core_field_exists(task->se.cfs_rq->throttle_count) &&
           BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* The entry of a thread, created if missing; NULL without room. It lasts as long as the thread,
 * because creating one for each wait would cost more than the wait's record. */
static __always_inline struct ntk_host_bpf_waiting *waiting_of(uint32_t tid)
{
    struct ntk_host_bpf_waiting *wait = bpf_map_lookup_elem(&waiting, &tid);

    if (!wait) {
        struct ntk_host_bpf_waiting empty = { 0 };
        bpf_map_update_elem(&waiting, &tid, &empty, BPF_NOEXIST);
        wait = bpf_map_lookup_elem(&waiting, &tid);
    }
    return wait;
}

static __always_inline void leaves(void *context, struct ntk_host_bpf_control *now,
                                   struct task_struct *task, uint64_t time_ns)
{
    uint32_t tid = (uint32_t)task->pid;
    uint32_t state = bpf_core_field_exists(task->__state) ? task->__state : 0;
    uint64_t words[NTK_HOST_BPF_REGISTERS] = { 0 };
    void *registers = (void *)bpf_task_pt_regs(task);
    struct ntk_host_bpf_waiting *wait;

    if (state & TASK_DEAD_OR_ZOMBIE) {
        return;
    }
    wait = waiting_of(tid);
    if (!wait) {
        COUNT(untracked);
        return;
    }
    bpf_probe_read_kernel(words, USER_REGISTERS_BYTES, registers);
    *wait = (struct ntk_host_bpf_waiting){ .pid = (uint32_t)task->tgid,
                                           .syscall = -1,
                                           .waker_syscall = -1 };
    if (IS_SYSCALL(words)) {
        wait->syscall = SYSCALL_OF(words);
        wait->argument[0] = ARGUMENT_0(words);
        wait->argument[1] = ARGUMENT_1(words);
        wait->argument[2] = ARGUMENT_2(words);
    }
    wait->slice_kind = state == 0                         ? (is_throttled(task) ? QUOTA : PREEMPTED)
                       : (state & TASK_STOPPED_OR_TRACED) ? HALTED
                       : wait->syscall < 0                ? FAULTING
                                                          : BLOCKED;
    wait->is_idle = (uint32_t)is_idle(now, time_ns);
    bpf_probe_read_kernel(wait->comm, sizeof wait->comm, task->comm);
    wait->start_ns = time_ns; /* from now on, a wakeup counts */
    if (state != 0 && may_copy(now, time_ns)) {
        struct ntk_host_bpf_stack *stack = copy_of(tid);
        if (!stack) {
            COUNT(stacks_skipped);
        } else {
            wait->has_stack = 1;
            __builtin_memcpy(stack->registers, words, sizeof words);
            stack->kernel_count =
                frames_of(bpf_get_stack(context, stack->kernel, sizeof stack->kernel, 0));
            stack->user_count = frames_of(
                bpf_get_stack(context, stack->user, sizeof stack->user, BPF_F_USER_STACK));
            copy_bytes(stack);
        }
    }
}

static __always_inline void returns(struct ntk_host_bpf_control *now, struct task_struct *task,
                                    uint64_t time_ns)
{
    uint32_t tid = (uint32_t)task->pid;
    struct ntk_host_bpf_waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
    struct ntk_host_bpf_stack *stack = NULL;
    struct ntk_host_bpf_event event;

    if (!wait || wait->start_ns == 0) {
        return;
    }
    if (time_ns - wait->start_ns >= NTK_HOST_BPF_MIN_NS &&
        (wait->is_idle || now->is_idle || now->last_idle_ns >= wait->start_ns)) {
        if (wait->has_stack && time_ns - wait->start_ns >= NTK_HOST_BPF_COPY_NS) {
            stack = bpf_map_lookup_elem(&copies, &tid);
            if (!stack) {
                COUNT(stacks_skipped);
            }
        }
        ntk_host_bpf_event_of_wait(&event, wait, tid, time_ns);
        tell(&event, stack);
    }
    wait->start_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    (void)preempt;
    struct ntk_host_bpf_control *now = control_get();

    if (!now) {
        return 0;
    }
    if (is_of_job(now, (uint32_t)prev->tgid)) {
        leaves(ctx, now, prev, bpf_ktime_get_ns());
    }
    if (is_of_job(now, (uint32_t)next->tgid)) {
        returns(now, next, bpf_ktime_get_ns());
    }
    return 0;
}

/* Called by the thread that wakes another, or by an interrupt during any thread; the current system
 * call distinguishes these (sample_bpf.c). */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
    struct ntk_host_bpf_control *now = control_get();
    uint32_t tid = (uint32_t)task->pid;
    struct ntk_host_bpf_waiting *wait;
    uint64_t words[NTK_HOST_BPF_REGISTERS];
    struct task_struct *waker;

    if (!now || !is_of_job(now, (uint32_t)task->tgid)) {
        return 0;
    }
    wait = bpf_map_lookup_elem(&waiting, &tid);
    if (!wait || wait->start_ns == 0 || wait->ready_ns != 0) {
        return 0;
    }
    wait->ready_ns = bpf_ktime_get_ns();
    wait->is_ready_quota = (uint32_t)is_throttled(task);
    waker = (struct task_struct *)bpf_get_current_task_btf();
    if (is_of_job(now, (uint32_t)waker->tgid)) {
        bpf_probe_read_kernel(words, USER_REGISTERS_BYTES, (void *)bpf_task_pt_regs(waker));
        wait->waker = (uint32_t)waker->pid;
        wait->waker_syscall = IS_SYSCALL(words) ? SYSCALL_OF(words) : -1;
    }
    return 0;
}

/* ---- on the CPU ---- */

/* The tid of a thread in its innermost PID namespace (a container). */
static __always_inline uint32_t inner_tid_of(struct task_struct *task)
{
    struct pid *pid = BPF_CORE_READ(task, thread_pid);
    uint64_t level = BPF_CORE_READ(pid, level);
    uint32_t tid = 0;

    bpf_probe_read_kernel(&tid, sizeof tid,
                          (char *)&pid->numbers[0].nr + level * bpf_core_type_size(struct upid));
    return tid;
}

/* Whether the current thread, a thread of the process, collects garbage. */
static __always_inline uint32_t collecting_of(struct task_struct *task, uint32_t pid)
{
    const struct ntk_host_bpf_interpreter *interpreter = bpf_map_lookup_elem(&interpreters, &pid);
    int32_t is_collecting = 0;
    uint64_t holder = 0;
    uint64_t native = 0;

    if (!interpreter || bpf_probe_read_user(&is_collecting, sizeof is_collecting,
                                            (void *)interpreter->collecting) != 0) {
        return NTK_HOST_BPF_COLLECTING_UNKNOWN;
    }
    if (is_collecting == 0) {
        return NTK_HOST_BPF_NOT_COLLECTING;
    }
    if (bpf_probe_read_user(&holder, sizeof holder, (void *)interpreter->holder) != 0 ||
        bpf_probe_read_user(&native, sizeof native,
                            (void *)(holder + interpreter->native_offset)) != 0) {
        return NTK_HOST_BPF_COLLECTING_UNKNOWN;
    }
    return native == inner_tid_of(task) ? NTK_HOST_BPF_COLLECTING : NTK_HOST_BPF_NOT_COLLECTING;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *context)
{
    struct ntk_host_bpf_control *now = control_get();
    uint64_t who = bpf_get_current_pid_tgid();
    struct ntk_host_bpf_full *full;
    struct task_struct *task;
    uint64_t time_ns;

    if (!now || !is_of_job(now, (uint32_t)(who >> 32))) {
        return 0;
    }
    time_ns = bpf_ktime_get_ns();
    if (!is_idle(now, time_ns)) {
        return 0;
    }
    COUNT(events);
    full = bpf_ringbuf_reserve(&ring, sizeof *full, 0);
    if (!full) {
        COUNT(lost);
        return 0;
    }
    __builtin_memset(&full->event, 0, sizeof full->event);
    full->event.kind = NTK_HOST_BPF_SAMPLE;
    full->event.start_ns = time_ns;
    full->event.end_ns = time_ns;
    full->event.pid = (uint32_t)(who >> 32);
    full->event.tid = (uint32_t)who;
    full->event.syscall = -1;
    full->event.waker_syscall = -1;
    full->event.has_stack = 1;
    task = (struct task_struct *)bpf_get_current_task_btf();
    full->event.collecting = collecting_of(task, full->event.pid);
    bpf_get_current_comm(full->event.comm, sizeof full->event.comm);
    full->stack.kernel_count =
        frames_of(bpf_get_stack(context, full->stack.kernel, sizeof full->stack.kernel, 0));
    full->stack.user_count = frames_of(
        bpf_get_stack(context, full->stack.user, sizeof full->stack.user, BPF_F_USER_STACK));
    /* Also used for a sample of user code: its registers are in the same place as those of a system
     * call. */
    __builtin_memset(full->stack.registers, 0, sizeof full->stack.registers);
    bpf_probe_read_kernel(full->stack.registers, USER_REGISTERS_BYTES,
                          (void *)bpf_task_pt_regs(task));
    copy_bytes(&full->stack);
    bpf_ringbuf_submit(full, BPF_RB_NO_WAKEUP);
    return 0;
}

/* ---- threads ---- */

static __always_inline void tell_life(uint32_t kind, struct task_struct *task)
{
    struct ntk_host_bpf_event event = { .kind = kind, .syscall = -1, .waker_syscall = -1 };

    event.start_ns = bpf_ktime_get_ns();
    event.end_ns = event.start_ns;
    event.pid = (uint32_t)task->tgid;
    event.tid = (uint32_t)task->pid;
    bpf_probe_read_kernel(event.comm, sizeof event.comm, task->comm);
    tell(&event, NULL);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
    struct ntk_host_bpf_control *now = control_get();
    uint32_t pid = (uint32_t)child->tgid;
    uint32_t one = 1;

    if (now && is_of_job(now, (uint32_t)parent->tgid)) {
        if (bpf_map_lookup_elem(&processes, &pid)) {
            /* a thread */
        } else if (bpf_map_update_elem(&processes, &pid, &one, BPF_NOEXIST) == 0) {
            __sync_fetch_and_add(&now->process_count[pid % NTK_HOST_BPF_PIDS], 1);
        } else {
            COUNT(untracked);
        }
        tell_life(NTK_HOST_BPF_FORK, child);
    }
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
    struct ntk_host_bpf_control *now = control_get();
    uint32_t tid = (uint32_t)task->pid;
    uint32_t pid = (uint32_t)task->tgid;

    if (now && is_of_job(now, pid)) {
        tell_life(NTK_HOST_BPF_EXIT, task);
        bpf_map_delete_elem(&waiting, &tid);
        bpf_map_delete_elem(&copies, &tid);
        /* a new process may reuse the pid */
        if (task->signal->live.counter == 0 && bpf_map_delete_elem(&processes, &pid) == 0) {
            __sync_fetch_and_add(&now->process_count[pid % NTK_HOST_BPF_PIDS], -1);
        }
    }
    return 0;
}

char license_name[] SEC("license") = "Dual MIT/GPL";
