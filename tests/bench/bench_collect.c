/* SPDX-License-Identifier: MIT */
/*
 * bench_collect - the cost of collecting. Compares recording and quantiles of histograms with
 * reading the events, and the collector's CPU time at 10,000 executions per second over 32 cores
 * with that of a collector that watches nothing.
 *
 * BENCH_SECONDS sets longer rounds (default 3).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/collect/collect.h"
#include "shared/ring/ring_reader.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define SLOTS 16384u
#define REPEATS ROUNDS_SIZE(10, 1)
#define CORES 32u
#define RATE 10000u

static double now_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- histograms ---- */

static struct ntk_slot slots[SLOTS];
static uint64_t head;

/* Reads the whole ring; with a histogram it also records each duration. */
static uint64_t read_ring(struct ntk_histogram_dense *into)
{
    struct ntk_slot batch[NTK_RING_BATCH];
    struct ntk_ring_reader reader;
    uint64_t sum = 0;
    size_t count;

    ntk_ring_reader_init(&reader, slots, &head, SLOTS, NTK_RING_FROM_OLDEST);
    while ((count = ntk_ring_reader_next(&reader, batch, NULL)) > 0) {
        for (size_t i = 0; i < count; i++) {
            sum += batch[i].word[0];
            if (into) {
                ntk_histogram_dense_record(into, batch[i].word[0]);
            }
        }
    }
    return sum;
}

static struct ntk_histogram_dense dense;
static volatile uint64_t checksum; /* keeps the compiler from dropping the work */

static double measure_reading(void *ctx)
{
    uint64_t begin = rounds_cpu_ns();

    for (int i = 0; i < REPEATS; i++) {
        checksum += read_ring(ctx);
    }
    return (double)(rounds_cpu_ns() - begin) / ((double)REPEATS * SLOTS);
}

static double measure_quantiles(void *ctx)
{
    static const double four[] = { 50, 90, 99, 99.9 };
    uint64_t begin = rounds_cpu_ns();
    double out[4];

    (void)ctx;
    for (int i = 0; i < 500; i++) {
        dense.bucket[i]++; /* otherwise the compiler calls it only once */
        ntk_histogram_dense_percentiles(&dense, four, 4, out);
        checksum += (uint64_t)out[3];
    }
    return (double)(rounds_cpu_ns() - begin) / 500;
}

static void bench_histogram(void)
{
    struct rounds_subject subjects[] = {
        { .name = "reading an event", .measure = measure_reading },
        { .name = "reading and recording its duration", .measure = measure_reading, .ctx = &dense },
        { .name = "4 quantiles of a histogram", .measure = measure_quantiles },
    };
    uint64_t seed = 88172645463325252u;

    for (uint64_t i = 0; i < SLOTS; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        slots[i].kind = NTK_EVENT_EXEC;
        slots[i].word[0] = 1000000 + seed % 3000000; /* a few milliseconds */
        slots[i].seq = i + 1;
    }
    head = SLOTS;
    rounds_run(subjects, 3, 15);
    for (int i = 0; i < 3; i++) {
        rounds_print(&subjects[i], "ns");
    }
    /* recording at most 1.5 times reading: both together at most 2.5 times */
    rounds_print_ratio("A2 reading and recording / reading", &subjects[1], &subjects[0], 2.5);
    rounds_print_value("A2 4 quantiles", rounds_median(&subjects[2]), "ns", 3000, 0);
}

/* ---- the collector ---- */

/* Performs RATE executions per second over CORES cores until killed, in steps of 10 ms. */
static void load_main(void)
{
    const struct ntk_hooks_config config = { .instance_type = "trn1.32xlarge",
                                             .lnc = 1,
                                             .device_count = 16,
                                             .cores_per_device = 2,
                                             .process_flags = NTK_PROCESS_SOFTWARE_CORE };
    struct ntk_hooks_exec_core work = { .flops = 1000,
                                        .effective_flops = 900,
                                        .engine_busy_ns = { 10, 20, 30, 40, 50, 60 },
                                        .engine_instructions = { 1, 1, 1, 1, 1, 1 } };
    struct ntk_hooks_model_ref refs[CORES];
    struct timespec next;
    char note[256];
    uint64_t id = 0;

    rounds_require(ntk_hooks_attach(&config, note, sizeof note) >= 0, note);
    for (uint16_t core = 0; core < CORES; core++) {
        const struct ntk_hooks_model model = {
            .id = NTK_MODEL_ID_FIRST + core, .name = "mlp", .core = core, .core_count = 1
        };

        ntk_hooks_core_claim(core, core, 1);
        ntk_hooks_model_begin(&model, &refs[core]);
        ntk_hooks_model_loaded(refs[core], ntk_hooks_now(), 0, 4096);
    }
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        for (uint32_t i = 0; i < RATE / 100; i++) {
            uint16_t core = (uint16_t)(id % CORES);
            struct ntk_hooks_exec exec = { .model = refs[core],
                                           .execution_id = ++id,
                                           .call_start_ticks = ntk_hooks_now(),
                                           .core = core,
                                           .core_count = 1,
                                           .per_core = &work };

            exec.core_start_ticks = ntk_hooks_exec_begin(refs[core], core, 1);
            ntk_hooks_exec_end(&exec);
        }
        next.tv_nsec += 10000000;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
}

/* CPU seconds per second of a collector that drains every drain_ms and polls every second. */
static double collect_cpu(const char *folder, double seconds, unsigned int drain_ms,
                          uint64_t *out_executions, uint64_t *out_events, uint64_t *out_lost)
{
    struct ntk_collector_options options = { .reap = true, .hooks_dir = folder };
    struct ntk_collector *collector;
    struct ntk_snapshot *snapshot;
    struct ntk_err err = { 0 };
    double begin_cpu;
    double begin;
    double next_poll;

    rounds_require(ntk_collector_create(&options, &collector, &err) == 0, err.text);
    *out_executions = *out_events = *out_lost = 0;
    if (ntk_collector_poll(collector, &snapshot, &err) == 0) {
        ntk_snapshot_destroy(snapshot); /* first discovery is not part of the steady cost */
    }
    begin = now_of(CLOCK_MONOTONIC);
    begin_cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);
    next_poll = begin + 1;
    while (now_of(CLOCK_MONOTONIC) < begin + seconds) {
        const struct timespec pause = { 0, (long)drain_ms * 1000000 };

        nanosleep(&pause, NULL);
        ntk_collector_drain(collector);
        if (now_of(CLOCK_MONOTONIC) >= next_poll &&
            ntk_collector_poll(collector, &snapshot, &err) == 0) {
            *out_executions += ntk_snapshot_outcome_sum(snapshot->outcome);
            *out_events += snapshot->events_read.period;
            *out_lost += snapshot->events_lost.period;
            ntk_snapshot_destroy(snapshot);
            next_poll += 1;
        }
    }
    begin_cpu = now_of(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
    begin = now_of(CLOCK_MONOTONIC) - begin;
    ntk_collector_destroy(collector);
    return begin_cpu / begin;
}

static void bench_collector(void)
{
    const char *text = getenv("BENCH_SECONDS");
    double seconds = text ? atof(text) : ROUNDS_SIZE(3, 0.2);
    char *empty = test_scratch_create();
    char *busy = test_scratch_create();
    static const unsigned int drains_ms[] = { 10, 100 };
    struct rusage usage;
    char name[128];
    pid_t load;

    setenv("NEURON_HOOKS_DIR", busy, 1);
    load = fork();
    if (load == 0) {
        load_main();
    }
    for (size_t i = 0; i < sizeof drains_ms / sizeof *drains_ms; i++) {
        uint64_t executions;
        uint64_t events;
        uint64_t lost;
        double idle = collect_cpu(empty, seconds, drains_ms[i], &executions, &events, &lost);
        double loaded =
            collect_cpu(busy, seconds + 0.05, drains_ms[i], &executions, &events, &lost);

        snprintf(name, sizeof name, "collector idle, drains every %u ms", drains_ms[i]);
        rounds_print_value(name, idle * 100, "% of a core", 0, 0);
        snprintf(name, sizeof name, "collector at %.0f executions/s on %u cores",
                 (double)executions / seconds, CORES);
        rounds_print_value(name, loaded * 100, "% of a core", 0, 0);
        rounds_print_value("events read", (double)events / seconds, "1/s", 0, 0);
        rounds_print_value("events lost", (double)lost, "", 0, 0);
    }
    getrusage(RUSAGE_SELF, &usage);
    rounds_print_value("resident memory of this process", (double)usage.ru_maxrss / 1024, "MiB", 12,
                       0);
    kill(load, SIGKILL);
    waitpid(load, NULL, 0);
    test_scratch_destroy(busy);
    test_scratch_destroy(empty);
}

int main(int argc, char **argv)
{

    rounds_options(argc, argv);
    bench_histogram();
    bench_collector();
    return rounds_result();
}
