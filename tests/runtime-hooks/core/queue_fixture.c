/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/core/queue_fixture.h"

#include <stdlib.h>

#include "tests/support/unit.h"

_Atomic int broken_seen;
_Atomic int disorder_seen;
_Atomic int destroyed_count;
_Atomic int run_count;
int run_log[LOG_MAX];

bool item_run(struct ntk_core_queue_item *queued, bool is_broken)
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

void item_destroy(struct ntk_core_queue_item *queued)
{
    struct item *item = (struct item *)queued;

    if (item->end) {
        *item->end = *queued;
    }
    free(item);
    atomic_fetch_add(&destroyed_count, 1);
}

struct item *item_create(sem_t *start)
{
    struct item *item = calloc(1, sizeof *item);

    assert_non_null(item);
    item->item.run = item_run;
    item->item.destroy = item_destroy;
    item->start = start;
    return item;
}

int item_submit(struct ntk_core_queue *queue, struct item *item, uint64_t *number)
{
    int ret = ntk_core_queue_submit(queue, &item->item, number);

    if (ret < 0) {
        free(item);
    }
    return ret;
}

int item_submit_new(struct ntk_core_queue *queue, sem_t *start, uint64_t *number)
{
    return item_submit(queue, item_create(start), number);
}

int item_submit_marked(struct ntk_core_queue *queue, sem_t *start, int mark)
{
    struct item *item = item_create(start);

    item->mark = mark;
    return item_submit(queue, item, NULL);
}

int queue_setup(void **state)
{
    struct queue_fixture *f = calloc(1, sizeof *f);

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

int queue_teardown(void **state)
{
    struct queue_fixture *f = *state;

    ntk_core_queue_destroy(f->first);
    ntk_core_queue_destroy(f->second);
    ntk_core_crew_destroy(f->crew);
    sem_destroy(&f->start);
    free(f);
    return 0;
}

void wait_posted(sem_t *sem)
{
    while (sem_wait(sem) != 0) {
    }
}
