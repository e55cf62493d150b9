/* SPDX-License-Identifier: MIT */
/*
 * Several processes on one software machine: who gets which cores, what dead processes leave, and
 * what a fork inherits.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nrt/ndebug_stream.h"
#include "nrt/nrt_sys_trace.h"
#include "shared/base/clock.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/observed.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

static const struct runtime *current(void **state)
{
    return *state;
}

/* Takes the cores that ctx names, sends the status and their number, then waits for a message. */
static int owner(struct observed *parent, void *ctx)
{
    nrt_tensor_t *tensor = NULL;
    uint32_t count = 0;

    setenv("NEURON_RT_VISIBLE_CORES", ctx, 1);
    NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    if (status == NRT_SUCCESS) {
        (void)nrt_get_visible_nc_count(&count);
        if (nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1 << 20, "t", &tensor) !=
            NRT_SUCCESS) {
            return 3;
        }
    }
    observed_send(parent, (uint64_t)status);
    observed_send(parent, count);
    (void)observed_receive(parent);
    nrt_close();
    return 0;
}

static void a_core_belongs_to_one_process_until_close_or_exit(void **state)
{
    const struct runtime *runtime = current(state);
    struct observed first = observed_start(runtime->folder, owner, "1");

    assert_int_equal(observed_receive(&first), NRT_SUCCESS);
    assert_int_equal(observed_receive(&first), 1);
    struct observed second = observed_start(runtime->folder, owner, "0-1");
    assert_int_equal(observed_receive(&second), NRT_FAILURE);
    (void)observed_receive(&second);
    struct observed third = observed_start(runtime->folder, owner, "0");
    assert_int_equal(observed_receive(&third), NRT_SUCCESS);
    (void)observed_receive(&third);
    observed_send(&second, 1);
    assert_int_equal(observed_finish(&second, 0), 0);
    assert_int_equal(observed_finish(&third, SIGKILL), 128 + SIGKILL);
    observed_send(&first, 1);
    assert_int_equal(observed_finish(&first, 0), 0);

    /* One closed, one was killed: both cores are free, and so is their memory. */
    nrt_vnc_memory_stats_t stats;
    size_t size;
    uint32_t count;
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_get_visible_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 2);
    for (uint32_t nc = 0; nc < 2; nc++) {
        assert_int_equal(nrt_get_vnc_memory_stats(nc, &stats, sizeof stats, &size), NRT_SUCCESS);
        assert_int_equal(stats.bytes_used, UINT64_C(96) << 20);
    }
}

static void num_cores_selects_free_cores(void **state)
{
    const struct runtime *runtime = current(state);
    struct observed other = observed_start(runtime->folder, owner, "0");
    uint32_t count;

    assert_int_equal(observed_receive(&other), NRT_SUCCESS);
    (void)observed_receive(&other);
    setenv("NEURON_RT_NUM_CORES", "2", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_FAILURE);
    setenv("NEURON_RT_NUM_CORES", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nrt_close();
    unsetenv("NEURON_RT_NUM_CORES");
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_get_visible_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 1);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
}

static void a_different_instance_type_is_rejected_while_the_machine_is_in_use(void **state)
{
    const struct runtime *runtime = current(state);
    struct observed other = observed_start(runtime->folder, owner, "0");
    uint32_t count;

    assert_int_equal(observed_receive(&other), NRT_SUCCESS);
    (void)observed_receive(&other);
    setenv("NEURON_SOFT_INSTANCE", "inf2.48xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_FAILURE);
    unsetenv("NEURON_SOFT_INSTANCE"); /* takes the existing machine */
    assert_int_equal(nrt_get_total_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 2);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
    setenv("NEURON_SOFT_INSTANCE", "inf2.48xlarge", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_get_visible_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 24);
}

static void a_forked_child_can_use_the_runtime_without_affecting_its_parent(void **state)
{
    nrt_tensor_t *tensor = NULL;
    char text[6] = "";
    int status = 0;

    setenv("NEURON_RT_VISIBLE_CORES", "0", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &tensor),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_write(tensor, "hello", 0, 6), NRT_SUCCESS);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        nrt_tensor_t *copy = tensor;
        nrt_tensor_t *own = NULL;
        int bad = nrt_tensor_read(tensor, text, 0, 6) != NRT_UNINITIALIZED;

        nrt_tensor_free(&copy);
        /* The parent's core is taken, the other one is free. */
        bad |= nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_FAILURE;
#ifndef __SANITIZE_THREAD__ /* it does not support threads started in a forked child */
        setenv("NEURON_RT_VISIBLE_CORES", "1", 1);
        bad |= (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS) << 1;
        bad |= (nrt_tensor_read(tensor, text, 0, 6) != NRT_INVALID) << 2;
        bad |= (nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "t", &own) != NRT_SUCCESS)
               << 3;
        nrt_close();
#else
        (void)own;
#endif
        _exit(bad);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(nrt_tensor_read(tensor, text, 0, 6), NRT_SUCCESS);
    assert_string_equal(text, "hello");
    /* The core is still ours. */
    struct observed other = observed_start(current(state)->folder, owner, "0");
    assert_int_equal(observed_receive(&other), NRT_FAILURE);
    (void)observed_receive(&other);
    observed_send(&other, 1);
    assert_int_equal(observed_finish(&other, 0), 0);
}

#define FORKS 6

static _Atomic bool is_over;

static void *trace_on_and_off(void *ctx)
{
    (void)ctx;
    while (!atomic_load(&is_over)) {
        char *json = NULL;
        size_t bytes = 0;

        (void)nrt_sys_trace_start(NULL);
        (void)nrt_sys_trace_fetch_events(&json, &bytes, NULL);
        nrt_sys_trace_buffer_free(json);
        (void)nrt_sys_trace_stop();
    }
    return NULL;
}

static void *execute_on(void *ctx)
{
    const struct loaded *loaded = ctx;

    while (!atomic_load(&is_over)) {
        (void)nrt_execute(loaded->model, loaded->inputs, loaded->outputs);
    }
    return NULL;
}

static void *wait_on(void *ctx)
{
    const struct loaded *loaded = ctx;

    while (!atomic_load(&is_over)) {
        (void)nrt_tensor_check_output_completion(loaded->y, 1000, UINT64_MAX);
    }
    return NULL;
}

/* In the child: calls everything that a lock of the parent could block. Returns 0 on success. */
static int child_works(const uint8_t *neff, size_t bytes)
{
    nrt_model_t *model = NULL;
    char *json = NULL;
    size_t written = 0;
    int fd = -1;
    int bad = 0;

    /* A lock that is never released becomes a signal instead of a hang. */
    (void)alarm((unsigned)(test_patience_ns() / NTK_NS_PER_SECOND));
    setenv("NEURON_RT_VISIBLE_CORES", "1", 1);
    bad |= (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS) << 0;
    bad |= (nrt_sys_trace_start(NULL) != NRT_SUCCESS) << 1;
    bad |= (nrt_debug_client_connect(0, &fd) != NRT_SUCCESS) << 2;
    struct loaded loaded = { 0 };
    bad |= (nrt_load(neff, bytes, 0, 1, &model) != NRT_SUCCESS) << 3;
    (void)nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "x", &loaded.x);
    (void)nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "y", &loaded.y);
    (void)nrt_allocate_tensor_set(&loaded.inputs);
    (void)nrt_allocate_tensor_set(&loaded.outputs);
    (void)nrt_add_tensor_to_tensor_set(loaded.inputs, "x", loaded.x);
    (void)nrt_add_tensor_to_tensor_set(loaded.outputs, "y", loaded.y);
    bad |= (nrt_execute(model, loaded.inputs, loaded.outputs) != NRT_SUCCESS) << 4;
    bad |= (nrt_tensor_check_output_completion(loaded.y, 0, 1) != NRT_SUCCESS) << 5;
    bad |= (nrt_sys_trace_fetch_events(&json, &written, NULL) != NRT_SUCCESS) << 6;
    nrt_sys_trace_buffer_free(json);
    nrt_close();
    return bad;
}

/* Locks held by the parent's threads during the fork do not block the child. */
static void a_forked_child_of_a_busy_parent_can_use_the_whole_interface(void **state)
{
    static void *(*const busy[])(void *) = { trace_on_and_off, execute_on, wait_on };
    pthread_t threads[sizeof busy / sizeof *busy];
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = NULL;

    /* thread: does not support threads started in a forked child. address: locks of its allocator
     * that other threads hold at the moment of the fork stay locked in the child. */
    if (getenv("NTK_SANITIZE") && (strcmp(getenv("NTK_SANITIZE"), "thread") == 0 ||
                                   strstr(getenv("NTK_SANITIZE"), "address"))) {
        skip();
    }
    neff = test_model_smallest(&bytes);
    setenv("NEURON_RT_VISIBLE_CORES", "0", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    atomic_store(&is_over, false);
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, busy[i], &loaded), 0);
    }
    int status = 0;
    for (int i = 0; i < FORKS && status == 0; i++) {
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            _exit(child_works(neff, bytes));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(status, 0);
    loaded_fini(&loaded);
    free(neff);
}

static void core_counts_before_nrt_init_follow_the_environment(void **state)
{
    nrt_instance_info_t info;
    uint32_t count;

    setenv("NEURON_SOFT_INSTANCE", "trn2.48xlarge", 1);
    assert_int_equal(nrt_get_total_vnc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 64);
    setenv("NEURON_RT_VIRTUAL_CORE_SIZE", "1", 1);
    assert_int_equal(nrt_get_total_vnc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 128);
    setenv("NEURON_RT_VISIBLE_CORES", "4-7", 1);
    assert_int_equal(nrt_get_visible_nc_count(&count), NRT_SUCCESS);
    assert_int_equal(count, 4);
    assert_int_equal(nrt_get_instance_info(&info, sizeof info), NRT_SUCCESS);
    assert_int_equal(info.family, NRT_INSTANCE_TRN2);
    assert_int_equal(info.size, NRT_INSTANCE_SIZE_48XL);
    assert_string_equal(info.arch_name, "NCv3");
    assert_string_equal(info.device_revision, "0");
    memset(&info, 0xff, sizeof info);
    assert_int_equal(nrt_get_instance_info(&info, 4), NRT_SUCCESS);
    assert_int_equal(info.size, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(a_core_belongs_to_one_process_until_close_or_exit),
        TEST(num_cores_selects_free_cores),
        TEST(a_different_instance_type_is_rejected_while_the_machine_is_in_use),
        TEST(a_forked_child_can_use_the_runtime_without_affecting_its_parent),
        TEST(a_forked_child_of_a_busy_parent_can_use_the_whole_interface),
        TEST(core_counts_before_nrt_init_follow_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
