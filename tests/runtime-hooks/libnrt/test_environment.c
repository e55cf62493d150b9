/* SPDX-License-Identifier: MIT */
/*
 * Variables: those without effect here accept any value, and are reported; those of inspections
 * take effect.
 */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/formats/ntrace/ntrace.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

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

static void unused_variables_accept_any_value(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    float y[2];

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

static void nan_is_reported_if_either_variable_requests_it(void **state)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    float bad = NAN;

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

/* The system trace of an inspection while a model runs twice on core 1; NULL if there is none. */
static NtkNtracePb__Trace *inspection_trace(const struct runtime *runtime)
{
    struct test_model_options options = { 0 };
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };
    struct loaded loaded;
    glob_t found = { 0 };
    size_t bytes;
    char path[512];
    uint8_t *neff = test_model_adder(&options, &bytes);

    (void)snprintf(path, sizeof path, "%s/out", runtime->folder);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", path, 1);
    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    loaded_fini(&loaded);
    nrt_close();
    unsetenv("NEURON_RT_INSPECT_ENABLE");
    unsetenv("NEURON_RT_INSPECT_OUTPUT_DIR");
    (void)snprintf(path, sizeof path, "%s/out/*/*/ntrace.pb", runtime->folder);
    if (glob(path, 0, NULL, &found) == 0) {
        assert_int_equal(found.gl_pathc, 1);
        assert_int_equal(ntk_ntrace_read(found.gl_pathv[0], &trace, &err), 0);
    }
    globfree(&found);
    return trace;
}

static size_t events_of_core(const NtkNtracePb__Trace *trace, uint32_t core)
{
    for (size_t i = 0; i < trace->n_cores; i++) {
        if (trace->cores[i]->nc_idx == core) {
            return trace->cores[i]->n_event_type;
        }
    }
    return 0;
}

static void inspection_variables_select_the_content_of_a_system_trace(void **state)
{
    static const struct {
        const char *name, *value;
        size_t least, most; /* events of core 1 */
        bool is_there;
    } rows[] = {
        { "NEURON_RT_INSPECT_SYSTEM_PROFILE", "1", 10, SIZE_MAX, true },
        { "NEURON_RT_INSPECT_SYSTEM_PROFILE", "0", 0, 0, false },
        { "NEURON_RT_INSPECT_EVENT_FILTER_NC", "0-1", 10, SIZE_MAX, true },
        { "NEURON_RT_INSPECT_EVENT_FILTER_NC", "0", 0, 0, true },
        { "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC", "4", 4, 4, true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct runtime *runtime = NULL;

        assert_int_equal(runtime_setup((void **)&runtime), 0);
        setenv(rows[i].name, rows[i].value, 1);
        NtkNtracePb__Trace *trace = inspection_trace(runtime);
        unsetenv(rows[i].name);
        if ((trace != NULL) != rows[i].is_there) {
            fail_msg("%s=%s: %s", rows[i].name, rows[i].value, trace ? "a trace" : "no trace");
        }
        if (trace) {
            size_t count = events_of_core(trace, 1);

            if (count < rows[i].least || count > rows[i].most) {
                fail_msg("%s=%s: %zu events", rows[i].name, rows[i].value, count);
            }
            ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
        }
        runtime_teardown((void **)&runtime);
    }
}

static void unused_variables_are_reported(void **state)
{
    static char log[1 << 15];
    const struct runtime *runtime = *state;
    char *path = test_scratch_path(runtime->folder, "log");

    setenv("NEURON_RT_LOG_LEVEL", "INFO", 1);
    setenv("NEURON_RT_LOG_LOCATION", path, 1);
    setenv("NEURON_RT_RESET_CORES", "1", 1);
    setenv("NEURON_RT_VISIBLE_CORE", "1", 1); /* without the final S */
    setenv("NEURON_RT_EXEC_TIMEOUT", "7", 1);
    setenv("NEURON_CC_FLAGS", "-O1", 1); /* not a variable of the runtime */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    unsetenv("NEURON_RT_RESET_CORES");
    unsetenv("NEURON_RT_VISIBLE_CORE");
    unsetenv("NEURON_RT_EXEC_TIMEOUT");
    unsetenv("NEURON_CC_FLAGS");
    assert_true(ntk_fs_read_text(path, log, sizeof log) > 0);
    assert_non_null(strstr(log, "NEURON_RT_RESET_CORES has no effect on software NeuronCores"));
    assert_non_null(strstr(log, "  WARN     NRT:nrt_init "));
    assert_non_null(strstr(log, "unknown variable 'NEURON_RT_VISIBLE_CORE'"));
    assert_null(strstr(log, "NEURON_RT_EXEC_TIMEOUT"));
    assert_null(strstr(log, "NEURON_CC_FLAGS"));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(unused_variables_accept_any_value),
        TEST(nan_is_reported_if_either_variable_requests_it),
        TEST(unused_variables_are_reported),
        cmocka_unit_test(inspection_variables_select_the_content_of_a_system_trace),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
