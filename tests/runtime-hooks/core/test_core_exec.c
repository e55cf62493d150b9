/* SPDX-License-Identifier: MIT */
/*
 * Executions through core.h: what they compute, how they end, and what they leave behind.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/unit.h"

#define THREADS 4
#define ROUNDS 25

static void an_execution_computes_the_results_of_its_program(void **state)
{
    struct core_fixture *f = *state;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    uint64_t before = ntk_core_device_clock_ns(f->core, 0);
    assert_int_equal(core_adder_run(f, &adder, 3.5F), NTK_CORE_COMPLETED);
    assert_int_equal(core_adder_right(f, &adder, 3.5F), TEST_MODEL_ELEMENTS);
    uint64_t first = ntk_core_device_clock_ns(f->core, 0) - before;
    assert_true(first > 0);
    assert_int_equal(core_adder_run(f, &adder, -1), NTK_CORE_COMPLETED);
    assert_int_equal(core_adder_right(f, &adder, -1), TEST_MODEL_ELEMENTS);
    /* Device time depends only on the program, never on the host. */
    assert_int_equal(ntk_core_device_clock_ns(f->core, 0) - before, 2 * first);
    assert_int_equal(ntk_core_device_clock_ns(f->core, 1), 0);
    core_adder_fini(&adder);
}

static void a_tensor_counts_the_executions_that_wrote_it(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_tensor_info info;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(core_adder_run(f, &adder, 0), NTK_CORE_COMPLETED);
        ntk_core_tensor_info_get(adder.tensors[1], &info);
        assert_int_equal(info.completed_writes, i);
    }
    ntk_core_tensor_info_get(adder.tensors[0], &info);
    assert_int_equal(info.completed_writes, 0);
    assert_int_equal(ntk_core_tensor_wait(adder.tensors[1], 3, 0), 0);
    assert_int_equal(ntk_core_tensor_wait(adder.tensors[1], 4, 1000), -ETIMEDOUT);
    ntk_core_tensor_reset_writes(adder.tensors[1]);
    ntk_core_tensor_info_get(adder.tensors[1], &info);
    assert_int_equal(info.completed_writes, 0);
    core_adder_fini(&adder);
}

static void invalid_tensors_are_rejected_without_writing(void **state)
{
    struct core_fixture *f = *state;
    struct ntk_core_tensor *missing[2], *elsewhere[2], *small[2];
    enum ntk_core_outcome outcome = NTK_CORE_COMPLETED;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        missing[i] = elsewhere[i] = small[i] = adder.tensors[i];
    }
    missing[1] = NULL;
    assert_int_equal(ntk_core_tensor_create(f->core, NTK_CORE_DEVICE, 1, TEST_MODEL_BYTES, "y",
                                            &elsewhere[1], &f->err),
                     0);
    assert_int_equal(ntk_core_tensor_create_slice(adder.tensors[1], 0, TEST_MODEL_BYTES - 1, "y",
                                                  &small[1], &f->err),
                     0);
    assert_int_equal(ntk_core_execute(adder.model, missing, 2, &outcome, &f->err), -EINVAL);
    assert_int_equal(ntk_core_execute(adder.model, elsewhere, 2, &outcome, &f->err), -EINVAL);
    assert_int_equal(ntk_core_execute(adder.model, small, 2, &outcome, &f->err), -EINVAL);
    assert_int_equal(ntk_core_execute(adder.model, adder.tensors, 1, &outcome, &f->err), -EINVAL);
    assert_true(f->err.text[0] != '\0');
    assert_int_equal(core_adder_right(f, &adder, 0), 1); /* y is zero: only y[0] is 0 + 0 */
    assert_int_equal(ntk_core_device_clock_ns(f->core, 0), 0);
    ntk_core_tensor_destroy(elsewhere[1]);
    ntk_core_tensor_destroy(small[1]);
    core_adder_fini(&adder);
}

static void a_nan_fails_an_execution_only_if_requested(void **state)
{
    struct core_fixture *f = *state;

    for (int report = 0; report < 2; report++) {
        const struct ntk_core_options options = { .lnc = 1,
                                                  .report_numerical_errors = report == 1 };
        struct core_adder adder;

        core_fixture_open(f, &options);
        core_adder_init(f, &adder, NULL, NULL);
        assert_int_equal(core_adder_run(f, &adder, NAN),
                         report ? NTK_CORE_NUMERICAL_ERROR : NTK_CORE_COMPLETED);
        assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
        core_adder_fini(&adder);
        core_fixture_close(f);
    }
}

static void a_deadlocked_program_times_out_at_once(void **state)
{
    const struct test_model_options model = { .deadlock = 1 };
    const struct ntk_core_load_options options = { .execution_timeout_ns = UINT64_C(600000000000) };
    struct core_fixture *f = *state;
    struct core_adder adder;

    core_adder_init(f, &adder, &model, &options);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_TIMED_OUT);
    assert_true(f->err.text[0] != '\0');
    core_adder_fini(&adder);
    core_adder_init(f, &adder, NULL, NULL); /* the core works again */
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    core_adder_fini(&adder);
}

struct job {
    struct core_fixture *f;
    struct core_adder adder;
    struct core_fixture own; /* for a separate error per thread */
    size_t right;
};

static void *job_run(void *ctx)
{
    struct job *job = ctx;

    job->own.core = job->f->core;
    for (int i = 0; i < ROUNDS; i++) {
        if (core_adder_run(&job->own, &job->adder, (float)i) == NTK_CORE_COMPLETED) {
            job->right += core_adder_right(&job->own, &job->adder, (float)i);
        }
    }
    return NULL;
}

static void threads_that_share_a_core_receive_separate_results(void **state)
{
    struct core_fixture *f = *state;
    struct job jobs[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        const struct ntk_core_load_options options = { .nc = (uint32_t)i % 2 };

        jobs[i] = (struct job){ .f = f };
        core_adder_init(f, &jobs[i].adder, NULL, &options);
        assert_int_equal(ntk_core_model_nc(jobs[i].adder.model), i % 2);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, job_run, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(jobs[i].right, ROUNDS * TEST_MODEL_ELEMENTS);
        core_adder_fini(&jobs[i].adder);
    }
    assert_int_equal(ntk_core_device_clock_ns(f->core, 0), ntk_core_device_clock_ns(f->core, 1));
}

/* The outcome of each fault of the table, in terms of core.h. */
static void every_fault_has_the_outcome_in_the_table(void **state)
{
    static const struct {
        const char *name;
        enum ntk_core_outcome outcome;
        bool is_fatal;
    } faults[] = {
#define NTK_FAULT(symbol, name, outcome, counter, unhealthy, code, fatal) { name, outcome, fatal },
#include "runtime-hooks/core/core_fault.def"
#undef NTK_FAULT
    };
    const struct ntk_core_options healthy = { .lnc = 1 };
    struct core_fixture *f = *state;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct ntk_core_load_options second = { .nc = 1 };
        struct core_adder adder, other;
        char text[64];
        const struct ntk_core_options options = { .lnc = 1, .faults = { .value = text } };

        (void)snprintf(text, sizeof text, "%s:at=2,core=0", faults[i].name);
        core_fixture_open(f, &options);
        core_adder_init(f, &adder, NULL, NULL);
        core_adder_init(f, &other, NULL, &second);
        assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
        assert_int_equal(core_adder_run(f, &adder, 2), faults[i].outcome);
        /* A fault that ends an execution leaves the outputs unchanged; bit-flip changes one bit of
         * them. */
        assert_int_equal(
            core_adder_right(f, &adder, faults[i].outcome == NTK_CORE_COMPLETED ? 2 : 1),
            TEST_MODEL_ELEMENTS - (strcmp(faults[i].name, "bit-flip") == 0 ? 1 : 0));
        assert_int_equal(core_adder_run(f, &adder, 3),
                         faults[i].is_fatal ? NTK_CORE_DEAD : NTK_CORE_COMPLETED);
        assert_int_equal(core_adder_run(f, &other, 4), NTK_CORE_COMPLETED);
        core_adder_fini(&other);
        core_adder_fini(&adder);
        core_fixture_close(f);
    }
    core_fixture_open(f, &healthy); /* a machine that is opened again runs again */
    struct core_adder adder;
    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    core_adder_fini(&adder);
}

struct ecc_wait {
    const struct core_fixture *f;
    unsigned long long count;
};

static unsigned long long hardware_leaf(const struct core_fixture *f, const char *name)
{
    char path[512];
    char text[64];

    (void)snprintf(path, sizeof path,
                   "%s/soft/sys/devices/virtual/neuron_device/neuron0/stats/hardware/%s", f->folder,
                   name);
    return ntk_fs_read_text(path, text, sizeof text) < 0 ? 0 : strtoull(text, NULL, 10);
}

static int has_ecc(void *ctx)
{
    const struct ecc_wait *wait = ctx;

    return hardware_leaf(wait->f, "mem_ecc_uncorrected") == wait->count;
}

/* Method: a fault on one core after another. The heartbeat counts the rounds of the publisher, one
 * per second: when the fault appears in the tree, it must be unchanged. */
static void a_fault_is_published_in_the_device_tree_at_once(void **state)
{
    const struct ntk_core_options options = { .lnc = 1,
                                              .machine.instance.value = "trn2.3xlarge",
                                              .faults.value = "hbm-ue:at=1,core=each" };
    struct core_fixture *f = *state;
    unsigned int before_round = 0;

    core_fixture_open(f, &options);
    for (uint32_t nc = 0; nc < 8; nc++) {
        const struct ntk_core_load_options place = { .nc = nc };
        struct ecc_wait wait = { f, nc + 1 };
        struct core_adder adder;

        core_adder_init(f, &adder, NULL, &place);
        unsigned long long heartbeat = hardware_leaf(f, "health_status/healthcheck_heartbeat");
        assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_HBM_ERROR);
        assert_true(test_wait_until(has_ecc, &wait));
        before_round += hardware_leaf(f, "health_status/healthcheck_heartbeat") == heartbeat;
        core_adder_fini(&adder);
    }
    assert_true(before_round >= 4);
    core_fixture_close(f);
}

static void an_invalid_setting_fails_the_open_with_a_message(void **state)
{
    const struct ntk_core_options options[] = {
        { .lnc = 1, .faults = { "THE_FAULTS", "hbm-ue:at=0" } },
        { .lnc = 1, .machine.instance = { "THE_MACHINE", "abacus" } },
        { .lnc = 1, .machine.instance = { .value = "abacus" } },
    };
    static const char *const sentences[] = { "THE_FAULTS: 'at=0' is invalid",
                                             "THE_MACHINE: unknown machine 'abacus': expected ",
                                             "unknown machine 'abacus': expected " };
    struct core_fixture *f = *state;

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        assert_int_equal(ntk_core_open(&options[i], &f->core, &f->err), -EINVAL);
        assert_memory_equal(f->err.text, sentences[i], strlen(sentences[i]));
        assert_null(f->core);
    }
}

/* Method: every variable that a front may have read is set to something else. */
static void the_core_does_not_read_environment_variables(void **state)
{
    static const char *const variables[][2] = {
        { "NEURON_SOFT_INSTANCE", "abacus" },
        { "NEURON_SOFT_FAULT", "hbm-ue:every=1" },
        { "NEURON_SOFT_PACE", "1" },
        { "NEURON_SOFT_SYSFS", "new" },
        { "NEURON_RT_NUM_CORES", "1" },
        { "NEURON_RT_VISIBLE_CORES", "1" },
        { "NEURON_RT_VIRTUAL_CORE_SIZE", "2" },
    };
    const struct ntk_core_options options = { .lnc = 1 };
    const struct ntk_core_machine_options any = { .new_tree = false };
    struct core_fixture *f = *state;
    struct ntk_core_machine machine;
    struct core_adder adder;

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        setenv(variables[i][0], variables[i][1], 1);
    }
    assert_int_equal(ntk_core_machine_find(&any, &machine, &f->err), 0);
    assert_string_equal(machine.instance, "trn1.2xlarge");
    core_fixture_open(f, &options);
    assert_int_equal(ntk_core_count(f->core), 2);
    assert_string_equal(ntk_core_driver_version(f->core), "2.30.2.0");
    core_adder_init(f, &adder, NULL, NULL);
    assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
    core_adder_fini(&adder);
}

/* Method: a clock on which waits end at once shows how long the host waited. */
static void a_paced_execution_takes_device_time_on_the_host(void **state)
{
    static const char *const faults[] = { NULL, "slow-hbm:from=1,factor=100",
                                          "pause:at=1,time=5ms" };
    enum { COUNT = sizeof faults / sizeof *faults };
    struct core_fixture *f = *state;
    uint64_t device_ns[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        struct test_clock clock;
        struct core_adder adder;
        const struct ntk_core_options options = {
            .lnc = 1, .is_paced = true, .clock = &clock.clock, .faults = { .value = faults[i] }
        };

        test_clock_init(&clock);
        clock.passes_waits = true;
        core_fixture_open(f, &options);
        core_adder_init(f, &adder, NULL, NULL);
        uint64_t begin_ns = test_clock_now_ns(&clock);
        assert_int_equal(core_adder_run(f, &adder, 1), NTK_CORE_COMPLETED);
        device_ns[i] = ntk_core_device_clock_ns(f->core, 0);
        assert_int_equal(test_clock_now_ns(&clock) - begin_ns, device_ns[i]);
        core_adder_fini(&adder);
        core_fixture_close(f);
        test_clock_fini(&clock);
    }
    assert_true(device_ns[0] > 0 && device_ns[1] > device_ns[0]);
    assert_int_equal(device_ns[2], device_ns[0] + 5 * NTK_NS_PER_MS);
}

#define OPEN(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, core_fixture_teardown)
#define SHUT(name) \
    cmocka_unit_test_setup_teardown(name, core_fixture_prepare, core_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(an_execution_computes_the_results_of_its_program),
        OPEN(a_tensor_counts_the_executions_that_wrote_it),
        OPEN(invalid_tensors_are_rejected_without_writing),
        SHUT(a_nan_fails_an_execution_only_if_requested),
        OPEN(a_deadlocked_program_times_out_at_once),
        OPEN(threads_that_share_a_core_receive_separate_results),
        SHUT(every_fault_has_the_outcome_in_the_table),
        SHUT(a_fault_is_published_in_the_device_tree_at_once),
        SHUT(an_invalid_setting_fails_the_open_with_a_message),
        SHUT(the_core_does_not_read_environment_variables),
        SHUT(a_paced_execution_takes_device_time_on_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
