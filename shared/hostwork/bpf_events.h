/* SPDX-License-Identifier: MIT */
/*
 * bpf_events - the events that the BPF program (hostwork.bpf.c) sends to the sampler
 * (sample_bpf.c).
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, thread ids are those of the first PID namespace. Both
 * sides are compiled together: the layout may change at any time. Uses only fixed-width types of
 * the C library.
 */
#ifndef NTK_SHARED_HOSTWORK_BPF_EVENTS_H
#define NTK_SHARED_HOSTWORK_BPF_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/hostwork/python.h"

#define NTK_HOST_BPF_COMM 16
#define NTK_HOST_BPF_REGISTERS 36 /* number for the architecture with more registers */
#define NTK_HOST_BPF_KERNEL 16    /* maximum kernel frames */
#define NTK_HOST_BPF_USER 48      /* maximum user frames, found by frame pointer */
#define NTK_HOST_BPF_STACK 8192   /* bytes of stack that are copied */
/* The same with Python frames: only functions that the innermost Python function called are new. */
#define NTK_HOST_BPF_STACK_PYTHON 2048
#define NTK_HOST_BPF_CALLS 512      /* system calls with a bit in plain_calls */
#define NTK_HOST_BPF_CORES 16       /* number of in-flight words that are checked */
#define NTK_HOST_BPF_MIN_NS 10000   /* waits shorter than this count as running */
#define NTK_HOST_BPF_COPY_NS 50000  /* waits shorter than this have no stack */
#define NTK_HOST_BPF_RING (8 << 20) /* bytes of events that are not read yet */
#define NTK_HOST_BPF_PIDS 256u      /* counters of the filter of pids; a power of two */
#define NTK_HOST_BPF_STATES 16u     /* number of new Python threads among which one is searched */
/* Maximum number of waits in 100 ms for which Python frames are read: per thread, so that one
 * thread does not prevent it for others, and per CPU. */
#define NTK_HOST_BPF_THREAD_PYTHONS 32u
#define NTK_HOST_BPF_CPU_PYTHONS 128u
/* Maximum number of waits in 100 ms for which the state of a thread without one is searched. */
#define NTK_HOST_BPF_THREAD_SEARCHES 4u

enum ntk_host_bpf_kind {
    NTK_HOST_BPF_SLICE = 1,
    NTK_HOST_BPF_SAMPLE = 2,
    NTK_HOST_BPF_FORK = 3,
    NTK_HOST_BPF_EXIT = 4,
    NTK_HOST_BPF_PYTHON = 5 /* a struct ntk_host_bpf_python: frames of a thread at start_ns */
};

enum ntk_host_bpf_collecting {
    NTK_HOST_BPF_COLLECTING_UNKNOWN,
    NTK_HOST_BPF_NOT_COLLECTING,
    NTK_HOST_BPF_COLLECTING /* the thread holds the interpreter's lock and collects garbage */
};

/* Whether an interpreter knows a thread. A thread may change from one to the other. */
enum ntk_host_bpf_thread {
    NTK_HOST_BPF_THREAD_UNKNOWN,
    NTK_HOST_BPF_THREAD_NATIVE, /* the last search found no state, so it has no Python frames */
    NTK_HOST_BPF_THREAD_PYTHON
};

struct ntk_host_bpf_event {
    uint64_t start_ns, end_ns; /* equal for a sample */
    uint64_t ready_ns;         /* 0 if no thread woke it */
    uint64_t argument[3];
    uint32_t kind; /* enum ntk_host_bpf_kind */
    uint32_t pid, tid;
    uint32_t waker;
    int32_t syscall;       /* -1 if none */
    int32_t waker_syscall; /* -1 if none */
    uint32_t slice_kind;   /* enum ntk_host_slice_kind */
    uint32_t is_ready_quota;
    uint32_t has_stack;  /* it is the first member of a struct ntk_host_bpf_full */
    uint32_t collecting; /* of a sample: enum ntk_host_bpf_collecting */
    uint32_t holder;     /* of a wait for the lock of an interpreter: the thread that held it when
                          * the wait began, in the namespace of the process; 0: unknown */
    uint32_t reserved;
    char comm[NTK_HOST_BPF_COMM];
};
_Static_assert(sizeof(struct ntk_host_bpf_event) == 112, "both sides agree");

struct ntk_host_bpf_stack {
    uint64_t registers[NTK_HOST_BPF_REGISTERS]; /* the architecture's struct pt_regs */
    uint64_t kernel[NTK_HOST_BPF_KERNEL];
    uint64_t user[NTK_HOST_BPF_USER];
    uint32_t kernel_count, user_count;
    uint32_t bytes_count;
    uint32_t reserved;
    uint8_t bytes[NTK_HOST_BPF_STACK]; /* bytes from the stack pointer on */
};

/* Only bytes_count bytes of the stack are sent. */
struct ntk_host_bpf_full {
    struct ntk_host_bpf_event event;
    struct ntk_host_bpf_stack stack;
};

/* A frame of a Python thread. All members are of the same moment, so that a later code object at
 * the same address is not taken for this one. */
struct ntk_host_bpf_frame {
    uint64_t code; /* 0: a frame without a function */
    uint64_t name, file;
    uint64_t line;
};
#define NTK_HOST_BPF_PART_WORDS (NTK_PYTHON_PART_MAX / 8)

/* Frames of a Python thread, innermost first. Only `count` frames are sent. */
struct ntk_host_bpf_python {
    struct ntk_host_bpf_event event;
    uint64_t count;
    struct ntk_host_bpf_frame frames[NTK_PYTHON_FRAMES_MAX];
    uint64_t part[NTK_HOST_BPF_PART_WORDS]; /* working memory of the BPF program; not sent */
};

/* The last time that a thread was off the CPU: an entry of the map `waiting`. */
struct ntk_host_bpf_waiting {
    uint64_t start_ns; /* 0 while the thread is on a CPU */
    uint64_t ready_ns;
    uint64_t argument[3];
    uint32_t pid;
    uint32_t waker;
    int32_t syscall, waker_syscall;
    uint32_t slice_kind;
    uint32_t is_ready_quota;
    uint32_t has_stack;
    uint32_t has_python;
    uint32_t is_skipped; /* its stack or Python frames were not read: too many waits */
    uint32_t reserved;
    uint32_t is_idle; /* a core was idle when the wait began */
    uint32_t holder;
    char comm[NTK_HOST_BPF_COMM];
    /* Not of this wait. */
    uint64_t pythons_tick; /* the interval of the next two numbers */
    uint32_t pythons_read; /* number of waits for which Python frames were read */
    uint32_t searches;     /* number of waits for which a search found no state */
    uint32_t thread;       /* enum ntk_host_bpf_thread */
    uint32_t reserved_of_thread;
};

/* Counters of a CPU for an interval of 100 ms. */
struct ntk_host_bpf_tick {
    uint64_t number, copies, pythons;
};

/* Makes the event of an ended wait, without its stack. Inlined, because the BPF program cannot call
 * it. */
static inline __attribute__((always_inline)) void
ntk_host_bpf_event_of_wait(struct ntk_host_bpf_event *out_event,
                           const struct ntk_host_bpf_waiting *wait, uint32_t tid, uint64_t end_ns)
{
    *out_event = (struct ntk_host_bpf_event){
        .start_ns = wait->start_ns,
        .end_ns = end_ns,
        .ready_ns = wait->ready_ns,
        .argument = { wait->argument[0], wait->argument[1], wait->argument[2] },
        .kind = NTK_HOST_BPF_SLICE,
        .pid = wait->pid,
        .tid = tid,
        .waker = wait->waker,
        .syscall = wait->syscall,
        .waker_syscall = wait->waker_syscall,
        .slice_kind = wait->slice_kind,
        .is_ready_quota = wait->is_ready_quota,
        .holder = wait->holder,
    };
    __builtin_memcpy(out_event->comm, wait->comm, sizeof out_event->comm);
}

/* The only entry of the map `control`, which the sampler has mapped. */
struct ntk_host_bpf_control {
    uint64_t last_idle_ns;                  /* time at which a core was last seen idle */
    uint64_t in_flight[NTK_HOST_BPF_CORES]; /* addresses in the owner's memory; 0: none */
    uint32_t owner;                         /* pid of a process that maps the segment */
    uint32_t is_idle;                       /* a core was idle at the last check */
    uint32_t stacks_per_tick;               /* maximum stack copies per CPU in 100 ms */
    uint32_t reserved;
    /* Bits by number: calls that only wait, so that functions of the kernel would say nothing more.
     * Reading these takes longer than the rest of the stack. */
    uint64_t plain_calls[NTK_HOST_BPF_CALLS / 64];
    /* Number of processes of the job by pid, modulo the size. Small, so that it stays in the caches
     * of CPUs that run other programs. */
    uint32_t process_count[NTK_HOST_BPF_PIDS];
};

/* The Python interpreter of a process: an entry of the map `interpreters`. The addresses are in the
 * memory of the process. */
struct ntk_host_bpf_interpreter {
    struct ntk_python python;
    uint64_t threads;              /* pointer to the state of its newest thread */
    uint64_t collecting;           /* an int, not 0 while it collects garbage */
    uint64_t holder;               /* pointer to the state of the thread that holds its lock */
    uint64_t lock_start, lock_end; /* range of its lock */
};

/* The only entry of the map `counts`. */
struct ntk_host_bpf_counts {
    uint64_t events;
    uint64_t lost;           /* records that did not fit into the ring */
    uint64_t untracked;      /* waits that did not fit into the map */
    uint64_t stacks_skipped; /* stacks not copied because there were too many */
};

#endif
