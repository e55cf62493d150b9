/* SPDX-License-Identifier: MIT */
/* Hooks around another runtime, next to a driver's tree: what is measured, and what is absent. */

#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/shared/collect/aggregate_fixture.h"
#include "tests/support/unit.h"

/* ---- hooks around another runtime, next to a driver's tree ---- */

/* A device tree with the core that the fakes use. */
struct fake_tree {
    struct ntk_device_info info;
    struct ntk_device_tree tree;
    struct ntk_device_reading reading;
    struct ntk_device_core_reading *core;
};

static void make_tree(struct fake_tree *fake, enum ntk_device_origin origin)
{
    *fake = (struct fake_tree){
        .info = { .index = 0, .core_count = 4, .name = "Inferentia" },
        .tree = { .origin = origin, .device_count = 1, .cores_per_device = 4 },
    };
    fake->tree.devices = &fake->info;
    fake->core = &fake->reading.cores[3];
    fake->core->busy_us = (struct ntk_device_value){ 5000000, true };
    fake->core->flops = (struct ntk_device_value){ 1000, true };
    fake->core->inference_count = (struct ntk_device_value){ 100, true };
}

static void read_tree(struct fixture *f, struct fake_tree *fake)
{
    ntk_aggregate_devices(f->aggregate, &fake->tree, false, &fake->reading, 1);
}

/* A process around another runtime, younger than the collector. */
static struct fake *make_foreign(struct fixture *f, size_t index, uint32_t pid, uint32_t flags)
{
    struct fake *fake = make_fake(f, index, pid, f->now + 1);

    fake->process.flags = flags;
    fake->process.instance_type[0] = '\0';
    return fake;
}

/* Method: the calls took 0.9 s, 0.4 of it on the core, and returned 3 times; the driver has counted
 * 5. */
static void core_utilization_is_read_from_the_driver_and_results_from_calls(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;
    const struct ntk_core_sample *core;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(f, 0, 42, 0);
    see(f, fake);
    execute(fake, 3, 300000000);
    sample(f, fake);
    assert_true(ntk_aggregate_wants_device_cores(f->aggregate));
    tree.core->busy_us.value += 400000;
    tree.core->flops.value += 77;
    tree.core->inference_count.value += 5;
    read_tree(f, &tree);
    finish(f);
    assert_int_equal(f->snapshot->runtimes[0].hooks, NTK_HOOKS_PRELOADED);
    for (int machine = 0; machine < 2; machine++) {
        core = machine ? &f->snapshot->cores[3] : &f->snapshot->runtimes[0].cores[0];
        assert_int_equal(core->core, 3);
        assert_true(core->utilization == 0.4);
        assert_int_equal(core->busy_ns.period, 400000000);
        assert_false(core->busy_of_calls);
        assert_int_equal(core->effective_flops.period, 77);
        assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 3);
        assert_int_equal(core->has & ~(uint32_t)(NTK_CORE_HAS_LATENCY | NTK_CORE_HAS_HELD_IDLE),
                         NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS |
                             NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_TRANSFERS);
    }

    /* Driver counts of a runtime are summed from the time it was first seen. */
    execute(fake, 1, 1000);
    sample(f, fake);
    tree.core->busy_us.value += 100000;
    read_tree(f, &tree);
    core = &finish(f)->runtimes[0].cores[0];
    assert_int_equal(core->busy_ns.total, 500000000);
    assert_int_equal(core->effective_flops.total, 77);

    /* The process is gone: only the driver reports the core. */
    fake->ended = true;
    sample(f, fake);
    read_tree(f, &tree);
    finish(f);
    tree.core->inference_count.value += 2;
    read_tree(f, &tree);
    finish(f);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 2);
    assert_int_equal(f->snapshot->cores[3].has,
                     NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS | NTK_CORE_HAS_EXECUTIONS);
}

static void without_driver_counters_busy_time_is_derived_from_calls_and_marked(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    tree.core->busy_us.present = tree.core->flops.present = false;
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(f, 0, 42, 0);
    see(f, fake);
    execute(fake, 3, 300000000);
    sample(f, fake);
    read_tree(f, &tree);
    finish(f);
    for (int machine = 0; machine < 2; machine++) {
        const struct ntk_core_sample *core =
            machine ? &f->snapshot->cores[3] : &f->snapshot->runtimes[0].cores[0];

        assert_int_equal(core->busy_ns.period, 900000000);
        assert_true(core->busy_of_calls);
        assert_int_equal(core->has & (NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS),
                         NTK_CORE_HAS_BUSY);
    }
}

/* Method: within one period, one process exits and another starts on its core. */
static void driver_counts_shared_by_two_processes_are_assigned_to_neither(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fakes[2];

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    for (size_t i = 0; i < 2; i++) {
        fakes[i] = make_foreign(f, i, 42 + (uint32_t)i, 0);
        see(f, fakes[i]);
        execute(fakes[i], 1, 200000000);
        sample(f, fakes[i]);
    }
    tree.core->busy_us.value += 300000;
    tree.core->flops.value += 77;
    read_tree(f, &tree);
    finish(f);
    for (size_t i = 0; i < 2; i++) {
        const struct ntk_core_sample *core = &f->snapshot->runtimes[i].cores[0];

        assert_int_equal(core->busy_ns.period, 200000000);
        assert_true(core->busy_of_calls);
        assert_int_equal(core->has & NTK_CORE_HAS_EFFECTIVE_FLOPS, 0);
    }
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 300000000);
    assert_false(f->snapshot->cores[3].busy_of_calls);
    assert_int_equal(f->snapshot->cores[3].effective_flops.period, 77);
}

static void execution_counts_become_partial_if_counting_is_abandoned(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_foreign(f, 0, 42, NTK_PROCESS_ATTACHED);
    const struct ntk_runtime_sample *runtime;

    see(f, fake);
    execute(fake, 3, 1000);
    sample(f, fake);
    assert_int_equal(finish(f)->runtimes[0].executions_counted, NTK_EXECUTIONS_ALL);
    fake->process.flags |= NTK_PROCESS_NO_EXECUTIONS;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->executions_counted, NTK_EXECUTIONS_PART);
    assert_int_equal(runtime->has & NTK_RUNTIME_HAS_EXECUTIONS, 0);
}

static void unobserved_executions_are_absent_rather_than_zero(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;
    const struct ntk_runtime_sample *runtime;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(
        f, 0, 42, NTK_PROCESS_ATTACHED | NTK_PROCESS_NO_EXECUTIONS | NTK_PROCESS_CORES_GUESSED);
    see(f, fake);
    sample(f, fake);
    tree.core->busy_us.value += 400000;
    tree.core->inference_count.value += 5;
    read_tree(f, &tree);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->hooks, NTK_HOOKS_ATTACHED);
    assert_int_equal(runtime->executions_counted, NTK_EXECUTIONS_NONE);
    assert_true(runtime->cores_guessed);
    assert_int_equal(runtime->has & (NTK_RUNTIME_HAS_EXECUTIONS | NTK_RUNTIME_HAS_IN_FLIGHT), 0);
    assert_int_equal(runtime->cores[0].has,
                     NTK_CORE_HAS_TRANSFERS | NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EFFECTIVE_FLOPS);
    assert_true(runtime->cores[0].utilization == 0.4);
    assert_int_equal(runtime->models[0].has, NTK_MODEL_HAS_TOTALS);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 5);

    /* Without the driver it is also unknown how busy the core is. */
    sample(f, fake);
    tree.core->busy_us.present = tree.core->flops.present = tree.core->inference_count.present =
        false;
    read_tree(f, &tree);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->cores[0].has, NTK_CORE_HAS_TRANSFERS);
    assert_false(runtime->cores[0].busy_of_calls);
    assert_int_equal(f->snapshot->cores[3].has, NTK_CORE_HAS_TRANSFERS);
}

/* Method: two processes on a machine with the tree of a software machine, one of them not on a
 * software core. */
static void a_core_used_by_another_runtime_is_not_shown_as_idle(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *ours;
    struct fake *fake;

    make_tree(&tree, NTK_DEVICE_ORIGIN_SOFTWARE);
    strcpy(tree.tree.machine_type, "inf1.xlarge");
    memset(&tree.reading, 0, sizeof tree.reading);
    read_tree(f, &tree);
    finish(f);
    ours = make_fake(f, 0, 41, f->now + 1);
    ours->cores[0].core = 1;
    fake = make_foreign(f, 1, 42, 0);
    see(f, ours);
    see(f, fake);
    execute(ours, 1, 100000000);
    execute(fake, 1, 100000000);
    sample(f, ours);
    sample(f, fake);
    read_tree(f, &tree);
    finish(f);
    assert_int_equal(f->snapshot->cores[0].has, NTK_CORE_HAS_IDLE);
    assert_int_equal(f->snapshot->cores[1].has & NTK_CORE_HAS_IDLE, NTK_CORE_HAS_IDLE);
    assert_false(f->snapshot->cores[1].busy_of_calls);
    assert_int_equal(f->snapshot->cores[3].has,
                     NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS | NTK_CORE_HAS_TRANSFERS);
    assert_true(f->snapshot->cores[3].busy_of_calls);
}

/* After its last process has exited, the tree is no longer written. A driver would continue. */
static void stale_power_of_a_software_machine_is_omitted(void **state)
{
    static const enum ntk_device_origin origins[] = { NTK_DEVICE_ORIGIN_DRIVER,
                                                      NTK_DEVICE_ORIGIN_SOFTWARE };
    struct fixture *f = *state;

    f->now += 1000 * SECOND;
    for (size_t i = 0; i < 2; i++) {
        for (uint64_t age_s = 30; age_s <= 300; age_s += 270) {
            struct fake_tree tree;

            make_tree(&tree, origins[i]);
            tree.reading.has_power = true;
            tree.reading.power_average_percent = 7;
            read_tree(f, &tree);
            finish(f);
            tree.reading.power_timestamp_seconds =
                f->snapshot->realtime_ns / 1000000000 + 1 - age_s;
            read_tree(f, &tree);
            finish(f);
            assert_int_equal((f->snapshot->devices[0].has & NTK_DEVICE_HAS_POWER) != 0,
                             i == 0 || age_s == 30);
        }
    }
}

static void stored_totals_continue_for_a_process_of_another_runtime(void **state)
{
    struct fixture *f = *state;
    struct fake_tree tree;
    struct fake *fake;
    const struct ntk_core_sample *core;

    make_tree(&tree, NTK_DEVICE_ORIGIN_DRIVER);
    read_tree(f, &tree);
    finish(f);
    fake = make_foreign(f, 0, 42, 0);
    fake->process.clock.monotonic_ns = BEGIN - 1;
    f->stored_count = 1;
    f->stored[0].core = 3;
    f->stored[0].busy_ns.total = 70;
    f->stored[0].effective_flops.total = 7;
    f->stored[0].outcome[NTK_OUTCOME_COMPLETED].total = 2;
    execute(fake, 5, 1000);
    see(f, fake);
    execute(fake, 1, 1000);
    sample(f, fake);
    tree.core->busy_us.value += 1;
    tree.core->flops.value += 3;
    read_tree(f, &tree);
    core = &finish(f)->runtimes[0].cores[0];
    assert_int_equal(core->outcome[NTK_OUTCOME_COMPLETED].period, 4);
    assert_int_equal(core->unwatched->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(core->unwatched->busy_ns.period, 0);
    assert_int_equal(core->busy_ns.period, 1000);
    assert_int_equal(core->busy_ns.total, 1070);
    assert_int_equal(core->effective_flops.total, 10);
}

static void estimated_model_memory_is_a_row_without_a_category(void **state)
{
    struct fixture *f = *state;
    struct fake *fake = make_foreign(f, 0, 42, 0);
    const struct ntk_runtime_sample *runtime;

    fake->models[0].core = 3;
    fake->models[0].device_bytes = 5000;
    fake->models[0].flags = NTK_PROCESS_MEMORY_ESTIMATED;
    fake->memory_count = 1;
    fake->memory[0] = (struct ntk_ring_memory){
        .core = 3, .category = NTK_MEMORY_TENSORS, .current_bytes = 100, .peak_bytes = 100
    };
    see(f, fake);
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_true(runtime->models[0].memory_estimated);
    assert_true(ntk_snapshot_memory_is_estimated(runtime, 10001));
    assert_int_equal(runtime->memory_count, 2);
    assert_int_equal(runtime->memory[1].model_id, 10001);
    assert_int_equal(runtime->memory[1].category, NTK_MEMORY_UNCATEGORIZED);
    assert_int_equal(runtime->memory[1].current_bytes, 5000);
    assert_true(ntk_snapshot_tells_group(runtime, NTK_GROUP_TENSORS));
    assert_true(ntk_snapshot_tells_group(runtime, NTK_GROUP_HOST_TENSORS));
    assert_false(ntk_snapshot_tells_group(runtime, NTK_GROUP_RUNTIME));
    assert_false(ntk_snapshot_tells_group(runtime, NTK_GROUP_CONSTANTS));

    fake->models[0].state = NTK_MODEL_UNLOADED;
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_count, 1);
    assert_false(ntk_snapshot_memory_is_estimated(runtime, NTK_MEMORY_ANY));

    /* A process that records its own memory has its own rows. */
    fake->models[0].state = NTK_MODEL_LOADED;
    fake->memory_count = 2;
    fake->memory[1] = (struct ntk_ring_memory){ .core = 3,
                                                .model = 10001,
                                                .location = NTK_MEMORY_DEVICE,
                                                .category = NTK_MEMORY_CONSTANTS,
                                                .current_bytes = 4000,
                                                .peak_bytes = 4000 };
    sample(f, fake);
    runtime = &finish(f)->runtimes[0];
    assert_int_equal(runtime->memory_count, 2);
    assert_true(ntk_snapshot_tells_group(runtime, NTK_GROUP_CONSTANTS));
}

/* Method: the driver's files are cleared while the core keeps working; then the values drop by an
 * hour's worth, as if the counters of an exited process were not added up yet. */
static void a_cleared_driver_counter_counts_up_to_the_period_length(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    struct ntk_device_reading reading = { 0 };
    struct ntk_device_core_reading *core = &reading.cores[0];

    core->busy_us = (struct ntk_device_value){ UINT64_C(36000000000), true };
    core->flops = (struct ntk_device_value){ UINT64_C(900000000000000000), true };
    core->inference_count = (struct ntk_device_value){ 5000, true };
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);

    core->busy_us.value = 250000;
    core->flops.value = 1000000;
    core->inference_count.value = 3;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[0].utilization == 0.25);
    assert_int_equal(f->snapshot->cores[0].busy_ns.total, 250000000);
    assert_int_equal(f->snapshot->cores[0].effective_flops.period, 1000000);
    assert_int_equal(f->snapshot->cores[0].outcome[NTK_OUTCOME_COMPLETED].period, 3);

    core->busy_us.value = UINT64_C(36000000000);
    core->flops.value = UINT64_C(900000000000000000);
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    uint64_t busy_ns = f->snapshot->cores[0].busy_ns.total;
    uint64_t flops = f->snapshot->cores[0].effective_flops.total;
    core->busy_us.value -= UINT64_C(3600000000);
    core->flops.value -= 1;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[0].utilization == 0);
    assert_int_equal(f->snapshot->cores[0].busy_ns.period, 0);
    assert_int_equal(f->snapshot->cores[0].busy_ns.total, busy_ns);
    assert_int_equal(f->snapshot->cores[0].effective_flops.period, 0);
    assert_int_equal(f->snapshot->cores[0].effective_flops.total, flops);

    /* It continues from there. */
    core->busy_us.value += 500000;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[0].utilization == 0.5);
}

static void a_snapshot_without_devices_has_an_error_message(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_tree none = { 0 };

    ntk_aggregate_devices(f->aggregate, &none, false, NULL, 0);
    finish(f);
    assert_int_equal(f->snapshot->hardware.has, 0);
    assert_string_not_equal(f->snapshot->hardware.error, "");
    assert_int_equal(f->snapshot->core_count, 0);
    assert_int_equal(f->snapshot->device_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, aggregate_setup, aggregate_teardown)
    const struct CMUnitTest tests[] = {
        TEST(core_utilization_is_read_from_the_driver_and_results_from_calls),
        TEST(without_driver_counters_busy_time_is_derived_from_calls_and_marked),
        TEST(driver_counts_shared_by_two_processes_are_assigned_to_neither),
        TEST(execution_counts_become_partial_if_counting_is_abandoned),
        TEST(unobserved_executions_are_absent_rather_than_zero),
        TEST(a_core_used_by_another_runtime_is_not_shown_as_idle),
        TEST(stale_power_of_a_software_machine_is_omitted),
        TEST(stored_totals_continue_for_a_process_of_another_runtime),
        TEST(estimated_model_memory_is_a_row_without_a_category),
        TEST(a_cleared_driver_counter_counts_up_to_the_period_length),
        TEST(a_snapshot_without_devices_has_an_error_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
