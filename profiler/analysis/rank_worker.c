/* SPDX-License-Identifier: MIT */
/* rank_worker - moves the data read for a worker, sorted by time, to the store of the list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/rank_reading.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

/* memory for each of a rank's two lists while its trace is read */
#define SORTER_BYTES ((size_t)256 << 10)
#define SORTED_HEAP_BYTES ((size_t)1 << 20)
#define LIVES_MAX 4096U /* maximum per rank; operations of further lives have none */

/* ---- during reading ---- */

NTK_ORDER(compare_ops, struct ntk_rank_op, NTK_UP(end_ns));

NTK_ORDER(compare_runs, struct ntk_rank_run, NTK_UP(end_ns));

void ntk_rank_worker_init(struct rank_worker *worker, uint32_t number)
{
    const char *folder = ntk_fs_temporary_folder();

    *worker = (struct rank_worker){ .worker = number,
                                    .worker_first = number,
                                    .worker_last = number,
                                    .begin_ns = INT64_MAX,
                                    .end_ns = INT64_MIN };
    ntk_sorter_init(&worker->ops, sizeof(struct ntk_rank_op), compare_ops, SORTER_BYTES, folder);
    ntk_sorter_init(&worker->runs, sizeof(struct ntk_rank_run), compare_runs, SORTER_BYTES, folder);
}

void ntk_rank_worker_fini(struct rank_worker *worker)
{
    ntk_sorter_fini(&worker->ops);
    ntk_sorter_fini(&worker->runs);
}

static void bounds_grow(struct rank_worker *worker, int64_t start_ns, int64_t end_ns)
{
    worker->begin_ns = start_ns < worker->begin_ns ? start_ns : worker->begin_ns;
    worker->end_ns = end_ns > worker->end_ns ? end_ns : worker->end_ns;
}

void ntk_rank_worker_op(struct rank_worker *worker, const struct ntk_rank_op *op)
{
    struct ntk_rank_op *to = ntk_sorter_add(&worker->ops);

    if (to) {
        *to = *op;
        bounds_grow(worker, op->start_ns, op->end_ns);
    }
}

void ntk_rank_worker_run(struct rank_worker *worker, int64_t start_ns, int64_t end_ns)
{
    struct ntk_rank_run *to = ntk_sorter_add(&worker->runs);

    if (to) {
        *to = (struct ntk_rank_run){ start_ns, end_ns };
        bounds_grow(worker, start_ns, end_ns);
    }
}

/* Returns memory of processed parts of a long list to the system. */
static void behind(const struct ntk_sorted *sorted, size_t item_bytes, size_t index)
{
    size_t step = (size_t)1 << 16; /* number of items in whole pages of either kind */

    if (index > 0 && index % step == 0) {
        ntk_long_items_give_back((const char *)sorted->items + (index - step) * item_bytes,
                                 step * item_bytes, sorted->is_mapped);
    }
}

int ntk_rank_worker_move(struct rank_worker *worker, struct rank_worker *lead, uint8_t stream,
                         struct ntk_err *err)
{
    struct ntk_sorted sorted = { 0 };
    int ret = ntk_sorter_finish(&worker->ops, SORTED_HEAP_BYTES, &sorted, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < sorted.count; i++) {
        struct ntk_rank_op op = ((const struct ntk_rank_op *)sorted.items)[i];

        op.stream = stream;
        ntk_rank_worker_op(lead, &op);
        behind(&sorted, sizeof op, i);
    }
    ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_op));
    ret = ntk_sorter_finish(&worker->runs, SORTED_HEAP_BYTES, &sorted, err);
    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < sorted.count; i++) {
        const struct ntk_rank_run *run = (const struct ntk_rank_run *)sorted.items + i;

        ntk_rank_worker_run(lead, run->start_ns, run->end_ns);
        behind(&sorted, sizeof *run, i);
    }
    ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_run));
    worker->is_other = true;
    return 0;
}

/* ---- to the ranks ---- */

static struct ntk_rank_ops *rank_find(struct ntk_rank_list *list, size_t host, uint32_t worker)
{
    ntk_vec_each(struct ntk_rank_ops, rank, &list->ranks) {
        if (rank->host == host && rank->worker == worker) {
            return rank;
        }
    }
    return NULL;
}

/* Stores runs; overlapping executions, as on the cores of a pair, are merged. */
static void runs_store(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                       const struct ntk_sorted *sorted)
{
    const struct ntk_rank_run *all = sorted->items;
    struct ntk_rank_run run = { 0 };

    ntk_rank_store_begin(&list->store, &rank->runs);
    for (size_t i = 0; i < sorted->count; i++) {
        if (i > 0 && all[i].start_ns <= run.end_ns) {
            run.end_ns = all[i].end_ns > run.end_ns ? all[i].end_ns : run.end_ns;
        } else {
            if (i > 0) {
                ntk_rank_store_add(&list->store, &rank->runs, &run, sizeof run);
            }
            run = all[i];
        }
        behind(sorted, sizeof run, i);
    }
    if (sorted->count > 0) {
        ntk_rank_store_add(&list->store, &rank->runs, &run, sizeof run);
    }
}

/* Returns the life of an operation; NULL if none, or if the table is full. *out_ret is the
 * error. */
static struct ntk_rank_life *life_of(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                                     const struct ntk_rank_op *op, int *out_ret)
{
    struct ntk_rank_life *lives = rank->lives.items;

    for (size_t i = rank->lives.count; i-- > 0;) {
        if (lives[i].comm_number == op->life) {
            if (op->sequence > lives[i].last) {
                return &lives[i];
            }
            break; /* its numbers restart, because it was created again */
        }
    }
    if (rank->lives.count == LIVES_MAX) {
        return NULL;
    }
    struct ntk_rank_life *life = ntk_vec_add(&rank->lives);
    if (!life) {
        *out_ret = -ENOMEM;
        return NULL;
    }
    *life = (struct ntk_rank_life){ .comm = *(struct ntk_ntrace_comm *)ntk_vec_at(&list->comms,
                                                                                  op->life - 1),
                                    .comm_number = op->life,
                                    .first = op->sequence,
                                    .start_ns = op->start_ns,
                                    .end_ns = op->end_ns };
    return life;
}

/* Stores operations. Both cores of a pair may report a collective: for each kind, the core that was
 * first is used. */
static int ops_store(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                     const struct ntk_sorted *sorted)
{
    const struct ntk_rank_op *all = sorted->items;
    int32_t cores[NTK_RANK_STREAMS_MAX][2];
    int ret = 0;

    memset(cores, -1, sizeof cores);
    ntk_rank_store_begin(&list->store, &rank->ops);
    for (size_t i = 0; i < sorted->count && ret == 0; i++) {
        struct ntk_rank_op op = all[i];
        struct ntk_rank_life *life = NULL;

        behind(sorted, sizeof op, i);
        int32_t *core = &cores[op.stream][op.is_barrier];
        *core = *core < 0 ? op.device_core : *core;
        if (op.device_core != *core) {
            continue;
        }
        if (op.life > 0 && op.sequence > 0) {
            life = life_of(list, rank, &op, &ret);
        }
        op.life = NTK_RANK_NO_LIFE;
        if (life) {
            op.life = (uint32_t)(life - (struct ntk_rank_life *)rank->lives.items);
            life->last = op.sequence;
            life->count++;
            life->end_ns = op.end_ns > life->end_ns ? op.end_ns : life->end_ns;
            rank->numbered_count++;
        }
        ntk_rank_store_add(&list->store, &rank->ops, &op, sizeof op);
    }
    return ret;
}

/* Moves the data of a worker to the store, in order. */
static int worker_store(struct ntk_rank_list *list, struct rank_worker *worker,
                        struct ntk_rank_ops *rank, struct ntk_err *err)
{
    struct ntk_sorted sorted = { 0 };
    int ret = ntk_sorter_finish(&worker->ops, SORTED_HEAP_BYTES, &sorted, err);

    if (ret == 0) {
        ret = ops_store(list, rank, &sorted);
        ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_op));
    }
    ret = ret ? ret : ntk_sorter_finish(&worker->runs, SORTED_HEAP_BYTES, &sorted, err);
    if (ret == 0) {
        runs_store(list, rank, &sorted);
        ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_run));
    }
    rank->begin_ns = worker->begin_ns;
    rank->end_ns = worker->end_ns;
    return ret;
}

/* Reads all stored data of a rank as if from its trace. */
static void worker_refill(struct ntk_rank_list *list, const struct ntk_rank_ops *rank,
                          struct rank_worker *worker)
{
    struct ntk_rank_cursor cursor;

    ntk_rank_cursor_init(&cursor, &list->store, rank->ops, sizeof(struct ntk_rank_op));
    for (size_t i = 0; i < rank->ops.count; i++) {
        struct ntk_rank_op op = *(const struct ntk_rank_op *)ntk_rank_cursor_at(&cursor, i);
        const struct ntk_rank_life *life =
            op.life == NTK_RANK_NO_LIFE ? NULL : ntk_vec_at(&rank->lives, op.life);

        op.life = life ? life->comm_number : 0;
        ntk_rank_worker_op(worker, &op);
    }
    ntk_rank_cursor_init(&cursor, &list->store, rank->runs, sizeof(struct ntk_rank_run));
    for (size_t i = 0; i < rank->runs.count; i++) {
        const struct ntk_rank_run *run = ntk_rank_cursor_at(&cursor, i);
        ntk_rank_worker_run(worker, run->start_ns, run->end_ns);
    }
}

/* Adds the second trace of a rank after the first, or before it. */
static int rank_append(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                       const struct ntk_rank_ops *more, struct ntk_err *err)
{
    int64_t restart_ns = more->begin_ns > rank->begin_ns ? more->begin_ns : rank->begin_ns;
    struct rank_worker one;

    if (more->begin_ns < rank->end_ns && rank->begin_ns < more->end_ns) {
        rank->is_twice = true;
        return 0;
    }
    ntk_rank_worker_init(&one, rank->worker);
    worker_refill(list, rank, &one);
    worker_refill(list, more, &one);
    ntk_vec_clear(&rank->lives);
    rank->numbered_count = 0;
    rank->has_lost = rank->has_lost || more->has_lost;
    rank->worker_first =
        more->worker_first < rank->worker_first ? more->worker_first : rank->worker_first;
    rank->worker_last =
        more->worker_last > rank->worker_last ? more->worker_last : rank->worker_last;
    int ret = worker_store(list, &one, rank, err);
    ntk_rank_worker_fini(&one);
    return ret < 0 ? ret : ntk_vec_push(&rank->restarts_ns, &restart_ns);
}

int ntk_rank_worker_keep(struct ntk_rank_list *list, struct rank_worker *worker, size_t host,
                         bool has_lost, struct ntk_err *err)
{
    struct ntk_rank_ops *known = rank_find(list, host, worker->worker);
    struct ntk_rank_ops rank = { .worker = worker->worker,
                                 .worker_first = worker->worker_first,
                                 .worker_last = worker->worker_last,
                                 .host = host,
                                 .has_lost = has_lost };

    ntk_vec_init(&rank.lives, sizeof(struct ntk_rank_life));
    ntk_vec_init(&rank.restarts_ns, sizeof(int64_t));
    int ret = worker_store(list, worker, &rank, err);
    if (ret == 0 && rank.ops.count + rank.runs.count > 0) {
        if (known) {
            ret = rank_append(list, known, &rank, err);
        } else if (ntk_vec_push(&list->ranks, &rank) == 0) {
            return 0; /* owned by the list now */
        } else {
            ret = -ENOMEM;
        }
    }
    ntk_vec_fini(&rank.lives);
    ntk_vec_fini(&rank.restarts_ns);
    return ret;
}
