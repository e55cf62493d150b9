/* SPDX-License-Identifier: MIT */
/*
 * transfers - all transfers of a trace, with the starting instruction and the packets of each.
 *
 * A queue does its transfers in the order in which they were started; packet_rules.h describes how
 * its packets are assigned to them. A transfer without matching packets has none, and is counted.
 *
 * Errors:  -errno of a long list.
 * Owner:   caller's storage; ntk_transfers_init() allocates, ntk_transfers_fini() frees, also a
 *          zeroed one. It borrows the program. Threads: any; immutable after creation.
 */
#ifndef NTK_PROFILER_ANALYSIS_TRANSFERS_H
#define NTK_PROFILER_ANALYSIS_TRANSFERS_H

#include "profiler/analysis/dependencies.h"

struct ntk_transfer {
    uint32_t instruction;     /* that began it */
    uint32_t packet_count;    /* 0: the packets are unknown, and all members below */
    uint32_t first, last;     /* the packet that starts first, and the one that ends last */
    int64_t start_ps, end_ps; /* of the packets */
    uint64_t bytes_count;     /* of the packets, including semaphore writes */
};

struct ntk_transfers_core {
    size_t count;
    const struct ntk_transfer *items; /* in the order of their instructions */
    const uint32_t *of_packets;       /* 1 + index in items; 0: of none */
    struct ntk_long_list list, packet_list;
    uint64_t unknown_count; /* transfers without packets */
    uint64_t left_count;    /* packets of these queues without a known transfer */
};

struct ntk_transfers {
    const struct ntk_program *program;
    size_t core_count;
    struct ntk_transfers_core *cores;
};

int ntk_transfers_init(struct ntk_transfers *transfers, const struct ntk_program *program);
void ntk_transfers_fini(struct ntk_transfers *transfers);

/* The transfer that the instruction started; NULL: none. */
const struct ntk_transfer *ntk_transfer_of_instruction(const struct ntk_transfers *transfers,
                                                       size_t core, uint32_t instruction);
/* The transfer of the packet; NULL: unknown. */
const struct ntk_transfer *ntk_transfer_of_packet(const struct ntk_transfers *transfers,
                                                  size_t core, uint32_t packet);
/* Its instruction's queue and moved data. */
const struct ntk_slot_fact *ntk_transfer_fact(const struct ntk_transfers *transfers, size_t core,
                                              const struct ntk_transfer *transfer);
/* Returns memory of checked items, every NTK_TRACE_LOOKS packets or transfers. */
void ntk_transfers_give_back(const struct ntk_transfers *transfers, size_t core);

#endif
