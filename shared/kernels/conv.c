/* SPDX-License-Identifier: MIT */
/*
 * conv - a 3x3 convolution as nine matrix products per block of rows.
 *
 * The image is in the state buffer with its channels on the partitions and a frame of zeros around
 * it. A product takes the weights of one tap as stationary tile and the image, moved by the tap, as
 * a two-dimensional moving pattern; the nine taps add up in PSUM.
 */
#include <stdlib.h>

#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { IN_CHANNELS = 64, OUT_CHANNELS = 128, TAPS = 9 };

void ntk_example_conv(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "conv");
    struct ntk_kit_space space = { 0 };
    enum ntk_dtype dtype = options->dtype;
    uint64_t size = ntk_dtype_bytes((unsigned)dtype);
    uint64_t side = options->size;
    uint64_t framed = side + 2;
    uint64_t block_rows = NTK_ISA_MOVING_MAX / side < side ? NTK_ISA_MOVING_MAX / side : side;
    uint64_t tap_bytes = OUT_CHANNELS * size;
    uint64_t row_bytes = side * side * 4;
    void *weights = ntk_kit_weights((uint64_t)TAPS * IN_CHANNELS * OUT_CHANNELS, dtype, 0.05F, 11);
    void *biases = ntk_kit_weights(OUT_CHANNELS, NTK_DTYPE_FLOAT32, 0.5F, 12);
    uint32_t image =
        ntk_neff_kernel_input(kernel, "image", dtype, 3, (uint64_t[]){ IN_CHANNELS, side, side });
    uint32_t result = ntk_neff_kernel_output(kernel, "result", NTK_DTYPE_FLOAT32, 3,
                                             (uint64_t[]){ OUT_CHANNELS, side, side });
    uint32_t weights_var = ntk_neff_kernel_constant(
        kernel, "weights", dtype, 4, (uint64_t[]){ 3, 3, IN_CHANNELS, OUT_CHANNELS }, weights);
    uint32_t bias_var = ntk_neff_kernel_constant(kernel, "bias", NTK_DTYPE_FLOAT32, 1,
                                                 (uint64_t[]){ OUT_CHANNELS }, biases);
    uint32_t in_queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    uint32_t weight_queue =
        ntk_neff_kernel_queue(kernel, "qSPIOParam0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    uint32_t out_queue =
        ntk_neff_kernel_queue(kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    uint64_t image_at = ntk_kit_take(&space, framed * framed * size);
    uint64_t weights_at = ntk_kit_take(&space, TAPS * tap_bytes);
    uint64_t bias_at = ntk_kit_take(&space, 4);
    uint64_t result_at = ntk_kit_take(&space, row_bytes);
    struct ntk_neff_build_side from = { .var_id = image,
                                        .offset = 0,
                                        .dtype = dtype,
                                        .dim_count = 3,
                                        .steps = { 1, (int64_t)(side * size),
                                                   (int64_t)(side * side * size) },
                                        .sizes = { side * size, side, IN_CHANNELS } };
    struct ntk_neff_build_transfer load = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = { .var_id = NTK_NEFF_VAR_ID_SBUF,
                .offset = image_at + (framed + 1) * size,
                .dtype = dtype,
                .dim_count = 3,
                .steps = { 1, (int64_t)(framed * size), (int64_t)NTK_NEFF_SBUF_PARTITION_STEP },
                .sizes = { side * size, side, IN_CHANNELS } },
        .from = &from,
        .source_count = 1,
    };
    ntk_neff_token framed_zero = 0;
    ntk_neff_token weights_in = 0;
    ntk_neff_token image_in = 0;
    ntk_neff_token stored = 0;
    ntk_neff_token image_read = 0;
    ntk_neff_token bank_free[2] = { 0, 0 };
    uint64_t blocks = 0;

    free(weights);
    free(biases);
    if (space.used > NTK_KIT_SBUF_BYTES) {
        ntk_neff_build_fail(build,
                            "an image of this size and dtype needs more than the state buffer");
        return;
    }
    /* The tensor engine tells it from the others: its DMA does no more than copy, and the image
     * gets its frame on the way. */
    if (options->columns < OUT_CHANNELS) {
        ntk_neff_build_fail(build,
                            "conv has transfers that inf1 cannot do: mlp and attention run there");
        return;
    }
    ntk_neff_kernel_layer(kernel, "input");
    framed_zero = ntk_kit_memset(
        kernel, NTK_ISA_ENGINE_DVE,
        ntk_isa_sbuf(image_at, IN_CHANNELS, (uint32_t)(framed * framed), dtype), 0, NTK_AFTER_NONE);
    ntk_neff_kernel_layer(kernel, "weights");
    for (uint64_t tap = ntk_kit_loop(kernel, "tap");
         ntk_neff_kernel_iterate(kernel, tap, tap < TAPS); tap++) {
        ntk_neff_kernel_load(kernel, weight_queue, weights_var, tap * IN_CHANNELS * tap_bytes,
                             tap_bytes, IN_CHANNELS, weights_at + tap * tap_bytes, tap_bytes,
                             NTK_AFTER_NONE);
    }
    weights_in = ntk_neff_kernel_load(kernel, weight_queue, bias_var, 0, 4, OUT_CHANNELS, bias_at,
                                      4, NTK_AFTER_NONE);

    for (uint64_t r = ntk_kit_loop(kernel, "r");
         ntk_neff_kernel_iterate(kernel, r, r < options->repeat); r++) {
        ntk_neff_token activated = 0;

        ntk_neff_kernel_layer(kernel, "input");
        image_in = r == 0 ? ntk_neff_kernel_dma(kernel, in_queue, &load, NTK_AFTER(framed_zero))
                          : ntk_neff_kernel_dma_again(kernel, image_in, NTK_AFTER(image_read));
        for (uint64_t first = ntk_kit_loop(kernel, "first");
             ntk_neff_kernel_iterate(kernel, first, first < side); first += block_rows) {
            ntk_neff_kernel_layer(kernel, "conv");
            uint64_t rows = side - first < block_rows ? side - first : block_rows;
            uint64_t bank = blocks++ % 2;
            struct ntk_isa_operand psum = ntk_isa_psum(bank * NTK_ISA_PSUM_BANK_BYTES, OUT_CHANNELS,
                                                       (uint32_t)(rows * side), NTK_DTYPE_FLOAT32);

            for (uint64_t tap = ntk_kit_loop(kernel, "tap");
                 ntk_neff_kernel_iterate(kernel, tap, tap < TAPS); tap++) {
                struct ntk_isa_operand moving =
                    ntk_isa_sbuf(image_at + ((first + tap / 3) * framed + tap % 3) * size,
                                 IN_CHANNELS, (uint32_t)side, dtype);

                moving.dim_count = 2;
                moving.dim[1] = (struct ntk_isa_dim){ (int32_t)framed, (uint32_t)rows };
                image_read = ntk_kit_matmul(
                    kernel, psum,
                    ntk_isa_sbuf(weights_at + tap * tap_bytes, IN_CHANNELS, OUT_CHANNELS, dtype),
                    moving, tap > 0, options->columns,
                    tap == 0 ? NTK_AFTER(image_in, weights_in, bank_free[bank]) : NTK_AFTER_NONE);
            }
            ntk_neff_kernel_layer(kernel, "relu");
            activated = ntk_kit_activation(
                kernel, NTK_ISA_ACT_RELU,
                ntk_isa_sbuf(result_at + first * side * 4, OUT_CHANNELS, (uint32_t)(rows * side),
                             NTK_DTYPE_FLOAT32),
                psum, 1.0F, ntk_isa_sbuf(bias_at, OUT_CHANNELS, 1, NTK_DTYPE_FLOAT32),
                first == 0 ? NTK_AFTER(image_read, stored) : NTK_AFTER(image_read));
            bank_free[bank] = activated;
        }
        ntk_neff_kernel_layer(kernel, "output");
        stored = r == 0
                     ? ntk_neff_kernel_store(kernel, out_queue, result, 0, row_bytes, OUT_CHANNELS,
                                             result_at, row_bytes, NTK_AFTER(activated))
                     : ntk_neff_kernel_dma_again(kernel, stored, NTK_AFTER(activated));
    }
}
