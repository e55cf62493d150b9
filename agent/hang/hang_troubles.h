/* SPDX-License-Identifier: MIT */
/*
 * hang_troubles - the agent's verdicts on ranks, as part of a snapshot: for reports, the database
 * and exporters.
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
    struct ntk_vec held; /* struct held_trouble: slow ranks */
    struct ntk_hang_jobs jobs;
};

void ntk_hang_troubles_init(struct ntk_hang_troubles *troubles);
void ntk_hang_troubles_fini(struct ntk_hang_troubles *troubles);
/* A rank of the snapshot is slow, since this long before its end. If out of memory, it is not
 * stored. */
void ntk_hang_troubles_hold(struct ntk_hang_troubles *troubles, const struct ntk_snapshot *snapshot,
                            const struct ntk_pace_verdict *verdict, uint64_t window_ns);
/* No rank of the communicator is slow any more. */
void ntk_hang_troubles_drop(struct ntk_hang_troubles *troubles, uint64_t key);
/* Drops communicators without ranks, and adds the current verdicts to the snapshot: at most
 * NTK_SNAPSHOT_TROUBLES_MAX, worst first, each with its killed ranks. */
void ntk_hang_troubles_set(struct ntk_hang_troubles *troubles, const struct ntk_ranks *ranks,
                           const struct ntk_change *change, struct ntk_snapshot *snapshot);

/* A running process with a rank of the communicator: the one with this pid, or the first. Its user
 * is that of all ranks. NULL: none. */
const struct ntk_runtime_sample *ntk_hang_member(const struct ntk_snapshot *snapshot, uint64_t key,
                                                 uint32_t pid);
/* The rendezvous of a communicator's ranks; "" if all of them are gone. */
const char *ntk_hang_rendezvous(const struct ntk_snapshot *snapshot, uint64_t key);

#endif
