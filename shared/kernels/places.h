/* SPDX-License-Identifier: MIT */
/*
 * places - lets examples record the source line of each instruction, as compilers do for users'
 * kernels. An example that includes this header only needs loops of this form:
 *
 *   for (uint64_t tile = ntk_kit_loop(kernel, "tile");
 *        ntk_neff_kernel_iterate(kernel, tile, tile < tiles); tile++) {
 *
 * Do not leave these loops with break or return, because the iteration would not end. The recorded
 * line is that of the function's name, so its macro takes no arguments: for a call over several
 * lines, some compilers report the first line, others the last.
 *
 * Owner: nothing is owned. Threads: one per kernel.
 */
#ifndef NTK_SHARED_KERNELS_PLACES_H
#define NTK_SHARED_KERNELS_PLACES_H

#include "shared/kernels/kit.h"

#define NTK_KIT_PLACE \
    (&(struct ntk_neff_place){ .file = NTK_KIT_FILE, .function = __func__, .line = __LINE__ })
#define ntk_kit_loop(kernel, variable) ntk_neff_kernel_loop(kernel, variable, NTK_KIT_PLACE)

#define NTK_KIT_HERE(function) (ntk_neff_build_place(NTK_KIT_PLACE), function)
#define ntk_neff_kernel_emit NTK_KIT_HERE(ntk_neff_kernel_emit)
#define ntk_neff_kernel_dma NTK_KIT_HERE(ntk_neff_kernel_dma)
#define ntk_neff_kernel_dma_again NTK_KIT_HERE(ntk_neff_kernel_dma_again)
#define ntk_neff_kernel_load NTK_KIT_HERE(ntk_neff_kernel_load)
#define ntk_neff_kernel_store NTK_KIT_HERE(ntk_neff_kernel_store)
#define ntk_kit_matmul NTK_KIT_HERE(ntk_kit_matmul)
#define ntk_kit_transpose NTK_KIT_HERE(ntk_kit_transpose)
#define ntk_kit_activation NTK_KIT_HERE(ntk_kit_activation)
#define ntk_kit_scalar NTK_KIT_HERE(ntk_kit_scalar)
#define ntk_kit_memset NTK_KIT_HERE(ntk_kit_memset)
#define ntk_kit_copy NTK_KIT_HERE(ntk_kit_copy)

#endif
