/* SPDX-License-Identifier: MIT */
#include "shared/rpc/rpc_loop.h"

#include "shared/base/clock.h"
#include "shared/base/cond.h"

#define PERIOD_NS (5 * NTK_NS_PER_MS)
/* The understudy sleeps until it is woken if for so many periods no callback could take long. */
#define QUIET_PERIODS 20

void ntk_rpc_loop_init(struct ntk_rpc_loop *loop, bool (*lead)(void *ctx),
                       void (*taken)(void *ctx, void *late), void *ctx)
{
    *loop = (struct ntk_rpc_loop){ .lead = lead, .taken = taken, .ctx = ctx };
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->changed, NULL);
}

void ntk_rpc_loop_fini(struct ntk_rpc_loop *loop)
{
    pthread_cond_destroy(&loop->changed);
    pthread_mutex_destroy(&loop->lock);
}

/* Waits until the leader's callback is late, and takes over, or until the loop has ended. The
 * caller holds the lock. */
static void understudy(struct ntk_rpc_loop *loop)
{
    uint64_t seen = 0;
    unsigned quiet = 0;

    atomic_store(&loop->has_understudy, true);
    while (!loop->is_over) {
        uint64_t turn = atomic_load(&loop->turn);

        if (turn == seen && turn % 2 == 1 &&
            atomic_compare_exchange_strong(&loop->turn, &turn, turn + 1)) {
            atomic_store(&loop->has_understudy, false);
            loop->taken(loop->ctx, loop->late);
            return;
        }
        quiet = turn == seen ? quiet + 1 : 0;
        seen = turn;
        if (quiet < QUIET_PERIODS) {
            (void)ntk_cond_wait_until(&loop->changed, &loop->lock, ntk_cond_until(PERIOD_NS));
            continue;
        }
        /* The leader changes `turn` and then reads `sleeps`: one of both sees the other. */
        atomic_store(&loop->sleeps, true);
        while (!loop->is_over && atomic_load(&loop->turn) == seen) {
            pthread_cond_wait(&loop->changed, &loop->lock);
        }
        atomic_store(&loop->sleeps, false);
        quiet = 0;
    }
}

/* Leads and waits in turn. */
static void take_part(struct ntk_rpc_loop *loop, bool leads)
{
    pthread_mutex_lock(&loop->lock);
    while (!loop->is_over) {
        if (!leads) {
            understudy(loop);
            leads = true;
            continue;
        }
        pthread_mutex_unlock(&loop->lock);
        bool is_over = loop->lead(loop->ctx);
        pthread_mutex_lock(&loop->lock);
        leads = false;
        if (is_over) {
            loop->is_over = true;
            pthread_cond_broadcast(&loop->changed);
        }
    }
    pthread_mutex_unlock(&loop->lock);
}

static void *second(void *ctx)
{
    take_part(ctx, false);
    return NULL;
}

void ntk_rpc_loop_run(struct ntk_rpc_loop *loop)
{
    take_part(loop, true);
    if (loop->has_second) {
        pthread_join(loop->second, NULL);
    }
}

uint64_t ntk_rpc_loop_may_linger(struct ntk_rpc_loop *loop, void *late)
{
    if (!loop->has_second) {
        loop->has_second = pthread_create(&loop->second, NULL, second, loop) == 0;
    }
    if (!atomic_load(&loop->has_understudy)) {
        return 0;
    }
    loop->late = late;
    uint64_t turn = atomic_fetch_add(&loop->turn, 1) + 1;
    if (atomic_load(&loop->sleeps)) {
        pthread_mutex_lock(&loop->lock);
        pthread_cond_signal(&loop->changed);
        pthread_mutex_unlock(&loop->lock);
    }
    return turn;
}

bool ntk_rpc_loop_returned(struct ntk_rpc_loop *loop, uint64_t turn)
{
    if (atomic_compare_exchange_strong(&loop->turn, &turn, turn + 1)) {
        return true;
    }
    /* Until the other thread has done what concerns the late callback. */
    pthread_mutex_lock(&loop->lock);
    pthread_mutex_unlock(&loop->lock);
    return false;
}
