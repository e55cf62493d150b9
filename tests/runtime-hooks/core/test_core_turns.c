/* SPDX-License-Identifier: MIT */
/*
 * Nodes that take turns on the same cores: the conditions, the contents of memory after a switch,
 * the cost, and the counts.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/fs.h"
#include "shared/formats/neff/neff_build.h"
#include "shared/ring/ring_registry.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/runtime-hooks/core/pipelines.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define CORES 16 /* of an inf1.6xlarge */
#define THREADS 3
#define ROUNDS 5

static void machine_open(struct core_fixture *f)
{
    const struct ntk_core_options options = { .machine = { .instance = { "TEST", "inf1.6xlarge" } },
                                              .lnc = 1 };

    core_fixture_open(f, &options);
}

static int setup(void **state)
{
    (void)core_fixture_prepare(state);
    machine_open(*state);
    return 0;
}

static int load(struct core_fixture *f, const uint8_t *neff, size_t bytes, uint32_t core_limit,
                bool may_take_turns, struct ntk_core_model **out_model)
{
    const struct ntk_core_load_options options = { .nc = 2,
                                                   .features_mask = UINT64_MAX,
                                                   .core_limit = core_limit,
                                                   .nodes_may_take_turns = may_take_turns };

    f->err = (struct ntk_err){ 0 };
    return ntk_core_model_load(f->core, neff, bytes, &options, out_model, &f->err);
}

/* Nodes of 4 and 1 subgraphs. */
static uint8_t *four_and_one(float addend, size_t *out_bytes)
{
    static const uint32_t lengths[] = { 4, 1 };

    return pipelines_make(lengths, 2, addend, out_bytes);
}

static void tensors_make(struct core_fixture *f, const struct ntk_core_model *model,
                         struct ntk_core_tensor **out_tensors)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ntk_core_tensor_create(f->core, NTK_CORE_DEVICE, ntk_core_model_nc(model),
                                                PIPELINE_BYTES, i ? "y" : "x", &out_tensors[i],
                                                &f->err),
                         0);
    }
}

static void tensors_drop(struct ntk_core_tensor **tensors)
{
    ntk_core_tensor_destroy(tensors[0]);
    ntk_core_tensor_destroy(tensors[1]);
}

/* How many elements of y are right for x[i] = first + i. */
static size_t run(struct ntk_core_model *model, struct ntk_core_tensor **tensors, float addend,
                  float first)
{
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct ntk_err err = { 0 };
    float *values = calloc(PIPELINE_ELEMENTS, sizeof *values);
    size_t right = 0;

    for (size_t i = 0; i < PIPELINE_ELEMENTS; i++) {
        values[i] = first + (float)(i % 1000);
    }
    if (ntk_core_tensor_write(tensors[0], values, 0, PIPELINE_BYTES, &err) == 0 &&
        ntk_core_execute(model, tensors, 2, &outcome, &err) == 0 && outcome == NTK_CORE_COMPLETED &&
        ntk_core_tensor_read(tensors[1], values, 0, PIPELINE_BYTES, &err) == 0) {
        for (size_t i = 0; i < PIPELINE_ELEMENTS; i++) {
            right += values[i] == pipeline_expected(5, addend, first + (float)(i % 1000));
        }
    }
    free(values);
    return right;
}

/* --- their times ------------------------------------------------------------------------------ */

static void nodes_share_cores_in_turns_if_cores_are_too_few(void **state)
{
    static const struct {
        uint32_t core_limit;
        bool may_take_turns;
        uint32_t core_count; /* 0: refused */
        bool takes_turns;
    } cases[] = {
        { 0, true, 5, false }, { 5, true, 5, false },  { 7, true, 5, false }, { 4, true, 4, true },
        { 3, true, 0, false }, { 4, false, 0, false }, { 1, true, 0, false },
    };
    struct core_fixture *f = *state;
    size_t bytes = 0;
    uint8_t *neff = four_and_one(1, &bytes);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_core_model *model = NULL;
        struct ntk_core_tensor *tensors[2];
        int ret = load(f, neff, bytes, cases[i].core_limit, cases[i].may_take_turns, &model);

        assert_int_equal(ret, cases[i].core_count > 0 ? 0 : -ECHRNG);
        if (ret < 0) {
            char expected[160];

            (void)snprintf(expected, sizeof expected,
                           "the NEFF requires 5 NeuronCores (node 'pipe' has 4 subgraphs, and each "
                           "requires one), but may use only %u",
                           cases[i].core_limit);
            assert_string_equal(f->err.text, expected);
            continue;
        }
        assert_int_equal(ntk_core_model_nc_count(model), cases[i].core_count);
        assert_int_equal(ntk_core_model_takes_turns(model), cases[i].takes_turns);
        assert_int_equal(ntk_core_model_instance_count(model), cases[i].takes_turns ? 1 : 5);
        uint64_t beyond = ntk_core_device_clock_ns(f->core, 6);
        tensors_make(f, model, tensors);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(run(model, tensors, 1, (float)k), PIPELINE_ELEMENTS);
        }
        assert_int_equal(ntk_core_device_clock_ns(f->core, 6) > beyond, !cases[i].takes_turns);
        tensors_drop(tensors);
        ntk_core_model_unload(model);
    }
    free(neff);
}

/* Used bytes of the stacks next to the cores of the models. */
static uint64_t used(struct core_fixture *f)
{
    struct ntk_core_memory memory[2] = { { 0 } };

    assert_int_equal(ntk_core_memory_get(f->core, 2, &memory[0]), 0);
    assert_int_equal(ntk_core_memory_get(f->core, 4, &memory[1]), 0);
    return memory[0].used_bytes + memory[1].used_bytes;
}

static void nodes_that_share_cores_have_memory_on_the_same_device(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    uint64_t before = used(f), together, apart;
    size_t bytes = 0;
    uint8_t *neff = four_and_one(1, &bytes);

    assert_int_equal(load(f, neff, bytes, 5, true, &model), 0);
    apart = used(f) - before;
    ntk_core_model_unload(model);
    assert_int_equal(used(f), before);
    assert_int_equal(load(f, neff, bytes, 4, true, &model), 0);
    together = used(f) - before;
    ntk_core_model_unload(model);
    assert_int_equal(used(f), before);
    /* Core 6, where the second node is otherwise, is next to another stack. */
    assert_true(together > apart);
    free(neff);
}

/* --- results of the search -------------------------------------------------------------------- */

static const uint64_t rows_shape[] = { PIPELINE_ROWS, PIPELINE_COLUMNS };
enum { ROW = PIPELINE_COLUMNS * sizeof(float) };

/* Two nodes: x -> h through the state buffer, then y is the remaining content. */
static uint8_t *left_over_make(size_t *out_bytes)
{
    struct ntk_neff_build *build =
        ntk_neff_build_create(&(struct ntk_neff_build_options){ .name = "left-over" });
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;

    for (int n = 0; n < 2; n++) {
        struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, n == 0 ? "first" : "second");
        uint32_t queue =
            ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
        uint32_t in =
            ntk_neff_kernel_input(kernel, n == 0 ? "x" : "h", NTK_DTYPE_FLOAT32, 2, rows_shape);
        uint32_t out =
            ntk_neff_kernel_output(kernel, n == 0 ? "h" : "y", NTK_DTYPE_FLOAT32, 2, rows_shape);
        /* The second node reads its input from elsewhere. */
        ntk_neff_token loaded =
            ntk_neff_kernel_load(kernel, queue, NTK_ROWS(in, 0, ROW, PIPELINE_ROWS),
                                 n == 0 ? 0 : ROW, ROW, NTK_AFTER_NONE);

        (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(out, 0, ROW, PIPELINE_ROWS), 0, ROW,
                                    NTK_AFTER(loaded));
    }
    if (ntk_neff_build_bytes(build, &bytes, out_bytes, &err) < 0) {
        fail_msg("%s", err.text);
    }
    ntk_neff_build_destroy(build);
    return bytes;
}

static void a_node_cannot_read_data_of_the_previous_node(void **state)
{
    static uint8_t ones[PIPELINE_BYTES], zeros[PIPELINE_BYTES], got[PIPELINE_BYTES];
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    struct ntk_core_tensor *tensors[2];
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    size_t bytes = 0;
    uint8_t *neff = left_over_make(&bytes);

    memset(ones, 1, sizeof ones);
    assert_int_equal(load(f, neff, bytes, 1, true, &model), 0);
    assert_true(ntk_core_model_takes_turns(model));
    tensors_make(f, model, tensors);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ntk_core_tensor_write(tensors[0], ones, 0, sizeof ones, &f->err), 0);
        assert_int_equal(ntk_core_tensor_write(tensors[1], ones, 0, sizeof ones, &f->err), 0);
        assert_int_equal(ntk_core_execute(model, tensors, 2, &outcome, &f->err), 0);
        assert_int_equal(outcome, NTK_CORE_COMPLETED);
        assert_int_equal(ntk_core_tensor_read(tensors[1], got, 0, sizeof got, &f->err), 0);
        assert_memory_equal(got, zeros, sizeof got);
    }
    tensors_drop(tensors);
    ntk_core_model_unload(model);
    free(neff);
}

struct runner {
    struct core_fixture *f;
    struct ntk_core_model *model;
    float addend, first;
    size_t right;
};

static void *rounds_run(void *argument)
{
    struct runner *runner = argument;
    struct ntk_core_tensor *tensors[2];

    tensors_make(runner->f, runner->model, tensors);
    for (int i = 0; i < ROUNDS; i++) {
        runner->right += run(runner->model, tensors, runner->addend, runner->first + (float)i);
    }
    tensors_drop(tensors);
    return NULL;
}

/* Method: two models on the same cores, and simultaneous callers of both. */
static void concurrent_callers_do_not_mix_data(void **state)
{
    struct core_fixture *f = *state;
    struct runner runners[2 * THREADS];
    pthread_t threads[2 * THREADS];
    struct ntk_core_model *models[2] = { 0 };

    for (int m = 0; m < 2; m++) {
        size_t bytes = 0;
        uint8_t *neff = four_and_one((float)m + 1, &bytes);

        assert_int_equal(load(f, neff, bytes, 4, true, &models[m]), 0);
        free(neff);
    }
    for (int t = 0; t < 2 * THREADS; t++) {
        runners[t] = (struct runner){
            .f = f, .model = models[t % 2], .addend = (float)(t % 2) + 1, .first = (float)(100 * t)
        };
        assert_int_equal(pthread_create(&threads[t], NULL, rounds_run, &runners[t]), 0);
    }
    for (int t = 0; t < 2 * THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(runners[t].right, ROUNDS * PIPELINE_ELEMENTS);
    }
    ntk_core_model_unload(models[0]);
    ntk_core_model_unload(models[1]);
}

/* --- as seen by other processes --------------------------------------------------------------- */

static int child_runs(struct observed *side, void *folder)
{
    struct ntk_core_tensor *tensors[2];
    struct ntk_core_model *model = NULL;
    void *state = NULL;
    size_t bytes = 0, right = 0;

    (void)core_fixture_prepare(&state);
    struct core_fixture *f = state;
    setenv("NEURON_HOOKS_DIR", folder, 1);
    machine_open(f);
    for (uint32_t limit = 4; limit <= 5; limit++) {
        uint8_t *neff = four_and_one((float)limit, &bytes);

        assert_int_equal(load(f, neff, bytes, limit, true, &model), 0);
        free(neff);
        tensors_make(f, model, tensors);
        for (int i = 0; i < 3; i++) {
            right += run(model, tensors, (float)limit, (float)i);
        }
        tensors_drop(tensors);
        observed_send(side, right);
        (void)observed_receive(side);
        ntk_core_model_unload(model);
    }
    (void)core_fixture_teardown(&state);
    return 0;
}

static uint64_t inferences_of(const struct core_fixture *f, uint32_t core)
{
    char path[512];
    size_t bytes = 0;
    uint8_t *state = NULL;

    (void)snprintf(path, sizeof path, "%s/" NTK_SOFT_STATE_NAME, f->folder);
    assert_int_equal(ntk_fs_read(path, 1 << 26, &state, &bytes, NULL), 0);
    uint64_t count = ((const struct ntk_soft_state *)state)->core[core].inference_count.total;
    free(state);
    return count;
}

/* Method: the driver counts per core, the segment per process. */
static void node_switches_are_counted_and_executions_counted_once(void **state)
{
    static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    struct core_fixture *f = *state;
    const struct ntk_ring_options options = { .folder = f->folder };
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_core cores[CORES];

    struct observed side = observed_start(f->folder, child_runs, f->folder);
    assert_int_equal(observed_receive(&side), 3 * PIPELINE_ELEMENTS);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(registry, NULL, NULL), 0);
    struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, 0);
    assert_int_equal(ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS), 1);
    assert_int_equal(models[0].executions, 3);
    assert_int_equal(models[0].core_count, 4);
    /* Only the first core runs both nodes, so it switches to the second node and back. */
    assert_int_equal(models[0].node_switches, 5);
    assert_int_equal(ntk_ring_segment_cores(segment, cores, CORES), CORES);
    for (uint32_t c = 0; c < CORES; c++) {
        assert_int_equal(cores[c].counters.outcome[NTK_OUTCOME_COMPLETED], c == 2 ? 3 : 0);
        assert_int_equal(cores[c].busy_ns > 0, c >= 2 && c < 6);
    }
    for (uint32_t c = 0; c < CORES; c++) {
        assert_int_equal(inferences_of(f, c), c >= 2 && c < 6 ? 3 : 0);
    }
    observed_send(&side, 0);

    assert_int_equal(observed_receive(&side), 6 * PIPELINE_ELEMENTS);
    assert_int_equal(ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS), 2);
    assert_int_equal(models[1].executions, 3);
    assert_int_equal(models[1].core_count, 5);
    assert_int_equal(models[1].node_switches, 0);
    ntk_ring_registry_close(registry);
    observed_send(&side, 0);
    assert_int_equal(observed_finish(&side, 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, core_fixture_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(nodes_share_cores_in_turns_if_cores_are_too_few),
        TEST(nodes_that_share_cores_have_memory_on_the_same_device),
        TEST(a_node_cannot_read_data_of_the_previous_node),
        TEST(concurrent_callers_do_not_mix_data),
        cmocka_unit_test_setup_teardown(node_switches_are_counted_and_executions_counted_once,
                                        core_fixture_prepare, core_fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
