/* SPDX-License-Identifier: MIT */
/*
 * cmd_job - selects running processes by --pid and --job.
 *
 * Threads: one.
 */
#ifndef NTK_PROFILER_CMD_CMD_JOB_H
#define NTK_PROFILER_CMD_CMD_JOB_H

#include "shared/base/err.h"
#include "shared/ring/ring_registry.h"

/* Returns true if the process is selected. job: a tag, or the address where ranks meet; NULL
 * selects the process with this pid. */
bool ntk_profile_job_has(const char *job, uint64_t pid, struct ntk_ring_segment *segment,
                         const struct ntk_ring_process *process);
/* Fills err if no process was selected; returns -ENOENT. */
int ntk_profile_job_err_not_found(const char *job, uint64_t pid, const struct ntk_ring_poll *poll,
                                  struct ntk_err *err);

#endif
