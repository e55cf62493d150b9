/* SPDX-License-Identifier: MIT */
/*
 * sampler - records what a job's threads do, with one of two methods.
 *
 * bpf: a BPF program reports each time that a thread spends off the CPU, with its stack, and
 * samples running threads. It requires root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE, and a
 * kernel with BTF. proc: reads thread states in /proc 20 times per second: coarse, and without
 * functions.
 *
 * _open(), then _poll() repeatedly until the observation ends, then _finish(). records.start_ns may
 * be moved to a later moment after _open().
 *
 * Owner:   _open() allocates, _close() frees; the caller owns the records.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_HOSTWORK_SAMPLER_H
#define NTK_SHARED_HOSTWORK_SAMPLER_H

#include "shared/base/err.h"
#include "shared/hostwork/hostwork.h"
#include "shared/hostwork/python_join.h"
#include "shared/hostwork/raw.h"

#define NTK_HOST_RATE_DEFAULT 99u

struct ntk_host_sampler_options {
    uint32_t pid;               /* the process to observe, with its descendants */
    uint32_t rate;              /* samples per second and CPU */
    uint32_t stacks_per_second; /* limit on stack copies */
    /* Addresses of the cores' in-flight words in the process; 0: unknown. */
    const uint64_t *in_flight;
    size_t in_flight_count;
    struct ntk_host_pythons *pythons; /* gets the Python frames that the sampler reads */
};

struct ntk_host_sampler;
struct ntk_host_sampler_kind {
    uint32_t poll_ms;     /* interval between calls of _poll() */
    uint32_t poll_ms_max; /* the same, while few records arrive */
    int (*open)(const struct ntk_host_sampler_options *options, struct ntk_host_records *records,
                struct ntk_host_raw *raw, struct ntk_host_sampler **out_sampler,
                struct ntk_err *err);
    /* is_idle: whether a core of the job is idle now. Returns the used percentage of the room for
     * records; 100 if the method needs is_idle every poll_ms. */
    unsigned (*poll)(struct ntk_host_sampler *sampler, bool is_idle);
    /* Reads Python frames and the lock of the interpreter of a process, and whether it collects
     * garbage; NULL if not supported. */
    void (*interpreter)(struct ntk_host_sampler *sampler, uint32_t pid,
                        const struct ntk_host_bpf_interpreter *interpreter);
    /* The address of a Python thread's state, which only saves time; NULL with `interpreter`. */
    void (*python_state)(struct ntk_host_sampler *sampler, uint32_t tid, uint64_t state);
    /* Ends the last thread states at now_ns. */
    void (*finish)(struct ntk_host_sampler *sampler, uint64_t now_ns);
    void (*close)(struct ntk_host_sampler *sampler);
};
extern const struct ntk_host_sampler_kind ntk_host_sampler_bpf;
extern const struct ntk_host_sampler_kind ntk_host_sampler_proc;

/* Returns true if the thread that ran at a wakeup may be its cause, judged from the system calls of
 * both threads: an interrupt runs on top of any thread. */
bool ntk_host_is_waker(int32_t waiting_in, int32_t waker_in);

#endif
