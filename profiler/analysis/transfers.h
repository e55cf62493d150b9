/* SPDX-License-Identifier: MIT */
/*
 * transfers - which packets of a DMA queue does the transfer have that an instruction began, and
 * which instruction began a packet?
 *
 * A queue does its transfers in the order in which they were begun. Where each of its rings has one
 * packet of a semaphore write for each transfer (real hardware), packets up to the j-th of them on
 * a ring are those of the j-th transfer. Else, where the bytes of all transfers are known and are
 * those of all packets, the packets in order of start are shared out by them. Else they are those
 * that begin after the instruction and end no later than the change that tells the transfer's end,
 * but later than that of the transfer before; they count only where that is all of its bytes, or
 * where no transfer overlaps with the one before. Otherwise nothing is known.
 *
 * Owner:   caller's storage; ntk_transfer_fini() frees. Threads: immutable.
 */
#ifndef NTK_PROFILER_ANALYSIS_TRANSFERS_H
#define NTK_PROFILER_ANALYSIS_TRANSFERS_H

#include "profiler/analysis/dependencies.h"
#include "shared/base/vec.h"

/* One transfer. */
struct ntk_transfer {
    uint32_t instruction;     /* that began it; NTK_NO_INDEX: not known, and nothing below */
    const char *queue;        /* as in the NEFF */
    struct ntk_vec packets;   /* of uint32_t, in order of start; empty: not known which */
    uint64_t bytes_count;     /* of the packets */
    int64_t start_ps, end_ps; /* of the packets */
    uint32_t last;            /* the packet that ends last */
};

/* The transfer that the instruction began. 0 or -ENOMEM. */
int ntk_transfer_of_instruction(const struct ntk_program *program, size_t core,
                                uint32_t instruction, struct ntk_transfer *out_transfer);
/* The transfer that the packet is of. 0 or -ENOMEM. */
int ntk_transfer_of_packet(const struct ntk_program *program, size_t core, uint32_t packet,
                           struct ntk_transfer *out_transfer);
void ntk_transfer_fini(struct ntk_transfer *transfer);

#endif
