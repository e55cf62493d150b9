/* SPDX-License-Identifier: MIT */
/*
 * What hooks around a runtime cost a job: the same call through libneuron-hooks.so and straight
 * into a runtime with executions of ten microseconds (bench_vendor.c).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "nrt/nrt.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define EXECUTIONS ROUNDS_SIZE(20000, 200)
#define CALLS ROUNDS_SIZE(2000000, 2000)
#define ROUND_COUNT 15

struct runtime {
    nrt_model_t *model;
    __typeof__(nrt_init) *init;
    __typeof__(nrt_close) *close;
    __typeof__(nrt_load) *load;
    __typeof__(nrt_execute) *execute;
    __typeof__(nrt_tensor_memset) *memset;
};

static void open_runtime(struct runtime *runtime, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        rounds_require(0, dlerror());
    }
#define FIND(name) *(void **)&runtime->name = dlsym(library, "nrt_" #name)
    FIND(init);
    FIND(close);
    FIND(load);
    FIND(execute);
    *(void **)&runtime->memset = dlsym(library, "nrt_tensor_memset");
    rounds_require(runtime->execute && runtime->memset &&
                       runtime->init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS &&
                       runtime->load("", 0, 0, 1, &runtime->model) == NRT_SUCCESS,
                   "not a runtime");
}

static double measure_execute(void *ctx)
{
    const struct runtime *runtime = ctx;
    uint64_t begin = rounds_cpu_ns();

    for (int i = 0; i < EXECUTIONS; i++) {
        (void)runtime->execute(runtime->model, NULL, NULL);
    }
    return (double)(rounds_cpu_ns() - begin) / EXECUTIONS;
}

static double measure_passed_on(void *ctx)
{
    const struct runtime *runtime = ctx;
    const int count = CALLS;
    uint64_t begin = rounds_cpu_ns();

    for (int i = 0; i < count; i++) {
        (void)runtime->memset(NULL, 0, 0, 0);
    }
    return (double)(rounds_cpu_ns() - begin) / CALLS;
}

int main(int argc, char **argv)
{
    struct runtime straight = { 0 };
    struct runtime hooked = { 0 };
    struct rounds_subject subjects[] = {
        { .name = "a call of 10 us", .measure = measure_execute, .ctx = &straight },
        { .name = "the same through the hooks", .measure = measure_execute, .ctx = &hooked },
        { .name = "a call of nothing", .measure = measure_passed_on, .ctx = &straight },
        { .name = "the same, passed on unseen", .measure = measure_passed_on, .ctx = &hooked },
    };
    char *folder = test_scratch_create();

    rounds_options(argc, argv);
    (void)rounds_pin(0);
    (void)setenv("NEURON_HOOKS_DIR", folder, 1);
    (void)setenv("NEURON_HOOKS_LIBNRT", BENCH_VENDOR, 1);
    open_runtime(&straight, BENCH_VENDOR);
    open_runtime(&hooked, BENCH_HOOKS);
    rounds_run(subjects, sizeof subjects / sizeof *subjects, ROUND_COUNT);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        rounds_print(&subjects[i], "ns");
    }
    rounds_print_ratio("M4 a call of 10 us, with the hooks around the runtime", &subjects[1],
                       &subjects[0], 1.01);
    rounds_print_value("   what they add to it",
                       rounds_median(&subjects[1]) - rounds_median(&subjects[0]), "ns", 0, 0);
    rounds_print_value("   what they add to a call that is passed on",
                       rounds_median(&subjects[3]) - rounds_median(&subjects[2]), "ns", 0, 0);
    hooked.close();
    test_scratch_destroy(folder);
    return rounds_result();
}
