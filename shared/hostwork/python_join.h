/* SPDX-License-Identifier: MIT */
/*
 * python_join - the interpreters of a job: found by their libraries, sampled while a core is idle,
 * and their frames joined with the native stacks of the records.
 *
 * The BPF program reads the frames of its samples and waits itself. Frames that are read here, from
 * outside, are of another moment: they are used for the wait around it, and without BPF for a
 * sample of a running thread close to it in time.
 *
 * Owner: caller's storage, zeroed; _fini() frees. Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_PYTHON_JOIN_H
#define NTK_SHARED_HOSTWORK_PYTHON_JOIN_H

#include "shared/hostwork/bpf_events.h"
#include "shared/hostwork/hostwork.h"
#include "shared/hostwork/modules.h"
#include "shared/hostwork/python.h"

struct ntk_host_python_sample {
    uint64_t time_ns;
    uint32_t tid;
    uint32_t stack;
    bool is_collecting; /* the garbage collector runs, and this thread holds the lock */
};

/* The interpreter of a process. */
struct ntk_host_python {
    uint32_t pid;
    uint64_t image; /* ntk_host_process_image() when it was found */
    struct ntk_python python;
    uint64_t gil_start, gil_end;
    bool is_taken; /* by ntk_host_pythons_interpreter() */
    bool is_gone;  /* the process executes another program now */
    size_t thread_count;
    struct ntk_python_thread *threads; /* NTK_PYTHON_THREADS_MAX */
    struct ntk_map codes;              /* by address; struct code of python_sample.c */
    struct ntk_map traces;             /* by tid; struct trace of python_sample.c */
    char module[NTK_HOST_MODULE_NAME_BYTES];
};

struct ntk_host_pythons {
    struct ntk_vec pythons; /* elements are struct ntk_host_python */
    struct ntk_vec samples; /* elements are struct ntk_host_python_sample */
    /* elements of the same type for threads that hold the lock; stack is the pid */
    struct ntk_vec holders;
    const struct ntk_map *outer_tids; /* in a container: tids by ntk_host_process_inner_key() */
    /* Called for each thread that is new or has a new state; may be NULL. */
    void (*note_state)(void *ctx, uint32_t tid, uint64_t state);
    void *ctx;
    struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    uint32_t stacks[NTK_PYTHON_FRAMES_MAX]; /* of the frames */
    struct ntk_python_scratch scratch;
};

/* The last interpreter that was found in the process; NULL if there is none. */
struct ntk_host_python *ntk_host_pythons_of(const struct ntk_host_pythons *pythons, uint32_t pid);
/* Returns true if a file with this base name may contain an interpreter, or the C library. */
bool ntk_host_pythons_is_file(const char *name);
/* Adds the interpreter of a process that may be traced, if its version is supported. Checks each
 * module once per program that the process executes. */
void ntk_host_pythons_find(struct ntk_host_pythons *pythons, struct ntk_host_modules *modules);
/* The position of the tid in the thread descriptors of the C library, which it publishes for
 * debuggers; 0 if it does not. */
uint32_t ntk_host_pythons_tid_at(const struct ntk_host_modules *modules,
                                 const struct ntk_host_memory *memory);
/* The interpreter of the process, once, for the BPF program; false if there is none, or if its
 * threads cannot be identified. */
bool ntk_host_pythons_interpreter(struct ntk_host_pythons *pythons, uint32_t pid,
                                  struct ntk_host_bpf_interpreter *out);
/* The thread that held the lock for which the thread of the event waits; 0 if unknown. The lock
 * names its last holder: after a forced switch that is the waiting thread. */
uint32_t ntk_host_pythons_holder(const struct ntk_host_pythons *pythons,
                                 const struct ntk_host_bpf_event *event,
                                 const struct ntk_host_records *records);
/* Samples all threads of all interpreters. */
void ntk_host_pythons_sample(struct ntk_host_pythons *pythons, struct ntk_host_records *records);
/* Adds frames that the BPF program has read. */
void ntk_host_pythons_take(struct ntk_host_pythons *pythons,
                           const struct ntk_host_bpf_python *event,
                           struct ntk_host_records *records);
/* Adds the Python frames to the stacks of the records. */
void ntk_host_pythons_join(struct ntk_host_pythons *pythons, struct ntk_host_records *records);
void ntk_host_pythons_fini(struct ntk_host_pythons *pythons);

#endif
