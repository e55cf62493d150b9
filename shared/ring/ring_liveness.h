/* SPDX-License-Identifier: MIT */
/*
 * ring_liveness - finds a segment's owner, and whether its writer has ended; private to
 * shared/ring.
 *
 * A segment's statement about its process is a claim. The record lock on byte 0 names a process
 * that cannot be forged, and /proc shows its owner and start time: these are trusted instead.
 *
 * Owner, threads: the same as for the registry.
 */
#ifndef NTK_SHARED_RING_RING_LIVENESS_H
#define NTK_SHARED_RING_RING_LIVENESS_H

#include "shared/ring/ring_segment.h"

/* How this reader sees processes. ntk_ring_liveness_init() fills it; proc_root is borrowed. */
struct ntk_ring_liveness {
    const char *proc_root;
    /* proc_root shows another PID namespace than this program's, such as the host's */
    bool is_foreign_proc;
    uint64_t own_pid_namespace;
    uint64_t own_start_time;
    uint32_t own_pid;
    bool has_exits;
    int exits;     /* epoll descriptor for the processes of segments */
    uint64_t look; /* number of the last scan */
};

void ntk_ring_liveness_init(struct ntk_ring_liveness *liveness, const char *proc_root);
void ntk_ring_liveness_fini(struct ntk_ring_liveness *liveness);
/* Checks a new segment. Returns 0, or -EPERM with a message if it reports a process of another
 * user. If the lock identifies the process, the segment gets its real numbers instead of the
 * claimed ones. */
int ntk_ring_liveness_check(const struct ntk_ring_liveness *liveness,
                            struct ntk_ring_segment *segment, struct ntk_err *err);
/* Returns true if the writer has ended, at the poll with this number. Also finds its pid. */
bool ntk_ring_liveness_has_ended(struct ntk_ring_liveness *liveness,
                                 struct ntk_ring_segment *segment, uint64_t look);

/* Returns true if the process in the segment name runs, as this reader sees it. */
bool ntk_ring_liveness_runs(const struct ntk_ring_liveness *liveness, unsigned int pid,
                            unsigned long long start_time);
/* The pid of the process that locks byte 0, as this process sees it; 0 if there is none, -1 if it
 * has no pid here. */
int64_t ntk_ring_liveness_holder(int fd);

#endif
