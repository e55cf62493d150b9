/* SPDX-License-Identifier: MIT */
/*
 * collect - from segments, device tree and /proc to one immutable snapshot per period.
 *
 * The agent and neuron-top use it alike:
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
 * What a period is: differences of cumulative counters between two polls.
 * - A process younger than the collector counts from 0, an older one from the moment it is first
 *   seen, or, with options.totals_get, from the totals that are known of it: all of what it did is
 *   in some snapshot.
 * - A counter seen smaller than before starts again from its value.
 * - A core that works while polled counts as busy up to that moment.
 * - A process that ended is in one more snapshot: last differences, memory 0, `ended`; its last
 * events
 *   are drained before its file is removed.
 *
 * Owner:   ntk_collector_create() allocates, _destroy() frees; snapshots are their holder's and
 *          outlive the collector.
 * Threads: one at a time per collector; snapshots may go to any.
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

/* Events of the memory log, loads and errors that one snapshot lists at most by default. */
#define NTK_COLLECT_EVENTS_MAX 16384
/* Executions that failed are listed as errors too, of each process a few at first and then one per
 * period, the newest of it. A job that fails for days must not push out what else is stored. The
 * same holds for each kind of error of the hardware, by process and device. The rest counts as not
 * listed. */
#define NTK_COLLECT_FAILURES_MAX 16

/* Default time between two checks of the fault indicators of devices; core counters, which are
 * many, are read with each poll, and between rare ones about every second. */
#define NTK_COLLECT_HEALTH_NS (150 * NTK_NS_PER_MS)

struct ntk_collector_options {
    const struct ntk_clock *clock; /* NULL: the system's */
    const char *proc_root;         /* NULL: "/proc"; may be another pid namespace's: the host's */
    const char *sysfs_root;        /* explicit tree, stands for /sys; NULL: found */
    const char *driver_sysfs;      /* NULL: "/sys" (tests) */
    const char *hooks_dir;         /* NULL: as shared/abi/paths.h says */
    bool reap; /* drain and remove the files of dead processes: the agent does, neuron-top not */
    bool no_events;     /* do not read the rings at all */
    bool no_latency;    /* nor the histograms, most of what a busy machine has to read */
    bool no_usage;      /* nor the CPU time and memory of processes in /proc */
    bool command_lines; /* what a process is called with its arguments, which may hold secrets */
    size_t events_max;  /* listed per snapshot; 0: NTK_COLLECT_EVENTS_MAX */
    /* Least time from a poll or check of fault indicators to the next check by a drain; 0:
     * NTK_COLLECT_HEALTH_NS. Longer than the time between two polls: polls alone check them. */
    uint64_t health_ns;
    /* Least time between two reads of the fault indicators of cores on a machine with many cores
     * (64, a thousand files and more); 0: with each check. */
    uint64_t many_cores_ns;
    /*
     * The stored totals of a process since its segment began at began_ns (CLOCK_MONOTONIC), which
     * the collector sees for the first time and which is older than the collector: fills cores[]
     * (core and the `total` of every count; histograms, when known, hold everything stored so far
     * and stay valid until the next call) and *out_count. False when nothing is stored: then all
     * that it did so far is `unwatched` in its first period. May be NULL. With it, the files of
     * ended processes stay until ntk_collector_keep().
     */
    bool (*totals_get)(const char *boot_id, struct ntk_process_key key, uint64_t began_ns,
                       struct ntk_core_sample *cores, size_t capacity, size_t *out_count,
                       void *ctx);
    /* Stored of the ECC counters of a device, whose totals continue from there; what they rose
     * since is `ecc_unwatched` in the first period. False when nothing is stored. May be NULL. */
    bool (*ecc_get)(const char *boot_id, uint32_t device, struct ntk_ecc_stored *out, void *ctx);
    void *totals_ctx; /* of both */
    /* Fills snapshot->instance with what is known of where the machine runs, at each poll; it does
     * not wait. May be NULL. On a software machine the type is the machine's and there is no
     * error. */
    void (*instance_get)(struct ntk_snapshot *snapshot, void *ctx);
    void *instance_ctx;
    /* Fills snapshot->k8s and the pods of its runtimes, at each poll, when all else is known; it
     * does not wait. May be NULL. */
    void (*pods_get)(struct ntk_snapshot *snapshot, void *ctx);
    void *pods_ctx;
    /* Fills snapshot->jobs, at each poll, when the hardware is known; it does not wait. May be
     * NULL. */
    void (*jobs_get)(struct ntk_snapshot *snapshot, void *ctx);
    void *jobs_ctx;
};

struct ntk_collector;

/* Starts the first period. Raises the process's soft limit of descriptors, as many processes have
 * many files. Succeeds without device tree or hooks folder: they may come. */
int ntk_collector_create(const struct ntk_collector_options *options,
                         struct ntk_collector **out_collector, struct ntk_err *err);
void ntk_collector_destroy(struct ntk_collector *collector);

/* Finds new and ended processes and reads the rings. The number of records read (so that a caller
 * can slow down while it is 0), or -errno. */
int64_t ntk_collector_drain(struct ntk_collector *collector);
/* The next drain or poll checks all fault indicators of devices, whenever it last did. */
void ntk_collector_hurry(struct ntk_collector *collector);

/* Ends the period and gives its snapshot; the next one starts. */
int ntk_collector_poll(struct ntk_collector *collector, struct ntk_snapshot **out_snapshot,
                       struct ntk_err *err);

/*
 * Whether the health of a device changed since the last call: a verdict, or why. The device tree is
 * checked for it with each drain, health_ns after the last look, so a caller that
 * drains often enough sees a fault long before the period ends.
 */
bool ntk_collector_health_changed(struct ntk_collector *collector);

/* Undoes no_events: from now on the rings are read, beginning with what they still hold, whenever
 * that was. */
void ntk_collector_read_events(struct ntk_collector *collector);

/* Whether histograms of processes, and of models, are read from now on: without, samples have no
 * latency, and without those of models no latency on the core. Beginning to, their first period
 * begins now. */
void ntk_collector_read_latency(struct ntk_collector *collector, bool wanted, bool of_models);

/* Whether the CPU time and memory of processes are read from now on: without, samples have neither.
 * Beginning to, CPU time comes with the second sample: the first sees a part of its period. */
void ntk_collector_read_usage(struct ntk_collector *collector, bool wanted);

/* Where totals are kept (totals_get): all snapshots up to this sequence are. The files of processes
 * that ended in them may go; whoever comes after a collector that was killed before finds them, and
 * counts what is not kept. */
void ntk_collector_keep(struct ntk_collector *collector, uint64_t sequence);

/* Processes that this user may not read, by the last look, and users whose processes it cannot even
 * count. */
struct ntk_collector_unreadable {
    uint32_t processes;
    uint32_t users;
};
struct ntk_collector_unreadable ntk_collector_unreadable(const struct ntk_collector *collector);
/* Why something that looks like a process of ours is not shown (permissions, a broken file), or not
 * in all detail, or "".
 * Borrowed until the next call on the collector. */
const char *ntk_collector_note(const struct ntk_collector *collector);

/*
 * A source: one origin of facts, no judgement. The collector calls all of them in turn;
 * source_ring.c, source_device.c and source_proc.c are those it has.
 */
struct ntk_aggregate;
struct ntk_collect_source {
    const struct ntk_collect_source_ops *ops;
    void *state;
};
struct ntk_collect_source_ops {
    const char *name;
    /* Between snapshots; the number of records read or -errno. NULL: nothing to do. */
    int64_t (*drain)(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns);
    /* Hands the values of now to the aggregate. */
    int (*sample)(void *state, struct ntk_aggregate *aggregate, uint64_t monotonic_ns,
                  struct ntk_err *err);
    void (*destroy)(void *state);
};

#ifdef __cplusplus
}
#endif
#endif
