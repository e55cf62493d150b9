/* SPDX-License-Identifier: MIT */
/* The machine itself: counters of its devices, and the CPU of its host. */

#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/shared/collect/aggregate_fixture.h"
#include "tests/support/unit.h"

/* ---- devices ---- */

static void ecc_is_reported_per_period_and_as_a_total_since_the_start(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    struct ntk_device_reading reading = { .mem_ecc_uncorrected = { 17, true } };
    const struct ntk_device_sample *device;

    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    device = &finish(f)->devices[0];
    assert_int_equal(device->ecc_has, 1u << NTK_ECC_MEM_UNCORRECTED);
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, 0);
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].total, 17);

    reading.mem_ecc_uncorrected.value = 20;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    device = &finish(f)->devices[0];
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, 3);

    reading.mem_ecc_uncorrected.value = 2; /* was cleared */
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    device = &finish(f)->devices[0];
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, 2);
    assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].total, 22);
    assert_int_equal(device->ecc_counter[NTK_ECC_MEM_UNCORRECTED], 2);
    assert_int_equal(f->snapshot->hardware.device_memory_bytes, UINT64_C(34359738368));
    assert_string_equal(f->snapshot->hardware.device_type, "trainium");
}

/* Method: 12 errors while no agent ran; then the same after a reboot, for which the store has a
 * counter of 0. */
static void ecc_errors_while_no_agent_ran_are_only_in_totals(void **state)
{
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    const struct ntk_device_reading reading = { .mem_ecc_corrected = { 17, true },
                                                .sram_ecc_corrected = { 4, true } };

    for (uint64_t counter = 0; counter <= 5; counter += 5) {
        struct fixture *f;
        assert_int_equal(aggregate_setup((void **)&f), 0);
        f->stored_ecc.has = 1u << NTK_ECC_MEM_CORRECTED;
        f->stored_ecc.counter[NTK_ECC_MEM_CORRECTED] = counter;
        f->stored_ecc.total[NTK_ECC_MEM_CORRECTED] = 105;
        for (int period = 0; period < 2; period++) {
            ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
            const struct ntk_device_sample *device = &finish(f)->devices[0];
            assert_int_equal(device->ecc[NTK_ECC_MEM_CORRECTED].period, 0);
            assert_int_equal(device->ecc_unwatched[NTK_ECC_MEM_CORRECTED],
                             period == 0 ? 17 - counter : 0);
            assert_int_equal(device->ecc[NTK_ECC_MEM_CORRECTED].total, 105 + 17 - counter);
            assert_int_equal(device->ecc_unwatched[NTK_ECC_SRAM_CORRECTED], 0); /* not stored */
            assert_int_equal(device->ecc[NTK_ECC_SRAM_CORRECTED].total, 4);
        }
        assert_int_equal(aggregate_teardown((void **)&f), 0);
    }
    (void)state;
}

/* Method: the agent starts while the driver is unreachable; then its tree appears with the stored
 * counter or, for a reloaded driver, with a smaller one. */
static void ecc_errors_are_counted_once_if_the_device_tree_appears_late(void **state)
{
    struct ntk_device_info info = { .index = 0, .core_count = 2, .name = "Trainium1" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 2 };
    const struct {
        uint64_t value, period;
    } cases[] = { { 17, 0 }, { 20, 3 }, { 2, 2 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ntk_device_reading reading = { .mem_ecc_uncorrected = { cases[i].value,
                                                                             true } };
        struct fixture *f;
        assert_int_equal(aggregate_setup((void **)&f), 0);
        f->stored_ecc.has = 1u << NTK_ECC_MEM_UNCORRECTED;
        f->stored_ecc.counter[NTK_ECC_MEM_UNCORRECTED] = 17;
        f->stored_ecc.total[NTK_ECC_MEM_UNCORRECTED] = 105;
        ntk_aggregate_devices(f->aggregate, &tree, true, &reading, 1);
        const struct ntk_device_sample *device = &finish(f)->devices[0];
        assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].period, cases[i].period);
        assert_int_equal(device->ecc[NTK_ECC_MEM_UNCORRECTED].total, 105 + cases[i].period);
        assert_int_equal(aggregate_teardown((void **)&f), 0);
    }
    (void)state;
}

/* Method: a driver's tree without a segment; then a segment appears that counts the same core. */
static void cores_without_a_segment_are_reported_from_the_device_tree(void **state)
{
    struct fixture *f = *state;
    struct ntk_device_info info = { .index = 0, .core_count = 4, .name = "Inferentia" };
    struct ntk_device_tree tree = { .origin = NTK_DEVICE_ORIGIN_DRIVER,
                                    .devices = &info,
                                    .device_count = 1,
                                    .cores_per_device = 4 };
    struct ntk_device_reading reading = { 0 };
    struct ntk_device_core_reading *core = &reading.cores[3];
    struct fake *fake;

    core->busy_us = (struct ntk_device_value){ 5000000, true };
    core->inference_count = (struct ntk_device_value){ 100, true };
    core->device_memory_bytes = (struct ntk_device_value){ 1 << 20, true };
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    assert_true(ntk_aggregate_wants_device_cores(f->aggregate));
    finish(f);
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 0);

    core->busy_us.value += 500000;
    core->inference_count.value += 7;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_true(f->snapshot->cores[3].utilization == 0.5);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 7);
    assert_int_equal(f->snapshot->cores[3].has, NTK_CORE_HAS_BUSY | NTK_CORE_HAS_EXECUTIONS);
    assert_int_equal(f->snapshot->cores[0].has, 0);
    assert_int_equal(f->snapshot->devices[0].memory_used_bytes[1], 1 << 20);

    fake = make_fake(f, 0, 42, f->now + 1);
    strcpy(fake->process.instance_type, "");
    see(f, fake);
    execute(fake, 2, 1000);
    sample(f, fake);
    core->inference_count.value += 2;
    core->busy_us.value += 2;
    ntk_aggregate_devices(f->aggregate, &tree, false, &reading, 1);
    finish(f);
    assert_int_equal(f->snapshot->cores[3].outcome[NTK_OUTCOME_COMPLETED].period, 2);
    assert_int_equal(f->snapshot->cores[3].busy_ns.period, 2000);
}

/* ---- host ---- */

static void cpu_shares_are_computed_from_the_ticks_of_the_period(void **state)
{
    struct fixture *f = *state;
    struct ntk_cpu_reading cpus[2] = { { .cpu = 0 }, { .cpu = 1 } };
    struct ntk_system_reading reading = { .has = NTK_SYSTEM_HAS_CPU | NTK_SYSTEM_HAS_MEMORY |
                                                 NTK_SYSTEM_HAS_CONTEXT_SWITCHES,
                                          .average.ticks = { 1000, 10, 500, 8000 },
                                          .cpus = cpus,
                                          .cpu_count = 2,
                                          .context_switches = 5000,
                                          .memory_total_bytes = 64,
                                          .memory_used_bytes = 16 };
    struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);

    see(f, fake);
    sample(f, fake);
    ntk_aggregate_system(f->aggregate, &reading);
    ntk_aggregate_process_usage(f->aggregate, 0, 900, 300, 10);
    finish(f);
    assert_int_equal(f->snapshot->system.context_switches, 0);
    /* a single reading has no difference: memory is known, CPU time is not */
    assert_int_equal(f->snapshot->runtimes[0].has & (NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS),
                     NTK_RUNTIME_HAS_RSS);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error, "");

    reading.average.ticks[NTK_CPU_USER] += 100;
    reading.average.ticks[NTK_CPU_IDLE] += 90;
    reading.average.other_ticks += 10;
    cpus[1].ticks[NTK_CPU_SYSTEM] = 30;
    cpus[1].ticks[NTK_CPU_IDLE] = 70;
    reading.context_switches += 12;
    sample(f, fake);
    ntk_aggregate_system(f->aggregate, &reading);
    ntk_aggregate_process_usage(f->aggregate, 0, 950, 310, 20);
    finish(f);
    assert_true(f->snapshot->system.average[NTK_CPU_USER] == 0.5);
    assert_true(f->snapshot->system.average[NTK_CPU_IDLE] == 0.45);
    assert_int_equal(f->snapshot->system.cpu_count, 2);
    assert_true(f->snapshot->system.cpus[1].share[NTK_CPU_SYSTEM] == 0.3);
    assert_true(f->snapshot->system.cpus[0].share[NTK_CPU_SYSTEM] == 0);
    assert_int_equal(f->snapshot->system.context_switches, 12);
    assert_int_equal(f->snapshot->system.memory_used_bytes, 16);
    /* 50 ticks of user time in 100 ticks on 2 CPUs */
    assert_true(f->snapshot->runtimes[0].vcpu_user == 0.25);
    assert_true(f->snapshot->runtimes[0].vcpu_system == 0.05);
    assert_int_equal(f->snapshot->runtimes[0].rss_bytes, 20 * 4096);

    /* the kernel corrects its counters slightly: they did not restart */
    reading.context_switches -= 1;
    sample(f, fake);
    ntk_aggregate_system(f->aggregate, &reading);
    ntk_aggregate_process_usage(f->aggregate, 0, 949, 309, 20);
    finish(f);
    assert_int_equal(f->snapshot->system.context_switches, 0);
    assert_int_equal(f->snapshot->runtimes[0].has & NTK_RUNTIME_HAS_CPU, NTK_RUNTIME_HAS_CPU);
    assert_true(f->snapshot->runtimes[0].vcpu_user == 0);
    assert_true(f->snapshot->runtimes[0].vcpu_system == 0);

    /* without a reading: absent, not zero */
    sample(f, fake);
    ntk_aggregate_process_no_usage(f->aggregate, 0,
                                   "open /proc/42/stat: no such file or directory");
    finish(f);
    assert_int_equal(f->snapshot->system.has, 0);
    assert_int_equal(f->snapshot->runtimes[0].has & (NTK_RUNTIME_HAS_CPU | NTK_RUNTIME_HAS_RSS), 0);
    assert_string_equal(f->snapshot->runtimes[0].cpu_error,
                        "open /proc/42/stat: no such file or directory");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, aggregate_setup, aggregate_teardown)
    const struct CMUnitTest tests[] = {
        TEST(ecc_is_reported_per_period_and_as_a_total_since_the_start),
        cmocka_unit_test(ecc_errors_while_no_agent_ran_are_only_in_totals),
        cmocka_unit_test(ecc_errors_are_counted_once_if_the_device_tree_appears_late),
        TEST(cores_without_a_segment_are_reported_from_the_device_tree),
        TEST(cpu_shares_are_computed_from_the_ticks_of_the_period),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
