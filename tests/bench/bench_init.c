/* SPDX-License-Identifier: MIT */
/*
 * bench_init - the time of a process to load our runtime, initialise and close it, with hooks and
 * without, on the smallest and on the largest machine. CPU time of all threads: the time until
 * nrt_close() returns depends on the load of the machine.
 *
 * Method: a new process for each round, in a hooks folder that keeps its software machine.
 *
 * The largest machine takes 90 ms (perf record --call-graph dwarf). 59 % are in the thread that
 * publishes the device tree. It first reads all 25,000 files of the earlier publisher (openat 29,
 * pread 11, close 6, fstat 5), to find what other processes wrote and which texts are out of date.
 * 8 % list these files, 8 % load OpenBLAS, 6 % are first touches of memory. fstatat alone would
 * suffice if the time of a file showed that its text is current. But older versions assume that a
 * user wrote files with unknown times, and clear their counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/nrt/nrt_library.h"
#include "tests/bench/rounds.h"
#include "tests/support/observed.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 9
#define RATIO_TARGET 2
#define MS_TARGET 15 /* on the smallest machine */

struct subject {
    const char *folder;
    const char *instance;
    const char *hooks; /* NEURON_HOOKS */
};

static int child_runs(struct observed *child, void *ctx)
{
    const struct subject *subject = ctx;
    struct ntk_nrt nrt;
    struct ntk_err err = { 0 };
    struct timespec used;

    setenv("NEURON_SOFT_INSTANCE", subject->instance, 1);
    setenv("NEURON_HOOKS", subject->hooks, 1);
    rounds_require(ntk_nrt_open(&nrt, &err) == 0, err.text);
    rounds_require(nrt.nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "nrt_init");
    nrt.nrt_close();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    observed_send(child, (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec);
    return 0;
}

static double measure(void *ctx)
{
    struct observed child = observed_start(((const struct subject *)ctx)->folder, child_runs, ctx);
    uint64_t used_ns = observed_receive(&child);

    rounds_require(observed_finish(&child, 0) == 0, "the process of a round failed");
    return (double)used_ns / 1e6;
}

/* Returns the median with hooks, in ms. */
static double measure_machine(const char *instance, const char *ratio_name)
{
    char *folder = test_scratch_create();
    struct subject with = { folder, instance, "1" };
    struct subject without = { folder, instance, "0" };
    struct rounds_subject subjects[] = {
        { .name = "init and close, hooks", .measure = measure, .ctx = &with },
        { .name = "init and close, no hooks", .measure = measure, .ctx = &without },
    };

    printf("%s\n", instance);
    rounds_run(subjects, 2, ROUND_COUNT);
    rounds_print(&subjects[0], "ms");
    rounds_print(&subjects[1], "ms");
    rounds_print_ratio(ratio_name, &subjects[0], &subjects[1], RATIO_TARGET);
    test_scratch_destroy(folder);
    return rounds_median(&subjects[0]);
}

int main(int argc, char **argv)
{
    rounds_options(argc, argv);
    test_scratch_in_memory();
    double ms = measure_machine("trn1.2xlarge", "hooks / none, smallest machine");
    rounds_print_value("init and close, smallest machine", ms, "ms", MS_TARGET, 0);
    (void)measure_machine(rounds_smoke ? "trn2.3xlarge" : "trn2.48xlarge",
                          "hooks / none, largest machine");
    return rounds_result();
}
