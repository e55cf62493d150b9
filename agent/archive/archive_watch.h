/* SPDX-License-Identifier: MIT */
/*
 * archive_watch - writes the agent's archive: a separate thread writes each completed hour and day;
 * it only reads the database and blocks no other thread.
 *
 * A step is complete when the database has a later sample (minutes and hours: when they are
 * merged). FILE.archive in the folder of the database records the written steps, so that the agent
 * continues there after a restart. Without this note everything is written again, which changes
 * nothing. While the destination is not writable, the steps stay in the database as long as its
 * retention permits. This is logged once and retried with growing pauses; steps that the database
 * deleted are counted. A written step that gets late log rows is written again.
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

/* Interval between checks for completed steps; the first check follows the first sample. */
#define NTK_ARCHIVE_WATCH_NS (30 * NTK_NS_PER_SECOND)
#define NTK_ARCHIVE_WATCH_FIRST_NS (5 * NTK_NS_PER_SECOND)
#define NTK_ARCHIVE_WATCH_STEP_NS (200 * NTK_NS_PER_MS)
/* First pause after a failure; it doubles after each further failure. */
#define NTK_ARCHIVE_WATCH_PAUSE_MIN_NS (1 * NTK_NS_PER_SECOND)
#define NTK_ARCHIVE_WATCH_PAUSE_MAX_NS (600 * NTK_NS_PER_SECOND)

struct ntk_archive_watch;

/* -EINVAL if the options are invalid; an unreachable destination is retried. */
int ntk_archive_watch_create(const char *db_path, const struct ntk_archive_options *options,
                             struct ntk_archive_watch **out_watch, struct ntk_err *err);
/* Abandons the part being written; the next run writes it. Accepts NULL. */
void ntk_archive_watch_destroy(struct ntk_archive_watch *watch);

#ifdef __cplusplus
}
#endif
#endif
