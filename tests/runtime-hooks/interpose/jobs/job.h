/* SPDX-License-Identifier: MIT */
/*
 * job - a client (client/client.h) run by every means of being seen, and what its segments say next
 * to what it says itself.
 *
 * Each client runs once without us and once by each means: exit code, standard output but for pids,
 * and standard error have to be the same. What the segments of its processes count has to be what
 * they counted themselves.
 *
 * Owner:   job_setup() and job_teardown() as set-up and tear-down of a group of tests; one folder
 *          of hooks for all.
 * Threads: one.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_JOBS_JOB_H
#define NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_JOBS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/ring/ring_registry.h"

enum job_means {
    JOB_CORE = 1,    /* our own core, whose hooks are inside */
    JOB_PRELOAD = 2, /* neuron-monitor run */
    JOB_AUDIT = 4,   /* neuron-monitor run --audit */
    JOB_ALL = 7
};

#define JOB_WORDS 10
#define JOB_VARIABLES 3

struct job {
    const char *name;
    /* Below <build>/tests/interpose, or looked up in PATH; @NAME is a file there, @vendor the
     * runtime of this run. */
    const char *words[JOB_WORDS];
    const char *vendor;                     /* a folder of <build>/lib; NULL: "vendor" */
    bool is_found_otherwise;                /* not by LD_LIBRARY_PATH */
    const char *model;                      /* NULL: adder */
    const char *environment[JOB_VARIABLES]; /* NAME=value */
    unsigned int means;                     /* enum job_means by which it is run; 0: all */
    unsigned int unseen;                    /* those of them that do not see it */
    int exit_code;
    bool is_random; /* how much it does differs from run to run */
};

/* Their names are in a message before a failure. */
void jobs_check(const struct job *jobs, size_t count);
#define JOBS_CHECK(jobs) jobs_check(jobs, sizeof(jobs) / sizeof *(jobs))

/* One that is checked while it runs, and ended by test_stop_program(). */
pid_t job_start(const struct job *job, enum job_means means);

struct job_look {
    enum ntk_segment_state state;
    pid_t own_pid;
    bool is_clean;
    uint64_t in_flight;
    uint64_t completed;
};
/* Its segment now, the one that lives before those that ended; false: there is none. */
bool job_look(pid_t pid, struct job_look *out);
/* enum job_means that are built. */
unsigned int job_means_there_are(void);

int job_setup(void **state);
int job_teardown(void **state);

#endif
