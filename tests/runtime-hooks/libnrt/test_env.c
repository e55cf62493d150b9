/* SPDX-License-Identifier: MIT */
/*
 * Variables that affect the log and what a failure leaves behind.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static bool file_says(const char *path, const char *what)
{
    static char text[1 << 16];

    return ntk_fs_read_text(path, text, sizeof text) >= 0 && strstr(text, what);
}

/* A model that ends with a timeout. */
static void deadlock_init(struct loaded *loaded)
{
    struct test_model_options options = { .deadlock = 1 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(loaded, neff, bytes, 0);
    free(neff);
}

/* The first folder of dumps; NULL if there is none. */
static char *dump_find(const char *folder)
{
    DIR *dir = opendir(folder);
    char *path = NULL;

    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry && !path; entry = readdir(dir)) {
        if (strncmp(entry->d_name, "input_dump_", 11) == 0) {
            path = test_scratch_path(folder, entry->d_name);
        }
    }
    closedir(dir);
    return path;
}

static void inputs_of_an_execution_with_the_selected_error_are_dumped(void **state)
{
    const struct runtime *runtime = *state;
    static float x[TEST_MODEL_ELEMENTS], dumped[TEST_MODEL_ELEMENTS + 1];
    struct loaded loaded;
    char path[512];

    setenv("NEURON_RT_DBG_INPUT_DUMP_DIRECTORY", runtime->folder, 1);
    setenv("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", "1006", 1);
    deadlock_init(&loaded);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = (float)i * 0.25f;
    }
    assert_int_equal(nrt_tensor_write(loaded.x, x, 0, sizeof x), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    assert_null(dump_find(runtime->folder)); /* another status */
    setenv("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR", "5", 1);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    unsetenv("NEURON_RT_DBG_DUMP_INPUTS_ON_ERR");
    unsetenv("NEURON_RT_DBG_INPUT_DUMP_DIRECTORY");

    char *folder = dump_find(runtime->folder);
    assert_non_null(folder);
    assert_non_null(strstr(folder, "_h_nn_1"));
    (void)snprintf(path, sizeof path, "%s/input0.bin", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(dumped, 1, sizeof dumped, file), sizeof x);
    (void)fclose(file);
    assert_memory_equal(dumped, x, sizeof x);
    (void)snprintf(path, sizeof path, "%s/model_name.txt", folder);
    assert_true(file_says(path, "adder"));
    (void)snprintf(path, sizeof path, "%s/input1.bin", folder);
    assert_int_equal(access(path, F_OK), -1); /* only inputs are dumped */
    free(folder);
    loaded_fini(&loaded);
}

static void each_log_component_has_a_separate_level_and_location(void **state)
{
    const struct runtime *runtime = *state;
    char *all = test_scratch_path(runtime->folder, "all");
    char *tdrv = test_scratch_path(runtime->folder, "tdrv");
    struct loaded loaded;

    setenv("NEURON_RT_LOG_LOCATION", all, 1);
    setenv("NEURON_RT_LOG_LEVEL", "error", 1);
    setenv("NEURON_RT_LOG_LOCATION_TDRV", tdrv, 1);
    setenv("NEURON_RT_LOG_LEVEL_NMGR", "QUIET", 1);
    deadlock_init(&loaded);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    assert_true(file_says(tdrv, " TDRV:exec_request_process_errors"));
    assert_true(file_says(tdrv, "[ND 0][NC 0] execution timeout (600000 ms) on model adder"));
    assert_false(file_says(all, "TDRV:"));
    assert_false(file_says(all, "dlr_infer"));
    assert_true(file_says(all, "  NRT:nrt_execute "));
    assert_true(file_says(all, "Failed to execute model adder with status 5 (NRT_TIMEOUT)"));
    loaded_fini(&loaded);
    nrt_close();

    setenv("NEURON_RT_LOG_LEVEL_TDRV", "QUIET", 1);
    assert_int_equal(unlink(tdrv), 0);
    deadlock_init(&loaded);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_TIMEOUT);
    assert_false(file_says(tdrv, "TDRV"));
    loaded_fini(&loaded);
    unsetenv("NEURON_RT_LOG_LOCATION_TDRV");
    unsetenv("NEURON_RT_LOG_LEVEL_TDRV");
    unsetenv("NEURON_RT_LOG_LEVEL_NMGR");
    free(all);
    free(tdrv);
}

static void nrt_init_fails_with_an_invalid_variable(void **state)
{
    static const char *const names[] = { "NEURON_RT_DBG_DUMP_INPUTS_ON_ERR",
                                         "NEURON_RT_DEBUG_MEMLOG_MAX_SIZE",
                                         "NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG",
                                         "NEURON_SOFT_LEGACY_DTYPE", "NEURON_SOFT_SYSFS" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv(names[i], "many", 1);
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
        unsetenv(names[i]);
    }
}

static void the_memory_log_has_the_requested_number_of_entries(void **state)
{
    const struct runtime *runtime = *state;
    nrt_tensor_t *tensor = NULL;
    char path[512];
    char line[256];
    int lines = 0;

    setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "3", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    unsetenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE");
    for (int i = 0; i < 10; i++) {
        assert_int_equal(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 4096, "small", &tensor),
            NRT_SUCCESS);
        nrt_tensor_free(&tensor);
    }
    assert_int_equal(
        nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, UINT64_C(17) << 30, "large", &tensor),
        NRT_RESOURCE);
    (void)snprintf(path, sizeof path, "%s/nrt_mem_log_device_0_%08x.csv", runtime->folder,
                   (unsigned)getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        lines++;
    }
    (void)fclose(file);
    assert_int_equal(lines, 1 + 3);
}

/* The outputs of two executions on the seed, one after the other. */
static void round_twice_on(int core, const char *is_on, const char *seed,
                           float y[2][TEST_MODEL_ELEMENTS])
{
    static const struct test_model_options options = { .narrow = 1 };
    static float x[TEST_MODEL_ELEMENTS];
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_RT_STOCHASTIC_ROUNDING_EN", is_on, 1);
    setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", seed, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, core);
    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = 0.25F;
    }
    assert_int_equal(nrt_tensor_write(loaded.x, x, 0, sizeof x), NRT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        assert_int_equal(nrt_tensor_read(loaded.y, y[i], 0, sizeof y[i]), NRT_SUCCESS);
    }
    loaded_fini(&loaded);
    nrt_close();
    free(neff);
    unsetenv("NEURON_RT_STOCHASTIC_ROUNDING_EN");
    unsetenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED");
}

static void round_twice(const char *is_on, const char *seed, float y[2][TEST_MODEL_ELEMENTS])
{
    round_twice_on(0, is_on, seed, y);
}

/* Method: adjacent seeds on adjacent cores, as ranks have them. */
static void stochastic_rounding_differs_between_cores_and_seeds(void **state)
{
    static float y[6][2][TEST_MODEL_ELEMENTS];
    static const char *const seeds[] = { "6", "7", "8" };

    (void)state;
    for (int i = 0; i < 6; i++) {
        round_twice_on(i % 2, "1", seeds[i / 2], y[i]);
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(y[i], y[k], sizeof y[i]);
        }
    }
}

static void stochastic_rounding_is_used_only_on_request(void **state)
{
    static float nearest[2][TEST_MODEL_ELEMENTS], one[2][TEST_MODEL_ELEMENTS];
    static float again[2][TEST_MODEL_ELEMENTS], other[2][TEST_MODEL_ELEMENTS];
    double sum = 0;

    round_twice("0", "7", nearest);
    round_twice("1", "7", one);
    round_twice("1", "7", again);
    round_twice("1", "8", other);
    assert_memory_equal(nearest[0], nearest[1], sizeof nearest[0]);
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one[0], one[1], sizeof one[0]); /* the random sequence continues */
    assert_memory_not_equal(one, other, sizeof one);
    /* Integers of at most 8192 plus a quarter are 1/4 to 1/256 of the way between two neighbours.
     * Rounding to nearest loses the quarter from 128 on; stochastic rounding keeps it in the
     * mean. */
    for (size_t i = 4096; i < TEST_MODEL_ELEMENTS; i++) {
        sum += (double)one[0][i] - (double)i;
        assert_true(nearest[0][i] >= (float)i - 16 && nearest[0][i] <= (float)i + 16);
        assert_true(one[0][i] > (float)i - 32 && one[0][i] < (float)i + 33);
    }
    /* One value has a standard deviation of at most 16, the mean of 4096 values of 1/4. */
    assert_true(fabs(sum / 4096 - 0.25) < 1.25);
}

static void an_invalid_rounding_seed_is_rejected(void **state)
{
    setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "4294967296", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
    setenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED", "-1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
    unsetenv("NEURON_RT_STOCHASTIC_ROUNDING_SEED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(stochastic_rounding_is_used_only_on_request),
        TEST(stochastic_rounding_differs_between_cores_and_seeds),
        TEST(an_invalid_rounding_seed_is_rejected),
        TEST(inputs_of_an_execution_with_the_selected_error_are_dumped),
        TEST(each_log_component_has_a_separate_level_and_location),
        TEST(nrt_init_fails_with_an_invalid_variable),
        TEST(the_memory_log_has_the_requested_number_of_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
