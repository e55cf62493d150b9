/* SPDX-License-Identifier: MIT */
/* what_if_packets - recomputes the start and end of each packet of a transfer. */
#include "profiler/analysis/what_if_private.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"

/* Links each transfer with the next one of its queue. */
static int link_queues(struct ntk_retime *r)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    struct ntk_vec queues = NTK_VEC_INIT(struct ntk_moved_queue);
    struct ntk_map numbers = { 0 };
    int ret = 0;

    for (size_t t = 0; t < of->count && ret == 0; t++) {
        const char *name = ntk_transfer_fact(r->to->transfers, r->to->core, &of->items[t])->queue;
        struct ntk_moved *moved = &r->moved[t];
        moved->left = of->items[t].packet_count;
        moved->next = NTK_NO_INDEX;
        ntk_retime_passed(r, t);
        if (!name || moved->left == 0) {
            continue;
        }
        uintptr_t number = (uintptr_t)ntk_map_get_number(&numbers, (uintptr_t)name);
        if (number) {
            struct ntk_moved_queue *queue = ntk_vec_at(&queues, number - 1);
            r->moved[queue->last].next = (uint32_t)t;
            queue->last = (uint32_t)t;
        } else {
            const struct ntk_moved_queue queue = { (uint32_t)t, (uint32_t)t, 0, 0 };
            number = queues.count + 1;
            ret = ntk_vec_push(&queues, &queue) < 0 ||
                          ntk_map_put_number(&numbers, (uintptr_t)name, (void *)number) < 0
                      ? -ENOMEM
                      : 0;
        }
        moved->queue = (uint32_t)number;
    }
    ntk_map_fini(&numbers);
    r->queues = queues.items;
    return ret;
}

static int lanes_create(struct ntk_retime *r)
{
    ntk_trace_each_packet(r->core, one) {
        if (one->engine >= r->lane_count) {
            r->lane_count = (size_t)one->engine + 1;
        }
    }
    r->lanes = calloc(r->lane_count + 1, sizeof *r->lanes);
    return r->lanes ? 0 : -ENOMEM;
}

int ntk_retime_prepare_packets(struct ntk_retime *r)
{
    int ret = link_queues(r);

    return ret ? ret : lanes_create(r);
}

/* Completes the transfers of a queue, in order. */
static void queue_step(struct ntk_retime *r, struct ntk_moved_queue *queue)
{
    while (queue->first != NTK_NO_INDEX && r->moved[queue->first].left == 0) {
        struct ntk_moved *moved = &r->moved[queue->first];
        queue->was_ps = ntk_retime_larger(queue->was_ps, moved->end_was_ps);
        queue->is_ps = ntk_retime_larger(queue->is_ps, moved->end_is_ps);
        moved->done_was_ps = queue->was_ps;
        moved->done_is_ps = queue->is_ps;
        moved->is_done = true;
        queue->first = moved->next;
    }
}

/* The predecessors of a packet: the instruction that started its transfer, and the previous packet
 * of its DMA engine. */
static struct ntk_retime_bound bind_packet(const struct ntk_retime *r,
                                           const struct ntk_trace_packet *one, uint32_t number)
{
    const struct ntk_moved_lane *lane = &r->lanes[one->engine];
    uint32_t by = r->to->transfers->cores[r->to->core].items[number - 1].instruction;
    const struct ntk_trace_instruction *maker = &r->core->instructions[by];
    const struct ntk_moment *moment = &r->moments[by];
    struct ntk_retime_bound bound = { 0, 0, NTK_NO_INDEX, NTK_MOMENT_FIRST };

    if (one->start_ps >= maker->end_ps && moment->is_done) {
        int64_t gap_ps = ntk_retime_smaller(one->start_ps - maker->end_ps, r->begin_ps);
        int64_t is_ps = ntk_retime_sum(moment->end_ps, ntk_retime_scaled(gap_ps, r->begin_factor));
        ntk_retime_bind(&bound, maker->end_ps + gap_ps, is_ps, by, NTK_MOMENT_TRANSFER);
    } else if (one->start_ps >= maker->start_ps) {
        int64_t is_ps = ntk_retime_sum(moment->start_ps, one->start_ps - maker->start_ps);
        ntk_retime_bind(&bound, one->start_ps, is_ps, by, NTK_MOMENT_TRANSFER);
    }
    if (!lane->is_used) {
        return bound;
    }
    if (one->start_ps >= lane->end_was_ps) {
        /* Between packets of one transfer the engine reads descriptors, which counts as DMA. */
        int64_t gap_ps = lane->number == number ? one->start_ps - lane->end_was_ps : 0;
        int64_t is_ps = ntk_retime_sum(lane->end_is_ps, ntk_retime_scaled(gap_ps, r->dma_factor));
        ntk_retime_bind(&bound, lane->end_was_ps + gap_ps, is_ps, by, NTK_MOMENT_TRANSFER);
    } else if (lane->queue == one->queue) {
        int64_t after_ps = ntk_retime_scaled(one->start_ps - lane->start_was_ps, r->dma_factor);
        ntk_retime_bind(&bound, one->start_ps, ntk_retime_sum(lane->start_is_ps, after_ps), by,
                        NTK_MOMENT_TRANSFER);
    }
    return bound;
}

static void lane_step(struct ntk_moved_lane *lane, const struct ntk_trace_packet *one,
                      uint32_t number, int64_t start_ps, int64_t end_ps)
{
    if (lane->is_used && one->end_ps < lane->end_was_ps) {
        return;
    }
    lane->end_is_ps = lane->is_used ? ntk_retime_larger(lane->end_is_ps, end_ps) : end_ps;
    lane->is_used = true;
    lane->queue = one->queue;
    lane->number = number;
    lane->start_was_ps = one->start_ps;
    lane->start_is_ps = start_ps;
    lane->end_was_ps = one->end_ps;
}

static void moved_step(struct ntk_retime *r, struct ntk_moved *moved, bool is_first,
                       const struct ntk_trace_packet *one, int64_t start_ps, int64_t end_ps)
{
    moved->start_was_ps =
        is_first ? one->start_ps : ntk_retime_smaller(moved->start_was_ps, one->start_ps);
    moved->start_is_ps = is_first ? start_ps : ntk_retime_smaller(moved->start_is_ps, start_ps);
    moved->end_was_ps = ntk_retime_larger(moved->end_was_ps, one->end_ps);
    moved->end_is_ps = ntk_retime_larger(moved->end_is_ps, end_ps);
    moved->left -= moved->left > 0;
    if (moved->left == 0 && moved->queue) {
        queue_step(r, &r->queues[moved->queue - 1]);
    } else if (moved->left == 0) {
        moved->done_was_ps = moved->end_was_ps;
        moved->done_is_ps = moved->end_is_ps;
        moved->is_done = true;
    }
}

void ntk_retime_packet(struct ntk_retime *r, size_t index)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    const struct ntk_trace_packet *one = &r->core->packets[index];
    uint32_t number = of->of_packets[index];
    struct ntk_moved_lane *lane = &r->lanes[one->engine];
    int64_t kept_ps;

    if (number == 0) {
        return;
    }
    struct ntk_moved *moved = &r->moved[number - 1];
    struct ntk_retime_bound bound = bind_packet(r, one, number);
    int64_t start_ps = ntk_retime_start_ps(r, &bound, one->start_ps, true, &kept_ps);
    int64_t end_ps =
        ntk_retime_sum(start_ps, ntk_retime_scaled(one->end_ps - one->start_ps, r->dma_factor));
    int64_t from_ps = ntk_retime_larger(one->start_ps, lane->covered_ps);
    if (one->end_ps > from_ps) {
        lane->busy_ps =
            ntk_retime_sum(lane->busy_ps, ntk_retime_scaled(one->end_ps - from_ps, r->dma_factor));
        lane->covered_ps = one->end_ps;
    }
    lane_step(lane, one, number, start_ps, end_ps);
    moved_step(r, moved, moved->left == of->items[number - 1].packet_count, one, start_ps, end_ps);
    if (one->end_ps > r->to->program->trace->total_ps) {
        return; /* the execution does not wait for it */
    }
    r->to->measured_end_ps = ntk_retime_larger(r->to->measured_end_ps, one->end_ps);
    if (end_ps > r->to->end_ps) {
        r->to->end_ps = end_ps;
        r->to->last = of->items[number - 1].instruction;
        r->to->ends_in_moved = true;
    }
}

bool ntk_retime_change_of_transfer(struct ntk_retime *r, uint32_t by, int64_t change_ps,
                                   int64_t *out_ps)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    const struct ntk_transfer *transfer =
        ntk_transfer_of_instruction(r->to->transfers, r->to->core, by);

    if (!transfer || transfer->packet_count == 0) {
        const struct ntk_trace_instruction *maker = &r->core->instructions[by];
        r->to->unknown_transfer_count++;
        if (!r->moments[by].is_done || change_ps < maker->end_ps) {
            return false;
        }
        *out_ps = ntk_retime_sum(r->moments[by].end_ps,
                                 ntk_retime_scaled(change_ps - maker->end_ps, r->dma_factor));
        return true;
    }
    const struct ntk_moved *moved = &r->moved[transfer - of->items];
    if (moved->is_done && change_ps >= moved->done_was_ps) {
        *out_ps =
            ntk_retime_sum(moved->done_is_ps,
                           ntk_retime_scaled(change_ps - moved->done_was_ps, r->latency_factor));
        return true;
    }
    if (moved->left == transfer->packet_count || change_ps < moved->start_was_ps) {
        return false; /* its first packet */
    }
    if (change_ps >= moved->end_was_ps) {
        *out_ps = ntk_retime_sum(
            moved->end_is_ps, ntk_retime_scaled(change_ps - moved->end_was_ps, r->latency_factor));
        return true;
    }
    int64_t was_ps = moved->end_was_ps - moved->start_was_ps;
    int64_t is_ps = moved->end_is_ps - moved->start_is_ps;
    double factor = was_ps == is_ps ? 1 : (double)is_ps / (double)was_ps;
    *out_ps = ntk_retime_sum(moved->start_is_ps,
                             ntk_retime_scaled(change_ps - moved->start_was_ps, factor));
    return true;
}
