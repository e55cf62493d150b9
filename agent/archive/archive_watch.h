/* SPDX-License-Identifier: MIT */
/*
 * archive_watch - the agent's own archive: each hour and day that has ended is written, by a thread
 * that only reads the database and blocks no other thread.
 *
 * A step has ended when the database has a sample from after it (of minutes and hours: when they
 * are merged). What was written is noted in FILE.archive next to the database, so a restart
 * continues there; without the note everything is written again, which changes nothing. While the
 * place cannot be written the steps wait in the database, as long as it keeps them; that is logged
 * once and retried with growing pauses, and steps that the database dropped are counted. Rows of a
 * log that come for a step that was written have it written again.
 *
 * Owner:   create / destroy; the options are borrowed for that time.
 * Threads: create and destroy from one.
 */
#ifndef NTK_AGENT_ARCHIVE_ARCHIVE_WATCH_H
#define NTK_AGENT_ARCHIVE_ARCHIVE_WATCH_H

#include <stdint.h>

#include "agent/archive/archive.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Between two looks at what has ended; the first comes with the first sample, at last then. */
#define NTK_ARCHIVE_WATCH_NS (30 * NTK_NS_PER_SECOND)
#define NTK_ARCHIVE_WATCH_FIRST_NS (5 * NTK_NS_PER_SECOND)
#define NTK_ARCHIVE_WATCH_STEP_NS (200 * NTK_NS_PER_MS)
/* After failures, doubling. */
#define NTK_ARCHIVE_WATCH_PAUSE_MIN_NS (1 * NTK_NS_PER_SECOND)
#define NTK_ARCHIVE_WATCH_PAUSE_MAX_NS (600 * NTK_NS_PER_SECOND)

struct ntk_archive_watch;

/* -EINVAL when the options are wrong; a place that cannot be reached yet is tried again. */
int ntk_archive_watch_create(const char *db_path, const struct ntk_archive_options *options,
                             struct ntk_archive_watch **out_watch, struct ntk_err *err);
/* What is being written is given up: the next run does it. NULL is fine. */
void ntk_archive_watch_destroy(struct ntk_archive_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
