/* SPDX-License-Identifier: MIT */
/*
 * dma_across - planes of elements of two bytes whose rows become columns.
 *
 * What loads the innermost dimension of a tensor onto the partitions, or stores it from there,
 * moves one element at a time on each side; eight by eight they go through registers.
 *
 * Threads: any; no state but the memory of the caller.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_DMA_ACROSS_H
#define NTK_RUNTIME_HOOKS_ENGINE_DMA_ACROSS_H

#include <stddef.h>
#include <stdint.h>

/* Element (i, k) is at from + i * 2 + k * from_step and goes to to + i * to_step + k * 2, for i
 * below rows and k below columns. */
void ntk_dma_across(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                    uint64_t rows, uint64_t columns);

#endif
