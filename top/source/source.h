/* SPDX-License-Identifier: MIT */
/*
 * source - defines the interface of all origins of neuron-top's snapshots.
 *
 * A source is either read at each refresh (this machine), or has a descriptor that becomes readable
 * when a snapshot arrives (a stream, a recording).
 *
 * Owner: open allocates, close frees. Threads: one.
 */
#ifndef NTK_TOP_SOURCE_SOURCE_H
#define NTK_TOP_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

struct ntk_top_source;

/* Commands for a source that is not the present. */
enum ntk_top_control {
    NTK_TOP_CONTROL_PAUSE, /* pauses, or continues */
    NTK_TOP_CONTROL_BACK,  /* to a recorded moment; pauses */
    NTK_TOP_CONTROL_FORWARD,
    NTK_TOP_CONTROL_JUMP_BACK, /* by a minute */
    NTK_TOP_CONTROL_JUMP_FORWARD,
    NTK_TOP_CONTROL_SLOWER, /* to half the speed */
    NTK_TOP_CONTROL_FASTER,
};

struct ntk_top_source_ops {
    bool is_here; /* its applications run on this machine now */
    /* Returns 1 and a snapshot for the caller, 0 if there is none yet, negative if there will be no
     * more. */
    int (*take)(struct ntk_top_source *source, struct ntk_snapshot **out_snapshot,
                struct ntk_err *err);
    void (*close)(struct ntk_top_source *source);
    /* Returns the reason for missing data, or "". Borrowed until the next call. NULL: never a
     * reason. */
    const char *(*note)(const struct ntk_top_source *source);
    /* NULL for the present, which cannot be controlled. */
    void (*control)(struct ntk_top_source *source, enum ntk_top_control control);
    /* Makes snapshots list events from now on, beginning with events that are still available. NULL
     * if it has none, or always does. */
    void (*read_events)(struct ntk_top_source *source);
    /* Makes snapshots include latencies of processes, and of models, which are expensive on a busy
     * machine. NULL if it cannot be changed. */
    void (*read_latency)(struct ntk_top_source *source, bool of_models);
    /* Same, for CPU time and memory of processes. */
    void (*read_usage)(struct ntk_top_source *source);
    /* Returns true if a change must be shown before the next refresh: the health of a device.
     * Called every NTK_TOP_SOURCE_LOOK_NS if refreshes are rarer than NTK_TOP_SOURCE_RARE_NS, or if
     * events are read, which would be overwritten. NULL if snapshots arrive without requests. */
    bool (*has_news)(struct ntk_top_source *source);
    /* Returns the past of the shown moment, for graphs: 1 and a snapshot of an earlier moment for
     * the caller, newest first; 0 if none is left since that time. NULL if unknown. */
    int (*before_shown)(struct ntk_top_source *source, uint64_t since_ns,
                        struct ntk_snapshot **out_snapshot);
};

#define NTK_TOP_SOURCE_LOOK_NS (150 * NTK_NS_PER_MS)
#define NTK_TOP_SOURCE_RARE_NS (1500 * NTK_NS_PER_MS)

struct ntk_top_source {
    const struct ntk_top_source_ops *ops;
    int fd; /* readable when a snapshot arrives; -1: read at any time */
};

/* Returns false if it is not possible. */
bool ntk_top_source_has_news(struct ntk_top_source *source);
int ntk_top_source_take(struct ntk_top_source *source, struct ntk_snapshot **out_snapshot,
                        struct ntk_err *err);
const char *ntk_top_source_note(const struct ntk_top_source *source);
/* Returns false if the source cannot be controlled. */
bool ntk_top_source_control(struct ntk_top_source *source, enum ntk_top_control control);
void ntk_top_source_read_events(struct ntk_top_source *source);
void ntk_top_source_read_latency(struct ntk_top_source *source, bool of_models);
void ntk_top_source_read_usage(struct ntk_top_source *source);
/* Returns 1, or 0 if nothing is known. */
int ntk_top_source_before_shown(struct ntk_top_source *source, uint64_t since_ns,
                                struct ntk_snapshot **out_snapshot);
void ntk_top_source_close(struct ntk_top_source *source); /* accepts NULL */

/* Opens this machine. sysfs_root replaces /sys; NULL uses the usual places of devices. */
int ntk_top_source_live_open(const char *sysfs_root, struct ntk_top_source **out_source,
                             struct ntk_err *err);

/* Opens lines of neuron-monitor from fd; the source owns fd from then on. -ENODATA at its end. */
int ntk_top_source_stream_open(int fd, struct ntk_top_source **out_source, struct ntk_err *err);

/* Opens the contents of a neuron-monitor database from at_ns on (since 1970; 0: from its
 * beginning). */
int ntk_top_source_replay_open(const char *path, uint64_t at_ns, struct ntk_top_source **out_source,
                               struct ntk_err *err);

/* A neuron-monitor that serves HTTP; texts must outlive the source. */
struct ntk_top_remote {
    const char *url;               /* http://host:port, or the address of the stream */
    const char *token_file;        /* file with a bearer token; NULL if none */
    const char *ca_file;           /* PEM; NULL for the system's certificates */
    const struct ntk_clock *clock; /* for retries and ages; borrowed; NULL for the system clock */
};
/* Opens a remote source. A connection that fails or breaks is retried; meanwhile the note reports
 * it. */
int ntk_top_source_connect_open(const struct ntk_top_remote *remote,
                                struct ntk_top_source **out_source, struct ntk_err *err);

/* Opens many remote sources, see hosts.h; names are borrowed. begin_whole: nothing is shown until
 * each host has answered or failed. */
int ntk_top_source_hosts_open(const char *const *names, size_t count,
                              const struct ntk_top_remote *remote, bool begin_whole,
                              struct ntk_top_source **out_source, struct ntk_err *err);
struct ntk_top_hosts;
/* Returns NULL for any other source. */
struct ntk_top_hosts *ntk_top_source_hosts_get(struct ntk_top_source *source);
/* Selects the host of the snapshots from now on; SIZE_MAX: none, and snapshots are empty. */
void ntk_top_source_hosts_show(struct ntk_top_source *source, size_t index);

#endif
