/* SPDX-License-Identifier: MIT */
/*
 * What the command lines costs on a kernel that is unrolled into a million instructions, each of
 * them executed once: back-end lines and kernel tree are read out of the members of the NEFF,
 * joined with the program, and summed by line, loop and iteration, with the instructions that ended
 * each wait. The floor is the same program without positions, the cost of every analysis of it.
 * Then trace files of it, with positions and without: no slot runs twice, so each of them has its
 * own texts. Their floor is writing as many bytes by the same route. Then the same program in a
 * loop, ten million instructions: its summary, and windows of its timeline.
 *
 * Slots with equal bytes share a code. When each slot was decoded and had facts of 176 bytes (now
 * 40), the command took half as long again. According to perf, it then spent 27 % on the debug
 * members, 20 % on decoding, 14 % on the kernel tree and 10 % on joining both with the slots.
 *
 * A slice with positions has 95 bytes in a Perfetto trace, 243 in a Chrome trace, so the kernel's
 * copy of them into the file takes 40 ns and 100 ns per slice: for Perfetto, most of the target,
 * which is for slices of 35 bytes. That part is the floor for these bytes: write() and fwrite() of
 * 64 KiB to 1 MiB took the same time. The bench prints both parts.
 *
 * The rest of a Perfetto trace was 100 ns, now 60 ns. According to perf, it spent 19 ns on hashing
 * and comparing the bytes of slots to find texts of operands, which now follow from the code, and
 * 14 ns on counters, which visited each slot and now visit each code. Smaller facts save 7 ns of
 * prefetches. Without the prefetches of slots_ahead.h, reading facts, names and positions from main
 * memory took twice as long.
 *
 * Shared arguments and the fixed fields of packets are now encoded once, which saves about 15 ns.
 * The rest is spread: 970 instructions of the host per slice, without a function over a third.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analysis/summary.h"
#include "profiler/output/answers/output_lines.h"
#include "profiler/output/export_to.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_tile.h"
#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/neff_read_private.h"
#include "tests/bench/rounds.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/scratch.h"

#define ROUND_COUNT 5
#define TRACE_ROUND_COUNT 5
#define SLOTS ROUNDS_SIZE(200000U, 1000U) /* of each engine */
#define ROWS ((size_t)SLOTS * NTK_NTFF_ENGINE_COUNT)
#define INNER 64 /* instructions of an iteration of the inner loop */
#define MIDDLE 16
#define LINES 500
#define SEMAPHORE 9
#define TARGET_MS 1000.0
#define PERFETTO_TARGET_NS 50.0
#define CHROME_TARGET_NS 250.0
#define LOOPS ROUNDS_SIZE(10U, 2U)
#define RECORD_BYTES 16     /* of a capture; an instruction has two, an event one */
#define SUMMARY_TARGET 50.0 /* MB per second */
#define WINDOW_TARGET_MS 16.0
#define WINDOWS_PER_LEVEL 20

static const char *const engine_files[] = { "PE", "Activation", "Pool", "DVE", "SP" };

static struct ntk_neff neff;
static struct neff_private data;
static struct ntk_neff_member members[16];
static struct ntk_neff_subgraph subgraph;
static struct ntk_ntff ntff = { .instance_type = "trn2.3xlarge" };
static struct ntk_ntff_subgraph ntff_subgraph = { .name = "sg00" };
static struct ntk_ntff_buffer buffers[NTK_NTFF_ENGINE_COUNT];
static struct ntk_trace_core core;
static struct ntk_trace trace;
static char *folder;

static void add_member(const char *name, struct ntk_buf *content)
{
    struct ntk_neff_member *member = &members[neff.member_count++];
    size_t count = 0;

    *member = (struct ntk_neff_member){ .name = strdup(name) };
    member->bytes = (uint8_t *)ntk_buf_take(content, &count);
    member->bytes_count = count;
    rounds_require(member->bytes && ntk_map_put(&data.members, name, member) == 0, "no memory");
}

static void put_pair(struct ntk_buf *to, const char *key, const char *value)
{
    struct ntk_buf pair = { 0 };

    ntff_sample_bytes(&pair, 1, key, strlen(key));
    ntff_sample_bytes(&pair, 2, value, strlen(value));
    ntff_sample_bytes(to, 7, pair.bytes, pair.bytes_count);
    ntk_buf_fini(&pair);
}

/* The number of an instruction determines its BIR id, name, line and iterations. */
static void make_engine(unsigned engine)
{
    struct ntk_buf assembly = { 0 };
    struct ntk_buf backend = { 0 };
    char name[64];

    for (uint32_t s = 0; s < SLOTS; s++) {
        uint32_t number = s * NTK_NTFF_ENGINE_COUNT + engine;
        struct ntk_buf entry = { 0 };
        struct ntk_buf id = { 0 };
        uint8_t penguin = 14;
        ntff_sample_varint(&id, 1, number);
        ntff_sample_bytes(&entry, 3, id.bytes + 1, id.bytes_count - 1);
        ntff_sample_bytes(&assembly, 3, entry.bytes, entry.bytes_count);
        ntk_buf_reset(&entry);
        (void)snprintf(name, sizeof name, "inst.%u-wait-0", number);
        ntff_sample_varint(&entry, 1, number);
        ntff_sample_bytes(&entry, 2, name, strlen(name));
        ntff_sample_bytes(&entry, 3, &penguin, 1);
        put_pair(&entry, "kernel_file", "0");
        (void)snprintf(name, sizeof name, "%u", 10 + number % LINES);
        put_pair(&entry, "kernel_line", name);
        put_pair(&entry, "kernel_name", "0");
        ntff_sample_bytes(&backend, 3, entry.bytes, entry.bytes_count);
        ntk_buf_fini(&entry);
        ntk_buf_fini(&id);
    }
    ntff_sample_bytes(&backend, 5, "/k/attn.py", 10);
    ntff_sample_bytes(&backend, 7, "__main__.attn", 13);
    (void)snprintf(name, sizeof name, "sg00/debug_info_asm_%s.dbg", engine_files[engine]);
    add_member(name, &assembly);
    (void)snprintf(name, sizeof name, "sg00/debug_info_backend_%s.dbg", engine_files[engine]);
    add_member(name, &backend);
    subgraph.engines[engine].code_bytes = (size_t)SLOTS * NTK_ISA_SLOT_BYTES;
}

/* Three loops around the instructions, in the order of their numbers. */
static void make_tree(void)
{
    struct ntk_buf text = { 0 };

    ntk_buf_add_text(&text, "{\"debug_info_files\": [{\"file_name\": \"a.klir.debuginfo.json\", "
                            "\"kernel_name\": \"attn\", \"parent_tensorizer_id\": 14}]}");
    add_member("kernel_debug_info.json", &text);
    ntk_buf_add_text(&text, "[{\"lnc\": 1, \"info\": [{\"func\": {\"name\": \"__main__.attn\", "
                            "\"line\": 1, \"file\": \"/k/attn.py\", \"children\": [");
    for (uint32_t i = 0; i < ROWS; i++) {
        if (i % (INNER * MIDDLE) == 0) {
            ntk_buf_add_format(&text,
                               "%s{\"iter\": {\"var\": \"h\", \"val\": \"%u\", \"line\": 3, "
                               "\"children\": [",
                               i ? "]}}]}}, " : "", i / (INNER * MIDDLE));
        }
        if (i % INNER == 0) {
            ntk_buf_add_format(&text,
                               "%s{\"iter\": {\"var\": \"t\", \"val\": \"%u\", \"line\": 4, "
                               "\"children\": [",
                               i % (INNER * MIDDLE) ? "]}}, " : "", i / INNER % MIDDLE);
        }
        ntk_buf_add_format(&text, "%s{\"inst\": {\"name\": \"inst.%u\", \"line\": %u}}",
                           i % INNER ? ",\n " : "", i, 10 + i % LINES);
    }
    ntk_buf_add_text(&text, "]}}]}}]}}]}]");
    add_member("a.klir.debuginfo.json", &text);
}

static void make_neff(void)
{
    data.budget = (uint64_t)4 << 30;
    neff = (struct ntk_neff){ .members = members, .private_data = &data };
    subgraph = (struct ntk_neff_subgraph){ .name = "sg00", .folder = "sg00" };
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        make_engine(e);
    }
    make_tree();
}

/* Scalar waits for a signal of Tensor; the other engines wait for nothing. */
static void make_code(unsigned engine)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    uint8_t *code = malloc((size_t)SLOTS * NTK_ISA_SLOT_BYTES);
    size_t slots = 0;

    instr.imm[0] = 1;
    if (engine == NTK_ISA_ENGINE_PE) {
        instr.signal_semaphore = SEMAPHORE;
        instr.signal_value = 1;
    } else if (engine == NTK_ISA_ENGINE_ACT) {
        instr.wait_semaphore = SEMAPHORE;
        instr.wait_value = 1;
    }
    rounds_require(
        code && ntk_isa_encode(&instr, (enum ntk_isa_engine)engine, bytes, &slots, NULL) == 0 &&
            slots == 1,
        "cannot encode");
    for (size_t s = 0; s < SLOTS; s++) {
        memcpy(code + s * NTK_ISA_SLOT_BYTES, bytes, NTK_ISA_SLOT_BYTES);
    }
    buffers[engine] = (struct ntk_ntff_buffer){ .engine = engine,
                                                .code = code,
                                                .code_bytes = (size_t)SLOTS * NTK_ISA_SLOT_BYTES };
    ntff_subgraph.engine_buffers[engine] = &buffers[engine];
}

/* Counts the runs of each slot, as the reader of a capture does. */
static void count_slots(uint64_t times)
{
    core.has_slot_counts = true;
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        core.slot_counts[e] =
            core.slot_counts[e] ? core.slot_counts[e] : calloc(SLOTS, sizeof **core.slot_counts);
        rounds_require(core.slot_counts[e] != NULL, "no memory");
        for (size_t s = 0; s < SLOTS; s++) {
            core.slot_counts[e][s] = times;
        }
    }
}

static void make_trace(void)
{
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        make_code(e);
    }
    core = (struct ntk_trace_core){
        .ntff = &ntff_subgraph,
        .instruction_count = ROWS,
        .instructions = calloc(ROWS, sizeof *core.instructions),
        .event_count = SLOTS,
        .events = calloc(SLOTS, sizeof *core.events),
    };
    rounds_require(core.instructions && core.events, "no memory");
    count_slots(1);
    for (uint32_t i = 0; i < ROWS; i++) {
        unsigned engine = i % NTK_NTFF_ENGINE_COUNT;
        uint32_t slot = i / NTK_NTFF_ENGINE_COUNT;
        int64_t start = (int64_t)i * 20000;
        core.instructions[i] = (struct ntk_trace_instruction){
            .start_ps = start,
            .end_ps = start + 90000,
            .slot = slot,
            .wait_cycles = (uint16_t)(i % 100),
            .engine = (uint8_t)engine,
            .opcode = buffers[engine].code[0],
        };
        if (engine == NTK_NTFF_ENGINE_TENSOR) {
            core.events[slot] = (struct ntk_trace_event){ .time_ps = start + 10000,
                                                          .value = 1,
                                                          .source = NTK_NTFF_ENGINE_TENSOR,
                                                          .mode = NTK_NTFF_MODE_SEMAPHORE_INC,
                                                          .number = SEMAPHORE,
                                                          .is_semaphore = true };
        }
    }
    ntff.subgraphs = &ntff_subgraph;
    ntff.subgraph_count = 1;
    trace = (struct ntk_trace){ .ntff = &ntff, .core_count = 1, .cores = &core };
    trace.has_chip = ntk_chip_find(ntff.instance_type, &trace.chip);
}

/* ns of the analysis as the command performs it, with positions or without. */
static double run_lines(bool has_neff)
{
    struct ntk_export *export = NULL;
    struct ntk_buf text = { 0 };
    uint64_t begin = rounds_cpu_ns();

    trace.neff = has_neff ? &neff : NULL;
    core.neff = has_neff ? &subgraph : NULL;
    rounds_require(ntk_export_create_lines(&trace, &export) == 0, "no memory");

    rounds_require(ntk_output_lines_text(export, NTK_SOURCE_BY_STALL, &text) == 0 &&
                       ntk_output_loops_text(export, NTK_SOURCE_BY_STALL, &text) == 0,
                   "no memory");
    double ns = (double)(rounds_cpu_ns() - begin);
    if (has_neff) {
        rounds_require(export->program->positions &&
                           export->program->positions->line_count == ROWS &&
                           export->program->positions->kernel_count == ROWS &&
                           export->program->positions->differing_count == 0,
                       "positions are missing");
    }
    ntk_buf_fini(&text);
    ntk_export_destroy(export);
    return ns;
}

static double with_positions(void *ctx)
{
    (void)ctx;
    return run_lines(true) / (double)ROWS;
}

static double without_positions(void *ctx)
{
    (void)ctx;
    return run_lines(false) / (double)ROWS;
}

/* A trace file of these instructions, with positions or without. */
struct written {
    const char *format;
    bool has_neff;
    uint64_t bytes_count;
};

static uint64_t size_of(const char *path)
{
    struct stat status;

    rounds_require(stat(path, &status) == 0, "cannot find the trace file");
    return (uint64_t)status.st_size;
}

static double write_trace(void *ctx)
{
    struct written *written = ctx;
    struct ntk_export *export = NULL;
    struct ntk_err err = { 0 };
    char path[1024];

    trace.neff = written->has_neff ? &neff : NULL;
    core.neff = written->has_neff ? &subgraph : NULL;
    rounds_require(ntk_export_create(&trace, "bench", "bench.ntff", &export) == 0, "no memory");
    (void)snprintf(path, sizeof path, "%s/trace", folder);
    (void)unlink(path); /* replacing the previous file would delete it in this time */
    uint64_t begin = rounds_cpu_ns();
    rounds_require(ntk_export_format_find(written->format)->write(export, path, &err) == 0,
                   err.text);
    double ns = (double)(rounds_cpu_ns() - begin) / (double)(ROWS + SLOTS);
    written->bytes_count = size_of(path);
    ntk_export_destroy(export);
    return ns;
}

/* Writes as many bytes as the trace file has, by the same route to the same place. */
static double write_bytes(void *ctx)
{
    const struct written *written = ctx;
    static char block[NTK_SINK_BYTES];
    struct ntk_err err = { 0 };
    struct ntk_sink sink;
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/trace", folder);
    (void)unlink(path);
    uint64_t begin = rounds_cpu_ns();
    rounds_require(ntk_sink_open(&sink, path, &err) == 0, err.text);
    for (uint64_t left = written->bytes_count; left;) {
        size_t now = left < sizeof block ? (size_t)left : sizeof block;
        ntk_buf_add(&sink.buf, block, now);
        (void)ntk_sink_step(&sink);
        left -= now;
    }
    rounds_require(ntk_sink_commit(&sink, &err) == 0, err.text);
    return (double)(rounds_cpu_ns() - begin) / (double)(ROWS + SLOTS);
}

/* ---- the program in a loop ---- */

static void make_loops(void)
{
    struct ntk_trace_instruction *all = calloc(LOOPS * ROWS, sizeof *all);

    rounds_require(all != NULL, "no memory");
    for (size_t i = 0; i < LOOPS * ROWS; i++) {
        int64_t later_ps = (int64_t)(i / ROWS * ROWS) * 20000;

        all[i] = core.instructions[i % ROWS];
        all[i].start_ps += later_ps;
        all[i].end_ps += later_ps;
    }
    free(core.instructions);
    core.instructions = all;
    core.instruction_count = LOOPS * ROWS;
    count_slots(LOOPS);
    trace.neff = &neff;
    core.neff = &subgraph;
}

/* MB of records per second. */
static double summary_rate(void)
{
    struct ntk_summary summary;
    uint64_t begin = rounds_cpu_ns();

    rounds_require(ntk_analysis_summary(&trace, &summary) == 0, "no summary");
    double ns = (double)(rounds_cpu_ns() - begin);
    ntk_summary_fini(&summary);
    return (double)(2 * core.instruction_count + core.event_count) * RECORD_BYTES * 1e3 / ns;
}

/* Milliseconds of the worst window of three tiles, all rows, any level. */
static double worst_window(void)
{
    struct ntk_timeline_source source = { .trace = &trace, .name = "bench" };
    struct ntk_timeline_options options = { .sources = &source, .source_count = 1 };
    struct ntk_timeline *timeline = NULL;
    struct ntk_err err = { 0 };
    struct ntk_buf out = { 0 };
    uint32_t tracks[1024];
    uint64_t worst_ns = 0;
    uint64_t count = 2;

    rounds_require(ntk_timeline_create(&options, &timeline, &err) == 0, err.text);
    size_t track_count = timeline->tracks.count < 1024 ? timeline->tracks.count : 1024;
    for (size_t t = 0; t < track_count; t++) {
        tracks[t] = (uint32_t)t;
    }
    for (unsigned level = 0; count > 1; level++) {
        count = ((uint64_t)(timeline->end_ps - timeline->begin_ps) >> level) /
                    NTK_TIMELINE_TILE_BUCKETS +
                1;
        for (uint64_t i = 0; i < WINDOWS_PER_LEVEL; i++) {
            uint64_t first = count * i / WINDOWS_PER_LEVEL;
            uint64_t begin = rounds_cpu_ns();

            for (uint64_t tile = first; tile < first + 3 && tile < count; tile++) {
                ntk_buf_reset(&out);
                rounds_require(ntk_timeline_tile_put(timeline, level, tile, tracks, track_count,
                                                     &out, &err) == 0,
                               err.text);
            }
            uint64_t ns = rounds_cpu_ns() - begin;
            worst_ns = ns > worst_ns ? ns : worst_ns;
        }
    }
    ntk_buf_fini(&out);
    ntk_timeline_destroy(timeline);
    return (double)worst_ns / 1e6;
}

/* Bytes read per instruction. */
static size_t member_bytes(void)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < neff.member_count; i++) {
        bytes += members[i].bytes_count;
    }
    return bytes / ROWS;
}

int main(int argc, char **argv)
{
    struct written written[] = { { "perfetto", true, 0 },
                                 { "perfetto", false, 0 },
                                 { "chrome", true, 0 },
                                 { "chrome", false, 0 } };
    struct rounds_subject subjects[] = {
        { "lines, with positions", with_positions, NULL, { 0 }, 0 },
        { "lines, without positions", without_positions, NULL, { 0 }, 0 },
        { "perfetto, with positions", write_trace, &written[0], { 0 }, 0 },
        { "perfetto, its bytes alone", write_bytes, &written[0], { 0 }, 0 },
        { "perfetto, without positions", write_trace, &written[1], { 0 }, 0 },
        { "chrome, with positions", write_trace, &written[2], { 0 }, 0 },
        { "chrome, its bytes alone", write_bytes, &written[2], { 0 }, 0 },
        { "chrome, without positions", write_trace, &written[3], { 0 }, 0 },
    };

    rounds_options(argc, argv);
    test_scratch_in_memory();
    folder = test_scratch_create();
    make_neff();
    make_trace();
    rounds_run(subjects, 2, ROUND_COUNT);
    rounds_run(subjects + 2, 6, TRACE_ROUND_COUNT);
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        rounds_print(&subjects[i], i < 2 ? "ns/instruction" : "ns/span or counter");
    }
    rounds_print_value("perfetto, with positions, without its bytes",
                       rounds_min(&subjects[2]) - rounds_min(&subjects[3]), "ns", 0, 0);
    rounds_print_value("chrome, with positions, without its bytes",
                       rounds_min(&subjects[5]) - rounds_min(&subjects[6]), "ns", 0, 0);
    rounds_print_value("members of the NEFF", (double)member_bytes(), "bytes/instruction", 0, 0);
    /* ns per instruction are ms per million. */
    rounds_print_best("lines of a million instructions", rounds_min(&subjects[0]),
                      rounds_median(&subjects[0]), "ms", TARGET_MS, 0);
    rounds_print_best("perfetto per span or counter, with positions", rounds_min(&subjects[2]),
                      rounds_median(&subjects[2]), "ns", PERFETTO_TARGET_NS, 0);
    rounds_print_best("chrome per span or counter, with positions", rounds_min(&subjects[5]),
                      rounds_median(&subjects[5]), "ns", CHROME_TARGET_NS, 0);
    make_loops();
    rounds_print_value("summary, with positions", summary_rate(), "MB/s", SUMMARY_TARGET, 1);
    rounds_print_value("worst window, with positions", worst_window(), "ms", WINDOW_TARGET_MS, 0);
    test_scratch_destroy(folder);
    return rounds_result();
}
