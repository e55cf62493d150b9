/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_params.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_params_layout.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* A file of tests/corpus/mlu_params. */
static uint8_t *sample(const char *name, size_t *out_bytes)
{
    char path[512];
    uint8_t *bytes;

    snprintf(path, sizeof path, "%s/tests/corpus/mlu_params/%s", getenv("NTK_SOURCE_DIR"), name);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, out_bytes, NULL), 0);
    return bytes;
}

/* Common to stored, deflated and raw: w, bias, f (in Fortran order in the archives), one. */
static void assert_the_four(const struct mlu_params *params)
{
    const struct mlu_array *array = mlu_params_get(params, "w");

    assert_int_equal(params->arrays.count, 4);
    assert_non_null(array);
    assert_int_equal(array->dtype, MLU_DTYPE_FLOAT32);
    assert_int_equal(array->shape.dim_count, 2);
    assert_int_equal(array->shape.dims[0], 2);
    assert_int_equal(array->shape.dims[1], 3);
    for (size_t i = 0; i < 6; i++) {
        assert_true(mlu_array_get(array, i) == (double)i + 1);
        assert_true(mlu_array_get(mlu_params_get(params, "f"), i) == (double)i + 1);
    }
    array = mlu_params_get(params, "bias");
    assert_int_equal(array->dtype, MLU_DTYPE_FLOAT16);
    assert_true(mlu_array_get(array, 0) == 0.5 && mlu_array_get(array, 1) == -2);
    array = mlu_params_get(params, "one");
    assert_int_equal(array->shape.dim_count, 0);
    assert_int_equal(array->count, 1);
    assert_true(mlu_array_get(array, 0) == 7.25);
    assert_null(mlu_params_get(params, "arg:w"));
}

static void archives_and_raw_files_have_the_same_values(void **state)
{
    static const char *const names[] = { "stored", "deflated", "raw" };

    for (size_t i = 0; i < 3; i++) {
        struct mlu_params params;
        struct ntk_err err = { 0 };
        size_t count;
        uint8_t *bytes = sample(names[i], &count);

        if (mlu_params_parse(bytes, count, &params, &err) != 0) {
            fail_msg("%s: %s", names[i], err.text);
        }
        assert_the_four(&params);
        mlu_params_fini(&params);
        free(bytes);
    }
}

static void written_params_are_read_back_unchanged(void **state)
{
    char *folder = test_scratch_create();
    char path[512];
    struct mlu_params params;
    size_t count;
    uint8_t *bytes = sample("deflated", &count);

    snprintf(path, sizeof path, "%s/p.params", folder);
    assert_int_equal(mlu_params_parse(bytes, count, &params, NULL), 0);
    assert_int_equal(mlu_params_write(&params, path, NULL), 0);
    mlu_params_fini(&params);
    assert_int_equal(mlu_params_read(path, &params, NULL), 0);
    assert_the_four(&params);
    mlu_params_fini(&params);
    free(bytes);

    /* The writer reproduces the sample. */
    size_t sample_count;
    uint8_t *again;
    bytes = sample("raw", &sample_count);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &again, &count, NULL), 0);
    assert_int_equal(count, sample_count);
    assert_memory_equal(again, bytes, count);
    free(again);
    free(bytes);
    test_scratch_destroy(folder);
}

static void invalid_params_are_rejected_with_a_message(void **state)
{
    static const struct {
        const char *name;
        const char *sentence;
    } rows[] = {
        { "empty", "the file is empty" },           { "big_endian", "a: unsupported element type" },
        { "not_npy", "a: not a NumPy array file" }, { "outside", "name '../a.npy'" },
        { "twice", "duplicate array 'a'" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mlu_params params;
        struct ntk_err err = { 0 };
        size_t count;
        uint8_t *bytes = sample(rows[i].name, &count);

        assert_true(mlu_params_parse(bytes, count, &params, &err) < 0);
        if (!strstr(err.text, rows[i].sentence)) {
            fail_msg("%s: %s", rows[i].name, err.text);
        }
        free(bytes);
    }
}

/* A damaged field of the raw sample. */
static void invalid_fields_of_a_raw_parameter_file_are_rejected(void **state)
{
    const size_t entry = sizeof(struct mlu_params_header);
    const struct {
        size_t offset;
        size_t bytes;
        uint64_t value;
        const char *sentence;
    } rows[] = {
        { 8, 4, 2, "unsupported raw parameters version 2" },
        { 12, 4, 5, "" },
        { 12, 4, UINT32_MAX, "invalid number of entries: 4294967295 do not fit in the file" },
        { 16, 8, 64, "its header states 64" },
        { 16, 8, UINT64_MAX, "its header states 18446744073709551615" },
        { entry, 4, MLU_DTYPE_COUNT, "element type 8" },
        { entry + 4, 4, 9, "9 dimensions" },
        { entry + 8, 8, 3, "do not match its shape" },
        { entry + 8, 8, UINT64_MAX, "do not match its shape" },
        { entry + 16, 8, UINT64_C(1) << 62, "do not match its shape" },
        { entry + 72, 8, 0, "name of entry 0 is empty, too long or outside" },
        { entry + 72, 8, UINT64_MAX, "name of entry 0 is empty, too long or outside" },
        { entry + 80, 8, 0, "name of entry 0 is empty, too long or outside" },
        { entry + 80, 8, 2000, "name of entry 0 is empty, too long or outside" },
        { entry + 88, 8, 1, "is outside the file or not aligned" },
        { entry + 88, 8, UINT64_MAX - 63, "is outside the file" },
        { entry + 96, 8, UINT64_MAX, "overlap" },
        { entry + 96, 8, 25, "do not match its shape" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mlu_params params;
        struct ntk_err err = { 0 };
        size_t count;
        uint8_t *bytes = sample("raw", &count);

        memcpy(bytes + rows[i].offset, &rows[i].value, rows[i].bytes);
        if (mlu_params_parse(bytes, count, &params, &err) >= 0 ||
            !strstr(err.text, rows[i].sentence)) {
            fail_msg("row %zu: %s", i, err.text);
        }
        free(bytes);
    }
}

/* Truncated anywhere, or with one byte changed: rejected, or arrays within memory. */
static void a_damaged_parameter_file_is_rejected_or_read_within_bounds(void **state)
{
    static const char *const names[] = { "stored", "deflated", "raw", "zeros" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t count;
        uint8_t *bytes = sample(names[i], &count);

        for (size_t at = 0; at < count; at++) {
            uint8_t *copy = malloc(at + 1);
            struct mlu_params params = { 0 };
            struct ntk_err err = { 0 };

            memcpy(copy, bytes, at);
            if (mlu_params_parse(copy, at, &params, &err) == 0) {
                fail_msg("%s: %zu bytes of it were read", names[i], at);
            }
            free(copy);
            bytes[at] ^= 0x41;
            err = (struct ntk_err){ 0 };
            if (mlu_params_parse(bytes, count, &params, &err) == 0) {
                mlu_params_fini(&params);
            } else {
                assert_true(err.text[0] != '\0');
            }
            bytes[at] ^= 0x41;
        }
        free(bytes);
    }
}

static void parameter_values_are_rounded_to_their_types(void **state)
{
    static const struct mlu_shape shape = { 1, { 1 } };
    static const struct {
        enum mlu_dtype dtype;
        double from;
        double to;
    } rows[] = {
        { MLU_DTYPE_FLOAT16, 1 / 3.0, 0.333251953125 },
        { MLU_DTYPE_FLOAT16, 65504, 65504 },
        { MLU_DTYPE_FLOAT16, 65519.9, 65504 },
        { MLU_DTYPE_FLOAT16, 65520, INFINITY },
        { MLU_DTYPE_FLOAT16, -1e30, -INFINITY },
        { MLU_DTYPE_FLOAT16, 2049, 2048 }, /* halves are rounded to even */
        { MLU_DTYPE_FLOAT16, 2051, 2052 },
        { MLU_DTYPE_FLOAT16, 0x1p-25, 0 },
        { MLU_DTYPE_FLOAT16, 0x1.8p-25, 0x1p-24 },
        { MLU_DTYPE_FLOAT16, 0x1.ff8p-15, 0x1.ff8p-15 },
        { MLU_DTYPE_FLOAT16, 0x1.ffcp-15, 0x1p-14 },
        { MLU_DTYPE_INT8, 127.5, 127 },
        { MLU_DTYPE_INT8, -300, -128 },
        { MLU_DTYPE_INT8, 2.5, 2 },
        { MLU_DTYPE_UINT8, -1, 0 },
        { MLU_DTYPE_UINT8, 255.6, 255 },
        { MLU_DTYPE_UINT8, NAN, 0 },
        { MLU_DTYPE_INT32, 1e10, INT32_MAX },
        { MLU_DTYPE_INT64, 1e30, 9223372036854775807.0 },
        { MLU_DTYPE_BOOL, 0.25, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mlu_array array;

        assert_int_equal(mlu_array_init(&array, rows[i].dtype, &shape, NULL), 0);
        mlu_array_set(&array, 0, rows[i].from);
        if (mlu_array_get(&array, 0) != rows[i].to) {
            fail_msg("row %zu: %g", i, mlu_array_get(&array, 0));
        }
        mlu_array_fini(&array);
    }
    struct mlu_array half;
    assert_int_equal(mlu_array_init(&half, MLU_DTYPE_FLOAT16, &shape, NULL), 0);
    for (uint32_t bits = 0; bits < 65536; bits++) {
        *(uint16_t *)half.data = (uint16_t)bits;
        double value = mlu_array_get(&half, 0);
        if (!isnan(value)) {
            mlu_array_set(&half, 0, value);
            assert_int_equal(*(uint16_t *)half.data, bits);
        }
    }
    mlu_array_fini(&half);
}

static void arrays_are_written_in_the_numpy_format(void **state)
{
    static const struct mlu_shape shapes[] = { { 0, { 0 } }, { 1, { 5 } }, { 3, { 2, 1, 3 } } };
    char *folder = test_scratch_create();
    char path[512];

    snprintf(path, sizeof path, "%s/a.npy", folder);
    for (size_t i = 0; i < 3; i++) {
        struct mlu_array array;
        struct mlu_array again;
        uint8_t *bytes;
        size_t count;

        assert_int_equal(mlu_array_init(&array, MLU_DTYPE_FLOAT32, &shapes[i], NULL), 0);
        for (size_t k = 0; k < array.count; k++) {
            mlu_array_set(&array, k, (double)k * 0.5);
        }
        assert_int_equal(mlu_array_write_npy(&array, path, NULL), 0);
        assert_int_equal(ntk_fs_read(path, 4096, &bytes, &count, NULL), 0);
        assert_int_equal((count - array.count * 4) % 64, 0);
        free(bytes);
        assert_int_equal(mlu_array_read_npy(&again, path, NULL), 0);
        assert_true(mlu_shape_equal(&again.shape, &array.shape));
        assert_memory_equal(again.data, array.data, array.count * 4);
        mlu_array_fini(&again);
        mlu_array_fini(&array);
    }
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_and_raw_files_have_the_same_values),
        cmocka_unit_test(written_params_are_read_back_unchanged),
        cmocka_unit_test(invalid_params_are_rejected_with_a_message),
        cmocka_unit_test(invalid_fields_of_a_raw_parameter_file_are_rejected),
        cmocka_unit_test(a_damaged_parameter_file_is_rejected_or_read_within_bounds),
        cmocka_unit_test(parameter_values_are_rounded_to_their_types),
        cmocka_unit_test(arrays_are_written_in_the_numpy_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
