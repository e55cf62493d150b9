/* SPDX-License-Identifier: MIT */
/*
 * pipeline - computes dense layers, each a subgraph for a separate NeuronCore: the next core takes
 * a core's output by its name; weights stay in the state buffer from the model's start on. The
 * layers are one node of the graph, for chips with cores that form pipelines.
 *
 * two-node-core - adds one more layer as a separate node: if a runtime has too few cores for both
 * nodes, they take turns on the larger node's cores.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

enum { COLUMNS = 512 };

struct stage {
    struct ntk_neff_kernel *kernel;
    uint32_t x, y, weights, bias; /* var_ids */
    enum ntk_dtype y_dtype;
};

/* Adds weights that keep the magnitude of the numbers from layer to layer. */
static void constants_add(struct stage *s, enum ntk_dtype dtype, uint32_t index)
{
    static const uint64_t shape[] = { NTK_KIT_P, NTK_KIT_P };
    float scale = sqrtf(6.0F / (float)NTK_KIT_P);
    void *weights = ntk_kit_weights((uint64_t)NTK_KIT_P * NTK_KIT_P, dtype, scale, 2 * index + 1);
    void *bias = ntk_kit_weights(NTK_KIT_P, NTK_DTYPE_FLOAT32, 0.5F, 2 * index + 2);

    s->weights = ntk_neff_kernel_constant(s->kernel, "w", dtype, 2, shape, weights);
    s->bias = ntk_neff_kernel_constant(s->kernel, "b", NTK_DTYPE_FLOAT32, 1, shape, bias);
    free(weights);
    free(bias);
}

static void program_add(const struct stage *s, const struct ntk_example_options *options)
{
    uint64_t size = ntk_dtype_bytes((unsigned)options->dtype);
    uint64_t x_row = COLUMNS * size;
    uint64_t y_row = COLUMNS * ntk_dtype_bytes((unsigned)s->y_dtype);
    struct ntk_kit_space space = { 0 };
    uint64_t weights_at = ntk_kit_take(&space, NTK_KIT_P * size);
    uint64_t bias_at = ntk_kit_take(&space, 4);
    uint64_t x_at = ntk_kit_take(&space, x_row);
    uint64_t y_at = ntk_kit_take(&space, y_row);
    uint32_t in =
        ntk_neff_kernel_queue(s->kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    uint32_t pinned =
        ntk_neff_kernel_queue(s->kernel, "qSPPinned0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    uint32_t out =
        ntk_neff_kernel_queue(s->kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    struct ntk_isa_operand sum = ntk_isa_psum(0, NTK_KIT_P, COLUMNS, NTK_DTYPE_FLOAT32);
    ntk_neff_token x = 0, read = 0, done = 0, stored = 0;

    ntk_neff_kernel_layer(s->kernel, "dense");
    ntk_neff_kernel_queue_pin(s->kernel, pinned);
    (void)ntk_neff_kernel_load(s->kernel, pinned,
                               NTK_ROWS(s->weights, 0, NTK_KIT_P * size, NTK_KIT_P), weights_at,
                               NTK_KIT_P * size, NTK_AFTER_NONE);
    (void)ntk_neff_kernel_load(s->kernel, pinned, NTK_ROWS(s->bias, 0, 4, NTK_KIT_P), bias_at, 4,
                               NTK_AFTER_NONE);
    for (uint64_t r = ntk_kit_loop(s->kernel, "r");
         ntk_neff_kernel_iterate(s->kernel, r, r < options->repeat); r++) {
        x = r == 0 ? ntk_neff_kernel_load(s->kernel, in, NTK_ROWS(s->x, 0, x_row, NTK_KIT_P), x_at,
                                          x_row, NTK_AFTER_NONE)
                   : ntk_neff_kernel_dma_again(s->kernel, x, NTK_AFTER(read));
        read = ntk_kit_matmul(s->kernel, sum,
                              ntk_isa_sbuf(weights_at, NTK_KIT_P, NTK_KIT_P, options->dtype),
                              ntk_isa_sbuf(x_at, NTK_KIT_P, COLUMNS, options->dtype), false,
                              options->columns, NTK_AFTER(x, done));
        done = ntk_kit_activation(
            s->kernel, NTK_ISA_ACT_RELU, ntk_isa_sbuf(y_at, NTK_KIT_P, COLUMNS, s->y_dtype), sum,
            1.0F, ntk_isa_sbuf(bias_at, NTK_KIT_P, 1, NTK_DTYPE_FLOAT32), NTK_AFTER(read, stored));
        stored = r == 0 ? ntk_neff_kernel_store(s->kernel, out, NTK_ROWS(s->y, 0, y_row, NTK_KIT_P),
                                                y_at, y_row, NTK_AFTER(done))
                        : ntk_neff_kernel_dma_again(s->kernel, stored, NTK_AFTER(done));
    }
}

/* Adds layers of a node "pipeline", then further layers as separate nodes. */
static void layers_add(struct ntk_neff_build *build, const struct ntk_example_options *options,
                       uint64_t stage_count, uint64_t node_count)
{
    static const uint64_t shape[] = { NTK_KIT_P, COLUMNS };
    struct stage s = { 0 };
    char name[32] = "x";

    if (options->lnc > 1) {
        ntk_neff_build_fail(build, "a pipeline requires logical cores with one physical core each: "
                                   "use --lnc 1 and an inf1 machine");
        return;
    }
    for (uint64_t i = 0; i < stage_count + node_count; i++) {
        bool is_last = i + 1 == stage_count + node_count;

        if (i > 0 && i < stage_count) {
            s.kernel = ntk_neff_build_stage(build, s.kernel);
        } else {
            s.kernel = ntk_neff_build_kernel(build, i == 0 ? "pipeline" : "dense");
        }
        s.y_dtype = is_last ? NTK_DTYPE_FLOAT32 : options->dtype;
        s.x = ntk_neff_kernel_input(s.kernel, name, options->dtype, 2, shape);
        (void)snprintf(name, sizeof name, is_last ? "y" : "h%u", (unsigned)i + 1);
        s.y = ntk_neff_kernel_output(s.kernel, name, s.y_dtype, 2, shape);
        constants_add(&s, options->dtype, (uint32_t)i);
        program_add(&s, options);
    }
}

void ntk_example_pipeline(struct ntk_neff_build *build, const struct ntk_example_options *options)
{
    layers_add(build, options, options->size, 0);
}

void ntk_example_two_node_core(struct ntk_neff_build *build,
                               const struct ntk_example_options *options)
{
    layers_add(build, options, options->size, 1);
}
