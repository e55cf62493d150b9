/* SPDX-License-Identifier: MIT */
/*
 * arrows - finds releases between the instruction spans of a core, for formats that draw arrows.
 *
 * An arrow leads from the instruction that ended a wait, or from the transfer that ended it, to the
 * instruction that waited (analysis/dependencies.h); if the packets of the transfer are unknown, it
 * starts at the instruction that started the transfer. Each instruction has at most one incoming
 * arrow, and any number of outgoing arrows. Another arrow leads from an instruction to the transfer
 * that it started, for every known transfer.
 *
 * Owner:   the caller provides the storage, zeroed if empty; _init allocates, _fini frees; the
 *          transfers are borrowed. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_ARROWS_H
#define NTK_PROFILER_OUTPUT_TRACES_ARROWS_H

#include "profiler/analysis/transfers.h"

struct ntk_arrow {
    uint32_t from; /* instruction; NTK_NO_INDEX if none */
    bool by_transfer;
    /* transfer of the core at which it starts; NTK_NO_INDEX if it starts at `from` */
    uint32_t transfer;
    /* It ends inside the span of the waiting instruction; otherwise at its start */
    bool is_inside;
};

struct ntk_arrows {
    const struct ntk_transfers *transfers;
    struct ntk_dependencies dependencies;
    /* By instruction of the core: the first instruction that it or its transfer released; the next
     * one */
    struct ntk_long_list leaving;
    size_t core_index;
};

/* Returns 0 or -errno. */
int ntk_arrows_init(struct ntk_arrows *arrows, const struct ntk_transfers *transfers);
/* Sets the core for the following calls. Returns 0 or -errno. */
int ntk_arrows_turn_to(struct ntk_arrows *arrows, size_t core_index);
struct ntk_arrow ntk_arrow_to(const struct ntk_arrows *arrows, uint32_t instruction);
/*
 * for (uint32_t to = ntk_arrows_first(arrows, from); to != NTK_NO_INDEX;
 *      to = ntk_arrows_next(arrows, to))
 */
uint32_t ntk_arrows_first(const struct ntk_arrows *arrows, uint32_t from);
uint32_t ntk_arrows_next(const struct ntk_arrows *arrows, uint32_t to);
/* Returns memory of checked items to the system, every NTK_TRACE_LOOKS instructions. */
void ntk_arrows_give_back(const struct ntk_arrows *arrows);
void ntk_arrows_fini(struct ntk_arrows *arrows);

#endif
