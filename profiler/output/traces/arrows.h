/* SPDX-License-Identifier: MIT */
/*
 * arrows - releases between the instruction spans of a core, for formats that draw arrows.
 *
 * An arrow goes from the instruction that ended a wait, or from the transfer that ended it, to the
 * instruction that waited (analysis/dependencies.h); if the packets of the transfer are unknown, it
 * starts at the instruction that started the transfer. Each instruction has at most one incoming
 * arrow, and any number of outgoing ones. Another arrow goes from an instruction to the transfer
 * that it started, for every known transfer.
 *
 * Owner:   caller's storage, zeroed is empty, _init allocates, _fini frees; the transfers are
 *          borrowed. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_ARROWS_H
#define NTK_PROFILER_OUTPUT_TRACES_ARROWS_H

#include "profiler/analysis/transfers.h"

struct ntk_arrow {
    uint32_t from; /* instruction; NTK_NO_INDEX: none */
    bool by_transfer;
    uint32_t transfer; /* it starts at this transfer of the core; NTK_NO_INDEX: at `from` */
    /* it ends inside the span of the waiting instruction; else at its start */
    bool is_inside;
};

struct ntk_arrows {
    const struct ntk_transfers *transfers;
    struct ntk_dependencies dependencies;
    /* by instruction of the core: the first that it or its transfer released; the next one */
    struct ntk_long_list leaving;
    size_t core_index;
};

/* 0 or -errno. */
int ntk_arrows_init(struct ntk_arrows *arrows, const struct ntk_transfers *transfers);
/* Sets the core for the following calls. 0 or -errno. */
int ntk_arrows_turn_to(struct ntk_arrows *arrows, size_t core_index);
struct ntk_arrow ntk_arrow_to(const struct ntk_arrows *arrows, uint32_t instruction);
/*
 * for (uint32_t to = ntk_arrows_first(arrows, from); to != NTK_NO_INDEX;
 *      to = ntk_arrows_next(arrows, to))
 */
uint32_t ntk_arrows_first(const struct ntk_arrows *arrows, uint32_t from);
uint32_t ntk_arrows_next(const struct ntk_arrows *arrows, uint32_t to);
/* Returns memory of checked items, every NTK_TRACE_LOOKS instructions. */
void ntk_arrows_give_back(const struct ntk_arrows *arrows);
void ntk_arrows_fini(struct ntk_arrows *arrows);

#endif
