/* SPDX-License-Identifier: MIT */
/*
 * What is counted for executions while their model is unloaded. Method: a child executes until the
 * model is gone, while another of its threads unloads the model, repeatedly. Its counters are read
 * from outside and compared with the results of its calls.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "nrt/nrt_async.h"
#include "shared/ring/ring_registry.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define ROUNDS 100
#define THREADS 2
#define CORES_MAX 4

static struct {
    NRT_STATUS (*execute)(struct loaded *loaded);
    struct loaded loaded;
    _Atomic uint64_t accepted, full, others;
} child;

static NRT_STATUS execute_now(struct loaded *loaded)
{
    return nrt_execute(loaded->model, loaded->inputs, loaded->outputs);
}

static NRT_STATUS execute_queued(struct loaded *loaded)
{
    return nrta_execute_schedule(loaded->model, loaded->inputs, loaded->outputs, 0, NULL, NULL);
}

static void *run_until_gone(void *argument)
{
    NRT_STATUS status = NRT_SUCCESS;

    (void)argument;
    while (status == NRT_SUCCESS || status == NRT_QUEUE_FULL) {
        status = child.execute(&child.loaded);
        atomic_fetch_add(status == NRT_SUCCESS      ? &child.accepted
                         : status == NRT_QUEUE_FULL ? &child.full
                                                    : &child.others,
                         1);
    }
    return (void *)(uintptr_t)status;
}

/* False if a call did not return what it should. */
static bool round_run(const uint8_t *neff, size_t bytes)
{
    uint64_t before = atomic_load(&child.accepted);
    pthread_t threads[THREADS];
    bool is_good = true;
    void *last = NULL;

    loaded_init(&child.loaded, neff, bytes, 0);
    for (int i = 0; i < THREADS; i++) {
        is_good &= pthread_create(&threads[i], NULL, run_until_gone, NULL) == 0;
    }
    while (atomic_load(&child.accepted) == before) {
        (void)sched_yield();
    }
    is_good &= nrt_unload(child.loaded.model) == NRT_SUCCESS;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &last);
        is_good &= (uintptr_t)last == NRT_INVALID_HANDLE;
    }
    nrt_tensor_free(&child.loaded.x);
    nrt_tensor_free(&child.loaded.y);
    nrt_destroy_tensor_set(&child.loaded.inputs);
    nrt_destroy_tensor_set(&child.loaded.outputs);
    return is_good;
}

static int child_unloads(struct observed *side, void *ctx)
{
    struct test_model_options options = { 0 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    bool is_good = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS;

    (void)ctx;
    for (int i = 0; is_good && i < ROUNDS; i++) {
        is_good = round_run(neff, bytes);
    }
    free(neff);
    observed_send(side, is_good);
    observed_send(side, atomic_load(&child.accepted));
    observed_send(side, atomic_load(&child.full));
    (void)observed_receive(side);
    nrt_close();
    return 0;
}

static void counts_check(struct runtime *runtime, NRT_STATUS (*execute)(struct loaded *loaded))
{
    struct ntk_ring_options options = { .folder = runtime->folder };
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_core cores[CORES_MAX];
    uint64_t outcomes[NTK_OUTCOME_COUNT] = { 0 };

    child.execute = execute;
    struct observed side = observed_start(runtime->folder, child_unloads, NULL);
    assert_int_equal(observed_receive(&side), true);
    uint64_t accepted = observed_receive(&side);
    uint64_t full = observed_receive(&side);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(registry), 1);
    size_t count = ntk_ring_segment_cores(ntk_ring_registry_get(registry, 0), cores, CORES_MAX);
    for (size_t c = 0; c < count; c++) {
        for (int o = 0; o < NTK_OUTCOME_COUNT; o++) {
            outcomes[o] += cores[c].counters.outcome[o];
        }
    }
    ntk_ring_registry_close(registry);
    observed_send(&side, 0);
    assert_int_equal(observed_finish(&side, 0), 0);
    assert_true(accepted >= ROUNDS);
    for (int o = 0; o < NTK_OUTCOME_COUNT; o++) {
        assert_int_equal(outcomes[o], o == NTK_OUTCOME_COMPLETED         ? accepted
                                      : o == NTK_OUTCOME_FAILED_TO_QUEUE ? full
                                                                         : 0);
    }
}

static void executions_in_progress_at_the_unload_are_counted_by_outcome(void **state)
{
    counts_check(*state, execute_now);
}

static void executions_queued_before_the_unload_are_counted_by_outcome(void **state)
{
    counts_check(*state, execute_queued);
}

static void implicit_executions_queued_before_the_unload_are_counted_by_outcome(void **state)
{
    setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "8", 1);
    counts_check(*state, execute_now);
    unsetenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(executions_in_progress_at_the_unload_are_counted_by_outcome),
        TEST(executions_queued_before_the_unload_are_counted_by_outcome),
        TEST(implicit_executions_queued_before_the_unload_are_counted_by_outcome),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
