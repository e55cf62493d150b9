/* SPDX-License-Identifier: MIT */
/* Events of the system trace inside an execution: steps, submissions, ranks and copies. */
#include <stdlib.h>
#include <unistd.h>

#include "nrt/nrt_async.h"
#include "tests/runtime-hooks/libnrt/trace_fixture.h"
#include "tests/support/unit.h"

/* The inner event is between the two, by host time. */
static void inside_check(const json_t *outer_start, const json_t *outer_stop, const json_t *inner)
{
    assert_true(event_number(inner, "timestamp_ns") >= event_number(outer_start, "timestamp_ns"));
    assert_true(event_number(inner, "timestamp_ns") <= event_number(outer_stop, "timestamp_ns"));
}

/* Each step starts when the previous one ends. */
static void steps_follow_check(const json_t *root, size_t execution)
{
    static const char *const steps[] = { "kbl_exec_pre", "kmgr_exec_core", "kbl_exec_wait",
                                         "kbl_exec_post" };
    json_int_t at =
        event_number(events_find(root, "nrt_execute", "start", execution), "timestamp_ns");

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(
            event_number(events_find(root, steps[i], "start", execution), "timestamp_ns"), at);
        at = event_number(events_find(root, steps[i], "stop", execution), "timestamp_ns");
    }
    assert_int_equal(
        event_number(events_find(root, "nrt_execute", "stop", execution), "timestamp_ns"), at);
}

static void the_traced_steps_of_an_execution_enclose_its_device_run(void **state)
{
    struct loaded loaded;

    trace_init();
    loaded_adder(&loaded, NULL, 0);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    trace_run(&loaded);
    trace_run(&loaded);
    json_t *root = trace_fetch_core(0, 0);
    events_check_pairs(root);
    for (size_t i = 0; i < 2; i++) {
        const json_t *wait = events_find(root, "kbl_exec_wait", "start", i);
        const json_t *done = events_find(root, "kbl_exec_wait", "stop", i);
        const json_t *execute = events_find(root, "nrt_execute", "start", i);
        json_int_t id = event_number(json_object_get(wait, "data"), "exec_id");

        steps_follow_check(root, i);
        inside_check(execute, events_find(root, "nrt_execute", "stop", i), wait);
        inside_check(execute, wait, events_find(root, "kmgr_exec_core", "stop", i));
        inside_check(wait, done, events_find(root, "nc_exec_running", "start", i));
        inside_check(wait, done, events_find(root, "nc_exec_running", "stop", i));
        /* The same number is on the host's and the device's events. */
        assert_int_equal(event_number(json_object_get(execute, "data"), "exec_id"), id);
        assert_int_equal(
            event_number(json_object_get(events_find(root, "nc_exec_running", "start", i), "data"),
                         "exec_id"),
            id);
        assert_int_equal(
            event_number(
                json_object_get(events_find(root, "timestamp_sync_point", "instant", i), "data"),
                "exec_id"),
            id);
    }
    json_decref(root);
    loaded_fini(&loaded);
    root = trace_fetch_core(0, 0);
    assert_int_equal(events_count(root, "nrt_unload", "start"), 1);
    assert_int_equal(events_count(root, "nrt_unload", "stop"), 1);
    json_decref(root);
}

static void traces_of_queued_executions_include_their_submission(void **state)
{
    struct loaded loaded;
    nrta_seq_t sequence = 0;

    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "4", 1);
    trace_init();
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    loaded_adder(&loaded, NULL, 0);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    trace_run(&loaded);
    assert_int_equal(
        nrta_execute_schedule(loaded.model, loaded.inputs, loaded.outputs, 0, NULL, &sequence),
        NRT_SUCCESS);
    loaded_fini(&loaded); /* waits for both executions */
    json_t *root = trace_fetch_core(0, 0);
    assert_int_equal(events_count(root, "nrt_model_submit", "start"), 1);
    assert_int_equal(events_count(root, "nrt_model_submit", "stop"), 1);
    const json_t *scheduled = events_find(root, "nrta_execute_schedule", "stop", 0);
    assert_int_equal(event_number(json_object_get(scheduled, "data"), "nrt_sequence_id"), sequence);
    assert_string_equal(event_text(json_object_get(scheduled, "data"), "model_name"), "adder");
    /* The caller submits, and a thread of the library executes. */
    assert_int_equal(events_count(root, "nrt_execute", "stop"), 2);
    assert_int_equal(event_number(scheduled, "thread_id"), gettid());
    assert_true(event_number(events_find(root, "nrt_execute", "start", 0), "thread_id") !=
                gettid());
    json_decref(root);
}

static void collective_operations_and_copies_are_traced(void **state)
{
    nrt_tensor_t *from = NULL, *to = NULL;
    uint32_t mine = 1, all[1] = { 0 };

    trace_init();
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    assert_int_equal(nrt_barrier(1, 0, 1), NRT_SUCCESS);
    assert_int_equal(nrt_all_gather(1, 0, 1, sizeof mine, &mine, all), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 64, "from", &from),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 64, "to", &to),
                     NRT_SUCCESS);
    assert_int_equal(nrt_tensor_copy(from, 0, to, 0, 32), NRT_SUCCESS);
    nrt_tensor_free(&from);
    nrt_tensor_free(&to);
    json_t *root = trace_fetch_core(1, 0);
    events_check_pairs(root);
    assert_int_equal(events_count(root, "cc_exec_barrier", "stop"), 1);
    assert_int_equal(events_count(root, "cc_running", "stop"), 1);
    assert_int_equal(
        event_number(json_object_get(events_find(root, "cc_running", "start", 0), "data"), "size"),
        4);
    const json_t *copy = json_object_get(events_find(root, "nrt_tensor_copy", "start", 0), "data");
    assert_int_equal(event_number(copy, "size"), 32);
    assert_string_equal(event_text(copy, "tensor_name"), "to");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACE_TEST(the_traced_steps_of_an_execution_enclose_its_device_run),
        TRACE_TEST(traces_of_queued_executions_include_their_submission),
        TRACE_TEST(collective_operations_and_copies_are_traced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
