/* SPDX-License-Identifier: MIT */
/*
 * mlp - computes two dense layers.
 *
 * x is [D, 512] with the features on the partitions, so no layer needs a transpose: each product
 * takes 128 features as stationary rows, produces 128 of the next layer's features as partitions,
 * and sums over its input tiles in PSUM. Two PSUM banks alternate, so the tensor engine works on
 * one tile while the other is being activated.
 */
#include <math.h>
#include <stdlib.h>

#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { COLUMNS = 512, BANKS = 2 };

struct layer {
    uint32_t var;    /* variable of shape [inputs, outputs] */
    uint64_t sbuf;   /* tile k is at sbuf + k * outputs * size */
    uint64_t biases; /* tile j is at biases + 4 * j */
    uint64_t inputs;
    uint64_t outputs;
    ntk_neff_token loaded;
};

struct mlp {
    struct ntk_neff_kernel *kernel;
    enum ntk_dtype dtype;
    uint64_t size;    /* size of the dtype */
    uint32_t columns; /* columns of the tensor engine */
    struct ntk_kit_space space;
    uint32_t weight_queue;
    ntk_neff_token bank_free[BANKS]; /* last reader of each bank */
    uint64_t tiles;                  /* tiles computed so far, which selects the next bank */
};

/* Loads weights and biases. The last token covers all loads, because a queue set completes in
 * order. */
static struct layer load_layer(struct mlp *m, const char *weights_name, const char *bias_name,
                               uint64_t inputs, uint64_t outputs, uint32_t seed)
{
    struct layer layer = { .inputs = inputs, .outputs = outputs };
    void *weights = ntk_kit_weights(inputs * outputs, m->dtype, 1.0F / sqrtf((float)inputs), seed);
    void *biases = ntk_kit_weights(outputs, NTK_DTYPE_FLOAT32, 0.5F, seed + 1);
    uint64_t row_bytes = outputs * m->size;
    uint32_t bias_var;

    ntk_neff_kernel_layer(m->kernel, "weights");
    layer.var = ntk_neff_kernel_constant(m->kernel, weights_name, m->dtype, 2,
                                         (uint64_t[]){ inputs, outputs }, weights);
    bias_var = ntk_neff_kernel_constant(m->kernel, bias_name, NTK_DTYPE_FLOAT32, 1,
                                        (uint64_t[]){ outputs }, biases);
    free(weights);
    free(biases);
    layer.sbuf = ntk_kit_take(&m->space, inputs / NTK_KIT_P * row_bytes);
    layer.biases = ntk_kit_take(&m->space, outputs / NTK_KIT_P * 4);
    for (uint64_t k = ntk_kit_loop(m->kernel, "k");
         ntk_neff_kernel_iterate(m->kernel, k, k < inputs / NTK_KIT_P); k++) {
        ntk_neff_kernel_load(m->kernel, m->weight_queue,
                             NTK_ROWS(layer.var, k * NTK_KIT_P * row_bytes, row_bytes, NTK_KIT_P),
                             layer.sbuf + k * row_bytes, row_bytes, NTK_AFTER_NONE);
    }
    for (uint64_t j = ntk_kit_loop(m->kernel, "j");
         ntk_neff_kernel_iterate(m->kernel, j, j < outputs / NTK_KIT_P); j++) {
        layer.loaded = ntk_neff_kernel_load(m->kernel, m->weight_queue,
                                            NTK_ROWS(bias_var, j * NTK_KIT_P * 4, 4, NTK_KIT_P),
                                            layer.biases + 4 * j, 4, NTK_AFTER_NONE);
    }
    return layer;
}

/* Computes tile j of the layer's output from inputs at `from` (tile k at from + k * 512 * size),
 * into the next bank. */
static ntk_neff_token product(struct mlp *m, const struct layer *layer, uint64_t j, uint64_t from,
                              struct ntk_neff_after after, struct ntk_isa_operand *out_psum)
{
    uint64_t bank = m->tiles % BANKS;
    ntk_neff_token done = 0;

    *out_psum = ntk_isa_psum(bank * NTK_ISA_PSUM_BANK_BYTES, NTK_KIT_P, COLUMNS, NTK_DTYPE_FLOAT32);
    for (uint64_t k = ntk_kit_loop(m->kernel, "k");
         ntk_neff_kernel_iterate(m->kernel, k, k < layer->inputs / NTK_KIT_P); k++) {
        struct ntk_isa_operand weights =
            ntk_isa_sbuf(layer->sbuf + (k * layer->outputs + j * NTK_KIT_P) * m->size, NTK_KIT_P,
                         NTK_KIT_P, m->dtype);
        struct ntk_isa_operand moving =
            ntk_isa_sbuf(from + k * COLUMNS * m->size, NTK_KIT_P, COLUMNS, m->dtype);
        ntk_neff_token tokens[8] = { layer->loaded, m->bank_free[bank] };
        size_t count = 2;

        for (size_t i = 0; i < after.count; i++) {
            tokens[count++] = after.tokens[i];
        }
        done = ntk_kit_matmul(m->kernel, *out_psum, weights, moving, k > 0, m->columns,
                              k == 0 ? (struct ntk_neff_after){ tokens, count } : NTK_AFTER_NONE);
    }
    return done;
}

static void released(struct mlp *m, ntk_neff_token reader)
{
    m->bank_free[m->tiles++ % BANKS] = reader;
}

void ntk_example_mlp(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    struct mlp m = { .kernel = ntk_neff_build_kernel(build, "mlp"),
                     .dtype = options->dtype,
                     .size = ntk_dtype_bytes((unsigned)options->dtype),
                     .columns = options->columns,
                     .space = { 0 } };
    uint64_t features = options->size;
    uint64_t hidden = 4 * features;
    uint64_t in_tiles = features / NTK_KIT_P;
    uint64_t hidden_tiles = hidden / NTK_KIT_P;
    uint64_t row = COLUMNS * m.size;
    uint64_t x_at;
    uint64_t hidden_at;
    uint64_t y_at;
    uint32_t x;
    uint32_t y;
    uint32_t in_queue;
    uint32_t out_queue;
    struct layer first;
    struct layer second;
    ntk_neff_token x_loads[8] = { 0 };
    ntk_neff_token y_stores[8] = { 0 };
    ntk_neff_token x_read = 0;

    x = ntk_neff_kernel_input(m.kernel, "x", m.dtype, 2, (uint64_t[]){ features, COLUMNS });
    y = ntk_neff_kernel_output(m.kernel, "y", NTK_DTYPE_FLOAT32, 2,
                               (uint64_t[]){ features, COLUMNS });
    in_queue = ntk_neff_kernel_queue(m.kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    m.weight_queue =
        ntk_neff_kernel_queue(m.kernel, "qSPIOParam0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    out_queue =
        ntk_neff_kernel_queue(m.kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    first = load_layer(&m, "w1", "b1", features, hidden, 1);
    second = load_layer(&m, "w2", "b2", hidden, features, 3);
    x_at = ntk_kit_take(&m.space, in_tiles * row);
    hidden_at = ntk_kit_take(&m.space, hidden_tiles * row);
    y_at = ntk_kit_take(&m.space, in_tiles * COLUMNS * 4);

    if (m.space.used > NTK_KIT_SBUF_BYTES) {
        ntk_neff_build_fail(build, "an MLP of this size and dtype exceeds the state buffer");
        return;
    }
    for (uint64_t r = ntk_kit_loop(m.kernel, "r");
         ntk_neff_kernel_iterate(m.kernel, r, r < options->repeat); r++) {
        ntk_neff_token activated = 0;

        ntk_neff_kernel_layer(m.kernel, "input");
        for (uint64_t k = ntk_kit_loop(m.kernel, "k");
             ntk_neff_kernel_iterate(m.kernel, k, k < in_tiles); k++) {
            x_loads[k] =
                r == 0 ? ntk_neff_kernel_load(m.kernel, in_queue,
                                              NTK_ROWS(x, k * NTK_KIT_P * row, row, NTK_KIT_P),
                                              x_at + k * row, row, NTK_AFTER_NONE)
                       : ntk_neff_kernel_dma_again(m.kernel, x_loads[k], NTK_AFTER(x_read));
        }
        ntk_neff_kernel_layer(m.kernel, "dense1");
        for (uint64_t j = ntk_kit_loop(m.kernel, "j");
             ntk_neff_kernel_iterate(m.kernel, j, j < hidden_tiles); j++) {
            struct ntk_isa_operand psum;
            struct ntk_isa_operand bias =
                ntk_isa_sbuf(first.biases + 4 * j, NTK_KIT_P, 1, NTK_DTYPE_FLOAT32);

            x_read = product(&m, &first, j, x_at, NTK_AFTER(x_loads[in_tiles - 1]), &psum);
            activated =
                ntk_kit_activation(m.kernel, NTK_ISA_ACT_GELU,
                                   ntk_isa_sbuf(hidden_at + j * row, NTK_KIT_P, COLUMNS, m.dtype),
                                   psum, 1.0F, bias, NTK_AFTER(x_read));
            released(&m, activated);
        }
        for (uint64_t j = ntk_kit_loop(m.kernel, "j");
             ntk_neff_kernel_iterate(m.kernel, j, j < in_tiles); j++) {
            struct ntk_isa_operand psum;
            struct ntk_isa_operand bias =
                ntk_isa_sbuf(second.biases + 4 * j, NTK_KIT_P, 1, NTK_DTYPE_FLOAT32);
            uint64_t at = y_at + j * COLUMNS * 4;

            ntk_neff_kernel_layer(m.kernel, "dense2");
            ntk_neff_token sum = product(&m, &second, j, hidden_at, NTK_AFTER(activated), &psum);
            ntk_neff_token added = ntk_kit_scalar(
                m.kernel, NTK_ISA_ALU_ADD, ntk_isa_sbuf(at, NTK_KIT_P, COLUMNS, NTK_DTYPE_FLOAT32),
                psum, bias, 0, NTK_AFTER(sum, y_stores[j]));

            released(&m, added);
            ntk_neff_kernel_layer(m.kernel, "output");
            y_stores[j] = r == 0
                              ? ntk_neff_kernel_store(m.kernel, out_queue,
                                                      NTK_ROWS(y, j * NTK_KIT_P * COLUMNS * 4,
                                                               COLUMNS * 4, NTK_KIT_P),
                                                      at, COLUMNS * 4, NTK_AFTER(added))
                              : ntk_neff_kernel_dma_again(m.kernel, y_stores[j], NTK_AFTER(added));
        }
    }
}
