/* SPDX-License-Identifier: MIT */
/*
 * idle_job - a job without a runtime: it says itself when its core has work, by the hooks.
 *
 * Each step executes for a while and then leaves the core idle; the job measures both. Also loaded
 * by Python, as a shared library.
 */
#ifndef NTK_TESTS_SHARED_HOSTWORK_JOBS_IDLE_JOB_H
#define NTK_TESTS_SHARED_HOSTWORK_JOBS_IDLE_JOB_H

#include <stdint.h>

#define NTK_EXPORT __attribute__((visibility("default")))

/* Claims a core. 0, or less than 0. */
NTK_EXPORT int idle_job_begin(void);
/* The core has work for 3 ms. */
NTK_EXPORT void idle_job_execute(void);
/* Prints how long the core was idle so far, and how much of that the caller measured. */
NTK_EXPORT void idle_job_report(uint64_t cause_ns);
NTK_EXPORT uint64_t idle_job_now_ns(void);
/* When the last execution ended. */
NTK_EXPORT uint64_t idle_job_ended_ns(void);

#endif
