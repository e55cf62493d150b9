/* SPDX-License-Identifier: MIT */
/*
 * dma_across - transposes planes of two-byte elements.
 *
 * Loading the innermost dimension of a tensor onto partitions, or storing it from there, would move
 * single elements on each side; here blocks of eight by eight are transposed in registers.
 *
 * Threads: any; only accesses the caller's memory.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_DMA_ACROSS_H
#define NTK_RUNTIME_HOOKS_ENGINE_DMA_ACROSS_H

#include <stddef.h>
#include <stdint.h>

/* Copies element (i, k) from `from` + i * 2 + k * from_step to `to` + i * to_step + k * 2, for i
 * below rows and k below columns. */
void ntk_dma_across(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step,
                    uint64_t rows, uint64_t columns);

#endif
