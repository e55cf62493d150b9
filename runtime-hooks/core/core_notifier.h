/* SPDX-License-Identifier: MIT */
/*
 * core_notifier - marks in queues, with the time at which a queue reached them, and waiters.
 *
 * A notifier represents its latest placement. A placement is an item of its queue that counts for
 * order and depth, but needs no worker: it is reached when all items before it are complete. A
 * waiter waits for the placement that was the latest when it started.
 *
 * Owner:   ntk_core_notifier_create() allocates, ntk_core_notifier_destroy() frees at any time,
 *          without affecting pending placements and their waiters.
 * Threads: any. A notifier is for the queues of one crew.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_NOTIFIER_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_NOTIFIER_H

#include "runtime-hooks/core/core_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_core_notifier;

/* Returns NULL if out of memory. */
struct ntk_core_notifier *ntk_core_notifier_create(struct ntk_core_crew *crew);
void ntk_core_notifier_destroy(struct ntk_core_notifier *notifier);

/* Returns the errors of ntk_core_queue_submit(); on failure, the notifier is unchanged. */
int ntk_core_notifier_place(struct ntk_core_notifier *notifier, struct ntk_core_queue *queue);
/* Returns 1 if it is reached, 0 if not yet, -EINVAL if it was never placed. */
int ntk_core_notifier_is_reached(const struct ntk_core_notifier *notifier);
/* Waits until it is reached. Returns -EINVAL if it was never placed, -ETIMEDOUT, or -EDEADLK if
 * called by a worker that would have to wait. */
int ntk_core_notifier_wait(struct ntk_core_notifier *notifier, uint64_t timeout_ns);
/* Items that are submitted to the queue from now on run after the notifier is reached. Returns
 * -EINVAL if it was never placed, or errors of ntk_core_queue_submit(). */
int ntk_core_notifier_queue_wait(struct ntk_core_notifier *notifier, struct ntk_core_queue *queue);
/* Gets the time between the two, negative if end was reached first. Returns -EINVAL if one was
 * never placed, -EBUSY if one is not reached yet. */
int ntk_core_notifier_elapsed_get(const struct ntk_core_notifier *start,
                                  const struct ntk_core_notifier *end, int64_t *out_ns);

#ifdef __cplusplus
}
#endif
#endif
