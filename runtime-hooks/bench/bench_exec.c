/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/bench/bench_exec.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/env/env.h"
#include "runtime-hooks/nrt/nrt_io.h"
#include "shared/abi/segment_abi.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_layout.h"

#define NEFF_BYTES_MAX (SIZE_MAX / 4)
#define SLEEP_NS_MAX (100 * NTK_NS_PER_MS) /* maximum delay until a stop is noticed */

/* The task and the measurements of one thread. */
struct worker {
    const struct ntk_nrt *nrt;
    const struct bench_exec *bench;
    struct shared *shared;
    nrt_model_t *model;
    struct ntk_nrt_io io;
    uint32_t index;
    pthread_t thread;
    uint64_t executions, numerical_errors, errors, sum_ns, min_ns, max_ns;
    NRT_STATUS last_error;
    uint64_t buckets[NTK_HISTOGRAM_BUCKETS];
    uint32_t core;
    uint64_t *samples; /* BENCH_SAMPLES_MAX elements; NULL: latencies are not kept */
    size_t sample_count;
};

struct shared {
    _Atomic uint64_t started; /* number of executions that all threads have started */
    uint64_t begin_ns;
};

/* For each type, the random bits to keep: exponents below that of 1 (of 2 for 8 bits), no sign; for
 * integers the lowest bit. `one` is the value 1. */
static const struct type_bits {
    uint8_t bytes;
    uint64_t random, one;
} type_bits[] = {
    [NRT_DTYPE_UINT64] = { 8, 1, 1 },
    [NRT_DTYPE_INT64] = { 8, 1, 1 },
    [NRT_DTYPE_UINT32] = { 4, 1, 1 },
    [NRT_DTYPE_INT32] = { 4, 1, 1 },
    [NRT_DTYPE_UINT16] = { 2, 1, 1 },
    [NRT_DTYPE_INT16] = { 2, 1, 1 },
    [NRT_DTYPE_UINT8] = { 1, 1, 1 },
    [NRT_DTYPE_INT8] = { 1, 1, 1 },
    [NRT_DTYPE_FLOAT32] = { 4, 0x3f7fffff, 0x3f800000 },
    [NRT_DTYPE_FP32R] = { 4, 0x3f7fffff, 0x3f800000 },
    [NRT_DTYPE_BFLOAT16] = { 2, 0x3f7f, 0x3f80 },
    [NRT_DTYPE_FLOAT16] = { 2, 0x3bff, 0x3c00 },
    [NRT_DTYPE_FP8_E3] = { 1, 0x3f, 0x30 },
    [NRT_DTYPE_FP8_E4] = { 1, 0x3f, 0x38 },
    [NRT_DTYPE_FP8_E5] = { 1, 0x3f, 0x3c },
};

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Fills an input. Unknown types are filled with bytes 0 and 1. */
static NRT_STATUS input_fill(const struct worker *worker, const nrt_tensor_info_t *info,
                             nrt_tensor_t *tensor)
{
    static const struct type_bits other = { 1, 1, 1 };
    const struct type_bits *bits =
        (size_t)info->dtype < sizeof type_bits / sizeof *type_bits && type_bits[info->dtype].bytes
            ? &type_bits[info->dtype]
            : &other;
    uint8_t *bytes = calloc(1, info->size + sizeof(uint64_t));
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

    if (!bytes) {
        return NRT_RESOURCE;
    }
    for (size_t at = 0; worker->bench->fill != BENCH_FILL_ZEROS && at + bits->bytes <= info->size;
         at += bits->bytes) {
        uint64_t value = worker->bench->fill == BENCH_FILL_ONES
                             ? bits->one
                             : random_next(&state) >> 8 & bits->random;

        /* little-endian, like this machine and the device */
        memcpy(bytes + at, &value, bits->bytes);
    }
    NRT_STATUS status = worker->nrt->nrt_tensor_write(tensor, bytes, 0, info->size);
    free(bytes);
    return status;
}

static int tensors_make(struct worker *worker, int core, struct ntk_err *err)
{
    const struct ntk_nrt *nrt = worker->nrt;
    struct ntk_nrt_io *io = &worker->io;
    const char *call;
    NRT_STATUS status = ntk_nrt_io_open(nrt, worker->model, io, &call);

    for (uint64_t i = 0; status == NRT_SUCCESS && i < io->infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &io->infos->tensor_array[i];

        status = ntk_nrt_io_add(nrt, io, i, core, &call);
        if (status == NRT_SUCCESS && info->usage == NRT_TENSOR_USAGE_INPUT) {
            status = input_fill(worker, info, io->tensors[i]);
        }
    }
    if (status != NRT_SUCCESS) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot create the tensors of '%s': %s",
                           worker->bench->path, ntk_nrt_status_name(nrt, status));
    }
    return 0;
}

/* Sleeps until the time; returns false if the run was stopped before. */
static bool sleep_until(const struct worker *worker, uint64_t until_ns)
{
    for (;;) {
        uint64_t now_ns = ntk_clock_monotonic_ns();

        if (atomic_load_explicit(worker->bench->stop, memory_order_relaxed)) {
            return false;
        }
        if (now_ns >= until_ns) {
            return true;
        }
        uint64_t next_ns = until_ns - now_ns > SLEEP_NS_MAX ? now_ns + SLEEP_NS_MAX : until_ns;
        struct timespec next = { .tv_sec = (time_t)(next_ns / NTK_NS_PER_SECOND),
                                 .tv_nsec = (long)(next_ns % NTK_NS_PER_SECOND) };

        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

static void execution_count(struct worker *worker, NRT_STATUS status, uint64_t ns)
{
    if (status == NRT_SUCCESS || status == NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
        worker->executions++;
        worker->numerical_errors += status == NRT_SUCCESS ? 0 : 1;
    } else {
        worker->errors++;
        worker->last_error = status;
        return; /* the duration of a failure is not a latency */
    }
    worker->buckets[ntk_histogram_bucket(ns)]++;
    if (worker->samples && worker->sample_count < BENCH_SAMPLES_MAX) {
        worker->samples[worker->sample_count++] = ns;
    }
    worker->sum_ns += ns;
    worker->min_ns = ns < worker->min_ns ? ns : worker->min_ns;
    worker->max_ns = ns > worker->max_ns ? ns : worker->max_ns;
}

static bool is_the_end(NRT_STATUS status)
{
    return status == NRT_UNINITIALIZED || status == NRT_CLOSED || status == NRT_INVALID_HANDLE ||
           status == NRT_INVALID || status == NRT_EXEC_UNIT_UNRECOVERABLE;
}

/* Runs the warm-up executions. Errors are ignored, because they recur where they are counted. */
static void worker_warm(const struct worker *worker)
{
    for (uint64_t i = 0; i < worker->bench->warmup &&
                         !atomic_load_explicit(worker->bench->stop, memory_order_relaxed);
         i++) {
        if (is_the_end(worker->nrt->nrt_execute(worker->model, worker->io.sets[NTK_NRT_IO_READ],
                                                worker->io.sets[NTK_NRT_IO_WRITTEN]))) {
            return;
        }
    }
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    const struct bench_exec *bench = worker->bench;
    struct shared *shared = worker->shared;

    while (!atomic_load_explicit(bench->stop, memory_order_relaxed)) {
        uint64_t number = atomic_fetch_add_explicit(&shared->started, 1, memory_order_relaxed);

        if (bench->count > 0 && number >= bench->count) {
            break;
        }
        if (bench->rate > 0.0) {
            uint64_t due_ns = shared->begin_ns + (uint64_t)((double)number / bench->rate * 1e9);

            if (bench->duration_ns > 0 && due_ns - shared->begin_ns >= bench->duration_ns) {
                break;
            }
            if (!sleep_until(worker, due_ns)) {
                break;
            }
        }
        uint64_t start_ns = ntk_clock_monotonic_ns();
        if (bench->duration_ns > 0 && start_ns - shared->begin_ns >= bench->duration_ns) {
            break;
        }
        NRT_STATUS status = worker->nrt->nrt_execute(
            worker->model, worker->io.sets[NTK_NRT_IO_READ], worker->io.sets[NTK_NRT_IO_WRITTEN]);
        execution_count(worker, status, ntk_clock_monotonic_ns() - start_ns);
        if (is_the_end(status)) {
            break;
        }
    }
    return NULL;
}

/* Finds a percentile: the middle of its bucket, limited to possible times. */
static double percentile(const uint64_t *buckets, uint64_t count, double percent,
                         const struct bench_result *result)
{
    uint64_t rank = (uint64_t)(percent / 100.0 * (double)(count - 1));
    uint64_t seen = 0;

    for (uint32_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
        seen += buckets[i];
        if (seen > rank) {
            return fmin(fmax(ntk_histogram_bucket_middle(i), (double)result->min_ns),
                        (double)result->max_ns);
        }
    }
    return 0.0;
}

static void result_sum(struct worker *workers, uint32_t count, struct bench_result *result)
{
    uint64_t *buckets = workers[0].buckets;
    uint64_t sum_ns = 0;

    result->min_ns = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct worker *worker = &workers[i];

        result->executions += worker->executions;
        result->numerical_errors += worker->numerical_errors;
        result->errors += worker->errors;
        result->last_error = worker->errors > 0 ? worker->last_error : result->last_error;
        result->min_ns = worker->min_ns < result->min_ns ? worker->min_ns : result->min_ns;
        result->max_ns = worker->max_ns > result->max_ns ? worker->max_ns : result->max_ns;
        sum_ns += worker->sum_ns;
        for (uint32_t b = 0; i > 0 && b < NTK_HISTOGRAM_BUCKETS; b++) {
            buckets[b] += worker->buckets[b];
        }
    }
    uint64_t calls = result->executions;

    if (calls == 0) {
        result->min_ns = 0;
        return;
    }
    result->mean_ns = (double)sum_ns / (double)calls;
    result->p50_ns = percentile(buckets, calls, 50.0, result);
    result->p90_ns = percentile(buckets, calls, 90.0, result);
    result->p99_ns = percentile(buckets, calls, 99.0, result);
    result->p999_ns = percentile(buckets, calls, 99.9, result);
}

/* Returns true if the program is opaque: only our runtime, on request, loads a program that it
 * cannot execute. */
static bool is_opaque(const uint8_t *bytes, size_t bytes_count)
{
    static const struct ntk_neff_open_options look = { .leave_constants = true,
                                                       .leave_code = true };
    struct ntk_neff *neff = NULL;
    bool is_asked = false;

    if (ntk_env_bool("NEURON_SOFT_OPAQUE", &is_asked, NULL) < 0 || !is_asked ||
        ntk_neff_open_with(bytes, bytes_count, &look, &neff, NULL) < 0) {
        return false;
    }
    bool is_vendor = neff->is_vendor;
    ntk_neff_close(neff);
    return is_vendor;
}

uint32_t bench_exec_cores_of(const char *path)
{
    uint8_t bytes[NTK_NEFF_HEADER_BYTES];
    struct ntk_neff_header header = { 0 };
    int fd = ntk_fs_open_regular(path, NULL, NULL);

    if (fd >= 0 && ntk_fs_pread(fd, bytes, sizeof bytes, 0) == 0) {
        header = ntk_neff_header_of(bytes);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return header.num_tpb > 1 && header.num_tpb <= BENCH_CORES_MAX ? header.num_tpb : 1;
}

/* A model and its first core. */
struct placed {
    nrt_model_t *model;
    uint32_t core;
};

static uint32_t cores_of_model(const struct ntk_nrt *nrt, const nrt_model_t *model)
{
    uint32_t count = 1;

    if (nrt->nrt_get_model_vnc_count &&
        nrt->nrt_get_model_vnc_count(model, &count) != NRT_SUCCESS) {
        count = 1;
    }
    return count > 0 ? count : 1;
}

/* Loads models one after the other, as many as fit on the cores. */
static int models_load(const struct ntk_nrt *nrt, const struct bench_exec *bench,
                       struct placed *models, uint32_t *out_count, struct bench_result *result,
                       struct ntk_err *err)
{
    uint8_t *neff = NULL;
    size_t bytes = 0;
    if (!ntk_fs_is_ours(bench->path)) {
        /* do not run the file's code, which is untrusted */
        (void)setenv("NEURON_SOFT_CPU_NODES", "0", 0);
    }
    int ret = ntk_fs_read(bench->path, NEFF_BYTES_MAX, &neff, &bytes, err);

    for (uint32_t core = 0; ret == 0 && core < bench->core_count;) {
        struct placed *placed = &models[*out_count];
        NRT_STATUS status = nrt->nrt_load(neff, bytes, (int32_t)core, -1, &placed->model);

        if (status != NRT_SUCCESS) {
            ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot load '%s' on core %u: %s",
                              bench->path, bench->first_core + core,
                              ntk_nrt_status_name(nrt, status));
            break;
        }
        placed->core = core;
        core += cores_of_model(nrt, placed->model);
        (*out_count)++;
    }
    result->is_estimated = ret == 0 && is_opaque(neff, bytes);
    free(neff);
    return ret;
}

static int workers_run(const struct bench_exec *bench, struct worker *workers,
                       struct shared *shared, struct bench_result *result, struct ntk_err *err)
{
    uint32_t running = 0;
    int ret = 0;

    shared->begin_ns = ntk_clock_monotonic_ns();
    for (; running < bench->thread_count; running++) {
        ret = -pthread_create(&workers[running].thread, NULL, worker_run, &workers[running]);
        if (ret < 0) {
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s", strerror(-ret));
            /* This makes the running threads stop at once. */
            atomic_store(&shared->started, UINT64_MAX / 2);
            break;
        }
    }
    for (uint32_t i = 0; i < running; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    result->elapsed_ns = ntk_clock_monotonic_ns() - shared->begin_ns;
    return ret;
}

/* Records an execution of the first model. */
static int profile_record(const struct worker *worker, struct ntk_err *err)
{
    const char *path = worker->bench->profile_path;
    const struct ntk_nrt *nrt = worker->nrt;
    NRT_STATUS status = nrt->nrt_profile_start(worker->model, path);
    int ret = 0;

    if (status != NRT_SUCCESS) {
        ret = ntk_nrt_fail(nrt, err, status, "nrt_profile_start");
    } else {
        (void)nrt->nrt_execute(worker->model, worker->io.sets[NTK_NRT_IO_READ],
                               /* these bytes were counted before */
                               worker->io.sets[NTK_NRT_IO_WRITTEN]);
        status = nrt->nrt_profile_stop(path);
        ret = status == NRT_SUCCESS ? 0 : ntk_nrt_fail(nrt, err, status, "nrt_profile_stop");
    }
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    return ret;
}

/* Runs the measured executions, with times from the device. A runtime without these is not an
 * error. */
static int measure(const struct bench_exec *bench, struct worker *workers, struct shared *shared,
                   struct bench_result *result, struct ntk_err *err)
{
    const struct ntk_nrt *nrt = workers[0].nrt;
    struct ntk_err device_err = { 0 };
    bool is_traced = bench->has_samples && !result->is_estimated;
    int ret = is_traced ? bench_device_start(nrt, BENCH_SAMPLES_MAX, &device_err) : 0;

    is_traced = is_traced && ret == 0;
    ret = workers_run(bench, workers, shared, result, err);
    if (is_traced) {
        result->has_device = bench_device_stop(nrt, &result->device, &device_err) == 0;
    }
    if (device_err.text[0]) {
        ntk_log_warn(NULL, "no device times: %s", device_err.text);
    }
    return ret;
}

static int samples_take(const struct worker *workers, uint32_t count, struct ntk_vec *calls,
                        struct ntk_err *err)
{
    for (uint32_t w = 0; w < count; w++) {
        for (size_t i = 0; i < workers[w].sample_count; i++) {
            struct bench_device_time time = { workers[w].core, workers[w].samples[i] };

            if (ntk_vec_push(calls, &time) < 0) {
                return ntk_err_no_memory(err);
            }
        }
    }
    return 0;
}

double bench_result_per_second(const struct bench_result *result)
{
    return result->elapsed_ns > 0 ? (double)result->executions / ((double)result->elapsed_ns / 1e9)
                                  : 0.0;
}

void bench_result_fini(struct bench_result *result)
{
    ntk_vec_fini(&result->calls);
    bench_device_fini(&result->device);
}

int bench_exec_run(const struct ntk_nrt *nrt, const struct bench_exec *bench,
                   struct bench_result *out_result, struct ntk_err *err)
{
    struct worker *workers = calloc(bench->thread_count, sizeof *workers);
    struct placed *models = calloc(bench->core_count, sizeof *models);
    uint32_t model_count = 0;
    struct bench_result result = { 0 };
    struct shared shared = { 0 };
    int ret = 0;

    ntk_vec_init(&result.calls, sizeof(struct bench_device_time));
    if (!workers || !models) {
        free(models);
        free(workers);
        return ntk_err_no_memory(err);
    }
    ret = models_load(nrt, bench, models, &model_count, &result, err);
    assert(ret < 0 || model_count > 0); /* at least one core exists */
    for (uint32_t i = 0; ret == 0 && i < bench->thread_count; i++) {
        const struct placed *placed = &models[i % model_count];

        workers[i].nrt = nrt;
        workers[i].bench = bench;
        workers[i].shared = &shared;
        workers[i].model = placed->model;
        workers[i].index = i;
        workers[i].min_ns = UINT64_MAX;
        workers[i].core = placed->core;
        if (bench->has_samples) {
            workers[i].samples = calloc(BENCH_SAMPLES_MAX, sizeof *workers[i].samples);
            ret = workers[i].samples ? 0 : ntk_err_no_memory(err);
        }
        ret = ret < 0 ? ret : tensors_make(&workers[i], (int)placed->core, err);
    }
    for (uint32_t i = 0; ret == 0 && i < bench->thread_count; i++) {
        worker_warm(&workers[i]);
    }
    if (ret == 0) {
        ret = measure(bench, workers, &shared, &result, err);
    }
    if (ret == 0) {
        ret = samples_take(workers, bench->thread_count, &result.calls, err);
    }
    if (ret == 0 && bench->profile_path) {
        ret = profile_record(&workers[0], err);
    }
    if (ret == 0) {
        result_sum(workers, bench->thread_count, &result);
        result.model_count = model_count;
        *out_result = result;
    } else {
        bench_result_fini(&result);
    }
    for (uint32_t i = 0; i < bench->thread_count; i++) {
        if (workers[i].nrt) {
            ntk_nrt_io_close(nrt, &workers[i].io);
        }
        free(workers[i].samples);
    }
    for (uint32_t i = 0; i < model_count; i++) {
        (void)nrt->nrt_unload(models[i].model);
    }
    free(models);
    free(workers);
    return ret;
}
