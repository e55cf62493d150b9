/* SPDX-License-Identifier: MIT */
/* Queues and notifiers, with the calls of the third generation. */
#include "neuware/g3/cnrt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/ring/ring_registry.h"
#include "tests/runtime-hooks/cnrt/cards.h"
#include "tests/support/unit.h"

static double now_us(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static cnrtQueue_t queue_make(void)
{
    cnrtQueue_t queue = NULL;

    assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
    return queue;
}

static void a_queue_does_not_wait_for_a_slower_queue(void **state)
{
    cnrtQueue_t slow = queue_make();
    cnrtQueue_t fast = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task held = { .code = 0 };
    struct cards_task quick = { .is_let_go = true };

    cards_push(slow, program, &held);
    cards_push(fast, program, &quick);
    assert_int_equal(cnrtSyncQueue(fast), CNRT_RET_SUCCESS);
    assert_true(quick.is_destroyed);
    assert_false(held.is_destroyed);
    held.is_let_go = true;
    assert_int_equal(cnrtSyncQueue(slow), CNRT_RET_SUCCESS);
    assert_true(held.is_destroyed);
    assert_int_equal(cnrtDestroyQueue(slow), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtDestroyQueue(fast), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(program);
}

struct order {
    atomic_int next;
    int seen[50];
};
struct numbered {
    struct cards_task task;
    struct order *order;
    int number;
};

static void note(void *ctx)
{
    struct numbered *numbered = ctx;

    numbered->order->seen[atomic_fetch_add(&numbered->order->next, 1)] = numbered->number;
}

static void tasks_in_a_queue_run_in_order(void **state)
{
    cnrtQueue_t queue = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct order order = { .next = 0 };
    struct numbered tasks[50];

    memset(tasks, 0, sizeof tasks);
    for (int i = 0; i < 50; i++) {
        tasks[i].order = &order;
        tasks[i].number = i;
        tasks[i].task.work = note;
        tasks[i].task.ctx = &tasks[i];
        tasks[i].task.is_let_go = true;
        cards_push(queue, program, &tasks[i].task);
    }
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(order.seen[i], i);
    }
    ntk_cnrt_program_drop(program);
}

static void the_duration_between_notifiers_is_in_microseconds(void **state)
{
    cnrtQueue_t queue = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task task = { .code = 0 };
    cnrtNotifier_t start = NULL;
    cnrtNotifier_t end = NULL;
    float us = -1;

    assert_int_equal(cnrtCreateNotifier(&start), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateNotifier(&end), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtNotifierDuration(start, end, &us), CNRT_RET_ERR_NOTIFIER);
    assert_int_equal(cnrtQueryNotifier(end), CNRT_RET_ERR_NOTIFIER);
    double begin_us = now_us();
    assert_int_equal(cnrtPlaceNotifier(start, queue), CNRT_RET_SUCCESS);
    cards_push(queue, program, &task);
    assert_int_equal(cnrtPlaceNotifier(end, queue), CNRT_RET_SUCCESS);
    cards_running_wait(&task);
    assert_int_equal(cnrtQueryNotifier(start), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtQueryNotifier(end), CNRT_RET_ERR_BUSY);
    assert_int_equal(cnrtNotifierDuration(start, end, &us), CNRT_RET_ERR_NOT_READY);
    assert_true(us == -1);
    double running_us = now_us();
    double released_us = now_us();
    task.is_let_go = true;
    assert_int_equal(cnrtWaitNotifier(end), CNRT_RET_SUCCESS);
    double wall_us = now_us() - begin_us;
    assert_int_equal(cnrtNotifierDuration(start, end, &us), CNRT_RET_SUCCESS);
    /* At least the time measured inside, and at most the time measured around it. */
    assert_true(us >= (float)(released_us - running_us));
    assert_true(us <= (float)wall_us);
    assert_int_equal(cnrtDestroyNotifier(&start), CNRT_RET_SUCCESS);
    assert_null(start);
    assert_int_equal(cnrtNotifierDuration(start, end, &us), CNRT_RET_ERR_NOTIFIER);
    ntk_cnrt_program_drop(program);
}

static void a_queue_waits_for_a_notifier_in_another_queue(void **state)
{
    cnrtQueue_t first = queue_make();
    cnrtQueue_t second = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task before = { .code = 0 };
    struct cards_task after = { .is_let_go = true };
    cnrtNotifier_t notifier = NULL;

    assert_int_equal(cnrtCreateNotifier(&notifier), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtQueueWaitNotifier(notifier, second, 0), CNRT_RET_ERR_NOTIFIER);
    cards_push(first, program, &before);
    assert_int_equal(cnrtPlaceNotifier(notifier, first), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtQueueWaitNotifier(notifier, second, 1), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtQueueWaitNotifier(notifier, second, 0), CNRT_RET_SUCCESS);
    cards_push(second, program, &after);
    cards_running_wait(&before);
    assert_false(after.is_running);
    before.is_let_go = true;
    assert_int_equal(cnrtSyncQueue(second), CNRT_RET_SUCCESS);
    assert_true(before.is_destroyed);
    assert_true(after.is_destroyed);
    ntk_cnrt_program_drop(program);
}

static void a_task_error_is_reported_once_by_the_next_synchronisation(void **state)
{
    cnrtQueue_t queue = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task bad = { .is_let_go = true, .code = CNRT_RET_ERR_MATH_OVERFLOW };
    struct cards_task worse = { .is_let_go = true, .code = CNRT_RET_ERR_SYS };
    struct cards_task good = { .is_let_go = true };

    cards_push(queue, program, &bad);
    cards_push(queue, program, &worse);
    cards_push(queue, program, &good);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_ERR_MATH_OVERFLOW);
    assert_int_equal(cnrtGetLastErr(), CNRT_RET_ERR_MATH_OVERFLOW);
    assert_true(good.is_destroyed);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(program);
}

static void the_queue_limit_applies_to_each_device(void **state)
{
    static cnrtQueue_t queues[4094];
    cnrtQueue_t more = NULL;
    cnrtDev_t dev = 0;

    for (size_t i = 0; i < 4094; i++) {
        queues[i] = queue_make();
    }
    assert_int_equal(cnrtCreateQueue(&more), CNRT_RET_ERR_NORES);
    assert_null(more);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateQueue(&more), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtDestroyQueue(queues[7]), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCreateQueue(&queues[7]), CNRT_RET_SUCCESS);
    for (size_t i = 0; i < 4094; i++) {
        assert_int_equal(cnrtDestroyQueue(queues[i]), CNRT_RET_SUCCESS);
    }
}

static void synchronising_a_device_waits_only_for_its_queues(void **state)
{
    cnrtQueue_t here = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task mine = { .is_let_go = true };
    struct cards_task elsewhere = { .code = 0 };
    cnrtQueue_t there = NULL;
    cnrtDev_t dev = 0;

    assert_int_equal(cnrtGetDeviceHandle(&dev, 1), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    there = queue_make();
    cards_push(there, program, &elsewhere);
    assert_int_equal(cnrtGetDeviceHandle(&dev, 0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSetCurrentDevice(dev), CNRT_RET_SUCCESS);
    cards_push(here, program, &mine);
    assert_int_equal(cnrtSyncDevice(), CNRT_RET_SUCCESS);
    assert_true(mine.is_destroyed);
    assert_false(elsewhere.is_destroyed);
    elsewhere.is_let_go = true;
    assert_int_equal(cnrtSyncQueue(there), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(program);
}

static void a_task_runs_only_on_cores_of_its_allowed_clusters(void **state)
{
    cnrtQueue_t queue = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task task = { .is_let_go = true };
    struct ntk_cnrt_task pushed = { .program = program, .run = NULL, .ctx = &task };

    pushed.core_count = 17; /* the card has 16 */
    assert_int_equal(ntk_cnrt_task_push(queue, &pushed), CNRT_RET_ERR_INVALID);
    pushed.core_count = 1;
    pushed.cluster_mask = 0x10; /* the card has 0 to 3 */
    assert_int_equal(ntk_cnrt_task_push(queue, &pushed), CNRT_RET_ERR_INVALID);
    pushed.core_count = 8;
    pushed.cluster_mask = 0x6; /* pairs are 0 and 1, 2 and 3 */
    assert_int_equal(ntk_cnrt_task_push(queue, &pushed), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
    ntk_cnrt_program_drop(program);
}

static void tasks_of_several_queues_run_in_parallel_on_free_clusters(void **state)
{
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task held[4];
    struct cards_task one_more = { .is_let_go = true };
    cnrtQueue_t last = queue_make();

    memset(held, 0, sizeof held);
    for (size_t i = 0; i < 4; i++) {
        cards_push(queue_make(), program, &held[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        cards_running_wait(&held[i]);
    }
    cards_push(last, program, &one_more);
    assert_false(one_more.is_running);
    for (size_t i = 0; i < 4; i++) {
        held[i].is_let_go = true;
    }
    assert_int_equal(cnrtSyncQueue(last), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncDevice(), CNRT_RET_SUCCESS);
    assert_true(one_more.is_destroyed);
    ntk_cnrt_program_drop(program);
}

static void queues_run_their_tasks_before_the_library_closes(void **state)
{
    cnrtQueue_t queue = queue_make();
    struct ntk_cnrt_program *program = cards_program("op");
    struct cards_task tasks[20];

    memset(tasks, 0, sizeof tasks);
    for (size_t i = 0; i < 20; i++) {
        tasks[i].is_let_go = true;
        cards_push(queue, program, &tasks[i]);
    }
    cnrtDestroy();
    for (size_t i = 0; i < 20; i++) {
        assert_true(tasks[i].is_destroyed);
    }
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_ERR_INIT);
    assert_int_equal(cnrtInit(0), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_ERR_QUEUE);
    queue = queue_make();
    struct ntk_cnrt_task stale = { .program = program };
    assert_int_equal(ntk_cnrt_task_push(queue, &stale), CNRT_RET_ERR_INVALID);
    ntk_cnrt_program_drop(program);
}

struct recorded {
    struct ntk_slot executions[9];
    size_t count;
};

static void take_executions(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                            size_t count, void *ctx)
{
    struct recorded *recorded = ctx;

    (void)segment;
    for (size_t i = 0; i < count && recorded->count < 9; i++) {
        if (slots[i].kind == NTK_EVENT_EXEC) {
            recorded->executions[recorded->count++] = slots[i];
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct ntk_slot *x = a;
    const struct ntk_slot *y = b;

    return x->start_ticks < y->start_ticks ? -1 : x->start_ticks > y->start_ticks;
}

/* One decimal digit each, in time order, because any thread may use any ring. */
static unsigned queues_of(struct recorded *recorded)
{
    unsigned queues = 0;

    qsort(recorded->executions, recorded->count, sizeof recorded->executions[0], by_start);
    for (size_t i = 0; i < recorded->count; i++) {
        queues = queues * 10 + NTK_EXEC_QUEUE(recorded->executions[i].flags);
    }
    return queues;
}

/* What another process reads in the rings of this one: a process does not see its own locks. */
static unsigned recorded_queues(const struct cards *cards)
{
    const struct ntk_ring_options options = { .folder = cards->folder,
                                              .from = NTK_RING_FROM_OLDEST };
    struct ntk_ring_registry *registry = NULL;
    struct recorded recorded = { .count = 0 };
    int status = 0;
    pid_t reader = fork();

    if (reader == 0) {
        if (ntk_ring_registry_open(&options, &registry, NULL) == 0 &&
            ntk_ring_registry_poll(registry, NULL, NULL) == 0 &&
            ntk_ring_registry_count(registry) == 1) {
            ntk_ring_segment_drain(ntk_ring_registry_get(registry, 0), 0, take_executions,
                                   &recorded);
        }
        _exit((int)queues_of(&recorded));
    }
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_true(WIFEXITED(status));
    return (unsigned)WEXITSTATUS(status);
}

static void queue_numbers_in_records_are_reused(void **state)
{
    struct ntk_cnrt_program *program = cards_program("op");
    cnrtQueue_t queues[3] = { queue_make(), queue_make(), queue_make() };
    struct cards_task tasks[3] = { [0 ... 2] = { .is_let_go = true } };

    assert_int_equal(cnrtDestroyQueue(queues[1]), CNRT_RET_SUCCESS);
    queues[1] = queue_make(); /* gets the number that was returned */
    for (size_t i = 0; i < 3; i++) {
        cards_push(queues[i], program, &tasks[i]);
        assert_int_equal(cnrtSyncQueue(queues[i]), CNRT_RET_SUCCESS);
    }
    assert_int_equal(recorded_queues(*state), 123);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cnrtDestroyQueue(queues[i]), CNRT_RET_SUCCESS);
    }
    ntk_cnrt_program_drop(program);
}

int main(void)
{
#define CARDS(test) cmocka_unit_test_setup_teardown(test, cards_setup_open, cards_teardown)
    const struct CMUnitTest tests[] = {
        CARDS(a_queue_does_not_wait_for_a_slower_queue),
        CARDS(tasks_in_a_queue_run_in_order),
        CARDS(the_duration_between_notifiers_is_in_microseconds),
        CARDS(a_queue_waits_for_a_notifier_in_another_queue),
        CARDS(a_task_error_is_reported_once_by_the_next_synchronisation),
        CARDS(the_queue_limit_applies_to_each_device),
        CARDS(synchronising_a_device_waits_only_for_its_queues),
        CARDS(a_task_runs_only_on_cores_of_its_allowed_clusters),
        CARDS(tasks_of_several_queues_run_in_parallel_on_free_clusters),
        CARDS(queues_run_their_tasks_before_the_library_closes),
        CARDS(queue_numbers_in_records_are_reused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
