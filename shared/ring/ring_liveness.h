/* SPDX-License-Identifier: MIT */
/*
 * ring_liveness - the owner of a segment, and whether its writer has ended; private to this folder.
 *
 * A segment's statement about its process is a claim. The record lock on byte 0 names a process
 * that cannot be forged, and /proc shows its owner and start time: these are trusted instead.
 *
 * Owner, threads: as the registry.
 */
#ifndef NTK_SHARED_RING_RING_LIVENESS_H
#define NTK_SHARED_RING_RING_LIVENESS_H

#include "shared/ring/ring_segment.h"

/* How this reader sees processes; filled by ntk_ring_liveness_init(), proc_root is borrowed. */
struct ntk_ring_liveness {
    const char *proc_root;
    bool is_foreign_proc; /* proc_root shows another PID namespace than ours: the host's */
    uint64_t own_pid_namespace;
    uint64_t own_start_time;
    uint32_t own_pid;
    bool has_exits;
    int exits;     /* an epoll of the processes of segments */
    uint64_t look; /* the last */
};

void ntk_ring_liveness_init(struct ntk_ring_liveness *liveness, const char *proc_root);
void ntk_ring_liveness_fini(struct ntk_ring_liveness *liveness);
/* Once per segment: 0, or -EPERM with a message if it reports a process of another user. If the
 * lock identifies the process, the segment gets those numbers, not its claims. */
int ntk_ring_liveness_check(const struct ntk_ring_liveness *liveness,
                            struct ntk_ring_segment *segment, struct ntk_err *err);
/* Whether the writer has ended, in the poll of that number; also learns its pid. */
bool ntk_ring_liveness_has_ended(struct ntk_ring_liveness *liveness,
                                 struct ntk_ring_segment *segment, uint64_t look);

/* Whether the process with that name runs, as this reader sees it. */
bool ntk_ring_liveness_runs(const struct ntk_ring_liveness *liveness, unsigned int pid,
                            unsigned long long start_time);
/* The pid of the process that locks byte 0, as this process sees it; 0 if none does, -1 if it has
 * no pid here. */
int64_t ntk_ring_liveness_holder(int fd);

#endif
