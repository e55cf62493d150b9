/* SPDX-License-Identifier: MIT */
/*
 * Variables that the vendor documents and that change nothing here: any value of theirs is harmless.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/runtime-hooks/libnrt/runtime.h"

#define LINE_BYTES 4096

/* Sets or clears every variable of the last table of docs/environment.md; returns how many. */
static int ignored_set(const char *value)
{
    FILE *file = fopen(TEST_ENVIRONMENT_PAGE, "r");
    char line[LINE_BYTES];
    bool is_last = false;
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        is_last = is_last || strncmp(line, "The vendor's other variables", 28) == 0;
        char *end = strchr(line + 1, '|'); /* of the first column */
        if (!is_last || line[0] != '|' || !end) {
            continue;
        }
        *end = '\0';
        char *save = NULL;
        for (char *name = strtok_r(line, "|`, ", &save); name;
             name = strtok_r(NULL, "|`, ", &save)) {
            if (strncmp(name, "NEURON_", 7) != 0) {
                continue;
            }
            assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
            count++;
        }
    }
    (void)fclose(file);
    return count;
}

static void variables_without_effect_take_any_value(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    float y[2];

    (void)state;
    assert_true(ignored_set("no such value") > 20);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded.y, y, 0, sizeof y), NRT_SUCCESS);
    assert_true(y[1] == 1.0F);
    loaded_fini(&loaded);
    (void)ignored_set(NULL);
}

static void nan_is_told_when_either_variable_asks_for_it(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    float bad = NAN;

    (void)state;
    setenv("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY", "none", 1);
    for (int fails = 0; fails < 2; fails++) {
        setenv("NEURON_FAIL_ON_NAN", fails ? "1" : "0", 1);
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        loaded_init(&loaded, neff, bytes, 0);
        assert_int_equal(nrt_tensor_write(loaded.x, &bad, 0, sizeof bad), NRT_SUCCESS);
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs),
                         fails ? NRT_EXEC_COMPLETED_WITH_NUM_ERR : NRT_SUCCESS);
        loaded_fini(&loaded);
        nrt_close();
    }
    free(neff);
    unsetenv("NEURON_FAIL_ON_NAN");
    unsetenv("NEURON_RT_NUMERICAL_ERRORS_VERBOSITY");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(variables_without_effect_take_any_value),
        TEST(nan_is_told_when_either_variable_asks_for_it),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
