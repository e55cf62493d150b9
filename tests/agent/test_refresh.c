/* SPDX-License-Identifier: MIT */
/* Method: a thread that waits as one of the server does, this thread as the loop, and a clock that
 * the test moves. */
#include "agent/refresh.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "tests/support/clock.h"
#include "tests/support/unit.h"

#define LONG_NS (3600 * NTK_NS_PER_SECOND)

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

static void a_page_request_waits_for_a_new_poll_unless_figures_are_fresh(void **state)
{
    struct test_clock clock;
    struct ntk_refresh *refresh;
    pthread_t threads[2];

    test_clock_init(&clock);
    assert_int_equal(ntk_refresh_create(NTK_NS_PER_SECOND, &clock.clock, &refresh, NULL), 0);
    assert_int_equal(pthread_create(&threads[0], NULL, wait_in_thread, refresh), 0);
    assert_true(is_asked(refresh, -1));
    ntk_refresh_done(refresh, true);
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

static void a_hanging_loop_delays_one_page_request(void **state)
{
    struct test_clock clock;
    struct ntk_refresh *refresh;
    eventfd_t asked;

    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    assert_int_equal(ntk_refresh_create(1, &clock.clock, &refresh, NULL), 0);
    ntk_refresh_wait(refresh); /* the loop does not respond */
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_REFRESH_WAIT_NS);
    assert_true(is_asked(refresh, 0));
    assert_int_equal(eventfd_read(ntk_refresh_fd_get(refresh), &asked), 0);
    ntk_refresh_wait(refresh);
    assert_false(is_asked(refresh, 0));
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_REFRESH_WAIT_NS);
    ntk_refresh_done(refresh, true); /* the loop responds; from now on pages wait again */
    test_clock_advance(&clock, 1);
    ntk_refresh_wait(refresh);
    assert_true(is_asked(refresh, 0));
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, 2 * NTK_REFRESH_WAIT_NS + 1);
    ntk_refresh_close(refresh);
    ntk_refresh_destroy(refresh);
    test_clock_fini(&clock);
}

static void page_requests_do_not_wait_during_shutdown(void **state)
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

struct question {
    struct ntk_refresh *refresh;
    pthread_t thread;
    bool is_good;
};

static void *ask_in_thread(void *ctx)
{
    struct question *question = ctx;

    question->is_good = ntk_refresh_wait_look(question->refresh);
    return NULL;
}

/* Returns when the loop can see the request. */
static void ask(struct question *question)
{
    assert_int_equal(pthread_create(&question->thread, NULL, ask_in_thread, question), 0);
    assert_true(is_asked(question->refresh, -1));
}

static bool answer_get(struct question *question)
{
    pthread_join(question->thread, NULL);
    return question->is_good;
}

static void a_query_is_answered_by_a_poll_that_started_after_it(void **state)
{
    struct question question = { 0 };
    struct ntk_refresh *refresh;

    assert_int_equal(ntk_refresh_create(LONG_NS, NULL, &refresh, NULL), 0);
    question.refresh = refresh;
    ntk_refresh_done(refresh, true); /* figures are fresh */
    (void)ntk_refresh_begin(refresh);
    ask(&question);
    ntk_refresh_looked(refresh, true); /* these figures were read before the question */
    ntk_refresh_done(refresh, true);
    assert_true(is_asked(refresh, 0));
    struct ntk_refresh_wanted wanted = ntk_refresh_begin(refresh);
    assert_true(wanted.look);
    assert_false(wanted.figures);
    assert_false(is_asked(refresh, 0));
    ntk_refresh_looked(refresh, true);
    assert_true(answer_get(&question));
    ntk_refresh_close(refresh);
    ntk_refresh_destroy(refresh);
}

static void a_query_without_fresh_figures_starts_a_poll(void **state)
{
    struct question question = { 0 };
    struct ntk_refresh *refresh;

    assert_int_equal(ntk_refresh_create(LONG_NS, NULL, &refresh, NULL), 0);
    question.refresh = refresh;
    ask(&question);
    assert_true(ntk_refresh_begin(refresh).figures);
    ntk_refresh_done(refresh, true);
    ntk_refresh_looked(refresh, true);
    assert_true(answer_get(&question));
    ntk_refresh_close(refresh);
    ntk_refresh_destroy(refresh);
}

static void a_query_after_a_failed_poll_starts_a_new_poll(void **state)
{
    struct question question = { 0 };
    struct ntk_refresh *refresh;
    pthread_t page;

    assert_int_equal(ntk_refresh_create(LONG_NS, NULL, &refresh, NULL), 0);
    question.refresh = refresh;
    ask(&question);
    assert_true(ntk_refresh_begin(refresh).figures);
    ntk_refresh_done(refresh, false);
    ntk_refresh_looked(refresh, false);
    assert_false(answer_get(&question));
    assert_int_equal(pthread_create(&page, NULL, wait_in_thread, refresh), 0);
    assert_true(is_asked(refresh, -1)); /* a page does not consider them fresh either */
    ntk_refresh_done(refresh, false);
    pthread_join(page, NULL);
    ask(&question);
    assert_true(ntk_refresh_begin(refresh).figures);
    ntk_refresh_done(refresh, true);
    ntk_refresh_looked(refresh, true);
    assert_true(answer_get(&question));
    ask(&question);
    assert_false(ntk_refresh_begin(refresh).figures);
    ntk_refresh_looked(refresh, true);
    assert_true(answer_get(&question));
    ntk_refresh_close(refresh);
    ntk_refresh_destroy(refresh);
}

static void a_query_fails_if_the_check_fails_or_the_loop_ends(void **state)
{
    struct question question = { 0 };
    struct ntk_refresh *refresh;

    assert_int_equal(ntk_refresh_create(LONG_NS, NULL, &refresh, NULL), 0);
    question.refresh = refresh;
    ask(&question);
    (void)ntk_refresh_begin(refresh);
    ntk_refresh_looked(refresh, false);
    assert_false(answer_get(&question));
    ask(&question);
    ntk_refresh_close(refresh);
    assert_false(answer_get(&question));
    ntk_refresh_destroy(refresh);
}

static void a_hanging_loop_delays_one_query(void **state)
{
    struct test_clock clock;
    struct ntk_refresh *refresh;

    test_clock_init(&clock);
    clock.passes_waits = true;
    uint64_t begin_ns = test_clock_now_ns(&clock);
    assert_int_equal(ntk_refresh_create(LONG_NS, &clock.clock, &refresh, NULL), 0);
    assert_false(ntk_refresh_wait_look(refresh)); /* the loop does not respond in time */
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_REFRESH_LOOK_NS);
    assert_true(ntk_refresh_begin(refresh).look);
    assert_false(ntk_refresh_wait_look(refresh));
    assert_false(is_asked(refresh, 0));
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, NTK_REFRESH_LOOK_NS);
    ntk_refresh_looked(refresh, true); /* the loop responds; from now on questions wait again */
    assert_false(ntk_refresh_wait_look(refresh));
    assert_true(is_asked(refresh, 0));
    assert_int_equal(test_clock_now_ns(&clock) - begin_ns, 2 * NTK_REFRESH_LOOK_NS);
    ntk_refresh_close(refresh);
    ntk_refresh_destroy(refresh);
    test_clock_fini(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_request_waits_for_a_new_poll_unless_figures_are_fresh),
        cmocka_unit_test(a_hanging_loop_delays_one_page_request),
        cmocka_unit_test(page_requests_do_not_wait_during_shutdown),
        cmocka_unit_test(a_query_is_answered_by_a_poll_that_started_after_it),
        cmocka_unit_test(a_query_without_fresh_figures_starts_a_poll),
        cmocka_unit_test(a_query_after_a_failed_poll_starts_a_new_poll),
        cmocka_unit_test(a_query_fails_if_the_check_fails_or_the_loop_ends),
        cmocka_unit_test(a_hanging_loop_delays_one_query),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
