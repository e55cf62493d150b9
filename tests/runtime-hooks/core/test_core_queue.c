/* SPDX-License-Identifier: MIT */
/*
 * Queues of items, the crew that works them off, notifiers. Method: items that wait for a word of
 * the test, so that what is queued, runs and is complete is known at every moment.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime-hooks/core/core_notifier.h"
#include "runtime-hooks/core/core_queue.h"
#include "shared/base/clock.h"
#include "tests/support/unit.h"

#define DEPTH 3U
#define WORKERS 2U
#define LOG_MAX 64
#define QUEUES 4094U /* of one process, in the interface that has the most */
#define STRESS_THREADS 4
#define STRESS_ITEMS 2000

static _Atomic int broken_seen;
static _Atomic int disorder_seen;
static _Atomic int destroyed_count;
/* Marks of items in the order in which they ran. */
static _Atomic int run_count;
static int run_log[LOG_MAX];

struct item {
    struct ntk_core_queue_item item;
    sem_t *entered;         /* told that it runs, unless NULL */
    sem_t *start;           /* waited for, unless NULL */
    _Atomic uint64_t *last; /* number of the latest that ran */
    int mark;               /* for the log, unless 0 */
    bool is_breaking;
    struct ntk_core_queue_item *end;          /* gets a copy, unless NULL */
    void (*also)(struct ntk_core_queue *own); /* done in run, unless NULL */
    struct ntk_core_queue *own;
};

static bool item_run(struct ntk_core_queue_item *queued, bool is_broken)
{
    struct item *item = (struct item *)queued;

    if (is_broken) {
        atomic_fetch_add(&broken_seen, 1);
    }
    if (item->entered) {
        sem_post(item->entered);
    }
    while (item->start && sem_wait(item->start) != 0) {
    }
    if (item->last && atomic_exchange(item->last, queued->number) != queued->number - 1) {
        atomic_fetch_add(&disorder_seen, 1);
    }
    if (item->mark > 0) {
        run_log[atomic_fetch_add(&run_count, 1)] = item->mark;
    }
    if (item->also) {
        item->also(item->own);
    }
    return !item->is_breaking;
}

static void item_destroy(struct ntk_core_queue_item *queued)
{
    struct item *item = (struct item *)queued;

    if (item->end) {
        *item->end = *queued;
    }
    free(item);
    atomic_fetch_add(&destroyed_count, 1);
}

static struct item *item_create(sem_t *start)
{
    struct item *item = calloc(1, sizeof *item);

    assert_non_null(item);
    item->item.run = item_run;
    item->item.destroy = item_destroy;
    item->start = start;
    return item;
}

static int submit_item(struct ntk_core_queue *queue, struct item *item, uint64_t *number)
{
    int ret = ntk_core_queue_submit(queue, &item->item, number);

    if (ret < 0) {
        free(item);
    }
    return ret;
}

static int submit(struct ntk_core_queue *queue, sem_t *start, uint64_t *number)
{
    return submit_item(queue, item_create(start), number);
}

static int submit_marked(struct ntk_core_queue *queue, sem_t *start, int mark)
{
    struct item *item = item_create(start);

    item->mark = mark;
    return submit_item(queue, item, NULL);
}

/* A crew of WORKERS with two queues of DEPTH that refuse when full. */
struct fixture {
    struct ntk_core_crew *crew;
    struct ntk_core_queue *first, *second;
    sem_t start;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->crew = ntk_core_crew_create(WORKERS);
    assert_non_null(f->crew);
    f->first = ntk_core_queue_create(f->crew, DEPTH, NTK_CORE_QUEUE_REFUSES);
    f->second = ntk_core_queue_create(f->crew, DEPTH, NTK_CORE_QUEUE_REFUSES);
    assert_non_null(f->first);
    assert_non_null(f->second);
    sem_init(&f->start, 0, 0);
    atomic_store(&broken_seen, 0);
    atomic_store(&disorder_seen, 0);
    atomic_store(&destroyed_count, 0);
    atomic_store(&run_count, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_core_queue_destroy(f->first);
    ntk_core_queue_destroy(f->second);
    ntk_core_crew_destroy(f->crew);
    sem_destroy(&f->start);
    free(f);
    return 0;
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

static void wait_posted(sem_t *sem)
{
    while (sem_wait(sem) != 0) {
    }
}

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

static void a_full_queue_refuses_until_one_is_complete(void **state)
{
    struct fixture *f = *state;
    uint64_t number = 0;

    for (uint64_t i = 1; i <= DEPTH; i++) {
        assert_int_equal(submit(f->first, &f->start, &number), 0);
        assert_int_equal(number, i);
    }
    assert_int_equal(submit(f->first, &f->start, &number), -EAGAIN);
    assert_int_equal(number, DEPTH);
    /* Its neighbour is not full. */
    assert_int_equal(submit(f->second, NULL, NULL), 0);
    assert_int_equal(ntk_core_queue_sync(f->second), 0);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 0);
    sem_post(&f->start);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 2), 0);
    assert_int_equal(submit(f->first, &f->start, &number), 0);
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

    submission->ret = submit(submission->queue, submission->start, NULL);
    atomic_store(&submission->is_back, true);
    return NULL;
}

static struct {
    int submit, sync, wait;
    bool is_worker;
} from_worker;

/* What a worker may not wait for: its own queue to have room, or to be complete. */
static void own_queue_wait(struct ntk_core_queue *own)
{
    from_worker.submit = submit(own, NULL, NULL);
    from_worker.sync = ntk_core_queue_sync(own);
    from_worker.wait = ntk_core_queue_wait(own, 1, 0);
    from_worker.is_worker = ntk_core_crew_is_worker();
}

static void a_full_queue_that_waits_takes_the_item_when_there_is_room(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_queue *queue = ntk_core_queue_create(f->crew, 1, NTK_CORE_QUEUE_WAITS);
    struct submission submission = { .queue = queue, .start = &f->start };
    struct item *item = item_create(&f->start);
    pthread_t thread;

    assert_non_null(queue);
    item->also = own_queue_wait;
    item->own = queue;
    assert_int_equal(submit_item(queue, item, NULL), 0);
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

static void what_was_never_submitted_is_refused(void **state)
{
    struct fixture *f = *state;
    int fd = eventfd(0, 0);

    for (uint64_t number = 0; number < 2; number++) {
        assert_int_equal(ntk_core_queue_is_complete(f->first, number), -EINVAL);
        assert_int_equal(ntk_core_queue_wait(f->first, number, 0), -EINVAL);
        assert_int_equal(ntk_core_queue_watch(f->first, number, fd), -EINVAL);
        assert_int_equal(ntk_core_queue_watch(f->first, number, -1), -EINVAL);
    }
    assert_int_equal(ntk_core_queue_completed_get(f->first), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(submit(f->first, NULL, NULL), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(ntk_core_queue_completed_get(f->first), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 0), -EINVAL);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 1);
    assert_int_equal(ntk_core_queue_is_complete(f->first, 2), -EINVAL);
    close(fd);
}

static void a_broken_queue_tells_what_waits_and_refuses_the_rest(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    struct item *item = item_create(&f->start);

    item->is_breaking = true;
    assert_int_equal(submit_item(f->first, item, NULL), 0);
    assert_int_equal(submit(f->first, NULL, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), 0);
    sem_post(&f->start);
    /* What waits for it waits no longer than for a sound one. */
    assert_int_equal(ntk_core_notifier_wait(notifier, NTK_CORE_QUEUE_FOREVER), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_int_equal(atomic_load(&broken_seen), 1);
    assert_int_equal(submit(f->first, NULL, NULL), -ENOTRECOVERABLE);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), -ENOTRECOVERABLE);
    assert_int_equal(ntk_core_notifier_is_reached(notifier), 1);
    assert_int_equal(submit(f->second, NULL, NULL), 0);
    ntk_core_notifier_destroy(notifier);
}

static void a_stop_runs_what_is_queued(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        assert_int_equal(submit(i % 2 ? f->first : f->second, &f->start, NULL), 0);
    }
    ntk_core_crew_shut(f->crew);
    assert_int_equal(submit(f->first, NULL, NULL), -ESHUTDOWN);
    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        sem_post(&f->start);
    }
    ntk_core_crew_stop(f->crew);
    assert_int_equal(atomic_load(&destroyed_count), 2 * DEPTH);
    assert_int_equal(submit(f->first, NULL, NULL), -ESHUTDOWN);
    assert_int_equal(ntk_core_queue_is_complete(f->first, DEPTH), 1);
    ntk_core_crew_stop(f->crew);
}

static _Atomic int accepted_count;

/* Until the queue is being destroyed. */
static void own_queue_feed(struct ntk_core_queue *own)
{
    int ret = 0;

    while (ret != -ESHUTDOWN) {
        ret = submit(own, NULL, NULL);
        atomic_fetch_add(&accepted_count, ret == 0);
        (void)sched_yield();
    }
}

static void a_destroyed_queue_runs_what_is_queued(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    struct item *item = item_create(NULL);

    atomic_store(&accepted_count, 1);
    item->also = own_queue_feed;
    item->own = f->first;
    assert_int_equal(submit_item(f->first, item, NULL), 0);
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

static void watches_outlive_the_callers_descriptor(void **state)
{
    struct fixture *f = *state;
    uint64_t value = 0;
    int pipe_fds[2];

    int fd = eventfd(0, EFD_NONBLOCK);
    int all_fd = eventfd(0, EFD_NONBLOCK);
    int taken_back_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(ntk_core_queue_watch_all(f->first, all_fd), 0);
    assert_int_equal(submit(f->first, &f->start, NULL), 0);
    assert_int_equal(submit(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_queue_watch(f->first, 3, fd), -EINVAL);
    assert_int_equal(ntk_core_queue_watch(f->first, 1, pipe_fds[1]), -EINVAL);
    assert_int_equal(ntk_core_queue_watch(f->first, 1, 1000000), -EINVAL);
    assert_int_equal(ntk_core_queue_watch(f->first, 2, taken_back_fd), 0);
    assert_int_equal(ntk_core_queue_watch(f->first, 2, -1), 0);
    assert_int_equal(ntk_core_queue_watch(f->first, 2, fd), 0);
    int closed_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(ntk_core_queue_watch(f->first, 1, closed_fd), 0);
    /* The number of a descriptor that the caller closed may be another file's by then. */
    assert_int_equal(dup2(pipe_fds[1], closed_fd), closed_fd);
    assert_false(is_readable(fd));
    sem_post(&f->start);
    wait_readable(all_fd);
    assert_false(is_readable(fd));
    assert_false(is_readable(pipe_fds[0]));
    sem_post(&f->start);
    wait_readable(fd);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_false(is_readable(pipe_fds[0]));
    assert_false(is_readable(taken_back_fd));
    assert_int_equal(eventfd_read(all_fd, &value), 0);
    assert_int_equal(value, 2);
    assert_int_equal(ntk_core_queue_watch_all(f->first, -1), 0);
    assert_int_equal(submit(f->first, NULL, NULL), 0);
    assert_int_equal(ntk_core_queue_sync(f->first), 0);
    assert_false(is_readable(all_fd));
    /* Complete already: at once. */
    assert_int_equal(ntk_core_queue_watch(f->first, 1, all_fd), 0);
    assert_true(is_readable(all_fd));
    close(fd);
    close(all_fd);
    close(taken_back_fd);
    close(closed_fd);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void items_know_when_they_were_submitted_began_and_ended(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_queue_item ends[DEPTH];
    uint64_t before = ntk_clock_monotonic_ns();

    for (uint32_t i = 0; i < DEPTH; i++) {
        struct item *item = item_create(&f->start);

        item->end = &ends[i];
        assert_int_equal(submit_item(f->first, item, NULL), 0);
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

static void a_wait_ends_at_its_time_and_leaves_the_item_alone(void **state)
{
    struct fixture *f = *state;
    uint64_t before = ntk_clock_monotonic_ns();

    assert_int_equal(submit(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, 0), -ETIMEDOUT);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, 10 * NTK_NS_PER_MS), -ETIMEDOUT);
    assert_true(ntk_clock_monotonic_ns() - before >= 10 * NTK_NS_PER_MS);
    sem_post(&f->start);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, UINT64_MAX - 1), 0);
    assert_int_equal(ntk_core_queue_wait(f->first, 1, 0), 0);
}

static void queues_take_turns_with_one_worker(void **state)
{
    /* The one that runs goes behind the two that come meanwhile. */
    static const int expected[] = { 1, 2, 3, 1, 2, 3, 1, 2, 3, 1 };
    struct ntk_core_crew *crew = ntk_core_crew_create(1);
    struct ntk_core_queue *queues[3];
    sem_t *start = &((struct fixture *)*state)->start;
    sem_t entered;

    sem_init(&entered, 0, 0);
    for (int q = 0; q < 3; q++) {
        queues[q] = ntk_core_queue_create(crew, 8, NTK_CORE_QUEUE_REFUSES);
        assert_non_null(queues[q]);
    }
    /* The first has all it will have before the others get anything. */
    struct item *item = item_create(start);
    item->mark = 1;
    item->entered = &entered;
    assert_int_equal(submit_item(queues[0], item, NULL), 0);
    wait_posted(&entered);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(submit_marked(queues[0], NULL, 1), 0);
    }
    for (int q = 1; q < 3; q++) {
        for (int i = 0; i < 3; i++) {
            assert_int_equal(submit_marked(queues[q], NULL, q + 1), 0);
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

static void a_queue_that_hangs_does_not_hold_up_another(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(submit(f->first, &f->start, NULL), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(submit(f->second, NULL, NULL), 0);
        assert_int_equal(ntk_core_queue_sync(f->second), 0);
    }
    assert_int_equal(ntk_core_queue_is_complete(f->first, 1), 0);
    sem_post(&f->start);
}

static void notifiers_tell_how_long_the_work_between_them_took(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_notifier *begin = ntk_core_notifier_create(f->crew);
    struct ntk_core_notifier *end = ntk_core_notifier_create(f->crew);
    struct ntk_core_queue_item done = { 0 };
    int64_t elapsed_ns = -7;

    assert_int_equal(ntk_core_notifier_is_reached(begin), -EINVAL);
    assert_int_equal(ntk_core_notifier_wait(begin, 0), -EINVAL);
    assert_int_equal(ntk_core_notifier_queue_wait(begin, f->second), -EINVAL);
    uint64_t before = ntk_clock_monotonic_ns();
    assert_int_equal(ntk_core_notifier_place(begin, f->first), 0);
    /* An empty queue is there already: no worker is needed. */
    assert_int_equal(ntk_core_notifier_is_reached(begin), 1);
    assert_int_equal(ntk_core_notifier_elapsed_get(begin, end, &elapsed_ns), -EINVAL);
    struct item *item = item_create(&f->start);
    item->end = &done;
    assert_int_equal(submit_item(f->first, item, NULL), 0);
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
    /* Placed again, it stands for the later place. */
    assert_int_equal(ntk_core_notifier_place(begin, f->first), 0);
    assert_int_equal(ntk_core_notifier_elapsed_get(end, begin, &back_ns), 0);
    assert_true(back_ns >= 0);
    ntk_core_notifier_destroy(begin);
    ntk_core_notifier_destroy(end);
    ntk_core_notifier_destroy(NULL);
}

static void a_notifier_takes_its_place_in_order_and_depth(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    uint64_t number = 0;

    assert_int_equal(submit(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), 0);
    assert_int_equal(submit(f->first, &f->start, &number), 0);
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

static void a_queue_waits_for_a_notifier_in_another(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_notifier *notifier = ntk_core_notifier_create(f->crew);
    sem_t later;

    sem_init(&later, 0, 0);
    assert_int_equal(submit_marked(f->first, &f->start, 1), 0);
    assert_int_equal(ntk_core_notifier_place(notifier, f->first), 0);
    assert_int_equal(submit_marked(f->first, &later, 3), 0);
    assert_int_equal(ntk_core_notifier_queue_wait(notifier, f->second), 0);
    assert_int_equal(submit_marked(f->second, NULL, 2), 0);
    /* It waits for the place that the notifier had, which goes on without the notifier. */
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

/* Returns when the thread sleeps, as the kernel tells. */
static void sleeping_wait(const _Atomic int *tid)
{
    char path[64];
    char state = 0;

    while (state != 'S') {
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(tid));
        FILE *file = atomic_load(tid) ? fopen(path, "re") : NULL;

        if (file) {
            assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
            (void)fclose(file);
        }
        sched_yield();
    }
}

static void who_waits_for_a_notifier_goes_on_without_it(void **state)
{
    struct fixture *f = *state;
    struct notifier_wait wait = { .notifier = ntk_core_notifier_create(f->crew), .ret = -1 };
    pthread_t thread;

    assert_int_equal(submit(f->first, &f->start, NULL), 0);
    assert_int_equal(ntk_core_notifier_place(wait.notifier, f->first), 0);
    assert_int_equal(pthread_create(&thread, NULL, notifier_wait_thread, &wait), 0);
    sleeping_wait(&wait.tid);
    ntk_core_notifier_destroy(wait.notifier);
    sem_post(&f->start);
    pthread_join(thread, NULL);
    assert_int_equal(wait.ret, 0);
}

struct many {
    struct ntk_core_queue *queues[QUEUES];
    struct ntk_core_notifier *begin[QUEUES], *end[QUEUES];
};

static void four_thousand_queues_need_no_thread_of_their_own(void **state)
{
    struct fixture *f = *state;
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
        atomic_store(&last[q], 1); /* the notifier is the first */
        for (int i = 0; i < 2; i++) {
            struct item *item = item_create(NULL);

            item->last = &last[q];
            assert_int_equal(submit_item(many->queues[q], item, NULL), 0);
        }
        assert_int_equal(ntk_core_notifier_place(many->end[q], many->queues[q]), 0);
    }
    assert_true(threads_count() <= threads_before + WORKERS);
    for (uint32_t q = 0; q < QUEUES; q++) {
        int64_t elapsed_ns = 0;

        /* Some are synchronised, some destroyed with what is in them. */
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

/* Every queue waits for the one before it. */
static void a_chain_of_four_thousand_queues_runs_through(void **state)
{
    struct fixture *f = *state;
    struct many *many = calloc(1, sizeof *many);

    assert_non_null(many);
    assert_int_equal(submit(f->first, &f->start, NULL), 0);
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
        if (submit_item(queue, item, &number) == 0) {
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

static void many_threads_keep_the_order_of_every_queue(void **state)
{
    static struct stress stress;
    struct fixture *f = *state;
    pthread_t threads[STRESS_THREADS];

    memset(&stress, 0, sizeof stress);
    for (int q = 0; q < 2; q++) {
        stress.queues[q] = ntk_core_queue_create(
            f->crew, 64, q == 0 ? NTK_CORE_QUEUE_REFUSES : NTK_CORE_QUEUE_WAITS);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_full_queue_refuses_until_one_is_complete),
        TEST(a_full_queue_that_waits_takes_the_item_when_there_is_room),
        TEST(what_was_never_submitted_is_refused),
        TEST(a_broken_queue_tells_what_waits_and_refuses_the_rest),
        TEST(a_stop_runs_what_is_queued),
        TEST(a_destroyed_queue_runs_what_is_queued),
        TEST(watches_outlive_the_callers_descriptor),
        TEST(items_know_when_they_were_submitted_began_and_ended),
        TEST(a_wait_ends_at_its_time_and_leaves_the_item_alone),
        TEST(queues_take_turns_with_one_worker),
        TEST(a_queue_that_hangs_does_not_hold_up_another),
        TEST(notifiers_tell_how_long_the_work_between_them_took),
        TEST(a_notifier_takes_its_place_in_order_and_depth),
        TEST(a_queue_waits_for_a_notifier_in_another),
        TEST(who_waits_for_a_notifier_goes_on_without_it),
        TEST(four_thousand_queues_need_no_thread_of_their_own),
        TEST(a_chain_of_four_thousand_queues_runs_through),
        TEST(many_threads_keep_the_order_of_every_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
