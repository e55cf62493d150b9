/* SPDX-License-Identifier: MIT */
/*
 * What reading a capture costs: from records to sorted lists and to a summary. The floors are those
 * of the same file (adding up its bytes, decoding its records) and the time of simdjson for the
 * same spans as text, if it is installed. Also time and memory of neuron-profile for the summary of
 * a 2 GiB capture, compared with copying the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "profiler/analysis/summary.h"
#include "profiler/output/export_to.h"
#include "profiler/trace/trace.h"
#include "tests/bench/rounds.h"
#include "tests/bench/simdjson_peer.h"
#include "tests/support/ntff_big.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 5
#define MIB ((uint64_t)1 << 20)
#define SMALL_BYTES (ROUNDS_SIZE(192, 2) * MIB)
#define LARGE_BYTES (ROUNDS_SIZE(2048, 4) * MIB)
/* The capture while it is written, twice, or its lists while they are merged. */
#define DISK_BYTES (4 * LARGE_BYTES)
#define RECORD_BYTES 16
#define TEXT_STEPS ROUNDS_SIZE(40000, 400) /* of the capture that simdjson reads */

#define INGEST_TARGET \
    5.0                       /* million events per second: an instruction or packet is two
                               * records */
#define PEER_TARGET (1 / 1.2) /* of simdjson's time */
#define INPUT_TARGET 2.0      /* memory, of the size of the capture */
#define SUMMARY_TARGET 50.0   /* MB per second */
#define MEMORY_TARGET 1024.0  /* MiB */

static char *folder;
static char *path;
static struct ntk_ntff *ntff;
static uint64_t records;
static uint64_t events;
static uint64_t sink;

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

    rounds_require(ntk_trace_create(ntff, NULL, &options, &trace, NULL) == 0, "no trace");
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

    rounds_require(ntk_analysis_summary(trace, &summary) == 0, "no summary");
    uint64_t end = rounds_cpu_ns();
    ntk_summary_fini(&summary);
    return (double)(end - start) / (double)records;
}

#ifdef BENCH_SIMDJSON
static char *text_path;

static double read_text(void *ctx)
{
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t start = rounds_cpu_ns();

    (void)ctx;
    rounds_require(simdjson_peer_read(text_path, &count, &sum) == 0 && count > 0, "simdjson");
    sink += sum;
    return (double)(rounds_cpu_ns() - start) / (double)count;
}

/* A similar capture as text. */
static void write_text(void)
{
    struct ntff_big big = { .steps = TEXT_STEPS, .cores = 2 };
    struct ntk_ntff *of = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_export *export = NULL;
    struct ntk_err err = { 0 };

    rounds_require(asprintf(&text_path, "%s/text.json", folder) > 0, "no memory");
    rounds_require(ntff_big_write(path, &big) == 0 && ntk_ntff_open(path, &of, NULL) == 0 &&
                       ntk_trace_create(of, NULL, NULL, &trace, NULL) == 0 &&
                       ntk_export_create(trace, "text", path, &export) == 0 &&
                       ntk_export_to_chrome(export, text_path, &err) == 0,
                   "no text");
    ntk_export_destroy(export);
    ntk_trace_destroy(trace);
    ntk_ntff_close(of);
    unlink(path);
}
#endif

/* ns per event, from a measurement per record. */
static double per_event(double ns_per_record)
{
    return ns_per_record * (double)records / (double)events;
}

struct cost {
    double seconds, memory_mib;
};

/* neuron-profile view of the capture, as its own process. */
static struct cost summary_by_program(void)
{
    const char *const arguments[] = { "neuron-profile", "view", "-s", path, NULL };
    struct rusage usage;
    uint64_t took_ns = rounds_profile(folder, arguments, &usage);

    return (struct cost){ (double)took_ns / 1e9, (double)usage.ru_maxrss / 1024 };
}

static void small(void)
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
#ifdef BENCH_SIMDJSON
        { .name = "peer: an event as text by simdjson", .measure = read_text },
#endif
    };
    int subject_count = sizeof subjects / sizeof *subjects;

#ifdef BENCH_SIMDJSON
    write_text();
#endif
    rounds_require(ntff_big_write(path, &big) == 0, "no capture");
    rounds_require(ntk_ntff_open(path, &ntff, NULL) == 0, "capture does not open");
    records = big.record_count;
    events = big.instruction_count + big.packet_count + big.event_count;
    struct ntk_trace *trace = build(bounded);
    subjects[4].ctx = trace;
    rounds_run(subjects, subject_count, ROUND_COUNT);
    for (int i = 0; i < subject_count; i++) {
        rounds_print(&subjects[i], i < 5 ? "ns/record" : "ns/event");
    }
    rounds_print_ratio("lists in memory / decoding", &subjects[2], &subjects[1], 0);
    rounds_print_ratio("lists in files / in memory", &subjects[3], &subjects[2], 0);
    rounds_print_value("capture to lists in files", 1e3 / rounds_min(&subjects[3]), "M records/s",
                       0, 1);
    rounds_print_best("capture to lists in files", 1e3 / per_event(rounds_min(&subjects[3])),
                      1e3 / per_event(rounds_median(&subjects[3])), "M events/s", INGEST_TARGET, 1);
#ifdef BENCH_SIMDJSON
    struct rounds_subject of_events = subjects[3];
    for (int i = 0; i < of_events.count; i++) {
        of_events.values[i] = per_event(of_events.values[i]);
    }
    rounds_print_ratio("an event to lists in files / simdjson", &of_events, &subjects[5],
                       PEER_TARGET);
    unlink(text_path);
    free(text_path);
#else
    rounds_print_missing("an event to lists in files / simdjson", "simdjson is not installed");
#endif
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
    struct cost cost = summary_by_program();
    rounds_print_value("memory of its summary / its size",
                       cost.memory_mib / ((double)SMALL_BYTES / (double)MIB), "x", INPUT_TARGET, 0);
    unlink(path);
}

/* Seconds to read the capture and write a copy next to it: the current speed of the disk. */
static double copy_file(void)
{
    char command[2048];
    uint64_t start = rounds_now_ns();

    (void)snprintf(command, sizeof command, "cp '%s' '%s.copy' && sync '%s.copy' && rm '%s.copy'",
                   path, path, path, path);
    rounds_require(system(command) == 0, "cp"); // NOLINT(cert-env33-c): a path of our own
    return (double)(rounds_now_ns() - start) / 1e9;
}

static void large(void)
{
    struct ntff_big big = { .bytes_count = LARGE_BYTES, .cores = 2 };
    struct statvfs disk;

    if (statvfs(folder, &disk) != 0 || disk.f_bavail * disk.f_frsize < DISK_BYTES) {
        rounds_print_missing("summary of 2 GiB", "the disk is too full");
        rounds_print_missing("summary of 2 GiB, memory", "the disk is too full");
        return;
    }
    rounds_require(ntff_big_write(path, &big) == 0, "no large capture");
    double bytes_count = (double)(big.record_count * RECORD_BYTES);
    double copy_s = copy_file();
    struct cost cost = summary_by_program();
    rounds_print_value("summary of 2 GiB, size", bytes_count / (double)MIB, "MiB", 0, 0);
    rounds_print_value("summary of 2 GiB, time", cost.seconds, "s", 0, 0);
    rounds_print_value("summary of 2 GiB / copying it", cost.seconds / copy_s, "x", 0, 0);
    rounds_print_value("summary of 2 GiB", bytes_count / 1e6 / cost.seconds, "MB/s", SUMMARY_TARGET,
                       1);
    rounds_print_value("summary of 2 GiB, memory", cost.memory_mib, "MiB", MEMORY_TARGET, 0);
    unlink(path);
}

int main(int argc, char **argv)
{

    rounds_options(argc, argv);
    folder = test_scratch_create();
    rounds_require(folder && asprintf(&path, "%s/big.ntff", folder) > 0, "no folder");
    (void)setenv("TMPDIR", folder, 1);
    small();
    large();
    test_scratch_destroy(folder);
    free(path);
    return rounds_result();
}
