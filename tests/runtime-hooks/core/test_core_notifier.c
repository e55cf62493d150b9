/* SPDX-License-Identifier: MIT */
/* Notifiers: their position among items, the time between two of them, and their waiters. */
#include "runtime-hooks/core/core_notifier.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/runtime-hooks/core/queue_fixture.h"
#include "tests/support/asleep.h"
#include "tests/support/unit.h"

static void notifiers_measure_the_work_between_them(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_notifier *begin = ntk_core_notifier_create(f->crew);
    struct ntk_core_notifier *end = ntk_core_notifier_create(f->crew);
    struct ntk_core_queue_item done = { 0 };
    int64_t elapsed_ns = -7;

    assert_int_equal(ntk_core_notifier_is_reached(begin), -EINVAL);
    assert_int_equal(ntk_core_notifier_wait(begin, 0), -EINVAL);
    assert_int_equal(ntk_core_notifier_queue_wait(begin, f->second), -EINVAL);
    uint64_t before = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_core_notifier_place(begin, f->first), 0);
    /* The queue is empty, so the notifier is reached at once, without a worker. */
    assert_int_equal(ntk_core_notifier_is_reached(begin), 1);
    assert_int_equal(ntk_core_notifier_elapsed_get(begin, end, &elapsed_ns), -EINVAL);
    struct item *item = item_create(&f->start);
    item->end = &done;
    assert_int_equal(item_submit(f->first, item, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(end, f->first), 0);
    assert_int_equal(ntk_core_notifier_is_reached(end), 0);
    assert_int_equal(ntk_core_notifier_wait(end, NTK_NS_PER_MS), -ETIMEDOUT);
    assert_int_equal(ntk_core_notifier_elapsed_get(begin, end, &elapsed_ns), -EBUSY);
    assert_int_equal(elapsed_ns, -7);
    sem_post(&f->start);
    assert_int_equal(ntk_core_notifier_wait(end, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_notifier_elapsed_get(begin, end, &elapsed_ns), 0);
    assert_true(elapsed_ns >= (int64_t)(done.end_ns - done.start_ns));
    assert_true(elapsed_ns <= (int64_t)(ntk_clock_monotonic_ns() - before));
    int64_t back_ns = 0;
    assert_int_equal(ntk_core_notifier_elapsed_get(end, begin, &back_ns), 0);
    assert_int_equal(back_ns, -elapsed_ns);
    /* If placed again, it marks the later position. */
    assert_int_equal(ntk_core_notifier_place(begin, f->first), 0);
    assert_int_equal(ntk_core_notifier_elapsed_get(end, begin, &back_ns), 0);
    assert_true(back_ns >= 0);
    ntk_core_notifier_destroy(begin);
    ntk_core_notifier_destroy(end);
    ntk_core_notifier_destroy(NULL);
}

static void a_notifier_occupies_one_entry_of_its_queue(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    uint64_t number = 0;

    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), 0);
    assert_int_equal(item_submit_new(f->first, &f->start, &number), 0);
    assert_int_equal(number, 3);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), -EAGAIN);
    assert_int_equal(ntk_core_notifier_queue_wait(notifier, f->first), -EAGAIN);
    assert_int_equal(ntk_core_notifier_is_reached(notifier), 0);
    sem_post(&f->start);
    assert_int_equal(ntk_core_notifier_wait(notifier, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 2), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 3), 0);
    sem_post(&f->start);
    ntk_core_notifier_destroy(notifier);
}

static void a_core_queue_waits_for_a_notifier_in_another_queue(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    sem_t later;

    sem_init(&later, 0, 0);
    assert_int_equal(item_submit_marked(f->first, &f->start, 1), 0);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), 0);
    assert_int_equal(item_submit_marked(f->first, &later, 3), 0);
    assert_int_equal(ntk_core_notifier_queue_wait(notifier, f->second), 0);
    assert_int_equal(item_submit_marked(f->second, NULL, 2), 0);
    /* It waits for the position that the notifier had; the wait continues without the notifier. */
    assert_int_equal(ntk_core_queue_wait(f->second, 2, 10 * NTK_NS_PER_MS), -ETIMEDOUT);
    ntk_core_notifier_destroy(notifier);
    sem_post(&f->start);
    assert_int_equal(ntk_core_queue_sync(f->second), 0);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 3), 0);
    sem_post(&later);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(atomic_load(&run_count), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_log[i], i + 1);
    }
    sem_destroy(&later);
}

struct notifier_wait {
    struct ntk_core_notifier *notifier;
    _Atomic int tid;
    int ret;
};

static void *notifier_wait_thread(void *ctx)
{
    struct notifier_wait *wait = ctx;

    atomic_store(&wait->tid, (int)gettid());
    wait->ret = ntk_core_notifier_wait(wait->notifier, NTK_CORE_QUEUE_FOREVER);
    return NULL;
}

static void destroying_a_notifier_ends_waits_for_it(void **state)
{
    struct queue_fixture *f = *state;
    struct notifier_wait wait = { .notifier = ntk_core_notifier_create(f->crew), .ret = -1 };
    pthread_t thread;

    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(wait.notifier, f->first), 0);
    assert_int_equal(pthread_create(&thread, NULL, notifier_wait_thread, &wait), 0);
    test_wait_asleep(&wait.tid);
    ntk_core_notifier_destroy(wait.notifier);
    sem_post(&f->start);
    pthread_join(thread, NULL);
    assert_int_equal(wait.ret, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUEUE_TEST(notifiers_measure_the_work_between_them),
        QUEUE_TEST(a_notifier_occupies_one_entry_of_its_queue),
        QUEUE_TEST(a_core_queue_waits_for_a_notifier_in_another_queue),
        QUEUE_TEST(destroying_a_notifier_ends_waits_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
