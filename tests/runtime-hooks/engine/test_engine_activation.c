/* SPDX-License-Identifier: MIT */
/* Activation functions, compared with their definition in double. */
#include <math.h>

#include "tests/runtime-hooks/engine/ops_fixture.h"
#include "tests/support/unit.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double phi(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double activation(enum ntk_isa_act f, double x, double alpha)
{
    const double pi = 3.14159265358979323846;
    double s = sigmoid(1.702 * x);

    switch (f) {
    case NTK_ISA_ACT_COPY:
        return x;
    case NTK_ISA_ACT_SQUARE:
        return x * x;
    case NTK_ISA_ACT_SIGMOID:
        return sigmoid(x);
    case NTK_ISA_ACT_RELU:
        return fmax(x, 0);
    case NTK_ISA_ACT_PRELU:
        return x < 0 ? alpha * x : x;
    case NTK_ISA_ACT_GELU:
        return x * phi(x);
    case NTK_ISA_ACT_GELU_DX:
        return phi(x) + x * exp(-x * x / 2) / sqrt(2 * pi);
    case NTK_ISA_ACT_GELU_APPRX_TANH:
        return x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3))));
    case NTK_ISA_ACT_GELU_APPRX_SIGMOID:
        return x * s;
    case NTK_ISA_ACT_GELU_APPRX_SIGMOID_DX:
        return s + 1.702 * x * s * (1 - s);
    case NTK_ISA_ACT_SILU:
        return x * sigmoid(x);
    case NTK_ISA_ACT_SILU_DX:
        return sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x));
    case NTK_ISA_ACT_TANH:
        return tanh(x);
    case NTK_ISA_ACT_SOFTPLUS:
        return log1p(exp(x));
    case NTK_ISA_ACT_MISH:
        return x * tanh(log1p(exp(x)));
    case NTK_ISA_ACT_ERF:
        return erf(x);
    case NTK_ISA_ACT_ERF_DX:
        return 2 / sqrt(pi) * exp(-x * x);
    case NTK_ISA_ACT_EXP:
        return exp(x);
    case NTK_ISA_ACT_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case NTK_ISA_ACT_ABS:
        return fabs(x);
    case NTK_ISA_ACT_LOG:
        return log(x);
    case NTK_ISA_ACT_SIN:
        return sin(x);
    case NTK_ISA_ACT_ARCTAN:
        return atan(x);
    case NTK_ISA_ACT_SQRT:
        return sqrt(x);
    case NTK_ISA_ACT_RSQRT:
        return 1 / sqrt(x);
    case NTK_ISA_ACT_RECIPROCAL:
        return 1 / x;
    case NTK_ISA_ACT_COUNT:
        break;
    }
    fail();
    return 0;
}

static void activation_functions_match_their_definition(void **state)
{
    struct ops *s = *state;

    for (int f = 0; f < NTK_ISA_ACT_COUNT; f++) {
        enum ntk_isa_act act = (enum ntk_isa_act)f;
        bool positive =
            act == NTK_ISA_ACT_LOG || act == NTK_ISA_ACT_SQRT || act == NTK_ISA_ACT_RSQRT;
        unsigned rows = 3;
        uint32_t n = 257;
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_ACTIVATION, NTK_ISA_ENGINE_ACT, rows, n, NTK_DTYPE_FLOAT32,
                          NTK_DTYPE_FLOAT32);
        w.instr.act = act;
        w.instr.imm[0] = ntk_isa_float_bits(1.0F);
        w.instr.imm[2] = act == NTK_ISA_ACT_PRELU ? ntk_isa_float_bits(0.25F) : 0;
        ops_fill(s, s->a, NTK_DTYPE_FLOAT32, rows, n, n * 4, positive ? 0.001 : -9, 9);
        ((float *)engine_fixture_memory(&s->f, s->a))[1] = positive ? 1.0F : 0.5F;
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            for (uint32_t i = 0; i < n; i++) {
                double x = ops_value(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);

                ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4),
                         activation(act, x, 0.25), 4e-6, 1e-6, ntk_isa_act_name(act), x);
            }
        }
    }
}

static void activation_far_from_zero_neither_overflows_nor_returns_nan(void **state)
{
    static const enum ntk_isa_act bounded[] = { NTK_ISA_ACT_SIGMOID,
                                                NTK_ISA_ACT_GELU,
                                                NTK_ISA_ACT_GELU_DX,
                                                NTK_ISA_ACT_GELU_APPRX_TANH,
                                                NTK_ISA_ACT_GELU_APPRX_SIGMOID,
                                                NTK_ISA_ACT_GELU_APPRX_SIGMOID_DX,
                                                NTK_ISA_ACT_SILU,
                                                NTK_ISA_ACT_SILU_DX,
                                                NTK_ISA_ACT_TANH,
                                                NTK_ISA_ACT_SOFTPLUS,
                                                NTK_ISA_ACT_MISH,
                                                NTK_ISA_ACT_ERF,
                                                NTK_ISA_ACT_ERF_DX };
    struct ops *s = *state;
    float *a = engine_fixture_memory(&s->f, s->a);

    for (size_t k = 0; k < sizeof bounded / sizeof bounded[0]; k++) {
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_ACTIVATION, NTK_ISA_ENGINE_ACT, 1, 4, NTK_DTYPE_FLOAT32,
                          NTK_DTYPE_FLOAT32);
        w.instr.act = bounded[k];
        w.instr.imm[0] = ntk_isa_float_bits(1.0F);
        a[0] = 1000;
        a[1] = -1000;
        a[2] = 80;
        a[3] = -80;
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (uint32_t i = 0; i < 4; i++) {
            ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, 0, i, 16),
                     i == 0 && bounded[k] == NTK_ISA_ACT_SOFTPLUS ? 1000
                     : i == 0 && bounded[k] == NTK_ISA_ACT_MISH   ? 1000
                                                                  : activation(bounded[k], a[i], 0),
                     1e-5, 1e-6, ntk_isa_act_name(bounded[k]), a[i]);
        }
    }
}

static void activation_applies_scale_bias_reduction_and_rounding(void **state)
{
    struct ops *s = *state;

    for (int variant = 0; variant < 4; variant++) {
        bool columns = variant & 1;
        bool from_old = variant & 2;
        unsigned rows = 64;
        uint32_t n = 300;
        struct work w;

        work_element_wise(&w, NTK_ISA_OP_ACTIVATION_REDUCE, NTK_ISA_ENGINE_ACT, rows, n,
                          NTK_DTYPE_BFLOAT16, NTK_DTYPE_FLOAT16);
        ops_fill(s, s->a, NTK_DTYPE_BFLOAT16, rows, n, n * 2, -3, 3);
        ops_fill(s, s->b, NTK_DTYPE_FLOAT32, rows, 1, 4, -1, 1);
        ops_fill(s, s->c, NTK_DTYPE_FLOAT32, rows, 1, 4, 0.5, 2);
        w.instr.act = NTK_ISA_ACT_SIGMOID;
        w.instr.imm[0] = ntk_isa_float_bits(1.5F);
        w.instr.imm[1] = ntk_isa_float_bits(-0.25F);
        w.instr.reduce_op = NTK_ISA_ALU_ADD;
        w.instr.reduce_cmd = from_old ? NTK_ISA_REDUCE_REDUCE : NTK_ISA_REDUCE_RESET_REDUCE;
        w.bytes_b = 4;
        if (columns) {
            w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.instr.operand[NTK_ISA_SRC2] = ntk_isa_sbuf(C_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.bytes_c = 4;
        }
        /* The old value of the reduction: the column of b, which is also stored as e. */
        w.instr.operand[NTK_ISA_DST2] = ntk_isa_sbuf(E_AT, rows, 1, NTK_DTYPE_FLOAT32);
        w.bytes_e = 4;
        engine_fixture_clear(&s->f);
        {
            struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

            engine_fixture_load(&s->f, s->queue, s->a, A_AT, rows, n * 2);
            engine_fixture_load(&s->f, s->queue, s->b, B_AT, rows, 4);
            engine_fixture_load(&s->f, s->queue, s->c, C_AT, rows, 4);
            copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(E_AT, rows, 1, NTK_DTYPE_FLOAT32);
            copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(B_AT, rows, 1, NTK_DTYPE_FLOAT32);
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, copy);
            engine_fixture_step(&s->f, w.engine, w.instr);
            engine_fixture_store(&s->f, s->queue, s->d, D_AT, rows, n * 2);
            engine_fixture_store(&s->f, s->queue, s->e, E_AT, rows, 4);
        }
        assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double b = ops_value(s, s->b, NTK_DTYPE_FLOAT32, p, 0, 4);
            double scale = columns ? ops_value(s, s->c, NTK_DTYPE_FLOAT32, p, 0, 4) : 1.5;
            double bias = columns ? b : -0.25;
            double sum = from_old ? b : 0;

            for (uint32_t i = 0; i < n; i++) {
                double x = ops_value(s, s->a, NTK_DTYPE_BFLOAT16, p, i, n * 2);
                double y = sigmoid(x * scale + bias);

                sum += y;
                ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT16, p, i, n * 2), y, 0x1p-11, 1e-6,
                         "sigmoid", x);
            }
            /* The sum is not rounded before the end, so it is far closer than a sum of fp16 values.
             * */
            ops_near(ops_value(s, s->e, NTK_DTYPE_FLOAT32, p, 0, 4), sum, 2e-6, 1e-5, "sum", p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPS_TEST(activation_functions_match_their_definition),
        OPS_TEST(activation_far_from_zero_neither_overflows_nor_returns_nan),
        OPS_TEST(activation_applies_scale_bias_reduction_and_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
