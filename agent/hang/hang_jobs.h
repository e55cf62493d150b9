/* SPDX-License-Identifier: MIT */
/*
 * hang_jobs - finds the batch job of each communicator, by the cores of its ranks.
 *
 * A scheduler may remove a job when its ranks die, before the verdict on them. The job's id is
 * therefore remembered as long as its communicator has a verdict.
 *
 * Owner: init/fini. Threads: one.
 */
#ifndef NTK_AGENT_HANG_HANG_JOBS_H
#define NTK_AGENT_HANG_HANG_JOBS_H

#include <stdint.h>

#include "shared/base/vec.h"
#include "shared/metrics/ranks.h"
#include "shared/metrics/snapshot.h"

struct ntk_hang_jobs {
    struct ntk_vec known; /* elements are struct known_job */
};

void ntk_hang_jobs_init(struct ntk_hang_jobs *jobs);
void ntk_hang_jobs_fini(struct ntk_hang_jobs *jobs);
/* Finds the jobs of this period and forgets jobs of communicators without a verdict. A job stays
 * unknown if out of memory. */
void ntk_hang_jobs_look(struct ntk_hang_jobs *jobs, const struct ntk_ranks *ranks,
                        const struct ntk_snapshot *snapshot);
/* Returns "" if no batch job is known. Borrowed until the next period. */
const char *ntk_hang_jobs_get(const struct ntk_hang_jobs *jobs, uint64_t key);

#endif
