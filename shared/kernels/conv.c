/* SPDX-License-Identifier: MIT */
/*
 * conv - computes a 3x3 convolution as nine matrix products per block of rows.
 *
 * The image is in the state buffer with its channels on the partitions and a frame of zeros around
 * it. A product takes the weights of one tap as stationary tile and the image, moved by the tap, as
 * a two-dimensional moving pattern; PSUM accumulates the nine taps.
 */
#include <stdlib.h>

#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { IN_CHANNELS = 64, OUT_CHANNELS = 128, TAPS = 9 };

struct conv {
    struct ntk_neff_kernel *kernel;
    enum ntk_dtype dtype;
    uint64_t size;
    uint32_t columns;      /* columns of the tensor engine */
    uint64_t side, framed; /* side of the image, without and with its frame */
    uint64_t tap_bytes;
    uint32_t image, result, weights, bias;
    uint32_t in_queue, weight_queue, out_queue;
    uint64_t image_at, weights_at, bias_at, result_at; /* offsets in the state buffer */
    ntk_neff_token image_in, weights_in, image_read, stored;
    ntk_neff_token bank_free[2];
    uint64_t blocks;
};

static void declare(struct conv *c)
{
    uint64_t side = c->side;
    void *weights =
        ntk_kit_weights((uint64_t)TAPS * IN_CHANNELS * OUT_CHANNELS, c->dtype, 0.05F, 11);
    void *biases = ntk_kit_weights(OUT_CHANNELS, NTK_DTYPE_FLOAT32, 0.5F, 12);

    c->image = ntk_neff_kernel_input(c->kernel, "image", c->dtype, 3,
                                     (uint64_t[]){ IN_CHANNELS, side, side });
    c->result = ntk_neff_kernel_output(c->kernel, "result", NTK_DTYPE_FLOAT32, 3,
                                       (uint64_t[]){ OUT_CHANNELS, side, side });
    c->weights = ntk_neff_kernel_constant(c->kernel, "weights", c->dtype, 4,
                                          (uint64_t[]){ 3, 3, IN_CHANNELS, OUT_CHANNELS }, weights);
    c->bias = ntk_neff_kernel_constant(c->kernel, "bias", NTK_DTYPE_FLOAT32, 1,
                                       (uint64_t[]){ OUT_CHANNELS }, biases);
    c->in_queue =
        ntk_neff_kernel_queue(c->kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    c->weight_queue =
        ntk_neff_kernel_queue(c->kernel, "qSPIOParam0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    c->out_queue =
        ntk_neff_kernel_queue(c->kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    free(weights);
    free(biases);
}

static ntk_neff_token load_weights(const struct conv *c)
{
    ntk_neff_kernel_layer(c->kernel, "weights");
    for (uint64_t tap = ntk_kit_loop(c->kernel, "tap");
         ntk_neff_kernel_iterate(c->kernel, tap, tap < TAPS); tap++) {
        ntk_neff_kernel_load(
            c->kernel, c->weight_queue,
            NTK_ROWS(c->weights, tap * IN_CHANNELS * c->tap_bytes, c->tap_bytes, IN_CHANNELS),
            c->weights_at + tap * c->tap_bytes, c->tap_bytes, NTK_AFTER_NONE);
    }
    return ntk_neff_kernel_load(c->kernel, c->weight_queue, NTK_ROWS(c->bias, 0, 4, OUT_CHANNELS),
                                c->bias_at, 4, NTK_AFTER_NONE);
}

/* Loads the image into its frame. */
static ntk_neff_token load_image(const struct conv *c, ntk_neff_token framed_zero)
{
    uint64_t row = c->side * c->size;
    struct ntk_neff_build_side from = { .var_id = c->image,
                                        .offset = 0,
                                        .dtype = c->dtype,
                                        .dim_count = 3,
                                        .steps = { 1, (int64_t)row, (int64_t)(c->side * row) },
                                        .sizes = { row, c->side, IN_CHANNELS } };
    struct ntk_neff_build_transfer load = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = { .var_id = NTK_NEFF_VAR_ID_SBUF,
                .offset = c->image_at + (c->framed + 1) * c->size,
                .dtype = c->dtype,
                .dim_count = 3,
                .steps = { 1, (int64_t)(c->framed * c->size),
                           (int64_t)NTK_NEFF_SBUF_PARTITION_STEP },
                .sizes = { row, c->side, IN_CHANNELS } },
        .from = &from,
        .source_count = 1,
    };

    return ntk_neff_kernel_dma(c->kernel, c->in_queue, &load, NTK_AFTER(framed_zero));
}

/* Computes rows of the result, starting with `first`. */
static ntk_neff_token convolve(struct conv *c, uint64_t first, uint64_t rows)
{
    uint64_t bank = c->blocks++ % 2;
    struct ntk_isa_operand psum = ntk_isa_psum(bank * NTK_ISA_PSUM_BANK_BYTES, OUT_CHANNELS,
                                               (uint32_t)(rows * c->side), NTK_DTYPE_FLOAT32);

    ntk_neff_kernel_layer(c->kernel, "conv");
    for (uint64_t tap = ntk_kit_loop(c->kernel, "tap");
         ntk_neff_kernel_iterate(c->kernel, tap, tap < TAPS); tap++) {
        struct ntk_isa_operand moving =
            ntk_isa_sbuf(c->image_at + ((first + tap / 3) * c->framed + tap % 3) * c->size,
                         IN_CHANNELS, (uint32_t)c->side, c->dtype);

        moving.dim_count = 2;
        moving.dim[1] = (struct ntk_isa_dim){ (int32_t)c->framed, (uint32_t)rows };
        c->image_read = ntk_kit_matmul(
            c->kernel, psum,
            ntk_isa_sbuf(c->weights_at + tap * c->tap_bytes, IN_CHANNELS, OUT_CHANNELS, c->dtype),
            moving, tap > 0, c->columns,
            tap == 0 ? NTK_AFTER(c->image_in, c->weights_in, c->bank_free[bank]) : NTK_AFTER_NONE);
    }
    ntk_neff_kernel_layer(c->kernel, "relu");
    c->bank_free[bank] = ntk_kit_activation(
        c->kernel, NTK_ISA_ACT_RELU,
        ntk_isa_sbuf(c->result_at + first * c->side * 4, OUT_CHANNELS, (uint32_t)(rows * c->side),
                     NTK_DTYPE_FLOAT32),
        psum, 1.0F, ntk_isa_sbuf(c->bias_at, OUT_CHANNELS, 1, NTK_DTYPE_FLOAT32),
        first == 0 ? NTK_AFTER(c->image_read, c->stored) : NTK_AFTER(c->image_read));
    return c->bank_free[bank];
}

void ntk_example_conv(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct conv c = { .kernel = ntk_neff_build_kernel(build, "conv"),
                      .dtype = options->dtype,
                      .size = ntk_dtype_bytes((unsigned)options->dtype),
                      .columns = options->columns,
                      .side = options->size,
                      .framed = options->size + 2 };
    struct ntk_kit_space space = { 0 };
    uint64_t side = c.side;
    uint64_t block_rows = NTK_ISA_MOVING_MAX / side < side ? NTK_ISA_MOVING_MAX / side : side;
    uint64_t row_bytes = side * side * 4;
    ntk_neff_token framed_zero;

    c.tap_bytes = OUT_CHANNELS * c.size;
    declare(&c);
    c.image_at = ntk_kit_take(&space, c.framed * c.framed * c.size);
    c.weights_at = ntk_kit_take(&space, TAPS * c.tap_bytes);
    c.bias_at = ntk_kit_take(&space, 4);
    c.result_at = ntk_kit_take(&space, row_bytes);
    if (space.used > NTK_KIT_SBUF_BYTES) {
        ntk_neff_build_fail(build, "an image of this size and dtype exceeds the state buffer");
        return;
    }
    /* Fewer columns identify inf1. Its DMA can only copy, but here, transfers also put the image
     * into its frame. */
    if (c.columns < OUT_CHANNELS) {
        ntk_neff_build_fail(build,
                            "conv uses transfers that inf1 does not support: use mlp or attention");
        return;
    }
    ntk_neff_kernel_layer(c.kernel, "input");
    framed_zero = ntk_kit_memset(
        c.kernel, NTK_ISA_ENGINE_DVE,
        ntk_isa_sbuf(c.image_at, IN_CHANNELS, (uint32_t)(c.framed * c.framed), c.dtype), 0,
        NTK_AFTER_NONE);
    c.weights_in = load_weights(&c);
    for (uint64_t r = ntk_kit_loop(c.kernel, "r");
         ntk_neff_kernel_iterate(c.kernel, r, r < options->repeat); r++) {
        ntk_neff_token done = 0;

        ntk_neff_kernel_layer(c.kernel, "input");
        c.image_in = r == 0
                         ? load_image(&c, framed_zero)
                         : ntk_neff_kernel_dma_again(c.kernel, c.image_in, NTK_AFTER(c.image_read));
        for (uint64_t first = ntk_kit_loop(c.kernel, "first");
             ntk_neff_kernel_iterate(c.kernel, first, first < side); first += block_rows) {
            done = convolve(&c, first, side - first < block_rows ? side - first : block_rows);
        }
        ntk_neff_kernel_layer(c.kernel, "output");
        c.stored = r == 0 ? ntk_neff_kernel_store(c.kernel, c.out_queue,
                                                  NTK_ROWS(c.result, 0, row_bytes, OUT_CHANNELS),
                                                  c.result_at, row_bytes, NTK_AFTER(done))
                          : ntk_neff_kernel_dma_again(c.kernel, c.stored, NTK_AFTER(done));
    }
}
