/* SPDX-License-Identifier: MIT */
/*
 * monitor_schedule - from snapshots of the collector to reports: what is due, for whom, over which
 * time.
 *
 * Each period of the configuration covers all snapshots since it was last due, so a group with a
 * period of its own gets exact counts whatever else is reported in between. A report is itself a
 * snapshot: the groups that are due with their periods, the applications that a filter lets
 * through.
 *
 * Owner:   ntk_monitor_schedule_create() / _destroy(); config is borrowed for that time.
 * Threads: one.
 */
#ifndef NTK_AGENT_REPORT_MONITOR_SCHEDULE_H
#define NTK_AGENT_REPORT_MONITOR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/report/monitor_config.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_monitor_schedule;

/* The first period of others, when the first report need not wait longer. Counters are read some
 * milliseconds off the ends of a period, and one execution in one millisecond is a thousand a
 * second: the rates of a shorter period would be wrong. */
#define NTK_MONITOR_FIRST_NS (250 * NTK_NS_PER_MS)

/* poll_ns: take a snapshot at least this often for others, 0 when only reports count. now_ns: when
 * the collector began. The first report is due at now_ns, with others NTK_MONITOR_FIRST_NS later,
 * with skip_first a period later. No snapshot is wanted before. NULL without memory. */
struct ntk_monitor_schedule *ntk_monitor_schedule_create(const struct ntk_monitor_config *config,
                                                         uint64_t poll_ns, uint64_t now_ns,
                                                         bool skip_first);
void ntk_monitor_schedule_destroy(struct ntk_monitor_schedule *schedule);

/* Another configuration from now on, borrowed like the first; what the old one covered since its
 * last report is forgotten, so put() everything with `all` before. The sequence goes on. */
void ntk_monitor_schedule_configure(struct ntk_monitor_schedule *schedule,
                                    const struct ntk_monitor_config *config, uint64_t now_ns);

/* When the next snapshot is wanted (CLOCK_MONOTONIC). */
uint64_t ntk_monitor_schedule_next_ns(const struct ntk_monitor_schedule *schedule);

/* Takes a share of the snapshot. 1 when a report is due (or all is true: everything that was not
 * reported yet is due now), 0 when not, -ENOMEM. A wakeup that comes late moves nothing: periods
 * stay on their grid, and missed points are left out. */
int ntk_monitor_schedule_put(struct ntk_monitor_schedule *schedule,
                             const struct ntk_snapshot *snapshot, uint64_t now_ns, bool all);
/* The report that put() announced; borrowed until the next put. */
const struct ntk_snapshot *
ntk_monitor_schedule_report_get(const struct ntk_monitor_schedule *schedule);

#ifdef __cplusplus
}
#endif
#endif
