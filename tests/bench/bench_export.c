/* SPDX-License-Identifier: MIT */
/*
 * What writing a profile costs, per row of its tables, or per span and counter of its traces. Each
 * format of one long capture is compared with the floor of writing as many bytes with nothing in
 * between, and with slices that protobuf-c packs. NTK_BENCH_NTFF and NTK_BENCH_NEFF name another
 * capture and its NEFF.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/output/export_to.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/tables.h"
#include "profiler/output/traces/perfetto.pb-c.h"
#include "tests/bench/rounds.h"
#include "tests/support/ntff_big.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 7
#define STEPS ROUNDS_SIZE(50000, 500)
#define PACKED_SLICES ROUNDS_SIZE(500000, 5000)
#define PATH_BYTES 1024

#define PERFETTO_TARGET_NS 50.0
#define CHROME_TARGET_NS 250.0

static const struct ntk_export *export;
static char folder[PATH_BYTES];

static int count_row(void *ctx, const void *row)
{
    uint64_t *count = ctx;

    (void)row;
    (*count)++;
    return 0;
}

static uint64_t count_rows(const struct ntk_table *tables, size_t table_count)
{
    uint64_t count = 0;

    for (size_t t = 0; t < table_count; t++) {
        rounds_require(tables[t].rows(export, count_row, &count) == 0, "cannot count rows");
    }
    return count;
}

/* Spans and counters of a trace. */
static uint64_t count_events(void)
{
    uint64_t count = 0;

    rounds_require(ntk_rows_instructions(export, count_row, &count) == 0 &&
                       ntk_rows_packets(export, count_row, &count) == 0 &&
                       ntk_rows_rates(export, count_row, &count) == 0 &&
                       ntk_rows_throttles(export, count_row, &count) == 0 &&
                       ntk_rows_pending(export, count_row, &count) == 0 &&
                       ntk_rows_semaphores(export, count_row, &count) == 0,
                   "cannot count events");
    return count;
}

static uint64_t bytes_below(const char *path)
{
    struct stat status;
    char command[PATH_BYTES + 64];
    uint64_t bytes_count = 0;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        return (uint64_t)status.st_size;
    }
    (void)snprintf(command, sizeof command, "du -sb '%s'", path);
    FILE *pipe = popen(command, "r"); // NOLINT(cert-env33-c): a path of our own
    rounds_require(pipe && fscanf(pipe, "%lu", &bytes_count) == 1, "du");
    (void)pclose(pipe);
    return bytes_count;
}

struct subject {
    const struct ntk_export_format *format;
    uint64_t unit_count; /* rows, or spans and counters */
    uint64_t bytes_count;
};

static void path_of(const struct subject *subject, char *path, size_t path_bytes)
{
    (void)snprintf(path, path_bytes, "%s/%s", folder, subject->format->default_path);
}

static double write_format(void *ctx)
{
    struct subject *subject = ctx;
    struct ntk_err err = { 0 };
    char path[2 * PATH_BYTES];
    uint64_t begin = rounds_cpu_ns();

    path_of(subject, path, sizeof path);
    rounds_require(subject->format->write(export, path, &err) == 0, err.text);
    uint64_t end = rounds_cpu_ns();
    subject->bytes_count = bytes_below(path);
    return (double)(end - begin) / (double)subject->unit_count;
}

/* Writes as many bytes as the format has, by the same route to the same place. */
static double write_bytes(void *ctx)
{
    const struct subject *subject = ctx;
    static char block[NTK_SINK_BYTES];
    struct ntk_err err = { 0 };
    struct ntk_sink sink;
    char path[2 * PATH_BYTES];
    uint64_t begin = rounds_cpu_ns();

    (void)snprintf(path, sizeof path, "%s/floor", folder);
    rounds_require(ntk_sink_open(&sink, path, &err) == 0, err.text);
    for (uint64_t left = subject->bytes_count; left;) {
        size_t now = left < sizeof block ? (size_t)left : sizeof block;
        ntk_buf_add(&sink.buf, block, now);
        (void)ntk_sink_step(&sink);
        left -= now;
    }
    rounds_require(ntk_sink_commit(&sink, &err) == 0, err.text);
    return (double)(rounds_cpu_ns() - begin) / (double)subject->unit_count;
}

/* The two packets of a slice with one argument, as structs that protobuf-c packs. */
static double pack_slices(void *ctx)
{
    static uint8_t buffer[NTK_SINK_BYTES];
    size_t used = 0;
    uint64_t begin = rounds_cpu_ns();

    (void)ctx;
    for (uint64_t i = 0; i < PACKED_SLICES; i++) {
        for (int end = 0; end < 2; end++) {
            Ntk__Perfetto__DebugAnnotation argument = NTK__PERFETTO__DEBUG_ANNOTATION__INIT;
            Ntk__Perfetto__DebugAnnotation *arguments = &argument;
            Ntk__Perfetto__TrackEvent event = NTK__PERFETTO__TRACK_EVENT__INIT;
            Ntk__Perfetto__TracePacket packet = NTK__PERFETTO__TRACE_PACKET__INIT;
            Ntk__Perfetto__TracePacket *packets = &packet;
            Ntk__Perfetto__Trace trace = NTK__PERFETTO__TRACE__INIT;

            event.has_type = event.has_track_uuid = 1;
            event.type = end ? NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_END
                             : NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN;
            event.track_uuid = 1 + i % 16;
            if (!end) {
                event.has_name_iid = argument.has_name_iid = argument.has_uint_value = 1;
                event.name_iid = 260;
                argument.name_iid = 5;
                argument.uint_value = 2048;
                event.n_debug_annotations = 1;
                event.debug_annotations = &arguments;
            }
            packet.has_timestamp = packet.has_trusted_packet_sequence_id = 1;
            packet.has_sequence_flags = 1;
            packet.timestamp = i * 8 + (end ? 180 : 0);
            packet.trusted_packet_sequence_id = 1;
            packet.sequence_flags = 2;
            packet.track_event = &event;
            trace.n_packet = 1;
            trace.packet = &packets;
            if (used + 256 > sizeof buffer) {
                used = 0;
            }
            used += ntk__perfetto__trace__pack(&trace, buffer + used);
        }
    }
    return (double)(rounds_cpu_ns() - begin) / PACKED_SLICES;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "perfetto", "chrome", "json", "csv", "parquet", "sqlite" };
    enum { COUNT = sizeof names / sizeof *names };
    struct subject formats[COUNT];
    struct rounds_subject subjects[2 * COUNT + 1];
    char floor_names[COUNT][64];
    char path[2 * PATH_BYTES];
    char *scratch;
    struct ntk_ntff *ntff = NULL;
    struct ntk_neff *neff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_export *made = NULL;
    struct ntk_err err = { 0 };
    struct ntff_big big = { .steps = STEPS, .cores = 1 };
    size_t table_count;

    rounds_options(argc, argv);
    test_scratch_in_memory();
    scratch = test_scratch_create();
    (void)snprintf(folder, sizeof folder, "%s", scratch);
    (void)snprintf(path, sizeof path, "%s/bench.ntff", folder);
    const char *other = getenv("NTK_BENCH_NTFF");
    const char *other_neff = getenv("NTK_BENCH_NEFF");
    rounds_require(other || ntff_big_write(path, &big) == 0, "cannot write a capture");
    rounds_require(ntk_ntff_open(other ? other : path, &ntff, &err) == 0, err.text);
    rounds_require(!other_neff || ntk_neff_open(other_neff, &neff, &err) == 0, err.text);
    rounds_require(ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, &err) == 0, err.text);
    rounds_require(ntk_export_create(trace, "bench", path, &made) == 0, "no memory");
    export = made;
    for (int i = 0; i < COUNT; i++) {
        const struct ntk_table *tables =
            i == 2 ? ntk_tables_json(&table_count) : ntk_tables_schema(&table_count);
        formats[i] =
            (struct subject){ ntk_export_format_find(names[i]),
                              i < 2 ? count_events() : count_rows(tables, table_count), 0 };
        (void)snprintf(floor_names[i], sizeof floor_names[i], "%s: as many bytes", names[i]);
        subjects[2 * i] = (struct rounds_subject){ names[i], write_format, &formats[i], { 0 }, 0 };
        subjects[2 * i + 1] =
            (struct rounds_subject){ floor_names[i], write_bytes, &formats[i], { 0 }, 0 };
    }
    subjects[2 * COUNT] =
        (struct rounds_subject){ "protobuf-c, packing alone", pack_slices, NULL, { 0 }, 0 };
    rounds_run(subjects, 2 * COUNT + 1, ROUND_COUNT);
    for (int i = 0; i < 2 * COUNT + 1; i++) {
        rounds_print(&subjects[i], "ns/row");
    }
    for (int i = 0; i < COUNT; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s: bytes per row", names[i]);
        rounds_print_value(name, (double)formats[i].bytes_count / (double)formats[i].unit_count,
                           "B", 0, 0);
        (void)snprintf(name, sizeof name, "%s over its bytes", names[i]);
        rounds_print_ratio(name, &subjects[2 * i], &subjects[2 * i + 1], 0);
    }
    rounds_print_ratio("perfetto over protobuf-c", &subjects[0], &subjects[2 * COUNT], 0.5);
    rounds_print_best("perfetto per span or counter", rounds_min(&subjects[0]),
                      rounds_median(&subjects[0]), "ns", PERFETTO_TARGET_NS, 0);
    rounds_print_best("chrome per span or counter", rounds_min(&subjects[2]),
                      rounds_median(&subjects[2]), "ns", CHROME_TARGET_NS, 0);
    ntk_export_destroy(made);
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);
    test_scratch_destroy(scratch);
    return rounds_result();
}
