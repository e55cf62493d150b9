/* SPDX-License-Identifier: MIT */
/* Runs the example NEFFs through the public API and compares the results with plain loops. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>

#include "shared/kernels/examples.h"
#include "shared/formats/neff/neff.h"
#include "tests/e2e/examples/reference.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define TENSORS_MAX 8

/* A loaded example with a device tensor for each input and output. */
struct loaded {
    struct ntk_neff *neff;
    nrt_model_t *model;
    nrt_tensor_info_array_t *info;
    nrt_tensor_set_t *sets[2]; /* by usage */
    nrt_tensor_t *tensors[TENSORS_MAX];
};

/* The tensor engine that the examples are compiled for. */
static uint32_t columns;

static int begin(void **state, const char *instance, uint32_t instance_columns)
{
    char *folder = test_scratch_create();

    setenv("NEURON_HOOKS_DIR", folder, 1);
    setenv("NEURON_SOFT_INSTANCE", instance, 1);
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    unsetenv("NEURON_SOFT_PACE");
    unsetenv("NEURON_RT_VISIBLE_CORES");
    unsetenv("NEURON_RT_NUM_CORES");
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    *state = folder;
    columns = instance_columns;
    return 0;
}

static int setup(void **state)
{
    return begin(state, "trn1.2xlarge", 0);
}

static int setup_inf1(void **state)
{
    return begin(state, "inf1.xlarge", 64);
}

static int teardown(void **state)
{
    nrt_close();
    test_scratch_destroy(*state);
    return 0;
}

static struct loaded load(const char *name, const struct ntk_example_options *options)
{
    struct ntk_neff_build *build = NULL;
    struct loaded l = { 0 };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    if (ntk_example_build(ntk_example_find(name), options, &build, &err) < 0 ||
        ntk_neff_build_bytes(build, &bytes, &count, &err) < 0 ||
        ntk_neff_open_bytes(bytes, count, &l.neff, &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    assert_int_equal(nrt_load(bytes, count, -1, -1, &l.model), NRT_SUCCESS);
    free(bytes);
    assert_int_equal(nrt_get_model_tensor_info(l.model, &l.info), NRT_SUCCESS);
    assert_in_range(l.info->tensor_count, 1, TENSORS_MAX);
    assert_int_equal(nrt_allocate_tensor_set(&l.sets[0]), NRT_SUCCESS);
    assert_int_equal(nrt_allocate_tensor_set(&l.sets[1]), NRT_SUCCESS);
    for (uint64_t i = 0; i < l.info->tensor_count; i++) {
        const nrt_tensor_info_t *info = &l.info->tensor_array[i];

        assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, info->size, info->name,
                                             &l.tensors[i]),
                         NRT_SUCCESS);
        assert_int_equal(
            nrt_add_tensor_to_tensor_set(l.sets[info->usage], info->name, l.tensors[i]),
            NRT_SUCCESS);
    }
    return l;
}

static NRT_STATUS execute(const struct loaded *l)
{
    return nrt_execute(l->model, l->sets[NRT_TENSOR_USAGE_INPUT], l->sets[NRT_TENSOR_USAGE_OUTPUT]);
}

static void unload(struct loaded *l)
{
    for (uint64_t i = 0; i < l->info->tensor_count; i++) {
        nrt_tensor_free(&l->tensors[i]);
    }
    nrt_destroy_tensor_set(&l->sets[0]);
    nrt_destroy_tensor_set(&l->sets[1]);
    assert_int_equal(nrt_free_model_tensor_info(l->info), NRT_SUCCESS);
    assert_int_equal(nrt_unload(l->model), NRT_SUCCESS);
    ntk_neff_close(l->neff);
}

static size_t find(const struct loaded *l, const char *name)
{
    for (size_t i = 0; i < l->info->tensor_count; i++) {
        if (strcmp(l->info->tensor_array[i].name, name) == 0) {
            return i;
        }
    }
    fail_msg("no tensor %s", name);
    return 0;
}

static float bfloat16_at(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)(bytes[0] | bytes[1] << 8) << 16;
    float value;

    memcpy(&value, &bits, 4);
    return value;
}

/* The elements as floats; the caller frees them. */
static float *floats(const uint8_t *bytes, size_t count, enum ntk_dtype dtype)
{
    float *values = malloc(count * sizeof *values);

    if (dtype == NTK_DTYPE_FLOAT32) {
        memcpy(values, bytes, count * 4);
    } else {
        for (size_t i = 0; i < count; i++) {
            values[i] = bfloat16_at(bytes + 2 * i);
        }
    }
    return values;
}

/* Writes random values between -scale and scale to a tensor and returns them as the tensor stores
 * them. */
static float *fill(const struct loaded *l, const char *name, size_t count, enum ntk_dtype dtype,
                   float scale)
{
    size_t size = ntk_dtype_bytes(dtype);
    uint8_t *bytes = malloc(count * size);
    size_t tensor = find(l, name);
    uint32_t state = (uint32_t)count + (uint32_t)name[0];
    float *values;

    assert_int_equal(l->info->tensor_array[tensor].size, count * size);
    for (size_t i = 0; i < count; i++) {
        float value;

        state = state * 1103515245U + 12345U;
        value = reference_bfloat16(((float)(state >> 8) / 8388608.0F - 1.0F) * scale);
        memcpy(bytes + i * size, (uint8_t *)&value + (4 - size), size);
    }
    assert_int_equal(nrt_tensor_write(l->tensors[tensor], bytes, 0, count * size), NRT_SUCCESS);
    values = floats(bytes, count, dtype);
    free(bytes);
    return values;
}

static float *constant_of(const struct loaded *l, uint32_t subgraph, const char *name,
                          enum ntk_dtype dtype)
{
    const struct ntk_neff_kelf *kelf = l->neff->kelfs;

    for (; subgraph >= kelf->subgraph_count; kelf++) {
        subgraph -= kelf->subgraph_count;
    }
    const struct ntk_neff_var *var = ntk_neff_var_by_name(&kelf->subgraphs[subgraph], name);

    assert_non_null(var);
    return floats(var->data, var->data_bytes / ntk_dtype_bytes(dtype), dtype);
}

static float *constant(const struct loaded *l, const char *name, enum ntk_dtype dtype)
{
    return constant_of(l, 0, name, dtype);
}

/* The float32 output `name` equals expected within relative + absolute * scale of the values. */
static void check_output(const struct loaded *l, const char *name, const float *expected,
                         size_t count, float tolerance)
{
    size_t tensor = find(l, name);
    float *got = malloc(count * sizeof *got);
    float greatest = 0;

    assert_int_equal(l->info->tensor_array[tensor].size, count * sizeof *got);
    assert_int_equal(nrt_tensor_read(l->tensors[tensor], got, 0, count * sizeof *got), NRT_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        greatest = fabsf(expected[i]) > greatest ? fabsf(expected[i]) : greatest;
    }
    assert_true(greatest > 0);
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - expected[i]) <= tolerance * greatest)) {
            fail_msg("%s[%zu] is %.9g, expected %.9g", name, i, (double)got[i],
                     (double)expected[i]);
        }
    }
    free(got);
}

/* Relative to the largest value: float32 sums of several hundred terms. The bfloat16 weights of a
 * softmax or hidden layer are rounded to 8 bits, and a sum of n of them has a relative error of
 * about 2^-9 / sqrt(n). */
static float tolerance_of(enum ntk_dtype dtype)
{
    return dtype == NTK_DTYPE_FLOAT32 ? 1e-5F : 4e-3F;
}

static void run_mlp(size_t features, enum ntk_dtype dtype, uint64_t repeat)
{
    struct ntk_example_options options = {
        .size = features, .repeat = repeat, .dtype = dtype, .columns = columns
    };
    struct loaded l = load("mlp", &options);
    size_t hidden = 4 * features;
    float *x = fill(&l, "x", features * 512, dtype, 1);
    float *w1 = constant(&l, "w1", dtype);
    float *b1 = constant(&l, "b1", NTK_DTYPE_FLOAT32);
    float *w2 = constant(&l, "w2", dtype);
    float *b2 = constant(&l, "b2", NTK_DTYPE_FLOAT32);
    float *y = malloc(features * 512 * sizeof *y);

    assert_int_equal(execute(&l), NRT_SUCCESS);
    reference_mlp(x, w1, b1, w2, b2, features, hidden, 512, dtype == NTK_DTYPE_BFLOAT16, y);
    check_output(&l, "y", y, features * 512, tolerance_of(dtype));
    free(x);
    free(w1);
    free(b1);
    free(w2);
    free(b2);
    free(y);
    unload(&l);
}

static void the_mlp_example_matches_a_reference_in_c(void **state)
{
    run_mlp(256, NTK_DTYPE_BFLOAT16, 1);
    run_mlp(128, NTK_DTYPE_FLOAT32, 1);
    run_mlp(128, NTK_DTYPE_BFLOAT16, 3);
}

static void run_conv(size_t side, enum ntk_dtype dtype, uint64_t repeat)
{
    struct ntk_example_options options = {
        .size = side, .repeat = repeat, .dtype = dtype, .columns = columns
    };
    struct loaded l = load("conv", &options);
    float *image = fill(&l, "image", 64 * side * side, dtype, 1);
    float *weights = constant(&l, "weights", dtype);
    float *bias = constant(&l, "bias", NTK_DTYPE_FLOAT32);
    float *result = malloc(128 * side * side * sizeof *result);

    assert_int_equal(execute(&l), NRT_SUCCESS);
    reference_conv(image, weights, bias, 64, 128, side, result);
    /* Nothing is rounded between the image and the result, for any dtype. */
    check_output(&l, "result", result, 128 * side * side, tolerance_of(NTK_DTYPE_FLOAT32));
    free(image);
    free(weights);
    free(bias);
    free(result);
    unload(&l);
}

static void the_conv_example_matches_a_reference_in_c(void **state)
{
    run_conv(32, NTK_DTYPE_BFLOAT16, 1);
    run_conv(23, NTK_DTYPE_FLOAT32, 1); /* the last block has fewer rows */
    run_conv(5, NTK_DTYPE_BFLOAT16, 4);
}

static void conv_for_inf1_is_rejected_with_alternative_examples_in_the_message(void **state)
{
    const struct ntk_example_options options = { .columns = columns };
    struct ntk_neff_build *build = NULL;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    assert_int_equal(ntk_example_build(ntk_example_find("conv"), &options, &build, &err), 0);
    assert_true(ntk_neff_build_bytes(build, &bytes, &count, &err) < 0);
    assert_non_null(strstr(err.text, "use mlp or attention"));
    ntk_neff_build_destroy(build);
}

static void run_attention(const char *name, size_t length, enum ntk_dtype dtype, uint64_t repeat)
{
    struct ntk_example_options options = {
        .size = length, .repeat = repeat, .dtype = dtype, .columns = columns
    };
    struct loaded l = load(name, &options);
    float *q = fill(&l, "q", 64 * length, dtype, 2);
    float *k = fill(&l, "k", 64 * length, dtype, 2);
    float *v = fill(&l, "v", 64 * length, dtype, 1);
    float *out = malloc(64 * length * sizeof *out);

    assert_int_equal(execute(&l), NRT_SUCCESS);
    reference_attention(q, k, v, 64, length, out);
    check_output(&l, "out", out, 64 * length, tolerance_of(dtype));
    free(q);
    free(k);
    free(v);
    free(out);
    unload(&l);
}

static void the_attention_example_matches_a_reference_in_c(void **state)
{
    run_attention("attention", 256, NTK_DTYPE_BFLOAT16, 1);
    run_attention("attention", 128, NTK_DTYPE_FLOAT32, 2);
    run_attention("attention", 640, NTK_DTYPE_FLOAT32, 1); /* scores in two PSUM banks */
    run_attention("attention", 384, NTK_DTYPE_BFLOAT16, 3);
}

static void the_slow_attention_example_matches_a_reference_in_c(void **state)
{
    run_attention("attention-slow", 256, NTK_DTYPE_BFLOAT16, 1);
    run_attention("attention-slow", 640, NTK_DTYPE_FLOAT32, 2);
}

/* length: layers of all nodes. */
static void run_pipeline(const char *name, size_t length, enum ntk_dtype dtype, uint64_t repeat)
{
    enum { FEATURES = 128, COLUMNS = 512, COUNT = FEATURES * COLUMNS };
    struct ntk_example_options options = {
        .size = length, .repeat = repeat, .dtype = dtype, .columns = columns
    };
    if (strcmp(name, "pipeline") != 0) {
        options.size--;
    }
    struct loaded l = load(name, &options);
    float *x = fill(&l, "x", COUNT, dtype, 1);
    float *y = malloc(COUNT * sizeof *y);
    uint32_t core_count = 0;

    assert_int_equal(nrt_get_model_vnc_count(l.model, &core_count), NRT_SUCCESS);
    assert_int_equal(core_count, length);
    assert_int_equal(execute(&l), NRT_SUCCESS);
    for (uint32_t s = 0; s < length; s++) {
        float *w = constant_of(&l, s, "w", dtype);
        float *b = constant_of(&l, s, "b", NTK_DTYPE_FLOAT32);

        reference_dense(x, w, b, FEATURES, COLUMNS, y);
        for (size_t i = 0; i < COUNT; i++) {
            x[i] = dtype == NTK_DTYPE_BFLOAT16 ? reference_bfloat16(y[i]) : y[i];
        }
        free(w);
        free(b);
    }
    check_output(&l, "y", y, COUNT, tolerance_of(dtype));
    free(x);
    free(y);
    unload(&l);
}

static void the_pipeline_examples_match_a_reference_in_c(void **state)
{
    run_pipeline("pipeline", 4, NTK_DTYPE_FLOAT32, 1);
    run_pipeline("pipeline", 3, NTK_DTYPE_BFLOAT16, 2);
    run_pipeline("pipeline", 1, NTK_DTYPE_FLOAT32, 1);
    run_pipeline("two-node-core", 4, NTK_DTYPE_FLOAT32, 2);
    run_pipeline("two-node-core", 2, NTK_DTYPE_BFLOAT16, 1);
}

static void the_memcpy_example_copies_every_byte(void **state)
{
    static const struct ntk_example_options options[] = {
        { .size = 1 }, { .size = 1024 }, { .size = 9000 }, { .size = 5000, .repeat = 3 }
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct loaded l = load("memcpy", &options[i]);
        float *in = fill(&l, "in", 128 * options[i].size, NTK_DTYPE_FLOAT32, 1000);

        assert_int_equal(execute(&l), NRT_SUCCESS);
        check_output(&l, "out", in, 128 * options[i].size, 0);
        free(in);
        unload(&l);
    }
}

static void a_cpu_node_receives_the_output_of_the_core(void **state)
{
    struct ntk_example_options options = { .size = 100 };
    struct loaded l = load("two-node-cpu", &options);
    float *x = fill(&l, "x", 12800, NTK_DTYPE_FLOAT32, 8);
    float *out = malloc(12800 * sizeof *out);

    assert_int_equal(execute(&l), NRT_SUCCESS);
    reference_scaled_softmax(x, 128, 100, out);
    check_output(&l, "probabilities", out, 12800, 1e-6F);
    free(x);
    free(out);
    unload(&l);
}

static void faulty_examples_fail_as_documented(void **state)
{
    static const struct {
        const char *name;
        NRT_STATUS status;
    } expected[] = {
        { "nan", NRT_EXEC_COMPLETED_WITH_NUM_ERR },
        { "oob", NRT_EXEC_OOB },
        { "deadlock", NRT_TIMEOUT },
        { "spin", NRT_SUCCESS },
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct ntk_example_options options = { 0 };
        struct loaded l = load(expected[i].name, &options);

        /* Twice: the first failure leaves no state that changes the second. */
        assert_int_equal(execute(&l), expected[i].status);
        assert_int_equal(execute(&l), expected[i].status);
        unload(&l);
    }
}

static void the_nan_example_has_a_nan_in_its_output(void **state)
{
    struct ntk_example_options options = { 0 };
    struct loaded l = load("nan", &options);
    float *x = fill(&l, "x", 128 * 64, NTK_DTYPE_FLOAT32, 1);
    float *y = calloc(128 * 64, sizeof *y);

    assert_int_equal(execute(&l), NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    assert_int_equal(nrt_tensor_read(l.tensors[find(&l, "y")], y, 0, 128 * 64 * 4), NRT_SUCCESS);
    for (size_t i = 0; i < 128 * 64; i++) {
        assert_true(isnan(y[i]));
    }
    free(x);
    free(y);
    unload(&l);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mlp_example_matches_a_reference_in_c),
        cmocka_unit_test(the_conv_example_matches_a_reference_in_c),
        cmocka_unit_test(the_attention_example_matches_a_reference_in_c),
        cmocka_unit_test(the_slow_attention_example_matches_a_reference_in_c),
        cmocka_unit_test(the_memcpy_example_copies_every_byte),
        cmocka_unit_test(a_cpu_node_receives_the_output_of_the_core),
        cmocka_unit_test(faulty_examples_fail_as_documented),
        cmocka_unit_test(the_nan_example_has_a_nan_in_its_output),
    };

    /* A tensor engine with half the columns. */
    static const struct CMUnitTest tests_of_inf1[] = {
        cmocka_unit_test(the_mlp_example_matches_a_reference_in_c),
        cmocka_unit_test(conv_for_inf1_is_rejected_with_alternative_examples_in_the_message),
        cmocka_unit_test(the_attention_example_matches_a_reference_in_c),
        cmocka_unit_test(the_slow_attention_example_matches_a_reference_in_c),
        cmocka_unit_test(the_pipeline_examples_match_a_reference_in_c),
    };

    return cmocka_run_group_tests(tests, setup, teardown) +
           cmocka_run_group_tests(tests_of_inf1, setup_inf1, teardown);
}
