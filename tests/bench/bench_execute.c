/* SPDX-License-Identifier: MIT */
/*
 * What the hooks add to nrt_execute of a small NEFF. Three processes run the same NEFF, with the
 * hooks off, with counters, and with everything. They take turns, so that all run in the same state
 * of the machine. Where the kernel places the pages of a process matters more than the hooks, so
 * there are several such sets, and the best process of each mode counts.
 *
 * That difference is a hundred ns out of twenty thousand, and the result may be a percent or two
 * too high or too low. So the calls are also timed by themselves, with as much memory moved between
 * begin and end as the NEFF moves. That figure includes cache misses that the memory traffic
 * causes, and hardly any influence of other processes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/nrt/nrt_library.h"
#include "shared/abi/raw_clock.h"
#include "shared/base/fs.h"
#include "tests/bench/hooks_so.h"
#include "tests/bench/rounds.h"
#include "tests/support/observed.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#define EXECUTIONS ROUNDS_SIZE(1000, 20)
#define ROUND_COUNT 7
#define SETS ROUNDS_SIZE(9, 1)
#define MODES 3
#define CALLS_MAX 4000
#define NEFF_BYTES_MAX (64u << 20)
#define CALLS ROUNDS_SIZE(CALLS_MAX, 40)
#define MOVED_BYTES (512u << 10) /* in and out of the example */

static const char *neff_path;

/* Loads the NEFF with tensors of zeros, then executes once per request. */
static int child_executes(struct observed *child, void *ctx)
{
    nrt_tensor_info_array_t *info = NULL;
    nrt_tensor_set_t *outputs = NULL;
    nrt_tensor_set_t *inputs = NULL;
    nrt_model_t *model = NULL;
    struct ntk_nrt nrt;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    uint64_t i;

    setenv("NEURON_HOOKS", ctx, 1);
    rounds_require(ntk_nrt_open(&nrt, &err) == 0, err.text);
    rounds_require(ntk_fs_read(neff_path, NEFF_BYTES_MAX, &bytes, &count, &err) == 0, err.text);
    rounds_require(nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    rounds_require(nrt.nrt_load(bytes, count, 0, 1, &model) == NRT_SUCCESS, "nrt_load");
    rounds_require(nrt.nrt_get_model_tensor_info(model, &info) == NRT_SUCCESS, "tensor info");
    rounds_require(nrt.nrt_allocate_tensor_set(&inputs) == NRT_SUCCESS, "tensor set");
    rounds_require(nrt.nrt_allocate_tensor_set(&outputs) == NRT_SUCCESS, "tensor set");
    for (i = 0; i < info->tensor_count; i++) {
        const nrt_tensor_info_t *tensor = &info->tensor_array[i];
        nrt_tensor_t *made = NULL;

        rounds_require(nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, tensor->size,
                                               tensor->name, &made) == NRT_SUCCESS,
                       "tensor");
        rounds_require(nrt.nrt_add_tensor_to_tensor_set(
                           tensor->usage == NRT_TENSOR_USAGE_INPUT ? inputs : outputs, tensor->name,
                           made) == NRT_SUCCESS,
                       "tensor set");
    }
    (void)rounds_pin(0);
    observed_send(child, 0);
    while (observed_receive(child) != 0) {
        uint64_t begin = rounds_cpu_ns();

        for (i = 0; i < EXECUTIONS; i++) {
            rounds_require(nrt.nrt_execute(model, inputs, outputs) == NRT_SUCCESS, "nrt_execute");
        }
        observed_send(child, rounds_cpu_ns() - begin);
    }
    nrt.nrt_close();
    return 0;
}

static double measure(void *ctx)
{
    struct observed *child = ctx;

    observed_send(child, 1);
    return (double)observed_receive(child) / EXECUTIONS;
}

/* One set of three processes; adds the smallest time of each to the mode's values. */
static void run_set(struct rounds_subject *all)
{
    static char modes[MODES][10] = { "0", "counters", "1" };
    struct rounds_subject set[MODES];
    struct observed children[MODES];
    char *homes[MODES];
    int i;

    memset(set, 0, sizeof set);
    for (i = 0; i < MODES; i++) {
        homes[i] = test_scratch_create(); /* each with its own software machine */
        children[i] = observed_start(homes[i], child_executes, modes[i]);
        (void)observed_receive(&children[i]);
        set[i].measure = measure;
        set[i].ctx = &children[i];
    }
    rounds_run(set, MODES, ROUND_COUNT);
    for (i = 0; i < MODES; i++) {
        all[i].values[all[i].count++] = rounds_min(&set[i]);
        observed_send(&children[i], 0);
        (void)observed_finish(&children[i], 0);
        test_scratch_destroy(homes[i]);
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static int compare_ticks(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* ns of both calls of an execution, including the clock's own; ctx: NEURON_HOOKS. */
static double measure_calls(void *ctx)
{
    static uint64_t samples[CALLS_MAX];
    static char from[MOVED_BYTES];
    static char to[MOVED_BYTES];
    uint32_t kind = ntk_raw_clock_kind();
    struct ntk_segment_clock first = ntk_raw_clock_bracket(kind, 32);
    struct ntk_segment_clock last;
    uint64_t ticks = 0;
    uint64_t i;

    (void)setenv("NEURON_HOOKS", ctx, 1);
    rounds_require(bench_so_attach() == 0, "cannot attach");
    for (i = 0; i < CALLS; i++) {
        uint64_t before = ntk_raw_clock_now(kind);

        bench_so_execute_begin(i);
        samples[i] = ntk_raw_clock_now(kind) - before;
        memset(from, (int)i, sizeof from);
        memcpy(to, from, sizeof to);
        __asm__ volatile("" : : "r"(to) : "memory");
        before = ntk_raw_clock_now(kind);
        bench_so_execute_end();
        samples[i] += ntk_raw_clock_now(kind) - before;
    }
    bench_so_detach();
    last = ntk_raw_clock_bracket(kind, 32);
    qsort(samples, CALLS, sizeof samples[0], compare_ticks);
    /* The mean of the middle half: on some machines ticks have a resolution of tens of ns. */
    for (i = CALLS / 4; i < CALLS * 3 / 4; i++) {
        ticks += samples[i];
    }
    return (double)ticks * 2 / CALLS * (double)(last.monotonic_ns - first.monotonic_ns) /
           (double)(last.raw_ticks - first.raw_ticks);
}

/* What the calls add by themselves, as a share of an execution that takes execute_ns. */
static void report_calls(const char *folder, double execute_ns)
{
    static char modes[MODES][10] = { "0", "counters", "1" };
    struct rounds_subject calls[MODES] = {
        { .name = "begin and end of an execution, hooks off" },
        { .name = "begin and end, counters" },
        { .name = "begin and end, counters and 7 events" },
    };
    int i;

    (void)setenv("NEURON_HOOKS_DIR", folder, 1);
    (void)rounds_pin(0);
    for (i = 0; i < MODES; i++) {
        calls[i].measure = measure_calls;
        calls[i].ctx = modes[i];
    }
    rounds_run(calls, MODES, ROUND_COUNT);
    for (i = 0; i < MODES; i++) {
        rounds_print(&calls[i], "ns");
    }
    rounds_print_value("M4 cost of the hooks, their calls by themselves",
                       (rounds_median(&calls[2]) - rounds_median(&calls[0])) / execute_ns * 100,
                       "%", 1, 0);
}

int main(int argc, char **argv)
{
    struct rounds_subject all[MODES] = {
        { .name = "nrt_execute, hooks off" },
        { .name = "nrt_execute, counters" },
        { .name = "nrt_execute, counters and events" },
    };
    /* In shared memory if the machine has it, as in production: pages of a file on disk cost
     * more. */
    int shm = access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 1) : 0;
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "small.neff");
    const char *const make[] = { "neuron-packager", "example", "memcpy", "-o", path, NULL };
    struct test_run made;
    double by_median;
    double by_min;
    int set;
    int i;

    (void)shm;
    rounds_options(argc, argv);
    neff_path = path;
    made = test_run_program(make, NULL);
    rounds_require(made.exit_code == 0, made.err);
    test_run_fini(&made);
    for (set = 0; set < SETS; set++) {
        run_set(all);
    }
    for (i = 0; i < MODES; i++) {
        qsort(all[i].values, SETS, sizeof(double), compare);
        rounds_print(&all[i], "ns");
    }
    rounds_print_ratio("   counters / off", &all[1], &all[0], 0);
    rounds_print_ratio("   counters and events / off", &all[2], &all[0], 0);
    by_min = rounds_min(&all[2]) / rounds_min(&all[0]) - 1;
    by_median = rounds_median(&all[2]) / rounds_median(&all[0]) - 1;
    rounds_print_best("M4 cost of the hooks", by_min * 100, by_median * 100, "%", 1, 0);
    report_calls(folder, rounds_min(&all[0]));
    free(path);
    test_scratch_destroy(folder);
    return rounds_result();
}
