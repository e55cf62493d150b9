/* SPDX-License-Identifier: MIT */
/*
 * store_jobs - stores batch jobs as rows of job and job_core: one row for the time of a job, and
 * one for the time of each of its cores.
 *
 * A job is identified by id and cluster while it exists without a break. A restarted agent
 * continues the open rows of current jobs; the others ended with the last stored period. A job that
 * disappeared (its folder could not be read, or was not watched) and returns is continued.
 *
 * Owner:   caller's storage; ntk_store_jobs_reset() frees its contents.
 * Threads: the writer's. Private to shared/store.
 */
#ifndef NTK_SHARED_STORE_STORE_JOBS_H
#define NTK_SHARED_STORE_STORE_JOBS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"

/* A zeroed struct loads open rows first. */
struct ntk_store_jobs {
    bool is_loaded;
    struct ntk_vec open; /* elements are struct open_job */
};

/* Call this after the written rows were lost. */
void ntk_store_jobs_reset(struct ntk_store_jobs *jobs);
/* Adds the number of rows written to *row_count. */
int ntk_store_jobs_write(struct ntk_store_jobs *jobs, sqlite3 *db,
                         const struct ntk_snapshot *snapshot, uint64_t *row_count,
                         struct ntk_err *err);

#endif
