/* SPDX-License-Identifier: MIT */
/* Captures of an inspection: per session, of failing executions, and while others execute. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nrt/nrt_profile.h"
#include "shared/formats/ntrace/ntrace.h"
#include "tests/runtime-hooks/libnrt/profile_fixture.h"
#include "tests/support/unit.h"

/* The only folder of the only inspection below output; false if there is none. */
static bool session_find(const char *output, char *to, size_t to_bytes)
{
    char instance[PATH_BYTES];
    bool found = false;

    assert_int_equal(nrt_inspect_get_instance_output_dir(output, instance, sizeof instance),
                     NRT_SUCCESS);
    DIR *dir = opendir(instance);
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.') {
            assert_false(found);
            found = true;
            assert_true((size_t)snprintf(to, to_bytes, "%s/%s", instance, entry->d_name) <
                        to_bytes);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return found;
}

static void an_inspection_by_session_has_one_capture_per_core(void **state)
{
    struct runtime *runtime = *state;
    struct loaded loaded;
    char output[PATH_BYTES], folder[2 * PATH_BYTES], path[3 * PATH_BYTES];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    profile_start_runtime();
    loaded_adder(&loaded, NULL, 1);
    struct capture_content once = capture_reference(runtime, &loaded);
    loaded_fini(&loaded);
    nrt_close();

    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "session", 1);
    profile_start_runtime();
    loaded_adder(&loaded, NULL, 1);
    profile_run(&loaded, 3);
    loaded_fini(&loaded);
    nrt_close();
    assert_true(session_find(output, folder, sizeof folder));
    assert_int_equal(entries_count(folder, ".ntff"), 1);
    assert_int_equal(entries_count(folder, ".neff"), 1);
    (void)snprintf(path, sizeof path, "%s/profile_nc_1_session_1.ntff", folder);
    struct capture_content saved = capture_content(path);
    assert_int_equal(saved.instructions, 3 * once.instructions);
    assert_int_equal(saved.duration_ps, 3 * once.duration_ps);
}

static void captures_on_failure_write_no_files_for_a_successful_job(void **state)
{
    struct runtime *runtime = *state;
    struct loaded loaded;
    char output[PATH_BYTES];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    setenv("NEURON_RT_INSPECT_ON_FAIL", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    profile_start_runtime();
    loaded_adder(&loaded, NULL, 0);
    profile_run(&loaded, 2);
    loaded_fini(&loaded);
    nrt_close();
    assert_int_equal(access(output, F_OK), -1);
}

static void the_capture_of_a_failed_execution_is_written_at_once(void **state)
{
    struct runtime *runtime = *state;
    struct loaded good, bad;
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };
    char output[PATH_BYTES], folder[2 * PATH_BYTES], path[3 * PATH_BYTES];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    setenv("NEURON_RT_INSPECT_ON_FAIL", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    profile_start_runtime();
    loaded_adder(&good, &(struct test_model_options){ .name = "good" }, 0);
    loaded_adder(&bad, &(struct test_model_options){ .name = "bad", .deadlock = 1 }, 0);
    profile_run(&good, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nrt_execute(bad.model, bad.inputs, bad.outputs), NRT_TIMEOUT);
        profile_run(&good, 1);
    }
    /* Already written, not only at the end. */
    assert_true(session_find(output, folder, sizeof folder));
    assert_int_equal(entries_count(folder, "_instid_0_vnc_0.ntff"), 1);
    (void)snprintf(path, sizeof path, "%s/ntrace.pb", folder);
    assert_int_equal(ntk_ntrace_read(path, &trace, &err), 0);
    size_t at_failure = trace->cores[0]->n_event_type;
    assert_true(at_failure > 0);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    loaded_fini(&good);
    loaded_fini(&bad);
    nrt_close();
    assert_int_equal(ntk_ntrace_read(path, &trace, &err), 0);
    assert_true(trace->cores[0]->n_event_type > at_failure);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    (void)snprintf(path, sizeof path, "%s/trace_info.pb", folder);
    assert_int_equal(access(path, F_OK), 0);
}

static void inspection_options_match_the_environment_variables(void **state)
{
    struct runtime *runtime = *state;
    nrt_inspect_config_t *config = NULL;
    struct loaded good, bad;
    const char **names = NULL;
    size_t count = 0;
    char folder[2 * PATH_BYTES];

    profile_start_runtime();
    assert_int_equal(nrt_inspect_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_output_dir(config, runtime->folder), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_inspect_device_profile_mode(
                         config, NRT_INSPECT_DEVICE_PROFILE_MODE_OFF),
                     NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_get_enabled_activity_types(config, &names, &count),
                     NRT_SUCCESS);
    assert_int_equal(count, 3);
    nrt_inspect_config_free_activity_types(names, count);
    assert_int_equal(nrt_inspect_config_set_inspect_device_profile_mode(
                         config, NRT_INSPECT_DEVICE_PROFILE_MODE_MODEL),
                     NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_inspect_device_profile_mode(
                         config, (nrt_inspect_device_profile_mode_t)3),
                     NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_inspect_device_profile_mode(
                         NULL, NRT_INSPECT_DEVICE_PROFILE_MODE_MODEL),
                     NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_enable_inspect_on_fail(NULL, true), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_enable_inspect_on_fail(config, true), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_enable_inspect(config, true), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_begin_with_options(config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_free(config), NRT_SUCCESS);
    loaded_adder(&good, &(struct test_model_options){ .name = "good" }, 0);
    loaded_adder(&bad, &(struct test_model_options){ .name = "bad", .deadlock = 1 }, 0);
    profile_run(&good, 1);
    assert_int_equal(nrt_execute(bad.model, bad.inputs, bad.outputs), NRT_TIMEOUT);
    loaded_fini(&good);
    loaded_fini(&bad);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_true(session_find(runtime->folder, folder, sizeof folder));
    /* Captures of the first execution on each core. */
    assert_int_equal(entries_count(folder, "_instid_0_vnc_0.ntff"), 2);
    assert_int_equal(entries_count(folder, "_instid_0_vnc_0_failed.ntff"), 1);
    assert_int_equal(entries_count(folder, "cpu_util.pb"), 1);
}

static _Atomic bool is_over;

static void *execute_on(void *loaded)
{
    while (!is_over) {
        profile_run(loaded, 1);
    }
    return NULL;
}

static void recording_can_start_and_stop_during_executions(void **state)
{
    struct runtime *runtime = *state;
    nrt_profile_continuous_options_t *options = NULL;
    struct loaded loaded[2];
    pthread_t threads[2];
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/session.ntff", runtime->folder);
    profile_start_runtime();
    assert_int_equal(nrt_profile_continuous_options_allocate(&options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(options, runtime->folder),
                     NRT_SUCCESS);
    loaded_adder(&loaded[0], NULL, 0);
    loaded_adder(&loaded[1], &(struct test_model_options){ .name = "other" }, 0);
    struct capture_content once = capture_reference(runtime, &loaded[0]);
    is_over = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, execute_on, &loaded[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        uint64_t id = 0;

        assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
        assert_int_equal(nrt_profile_continuous_start(options), NRT_SUCCESS);
        profile_run(&loaded[0], 1);
        assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
        assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
        assert_int_equal(nrt_profile_continuous_stop(), NRT_SUCCESS);
        assert_int_equal(nrt_profile_session_serialize(id, path), NRT_SUCCESS);
        /* Executions are recorded completely or not at all. */
        struct capture_content saved = capture_content(path);
        assert_true(saved.instructions > 0);
        assert_int_equal(once.instructions ? saved.instructions % once.instructions : 1, 0);
        assert_int_equal(nrt_profile_session_drop(id), NRT_SUCCESS);
    }
    is_over = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        loaded_fini(&loaded[i]);
    }
    assert_int_equal(nrt_profile_continuous_options_free(options), NRT_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROFILE_TEST(an_inspection_by_session_has_one_capture_per_core),
        PROFILE_TEST(captures_on_failure_write_no_files_for_a_successful_job),
        PROFILE_TEST(the_capture_of_a_failed_execution_is_written_at_once),
        PROFILE_TEST(inspection_options_match_the_environment_variables),
        PROFILE_TEST(recording_can_start_and_stop_during_executions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
