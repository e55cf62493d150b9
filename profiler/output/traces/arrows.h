/* SPDX-License-Identifier: MIT */
/*
 * arrows - releases between the spans of the instructions of a core, for formats that draw
 * it.
 *
 * An arrow goes from the instruction that ended a wait, or from the transfer that ended it, to the
 * instruction that waited (analysis/dependencies.h); where the packets of the transfer are
 * unknown from the instruction that began it. Each instruction has at most one that comes, and any
 * number that leave. From an instruction to the transfer that it began is another arrow, which
 * formats draw for every transfer that is known.
 *
 * Owner:   caller's storage, zeroed is empty, _init allocates, _fini frees; the transfers are
 *          borrowed. Threads: one.
 */
#ifndef NTK_PROFILER_OUTPUT_TRACES_ARROWS_H
#define NTK_PROFILER_OUTPUT_TRACES_ARROWS_H

#include "profiler/analysis/transfers.h"

struct ntk_arrow {
    uint32_t from; /* instruction; NTK_NO_INDEX: there is none */
    bool by_transfer;
    uint32_t transfer; /* it comes from this one of the core's; NTK_NO_INDEX: from `from` */
    /* it comes while the span of the one that waits runs already; else at its start */
    bool is_inside;
};

struct ntk_arrows {
    const struct ntk_transfers *transfers;
    struct ntk_dependencies dependencies;
    /* of the core, by instruction: the first that it or its transfer let go; the next such */
    struct ntk_long_list leaving;
    size_t core_index;
};

/* 0 or -errno. */
int ntk_arrows_init(struct ntk_arrows *arrows, const struct ntk_transfers *transfers);
/* The core of the following calls. 0 or -errno. */
int ntk_arrows_turn_to(struct ntk_arrows *arrows, size_t core_index);
struct ntk_arrow ntk_arrow_to(const struct ntk_arrows *arrows, uint32_t instruction);
/*
 * for (uint32_t to = ntk_arrows_first(arrows, from); to != NTK_NO_INDEX;
 *      to = ntk_arrows_next(arrows, to))
 */
uint32_t ntk_arrows_first(const struct ntk_arrows *arrows, uint32_t from);
uint32_t ntk_arrows_next(const struct ntk_arrows *arrows, uint32_t to);
/* What was checked, each NTK_TRACE_LOOKS instructions. */
void ntk_arrows_give_back(const struct ntk_arrows *arrows);
void ntk_arrows_fini(struct ntk_arrows *arrows);

#endif
