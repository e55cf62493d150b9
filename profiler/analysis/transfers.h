/* SPDX-License-Identifier: MIT */
/*
 * transfers - finds all transfers of a trace, with the starting instruction and the packets of
 * each.
 *
 * A queue runs its transfers in the order of their start; packet_rules.h describes how its packets
 * are assigned to transfers. A transfer without matching packets has none, and is counted.
 *
 * Errors:  -errno of a long list.
 * Owner:   the caller provides the storage; ntk_transfers_init() allocates, ntk_transfers_fini()
 *          frees, and accepts a zeroed struct. The program is borrowed. Threads: any; immutable
 *          after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_TRANSFERS_H
#define NTK_PROFILER_ANALYSIS_TRANSFERS_H

#include "profiler/analysis/dependencies.h"

struct ntk_transfer {
    uint32_t instruction;     /* instruction that started it */
    uint32_t packet_count;    /* 0 if the packets and all members below are unknown */
    uint32_t first, last;     /* the packet that starts first, and the packet that ends last */
    int64_t start_ps, end_ps; /* range of the packets */
    uint64_t bytes_count;     /* bytes of the packets, including semaphore writes */
};

struct ntk_transfers_core {
    size_t count;
    const struct ntk_transfer *items; /* in the order of their instructions */
    const uint32_t *of_packets;       /* 1 + index in items; 0 without a transfer */
    struct ntk_long_list list, packet_list;
    uint64_t unknown_count; /* number of transfers without packets */
    uint64_t left_count;    /* number of packets in these queues without a known transfer */
};

struct ntk_transfers {
    const struct ntk_program *program;
    size_t core_count;
    struct ntk_transfers_core *cores;
};

int ntk_transfers_init(struct ntk_transfers *transfers, const struct ntk_program *program);
void ntk_transfers_fini(struct ntk_transfers *transfers);

/* Returns the transfer that the instruction started; NULL if none. */
const struct ntk_transfer *ntk_transfer_of_instruction(const struct ntk_transfers *transfers,
                                                       size_t core, uint32_t instruction);
/* Returns the transfer of the packet; NULL if unknown. */
const struct ntk_transfer *ntk_transfer_of_packet(const struct ntk_transfers *transfers,
                                                  size_t core, uint32_t packet);
/* Returns the facts of its instruction, which include queue and moved data. */
const struct ntk_slot_fact *ntk_transfer_fact(const struct ntk_transfers *transfers, size_t core,
                                              const struct ntk_transfer *transfer);
/* Returns memory of checked items to the system, every NTK_TRACE_LOOKS packets or transfers. */
void ntk_transfers_give_back(const struct ntk_transfers *transfers, size_t core);

#endif
