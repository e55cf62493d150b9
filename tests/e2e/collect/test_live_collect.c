/* SPDX-License-Identifier: MIT */
/* The live path up to the snapshot: neuron-bench runs NEFFs on software NeuronCores while a
 * collector watches. Each test has its own machine in a scratch folder. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "shared/collect/collect.h"
#include "shared/device/device.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* Sums over all snapshots of a test. */
struct sums {
    uint64_t outcome[NTK_OUTCOME_COUNT];
    uint64_t latency;
    uint64_t device_latency;
    uint64_t models;
    uint64_t device_bytes_max;
    uint64_t ended; /* snapshots with `ended` */
    uint64_t loads; /* events */
    uint64_t allocs;
    uint64_t allocated;  /* bytes allocated minus bytes freed */
    uint64_t last_total; /* completed executions of the runtime */
    uint64_t snapshots;
    uint64_t core_busy_ns; /* completed executions of the machine's core 0 */
};

struct fixture {
    char *folder;
    char *no_sysfs;
    char *neff;
    char *hooks_variable;
    const char *environment[6];
    struct ntk_collector *collector;
    struct ntk_snapshot *snapshot;
    struct sums sums;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f) {
        return -1;
    }
    test_scratch_in_memory();
    f->folder = test_scratch_create();
    f->no_sysfs = test_scratch_path(f->folder, "nothing");
    f->neff = test_scratch_path(f->folder, "model.neff");
    if (asprintf(&f->hooks_variable, "NEURON_HOOKS_DIR=%s", f->folder) < 0) {
        return -1;
    }
    f->environment[0] = f->hooks_variable;
    f->environment[1] = "NEURON_SOFT_INSTANCE=trn1.2xlarge"; /* its tree is created quickly */
    f->environment[2] = "NEURON_PROCESS_TAG=bert";
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_snapshot_destroy(f->snapshot);
    ntk_collector_destroy(f->collector);
    free(f->hooks_variable);
    free(f->neff);
    free(f->no_sysfs);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void collector_open(struct fixture *f)
{
    struct ntk_collector_options options = { .reap = true,
                                             .hooks_dir = f->folder,
                                             .driver_sysfs = f->no_sysfs };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_collector_create(&options, &f->collector, &err), 0);
}

static void make_example(struct fixture *f, const char *name, const char *size, const char *lnc)
{
    const char *argv[] = { "neuron-packager", "example", name,    "-o", f->neff,
                           "--size",          size,      "--lnc", lnc,  NULL };
    struct test_run run = test_run_program(argv, f->environment);

    if (run.exit_code != 0) {
        print_error("%s", run.err);
    }
    assert_int_equal(run.exit_code, 0);
    test_run_fini(&run);
}

static pid_t bench_start(struct fixture *f, const char *cores, const char *option,
                         const char *value)
{
    const char *argv[] = { "neuron-bench", "exec", "--cores", cores, option, value, f->neff, NULL };

    return test_start_program(argv, f->environment, NULL);
}

static void add_up(struct fixture *f)
{
    struct sums *sums = &f->sums;

    sums->snapshots++;
    sums->core_busy_ns += f->snapshot->core_count > 0 ? f->snapshot->cores[0].busy_ns.period : 0;
    for (size_t i = 0; i < f->snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &f->snapshot->runtimes[i];
        uint64_t device = 0;

        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            sums->outcome[k] += runtime->outcome[k].period;
        }
        sums->latency += runtime->total_latency.count;
        sums->device_latency += runtime->device_latency.count;
        for (size_t k = 0; k < runtime->model_count; k++) {
            sums->models += runtime->models[k].executions.period;
        }
        ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, NULL, NULL, &device);
        if (device > sums->device_bytes_max) {
            sums->device_bytes_max = device;
        }
        sums->last_total = runtime->outcome[NTK_OUTCOME_COMPLETED].total;
        sums->ended += runtime->ended;
        for (size_t k = 0; k < runtime->core_count; k++) {
            assert_true(runtime->cores[k].utilization <= 1);
        }
        assert_string_equal(runtime->tag, "bert");
    }
    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        const struct ntk_event_sample *event = &f->snapshot->events[i];

        sums->loads += event->kind == NTK_EVENT_MODEL_LOAD;
        sums->allocs += event->kind == NTK_EVENT_MEM_ALLOC;
        if (event->kind == NTK_EVENT_MEM_ALLOC) {
            sums->allocated += event->bytes;
        } else if (event->kind == NTK_EVENT_MEM_FREE) {
            sums->allocated -= event->bytes;
        }
    }
}

/* Drains for a while as the agent does, then ends a period. */
static const struct ntk_snapshot *watch(struct fixture *f, unsigned int ms)
{
    struct ntk_err err = { 0 };

    for (unsigned int waited = 0; waited < ms; waited += 10) {
        const struct timespec pause = { 0, 10000000 };

        nanosleep(&pause, NULL);
        assert_true(ntk_collector_drain(f->collector) >= 0);
    }
    ntk_snapshot_destroy(f->snapshot);
    f->snapshot = NULL;
    assert_int_equal(ntk_collector_poll(f->collector, &f->snapshot, &err), 0);
    add_up(f);
    return f->snapshot;
}

static int has_ended(void *ctx)
{
    struct fixture *f = ctx;

    watch(f, 30);
    return f->sums.ended > 0;
}

static void watch_until_ended(struct fixture *f)
{
    assert_true(test_wait_until(has_ended, f));
    assert_int_equal(f->sums.ended, 1);
}

struct expected {
    struct fixture *f;
    enum ntk_outcome outcome;
    uint64_t count;
};

static int has_counted(void *ctx)
{
    struct expected *expected = ctx;

    watch(expected->f, 30);
    return expected->f->sums.outcome[expected->outcome] >= expected->count;
}

/* Runs the bench until enough was observed, so that the speed of the machine does not matter. */
static void watch_until(struct fixture *f, enum ntk_outcome outcome, uint64_t count)
{
    assert_true(test_wait_until(has_counted, &(struct expected){ f, outcome, count }));
}

/* Asks the bench to exit, and watches until that is reported. */
static void end_and_watch(struct fixture *f, pid_t bench, int exit_code)
{
    assert_int_equal(kill(bench, SIGTERM), 0);
    watch_until_ended(f);
    assert_int_equal(test_stop_program(bench, 0), exit_code);
}

static void period_counts_sum_to_the_executions_of_a_run(void **state)
{
    struct fixture *f = *state;
    pid_t bench;

    f->environment[1] = "NEURON_SOFT_INSTANCE=trn1.32xlarge";
    make_example(f, "mlp", "128", "1");
    collector_open(f);
    bench = bench_start(f, "2-5", "--duration", "3600s");
    watch_until(f, NTK_OUTCOME_COMPLETED, 80);
    end_and_watch(f, bench, 0);

    assert_int_equal(f->sums.outcome[NTK_OUTCOME_COMPLETED], f->sums.last_total);
    assert_true(f->sums.outcome[NTK_OUTCOME_COMPLETED] >= 80);
    assert_int_equal(f->sums.latency, f->sums.last_total);
    assert_int_equal(f->sums.device_latency, f->sums.last_total);
    assert_int_equal(f->sums.models, f->sums.last_total);
    for (size_t k = NTK_OUTCOME_COMPLETED + 1; k < NTK_OUTCOME_COUNT; k++) {
        assert_int_equal(f->sums.outcome[k], 0);
    }
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, f->sums.last_total);
    assert_int_equal(f->sums.loads, 4);
    assert_true(f->sums.device_bytes_max > 0);
    assert_int_equal(f->snapshot->events_unlisted, 0);
    assert_int_equal(f->snapshot->events_lost.total, 0);
    assert_true(f->sums.allocs > 0);
    assert_int_equal(f->sums.allocated, 0); /* all allocations were freed */

    /* The process is gone, and the tree that it published, thousands of files, is complete. */
    watch(f, 0);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_true(f->snapshot->hardware.software);
    assert_string_equal(f->snapshot->hardware.instance_type, "trn1.32xlarge");
    assert_string_equal(f->snapshot->hardware.device_type, "trainium");
    assert_int_equal(f->snapshot->device_count, 16);
    assert_int_equal(f->snapshot->core_count, 32);
    assert_int_equal(f->snapshot->devices[0].connected_device_count, 4);
    assert_int_equal(f->snapshot->devices[1].memory_used_bytes[0], 0);
    assert_true(f->snapshot->devices[0].has & NTK_DEVICE_HAS_ECC);
    {
        uint64_t on_cores = 0;

        for (size_t i = 0; i < f->snapshot->core_count; i++) {
            uint64_t total = f->snapshot->cores[i].outcome[NTK_OUTCOME_COMPLETED].total;

            on_cores += total;
            assert_int_equal(total > 0, i >= 2 && i <= 5);
            assert_int_equal(f->snapshot->cores[i].effective_flops.total > 0, i >= 2 && i <= 5);
        }
        assert_int_equal(on_cores, f->sums.last_total);
    }
}

struct busy {
    struct fixture *f;
    bool was_running;
    int whole; /* periods within an execution */
    bool is_full;
};

/* On a busy machine the two readings of a period may be closer together than its ends. Then the
 * period shows a smaller busy part, and a later one shows the rest. */
static int is_busy_throughout(void *ctx)
{
    struct busy *busy = ctx;
    const struct ntk_snapshot *snapshot = watch(busy->f, 50);

    if (snapshot->runtime_count == 0 || snapshot->runtimes[0].core_count == 0) {
        return 0;
    }
    const struct ntk_core_sample *core = &snapshot->runtimes[0].cores[0];
    if (busy->was_running && core->in_flight > 0 &&
        core->outcome[NTK_OUTCOME_COMPLETED].period == 0) {
        busy->whole++;
        busy->is_full |= core->utilization > 0.97 && snapshot->cores[0].utilization > 0.97;
        assert_true(snapshot->runtimes[0].models[0].is_running);
    }
    busy->was_running = core->in_flight > 0;
    return busy->whole >= 5 && busy->is_full;
}

static void a_long_execution_shows_a_busy_core_while_it_runs(void **state)
{
    struct fixture *f = *state;
    pid_t bench;

    make_example(f, "spin", "4200", "1"); /* 3 s of device time */
    f->environment[3] = "NEURON_SOFT_PACE=1";
    collector_open(f);
    bench = bench_start(f, "0", "--duration", "3600s");
    assert_true(test_wait_until(is_busy_throughout, &(struct busy){ .f = f }));
    end_and_watch(f, bench, 0);
    assert_int_equal(f->sums.outcome[NTK_OUTCOME_COMPLETED], f->sums.last_total);
    /* The parts that the periods saw of running executions add up to the whole. */
    assert_true(f->sums.core_busy_ns > 0);
    assert_int_equal(f->sums.core_busy_ns, f->snapshot->cores[0].busy_ns.total);
}

static void a_killed_process_is_reported_once_more_with_its_last_counts(void **state)
{
    struct fixture *f = *state;
    uint64_t last;
    pid_t bench;

    make_example(f, "mlp", "128", "1");
    collector_open(f);
    bench = bench_start(f, "0-1", "--duration", "3600s");
    watch_until(f, NTK_OUTCOME_COMPLETED, 15);
    assert_int_equal(test_stop_program(bench, SIGKILL), 128 + SIGKILL);
    watch_until_ended(f);
    assert_int_equal(f->sums.outcome[NTK_OUTCOME_COMPLETED], f->sums.last_total);
    assert_int_equal(f->sums.models, f->sums.last_total);
    assert_int_equal(f->snapshot->runtimes[0].memory_count, 0);
    assert_int_equal(f->snapshot->devices[0].memory_used_bytes[0], 0);
    last = f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total;
    watch(f, 100);
    assert_int_equal(f->sums.ended, 1);
    assert_int_equal(f->snapshot->runtime_count, 0);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].total, last);
}

static void a_two_core_execution_is_counted_once_per_logical_core(void **state)
{
    struct fixture *f = *state;
    struct ntk_core_sample logical;
    const struct ntk_core_sample *first;
    const struct ntk_core_sample *second;
    pid_t bench;

    f->environment[1] = "NEURON_SOFT_INSTANCE=trn2.3xlarge";
    make_example(f, "mlp", "128", "2");
    collector_open(f);
    bench = bench_start(f, "1", "--duration", "3600s");
    watch_until(f, NTK_OUTCOME_COMPLETED, 20);
    end_and_watch(f, bench, 0);
    assert_int_equal(f->sums.outcome[NTK_OUTCOME_COMPLETED], f->sums.last_total);
    assert_true(f->sums.last_total >= 20);
    assert_int_equal(f->snapshot->hardware.lnc, 2);
    assert_string_equal(f->snapshot->hardware.core_version, "v3d");
    assert_int_equal(f->snapshot->core_count, 8);
    first = &f->snapshot->cores[2];
    second = &f->snapshot->cores[3];
    assert_int_equal(first->outcome[NTK_OUTCOME_COMPLETED].total, f->sums.last_total);
    assert_int_equal(second->outcome[NTK_OUTCOME_COMPLETED].total, 0);
    assert_true(first->busy_ns.total > 0);
    assert_true(second->busy_ns.total > 0);
    assert_true(
        ntk_snapshot_logical_core(f->snapshot->cores, f->snapshot->core_count, 2, 1, &logical));
    assert_int_equal(logical.outcome[NTK_OUTCOME_COMPLETED].total, f->sums.last_total);
    assert_int_equal(logical.flops.total, first->flops.total + second->flops.total);
}

static void failed_executions_are_reported_with_their_error_class(void **state)
{
    static const struct {
        const char *example;
        enum ntk_outcome outcome;
        enum ntk_error_class error_class;
        int exit_code; /* of the bench: numerical errors leave results */
    } rows[] = {
        { "nan", NTK_OUTCOME_COMPLETED_WITH_NUM_ERR, NTK_ERROR_NUMERICAL, 0 },
        { "oob", NTK_OUTCOME_COMPLETED_WITH_ERR, NTK_ERROR_MODEL, 1 },
        { "deadlock", NTK_OUTCOME_TIMED_OUT, NTK_ERROR_RUNTIME, 1 },
    };
    struct fixture *f = *state;

    collector_open(f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *make[] = { "neuron-packager", "example", rows[i].example, "-o", f->neff, NULL };
        struct test_run run = test_run_program(make, f->environment);
        uint64_t before = 0;
        pid_t bench;

        assert_int_equal(run.exit_code, 0);
        test_run_fini(&run);
        memset(&f->sums, 0, sizeof f->sums);
        before = f->snapshot ? f->snapshot->error_class[rows[i].error_class].total : 0;
        bench = bench_start(f, "0", "--duration", "3600s");
        watch_until(f, rows[i].outcome, 1);
        end_and_watch(f, bench, rows[i].exit_code);
        assert_true(f->sums.outcome[rows[i].outcome] >= 1);
        for (size_t k = 0; k < NTK_OUTCOME_COUNT; k++) {
            assert_true(k == rows[i].outcome || f->sums.outcome[k] == 0);
        }
        assert_int_equal(f->snapshot->error_class[rows[i].error_class].total - before,
                         f->sums.outcome[rows[i].outcome]);
    }
}

/* Method: `neuron-bench machine` in both layouts of the driver, one after the other in one folder;
 * the source notices the second and reads all files again. */
static void the_published_device_tree_is_read_in_both_layouts(void **state)
{
    static const char *const layouts[] = { "NEURON_SOFT_SYSFS=old", "NEURON_SOFT_SYSFS=new" };
    static const char *const machines[] = { "NEURON_SOFT_INSTANCE=trn2.3xlarge",
                                            "NEURON_SOFT_INSTANCE=inf2.24xlarge" };
    struct fixture *f = *state;
    struct ntk_device_options options = { .hooks_dir = f->folder, .driver_sysfs = f->no_sysfs };
    struct ntk_device_source *source;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_device_source_open(&options, &source, &err), 0);
    for (size_t i = 0; i < 2; i++) {
        const char *make[] = { "neuron-bench", "machine", NULL };
        const struct ntk_device_tree *tree;
        struct ntk_device_reading readings[16];
        struct test_run run;
        size_t count;

        f->environment[1] = machines[i];
        f->environment[3] = layouts[i];
        run = test_run_program(make, f->environment);
        assert_int_equal(run.exit_code, 0);
        test_run_fini(&run);
        assert_int_equal(ntk_device_source_refresh(source, &err), 1);
        tree = ntk_device_source_tree(source);
        assert_int_equal(tree->origin, NTK_DEVICE_ORIGIN_SOFTWARE);
        assert_int_equal(tree->new_layout, i == 1);
        assert_string_equal(tree->machine_type, i == 0 ? "trn2.3xlarge" : "inf2.24xlarge");
        assert_int_equal(tree->device_count, i == 0 ? 1 : 6);
        assert_int_equal(tree->cores_per_device, i == 0 ? 8 : 2);
        assert_string_equal(tree->devices[0].name, i == 0 ? "Trainium2" : "Inferentia2");
        assert_string_equal(tree->devices[0].core_arch, i == 0 ? "NCv3" : "NCv2");
        assert_true(tree->devices[0].has_connected_devices);
        assert_int_equal(tree->devices[0].connected_device_count, i == 0 ? 0 : 1);
        assert_string_not_equal(tree->devices[0].serial_number, "");
        count = ntk_device_source_read(source,
                                       NTK_DEVICE_READ_DEVICE | NTK_DEVICE_READ_CORES |
                                           NTK_DEVICE_READ_CATEGORIES | NTK_DEVICE_READ_STATUS,
                                       readings, 16);
        assert_int_equal(count, tree->device_count);
        for (size_t d = 0; d < count; d++) {
            assert_true(readings[d].mem_ecc_uncorrected.present);
            assert_true(readings[d].mem_ecc_corrected.present);
            assert_true(readings[d].mem_ecc_repairable_uncorrected.present);
            assert_true(readings[d].sram_ecc_corrected.present);
            assert_true(readings[d].sram_ecc_uncorrected.present);
            for (size_t c = 0; c < tree->cores_per_device; c++) {
                const struct ntk_device_core_reading *core = &readings[d].cores[c];

                assert_true(core->busy_us.present);
                assert_true(core->flops.present);
                assert_true(core->inference_count.present);
                assert_true(core->device_memory_bytes.present);
                assert_true(core->category_bytes[NTK_MEMORY_TENSORS].present);
                for (size_t k = 0; k < NTK_STATUS_COUNT; k++) {
                    assert_true(core->status[k].present);
                    assert_int_equal(core->status[k].value, 0);
                }
            }
        }
    }
    ntk_device_source_close(source);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(period_counts_sum_to_the_executions_of_a_run),
        TEST(a_long_execution_shows_a_busy_core_while_it_runs),
        TEST(a_killed_process_is_reported_once_more_with_its_last_counts),
        TEST(a_two_core_execution_is_counted_once_per_logical_core),
        TEST(failed_executions_are_reported_with_their_error_class),
        TEST(the_published_device_tree_is_read_in_both_layouts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
