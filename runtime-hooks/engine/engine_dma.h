/* SPDX-License-Identifier: MIT */
/*
 * engine_dma - computes the sides of transfers, with limits and costs, for engine_dma.c, which
 * decodes the instructions that start them.
 *
 * Threads: one at a time per builder.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_ENGINE_DMA_H
#define NTK_RUNTIME_HOOKS_ENGINE_ENGINE_DMA_H

#include "runtime-hooks/engine/engine_builder.h"

/* Finds the side that an instruction names. *table is the variable of its address table, or NULL.
 * Returns -EBADMSG if invalid. */
int engine_dma_side_from_operand(struct ntk_engine_builder *b, const char *what,
                                 const struct ntk_isa_operand *operand,
                                 const struct ntk_engine_variable **table,
                                 struct ntk_engine_side *out, struct ntk_err *err);
uint64_t engine_dma_side_bytes(const struct ntk_engine_side *side);
/* Returns true if two sides may overlap, by their outer bounds. */
bool engine_dma_sides_meet(const struct ntk_engine_side *a, const struct ntk_engine_side *b);
/* The size of a side's memory. */
uint64_t engine_dma_memory_bytes(const struct ntk_engine_builder *b,
                                 const struct ntk_engine_side *side);
/* Rejects moving more than the target memory can hold, with -EBADMSG. */
int engine_dma_memory_bound(const struct ntk_engine_builder *b, const struct ntk_engine_side *to,
                            struct ntk_err *err);
bool engine_dma_side_is_hbm(const struct ntk_engine_side *side);
/* Computes the sums and cost figures once all sides are known. */
void engine_dma_transfer_finish(struct ntk_engine_builder *b, struct ntk_engine_transfer *transfer);
/* Adds a transfer of a descriptor group to the program. Returns -EBADMSG, -ENOTSUP or -ENOMEM. */
int engine_dma_transfer_prepare(struct ntk_engine_builder *b, const struct ntk_neff_transfer *from,
                                struct ntk_err *err);

#endif
