/* SPDX-License-Identifier: MIT */
/*
 * ring_registry - the observed processes of this machine: finds their segments, checks all
 * contents, and detects their end.
 *
 * ntk_ring_registry_poll() checks the folders (shared/abi/paths.h) and brings the list of segments
 * up to date. Queries on a segment return copies in plain structs: every id, count and offset is
 * within bounds, and texts are NUL-ended, so a hostile segment can at worst report nonsense about
 * its process. A file that is truncated while it is mapped reads as zeros and is dropped at the
 * next poll; for that the module installs a SIGBUS handler that passes other faults on.
 *
 * Owner:   ntk_ring_registry_open() allocates, _close() frees; segments are borrowed from it and
 *          live until the poll after the one that showed them as NTK_SEGMENT_GONE.
 * Threads: one at a time per registry.
 *
 * The segment of the calling process itself is never opened: closing it would drop its writer's
 * lock.
 */
#ifndef NTK_SHARED_RING_RING_REGISTRY_H
#define NTK_SHARED_RING_RING_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/abi/event_abi.h"
#include "shared/abi/segment_abi.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/ring/ring_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_ring_registry;
struct ntk_ring_segment;

/* Maximum at the same time; one user may have 512, or 16 after half of them are taken. Further ones
 * are counted in `ignored`. */
#define NTK_RING_REGISTRY_SEGMENTS 1536

struct ntk_clock;

struct ntk_ring_options {
    const char *folder; /* folder to use instead of those in paths.h, or NULL */
    /* Folder to use instead of "/proc", or NULL. If it belongs to another PID namespace (such as
     * the host's, mounted in a container), it determines the pids. */
    const char *proc_root;
    bool hold; /* lock byte 1: files of clean exits wait until they are reaped */
    /* Remove the files of ended processes (for the agent; implies hold), and mark the folders, so
     * that processes that end before they were seen leave their files, too. The folder of this user
     * (or `folder`) is created if it is missing, and removed at _close() if it is still empty. */
    bool reap;
    /* The reader stores counts beyond its own lifetime: it also reports processes that ended before
     * it began, and files of ended processes stay until ntk_ring_registry_release(). Other readers
     * leave earlier segments to it for NTK_READER_MARK_KEEPS_S. */
    bool remembers;
    enum ntk_ring_from from;       /* where readers of rings begin */
    const struct ntk_clock *clock; /* clock for polls; borrowed; NULL: the system's */
};

/* Returns -errno with a message. A folder that does not exist (yet) is accepted. options NULL: as
 * if zeroed. */
int ntk_ring_registry_open(const struct ntk_ring_options *options,
                           struct ntk_ring_registry **out_registry, struct ntk_err *err);
void ntk_ring_registry_close(struct ntk_ring_registry *registry);

/* Why files were ignored: one entry per code, the most frequent first. If a poll finds more codes,
 * they count as the last one that has an entry. */
#define NTK_RING_REASONS 8
struct ntk_ring_reason {
    int code; /* -errno */
    uint32_t count;
    char text[256]; /* for one of the files, a message with its name */
};

struct ntk_ring_poll {
    uint32_t segments; /* current number in the list */
    uint32_t appeared; /* number of new segments since the previous poll */
    uint32_t ended;
    /* files with a segment's name that were rejected: owner, type, magic number, bounds */
    uint32_t ignored;
    uint32_t unreadable; /* part of ignored: files that this user may not read */
    /* Number of users with folders that this user could not read when the registry was opened:
     * their processes cannot even be counted. */
    uint32_t unreadable_users;
    struct ntk_ring_reason reasons[NTK_RING_REASONS];
};

/* Appends the reasons with their counts, except for unreadable files. */
void ntk_ring_poll_reasons(const struct ntk_ring_poll *poll, struct ntk_buf *out);

/* Runs one round. Processes that ended are NTK_SEGMENT_ENDED in this round: drain their rings and
 * read their counters again. The next round makes them NTK_SEGMENT_GONE, and the round after that
 * frees them. out may be NULL. */
int ntk_ring_registry_poll(struct ntk_ring_registry *registry, struct ntk_ring_poll *out,
                           struct ntk_err *err);

/* The number of segments that have been NTK_SEGMENT_ENDED so far. */
uint64_t ntk_ring_registry_ended_count(const struct ntk_ring_registry *registry);
/* Tells the registry that this many ended segments are stored: their files may be removed after
 * every other reader of the folder has checked them twice since then. */
void ntk_ring_registry_release(struct ntk_ring_registry *registry, uint64_t ended_count);

size_t ntk_ring_registry_count(const struct ntk_ring_registry *registry);
/* The segment at an index, in order of pid and start time; NULL beyond the count. */
struct ntk_ring_segment *ntk_ring_registry_get(const struct ntk_ring_registry *registry,
                                               size_t index);

enum ntk_segment_state {
    NTK_SEGMENT_ALIVE,
    /* the process exited or was killed: no more writes; the last chance to read */
    NTK_SEGMENT_ENDED,
    /* the file is removed (when reaping), and the mapping is freed at the next poll */
    NTK_SEGMENT_GONE,
    /* Written by a separate program, for a process that also has its own segment: both contain the
     * same counts. Must not be read from now on. */
    NTK_SEGMENT_DOUBLE
};

/* Facts about a segment's process; texts are NUL-ended and printable (control bytes are '?'). */
struct ntk_ring_process {
    uint32_t pid;        /* pid of the lock holder as this process sees it */
    uint32_t own_pid;    /* pid in the process's namespace (header) */
    uint64_t start_time; /* field 22 of /proc/PID/stat */
    uint32_t uid;        /* owner of the file */
    bool clean_exit;     /* the process closed the segment */
    uint32_t mode;       /* 1 counters, 2 counters and events */
    uint32_t lnc;        /* 1 or 2 */
    uint32_t device_count;
    uint32_t cores_per_device;
    uint32_t framework_type;
    uint32_t flags; /* enum ntk_process_flags */
    struct ntk_segment_clock clock;
    char tag[NTK_TAG_BYTES + 1];
    char framework_version[NTK_VERSION_TEXT_BYTES + 1];
    char fal_version[NTK_VERSION_TEXT_BYTES + 1];
    char runtime_version[NTK_VERSION_TEXT_BYTES + 1];
    char instance_type[NTK_VERSION_TEXT_BYTES + 1];
    char command[NTK_VERSION_TEXT_BYTES + 1];
};

/* Counts of data that the writer could not store. */
struct ntk_ring_refusals {
    uint64_t events_without_ring;
    uint64_t events_in_signals; /* sum over the rings of records dropped in signal handlers */
    uint64_t rings;
    uint64_t rings_shrunk;
    uint64_t histograms;
    uint64_t models;
    uint64_t comms;
    uint64_t memory_rows;
    uint64_t names;
    uint64_t threads;
};

enum ntk_segment_state ntk_ring_segment_state(const struct ntk_ring_segment *segment);
/* A number that is unique in the registry. */
uint64_t ntk_ring_segment_serial(const struct ntk_ring_segment *segment);
/* The path of the file; borrowed. */
const char *ntk_ring_segment_path(const struct ntk_ring_segment *segment);
void ntk_ring_segment_process(const struct ntk_ring_segment *segment, struct ntk_ring_process *out);
void ntk_ring_segment_refusals(const struct ntk_ring_segment *segment,
                               struct ntk_ring_refusals *out);

/* One core at one moment; `counters` is the core's block of the segment. */
struct ntk_ring_core {
    uint16_t core;
    bool owned; /* owned now; if it was released, the counters stay */
    bool has_histogram;
    uint32_t logical;
    uint64_t in_flight;
    uint64_t running_ns; /* with work in flight: time since the last start or end of an execution */
    /* If owned without work in flight: time since the last execution ended or, if there was none,
     * since the segment began. */
    uint64_t idle_ns;
    uint64_t busy_ns; /* busy time, including running work up to now */
    uint64_t read_monotonic_ns;
    uint64_t current_model;
    /* Time since 1970 of the first execution that failed with a hardware error or timeout after the
     * last completed one; 0: none, or the writer is older. */
    uint64_t failing_since_ns;
    struct ntk_segment_core counters;
};

/* Fills out_cores with the cores that the process owns or owned, in order; returns their number.
 * Not const, because it stores the last valid values for the case that a writer is killed during a
 * change. */
size_t ntk_ring_segment_cores(struct ntk_ring_segment *segment, struct ntk_ring_core *out_cores,
                              size_t out_count);

/* The file position of a core's in-flight count (core below NTK_SEGMENT_CORES), for a program that
 * reads it in the process's memory. */
uint64_t ntk_ring_segment_in_flight_offset(const struct ntk_ring_segment *segment, uint16_t core);

/* All buckets of one kind. Buckets of lines without a bit are 0, so that only few must be
 * checked. */
struct ntk_ring_buckets {
    uint64_t sum_ns;
    uint64_t lines[NTK_HISTOGRAM_LINE_WORDS];
    uint64_t bucket[NTK_HISTOGRAM_BUCKETS];
};
/* The first line from `line` on that has its bit set; NTK_HISTOGRAM_LINES if there is none. */
static inline uint32_t ntk_ring_line_next(const uint64_t lines[NTK_HISTOGRAM_LINE_WORDS],
                                          uint32_t line)
{
    for (; line < NTK_HISTOGRAM_LINES; line = (line / 64 + 1) * 64) {
        uint64_t left = lines[line / 64] >> line % 64;

        if (left != 0) {
            line += (uint32_t)__builtin_ctzll(left);
            return line < NTK_HISTOGRAM_LINES ? line : NTK_HISTOGRAM_LINES;
        }
    }
    return NTK_HISTOGRAM_LINES;
}
/* Must be zeroed before its first use: later reads clear earlier contents. */
struct ntk_ring_histogram {
    bool total_only; /* set by the caller: `device` is not read and stays empty */
    struct ntk_ring_buckets total;
    struct ntk_ring_buckets device;
};
/* Returns 0, or -ENOENT if the histogram is absent (not reserved, or taken over by another
 * model). */
int ntk_ring_segment_core_histogram(const struct ntk_ring_segment *segment, uint16_t core,
                                    struct ntk_ring_histogram *out);
struct ntk_ring_model;
int ntk_ring_segment_model_histogram(const struct ntk_ring_segment *segment,
                                     const struct ntk_ring_model *model,
                                     struct ntk_ring_histogram *out);

struct ntk_ring_model {
    uint32_t id;
    uint32_t slot;
    uint32_t state; /* enum ntk_model_state, never FREE */
    uint8_t uuid[16];
    uint16_t core; /* first physical core */
    uint16_t core_count;
    bool has_histogram;
    uint64_t load_realtime_ns;
    uint64_t load_ns;
    uint64_t device_bytes;
    uint64_t running;
    uint64_t executions;
    uint64_t errors;
    uint64_t effective_flops; /* known only with NTK_PROCESS_MODEL_FLOPS */
    uint64_t node_switches;
    uint64_t starts, stops;
    uint64_t flags;
    char name[NTK_MODEL_NAME_BYTES + 1];
    char neff_path[NTK_MODEL_PATH_BYTES + 1];
};
/* Fills the models in the table, including unloaded ones until their slot is needed; at most
 * NTK_SEGMENT_MODELS. */
size_t ntk_ring_segment_models(const struct ntk_ring_segment *segment,
                               struct ntk_ring_model *out_models, size_t out_count);

/* Copies the name of one model in the table, NUL-ended and printable; "" if the table lacks it.
 * Reads no other model, because a reader may call this for thousands of records. */
void ntk_ring_segment_model_name(const struct ntk_ring_segment *segment, uint32_t id,
                                 char out_name[NTK_MODEL_NAME_BYTES + 1]);

/* The process as a rank of a communicator; see struct ntk_segment_comm for the meanings. */
struct ntk_ring_comm {
    uint32_t slot;
    uint32_t state; /* enum ntk_comm_state, never FREE */
    uint64_t key;
    uint64_t join_realtime_ns;
    uint32_t rank, rank_count; /* rank is below rank_count */
    uint32_t world_rank, world_count;
    uint32_t model;
    uint32_t name, group; /* ids of names */
    uint16_t core;
    /* Number of the current operation or, if there is none, of the last one; 0: none so far. */
    uint64_t sequence;
    uint64_t in_flight;
    uint64_t state_ns; /* time since the operation was entered or, if none is in flight, left */
    uint64_t bytes;
    uint32_t operation; /* enum ntk_collective */
    uint32_t dtype;
    uint32_t status;
    uint32_t tid;
    uint64_t count[NTK_COLLECTIVE_COUNT];
    uint64_t errors;
    uint64_t bytes_total;
    uint64_t time_ns;
    uint64_t wait_ns;
    uint64_t longest_ns;
};
/* Fills at most NTK_SEGMENT_COMMS communicators. */
size_t ntk_ring_segment_comms(const struct ntk_ring_segment *segment,
                              struct ntk_ring_comm *out_comms, size_t out_count);
/* Reads one entry of the table, by its slot; false if the slot is empty. */
bool ntk_ring_segment_comm(const struct ntk_ring_segment *segment, uint32_t slot,
                           struct ntk_ring_comm *out);

struct ntk_ring_memory {
    uint32_t model;   /* model id; 0: none */
    uint16_t core;    /* NTK_NO_CORE: none */
    uint8_t category; /* enum ntk_memory_category */
    uint8_t location; /* enum ntk_memory_location */
    uint64_t current_bytes;
    uint64_t peak_bytes;
    uint64_t alloc_count;
    uint64_t free_count;
    uint64_t last_bytes;
};
/* Fills at most NTK_SEGMENT_MEMORY_ROWS rows. */
size_t ntk_ring_segment_memory(const struct ntk_ring_segment *segment,
                               struct ntk_ring_memory *out_rows, size_t out_count);

/* Copies the text of a name id, NUL-ended and printable; "" for unknown ids. Returns the number of
 * bytes, truncated to the buffer. */
size_t ntk_ring_segment_text(const struct ntk_ring_segment *segment, uint32_t name, char *buf,
                             size_t buf_bytes);

struct ntk_ring_thread {
    uint32_t tid; /* thread id; 0: unknown */
    bool alive;
    uint64_t first_ticks;
    char name[17];
};
/* Finds the thread of a record; all zero if it is not in the table. */
void ntk_ring_segment_thread(const struct ntk_ring_segment *segment, const struct ntk_slot *slot,
                             struct ntk_ring_thread *out);

/*
 * Reads events from all rings of the segment in batches: each call of the function gets records of
 * one ring in order (rings are not merged). limit bounds the number of examined records (rounded up
 * to a batch); 0 means until all rings were empty once. Core and thread of a record are within
 * bounds or NTK_NO_CORE and 0; kinds, flags and words are unchecked. Returns the number of examined
 * records, including damaged ones.
 */
typedef void (*ntk_ring_batch_fn)(const struct ntk_ring_segment *segment,
                                  const struct ntk_slot *slots, size_t count, void *ctx);
size_t ntk_ring_segment_drain(struct ntk_ring_segment *segment, size_t limit, ntk_ring_batch_fn fn,
                              void *ctx);
/* The highest fill level of a ring with unread records, in percent: 0 only if there are none, 100
 * if some were overwritten. */
unsigned int ntk_ring_segment_fill(struct ntk_ring_segment *segment);
/* Counts records over all rings of the segment: delivered, lost (overwritten before they were
 * read), published. */
void ntk_ring_segment_events(const struct ntk_ring_segment *segment, uint64_t *out_read,
                             uint64_t *out_lost, uint64_t *out_published);

/* Convert raw ticks of the segment to nanoseconds of CLOCK_MONOTONIC and CLOCK_REALTIME. The
 * reader's own brackets, taken at each poll, refine the result. */
uint64_t ntk_ring_segment_monotonic_ns(const struct ntk_ring_segment *segment, uint64_t ticks);
uint64_t ntk_ring_segment_realtime_ns(const struct ntk_ring_segment *segment, uint64_t ticks);
/* Converts a span of ticks to nanoseconds. */
uint64_t ntk_ring_segment_ticks_to_ns(const struct ntk_ring_segment *segment, uint64_t ticks);

#ifdef __cplusplus
}
#endif
#endif
