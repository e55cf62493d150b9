/* SPDX-License-Identifier: MIT */
/*
 * day_jobs - processes that execute on command and count that themselves.
 *
 * A helper process, started before the test has threads, forks them. Each job has one slot at a
 * time and is a separate process.
 *
 * Owner:   day_jobs_start() / _stop().
 * Threads: one.
 */
#ifndef NTK_TESTS_E2E_DAY_JOBS_H
#define NTK_TESTS_E2E_DAY_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAY_JOBS_AT_ONCE 8

struct day_jobs;

struct day_jobs *day_jobs_start(void);
/* Ends all jobs. NULL is fine. */
void day_jobs_stop(struct day_jobs *jobs);
/* A free slot begins the next job: attached and with its model loaded when this returns. tag: NULL
 * for none. */
void day_jobs_begin(struct day_jobs *jobs, size_t slot, const char *tag);
bool day_jobs_runs(const struct day_jobs *jobs, size_t slot);
/* Returns when all are executed. */
void day_jobs_execute(struct day_jobs *jobs, size_t slot, unsigned executions);
/* Returns when the process is gone: after an orderly end, or killed. */
void day_jobs_end(struct day_jobs *jobs, size_t slot, bool is_killed);
/* Counted by the jobs themselves. */
uint64_t day_jobs_executed(const struct day_jobs *jobs);
size_t day_jobs_begun(const struct day_jobs *jobs);

#endif
