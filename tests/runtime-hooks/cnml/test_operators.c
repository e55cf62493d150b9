/* SPDX-License-Identifier: MIT */
/*
 * Operators on the device, each against its definition written down once more in references.c, and
 * against the library's own host function where there is one to call.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

#define F16 CNML_DATA_FLOAT16
#define F32 CNML_DATA_FLOAT32

/* --- convolutions ---------------------------------------------------------------------------- */

struct conv_case {
    const char *name;
    struct shape in;
    int outputs, kernel_h, kernel_w;
    int stride_h, stride_w, dilation_h, dilation_w;
    int pad_h, pad_w; /* both sides together */
    int group;
    bool has_bias;
    cnmlDataType_t dtype;
};

static const struct conv_case conv_cases[] = {
    { "one by one", { 1, 3, 5, 5 }, 4, 1, 1, 1, 1, 1, 1, 0, 0, 1, true, F16 },
    { "as large as before", { 2, 16, 9, 7 }, 8, 3, 3, 1, 1, 1, 1, 2, 2, 1, true, F16 },
    { "without bias", { 1, 8, 6, 6 }, 8, 3, 3, 1, 1, 1, 1, 0, 0, 1, false, F16 },
    { "odd padding", { 1, 5, 8, 8 }, 3, 2, 4, 1, 1, 1, 1, 1, 3, 1, true, F16 },
    { "strides", { 1, 4, 15, 13 }, 6, 3, 5, 2, 3, 1, 1, 2, 4, 1, true, F16 },
    { "dilations", { 1, 4, 17, 19 }, 6, 3, 3, 1, 1, 2, 4, 4, 8, 1, true, F16 },
    { "more channels than partitions",
      { 1, 150, 6, 5 },
      140,
      3,
      3,
      1,
      1,
      1,
      1,
      2,
      2,
      1,
      true,
      F16 },
    { "groups", { 1, 12, 7, 7 }, 8, 3, 3, 1, 1, 1, 1, 2, 2, 4, true, F16 },
    { "groups over partitions", { 1, 192, 5, 5 }, 192, 3, 3, 1, 1, 1, 1, 2, 2, 3, true, F16 },
    { "float32", { 1, 10, 9, 9 }, 7, 3, 3, 1, 1, 1, 1, 2, 2, 1, true, F32 },
    { "rows in blocks", { 1, 3, 90, 130 }, 5, 3, 3, 1, 1, 1, 1, 2, 2, 1, true, F16 },
    { "columns in blocks", { 1, 2, 4, 1500 }, 3, 3, 3, 1, 1, 1, 1, 2, 2, 1, true, F16 },
    { "weights in pieces", { 2, 256, 6, 6 }, 160, 3, 3, 1, 1, 1, 1, 2, 2, 1, true, F16 },
    { "many images", { 40, 3, 8, 8 }, 4, 3, 3, 1, 1, 1, 1, 2, 2, 1, true, F16 },
};

static int positive_pad(int pad)
{
    return pad / 2;
}

static void convolutions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof conv_cases / sizeof *conv_cases; i++) {
        const struct conv_case *c = &conv_cases[i];
        struct ref_conv ref = { c->stride_h,
                                c->stride_w,
                                c->dilation_h,
                                c->dilation_w,
                                positive_pad(c->pad_h),
                                positive_pad(c->pad_w),
                                c->group,
                                c->kernel_h,
                                c->kernel_w };
        struct shape out_shape = {
            c->in.n, c->outputs,
            (c->in.h + c->pad_h - ((c->kernel_h - 1) * c->dilation_h + 1)) / c->stride_h + 1,
            (c->in.w + c->pad_w - ((c->kernel_w - 1) * c->dilation_w + 1)) / c->stride_w + 1
        };
        struct shape filter_shape = { c->outputs, c->in.c / c->group, c->kernel_h, c->kernel_w };
        struct shape bias_shape = { 1, c->outputs, 1, 1 };
        struct data in = data_make(CNML_TENSOR, c->dtype, c->in, numbers(shape_elements(c->in), 1));
        struct data filter = data_const(CNML_FILTER, c->dtype, filter_shape,
                                        numbers(shape_elements(filter_shape), 2));
        struct data bias =
            data_const(CNML_CONST, c->dtype, bias_shape, numbers(shape_elements(bias_shape), 3));
        struct data out = data_result(c->dtype, out_shape);
        double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
        cnmlConvOpParam_t param = NULL;
        cnmlBaseOp_t op = NULL;

        print_message("  %s\n", c->name);
        ref_conv(&ref, c->in, in.values, out_shape, expected, filter.values,
                 c->has_bias ? bias.values : NULL);
        OK(cnmlCreateConvOpParam(&param, c->stride_h, c->stride_w, c->dilation_h, c->dilation_w,
                                 c->pad_h, c->pad_w, CNML_NoSparse));
        if (c->group == 1) {
            OK(cnmlCreateConvOp(&op, param, in.tensor, out.tensor, filter.tensor,
                                c->has_bias ? bias.tensor : NULL));
            run_one(op, &in, &out, cnmlComputeConvOpForward);
        } else {
            OK(cnmlCreateConvGroupOp(&op, param, in.tensor, out.tensor, filter.tensor, bias.tensor,
                                     c->group));
            run_one(op, &in, &out, cnmlComputeConvGroupOpForward);
        }
        expect_near(&out, expected, c->dtype == F16 ? 1e-3 : 1e-6);
        memset(out.host, 0, shape_elements(out_shape) * sizeof *out.host);
        if (c->group == 1) {
            OK(cnmlCpuComputeConvOpForward(param, in.cpu, in.host, filter.cpu, filter.host, out.cpu,
                                           out.host, c->has_bias ? bias.cpu : NULL,
                                           c->has_bias ? bias.host : NULL));
        } else {
            OK(cnmlCpuComputeConvGroupOpForward(param, in.cpu, in.host, filter.cpu, filter.host,
                                                out.cpu, out.host, bias.cpu, bias.host, c->group));
        }
        expect_near(&out, expected, 1e-6);
        OK(cnmlDestroyConvOpParam(&param));
        data_free(&in);
        data_free(&filter);
        data_free(&bias);
        data_free(&out);
        free(expected);
    }
}

static void transposed_convolutions(void **state)
{
    static const struct {
        struct shape in;
        int outputs, kernel, stride, crop;
    } cases[] = { { { 1, 4, 5, 6 }, 3, 3, 2, 0 },
                  { { 2, 8, 4, 4 }, 5, 4, 2, 1 },
                  { { 1, 3, 6, 6 }, 2, 2, 3, 0 },
                  { { 1, 2, 5, 5 }, 2, 3, 1, 2 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int k = cases[i].kernel;
        int s = cases[i].stride;
        int crop = cases[i].crop;
        struct shape in_shape = cases[i].in;
        struct shape out_shape = { in_shape.n, cases[i].outputs,
                                   (in_shape.h - 1) * s + k - 2 * crop,
                                   (in_shape.w - 1) * s + k - crop };
        struct shape filter_shape = { out_shape.c, in_shape.c, k, k };
        struct shape bias_shape = { 1, out_shape.c, 1, 1 };
        struct data in =
            data_make(CNML_TENSOR, F16, in_shape, numbers(shape_elements(in_shape), 1));
        struct data filter =
            data_const(CNML_FILTER, F16, filter_shape, numbers(shape_elements(filter_shape), 2));
        struct data bias =
            data_const(CNML_CONST, F16, bias_shape, numbers(shape_elements(bias_shape), 3));
        struct data out = data_result(F16, out_shape);
        double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
        cnmlDeconvOpParam_t param = NULL;
        cnmlBaseOp_t op = NULL;

        ref_deconv(s, s, k, k, crop, crop, in_shape, in.values, out_shape, expected, filter.values,
                   bias.values);
        OK(cnmlCreateDeconvOpParam(&param, s, s, crop, crop, crop, 0));
        OK(cnmlCreateDeconvOp(&op, param, in.tensor, out.tensor, filter.tensor, bias.tensor, 0));
        run_one(op, &in, &out, cnmlComputeDeConvOpForward);
        expect_near(&out, expected, 1e-3);
        OK(cnmlCpuComputeDeConvOpForward(param, in.cpu, in.host, filter.cpu, filter.host, out.cpu,
                                         out.host, bias.cpu, bias.host));
        expect_near(&out, expected, 1e-6);
        OK(cnmlDestroyDeconvOpParam(&param));
        data_free(&in);
        data_free(&filter);
        data_free(&bias);
        data_free(&out);
        free(expected);
    }
}

static void depthwise_convolutions(void **state)
{
    struct shape in_shape = { 2, 140, 9, 8 };
    struct shape out_shape = { 2, 140, 4, 6 };
    struct shape filter_shape = { 1, 140, 3, 3 };
    struct shape bias_shape = { 1, 140, 1, 1 };
    struct ref_conv ref = { 2, 1, 1, 1, 0, 0, 140, 3, 3 };
    struct data in = data_make(CNML_TENSOR, F16, in_shape, numbers(shape_elements(in_shape), 1));
    struct data filter =
        data_const(CNML_FILTER, F16, filter_shape, numbers(shape_elements(filter_shape), 2));
    struct data bias = data_const(CNML_CONST, F16, bias_shape, numbers(140, 3));
    struct data out = data_result(F16, out_shape);
    double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
    cnmlConvDepthwiseOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;

    (void)state;
    ref_conv(&ref, in_shape, in.values, out_shape, expected, filter.values, bias.values);
    OK(cnmlCreateConvDepthwiseOpParam(&param, 2, 1));
    OK(cnmlCreateConvDepthwiseOp(&op, param, in.tensor, out.tensor, filter.tensor, bias.tensor));
    run_one(op, &in, &out, cnmlComputeConvDepthwiseOpForward);
    expect_near(&out, expected, 1e-3);
    OK(cnmlCpuComputeConvDepthwiseOpForward(param, in.cpu, in.host, filter.cpu, filter.host,
                                            out.cpu, out.host, bias.cpu, bias.host));
    expect_near(&out, expected, 1e-6);
    OK(cnmlDestroyConvDepthwiseOpParam(&param));
    data_free(&in);
    data_free(&filter);
    data_free(&bias);
    data_free(&out);
    free(expected);
}

/* Method: an image of bytes, its mean per channel or per place, and a factor per channel. */
static void first_convolutions(void **state)
{
    (void)state;
    for (int by_place = 0; by_place < 2; by_place++) {
        struct shape in_shape = { 2, 3, 10, 12 };
        struct shape out_shape = { 2, 8, 5, 6 };
        struct shape filter_shape = { 8, 3, 3, 3 };
        struct shape mean_shape = { 1, 3, by_place ? 10 : 1, by_place ? 12 : 1 };
        struct shape std_shape = { 1, 3, 1, 1 };
        struct ref_conv ref = { 2, 2, 1, 1, 1, 1, 1, 3, 3 };
        size_t count = shape_elements(in_shape);
        struct data in = data_make(CNML_TENSOR, CNML_DATA_UINT8, in_shape, numbers(count, 1));
        struct data mean =
            data_const(CNML_CONST, F16, mean_shape, numbers(shape_elements(mean_shape), 4));
        struct data std = data_const(CNML_CONST, F16, std_shape, numbers(3, 5));
        struct data filter =
            data_const(CNML_FILTER, F16, filter_shape, numbers(shape_elements(filter_shape), 2));
        struct data out = data_result(F16, out_shape);
        double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
        double *image = malloc(count * sizeof *image);
        cnmlConvFirstOpParam_t param = NULL;
        cnmlBaseOp_t op = NULL;

        for (size_t i = 0; i < count; i++) {
            size_t place = i % 120;
            size_t c = i / 120 % 3;

            in.host[i] = (float)floor((in.values[i] + 1) * 127);
            image[i] =
                ((double)in.host[i] - mean.values[by_place ? c * 120 + place : c]) * std.values[c];
        }
        ref_conv(&ref, in_shape, image, out_shape, expected, filter.values, NULL);
        OK(cnmlCreateConvFirstOpParam(&param, 2, 2, 1, 0, 1, 0, CNML_NoSparse));
        OK(cnmlCreateConvFirstOp(&op, param, in.tensor, mean.tensor, out.tensor, filter.tensor,
                                 NULL, std.tensor));
        run_one(op, &in, &out, cnmlComputeConvFirstOpForward);
        expect_near(&out, expected, 1e-3);
        OK(cnmlCpuComputeConvFirstOpForward(param, in.cpu, in.host, mean.cpu, mean.host, out.cpu,
                                            out.host, filter.cpu, filter.host, NULL, NULL, std.cpu,
                                            std.host));
        expect_near(&out, expected, 1e-5);
        OK(cnmlDestroyConvFirstOpParam(&param));
        data_free(&in);
        data_free(&mean);
        data_free(&std);
        data_free(&filter);
        data_free(&out);
        free(expected);
        free(image);
    }
}

static void dense_layers(void **state)
{
    static const struct {
        struct shape in;
        int outputs;
        bool is_flat; /* the filter has one long dimension */
    } cases[] = { { { 1, 512, 1, 1 }, 512, false },
                  { { 600, 40, 1, 1 }, 12, false },
                  { { 3, 20, 4, 5 }, 30, false },
                  { { 3, 20, 4, 5 }, 30, true },
                  { { 2, 2000, 1, 1 }, 10, false } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shape in_shape = cases[i].in;
        int depth = in_shape.c * in_shape.h * in_shape.w;
        struct shape out_shape = { in_shape.n, cases[i].outputs, 1, 1 };
        struct shape filter_shape =
            cases[i].is_flat ? (struct shape){ out_shape.c, depth, 1, 1 }
                             : (struct shape){ out_shape.c, in_shape.c, in_shape.h, in_shape.w };
        struct shape bias_shape = { 1, out_shape.c, 1, 1 };
        struct ref_conv ref = { 1, 1, 1, 1, 0, 0, 1, in_shape.h, in_shape.w };
        struct data in =
            data_make(CNML_TENSOR, F16, in_shape, numbers(shape_elements(in_shape), 1));
        struct data filter =
            data_const(CNML_FILTER, F16, filter_shape, numbers(shape_elements(filter_shape), 2));
        struct data bias = data_const(CNML_CONST, F16, bias_shape, numbers((size_t)out_shape.c, 3));
        struct data out = data_result(F16, out_shape);
        double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
        cnmlBaseOp_t op = NULL;

        ref_conv(&ref, in_shape, in.values, out_shape, expected, filter.values, bias.values);
        OK(cnmlCreateMlpOp(&op, in.tensor, out.tensor, filter.tensor, bias.tensor, CNML_NoSparse));
        run_one(op, &in, &out, cnmlComputeMlpOpForward);
        expect_near(&out, expected, 1e-3);
        OK(cnmlCpuComputeMlpOpForward(in.cpu, in.host, out.cpu, out.host, filter.cpu, filter.host,
                                      bias.cpu, bias.host));
        expect_near(&out, expected, 1e-5);
        data_free(&in);
        data_free(&filter);
        data_free(&bias);
        data_free(&out);
        free(expected);
    }
}

/* Method: integers of 8 bits by hand, so that every product and sum is exact. */
static void convolutions_in_integers(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) { /* stored so; made on the device; by channel */
        struct shape in_shape = { 1, 8, 6, 6 };
        struct shape out_shape = { 1, 4, 6, 6 };
        struct shape filter_shape = { 4, 8, 3, 3 };
        struct ref_conv ref = { 1, 1, 1, 1, 1, 1, 1, 3, 3 };
        struct data in = data_make(CNML_TENSOR, kind == 1 ? F16 : CNML_DATA_FIX8, in_shape,
                                   numbers(shape_elements(in_shape), 1));
        struct data filter = data_const(CNML_FILTER, CNML_DATA_FIX8, filter_shape,
                                        numbers(shape_elements(filter_shape), 2));
        struct data out = data_result(F32, out_shape);
        double *expected = malloc(shape_elements(out_shape) * sizeof *expected);
        cnmlConvOpParam_t param = NULL;
        cnmlBaseOp_t op = NULL;
        int positions[4] = { -5, -6, -7, -4 };

        for (size_t i = 0; i < shape_elements(in_shape); i++) {
            in.values[i] = fmin(127, fmax(-128, nearbyint(in.values[i] * 64))) / 64;
        }
        for (size_t i = 0; i < shape_elements(filter_shape); i++) {
            double unit = ldexp(1, kind == 2 ? positions[i / 72] : -6);

            filter.values[i] = fmin(127, fmax(-128, nearbyint(filter.values[i] / unit))) * unit;
        }
        OK(cnmlSetFix8Position(in.tensor, -6));
        if (kind == 2) {
            OK(cnmlSetQuantizedPositionByChannel(filter.tensor, positions, 4));
        } else {
            OK(cnmlSetFix8Position(filter.tensor, -6));
        }
        ref_conv(&ref, in_shape, in.values, out_shape, expected, filter.values, NULL);
        OK(cnmlCreateConvOpParam(&param, 1, 1, 1, 1, 2, 2, CNML_NoSparse));
        OK(cnmlCreateConvOp(&op, param, in.tensor, out.tensor, filter.tensor, NULL));
        OK(cnmlEnableConvOpFix8Mode(op));
        run_one(op, &in, &out, cnmlComputeConvOpForward);
        expect_near(&out, expected, 1e-7);
        OK(cnmlDestroyConvOpParam(&param));
        data_free(&in);
        data_free(&filter);
        data_free(&out);
        free(expected);
    }
}

/* --- windows --------------------------------------------------------------------------------- */

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
      false }, /* the last windows are beyond the edge */
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

static void pools(void **state)
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

static void root_mean_squares(void **state)
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

static void padding(void **state)
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

/* --- elements -------------------------------------------------------------------------------- */

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

static void activations(void **state)
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

static void pairs(void **state)
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

static void channels_scaled(void **state)
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

static void softmaxes(void **state)
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

static void casts(void **state)
{
    static const struct {
        cnmlCastType_t type;
        cnmlDataType_t from, to;
        double scale; /* of the numbers of the test */
        bool is_whole;
        bool clamps;
        int position; /* of integers of 8 bits */
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

/* --- places ---------------------------------------------------------------------------------- */

static void turned_and_reshaped(void **state)
{
    struct shape shape = { 2, 3, 5, 7 };
    struct shape turned = { 2, 3, 7, 5 };
    struct shape reshaped = { 1, 15, 2, 7 };
    struct shape same = { 2, 3, 5, 7 };
    double expected[210];
    struct data in = data_make(CNML_TENSOR, F16, shape, numbers(210, 1));
    struct data out = data_result(F16, turned);
    cnmlReshapeOpParam_t param = NULL;
    cnmlBaseOp_t op = NULL;

    (void)state;
    for (int i = 0; i < 210; i++) {
        expected[i] = in.values[i / 35 * 35 + i % 5 * 7 + i / 5 % 7];
    }
    OK(cnmlCreateTransposeOp(&op, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeTransposeOpForward);
    expect_near(&out, expected, 0);
    OK(cnmlCpuComputeTransposeOpForward(in.cpu, in.host, out.cpu, out.host));
    expect_near(&out, expected, 0);
    data_free(&out);
    OK(cnmlFreeBuffer(in.device));

    /* In the order of the host's data a new shape moves nothing. */
    out = data_result(F16, reshaped);
    OK(cnmlCreateReshapeOpParam(&param, 1, 15, 2, 7, CNML_NCHW));
    OK(cnmlCreateReshapeOp(&op, param, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeReshapeOpForward);
    expect_near(&out, in.values, 0);
    OK(cnmlCpuComputeReshapeOpForward(param, in.cpu, in.host, out.cpu, out.host));
    expect_near(&out, in.values, 0);
    OK(cnmlDestroyReshapeOpParam(&param));
    data_free(&out);
    OK(cnmlFreeBuffer(in.device));

    out = data_result(F16, same);
    OK(cnmlCreateDeviceMemcpyOp(&op, in.tensor, out.tensor));
    run_one(op, &in, &out, cnmlComputeDeviceMemcpyOpForward);
    expect_near(&out, in.values, 0);
    data_free(&out);
    data_free(&in);
}

/* Method: what split takes apart, concat puts together again. */
static void split_and_joined(void **state)
{
    static const struct {
        int mode;
        struct shape whole, parts[3];
    } cases[] = {
        { CNML_SPLIT_FEAT, { 2, 9, 3, 4 }, { { 2, 2, 3, 4 }, { 2, 4, 3, 4 }, { 2, 3, 3, 4 } } },
        { CNML_SPLIT_BATCH, { 6, 2, 3, 4 }, { { 1, 2, 3, 4 }, { 3, 2, 3, 4 }, { 2, 2, 3, 4 } } },
        { CNML_SPLIT_HIGHT, { 2, 2, 8, 4 }, { { 2, 2, 3, 4 }, { 2, 2, 1, 4 }, { 2, 2, 4, 4 } } },
        { CNML_SPLIT_WIDTH, { 2, 2, 3, 7 }, { { 2, 2, 3, 2 }, { 2, 2, 3, 4 }, { 2, 2, 3, 1 } } }
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct shape whole = cases[i].whole;
        struct data in = data_make(CNML_TENSOR, F16, whole, numbers(shape_elements(whole), 1));
        struct data out = data_result(F16, whole);
        struct data parts[3];
        cnmlTensor_t tensors[3];
        void *devices[3];
        cnmlSplitOpParam_t split = NULL;
        cnmlConcatOpParam_t concat = NULL;
        cnmlBaseOp_t apart = NULL;
        cnmlBaseOp_t together = NULL;
        cnrtQueue_t queue = NULL;

        for (int k = 0; k < 3; k++) {
            parts[k] = data_result(F16, cases[i].parts[k]);
            tensors[k] = parts[k].tensor;
        }
        OK(cnmlCreateSplitOpParam(&split, 1, 3, (cnmlSplitMode_t)cases[i].mode));
        OK(cnmlCreateConcatOpParam(&concat, 3, 1, (cnmlConcatMode_t)cases[i].mode));
        OK(cnmlCreateSplitOp(&apart, split, &in.tensor, 1, tensors, 3));
        OK(cnmlCreateConcatOp(&together, concat, tensors, 3, &out.tensor, 1));
        OK(cnmlCompileBaseOp(apart, CNML_MLU270, 1));
        OK(cnmlCompileBaseOp(together, CNML_MLU270, 1));
        data_send(&in);
        data_place(&out);
        for (int k = 0; k < 3; k++) {
            data_place(&parts[k]);
            devices[k] = parts[k].device;
        }
        assert_int_equal(cnrtCreateQueue(&queue), CNRT_RET_SUCCESS);
        OK(cnmlComputeSplitOpForward(apart, &in.device, 1, devices, 3, NULL, queue));
        OK(cnmlComputeConcatOpForward(together, devices, 3, &out.device, 1, NULL, queue));
        assert_int_equal(cnrtSyncQueue(queue), CNRT_RET_SUCCESS);
        data_fetch(&out);
        expect_near(&out, in.values, 0);
        /* The second part begins behind the first. */
        data_fetch(&parts[1]);
        {
            struct shape p = cases[i].parts[0];
            size_t first = cases[i].mode == CNML_SPLIT_FEAT    ? (size_t)(p.c * whole.h * whole.w)
                           : cases[i].mode == CNML_SPLIT_BATCH ? shape_elements(p)
                           : cases[i].mode == CNML_SPLIT_HIGHT ? (size_t)(p.h * whole.w)
                                                               : (size_t)p.w;

            assert_true((double)parts[1].host[0] == in.values[first]);
        }
        assert_int_equal(cnrtDestroyQueue(queue), CNRT_RET_SUCCESS);
        OK(cnmlDestroyBaseOp(&apart));
        OK(cnmlDestroyBaseOp(&together));
        OK(cnmlDestroySplitOpParam(&split));
        OK(cnmlDestroyConcatOpParam(&concat));
        data_free(&in);
        data_free(&out);
        for (int k = 0; k < 3; k++) {
            data_free(&parts[k]);
        }
    }
}

#define OPERATORS(test) cmocka_unit_test_setup_teardown(test, clients_setup, clients_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPERATORS(convolutions),
        OPERATORS(transposed_convolutions),
        OPERATORS(depthwise_convolutions),
        OPERATORS(first_convolutions),
        OPERATORS(dense_layers),
        OPERATORS(convolutions_in_integers),
        OPERATORS(pools),
        OPERATORS(root_mean_squares),
        OPERATORS(padding),
        OPERATORS(activations),
        OPERATORS(pairs),
        OPERATORS(channels_scaled),
        OPERATORS(softmaxes),
        OPERATORS(casts),
        OPERATORS(turned_and_reshaped),
        OPERATORS(split_and_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
