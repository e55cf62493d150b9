/* SPDX-License-Identifier: MIT */
/* Casts, orders and half-precision numbers; none of them needs an open library. */
#include "neuware/g3/cnrt.h"

#include <math.h>
#include <string.h>

#include "tests/support/unit.h"

static uint16_t half(float value)
{
    uint16_t result = 0;

    assert_int_equal(cnrtConvertFloatToHalf(&result, value), CNRT_RET_SUCCESS);
    return result;
}

static float whole(uint16_t value)
{
    float result = 0;

    assert_int_equal(cnrtConvertHalfToFloat(&result, value), CNRT_RET_SUCCESS);
    return result;
}

static void every_float16_value_is_unchanged_by_conversion_to_float_and_back(void **state)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = whole((uint16_t)bits);

        if (isnan(value)) {
            assert_true((bits & 0x7c00U) == 0x7c00U && (bits & 0x3ffU) != 0);
            assert_true(isnan(whole(half(value))));
        } else {
            assert_int_equal(half(value), bits);
        }
    }
}

static void floats_are_rounded_to_the_nearest_even_float16_value(void **state)
{
    assert_int_equal(half(1.0F), 0x3c00);
    assert_int_equal(half(-2.0F), 0xc000);
    assert_int_equal(half(65504.0F), 0x7bff);
    assert_int_equal(half(65519.9F), 0x7bff);
    assert_int_equal(half(65520.0F), 0x7c00);
    assert_int_equal(half(1.0F + 0x1p-11F), 0x3c00); /* a tie: to even */
    assert_int_equal(half(1.0F + 0x1.8p-10F), 0x3c02);
    assert_int_equal(half(0x1p-24F), 1);
    assert_int_equal(half(0x1p-25F), 0);
    assert_int_equal(half(0x1.8p-25F), 1);
    assert_int_equal(half(0x1p-14F - 0x1p-26F), 0x400);
    assert_int_equal(half(-0.0F), 0x8000);
    assert_int_equal(cnrtConvertFloatToHalf(NULL, 1), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtConvertHalfToFloat(NULL, 1), CNRT_RET_ERR_INVALID);
}

static void data_types_have_their_sizes(void **state)
{
    assert_int_equal(cnrtDataTypeSize(CNRT_FLOAT16), 2);
    assert_int_equal(cnrtDataTypeSize(CNRT_FLOAT32), 4);
    assert_int_equal(cnrtDataTypeSize(CNRT_FLOAT64), 8);
    assert_int_equal(cnrtDataTypeSize(CNRT_INT8), 1);
    assert_int_equal(cnrtDataTypeSize(CNRT_INT64), 8);
    assert_int_equal(cnrtDataTypeSize(CNRT_UINT16), 2);
    assert_int_equal(cnrtDataTypeSize(CNRT_BOOL), 1);
    assert_int_equal(cnrtDataTypeSize(CNRT_INT4), 0);
    assert_int_equal(cnrtDataTypeSize(CNRT_AUTO), 0);
    assert_int_equal(cnrtDataTypeSize((cnrtDataType_t)0x77), 0);
}

static void unquantised_casts_round_and_saturate(void **state)
{
    float floats[] = { 0.5F, 1.5F, 2.4F, -3.0F, 300.0F, NAN };
    uint8_t bytes[6];
    uint16_t halves[6];
    float back[6];
    int64_t wide[] = { 0, 1, -1, 2048, 70000, -70000 };

    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, bytes, CNRT_UINT8, 6, NULL), 0);
    assert_memory_equal(bytes, ((const uint8_t[]){ 0, 2, 2, 0, 255, 0 }), 6);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, halves, CNRT_FLOAT16, 5, NULL), 0);
    assert_int_equal(halves[4], half(300.0F));
    assert_int_equal(cnrtCastDataType(halves, CNRT_FLOAT16, back, CNRT_FLOAT32, 5, NULL), 0);
    assert_true(back[1] == 1.5F && back[4] == 300.0F);
    assert_int_equal(cnrtCastDataType(halves, CNRT_FLOAT16, bytes, CNRT_UINT8, 5, NULL), 0);
    assert_memory_equal(bytes, ((const uint8_t[]){ 0, 2, 2, 0, 255 }), 5);
    assert_int_equal(cnrtCastDataType(bytes, CNRT_UINT8, back, CNRT_FLOAT32, 5, NULL), 0);
    assert_true(back[4] == 255.0F);
    assert_int_equal(cnrtCastDataType(bytes, CNRT_UINT8, halves, CNRT_FLOAT16, 5, NULL), 0);
    assert_int_equal(halves[4], half(255.0F));
    assert_int_equal(cnrtCastDataType(wide, CNRT_INT64, halves, CNRT_FLOAT16, 6, NULL), 0);
    assert_int_equal(halves[3], half(2048.0F));
    assert_int_equal(halves[4], 0x7c00);
    assert_int_equal(halves[5], 0xfc00);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, back, CNRT_FLOAT32, 5, NULL), 0);
    assert_memory_equal(floats, back, 5 * sizeof *back);
    assert_int_equal(cnrtCastDataType(NULL, CNRT_FLOAT32, NULL, CNRT_FLOAT16, 0, NULL), 0);
}

/* (q - offset) * 2^position / scale: one step is 2^-3 / 2 = 1/16. */
static void quantised_casts_use_the_quantisation_parameters(void **state)
{
    float floats[] = { 0.0F, 0.25F, -1.0F, 1000.0F, -1000.0F };
    int8_t bytes[5];
    int16_t shorts[5];
    int32_t ints[5];
    uint16_t halves[2] = { 0x3c00, 0xbc00 };
    float back[5];
    cnrtQuantizedParam_t param = NULL;

    assert_int_equal(cnrtCreateQuantizedParam(&param, -3, 2.0F, 5), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, bytes, CNRT_INT8, 5, param), 0);
    assert_memory_equal(bytes, ((const int8_t[]){ 5, 9, -11, 127, -128 }), 5);
    assert_int_equal(cnrtCastDataType(bytes, CNRT_INT8, back, CNRT_FLOAT32, 3, param), 0);
    assert_memory_equal(back, floats, 3 * sizeof *back);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, shorts, CNRT_INT16, 5, param), 0);
    assert_int_equal(shorts[3], 16005);
    assert_int_equal(cnrtCastDataType(shorts, CNRT_INT16, back, CNRT_FLOAT32, 5, param), 0);
    assert_memory_equal(back, floats, sizeof floats);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, ints, CNRT_INT32, 5, param), 0);
    assert_int_equal(ints[4], -15995);
    assert_int_equal(cnrtCastDataType(ints, CNRT_INT32, back, CNRT_FLOAT32, 5, param), 0);
    assert_memory_equal(back, floats, sizeof floats);
    assert_int_equal(cnrtCastDataType(halves, CNRT_FLOAT16, shorts, CNRT_INT16, 2, param), 0);
    assert_int_equal(shorts[0], 21);
    assert_int_equal(shorts[1], -11);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, back, CNRT_FLOAT32, 5, param), 0);
    assert_memory_equal(back, floats, sizeof floats);
    assert_int_equal(cnrtDestroyQuantizedParam(param), CNRT_RET_SUCCESS);
    assert_int_equal(cnrtDestroyQuantizedParam(param), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, bytes, CNRT_INT8, 5, param),
                     CNRT_RET_ERR_INVALID);
}

static void an_invalid_cast_is_rejected(void **state)
{
    float floats[2] = { 1, 2 };
    int8_t bytes[2] = { 7, 7 };
    cnrtQuantizedParam_t param = NULL;

    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, bytes, CNRT_INT8, 2, NULL),
                     CNRT_RET_ERR_INVALID_TYPE);
    assert_int_equal(cnrtCastDataType(floats, CNRT_BOOL, bytes, CNRT_INT8, 2, NULL),
                     CNRT_RET_ERR_INVALID_TYPE);
    assert_int_equal(cnrtCastDataType(floats, CNRT_FLOAT32, bytes, CNRT_UINT8, -1, NULL),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCastDataType(NULL, CNRT_FLOAT32, bytes, CNRT_UINT8, 1, NULL),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateQuantizedParam(NULL, 0, 1, 0), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateQuantizedParam(&param, 0, 0, 0), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateQuantizedParam(&param, 0, NAN, 0), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtCreateQuantizedParam(&param, 200, 1, 0), CNRT_RET_ERR_INVALID);
    assert_null(param);
    assert_int_equal(bytes[0], 7);
}

static void transposed_data_has_the_requested_dimension_order(void **state)
{
    float nchw[2 * 3 * 4 * 5];
    float nhwc[2 * 4 * 5 * 3];
    float back[2 * 3 * 4 * 5];
    int dims[] = { 2, 3, 4, 5 };
    int moved[] = { 2, 4, 5, 3 };
    int to_nhwc[] = { 0, 2, 3, 1 };
    int to_nchw[] = { 0, 3, 1, 2 };
    int twice[] = { 0, 1, 1, 2 };
    int none[] = { 2, 0, 4, 5 };

    for (size_t i = 0; i < 120; i++) {
        nchw[i] = (float)i;
    }
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_FLOAT32, nhwc, 4, dims, to_nhwc), 0);
    for (size_t n = 0; n < 2; n++) {
        for (size_t c = 0; c < 3; c++) {
            for (size_t h = 0; h < 4; h++) {
                for (size_t w = 0; w < 5; w++) {
                    assert_true(nhwc[((n * 4 + h) * 5 + w) * 3 + c] ==
                                nchw[((n * 3 + c) * 4 + h) * 5 + w]);
                }
            }
        }
    }
    assert_int_equal(cnrtTransDataOrder(nhwc, CNRT_FLOAT32, back, 4, moved, to_nchw), 0);
    assert_memory_equal(back, nchw, sizeof back);
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_FLOAT32, nhwc, 4, dims, twice),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_FLOAT32, nhwc, 4, none, to_nhwc),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_INT4, nhwc, 4, dims, to_nhwc),
                     CNRT_RET_ERR_INVALID_TYPE);
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_FLOAT32, nchw, 4, dims, to_nhwc),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_FLOAT32, nhwc, 9, dims, to_nhwc),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtTransDataOrder(nchw, CNRT_FLOAT32, nhwc, 0, dims, to_nhwc),
                     CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtTransDataOrder(NULL, CNRT_FLOAT32, nhwc, 4, dims, to_nhwc),
                     CNRT_RET_ERR_INVALID);
}

static void status_codes_have_descriptions(void **state)
{
    unsigned int version = 0;

    assert_string_equal(cnrtGetErrorStr(CNRT_RET_SUCCESS), "CNRT_RET_SUCCESS: success");
    assert_string_equal(cnrtGetErrorStr(CNRT_RET_ERR_QUEUE), "CNRT_RET_ERR_QUEUE: unknown queue");
    assert_string_equal(cnrtGetErrorStr((cnrtRet_t)5), "not a CNRT code");
    assert_int_equal(cnrtGetVersion(&version), CNRT_RET_SUCCESS);
    assert_int_equal(version, 40300);
    assert_int_equal(cnrtGetVersion(NULL), CNRT_RET_ERR_INVALID);
    assert_int_equal(cnrtGetLastErr(), CNRT_RET_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_float16_value_is_unchanged_by_conversion_to_float_and_back),
        cmocka_unit_test(floats_are_rounded_to_the_nearest_even_float16_value),
        cmocka_unit_test(data_types_have_their_sizes),
        cmocka_unit_test(unquantised_casts_round_and_saturate),
        cmocka_unit_test(quantised_casts_use_the_quantisation_parameters),
        cmocka_unit_test(an_invalid_cast_is_rejected),
        cmocka_unit_test(transposed_data_has_the_requested_dimension_order),
        cmocka_unit_test(status_codes_have_descriptions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
