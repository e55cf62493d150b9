/* SPDX-License-Identifier: MIT */
/* One queue that is full, broken, stopped or destroyed; the results of its items, and its
 * waiters. */
#include "runtime-hooks/core/core_queue.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime-hooks/core/core_notifier.h"
#include "shared/base/clock.h"
#include "tests/runtime-hooks/core/queue_fixture.h"
#include "tests/support/unit.h"

static void a_full_queue_rejects_items_until_one_is_complete(void **state)
{
    struct queue_fixture *f = *state;
    uint64_t number = 0;

    for (uint64_t i = 1; i <= DEPTH; i++) {
        assert_int_equal(item_submit_new(f->first, &f->start, &number), 0);
        assert_int_equal(number, i);
    }
    assert_int_equal(item_submit_new(f->first, &f->start, &number), -EAGAIN);
    assert_int_equal(number, DEPTH);
    /* The other queue is not full. */
    assert_int_equal(item_submit_new(f->second, NULL, NULL), 0);
    assert_int_equal(ntk_core_queue_sync(f->second), 0);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 0);
    sem_post(&f->start);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 2), 0);
    assert_int_equal(item_submit_new(f->first, &f->start, &number), 0);
    assert_int_equal(number, DEPTH + 1);
    for (uint32_t i = 0; i < DEPTH; i++) {
        sem_post(&f->start);
    }
}

struct submission {
    struct ntk_core_queue *queue;
    sem_t *start;
    _Atomic bool is_back;
    int ret;
};

static void *submission_thread(void *ctx)
{
    struct submission *submission = ctx;

    submission->ret = item_submit_new(submission->queue, submission->start, NULL);
    atomic_store(&submission->is_back, true);
    return NULL;
}

static struct {
    int submit, sync, wait;
    bool is_worker;
} from_worker;

/* A worker must not wait for room in its own queue or for its completion. */
static void own_queue_wait(struct ntk_core_queue *own)
{
    from_worker.submit = item_submit_new(own, NULL, NULL);
    from_worker.sync = ntk_core_queue_sync(own);
    from_worker.wait = ntk_core_queue_wait(own, 1, 0);
    from_worker.is_worker = ntk_core_crew_is_worker();
}

static void a_full_waiting_queue_accepts_an_item_once_there_is_room(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = ntk_core_queue_create(f->crew, 1, NTK_CORE_QUEUE_WAITS);
    struct submission submission = { .queue = queue, .start = &f->start };
    struct item *item = item_create(&f->start);
    pthread_t thread;

    assert_non_null(queue);
    item->also = own_queue_wait;
    item->own = queue;
    assert_int_equal(item_submit(queue, item, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, submission_thread, &submission), 0);
    assert_int_equal(ntk_core_queue_wait(queue, 1, 20 * NTK_NS_PER_MS), -ETIMEDOUT);
    assert_false(atomic_load(&submission.is_back));
    sem_post(&f->start);
    sem_post(&f->start);
    pthread_join(thread, NULL);
    assert_int_equal(submission.ret, 0);
    assert_int_equal(from_worker.submit, -EDEADLK);
    assert_int_equal(from_worker.sync, -EDEADLK);
    assert_int_equal(from_worker.wait, -EDEADLK);
    assert_true(from_worker.is_worker);
    ntk_core_queue_destroy(queue);
    assert_int_equal(atomic_load(&destroyed_count), 2);
    assert_false(ntk_core_crew_is_worker());
}

static void item_numbers_that_were_never_submitted_are_rejected(void **state)
{
    struct queue_fixture *f = *state;
    int fd = eventfd(0, 0);

    for (uint64_t number = 0; number < 2; number++) {
        assert_int_equal(ntk_core_queue_is_complete(f->first, number), -EINVAL);
        assert_int_equal(ntk_core_queue_wait(f->first, number, 0), -EINVAL);
        assert_int_equal(ntk_core_queue_watch(f->first, number, fd), -EINVAL);
        assert_int_equal(ntk_core_queue_watch(f->first, number, -1), -EINVAL);
    }
    assert_int_equal(ntk_core_queue_completed_get(f->first), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(item_submit_new(f->first, NULL, NULL), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(ntk_core_queue_completed_get(f->first), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 0), -EINVAL);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 2), -EINVAL);
    close(fd);
}

static void a_broken_queue_notifies_waiters_and_rejects_new_tasks(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    struct item *item = item_create(&f->start);

    item->is_breaking = true;
    assert_int_equal(item_submit(f->first, item, NULL), 0);
    assert_int_equal(item_submit_new(f->first, NULL, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), 0);
    sem_post(&f->start);
    /* Waiters wait no longer than for a queue that works. */
    assert_int_equal(ntk_core_notifier_wait(notifier, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(atomic_load(&broken_seen), 1);
    assert_int_equal(item_submit_new(f->first, NULL, NULL), -ENOTRECOVERABLE);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), -ENOTRECOVERABLE);
    assert_int_equal(ntk_core_notifier_is_reached(notifier), 1);
    assert_int_equal(item_submit_new(f->second, NULL, NULL), 0);
    ntk_core_notifier_destroy(notifier);
}

static void stopping_a_queue_runs_queued_items(void **state)
{
    struct queue_fixture *f = *state;

    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        assert_int_equal(item_submit_new(i % 2 ? f->first : f->second, &f->start, NULL), 0);
    }
    ntk_core_crew_shut(f->crew);
    assert_int_equal(item_submit_new(f->first, NULL, NULL), -ESHUTDOWN);
    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        sem_post(&f->start);
    }
    ntk_core_crew_stop(f->crew);
    assert_int_equal(atomic_load(&destroyed_count), 2 * DEPTH);
    assert_int_equal(item_submit_new(f->first, NULL, NULL), -ESHUTDOWN);
    assert_int_equal(ntk_core_queue_is_complete(f->first, DEPTH), 1);
    ntk_core_crew_stop(f->crew);
}

static _Atomic int accepted_count;

/* Submits until the queue is being destroyed. */
static void own_queue_feed(struct ntk_core_queue *own)
{
    int ret = 0;

    while (ret != -ESHUTDOWN) {
        ret = item_submit_new(own, NULL, NULL);
        atomic_fetch_add(&accepted_count, ret == 0);
        (void)sched_yield();
    }
}

static void destroying_a_queue_runs_its_queued_items(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    struct item *item = item_create(NULL);

    atomic_store(&accepted_count, 1);
    item->also = own_queue_feed;
    item->own = f->first;
    assert_int_equal(item_submit(f->first, item, NULL), 0);
    int ret = ntk_core_notifier_place(notifier, f->first);
    assert_true(ret == 0 || ret == -EAGAIN);
    while (atomic_load(&accepted_count) < 2) {
        (void)sched_yield();
    }
    ntk_core_queue_destroy(f->first);
    f->first = NULL;
    assert_int_equal(atomic_load(&destroyed_count), atomic_load(&accepted_count));
    assert_int_equal(ntk_core_notifier_is_reached(notifier), ret == 0 ? 1 : -EINVAL);
    ntk_core_notifier_destroy(notifier);
}

static void times_of_submission_start_and_end_of_an_item_are_recorded(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue_item ends[DEPTH];
    uint64_t before = ntk_clock_monotonic_ns();

    for (uint32_t i = 0; i < DEPTH; i++) {
        struct item *item = item_create(&f->start);

        item->end = &ends[i];
        assert_int_equal(item_submit(f->first, item, NULL), 0);
    }
    uint64_t released = ntk_clock_monotonic_ns();
    for (uint32_t i = 0; i < DEPTH; i++) {
        sem_post(&f->start);
    }
    ntk_core_crew_stop(f->crew);
    for (uint32_t i = 0; i < DEPTH; i++) {
        assert_int_equal(ends[i].number, i + 1);
        assert_true(ends[i].submit_ns >= (i > 0 ? ends[i - 1].submit_ns : before));
        assert_true(ends[i].submit_ns <= released);
        assert_true(ends[i].start_ns >= (i > 0 ? ends[i - 1].end_ns : ends[i].submit_ns));
        assert_true(ends[i].end_ns >= ends[i].start_ns);
        assert_true(ends[i].end_ns >= released);
    }
    assert_true(ends[DEPTH - 1].end_ns <= ntk_clock_monotonic_ns());
}

static void a_wait_timeout_does_not_affect_the_item(void **state)
{
    struct queue_fixture *f = *state;
    uint64_t before = ntk_clock_monotonic_ns();

    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, 0), -ETIMEDOUT);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, 10 * NTK_NS_PER_MS), -ETIMEDOUT);
    assert_true(ntk_clock_monotonic_ns() - before >= 10 * NTK_NS_PER_MS);
    sem_post(&f->start);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, UINT64_MAX - 1), 0);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUEUE_TEST(a_full_queue_rejects_items_until_one_is_complete),
        QUEUE_TEST(a_full_waiting_queue_accepts_an_item_once_there_is_room),
        QUEUE_TEST(item_numbers_that_were_never_submitted_are_rejected),
        QUEUE_TEST(a_broken_queue_notifies_waiters_and_rejects_new_tasks),
        QUEUE_TEST(stopping_a_queue_runs_queued_items),
        QUEUE_TEST(destroying_a_queue_runs_its_queued_items),
        QUEUE_TEST(times_of_submission_start_and_end_of_an_item_are_recorded),
        QUEUE_TEST(a_wait_timeout_does_not_affect_the_item),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
