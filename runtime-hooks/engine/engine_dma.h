/* SPDX-License-Identifier: MIT */
/*
 * engine_dma - sides of transfers, bounded and priced: from where to where. For engine_dma.c, which
 * reads the instructions that start them.
 *
 * Threads: one at a time per builder.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_DMA_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_DMA_H

#include "runtime-hooks/engine/engine_builder.h"

/* A side that an instruction names. *table: the variable of an address table that it goes through,
 * else NULL. -EBADMSG. */
int engine_dma_side_from_operand(struct ntk_engine_builder *b, const char *what,
                                 const struct ntk_isa_operand *operand,
                                 const struct ntk_engine_variable **table,
                                 struct ntk_engine_side *out, struct ntk_err *err);
uint64_t engine_dma_side_bytes(const struct ntk_engine_side *side);
/* Whether bytes of one side may also be bytes of the other (by their outermost bounds). */
bool engine_dma_sides_meet(const struct ntk_engine_side *a, const struct ntk_engine_side *b);
/* What the memory that a side is in holds. */
uint64_t engine_dma_memory_bytes(const struct ntk_engine_builder *b,
                                 const struct ntk_engine_side *side);
/* Refuses to move more than the memory of the target holds. -EBADMSG. */
int engine_dma_memory_bound(const struct ntk_engine_builder *b, const struct ntk_engine_side *to,
                            struct ntk_err *err);
bool engine_dma_side_is_hbm(const struct ntk_engine_side *side);
/* Sums and cost figures once all sides are known. */
void engine_dma_transfer_finish(struct ntk_engine_builder *b, struct ntk_engine_transfer *transfer);
/* Adds a transfer of a descriptor group to the program. -EBADMSG, -ENOTSUP, -ENOMEM. */
int engine_dma_transfer_prepare(struct ntk_engine_builder *b, const struct ntk_neff_transfer *from,
                                struct ntk_err *err);

#endif
