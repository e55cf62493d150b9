/* SPDX-License-Identifier: MIT */
/*
 * Queued executions and transfers through the public calls: implicit, explicit in the 2.x form
 * (that of the header) and in the 3.0 form (found by version, as a loader would).
 */
#include <dlfcn.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nrt/nec.h"
#include "nrt/nrt_async.h"
#include "shared/base/fs.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define STRESS_THREADS 3
#define STRESS_ROUNDS 60

static NRT_STATUS (*write_3)(nrt_tensor_t *, const void *, uint64_t, uint64_t, int, int,
                             NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*read_3)(void *, nrt_tensor_t *, uint64_t, uint64_t, int, int, NRT_STATUS *,
                            nrta_seq_t *);
static NRT_STATUS (*copy_3)(nrt_tensor_t *, uint64_t, nrt_tensor_t *, uint64_t, uint64_t, int, int,
                            NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*execute_3)(nrt_model_t *, const nrt_tensor_set_t *, nrt_tensor_set_t *, int,
                               NRT_STATUS *, nrta_seq_t *);
static NRT_STATUS (*get_sequence_3)(uint32_t, int, int, nrta_seq_t *);
static NRT_STATUS (*watch_3)(nrta_seq_t, int);
static NRT_STATUS (*watch_queue_3)(int, int, int, int);

static void find(void *to, const char *name, const char *version)
{
    void *found = dlvsym(RTLD_DEFAULT, name, version);

    assert_non_null(found);
    memcpy(to, &found, sizeof found);
}

static int setup(void **state)
{
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    unsetenv("NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS");
    find(&write_3, "nrta_tensor_write", "NRT_3.0.0");
    find(&read_3, "nrta_tensor_read", "NRT_3.0.0");
    find(&copy_3, "nrta_tensor_copy", "NRT_3.0.0");
    find(&execute_3, "nrta_execute_schedule", "NRT_3.0.0");
    find(&get_sequence_3, "nrta_get_sequence", "NRT_3.0.0");
    find(&watch_3, "nrta_event_register_seq_id_completion", "NRT_3.0.0");
    find(&watch_queue_3, "nrta_event_register_xu_completion", "NRT_3.0.0");
    return runtime_setup(state);
}

static void wait_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    assert_int_equal(poll(&poll_fd, 1, -1), 1);
}

static void wait_complete(nrta_seq_t seq)
{
    bool is_completed = false;
    int fd = -1;

    assert_int_equal(nrta_get_completion_handle(seq, &fd), NRT_SUCCESS);
    wait_readable(fd);
    close(fd);
    assert_int_equal(nrta_is_completed(seq, &is_completed), NRT_SUCCESS);
    assert_true(is_completed);
}

/* --- implicit --------------------------------------------------------------------------------- */

struct seen {
    sem_t may_return;
    sem_t came;
    uint32_t count;
    uint64_t jobs[128];
    NRT_STATUS statuses[128];
    uint32_t core;
    uint32_t model_id;
    nrt_tensor_t *reads; /* read in the callback, unless NULL */
    float value;
    NRT_STATUS drain, close;
};

static void on_end(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                   NRT_STATUS status)
{
    struct seen *seen = params;

    if (seen->count < 128) {
        seen->jobs[seen->count] = job_id;
        seen->statuses[seen->count] = status;
    }
    seen->count++;
    seen->core = vnc;
    seen->model_id = model_id;
    if (seen->reads) {
        (void)nrt_tensor_read(seen->reads, &seen->value, sizeof(float), sizeof seen->value);
        seen->drain = nrt_async_drain_queued_execs((int32_t)vnc);
    }
    sem_post(&seen->came);
    while (sem_wait(&seen->may_return) != 0) {
    }
}

static void seen_init(struct seen *seen, unsigned returns)
{
    memset(seen, 0, sizeof *seen);
    sem_init(&seen->may_return, 0, returns);
    sem_init(&seen->came, 0, 0);
}

static void seen_fini(struct seen *seen)
{
    sem_destroy(&seen->may_return);
    sem_destroy(&seen->came);
}

static void implicit_executions_call_back_in_order_and_fail_if_the_queue_is_full(void **state)
{
    struct loaded loaded;
    struct seen seen;

    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "3", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 1);
    seen_init(&seen, 0);
    assert_int_equal(nrt_register_async_exec_callback(NULL, &seen), NRT_INVALID);
    assert_int_equal(nrt_register_async_exec_callback(on_end, NULL), NRT_SUCCESS);
    assert_int_equal(nrt_register_async_exec_callback(on_end, &seen), NRT_SUCCESS);
    /* The callback of the first one blocks the queue: it counts as running until it returns. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_QUEUE_FULL);
    /* The other core has a separate queue. */
    assert_int_equal(nrt_async_drain_queued_execs(0), NRT_SUCCESS);
    for (int i = 0; i < 3; i++) {
        sem_post(&seen.may_return);
    }
    assert_int_equal(nrt_async_drain_queued_execs(1), NRT_SUCCESS);
    assert_int_equal(seen.count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(seen.jobs[i], i + 1);
        assert_int_equal(seen.statuses[i], NRT_SUCCESS);
    }
    assert_int_equal(seen.core, 1);
    assert_true(seen.model_id > 10000);
    assert_int_equal(nrt_tensor_check_output_completion(loaded.y, 0, 3), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_check_output_completion(loaded.y, 0, 4), NRT_TIMEOUT);
    assert_int_equal(nrt_async_drain_queued_execs(2), NRT_INVALID);
    assert_int_equal(nrt_async_drain_queued_execs(-1), NRT_INVALID);
    loaded_fini(&loaded);
    nrt_close();
    seen_fini(&seen);
}

struct reports {
    const char *path;
    uint64_t wanted; /* counts of this key, over all lines */
    uint64_t sum;
};

static int reports_came(void *ctx)
{
    static const char key[] = "\"failed_to_queue\":";
    struct reports *reports = ctx;
    uint8_t *bytes = NULL;
    size_t count = 0;
    struct ntk_err err;

    reports->sum = 0;
    if (ntk_fs_read(reports->path, 1 << 24, &bytes, &count, &err) != 0) {
        return 0;
    }
    char *text = strndup((const char *)bytes, count);
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
        reports->sum += strtoull(at + strlen(key), NULL, 10);
    }
    bool has_line = strchr(text, '\n') != NULL;
    free(text);
    free(bytes);
    return has_line && reports->sum >= reports->wanted;
}

/* Method: the callback blocks the implicit queue; the explicit one gets requests faster than it
 * works. */
static void reports_count_executions_that_the_queues_rejected(void **state)
{
    static const char *const monitor[] = { "neuron-monitor", "--period", "100ms", NULL };
    const struct runtime *runtime = *state;
    char *path = test_scratch_path(runtime->folder, "reports");
    struct reports reports = { .path = path };
    uint64_t refused = 0;
    struct loaded loaded;
    struct seen seen;

    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "3", 1);
    setenv("NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    pid_t pid = test_start_program(monitor, NULL, path);
    loaded_adder(&loaded, NULL, 0);
    seen_init(&seen, 0);
    assert_int_equal(nrt_register_async_exec_callback(on_end, &seen), NRT_SUCCESS);
    assert_true(test_wait_until(reports_came, &reports));
    for (int i = 0; i < 8; i++) {
        refused += nrt_execute(loaded.model, loaded.inputs, loaded.outputs) == NRT_QUEUE_FULL;
    }
    assert_int_equal(refused, 5);
    for (int i = 0; i < 3; i++) {
        sem_post(&seen.may_return);
    }
    while (refused < 9) {
        NRT_STATUS status = execute_3(loaded.model, loaded.inputs, loaded.outputs, 0, NULL, NULL);

        assert_true(status == NRT_SUCCESS || status == NRT_QUEUE_FULL);
        refused += status == NRT_QUEUE_FULL;
    }
    reports.wanted = refused;
    (void)test_wait_until(reports_came, &reports);
    assert_int_equal(test_stop_program(pid, SIGTERM), 0);
    assert_int_equal(reports.sum, refused);
    loaded_fini(&loaded);
    nrt_close();
    seen_fini(&seen);
    free(path);
}

static void errors_of_implicit_executions_are_reported_by_callback(void **state)
{
    float nan_value = NAN;
    struct loaded loaded;
    struct seen seen;

    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "63", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 0);
    seen_init(&seen, 2);
    assert_int_equal(nrt_register_async_exec_callback(on_end, &seen), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_write(loaded.x, &nan_value, 0, sizeof nan_value), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    assert_int_equal(nrt_execute_repeat(loaded.model, loaded.inputs, loaded.outputs, 2),
                     NRT_SUCCESS);
    /* Errors that are known before anything is queued are returned at once. */
    assert_int_equal(nrt_execute(loaded.model, loaded.outputs, loaded.inputs), NRT_INVALID);
    assert_int_equal(nrt_async_drain_queued_execs(0), NRT_SUCCESS);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.statuses[0], NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    loaded_fini(&loaded);
    nrt_close();
    seen_fini(&seen);
}

static void nrt_close_waits_for_callbacks_that_may_call_the_library(void **state)
{
    struct loaded loaded;
    struct seen seen;

    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "8", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 0);
    seen_init(&seen, 8);
    seen.reads = loaded.y;
    assert_int_equal(nrt_register_async_exec_callback(on_end, &seen), NRT_SUCCESS);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_SUCCESS);
    }
    nrt_close();
    assert_int_equal(seen.count, 8);
    assert_true(seen.value > 0.5f && seen.value < 1.5f); /* y[1] = 0 + 1 */
    assert_int_equal(seen.drain, NRT_FAILURE);
    assert_int_equal(nrt_execute(loaded.model, loaded.inputs, loaded.outputs), NRT_CLOSED);
    assert_int_equal(nrt_async_drain_queued_execs(0), NRT_CLOSED);
    seen_fini(&seen);
}

static void implicit_executions_require_the_environment_variable(void **state)
{
    struct seen seen;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_register_async_exec_callback(on_end, &seen), NRT_INVALID);
    assert_int_equal(nrt_async_drain_queued_execs(0), NRT_SUCCESS);
    nrt_close();
    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "64", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
    setenv("NEURON_RT_XU_COMPUTE_MAX_QUEUED_REQUESTS", "0", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
}

/* --- explicit --------------------------------------------------------------------------------- */

static void asynchronous_calls_of_version_2_track_errors(void **state)
{
    static float x[TEST_MODEL_ELEMENTS];
    static float y[TEST_MODEL_ELEMENTS];
    nrta_error_tracker_t *tracker = NULL;
    const nrta_error_t *errors = NULL;
    size_t error_count = 9;
    nrta_seq_t seq = 0;
    nrta_seq_t done = 1;
    bool is_completed = false;
    struct loaded loaded;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 1);
    assert_int_equal(nrta_error_tracker_create(9, &tracker), NRT_INVALID);
    assert_int_equal(nrta_error_tracker_create(1, &tracker), NRT_SUCCESS);
    assert_int_equal(nrta_get_sequence(1, NRTA_XU_COMPUTE, 0, &done), NRT_SUCCESS);
    assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(done), 0);
    assert_int_equal(nrta_is_completed(done, &is_completed), NRT_INVALID);

    for (size_t i = 0; i < TEST_MODEL_ELEMENTS; i++) {
        x[i] = 3.0f;
    }
    assert_int_equal(nrta_tensor_write(loaded.x, x, 0, sizeof x, 1, tracker, &seq), NRT_SUCCESS);
    assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(seq), 1);
    wait_complete(seq);
    assert_int_equal(
        nrta_execute_schedule(loaded.model, loaded.inputs, loaded.outputs, 0, tracker, &seq),
        NRT_SUCCESS);
    wait_complete(seq);
    assert_int_equal(nrta_is_completed(seq, &is_completed), NRT_SUCCESS);
    assert_true(is_completed);
    assert_int_equal(nrta_is_completed(seq + 1, &is_completed), NRT_INVALID);
    assert_int_equal(nrta_get_sequence(1, NRTA_XU_COMPUTE, 0, &done), NRT_SUCCESS);
    assert_true(done == seq);
    assert_int_equal(nrta_tensor_copy(loaded.y, 0, loaded.x, 4, sizeof(float), 0, NULL, &seq),
                     NRT_SUCCESS);
    wait_complete(seq);
    assert_int_equal(nrta_tensor_read(y, loaded.x, 0, 2 * sizeof(float), 0, NULL, NULL),
                     NRT_SUCCESS);
    assert_int_equal(nrta_tensor_read(y + 2, loaded.y, 0, 3 * sizeof(float), 0, NULL, &seq),
                     NRT_SUCCESS);
    assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(seq), 2);
    wait_complete(seq);
    assert_memory_equal(y, ((float[]){ 3.0f, 3.0f, 3.0f, 4.0f, 5.0f }), 5 * sizeof(float));
    assert_int_equal(nrta_error_tracker_get_list(tracker, &errors, &error_count), NRT_SUCCESS);
    assert_int_equal(error_count, 0);

    x[0] = NAN;
    assert_int_equal(nrt_tensor_write(loaded.x, x, 0, sizeof x), NRT_SUCCESS);
    assert_int_equal(
        nrta_execute_schedule(loaded.model, loaded.inputs, loaded.outputs, 0, tracker, &seq),
        NRT_SUCCESS);
    wait_complete(seq);
    for (int i = 0; i < 2; i++) { /* it stays in the list */
        assert_int_equal(nrta_error_tracker_get_list(tracker, &errors, &error_count), NRT_SUCCESS);
        assert_int_equal(error_count, 1);
        assert_true(errors[0].seq_id == seq);
        assert_int_equal(errors[0].error_code, NRT_EXEC_COMPLETED_WITH_NUM_ERR);
    }
    nrta_error_tracker_destroy(tracker);
    assert_int_equal(nrta_error_tracker_get_list(tracker, &errors, &error_count),
                     NRT_INVALID_HANDLE);
    assert_int_equal(nrta_tensor_write(loaded.x, x, 0, 4, 0, tracker, &seq), NRT_INVALID_HANDLE);
    loaded_fini(&loaded);
}

static void asynchronous_calls_of_version_3_write_statuses_and_signal_eventfds(void **state)
{
    NRT_STATUS statuses[3] = { NRT_QUEUE_EMPTY, NRT_QUEUE_EMPTY, NRT_QUEUE_EMPTY };
    float values[4] = { NAN, 1.0f, 2.0f, 3.0f };
    float back[4] = { 0 };
    nrta_seq_t seq[4] = { 0 };
    struct loaded loaded;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 0);
    int fd = eventfd(0, 0);
    int queue_fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(watch_queue_3(0, 0, 1, queue_fd), NRT_SUCCESS);
    assert_int_equal(watch_queue_3(0, 3, 0, queue_fd), NRT_INVALID);
    assert_int_equal(watch_queue_3(-1, 0, 0, queue_fd), NRT_INVALID);
    assert_int_equal(write_3(loaded.x, values, 0, sizeof values, 0, 1, &statuses[0], &seq[0]),
                     NRT_SUCCESS);
    assert_int_equal(copy_3(loaded.x, 4, loaded.x, 16, 4, 0, 1, NULL, &seq[1]), NRT_SUCCESS);
    assert_int_equal(read_3(back, loaded.x, 4, sizeof back, 0, 1, &statuses[1], &seq[2]),
                     NRT_SUCCESS);
    /* One queue, so they run in order, and the last one completes all. */
    assert_int_equal(NRTA_SEQ_GET_SEQ_NUM(seq[2]), 3);
    assert_int_equal(watch_3(seq[2], fd), NRT_SUCCESS);
    wait_readable(fd);
    wait_complete(seq[2]);
    assert_memory_equal(back, ((float[]){ 1.0f, 2.0f, 3.0f, 1.0f }), sizeof back);
    assert_int_equal(statuses[0], NRT_SUCCESS);
    assert_int_equal(statuses[1], NRT_SUCCESS);
    uint64_t completions = 0;
    assert_int_equal(eventfd_read(queue_fd, &completions), 0);
    assert_int_equal(completions, 3);
    assert_int_equal(get_sequence_3(0, 0, 1, &seq[3]), NRT_SUCCESS);
    assert_true(seq[3] == seq[2]);
    assert_int_equal(get_sequence_3(0, 3, 0, &seq[3]), NRT_INVALID);

    assert_int_equal(
        execute_3(loaded.model, loaded.inputs, loaded.outputs, 0, &statuses[2], &seq[0]),
        NRT_SUCCESS);
    wait_complete(seq[0]); /* sequences are the same in both forms */
    assert_int_equal(statuses[2], NRT_EXEC_COMPLETED_WITH_NUM_ERR);

    assert_int_equal(execute_3(loaded.model, loaded.inputs, loaded.outputs, 1, NULL, &seq[0]),
                     NRT_INVALID);
    assert_int_equal(write_3(loaded.x, values, 0, 4, 1, 0, NULL, &seq[0]), NRT_INVALID);
    assert_int_equal(write_3(loaded.x, values, 0, 4, -1, 0, NULL, &seq[0]), NRT_INVALID);
    assert_int_equal(write_3(loaded.x, values, 0, 4, 0, 2, NULL, &seq[0]), NRT_INVALID);
    assert_int_equal(write_3(loaded.x, values, 0, 4, 0, -1, NULL, &seq[0]), NRT_INVALID);
    assert_int_equal(write_3(loaded.x, values, TEST_MODEL_BYTES, 4, 0, 0, NULL, NULL), NRT_INVALID);
    assert_int_equal(write_3(loaded.x, NULL, 0, 4, 0, 0, NULL, NULL), NRT_INVALID);
    close(fd);
    close(queue_fd);
    loaded_fini(&loaded);
}

static void asynchronous_symbols_have_two_versions_with_3_0_as_default(void **state)
{
    static const char *const names[] = { "nrta_tensor_write", "nrta_tensor_read",
                                         "nrta_tensor_copy",  "nrta_execute_schedule",
                                         "nrta_is_completed", "nrta_get_sequence",
                                         "nrta_cc_prepare",   "nrta_cc_schedule" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const void *older = dlvsym(RTLD_DEFAULT, names[i], "NRT_2.0.0");
        const void *newer = dlvsym(RTLD_DEFAULT, names[i], "NRT_3.0.0");

        assert_non_null(older);
        assert_non_null(newer);
        assert_ptr_not_equal(older, newer);
        assert_ptr_equal(newer, dlsym(RTLD_DEFAULT, names[i]));
    }
    /* This file uses the header's form. */
    assert_ptr_equal((void *)nrta_is_completed,
                     dlvsym(RTLD_DEFAULT, "nrta_is_completed", "NRT_2.0.0"));
}

static void closing_completes_queued_work_and_old_handles_are_rejected(void **state)
{
    nrta_error_tracker_t *tracker = NULL;
    const nrta_error_t *errors = NULL;
    NRT_STATUS statuses[8];
    struct loaded loaded;
    nrta_seq_t seq = 0;
    bool is_completed;
    size_t count;
    int fd = -1;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 0);
    assert_int_equal(nrta_error_tracker_create(0, &tracker), NRT_SUCCESS);
    for (int i = 0; i < 8; i++) {
        statuses[i] = NRT_QUEUE_EMPTY;
        assert_int_equal(
            execute_3(loaded.model, loaded.inputs, loaded.outputs, 0, &statuses[i], &seq),
            NRT_SUCCESS);
    }
    assert_int_equal(nrta_get_completion_handle(seq, &fd), NRT_SUCCESS);
    nrt_close();
    for (int i = 0; i < 8; i++) {
        assert_int_equal(statuses[i], NRT_SUCCESS);
    }
    wait_readable(fd);
    close(fd);
    assert_int_equal(nrta_is_completed(seq, &is_completed), NRT_CLOSED);
    assert_int_equal(nrta_get_completion_handle(seq, &fd), NRT_CLOSED);
    assert_int_equal(nrta_error_tracker_get_list(tracker, &errors, &count), NRT_CLOSED);
    nrta_error_tracker_destroy(tracker);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrta_error_tracker_get_list(tracker, &errors, &count), NRT_INVALID_HANDLE);
    assert_int_equal(nrta_is_completed(seq, &is_completed), NRT_INVALID);
    nrta_error_tracker_destroy(tracker);
}

static void *stress_thread(void *ctx)
{
    struct loaded *loaded = ctx;
    static _Thread_local float values[64];
    nrta_seq_t seq = 0;
    intptr_t bad = 0;

    for (int i = 0; i < STRESS_ROUNDS; i++) {
        NRT_STATUS status =
            nrta_execute_schedule(loaded->model, loaded->inputs, loaded->outputs, 0, NULL, &seq);

        if (status == NRT_QUEUE_FULL) {
            (void)nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, &seq);
        } else if (status != NRT_SUCCESS) {
            bad++;
        }
        nrt_tensor_t *tensor = NULL;
        if (nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, 0, sizeof values, "t", &tensor) !=
            NRT_SUCCESS) {
            bad++;
            continue;
        }
        status = nrta_tensor_write(tensor, values, 0, sizeof values, i % 2, NULL, &seq);
        if (status == NRT_SUCCESS) {
            bool is_completed = false;
            while (!is_completed && nrta_is_completed(seq, &is_completed) == NRT_SUCCESS) {
                sched_yield();
            }
        } else if (status != NRT_QUEUE_FULL) {
            bad++;
        }
        nrt_tensor_free(&tensor);
    }
    return (void *)bad;
}

static void concurrent_asynchronous_calls_of_several_threads_succeed(void **state)
{
    pthread_t threads[STRESS_THREADS];
    struct loaded loaded;
    void *bad = NULL;

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_adder(&loaded, NULL, 0);
    for (int i = 0; i < STRESS_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, stress_thread, &loaded), 0);
    }
    for (int i = 0; i < STRESS_THREADS; i++) {
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    /* Queued work holds the model, so this waits for it. */
    loaded_fini(&loaded);
    nrt_close();
}

static void calls_of_the_collectives_library_have_no_effect(void **state)
{
    static char log[1 << 14];
    const struct runtime *runtime = *state;
    char *log_path = test_scratch_path(runtime->folder, "log");
    nec_version_info_t version = { .major = 7 };
    enc_host_mem_t memory = { { 7 } };
    uint32_t domain = 7;
    uint32_t size = 7;
    uint8_t slot = 7;
    int peer = 7;

    setenv("NEURON_RT_LOG_LEVEL", "WARN", 1);
    setenv("NEURON_RT_LOG_LOCATION", log_path, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nec_get_virtual_core_size(&size), NRT_FAILURE);
    assert_int_equal(nec_get_device_count(&peer, 1), -1);
    assert_int_equal(nec_get_dynamic_send_size_bytes(NULL, 4, 0, 1), 0);
    assert_false(nec_is_mla_available(0, 0));
    nec_inc_semaphore(&size, 1);
    assert_int_equal(nec_get_version_info(&version), NRT_FAILURE);
    assert_int_equal(nec_get_dynamic_send_offset_bytes(&memory, 4, 0, 1), 0);
    assert_int_equal(nec_get_dynamic_recv_offset_bytes(&memory, 4, 0, 1), 0);
    nec_set_recv_size_bytes(&memory, 4, 4, 0, 1);
    assert_int_equal(nec_get_device_pci_bdf(0, &domain, &size, &slot, &slot), -1);
    assert_int_equal(nec_build_port_and_rid_map(0, &peer, &peer, 1), NRT_FAILURE);
    assert_int_equal(nec_mla_idx_to_rid(0, 0), -1);
    assert_int_equal(nec_rid_to_mla_idx(0, 0), -1);
    assert_int_equal(nec_get_peer_mla_idx(0, 0, 0), -1);
    assert_int_equal(nec_get_p2p_pod_peer_node(0, 0, 0, &peer), -1);
    assert_int_equal(nec_pod_node_can_access_peer_node(NEC_POD_TYPE_P2P, 0, 0, 0, 0, &peer),
                     NRT_FAILURE);
    nec_ndl_printk(log, 1, 0);
    /* The second time, nothing is printed. */
    assert_int_equal(nec_get_device_count(&peer, 1), -1);
    assert_int_equal(size, 7);
    assert_int_equal(peer, 7);
    assert_int_equal(domain, 7);
    assert_int_equal(slot, 7);
    assert_int_equal(version.major, 7);
    assert_int_equal(memory.opaque[0], 7);
    assert_true(ntk_fs_read_text(log_path, log, sizeof log) > 0);
    int lines = 0;
    for (const char *line = strstr(log, "no device network"); line;
         line = strstr(line + 1, "no device network")) {
        lines++;
    }
    assert_int_equal(lines, 17);
    assert_non_null(strstr(log, "  WARN     NRT:nec_get_device_count "));
    free(log_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, runtime_teardown)
        TEST(implicit_executions_call_back_in_order_and_fail_if_the_queue_is_full),
        TEST(reports_count_executions_that_the_queues_rejected),
        TEST(errors_of_implicit_executions_are_reported_by_callback),
        TEST(nrt_close_waits_for_callbacks_that_may_call_the_library),
        TEST(implicit_executions_require_the_environment_variable),
        TEST(asynchronous_calls_of_version_2_track_errors),
        TEST(asynchronous_calls_of_version_3_write_statuses_and_signal_eventfds),
        TEST(asynchronous_symbols_have_two_versions_with_3_0_as_default),
        TEST(closing_completes_queued_work_and_old_handles_are_rejected),
        TEST(concurrent_asynchronous_calls_of_several_threads_succeed),
        TEST(calls_of_the_collectives_library_have_no_effect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
