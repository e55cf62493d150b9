/* SPDX-License-Identifier: MIT */
/*
 * places - examples record where in their own source each instruction comes from, as compilers do
 * for the kernels of users. An example that includes this needs nothing else but its loops:
 *
 *   for (uint64_t tile = ntk_kit_loop(kernel, "tile");
 *        ntk_neff_kernel_iterate(kernel, tile, tile < tiles); tile++) {
 *
 * A loop that is left with break or return keeps its iteration: do not. The line is that of the
 * name of the call; clang takes the last line of the call.
 *
 * Owner: nothing is owned. Threads: one per kernel.
 */
#ifndef NTK_SHARED_KERNELS_PLACES_H
#define NTK_SHARED_KERNELS_PLACES_H

#include "shared/kernels/kit.h"

static inline struct ntk_neff_kernel *ntk_kit_at(struct ntk_neff_kernel *kernel, uint32_t line,
                                                 const char *function)
{
    ntk_neff_kernel_place(kernel, NTK_KIT_FILE, line, function);
    return kernel;
}

#define NTK_KIT_HERE(kernel) ntk_kit_at(kernel, __LINE__, __func__)
#define ntk_kit_loop(kernel, variable) \
    ntk_neff_kernel_loop(kernel, variable, NTK_KIT_FILE, __LINE__, __func__)

#define ntk_neff_kernel_emit(kernel, ...) ntk_neff_kernel_emit(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_neff_kernel_dma(kernel, ...) ntk_neff_kernel_dma(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_neff_kernel_dma_again(kernel, ...) \
    ntk_neff_kernel_dma_again(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_neff_kernel_load(kernel, ...) ntk_neff_kernel_load(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_neff_kernel_store(kernel, ...) ntk_neff_kernel_store(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_kit_matmul(kernel, ...) ntk_kit_matmul(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_kit_transpose(kernel, ...) ntk_kit_transpose(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_kit_activation(kernel, ...) ntk_kit_activation(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_kit_scalar(kernel, ...) ntk_kit_scalar(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_kit_memset(kernel, ...) ntk_kit_memset(NTK_KIT_HERE(kernel), __VA_ARGS__)
#define ntk_kit_copy(kernel, ...) ntk_kit_copy(NTK_KIT_HERE(kernel), __VA_ARGS__)

#endif
