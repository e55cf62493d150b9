/* SPDX-License-Identifier: MIT */
/*
 * Waits that end at a time, or on a signal.
 */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_reported;

static void a_wait_times_out_at_its_deadline(void **state)
{
    uint64_t until_ns = ntk_cond_until(10 * NTK_NS_PER_MS);
    int ret = 0;

    pthread_mutex_lock(&lock);
    assert_int_equal(ntk_cond_wait_until(&changed, &lock, 0), -ETIMEDOUT);
    while (ret == 0) { /* a spurious wake-up is not the end */
        ret = ntk_cond_wait_until(&changed, &lock, until_ns);
    }
    pthread_mutex_unlock(&lock);
    assert_int_equal(ret, -ETIMEDOUT);
    assert_true(ntk_clock_monotonic_ns() >= until_ns);
}

static void *tell(void *ctx)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    is_reported = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void a_signal_ends_a_wait_before_its_deadline(void **state)
{
    const uint64_t times_ns[] = { NTK_COND_FOREVER, ntk_cond_until(3600 * NTK_NS_PER_SECOND) };

    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        pthread_t thread;
        int ret = 0;

        is_reported = false;
        pthread_mutex_lock(&lock);
        assert_int_equal(pthread_create(&thread, NULL, tell, NULL), 0);
        while (!is_reported && ret == 0) {
            ret = ntk_cond_wait_until(&changed, &lock, times_ns[i]);
        }
        pthread_mutex_unlock(&lock);
        assert_int_equal(ret, 0);
        pthread_join(thread, NULL);
    }
}

static void deadlines_beyond_the_clock_range_mean_forever(void **state)
{
    assert_true(ntk_cond_until(NTK_COND_FOREVER) == NTK_COND_FOREVER);
    assert_true(ntk_cond_until(NTK_COND_FOREVER - 1) == NTK_COND_FOREVER);
    assert_true(ntk_cond_until(0) <= ntk_clock_monotonic_ns());
}

/* Method: a clock on which waits end at once. */
static void a_sleep_ends_at_its_deadline_on_the_given_clock(void **state)
{
    struct test_clock clock;

    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t until_ns = test_clock_now_ns(&clock) + 3600 * NTK_NS_PER_SECOND;
    ntk_cond_sleep(&clock.clock, until_ns);
    assert_int_equal(test_clock_now_ns(&clock), until_ns);
    test_clock_fini(&clock);
    until_ns = ntk_cond_until(NTK_NS_PER_MS);
    ntk_cond_sleep(NULL, until_ns);
    assert_true(ntk_clock_monotonic_ns() >= until_ns);
}

/* Method: a pipe, and a clock on which waits end at once. */
static void a_poll_ends_at_its_deadline_or_with_a_ready_descriptor(void **state)
{
    struct test_clock clock;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    struct pollfd ready = { .fd = ends[0], .events = POLLIN };
    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    uint64_t until_ns = begin_ns + 3600 * NTK_NS_PER_SECOND;
    assert_int_equal(ntk_cond_poll(&clock.clock, &ready, 1, begin_ns), 0);
    assert_int_equal(test_clock_now_ns(&clock), begin_ns);
    assert_int_equal(ntk_cond_poll(&clock.clock, &ready, 1, until_ns), 0);
    assert_int_equal(test_clock_now_ns(&clock), until_ns);
    assert_int_equal(ntk_cond_poll(NULL, &ready, 1, 0), 0);
    until_ns = ntk_cond_until(NTK_NS_PER_MS);
    assert_int_equal(ntk_cond_poll(NULL, &ready, 1, until_ns), 0);
    assert_true(ntk_clock_monotonic_ns() >= until_ns);
    assert_int_equal(write(ends[1], "", 1), 1);
    until_ns = test_clock_now_ns(&clock);
    assert_int_equal(ntk_cond_poll(&clock.clock, &ready, 1, until_ns + 1), 1);
    assert_int_equal(test_clock_now_ns(&clock), until_ns);
    assert_int_equal(ntk_cond_poll(NULL, &ready, 1, NTK_COND_FOREVER), 1);
    assert_int_equal(ntk_cond_poll(&clock.clock, &ready, 1, NTK_COND_FOREVER), 1);
    close(ends[0]);
    close(ends[1]);
    test_clock_fini(&clock);
}

struct rounds {
    struct test_clock *clock;
    int left; /* until it has what it waits for */
    int count;
    uint64_t last_ns;
};

static int round_at(void *ctx)
{
    struct rounds *rounds = ctx;

    rounds->count++;
    rounds->last_ns = test_clock_now_ns(rounds->clock);
    return rounds->left-- > 0 ? 0 : 7;
}

/* Method: a clock on which waits end at once. */
static void rounds_repeat_at_the_interval_until_a_result_or_the_timeout(void **state)
{
    static const struct {
        uint64_t for_ms, step_ms;
        int left, answer, count;
        uint64_t last_ms;
    } rows[] = {
        { 1000, 300, 9, 0, 5, 1000 }, /* 0, 300, 600, 900 and the end */
        { 1000, 300, 2, 7, 3, 600 },  { 1000, 5000, 9, 0, 2, 1000 },
        { 0, 300, 9, 0, 1, 0 },       { 0, 300, 0, 7, 1, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct test_clock clock;

        test_clock_init(&clock);
        clock.passes_waits = true;
        uint64_t begin_ns = test_clock_now_ns(&clock);
        struct rounds rounds = { .clock = &clock, .left = rows[i].left };
        int answer = ntk_cond_rounds(&clock.clock, rows[i].for_ms * NTK_NS_PER_MS,
                                     rows[i].step_ms * NTK_NS_PER_MS, round_at, &rounds);
        assert_int_equal(answer, rows[i].answer);
        assert_int_equal(rounds.count, rows[i].count);
        assert_int_equal(rounds.last_ns - begin_ns, rows[i].last_ms * NTK_NS_PER_MS);
        test_clock_fini(&clock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_times_out_at_its_deadline),
        cmocka_unit_test(a_signal_ends_a_wait_before_its_deadline),
        cmocka_unit_test(deadlines_beyond_the_clock_range_mean_forever),
        cmocka_unit_test(a_sleep_ends_at_its_deadline_on_the_given_clock),
        cmocka_unit_test(a_poll_ends_at_its_deadline_or_with_a_ready_descriptor),
        cmocka_unit_test(rounds_repeat_at_the_interval_until_a_result_or_the_timeout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
