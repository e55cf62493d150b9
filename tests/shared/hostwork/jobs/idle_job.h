/* SPDX-License-Identifier: MIT */
/*
 * idle_job - a job without a runtime, which reports the work of its core through the hooks.
 *
 * Each step executes for a while and then leaves the core idle; the job measures both. Also loaded
 * by Python, as a shared library.
 */
#ifndef NTK_TESTS_SHARED_HOSTWORK_JOBS_IDLE_JOB_H
#define NTK_TESTS_SHARED_HOSTWORK_JOBS_IDLE_JOB_H

#include <stdint.h>

#define NTK_EXPORT __attribute__((visibility("default")))

/* Claims a core. Returns 0, or less than 0. */
NTK_EXPORT int idle_job_begin(void);
/* Gives the core work for 3 ms. */
NTK_EXPORT void idle_job_execute(void);
/* Prints how long the core has been idle, and how much of that the caller measured. */
NTK_EXPORT void idle_job_report(uint64_t cause_ns);
NTK_EXPORT uint64_t idle_job_now_ns(void);
/* End time of the last execution. */
NTK_EXPORT uint64_t idle_job_ended_ns(void);

#endif
