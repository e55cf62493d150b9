/* SPDX-License-Identifier: MIT */
/*
 * hang_jobs - the batch job of each communicator, by the cores of its ranks.
 *
 * A scheduler may remove a job at the moment its ranks die, and the verdict on them comes after
 * that. The id of a job is therefore remembered as long as there is a verdict on its communicator.
 *
 * Owner:   init/fini. Threads: one.
 */
#ifndef NTK_AGENT_HANG_HANG_JOBS_H
#define NTK_AGENT_HANG_HANG_JOBS_H

#include <stdint.h>

#include "shared/base/vec.h"
#include "shared/metrics/ranks.h"
#include "shared/metrics/snapshot.h"

struct ntk_hang_jobs {
    struct ntk_vec known; /* struct known_job */
};

void ntk_hang_jobs_init(struct ntk_hang_jobs *jobs);
void ntk_hang_jobs_fini(struct ntk_hang_jobs *jobs);
/* Finds the jobs of this period, and forgets those of communicators without a verdict. Without
 * memory a job stays unknown. */
void ntk_hang_jobs_look(struct ntk_hang_jobs *jobs, const struct ntk_ranks *ranks,
                        const struct ntk_snapshot *snapshot);
/* "" when no batch job is known. Borrowed until the next look. */
const char *ntk_hang_jobs_get(const struct ntk_hang_jobs *jobs, uint64_t key);

#endif
