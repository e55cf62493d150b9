/* SPDX-License-Identifier: MIT */
/*
 * hang_troubles - adds the agent's verdicts on ranks to a snapshot, for reports, the database and
 * exporters.
 *
 * Hangs and lost ranks are reported again in every period. A slow rank is judged over windows of
 * several periods, and the verdict holds until another window changes it or the communicator is
 * gone.
 *
 * Owner: init/fini; texts are copied. Threads: one.
 */
#ifndef NTK_AGENT_HANG_HANG_TROUBLES_H
#define NTK_AGENT_HANG_HANG_TROUBLES_H

#include "agent/hang/hang_jobs.h"
#include "shared/base/vec.h"
#include "shared/metrics/ranks.h"
#include "shared/metrics/ranks_change.h"
#include "shared/metrics/ranks_pace.h"
#include "shared/metrics/snapshot.h"

struct ntk_hang_troubles {
    struct ntk_vec held; /* elements are struct held_trouble, for slow ranks */
    struct ntk_hang_jobs jobs;
};

void ntk_hang_troubles_init(struct ntk_hang_troubles *troubles);
void ntk_hang_troubles_fini(struct ntk_hang_troubles *troubles);
/* Notes that a rank in the snapshot is slow, for this time before the end of the snapshot. It is
 * not stored if out of memory. */
void ntk_hang_troubles_hold(struct ntk_hang_troubles *troubles, const struct ntk_snapshot *snapshot,
                            const struct ntk_pace_verdict *verdict, uint64_t window_ns);
/* Notes that no rank of the communicator is slow any more. */
void ntk_hang_troubles_drop(struct ntk_hang_troubles *troubles, uint64_t key);
/* Drops communicators without ranks, and adds the current verdicts to the snapshot: at most
 * NTK_SNAPSHOT_TROUBLES_MAX, worst first, each with its killed ranks. */
void ntk_hang_troubles_set(struct ntk_hang_troubles *troubles, const struct ntk_ranks *ranks,
                           const struct ntk_change *change, struct ntk_snapshot *snapshot);

/* Returns a running process with a rank of the communicator: the one with this pid, or the first.
 * All ranks have the same user. NULL if none. */
const struct ntk_runtime_sample *ntk_hang_member(const struct ntk_snapshot *snapshot, uint64_t key,
                                                 uint32_t pid);
/* Returns the rendezvous of a communicator's ranks; "" if all of them are gone. */
const char *ntk_hang_rendezvous(const struct ntk_snapshot *snapshot, uint64_t key);

#endif
