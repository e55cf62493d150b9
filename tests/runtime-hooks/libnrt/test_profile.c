/* SPDX-License-Identifier: MIT */
/*
 * Recording of cores: continuous profiling, sessions, and executions that fail under an inspection.
 * Method: small models whose instruction count is known from a plain capture.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nrt/nrt_profile.h"
#include "shared/formats/ntff/ntff.h"
#include "shared/formats/ntrace/ntrace.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

#define PATH_BYTES 1024

static void start_runtime(void)
{
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void load(struct loaded *loaded, const struct test_model_options *options, int core)
{
    size_t bytes;
    uint8_t *neff = test_model_adder(options, &bytes);

    loaded_init(loaded, neff, bytes, core);
    free(neff);
}

static void run(const struct loaded *loaded, int times)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
    }
}

struct content {
    uint64_t instructions; /* starts */
    size_t subgraph_count;
    size_t graph_count;
    uint64_t duration_ps;
    int64_t first_ps, last_ps;
};

static struct content content_of(const char *path)
{
    struct content content = { .first_ps = INT64_MAX };
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    if (ntk_ntff_open(path, &ntff, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ntff->warning_count, 0);
    assert_true(ntff->has_window);
    content.duration_ps = ntff->window_end_ps - ntff->window_start_ps;
    content.subgraph_count = ntff->subgraph_count;
    content.graph_count = ntff->program_uuid_count;
    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count; s++) {
            const struct ntk_ntff_section *section = &ntff->subgraphs[g].sections[s];

            for (uint64_t i = 0; i < section->record_count; i++) {
                struct ntk_ntff_record record;

                ntk_ntff_record_get(&ntff->subgraphs[g], section, i, &record);
                content.instructions += record.kind == NTK_NTFF_RECORD_INSTRUCTION_START;
                content.first_ps =
                    record.time_ps < content.first_ps ? record.time_ps : content.first_ps;
                content.last_ps =
                    record.time_ps > content.last_ps ? record.time_ps : content.last_ps;
            }
        }
    }
    ntk_ntff_close(ntff);
    return content;
}

/* What one execution of a loaded model leaves. */
static struct content reference(const struct runtime *runtime, const struct loaded *loaded)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/reference.ntff", runtime->folder);
    assert_int_equal(nrt_profile_start(loaded->model, path), NRT_SUCCESS);
    run(loaded, 1);
    assert_int_equal(nrt_profile_stop(path), NRT_SUCCESS);
    struct content content = content_of(path);
    assert_true(content.instructions > 0);
    return content;
}

static size_t entries_count(const char *folder, const char *end)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);

        count += entry->d_name[0] != '.' && length >= strlen(end) &&
                 strcmp(entry->d_name + length - strlen(end), end) == 0;
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

static void continuous_writes_the_latest_execution_when_asked(void **state)
{
    struct runtime *runtime = *state;
    nrt_profile_continuous_options_t *options = NULL;
    struct loaded small, large;
    char output[PATH_BYTES], instance[PATH_BYTES], path[PATH_BYTES + 64];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    start_runtime();
    load(&small, &(struct test_model_options){ .name = "small" }, 0);
    load(&large, &(struct test_model_options){ .name = "large", .rounds = 5 }, 0);
    struct content of_small = reference(runtime, &small);
    struct content of_large = reference(runtime, &large);
    assert_true(of_large.instructions > of_small.instructions);

    assert_int_equal(nrt_profile_continuous_options_allocate(&options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(options, output), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_INVALID); /* it is off */
    assert_int_equal(nrt_profile_continuous_start(options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_start(options), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_INVALID); /* nothing has run */
    run(&large, 2);
    run(&small, 3);
    assert_int_equal(nrt_inspect_get_instance_output_dir(output, instance, sizeof instance),
                     NRT_SUCCESS);
    assert_int_equal(entries_count(instance, ".ntff"), 0); /* nothing before the save */
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
    (void)snprintf(path, sizeof path, "%s/profile_nc_0_latest_1.ntff", instance);
    struct content saved = content_of(path);
    assert_int_equal(saved.instructions, of_small.instructions);
    assert_int_equal(saved.duration_ps, of_small.duration_ps);
    assert_int_equal(saved.subgraph_count, 1);
    run(&large, 1);
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
    (void)snprintf(path, sizeof path, "%s/profile_nc_0_latest_2.ntff", instance);
    saved = content_of(path);
    assert_int_equal(saved.instructions, of_large.instructions);
    assert_int_equal(saved.duration_ps, of_large.duration_ps);

    for (int i = 0; i < 20; i++) { /* the disk does not fill */
        assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
    }
    assert_int_equal(entries_count(instance, ".ntff"), 16);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(nrt_profile_continuous_save(1, options), NRT_INVALID); /* nothing ran there */
    assert_int_equal(nrt_profile_continuous_save(99, options), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_stop(), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_SUCCESS); /* nrt_close() ends it */
    assert_int_equal(nrt_profile_continuous_options_free(options), NRT_SUCCESS);
    loaded_fini(&small);
    loaded_fini(&large);
}

static void continuous_is_refused_beside_what_it_cannot_go_with(void **state)
{
    struct runtime *runtime = *state;

    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", runtime->folder, 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "1", 1);
    start_runtime();
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_INVALID);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_SUCCESS);
    nrt_close();
    unsetenv("NEURON_RT_INSPECT_ENABLE");
    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "4", 1);
    start_runtime();
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_INVALID);
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
}

static void a_session_holds_all_models_and_executions_of_a_core(void **state)
{
    struct runtime *runtime = *state;
    struct loaded small, large, elsewhere;
    char path[PATH_BYTES];
    uint64_t id = 0, second = 0;

    (void)snprintf(path, sizeof path, "%s/session.ntff", runtime->folder);
    start_runtime();
    load(&small, &(struct test_model_options){ .name = "small" }, 0);
    load(&large, &(struct test_model_options){ .name = "large", .rounds = 5 }, 0);
    load(&elsewhere, &(struct test_model_options){ .name = "elsewhere" }, 1);
    struct content of_small = reference(runtime, &small);
    struct content of_large = reference(runtime, &large);

    assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_start(0), NRT_INVALID);
    run(&small, 2);
    run(&large, 1);
    run(&elsewhere, 1);
    run(&small, 1);
    assert_int_equal(nrt_profile_session_stop(0, NULL), NRT_INVALID);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
    run(&small, 1); /* after it */
    assert_int_equal(nrt_profile_session_stop(0, &second), NRT_INVALID);
    loaded_fini(&small); /* the session does not need its models */
    loaded_fini(&large);
    assert_int_equal(nrt_profile_session_serialize(id, path), NRT_SUCCESS);
    struct content saved = content_of(path);
    assert_int_equal(saved.instructions, 3 * of_small.instructions + of_large.instructions);
    assert_int_equal(saved.subgraph_count, 2);
    assert_int_equal(saved.graph_count, 2);
    /* One clock for all: nothing overlaps, nothing lies outside. */
    assert_int_equal(saved.duration_ps, 3 * of_small.duration_ps + of_large.duration_ps);
    assert_true(saved.first_ps >= 0 && (uint64_t)saved.last_ps <= saved.duration_ps);

    assert_int_equal(unlink(path), 0);
    assert_int_equal(nrt_profile_session_serialize(id, path), NRT_SUCCESS); /* again */
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(nrt_profile_session_serialize(id + 1, path), NRT_INVALID);
    assert_int_equal(nrt_profile_session_serialize(id, NULL), NRT_INVALID);
    assert_int_equal(nrt_profile_session_serialize(id, "/nonexistent/x.ntff"), NRT_INVALID);
    assert_int_equal(nrt_profile_session_drop(id), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_drop(id), NRT_INVALID);

    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(1, &second), NRT_SUCCESS);
    assert_true(second > id);
    assert_int_equal(nrt_profile_session_serialize(second, path), NRT_INVALID); /* nothing ran */
    assert_int_equal(nrt_profile_session_drop_all(0), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_drop_all(99), NRT_INVALID);
    assert_int_equal(nrt_profile_session_drop(second), NRT_SUCCESS); /* it was of core 1 */
    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(1, &second), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_drop_all(-1), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_drop(second), NRT_INVALID);
    assert_int_equal(nrt_profile_session_start(-1), NRT_INVALID);
    assert_int_equal(nrt_profile_session_start(2), NRT_INVALID);
    loaded_fini(&elsewhere);
}

static void so_many_sessions_wait_and_no_more(void **state)
{
    uint64_t id = 0;

    start_runtime();
    for (int i = 0; i < 64; i++) {
        assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
        assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
    }
    assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_RESOURCE);
    assert_int_equal(nrt_profile_session_drop(id), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS); /* it went on */
}

static void a_session_beyond_its_bound_keeps_its_first_records(void **state)
{
    static const char *const bounds[] = { "NEURON_RT_PROFILE_BUF_EVENT_MB",
                                          "NEURON_RT_PROFILE_BUF_DMA_MB",
                                          "NEURON_RT_PROFILE_BUF_THROTTLE_MB" };
    struct runtime *runtime = *state;
    struct loaded loaded;
    char path[PATH_BYTES];
    uint64_t id = 0;
    int times = 0;

    (void)snprintf(path, sizeof path, "%s/bounded.ntff", runtime->folder);
    start_runtime();
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        setenv(bounds[i], "none", 1);
        assert_int_equal(nrt_profile_session_start(0), NRT_INVALID);
        unsetenv(bounds[i]);
    }
    setenv("NEURON_RT_PROFILE_BUF_DMA_MB", "1", 1);
    load(&loaded, &(struct test_model_options){ 0 }, 0);
    struct content once = reference(runtime, &loaded);
    assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
    for (; times < 1000; times++) { /* more than a megabyte of transfers */
        run(&loaded, 1);
    }
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_serialize(id, path), NRT_SUCCESS);

    struct ntk_ntff *ntff = NULL;
    assert_int_equal(ntk_ntff_open(path, &ntff, NULL), 0);
    for (size_t s = 0; s < ntff->subgraphs[0].section_count; s++) {
        const struct ntk_ntff_section *section = &ntff->subgraphs[0].sections[s];

        if (section->type == NTK_NTFF_SECTION_DMA) {
            assert_true(section->record_count * 16 <= 1 << 20);
            assert_true(section->record_count * 16 > (1 << 20) - 64);
        }
    }
    ntk_ntff_close(ntff);
    struct content saved = content_of(path);
    assert_int_equal(saved.instructions, (uint64_t)times * once.instructions);
    unsetenv("NEURON_RT_PROFILE_BUF_DMA_MB");
    loaded_fini(&loaded);
}

static uint64_t used_bytes(uint32_t core)
{
    nrt_vnc_memory_stats_t stats = { 0 };
    size_t written = 0;

    assert_int_equal(nrt_get_vnc_memory_stats(core, &stats, sizeof stats, &written), NRT_SUCCESS);
    return stats.bytes_used;
}

/* Method: a device of the same kind as /dev/full, in the scratch folder; a link to it, and to an
 * empty file. Only the file that a start made may go when the stop fails. */
static void a_stop_that_fails_takes_nothing_away_that_was_there(void **state)
{
    struct runtime *runtime = *state;
    struct loaded small;
    char device[PATH_BYTES];
    char link[PATH_BYTES];
    struct stat status;

    (void)snprintf(device, sizeof device, "%s/full", runtime->folder);
    (void)snprintf(link, sizeof link, "%s/link.ntff", runtime->folder);
    if (mknod(device, S_IFCHR | 0600, makedev(1, 7)) < 0) {
        skip(); /* for root, and where the file system may have devices */
    }
    int fd = open(device, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        assert_int_equal(unlink(device), 0);
        skip();
    }
    close(fd);
    assert_int_equal(symlink(device, link), 0);
    start_runtime();
    load(&small, &(struct test_model_options){ .name = "small" }, 0);
    assert_int_equal(nrt_profile_start(small.model, device), NRT_SUCCESS);
    run(&small, 1);
    assert_int_not_equal(nrt_profile_stop(device), NRT_SUCCESS);
    assert_int_equal(lstat(device, &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(nrt_profile_start(small.model, link), NRT_SUCCESS);
    run(&small, 1);
    assert_int_not_equal(nrt_profile_stop(link), NRT_SUCCESS);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(device, &status), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(device), 0);
}

/* As hardware records into device memory: while a core is recorded, its HBM has less room. */
static void buffers_of_a_recording_count_as_device_memory(void **state)
{
    const uint64_t mib = 1 << 20;
    uint64_t id = 0;

    start_runtime();
    uint64_t before[2] = { used_bytes(0), used_bytes(1) };
    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(used_bytes(1) - before[1], (128 + 64 + 128 + 64) * mib);
    assert_int_equal(used_bytes(0), before[0]);
    assert_int_equal(nrt_profile_session_start(1), NRT_INVALID); /* recorded already */
    assert_int_equal(used_bytes(1) - before[1], (128 + 64 + 128 + 64) * mib);
    assert_int_equal(nrt_profile_session_stop(1, &id), NRT_SUCCESS);
    assert_int_equal(used_bytes(1), before[1]);
    setenv("NEURON_RT_PROFILE_BUF_DMA_MB", "1", 1);
    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(used_bytes(1) - before[1], (128 + 64 + 1 + 64) * mib);
    assert_int_equal(nrt_profile_session_stop(1, &id), NRT_SUCCESS);
    setenv("NEURON_RT_PROFILE_BUF_DMA_MB", "65536", 1); /* more than a stack of 16 GiB */
    assert_int_equal(nrt_profile_session_start(1), NRT_RESOURCE);
    assert_int_equal(used_bytes(1), before[1]);
    unsetenv("NEURON_RT_PROFILE_BUF_DMA_MB");
    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(1, &id), NRT_SUCCESS);
    assert_int_equal(used_bytes(1), before[1]);
}

/* The only folder of the only inspection below output; false when there is none. */
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
    start_runtime();
    load(&loaded, &(struct test_model_options){ 0 }, 1);
    struct content once = reference(runtime, &loaded);
    loaded_fini(&loaded);
    nrt_close();

    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "session", 1);
    start_runtime();
    load(&loaded, &(struct test_model_options){ 0 }, 1);
    run(&loaded, 3);
    loaded_fini(&loaded);
    nrt_close();
    assert_true(session_find(output, folder, sizeof folder));
    assert_int_equal(entries_count(folder, ".ntff"), 1);
    assert_int_equal(entries_count(folder, ".neff"), 1);
    (void)snprintf(path, sizeof path, "%s/profile_nc_1_session_1.ntff", folder);
    struct content saved = content_of(path);
    assert_int_equal(saved.instructions, 3 * once.instructions);
    assert_int_equal(saved.duration_ps, 3 * once.duration_ps);
}

static void captures_on_failure_leave_nothing_of_a_good_job(void **state)
{
    struct runtime *runtime = *state;
    struct loaded loaded;
    char output[PATH_BYTES];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    setenv("NEURON_RT_INSPECT_ON_FAIL", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    start_runtime();
    load(&loaded, &(struct test_model_options){ 0 }, 0);
    run(&loaded, 2);
    loaded_fini(&loaded);
    nrt_close();
    assert_int_equal(access(output, F_OK), -1);
}

static void a_failed_execution_leaves_its_capture_at_once(void **state)
{
    struct runtime *runtime = *state;
    struct loaded good, bad;
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };
    char output[PATH_BYTES], folder[2 * PATH_BYTES], path[3 * PATH_BYTES];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    setenv("NEURON_RT_INSPECT_ON_FAIL", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", output, 1);
    start_runtime();
    load(&good, &(struct test_model_options){ .name = "good" }, 0);
    load(&bad, &(struct test_model_options){ .name = "bad", .deadlock = 1 }, 0);
    run(&good, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nrt_execute(bad.model, bad.inputs, bad.outputs), NRT_TIMEOUT);
        run(&good, 1);
    }
    /* Now, not at the end. */
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

static void the_configuration_says_the_same_as_the_environment(void **state)
{
    struct runtime *runtime = *state;
    nrt_inspect_config_t *config = NULL;
    struct loaded good, bad;
    const char **names = NULL;
    size_t count = 0;
    char folder[2 * PATH_BYTES];

    start_runtime();
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
    load(&good, &(struct test_model_options){ .name = "good" }, 0);
    load(&bad, &(struct test_model_options){ .name = "bad", .deadlock = 1 }, 0);
    run(&good, 1);
    assert_int_equal(nrt_execute(bad.model, bad.inputs, bad.outputs), NRT_TIMEOUT);
    loaded_fini(&good);
    loaded_fini(&bad);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_true(session_find(runtime->folder, folder, sizeof folder));
    assert_int_equal(entries_count(folder, "_instid_0_vnc_0.ntff"), 2); /* both, first executions */
    assert_int_equal(entries_count(folder, "_instid_0_vnc_0_failed.ntff"), 1);
    assert_int_equal(entries_count(folder, "cpu_util.pb"), 1);
}

static _Atomic bool is_over;

static void *execute_on(void *loaded)
{
    while (!is_over) {
        run(loaded, 1);
    }
    return NULL;
}

static void recording_begins_and_ends_while_others_execute(void **state)
{
    struct runtime *runtime = *state;
    nrt_profile_continuous_options_t *options = NULL;
    struct loaded loaded[2];
    pthread_t threads[2];
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/session.ntff", runtime->folder);
    start_runtime();
    assert_int_equal(nrt_profile_continuous_options_allocate(&options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(options, runtime->folder),
                     NRT_SUCCESS);
    load(&loaded[0], &(struct test_model_options){ 0 }, 0);
    load(&loaded[1], &(struct test_model_options){ .name = "other" }, 0);
    struct content once = reference(runtime, &loaded[0]);
    is_over = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, execute_on, &loaded[i]), 0);
    }
    for (int i = 0; i < 20; i++) {
        uint64_t id = 0;

        assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
        assert_int_equal(nrt_profile_continuous_start(options), NRT_SUCCESS);
        run(&loaded[0], 1);
        assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
        assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
        assert_int_equal(nrt_profile_continuous_stop(), NRT_SUCCESS);
        assert_int_equal(nrt_profile_session_serialize(id, path), NRT_SUCCESS);
        /* Executions are in it whole or not at all. */
        struct content saved = content_of(path);
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

static void misuse_answers_by_the_table(void **state)
{
    nrt_profile_continuous_options_t *options = NULL;
    uint64_t id = 0;

    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_continuous_save(0, NULL), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_continuous_stop(), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_session_start(0), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_session_serialize(1, "x"), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_session_drop(1), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_session_drop_all(0), NRT_UNINITIALIZED);
    assert_int_equal(nrt_profile_continuous_options_allocate(NULL), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_options_free(NULL), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_options_allocate(&options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(options, ""), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(options, NULL), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(NULL, "x"), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_options_free(options), NRT_SUCCESS);
    start_runtime();
    assert_int_equal(nrt_profile_session_drop(0), NRT_INVALID);
}

static int setup(void **state)
{
    static const char *const unset[] = {
        "NEURON_RT_INSPECT_ENABLE",
        "NEURON_RT_INSPECT_OUTPUT_DIR",
        "NEURON_RT_INSPECT_DEVICE_PROFILE",
        "NEURON_RT_INSPECT_ON_FAIL",
        "NEURON_RT_INSPECT_EVENT_FILTER_TYPE",
        "NEURON_RT_PROFILE_BUF_DMA_MB",
        "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS",
    };

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        unsetenv(unset[i]);
    }
    int ret = runtime_setup(state);
    setenv("TMPDIR", ((struct runtime *)*state)->folder, 1);
    return ret;
}

static int teardown(void **state)
{
    unsetenv("TMPDIR");
    return runtime_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
        TEST(misuse_answers_by_the_table), /* first: nothing is open yet */
        TEST(continuous_writes_the_latest_execution_when_asked),
        TEST(continuous_is_refused_beside_what_it_cannot_go_with),
        TEST(a_session_holds_all_models_and_executions_of_a_core),
        TEST(so_many_sessions_wait_and_no_more),
        TEST(a_session_beyond_its_bound_keeps_its_first_records),
        TEST(a_stop_that_fails_takes_nothing_away_that_was_there),
        TEST(buffers_of_a_recording_count_as_device_memory),
        TEST(recording_begins_and_ends_while_others_execute),
        TEST(an_inspection_by_session_has_one_capture_per_core),
        TEST(captures_on_failure_leave_nothing_of_a_good_job),
        TEST(a_failed_execution_leaves_its_capture_at_once),
        TEST(the_configuration_says_the_same_as_the_environment),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
