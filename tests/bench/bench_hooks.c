/* SPDX-License-Identifier: MIT */
/*
 * What the hooks cost the observed program, and how fast a reader is. The floor is a timestamp and
 * a 64-byte store in a loop of this program; the hooks are called in a shared library.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/abi/raw_clock.h"
#include "shared/ring/ring_registry.h"
#include "tests/bench/hooks_so.h"
#include "tests/bench/rounds.h"
#include "tests/support/scratch.h"

#define EVENTS ROUNDS_SIZE(1000000u, 1000u)
#define EXECUTIONS ROUNDS_SIZE(100000u, 100u)
#define ROUND_COUNT 9
#define SAMPLES ROUNDS_SIZE(400000u, 400u)
#define TAIL_SAMPLE (SAMPLES / 1000 * 999) /* 99.9 % of them are below */

static struct ntk_slot *floor_ring;
static uint32_t clock_kind;

/* ---- one thread ---- */

static double measure_floor(void *ctx)
{
    struct ntk_slot *ring = ctx != NULL ? ctx : floor_ring;
    const uint64_t count = EVENTS;
    uint64_t begin = rounds_cpu_ns();
    uint64_t i;

    for (i = 0; i < count; i++) {
        struct ntk_slot *slot = &ring[i & (NTK_RING_SLOTS - 1)];

        slot->start_ticks = ntk_raw_clock_now(clock_kind);
        slot->seq = i;
        *ntk_slot_meta(slot) = i;
        slot->word[0] = i;
        slot->word[1] = i;
        slot->word[2] = i;
        slot->word[3] = i;
        slot->word[4] = i;
        __asm__ volatile("" : : "r"(slot) : "memory");
    }
    return (double)(rounds_cpu_ns() - begin) / EVENTS;
}

static double measure_clock(void *ctx)
{
    const uint64_t count = EVENTS;
    uint64_t begin = rounds_cpu_ns();
    uint64_t sum = 0;
    uint64_t i;

    (void)ctx;
    for (i = 0; i < count; i++) {
        sum += ntk_raw_clock_now(clock_kind);
    }
    __asm__ volatile("" : : "r"(sum));
    return (double)(rounds_cpu_ns() - begin) / EVENTS;
}

ROUNDS_MEASURE(measure_mark, EVENTS, bench_so_mark(i, i))

/* Sixteen names in turn: each lookup has to find one among them. */
static const char *const names[16] = { "step",    "forward",   "backward", "all-reduce",
                                       "loader",  "optimizer", "epoch",    "evaluation",
                                       "embed",   "attention", "mlp",      "layer norm",
                                       "softmax", "tokens",    "save",     "restore" };
ROUNDS_MEASURE(measure_range, EVENTS, bench_so_range(names[i % 16], i))
ROUNDS_MEASURE(measure_nothing, EVENTS, bench_so_nothing(i, i))
ROUNDS_MEASURE(measure_execute, EXECUTIONS, bench_so_execute(i))

/* ---- two threads ---- */

struct writer {
    pthread_t thread;
    pthread_barrier_t *barrier;
    struct ntk_slot *ring; /* NULL: the hooks' own */
    int cpu;
    double ns;
};

static void *write_marks(void *ctx)
{
    struct writer *writer = ctx;

    (void)rounds_pin(writer->cpu);
    if (writer->ring == NULL) {
        bench_so_mark(0, 0);
    }
    pthread_barrier_wait(writer->barrier);
    writer->ns = writer->ring == NULL ? measure_mark(NULL) : measure_floor(writer->ring);
    return NULL;
}

/* The slower of two threads that write at the same time, each to its own ring; ctx: the floor's
 * rings. */
static double measure_two_writers(void *ctx)
{
    struct ntk_slot *rings = ctx;
    pthread_barrier_t barrier;
    struct writer writers[2];
    int i;

    pthread_barrier_init(&barrier, NULL, 2);
    for (i = 0; i < 2; i++) {
        writers[i].barrier = &barrier;
        writers[i].cpu = i;
        writers[i].ring = rings != NULL ? rings + (size_t)i * NTK_RING_SLOTS : NULL;
        if (pthread_create(&writers[i].thread, NULL, write_marks, &writers[i]) != 0) {
            rounds_require(0, "cannot start a thread");
        }
    }
    for (i = 0; i < 2; i++) {
        pthread_join(writers[i].thread, NULL);
    }
    pthread_barrier_destroy(&barrier);
    return writers[0].ns > writers[1].ns ? writers[0].ns : writers[1].ns;
}

/* ---- a reader in another process ---- */

struct tally {
    uint64_t events;
    uint64_t sum;
    uint64_t by_kind[NTK_EVENT_KIND_COUNT];
    uint64_t by_core[NTK_SEGMENT_CORES];
    uint64_t histogram[NTK_HISTOGRAM_BUCKETS];
};

/* What an agent does with each record: counters by kind and core, a latency histogram. */
static void tally_batch(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                        size_t count, void *ctx)
{
    struct tally *tally = ctx;
    size_t i;

    (void)segment;
    for (i = 0; i < count; i++) {
        tally->events++;
        tally->sum += slots[i].word[2];
        if (slots[i].kind < NTK_EVENT_KIND_COUNT) {
            tally->by_kind[slots[i].kind]++;
        }
        if (slots[i].core < NTK_SEGMENT_CORES) {
            tally->by_core[slots[i].core]++;
        }
        tally->histogram[ntk_histogram_bucket(slots[i].word[0] + i)]++;
    }
}

static void read_until_killed(const char *folder)
{
    static struct tally tally;
    struct ntk_ring_options options = { .folder = folder, .from = NTK_RING_FROM_NOW };
    struct ntk_ring_registry *registry;
    struct timespec pause = { 0, 10000000 };

    (void)rounds_pin(1);
    rounds_require(ntk_ring_registry_open(&options, &registry, NULL) == 0,
                   "the reader cannot open the folder");
    for (;;) {
        size_t i;

        (void)ntk_ring_registry_poll(registry, NULL, NULL);
        for (i = 0; i < ntk_ring_registry_count(registry); i++) {
            (void)ntk_ring_segment_drain(ntk_ring_registry_get(registry, i), 0, tally_batch,
                                         &tally);
        }
        (void)nanosleep(&pause, NULL);
    }
}

static pid_t reader;
static const char *hooks_folder;

static double measure_with_reader(void *ctx)
{
    double ns;

    (void)ctx;
    (void)kill(reader, SIGCONT);
    ns = measure_mark(NULL);
    (void)kill(reader, SIGSTOP);
    return ns;
}

/* ---- a reader at full speed, in memory that another core has written ---- */

static struct ntk_segment_ring directory;

static double measure_drain(void *ctx)
{
    static struct ntk_slot slots[NTK_RING_BATCH];
    struct tally *tally = ctx;
    uint64_t begin = rounds_cpu_ns();
    uint64_t events = 0;
    int round;

    for (round = 0; round < ROUNDS_SIZE(64, 1); round++) {
        struct ntk_ring_reader rings;
        int more = 1;

        ntk_ring_reader_init(&rings, floor_ring, &directory.head, NTK_RING_SLOTS,
                             NTK_RING_FROM_OLDEST);
        rings.writer_gone = 1;
        while (more) {
            size_t count = ntk_ring_reader_next(&rings, slots, &more);

            tally_batch(NULL, slots, count, tally);
            events += count;
        }
    }
    return (double)(rounds_cpu_ns() - begin) / (double)events;
}

/* ---- single records ---- */

static int compare_ticks(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* p99.9 of one call in ticks, including reading the clock; *out_faults: the page faults of all
 * calls. */
static double tail_ticks(void (*call)(uint64_t, uint64_t), uint64_t *samples, long *out_faults)
{
    struct rusage first;
    struct rusage last;
    uint64_t i;

    (void)getrusage(RUSAGE_SELF, &first);
    for (i = 0; i < SAMPLES; i++) {
        uint64_t before = ntk_raw_clock_now(clock_kind);

        call(i, i);
        samples[i] = ntk_raw_clock_now(clock_kind) - before;
    }
    (void)getrusage(RUSAGE_SELF, &last);
    *out_faults = last.ru_minflt - first.ru_minflt;
    qsort(samples, SAMPLES, sizeof *samples, compare_ticks);
    return (double)samples[TAIL_SAMPLE];
}

static void report_tail(void)
{
    uint64_t *samples = calloc(SAMPLES, sizeof *samples);
    struct ntk_segment_clock first = ntk_raw_clock_bracket(clock_kind, 32);
    struct ntk_segment_clock last;
    double ns_per_tick;
    long unwanted;
    long faults;
    double ticks;
    double empty;

    rounds_require(samples != NULL, "out of memory");
    (void)tail_ticks(bench_so_mark, samples, &unwanted);
    ticks = tail_ticks(bench_so_mark, samples, &faults);
    empty = tail_ticks(bench_so_nothing, samples, &unwanted);
    last = ntk_raw_clock_bracket(clock_kind, 32);
    ns_per_tick = (double)(last.monotonic_ns - first.monotonic_ns) /
                  (double)(last.raw_ticks - first.raw_ticks);
    rounds_print_value("E8 p99.9 of one record", ticks * ns_per_tick, "ns", 300, 0);
    rounds_print_value("   the same of an empty call", empty * ns_per_tick, "ns", 0, 0);
    rounds_print_exact("E8 page faults in 400,000 records", (double)faults, "", 0);
    free(samples);
}

int main(int argc, char **argv)
{
    static struct tally tally;
    struct rounds_subject off[] = {
        { .name = "an empty call into the library", .measure = measure_nothing },
        { .name = "a hook while detached", .measure = measure_mark },
    };
    struct rounds_subject on[] = {
        { .name = "reading the raw clock", .measure = measure_clock },
        { .name = "floor: raw clock and a 64-byte store", .measure = measure_floor },
        { .name = "one record from the library", .measure = measure_mark },
        { .name = "one record, a reader attached", .measure = measure_with_reader },
        { .name = "one record, two threads", .measure = measure_two_writers },
        { .name = "floor, two threads", .measure = measure_two_writers },
        { .name = "an execution: counters, histograms, 7 records", .measure = measure_execute },
        { .name = "a range with its name, of a program", .measure = measure_range },
    };
    struct rounds_subject drain[] = {
        { .name = "reading and aggregating one event", .measure = measure_drain, .ctx = &tally },
    };
    char *folder = test_scratch_create();
    size_t i;

    rounds_options(argc, argv);
    /* In shared memory if the machine has it, as in production. */
    if (access("/dev/shm", W_OK) == 0) {
        test_scratch_destroy(folder);
        (void)setenv("TMPDIR", "/dev/shm", 1);
        folder = test_scratch_create();
    }
    hooks_folder = folder;
    (void)setenv("NEURON_HOOKS_DIR", folder, 1);
    (void)unsetenv("NEURON_HOOKS");
    clock_kind = ntk_raw_clock_kind();
    floor_ring = aligned_alloc(64, 2 * NTK_RING_SLOTS * sizeof *floor_ring);
    rounds_require(floor_ring != NULL, "out of memory");
    memset(floor_ring, 0, 2 * NTK_RING_SLOTS * sizeof *floor_ring);
    on[5].ctx = floor_ring;
    (void)rounds_pin(0);

    rounds_run(off, 2, ROUND_COUNT);
    rounds_require(bench_so_attach() == 0, "cannot attach");
    bench_so_mark(0, 0);
    reader = fork();
    if (reader == 0) {
        read_until_killed(folder);
    }
    (void)kill(reader, SIGSTOP);
    rounds_run(on, sizeof on / sizeof on[0], ROUND_COUNT);

    for (i = 0; i < NTK_RING_SLOTS; i++) {
        floor_ring[i].seq = i + 1;
        *ntk_slot_meta(&floor_ring[i]) =
            NTK_SLOT_META(i % 5 ? NTK_EVENT_ENGINE : NTK_EVENT_EXEC, 0, i % 128, 1);
        floor_ring[i].word[0] = i * 977;
    }
    directory.head = NTK_RING_SLOTS;
    rounds_run(drain, 1, ROUND_COUNT);

    for (i = 0; i < 2; i++) {
        rounds_print(&off[i], "ns");
    }
    for (i = 0; i < sizeof on / sizeof on[0]; i++) {
        rounds_print(&on[i], "ns");
    }
    rounds_print(&drain[0], "ns");
    rounds_print_ratio("   detached hook / empty call", &off[1], &off[0], 0);
    rounds_print_best(
        "E4 detached hook, of 2.5 ns or 1.5 empty calls",
        fmin(rounds_min(&off[1]) / 2.5, rounds_min(&off[1]) / rounds_min(&off[0]) / 1.5),
        fmin(rounds_median(&off[1]) / 2.5, rounds_median(&off[1]) / rounds_median(&off[0]) / 1.5),
        "x", 1, 0);
    rounds_print_ratio("E3 one record / floor", &on[2], &on[1], 2.0);
    rounds_print_ratio("E3 a program's range / floor", &on[7], &on[1], 4.0);
    rounds_print_ratio("E5 two threads / one thread", &on[4], &on[2], 1.25);
    rounds_print_ratio("   the floor: two threads / one", &on[5], &on[1], 0);
    rounds_print_ratio("   two threads: record / floor", &on[4], &on[5], 2.0);
    rounds_print_ratio("E6 reader attached / none", &on[3], &on[2], 2.0);
    report_tail();
    rounds_print_best("A1 events read and aggregated, flat out", 1e3 / rounds_min(&drain[0]),
                      1e3 / rounds_median(&drain[0]), "M/s", 25, 1);

    (void)kill(reader, SIGKILL);
    (void)waitpid(reader, NULL, 0);
    bench_so_detach();
    test_scratch_destroy(folder);
    free(floor_ring);
    return rounds_result();
}
