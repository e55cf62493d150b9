/* SPDX-License-Identifier: MIT */
/*
 * The system trace as a client uses it: start, work, fetch per core, parse.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "nrt/nrt_async.h"
#include "nrt/nrt_sys_trace.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/unit.h"

static void init(void)
{
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void adder_init(struct loaded *loaded, int core)
{
    struct test_model_options options = { 0 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    loaded_init(loaded, neff, bytes, core);
    free(neff);
}

static void run(struct loaded *loaded)
{
    assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
}

/* Parses as a client does: with the length alone. */
static json_t *fetch(const nrt_sys_trace_fetch_options_t *options)
{
    char *buffer = NULL;
    size_t bytes = 0;
    json_error_t error;

    assert_int_equal(nrt_sys_trace_fetch_events(&buffer, &bytes, options), NRT_SUCCESS);
    assert_int_equal(strlen(buffer), bytes);
    json_t *root = json_loadb(buffer, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fail_msg("no JSON: %s", error.text);
    }
    nrt_sys_trace_buffer_free(buffer);
    assert_int_equal(json_integer_value(json_object_get(root, "data_version")), 2);
    assert_true(json_is_array(json_object_get(root, "events")));
    return root;
}

static json_t *fetch_core(uint64_t nc, uint64_t count)
{
    nrt_sys_trace_fetch_options_t *options = NULL;

    assert_int_equal(nrt_sys_trace_fetch_options_allocate(&options), NRT_SUCCESS);
    nrt_sys_trace_fetch_options_set_nc_idx(options, nc);
    nrt_sys_trace_fetch_options_set_max_events_per_nc(options, count);
    json_t *root = fetch(options);
    nrt_sys_trace_fetch_options_free(options);
    return root;
}

static json_int_t number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value)) {
        fail_msg("no number %s", key);
    }
    return json_integer_value(value);
}

static const char *text_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_string(value)) {
        fail_msg("no text %s", key);
    }
    return json_string_value(value);
}

static size_t count_of(const json_t *root, const char *type, const char *phase)
{
    size_t count = 0;
    size_t i;
    json_t *event;

    json_array_foreach(json_object_get(root, "events"), i, event)
    {
        if ((!type || strcmp(text_of(event, "event_type"), type) == 0) &&
            (!phase || strcmp(text_of(event, "phase"), phase) == 0)) {
            count++;
        }
    }
    return count;
}

/* The event of a type and phase, in order of the array. */
static const json_t *find(const json_t *root, const char *type, const char *phase, size_t which)
{
    size_t i;
    json_t *event;

    json_array_foreach(json_object_get(root, "events"), i, event)
    {
        if (strcmp(text_of(event, "event_type"), type) == 0 &&
            strcmp(text_of(event, "phase"), phase) == 0 && which-- == 0) {
            return event;
        }
    }
    fail_msg("no %s %s", type, phase);
    return NULL;
}

/* Every start has its stop behind it, by a tracking id that nothing else has. */
static size_t pairs_check(const json_t *root)
{
    json_t *open = json_object();
    size_t pairs = 0;
    size_t i;
    json_t *event;

    json_array_foreach(json_object_get(root, "events"), i, event)
    {
        char id[32];
        const char *phase = text_of(event, "phase");

        (void)snprintf(id, sizeof id, "%lld", (long long)number_of(event, "tracking_id"));
        json_t *before = json_object_get(open, id);
        if (strcmp(phase, "stop") == 0) {
            assert_non_null(before);
            assert_string_equal(text_of(before, "phase"), "start");
            assert_string_equal(text_of(before, "event_type"), text_of(event, "event_type"));
            assert_int_equal(number_of(before, "nc_idx"), number_of(event, "nc_idx"));
            assert_true(number_of(before, "timestamp_ns") <= number_of(event, "timestamp_ns"));
            pairs++;
        } else {
            assert_null(before);
        }
        json_object_set(open, id, event);
    }
    assert_int_equal(count_of(root, NULL, "start"), pairs);
    json_decref(open);
    return pairs;
}

static void a_client_finds_its_executions_on_its_core(void **state)
{
    nrt_sys_trace_config_t *config = NULL;
    struct loaded loaded;

    init();
    adder_init(&loaded, 1);
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
    nrt_sys_trace_config_set_capture_enabled_for_nc(config, 1, true);
    assert_int_equal(nrt_sys_trace_start(config), NRT_SUCCESS);
    nrt_sys_trace_config_free(config); /* not needed any more */
    for (int i = 0; i < 3; i++) {
        run(&loaded);
    }
    json_t *root = fetch_core(1, 0);
    assert_true(pairs_check(root) >= 12);
    assert_int_equal(count_of(root, "nc_exec_running", "start"), 3);
    assert_int_equal(count_of(root, "nc_exec_running", "stop"), 3);
    assert_int_equal(count_of(root, "timestamp_sync_point", "instant"), 3);
    assert_int_equal(count_of(root, "nrt_execute", "start"), 3);
    assert_int_equal(count_of(root, "kbl_exec_pre", "stop"), 3);
    assert_int_equal(count_of(root, "nrt_model_switch", "instant"), 1);
    json_int_t length = 0;
    json_int_t clock_ns = -1;
    for (size_t i = 0; i < 3; i++) {
        const json_t *start = find(root, "nc_exec_running", "start", i);
        const json_t *stop = find(root, "nc_exec_running", "stop", i);
        const json_t *sync = find(root, "timestamp_sync_point", "instant", i);
        const json_t *pre = find(root, "kbl_exec_pre", "start", i);
        const json_t *from = json_object_get(start, "data");
        const json_t *to = json_object_get(stop, "data");

        assert_int_equal(number_of(start, "nc_idx"), 1);
        assert_int_equal(number_of(start, "process_id"), getpid());
        assert_true(number_of(start, "thread_id") > 0);
        assert_int_equal(number_of(start, "worker_gid"), 1);
        assert_int_equal(number_of(start, "tracking_id"), number_of(stop, "tracking_id"));
        assert_int_equal(number_of(from, "device_core_idx"), 1);
        assert_int_equal(number_of(from, "exec_id"),
                         number_of(json_object_get(pre, "data"), "exec_id"));
        /* Device time goes on from one execution to the next and is the same for each. */
        assert_true(number_of(from, "nc_timestamp_ns") > clock_ns);
        clock_ns = number_of(from, "nc_timestamp_ns");
        json_int_t now = number_of(to, "nc_timestamp_ns") - clock_ns;
        assert_true(now > 0 && (length == 0 || now == length));
        length = now;
        const json_t *clocks = json_object_get(sync, "data");
        assert_int_equal(number_of(clocks, "nc_timestamp_ns"), clock_ns);
        assert_int_equal(number_of(clocks, "cpu_timestamp_ns"), number_of(start, "timestamp_ns"));
    }
    const json_t *data = json_object_get(find(root, "nrt_execute", "start", 0), "data");
    assert_true(number_of(data, "model_id") > 10000);
    assert_true(*text_of(data, "model_name") != '\0');
    json_decref(root);
    assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    loaded_fini(&loaded);
}

static void two_physical_cores_have_a_span_each(void **state)
{
    struct test_model_options options = { .lnc = 2 };
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_SOFT_INSTANCE", "trn2.3xlarge", 1);
    init();
    loaded_init(&loaded, neff, bytes, 1);
    free(neff);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    run(&loaded);
    json_t *root = fetch_core(1, 0);
    pairs_check(root); /* both have ids of their own */
    assert_int_equal(count_of(root, "nc_exec_running", "start"), 2);
    const json_t *first = json_object_get(find(root, "nc_exec_running", "start", 0), "data");
    const json_t *second = json_object_get(find(root, "nc_exec_running", "start", 1), "data");
    assert_int_equal(number_of(first, "exec_id"), number_of(second, "exec_id"));
    assert_int_equal(number_of(first, "device_core_idx"), 2);
    assert_int_equal(number_of(second, "device_core_idx"), 3);
    json_decref(root);
    loaded_fini(&loaded);
}

static void loads_tensors_and_memory_are_told(void **state)
{
    struct loaded loaded;
    char bytes[64] = "";

    init();
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    adder_init(&loaded, 0);
    assert_int_equal(nrt_tensor_write(loaded.x, bytes, 0, sizeof bytes), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded.x, bytes, 0, 32), NRT_SUCCESS);
    loaded_fini(&loaded);
    json_t *root = fetch_core(0, 0);
    pairs_check(root);
    assert_int_equal(count_of(root, "nrt_load", "start"), 1);
    assert_int_equal(count_of(root, "nrt_load", "stop"), 1);
    assert_int_equal(count_of(root, "nrt_tensor_allocate", "start"), 2);
    assert_int_equal(count_of(root, "nrt_tensor_free", "start"), 2);
    assert_int_equal(count_of(root, "nrt_tensor_write", "start"), 1);
    assert_int_equal(count_of(root, "dmem_buf_copyin", "start"), 1);
    assert_int_equal(count_of(root, "dmem_buf_copyout", "start"), 1);
    assert_int_equal(count_of(root, "nrt_dma_mem_alloc", NULL),
                     count_of(root, "nrt_dma_mem_dealloc", NULL));
    const json_t *write = json_object_get(find(root, "nrt_tensor_write", "start", 0), "data");
    assert_int_equal(number_of(write, "size"), sizeof bytes);
    assert_string_equal(text_of(write, "tensor_name"), "x");
    const json_t *out = json_object_get(find(root, "dmem_buf_copyout", "start", 0), "data");
    assert_int_equal(number_of(out, "size"), 32);
    const json_t *memory = json_object_get(find(root, "nrt_dma_mem_alloc", "instant", 0), "data");
    assert_true(number_of(memory, "size") > 0);
    assert_true(*text_of(memory, "usage") != '\0');
    assert_true(number_of(memory, "hbm_idx") >= 0);
    json_decref(root);
}

static void only_what_was_asked_for_is_recorded(void **state)
{
    nrt_sys_trace_config_t *config = NULL;
    const char **types = NULL;
    size_t count = 0;
    struct loaded here;
    struct loaded there;

    init();
    adder_init(&here, 0);
    adder_init(&there, 1);
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
    run(&here);
    run(&there);
    json_t *root = fetch(NULL);
    assert_int_equal(pairs_check(root), 2);
    assert_int_equal(count_of(root, "nc_exec_running", NULL), 2);
    assert_int_equal(count_of(root, "nrt_execute", NULL), 2);
    assert_int_equal(count_of(root, NULL, NULL), 4);
    json_decref(root);
    root = fetch_core(1, 0);
    assert_int_equal(count_of(root, NULL, NULL), 0);
    json_decref(root);
    nrt_sys_trace_config_free(config);
    loaded_fini(&here);
    loaded_fini(&there);
}

static void events_that_are_fetched_are_gone(void **state)
{
    struct loaded loaded;

    init();
    adder_init(&loaded, 0);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    run(&loaded);
    run(&loaded);
    json_t *first = fetch_core(0, 3);
    assert_int_equal(count_of(first, NULL, NULL), 3);
    json_t *rest = fetch(NULL);
    assert_int_equal(count_of(rest, "nc_exec_running", "stop"), 2);
    assert_true(number_of(json_array_get(json_object_get(first, "events"), 2), "timestamp_ns") <=
                number_of(json_array_get(json_object_get(rest, "events"), 0), "timestamp_ns"));
    json_decref(first);
    json_decref(rest);
    rest = fetch(NULL);
    assert_int_equal(count_of(rest, NULL, NULL), 0);
    json_decref(rest);
    run(&loaded);
    assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS); /* nobody fetched this one */
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    rest = fetch(NULL);
    assert_int_equal(count_of(rest, NULL, NULL), 0);
    json_decref(rest);
    loaded_fini(&loaded);
}

static void a_full_ring_keeps_the_newest(void **state)
{
    nrt_sys_trace_config_t *config = NULL;
    struct loaded loaded;

    init();
    adder_init(&loaded, 0);
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS);
    assert_int_equal(
        nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "software", false),
        NRT_SUCCESS);
    nrt_sys_trace_config_set_max_events_per_nc(config, 7);
    assert_int_equal(nrt_sys_trace_start(config), NRT_SUCCESS);
    for (int i = 0; i < 20; i++) {
        run(&loaded);
    }
    json_t *root = fetch(NULL);
    assert_int_equal(count_of(root, NULL, NULL), 7);
    /* Sync, start, stop of each: the last seven are a stop and two whole executions. */
    json_int_t last = number_of(
        json_object_get(find(root, "timestamp_sync_point", "instant", 1), "data"), "exec_id");
    assert_int_equal(
        number_of(json_object_get(find(root, "nc_exec_running", "start", 0), "data"), "exec_id"),
        last - 1);
    assert_int_equal(count_of(root, "nc_exec_running", "stop"), 3);
    json_decref(root);
    nrt_sys_trace_config_free(config);
    loaded_fini(&loaded);
}

static void misuse_answers_by_the_table(void **state)
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
    assert_int_equal(nrt_sys_trace_config_allocate(&config), NRT_SUCCESS); /* before nrt_init too */
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

    init();
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
    init(); /* close ended the trace */
    assert_int_equal(nrt_sys_trace_stop(), NRT_INVALID);
    nrt_sys_trace_fetch_options_free(options);
    nrt_sys_trace_config_free(config);
}

/* --- threads ---------------------------------------------------------------------------------- */

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

/* Everything that runs is fetched once, in pieces, while it runs. */
static void executions_and_fetches_go_on_together(void **state)
{
    struct loaded loaded[2];
    pthread_t threads[4];
    size_t stops = 0;
    json_t *all = json_pack("{s:[]}", "events");

    init();
    adder_init(&loaded[0], 0);
    adder_init(&loaded[1], 1);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    atomic_store(&runners_left, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, runs, &loaded[i % 2]), 0);
    }
    bool is_last = false;
    while (!is_last) {
        is_last = atomic_load(&runners_left) == 0; /* what is recorded now is all */
        json_t *root = fetch(NULL);
        json_array_extend(json_object_get(all, "events"), json_object_get(root, "events"));
        json_decref(root);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    stops = count_of(all, "nc_exec_running", "stop");
    assert_int_equal(stops, 4 * RUNS);
    pairs_check(all);
    json_decref(all);
    assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    loaded_fini(&loaded[0]);
    loaded_fini(&loaded[1]);
}

/* Starts and stops while others execute: only whole spans are told. */
static void a_trace_may_begin_and_end_at_any_time(void **state)
{
    struct loaded loaded;
    pthread_t thread;

    init();
    adder_init(&loaded, 0);
    atomic_store(&runners_left, 1);
    assert_int_equal(pthread_create(&thread, NULL, runs, &loaded), 0);
    while (atomic_load(&runners_left) > 0) {
        assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
        json_t *root = fetch(NULL);
        assert_true(count_of(root, NULL, "stop") <= count_of(root, NULL, "start"));
        json_decref(root);
        assert_int_equal(nrt_sys_trace_stop(), NRT_SUCCESS);
    }
    pthread_join(thread, NULL);
    loaded_fini(&loaded);
}

/* Between the two, by host time. */
static void inside_check(const json_t *outer_start, const json_t *outer_stop, const json_t *inner)
{
    assert_true(number_of(inner, "timestamp_ns") >= number_of(outer_start, "timestamp_ns"));
    assert_true(number_of(inner, "timestamp_ns") <= number_of(outer_stop, "timestamp_ns"));
}

/* Each step begins as the one before it ends. */
static void steps_follow_check(const json_t *root, size_t execution)
{
    static const char *const steps[] = { "kbl_exec_pre", "kmgr_exec_core", "kbl_exec_wait",
                                         "kbl_exec_post" };
    json_int_t at = number_of(find(root, "nrt_execute", "start", execution), "timestamp_ns");

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_int_equal(number_of(find(root, steps[i], "start", execution), "timestamp_ns"), at);
        at = number_of(find(root, steps[i], "stop", execution), "timestamp_ns");
    }
    assert_int_equal(number_of(find(root, "nrt_execute", "stop", execution), "timestamp_ns"), at);
}

static void the_steps_of_an_execution_enclose_the_run(void **state)
{
    struct loaded loaded;

    init();
    adder_init(&loaded, 0);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    run(&loaded);
    run(&loaded);
    json_t *root = fetch_core(0, 0);
    pairs_check(root);
    for (size_t i = 0; i < 2; i++) {
        const json_t *wait = find(root, "kbl_exec_wait", "start", i);
        const json_t *done = find(root, "kbl_exec_wait", "stop", i);
        const json_t *execute = find(root, "nrt_execute", "start", i);
        json_int_t id = number_of(json_object_get(wait, "data"), "exec_id");

        steps_follow_check(root, i);
        inside_check(execute, find(root, "nrt_execute", "stop", i), wait);
        inside_check(execute, wait, find(root, "kmgr_exec_core", "stop", i));
        inside_check(wait, done, find(root, "nc_exec_running", "start", i));
        inside_check(wait, done, find(root, "nc_exec_running", "stop", i));
        /* One number joins host and device. */
        assert_int_equal(number_of(json_object_get(execute, "data"), "exec_id"), id);
        assert_int_equal(
            number_of(json_object_get(find(root, "nc_exec_running", "start", i), "data"),
                      "exec_id"),
            id);
        assert_int_equal(
            number_of(json_object_get(find(root, "timestamp_sync_point", "instant", i), "data"),
                      "exec_id"),
            id);
    }
    json_decref(root);
    loaded_fini(&loaded);
    root = fetch_core(0, 0);
    assert_int_equal(count_of(root, "nrt_unload", "start"), 1);
    assert_int_equal(count_of(root, "nrt_unload", "stop"), 1);
    json_decref(root);
}

static void queued_executions_tell_their_submission(void **state)
{
    struct loaded loaded;
    nrta_seq_t sequence = 0;

    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "4", 1);
    init();
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    adder_init(&loaded, 0);
    assert_int_equal(nrt_sys_trace_start(NULL), NRT_SUCCESS);
    run(&loaded);
    assert_int_equal(
        nrta_execute_schedule(loaded.model, loaded.inputs, loaded.outputs, 0, NULL, &sequence),
        NRT_SUCCESS);
    loaded_fini(&loaded); /* waits for both */
    json_t *root = fetch_core(0, 0);
    assert_int_equal(count_of(root, "nrt_model_submit", "start"), 1);
    assert_int_equal(count_of(root, "nrt_model_submit", "stop"), 1);
    const json_t *scheduled = find(root, "nrta_execute_schedule", "stop", 0);
    assert_int_equal(number_of(json_object_get(scheduled, "data"), "nrt_sequence_id"), sequence);
    assert_string_equal(text_of(json_object_get(scheduled, "data"), "model_name"), "adder");
    /* The caller submits, a thread of the library executes. */
    assert_int_equal(count_of(root, "nrt_execute", "stop"), 2);
    assert_int_equal(number_of(scheduled, "thread_id"), gettid());
    assert_true(number_of(find(root, "nrt_execute", "start", 0), "thread_id") != gettid());
    json_decref(root);
}

static void ranks_and_copies_are_told(void **state)
{
    nrt_tensor_t *from = NULL, *to = NULL;
    uint32_t mine = 1, all[1] = { 0 };

    init();
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
    json_t *root = fetch_core(1, 0);
    pairs_check(root);
    assert_int_equal(count_of(root, "cc_exec_barrier", "stop"), 1);
    assert_int_equal(count_of(root, "cc_running", "stop"), 1);
    assert_int_equal(
        number_of(json_object_get(find(root, "cc_running", "start", 0), "data"), "size"), 4);
    const json_t *copy = json_object_get(find(root, "nrt_tensor_copy", "start", 0), "data");
    assert_int_equal(number_of(copy, "size"), 32);
    assert_string_equal(text_of(copy, "tensor_name"), "to");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, runtime_setup, runtime_teardown)
        TEST(misuse_answers_by_the_table), /* first: nothing is open yet */
        TEST(a_client_finds_its_executions_on_its_core),
        TEST(two_physical_cores_have_a_span_each),
        TEST(loads_tensors_and_memory_are_told),
        TEST(only_what_was_asked_for_is_recorded),
        TEST(events_that_are_fetched_are_gone),
        TEST(a_full_ring_keeps_the_newest),
        TEST(the_steps_of_an_execution_enclose_the_run),
        TEST(queued_executions_tell_their_submission),
        TEST(ranks_and_copies_are_told),
        TEST(executions_and_fetches_go_on_together),
        TEST(a_trace_may_begin_and_end_at_any_time),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
