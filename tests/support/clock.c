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
    return EPOCH_NS + test_clock_now_ns(ctx);
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
        *wait = (struct test_clock_wait){ cond, lock, until_ns };
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
    wait->cond = NULL;
    bool is_over = until_ns <= clock->now_ns;
    pthread_mutex_unlock(&clock->lock);
    return is_over ? -ETIMEDOUT : 0;
}

void test_clock_init(struct test_clock *clock)
{
    *clock = (struct test_clock){ .clock = { monotonic_ns, realtime_ns, clock, wait_until },
                                  .now_ns = BEGIN_NS };
    pthread_mutex_init(&clock->lock, NULL);
}

void test_clock_fini(struct test_clock *clock)
{
    pthread_mutex_destroy(&clock->lock);
}

void test_clock_advance(struct test_clock *clock, uint64_t ns)
{
    struct test_clock_wait due[TEST_CLOCK_WAITS_MAX];
    size_t count = 0;

    pthread_mutex_lock(&clock->lock);
    clock->now_ns += ns;
    for (size_t i = 0; i < TEST_CLOCK_WAITS_MAX; i++) {
        if (clock->waits[i].cond && clock->waits[i].until_ns <= clock->now_ns) {
            due[count++] = clock->waits[i];
        }
    }
    pthread_mutex_unlock(&clock->lock);
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(due[i].lock);
        pthread_cond_broadcast(due[i].cond);
        pthread_mutex_unlock(due[i].lock);
    }
}

struct nearest {
    struct test_clock *clock;
    uint64_t ns;
};

static int has_wait(void *ctx)
{
    struct nearest *nearest = ctx;
    struct test_clock *clock = nearest->clock;

    nearest->ns = NTK_COND_FOREVER;
    pthread_mutex_lock(&clock->lock);
    for (size_t i = 0; i < TEST_CLOCK_WAITS_MAX; i++) {
        const struct test_clock_wait *wait = &clock->waits[i];
        if (wait->cond && wait->until_ns != NTK_COND_FOREVER && wait->until_ns > clock->now_ns &&
            wait->until_ns - clock->now_ns < nearest->ns) {
            nearest->ns = wait->until_ns - clock->now_ns;
        }
    }
    pthread_mutex_unlock(&clock->lock);
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
