/* SPDX-License-Identifier: MIT */
/*
 * job - runs a client (client/client.h) with every means of observing it, and compares the counts
 * of its segments with the client's own.
 *
 * Each client runs once without our library and once with each means: exit code, standard error,
 * and standard output except pids must be the same. The segments of its processes must have the
 * counts that the processes printed themselves.
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
    JOB_CORE = 1,    /* our own core with its built-in hooks */
    JOB_PRELOAD = 2, /* neuron-monitor run */
    JOB_AUDIT = 4,   /* neuron-monitor run --audit */
    JOB_ALL = 7
};

#define JOB_WORDS 10
#define JOB_VARIABLES 3

struct job {
    const char *name;
    /* A path below <build>/tests/interpose, or a name in PATH; @NAME is a file there, @vendor the
     * runtime of this run. */
    const char *words[JOB_WORDS];
    const char *vendor;                     /* a folder of <build>/lib; NULL: "vendor" */
    bool is_found_otherwise;                /* found without LD_LIBRARY_PATH */
    const char *model;                      /* NULL: adder */
    const char *environment[JOB_VARIABLES]; /* NAME=value */
    unsigned int means;                     /* enum job_means that run it; 0: all */
    unsigned int unseen;                    /* those that do not observe it */
    int exit_code;
    bool is_random; /* the amount of its work differs from run to run */
};

/* Failures print the names of the job and the means. */
void jobs_check(const struct job *jobs, size_t count);
#define JOBS_CHECK(jobs) jobs_check(jobs, sizeof(jobs) / sizeof *(jobs))

/* Starts a job that is checked while it runs; end it with test_stop_program(). */
pid_t job_start(const struct job *job, enum job_means means);

struct job_look {
    enum ntk_segment_state state;
    pid_t own_pid;
    bool is_clean;
    uint64_t in_flight;
    uint64_t completed;
};
/* Its current segment, preferring a living one; false if there is none. */
bool job_look(pid_t pid, struct job_look *out);
/* The enum job_means in this build. */
unsigned int job_means_there_are(void);

int job_setup(void **state);
int job_teardown(void **state);

#endif
