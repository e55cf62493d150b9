/* SPDX-License-Identifier: MIT */
/*
 * two-node-cpu - two nodes: scaled = x / 4 on a NeuronCore, probabilities = softmax of each row on
 * the CPU, by the shared object of example_cpu_node.c, which is in the NEFF.
 */
#include "shared/kernels/examples.h"
#include "shared/kernels/places.h"

/* The assembler embeds the shared object into this object file. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl ntk_example_cpu_node_start\n"
        ".hidden ntk_example_cpu_node_start\n"
        "ntk_example_cpu_node_start:\n"
        ".incbin \"" NTK_EXAMPLE_CPU_NODE "\"\n"
        ".globl ntk_example_cpu_node_end\n"
        ".hidden ntk_example_cpu_node_end\n"
        "ntk_example_cpu_node_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const uint8_t ntk_example_cpu_node_start[];
extern const uint8_t ntk_example_cpu_node_end[];

void ntk_example_two_node_cpu(struct ntk_neff_build *build,
                              const struct ntk_example_options *options)
{
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "scale");
    uint64_t shape[2] = { NTK_KIT_P, options->size };
    uint64_t row = options->size * 4;
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t scaled = ntk_neff_kernel_output(kernel, "scaled", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    struct ntk_isa_operand tile =
        ntk_isa_sbuf(0, NTK_KIT_P, (uint32_t)options->size, NTK_DTYPE_FLOAT32);
    ntk_neff_token loaded =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, row, NTK_KIT_P), 0, row, NTK_AFTER_NONE);
    ntk_neff_token multiplied = ntk_kit_scalar(kernel, NTK_ISA_ALU_MULTIPLY, tile, tile,
                                               ntk_kit_none(), 0.25F, NTK_AFTER(loaded));
    struct ntk_neff_build_tensor in = {
        "scaled", NTK_DTYPE_FLOAT32, 2, { NTK_KIT_P, options->size }
    };
    struct ntk_neff_build_tensor out = {
        "probabilities", NTK_DTYPE_FLOAT32, 2, { NTK_KIT_P, options->size }
    };

    ntk_neff_kernel_store(kernel, queue, NTK_ROWS(scaled, 0, row, NTK_KIT_P), 0, row,
                          NTK_AFTER(multiplied));
    ntk_neff_build_cpu_node(build, "softmax", "example_row_softmax", "example_cpu_node.so", &in, 1,
                            &out, 1);
    ntk_neff_build_member(
        build, "example_cpu_node.so", ntk_example_cpu_node_start,
        (size_t)((uintptr_t)ntk_example_cpu_node_end - (uintptr_t)ntk_example_cpu_node_start));
}
