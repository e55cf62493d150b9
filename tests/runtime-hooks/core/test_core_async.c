/* SPDX-License-Identifier: MIT */
/*
 * Queues of requests. Method: requests that wait for a word of the test, so that what is queued, runs
 * and is complete is known at every moment.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime-hooks/core/core_async.h"

#define DEPTH 3U
#define STRESS_THREADS 4
#define STRESS_REQUESTS 2000

static const struct ntk_core_async_queue_name first = { 0, 1, 0 };
static const struct ntk_core_async_queue_name second = { 0, 1, 1 };

struct request {
    struct ntk_core_async_request async;
    sem_t *start; /* waited for, unless NULL */
    _Atomic int *destroyed;
    _Atomic uint64_t *last; /* number of the latest that ran */
    int breaks;
};

static _Atomic int broken_seen;
static _Atomic int disorder_seen;

static bool request_run(struct ntk_core_async_request *async, bool is_broken)
{
    const struct request *request = (struct request *)async;

    if (is_broken) {
        atomic_fetch_add(&broken_seen, 1);
    }
    while (request->start && sem_wait(request->start) != 0) {
    }
    if (request->last && atomic_exchange(request->last, async->number) != async->number - 1) {
        atomic_fetch_add(&disorder_seen, 1);
    }
    return !request->breaks;
}

static void request_destroy(struct ntk_core_async_request *async)
{
    struct request *request = (struct request *)async;
    _Atomic int *destroyed = request->destroyed;

    free(request);
    if (destroyed) {
        atomic_fetch_add(destroyed, 1);
    }
}

static struct request *request_create(sem_t *start)
{
    struct request *request = calloc(1, sizeof *request);

    assert_non_null(request);
    request->async.run = request_run;
    request->async.destroy = request_destroy;
    request->start = start;
    return request;
}

/* Two cores; unit 1 has two queues of DEPTH, unit 2 one of 4,096. */
static struct ntk_core_async *async_create(void)
{
    struct ntk_core_async_unit units[NTK_CORE_ASYNC_UNITS] = {
        [1] = { 2, DEPTH }, [2] = { 1, 4096 }
    };
    struct ntk_core_async *async = ntk_core_async_create(2, units);

    assert_non_null(async);
    atomic_store(&broken_seen, 0);
    atomic_store(&disorder_seen, 0);
    return async;
}

static int submit(struct ntk_core_async *async, const struct ntk_core_async_queue_name *name,
                  sem_t *start, uint64_t *number)
{
    struct request *request = request_create(start);
    int ret = ntk_core_async_submit(async, name, &request->async, number);

    if (ret < 0) {
        free(request);
    }
    return ret;
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, 0) == 1;
}

static void wait_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&poll_fd, 1, 60000), 1);
}

static void a_full_queue_refuses_until_one_is_complete(void **state)
{
    struct ntk_core_async *async = async_create();
    uint64_t number = 0;
    sem_t start;

    (void)state;
    sem_init(&start, 0, 0);
    for (uint64_t i = 1; i <= DEPTH; i++) {
        assert_int_equal(submit(async, &first, &start, &number), 0);
        assert_int_equal(number, i);
    }
    assert_int_equal(submit(async, &first, &start, &number), -EAGAIN);
    assert_int_equal(number, DEPTH);
    /* Its neighbour is not full. */
    assert_int_equal(submit(async, &second, NULL, &number), 0);
    assert_int_equal(ntk_core_async_drain(async, &second), 0);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 1), 0);
    sem_post(&start);
    int fd = eventfd(0, 0);
    assert_int_equal(ntk_core_async_watch(async, &first, 1, fd), 0);
    wait_readable(fd);
    close(fd);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 1), 1);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 2), 0);
    assert_int_equal(submit(async, &first, &start, &number), 0);
    assert_int_equal(number, DEPTH + 1);
    for (uint32_t i = 0; i < DEPTH; i++) {
        sem_post(&start);
    }
    ntk_core_async_destroy(async);
    sem_destroy(&start);
}

static void what_was_never_submitted_is_refused(void **state)
{
    static const struct ntk_core_async_queue_name none[] = {
        { 2, 1, 0 }, { UINT32_MAX, 1, 0 }, { 0, 0, 0 },
        { 0, 8, 0 }, { 0, 1, 2 },          { 0, 1, UINT32_MAX },
    };
    struct ntk_core_async *async = async_create();
    uint64_t number = 7;

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(submit(async, &none[i], NULL, NULL), -EINVAL);
        assert_int_equal(ntk_core_async_completed_get(async, &none[i], &number), -EINVAL);
        assert_int_equal(ntk_core_async_is_complete(async, &none[i], 1), -EINVAL);
        assert_int_equal(ntk_core_async_drain(async, &none[i]), -EINVAL);
        assert_int_equal(ntk_core_async_watch(async, &none[i], 1, -1), -EINVAL);
        assert_int_equal(ntk_core_async_watch_all(async, &none[i], -1), -EINVAL);
    }
    assert_int_equal(ntk_core_async_completed_get(async, &first, &number), 0);
    assert_int_equal(number, 0);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 1), -EINVAL);
    assert_int_equal(submit(async, &first, NULL, NULL), 0);
    assert_int_equal(ntk_core_async_drain(async, &first), 0);
    assert_int_equal(ntk_core_async_completed_get(async, &first, &number), 0);
    assert_int_equal(number, 1);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 0), -EINVAL);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 1), 1);
    assert_int_equal(ntk_core_async_is_complete(async, &first, 2), -EINVAL);
    ntk_core_async_destroy(async);
}

static void a_broken_unit_tells_what_waits_and_refuses_the_rest(void **state)
{
    struct ntk_core_async *async = async_create();
    struct request *request;
    sem_t start;

    (void)state;
    sem_init(&start, 0, 0);
    request = request_create(&start);
    request->breaks = 1;
    assert_int_equal(ntk_core_async_submit(async, &first, &request->async, NULL), 0);
    assert_int_equal(submit(async, &first, NULL, NULL), 0);
    sem_post(&start);
    assert_int_equal(ntk_core_async_drain(async, &first), 0);
    assert_int_equal(atomic_load(&broken_seen), 1);
    assert_int_equal(submit(async, &first, NULL, NULL), -ENOTRECOVERABLE);
    assert_int_equal(submit(async, &second, NULL, NULL), 0);
    ntk_core_async_destroy(async);
    sem_destroy(&start);
}

static void a_stop_runs_what_is_queued(void **state)
{
    struct ntk_core_async *async = async_create();
    _Atomic int destroyed = 0;
    sem_t start;

    (void)state;
    sem_init(&start, 0, 0);
    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        struct request *request = request_create(&start);

        request->destroyed = &destroyed;
        assert_int_equal(
            ntk_core_async_submit(async, i % 2 ? &first : &second, &request->async, NULL), 0);
    }
    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        sem_post(&start);
    }
    ntk_core_async_stop(async);
    assert_int_equal(atomic_load(&destroyed), 2 * DEPTH);
    assert_int_equal(submit(async, &first, NULL, NULL), -ESHUTDOWN);
    assert_int_equal(ntk_core_async_is_complete(async, &first, DEPTH), 1);
    ntk_core_async_destroy(async);
    sem_destroy(&start);
}

static void watches_outlive_the_callers_descriptor(void **state)
{
    struct ntk_core_async *async = async_create();
    uint64_t value = 0;
    int pipe_fds[2];
    sem_t start;

    (void)state;
    sem_init(&start, 0, 0);
    int fd = eventfd(0, EFD_NONBLOCK);
    int all_fd = eventfd(0, EFD_NONBLOCK);
    int taken_back_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(ntk_core_async_watch_all(async, &first, all_fd), 0);
    assert_int_equal(submit(async, &first, &start, NULL), 0);
    assert_int_equal(submit(async, &first, &start, NULL), 0);
    assert_int_equal(ntk_core_async_watch(async, &first, 3, fd), -EINVAL);
    assert_int_equal(ntk_core_async_watch(async, &first, 1, pipe_fds[1]), -EINVAL);
    assert_int_equal(ntk_core_async_watch(async, &first, 1, 1000000), -EINVAL);
    assert_int_equal(ntk_core_async_watch(async, &first, 2, taken_back_fd), 0);
    assert_int_equal(ntk_core_async_watch(async, &first, 2, -1), 0);
    assert_int_equal(ntk_core_async_watch(async, &first, 2, fd), 0);
    int closed_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(ntk_core_async_watch(async, &first, 1, closed_fd), 0);
    /* The number of a descriptor that the caller closed may be another file's by then. */
    assert_int_equal(dup2(pipe_fds[1], closed_fd), closed_fd);
    assert_false(is_readable(fd));
    sem_post(&start);
    wait_readable(all_fd);
    assert_false(is_readable(fd));
    assert_false(is_readable(pipe_fds[0]));
    sem_post(&start);
    wait_readable(fd);
    assert_int_equal(ntk_core_async_drain(async, &first), 0);
    assert_false(is_readable(pipe_fds[0]));
    assert_false(is_readable(taken_back_fd));
    assert_int_equal(eventfd_read(all_fd, &value), 0);
    assert_int_equal(value, 2);
    assert_int_equal(ntk_core_async_watch_all(async, &first, -1), 0);
    assert_int_equal(submit(async, &first, NULL, NULL), 0);
    assert_int_equal(ntk_core_async_drain(async, &first), 0);
    assert_false(is_readable(all_fd));
    /* Complete already: at once. */
    assert_int_equal(ntk_core_async_watch(async, &first, 1, all_fd), 0);
    assert_true(is_readable(all_fd));
    ntk_core_async_destroy(async);
    close(fd);
    close(all_fd);
    close(taken_back_fd);
    close(closed_fd);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    sem_destroy(&start);
}

struct stress {
    struct ntk_core_async *async;
    _Atomic uint64_t last[2];
    _Atomic int destroyed;
    _Atomic int accepted;
};

static void *stress_thread(void *ctx)
{
    struct stress *stress = ctx;

    for (uint32_t i = 0; i < STRESS_REQUESTS; i++) {
        struct ntk_core_async_queue_name name = { i % 2, 2, 0 };
        struct request *request = request_create(NULL);
        uint64_t number = 0;

        request->last = &stress->last[i % 2];
        request->destroyed = &stress->destroyed;
        int ret = ntk_core_async_submit(stress->async, &name, &request->async, &number);
        if (ret < 0) {
            free(request);
            (void)ntk_core_async_drain(stress->async, &name);
            continue;
        }
        atomic_fetch_add(&stress->accepted, 1);
        (void)ntk_core_async_is_complete(stress->async, &name, number);
        if (i % 64 == 0) {
            (void)ntk_core_async_drain(stress->async, &name);
        }
    }
    return NULL;
}

static void many_threads_keep_the_order_of_every_queue(void **state)
{
    static struct stress stress;
    pthread_t threads[STRESS_THREADS];

    (void)state;
    memset(&stress, 0, sizeof stress);
    stress.async = async_create();
    for (int i = 0; i < STRESS_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, stress_thread, &stress), 0);
    }
    for (int i = 0; i < STRESS_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ntk_core_async_stop(stress.async);
    assert_int_equal(atomic_load(&stress.destroyed), atomic_load(&stress.accepted));
    assert_int_equal(atomic_load(&stress.last[0]) + atomic_load(&stress.last[1]),
                     atomic_load(&stress.accepted));
    assert_int_equal(atomic_load(&disorder_seen), 0);
    ntk_core_async_destroy(stress.async);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_queue_refuses_until_one_is_complete),
        cmocka_unit_test(what_was_never_submitted_is_refused),
        cmocka_unit_test(a_broken_unit_tells_what_waits_and_refuses_the_rest),
        cmocka_unit_test(a_stop_runs_what_is_queued),
        cmocka_unit_test(watches_outlive_the_callers_descriptor),
        cmocka_unit_test(many_threads_keep_the_order_of_every_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
