/* SPDX-License-Identifier: MIT */
/*
 * The whole interface in parallel: threads that load, execute, queue in both forms of the explicit
 * interface, gather, trace, profile and query, on two cores; afterwards nothing is left. Thousands
 * of loads, starts and stops leave the process unchanged. Timelines do not depend on what else
 * runs.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nrt/nrt_async.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define CORES 2
#define ROUNDS 40
#define ELEMENTS 64

static bool is_thread_sanitizer(void)
{
    const char *sanitizer = getenv("NTK_SANITIZE");

    return sanitizer && strcmp(sanitizer, "thread") == 0;
}

static bool is_plain(void)
{
    const char *sanitizer = getenv("NTK_SANITIZE");

    return !sanitizer || !*sanitizer;
}

/* --- all at once ------------------------------------------------------------------------------ */

/* An unexpected result in any thread: the status, and the row of its work. */
static _Atomic int surprises;

static bool is_one_of(NRT_STATUS status, const NRT_STATUS *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (status == expected[i]) {
            return true;
        }
    }
    return false;
}

#define EXPECT(call, ...)                                                             \
    do {                                                                              \
        const NRT_STATUS expected_[] = { __VA_ARGS__ };                               \
        NRT_STATUS status_ = (call);                                                  \
        if (!is_one_of(status_, expected_, sizeof expected_ / sizeof *expected_)) {   \
            (void)fprintf(stderr, "%s: %s\n", #call, nrt_get_status_as_str(status_)); \
            atomic_fetch_add(&surprises, 1);                                          \
        }                                                                             \
    } while (0)

static NRT_STATUS (*schedule_3)(nrt_model_t *, const nrt_tensor_set_t *, nrt_tensor_set_t *, int,
                                NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*write_3)(nrt_tensor_t *, const void *, uint64_t, uint64_t, int, int,
                             NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*cc_schedule_3)(nrt_cc_context_t **, int, NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*is_completed_3)(nrta_seq_t, bool *);

static void find(void *to, const char *name)
{
    void *found = dlvsym(RTLD_DEFAULT, name, "NRT_3.0.0");

    assert_non_null(found);
    memcpy(to, &found, sizeof found);
}

struct work {
    const uint8_t *neff;
    size_t bytes;
    const struct runtime *runtime;
};

static void model_init(struct loaded *loaded, const struct work *work, int core)
{
    /* A failed assertion of loaded_init() ends the test, so it must stay in its thread. */
    nrt_tensor_info_array_t *info = NULL;

    memset(loaded, 0, sizeof *loaded);
    EXPECT(nrt_load(work->neff, work->bytes, core, 1, &loaded->model), NRT_SUCCESS);
    EXPECT(nrt_get_model_tensor_info(loaded->model, &info), NRT_SUCCESS);
    EXPECT(nrt_allocate_tensor_set(&loaded->inputs), NRT_SUCCESS);
    EXPECT(nrt_allocate_tensor_set(&loaded->outputs), NRT_SUCCESS);
    EXPECT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, info->tensor_array[0].size, "x",
                               &loaded->x),
           NRT_SUCCESS);
    EXPECT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, info->tensor_array[1].size, "y",
                               &loaded->y),
           NRT_SUCCESS);
    EXPECT(nrt_add_tensor_to_tensor_set(loaded->inputs, "x", loaded->x), NRT_SUCCESS);
    EXPECT(nrt_add_tensor_to_tensor_set(loaded->outputs, "y", loaded->y), NRT_SUCCESS);
    EXPECT(nrt_free_model_tensor_info(info), NRT_SUCCESS);
}

static void model_fini(struct loaded *loaded)
{
    EXPECT(nrt_unload(loaded->model), NRT_SUCCESS);
    nrt_tensor_free(&loaded->x);
    nrt_tensor_free(&loaded->y);
    nrt_destroy_tensor_set(&loaded->inputs);
    nrt_destroy_tensor_set(&loaded->outputs);
}

static void *models(void *ctx)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct loaded loaded;

        model_init(&loaded, ctx, i % CORES);
        EXPECT(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        EXPECT(nrt_execute_repeat(loaded.model, loaded.inputs, loaded.outputs, 2), NRT_SUCCESS);
        EXPECT(nrt_execute(loaded.model, loaded.outputs, loaded.inputs), NRT_INVALID);
        model_fini(&loaded);
    }
    return NULL;
}

static void *tensors(void *ctx)
{
    char data[4096] = { 1 };

    (void)ctx;
    for (int i = 0; i < 4 * ROUNDS; i++) {
        nrt_tensor_t *whole = NULL, *slice = NULL, *other = NULL;

        EXPECT(nrt_tensor_allocate(i % 3 ? NRT_TENSOR_PLACEMENT_DEVICE : NRT_TENSOR_PLACEMENT_HOST,
                                   i % CORES, sizeof data, "t", &whole),
               NRT_SUCCESS);
        EXPECT(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, i % CORES, sizeof data, "o", &other),
            NRT_SUCCESS);
        EXPECT(nrt_tensor_allocate_slice(whole, 64, 128, "s", &slice), NRT_SUCCESS);
        EXPECT(nrt_tensor_write(whole, data, 0, sizeof data), NRT_SUCCESS);
        EXPECT(nrt_tensor_copy(slice, 0, other, 0, 128), NRT_SUCCESS);
        nrt_tensor_free(&whole);
        EXPECT(nrt_tensor_memset(slice, 0, 7, 128), NRT_SUCCESS);
        EXPECT(nrt_tensor_read(slice, data, 0, 129), NRT_INVALID);
        EXPECT(nrt_tensor_attach_buffer(other, data, sizeof data), NRT_SUCCESS);
        nrt_tensor_free(&slice);
        nrt_tensor_free(&other);
    }
    return NULL;
}

static void wait_2(nrta_seq_t seq)
{
    bool is_completed = false;

    while (!is_completed) {
        EXPECT(nrta_is_completed(seq, &is_completed), NRT_SUCCESS);
        sched_yield();
    }
}

static void *queues_2(void *ctx)
{
    static char data[256];
    nrta_error_tracker_t *tracker = NULL;
    struct loaded loaded;

    model_init(&loaded, ctx, 0);
    EXPECT(nrta_error_tracker_create(0, &tracker), NRT_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        const nrta_error_t *errors = NULL;
        nrta_seq_t seq = 0;
        size_t count = 0;

        EXPECT(nrta_tensor_write(loaded.x, data, 0, sizeof data, i % 2, tracker, &seq),
               NRT_SUCCESS);
        wait_2(seq);
        EXPECT(nrta_execute_schedule(loaded.model, loaded.inputs, loaded.outputs, 0, tracker, &seq),
               NRT_SUCCESS);
        wait_2(seq);
        EXPECT(nrta_tensor_copy(loaded.x, 0, loaded.y, 64, 64, 1, tracker, &seq), NRT_SUCCESS);
        wait_2(seq);
        EXPECT(nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, &seq), NRT_SUCCESS);
        EXPECT(nrta_error_tracker_get_list(tracker, &errors, &count), NRT_SUCCESS);
    }
    nrta_error_tracker_destroy(tracker);
    model_fini(&loaded); /* waits for queued work */
    return NULL;
}

static void wait_3(nrta_seq_t seq)
{
    bool is_completed = false;

    while (!is_completed) {
        EXPECT(is_completed_3(seq, &is_completed), NRT_SUCCESS);
        sched_yield();
    }
}

static void *queues_3(void *ctx)
{
    struct loaded loaded;
    char data[256] = { 0 };

    model_init(&loaded, ctx, 1);
    for (int i = 0; i < ROUNDS; i++) {
        NRT_STATUS written = NRT_FAILURE;
        NRT_STATUS ran = NRT_FAILURE;
        nrta_seq_t seq = 0;

        EXPECT(write_3(loaded.x, data, 0, sizeof data, 1, i % 2, &written, &seq), NRT_SUCCESS);
        wait_3(seq);
        EXPECT(schedule_3(loaded.model, loaded.inputs, loaded.outputs, 0, &ran, &seq), NRT_SUCCESS);
        wait_3(seq);
        EXPECT(written, NRT_SUCCESS);
        EXPECT(ran, NRT_SUCCESS);
    }
    model_fini(&loaded);
    return NULL;
}

/* Both ranks of a world, on one core each; a third queue has ranks of a world of one. */
static void *collectives(void *ctx)
{
    nrt_tensor_t *from[CORES] = { NULL }, *to[CORES] = { NULL };

    (void)ctx;
    for (int core = 0; core < CORES; core++) {
        EXPECT(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, ELEMENTS * 4, NULL, &from[core]),
            NRT_SUCCESS);
        EXPECT(
            nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, ELEMENTS * 4, NULL, &to[core]),
            NRT_SUCCESS);
    }
    for (int i = 0; i < ROUNDS; i++) {
        bool is_completed = false;
        nrta_seq_t seq = 0;

        for (uint32_t rank = 0; rank < CORES; rank++) {
            nrt_cc_comm_t comm = { .rank = rank,
                                   .rank_n = CORES,
                                   .ctx_device_id = rank,
                                   .ctx_device_count = CORES,
                                   .vnc = rank };
            nrt_tensor_list_t input = { &from[rank], 1 };
            nrt_tensor_list_t output = { &to[rank], 1 };
            nrt_cc_context_t *context = NULL;

            EXPECT(nrta_cc_prepare(&comm, &input, &output, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                   NRT_CC_ALLREDUCE, &context),
                   NRT_SUCCESS);
            EXPECT(i % 2 ? nrta_cc_schedule(&context, 0, NULL, &seq)
                         : cc_schedule_3(&context, 0, NULL, &seq),
                   NRT_SUCCESS);
        }
        while (!is_completed) {
            EXPECT(nrta_is_completed(seq, &is_completed), NRT_SUCCESS);
            sched_yield();
        }
        EXPECT(nrt_barrier(0, 0, 1), NRT_SUCCESS);
    }
    for (int core = 0; core < CORES; core++) {
        nrt_tensor_free(&from[core]);
        nrt_tensor_free(&to[core]);
    }
    return NULL;
}

static void *observers(void *ctx)
{
    const struct work *work = ctx;
    char path[512];

    (void)snprintf(path, sizeof path, "%s/stress.ntff", work->runtime->folder);
    for (int i = 0; i < ROUNDS; i++) {
        nrt_vnc_memory_stats_t stats;
        struct loaded loaded;
        char *json = NULL;
        size_t bytes = 0;

        EXPECT(nrt_sys_trace_start(NULL), NRT_SUCCESS);
        model_init(&loaded, work, 0);
        EXPECT(nrt_profile_start(loaded.model, path), NRT_SUCCESS);
        EXPECT(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        EXPECT(nrt_profile_stop(path), NRT_SUCCESS);
        EXPECT(nrt_sys_trace_fetch_events(&json, &bytes, NULL), NRT_SUCCESS);
        nrt_sys_trace_buffer_free(json);
        EXPECT(nrt_get_vnc_memory_stats(1, &stats, sizeof stats, &bytes), NRT_SUCCESS);
        EXPECT(nrt_debug_log_oom_report(), NRT_SUCCESS);
        EXPECT(nrt_dump_device_allocation_info(), NRT_SUCCESS);
        model_fini(&loaded);
        EXPECT(nrt_sys_trace_stop(), NRT_SUCCESS);
    }
    return NULL;
}

static void *messages(void *ctx)
{
    nrt_tensor_t *tensor[CORES] = { NULL };

    (void)ctx;
    for (int core = 0; core < CORES; core++) {
        EXPECT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, core, 64, NULL, &tensor[core]),
               NRT_SUCCESS);
        EXPECT(nrt_async_sendrecv_init(core), NRT_SUCCESS);
    }
    nrt_async_sendrecv_comm_t *send = NULL, *receive = NULL;
    EXPECT(nrt_async_sendrecv_accept("127.0.0.1", 0, 1, &receive), NRT_SUCCESS);
    EXPECT(nrt_async_sendrecv_connect("127.0.0.1", 1, 0, &send), NRT_SUCCESS);
    for (bool is_sender = false, is_receiver = false; !is_sender || !is_receiver;) {
        EXPECT(nrt_async_sendrecv_test_comm(send, &is_sender), NRT_SUCCESS);
        EXPECT(nrt_async_sendrecv_test_comm(receive, &is_receiver), NRT_SUCCESS);
        sched_yield();
    }
    for (int i = 0; i < ROUNDS; i++) {
        nrt_async_sendrecv_request_t *out = NULL, *in = NULL;
        bool is_sent = false, is_received = false;
        size_t bytes = 0;

        EXPECT(nrt_async_sendrecv_send_tensor(tensor[0], 0, 64, send, &out), NRT_SUCCESS);
        EXPECT(nrt_async_sendrecv_recv_tensor(tensor[1], 0, 64, receive, &in), NRT_SUCCESS);
        while (!is_sent || !is_received) {
            if (!is_sent) {
                EXPECT(nrt_async_sendrecv_test_request(out, &is_sent, NULL), NRT_SUCCESS);
            }
            if (!is_received) {
                EXPECT(nrt_async_sendrecv_test_request(in, &is_received, &bytes), NRT_SUCCESS);
            }
            sched_yield();
        }
    }
    for (int core = 0; core < CORES; core++) {
        EXPECT(nrt_async_sendrecv_close(core), NRT_SUCCESS);
        nrt_tensor_free(&tensor[core]);
    }
    return NULL;
}

static void threads_use_the_whole_interface_concurrently(void **state)
{
    static void *(*const kinds[])(void *) = { models,      tensors,   queues_2, queues_3,
                                              collectives, observers, messages, models };
    struct test_model_options options = { .virtual_bytes = 4096, .tmp_bytes = 100 };
    pthread_t threads[sizeof kinds / sizeof *kinds];
    struct work work = { .runtime = *state };
    uint8_t *neff = test_model_adder(&options, &work.bytes);
    nrt_vnc_memory_stats_t before, after;
    size_t bytes = 0;

    find(&schedule_3, "nrta_execute_schedule");
    find(&write_3, "nrta_tensor_write");
    find(&cc_schedule_3, "nrta_cc_schedule");
    find(&is_completed_3, "nrta_is_completed");
    work.neff = neff;
    setenv("NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS", "4", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    unsetenv("NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS");
    assert_int_equal(nrt_get_vnc_memory_stats(0, &before, sizeof before, &bytes), NRT_SUCCESS);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, kinds[i], &work), 0);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(surprises, 0);
    assert_int_equal(nrt_get_vnc_memory_stats(0, &after, sizeof after, &bytes), NRT_SUCCESS);
    /* The shared scratchpad stays on the core. */
    assert_true(after.bytes_used - before.bytes_used <= UINT64_C(64) << 20);
    free(neff);
}

/* --- leftovers -------------------------------------------------------------------------------- */

static size_t entries_of(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir)) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

static size_t mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    size_t count = 0;
    int c = 0;

    assert_non_null(file);
    while ((c = fgetc(file)) != EOF) {
        count += c == '\n';
    }
    (void)fclose(file);
    return count;
}

struct footprint {
    size_t descriptors, files, mappings, threads, heap_bytes;
};

static void lower(size_t *value, size_t other)
{
    *value = other < *value ? other : *value;
}

/* The minimum of several samples: every second the thread that publishes the device tree opens
 * files for a moment. */
static struct footprint footprint_get(const struct runtime *runtime)
{
    static const struct timespec between = { .tv_nsec = 10000000 };
    struct footprint least = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };

    for (int look = 0; look < 10; look++) {
        lower(&least.descriptors, entries_of("/proc/self/fd"));
        lower(&least.files, entries_of(runtime->folder));
        lower(&least.threads, entries_of("/proc/self/task"));
        /* A sanitizer maps and keeps memory for itself. */
        lower(&least.mappings, is_plain() ? mappings() : 0);
        lower(&least.heap_bytes, is_plain() ? mallinfo2().uordblks : 0);
        (void)nanosleep(&between, NULL);
    }
    return least;
}

struct held {
    const struct runtime *runtime;
    struct footprint before;
    struct footprint after;
};

/* Files may stay open while the thread that uses them gets no processor. */
static int is_back(void *ctx)
{
    struct held *held = ctx;
    const struct footprint *before = &held->before;
    const struct footprint *after = &held->after;

    held->after = footprint_get(held->runtime);
    return after->descriptors <= before->descriptors && after->files <= before->files &&
           after->threads <= before->threads &&
           /* The heap may have grown by one more mapping. */
           after->mappings <= before->mappings + 2 &&
           /* A fraction of what a thousand loads hold, but more than the growth of the threads'
            * allocation caches, which count as used. */
           after->heap_bytes <= before->heap_bytes + (256U << 10);
}

static void footprint_check(const struct runtime *runtime, const struct footprint *before)
{
    struct held held = { .runtime = runtime, .before = *before };

    if (!test_wait_until(is_back, &held)) {
        fail_msg("before and after: descriptors %zu %zu, files %zu %zu, threads %zu %zu, "
                 "mappings %zu %zu, heap %zu %zu",
                 before->descriptors, held.after.descriptors, before->files, held.after.files,
                 before->threads, held.after.threads, before->mappings, held.after.mappings,
                 before->heap_bytes, held.after.heap_bytes);
    }
}

static void a_thousand_loads_leak_no_resources(void **state)
{
    const struct runtime *runtime = *state;
    struct test_model_options options = { .virtual_bytes = 1, .tmp_bytes = 1 };
    struct footprint before = { 0 };
    int times = is_thread_sanitizer() ? 100 : 1000;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);

    setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "512", 1); /* full before the first sample */
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    unsetenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE");
    for (int i = -50; i < times; i++) {
        struct loaded loaded;

        if (i == 0) {
            before = footprint_get(runtime);
        }
        loaded_init(&loaded, neff, bytes, (i + 50) % CORES);
        if (i % 10 == 0) {
            assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        }
        loaded_fini(&loaded);
    }
    footprint_check(runtime, &before);
    free(neff);
}

static void repeated_init_and_close_leak_no_resources(void **state)
{
    const struct runtime *runtime = *state;
    struct footprint before = { 0 };
    int times = is_plain() ? 40 : 10;
    size_t bytes;
    uint8_t *neff = test_model_smallest(&bytes);

    for (int i = -5; i < times; i++) {
        struct loaded loaded;

        if (i == 0) {
            before = footprint_get(runtime);
        }
        assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
        loaded_init(&loaded, neff, bytes, 0);
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
        nrt_close(); /* with everything still allocated */
        nrt_tensor_free(&loaded.x);
        nrt_tensor_free(&loaded.y);
        nrt_destroy_tensor_set(&loaded.inputs);
        nrt_destroy_tensor_set(&loaded.outputs);
    }
    footprint_check(runtime, &before);
    free(neff);
}

/* --- timelines -------------------------------------------------------------------------------- */

static _Atomic bool is_over;

static void *disturb(void *ctx)
{
    struct loaded loaded;

    model_init(&loaded, ctx, 1);
    while (!atomic_load(&is_over)) {
        EXPECT(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    model_fini(&loaded);
    return NULL;
}

/* FNV-1a. */
static uint64_t hash_add(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

/* What a capture of one execution on core 0 contains, relative to its start; *out_records: the
 * number of records. */
static uint64_t timeline(const struct work *work, uint64_t *out_records)
{
    struct loaded loaded;
    struct ntk_ntff *ntff = NULL;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char path[512];

    (void)snprintf(path, sizeof path, "%s/timeline.ntff", work->runtime->folder);
    loaded_init(&loaded, work->neff, work->bytes, 0);
    assert_int_equal(nrt_profile_start(loaded.model, path), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_profile_stop(path), NRT_SUCCESS);
    loaded_fini(&loaded);
    assert_int_equal(ntk_ntff_open(path, &ntff, NULL), 0);
    assert_int_equal(ntff->subgraph_count, 1);
    const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[0];
    hash = hash_add(hash, subgraph->execution_ps);
    *out_records = 0;
    for (size_t s = 0; s < subgraph->section_count; s++) {
        for (uint64_t i = 0; i < subgraph->sections[s].record_count; i++) {
            struct ntk_ntff_record record;

            ntk_ntff_record_get(subgraph, &subgraph->sections[s], i, &record);
            hash = hash_add(hash, (uint64_t)record.kind);
            hash = hash_add(hash, record.engine);
            hash = hash_add(hash, (uint64_t)record.time_ps - ntff->window_start_ps);
            hash = hash_add(hash, record.slot);
            hash = hash_add(hash, record.wait_cycles);
            hash = hash_add(hash, record.bytes_count);
            ++*out_records;
        }
    }
    ntk_ntff_close(ntff);
    return hash;
}

static void the_timeline_of_an_execution_does_not_depend_on_other_threads(void **state)
{
    struct test_model_options options = { .rounds = 5 };
    struct work work = { .runtime = *state };
    uint8_t *neff = test_model_adder(&options, &work.bytes);
    uint64_t records = 0;
    uint64_t again = 0;
    pthread_t thread;

    work.neff = neff;
    surprises = 0;
    atomic_store(&is_over, false);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    uint64_t alone = timeline(&work, &records);
    assert_true(records > 20);
    assert_int_equal(pthread_create(&thread, NULL, disturb, &work), 0);
    for (int i = 0; i < 20; i++) {
        assert_true(timeline(&work, &again) == alone);
        assert_int_equal(again, records);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    assert_int_equal(surprises, 0);
    /* Another program has a different timeline. */
    options.rounds = 6;
    free(neff);
    neff = test_model_adder(&options, &work.bytes);
    work.neff = neff;
    assert_true(timeline(&work, &again) != alone);
    free(neff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(threads_use_the_whole_interface_concurrently),
        TEST(a_thousand_loads_leak_no_resources),
        TEST(repeated_init_and_close_leak_no_resources),
        TEST(the_timeline_of_an_execution_does_not_depend_on_other_threads),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
