/* SPDX-License-Identifier: MIT */
/*
 * health - turns readings of a device over time into its verdict; no other code judges health.
 *
 * Pure: it opens no file and reads no clock. shared/metrics/health.def describes which signal
 * raises which reason. A reason comes and goes by these rules:
 *
 * - It comes with the first sign. Counters of a driver do not change without a cause, so one sign
 *   is enough.
 * - LEVEL goes when every reading of the leaf was good for NTK_HEALTH_HOLD_NS; one that comes and
 *   goes stays.
 * - LATCH and WORK clear with a reset of the device, or when the counter was cleared. WORK also
 *   goes when the core completes executions NTK_HEALTH_HOLD_NS after the last sign or later, and,
 *   when a process was the sign, when no process has had the core for as long.
 * - If the tree is new (the driver was loaded again) or the heartbeat decreased, everything starts
 *   afresh at once.
 * - A leaf that cannot be read is neither good nor bad. One that could be read before and cannot
 *   for NTK_HEALTH_LOST_NS makes the device unknown, unless it is unhealthy, until all of them
 *   could be read for NTK_HEALTH_HOLD_NS without a break.
 * - A heartbeat has stopped after NTK_HEALTH_STILL_NS, or after five times the longest time between
 *   two beats if that is longer, but after NTK_HEALTH_NEVER_NS at most, which also applies before
 *   the second beat. It has resumed after beats for NTK_HEALTH_HOLD_NS, which also adapt the limit
 *   to a slower rate.
 * - A tree that is away for less than NTK_HEALTH_LOST_NS changes nothing, nor does one that shows a
 *   device before its indicators.
 * - A leaf that a machine does not have does not make the device unknown: the verdict uses the
 *   other leaves, and lists them.
 *
 * Status counters are never reset, so their value at first sight is not a sign; ECC error counters
 * and components describe the present.
 *
 * Owner:   ntk_health_create() allocates, _destroy() frees.
 * Threads: one at a time.
 */
#ifndef NTK_SHARED_COLLECT_HEALTH_H
#define NTK_SHARED_COLLECT_HEALTH_H

#include "shared/base/clock.h"
#include "shared/collect/findings.h"
#include "shared/device/device.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_HEALTH_HOLD_NS (30 * NTK_NS_PER_SECOND)
#define NTK_HEALTH_LOST_NS (3 * NTK_NS_PER_SECOND)
#define NTK_HEALTH_STILL_NS (30 * NTK_NS_PER_SECOND)
#define NTK_HEALTH_NEVER_NS (300 * NTK_NS_PER_SECOND)

struct ntk_health;

/* The same time on two clocks: durations use the first, displayed times the second. */
struct ntk_health_time {
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

struct ntk_health *ntk_health_create(void); /* NULL if out of memory */
void ntk_health_destroy(struct ntk_health *health);

/* Sets the current devices; called repeatedly. is_new: the tree is not the previous one. After
 * NTK_HEALTH_LOST_NS, missing devices of a driver become unknown; those of a removed software
 * machine are forgotten. */
void ntk_health_tree(struct ntk_health *health, const struct ntk_device_tree *tree, bool is_new,
                     struct ntk_health_time now);

/*
 * A reading of one device; read: the requested parts (enum ntk_device_read). counts_from_zero: the
 * tree is younger than the collector, so status counters count from 0. beats: the device has a
 * heartbeat; on a software machine it has one while a process uses it.
 */
void ntk_health_reading(struct ntk_health *health, const struct ntk_device_reading *reading,
                        unsigned int read, bool counts_from_zero, bool beats,
                        struct ntk_health_time now);

/* Sets all findings of diagnoses that still hold; a core that is no longer listed is healthy. */
void ntk_health_findings(struct ntk_health *health, const struct ntk_finding *findings,
                         size_t count, struct ntk_health_time now);

/* Reports that an execution of an observed process ended with this status on a core; its counters
 * have not been read yet. is_new: no other record reported it before. */
void ntk_health_execution(struct ntk_health *health, uint32_t device, uint32_t local_core,
                          uint32_t status, bool is_new, struct ntk_health_time now);

/* The work of observed processes on a core since the last call, including executions that were
 * reported one by one. */
struct ntk_health_work {
    bool is_owned; /* a process owns the core now */
    uint64_t completed;
    uint64_t hardware_errors;
    uint64_t timeouts;
};
void ntk_health_work(struct ntk_health *health, uint32_t device, uint32_t local_core,
                     const struct ntk_health_work *work, struct ntk_health_time now);

/* Continues the verdict that another collector of this boot stored for a device: if the verdict and
 * a reason are the same now, they keep their start time. */
void ntk_health_continue(struct ntk_health *health, uint32_t device,
                         const struct ntk_health_stored *stored);

/* Fills verdict, evidence and reasons of the sample; its index selects the device. The reasons live
 * as long as the snapshot. Sets nothing for a device that was never read. */
void ntk_health_fill(struct ntk_health *health, struct ntk_snapshot *snapshot,
                     struct ntk_device_sample *device);
/* Fills the ascending indices of devices that a driver showed before but does not show now; returns
 * their number. */
size_t ntk_health_gone(const struct ntk_health *health, uint32_t indices[NTK_DEVICES_MAX]);

/* Returns true if a verdict or the reasons of a device changed since the last call; the first
 * verdict is not a change. */
bool ntk_health_take_change(struct ntk_health *health);

#ifdef __cplusplus
}
#endif
#endif
