/* SPDX-License-Identifier: MIT */
/* what_if_packets - recomputes the start and end of each packet of a transfer. */
#include "profiler/analysis/what_if_private.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/map.h"
#include "shared/base/vec.h"

/* Links each transfer with the next transfer of its queue. */
static int link_queues(struct ntk_retime *r)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    struct ntk_vec queues = NTK_VEC_INIT(struct ntk_moved_queue);
    struct ntk_map numbers = { 0 };
    int ret = 0;

    for (size_t t = 0; t < of->count && ret == 0; t++) {
        const char *name =
            ntk_transfer_fact(r->to->transfers, r->to->core, &of->items[t])->code->queue;
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
            const struct ntk_moved_queue queue = { .first = (uint32_t)t, .last = (uint32_t)t };
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
    r->queue_count = queues.count;
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

/* Completes transfers of a queue in order. */
NTK_RETIME_CLONES static void queue_step(struct ntk_retime *r, struct ntk_moved_queue *queue)
{
    while (queue->first != NTK_NO_INDEX && r->moved[queue->first].left == 0) {
        struct ntk_moved *moved = &r->moved[queue->first];
        queue->was_ps = ntk_retime_larger(queue->was_ps, moved->end_was_ps);
        ntk_lanes_larger(&queue->is, &moved->end);
        moved->done_was_ps = queue->was_ps;
        moved->done = queue->is;
        moved->is_done = true;
        queue->first = moved->next;
    }
}

/* Binds a packet to the instruction that started its transfer, and to the previous packet on its
 * DMA engine. */
NTK_RETIME_CLONES static void bind_packet(struct ntk_retime *r, const struct ntk_trace_packet *one,
                                          uint32_t number, struct ntk_retime_bound *bound)
{
    const struct ntk_moved_lane *lane = &r->lanes[one->engine];
    uint32_t by = r->to->transfers->cores[r->to->core].items[number - 1].instruction;
    const struct ntk_trace_instruction *maker = &r->core->instructions[by];
    struct ntk_lanes is;

    ntk_retime_bound_init(r, bound);
    if (one->start_ps >= maker->start_ps && !ntk_retime_is_before(r, by)) {
        const struct ntk_moment *moment = ntk_retime_moment(r, by);
        if (one->start_ps >= maker->end_ps && moment->is_done) {
            int64_t gap_ps = ntk_retime_smaller(one->start_ps - maker->end_ps, r->begin_ps);
            ntk_lanes_after(&is, &moment->end, gap_ps, &r->begin);
            ntk_retime_bind(bound, maker->end_ps + gap_ps, &is, NTK_MOMENT_CHANGE);
        } else {
            for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
                is.ps[k] = moment->start.ps[k] + (one->start_ps - maker->start_ps);
            }
            ntk_retime_bind(bound, one->start_ps, &is, NTK_MOMENT_CHANGE);
        }
    }
    if (!lane->is_used) {
        return;
    }
    if (one->start_ps >= lane->end_was_ps) {
        /* Between packets of one transfer the engine reads descriptors, which counts as DMA. */
        int64_t gap_ps = lane->number == number ? one->start_ps - lane->end_was_ps : 0;
        ntk_lanes_after(&is, &lane->end, gap_ps, &r->dma);
        ntk_retime_bind(bound, lane->end_was_ps + gap_ps, &is, NTK_MOMENT_CHANGE);
    } else if (lane->queue == one->queue) {
        ntk_lanes_after(&is, &lane->start, one->start_ps - lane->start_was_ps, &r->dma);
        ntk_retime_bind(bound, one->start_ps, &is, NTK_MOMENT_CHANGE);
    }
}

NTK_RETIME_CLONES static void lane_step(struct ntk_moved_lane *lane,
                                        const struct ntk_trace_packet *one, uint32_t number,
                                        const struct ntk_lanes *start, const struct ntk_lanes *end)
{
    if (lane->is_used && one->end_ps < lane->end_was_ps) {
        return;
    }
    if (lane->is_used) {
        ntk_lanes_larger(&lane->end, end);
    } else {
        lane->end = *end;
    }
    lane->is_used = true;
    lane->queue = one->queue;
    lane->number = number;
    lane->start_was_ps = one->start_ps;
    lane->start = *start;
    lane->end_was_ps = one->end_ps;
}

NTK_RETIME_CLONES static void moved_step(struct ntk_retime *r, struct ntk_moved *moved,
                                         bool is_first, const struct ntk_trace_packet *one,
                                         const struct ntk_lanes *start, const struct ntk_lanes *end)
{
    if (is_first) {
        moved->start_was_ps = one->start_ps;
        moved->start = *start;
    } else {
        moved->start_was_ps = ntk_retime_smaller(moved->start_was_ps, one->start_ps);
        for (size_t k = 0; k < NTK_RETIME_LANES; k++) {
            moved->start.ps[k] = ntk_retime_smaller(moved->start.ps[k], start->ps[k]);
        }
    }
    moved->end_was_ps = ntk_retime_larger(moved->end_was_ps, one->end_ps);
    ntk_lanes_larger(&moved->end, end);
    moved->left -= moved->left > 0;
    if (moved->left == 0 && moved->queue) {
        queue_step(r, &r->queues[moved->queue - 1]);
    } else if (moved->left == 0) {
        moved->done_was_ps = moved->end_was_ps;
        moved->done = moved->end;
        moved->is_done = true;
    }
}

/* Adds the time in which the DMA engine is busy with the packet. */
NTK_RETIME_CLONES static void lane_busy(struct ntk_retime *r, struct ntk_moved_lane *lane,
                                        const struct ntk_trace_packet *one)
{
    int64_t from_ps = ntk_retime_larger(one->start_ps, lane->covered_ps);

    if (one->end_ps > from_ps) {
        lane->busy_was_ps = ntk_retime_limited(lane->busy_was_ps + (one->end_ps - from_ps));
        ntk_lanes_after(&lane->busy, &lane->busy, one->end_ps - from_ps, &r->dma);
        lane->covered_ps = one->end_ps;
    }
}

/* Returns true if the transfers of an instruction may wait for another core. */
static bool meets_by_transfer(const struct ntk_retime *r, uint32_t by)
{
    enum ntk_meeting meeting = ntk_retimed_meeting(r->to, by);

    return meeting == NTK_MEETING_EXCHANGE || meeting == NTK_MEETING_COLLECTIVE;
}

NTK_RETIME_CLONES void ntk_retime_packet(struct ntk_retime *r, size_t index)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    struct ntk_retimed_end *measured = &r->ends[NTK_RETIME_MEASURED];
    const struct ntk_trace_packet *one = &r->core->packets[index];
    uint32_t number = of->of_packets[index];
    struct ntk_moved_lane *lane = &r->lanes[one->engine];
    struct ntk_retime_bound bound;
    struct ntk_lanes start;
    struct ntk_lanes end;

    if (number == 0) {
        return;
    }
    const struct ntk_transfer *transfer = &of->items[number - 1];
    struct ntk_moved *moved = &r->moved[number - 1];
    bind_packet(r, one, number, &bound);
    (void)ntk_retime_start(r, &bound, one->start_ps, true, &start);
    if (ntk_retimed_rule_rows(r->to) && meets_by_transfer(r, transfer->instruction)) {
        ntk_retime_set_special(r, &bound, one->start_ps, &start);
    }
    ntk_lanes_after(&end, &start, one->end_ps - one->start_ps, &r->dma);
    lane_busy(r, lane, one);
    lane_step(lane, one, number, &start, &end);
    moved_step(r, moved, moved->left == transfer->packet_count, one, &start, &end);
    if (one->end_ps > ntk_retimed_until_ps(r->to->program, r->execution)) {
        return; /* the execution does not wait for it */
    }
    if (one->end_ps > measured->end_ps) {
        measured->end_ps = one->end_ps;
        measured->last = transfer->instruction;
        measured->ends_in_moved = true;
    }
    ntk_retime_end(r, &end, transfer->instruction, true);
}

NTK_RETIME_CLONES bool ntk_retime_change_of_transfer(struct ntk_retime *r, uint32_t by,
                                                     int64_t change_ps, struct ntk_lanes *out)
{
    const struct ntk_transfers_core *of = &r->to->transfers->cores[r->to->core];
    const struct ntk_transfer *transfer =
        ntk_transfer_of_instruction(r->to->transfers, r->to->core, by);

    if (!transfer || transfer->packet_count == 0) {
        const struct ntk_trace_instruction *maker = &r->core->instructions[by];
        const struct ntk_moment *moment = ntk_retime_moment(r, by);
        r->to->unknown_transfer_count++;
        if (!moment->is_done || change_ps < maker->end_ps) {
            return false;
        }
        ntk_lanes_after(out, &moment->end, change_ps - maker->end_ps, &r->dma);
        if (ntk_retimed_rule_rows(r->to) && meets_by_transfer(r, by)) {
            size_t late = r->to->special.late;
            out->ps[late] = ntk_retime_larger(out->ps[late], change_ps);
            out->ps[r->to->special.early] = moment->end.ps[r->to->special.early];
        }
        return true;
    }
    const struct ntk_moved *moved = &r->moved[transfer - of->items];
    if (moved->is_done && change_ps >= moved->done_was_ps) {
        ntk_lanes_after(out, &moved->done, change_ps - moved->done_was_ps, &r->latency);
        return true;
    }
    if (moved->left == transfer->packet_count || change_ps < moved->start_was_ps) {
        return false; /* this is its first packet */
    }
    if (change_ps >= moved->end_was_ps) {
        ntk_lanes_after(out, &moved->end, change_ps - moved->end_was_ps, &r->latency);
        return true;
    }
    ntk_lanes_share(out, &moved->start, &moved->end, change_ps - moved->start_was_ps,
                    moved->end_was_ps - moved->start_was_ps);
    return true;
}
