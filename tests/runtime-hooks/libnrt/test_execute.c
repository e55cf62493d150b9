/* SPDX-License-Identifier: MIT */
/*
 * Executions through the public calls: results, outcomes, repetition, CPU nodes, threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nrt/nrt_profile.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

static float input_of(size_t i)
{
    return (float)(i % 97) * 0.5f - 7.0f;
}

static void x_write(nrt_tensor_t *tensor)
{
    static float x[TEST_MODEL_ELEMENTS];

    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = input_of(i);
    }
    assert_int_equal(nrt_tensor_write(tensor, x, 0, sizeof x), NRT_SUCCESS);
}

/* y = x + times * i */
static void y_check(nrt_tensor_t *tensor, int times)
{
    float *y = malloc(TEST_MODEL_BYTES);

    assert_int_equal(nrt_tensor_read(tensor, y, 0, TEST_MODEL_BYTES), NRT_SUCCESS);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        float expected = input_of(i) + (float)i * (float)times;

        if (fabsf(y[i] - expected) > 1e-3f) {
            fail_msg("element %zu is %g, not %g", i, (double)y[i], (double)expected);
        }
    }
    free(y);
}

static void a_model_computes_the_results_of_its_program(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff); /* the library keeps a copy */
    x_write(loaded.x);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    y_check(loaded.y, 1);
    loaded_fini(&loaded);
}

static void repeated_executions_use_outputs_as_inputs(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    x_write(loaded.x);
    assert_int_equal(nrt_execute_repeat(loaded.model, loaded.inputs, loaded.outputs, 0),
                     NRT_INVALID);
    assert_int_equal(nrt_execute_repeat(loaded.model, loaded.inputs, loaded.outputs, 3),
                     NRT_SUCCESS);
    y_check(loaded.y, 3);
    loaded_fini(&loaded);
}

static void an_execution_with_a_nan_has_its_status_and_valid_outputs(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    float bad = NAN;
    float y[2];

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_tensor_write(loaded.x, &bad, 4, sizeof bad), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs),
                     NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    assert_int_equal(nrt_tensor_read(loaded.y, y, 0, sizeof y), NRT_SUCCESS);
    assert_true(y[0] == 0.0f);
    assert_true(isnan(y[1]));
    loaded_fini(&loaded);
}

static void a_deadlocked_program_times_out_at_once(void **state)
{
    struct test_model_options options = { .deadlock = 1 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    loaded_fini(&loaded);
}

static void a_cpu_node_reads_the_output_of_the_core(void **state)
{
    struct test_model_options options = { .cpu_after = 1 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *library = test_file_read(TEST_CPU_NODE, &options.cpu_library_bytes);
    float z[3];

    options.cpu_library = library;
    uint8_t *neff = test_model_adder(&options, &bytes);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    free(library);
    x_write(loaded.x);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded.y, z, 0, sizeof z), NRT_SUCCESS);
    for (size_t i = 0; i < 3; i++) {
        assert_true(z[i] == -(input_of(i) + (float)i));
    }
    loaded_fini(&loaded);
}

static void an_execution_beyond_the_device_time_limit_times_out(void **state)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_slow(4000, &bytes); /* 1.1 s */

    setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    loaded_fini(&loaded);
}

static void a_capture_contains_the_first_execution_after_its_start(void **state)
{
    const struct runtime *runtime = *state;
    struct test_model_options options = { 0 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    struct loaded loaded;
    char path[512];
    size_t bytes;
    uint64_t records = 0;
    uint8_t *neff = test_model_adder(&options, &bytes);

    (void)snprintf(path, sizeof path, "%s/out.ntff", runtime->folder);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_profile_start(loaded.model, "/nowhere/out.ntff"), NRT_FAILURE);
    assert_int_equal(nrt_profile_start(loaded.model, path), NRT_SUCCESS);
    assert_int_equal(nrt_profile_start(loaded.model, path), NRT_INVALID);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    assert_int_equal(nrt_profile_stop("another file"), NRT_INVALID);
    assert_int_equal(nrt_profile_stop(path), NRT_SUCCESS);
    assert_int_equal(nrt_profile_stop(path), NRT_INVALID);
    if (ntk_ntff_open(path, &ntff, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ntff->version, 6);
    assert_int_equal(ntff->warning_count, 0);
    assert_string_equal(ntff->neff_name, "adder");
    assert_int_equal(ntff->subgraph_count, 1);
    assert_int_equal(ntff->subgraphs[0].core, 1);
    assert_true(ntff->subgraphs[0].execution_ps > 0);
    for (size_t s = 0; s < ntff->subgraphs[0].section_count; s++) {
        const struct ntk_ntff_section *section = &ntff->subgraphs[0].sections[s];

        for (uint64_t i = 0; i < section->record_count; i++) {
            struct ntk_ntff_record record;

            ntk_ntff_record_get(&ntff->subgraphs[0], section, i, &record);
            records += record.kind == NTK_NTFF_RECORD_INSTRUCTION_START &&
                       record.engine == NTK_NTFF_ENGINE_VECTOR;
        }
    }
    /* notify, the addition, notify: of one execution, not three */
    assert_true(records >= 1 && records <= 4);
    ntk_ntff_close(ntff);
    loaded_fini(&loaded);
}

#define THREADS 4
#define ROUNDS 50

static void *stress(void *argument)
{
    const uint8_t *neff = ((const uint8_t **)argument)[0];
    size_t bytes = (size_t)(uintptr_t)((const uint8_t **)argument)[1];
    int core = (int)(uintptr_t)((const uint8_t **)argument)[2];

    for (int i = 0; i < ROUNDS; i++) {
        struct loaded loaded;

        loaded_init(&loaded, neff, bytes, core);
        for (int k = 0; k < 4; k++) {
            if (nrt_execute(loaded.model, loaded.inputs, loaded.outputs) != NRT_SUCCESS) {
                abort();
            }
        }
        loaded_fini(&loaded);
    }
    return NULL;
}

static void threads_load_execute_and_unload_concurrently(void **state)
{
    struct test_model_options options = { .virtual_bytes = 4096, .tmp_bytes = 100 };
    pthread_t threads[THREADS];
    const void *arguments[THREADS][3];
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    for (size_t i = 0; i < THREADS; i++) {
        arguments[i][0] = neff;
        arguments[i][1] = (const void *)(uintptr_t)bytes;
        arguments[i][2] = (const void *)(uintptr_t)(i % 2);
        assert_int_equal(pthread_create(&threads[i], NULL, stress, arguments[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    free(neff);
}

static void *run_until_gone(void *argument)
{
    struct loaded *loaded = argument;
    uintptr_t count = 0;

    while (nrt_execute(loaded->model, loaded->inputs, loaded->outputs) == NRT_SUCCESS) {
        count++;
    }
    return (void *)count;
}

static void unloading_waits_for_executions_and_later_ones_are_rejected(void **state)
{
    struct test_model_options options = { .rounds = 20 };
    struct loaded loaded;
    pthread_t thread;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    void *count = NULL;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(pthread_create(&thread, NULL, run_until_gone, &loaded), 0);
    /* At least one execution has completed before the model is unloaded. */
    assert_int_equal(nrt_tensor_check_output_completion(loaded.y, 20000000, 1), NRT_SUCCESS);
    assert_int_equal(nrt_unload(loaded.model), NRT_SUCCESS);
    pthread_join(thread, &count);
    assert_true((uintptr_t)count >= 1);
    assert_int_equal(nrt_unload(loaded.model), NRT_INVALID_HANDLE);
    nrt_tensor_free(&loaded.x);
    nrt_tensor_free(&loaded.y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(a_model_computes_the_results_of_its_program),
        TEST(repeated_executions_use_outputs_as_inputs),
        TEST(an_execution_with_a_nan_has_its_status_and_valid_outputs),
        TEST(a_deadlocked_program_times_out_at_once),
        TEST(a_cpu_node_reads_the_output_of_the_core),
        TEST(an_execution_beyond_the_device_time_limit_times_out),
        TEST(a_capture_contains_the_first_execution_after_its_start),
        TEST(threads_load_execute_and_unload_concurrently),
        TEST(unloading_waits_for_executions_and_later_ones_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
