/* SPDX-License-Identifier: MIT */
/*
 * python_join - the interpreters of a job: found by their libraries, sampled while a core is idle,
 * and their frames joined with the native stacks of the records.
 *
 * A sample of an interpreter is used for the wait around it, and for a CPU sample close to it in
 * time.
 *
 * Owner: caller's storage, zeroed; _fini() frees. Threads: one.
 */
#ifndef NTK_SHARED_HOSTWORK_PYTHON_JOIN_H
#define NTK_SHARED_HOSTWORK_PYTHON_JOIN_H

#include "shared/hostwork/hostwork.h"
#include "shared/hostwork/bpf_events.h"
#include "shared/hostwork/modules.h"
#include "shared/hostwork/python.h"

struct ntk_host_python_sample {
    uint64_t time_ns;
    uint32_t tid;
    uint32_t stack;
    bool is_collecting; /* the garbage collector runs, and this thread holds the lock */
};

struct ntk_host_pythons {
    struct ntk_vec pythons; /* elements are struct python of python_join.c */
    struct ntk_vec samples; /* elements are struct ntk_host_python_sample */
    /* elements of the same type for threads that hold the lock; stack is the pid */
    struct ntk_vec holders;
    const struct ntk_map *outer_tids; /* in a container: tids by ntk_host_process_inner_key() */
    struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    uint32_t stacks[NTK_PYTHON_FRAMES_MAX]; /* of the frames */
    struct ntk_python_scratch scratch;
};

/* Returns true if a file with this base name may contain an interpreter. */
bool ntk_host_pythons_is_file(const char *name);
/* Adds the interpreter of a process that may be traced, if its version is supported. Checks each
 * module once. */
void ntk_host_pythons_find(struct ntk_host_pythons *pythons, struct ntk_host_modules *modules);
/* Returns true, once, if the process has an interpreter that stores the tids of its threads. */
bool ntk_host_pythons_interpreter(struct ntk_host_pythons *pythons, uint32_t pid,
                                  struct ntk_host_bpf_interpreter *out);
/* Samples all threads of all interpreters. */
void ntk_host_pythons_sample(struct ntk_host_pythons *pythons, struct ntk_host_records *records);
/* Adds the Python frames to the stacks of the records. */
void ntk_host_pythons_join(struct ntk_host_pythons *pythons, struct ntk_host_records *records);
void ntk_host_pythons_fini(struct ntk_host_pythons *pythons);

#endif
