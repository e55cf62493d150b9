/* SPDX-License-Identifier: MIT */
/*
 * What reading a capture costs: records to sorted lists and to a summary, beside the floors of the same file
 * (its bytes added up, its records decoded), and the summary of a 2 GiB capture by neuron-profile: time, memory, and
 * how many times its size in bytes are read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/analysis/summary.h"
#include "profiler/trace/trace.h"
#include "tests/bench/rounds.h"
#include "tests/support/ntff_big.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 5
#define MIB ((uint64_t)1 << 20)
#define SMALL_BYTES (192 * MIB)
#define LARGE_BYTES (2048 * MIB)
/* The capture while it is written, twice, or its lists while they are merged. */
#define DISK_BYTES (4 * LARGE_BYTES)
#define RECORD_BYTES 16

#define INGEST_TARGET 5.0    /* million records a second */
#define SUMMARY_TARGET 50.0  /* MB a second */
#define MEMORY_TARGET 1024.0 /* MiB */

static char *folder;
static char *path;
static struct ntk_ntff *ntff;
static uint64_t records;
static uint64_t sink;

static void require(int condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "bench_trace: %s\n", what);
        exit(1);
    }
}

static double sum_bytes(void *ctx)
{
    uint64_t start = rounds_cpu_ns();

    (void)ctx;
    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count; s++) {
            const struct ntk_ntff_section *section = &ntff->subgraphs[g].sections[s];
            for (uint64_t i = 0; i < section->record_count; i++) {
                uint64_t words[2];
                memcpy(words, section->records + i * RECORD_BYTES, sizeof words);
                sink += words[0] ^ words[1];
            }
        }
    }
    return (double)(rounds_cpu_ns() - start) / (double)records;
}

static double decode(void *ctx)
{
    uint64_t start = rounds_cpu_ns();

    (void)ctx;
    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        for (size_t s = 0; s < ntff->subgraphs[g].section_count; s++) {
            const struct ntk_ntff_section *section = &ntff->subgraphs[g].sections[s];
            for (uint64_t i = 0; i < section->record_count; i++) {
                struct ntk_ntff_record record;
                ntk_ntff_record_get(&ntff->subgraphs[g], section, i, &record);
                sink += (uint64_t)record.time_ps;
            }
        }
    }
    return (double)(rounds_cpu_ns() - start) / (double)records;
}

static struct ntk_trace *build(size_t list_bytes)
{
    struct ntk_trace_options options = { .list_bytes = list_bytes };
    struct ntk_trace *trace = NULL;

    require(ntk_trace_create(ntff, NULL, &options, &trace, NULL) == 0, "no trace");
    return trace;
}

static double ingest(void *ctx)
{
    const size_t *list_bytes = ctx;
    uint64_t start = rounds_cpu_ns();
    struct ntk_trace *trace = build(*list_bytes);
    uint64_t end = rounds_cpu_ns();

    ntk_trace_destroy(trace);
    return (double)(end - start) / (double)records;
}

static double summarise(void *ctx)
{
    const struct ntk_trace *trace = ctx;
    struct ntk_summary summary;
    uint64_t start = rounds_cpu_ns();

    require(ntk_analysis_summary(trace, &summary) == 0, "no summary");
    uint64_t end = rounds_cpu_ns();
    ntk_summary_fini(&summary);
    return (double)(end - start) / (double)records;
}

static int small(void)
{
    static size_t in_memory = (size_t)1 << 30;
    static size_t bounded = 0;
    struct ntff_big big = { .bytes_count = SMALL_BYTES, .cores = 2 };
    struct rounds_subject subjects[] = {
        { .name = "floor: the bytes added up", .measure = sum_bytes },
        { .name = "floor: records decoded", .measure = decode },
        { .name = "capture to lists in memory", .measure = ingest, .ctx = &in_memory },
        { .name = "capture to lists in files", .measure = ingest, .ctx = &bounded },
        { .name = "lists to summary", .measure = summarise },
    };
    int good = 1;

    require(ntff_big_write(path, &big) == 0, "no capture");
    require(ntk_ntff_open(path, &ntff, NULL) == 0, "capture does not open");
    records = big.record_count;
    struct ntk_trace *trace = build(bounded);
    subjects[4].ctx = trace;
    rounds_run(subjects, 5, ROUND_COUNT);
    for (int i = 0; i < 5; i++) {
        rounds_print(&subjects[i], "ns/record");
    }
    (void)rounds_print_ratio("lists in memory / decoding", &subjects[2], &subjects[1], 0);
    (void)rounds_print_ratio("lists in files / in memory", &subjects[3], &subjects[2], 0);
    good &= rounds_print_value("capture to lists in files", 1e3 / rounds_min(&subjects[3]),
                               "M records/s", INGEST_TARGET, 1);
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
    unlink(path);
    return good;
}

static int large(void)
{
    struct ntff_big big = { .bytes_count = LARGE_BYTES, .cores = 2 };
    struct statvfs disk;
    struct rusage usage;
    const char *bin = getenv("NTK_BIN_DIR");
    char program[1024];
    int status = 0;
    int good = 1;

    if (statvfs(folder, &disk) != 0 || disk.f_bavail * disk.f_frsize < DISK_BYTES) {
        (void)printf("   2 GiB: skipped, %s has less than %llu MiB free\n", folder,
                     (unsigned long long)(DISK_BYTES / MIB));
        return 1;
    }
    require(ntff_big_write(path, &big) == 0, "no large capture");
    (void)snprintf(program, sizeof program, "%s/neuron-profile", bin ? bin : ".");
    uint64_t start = rounds_now_ns();
    (void)fflush(NULL);
    pid_t pid = fork();
    require(pid >= 0, "fork");
    if (pid == 0) {
        (void)setenv("TMPDIR", folder, 1);
        (void)!freopen("/dev/null", "w", stdout);
        (void)execl(program, program, "view", "-s", path, (char *)NULL);
        _exit(127);
    }
    require(wait4(pid, &status, 0, &usage) == pid && status == 0, "neuron-profile view");
    double seconds = (double)(rounds_now_ns() - start) / 1e9;
    double bytes_count = (double)(big.record_count * RECORD_BYTES);
    (void)rounds_print_value("summary of 2 GiB, size", bytes_count / (double)MIB, "MiB", 0, 0);
    (void)rounds_print_value("summary of 2 GiB, time", seconds, "s", 0, 0);
    good &= rounds_print_value("summary of 2 GiB", bytes_count / 1e6 / seconds, "MB/s",
                               SUMMARY_TARGET, 1);
    good &= rounds_print_value("summary of 2 GiB, memory", (double)usage.ru_maxrss / 1024, "MiB",
                               MEMORY_TARGET, 0);
    unlink(path);
    return good;
}

int main(int argc, char **argv)
{
    int good = 1;

    rounds_options(argc, argv);
    folder = test_scratch_create();
    require(folder && asprintf(&path, "%s/big.ntff", folder) > 0, "no folder");
    (void)setenv("TMPDIR", folder, 1);
    good &= small();
    good &= large();
    test_scratch_destroy(folder);
    free(path);
    return good ? 0 : 1;
}
