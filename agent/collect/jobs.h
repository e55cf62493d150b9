/* SPDX-License-Identifier: MIT */
/*
 * jobs - maps devices and cores to batch jobs, from a folder that the scheduler's prolog and epilog
 * fill (format: job_file.h).
 *
 * For each snapshot, the folder is listed and only files with a new inode, size or time are read. A
 * new file without a line feed at its end may be incomplete: its previous content counts until the
 * file is complete or one second old. A missing folder is not an error, because no job may have run
 * yet. An invalid file is ignored and logged once, with its name and line.
 *
 * A separate thread reads the folder, so that a hanging mount blocks no other thread. While it
 * hangs, the previous jobs stay, with an error message.
 *
 * A job holds a core or device since the modification time of the first file with its id.
 *
 * Owner:   ntk_jobs_create() / _destroy(). If the folder hangs, its thread outlives _destroy().
 * Threads: one.
 */
#ifndef NTK_AGENT_COLLECT_JOBS_H
#define NTK_AGENT_COLLECT_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "agent/collect/job_file.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_JOBS_FILES_MAX 1024  /* maximum; further files are skipped with a message */
#define NTK_JOBS_NAMES_MAX 16384 /* maximum number of names to check */
#define NTK_JOBS_WAIT_NS (1 * NTK_NS_PER_SECOND) /* waited once each time the folder hangs */
/* A last line without a line feed is complete at this age */
#define NTK_JOBS_SETTLED_NS (1 * NTK_NS_PER_SECOND)

struct ntk_jobs_folder;

/* The path is copied; the clock is borrowed, NULL for the system clock. */
int ntk_jobs_create(const char *path, const struct ntk_clock *clock,
                    struct ntk_jobs_folder **out_folder, struct ntk_err *err);
void ntk_jobs_destroy(struct ntk_jobs_folder *folder);

/* Copies the current jobs to snapshot->jobs; ctx is the folder. */
void ntk_jobs_get(struct ntk_snapshot *snapshot, void *ctx);
/* Sets the maximum wait for the folder (for tests). */
void ntk_jobs_set_wait(struct ntk_jobs_folder *folder, uint64_t wait_ns);
/* Returns the number of file reads so far (for tests). */
uint64_t ntk_jobs_reads(const struct ntk_jobs_folder *folder);

#ifdef __cplusplus
}
#endif
#endif
