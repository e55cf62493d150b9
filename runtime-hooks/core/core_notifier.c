/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_notifier.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime-hooks/core/core_queue_private.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"

struct ntk_core_notifier {
    struct ntk_core_crew *crew;
    struct ntk_core_placement *latest; /* NULL if it was never placed */
};

void ntk_core_placement_drop(struct ntk_core_placement *placement)
{
    if (placement && --placement->holders == 0) {
        pthread_cond_destroy(&placement->reached);
        free(placement);
    }
}

void ntk_core_placement_reach(struct ntk_core_placement *placement, struct ntk_core_queue **waiting)
{
    placement->is_reached = true;
    placement->reached_ns = ntk_clock_monotonic_ns();
    pthread_cond_broadcast(&placement->reached);
    while (placement->waiting) {
        struct ntk_core_queue *queue = placement->waiting;

        placement->waiting = queue->next;
        queue->next = *waiting;
        *waiting = queue;
    }
}

struct ntk_core_notifier *ntk_core_notifier_create(struct ntk_core_crew *crew)
{
    struct ntk_core_notifier *notifier = calloc(1, sizeof *notifier);

    if (notifier) {
        notifier->crew = crew;
    }
    return notifier;
}

void ntk_core_notifier_destroy(struct ntk_core_notifier *notifier)
{
    if (notifier) {
        pthread_mutex_lock(&notifier->crew->lock);
        ntk_core_placement_drop(notifier->latest);
        pthread_mutex_unlock(&notifier->crew->lock);
        free(notifier);
    }
}

int ntk_core_notifier_place(struct ntk_core_notifier *notifier, struct ntk_core_queue *queue)
{
    struct ntk_core_placement *placement = calloc(1, sizeof *placement);

    if (!placement) {
        return -ENOMEM;
    }
    placement->item.kind = NTK_CORE_ITEM_PLACEMENT;
    placement->holders = 2; /* references of the queue and the notifier */
    pthread_cond_init(&placement->reached, NULL);
    pthread_mutex_lock(&notifier->crew->lock);
    int ret = ntk_core_queue_append(queue, &placement->item, NULL);
    if (ret < 0) {
        placement->holders = 1;
        ntk_core_placement_drop(placement);
    } else {
        ntk_core_placement_drop(notifier->latest);
        notifier->latest = placement;
    }
    pthread_mutex_unlock(&notifier->crew->lock);
    return ret;
}

int ntk_core_notifier_is_reached(const struct ntk_core_notifier *notifier)
{
    pthread_mutex_lock(&notifier->crew->lock);
    int ret = notifier->latest ? notifier->latest->is_reached : -EINVAL;
    pthread_mutex_unlock(&notifier->crew->lock);
    return ret;
}

int ntk_core_notifier_wait(struct ntk_core_notifier *notifier, uint64_t timeout_ns)
{
    /* copied, because the notifier may be destroyed during the wait */
    struct ntk_core_crew *crew = notifier->crew;
    uint64_t until_ns = ntk_cond_until(timeout_ns);
    int ret = 0;

    pthread_mutex_lock(&crew->lock);
    struct ntk_core_placement *placement = notifier->latest;
    if (!placement) {
        ret = -EINVAL;
    } else if (!placement->is_reached && ntk_core_crew_is_worker()) {
        ret = -EDEADLK;
    } else {
        placement->holders++;
        while (ret == 0 && !placement->is_reached) {
            ret = ntk_cond_wait_until(&placement->reached, &crew->lock, until_ns);
        }
        ret = placement->is_reached ? 0 : ret;
        ntk_core_placement_drop(placement);
    }
    pthread_mutex_unlock(&crew->lock);
    return ret;
}

int ntk_core_notifier_queue_wait(struct ntk_core_notifier *notifier, struct ntk_core_queue *queue)
{
    struct ntk_core_queue_wait_item *wait = calloc(1, sizeof *wait);
    int ret = 0;

    if (!wait) {
        return -ENOMEM;
    }
    wait->item.kind = NTK_CORE_ITEM_WAIT;
    pthread_mutex_lock(&notifier->crew->lock);
    struct ntk_core_placement *placement = notifier->latest;
    if (!placement) {
        ret = -EINVAL;
    } else if (!placement->is_reached) {
        wait->placement = placement;
        placement->holders++;
        ret = ntk_core_queue_append(queue, &wait->item, NULL);
        if (ret == 0) {
            wait = NULL; /* the queue owns it now */
        } else {
            ntk_core_placement_drop(placement);
        }
    }
    pthread_mutex_unlock(&notifier->crew->lock);
    free(wait);
    return ret;
}

int ntk_core_notifier_elapsed_get(const struct ntk_core_notifier *start,
                                  const struct ntk_core_notifier *end, int64_t *out_ns)
{
    int ret = 0;

    pthread_mutex_lock(&start->crew->lock);
    if (!start->latest || !end->latest) {
        ret = -EINVAL;
    } else if (!start->latest->is_reached || !end->latest->is_reached) {
        ret = -EBUSY;
    } else {
        *out_ns = (int64_t)(end->latest->reached_ns - start->latest->reached_ns);
    }
    pthread_mutex_unlock(&start->crew->lock);
    return ret;
}
