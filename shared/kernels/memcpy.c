/* SPDX-License-Identifier: MIT */
/*
 * memcpy - copies a tensor from memory to memory through the state buffer, in pieces of at most 16
 * KiB of each row, with two buffers in turn.
 */
#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { PIECE_BYTES = 16384, BUFFERS = 2, PIECES_MAX = 256 };

void ntk_example_memcpy(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "memcpy");
    uint64_t row = options->size * 4;
    uint64_t shape[2] = { NTK_KIT_P, options->size };
    uint32_t in = ntk_neff_kernel_input(kernel, "in", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t out = ntk_neff_kernel_output(kernel, "out", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t in_queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    uint32_t out_queue =
        ntk_neff_kernel_queue(kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    ntk_neff_token loads[PIECES_MAX] = { 0 };
    ntk_neff_token stores[PIECES_MAX] = { 0 };
    ntk_neff_token stored[BUFFERS] = { 0, 0 };

    for (uint64_t r = ntk_kit_loop(kernel, "r");
         ntk_neff_kernel_iterate(kernel, r, r < options->repeat); r++) {
        for (uint64_t piece = ntk_kit_loop(kernel, "piece");
             ntk_neff_kernel_iterate(kernel, piece, piece * PIECE_BYTES < row); piece++) {
            uint64_t at = piece * PIECE_BYTES;
            uint64_t bytes = row - at < PIECE_BYTES ? row - at : PIECE_BYTES;
            /* A descriptor group always uses the same buffer, so buffers alternate only within a
             * round. */
            uint64_t buffer = piece % BUFFERS;

            loads[piece] =
                r == 0
                    ? ntk_neff_kernel_load(kernel, in_queue, NTK_ROWS(in, at, row, NTK_KIT_P),
                                           buffer * PIECE_BYTES, bytes, NTK_AFTER(stored[buffer]))
                    : ntk_neff_kernel_dma_again(kernel, loads[piece], NTK_AFTER(stored[buffer]));
            stores[piece] =
                r == 0 ? ntk_neff_kernel_store(kernel, out_queue, NTK_ROWS(out, at, row, NTK_KIT_P),
                                               buffer * PIECE_BYTES, bytes, NTK_AFTER(loads[piece]))
                       : ntk_neff_kernel_dma_again(kernel, stores[piece], NTK_AFTER(loads[piece]));
            stored[buffer] = stores[piece];
        }
    }
}
