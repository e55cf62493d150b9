/* SPDX-License-Identifier: MIT */
/*
 * collect - turns segments, device tree and /proc into one immutable snapshot per period.
 *
 * The agent and neuron-top use it in the same way:
 *
 *   struct ntk_collector_options options = { .reap = true };
 *   ntk_collector_create(&options, &collector, &err);
 *   every 10..100 ms (events would be overwritten, counters would not):
 *       ntk_collector_drain(collector);
 *   every period:
 *       ntk_collector_poll(collector, &snapshot, &err);
 *       ... ntk_snapshot_destroy(snapshot);
 *   ntk_collector_destroy(collector);
 *
 * A period consists of the differences of cumulative counters between two polls.
 * - A process younger than the collector counts from 0, an older one from the moment it is first
 *   seen, or, with options.totals_get, from its stored totals: every count is in some snapshot.
 * - A counter that decreased counts from 0 again.
 * - A core that is working during the poll counts as busy until then.
 * - A process that ended appears in one more snapshot, with its last differences, memory 0 and
 *   `ended`; its last events are drained before its file is removed.
 *
 * Owner:   ntk_collector_create() allocates, _destroy() frees; snapshots belong to the caller and
 *          outlive the collector.
 * Threads: one at a time per collector; snapshots may be used by any thread.
 */
#ifndef NTK_SHARED_COLLECT_COLLECT_H
#define NTK_SHARED_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Default limit on memory log events, loads and errors in one snapshot. */
#define NTK_COLLECT_EVENTS_MAX 16384
/* Failed executions are listed as errors, too: for each process the first few, and then the newest
 * one of each period. A job that fails for days must not displace other stored events. The same
 * applies to each kind of hardware error, by process and device. The rest counts as not listed. */
#define NTK_COLLECT_FAILURES_MAX 16

/* Default time between two checks of the devices' fault indicators. The many counters of cores are
 * read with each poll, and about once per second if polls are rare. */
#define NTK_COLLECT_HEALTH_NS (150 * NTK_NS_PER_MS)

struct ntk_span_rules;
struct ntk_collector_options {
    const struct ntk_clock *clock; /* NULL: the system's */
    /* NULL: "/proc"; may belong to another PID namespace, such as the host's. */
    const char *proc_root;
    const char *sysfs_root;   /* an explicit tree that replaces /sys; NULL: found */
    const char *driver_sysfs; /* NULL: "/sys"; tests use another */
    const char *hooks_dir;    /* NULL: see shared/abi/paths.h */
    /* Drain and remove the files of dead processes; the agent does, neuron-top does not. */
    bool reap;
    bool no_events;     /* do not read the rings at all */
    bool no_latency;    /* do not read histograms, the largest part of a busy machine's data */
    bool no_usage;      /* do not read CPU time and memory of processes in /proc */
    bool no_self;       /* do not read CPU time and memory of this process */
    bool command_lines; /* read the command lines of processes, which may contain secrets */
    /* Rules for individual executions, loads and collectives that go into the snapshots; borrowed
     * during ntk_collector_create(). NULL: none, which costs nothing. */
    const struct ntk_span_rules *span_rules;
    size_t events_max; /* maximum events per snapshot; 0: NTK_COLLECT_EVENTS_MAX */
    /* Minimum time from a poll or a check of fault indicators to the next check by a drain; 0:
     * NTK_COLLECT_HEALTH_NS. If it is longer than the time between two polls, only polls check. */
    uint64_t health_ns;
    /* Minimum time between two reads of the cores' fault indicators on a machine with many cores
     * (64 cores have more than a thousand files); 0: read with each check. If it is set, polls of
     * this machine that are close together also read only half of the devices each. */
    uint64_t many_cores_ns;
    /*
     * Returns the stored totals of a process that is older than the collector and seen for the
     * first time. Its segment began at began_ns (CLOCK_MONOTONIC). Fills *out_count and cores[]:
     * the core, the `total` of every count, and, if known, histograms of everything stored so far,
     * which stay valid until the next call. Returns false if nothing is stored: then all the
     * process's work so far is `unwatched` in its first period. May be NULL. With it, the files of
     * ended processes stay until ntk_collector_keep().
     */
    bool (*totals_get)(const char *boot_id, struct ntk_process_key key, uint64_t began_ns,
                       struct ntk_core_sample *cores, size_t capacity, size_t *out_count,
                       void *ctx);
    /* Returns the stored ECC counters of a device; totals continue from there, and the increase
     * since then is `ecc_unwatched` in the first period. Returns false if nothing is stored. May be
     * NULL. */
    bool (*ecc_get)(const char *boot_id, uint32_t device, struct ntk_ecc_stored *out, void *ctx);
    /* Returns the last verdict stored for a device in this boot: if it is still true, it began
     * then. Returns false if nothing is stored. May be NULL. */
    bool (*health_get)(const char *boot_id, uint32_t device, struct ntk_health_stored *out,
                       void *ctx);
    void *totals_ctx; /* argument of these three functions */
    /* Fills snapshot->instance with the known facts about the instance, at each poll, without
     * waiting. May be NULL. On a software machine the type is the machine's, and the
     * error is empty. */
    void (*instance_get)(struct ntk_snapshot *snapshot, void *ctx);
    void *instance_ctx;
    /* Fills snapshot->k8s and the pods of its runtimes, at each poll, after everything else,
     * without waiting. May be NULL. */
    void (*pods_get)(struct ntk_snapshot *snapshot, void *ctx);
    void *pods_ctx;
    /* Fills snapshot->jobs, at each poll, after the hardware, without waiting. May be NULL. */
    void (*jobs_get)(struct ntk_snapshot *snapshot, void *ctx);
    void *jobs_ctx;
};

struct ntk_collector;

/* Starts the first period. Raises the process's soft limit on descriptors, because many processes
 * have many files. Succeeds without a device tree or hooks folder, which may appear later. */
int ntk_collector_create(const struct ntk_collector_options *options,
                         struct ntk_collector **out_collector, struct ntk_err *err);
void ntk_collector_destroy(struct ntk_collector *collector);

/* Finds new and ended processes and reads the rings. Returns the highest fill level of a ring, in
 * percent of unread records, so that a caller can slow down while it is low; or -errno. */
int ntk_collector_drain(struct ntk_collector *collector);
/* Makes the next drain or poll check all fault indicators of devices, even after a recent check. */
void ntk_collector_hurry(struct ntk_collector *collector);

/* Ends the period and returns its snapshot; the next period starts. */
int ntk_collector_poll(struct ntk_collector *collector, struct ntk_snapshot **out_snapshot,
                       struct ntk_err *err);

/*
 * Returns true if a device's health changed since the last call: its verdict, or the reasons. Each
 * drain checks the device tree if health_ns have passed since the last check, so a caller that
 * drains often enough sees a fault long before the period ends.
 */
bool ntk_collector_health_changed(struct ntk_collector *collector);

/* Undoes no_events: reads the rings from now on, beginning with the records that they still
 * have. */
void ntk_collector_read_events(struct ntk_collector *collector);

/* Undoes no_latency: reads histograms of processes, and of models, from now on. Without model
 * histograms, samples have no latency on the core. If they were not read before, their first period
 * begins now. */
void ntk_collector_read_latency(struct ntk_collector *collector, bool of_models);

/* Undoes no_usage: reads CPU time and memory of processes from now on. If they were not read
 * before, CPU time begins with the second sample, because the first covers only part of its
 * period. */
void ntk_collector_read_usage(struct ntk_collector *collector);

/* For callers that store totals (totals_get): tells the collector that all snapshots up to this
 * sequence are stored. The files of processes that ended in them may be removed. If the collector
 * is killed before, its successor finds them and counts the rest. */
void ntk_collector_keep(struct ntk_collector *collector, uint64_t sequence);

/* The number of processes that this user may not read at the last check, and the number of users
 * with processes that cannot even be counted. */
struct ntk_collector_unreadable {
    uint32_t processes;
    uint32_t users;
};
struct ntk_collector_unreadable ntk_collector_unreadable(const struct ntk_collector *collector);
/* Why a process is not shown, or not in full detail (permissions, a broken file), or "". Borrowed
 * until the next call on the collector. */
const char *ntk_collector_note(const struct ntk_collector *collector);

/*
 * A source: one origin of facts, without judgement. The collector calls all of them in turn:
 * source_ring.c, source_device.c and source_proc.c.
 */
struct ntk_aggregate;
struct ntk_collect_source {
    const struct ntk_collect_source_ops *ops;
    void *state;
};
struct ntk_collect_source_ops {
    const char *name;
    /* Called between snapshots, like ntk_collector_drain(). NULL: nothing to do. */
    int (*drain)(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns);
    /* Passes the current values to the aggregate. */
    int (*sample)(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                  struct ntk_err *err);
    void (*destroy)(void *state);
};

#ifdef __cplusplus
}
#endif
#endif
