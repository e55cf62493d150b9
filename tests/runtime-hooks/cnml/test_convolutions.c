/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and dense layers on the device, each against its definition, implemented a second
 * time in references.c, and against the library's own host function if there is one to call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/cnml/clients.h"
#include "tests/support/unit.h"

struct conv_case {
    const char *name;
    struct shape in;
    int outputs, kernel_h, kernel_w;
    int stride_h, stride_w, dilation_h, dilation_w;
    int pad_h, pad_w; /* sum of both sides */
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

static void convolutions_match_the_reference(void **state)
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

static void transposed_convolutions_match_the_reference(void **state)
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

static void depthwise_convolutions_match_the_reference(void **state)
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
static void first_layer_convolutions_match_the_reference(void **state)
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

static void dense_layers_match_the_reference(void **state)
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

/* Method: hand-made 8-bit integers, so that every product and sum is exact. */
static void integer_convolutions_match_the_reference(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) { /* stored like that; made on the device; by channel */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENTS_TEST(convolutions_match_the_reference),
        CLIENTS_TEST(transposed_convolutions_match_the_reference),
        CLIENTS_TEST(depthwise_convolutions_match_the_reference),
        CLIENTS_TEST(first_layer_convolutions_match_the_reference),
        CLIENTS_TEST(dense_layers_match_the_reference),
        CLIENTS_TEST(integer_convolutions_match_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
