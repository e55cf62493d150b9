/* SPDX-License-Identifier: MIT */
/*
 * Pooling, root mean square and padding run on the device. Each result is compared with a second
 * implementation in references.c and, where the library has a host function, with that function.
 */
#include <stdlib.h>

#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

struct pool_case {
    struct shape in, out;
    struct ref_pool ref;
    int pad_h, pad_w;
    cnmlPoolMode_t mode;
    cnmlPoolStrategyMode_t strategy;
    bool real;
};

#define CNML_SUM ((cnmlPoolMode_t)3)
static const struct pool_case pool_cases[] = {
    { { 1, 2, 6, 6 },
      { 1, 2, 2, 2 },
      { REF_AVERAGE, 5, 5, 2, 2, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_AVG,
      CNML_POOL_KFULL,
      false },
    { { 1, 2, 6, 6 },
      { 1, 2, 2, 2 },
      { REF_AVERAGE_INSIDE, 5, 5, 2, 2, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_AVG,
      CNML_POOL_KFULL,
      true },
    { { 1, 2, 6, 6 },
      { 1, 2, 1, 1 },
      { REF_AVERAGE, 5, 5, 2, 2, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_AVG,
      CNML_POOL_KVALID,
      false },
    { { 2, 130, 7, 9 },
      { 2, 130, 4, 5 },
      { REF_MAX, 3, 3, 2, 2, 1, 1, 1, 1 },
      2,
      2,
      CNML_POOL_MAX,
      CNML_POOL_KVALID,
      false },
    { { 1, 3, 8, 8 },
      { 1, 3, 4, 4 },
      { REF_MAX_PLACE, 2, 2, 2, 2, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_MAXINDEX,
      CNML_POOL_KVALID,
      false },
    { { 1, 4, 9, 9 },
      { 1, 4, 5, 5 },
      { REF_MAX, 3, 3, 1, 1, 2, 2, 0, 0 },
      0,
      0,
      CNML_POOL_MAX,
      CNML_POOL_KVALID,
      false },
    { { 1, 4, 9, 9 },
      { 1, 4, 7, 7 },
      { REF_SUM, 3, 3, 1, 1, 1, 1, 0, 0 },
      0,
      0,
      CNML_SUM,
      CNML_POOL_KVALID,
      false },
    { { 1, 2, 2, 2 },
      { 1, 2, 2, 2 },
      { REF_MAX, 1, 1, 3, 3, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_MAX,
      CNML_POOL_KFULL,
      false }, /* the last windows extend beyond the edge */
    { { 1, 3, 112, 112 },
      { 1, 3, 56, 56 },
      { REF_MAX, 3, 3, 2, 2, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_MAX,
      CNML_POOL_KFULL,
      false },
    { { 3, 5, 7, 7 },
      { 3, 5, 1, 1 },
      { REF_AVERAGE, 7, 7, 1, 1, 1, 1, 0, 0 },
      0,
      0,
      CNML_POOL_AVG,
      CNML_POOL_KVALID,
      false },
};

static void pooling_operators_match_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pool_cases / sizeof *pool_cases; i++) {
        const struct pool_case *c = &pool_cases[i];
        struct data in = data_make(CNML_TENSOR, F16, c->in, numbers(shape_elements(c->in), 1));
        struct data out = data_result(F16, c->out);
        double *expected = malloc(shape_elements(c->out) * sizeof *expected);
        cnmlPoolOpParam_t param = NULL;
        cnmlBaseOp_t op = NULL;
        int n;
        int k;
        int h;
        int w;

        print_message("  case %zu\n", i);
        ref_pool(&c->ref, c->in, in.values, c->out, expected);
        OK(cnmlCreatePoolOpParam(&param, c->ref.window_h, c->ref.window_w, c->ref.stride_h,
                                 c->ref.stride_w, c->pad_h, c->pad_w,
                                 c->ref.dilation_h == 1 ? 0 : c->ref.dilation_h, c->ref.dilation_w,
                                 c->mode, c->strategy, c->real));
        OK(cnmlGetPoolOpOutputDim(in.tensor, param, &n, &k, &h, &w));
        assert_true(n == c->out.n && k == c->out.c && h == c->out.h && w == c->out.w);
        OK(cnmlCreatePoolOp(&op, param, in.tensor, out.tensor));
        run_one(op, &in, &out, cnmlComputePoolOpForward);
        expect_near(&out, expected, 1e-3);
        OK(cnmlCpuComputePoolOpForward(param, in.cpu, in.host, out.cpu, out.host));
        expect_near(&out, expected, 1e-6);
        OK(cnmlDestroyPoolOpParam(&param));
        data_free(&in);
        data_free(&out);
        free(expected);
    }
}

static void root_mean_square_operators_match_the_reference(void **state)
{
    struct shape in_shape = { 2, 6, 8, 8 };
    struct shape out_shape = { 2, 6, 4, 4 };
    struct ref_pool ref = { REF_L2, 2, 2, 2, 2, 1, 1, 0, 0 };
    struct data in = data_make(CNML_TENSOR, F16, in_shape, numbers(shape_elements(in_shape), 1));
    struct data out = data_result(F16, out_shape);
    double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
    cnmlL2_PoolOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;

    (void)state;
    ref_pool(&ref, in_shape, in.values, out_shape, expected);
    OK(cnmlCreateL2_PoolOpParam(&param, 2, 2, 2, 2, 0, 0, CNML_POOL_AVG));
    OK(cnmlCreateL2_PoolOp(&op, param, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeL2_PoolOpForward);
    expect_near(&out, expected, 1e-3);
    OK(cnmlCpuComputeL2_PoolOpForward(param, in.cpu, in.host, out.cpu, out.host));
    expect_near(&out, expected, 1e-6);
    OK(cnmlDestroyL2_PoolOpParam(&param));
    data_free(&in);
    data_free(&out);
    free(expected);
}

static void padding_operators_match_the_reference(void **state)
{
    struct shape in_shape = { 1, 48, 2, 2 };
    struct shape out_shape = { 1, 48, 4, 4 };
    struct data in = data_make(CNML_TENSOR, F16, in_shape, numbers(192, 1));
    struct data out = data_result(F16, out_shape);
    double *expected = malloc(768 * sizeof *expected);
    cnmlAddPadOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;

    (void)state;
    for (int i = 0; i < 768; i++) {
        int y = i / 4 % 4;
        int x = i % 4;

        expected[i] = y >= 1 && y <= 2 && x >= 1 && x <= 2
                          ? in.values[i / 16 * 4 + (y - 1) * 2 + (x - 1)]
                          : -3.5;
    }
    OK(cnmlCreateAddPadOpParam(&param, 2, 2, -3.5F));
    OK(cnmlCreateAddPadOp(&op, param, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeAddPadOpForward);
    expect_near(&out, expected, 0);
    OK(cnmlCpuComputeAddPadOpForward(param, in.cpu, in.host, out.cpu, out.host));
    expect_near(&out, expected, 0);
    OK(cnmlDestroyAddPadOpParam(&param));
    data_free(&in);
    data_free(&out);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENTS_TEST(pooling_operators_match_the_reference),
        CLIENTS_TEST(root_mean_square_operators_match_the_reference),
        CLIENTS_TEST(padding_operators_match_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
