/* SPDX-License-Identifier: MIT */
/*
 * bench_exec - runs a NEFF on cores with threads and measures each call.
 *
 * Owner:   a result is the caller's storage; bench_result_fini() frees its contents.
 */
#ifndef NTK_RUNTIME_HOOKS_BENCH_BENCH_EXEC_H
#define NTK_RUNTIME_HOOKS_BENCH_BENCH_EXEC_H

#include <stdatomic.h>
#include <stdint.h>

#include "runtime-hooks/bench/bench_device.h"
#include "runtime-hooks/nrt/nrt_library.h"

#define BENCH_CORES_MAX 256
/* Number of latencies that are kept per thread and per core: the first and the newest. */
#define BENCH_SAMPLES_MAX 100000

enum bench_fill {
    BENCH_FILL_ZEROS,
    BENCH_FILL_ONES, /* the value 1 */
    /* the same values in each run: floats in [0, 1) or [0, 2), integers 0 or 1 */
    BENCH_FILL_RANDOM,
};

struct bench_exec {
    const char *path;
    uint32_t first_core;   /* the machine's number for core 0 of the process; 0: unknown */
    uint32_t core_count;   /* models are loaded on the process's consecutive cores from 0 on */
    uint32_t thread_count; /* number of threads, distributed over the models */
    uint64_t duration_ns;  /* duration of the run; 0: until count */
    uint64_t count;        /* executions of all threads together; 0: until the duration ends */
    double rate;           /* executions per second of all threads together; 0: unlimited */
    uint64_t warmup;       /* executions of each thread before the measurement */
    enum bench_fill fill;  /* content of the inputs */
    bool has_samples;      /* keep individual latencies, including those on the device */
    /* file for the recording of one extra execution at the end; NULL: none */
    const char *profile_path;
    const atomic_int *stop;
};

struct bench_result {
    uint64_t executions;       /* completed executions, including those with NaN */
    uint64_t numerical_errors; /* completed executions with NaN */
    uint64_t errors;           /* executions that did not complete */
    NRT_STATUS last_error;
    uint64_t elapsed_ns;
    /* A vendor's program on a software core: nothing was computed, and the times are
     * meaningless. */
    bool is_estimated;
    uint64_t min_ns, max_ns; /* shortest and longest call */
    double mean_ns;
    double p50_ns, p90_ns, p99_ns, p999_ns;
    uint32_t model_count;
    /* Set if has_samples: calls and, if available, executions on the device. */
    struct ntk_vec calls; /* elements are struct bench_device_time */
    struct bench_device device;
    bool has_device;
};

/* Completed executions per second. */
double bench_result_per_second(const struct bench_result *result);
void bench_result_fini(struct bench_result *result);

/* The number of NeuronCores that one model in the file needs, from its header; 1 if unreadable. */
uint32_t bench_exec_cores_of(const char *path);
/* Returns -errno with a message if nothing could run. */
int bench_exec_run(const struct ntk_nrt *nrt, const struct bench_exec *bench,
                   struct bench_result *out_result, struct ntk_err *err);

#endif
