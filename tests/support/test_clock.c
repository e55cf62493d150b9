/* SPDX-License-Identifier: MIT */
/* A thread may return from its wait while the clock is still being advanced. */
#include "tests/support/clock.h"

#include <stdatomic.h>

#include "shared/base/cond.h"
#include "tests/support/unit.h"

#define SLEEPERS 4
#define SLEEPS 4000

struct sleeper {
    pthread_t thread;
    struct test_clock *clock;
    atomic_bool is_done;
};

/* Each sleep has a lock and a condition variable on the stack, always at the same place. */
static void *sleep_often(void *ctx)
{
    struct sleeper *sleeper = ctx;

    for (int i = 0; i < SLEEPS; i++) {
        ntk_cond_sleep(&sleeper->clock->clock, test_clock_now_ns(sleeper->clock) + 1);
    }
    atomic_store(&sleeper->is_done, true);
    return NULL;
}

static bool are_done(struct sleeper *sleepers)
{
    bool all = true;

    for (size_t i = 0; i < SLEEPERS; i++) {
        all = all && atomic_load(&sleepers[i].is_done);
    }
    return all;
}

static void advancing_the_clock_does_not_touch_locks_of_finished_waits(void **state)
{
    static struct sleeper sleepers[SLEEPERS];
    struct test_clock clock;

    (void)state;
    test_clock_init(&clock);
    for (size_t i = 0; i < SLEEPERS; i++) {
        sleepers[i].clock = &clock;
        assert_int_equal(pthread_create(&sleepers[i].thread, NULL, sleep_often, &sleepers[i]), 0);
    }
    while (!are_done(sleepers)) {
        test_clock_advance(&clock, 1);
    }
    for (size_t i = 0; i < SLEEPERS; i++) {
        pthread_join(sleepers[i].thread, NULL);
    }
    test_clock_fini(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advancing_the_clock_does_not_touch_locks_of_finished_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
