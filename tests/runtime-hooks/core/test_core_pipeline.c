/* SPDX-License-Identifier: MIT */
/*
 * Nodes of several subgraphs on first-generation chips: what they compute on which core, what is
 * between the cores, what is counted, and which files are rejected.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shared/ring/ring_registry.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/runtime-hooks/core/pipelines.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define THREADS 4
#define ROUNDS 10
#define CORES 4 /* of an inf1.xlarge */

static void machine_open(struct core_fixture *f, const char *instance)
{
    const struct ntk_core_options options = { .machine = { .instance = { "TEST", instance } },
                                              .lnc = 1 };

    core_fixture_open(f, &options);
}

static int setup(void **state)
{
    (void)core_fixture_prepare(state);
    machine_open(*state, "inf1.xlarge");
    return 0;
}

static int load(struct core_fixture *f, const uint8_t *neff, size_t bytes,
                const struct ntk_core_load_options *options, struct ntk_core_model **out_model)
{
    struct ntk_core_load_options full = options ? *options : (struct ntk_core_load_options){ 0 };

    full.features_mask = UINT64_MAX;
    return ntk_core_model_load(f->core, neff, bytes, &full, out_model, &f->err);
}

/* A loaded pipeline with tensors on its first core. */
struct pipeline {
    struct ntk_core_model *model;
    uint32_t length;
    float addend;
    struct ntk_core_tensor *tensors[2];
};

static void tensors_make(struct core_fixture *f, struct pipeline *p)
{
    static const char *const names[] = { "x", "y" };

    for (int i = 0; i < 2; i++) {
        assert_int_equal(ntk_core_tensor_create(f->core, NTK_CORE_DEVICE,
                                                ntk_core_model_nc(p->model), PIPELINE_BYTES,
                                                names[i], &p->tensors[i], &f->err),
                         0);
    }
}

/* Each subgraph has separate constants. */
static struct pipeline pipeline_load(struct core_fixture *f, uint32_t length, uint32_t nc,
                                     uint32_t core_count)
{
    static int addend;
    const struct ntk_core_load_options options = { .nc = nc, .core_count = core_count };

    addend++;
    struct pipeline p = { .length = length, .addend = (float)addend };
    size_t bytes = 0;
    uint8_t *neff = pipeline_make(length, p.addend, &bytes);

    if (load(f, neff, bytes, &options, &p.model) < 0) {
        fail_msg("cannot load the model: %s", f->err.text);
    }
    free(neff);
    tensors_make(f, &p);
    return p;
}

static void pipeline_unload(struct pipeline *p)
{
    ntk_core_tensor_destroy(p->tensors[0]);
    ntk_core_tensor_destroy(p->tensors[1]);
    ntk_core_model_unload(p->model);
}

/* How many elements of y are right after an execution with x[i] = first + i. */
static size_t run(struct core_fixture *f, struct pipeline *p, float first)
{
    enum ntk_core_outcome outcome = NTK_CORE_FAILED;
    struct ntk_err err = { 0 };
    float *values = calloc(PIPELINE_ELEMENTS, sizeof *values);
    size_t right = 0;

    (void)f;
    for (size_t i = 0; i < PIPELINE_ELEMENTS; i++) {
        values[i] = first + (float)(i % 1000);
    }
    if (ntk_core_tensor_write(p->tensors[0], values, 0, PIPELINE_BYTES, &err) == 0 &&
        ntk_core_execute(p->model, p->tensors, 2, &outcome, &err) == 0 &&
        outcome == NTK_CORE_COMPLETED &&
        ntk_core_tensor_read(p->tensors[1], values, 0, PIPELINE_BYTES, &err) == 0) {
        for (size_t i = 0; i < PIPELINE_ELEMENTS; i++) {
            right +=
                values[i] == pipeline_expected(p->length, p->addend, first + (float)(i % 1000));
        }
    }
    free(values);
    return right;
}

static void each_subgraph_of_a_pipeline_runs_on_a_separate_core(void **state)
{
    struct core_fixture *f = *state;

    for (uint32_t length = 1; length <= CORES; length++) {
        uint32_t nc = CORES - length;
        uint64_t before[CORES];
        struct pipeline p = pipeline_load(f, length, nc, 0);

        assert_int_equal(ntk_core_model_nc(p.model), nc);
        assert_int_equal(ntk_core_model_nc_count(p.model), length);
        for (uint32_t c = 0; c < CORES; c++) {
            before[c] = ntk_core_device_clock_ns(f->core, c);
        }
        assert_int_equal(run(f, &p, 1), PIPELINE_ELEMENTS);
        assert_int_equal(run(f, &p, -7), PIPELINE_ELEMENTS);
        for (uint32_t c = 0; c < CORES; c++) {
            assert_int_equal(ntk_core_device_clock_ns(f->core, c) > before[c], c >= nc);
        }
        pipeline_unload(&p);
    }
}

static void copies_of_a_pipeline_are_used_alternately(void **state)
{
    struct core_fixture *f = *state;
    struct pipeline p = pipeline_load(f, 2, 0, 4);

    assert_int_equal(ntk_core_model_nc_count(p.model), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run(f, &p, (float)i), PIPELINE_ELEMENTS);
    }
    assert_true(ntk_core_device_clock_ns(f->core, 0) > 0);
    for (uint32_t c = 1; c < CORES; c++) {
        assert_int_equal(ntk_core_device_clock_ns(f->core, c),
                         ntk_core_device_clock_ns(f->core, c % 2));
    }
    pipeline_unload(&p);
}

/* Method: constants that one model left in the state buffer would show in the results of the
 * other. */
static void models_that_share_cores_keep_their_pinned_constants(void **state)
{
    struct core_fixture *f = *state;
    struct pipeline one = pipeline_load(f, 2, 0, 0);
    struct pipeline other = pipeline_load(f, 3, 1, 0);
    uint64_t first_ns, again_ns, device_ns = ntk_core_device_clock_ns(f->core, 1);

    assert_int_equal(run(f, &one, 1), PIPELINE_ELEMENTS);
    first_ns = ntk_core_device_clock_ns(f->core, 1) - device_ns;
    assert_int_equal(run(f, &one, 1), PIPELINE_ELEMENTS);
    again_ns = ntk_core_device_clock_ns(f->core, 1) - device_ns - first_ns;
    assert_true(again_ns < first_ns); /* the constants are already there */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run(f, &other, 2), PIPELINE_ELEMENTS);
        assert_int_equal(run(f, &one, 3), PIPELINE_ELEMENTS);
    }
    pipeline_unload(&other);
    assert_int_equal(run(f, &one, 4), PIPELINE_ELEMENTS);
    pipeline_unload(&one);
}

struct runner {
    struct core_fixture *f;
    struct pipeline p; /* the model is shared */
    float first;
    size_t right;
};

static void *rounds_run(void *argument)
{
    struct runner *runner = argument;

    for (int i = 0; i < ROUNDS; i++) {
        runner->right += run(runner->f, &runner->p, runner->first + (float)i);
    }
    return NULL;
}

/* Method: different numbers in every thread, so that a thread that gets another's would show. */
static void concurrent_inferences_in_a_pipeline_do_not_mix_data(void **state)
{
    struct core_fixture *f = *state;
    struct pipeline p = pipeline_load(f, CORES, 0, 0);
    struct runner runners[THREADS];
    pthread_t threads[THREADS];

    for (int t = 0; t < THREADS; t++) {
        runners[t] = (struct runner){ .f = f, .p = p, .first = (float)(1000 * t) };
        tensors_make(f, &runners[t].p);
        assert_int_equal(pthread_create(&threads[t], NULL, rounds_run, &runners[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(runners[t].right, ROUNDS * PIPELINE_ELEMENTS);
        ntk_core_tensor_destroy(runners[t].p.tensors[0]);
        ntk_core_tensor_destroy(runners[t].p.tensors[1]);
    }
    pipeline_unload(&p);
}

/* Used bytes of both stacks. */
static uint64_t used(struct core_fixture *f)
{
    struct ntk_core_memory memory[2] = { { 0 } };

    assert_int_equal(ntk_core_memory_get(f->core, 0, &memory[0]), 0);
    assert_int_equal(ntk_core_memory_get(f->core, CORES / 2, &memory[1]), 0);
    return memory[0].used_bytes + memory[1].used_bytes;
}

static void memory_between_subgraphs_is_freed_by_unloading(void **state)
{
    struct core_fixture *f = *state;
    struct pipeline p = pipeline_load(f, CORES, 0, 0);

    pipeline_unload(&p);
    uint64_t before = used(f);
    p = pipeline_load(f, CORES, 0, 0);
    assert_true(used(f) >= before + (CORES - 1 + 2) * PIPELINE_BYTES);
    assert_int_equal(run(f, &p, 1), PIPELINE_ELEMENTS);
    pipeline_unload(&p);
    assert_int_equal(used(f), before);
}

/* --- as seen by other processes --------------------------------------------------------------- */

static int child_runs(struct observed *side, void *ctx)
{
    void *state = NULL;

    (void)ctx;
    (void)core_fixture_prepare(&state);
    struct core_fixture *f = state;
    setenv("NEURON_HOOKS_DIR", ctx, 1);
    machine_open(f, "inf1.xlarge");
    struct pipeline p = pipeline_load(f, 3, 1, 0);
    size_t right = run(f, &p, 1) + run(f, &p, 2);
    observed_send(side, right);
    (void)observed_receive(side);
    pipeline_unload(&p);
    (void)core_fixture_teardown(&state);
    return 0;
}

static uint64_t row_find(const struct ntk_ring_memory *rows, size_t count, uint16_t core,
                         enum ntk_memory_category category)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += rows[i].core == core && rows[i].category == category ? rows[i].current_bytes : 0;
    }
    return bytes;
}

static void core_use_and_buffers_of_a_pipeline_are_recorded(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    static struct ntk_ring_histogram latencies;
    struct core_fixture *f = *state;
    const struct ntk_ring_options options = { .folder = f->folder };
    struct ntk_ring_registry *registry = NULL;
    struct ntk_ring_core cores[CORES];

    struct observed side = observed_start(f->folder, child_runs, f->folder);
    assert_int_equal(observed_receive(&side), 2 * PIPELINE_ELEMENTS);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(registry, NULL, NULL), 0);
    assert_int_equal(ntk_ring_registry_count(registry), 1);
    struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, 0);
    assert_int_equal(ntk_ring_segment_cores(segment, cores, CORES), CORES);
    size_t row_count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    for (uint16_t c = 0; c < CORES; c++) {
        const struct ntk_segment_core *counters = &cores[c].counters;
        bool works = c > 0;

        assert_int_equal(cores[c].busy_ns > 0, works);
        /* One inference counts as one execution, on the core where it ends. */
        assert_int_equal(counters->outcome[NTK_OUTCOME_COMPLETED], c == 3 ? 2 : 0);
        assert_int_equal(counters->engine_busy_ns[NTK_ENGINE_DVE] > 0, works);
        assert_int_equal(counters->engine_busy_ns[NTK_ENGINE_DMA] > 0, works);
        /* h1 is next to core 1, which writes it, and h2 next to core 2. */
        assert_int_equal(row_find(rows, row_count, c, NTK_MEMORY_SCRATCHPAD),
                         c == 1 || c == 2 ? PIPELINE_BYTES : 0);
    }
    assert_int_equal(ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS), 1);
    assert_int_equal(models[0].executions, 2);
    assert_int_equal(models[0].running, 0);
    assert_int_equal(ntk_ring_segment_model_histogram(segment, &models[0], &latencies), 0);
    assert_true(latencies.device.sum_ns >= cores[1].busy_ns + cores[2].busy_ns);
    assert_true(latencies.total.sum_ns >= latencies.device.sum_ns);
    ntk_ring_registry_close(registry);
    observed_send(&side, 0);
    assert_int_equal(observed_finish(&side, 0), 0);
}

/* --- files that are rejected ------------------------------------------------------------------ */

/* Method: a valid pipeline of four, in which one text is changed. */
static void a_pipeline_with_mismatched_subgraphs_is_rejected(void **state)
{
    static const struct {
        const char *member, *from, *to;
        const char *sentence;
    } cases[] = {
        { "sg02/", "\"h3\"", "\"h1\"",
          "tensor 'h1' of node 'pipe' is written by sg00 and by sg02" },
        { "sg00/", "\"x\"", "\"h2\"",
          "sg00 reads tensor 'h2' of node 'pipe' before sg01 writes it" },
        { "sg00/", "\"h1\"", "\"x2\"",
          "tensor 'x2' written by sg00 is not an output of node 'pipe', and no later subgraph "
          "reads "
          "it" },
        { "sg02/", "\"h2\"", "\"x2\"",
          "tensor 'h2' written by sg01 is not an output of node 'pipe', and no later subgraph "
          "reads "
          "it" },
        { "sg00/", "\"x\"", "\"q\"", "variable 'q' of sg00 is not a tensor of its node" },
        { "sg0", "\"h2\"", "\"x\"",
          "sg02 reads tensor 'x', which is an input of node 'pipe' but is also written by sg01" },
        { "sg01/def.json", "32768", "65536",
          "tensor 'h1' of node 'pipe' has 32768 bytes in sg00 and 65536 in sg01" },
        { "kelf-0.json", NULL, "{\"graphs\":[],\"version\":\"0.5\",\"target\":\"*\"}",
          "kelf-0.json: no graphs" },
    };
    struct core_fixture *f = *state;
    size_t bytes = 0;
    uint8_t *neff = pipeline_make(4, 1, &bytes);
    uint64_t before = used(f);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ntk_core_model *model = NULL;
        size_t changed_bytes = 0;
        uint8_t *changed =
            neff_change(neff, bytes, cases[i].member, cases[i].from, cases[i].to, &changed_bytes);

        f->err = (struct ntk_err){ 0 };
        assert_int_equal(load(f, changed, changed_bytes, NULL, &model), -EBADMSG);
        assert_string_equal(f->err.text, cases[i].sentence);
        assert_null(model);
        assert_int_equal(used(f), before);
        free(changed);
    }
    free(neff);
}

/* Method: the second subgraph reads x too, with a larger size than the first one. */
static void a_tensor_with_two_sizes_in_a_pipeline_is_rejected(void **state)
{
    static const char *const changes[][3] = {
        { "sg01/", "\"h1\"", "\"x\"" },
        { "sg01/def.json", "\"x\":{\"type\":\"input\",\"var_id\":1,\"size\":32768",
          "\"x\":{\"type\":\"input\",\"var_id\":1,\"size\":65536" },
    };
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    size_t bytes = 0;
    uint8_t *neff = pipeline_make(3, 1, &bytes);

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint8_t *changed =
            neff_change(neff, bytes, changes[i][0], changes[i][1], changes[i][2], &bytes);

        free(neff);
        neff = changed;
    }
    assert_int_equal(load(f, neff, bytes, NULL, &model), -EBADMSG);
    assert_string_equal(f->err.text,
                        "variable 'x' of sg01 has 65536 bytes, but the network's tensor has 32768");
    free(neff);
}

static void a_pipeline_with_more_stages_than_cores_is_rejected(void **state)
{
    struct core_fixture *f = *state;
    const struct ntk_core_load_options from_two = { .nc = 2 }, of_four = { .core_count = 4 };
    struct ntk_core_model *model = NULL;
    size_t bytes = 0;
    uint8_t *neff = pipeline_make(5, 1, &bytes);

    assert_int_equal(load(f, neff, bytes, NULL, &model), -ECHRNG);
    assert_string_equal(f->err.text,
                        "the NEFF requires 5 NeuronCores (node 'pipe' has 5 subgraphs, "
                        "and each requires one), but only 4 are available");
    free(neff);
    neff = pipeline_make(3, 1, &bytes);
    assert_int_equal(load(f, neff, bytes, &from_two, &model), -ECHRNG);
    assert_int_equal(load(f, neff, bytes, &of_four, &model), -EINVAL);
    assert_non_null(strstr(f->err.text, "4 is not a multiple of that"));
    assert_null(model);
    free(neff);
}

static void newer_generations_do_not_support_pipelines(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    size_t bytes = 0;
    uint8_t *neff = pipeline_make(2, 1, &bytes);

    core_fixture_close(f);
    machine_open(f, "trn1.32xlarge");
    assert_int_equal(load(f, neff, bytes, NULL, &model), -ECHRNG);
    assert_string_equal(f->err.text, "node 'pipe' has 2 subgraphs, but a logical core runs 1");
    free(neff);
}

static void a_pipeline_without_memory_for_its_buffers_is_rejected(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    size_t bytes = 0, changed_bytes = 0;
    uint8_t *neff = pipeline_make(2, 1, &bytes);
    uint8_t *changed =
        neff_change(neff, bytes, "sg0", "32768", "1099511627776", &changed_bytes); /* 1 TiB */
    uint64_t before = used(f);

    assert_int_equal(load(f, changed, changed_bytes, NULL, &model), -ENOMEM);
    assert_int_equal(used(f), before);
    free(changed);
    free(neff);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, core_fixture_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(each_subgraph_of_a_pipeline_runs_on_a_separate_core),
        TEST(copies_of_a_pipeline_are_used_alternately),
        TEST(models_that_share_cores_keep_their_pinned_constants),
        TEST(concurrent_inferences_in_a_pipeline_do_not_mix_data),
        TEST(memory_between_subgraphs_is_freed_by_unloading),
        TEST(a_pipeline_with_mismatched_subgraphs_is_rejected),
        TEST(a_tensor_with_two_sizes_in_a_pipeline_is_rejected),
        TEST(a_pipeline_with_more_stages_than_cores_is_rejected),
        TEST(newer_generations_do_not_support_pipelines),
        TEST(a_pipeline_without_memory_for_its_buffers_is_rejected),
        cmocka_unit_test_setup_teardown(core_use_and_buffers_of_a_pipeline_are_recorded,
                                        core_fixture_prepare, core_fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
