/* SPDX-License-Identifier: MIT */
/*
 * Source positions of the real files in the folder that NTK_VENDOR_CAPTURES names, against counts
 * that an independent reader made. Skipped if the variable is not set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/source_lines.h"
#include "shared/formats/neff/neff_positions.h"
#include "tests/support/unit.h"

static const char *folder;

#define CORES_MAX 2

struct slot_counts {
    size_t slots, without_bir, lines, kernel;
};

static void count_slots(const struct ntk_neff *neff, struct slot_counts *out)
{
    struct ntk_neff_debug *debugs[CORES_MAX] = { NULL };
    struct ntk_neff_positions *positions = NULL;
    uint32_t count = neff->kelfs[0].subgraph_count;

    assert_true(count <= CORES_MAX);
    for (uint32_t c = 0; c < count; c++) {
        assert_int_equal(
            ntk_neff_debug_create(neff, &neff->kelfs[0].subgraphs[c], &debugs[c], NULL), 0);
        for (unsigned e = 0; debugs[c] && e < NTK_ISA_ENGINE_COUNT; e++) {
            out->slots += debugs[c]->slot_counts[e];
            for (size_t s = 0; s < debugs[c]->slot_counts[e]; s++) {
                out->without_bir += debugs[c]->slots[e][s] == 0;
            }
        }
    }
    assert_int_equal(ntk_neff_positions_create(neff, debugs, count, &positions), 0);
    if (positions) {
        out->lines = positions->line_count;
        out->kernel = positions->kernel_count;
        assert_int_equal(positions->differing_count, 0);
        assert_int_equal(positions->warnings.count, 0);
    }
    ntk_neff_positions_destroy(positions);
    for (uint32_t c = 0; c < count; c++) {
        ntk_neff_debug_destroy(debugs[c]);
    }
}

static void source_positions_match_an_independent_reader(void **state)
{
    static const struct {
        const char *file;
        struct slot_counts counts;
    } files[] = {
        { "v6_attn_tkg.neff", { 1971, 20, 1945, 1940 } },
        { "inspect_trn2_rt230/neff_171450338541704.neff", { 7336, 20, 7315, 6957 } },
        { "v6_matmul_small.neff", { 58, 20, 20, 0 } },
        { "v6_baseline_bf16_s512.neff", { 0 } },
        { "v5_transpose_1024.neff", { 0 } },
        { "v4_stream_256k_fd1k.neff", { 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct ntk_neff *neff = NULL;
        struct slot_counts got = { 0 };
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].file);
        if (access(path, R_OK) != 0) {
            continue;
        }
        assert_int_equal(ntk_neff_open(path, &neff, NULL), 0);
        count_slots(neff, &got);
        ntk_neff_close(neff);
        print_message("%s: %zu slots, %zu lines, %zu in the tree\n", files[i].file, got.slots,
                      got.lines, got.kernel);
        assert_int_equal(got.lines, files[i].counts.lines);
        assert_int_equal(got.kernel, files[i].counts.kernel);
        if (files[i].counts.slots) {
            assert_int_equal(got.slots, files[i].counts.slots);
            assert_int_equal(got.without_bir, files[i].counts.without_bir);
        }
    }
}

struct line_sums {
    uint32_t line; /* 0: all lines together */
    int64_t rows, duration_ns, wait_ns, hbm_read_bytes;
};

static void check_lines(const struct ntk_source_lines *lines, const struct line_sums *wanted)
{
    struct ntk_source_sums sums = { 0 };

    for (size_t i = 0; i < lines->line_count; i++) {
        const struct ntk_source_line *line = &lines->lines[i];
        if (line->file && (wanted->line == 0 || line->line == wanted->line)) {
            sums.instruction_count += line->sums.instruction_count;
            sums.duration_ns += line->sums.duration_ns;
            sums.wait_ns += line->sums.wait_ns;
            sums.hbm_read_bytes += line->sums.hbm_read_bytes;
        }
    }
    assert_int_equal(sums.instruction_count, wanted->rows);
    assert_int_equal(sums.duration_ns, wanted->duration_ns);
    assert_in_range(sums.wait_ns, wanted->wait_ns - wanted->rows, wanted->wait_ns + wanted->rows);
    assert_int_equal(sums.hbm_read_bytes, wanted->hbm_read_bytes);
}

/* By variable and line of the loop. */
struct loop_sums {
    const char *variable;
    uint32_t line;
    int64_t rows, duration_ns, wait_ns;
};

static void check_loops(const struct ntk_source_lines *lines, const struct loop_sums *wanted)
{
    const struct ntk_neff_loop *loops = lines->program->positions->kernel.loops.items;

    for (size_t i = 0; i < lines->loop_count; i++) {
        const struct ntk_source_sums *sums = &lines->loops[i].sums;
        if (strcmp(loops[i].variable, wanted->variable) == 0 && loops[i].line == wanted->line) {
            assert_int_equal(sums->instruction_count, wanted->rows);
            assert_int_equal(sums->duration_ns, wanted->duration_ns);
            assert_in_range(sums->wait_ns, wanted->wait_ns - wanted->rows,
                            wanted->wait_ns + wanted->rows);
            return;
        }
    }
    fail_msg("no loop %s", wanted->variable);
}

static const struct {
    const char *ntff, *neff;
    size_t line_count;
    int64_t reasons[NTK_SOURCE_REASON_COUNT];
    struct line_sums lines[5];
    struct loop_sums loops[3];
} captures[] = {
    { "v6_attn_tkg.ntff",
      "v6_attn_tkg.neff",
      107,
      { 1945, 298, 16, 0 },
      { { 0, 1945, 407397, 4175616, 9724928 },
        { 413, 20, 660, 659790, 0 },
        { 416, 24, 10480, 502466, 20480 },
        { 393, 56, 6593, 487396, 0 },
        { 278, 275, 35838, 438712, 0 } },
      { { "s_t", 378, 732, 141402, 2841835 },
        { "h_t", 270, 403, 116977, 440004 },
        { "kv_h", 166, 214, 41345, 432981 } } },
    { "inspect_trn2_rt230/profile_exec_2.ntff",
      "inspect_trn2_rt230/neff_171450338541704.neff",
      21,
      { 6547, 1070, 11, 0 },
      { { 0, 6547, 792926, 80768260, 25169984 },
        { 194, 2563, 228139, 47012422, 16777216 },
        { 259, 1383, 115887, 25832159, 8388608 } },
      { { NULL, 0, 0, 0, 0 } } },
};

/* Lines with all blockers shown account for all of their wait. */
static void check_blockers(const struct ntk_source_lines *lines)
{
    for (size_t i = 0; i < lines->line_count && lines->lines[i].file; i++) {
        const struct ntk_source_line *line = &lines->lines[i];
        int64_t sum_ns = 0;
        size_t with_file = 0;
        for (size_t b = 0; b < line->blocker_count; b++) {
            sum_ns += line->blockers[b].wait_ns;
            with_file += ntk_source_blocker_reason(lines, &line->blockers[b]) == NULL;
        }
        assert_true(sum_ns == line->sums.wait_ns ||
                    (with_file == NTK_SOURCE_BLOCKING_LINES_MAX && sum_ns < line->sums.wait_ns));
    }
}

/* Recorded waits overlap, but each moment of an engine's idle time belongs to one line. */
static void check_idle(const struct ntk_source_lines *lines, const struct ntk_trace *trace)
{
    int64_t idle_ps = 0;

    for (size_t i = 0; i < lines->line_count; i++) {
        idle_ps += lines->lines[i].sums.idle_ps;
    }
    assert_true(idle_ps > trace->total_ps);
    assert_true(idle_ps < trace->total_ps * NTK_NTFF_ENGINE_COUNT * (int64_t)trace->core_count);
}

static void check_capture(size_t c, const struct ntk_trace *trace)
{
    struct ntk_program *program = NULL;
    struct ntk_source_lines *lines = NULL;
    struct ntk_dependencies dependencies;
    int64_t reasons[NTK_SOURCE_REASON_COUNT] = { 0 };
    size_t with_line = 0;

    assert_int_equal(ntk_program_create(trace, &program), 0);
    assert_int_equal(ntk_analysis_dependencies(program, &dependencies), 0);
    assert_int_equal(ntk_source_lines_create(program, NULL, &dependencies, &lines), 0);
    check_blockers(lines);
    check_idle(lines, trace);
    for (size_t i = 0; i < lines->line_count; i++) {
        reasons[lines->lines[i].reason] += lines->lines[i].sums.instruction_count;
        with_line += lines->lines[i].file != 0;
    }
    assert_int_equal(with_line, captures[c].line_count);
    assert_memory_equal(reasons, captures[c].reasons, sizeof reasons);
    for (size_t i = 0; i < 5 && captures[c].lines[i].rows; i++) {
        check_lines(lines, &captures[c].lines[i]);
    }
    for (size_t i = 0; i < 3 && captures[c].loops[i].variable; i++) {
        check_loops(lines, &captures[c].loops[i]);
    }
    ntk_source_lines_destroy(lines);
    ntk_dependencies_fini(&dependencies);
    ntk_program_destroy(program);
}

static void line_and_loop_costs_match_an_independent_reader(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof captures / sizeof *captures; c++) {
        struct ntk_ntff *ntff = NULL;
        struct ntk_neff *neff = NULL;
        struct ntk_trace *trace = NULL;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, captures[c].ntff);
        if (access(path, R_OK) != 0) {
            continue;
        }
        assert_int_equal(ntk_ntff_open(path, &ntff, NULL), 0);
        snprintf(path, sizeof path, "%s/%s", folder, captures[c].neff);
        assert_int_equal(ntk_neff_open(path, &neff, NULL), 0);
        assert_int_equal(ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, NULL), 0);
        check_capture(c, trace);
        ntk_trace_destroy(trace);
        ntk_neff_close(neff);
        ntk_ntff_close(ntff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_positions_match_an_independent_reader),
        cmocka_unit_test(line_and_loop_costs_match_an_independent_reader),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
