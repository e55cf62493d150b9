/* SPDX-License-Identifier: MIT */
/*
 * Element-wise operators, softmax and casts run on the device. Each result is compared with a
 * second implementation in references.c and, where the library has a host function, with that
 * function.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

static double active(int function, double x)
{
    switch (function) {
    case CNML_ACTIVE_SIGMOID:
        return 1 / (1 + exp(-x));
    case CNML_ACTIVE_RELU:
        return fmax(x, 0);
    case CNML_ACTIVE_TANH:
        return tanh(x);
    case CNML_ACTIVE_RELU1:
        return fmin(1, fmax(x, 0));
    case CNML_ACTIVE_RELU6:
        return fmin(6, fmax(x, 0));
    case 6:
        return fmin(1, fmax(0.2 * x + 0.5, 0));
    default:
        return x;
    }
}

static void activation_operators_match_the_reference(void **state)
{
    struct shape shape = { 1, 10, 4, 5 };
    double expected[200];

    (void)state;
    for (int function = 0; function <= 6; function++) {
        struct data in = data_make(CNML_TENSOR, F16, shape, numbers(200, 1));
        struct data out = data_result(F16, shape);
        cnmlBaseOp_t op = NULL;

        for (int i = 0; i < 200; i++) {
            in.host[i] = (float)(-8 + 0.1 * i);
            expected[i] = active(function, -8 + 0.1 * i);
        }
        OK(cnmlCreateActiveOp(&op, (cnmlActiveFunction_t)function, in.tensor, out.tensor));
        run_one(op, &in, &out, cnmlComputeActiveOpForward);
        expect_near(&out, expected, 1e-3);
        OK(cnmlCpuComputeActiveOpForward((cnmlActiveFunction_t)function, in.cpu, in.host, out.cpu,
                                         out.host));
        expect_near(&out, expected, 1e-6);
        data_free(&in);
        data_free(&out);
    }
}

typedef cnmlStatus_t create_two(cnmlBaseOp_t *, cnmlTensor_t, cnmlTensor_t, cnmlTensor_t);
typedef cnmlStatus_t forward_two(cnmlBaseOp_t, void *, void *, void *, cnrtInvokeFuncParam_t *,
                                 cnrtQueue_t);
typedef cnmlStatus_t cpu_two(cnmlCpuTensor_t, void *, cnmlCpuTensor_t, void *, cnmlCpuTensor_t,
                             void *);

static void binary_operators_match_the_reference(void **state)
{
    static const struct {
        create_two *create;
        forward_two *forward;
        cpu_two *cpu;
        char op;
        struct shape a, b;
    } cases[] = {
        { cnmlCreateAddOp,
          cnmlComputeAddOpForward,
          cnmlCpuComputeAddOpForward,
          '+',
          { 2, 5, 9, 31 },
          { 2, 5, 9, 31 } },
        { cnmlCreateSubOp,
          cnmlComputeSubOpForward,
          cnmlCpuComputeSubOpForward,
          '-',
          { 1, 70, 30, 40 },
          { 1, 70, 30, 40 } },
        { cnmlCreateMultOp,
          cnmlComputeMultOpForward,
          cnmlCpuComputeMultOpForward,
          '*',
          { 1, 1, 1, 3 },
          { 1, 1, 1, 3 } },
        { cnmlCreateRealDivOp,
          cnmlComputeRealDivOpForward,
          cnmlCpuComputeRealDivOpForward,
          '/',
          { 1, 64, 10, 10 },
          { 1, 64, 10, 10 } },
        { cnmlCreateBroadcastAddOp,
          cnmlComputeBroadcastAddOpForward,
          cnmlCpuComputeBroadcastAddOpForward,
          '+',
          { 2, 150, 5, 6 },
          { 1, 150, 1, 1 } },
        { cnmlCreateBroadcastSubOp,
          cnmlComputeBroadcastSubOpForward,
          cnmlCpuComputeBroadcastSubOpForward,
          '-',
          { 3, 7, 5, 6 },
          { 1, 1, 5, 6 } },
        { cnmlCreateBroadcastMultOp,
          cnmlComputeBroadcastMultOpForward,
          cnmlCpuComputeBroadcastMultOpForward,
          '*',
          { 3, 7, 5, 6 },
          { 3, 7, 1, 6 } },
        { cnmlCreateCycleAddOp,
          cnmlComputeCycleAddOpForward,
          cnmlCpuComputeCycleAddOpForward,
          '+',
          { 2, 16, 50, 60 },
          { 1, 16, 1, 1 } },
        { cnmlCreateCycleSubOp,
          cnmlComputeCycleSubOpForward,
          cnmlCpuComputeCycleSubOpForward,
          '-',
          { 2, 16, 5, 6 },
          { 1, 1, 1, 1 } },
        { cnmlCreateCycleMultOp,
          cnmlComputeCycleMultOpForward,
          cnmlCpuComputeCycleMultOpForward,
          '*',
          { 2, 16, 5, 6 },
          { 2, 1, 5, 1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shape a = cases[i].a;
        struct shape b = cases[i].b;
        size_t count = shape_elements(a);
        struct data x = data_make(CNML_TENSOR, F16, a, numbers(count, 1));
        struct data y = data_make(CNML_TENSOR, F16, b, numbers(shape_elements(b), 2));
        struct data out = data_result(F16, a);
        double *expected = malloc(count * sizeof *expected);
        cnmlBaseOp_t op = NULL;

        print_message("  case %zu\n", i);
        for (size_t k = 0; cases[i].op == '/' && k < count; k++) {
            y.values[k] = y.values[k] < 0 ? y.values[k] - 1 : y.values[k] + 1;
            y.host[k] = (float)y.values[k];
        }
        for (size_t k = 0; k < count; k++) {
            int w = (int)(k % (size_t)a.w) % b.w;
            int h = (int)(k / (size_t)a.w % (size_t)a.h) % b.h;
            int c = (int)(k / (size_t)(a.w * a.h) % (size_t)a.c) % b.c;
            int n = (int)(k / (size_t)(a.w * a.h * a.c)) % b.n;
            double other = y.values[((n * b.c + c) * b.h + h) * b.w + w];

            expected[k] = cases[i].op == '+'   ? x.values[k] + other
                          : cases[i].op == '-' ? x.values[k] - other
                          : cases[i].op == '*' ? x.values[k] * other
                                               : x.values[k] / other;
        }
        OK(cases[i].create(&op, x.tensor, y.tensor, out.tensor));
        run_two(op, &x, &y, &out, cases[i].forward);
        expect_near(&out, expected, 1e-3);
        OK(cases[i].cpu(x.cpu, x.host, y.cpu, y.host, out.cpu, out.host));
        expect_near(&out, expected, 1e-6);
        data_free(&x);
        data_free(&y);
        data_free(&out);
        free(expected);
    }
}

static void channel_scaling_operators_match_the_reference(void **state)
{
    struct shape shape = { 2, 140, 6, 5 };
    struct shape channel = { 1, 140, 1, 1 };
    size_t count = shape_elements(shape);

    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        struct data in = data_make(CNML_TENSOR, F16, shape, numbers(count, 1));
        struct data x = data_const(CNML_CONST, F16, channel, numbers(140, 2));
        struct data y = data_const(CNML_CONST, F16, channel, numbers(140, 3));
        struct data out = data_result(F16, shape);
        double *expected = malloc(count * sizeof *expected);
        cnmlBaseOp_t op = NULL;

        for (size_t i = 0; i < count; i++) {
            size_t c = i / 30 % 140;

            expected[i] = norm ? (in.values[i] - x.values[c]) * y.values[c]
                               : in.values[i] * x.values[c] + y.values[c];
        }
        if (norm) {
            OK(cnmlCreateBatchNormOpForward(&op, in.tensor, out.tensor, x.tensor, y.tensor));
            run_one(op, &in, &out, cnmlComputeBatchNormOpForward);
        } else {
            OK(cnmlCreateScaleOp(&op, in.tensor, out.tensor, x.tensor, y.tensor));
            run_one(op, &in, &out, cnmlComputeScaleOpForward);
        }
        expect_near(&out, expected, 1e-3);
        if (norm) {
            OK(cnmlCpuComputeBatchNormOpForward(in.cpu, in.host, out.cpu, out.host, x.cpu, x.host,
                                                y.cpu, y.host));
        } else {
            OK(cnmlCpuComputeScaleOpForward(in.cpu, in.host, out.cpu, out.host, x.cpu, x.host,
                                            y.cpu, y.host));
        }
        expect_near(&out, expected, 1e-6);
        data_free(&in);
        data_free(&x);
        data_free(&y);
        data_free(&out);
        free(expected);
    }
}

static void softmax_operators_match_the_reference(void **state)
{
    static const struct {
        cnmlSoftmaxDim_t dim;
        char axis;
        struct shape shape;
    } cases[] = { { CNML_SOFTMAX_DIM_C, 'c', { 1, 1000, 1, 1 } },
                  { CNML_SOFTMAX_DIM_C, 'c', { 2, 21, 13, 17 } },
                  { CNML_SOFTMAX_DIM_W, 'w', { 2, 9, 5, 33 } },
                  { CNML_SOFTMAX_DIM_H, 'h', { 3, 70, 8, 3 } },
                  { CNML_SOFTMAX_DIM_N, 'n', { 7, 5, 6, 7 } } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shape shape = cases[i].shape;
        size_t count = shape_elements(shape);
        struct data in = data_make(CNML_TENSOR, F16, shape, numbers(count, 1));
        struct data out = data_result(F16, shape);
        double *expected = malloc(count * sizeof *expected);
        cnmlBaseOp_t op = NULL;

        ref_softmax(cases[i].axis, shape, in.values, expected);
        OK(cnmlCreateSoftmaxOp(&op, cases[i].dim, in.tensor, out.tensor));
        run_one(op, &in, &out, cnmlComputeSoftmaxOpForward);
        expect_near(&out, expected, 1e-3);
        OK(cnmlCpuComputeSoftmaxOpForward(cases[i].dim, in.cpu, in.host, out.cpu, out.host));
        expect_near(&out, expected, 1e-6);
        data_free(&in);
        data_free(&out);
        free(expected);
    }
}

static void cast_operators_match_the_reference(void **state)
{
    static const struct {
        cnmlCastType_t type;
        cnmlDataType_t from, to;
        double scale; /* magnitude of the test's numbers */
        bool is_whole;
        bool clamps;
        int position; /* for 8-bit integers */
    } cases[] = { { CNML_CAST_FLOAT32_TO_UINT8, F32, CNML_DATA_UINT8, 300, true, true, 0 },
                  { CNML_CAST_UINT8_TO_FLOAT32, CNML_DATA_UINT8, F32, 100, true, true, 0 },
                  { CNML_CAST_FIX8_TO_FLOAT16, CNML_DATA_FIX8, F16, 1, true, false, -6 },
                  { CNML_CAST_FLOAT16_TO_FIX8, F16, CNML_DATA_FIX8, 1, true, false, -6 },
                  { CNML_CAST_FLOAT16_TO_FLOAT32, F16, F32, 1, false, false, 0 },
                  { CNML_CAST_FLOAT32_TO_FLOAT16, F32, F16, 1, false, false, 0 },
                  { CNML_CAST_INT16_TO_FLOAT16, CNML_DATA_INT16, F16, 900, true, false, 0 },
                  { CNML_CAST_FLOAT16_TO_INT16, F16, CNML_DATA_INT16, 900, true, false, 0 } };
    struct shape shape = { 2, 5, 7, 9 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = shape_elements(shape);
        struct data in = data_make(CNML_TENSOR, cases[i].from, shape, numbers(count, 1));
        struct data out = data_result(cases[i].to, shape);
        double *expected = malloc(count * sizeof *expected);
        cnmlBaseOp_t op = NULL;

        print_message("  case %zu\n", i);
        for (size_t k = 0; k < count; k++) {
            double unit = ldexp(1, cases[i].position);
            double value = in.values[k] * cases[i].scale;

            if (cases[i].is_whole) {
                value = nearbyint(value / unit) * unit;
            }
            in.host[k] = (float)value;
            expected[k] = cases[i].clamps ? fmin(255, fmax(0, value)) : value;
        }
        if (cases[i].position != 0) {
            OK(cnmlSetFix8Position(cases[i].from == F16 ? out.tensor : in.tensor,
                                   cases[i].position));
        }
        OK(cnmlCreateCastOp(&op, cases[i].type, in.tensor, out.tensor));
        run_one(op, &in, &out, cnmlComputeCastOpForward);
        expect_near(&out, expected, 0);
        data_free(&in);
        data_free(&out);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENTS_TEST(activation_operators_match_the_reference),
        CLIENTS_TEST(binary_operators_match_the_reference),
        CLIENTS_TEST(channel_scaling_operators_match_the_reference),
        CLIENTS_TEST(softmax_operators_match_the_reference),
        CLIENTS_TEST(cast_operators_match_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
