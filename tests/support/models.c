/* SPDX-License-Identifier: MIT */
#include "tests/support/models.h"

#include <stdio.h>
#include <stdlib.h>

#include "shared/formats/neff/neff_build.h"

static uint8_t *finish(struct ntk_neff_build *build, size_t *out_bytes)
{
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;

    if (ntk_neff_build_bytes(build, &bytes, out_bytes, &err) != 0) {
        (void)fprintf(stderr, "test model: %s\n", err.text);
        abort();
    }
    ntk_neff_build_destroy(build);
    return bytes;
}

uint8_t *test_model_adder(const struct test_model_options *options, size_t *out_bytes)
{
    static const uint64_t shape[2] = { TEST_MODEL_ROWS, TEST_MODEL_COLUMNS };
    static const uint32_t row = TEST_MODEL_COLUMNS * sizeof(float);
    static float constant[TEST_MODEL_ELEMENTS];
    struct ntk_neff_build_options build_options = {
        .name = options->name ? options->name : "adder",
        .target = options->target,
        .lnc = options->lnc,
    };
    struct ntk_neff_build *build = ntk_neff_build_create(&build_options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "adder");
    uint32_t rounds = options->rounds > 0 ? options->rounds : 1;

    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        constant[i] = (float)i;
    }
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_FLOAT32, 2, shape);
    uint32_t c = ntk_neff_kernel_constant(kernel, "c", NTK_DTYPE_FLOAT32, 2, shape, constant);
    if (options->virtual_bytes > 0) {
        (void)ntk_neff_kernel_virtual(kernel, "scratch", 0, options->virtual_bytes);
    }
    if (options->tmp_bytes > 0) {
        (void)ntk_neff_kernel_tmp(kernel, "tmp", options->tmp_bytes);
    }
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    ntk_neff_token load_c = ntk_neff_kernel_load(
        kernel, queue, NTK_ROWS(c, 0, row, TEST_MODEL_ROWS), 0, row, NTK_AFTER_NONE);
    ntk_neff_token load_x = ntk_neff_kernel_load(
        kernel, queue, NTK_ROWS(x, 0, row, TEST_MODEL_ROWS), row, row, NTK_AFTER_NONE);
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    add.op0 = NTK_ISA_ALU_ADD;
    add.operand[NTK_ISA_DST] =
        ntk_isa_sbuf(row * 2, TEST_MODEL_ROWS, TEST_MODEL_COLUMNS, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC0] =
        ntk_isa_sbuf(row, TEST_MODEL_ROWS, TEST_MODEL_COLUMNS, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC1] =
        ntk_isa_sbuf(0, TEST_MODEL_ROWS, TEST_MODEL_COLUMNS, NTK_DTYPE_FLOAT32);
    ntk_neff_token sum = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        sum = i == 0 ? ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &add,
                                            NTK_AFTER(load_x, load_c))
                     : ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &add, NTK_AFTER_NONE);
    }
    if (options->narrow) {
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

        copy.operand[NTK_ISA_SRC0] = add.operand[NTK_ISA_DST];
        copy.operand[NTK_ISA_DST] =
            ntk_isa_sbuf(row * 3, TEST_MODEL_ROWS, TEST_MODEL_COLUMNS, NTK_DTYPE_BFLOAT16);
        (void)ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER_NONE);
        copy.operand[NTK_ISA_SRC0] = copy.operand[NTK_ISA_DST];
        copy.operand[NTK_ISA_DST] = add.operand[NTK_ISA_DST];
        sum = ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &copy, NTK_AFTER_NONE);
    }
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, row, TEST_MODEL_ROWS), row * 2, row,
                                NTK_AFTER(sum));
    if (options->prints) {
        struct ntk_isa_instr print = ntk_isa_instr_make(NTK_ISA_OP_DEVICE_PRINT);

        print.imm[0] = TEST_MODEL_PIPE;
        print.operand[NTK_ISA_SRC0] = add.operand[NTK_ISA_DST];
        (void)ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &print, NTK_AFTER_NONE);
    }
    if (options->deadlock) {
        struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);

        wait.wait_semaphore = ntk_neff_kernel_semaphore(kernel);
        wait.wait_value = 1;
        (void)ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_ACT, &wait, NTK_AFTER_NONE);
    }
    if (options->cpu_after) {
        struct ntk_neff_build_tensor in = { "y", NTK_DTYPE_FLOAT32, 2, { shape[0], shape[1] } };
        struct ntk_neff_build_tensor out = { "z", NTK_DTYPE_FLOAT32, 2, { shape[0], shape[1] } };

        ntk_neff_build_member(build, "cpu.so", options->cpu_library, options->cpu_library_bytes);
        ntk_neff_build_cpu_node(build, "negate",
                                options->cpu_function ? options->cpu_function : "test_negate",
                                "cpu.so", &in, 1, &out, 1);
    }
    return finish(build, out_bytes);
}

/* If the transfer is long, the engine starts only when it is done. */
static uint8_t *slow_build(uint32_t steps, uint32_t runs, uint32_t run_bytes, size_t *out_bytes)
{
    static const uint32_t elements = 40000; /* 8 cycles each at 1.12 GHz */
    const uint64_t from_shape[1] = { (uint64_t)runs * run_bytes * (runs > 1 ? 2 : 1) };
    const uint64_t to_shape[1] = { (uint64_t)runs * run_bytes };
    struct ntk_neff_build_options build_options = { .name = steps > 0 ? "slow" : "smallest" };
    struct ntk_isa_instr step = ntk_isa_instr_make(NTK_ISA_OP_RECIPROCAL);
    struct ntk_neff_build *build = ntk_neff_build_create(&build_options);
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "smallest");
    uint32_t x = ntk_neff_kernel_input(kernel, "x", NTK_DTYPE_UINT8, 1, from_shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y", NTK_DTYPE_UINT8, 1, to_shape);
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    struct ntk_neff_build_side from = {
        .var_id = x, .dim_count = 2, .steps = { 1, 2 * run_bytes }, .sizes = { run_bytes, runs }
    };
    struct ntk_neff_build_transfer copy = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = { .var_id = y,
                .dim_count = 2,
                .steps = { 1, run_bytes },
                .sizes = { run_bytes, runs } },
        .from = &from,
        .source_count = 1,
    };
    ntk_neff_token moved = ntk_neff_kernel_dma(kernel, queue, &copy, NTK_AFTER_NONE);

    step.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, elements, NTK_DTYPE_FLOAT32);
    step.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 1, elements, NTK_DTYPE_FLOAT32);
    for (uint32_t i = 0; i < steps; i++) {
        (void)(i == 0 && runs > 1
                   ? ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &step, NTK_AFTER(moved))
                   : ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &step, NTK_AFTER_NONE));
    }
    return finish(build, out_bytes);
}

uint8_t *test_model_smallest(size_t *out_bytes)
{
    return test_model_slow(0, out_bytes);
}

uint8_t *test_model_slow(uint32_t steps, size_t *out_bytes)
{
    return slow_build(steps, 1, 64, out_bytes);
}

uint8_t *test_model_moving(uint32_t steps, size_t *out_bytes)
{
    return slow_build(steps, TEST_MODEL_MOVED_BYTES / 256, 256, out_bytes);
}
