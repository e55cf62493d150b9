/* SPDX-License-Identifier: MIT */
/*
 * ring_segment - a mapped segment: private to shared/ring, its tests and runtime-hooks/nds.
 *
 * _open() copies and checks the header once; afterwards only the checked copy of the section table
 * is used, so later writes cannot make a reader leave the mapping.
 *
 * Owner:   _open and _adopt allocate, _close unmaps and frees.
 */
#ifndef NTK_SHARED_RING_RING_SEGMENT_H
#define NTK_SHARED_RING_RING_SEGMENT_H

#include "shared/ring/ring_registry.h"

/* A line through two brackets (raw, monotonic), and the offset to real time. */
struct ntk_ring_clock {
    uint64_t raw_ticks;
    uint64_t monotonic_ns;
    int64_t realtime_offset_ns;
    double ns_per_tick;
};

struct ntk_ring_core_seen {
    uint64_t busy_ns; /* last valid values of line 0 */
    uint64_t in_flight;
    uint64_t since_ticks;
    uint64_t current_model;
    uint64_t reported_ns; /* last reported busy time, because it must never decrease */
};

struct ntk_ring_segment {
    int fd;
    int guard;
    const uint8_t *base;
    size_t bytes;
    struct {
        const uint8_t *at;
        uint32_t entry_bytes;
        uint32_t count;
    } section[NTK_SECTION_COUNT];

    uint64_t device; /* device number of the file */
    uint64_t inode;
    uint64_t folder_device;
    uint64_t folder_inode;
    uint64_t serial;      /* unique in the registry */
    uint64_t renewed_ns;  /* time at which the file was last renewed; 0: never */
    uint64_t ended_ns;    /* time at which the end of its process was detected */
    uint64_t ended_order; /* see ntk_ring_registry_release() */
    char *path;
    const char *name;
    enum ntk_segment_state state;
    uint32_t host_pid;        /* pid in a proc_root of another PID namespace; 0 unknown */
    bool is_host_pid_sought;  /* the pid was searched for; it cannot appear later */
    uint32_t free_lock_polls; /* number of consecutive polls that found byte 0 unlocked */
    uint64_t free_lock_poll;  /* number of the last of these polls */
    int pid_fd;               /* pidfd of its process, if watching it is sufficient; -1 */
    bool has_exited;          /* the process has exited, according to pid_fd */
    struct ntk_ring_process process;
    uint64_t pid_namespace;
    struct ntk_ring_clock clock;

    enum ntk_ring_from from;
    uint32_t ring_count; /* readers[0 .. ring_count) are set up */
    uint32_t next_ring;  /* ring at which the next drain begins */
    size_t unreleased;   /* records read since their memory pages were last released */
    uint32_t first_core; /* the first used core at the last reading */
    struct ntk_ring_core_seen core_seen[NTK_SEGMENT_CORES];
    struct ntk_ring_reader readers[NTK_SEGMENT_RINGS];
    uint8_t ring_usable[NTK_SEGMENT_RINGS];
};

/* Maps and checks the file; takes ownership of fd on success. Returns 0; -EAGAIN if it is not ready
 * yet; else -errno with a message. path is copied. */
int ntk_ring_segment_open(int fd, const char *path, enum ntk_ring_from from,
                          struct ntk_ring_segment **out_segment, struct ntk_err *err);
/* Uses a segment that is already mapped, such as that of the calling process; takes ownership of
 * the mapping on success. It has no path and no name. Errors are the same as above. */
int ntk_ring_segment_adopt(void *mapping, size_t bytes, struct ntk_ring_segment **out_segment,
                           struct ntk_err *err);
void ntk_ring_segment_close(struct ntk_ring_segment *segment);
/* Returns true if the writer marked a clean exit. */
bool ntk_ring_segment_said_goodbye(const struct ntk_ring_segment *segment);
bool ntk_ring_segment_is_damaged(const struct ntk_ring_segment *segment);
/* Adds one of the reader's clock readings. */
void ntk_ring_segment_refine_clock(struct ntk_ring_segment *segment,
                                   const struct ntk_segment_clock *bracket);

#endif
