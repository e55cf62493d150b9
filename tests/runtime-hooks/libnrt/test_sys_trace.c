/* SPDX-License-Identifier: MIT */
/* The system trace: what it records, for which cores, how many events, and while others execute. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/runtime-hooks/libnrt/trace_fixture.h"
#include "tests/support/unit.h"

static void misused_trace_calls_return_the_documented_statuses(void **state)
{
    nrt_sys_trace_fetch_options_t *options = NULL;
    nrt_sys_trace_config_t *config = NULL;
    const char **types = NULL;
    size_t count = 0;
    char *buffer = NULL;
    size_t bytes = 0;

    assert_int_equal(nrt_sys_trace_start(NULL), NRT_UNINITIALIZED);
    assert_int_equal(nrt_sys_trace_stop(), NRT_UNINITIALIZED);
    assert_int_equal(nrt_sys_trace_fetch_events(&buffer, &bytes, NULL), NRT_UNINITIALIZED);
    assert_int_equal(nrt_sys_trace_config_allocate(NULL), NRT_INVALID);
    /* May be called before nrt_init. */
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(nrt_sys_trace_fetch_options_allocate(NULL), NRT_INVALID);
    assert_int_equal(nrt_sys_trace_fetch_options_allocate(&options), NRT_SUCCESS);
    assert_int_equal(nrt_sys_trace_get_event_types(NULL, &count), NRT_INVALID);
    assert_int_equal(nrt_sys_trace_get_event_types(&types, &count), NRT_SUCCESS);
    assert_true(count >= 28);
    for (size_t i = 0; i < count; i++) { /* the other way to free them */
        free((void *)types[i]);
    }
    free((void *)types);
    assert_int_equal(nrt_sys_trace_config_set_capture_enabled_for_event_type(NULL, "hardware", 1),
                     NRT_INVALID);
    assert_int_equal(nrt_sys_trace_config_set_capture_enabled_for_event_type(config, NULL, 1),
                     NRT_INVALID);
    nrt_sys_trace_config_set_defaults(NULL);
    nrt_sys_trace_config_set_capture_enabled_for_nc(config, UINT32_MAX, false);
    nrt_sys_trace_config_free(NULL);
    nrt_sys_trace_fetch_options_free(NULL);
    nrt_sys_trace_buffer_free(NULL);
    nrt_sys_trace_free_event_types(NULL, 0);

    trace_init();
    assert_int_equal(nrt_sys_trace_stop(), NRT_INVALID);
    assert_int_equal(nrt_sys_trace_fetch_events(&buffer, &bytes, NULL), NRT_INVALID);
    nrt_sys_trace_config_set_max_events_per_nc(config, 0);
    assert_int_equal(nrt_sys_trace_start(config), NRT_INVALID);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_INVALID);
    nrt_sys_trace_fetch_options_set_nc_idx(options, 2); /* the machine has two */
    assert_int_equal(nrt_sys_trace_fetch_events(&buffer, &bytes, options), NRT_INVALID);
    assert_int_equal(nrt_sys_trace_fetch_events(NULL, &bytes, NULL), NRT_INVALID);
    assert_int_equal(nrt_sys_trace_fetch_events(&buffer, NULL, NULL), NRT_INVALID);
    assert_null(buffer);
    nrt_close();
    assert_int_equal(nrt_sys_trace_stop(), NRT_CLOSED);
    trace_init(); /* close ended the trace */
    assert_int_equal(nrt_sys_trace_stop(), NRT_INVALID);
    nrt_sys_trace_fetch_options_free(options);
    nrt_sys_trace_config_free(config);
}

static void a_trace_has_the_executions_of_the_selected_core(void **state)
{
    nrt_sys_trace_config_t *config = NULL;
    struct loaded loaded;

    trace_init();
    loaded_adder(&loaded, NULL, 1);
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
    nrt_sys_trace_config_set_capture_enabled_for_nc(config, 1, true);
    assert_int_equal(nrt_sys_trace_start(config), NRT_SUCCESS);
    nrt_sys_trace_config_free(config); /* no longer needed */
    for (int i = 0; i < 3; i++) {
        trace_run(&loaded);
    }
    json_t *root = trace_fetch_core(1, 0);
    assert_true(events_check_pairs(root) >= 12);
    assert_int_equal(events_count(root, "nc_exec_running", "start"), 3);
    assert_int_equal(events_count(root, "nc_exec_running", "stop"), 3);
    assert_int_equal(events_count(root, "timestamp_sync_point", "instant"), 3);
    assert_int_equal(events_count(root, "nrt_execute", "start"), 3);
    assert_int_equal(events_count(root, "kbl_exec_pre", "stop"), 3);
    assert_int_equal(events_count(root, "nrt_model_switch", "instant"), 1);
    json_int_t length = 0;
    json_int_t clock_ns = -1;
    for (size_t i = 0; i < 3; i++) {
        const json_t *start = events_find(root, "nc_exec_running", "start", i);
        const json_t *stop = events_find(root, "nc_exec_running", "stop", i);
        const json_t *sync = events_find(root, "timestamp_sync_point", "instant", i);
        const json_t *pre = events_find(root, "kbl_exec_pre", "start", i);
        const json_t *from = json_object_get(start, "data");
        const json_t *to = json_object_get(stop, "data");

        assert_int_equal(event_number(start, "nc_idx"), 1);
        assert_int_equal(event_number(start, "process_id"), getpid());
        assert_true(event_number(start, "thread_id") > 0);
        assert_int_equal(event_number(start, "worker_gid"), 1);
        assert_int_equal(event_number(start, "tracking_id"), event_number(stop, "tracking_id"));
        assert_int_equal(event_number(from, "device_core_idx"), 1);
        assert_int_equal(event_number(from, "exec_id"),
                         event_number(json_object_get(pre, "data"), "exec_id"));
        /* Device time continues from one execution to the next and is the same for each. */
        assert_true(event_number(from, "nc_timestamp_ns") > clock_ns);
        clock_ns = event_number(from, "nc_timestamp_ns");
        json_int_t now = event_number(to, "nc_timestamp_ns") - clock_ns;
        assert_true(now > 0 && (length == 0 || now == length));
        length = now;
        const json_t *clocks = json_object_get(sync, "data");
        assert_int_equal(event_number(clocks, "nc_timestamp_ns"), clock_ns);
        assert_int_equal(event_number(clocks, "cpu_timestamp_ns"),
                         event_number(start, "timestamp_ns"));
    }
    const json_t *data = json_object_get(events_find(root, "nrt_execute", "start", 0), "data");
    assert_true(event_number(data, "model_id") > 10000);
    assert_true(*event_text(data, "model_name") != '\0');
    json_decref(root);
    assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    loaded_fini(&loaded);
}

static void both_physical_cores_of_a_logical_core_have_a_span(void **state)
{
    struct test_model_options options = { .lnc = 2 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    trace_init();
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    trace_run(&loaded);
    json_t *root = trace_fetch_core(1, 0);
    events_check_pairs(root); /* both have different ids */
    assert_int_equal(events_count(root, "nc_exec_running", "start"), 2);
    const json_t *first = json_object_get(events_find(root, "nc_exec_running", "start", 0), "data");
    const json_t *second =
        json_object_get(events_find(root, "nc_exec_running", "start", 1), "data");
    assert_int_equal(event_number(first, "exec_id"), event_number(second, "exec_id"));
    assert_int_equal(event_number(first, "device_core_idx"), 2);
    assert_int_equal(event_number(second, "device_core_idx"), 3);
    json_decref(root);
    loaded_fini(&loaded);
}

static void loads_tensors_and_memory_are_traced(void **state)
{
    struct loaded loaded;
    char bytes[64] = "";

    trace_init();
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 0);
    assert_int_equal(nrt_tensor_write(loaded.x, bytes, 0, sizeof bytes), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded.x, bytes, 0, 32), NRT_SUCCESS);
    loaded_fini(&loaded);
    json_t *root = trace_fetch_core(0, 0);
    events_check_pairs(root);
    assert_int_equal(events_count(root, "nrt_load", "start"), 1);
    assert_int_equal(events_count(root, "nrt_load", "stop"), 1);
    assert_int_equal(events_count(root, "nrt_tensor_allocate", "start"), 2);
    assert_int_equal(events_count(root, "nrt_tensor_free", "start"), 2);
    assert_int_equal(events_count(root, "nrt_tensor_write", "start"), 1);
    assert_int_equal(events_count(root, "dmem_buf_copyin", "start"), 1);
    assert_int_equal(events_count(root, "dmem_buf_copyout", "start"), 1);
    assert_int_equal(events_count(root, "nrt_dma_mem_alloc", NULL),
                     events_count(root, "nrt_dma_mem_dealloc", NULL));
    const json_t *write =
        json_object_get(events_find(root, "nrt_tensor_write", "start", 0), "data");
    assert_int_equal(event_number(write, "size"), sizeof bytes);
    assert_string_equal(event_text(write, "tensor_name"), "x");
    const json_t *out = json_object_get(events_find(root, "dmem_buf_copyout", "start", 0), "data");
    assert_int_equal(event_number(out, "size"), 32);
    const json_t *memory =
        json_object_get(events_find(root, "nrt_dma_mem_alloc", "instant", 0), "data");
    assert_true(event_number(memory, "size") > 0);
    assert_true(*event_text(memory, "usage") != '\0');
    assert_true(event_number(memory, "hbm_idx") >= 0);
    json_decref(root);
}

static void only_requested_records_are_written(void **state)
{
    nrt_sys_trace_config_t *config = NULL;
    const char **types = NULL;
    size_t count = 0;
    struct loaded here;
    struct loaded there;

    trace_init();
    loaded_adder(&here, NULL, 0);
    loaded_adder(&there, NULL, 1);
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "software", false),
        NRT_SUCCESS);
    assert_int_equal(nrt_sys_trace_config_set_capture_enabled_for_event_type(
                         config, "timestamp_sync_point", false),
                     NRT_SUCCESS);
    assert_int_equal(
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "nrt_execute", true),
        NRT_SUCCESS);
    assert_int_equal(
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "nc_model_switch", false),
        NRT_SUCCESS); /* an older spelling */
    assert_int_equal(
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "no_such_event", true),
        NRT_INVALID);
    assert_int_equal(nrt_sys_trace_config_get_enabled_event_types(config, &types, &count),
                     NRT_SUCCESS);
    assert_int_equal(count, 6);
    assert_string_equal(types[0], "nc_exec_running");
    assert_string_equal(types[5], "nrt_execute");
    nrt_sys_trace_free_event_types(types, count);
    nrt_sys_trace_config_set_capture_enabled_for_nc(config, 1, false);
    assert_int_equal(nrt_sys_trace_start(config), NRT_SUCCESS);
    trace_run(&here);
    trace_run(&there);
    json_t *root = trace_fetch(NULL);
    assert_int_equal(events_check_pairs(root), 2);
    assert_int_equal(events_count(root, "nc_exec_running", NULL), 2);
    assert_int_equal(events_count(root, "nrt_execute", NULL), 2);
    assert_int_equal(events_count(root, NULL, NULL), 4);
    json_decref(root);
    root = trace_fetch_core(1, 0);
    assert_int_equal(events_count(root, NULL, NULL), 0);
    json_decref(root);
    nrt_sys_trace_config_free(config);
    loaded_fini(&here);
    loaded_fini(&there);
}

static void fetched_events_are_removed(void **state)
{
    struct loaded loaded;

    trace_init();
    loaded_adder(&loaded, NULL, 0);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    trace_run(&loaded);
    trace_run(&loaded);
    json_t *first = trace_fetch_core(0, 3);
    assert_int_equal(events_count(first, NULL, NULL), 3);
    json_t *rest = trace_fetch(NULL);
    assert_int_equal(events_count(rest, "nc_exec_running", "stop"), 2);
    assert_true(event_number(json_array_get(json_object_get(first, "events"), 2), "timestamp_ns") <=
                event_number(json_array_get(json_object_get(rest, "events"), 0), "timestamp_ns"));
    json_decref(first);
    json_decref(rest);
    rest = trace_fetch(NULL);
    assert_int_equal(events_count(rest, NULL, NULL), 0);
    json_decref(rest);
    trace_run(&loaded);
    assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS); /* this execution was not fetched */
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    rest = trace_fetch(NULL);
    assert_int_equal(events_count(rest, NULL, NULL), 0);
    json_decref(rest);
    loaded_fini(&loaded);
}

static void a_full_trace_ring_keeps_the_newest_events(void **state)
{
    nrt_sys_trace_config_t *config = NULL;
    struct loaded loaded;

    trace_init();
    loaded_adder(&loaded, NULL, 0);
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "software", false),
        NRT_SUCCESS);
    nrt_sys_trace_config_set_max_events_per_nc(config, 7);
    assert_int_equal(nrt_sys_trace_start(config), NRT_SUCCESS);
    for (int i = 0; i < 20; i++) {
        trace_run(&loaded);
    }
    json_t *root = trace_fetch(NULL);
    assert_int_equal(events_count(root, NULL, NULL), 7);
    /* Sync, start and stop of each: the last seven events are a stop and two complete
     * executions. */
    json_int_t last = event_number(
        json_object_get(events_find(root, "timestamp_sync_point", "instant", 1), "data"),
        "exec_id");
    assert_int_equal(
        event_number(json_object_get(events_find(root, "nc_exec_running", "start", 0), "data"),
                     "exec_id"),
        last - 1);
    assert_int_equal(events_count(root, "nc_exec_running", "stop"), 3);
    json_decref(root);
    nrt_sys_trace_config_free(config);
    loaded_fini(&loaded);
}

#define RUNS 60

static _Atomic int runners_left;

static void *runs(void *ctx)
{
    struct loaded *loaded = ctx;

    for (int i = 0; i < RUNS; i++) {
        if (nrt_execute(loaded->model, loaded->inputs, loaded->outputs) != NRT_SUCCESS) {
            abort();
        }
    }
    atomic_fetch_sub(&runners_left, 1);
    return NULL;
}

/* Everything that runs is fetched exactly once, in pieces, while it runs. */
static void every_event_is_fetched_once_during_executions(void **state)
{
    struct loaded loaded[2];
    pthread_t threads[4];
    size_t stops = 0;
    json_t *all = json_pack("{s:[]}", "events");

    trace_init();
    loaded_adder(&loaded[0], NULL, 0);
    loaded_adder(&loaded[1], NULL, 1);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    atomic_store(&runners_left, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, runs, &loaded[i % 2]), 0);
    }
    bool is_last = false;
    while (!is_last) {
        is_last = atomic_load(&runners_left) == 0; /* from now on nothing more is recorded */
        json_t *root = trace_fetch(NULL);
        json_array_extend(json_object_get(all, "events"), json_object_get(root, "events"));
        json_decref(root);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    stops = events_count(all, "nc_exec_running", "stop");
    assert_int_equal(stops, 4 * RUNS);
    events_check_pairs(all);
    json_decref(all);
    assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    loaded_fini(&loaded[0]);
    loaded_fini(&loaded[1]);
}

/* Starts and stops while others execute: only complete spans are reported. */
static void a_trace_may_start_and_stop_at_any_time(void **state)
{
    struct loaded loaded;
    pthread_t thread;

    trace_init();
    loaded_adder(&loaded, NULL, 0);
    atomic_store(&runners_left, 1);
    assert_int_equal(pthread_create(&thread, NULL, runs, &loaded), 0);
    while (atomic_load(&runners_left) > 0) {
        assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
        json_t *root = trace_fetch(NULL);
        assert_true(events_count(root, NULL, "stop") <= events_count(root, NULL, "start"));
        json_decref(root);
        assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    }
    pthread_join(thread, NULL);
    loaded_fini(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACE_TEST(
            misused_trace_calls_return_the_documented_statuses), /* before anything is open */
        TRACE_TEST(a_trace_has_the_executions_of_the_selected_core),
        TRACE_TEST(both_physical_cores_of_a_logical_core_have_a_span),
        TRACE_TEST(loads_tensors_and_memory_are_traced),
        TRACE_TEST(only_requested_records_are_written),
        TRACE_TEST(fetched_events_are_removed),
        TRACE_TEST(a_full_trace_ring_keeps_the_newest_events),
        TRACE_TEST(every_event_is_fetched_once_during_executions),
        TRACE_TEST(a_trace_may_start_and_stop_at_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
