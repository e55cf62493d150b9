/* SPDX-License-Identifier: MIT */
/* Method: connections are only marked, so jobs need no server; work takes time of a clock that the
 * test moves. */
#include "shared/http/http_worker.h"

#include <microhttpd.h>
#include <stdatomic.h>

#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

struct test_job {
    struct ntk_http_job base;
    bool is_in_vain;
    bool is_late;
    atomic_int suspended; /* suspensions without a resume */
    atomic_bool is_done;
    struct test_clock *clock;
    uint64_t takes_ns;
};

void MHD_suspend_connection(struct MHD_Connection *connection)
{
    atomic_fetch_add(&((struct test_job *)(void *)connection)->suspended, 1);
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    struct test_job *job = (void *)connection;

    atomic_fetch_sub(&job->suspended, 1);
    atomic_store(&job->is_done, true);
}

static bool run(struct ntk_http_job *base, bool is_late)
{
    struct test_job *job = (struct test_job *)base;

    job->is_late = is_late;
    test_clock_advance(job->clock, job->takes_ns);
    return job->is_in_vain;
}

static int is_done(void *ctx)
{
    return atomic_load(&((struct test_job *)ctx)->is_done);
}

static bool submit(struct ntk_http_worker *worker, struct test_job *job)
{
    job->base.run = run;
    job->base.connection = (void *)job;
    return ntk_http_worker_submit(worker, &job->base);
}

/* Wrong passwords therefore use at most a quarter of a core at any machine load. */
static void the_worker_pauses_in_proportion_to_failed_work(void **state)
{
    struct test_clock clock;
    struct ntk_http_worker worker = { .waiting_max = 2, .rest_factor = 3, .clock = &clock.clock };
    struct test_job jobs[2] = { { .is_in_vain = true, .clock = &clock, .takes_ns = 1000 },
                                { .is_in_vain = false, .clock = &clock } };

    test_clock_init(&clock);
    assert_int_equal(ntk_http_worker_start(&worker), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(submit(&worker, &jobs[i]));
    }
    assert_int_equal(test_clock_await(&clock), 3000);
    test_clock_advance(&clock, 2999);
    assert_int_equal(test_clock_await(&clock), 1);
    assert_false(atomic_load(&jobs[1].is_done));
    test_clock_advance(&clock, 1);
    assert_true(test_wait_until(is_done, &jobs[1]));
    ntk_http_worker_stop(&worker);
    test_clock_fini(&clock);
}

static void shutdown_does_not_wait_for_the_pause(void **state)
{
    struct test_clock clock;
    struct ntk_http_worker worker = { .waiting_max = 2, .rest_factor = 1, .clock = &clock.clock };
    struct test_job jobs[2] = { { .is_in_vain = true, .clock = &clock, .takes_ns = 1 },
                                { .is_in_vain = true, .clock = &clock } };

    test_clock_init(&clock);
    assert_int_equal(ntk_http_worker_start(&worker), 0);
    assert_true(submit(&worker, &jobs[0]));
    assert_true(test_wait_until(is_done, &jobs[0]));
    assert_true(submit(&worker, &jobs[1]));
    ntk_http_worker_stop(&worker);
    assert_false(jobs[0].is_late);
    assert_true(jobs[1].is_late);
    assert_int_equal(atomic_load(&jobs[1].suspended), 0);
    assert_false(submit(&worker, &jobs[1]));
    test_clock_fini(&clock);
}

static void jobs_beyond_the_limit_are_rejected_and_no_client_fills_the_queue(void **state)
{
    struct ntk_http_worker worker = { .waiting_max = 3, .waiting_of_one = 2 };
    struct test_job jobs[5] = { { .base.who = 1 },
                                { .base.who = 1 },
                                { .base.who = 1 },
                                { .base.who = 2 },
                                { .base.who = 3 } };
    static const bool taken[5] = { true, true, false, true, false };

    pthread_mutex_init(&worker.lock, NULL); /* without a thread all of them wait */
    pthread_cond_init(&worker.changed, NULL);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(submit(&worker, &jobs[i]), taken[i]);
        assert_int_equal(atomic_load(&jobs[i].suspended), taken[i]);
    }
    pthread_cond_destroy(&worker.changed);
    pthread_mutex_destroy(&worker.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worker_pauses_in_proportion_to_failed_work),
        cmocka_unit_test(shutdown_does_not_wait_for_the_pause),
        cmocka_unit_test(jobs_beyond_the_limit_are_rejected_and_no_client_fills_the_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
