/* SPDX-License-Identifier: MIT */
/*
 * monitor_schedule - creates reports from snapshots of the collector: the due groups, their
 * applications and their time.
 *
 * Each period of the configuration covers all snapshots since it was last due, so a group with a
 * separate period gets exact counts, independent of reports in between. A report is itself a
 * snapshot: the due groups with their periods, and the applications that pass a filter.
 *
 * Pages are separate from reports: a page is a report of every group that the configuration has,
 * over the time since the last page, independent of the groups' periods.
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

/* Minimum time that a report or page covers. Counters are read a few milliseconds off the ends of a
 * period, so the rates of a shorter period are wrong: one execution in one millisecond is a
 * thousand per second, and a core is busy for 0 or 100 %. */
#define NTK_MONITOR_SHORTEST_NS (250 * NTK_NS_PER_MS)
/* Maximum time between two pages: gauges in a page are means over this time. */
#define NTK_MONITOR_PAGE_NS (5 * NTK_NS_PER_SECOND)

/* poll_ns: maximum interval of snapshots for other outputs, 0 if there are only reports.
 * page_ns_max: maximum time between two pages, usually NTK_MONITOR_PAGE_NS; 0: no pages. now_ns:
 * time when the collector started. The first report is due NTK_MONITOR_SHORTEST_NS later, or with
 * skip_first a period later; no snapshot is needed before. NULL if out of memory. */
struct ntk_monitor_schedule *ntk_monitor_schedule_create(const struct ntk_monitor_config *config,
                                                         uint64_t poll_ns, uint64_t page_ns_max,
                                                         uint64_t now_ns, bool skip_first);
void ntk_monitor_schedule_destroy(struct ntk_monitor_schedule *schedule);

/* Changes the configuration, which is borrowed like the first. Data that the old configuration
 * covered since its last report is dropped, so put() everything with `all` before. The sequence
 * continues. */
void ntk_monitor_schedule_configure(struct ntk_monitor_schedule *schedule,
                                    const struct ntk_monitor_config *config, uint64_t now_ns);

/* Returns the time when the next snapshot is due (CLOCK_MONOTONIC). */
uint64_t ntk_monitor_schedule_next_ns(const struct ntk_monitor_schedule *schedule);

enum ntk_monitor_urgency {
    NTK_MONITOR_ON_TIME,
    NTK_MONITOR_SOON, /* all groups are due as soon as they cover NTK_MONITOR_SHORTEST_NS */
    NTK_MONITOR_NOW,  /* all groups not yet reported are due now */
};
/* Adds the snapshot to all windows. Returns 1 if a report is due, 0 if not, -ENOMEM. A late wakeup
 * shifts nothing: periods stay on their grid, and missed points are skipped. A point is also
 * skipped if its period would be shorter than NTK_MONITOR_SHORTEST_NS. */
int ntk_monitor_schedule_put(struct ntk_monitor_schedule *schedule,
                             const struct ntk_snapshot *snapshot, uint64_t now_ns,
                             enum ntk_monitor_urgency urgency);
/* Returns the report that put() announced; borrowed until the next put. */
const struct ntk_snapshot *
ntk_monitor_schedule_report_get(const struct ntk_monitor_schedule *schedule);

/* Returns the page if it is due or, with is_wanted, covers at least NTK_MONITOR_SHORTEST_NS; then
 * the next page starts. NULL: neither, no pages, or out of memory. Borrowed until the next call. */
const struct ntk_snapshot *ntk_monitor_schedule_page_take(struct ntk_monitor_schedule *schedule,
                                                          uint64_t now_ns, bool is_wanted);

#ifdef __cplusplus
}
#endif
#endif
