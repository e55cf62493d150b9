/* SPDX-License-Identifier: MIT */
/* steps - sorts starts and ends of intervals, and sweeps over them once. */
#include "profiler/analysis/steps.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define PS_PER_SECOND 1e12

struct edge {
    int64_t time_ps;
    double change;
};
static_assert(sizeof(struct edge) == 16, "a sorter item has 16 or 32 bytes");

struct sweep {
    enum ntk_steps_kind kind;
    ntk_steps_put *put;
    void *ctx;
    double last; /* last value passed to put */
    /* For pieces; width_ps is 0 for exact steps. */
    int64_t first_ps, width_ps, piece;
    double sum, most; /* for the current piece: value times ps */
};

static int compare_edges(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return 0; /* all changes at the same time are one step */
}

void ntk_steps_init(struct ntk_steps *steps, const struct ntk_trace *trace, size_t share)
{
    *steps = (struct ntk_steps){ 0 };
    steps->list_bytes = ntk_trace_list_bytes_get(trace) / (share ? share : 1);
    ntk_sorter_init(&steps->edges, sizeof(struct edge), compare_edges, steps->list_bytes,
                    ntk_trace_folder_get(trace));
}

void ntk_steps_fini(struct ntk_steps *steps)
{
    ntk_sorter_fini(&steps->edges);
    free(steps->pieces);
    steps->pieces = NULL;
}

int ntk_steps_divide(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps)
{
    steps->pieces = calloc(NTK_STEPS_DIVIDED, sizeof *steps->pieces);
    steps->first_ps = from_ps;
    steps->width_ps = (until_ps - from_ps) / NTK_STEPS_DIVIDED + 1;
    return steps->pieces ? 0 : -ENOMEM;
}

static void add_to_pieces(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double height)
{
    while (from_ps < until_ps) {
        int64_t piece = (from_ps - steps->first_ps) / steps->width_ps;
        /* an amount in less than one ns may end after the divided time */
        bool is_last = piece >= (int64_t)NTK_STEPS_DIVIDED - 1;
        int64_t end_ps = steps->first_ps + (piece + 1) * steps->width_ps;
        int64_t to_ps = is_last || until_ps < end_ps ? until_ps : end_ps;

        assert(piece >= 0);
        steps->pieces[is_last ? NTK_STEPS_DIVIDED - 1 : piece] +=
            height * (double)(to_ps - from_ps) / (double)steps->width_ps;
        from_ps = to_ps;
    }
}

static int add_edge(struct ntk_steps *steps, int64_t time_ps, double change)
{
    struct edge *edge = ntk_sorter_add(&steps->edges);

    if (!edge) {
        return steps->edges.failed;
    }
    *edge = (struct edge){ time_ps, change };
    return 0;
}

int ntk_steps_add(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double height)
{
    if (until_ps <= from_ps || !(height > 0)) {
        return 0;
    }
    if (steps->pieces) {
        add_to_pieces(steps, from_ps, until_ps, height);
        return 0;
    }
    int ret = add_edge(steps, from_ps, height);
    return ret ? ret : add_edge(steps, until_ps, -height);
}

int ntk_steps_add_amount(struct ntk_steps *steps, int64_t from_ps, int64_t until_ps, double amount)
{
    if (until_ps - from_ps < NTK_TRACE_PS_PER_NS) {
        until_ps = from_ps + NTK_TRACE_PS_PER_NS;
    }
    return ntk_steps_add(steps, from_ps, until_ps,
                         amount * PS_PER_SECOND / (double)(until_ps - from_ps));
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static int put_step(struct sweep *sweep, int64_t time_ps, double value)
{
    if (value == sweep->last) {
        return 0;
    }
    sweep->last = value;
    return sweep->put(sweep->ctx, time_ps, value);
}

static int64_t piece_start(const struct sweep *sweep, int64_t piece)
{
    return sweep->first_ps + piece * sweep->width_ps;
}

static int put_piece(struct sweep *sweep)
{
    double value =
        sweep->kind == NTK_STEPS_MEAN ? sweep->sum / (double)sweep->width_ps : sweep->most;
    int ret = put_step(sweep, piece_start(sweep, sweep->piece), value);

    sweep->piece++;
    sweep->sum = 0;
    sweep->most = 0;
    return ret;
}

/* Adds a constant value from one edge to the next. */
static int pass(struct sweep *sweep, int64_t from_ps, int64_t until_ps, double value)
{
    int ret = 0;

    if (sweep->width_ps == 0) {
        return put_step(sweep, from_ps, value);
    }
    while (from_ps < until_ps && ret == 0) {
        int64_t end_ps = piece_start(sweep, sweep->piece + 1);
        int64_t to_ps = until_ps < end_ps ? until_ps : end_ps;
        sweep->sum += value * (double)(to_ps - from_ps);
        sweep->most = value > sweep->most ? value : sweep->most;
        ret = to_ps == end_ps ? put_piece(sweep) : 0;
        from_ps = to_ps;
    }
    return ret;
}

static int sweep_edges(struct sweep *sweep, const struct ntk_sorted *sorted)
{
    const struct edge *edges = sorted->items;
    const struct edge *end = edges + sorted->count;
    uint64_t in_progress = 0;
    double value = 0;
    int ret = 0;

    for (const struct edge *edge = edges; edge < end && ret == 0; edge++) {
        (void)ntk_trace_scan_step(sorted->is_mapped, edges, edge, end);
        value += edge->change;
        if (edge->change > 0) {
            in_progress++;
        } else {
            /* may wrap, because edges at the same time are unordered */
            in_progress--;
        }
        if (edge + 1 < end && edge[1].time_ps == edge->time_ps) {
            continue; /* more changes at this time follow */
        }
        value = in_progress ? value : 0; /* removes rounding errors */
        ret = edge + 1 < end ? pass(sweep, edge->time_ps, edge[1].time_ps, value) : 0;
    }
    int64_t last_ps = end[-1].time_ps;
    if (ret == 0 && sweep->width_ps && last_ps > piece_start(sweep, sweep->piece)) {
        ret = put_piece(sweep);
    }
    if (sweep->width_ps) {
        last_ps = piece_start(sweep, sweep->piece);
    }
    return ret ? ret : put_step(sweep, last_ps, 0);
}

int ntk_steps_finish(struct ntk_steps *steps, enum ntk_steps_kind kind, ntk_steps_put *put,
                     void *ctx)
{
    struct sweep sweep = { .kind = kind, .put = put, .ctx = ctx };
    struct ntk_sorted sorted = { 0 };
    int ret = 0;

    if (steps->pieces) {
        for (unsigned p = 0; p <= NTK_STEPS_DIVIDED && ret == 0; p++) {
            ret = put_step(&sweep, steps->first_ps + p * steps->width_ps,
                           p < NTK_STEPS_DIVIDED ? steps->pieces[p] : 0);
        }
        free(steps->pieces);
        steps->pieces = NULL;
        return ret;
    }
    ret = ntk_sorter_finish(&steps->edges, steps->list_bytes, &sorted, NULL);

    if (ret < 0) {
        return ret;
    }
    if (sorted.count) {
        const struct edge *edges = sorted.items;
        sweep.first_ps = edges[0].time_ps;
        if (sorted.count > NTK_STEPS_MAX) {
            int64_t span_ps = edges[sorted.count - 1].time_ps - sweep.first_ps;
            sweep.width_ps = span_ps / NTK_STEPS_PIECES + 1;
        }
        ret = sweep_edges(&sweep, &sorted);
    }
    ntk_sorted_fini(&sorted, sizeof(struct edge));
    return ret;
}
