/* SPDX-License-Identifier: MIT */
/* Many queues and few workers: turns, hangs, thousands of queues, many threads. */
#include "runtime-hooks/core/core_queue.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/core/core_notifier.h"
#include "shared/base/clock.h"
#include "tests/runtime-hooks/core/queue_fixture.h"
#include "tests/support/unit.h"

#define QUEUES 4094U /* of one process, in the interface with the highest limit */
#define STRESS_THREADS 4
#define STRESS_ITEMS 2000

static uint32_t threads_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    uint32_t count = 0;

    assert_non_null(tasks);
    for (const struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks)) {
        count += entry->d_name[0] != '.';
    }
    closedir(tasks);
    return count;
}

static void one_worker_alternates_between_queues(void **state)
{
    /* The running queue continues after the two that arrive meanwhile. */
    static const int expected[] = { 1, 2, 3, 1, 2, 3, 1, 2, 3, 1 };
    struct ntk_core_crew *crew = ntk_core_crew_create(1);
    struct ntk_core_queue *queues[3];
    sem_t *start = &((struct queue_fixture *)*state)->start;
    sem_t entered;

    sem_init(&entered, 0, 0);
    for (int q = 0; q < 3; q++) {
        queues[q] = ntk_core_queue_create(crew, 8, NTK_CORE_QUEUE_REFUSES);
        assert_non_null(queues[q]);
    }
    /* The first queue gets all of its items before the others get any. */
    struct item *item = item_create(start);
    item->mark = 1;
    item->entered = &entered;
    assert_int_equal(item_submit(queues[0], item, NULL), 0);
    wait_posted(&entered);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(item_submit_marked(queues[0], NULL, 1), 0);
    }
    for (int q = 1; q < 3; q++) {
        for (int i = 0; i < 3; i++) {
            assert_int_equal(item_submit_marked(queues[q], NULL, q + 1), 0);
        }
    }
    sem_post(start);
    ntk_core_crew_stop(crew);
    assert_int_equal(atomic_load(&run_count), 10);
    assert_memory_equal(run_log, expected, sizeof expected);
    for (int q = 0; q < 3; q++) {
        ntk_core_queue_destroy(queues[q]);
    }
    ntk_core_crew_destroy(crew);
    sem_destroy(&entered);
}

static void a_hanging_queue_does_not_block_another_queue(void **state)
{
    struct queue_fixture *f = *state;

    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(item_submit_new(f->second, NULL, NULL), 0);
        assert_int_equal(ntk_core_queue_sync(f->second), 0);
    }
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 0);
    sem_post(&f->start);
}

/* The thread on which an item ran. */
static struct {
    pthread_t thread;
    bool is_worker;
    int sync;
} ran;

static void note_thread(struct ntk_core_queue *own)
{
    ran.thread = pthread_self();
    ran.is_worker = ntk_core_crew_is_worker();
    ran.sync = ntk_core_queue_sync(own);
}

/* A queue that lets waiting threads help, while all workers are busy until start. */
static struct ntk_core_queue *queue_without_workers(struct queue_fixture *f)
{
    sem_t entered;

    sem_init(&entered, 0, 0);
    for (size_t i = 0; i < WORKERS; i++) {
        struct item *item = item_create(&f->start);
        item->entered = &entered;
        assert_int_equal(item_submit(i == 0 ? f->first : f->second, item, NULL), 0);
        wait_posted(&entered);
    }
    sem_destroy(&entered);
    struct ntk_core_queue *queue = ntk_core_queue_create(f->crew, 8, NTK_CORE_QUEUE_REFUSES);
    assert_non_null(queue);
    ntk_core_queue_let_help(queue);
    return queue;
}

static void workers_release(struct queue_fixture *f)
{
    for (size_t i = 0; i < WORKERS; i++) {
        sem_post(&f->start);
    }
}

static void a_waiting_thread_runs_the_last_queue_item_itself(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = queue_without_workers(f);

    for (uint64_t i = 1; i <= 3; i++) {
        struct item *item = item_create(NULL);
        item->also = note_thread;
        item->own = queue;
        memset(&ran, 0, sizeof ran);
        assert_int_equal(item_submit(queue, item, NULL), 0);
        assert_int_equal(ntk_core_queue_sync(queue), 0);
        assert_int_equal(ntk_core_queue_completed_get(queue), i);
        assert_int_equal(atomic_load(&destroyed_count), i);
        assert_true(pthread_equal(ran.thread, pthread_self()));
        assert_true(ran.is_worker);
        assert_int_equal(ran.sync, -EDEADLK);
        assert_false(ntk_core_crew_is_worker());
    }
    workers_release(f);
    ntk_core_queue_destroy(queue);
}

/* Method: no worker is free, and five items are queued. A thread that waits for the third one runs
 * three, and leaves the others to workers. */
static void a_waiting_thread_runs_the_items_up_to_the_one_it_waits_for(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = queue_without_workers(f);

    for (int i = 1; i <= 5; i++) {
        assert_int_equal(item_submit_marked(queue, NULL, i), 0);
    }
    assert_int_equal(ntk_core_queue_wait(queue, 3, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_queue_completed_get(queue), 3);
    assert_int_equal(atomic_load(&run_count), 3);
    workers_release(f);
    ntk_core_queue_destroy(queue);
    assert_int_equal(atomic_load(&run_count), 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(run_log[i], i + 1);
    }
}

/* Method: no thread helps with the queue or waits for it. Pauses of several lengths make workers
 * run, nap and sleep when the next item arrives. */
static void an_item_starts_whether_its_worker_naps_or_sleeps(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = ntk_core_queue_create(f->crew, 8, NTK_CORE_QUEUE_REFUSES);
    sem_t entered;

    assert_non_null(queue);
    ntk_core_queue_let_help(queue);
    sem_init(&entered, 0, 0);
    for (int i = 0; i < 300; i++) {
        struct item *item = item_create(NULL);

        item->entered = &entered;
        while (ntk_core_queue_submit(queue, &item->item, NULL) == -EAGAIN) {
            sched_yield();
        }
        wait_posted(&entered);
        (void)usleep((useconds_t)((i % 30) * (i % 30))); /* up to 0.8 ms */
    }
    ntk_core_queue_destroy(queue);
    sem_destroy(&entered);
}

struct waiter {
    struct ntk_core_queue *queue;
    uint64_t number;
    uint64_t timeout_ns;
};

static void *wait_thread(void *ctx)
{
    const struct waiter *waiter = ctx;

    assert_int_equal(ntk_core_queue_wait(waiter->queue, waiter->number, waiter->timeout_ns), 0);
    assert_true(ntk_core_queue_completed_get(waiter->queue) >= waiter->number);
    return NULL;
}

/* Method: each item waits for the test, so that each thread is woken by its own item. */
static void every_waiting_thread_wakes_for_its_item(void **state)
{
    enum { COUNT = 6 };
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = ntk_core_queue_create(f->crew, COUNT, NTK_CORE_QUEUE_REFUSES);
    struct waiter waiters[COUNT];
    pthread_t threads[COUNT];

    assert_non_null(queue);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(item_submit_new(queue, &f->start, NULL), 0);
    }
    for (int i = 0; i < COUNT; i++) { /* in another order than the items */
        waiters[i] = (struct waiter){ queue, (uint64_t)(i * 5 % COUNT) + 1,
                                      i % 2 ? NTK_CORE_QUEUE_FOREVER : 600000000000U };
        assert_int_equal(pthread_create(&threads[i], NULL, wait_thread, &waiters[i]), 0);
    }
    for (uint64_t number = 1; number <= COUNT; number++) {
        sem_post(&f->start);
        for (int i = 0; i < COUNT; i++) {
            if (waiters[i].number == number) {
                pthread_join(threads[i], NULL);
            }
        }
    }
    ntk_core_queue_destroy(queue);
}

static struct ntk_core_queue *reserved_again;

static void reserve_again(struct ntk_core_queue *own)
{
    note_thread(own);
    assert_false(ntk_core_queue_reserve(own));
    assert_int_equal(item_submit_marked(own, NULL, 2), 0);
    reserved_again = own;
}

/* Method: no worker is free. The item submits another one, which waits for a worker. */
static void a_thread_runs_the_item_of_a_queue_that_it_reserved(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = queue_without_workers(f);
    struct item *item = item_create(NULL);

    item->also = reserve_again;
    item->own = queue;
    item->mark = 1;
    memset(&ran, 0, sizeof ran);
    assert_true(ntk_core_queue_reserve(queue));
    assert_false(ntk_core_queue_reserve(queue));
    ntk_core_queue_run(queue, &item->item);
    assert_ptr_equal(reserved_again, queue);
    assert_true(pthread_equal(ran.thread, pthread_self()));
    assert_true(ran.is_worker);
    assert_int_equal(ran.sync, -EDEADLK);
    assert_false(ntk_core_crew_is_worker());
    assert_int_equal(ntk_core_queue_completed_get(queue), 1);
    assert_int_equal(atomic_load(&destroyed_count), 1);
    assert_false(ntk_core_queue_reserve(queue));
    workers_release(f);
    assert_int_equal(ntk_core_queue_wait(queue, 2, NTK_CORE_QUEUE_FOREVER), 0);
    ntk_core_queue_destroy(queue);
    assert_int_equal(run_log[0], 1);
    assert_int_equal(run_log[1], 2);
}

static void a_broken_or_shut_queue_cannot_be_reserved(void **state)
{
    struct queue_fixture *f = *state;
    struct item *item = item_create(NULL);

    item->is_breaking = true;
    assert_true(ntk_core_queue_reserve(f->first));
    ntk_core_queue_run(f->first, &item->item);
    assert_false(ntk_core_queue_reserve(f->first));
    assert_true(ntk_core_queue_reserve(f->second));
    ntk_core_queue_run(f->second, &item_create(NULL)->item);
    ntk_core_crew_shut(f->crew);
    assert_false(ntk_core_queue_reserve(f->second));
}

/* Method: the queue that helps is the last of three in line. */
static void a_waiting_thread_runs_only_items_of_its_queue(void **state)
{
    static const int expected[] = { 3, 1, 2 };
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queues[3];

    queues[2] = queue_without_workers(f);
    for (int q = 0; q < 3; q++) {
        queues[q] = q == 2 ? queues[2] : ntk_core_queue_create(f->crew, 8, NTK_CORE_QUEUE_REFUSES);
        assert_int_equal(item_submit_marked(queues[q], NULL, q + 1), 0);
    }
    assert_int_equal(ntk_core_queue_sync(queues[2]), 0);
    assert_int_equal(atomic_load(&run_count), 1);
    sem_post(&f->start); /* one worker, so that the others run in order */
    assert_int_equal(ntk_core_queue_sync(queues[0]), 0);
    assert_int_equal(ntk_core_queue_sync(queues[1]), 0);
    assert_memory_equal(run_log, expected, sizeof expected);
    sem_post(&f->start);
    for (int q = 0; q < 3; q++) {
        ntk_core_queue_destroy(queues[q]);
    }
}

static void a_thread_waiting_with_a_timeout_runs_no_queue_items(void **state)
{
    struct queue_fixture *f = *state;
    struct ntk_core_queue *queue = queue_without_workers(f);

    assert_int_equal(item_submit_marked(queue, NULL, 1), 0);
    assert_int_equal(ntk_core_queue_wait(queue, 1, 0), -ETIMEDOUT);
    assert_int_equal(ntk_core_queue_wait(queue, 1, NTK_NS_PER_MS), -ETIMEDOUT);
    assert_int_equal(atomic_load(&run_count), 0);
    workers_release(f);
    ntk_core_queue_destroy(queue);
    assert_int_equal(atomic_load(&run_count), 1);
}

struct many {
    struct ntk_core_queue *queues[QUEUES];
    struct ntk_core_notifier *begin[QUEUES], *end[QUEUES];
};

static void thousands_of_queues_need_no_additional_threads(void **state)
{
    struct queue_fixture *f = *state;
    struct many *many = calloc(1, sizeof *many);
    uint32_t threads_before = threads_count();
    _Atomic uint64_t *last = calloc(QUEUES, sizeof *last);

    assert_non_null(many);
    assert_non_null(last);
    for (uint32_t q = 0; q < QUEUES; q++) {
        many->queues[q] = ntk_core_queue_create(f->crew, 8, NTK_CORE_QUEUE_REFUSES);
        many->begin[q] = ntk_core_notifier_create(f->crew);
        many->end[q] = ntk_core_notifier_create(f->crew);
        assert_non_null(many->queues[q]);
        assert_non_null(many->begin[q]);
        assert_non_null(many->end[q]);
    }
    assert_int_equal(threads_count(), threads_before);
    for (uint32_t q = 0; q < QUEUES; q++) {
        assert_int_equal(ntk_core_notifier_place(many->begin[q], many->queues[q]), 0);
        atomic_store(&last[q], 1); /* the notifier has the first number */
        for (int i = 0; i < 2; i++) {
            struct item *item = item_create(NULL);

            item->last = &last[q];
            assert_int_equal(item_submit(many->queues[q], item, NULL), 0);
        }
        assert_int_equal(ntk_core_notifier_place(many->end[q], many->queues[q]), 0);
    }
    assert_true(threads_count() <= threads_before + WORKERS);
    for (uint32_t q = 0; q < QUEUES; q++) {
        int64_t elapsed_ns = 0;

        /* Some queues are synchronised, others are destroyed with items in them. */
        if (q % 2) {
            assert_int_equal(ntk_core_queue_sync(many->queues[q]), 0);
            assert_int_equal(ntk_core_queue_completed_get(many->queues[q]), 4);
        }
        ntk_core_queue_destroy(many->queues[q]);
        assert_int_equal(ntk_core_notifier_elapsed_get(many->begin[q], many->end[q], &elapsed_ns),
                         0);
        assert_true(elapsed_ns > 0);
        assert_int_equal(atomic_load(&last[q]), 3);
        ntk_core_notifier_destroy(many->begin[q]);
        ntk_core_notifier_destroy(many->end[q]);
    }
    assert_int_equal(atomic_load(&destroyed_count), 2 * QUEUES);
    assert_int_equal(atomic_load(&disorder_seen), 0);
    free(last);
    free(many);
}

/* Every queue waits for the previous one. */
static void a_chain_of_four_thousand_waiting_queues_completes(void **state)
{
    struct queue_fixture *f = *state;
    struct many *many = calloc(1, sizeof *many);

    assert_non_null(many);
    assert_int_equal(item_submit_new(f->first, &f->start, NULL), 0);
    for (uint32_t q = 0; q < QUEUES; q++) {
        many->queues[q] = ntk_core_queue_create(f->crew, 4, NTK_CORE_QUEUE_REFUSES);
        many->end[q] = ntk_core_notifier_create(f->crew);
        if (q == 0) {
            assert_int_equal(ntk_core_notifier_place(many->end[q], f->first), 0);
        } else {
            assert_int_equal(ntk_core_notifier_queue_wait(many->end[q - 1], many->queues[q]), 0);
            assert_int_equal(ntk_core_notifier_place(many->end[q], many->queues[q]), 0);
        }
    }
    assert_int_equal(ntk_core_notifier_is_reached(many->end[QUEUES - 1]), 0);
    sem_post(&f->start);
    assert_int_equal(ntk_core_notifier_wait(many->end[QUEUES - 1], NTK_CORE_QUEUE_FOREVER), 0);
    for (uint32_t q = 0; q < QUEUES; q++) {
        ntk_core_queue_destroy(many->queues[q]);
        ntk_core_notifier_destroy(many->end[q]);
    }
    free(many);
}

static _Atomic uint64_t stress_latest[2];

struct stress {
    struct ntk_core_queue *queues[2];
    struct ntk_core_notifier *notifiers[2];
    _Atomic int accepted;
};

static bool stress_run(struct ntk_core_queue_item *queued, bool is_broken)
{
    const struct item *item = (struct item *)queued;
    /* Notifiers have numbers too. */
    uint64_t before = atomic_exchange(&stress_latest[item->mark], queued->number);

    if (before >= queued->number || is_broken) {
        atomic_fetch_add(&disorder_seen, 1);
    }
    return true;
}

static void *stress_thread(void *ctx)
{
    struct stress *stress = ctx;

    for (int i = 0; i < STRESS_ITEMS; i++) {
        struct ntk_core_queue *queue = stress->queues[i % 2];
        struct item *item = item_create(NULL);
        uint64_t number = 0;
        int64_t elapsed_ns = 0;

        item->item.run = stress_run;
        item->mark = i % 2;
        if (i % 8 == 3 && ntk_core_queue_reserve(queue)) {
            atomic_fetch_add(&stress->accepted, 1);
            ntk_core_queue_run(queue, &item->item);
        } else if (item_submit(queue, item, &number) == 0) {
            atomic_fetch_add(&stress->accepted, 1);
            (void)ntk_core_queue_is_complete(queue, number);
        } else {
            (void)ntk_core_queue_sync(queue);
        }
        if (i % 16 < 2) {
            (void)ntk_core_notifier_place(stress->notifiers[i % 2], queue);
            (void)ntk_core_notifier_queue_wait(stress->notifiers[1 - i % 2], queue);
            (void)ntk_core_notifier_elapsed_get(stress->notifiers[0], stress->notifiers[1],
                                                &elapsed_ns);
        }
        if (i % 64 == 0) {
            (void)ntk_core_notifier_wait(stress->notifiers[0], NTK_CORE_QUEUE_FOREVER);
        }
    }
    return NULL;
}

static void queue_order_is_kept_with_many_threads(void **state)
{
    static struct stress stress;
    struct queue_fixture *f = *state;
    pthread_t threads[STRESS_THREADS];

    memset(&stress, 0, sizeof stress);
    for (int q = 0; q < 2; q++) {
        stress.queues[q] = ntk_core_queue_create(
            f->crew, 64, q == 0 ? NTK_CORE_QUEUE_REFUSES : NTK_CORE_QUEUE_WAITS);
        if (q == 0) {
            ntk_core_queue_let_help(stress.queues[q]);
        }
        stress.notifiers[q] = ntk_core_notifier_create(f->crew);
        atomic_store(&stress_latest[q], 0);
    }
    for (int i = 0; i < STRESS_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, stress_thread, &stress), 0);
    }
    for (int i = 0; i < STRESS_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int q = 0; q < 2; q++) {
        ntk_core_queue_destroy(stress.queues[q]);
        ntk_core_notifier_destroy(stress.notifiers[q]);
    }
    assert_int_equal(atomic_load(&destroyed_count), atomic_load(&stress.accepted));
    assert_int_equal(atomic_load(&disorder_seen), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        QUEUE_TEST(one_worker_alternates_between_queues),
        QUEUE_TEST(a_hanging_queue_does_not_block_another_queue),
        QUEUE_TEST(a_waiting_thread_runs_the_last_queue_item_itself),
        QUEUE_TEST(a_waiting_thread_runs_only_items_of_its_queue),
        QUEUE_TEST(a_waiting_thread_runs_the_items_up_to_the_one_it_waits_for),
        QUEUE_TEST(an_item_starts_whether_its_worker_naps_or_sleeps),
        QUEUE_TEST(every_waiting_thread_wakes_for_its_item),
        QUEUE_TEST(a_thread_runs_the_item_of_a_queue_that_it_reserved),
        QUEUE_TEST(a_broken_or_shut_queue_cannot_be_reserved),
        QUEUE_TEST(a_thread_waiting_with_a_timeout_runs_no_queue_items),
        QUEUE_TEST(thousands_of_queues_need_no_additional_threads),
        QUEUE_TEST(a_chain_of_four_thousand_waiting_queues_completes),
        QUEUE_TEST(queue_order_is_kept_with_many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
