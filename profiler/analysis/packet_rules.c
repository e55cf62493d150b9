/* SPDX-License-Identifier: MIT */
/* packet_rules - applies each rule, one step per packet. */
#include "profiler/analysis/packet_rules.h"

#include "profiler/analysis/dma_efficiency.h"

#define NONE NTK_PACKET_NO_TRANSFER

bool ntk_packet_is_write(const struct ntk_trace_packet *packet)
{
    return packet->bytes_count <= NTK_DMA_SEMAPHORE_BYTES;
}

static bool has_writes(const struct ntk_packet_queue *queue, uint32_t number,
                       const struct ntk_packet_ring *rings, size_t ring_count)
{
    for (size_t r = 0; r < ring_count; r++) {
        if (rings[r].queue == number && rings[r].packet_count &&
            rings[r].write_count != queue->count) {
            return false;
        }
    }
    return true;
}

void ntk_packet_rule_add(struct ntk_packet_queue *queue, struct ntk_begun *begun)
{
    queue->has_unknown_bytes = queue->has_unknown_bytes || begun->bytes_count == 0;
    queue->transfer_bytes += begun->bytes_count;
    begun->share = queue->ring_count && begun->sides[1] % queue->ring_count == 0
                       ? begun->sides[1] / queue->ring_count
                       : 0;
}

void ntk_packet_rule_choose(struct ntk_packet_queue *queue, uint32_t number,
                            struct ntk_packet_ring *rings, size_t ring_count)
{
    bool has_bytes = !queue->has_unknown_bytes && queue->transfer_bytes == queue->packet_bytes;

    queue->rule = queue->is_prepared                             ? NTK_PACKETS_SHARES
                  : has_writes(queue, number, rings, ring_count) ? NTK_PACKETS_WRITES
                  : has_bytes                                    ? NTK_PACKETS_BYTES
                                                                 : NTK_PACKETS_TIME;
    queue->current = queue->first;
    bool is_first = true;
    for (size_t r = 0; r < ring_count; r++) {
        if (rings[r].queue == number) {
            rings[r].current = queue->first;
            rings[r].is_first = is_first;
            is_first = false;
        }
    }
}

/* ---- one packet ---- */

static void ring_turn(struct ntk_packet_ring *ring, const struct ntk_begun *begun)
{
    ring->current = begun[ring->current].next;
    ring->current_bytes = 0;
    ring->has_all = false;
}

/* Rejects this transfer and all later transfers of the queue: the end of the rule marks the later
 * ones. */
static uint32_t ring_stops(struct ntk_packet_ring *ring, struct ntk_begun *begun)
{
    begun[ring->current].does_not_fit = true;
    ring->current = NONE;
    ring->has_stopped = true;
    return NONE;
}

static uint64_t share_on(const struct ntk_packet_ring *ring, const struct ntk_begun *of)
{
    return !of->is_undivided ? of->share : ring->is_first ? of->sides[1] : 0;
}

static uint32_t next_by_shares(struct ntk_packet_queue *queue, struct ntk_packet_ring *ring,
                               struct ntk_begun *begun, const struct ntk_trace_packet *packet)
{
    bool is_write = packet->bytes_count == NTK_DMA_SEMAPHORE_BYTES;

    if (ring->current != NONE && ring->has_all) {
        uint32_t of = ring->current;
        bool is_its_write = is_write && ring->current_bytes == share_on(ring, &begun[of]);
        ring_turn(ring, begun);
        if (is_its_write) {
            begun[of].write_bytes += packet->bytes_count;
            return of;
        }
    }
    if (ring->current == NONE) {
        queue->left_count += !ring->has_stopped;
        return NONE;
    }
    struct ntk_begun *of = &begun[ring->current];
    uint64_t share = share_on(ring, of);
    ring->current_bytes += packet->bytes_count;
    if ((share == 0 && !of->is_undivided) || packet->bytes_count == 0 ||
        (ring->current_bytes > share && ring->current_bytes != share + NTK_DMA_SEMAPHORE_BYTES)) {
        return ring_stops(ring, begun);
    }
    if (ring->current_bytes >= share) {
        ring->has_all = true;
        of->rings_done++;
        of->write_bytes += ring->current_bytes - share;
    }
    return ring->current;
}

static uint32_t next_by_writes(struct ntk_packet_ring *ring, struct ntk_begun *begun,
                               const struct ntk_trace_packet *packet)
{
    uint32_t of = ring->current;

    if (of != NONE && ntk_packet_is_write(packet)) {
        begun[of].write_bytes += packet->bytes_count;
        ring_turn(ring, begun);
    }
    return of;
}

static uint32_t next_by_bytes(struct ntk_packet_queue *queue, struct ntk_begun *begun,
                              const struct ntk_trace_packet *packet)
{
    while (queue->current != NONE && queue->current_bytes >= begun[queue->current].bytes_count) {
        queue->current_bytes -= begun[queue->current].bytes_count;
        queue->current = begun[queue->current].next;
    }
    uint32_t of = queue->current;
    queue->current_bytes += packet->bytes_count;
    return of != NONE && queue->current_bytes <= begun[of].bytes_count ? of : NONE;
}

/* Returns the first transfer that does not end before the packet; ends of packets are close
 * together. */
static uint32_t next_by_time(struct ntk_packet_queue *queue, const struct ntk_begun *begun,
                             const struct ntk_trace_packet *packet)
{
    uint32_t of = queue->current;

    while (begun[of].last_done_ps < packet->end_ps && begun[of].next != NONE) {
        of = begun[of].next;
    }
    while (begun[of].before != NONE && begun[begun[of].before].last_done_ps >= packet->end_ps) {
        of = begun[of].before;
    }
    queue->current = of;
    return begun[of].done_ps != INT64_MAX && begun[of].done_ps >= packet->end_ps &&
                   packet->start_ps >= begun[of].start_ps
               ? of
               : NONE;
}

uint32_t ntk_packet_rule_next(struct ntk_packet_queue *queue, struct ntk_packet_ring *ring,
                              struct ntk_begun *begun, const struct ntk_trace_packet *packet)
{
    uint32_t of = NONE;

    if (queue->count == 0) {
        return NONE;
    }
    switch (queue->rule) {
    case NTK_PACKETS_SHARES:
        of = next_by_shares(queue, ring, begun, packet);
        break;
    case NTK_PACKETS_WRITES:
        of = next_by_writes(ring, begun, packet);
        break;
    case NTK_PACKETS_BYTES:
        of = next_by_bytes(queue, begun, packet);
        break;
    case NTK_PACKETS_TIME:
        of = next_by_time(queue, begun, packet);
        break;
    }
    if (of != NONE && packet->start_ps < begun[of].start_ps) {
        begun[of].does_not_fit = true;
    }
    return of;
}

/* ---- matching packets ---- */

bool ntk_packet_rule_fits(struct ntk_packet_queue *queue, const struct ntk_begun *begun,
                          const struct ntk_begun *all, const struct ntk_transfer *transfer)
{
    uint64_t data = transfer->bytes_count - begun->write_bytes;
    int64_t before_ps = begun->before == NONE ? INT64_MIN : all[begun->before].done_ps;

    queue->has_stopped =
        queue->has_stopped || queue->left_count || begun->rings_done != queue->ring_count;
    if (begun->does_not_fit || transfer->packet_count == 0) {
        return false;
    }
    switch (queue->rule) {
    case NTK_PACKETS_SHARES:
        return !queue->has_stopped;
    case NTK_PACKETS_WRITES:
        return begun->sides[1] == 0 || data == begun->sides[0] || data == begun->sides[1];
    case NTK_PACKETS_BYTES:
        return transfer->bytes_count == begun->bytes_count;
    case NTK_PACKETS_TIME:
        return begun->bytes_count ? transfer->bytes_count == begun->bytes_count
                                  : before_ps <= begun->start_ps;
    }
    return false;
}
