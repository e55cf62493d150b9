/* SPDX-License-Identifier: MIT */
/* Method: a thread that waits as a server's does, this one in place of the loop, and a clock that
 * the test moves. */
#include "agent/refresh.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "tests/support/clock.h"
#include "tests/support/unit.h"

static void *wait_in_thread(void *refresh)
{
    ntk_refresh_wait(refresh);
    return NULL;
}

static bool is_asked(const struct ntk_refresh *refresh, int timeout_ms)
{
    struct pollfd fd = { ntk_refresh_fd_get(refresh), POLLIN, 0 };

    return poll(&fd, 1, timeout_ms) == 1;
}

static void a_page_waits_for_newer_figures_and_not_when_they_are_fresh(void **state)
{
    struct test_clock clock;
    struct ntk_refresh *refresh;
    pthread_t threads[2];

    test_clock_init(&clock);
    assert_int_equal(ntk_refresh_create(NTK_NS_PER_SECOND, &clock.clock, &refresh, NULL), 0);
    assert_int_equal(pthread_create(&threads[0], NULL, wait_in_thread, refresh), 0);
    assert_true(is_asked(refresh, -1));
    ntk_refresh_done(refresh);
    pthread_join(threads[0], NULL);
    assert_false(is_asked(refresh, 0));
    test_clock_advance(&clock, NTK_NS_PER_SECOND - 1);
    ntk_refresh_wait(refresh);
    assert_false(is_asked(refresh, 0));
    test_clock_advance(&clock, 1);
    assert_int_equal(pthread_create(&threads[1], NULL, wait_in_thread, refresh), 0);
    assert_true(is_asked(refresh, -1));
    ntk_refresh_close(refresh);
    pthread_join(threads[1], NULL);
    ntk_refresh_destroy(refresh);
    test_clock_fini(&clock);
}

static void a_loop_that_hangs_delays_one_page(void **state)
{
    struct test_clock clock;
    struct ntk_refresh *refresh;
    eventfd_t asked;

    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    assert_int_equal(ntk_refresh_create(1, &clock.clock, &refresh, NULL), 0);
    ntk_refresh_wait(refresh); /* the loop does not come */
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_REFRESH_WAIT_NS);
    assert_true(is_asked(refresh, 0));
    assert_int_equal(eventfd_read(ntk_refresh_fd_get(refresh), &asked), 0);
    ntk_refresh_wait(refresh);
    assert_false(is_asked(refresh, 0));
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_REFRESH_WAIT_NS);
    ntk_refresh_done(refresh); /* it comes; from now on pages wait again */
    test_clock_advance(&clock, 1);
    ntk_refresh_wait(refresh);
    assert_true(is_asked(refresh, 0));
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, 2 * NTK_REFRESH_WAIT_NS + 1);
    ntk_refresh_close(refresh);
    ntk_refresh_destroy(refresh);
    test_clock_fini(&clock);
}

static void no_page_waits_at_the_end(void **state)
{
    struct test_clock clock;
    struct ntk_refresh *refresh;
    pthread_t thread;

    test_clock_init(&clock);
    assert_int_equal(ntk_refresh_create(1, &clock.clock, &refresh, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, refresh), 0);
    assert_true(is_asked(refresh, -1));
    ntk_refresh_close(refresh);
    pthread_join(thread, NULL);
    ntk_refresh_destroy(refresh);
    test_clock_fini(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_waits_for_newer_figures_and_not_when_they_are_fresh),
        cmocka_unit_test(a_loop_that_hangs_delays_one_page),
        cmocka_unit_test(no_page_waits_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
