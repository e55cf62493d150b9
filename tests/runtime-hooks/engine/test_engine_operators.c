/* SPDX-License-Identifier: MIT */
/* Operators of the vector engines on tiles and scalars, and folds over rows. */
#include <math.h>

#include "tests/runtime-hooks/engine/ops_fixture.h"
#include "tests/support/unit.h"

static double alu(enum ntk_isa_alu op, double a, double b)
{
    switch (op) {
    case NTK_ISA_ALU_ADD:
        return a + b;
    case NTK_ISA_ALU_SUBTRACT:
        return a - b;
    case NTK_ISA_ALU_MULTIPLY:
        return a * b;
    case NTK_ISA_ALU_MAXIMUM:
        return fmax(a, b);
    case NTK_ISA_ALU_MINIMUM:
        return fmin(a, b);
    case NTK_ISA_ALU_EQUAL:
        return a == b;
    case NTK_ISA_ALU_NOT_EQUAL:
        return a != b;
    case NTK_ISA_ALU_GREATER_EQUAL:
        return a >= b;
    case NTK_ISA_ALU_GREATER:
        return a > b;
    case NTK_ISA_ALU_LESS_EQUAL:
        return a <= b;
    case NTK_ISA_ALU_LESS:
        return a < b;
    case NTK_ISA_ALU_LOGICAL_AND:
        return a != 0 && b != 0;
    case NTK_ISA_ALU_LOGICAL_OR:
        return a != 0 || b != 0;
    case NTK_ISA_ALU_LOGICAL_XOR:
        return (a != 0) != (b != 0);
    case NTK_ISA_ALU_POWER:
        return pow(a, b);
    case NTK_ISA_ALU_ABS_MAX:
        return fmax(fabs(a), fabs(b));
    case NTK_ISA_ALU_ABS_MIN:
        return fmin(fabs(a), fabs(b));
    case NTK_ISA_ALU_ABS:
        return fabs(a);
    case NTK_ISA_ALU_SQUARE:
        return a * a;
    case NTK_ISA_ALU_RELU:
        return fmax(a, 0);
    case NTK_ISA_ALU_RSQRT:
        return 1 / sqrt(a);
    case NTK_ISA_ALU_RECIPROCAL:
        return 1 / a;
    default:
        return a;
    }
}

static bool is_bitwise(enum ntk_isa_alu op)
{
    return ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC;
}

static void tensor_tensor_applies_every_arithmetic_operator_to_two_tiles(void **state)
{
    struct ops *s = *state;

    for (int k = 1; k < NTK_ISA_ALU_COUNT; k++) {
        enum ntk_isa_alu op = (enum ntk_isa_alu)k;
        bool positive =
            op == NTK_ISA_ALU_POWER || op == NTK_ISA_ALU_RSQRT || op == NTK_ISA_ALU_RECIPROCAL;
        unsigned rows = 5;
        uint32_t n = 100;
        struct work w;

        if (is_bitwise(op)) {
            continue;
        }
        work_element_wise(&w, NTK_ISA_OP_TENSOR_TENSOR,
                          k % 2 && op != NTK_ISA_ALU_POWER ? NTK_ISA_ENGINE_DVE
                                                           : NTK_ISA_ENGINE_POOL,
                          rows, n, NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.op0 = op;
        w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, NTK_DTYPE_FLOAT32);
        w.bytes_b = n * 4;
        ops_whole_numbers(s, s->a, rows, n, positive ? 1 : -4, 4);
        ops_whole_numbers(s, s->b, rows, n, -4, 4);
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            for (uint32_t i = 0; i < n; i++) {
                double a = ops_value(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double b = ops_value(s, s->b, NTK_DTYPE_FLOAT32, p, i, n * 4);

                ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), alu(op, a, b),
                         positive ? 1e-6 : 0, 0, ntk_isa_alu_name(op), a);
            }
        }
    }
}

static uint32_t bits(enum ntk_isa_alu op, uint32_t a, uint32_t b, bool is_signed)
{
    bool wide = b >= 32;

    switch (op) {
    case NTK_ISA_ALU_INVERT:
        return ~a;
    case NTK_ISA_ALU_BITWISE_AND:
        return a & b;
    case NTK_ISA_ALU_BITWISE_OR:
        return a | b;
    case NTK_ISA_ALU_BITWISE_XOR:
        return a ^ b;
    case NTK_ISA_ALU_LEFT_SHIFT:
        return wide ? 0 : a << b;
    default:
        if (is_signed && a >> 31) {
            return wide ? UINT32_MAX : ~(~a >> b);
        }
        return wide ? 0 : a >> b;
    }
}

static void bitwise_operators_act_on_integer_bits(void **state)
{
    struct ops *s = *state;

    for (int k = 1; k < NTK_ISA_ALU_COUNT; k++) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            enum ntk_isa_alu op = (enum ntk_isa_alu)k;
            enum ntk_dtype dtype = is_signed ? NTK_DTYPE_INT32 : NTK_DTYPE_UINT32;
            unsigned rows = 4;
            uint32_t n = 64;
            uint32_t *a = engine_fixture_memory(&s->f, s->a);
            uint32_t *b = engine_fixture_memory(&s->f, s->b);
            const uint32_t *d = engine_fixture_memory(&s->f, s->d);
            bool shifts = op == NTK_ISA_ALU_LEFT_SHIFT || op == NTK_ISA_ALU_RIGHT_SHIFT;
            struct work w;

            if (!is_bitwise(op)) {
                continue;
            }
            for (size_t i = 0; i < (size_t)rows * n; i++) {
                a[i] = (uint32_t)(engine_fixture_random(&s->random) >> 20);
                b[i] =
                    (uint32_t)(engine_fixture_random(&s->random) >> 20) % (shifts ? 40 : 1u << 31);
            }
            work_element_wise(&w, NTK_ISA_OP_TENSOR_TENSOR, NTK_ISA_ENGINE_DVE, rows, n, dtype,
                              dtype);
            w.instr.op0 = op;
            w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, dtype);
            w.bytes_b = n * 4;
            assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
            for (size_t i = 0; i < (size_t)rows * n; i++) {
                assert_int_equal(d[i], bits(op, a[i], b[i], is_signed));
            }
        }
    }
}

static void tensor_scalar_applies_one_or_two_operators_in_either_order(void **state)
{
    struct ops *s = *state;

    for (int variant = 0; variant < 16; variant++) {
        bool reverse0 = variant & 1;
        bool reverse1 = variant & 2;
        bool columns = variant & 4;
        bool two = variant & 8;
        unsigned rows = 6;
        uint32_t n = 50;
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_TENSOR_SCALAR,
                          variant % 3 == 0   ? NTK_ISA_ENGINE_DVE
                          : variant % 3 == 1 ? NTK_ISA_ENGINE_ACT
                                             : NTK_ISA_ENGINE_POOL,
                          rows, n, NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.op0 = NTK_ISA_ALU_SUBTRACT;
        w.instr.op1 = two ? NTK_ISA_ALU_GREATER : NTK_ISA_ALU_NONE;
        w.instr.imm[0] = ntk_isa_float_bits(2.0F);
        w.instr.imm[1] = two ? ntk_isa_float_bits(1.0F) : 0;
        w.instr.op_flags = (uint8_t)((reverse0 ? NTK_ISA_OPF_REVERSE0 : 0) |
                                     (reverse1 ? NTK_ISA_OPF_REVERSE1 : 0));
        ops_whole_numbers(s, s->a, rows, n, -5, 5);
        ops_whole_numbers(s, s->b, rows, 1, -5, 5);
        ops_whole_numbers(s, s->c, rows, 1, -5, 5);
        if (columns) {
            w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.instr.operand[NTK_ISA_SRC2] = ntk_isa_sbuf(C_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.bytes_b = w.bytes_c = 4;
        }
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double s0 = columns ? ops_value(s, s->b, NTK_DTYPE_FLOAT32, p, 0, 4) : 2;
            double s1 = columns ? ops_value(s, s->c, NTK_DTYPE_FLOAT32, p, 0, 4) : 1;

            for (uint32_t i = 0; i < n; i++) {
                double a = ops_value(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double t = reverse0 ? s0 - a : a - s0;
                double expected = !two ? t : reverse1 ? s1 > t : t > s1;

                ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), expected, 0, 0,
                         "tensor_scalar", a);
            }
        }
    }
}

static void bitwise_tensor_scalar_uses_integer_scalars(void **state)
{
    struct ops *s = *state;
    uint16_t *a = engine_fixture_memory(&s->f, s->a);
    const uint16_t *d = engine_fixture_memory(&s->f, s->d);
    struct work w;

    work_element_wise(&w, NTK_ISA_OP_TENSOR_SCALAR, NTK_ISA_ENGINE_DVE, 2, 32, NTK_DTYPE_UINT16,
                      NTK_DTYPE_UINT16);
    w.instr.op0 = NTK_ISA_ALU_LEFT_SHIFT;
    w.instr.imm[0] = 3;
    w.instr.op1 = NTK_ISA_ALU_BITWISE_XOR;
    w.instr.imm[1] = 0xffff;
    for (int i = 0; i < 64; i++) {
        a[i] = (uint16_t)engine_fixture_random(&s->random);
    }
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(d[i], (uint16_t)((uint16_t)(a[i] << 3) ^ 0xffff));
    }
    w.instr.op_flags = NTK_ISA_OPF_REVERSE0; /* 3 << a, then xor */
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(d[i], (uint16_t)((a[i] < 16 ? (uint16_t)(3 << a[i]) : 0) ^ 0xffff));
    }
}

static void tensor_scalar_reduce_reduces_each_row(void **state)
{
    static const enum ntk_isa_alu folds[] = { NTK_ISA_ALU_ADD, NTK_ISA_ALU_MAXIMUM,
                                              NTK_ISA_ALU_MINIMUM, NTK_ISA_ALU_SUBTRACT,
                                              NTK_ISA_ALU_LOGICAL_OR };
    struct ops *s = *state;

    for (size_t k = 0; k < sizeof folds / sizeof folds[0]; k++) {
        unsigned rows = 9;
        uint32_t n = 77;
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_TENSOR_SCALAR_REDUCE, NTK_ISA_ENGINE_DVE, rows, n,
                          NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.op0 = NTK_ISA_ALU_MULTIPLY;
        w.instr.imm[0] = ntk_isa_float_bits(3.0F);
        w.instr.reduce_op = folds[k];
        w.instr.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
        w.instr.operand[NTK_ISA_DST2] = ntk_isa_sbuf(E_AT, rows, 1, NTK_DTYPE_FLOAT32);
        w.bytes_e = 4;
        ops_whole_numbers(s, s->a, rows, n, -9, 9);
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double folded = 0;

            for (uint32_t i = 0; i < n; i++) {
                double t = 3 * ops_value(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);

                ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), t, 0, 0, "product", t);
                folded = i == 0 ? t : alu(folds[k], folded, t);
            }
            ops_near(ops_value(s, s->e, NTK_DTYPE_FLOAT32, p, 0, 4), folded, 0, 0,
                     ntk_isa_alu_name(folds[k]), p);
        }
    }
}

static void scalar_tensor_tensor_combines_all_three(void **state)
{
    struct ops *s = *state;

    for (int variant = 0; variant < 8; variant++) {
        bool reverse0 = variant & 1;
        bool reverse1 = variant & 2;
        bool column = variant & 4;
        unsigned rows = 4;
        uint32_t n = 60;
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_SCALAR_TENSOR_TENSOR, NTK_ISA_ENGINE_DVE, rows, n,
                          NTK_DTYPE_FLOAT32, NTK_DTYPE_BFLOAT16);
        w.instr.op0 = NTK_ISA_ALU_SUBTRACT;
        w.instr.op1 = NTK_ISA_ALU_SUBTRACT;
        w.instr.imm[0] = ntk_isa_float_bits(7.0F);
        w.instr.op_flags = (uint8_t)((reverse0 ? NTK_ISA_OPF_REVERSE0 : 0) |
                                     (reverse1 ? NTK_ISA_OPF_REVERSE1 : 0));
        w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, NTK_DTYPE_FLOAT32);
        w.bytes_b = n * 4;
        ops_whole_numbers(s, s->a, rows, n, -20, 20);
        ops_whole_numbers(s, s->b, rows, n, -20, 20);
        ops_whole_numbers(s, s->c, rows, 1, -20, 20);
        if (column) {
            w.instr.operand[NTK_ISA_SRC2] = ntk_isa_sbuf(C_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.bytes_c = 4;
        }
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double scalar = column ? ops_value(s, s->c, NTK_DTYPE_FLOAT32, p, 0, 4) : 7;

            for (uint32_t i = 0; i < n; i++) {
                double a = ops_value(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double b = ops_value(s, s->b, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double t = reverse0 ? scalar - a : a - scalar;

                ops_near(ops_value(s, s->d, NTK_DTYPE_BFLOAT16, p, i, n * 2),
                         reverse1 ? b - t : t - b, 0, 0, "scalar_tensor_tensor", a);
            }
        }
    }
}

static void tensor_reduce_reduces_the_innermost_dimensions(void **state)
{
    struct ops *s = *state;

    for (int axes = 1; axes <= 3; axes++) {
        unsigned rows = 7;
        uint32_t counts[3] = { 5, 4, 6 };
        uint32_t n = 5 * 4 * 6;
        uint32_t group = axes == 1 ? 5 : axes == 2 ? 20 : 120;
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_TENSOR_REDUCE, NTK_ISA_ENGINE_DVE, rows, n,
                          NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, rows, n / group, NTK_DTYPE_FLOAT32);
        w.instr.operand[NTK_ISA_SRC0].dim_count = 3;
        /* Dimensions out of memory order: dim 0 has step 6, dim 1 step 30, dim 2 step 1. */
        w.instr.operand[NTK_ISA_SRC0].dim[0] = (struct ntk_isa_dim){ 6, counts[0] };
        w.instr.operand[NTK_ISA_SRC0].dim[1] = (struct ntk_isa_dim){ 30, counts[1] };
        w.instr.operand[NTK_ISA_SRC0].dim[2] = (struct ntk_isa_dim){ 1, counts[2] };
        w.instr.axis_count = (uint8_t)axes;
        w.instr.op0 = axes == 2 ? NTK_ISA_ALU_MAXIMUM : NTK_ISA_ALU_ADD;
        w.instr.op_flags = axes == 3 ? NTK_ISA_OPF_NEGATE : 0;
        w.bytes_d = n / group * 4;
        ops_whole_numbers(s, s->a, rows, n, -100, 100);
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            for (uint32_t g = 0; g < n / group; g++) {
                double folded = 0;

                for (uint32_t i = 0; i < group; i++) {
                    uint32_t e = g * group + i;
                    uint32_t at = e % 5 * 6 + e / 5 % 4 * 30 + e / 20;
                    double x = ops_value(s, s->a, NTK_DTYPE_FLOAT32, p, at, n * 4);

                    folded = i == 0 ? x : alu(w.instr.op0, folded, x);
                }
                ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, p, g, n / group * 4),
                         axes == 3 ? -folded : folded, 0, 0, "reduction", g);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPS_TEST(tensor_tensor_applies_every_arithmetic_operator_to_two_tiles),
        OPS_TEST(bitwise_operators_act_on_integer_bits),
        OPS_TEST(tensor_scalar_applies_one_or_two_operators_in_either_order),
        OPS_TEST(bitwise_tensor_scalar_uses_integer_scalars),
        OPS_TEST(tensor_scalar_reduce_reduces_each_row),
        OPS_TEST(scalar_tensor_tensor_combines_all_three),
        OPS_TEST(tensor_reduce_reduces_the_innermost_dimensions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
