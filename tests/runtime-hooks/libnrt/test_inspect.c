/* SPDX-License-Identifier: MIT */
/*
 * Inspections: the folder, the content of its files, and wrong usage.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nrt/nrt_profile.h"
#include "shared/formats/ntff/ntff.h"
#include "shared/formats/ntrace/ntrace.h"
#include "shared/formats/ntrace/vendor_trace.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

static void adder_run(int core, int times)
{
    struct test_model_options options = { 0 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    loaded_init(&loaded, neff, bytes, core);
    free(neff);
    for (int i = 0; i < times; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    loaded_fini(&loaded);
}

/* The only entry of a folder with this ending; its path is written to to. */
static void entry_find(const char *folder, const char *end, char *to, size_t to_bytes)
{
    DIR *dir = opendir(folder);
    int found = 0;

    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);

        if (entry->d_name[0] != '.' && length >= strlen(end) &&
            strcmp(entry->d_name + length - strlen(end), end) == 0) {
            assert_true((size_t)snprintf(to, to_bytes, "%s/%s", folder, entry->d_name) < to_bytes);
            found++;
        }
    }
    closedir(dir);
    if (found != 1) {
        fail_msg("%d entries *%s in %s", found, end, folder);
    }
}

/* The folder of the only inspection below output. */
static void session_find(const char *output, char *to, size_t to_bytes)
{
    char instance[512];

    assert_int_equal(nrt_inspect_get_instance_output_dir(output, instance, sizeof instance),
                     NRT_SUCCESS);
    entry_find(instance, "", to, to_bytes);
}

static size_t trace_count(const NtkNtracePb__Core *core, const NtkNtracePb__Trace *trace,
                          const char *type, uint32_t phase)
{
    size_t count = 0;

    for (size_t i = 0; i < core->n_event_type; i++) {
        count +=
            strcmp(trace->event_types[core->event_type[i]], type) == 0 && core->phase[i] == phase;
    }
    return count;
}

static void an_inspection_writes_the_files_requested_by_the_environment(void **state)
{
    struct runtime *runtime = *state;
    NtkNtracePb__Trace *trace = NULL;
    NtkNtracePb__Info *info = NULL;
    NtkNtracePb__HostSamples *host = NULL;
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    char output[400];
    char folder[1024];
    char path[2048];
    struct stat status;

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "model", 1);
    setenv("NEURON_RT_INSPECT_HOST_MEMORY", "1", 1);
    setenv("NEURON_RT_INSPECT_CPU_UTIL", "1", 1);
    setenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE", "^software", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    adder_run(1, 3);
    nrt_close();

    session_find(output, folder, sizeof folder);
    entry_find(folder, "ntrace.pb", path, sizeof path);
    assert_int_equal(ntk_ntrace_read(path, &trace, &err), 0);
    assert_int_equal(trace->n_cores, 2);
    assert_int_equal(trace->cores[0]->n_event_type, 0);
    assert_int_equal(trace_count(trace->cores[1], trace, "nc_exec_running", 0), 3);
    assert_int_equal(trace_count(trace->cores[1], trace, "nc_exec_running", 1), 3);
    assert_int_equal(trace_count(trace->cores[1], trace, "nrt_execute", 0), 0);
    assert_int_equal(trace->cores[1]->worker_gid, 1);
    assert_true(trace->cores[1]->name[0] > 0);
    assert_string_equal(trace->names[trace->cores[1]->name[0] - 1], "adder");
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);

    entry_find(folder, "trace_info.pb", path, sizeof path);
    assert_int_equal(ntk_ntrace_read_info(path, &info, &err), 0);
    assert_int_equal(info->process_id, getpid());
    assert_string_equal(info->instance_type, "trn1.2xlarge");
    assert_int_equal(info->session_id, 1);
    assert_true(info->begin_ns > 0 && info->begin_ns <= info->end_ns);
    ntk_ntrace_pb__info__free_unpacked(info, NULL);

    entry_find(folder, "cpu_util.pb", path, sizeof path);
    assert_int_equal(ntk_ntrace_read_host(path, &host, &err), 0);
    assert_true(host->n_timestamp_ns >= 2 && host->n_cpus > 0);
    assert_true(host->cpus[0]->percent[1] >= 0.0 && host->cpus[0]->percent[1] <= 100.0);
    ntk_ntrace_pb__host_samples__free_unpacked(host, NULL);
    entry_find(folder, "host_mem.pb", path, sizeof path);
    assert_int_equal(ntk_ntrace_read_host(path, &host, &err), 0);
    assert_int_equal(host->n_process_bytes, host->n_timestamp_ns);
    assert_true(host->process_bytes[0] > 0 && host->used_bytes[0] <= host->total_bytes[0]);
    ntk_ntrace_pb__host_samples__free_unpacked(host, NULL);

    entry_find(folder, "_instid_0_vnc_1.ntff", path, sizeof path);
    assert_int_equal(ntk_ntff_open(path, &ntff, &err), 0);
    ntk_ntff_close(ntff);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size > 1000);
    entry_find(folder, "_vnc_1.neff", path, sizeof path);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size > 1024);
}

static void the_environment_selects_the_file_layout(void **state)
{
    struct runtime *runtime = *state;
    struct ntk_vendor_trace_info *info = NULL;
    struct ntk_err err = { 0 };
    char folder[1024];
    char path[2048];

    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", runtime->folder, 1);
    setenv("NEURON_RT_INSPECT_FORMAT", "vendor", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    adder_run(0, 1);
    nrt_close();

    session_find(runtime->folder, folder, sizeof folder);
    entry_find(folder, "trace_info.pb", path, sizeof path);
    assert_int_equal(ntk_vendor_trace_info_read(path, &info, &err), 0);
    assert_int_equal(info->version, 2);
    assert_int_equal(info->process_id, getpid());
    assert_true(info->record_count > 0);
    assert_string_equal(info->instance_type, "trn1.2xlarge");
    assert_int_equal(strtoull(strrchr(folder, '/') + 1, NULL, 10), info->begin_ns);
    assert_string_equal(ntk_vendor_trace_name_find(info, NTK_VENDOR_TRACE_TYPES, 3), "nrt_execute");
    ntk_vendor_trace_info_free(info);
}

static void inspection_options_select_the_recorded_data(void **state)
{
    struct runtime *runtime = *state;
    nrt_inspect_config_t *config = NULL;
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };
    const char **names = NULL;
    size_t count = 0;
    char folder[1024];
    char path[2048];

    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "1", 1); /* does not matter here */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_output_dir(config, runtime->folder), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_activity(config, "all", false), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_activity(config, "system_profile", true), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_get_enabled_activity_types(config, &names, &count),
                     NRT_SUCCESS);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "system_profile");
    nrt_inspect_config_free_activity_types(names, count);
    assert_int_equal(nrt_inspect_config_set_sys_trace_max_events_per_nc(config, 5), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_capture_enabled_for_nc(config, 1, false), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_begin_with_options(config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_begin(), NRT_INVALID); /* one is already running */
    assert_int_equal(nrt_inspect_config_free(config), NRT_SUCCESS);
    adder_run(0, 4);
    adder_run(1, 1);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_stop(), NRT_INVALID);

    session_find(runtime->folder, folder, sizeof folder);
    entry_find(folder, "ntrace.pb", path, sizeof path);
    assert_int_equal(ntk_ntrace_read(path, &trace, &err), 0);
    assert_int_equal(trace->cores[0]->n_event_type, 5);
    assert_true(trace->cores[0]->lost > 0);
    assert_int_equal(trace->cores[1]->n_event_type, 0);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    (void)snprintf(path, sizeof path, "%s/cpu_util.pb", folder);
    assert_int_equal(access(path, F_OK), -1);
}

static void the_older_trace_interface_writes_one_file(void **state)
{
    struct runtime *runtime = *state;
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/whole.pb", runtime->folder);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_trace_stop(path), NRT_INVALID);
    assert_int_equal(nrt_trace_start(false), NRT_SUCCESS);
    assert_int_equal(nrt_trace_start(false), NRT_INVALID);
    adder_run(0, 2);
    assert_int_equal(nrt_trace_stop(NULL), NRT_INVALID);
    assert_int_equal(nrt_trace_stop(path), NRT_SUCCESS);
    assert_int_equal(ntk_ntrace_read(path, &trace, &err), 0);
    assert_int_equal(trace_count(trace->cores[0], trace, "nrt_execute", 1), 2);
    assert_int_equal(trace_count(trace->cores[0], trace, "nrt_dma_mem_alloc", 2), 0);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
}

static void misused_inspection_calls_return_the_documented_statuses(void **state)
{
    struct runtime *runtime = *state;
    nrt_inspect_config_t *config = NULL;
    const char **names = NULL;
    size_t count = 0;
    char small[4];

    assert_int_equal(nrt_inspect_begin(), NRT_UNINITIALIZED);
    assert_int_equal(nrt_inspect_begin_with_options(NULL), NRT_UNINITIALIZED);
    assert_int_equal(nrt_inspect_stop(), NRT_UNINITIALIZED);
    assert_int_equal(nrt_trace_start(true), NRT_UNINITIALIZED);
    assert_int_equal(nrt_trace_stop("x"), NRT_UNINITIALIZED);
    assert_int_equal(nrt_inspect_config_allocate(NULL), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_free(NULL), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_defaults(NULL), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_output_dir(config, ""), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_output_dir(config, NULL), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_session_id(config, -1), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_activity(config, "nothing", true), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_enable_inspect(NULL, true), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_capture_enabled_for_nc(config, UINT32_MAX, true),
                     NRT_INVALID);
    assert_int_equal(
        nrt_inspect_config_set_capture_enabled_for_event_type_string(config, "nothing", true),
        NRT_INVALID);
    assert_int_equal(nrt_inspect_config_set_sys_trace_max_events_per_nc(config, 0), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_get_all_activity_types(NULL, &count), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_get_all_activity_types(&names, &count), NRT_SUCCESS);
    assert_int_equal(count, 4);
    nrt_inspect_config_free_activity_types(names, count);
    assert_int_equal(nrt_inspect_get_instance_output_dir("/a", small, sizeof small), NRT_INVALID);
    assert_int_equal(nrt_inspect_config_free(config), NRT_SUCCESS);

    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1); /* a bad setting does not stop the job */
    setenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE", "no_such_event", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_begin(), NRT_INVALID);
    assert_int_equal(nrt_inspect_stop(), NRT_INVALID);
    unsetenv("NEURON_RT_INSPECT_EVENT_FILTER_TYPE");
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", runtime->folder, 1);
    setenv("NEURON_RT_INSPECT_SYSTEM_PROFILE", "maybe", 1); /* neither on nor off */
    assert_int_equal(nrt_inspect_begin(), NRT_INVALID);
    setenv("NEURON_RT_INSPECT_SYSTEM_PROFILE", "False", 1);
    assert_int_equal(nrt_inspect_begin(), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
}

/* A setting for recordings that do not take place is not an error. */
static void buffer_sizes_are_checked_only_if_whole_cores_are_recorded(void **state)
{
    struct runtime *runtime = *state;
    nrt_inspect_config_t *config = NULL;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_output_dir(config, runtime->folder), NRT_SUCCESS);
    setenv("NEURON_RT_PROFILE_BUF_DMA_MB", "none", 1);
    assert_int_equal(nrt_inspect_begin_with_options(config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_set_enable_inspect_on_fail(config, true), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_begin_with_options(config), NRT_INVALID);
    unsetenv("NEURON_RT_PROFILE_BUF_DMA_MB");
    assert_int_equal(nrt_inspect_begin_with_options(config), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_inspect_config_free(config), NRT_SUCCESS);
}

static int setup(void **state)
{
    static const char *const unset[] = {
        "NEURON_RT_INSPECT_ENABLE",         "NEURON_RT_INSPECT_OUTPUT_DIR",
        "NEURON_RT_INSPECT_DEVICE_PROFILE", "NEURON_RT_INSPECT_HOST_MEMORY",
        "NEURON_RT_INSPECT_CPU_UTIL",       "NEURON_RT_INSPECT_EVENT_FILTER_TYPE",
        "NEURON_RT_PROFILE_BUF_DMA_MB",     "NEURON_RT_INSPECT_SYSTEM_PROFILE",
        "NEURON_RT_INSPECT_FORMAT",
    };

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        unsetenv(unset[i]);
    }
    return runtime_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, runtime_teardown)
        TEST(misused_inspection_calls_return_the_documented_statuses), /* before anything is open */
        TEST(an_inspection_writes_the_files_requested_by_the_environment),
        TEST(the_environment_selects_the_file_layout),
        TEST(inspection_options_select_the_recorded_data),
        TEST(the_older_trace_interface_writes_one_file),
        TEST(buffer_sizes_are_checked_only_if_whole_cores_are_recorded),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
