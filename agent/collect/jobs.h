/* SPDX-License-Identifier: MIT */
/*
 * jobs - which batch job holds which device and core: a folder that the scheduler's prolog and
 * epilog fill (job_file.h has the convention).
 *
 * The folder is examined for each snapshot: its list and what each file is (inode, size, times);
 * only files that changed are read. A file that was written a moment ago and whose last line has no
 * end may be half-written: what it said before holds until it is complete or a second old. A
 * missing folder is not an error, for no job may have run yet; a file that is refused is logged
 * once, with its name and line, and holds nothing.
 *
 * A folder on a mount that hangs blocks no other thread: a separate thread reads it. While it does
 * not come back, the jobs of before stay, with an error that says so.
 *
 * A job holds a core or device since the time of the file that first named it.
 *
 * Owner:   ntk_jobs_create() / _destroy(). While the folder hangs, its thread outlives _destroy().
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

#define NTK_JOBS_FILES_MAX 1024                     /* more are skipped, with a message */
#define NTK_JOBS_NAMES_MAX 16384                    /* names that are checked */
#define NTK_JOBS_WAIT_NS (1 * NTK_NS_PER_SECOND)    /* once per period in which the folder hangs */
#define NTK_JOBS_SETTLED_NS (1 * NTK_NS_PER_SECOND) /* so old a last line without an end is whole */

struct ntk_jobs_folder;

/* The path is copied; the clock is borrowed, NULL: the system's. */
int ntk_jobs_create(const char *path, const struct ntk_clock *clock,
                    struct ntk_jobs_folder **out_folder, struct ntk_err *err);
void ntk_jobs_destroy(struct ntk_jobs_folder *folder);

/* Puts what the folder says now into snapshot->jobs; ctx is the folder. */
void ntk_jobs_get(struct ntk_snapshot *snapshot, void *ctx);
/* How long it waits for the folder, for tests. */
void ntk_jobs_set_wait(struct ntk_jobs_folder *folder, uint64_t wait_ns);
/* How many files were read so far (for tests). */
uint64_t ntk_jobs_reads(const struct ntk_jobs_folder *folder);

#ifdef __cplusplus
}
#endif
#endif
