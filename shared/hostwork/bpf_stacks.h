/* SPDX-License-Identifier: MIT */
/*
 * bpf_stacks - the part of the BPF program (hostwork.bpf.c, the only file that includes this) that
 * reads stacks: native and Python frames of the current thread.
 */
#ifndef NTK_SHARED_HOSTWORK_BPF_STACKS_H
#define NTK_SHARED_HOSTWORK_BPF_STACKS_H

#include "shared/hostwork/bpf_kernel.h"
#include "shared/hostwork/bpf_maps.h"

#ifdef __bpf__

#define NTK_HOST_BPF_READ(out, bytes, address) bpf_probe_read_user(out, bytes, (void *)(address))
#include "shared/hostwork/bpf_python.h"

#define CHUNK 1024

/* Counters of this CPU for the current 100 ms. */
static __always_inline struct ntk_host_bpf_tick *tick_of(uint64_t time_ns)
{
    uint32_t zero = 0;
    struct ntk_host_bpf_tick *tick = bpf_map_lookup_elem(&ticks, &zero);
    uint64_t number = time_ns / TICK_NS;

    if (tick && tick->number != number) {
        *tick = (struct ntk_host_bpf_tick){ .number = number };
    }
    return tick;
}

static __always_inline int may_copy(struct ntk_host_bpf_control *now, uint64_t time_ns)
{
    struct ntk_host_bpf_tick *tick = tick_of(time_ns);

    if (!tick) {
        return 0;
    }
    if (tick->copies >= now->stacks_per_tick) {
        return 0;
    }
    tick->copies++;
    return 1;
}

static __always_inline void copy_bytes(struct ntk_host_bpf_stack *stack, uint32_t most)
{
    uint64_t from = stack->registers[NTK_STACK_POINTER];
    uint32_t done = 0;

#pragma unroll
    for (int i = 0; i < NTK_HOST_BPF_STACK / CHUNK; i++) {
        if (done == (uint32_t)i * CHUNK && done < most &&
            bpf_probe_read_user(stack->bytes + i * CHUNK, CHUNK, (void *)(from + i * CHUNK)) == 0) {
            done = ((uint32_t)i + 1) * CHUNK;
        }
    }
    stack->bytes_count = done;
}

static __always_inline uint32_t stack_bytes(uint32_t has_python)
{
    return has_python ? NTK_HOST_BPF_STACK_PYTHON : NTK_HOST_BPF_STACK;
}

static __always_inline bool is_plain(const struct ntk_host_bpf_control *now, int32_t syscall)
{
    uint32_t call = (uint32_t)syscall;

    return call < NTK_HOST_BPF_CALLS && (now->plain_calls[call / 64] >> call % 64 & 1) != 0;
}

static __always_inline uint32_t frames_of(long bytes)
{
    return bytes > 0 ? (uint32_t)bytes / 8 : 0;
}

/* The entry of a thread, created if missing; NULL without room. */
static __always_inline void *entry_of(void *map, void *template, uint32_t tid)
{
    uint32_t zero = 0;
    void *entry = bpf_map_lookup_elem(map, &tid);

    if (!entry) {
        const void *empty = bpf_map_lookup_elem(template, &zero);
        if (empty) {
            bpf_map_update_elem(map, &tid, empty, BPF_NOEXIST);
        }
        entry = bpf_map_lookup_elem(map, &tid);
    }
    return entry;
}

/* ---- Python ---- */

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

/* The state of the current thread, a thread of the process of this interpreter; 0 if it has none.
 * Not inlined, because it is long. */
static __noinline uint64_t find_state(const struct ntk_host_bpf_interpreter *interpreter)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    uint32_t inner_tid = inner_tid_of(task);
    uint32_t tid = (uint32_t)task->pid;
    uint64_t *known;
    uint64_t state;

    if (!interpreter || inner_tid == 0) {
        return 0;
    }
    known = bpf_map_lookup_elem(&states, &tid);
    if (known && python_tid_of(interpreter, *known) == inner_tid) {
        return *known;
    }
    state = python_state_of(interpreter, inner_tid);
    if (state != 0) {
        bpf_map_update_elem(&states, &tid, &state, BPF_ANY);
    }
    return state;
}

/* Reads the frames of the thread with that state. Returns their number. */
static __noinline uint64_t read_python(const struct ntk_host_bpf_interpreter *interpreter,
                                       uint64_t state, struct ntk_host_bpf_python *out)
{
    if (!interpreter || !out) {
        return 0;
    }
    out->count = python_frames(interpreter, state, out);
    return out->count;
}

/* At the begin of a wait: the frames of the thread, and which thread holds the lock that it waits
 * for. */
static __always_inline void note_python(struct ntk_host_bpf_waiting *wait, uint32_t tid)
{
    const struct ntk_host_bpf_interpreter *interpreter =
        bpf_map_lookup_elem(&interpreters, &wait->pid);
    struct ntk_host_bpf_tick *tick = tick_of(wait->start_ns);
    struct ntk_host_bpf_python *python;
    uint64_t state;

    if (!interpreter || !tick) {
        return;
    }
    if (wait->syscall >= 0 && wait->argument[0] >= interpreter->lock_start &&
        wait->argument[0] < interpreter->lock_end) {
        wait->holder = python_tid_of(interpreter, python_word(interpreter->holder));
    }
    if (!python_is_due(wait, tick)) {
        return;
    }
    state = find_state(interpreter);
    if (!python_is_read(wait, tick, state != 0)) {
        return;
    }
    python = entry_of(&pythons, &blank_python, tid);
    wait->has_python = python && read_python(interpreter, state, python) > 0;
    wait->is_skipped = !python;
}

#endif
#endif
