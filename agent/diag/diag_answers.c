/* SPDX-License-Identifier: MIT */
#include "agent/diag/diag_answers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/neff/neff_build.h"
#include "shared/kernels/kit.h"

enum { P = NTK_KIT_P, N = 64, ELEMENTS = P * N };
enum { REGISTER_A = 2500, REGISTER_B = 17 };

/* Kinds of programs; each has a compiler and a reference. */
enum kind {
    KIND_DMA_COPY,
    KIND_MATMUL,
    KIND_TRANSPOSE,
    KIND_TENSOR, /* runs tensor_tensor */
    KIND_ACT,    /* runs activation */
    KIND_REDUCE, /* runs tensor_reduce over the row */
    KIND_COLUMN, /* runs tensor_partition_reduce */
    KIND_CAST,   /* runs tensor_cast to the output type */
    KIND_IOTA,
    KIND_SEQUENCER, /* uses registers of the engine */
};

struct answer {
    const char *name;
    enum kind kind;
    enum ntk_isa_engine engine;
    enum ntk_dtype in, out;
    int op; /* value of enum ntk_isa_alu; for KIND_ACT enum ntk_isa_act */
};

#define T(id) NTK_DTYPE_##id
#define ROW(name, kind, engine, in, out, op)                          \
    {                                                                 \
        name, KIND_##kind, NTK_ISA_ENGINE_##engine, T(in), T(out), op \
    }

static const struct answer answers[] = {
    ROW("dma-copy", DMA_COPY, SP, UINT8, UINT8, 0),
    ROW("tensor-matmul-float32", MATMUL, PE, FLOAT32, FLOAT32, 0),
    ROW("tensor-matmul-bfloat16", MATMUL, PE, BFLOAT16, FLOAT32, 0),
    ROW("tensor-matmul-float16", MATMUL, PE, FLOAT16, FLOAT32, 0),
    ROW("tensor-matmul-float8e3", MATMUL, PE, FLOAT8E3, FLOAT32, 0),
    ROW("tensor-matmul-float8e4", MATMUL, PE, FLOAT8E4, FLOAT32, 0),
    ROW("tensor-matmul-float8e5", MATMUL, PE, FLOAT8E5, FLOAT32, 0),
    ROW("tensor-transpose-float32", TRANSPOSE, PE, FLOAT32, FLOAT32, 0),
    ROW("vector-add-float32", TENSOR, DVE, FLOAT32, FLOAT32, NTK_ISA_ALU_ADD),
    ROW("vector-add-bfloat16", TENSOR, DVE, BFLOAT16, BFLOAT16, NTK_ISA_ALU_ADD),
    ROW("vector-add-float16", TENSOR, DVE, FLOAT16, FLOAT16, NTK_ISA_ALU_ADD),
    ROW("vector-add-float8e4", TENSOR, DVE, FLOAT8E4, FLOAT8E4, NTK_ISA_ALU_ADD),
    ROW("vector-add-float8e5", TENSOR, DVE, FLOAT8E5, FLOAT8E5, NTK_ISA_ALU_ADD),
    ROW("vector-add-int8", TENSOR, DVE, INT8, INT8, NTK_ISA_ALU_ADD),
    ROW("vector-add-int32", TENSOR, DVE, INT32, INT32, NTK_ISA_ALU_ADD),
    ROW("vector-multiply-float32", TENSOR, DVE, FLOAT32, FLOAT32, NTK_ISA_ALU_MULTIPLY),
    ROW("vector-xor-uint8", TENSOR, DVE, UINT8, UINT8, NTK_ISA_ALU_BITWISE_XOR),
    ROW("vector-xor-uint16", TENSOR, DVE, UINT16, UINT16, NTK_ISA_ALU_BITWISE_XOR),
    ROW("vector-xor-int32", TENSOR, DVE, INT32, INT32, NTK_ISA_ALU_BITWISE_XOR),
    ROW("vector-sum-float32", REDUCE, DVE, FLOAT32, FLOAT32, NTK_ISA_ALU_ADD),
    ROW("scalar-relu-float32", ACT, ACT, FLOAT32, FLOAT32, NTK_ISA_ACT_RELU),
    ROW("scalar-relu-bfloat16", ACT, ACT, BFLOAT16, BFLOAT16, NTK_ISA_ACT_RELU),
    ROW("scalar-square-float16", ACT, ACT, FLOAT16, FLOAT16, NTK_ISA_ACT_SQUARE),
    ROW("scalar-cast-bfloat16", CAST, ACT, FLOAT32, BFLOAT16, 0),
    ROW("scalar-cast-float8e4", CAST, ACT, FLOAT32, FLOAT8E4, 0),
    ROW("gpsimd-multiply-float32", TENSOR, POOL, FLOAT32, FLOAT32, NTK_ISA_ALU_MULTIPLY),
    ROW("gpsimd-multiply-bfloat16", TENSOR, POOL, BFLOAT16, BFLOAT16, NTK_ISA_ALU_MULTIPLY),
    ROW("gpsimd-maximum-int16", TENSOR, POOL, INT16, INT16, NTK_ISA_ALU_MAXIMUM),
    ROW("gpsimd-columns-float32", COLUMN, POOL, FLOAT32, FLOAT32, NTK_ISA_ALU_ADD),
    ROW("gpsimd-iota-int32", IOTA, POOL, INT32, INT32, 0),
    ROW("sync-registers-int32", SEQUENCER, SP, INT32, INT32, 0),
};

size_t ntk_diag_answer_count(void)
{
    return sizeof answers / sizeof *answers;
}

const char *ntk_diag_answer_name(size_t index)
{
    return answers[index].name;
}

/* ---- shapes ---- */

static bool has_input(const struct answer *answer, int which)
{
    switch (answer->kind) {
    case KIND_IOTA:
    case KIND_SEQUENCER:
        return false;
    case KIND_MATMUL:
    case KIND_TENSOR:
        return true;
    default:
        return which == 0;
    }
}

struct shape {
    uint32_t rows, columns;
};

static struct shape input_shape(const struct answer *answer, int which)
{
    /* In a matrix product, rows are the contraction dimension. */
    return answer->kind == KIND_MATMUL && which == 0 ? (struct shape){ P, P }
                                                     : (struct shape){ P, N };
}

static struct shape output_shape(const struct answer *answer)
{
    switch (answer->kind) {
    case KIND_TRANSPOSE:
        return (struct shape){ N, P };
    case KIND_REDUCE:
        return (struct shape){ P, 1 };
    case KIND_COLUMN:
        return (struct shape){ 1, N };
    case KIND_SEQUENCER:
        return (struct shape){ 1, 1 };
    default:
        return (struct shape){ P, N };
    }
}

/* ---- numbers ---- */

/* A float type, described by its exponent and mantissa; 32-bit types are native. */
struct small_float {
    int exponent_bits, mantissa_bits, bias;
};

static bool small_float_of(enum ntk_dtype dtype, struct small_float *out)
{
    switch (dtype) {
    case NTK_DTYPE_BFLOAT16:
        *out = (struct small_float){ 8, 7, 127 };
        return true;
    case NTK_DTYPE_FLOAT16:
        *out = (struct small_float){ 5, 10, 15 };
        return true;
    case NTK_DTYPE_FLOAT8E3:
        *out = (struct small_float){ 3, 4, 3 };
        return true;
    case NTK_DTYPE_FLOAT8E4:
        *out = (struct small_float){ 4, 3, 7 };
        return true;
    case NTK_DTYPE_FLOAT8E5:
        *out = (struct small_float){ 5, 2, 15 };
        return true;
    default:
        return false;
    }
}

/* Rounds to nearest, ties to even. No number here overflows its type. */
static uint32_t small_float_bits(const struct small_float *form, float value)
{
    uint32_t sign = signbit(value) ? 1U << (form->exponent_bits + form->mantissa_bits) : 0;
    int exponent = 0;

    if (value == 0.0F) {
        return sign;
    }
    (void)frexpf(fabsf(value), &exponent);
    exponent--; /* normalises the mantissa to [1, 2) */
    int lowest = 1 - form->bias;
    bool is_subnormal = exponent < lowest;
    int unit = (is_subnormal ? lowest : exponent) - form->mantissa_bits;
    uint32_t steps = (uint32_t)rint(ldexp((double)fabsf(value), -unit));

    if (is_subnormal) {
        return sign | steps;
    }
    return sign | (((uint32_t)(exponent + form->bias) << form->mantissa_bits) +
                   (steps - (1U << form->mantissa_bits)));
}

static void element_put(enum ntk_dtype dtype, double value, uint8_t *to)
{
    struct small_float form;
    size_t bytes = ntk_dtype_bytes(dtype);

    if (dtype == NTK_DTYPE_FLOAT32) {
        float number = (float)value;

        memcpy(to, &number, sizeof number);
        return;
    }
    uint64_t bits = small_float_of(dtype, &form) ? small_float_bits(&form, (float)value)
                                                 : (uint64_t)(int64_t)rint(value);
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(bits >> (8 * i));
    }
}

static uint32_t draw(size_t index, int which, uint32_t round, uint32_t element)
{
    uint64_t z = ((uint64_t)index << 48) ^ ((uint64_t)(unsigned)which << 44) ^
                 ((uint64_t)round << 20) ^ element;

    z = (z + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}

/* Returns an input number that its type represents exactly. */
static double input_value(size_t index, int which, uint32_t round, uint32_t element)
{
    const struct answer *answer = &answers[index];
    uint32_t bits = draw(index, which, round, element);
    int small = (int)(bits % 17) - 8; /* -8 to 8 */
    int smaller = small / 4;          /* -2 to 2, so every sum is exact */

    switch (answer->kind) {
    case KIND_MATMUL:
        return smaller;
    case KIND_REDUCE:
    case KIND_COLUMN:
        return (int)(bits % 2001) - 1000;
    default:
        break;
    }
    switch (answer->in) {
    case NTK_DTYPE_FLOAT32: /* uses all bits of the mantissa */
        return (double)((float)((int)(bits & 0xffffff) - 0x800000) / 262144.0F);
    case NTK_DTYPE_BFLOAT16:
        return (double)((int)(bits % 511) - 255) / 16.0;
    case NTK_DTYPE_FLOAT16:
        return (double)((int)(bits % 4095) - 2047) / 128.0;
    case NTK_DTYPE_FLOAT8E3:
    case NTK_DTYPE_FLOAT8E4:
    case NTK_DTYPE_FLOAT8E5:
        return small / 2.0;
    case NTK_DTYPE_INT8:
        return (int)(bits % 127) - 63;
    case NTK_DTYPE_UINT8:
        return bits & 0xff;
    case NTK_DTYPE_INT16:
        return (int)(bits & 0xffff) - 0x8000;
    case NTK_DTYPE_UINT16:
        return bits & 0xffff;
    default: /* float32 represents a sum of two exactly */
        return answer->op == NTK_ISA_ALU_BITWISE_XOR ? (double)(int32_t)bits
                                                     : (int)(bits & 0x7fffff) - 0x400000;
    }
}

size_t ntk_diag_answer_input(size_t index, int which, uint32_t round, uint8_t *out)
{
    const struct answer *answer = &answers[index];

    if (!has_input(answer, which)) {
        return 0;
    }
    struct shape shape = input_shape(answer, which);
    size_t bytes = ntk_dtype_bytes(answer->in);
    uint32_t count = shape.rows * shape.columns;

    for (uint32_t i = 0; i < count; i++) {
        element_put(answer->in, input_value(index, which, round, i), out + i * bytes);
    }
    return count * bytes;
}

static double combined(int op, double a, double b)
{
    switch (op) {
    case NTK_ISA_ALU_ADD:
        return (float)(a + b);
    case NTK_ISA_ALU_MULTIPLY:
        return (float)(a * b);
    case NTK_ISA_ALU_MAXIMUM:
        return a > b ? a : b;
    default: /* bitwise_xor */
        return (double)((int64_t)a ^ (int64_t)b);
    }
}

static double expected(size_t index, uint32_t round, uint32_t row, uint32_t column)
{
    const struct answer *answer = &answers[index];
    double sum = 0.0;
    double a = has_input(answer, 0) ? input_value(index, 0, round, row * N + column) : 0.0;

    switch (answer->kind) {
    case KIND_MATMUL:
        for (uint32_t k = 0; k < P; k++) {
            sum += input_value(index, 0, round, k * P + row) *
                   input_value(index, 1, round, k * N + column);
        }
        return sum;
    case KIND_TRANSPOSE:
        return input_value(index, 0, round, column * N + row);
    case KIND_TENSOR:
        return combined(answer->op, a, input_value(index, 1, round, row * N + column));
    case KIND_ACT:
        return answer->op == NTK_ISA_ACT_RELU ? (a > 0.0 ? a : 0.0) : (float)(a * a);
    case KIND_REDUCE:
        for (uint32_t i = 0; i < N; i++) {
            sum += input_value(index, 0, round, row * N + i);
        }
        return sum;
    case KIND_COLUMN:
        for (uint32_t p = 0; p < P; p++) {
            sum += input_value(index, 0, round, p * N + column);
        }
        return sum;
    case KIND_IOTA:
        return (double)(7 + (int)row * 1000 + (int)column * 3);
    case KIND_SEQUENCER:
        return REGISTER_A * REGISTER_B;
    case KIND_DMA_COPY:
    case KIND_CAST:
        break;
    }
    return a;
}

size_t ntk_diag_answer_expect(size_t index, uint32_t round, uint8_t *out)
{
    const struct answer *answer = &answers[index];
    struct shape shape = output_shape(answer);
    size_t bytes = ntk_dtype_bytes(answer->out);

    for (uint32_t row = 0; row < shape.rows; row++) {
        for (uint32_t column = 0; column < shape.columns; column++) {
            element_put(answer->out, expected(index, round, row, column),
                        out + (row * shape.columns + column) * bytes);
        }
    }
    return shape.rows * shape.columns * bytes;
}

/* ---- programs ---- */

struct program {
    const struct answer *answer;
    struct ntk_neff_kernel *kernel;
    struct ntk_kit_space space;
    uint32_t queue_in, queue_out;
    uint32_t columns;
    uint32_t local;
};

static struct ntk_isa_operand sbuf_take(struct program *program, struct shape shape,
                                        enum ntk_dtype dtype)
{
    uint64_t at = ntk_kit_take(&program->space, shape.columns * ntk_dtype_bytes(dtype));

    return ntk_isa_sbuf(at, shape.rows, shape.columns, dtype);
}

static struct ntk_isa_operand load(struct program *program, int which, ntk_neff_token *out_token)
{
    const struct answer *answer = program->answer;
    struct shape shape = input_shape(answer, which);
    uint64_t row = shape.columns * ntk_dtype_bytes(answer->in);
    uint32_t var = ntk_neff_kernel_input(program->kernel, which == 0 ? "a" : "b", answer->in, 2,
                                         (uint64_t[]){ shape.rows, shape.columns });
    struct ntk_isa_operand tile = sbuf_take(program, shape, answer->in);

    *out_token =
        ntk_neff_kernel_load(program->kernel, program->queue_in, NTK_ROWS(var, 0, row, shape.rows),
                             tile.offset, row, NTK_AFTER_NONE);
    return tile;
}

static ntk_neff_token emit(struct program *program, const struct ntk_isa_instr *instr,
                           struct ntk_neff_after after)
{
    return ntk_neff_kernel_emit(program->kernel, program->answer->engine, instr, after);
}

/* Multiplies numbers in sequencer registers; the product is stored in memory. */
static ntk_neff_token registers(struct program *program, struct ntk_isa_operand y)
{
    struct ntk_isa_instr move = ntk_isa_instr_make(NTK_ISA_OP_REGISTER_MOVE);
    struct ntk_isa_instr multiply = ntk_isa_instr_make(NTK_ISA_OP_REGISTER_ALU);
    struct ntk_isa_instr store = ntk_isa_instr_make(NTK_ISA_OP_REGISTER_STORE);

    move.reg_to = 1;
    move.imm[0] = REGISTER_A;
    multiply.op0 = NTK_ISA_ALU_MULTIPLY;
    multiply.reg_to = 2;
    multiply.reg_a = 1;
    multiply.imm[0] = REGISTER_B;
    store.reg_a = 2;
    store.operand[NTK_ISA_DST] = y;
    (void)emit(program, &move, NTK_AFTER_NONE);
    (void)emit(program, &multiply, NTK_AFTER_NONE);
    return emit(program, &store, NTK_AFTER_NONE);
}

static ntk_neff_token compute(struct program *program, struct ntk_isa_operand a,
                              struct ntk_isa_operand b, struct ntk_isa_operand y,
                              struct ntk_neff_after after)
{
    const struct answer *answer = program->answer;
    struct ntk_isa_operand psum;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    ntk_neff_token done;

    instr.op0 = (enum ntk_isa_alu)answer->op;
    instr.operand[NTK_ISA_DST] = y;
    instr.operand[NTK_ISA_SRC0] = a;
    switch (answer->kind) {
    case KIND_MATMUL:
        psum = ntk_isa_psum(0, P, N, NTK_DTYPE_FLOAT32);
        done = ntk_kit_matmul(program->kernel, psum, a, b, false, program->columns, after);
        return ntk_kit_copy(program->kernel, NTK_ISA_ENGINE_DVE, y, psum, NTK_AFTER(done));
    case KIND_TRANSPOSE:
        psum = ntk_isa_psum(0, N, P, NTK_DTYPE_FLOAT32);
        done = ntk_kit_transpose(program->kernel, psum, a, program->columns, after);
        return ntk_kit_copy(program->kernel, NTK_ISA_ENGINE_DVE, y, psum, NTK_AFTER(done));
    case KIND_TENSOR:
        instr.operand[NTK_ISA_SRC1] = b;
        return emit(program, &instr, after);
    case KIND_ACT:
        return ntk_kit_activation(program->kernel, (enum ntk_isa_act)answer->op, y, a, 1.0F,
                                  ntk_kit_none(), after);
    case KIND_REDUCE:
        instr.op = NTK_ISA_OP_TENSOR_REDUCE;
        instr.axis_count = 1;
        return emit(program, &instr, after);
    case KIND_COLUMN:
        instr.op = NTK_ISA_OP_TENSOR_PARTITION_REDUCE;
        return emit(program, &instr, after);
    case KIND_CAST:
        return ntk_kit_copy(program->kernel, answer->engine, y, a, after);
    case KIND_IOTA:
        instr = ntk_isa_instr_make(NTK_ISA_OP_IOTA);
        instr.operand[NTK_ISA_DST] = y;
        instr.operand[NTK_ISA_SRC0] =
            (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                      .dtype = NTK_DTYPE_INT32,
                                      .var_id = NTK_ISA_NO_VAR,
                                      .dim_count = 1,
                                      .dim = { { .step = 3, .count = N } } };
        instr.imm[0] = 7;
        instr.imm[1] = 1000;
        return emit(program, &instr, after);
    case KIND_SEQUENCER:
        return registers(program, y);
    case KIND_DMA_COPY:
        break;
    }
    return 0;
}

static void compile(struct program *program)
{
    const struct answer *answer = program->answer;
    struct ntk_neff_kernel *kernel = program->kernel;
    struct shape shape = output_shape(answer);
    uint64_t row = shape.columns * ntk_dtype_bytes(answer->out);
    ntk_neff_token loaded[2] = { 0, 0 };
    struct ntk_isa_operand a = { .space = NTK_ISA_SPACE_NONE };
    struct ntk_isa_operand b = { .space = NTK_ISA_SPACE_NONE };

    ntk_neff_kernel_subgraph(kernel, program->local);
    program->queue_in =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    program->queue_out =
        ntk_neff_kernel_queue(kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
    if (has_input(answer, 0)) {
        a = load(program, 0, &loaded[0]);
    }
    if (has_input(answer, 1)) {
        b = load(program, 1, &loaded[1]);
    }
    uint32_t var = ntk_neff_kernel_output(kernel, "y", answer->out, 2,
                                          (uint64_t[]){ shape.rows, shape.columns });
    struct ntk_isa_operand y =
        answer->kind == KIND_DMA_COPY ? a : sbuf_take(program, shape, answer->out);
    ntk_neff_token done = answer->kind == KIND_DMA_COPY
                              ? loaded[0]
                              : compute(program, a, b, y, NTK_AFTER(loaded[0], loaded[1]));
    (void)ntk_neff_kernel_store(kernel, program->queue_out, NTK_ROWS(var, 0, row, shape.rows),
                                y.offset, row, NTK_AFTER(done));
}

int ntk_diag_answer_program(size_t index, uint32_t columns, uint32_t lnc, uint32_t local,
                            uint8_t **out_bytes, size_t *out_count, struct ntk_err *err)
{
    const struct answer *answer = &answers[index];
    struct ntk_neff_build *build =
        ntk_neff_build_create(&(struct ntk_neff_build_options){ .name = answer->name, .lnc = lnc });

    if (!build) {
        return ntk_err_no_memory(err);
    }
    struct program program = { .answer = answer,
                               .kernel = ntk_neff_build_kernel(build, answer->name),
                               .columns = columns,
                               .local = local };
    compile(&program);
    int ret = ntk_neff_build_bytes(build, out_bytes, out_count, err);
    ntk_neff_build_destroy(build);
    return ret;
}
