/* SPDX-License-Identifier: MIT */
/*
 * packet_rules - assigns the packets of a DMA queue to its transfers by rules.
 *
 * A queue has a ring on each DMA engine, and each ring does a part of every transfer, in order. The
 * first rule with a true condition applies:
 *
 *   shares  All transfers are prepared ones of a vendor's program. Each ring moves the same part of
 *           a transfer: its packets are those up to this many bytes, with the 4 bytes of a
 *           semaphore write in the last one, in another one, or absent. A transfer to a single row
 *           is not divided: the first ring moves all of it, the others only write the semaphore.
 *   writes  Each ring has one packet of a semaphore write for each transfer: packets up to the j-th
 *           of them are those of the j-th transfer.
 *   bytes   The bytes of all transfers are those of all packets: packets in order of start are
 *   divided by them.
 *   time    They are those that begin after the instruction and end no later than the change that
 *   marks the transfer's end, but later than that of the transfer before.
 *
 * A transfer gets its packets only if they fit: they start after its instruction and have its bytes
 * (rule time: if the bytes are unknown, it must not overlap with the previous transfer). In shares,
 * a ring that does not fit ends the rule for this and all later transfers; remaining packets end it
 * for all.
 *
 * Packets are passed in order of time; memory grows with the queues. Owner: the caller provides the
 * storage. Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_PACKET_RULES_H
#define NTK_PROFILER_ANALYSIS_PACKET_RULES_H

#include "profiler/analysis/transfers.h"

#define NTK_PACKET_NO_TRANSFER UINT32_MAX

/* Known properties of a transfer before its packets; place is its index in lists of the whole
 * core. */
struct ntk_begun {
    uint32_t next, before;   /* neighbours in its queue; NTK_PACKET_NO_TRANSFER at the ends */
    uint32_t next_of_number; /* next transfer that changes the same semaphore at its end */
    uint32_t rings_done;     /* for shares: number of rings that have all of its packets */
    int64_t start_ps;
    /* INT64_MAX if unknown; last_done_ps is the latest of it and earlier transfers */
    int64_t done_ps, last_done_ps;
    uint64_t bytes_count; /* for bytes and time: bytes in device memory; 0 if unknown */
    uint64_t sides[2];    /* bytes of source and destination; 0 if packets may have other sizes */
    uint64_t share;       /* bytes of one ring; 0 if unknown */
    bool is_undivided;    /* moved only by the first ring */
    uint64_t write_bytes; /* bytes of its packets that write semaphores */
    bool does_not_fit;
};

enum ntk_packet_rule {
    NTK_PACKETS_SHARES,
    NTK_PACKETS_WRITES,
    NTK_PACKETS_BYTES,
    NTK_PACKETS_TIME
};

struct ntk_packet_queue {
    enum ntk_packet_rule rule;
    bool is_prepared;            /* all transfers are prepared ones of a vendor's program */
    uint32_t first, last, count; /* range and number of its transfers */
    uint32_t ring_count;
    uint64_t packet_count, packet_bytes;
    uint64_t transfer_bytes;
    bool has_unknown_bytes;
    bool has_stopped;       /* for shares: a transfer is not complete */
    uint64_t left_count;    /* for shares: number of packets after the last transfer */
    uint32_t current;       /* for bytes and time: current transfer; position of the last packet */
    uint64_t current_bytes; /* for bytes: bytes of the current transfer that are already assigned */
};

struct ntk_packet_ring {
    uint32_t queue; /* NTK_PACKET_NO_TRANSFER if none */
    bool is_first;  /* first ring of its queue */
    uint32_t packet_count, write_count;
    uint32_t current;       /* current transfer */
    uint64_t current_bytes; /* bytes of the current transfer in this ring */
    bool has_all;           /* has all of the current transfer, except for a semaphore write */
    bool has_stopped;       /* a transfer did not fit */
};

/* Adds a transfer of the queue with its known rings. */
void ntk_packet_rule_add(struct ntk_packet_queue *queue, struct ntk_begun *begun);
/* Selects the rule of a queue after its transfers were added and its packets counted, and prepares
 * its rings in the list of ring_count rings. */
void ntk_packet_rule_choose(struct ntk_packet_queue *queue, uint32_t number,
                            struct ntk_packet_ring *rings, size_t ring_count);
/* Returns the transfer of the next packet, or NTK_PACKET_NO_TRANSFER. */
uint32_t ntk_packet_rule_next(struct ntk_packet_queue *queue, struct ntk_packet_ring *ring,
                              struct ntk_begun *begun, const struct ntk_trace_packet *packet);
/* Called after the last packet, for each transfer in order: returns true if the assigned packets
 * fit. all: same as in ntk_packet_rule_next(). */
bool ntk_packet_rule_fits(struct ntk_packet_queue *queue, const struct ntk_begun *begun,
                          const struct ntk_begun *all, const struct ntk_transfer *transfer);

bool ntk_packet_is_write(const struct ntk_trace_packet *packet);

#endif
