/* SPDX-License-Identifier: MIT */
/*
 * clock - a clock that only the test moves, for code that takes a struct ntk_clock.
 *
 * A waiting thread sleeps until test_clock_advance() or its condition variable wakes it. With
 * passes_waits every wait ends at once, and the clock shows the time that it waited for.
 *
 * Owner:   test_clock_init() / _fini(); nothing may use it after that.
 * Threads: any; passes_waits and passed are set before the first wait.
 */
#ifndef NTK_TESTS_SUPPORT_CLOCK_H
#define NTK_TESTS_SUPPORT_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/clock.h"

#define TEST_CLOCK_WAITS_MAX 8

struct test_clock {
    struct ntk_clock clock; /* what the code under test gets */
    bool passes_waits;
    /* Called in a wait that passes; NULL: no call. */
    void (*passed)(void *ctx, uint64_t now_ns);
    void *ctx;
    pthread_mutex_t lock; /* protects what follows */
    uint64_t now_ns;
    struct test_clock_wait {
        pthread_cond_t *cond; /* NULL: a free slot */
        pthread_mutex_t *lock;
        uint64_t until_ns;
    } waits[TEST_CLOCK_WAITS_MAX];
};

/* Starts at a full hour, so that earlier times are not negative. */
void test_clock_init(struct test_clock *clock);
void test_clock_fini(struct test_clock *clock);
uint64_t test_clock_now_ns(struct test_clock *clock);
void test_clock_advance(struct test_clock *clock, uint64_t ns);
/* Waits until a thread waits for a time; returns how far away the nearest one is. */
uint64_t test_clock_await(struct test_clock *clock);

#endif
