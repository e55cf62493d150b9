/* SPDX-License-Identifier: MIT */
/*
 * queue_fixture - a crew, two queues, and items that wait for a signal from the test, so that it is
 * always known which items are queued, running or complete.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CORE_QUEUE_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_CORE_QUEUE_FIXTURE_H

#include <semaphore.h>
#include <stdatomic.h>

#include "runtime-hooks/core/core_queue.h"

#define DEPTH 3U
#define WORKERS 2U
#define LOG_MAX 64

struct item {
    struct ntk_core_queue_item item;
    sem_t *entered;         /* posted when it runs, unless NULL */
    sem_t *start;           /* waited for, unless NULL */
    _Atomic uint64_t *last; /* number of the last item that ran */
    int mark;               /* for the log, unless 0 */
    bool is_breaking;
    struct ntk_core_queue_item *end;          /* gets a copy, unless NULL */
    void (*also)(struct ntk_core_queue *own); /* called in run, unless NULL */
    struct ntk_core_queue *own;
};

/* A crew of WORKERS with two queues of DEPTH that reject items when full. */
struct queue_fixture {
    struct ntk_core_crew *crew;
    struct ntk_core_queue *first, *second;
    sem_t start;
};

#define QUEUE_TEST(name) cmocka_unit_test_setup_teardown(name, queue_setup, queue_teardown)

/* Counters for the items of a test; each test starts at 0. */
extern _Atomic int broken_seen;
extern _Atomic int disorder_seen;
extern _Atomic int destroyed_count;
/* Marks of items in the order in which they ran. */
extern _Atomic int run_count;
extern int run_log[LOG_MAX];

bool item_run(struct ntk_core_queue_item *queued, bool is_broken);
void item_destroy(struct ntk_core_queue_item *queued);
struct item *item_create(sem_t *start);
int item_submit(struct ntk_core_queue *queue, struct item *item, uint64_t *number);
int item_submit_new(struct ntk_core_queue *queue, sem_t *start, uint64_t *number);
int item_submit_marked(struct ntk_core_queue *queue, sem_t *start, int mark);
int queue_setup(void **state);
int queue_teardown(void **state);
void wait_posted(sem_t *sem);

#endif
