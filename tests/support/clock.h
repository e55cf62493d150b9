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
#include <stddef.h>
#include <stdint.h>

#include "shared/base/clock.h"

#define TEST_CLOCK_WAITS_MAX 16

struct test_clock {
    struct ntk_clock clock; /* what the code under test gets */
    bool passes_waits;
    /* Called in a wait that passes; NULL: no call. */
    void (*passed)(void *ctx, uint64_t now_ns);
    void *ctx;
    pthread_mutex_t lock;   /* protects what follows */
    pthread_cond_t changed; /* a thread waits, or a slot is not in use by an advance */
    uint64_t now_ns;
    uint64_t wall_ns;      /* since 1970, when now_ns is 0 */
    uint64_t wall_read_ns; /* what each reading of that time adds to it */
    struct test_clock_wait {
        pthread_cond_t *cond; /* NULL: a free slot */
        pthread_mutex_t *lock;
        uint64_t until_ns;
        bool is_in_use; /* an advance uses cond and lock, so its thread may not return */
    } waits[TEST_CLOCK_WAITS_MAX];
};

/* Starts at a full hour, so that earlier times are not negative. */
void test_clock_init(struct test_clock *clock);
void test_clock_fini(struct test_clock *clock);
uint64_t test_clock_now_ns(struct test_clock *clock);
void test_clock_advance(struct test_clock *clock, uint64_t ns);
/* Waits until a thread waits for a time; returns how far away the nearest one is. */
uint64_t test_clock_await(struct test_clock *clock);
/* The number of threads that wait and are not due. */
size_t test_clock_waiting(struct test_clock *clock);
/* Advances by ns in steps, to every time that a thread waits for. Before and after each step, waits
 * until so many threads wait: everything that was due is done by then. Aborts when patience has run
 * out. */
void test_clock_run(struct test_clock *clock, uint64_t ns, size_t thread_count);
/* Steps the time since 1970, as an administrator does. */
void test_clock_step_wall(struct test_clock *clock, int64_t ns);

#endif
