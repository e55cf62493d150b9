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

#include "shared/hostwork/bpf_stacks.h"

enum { BLOCKED, PREEMPTED, QUOTA, FAULTING, HALTED }; /* enum ntk_host_slice_kind */

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

/* ---- messages ---- */

static __always_inline void tell_python(struct ntk_host_bpf_python *python, uint32_t pid,
                                        uint32_t tid, uint64_t time_ns)
{
    uint64_t count = python->count;

    COUNT(events);
    __builtin_memset(&python->event, 0, sizeof python->event);
    python->event.kind = NTK_HOST_BPF_PYTHON;
    python->event.start_ns = time_ns;
    python->event.end_ns = time_ns;
    python->event.pid = pid;
    python->event.tid = tid;
    if (count <= NTK_PYTHON_FRAMES_MAX &&
        bpf_ringbuf_output(&ring, python,
                           offsetof(struct ntk_host_bpf_python, frames) +
                               count * sizeof *python->frames,
                           BPF_RB_NO_WAKEUP) != 0) {
        COUNT(lost);
    }
}

static __always_inline void tell(const struct ntk_host_bpf_event *event)
{
    struct ntk_host_bpf_event *small = bpf_ringbuf_reserve(&ring, sizeof *small, 0);

    COUNT(events);
    if (small) {
        *small = *event;
        bpf_ringbuf_submit(small, BPF_RB_NO_WAKEUP);
    } else {
        COUNT(lost);
    }
}

static __always_inline void tell_full(struct ntk_host_bpf_full *full)
{
    uint32_t bytes = full->stack.bytes_count;

    COUNT(events);
    full->event.has_stack = 1;
    if (bytes > NTK_HOST_BPF_STACK ||
        bpf_ringbuf_output(&ring, full, offsetof(struct ntk_host_bpf_full, stack.bytes) + bytes,
                           BPF_RB_NO_WAKEUP) != 0) {
        COUNT(lost);
    }
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

static __always_inline void copy_stack(void *context, struct ntk_host_bpf_control *now,
                                       struct task_struct *task, struct ntk_host_bpf_waiting *wait)
{
    struct ntk_host_bpf_full *copy =
        may_copy(now, wait->start_ns) ? entry_of(&copies, &blank, (uint32_t)task->pid) : NULL;
    struct ntk_host_bpf_stack *stack;

    if (!copy) {
        wait->is_skipped = 1;
        return;
    }
    wait->has_stack = 1;
    stack = &copy->stack;
    read_registers(task, stack);
    stack->kernel_count =
        is_plain(now, wait->syscall)
            ? 0
            : frames_of(bpf_get_stack(context, stack->kernel, sizeof stack->kernel, 0));
    /* Frame pointers only help where unwinding fails, and do not find Python functions. */
    stack->user_count =
        wait->has_python
            ? 0
            : frames_of(bpf_get_stack(context, stack->user, sizeof stack->user, BPF_F_USER_STACK));
    copy_bytes(stack, stack_bytes(wait->has_python));
}

/* Not inlined, because the stack of a BPF program is small. */
static __noinline void leaves(void *context, struct ntk_host_bpf_control *now,
                              struct task_struct *task, uint64_t time_ns)
{
    uint32_t tid = (uint32_t)task->pid;
    uint32_t state = bpf_core_field_exists(task->__state) ? task->__state : 0;
    struct ntk_host_bpf_waiting *wait;

    if (state & TASK_DEAD_OR_ZOMBIE) {
        return;
    }
    wait = waiting_of(tid);
    if (!wait) {
        COUNT(untracked);
        return;
    }
    __builtin_memset(wait, 0, offsetof(struct ntk_host_bpf_waiting, pythons_tick));
    wait->pid = (uint32_t)task->tgid;
    wait->waker_syscall = -1;
    wait->syscall = call_of(task, wait->argument);
    wait->slice_kind = state == 0                         ? (is_throttled(task) ? QUOTA : PREEMPTED)
                       : (state & TASK_STOPPED_OR_TRACED) ? HALTED
                       : wait->syscall < 0                ? FAULTING
                                                          : BLOCKED;
    wait->is_idle = (uint32_t)is_idle(now, time_ns);
    bpf_probe_read_kernel(wait->comm, sizeof wait->comm, task->comm);
    wait->start_ns = time_ns; /* from now on, a wakeup counts */
    note_python(wait, tid);
    if (state != 0) {
        copy_stack(context, now, task, wait);
    }
}

static __noinline void returns(struct ntk_host_bpf_control *now, struct task_struct *task,
                               uint64_t time_ns)
{
    uint32_t tid = (uint32_t)task->pid;
    struct ntk_host_bpf_waiting *wait = bpf_map_lookup_elem(&waiting, &tid);
    struct ntk_host_bpf_full *stack = NULL;
    struct ntk_host_bpf_event event;

    if (!wait || wait->start_ns == 0) {
        return;
    }
    if (time_ns - wait->start_ns >= NTK_HOST_BPF_MIN_NS &&
        (wait->is_idle || now->is_idle || now->last_idle_ns >= wait->start_ns)) {
        int is_long = time_ns - wait->start_ns >= NTK_HOST_BPF_COPY_NS;
        int is_skipped = wait->is_skipped != 0;
        if (wait->has_python && is_long) {
            struct ntk_host_bpf_python *python = bpf_map_lookup_elem(&pythons, &tid);
            if (python) {
                tell_python(python, wait->pid, tid, wait->start_ns);
            }
            is_skipped |= !python;
        }
        if (wait->has_stack && is_long) {
            stack = bpf_map_lookup_elem(&copies, &tid);
            is_skipped |= !stack;
        }
        if (is_long && is_skipped) {
            COUNT(stacks_skipped);
        }
        ntk_host_bpf_event_of_wait(&event, wait, tid, time_ns);
        if (stack) {
            stack->event = event;
            tell_full(stack);
        } else {
            tell(&event);
        }
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
    uint64_t argument[3];
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
        wait->waker = (uint32_t)waker->pid;
        wait->waker_syscall = call_of(waker, argument);
    }
    return 0;
}

/* ---- on the CPU ---- */

/* Whether the current thread, a thread of the process, collects garbage. */
static __always_inline uint32_t collecting_of(const struct ntk_host_bpf_interpreter *interpreter,
                                              struct task_struct *task)
{
    int32_t is_collecting = 0;
    uint32_t holder;

    if (!interpreter || bpf_probe_read_user(&is_collecting, sizeof is_collecting,
                                            (void *)interpreter->collecting) != 0) {
        return NTK_HOST_BPF_COLLECTING_UNKNOWN;
    }
    if (is_collecting == 0) {
        return NTK_HOST_BPF_NOT_COLLECTING;
    }
    holder = python_tid_of(interpreter, python_word(interpreter->holder));
    return holder == 0                    ? NTK_HOST_BPF_COLLECTING_UNKNOWN
           : holder == inner_tid_of(task) ? NTK_HOST_BPF_COLLECTING
                                          : NTK_HOST_BPF_NOT_COLLECTING;
}

/* Returns false if the thread has no readable Python frames. */
static __always_inline bool sample_python(const struct ntk_host_bpf_interpreter *interpreter,
                                          uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    uint32_t zero = 0;
    struct ntk_host_bpf_python *python = bpf_map_lookup_elem(&python_now, &zero);

    if (!interpreter || !python || read_python(interpreter, find_state(interpreter), python) == 0) {
        return false;
    }
    tell_python(python, pid, tid, time_ns);
    return true;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *context)
{
    struct ntk_host_bpf_control *now = control_get();
    uint64_t who = bpf_get_current_pid_tgid();
    uint32_t pid = (uint32_t)(who >> 32);
    const struct ntk_host_bpf_interpreter *interpreter;
    struct ntk_host_bpf_full *full;
    struct task_struct *task;
    uint32_t zero = 0;
    uint64_t time_ns;
    bool has_python;

    if (!now || !is_of_job(now, pid)) {
        return 0;
    }
    time_ns = bpf_ktime_get_ns();
    if (!is_idle(now, time_ns)) {
        return 0;
    }
    interpreter = bpf_map_lookup_elem(&interpreters, &pid);
    has_python = sample_python(interpreter, pid, (uint32_t)who, time_ns);
    full = bpf_map_lookup_elem(&sample_now, &zero);
    if (!full) {
        return 0;
    }
    __builtin_memset(&full->event, 0, sizeof full->event);
    full->event.kind = NTK_HOST_BPF_SAMPLE;
    full->event.start_ns = time_ns;
    full->event.end_ns = time_ns;
    full->event.pid = pid;
    full->event.tid = (uint32_t)who;
    full->event.syscall = -1;
    full->event.waker_syscall = -1;
    task = (struct task_struct *)bpf_get_current_task_btf();
    full->event.collecting = collecting_of(interpreter, task);
    bpf_get_current_comm(full->event.comm, sizeof full->event.comm);
    full->stack.kernel_count =
        frames_of(bpf_get_stack(context, full->stack.kernel, sizeof full->stack.kernel, 0));
    full->stack.user_count = frames_of(
        bpf_get_stack(context, full->stack.user, sizeof full->stack.user, BPF_F_USER_STACK));
    read_registers(task, &full->stack);
    copy_bytes(&full->stack, stack_bytes(has_python));
    tell_full(full);
    return 0;
}

/* ---- threads and processes ---- */

static __always_inline void tell_life(uint32_t kind, struct task_struct *task)
{
    struct ntk_host_bpf_event event = { .kind = kind, .syscall = -1, .waker_syscall = -1 };

    event.start_ns = bpf_ktime_get_ns();
    event.end_ns = event.start_ns;
    event.pid = (uint32_t)task->tgid;
    event.tid = (uint32_t)task->pid;
    bpf_probe_read_kernel(event.comm, sizeof event.comm, task->comm);
    tell(&event);
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

static __always_inline void forget_thread(uint32_t tid)
{
    bpf_map_delete_elem(&waiting, &tid);
    bpf_map_delete_elem(&copies, &tid);
    bpf_map_delete_elem(&pythons, &tid);
    bpf_map_delete_elem(&states, &tid);
}

/* The process executes another program, in which the addresses of its interpreter mean nothing. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
    struct ntk_host_bpf_control *now = control_get();
    uint32_t pid = (uint32_t)task->tgid;

    if (now && is_of_job(now, pid)) {
        forget_thread((uint32_t)old_tid);
        forget_thread(pid);
        bpf_map_delete_elem(&interpreters, &pid);
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
        forget_thread(tid);
        /* a new process may reuse the pid */
        if (task->signal->live.counter == 0) {
            bpf_map_delete_elem(&interpreters, &pid);
            if (bpf_map_delete_elem(&processes, &pid) == 0) {
                __sync_fetch_and_add(&now->process_count[pid % NTK_HOST_BPF_PIDS], -1);
            }
        }
    }
    return 0;
}

char license_name[] SEC("license") = "Dual MIT/GPL";
