/* SPDX-License-Identifier: MIT */
/* dma_rate - processes sorted starts; ends wait in a heap with the next end on top. */
#include "profiler/analysis/dma_rate.h"

#include <errno.h>

#include "shared/base/vec.h"

struct in_flight {
    int64_t end_ps;
    double bytes_per_second;
};

static void swap(struct in_flight *a, struct in_flight *b)
{
    struct in_flight t = *a;

    *a = *b;
    *b = t;
}

static int push(struct ntk_vec *heap, struct in_flight packet)
{
    if (ntk_vec_push(heap, &packet) < 0) {
        return -ENOMEM;
    }
    struct in_flight *items = heap->items;
    for (size_t i = heap->count - 1; i > 0 && items[i].end_ps < items[(i - 1) / 2].end_ps;
         i = (i - 1) / 2) {
        swap(&items[i], &items[(i - 1) / 2]);
    }
    return 0;
}

static struct in_flight pop(struct ntk_vec *heap)
{
    struct in_flight *items = heap->items;
    struct in_flight top = items[0];
    size_t count = --heap->count;
    size_t i = 0;

    items[0] = items[count];
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++) {
            least = child < count && items[child].end_ps < items[least].end_ps ? child : least;
        }
        if (least == i) {
            return top;
        }
        swap(&items[i], &items[least]);
        i = least;
    }
}

struct rate {
    struct ntk_vec heap; /* elements are struct in_flight */
    struct ntk_dma_rate_point now;
    bool has_now; /* true if packets with the same start may still arrive */
    bool has_last;
    int64_t last_ps;
    ntk_dma_rate_put *put;
    void *ctx;
};

static const struct in_flight *next_end(const struct rate *rate)
{
    return rate->heap.count > 0 ? rate->heap.items : NULL;
}

/* Closes a step, which combines all changes at one time: first starts, then ends. */
static int close_instant(struct rate *rate)
{
    struct ntk_dma_rate_point *now = &rate->now;

    while (next_end(rate) && next_end(rate)->end_ps <= now->time_ps) {
        now->bytes_per_second -= pop(&rate->heap).bytes_per_second;
    }
    if (rate->heap.count == 0) {
        now->bytes_per_second = 0; /* removes rounding errors */
    }
    rate->has_now = false;
    if (rate->has_last && now->time_ps - rate->last_ps < NTK_DMA_RATE_STEP_PS) {
        return 0;
    }
    rate->has_last = true;
    rate->last_ps = now->time_ps;
    return rate->put(rate->ctx, now);
}

/* Processes all steps before a time. */
static int advance(struct rate *rate, int64_t until_ps)
{
    int ret = rate->has_now && rate->now.time_ps < until_ps ? close_instant(rate) : 0;

    while (ret == 0 && next_end(rate) && next_end(rate)->end_ps < until_ps) {
        rate->now.time_ps = next_end(rate)->end_ps;
        ret = close_instant(rate);
    }
    return ret;
}

int ntk_analysis_dma_rate(const struct ntk_trace_core *core, ntk_dma_rate_put *put, void *ctx)
{
    struct rate rate = { .heap = NTK_VEC_INIT(struct in_flight), .put = put, .ctx = ctx };
    int ret = 0;

    ntk_trace_each_packet(core, packet) {
        ret = advance(&rate, packet->start_ps);
        if (ret < 0) {
            break;
        }
        rate.has_now = true;
        rate.now.time_ps = packet->start_ps;
        rate.now.total_bytes += packet->bytes_count;
        rate.now.bytes_per_second += ntk_packet_rate(packet);
        ret = push(&rate.heap, (struct in_flight){ packet->end_ps, ntk_packet_rate(packet) });
        if (ret < 0) {
            break;
        }
    }
    if (ret == 0) {
        ret = advance(&rate, INT64_MAX);
    }
    ntk_vec_fini(&rate.heap);
    return ret;
}
