/* SPDX-License-Identifier: MIT */
/* Recording of cores: continuous profiling and sessions. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nrt/nrt_profile.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/runtime-hooks/libnrt/profile_fixture.h"
#include "tests/support/unit.h"

static void misused_profile_calls_return_the_documented_statuses(void **state)
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
    profile_start_runtime();
    assert_int_equal(nrt_profile_session_drop(0), NRT_INVALID);
}

static void a_continuous_profile_writes_the_latest_execution_on_request(void **state)
{
    struct runtime *runtime = *state;
    nrt_profile_continuous_options_t *options = NULL;
    struct loaded small, large;
    char output[PATH_BYTES], instance[PATH_BYTES], path[PATH_BYTES + 64];

    (void)snprintf(output, sizeof output, "%s/out", runtime->folder);
    profile_start_runtime();
    loaded_adder(&small, &(struct test_model_options){ .name = "small" }, 0);
    loaded_adder(&large, &(struct test_model_options){ .name = "large", .rounds = 5 }, 0);
    struct capture_content of_small = capture_reference(runtime, &small);
    struct capture_content of_large = capture_reference(runtime, &large);
    assert_true(of_large.instructions > of_small.instructions);

    assert_int_equal(nrt_profile_continuous_options_allocate(&options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_options_set_output_dir(options, output), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_INVALID); /* it is off */
    assert_int_equal(nrt_profile_continuous_start(options), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_start(options), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_INVALID); /* nothing has run */
    profile_run(&large, 2);
    profile_run(&small, 3);
    assert_int_equal(nrt_inspect_get_instance_output_dir(output, instance, sizeof instance),
                     NRT_SUCCESS);
    assert_int_equal(entries_count(instance, ".ntff"), 0); /* nothing before the save */
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
    (void)snprintf(path, sizeof path, "%s/profile_nc_0_latest_1.ntff", instance);
    struct capture_content saved = capture_content(path);
    assert_int_equal(saved.instructions, of_small.instructions);
    assert_int_equal(saved.duration_ps, of_small.duration_ps);
    assert_int_equal(saved.subgraph_count, 1);
    profile_run(&large, 1);
    assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
    (void)snprintf(path, sizeof path, "%s/profile_nc_0_latest_2.ntff", instance);
    saved = capture_content(path);
    assert_int_equal(saved.instructions, of_large.instructions);
    assert_int_equal(saved.duration_ps, of_large.duration_ps);

    for (int i = 0; i < 20; i++) { /* the disk does not fill up */
        assert_int_equal(nrt_profile_continuous_save(0, options), NRT_SUCCESS);
    }
    assert_int_equal(entries_count(instance, ".ntff"), 16);
    assert_int_equal(access(path, F_OK), -1);
    /* Nothing ran on that core. */
    assert_int_equal(nrt_profile_continuous_save(1, options), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_save(99, options), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_stop(), NRT_INVALID);
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_SUCCESS); /* nrt_close() stops it */
    assert_int_equal(nrt_profile_continuous_options_free(options), NRT_SUCCESS);
    loaded_fini(&small);
    loaded_fini(&large);
}

static void a_continuous_profile_with_incompatible_options_is_rejected(void **state)
{
    struct runtime *runtime = *state;

    setenv("NEURON_RT_INSPECT_ENABLE", "1", 1);
    setenv("NEURON_RT_INSPECT_OUTPUT_DIR", runtime->folder, 1);
    setenv("NEURON_RT_INSPECT_DEVICE_PROFILE", "1", 1);
    profile_start_runtime();
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_INVALID);
    assert_int_equal(nrt_inspect_stop(), NRT_SUCCESS);
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_SUCCESS);
    nrt_close();
    unsetenv("NEURON_RT_INSPECT_ENABLE");
    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "4", 1);
    profile_start_runtime();
    assert_int_equal(nrt_profile_continuous_start(NULL), NRT_INVALID);
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
}

static void a_session_contains_all_models_and_executions_of_a_core(void **state)
{
    struct runtime *runtime = *state;
    struct loaded small, large, elsewhere;
    char path[PATH_BYTES];
    uint64_t id = 0, second = 0;

    (void)snprintf(path, sizeof path, "%s/session.ntff", runtime->folder);
    profile_start_runtime();
    loaded_adder(&small, &(struct test_model_options){ .name = "small" }, 0);
    loaded_adder(&large, &(struct test_model_options){ .name = "large", .rounds = 5 }, 0);
    loaded_adder(&elsewhere, &(struct test_model_options){ .name = "elsewhere" }, 1);
    struct capture_content of_small = capture_reference(runtime, &small);
    struct capture_content of_large = capture_reference(runtime, &large);

    assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_start(0), NRT_INVALID);
    profile_run(&small, 2);
    profile_run(&large, 1);
    profile_run(&elsewhere, 1);
    profile_run(&small, 1);
    assert_int_equal(nrt_profile_session_stop(0, NULL), NRT_INVALID);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
    profile_run(&small, 1); /* after the session */
    assert_int_equal(nrt_profile_session_stop(0, &second), NRT_INVALID);
    loaded_fini(&small); /* the session does not need its models */
    loaded_fini(&large);
    assert_int_equal(nrt_profile_session_serialize(id, path), NRT_SUCCESS);
    struct capture_content saved = capture_content(path);
    assert_int_equal(saved.instructions, 3 * of_small.instructions + of_large.instructions);
    assert_int_equal(saved.subgraph_count, 2);
    assert_int_equal(saved.graph_count, 2);
    /* One clock for all: nothing overlaps, and nothing is outside. */
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
    assert_int_equal(nrt_profile_session_drop(second), NRT_SUCCESS); /* it belonged to core 1 */
    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(1, &second), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_drop_all(-1), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_drop(second), NRT_INVALID);
    assert_int_equal(nrt_profile_session_start(-1), NRT_INVALID);
    assert_int_equal(nrt_profile_session_start(2), NRT_INVALID);
    loaded_fini(&elsewhere);
}

static void the_number_of_stopped_sessions_is_limited(void **state)
{
    uint64_t id = 0;

    profile_start_runtime();
    for (int i = 0; i < 64; i++) {
        assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
        assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS);
    }
    assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_RESOURCE);
    assert_int_equal(nrt_profile_session_drop(id), NRT_SUCCESS);
    assert_int_equal(nrt_profile_session_stop(0, &id), NRT_SUCCESS); /* it continued */
}

static void a_session_beyond_its_limit_keeps_its_first_records(void **state)
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
    profile_start_runtime();
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        setenv(bounds[i], "none", 1);
        assert_int_equal(nrt_profile_session_start(0), NRT_INVALID);
        unsetenv(bounds[i]);
    }
    setenv("NEURON_RT_PROFILE_BUF_DMA_MB", "1", 1);
    loaded_adder(&loaded, NULL, 0);
    struct capture_content once = capture_reference(runtime, &loaded);
    assert_int_equal(nrt_profile_session_start(0), NRT_SUCCESS);
    for (; times < 1000; times++) { /* more than a megabyte of transfers */
        profile_run(&loaded, 1);
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
    struct capture_content saved = capture_content(path);
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

/* Method: a device of the same kind as /dev/full, in the scratch folder; a link to it, and one to
 * an empty file. If the stop fails, only a file that the start created may be removed. */
static void a_failed_stop_removes_only_files_created_by_the_start(void **state)
{
    struct runtime *runtime = *state;
    struct loaded small;
    char device[PATH_BYTES];
    char link[PATH_BYTES];
    struct stat status;

    (void)snprintf(device, sizeof device, "%s/full", runtime->folder);
    (void)snprintf(link, sizeof link, "%s/link.ntff", runtime->folder);
    if (mknod(device, S_IFCHR | 0600, makedev(1, 7)) < 0) {
        skip(); /* needs root, and a file system that allows devices */
    }
    int fd = open(device, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        assert_int_equal(unlink(device), 0);
        skip();
    }
    close(fd);
    assert_int_equal(symlink(device, link), 0);
    profile_start_runtime();
    loaded_adder(&small, &(struct test_model_options){ .name = "small" }, 0);
    assert_int_equal(nrt_profile_start(small.model, device), NRT_SUCCESS);
    profile_run(&small, 1);
    assert_int_not_equal(nrt_profile_stop(device), NRT_SUCCESS);
    assert_int_equal(lstat(device, &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(nrt_profile_start(small.model, link), NRT_SUCCESS);
    profile_run(&small, 1);
    assert_int_not_equal(nrt_profile_stop(link), NRT_SUCCESS);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(device, &status), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(device), 0);
}

/* As on hardware, recordings use device memory, so a core has less HBM meanwhile. */
static void recording_buffers_count_as_device_memory(void **state)
{
    const uint64_t mib = 1 << 20;
    uint64_t id = 0;

    profile_start_runtime();
    uint64_t before[2] = { used_bytes(0), used_bytes(1) };
    assert_int_equal(nrt_profile_session_start(1), NRT_SUCCESS);
    assert_int_equal(used_bytes(1) - before[1], (128 + 64 + 128 + 64) * mib);
    assert_int_equal(used_bytes(0), before[0]);
    assert_int_equal(nrt_profile_session_start(1), NRT_INVALID); /* already recording */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROFILE_TEST(
            misused_profile_calls_return_the_documented_statuses), /* before anything is open */
        PROFILE_TEST(a_continuous_profile_writes_the_latest_execution_on_request),
        PROFILE_TEST(a_continuous_profile_with_incompatible_options_is_rejected),
        PROFILE_TEST(a_session_contains_all_models_and_executions_of_a_core),
        PROFILE_TEST(the_number_of_stopped_sessions_is_limited),
        PROFILE_TEST(a_session_beyond_its_limit_keeps_its_first_records),
        PROFILE_TEST(a_failed_stop_removes_only_files_created_by_the_start),
        PROFILE_TEST(recording_buffers_count_as_device_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
