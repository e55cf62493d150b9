/* SPDX-License-Identifier: MIT */
/* Work that may block forever. */
#include "shared/base/aside.h"

#include <pthread.h>
#include <stdatomic.h>

#include "shared/base/clock.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

struct work {
    pthread_mutex_t hanging; /* while it is locked, the work blocks */
    unsigned count;
    atomic_bool is_released;
};

static void work_do(void *ctx)
{
    struct work *work = ctx;

    pthread_mutex_lock(&work->hanging);
    pthread_mutex_unlock(&work->hanging);
    work->count++;
}

static void work_release(void *ctx)
{
    atomic_store(&((struct work *)ctx)->is_released, true);
}

static void work_is_run_once_per_request(void **state)
{
    struct work work = { .hanging = PTHREAD_MUTEX_INITIALIZER };
    struct ntk_aside *aside = ntk_aside_create(work_do, work_release, &work);

    assert_true(ntk_aside_ask(aside, test_patience_ns()));
    assert_int_equal(work.count, 1);
    assert_true(ntk_aside_ask(aside, test_patience_ns()));
    assert_int_equal(work.count, 2);
    ntk_aside_destroy(aside);
    assert_true(atomic_load(&work.is_released));
}

static int has_result(void *aside)
{
    return ntk_aside_ask(aside, 1);
}

static int is_released(void *work)
{
    return atomic_load(&((struct work *)work)->is_released);
}

static void a_request_during_blocked_work_returns_at_once(void **state)
{
    struct work work = { .hanging = PTHREAD_MUTEX_INITIALIZER };
    struct ntk_aside *aside = ntk_aside_create(work_do, work_release, &work);

    pthread_mutex_lock(&work.hanging);
    assert_false(ntk_aside_ask(aside, 1));
    /* Returns at once, otherwise this test would never end. */
    assert_false(ntk_aside_ask(aside, UINT64_MAX));
    pthread_mutex_unlock(&work.hanging);
    assert_true(test_wait_until(has_result, aside));
    assert_int_equal(work.count, 1); /* the late result is not discarded */
    assert_true(ntk_aside_ask(aside, test_patience_ns()));
    assert_int_equal(work.count, 2);
    ntk_aside_destroy(aside);
}

/* Method: the work ends only between two calls. */
static void a_late_result_is_returned_by_the_next_request(void **state)
{
    struct work work = { .hanging = PTHREAD_MUTEX_INITIALIZER };
    struct ntk_aside *aside = ntk_aside_create(work_do, work_release, &work);

    for (unsigned i = 1; i <= 3; i++) {
        pthread_mutex_lock(&work.hanging);
        assert_false(ntk_aside_ask(aside, 1));
        pthread_mutex_unlock(&work.hanging);
        assert_true(test_wait_until(has_result, aside));
        assert_int_equal(work.count, i);
    }
    ntk_aside_destroy(aside);
}

static void work_that_blocks_during_destruction_is_abandoned(void **state)
{
    static struct work work = { .hanging = PTHREAD_MUTEX_INITIALIZER };
    struct ntk_aside *aside = ntk_aside_create(work_do, work_release, &work);

    pthread_mutex_lock(&work.hanging);
    assert_false(ntk_aside_ask(aside, 100 * NTK_NS_PER_MS));
    ntk_aside_destroy(aside);
    pthread_mutex_unlock(&work.hanging);
    assert_true(test_wait_until(is_released, &work));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_run_once_per_request),
        cmocka_unit_test(a_request_during_blocked_work_returns_at_once),
        cmocka_unit_test(a_late_result_is_returned_by_the_next_request),
        cmocka_unit_test(work_that_blocks_during_destruction_is_abandoned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
