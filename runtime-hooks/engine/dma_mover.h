/* SPDX-License-Identifier: MIT */
/*
 * dma_mover - moves elements between two patterns of host memory.
 *
 * A walk visits count[0] elements step[0] bytes apart, count[1] times step[1] bytes apart, and so
 * on outwards. Two walks with the same number of elements can be combined, whatever their shapes:
 * the n-th element of one corresponds to the n-th of the other. Walks are normalised when a program
 * is created, so that dense rows become one run and a run becomes one memmove.
 *
 * No function here checks bounds: engine_program.c has checked them (ntk_dma_walk_extent).
 *
 * Threads: any; only accesses the caller's memory.
 */
#ifndef NTK_RUNTIME_HOOKS_ENGINE_DMA_MOVER_H
#define NTK_RUNTIME_HOOKS_ENGINE_DMA_MOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/formats/neff/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_DMA_DIMS_MAX 5 /* four dimensions of a tile, and its partitions */
#define NTK_DMA_SOURCES_MAX 16

struct ntk_dma_walk {
    enum ntk_dtype dtype;
    uint8_t fp8; /* enum ntk_kernel_fp8 */
    uint8_t dim_count;
    /* numbers of elements, innermost dimension first; each at least 1 */
    uint64_t count[NTK_DMA_DIMS_MAX];
    int64_t step[NTK_DMA_DIMS_MAX]; /* in bytes */
};

/* Drops dimensions of one element and merges contiguous ones. */
void ntk_dma_walk_normalise(struct ntk_dma_walk *walk);
/* The product of the counts; false if it exceeds 62 bits. */
bool ntk_dma_walk_elements(const struct ntk_dma_walk *walk, uint64_t *out_elements);
/* The lowest byte and the end of the highest, relative to the first element; false on overflow. */
bool ntk_dma_walk_extent(const struct ntk_dma_walk *walk, int64_t *out_low, int64_t *out_high);
/* The bytes in a contiguous run of a normalised walk. */
uint64_t ntk_dma_walk_run_bytes(const struct ntk_dma_walk *walk);

/* Copies bits unchanged; both dtypes must have the same width. */
void ntk_dma_copy(const struct ntk_dma_walk *to_walk, uint8_t *to,
                  const struct ntk_dma_walk *from_walk, const uint8_t *from);
/* Converts by the rules of kernel_dtype.h. */
void ntk_dma_cast(const struct ntk_dma_walk *to_walk, uint8_t *to,
                  const struct ntk_dma_walk *from_walk, const uint8_t *from);

/* Converts count elements, beginning at element to_first of one walk and from_first of the
 * other. */
void ntk_dma_cast_part(const struct ntk_dma_walk *to_walk, uint8_t *to, uint64_t to_first,
                       const struct ntk_dma_walk *from_walk, const uint8_t *from,
                       uint64_t from_first, uint64_t count);

enum ntk_dma_fold { NTK_DMA_ADD, NTK_DMA_MIN, NTK_DMA_MAX, NTK_DMA_FMA };

struct ntk_dma_source {
    struct ntk_dma_walk walk;
    const uint8_t *from;
    float scale; /* only for NTK_DMA_FMA */
};

/* Computes to = start fold source 0 fold source 1 ... in fp32, or in 64-bit integers if no dtype is
 * a float (FMA always in fp32). The start is *start if given, the old destination if accumulates is
 * set, or else source 0. */
void ntk_dma_compute(enum ntk_dma_fold fold, const struct ntk_dma_walk *to_walk, uint8_t *to,
                     const struct ntk_dma_source *sources, size_t source_count, bool accumulates,
                     const double *start);

/* Transposes the elements of from, read as consecutive arrays of shape[0] x shape[1] x shape[2] x
 * shape[3] (the last one is innermost), and writes each array with the dimensions in the order
 * order[0] .. order[3], outermost first. from and to must not overlap. */
void ntk_dma_transpose(const struct ntk_dma_walk *to_walk, uint8_t *to,
                       const struct ntk_dma_walk *from_walk, const uint8_t *from,
                       const uint32_t shape[4], const uint8_t order[4], uint8_t *scratch);

#ifdef __cplusplus
}
#endif
#endif
