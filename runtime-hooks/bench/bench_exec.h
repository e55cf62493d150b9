/* SPDX-License-Identifier: MIT */
/*
 * bench_exec - runs a NEFF on cores with threads and measures each call.
 *
 * Owner:   a result is the caller's storage; bench_result_fini() frees what it points to.
 */
#ifndef NTK_RUNTIME_HOOKS_BENCH_BENCH_EXEC_H
#define NTK_RUNTIME_HOOKS_BENCH_BENCH_EXEC_H

#include <stdatomic.h>
#include <stdint.h>

#include "runtime-hooks/bench/bench_device.h"
#include "runtime-hooks/nrt/nrt_library.h"

#define BENCH_CORES_MAX 256
/* Number of latencies kept per thread and per core: the first, and the newest. */
#define BENCH_SAMPLES_MAX 100000

enum bench_fill {
    BENCH_FILL_ZEROS,
    BENCH_FILL_ONES,   /* the value 1 */
    BENCH_FILL_RANDOM, /* the same in each run: floats in [0, 1) or [0, 2), integers 0 or 1 */
};

struct bench_exec {
    const char *path;
    uint32_t first_core;      /* the machine's number of the process's core 0; 0: unknown */
    uint32_t core_count;      /* process-relative cores 0 .. on which models are loaded, in a row */
    uint32_t thread_count;    /* distributed over the models */
    uint64_t duration_ns;     /* 0: until count */
    uint64_t count;           /* executions of all threads; 0: until the time is up */
    double rate;              /* executions per second of all threads; 0: unlimited */
    uint64_t warmup;          /* executions of each thread before the measured ones */
    enum bench_fill fill;     /* of the inputs */
    bool has_samples;         /* keep single latencies, also of the device */
    const char *profile_path; /* record one more execution there at the end; NULL: none */
    const atomic_int *stop;
};

struct bench_result {
    uint64_t executions;       /* completed, with NaN too */
    uint64_t numerical_errors; /* of these */
    uint64_t errors;           /* ended otherwise */
    NRT_STATUS last_error;
    uint64_t elapsed_ns;
    /* A vendor's program on a software core: nothing was computed, times are meaningless. */
    bool is_estimated;
    uint64_t min_ns, max_ns; /* of one call */
    double mean_ns;
    double p50_ns, p90_ns, p99_ns, p999_ns;
    uint32_t model_count;
    /* Set with has_samples: calls and, if available, device. */
    struct ntk_vec calls; /* struct bench_device_time */
    struct bench_device device;
    bool has_device;
};

/* Completed executions. */
double bench_result_per_second(const struct bench_result *result);
void bench_result_fini(struct bench_result *result);

/* Number of NeuronCores that one model of the file needs, by its header; 1 if unreadable. */
uint32_t bench_exec_cores_of(const char *path);
/* -errno with a message if nothing could run. */
int bench_exec_run(const struct ntk_nrt *nrt, const struct bench_exec *bench,
                   struct bench_result *out_result, struct ntk_err *err);

#endif
