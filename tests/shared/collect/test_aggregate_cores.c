/* SPDX-License-Identifier: MIT */
/* Cores, models and memory of a process. */

#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/shared/collect/aggregate_fixture.h"
#include "tests/support/unit.h"

/* ---- cores, models, memory ---- */

static void a_logical_core_aggregates_its_two_physical_cores(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    struct ntk_core_sample logical;

    strcpy(fake->process.instance_type, "trn2.48xlarge");
    fake->process.lnc = 2;
    fake->core_count = 2;
    fake->cores[0].core = 8;
    fake->cores[1].core = 9;
    fake->cores[1].owned = true;
    see(f, fake);
    execute(fake, 2, SECOND / 10);
    fake->cores[1].busy_ns = SECOND * 4 / 10;
    fake->cores[1].counters.flops = 50;
    for (int i = 0; i < 2; i++) { /* three executions on both */
        fake->cores[i].in_flight = 3;
        fake->cores[i].running_ns = 7000;
    }
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->hardware.lnc, 2);
    assert_string_equal(f->snapshot->hardware.core_version, "v3d");
    assert_int_equal(f->snapshot->core_count, 128);
    assert_true(ntk_snapshot_logical_core(f->snapshot->runtimes[0].cores,
                                          f->snapshot->runtimes[0].core_count, 2, 4, &logical));
    assert_true(logical.utilization > 0.2999 && logical.utilization < 0.3001);
    assert_int_equal(logical.outcome[NTK_OUTCOME_COMPLETED].period, 2);
    assert_int_equal(logical.flops.period, 250);
    assert_int_equal(logical.total_latency.count, 2);
    assert_int_equal(logical.in_flight, 3);
    assert_int_equal(logical.running_ns, 7000);
    assert_int_equal(f->snapshot->runtimes[0].in_flight, 3);
    assert_true(
        ntk_snapshot_logical_core(f->snapshot->cores, f->snapshot->core_count, 2, 4, &logical));
    assert_int_equal(logical.in_flight, 3);
}

static void a_released_core_is_listed_until_its_last_counts_are_reported(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    execute(fake, 2, 1000);
    fake->cores[0].owned = false;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].core_count, 1);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].core_count, 0);
    assert_int_equal(f->snapshot->runtimes[0].outcome[NTK_OUTCOME_COMPLETED].total, 2);
}

static void an_unloaded_model_is_listed_once_more_and_keeps_its_totals(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    fake->models[0].uuid[0] = 0xab;
    see(f, fake);
    execute(fake, 2, 1000);
    fake->models[0].running = 1;
    sample(f, fake);
    finish(f);
    assert_true(f->snapshot->runtimes[0].models[0].loaded);
    assert_true(f->snapshot->runtimes[0].models[0].is_running);
    assert_string_equal(f->snapshot->runtimes[0].models[0].uuid,
                        "ab000000000000000000000000000000");

    execute(fake, 1, 1000);
    fake->models[0].running = 0;
    fake->models[0].state = NTK_MODEL_UNLOADED;
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].model_count, 1);
    assert_false(f->snapshot->runtimes[0].models[0].loaded);
    assert_int_equal(f->snapshot->runtimes[0].models[0].executions.period, 1);

    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].model_count, 0);

    /* another model of the same name takes the slot */
    fake->models[0].id = 10002;
    fake->models[0].state = NTK_MODEL_LOADED;
    fake->models[0].executions = 0;
    memset(&fake->model_histograms[0], 0, sizeof fake->model_histograms[0]);
    execute(fake, 4, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].models[0].executions.period, 4);
    assert_int_equal(f->snapshot->runtimes[0].series_count, 1);
    assert_int_equal(f->snapshot->runtimes[0].series[0].total.count, 7);
}

static void the_peak_of_a_memory_group_is_its_highest_sum(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    see(f, fake);
    fake->memory_count = 3;
    fake->memory[0] = (struct ntk_ring_memory){ .core = 3,
                                                .category = NTK_MEMORY_CONSTANTS,
                                                .location = 1,
                                                .model = 10001,
                                                .current_bytes = 100,
                                                .peak_bytes = 100 };
    fake->memory[1] = (struct ntk_ring_memory){ .core = 3,
                                                .category = NTK_MEMORY_CONSTANTS,
                                                .location = 1,
                                                .model = 10002,
                                                .current_bytes = 50,
                                                .peak_bytes = 60 };
    fake->memory[2] = (struct ntk_ring_memory){ .core = NTK_NO_CORE,
                                                .category = NTK_MEMORY_HOST_APPLICATION,
                                                .current_bytes = 10,
                                                .peak_bytes = 10 };
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_count, 3);
    assert_int_equal(runtime->memory_by_category_count, 2);
    assert_int_equal(runtime->memory_by_category[0].current_bytes, 150);
    assert_int_equal(runtime->memory_by_category[0].peak_bytes, 150);
    assert_int_equal(runtime->memory_by_category[1].core, NTK_NO_CORE);
    assert_int_equal(runtime->memory_by_category[1].location, NTK_MEMORY_HOST);
    /* core 3 is the second core of device 1, with a separate stack */
    assert_int_equal(f->snapshot->devices[1].memory_used_bytes[1], 150);

    fake->memory[0].current_bytes = 0;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_by_category[0].current_bytes, 50);
    assert_int_equal(runtime->memory_by_category[0].peak_bytes, 150);
}

static void device_figures_are_absent_for_a_runtime_without_software_cores(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
    const struct ntk_runtime_sample *runtime;

    fake->process.flags = 0;
    see(f, fake);
    execute(fake, 1, 1000);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_false(runtime->software);
    assert_false(runtime->has_device_latency);
    assert_int_equal(runtime->cores[0].has &
                         (NTK_CORE_HAS_ENGINES | NTK_CORE_HAS_FLOPS | NTK_CORE_HAS_DEVICE_LATENCY),
                     0);
    assert_int_equal(runtime->cores[0].has & (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_LATENCY),
                     NTK_CORE_HAS_BUSY | NTK_CORE_HAS_LATENCY);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, aggregate_setup, aggregate_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_logical_core_aggregates_its_two_physical_cores),
        TEST(a_released_core_is_listed_until_its_last_counts_are_reported),
        TEST(an_unloaded_model_is_listed_once_more_and_keeps_its_totals),
        TEST(the_peak_of_a_memory_group_is_its_highest_sum),
        TEST(device_figures_are_absent_for_a_runtime_without_software_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
