/* SPDX-License-Identifier: MIT */
/* clock - a clock that only the test moves. */
#include "tests/support/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/base/cond.h"
#include "tests/support/process.h"

#define BEGIN_NS (3600 * NTK_NS_PER_SECOND)
#define EPOCH_NS (UINT64_C(1700000000) * NTK_NS_PER_SECOND) /* 2023-11-14T22:13:20Z */

uint64_t test_clock_now_ns(struct test_clock *clock)
{
    pthread_mutex_lock(&clock->lock);
    uint64_t now_ns = clock->now_ns;
    pthread_mutex_unlock(&clock->lock);
    return now_ns;
}

static uint64_t monotonic_ns(void *ctx)
{
    return test_clock_now_ns(ctx);
}

static uint64_t realtime_ns(void *ctx)
{
    struct test_clock *clock = ctx;

    pthread_mutex_lock(&clock->lock);
    clock->wall_ns += clock->wall_read_ns;
    uint64_t wall_ns = clock->wall_ns + clock->now_ns;
    pthread_mutex_unlock(&clock->lock);
    return wall_ns;
}

static struct test_clock_wait *place_get(struct test_clock *clock)
{
    for (size_t i = 0; i < TEST_CLOCK_WAITS_MAX; i++) {
        if (!clock->waits[i].cond) {
            return &clock->waits[i];
        }
    }
    (void)fprintf(stderr, "too many threads wait by a test clock\n");
    abort();
}

static int wait_until(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    struct test_clock *clock = ctx;
    struct test_clock_wait *wait = NULL;

    pthread_mutex_lock(&clock->lock);
    bool passes = clock->passes_waits && until_ns != NTK_COND_FOREVER && until_ns > clock->now_ns;
    clock->now_ns = passes ? until_ns : clock->now_ns;
    if (until_ns > clock->now_ns) {
        wait = place_get(clock);
        *wait = (struct test_clock_wait){ cond, lock, until_ns, false };
        pthread_cond_broadcast(&clock->changed);
    }
    pthread_mutex_unlock(&clock->lock);
    if (passes && clock->passed) {
        clock->passed(clock->ctx, until_ns);
    }
    if (!wait) { /* other threads get the lock, as in any wait */
        pthread_mutex_unlock(lock);
        (void)sched_yield();
        pthread_mutex_lock(lock);
        return -ETIMEDOUT;
    }
    /* The caller has held its lock since before the slot was taken, so no wake-up is missed. */
    pthread_cond_wait(cond, lock);
    pthread_mutex_lock(&clock->lock);
    while (wait->is_in_use) { /* the advance needs the caller's lock, too */
        pthread_mutex_unlock(lock);
        pthread_cond_wait(&clock->changed, &clock->lock);
        pthread_mutex_unlock(&clock->lock);
        pthread_mutex_lock(lock);
        pthread_mutex_lock(&clock->lock);
    }
    wait->cond = NULL;
    bool is_over = until_ns <= clock->now_ns;
    pthread_mutex_unlock(&clock->lock);
    return is_over ? -ETIMEDOUT : 0;
}

void test_clock_init(struct test_clock *clock)
{
    *clock = (struct test_clock){ .clock = { monotonic_ns, realtime_ns, clock, wait_until },
                                  .now_ns = BEGIN_NS,
                                  .wall_ns = EPOCH_NS };
    pthread_mutex_init(&clock->lock, NULL);
    pthread_cond_init(&clock->changed, NULL);
}

void test_clock_fini(struct test_clock *clock)
{
    pthread_cond_destroy(&clock->changed);
    pthread_mutex_destroy(&clock->lock);
}

static void wake(struct test_clock *clock, struct test_clock_wait *wait)
{
    pthread_mutex_lock(wait->lock);
    pthread_cond_broadcast(wait->cond);
    pthread_mutex_unlock(wait->lock);
    pthread_mutex_lock(&clock->lock);
    wait->is_in_use = false;
    pthread_cond_broadcast(&clock->changed);
    pthread_mutex_unlock(&clock->lock);
}

void test_clock_advance(struct test_clock *clock, uint64_t ns)
{
    struct test_clock_wait *due[TEST_CLOCK_WAITS_MAX];
    size_t count = 0;

    pthread_mutex_lock(&clock->lock);
    clock->now_ns += ns;
    for (size_t i = 0; i < TEST_CLOCK_WAITS_MAX; i++) {
        struct test_clock_wait *wait = &clock->waits[i];
        if (wait->cond && wait->until_ns <= clock->now_ns && !wait->is_in_use) {
            wait->is_in_use = true;
            due[count++] = wait;
        }
    }
    pthread_mutex_unlock(&clock->lock);
    for (size_t i = 0; i < count; i++) {
        wake(clock, due[i]);
    }
}

/* The number of threads that wait and are not due, and how far away the nearest is. The lock is
 * held. */
static size_t count_waiting(const struct test_clock *clock, uint64_t *out_nearest_ns)
{
    size_t waiting = 0;

    *out_nearest_ns = NTK_COND_FOREVER;
    for (size_t i = 0; i < TEST_CLOCK_WAITS_MAX; i++) {
        const struct test_clock_wait *wait = &clock->waits[i];
        if (!wait->cond || wait->until_ns <= clock->now_ns) {
            continue;
        }
        waiting++;
        if (wait->until_ns != NTK_COND_FOREVER &&
            wait->until_ns - clock->now_ns < *out_nearest_ns) {
            *out_nearest_ns = wait->until_ns - clock->now_ns;
        }
    }
    return waiting;
}

struct nearest {
    struct test_clock *clock;
    uint64_t ns;
};

static int has_wait(void *ctx)
{
    struct nearest *nearest = ctx;

    pthread_mutex_lock(&nearest->clock->lock);
    (void)count_waiting(nearest->clock, &nearest->ns);
    pthread_mutex_unlock(&nearest->clock->lock);
    return nearest->ns != NTK_COND_FOREVER;
}

uint64_t test_clock_await(struct test_clock *clock)
{
    struct nearest nearest = { clock, 0 };

    if (!test_wait_until(has_wait, &nearest)) {
        (void)fprintf(stderr, "no thread waits by the test clock\n");
        abort();
    }
    return nearest.ns;
}

size_t test_clock_waiting(struct test_clock *clock)
{
    uint64_t nearest_ns;

    pthread_mutex_lock(&clock->lock);
    size_t waiting = count_waiting(clock, &nearest_ns);
    pthread_mutex_unlock(&clock->lock);
    return waiting;
}

/* Waits until so many threads wait and none of them is due; returns how far away the nearest is. */
static uint64_t settle(struct test_clock *clock, size_t thread_count)
{
    uint64_t give_up_ns = ntk_cond_until(test_patience_ns());
    uint64_t nearest_ns;
    size_t waiting;

    pthread_mutex_lock(&clock->lock);
    while ((waiting = count_waiting(clock, &nearest_ns)) < thread_count) {
        if (ntk_cond_wait_until(&clock->changed, &clock->lock, give_up_ns) == -ETIMEDOUT) {
            (void)fprintf(stderr, "%zu of %zu threads wait by the test clock\n", waiting,
                          thread_count);
            abort();
        }
    }
    pthread_mutex_unlock(&clock->lock);
    return nearest_ns;
}

void test_clock_run(struct test_clock *clock, uint64_t ns, size_t thread_count)
{
    for (uint64_t left_ns = ns;;) {
        uint64_t step_ns = settle(clock, thread_count);
        if (left_ns == 0) {
            return;
        }
        step_ns = step_ns < left_ns ? step_ns : left_ns;
        left_ns -= step_ns;
        test_clock_advance(clock, step_ns);
    }
}

void test_clock_step_wall(struct test_clock *clock, int64_t ns)
{
    pthread_mutex_lock(&clock->lock);
    clock->wall_ns += (uint64_t)ns;
    pthread_mutex_unlock(&clock->lock);
}
