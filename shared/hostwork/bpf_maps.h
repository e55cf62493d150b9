/* SPDX-License-Identifier: MIT */
/*
 * bpf_maps - the maps of the BPF program (hostwork.bpf.c), the only file that includes this.
 */
#ifndef NTK_SHARED_HOSTWORK_BPF_MAPS_H
#define NTK_SHARED_HOSTWORK_BPF_MAPS_H

#include "shared/hostwork/bpf_events.h"

#ifdef __bpf__ /* with the helpers of libbpf, which hostwork.bpf.c includes */

#define TICK_NS 100000000ull

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, NTK_HOST_BPF_RING);
} ring SEC(".maps");

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
/* The states of Python threads, which are verified at each use. */
MAP(states, HASH, 16384, BPF_F_NO_PREALLOC, uint64_t);
MAP(waiting, HASH, 16384, BPF_F_NO_PREALLOC, struct ntk_host_bpf_waiting);
/* Stacks of the threads that left a CPU last; the loader sets their maximum number. */
MAP(copies, LRU_HASH, 512, 0, struct ntk_host_bpf_full);
MAP(pythons, LRU_HASH, 512, 0, struct ntk_host_bpf_python);
MAP(control, ARRAY, 1, BPF_F_MMAPABLE, struct ntk_host_bpf_control);
MAP(counts, ARRAY, 1, 0, struct ntk_host_bpf_counts);
MAP(ticks, PERCPU_ARRAY, 1, 0, struct ntk_host_bpf_tick);
/* Templates for new entries of `copies` and `pythons`, which are too large for a BPF program's
 * stack. */
MAP(blank, ARRAY, 1, 0, struct ntk_host_bpf_full);
MAP(blank_python, ARRAY, 1, 0, struct ntk_host_bpf_python);
/* Working memory for samples. */
MAP(sample_now, PERCPU_ARRAY, 1, 0, struct ntk_host_bpf_full);
MAP(python_now, PERCPU_ARRAY, 1, 0, struct ntk_host_bpf_python);

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

#endif
#endif
