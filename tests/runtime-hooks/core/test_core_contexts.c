/* SPDX-License-Identifier: MIT */
/*
 * Memory for data between the steps of concurrent executions: allocated when the model is loaded,
 * listed under its category, and freed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/ring/ring_registry.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/runtime-hooks/core/pipelines.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

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

/* Nodes of 3 and 1 subgraphs. h1 and h3 pass between the nodes, on the host; h2 passes within the
 * first one, next to its second core. tensor_bytes: only the first node, with tensors of this
 * size. */
static int load(struct core_fixture *f, uint32_t depth, uint32_t core_limit,
                const uint64_t *tensor_bytes, struct ntk_core_model **out_model)
{
    static const uint32_t lengths[] = { 3, 1 };
    const struct ntk_core_load_options options = { .features_mask = UINT64_MAX,
                                                   .depth = depth,
                                                   .core_limit = core_limit,
                                                   .nodes_may_take_turns = true };
    size_t bytes = 0;
    uint8_t *neff = pipelines_make(lengths, tensor_bytes ? 1 : 2, 1, &bytes);

    if (tensor_bytes) {
        char size[24];

        (void)snprintf(size, sizeof size, "%llu", (unsigned long long)*tensor_bytes);
        uint8_t *changed = neff_change(neff, bytes, "sg0", "32768", size, &bytes);
        free(neff);
        neff = changed;
    }
    int ret = ntk_core_model_load(f->core, neff, bytes, &options, out_model, &f->err);
    free(neff);
    return ret;
}

static uint64_t used(struct core_fixture *f)
{
    struct ntk_core_memory memory = { 0 };

    assert_int_equal(ntk_core_memory_get(f->core, 0, &memory), 0);
    return memory.used_bytes;
}

static void memory_for_concurrent_executions_is_reserved_at_load(void **state)
{
    static const struct {
        uint32_t depth, core_limit, context_count;
    } cases[] = { { 0, 0, 1 }, { 1, 0, 1 }, { 2, 0, 2 }, { 7, 4, 7 }, { 7, 3, 1 } };
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    uint64_t before = used(f), first[2] = { 0 };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool takes_turns = cases[i].core_limit == 3;

        assert_int_equal(load(f, cases[i].depth, cases[i].core_limit, NULL, &model), 0);
        assert_int_equal(ntk_core_model_takes_turns(model), takes_turns);
        if (first[takes_turns] == 0) {
            first[takes_turns] = used(f);
        }
        assert_int_equal(used(f) - first[takes_turns],
                         (cases[i].context_count - 1) * PIPELINE_BYTES);
        ntk_core_model_unload(model);
        assert_int_equal(used(f), before);
    }
}

/* Method: h1 and h2 are next to cores of the same stack, which has room for two of each. */
static void a_load_without_memory_for_concurrent_executions_fails(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_model *model = NULL;
    uint64_t before = used(f);
    uint64_t bytes = UINT64_C(1) << 29;

    assert_int_equal(load(f, 2, 0, &bytes, &model), 0);
    ntk_core_model_unload(model);
    assert_int_equal(used(f), before);
    model = NULL;
    assert_int_equal(load(f, 4, 0, &bytes, &model), -ENOMEM);
    assert_non_null(strstr(f->err.text, "the HBM stack has"));
    assert_null(model);
    assert_int_equal(used(f), before);
}

/* --- as seen by other processes --------------------------------------------------------------- */

#define DEPTH 3

static int child_loads(struct observed *side, void *folder)
{
    struct ntk_core_model *model = NULL;
    void *state = NULL;

    (void)core_fixture_prepare(&state);
    struct core_fixture *f = state;
    setenv("NEURON_HOOKS_DIR", folder, 1);
    machine_open(f);
    observed_send(side, (uint64_t)load(f, DEPTH, 0, NULL, &model));
    (void)observed_receive(side);
    ntk_core_model_unload(model);
    observed_send(side, 0);
    (void)observed_receive(side);
    (void)core_fixture_teardown(&state);
    return 0;
}

static uint64_t rows_sum(const struct ntk_ring_segment *segment, enum ntk_memory_category category)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    size_t count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += rows[i].category == category ? rows[i].current_bytes : 0;
    }
    return bytes;
}

static void execution_memory_is_recorded_by_category(void **state)
{
    struct core_fixture *f = *state;
    const struct ntk_ring_options options = { .folder = f->folder };
    struct ntk_ring_registry *registry = NULL;

    struct observed side = observed_start(f->folder, child_loads, f->folder);
    assert_int_equal(observed_receive(&side), 0);
    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    assert_int_equal(ntk_ring_registry_poll(registry, NULL, NULL), 0);
    const struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, 0);
    assert_int_equal(rows_sum(segment, NTK_MEMORY_SCRATCHPAD), DEPTH * PIPELINE_BYTES);
    assert_int_equal(rows_sum(segment, NTK_MEMORY_HOST_DMA_BUFFERS), DEPTH * 2 * PIPELINE_BYTES);
    observed_send(&side, 0);
    (void)observed_receive(&side);
    assert_int_equal(rows_sum(segment, NTK_MEMORY_SCRATCHPAD), 0);
    assert_int_equal(rows_sum(segment, NTK_MEMORY_HOST_DMA_BUFFERS), 0);
    ntk_ring_registry_close(registry);
    observed_send(&side, 0);
    assert_int_equal(observed_finish(&side, 0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, core_fixture_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(memory_for_concurrent_executions_is_reserved_at_load),
        TEST(a_load_without_memory_for_concurrent_executions_fails),
        cmocka_unit_test_setup_teardown(execution_memory_is_recorded_by_category,
                                        core_fixture_prepare, core_fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
