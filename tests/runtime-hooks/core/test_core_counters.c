/* SPDX-License-Identifier: MIT */
/*
 * The figures about cores, models and devices that a front may report.
 */
#include "runtime-hooks/core/core_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/unit.h"

#define RUNS 5

static struct ntk_core_counts counts_of(struct core_fixture *f, uint32_t nc)
{
    struct ntk_core_counts counts;

    assert_int_equal(ntk_core_counts_get(f->core, nc, &counts), 0);
    return counts;
}

/* The same program does the same work each time, and only on its own core. */
static void executions_are_summed_on_their_own_core(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;
    struct ntk_core_counts none = { 0 };

    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    struct ntk_core_counts once = counts_of(f, 0);
    for (int i = 1; i < RUNS; i++) {
        assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    }
    struct ntk_core_counts all = counts_of(f, 0);
    uint64_t instructions = 0;
    uint64_t waits = 0;
    for (size_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        assert_int_equal(all.engine[e].instruction_count, RUNS * once.engine[e].instruction_count);
        /* Cycles are rounded once, in the sum. */
        assert_in_range(all.engine[e].wait_cycles, RUNS * once.engine[e].wait_cycles,
                        RUNS * (once.engine[e].wait_cycles + 3));
        assert_in_range(all.engine[e].idle_cycles, RUNS * once.engine[e].idle_cycles,
                        RUNS * (once.engine[e].idle_cycles + 3));
        instructions += once.engine[e].instruction_count;
        waits += once.engine[e].wait_cycles;
    }
    assert_true(instructions > 0);
    assert_true(waits > 0); /* for the DMA that brings its input */
    assert_true(all.time_in_use_ns > once.time_in_use_ns && once.time_in_use_ns > 0);
    struct ntk_core_counts other = counts_of(f, 1);
    assert_memory_equal(&other, &none, sizeof none);
    assert_int_equal(ntk_core_counts_get(f->core, 2, &other), -EINVAL);
    core_adder_fini(&adder);
}

/* The work, wait and idle time of an engine do not exceed the device time. */
static void engine_cycles_do_not_exceed_the_device_time(void **state)
{
    const struct ntk_engine_core_spec *spec = ntk_engine_core_spec_get(2);
    struct core_fixture *f = *state;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    struct ntk_core_counts counts = counts_of(f, 0);
    uint64_t device_ns = ntk_core_device_clock_ns(f->core, 0);
    for (size_t e = 0; e < NTK_ENGINE_SEQUENCER_COUNT; e++) {
        uint64_t cycles = counts.engine[e].idle_cycles + counts.engine[e].wait_cycles;

        assert_true(cycles <= device_ns * spec->clock_mhz[e] / 1000);
        if (counts.engine[e].instruction_count == 0) {
            assert_int_equal(counts.engine[e].wait_cycles, 0);
        }
    }
    core_adder_fini(&adder);
}

static void times_of_a_single_execution_are_reported(void **state)
{
    struct ntk_core_execution_times times, again;
    struct core_fixture *f = *state;
    enum ntk_core_outcome outcome;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(
        ntk_core_execute_timed(adder.model, adder.tensors, 2, &outcome, &times, &f->err), 0);
    assert_int_equal(times.device_ns, ntk_core_device_clock_ns(f->core, 0));
    assert_int_equal(times.device_cycles,
                     times.device_ns * ntk_engine_core_spec_get(2)->clock_mhz[NTK_ENGINE_SP] /
                         1000);
    assert_in_range(times.core_ns, 1, counts_of(f, 0).time_in_use_ns);
    assert_int_equal(
        ntk_core_execute_timed(adder.model, adder.tensors, 1, &outcome, &again, &f->err), -EINVAL);
    assert_int_equal(again.device_ns + again.core_ns + again.device_cycles, 0);
    core_adder_fini(&adder);
}

static void the_memory_of_a_model_is_freed_by_unloading(void **state)
{
    struct ntk_core_device_memory before, with, after;
    struct ntk_core_model_memory model;
    struct core_fixture *f = *state;
    struct core_adder adder;

    assert_int_equal(ntk_core_device_memory_get(f->core, 0, &before), 0);
    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(ntk_core_device_memory_get(f->core, 0, &with), 0);
    ntk_core_model_memory_get(adder.model, &model);
    assert_true(model.host_bytes > 0 && model.device_bytes > 0);
    /* The two tensors of the fixture are additional. */
    assert_int_equal(with.stack_bytes[0] - before.stack_bytes[0],
                     model.device_bytes + 2 * TEST_MODEL_BYTES);
    assert_int_equal(with.host_bytes - before.host_bytes, model.host_bytes);
    core_adder_fini(&adder);
    assert_int_equal(ntk_core_device_memory_get(f->core, 0, &after), 0);
    assert_memory_equal(&after, &before, sizeof before);
}

/* Method: faults that only count. The tree belongs to the machine, and so do the counts. */
static void hardware_error_counts_belong_to_the_device(void **state)
{
    struct ntk_core_options options = { .lnc = 1 };
    struct ntk_core_device_counts counts;
    struct core_fixture *f = *state;
    struct core_adder adder;

    options.faults.value = "mem-ecc-corrected:every=1,amount=7;sram-ecc-corrected:at=2";
    core_fixture_open(f, &options);
    core_adder_init(f, &adder, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    }
    assert_int_equal(ntk_core_device_counts_get(f->core, 1, &counts), 0);
    assert_int_equal(counts.mem_ecc_corrected, 14);
    assert_int_equal(counts.sram_ecc_corrected, 1);
    assert_int_equal(counts.mem_ecc_uncorrected + counts.sram_ecc_uncorrected, 0);
    assert_int_equal(ntk_core_device_counts_get(f->core, 2, &counts), -EINVAL);
    core_adder_fini(&adder);
}

static void device_counters_are_available_if_hooks_are_disabled(void **state)
{
    const struct ntk_core_options options = { .lnc = 1 };
    struct ntk_core_model_memory model;
    struct core_fixture *f = *state;
    struct core_adder adder;

    setenv("NEURON_HOOKS", "0", 1);
    core_fixture_open(f, &options);
    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    assert_true(counts_of(f, 0).time_in_use_ns > 0);
    ntk_core_model_memory_get(adder.model, &model);
    assert_true(model.host_bytes > 0 && model.device_bytes > 0);
    core_adder_fini(&adder);
    unsetenv("NEURON_HOOKS");
}

#define OPEN(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, core_fixture_teardown)
#define SHUT(name) \
    cmocka_unit_test_setup_teardown(name, core_fixture_prepare, core_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(executions_are_summed_on_their_own_core),
        OPEN(engine_cycles_do_not_exceed_the_device_time),
        OPEN(times_of_a_single_execution_are_reported),
        OPEN(the_memory_of_a_model_is_freed_by_unloading),
        SHUT(hardware_error_counts_belong_to_the_device),
        SHUT(device_counters_are_available_if_hooks_are_disabled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
