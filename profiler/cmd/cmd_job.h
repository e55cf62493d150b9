/* SPDX-License-Identifier: MIT */
/*
 * cmd_job - the running processes that --pid and --job choose.
 *
 * Threads: one.
 */
#ifndef NTK_PROFILER_CMD_CMD_JOB_H
#define NTK_PROFILER_CMD_CMD_JOB_H

#include "shared/base/err.h"
#include "shared/ring/ring_registry.h"

/* job: a tag, or the address where ranks meet; NULL: the process with this pid. */
bool ntk_profile_job_has(const char *job, uint64_t pid, struct ntk_ring_segment *segment,
                         const struct ntk_ring_process *process);
/* No process was chosen: -ENOENT with a message. */
int ntk_profile_job_err_not_found(const char *job, uint64_t pid, const struct ntk_ring_poll *poll,
                                  struct ntk_err *err);

#endif
