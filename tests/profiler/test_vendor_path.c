/* SPDX-License-Identifier: MIT */
/*
 * What limits the real captures in the folder that NTK_VENDOR_CAPTURES names. Skipped if the
 * variable is not set. Method: the records of each were read by hand; the comment of each row
 * explains what they show.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/bubbles.h"
#include "profiler/output/answers/analyses.h"
#include "tests/support/unit.h"

static const char *folder;

#define PE NTK_NTFF_ENGINE_TENSOR
#define POOL NTK_NTFF_ENGINE_GPSIMD
#define LDWEIGHTS NTK_NTFF_OPCODE_LDWEIGHTS
#define MATMUL NTK_NTFF_OPCODE_MATMUL

/* Required shares of the execution on its path: minimum and maximum. */
struct wanted {
    enum ntk_path_kind kind; /* INSTRUCTION: all phases of the engine, or of one opcode */
    unsigned engine, opcode; /* opcode 0: the engine */
    double least, most;
};

/* The estimated gain of one rule, as a share of the execution; -1: no finding. */
struct wanted_gain {
    enum ntk_advice_rule rule;
    double least, most;
};

static const struct {
    const char *ntff, *neff;
    struct wanted wanted[5];
    struct wanted_gain gains[3];
} captures[] = {
    /* Two additions after one load of 8.7 us by qSyncIO0; 2.6 us until qGpSimdIO0 has stored them.
     * Before, Tensor waits 9.9 us until the ring "ioqb switch code changer" has moved the 65
     * descriptors that it wrote; afterwards the runtime clears 200 semaphores. Changes are recorded
     * up to 40 ns before the instructions that make them. */
    { "v4_stream_256k_fd1k.ntff",
      "v4_stream_256k_fd1k.neff",
      { { NTK_PATH_TRANSFER, 0, 0, 0.72, 0.74 },
        { NTK_PATH_WAIT, 0, 0, 0, 0.001 },
        { NTK_PATH_INSTRUCTION, POOL, 0, 0.04, 0.06 },
        { NTK_PATH_LATENCY, 0, 0, 0, 0.02 } },
      /* Of 11.4 us of transfers, the vector engine adds for 2; half of the runtime remains. */
      { { NTK_ADVICE_PATH_DMA, 0.29, 0.32 },
        { NTK_ADVICE_RUNTIME, 0.25, 0.27 },
        { NTK_ADVICE_INCOMPLETE, -1, -0.5 } } },
    /* 64 transposes in float32: products of 128 columns begin every 212 ns while the weights of the
     * next ones load, so products have a larger share than weights. Loads before and stores after
     * do not overlap with them: 15.4 us of 47. Core 4 waits for core 5 before it starts: core 5
     * writes to semaphore 1 of core 4 at 12.4 us. In core 5, GpSimd, Vector and Sync only start
     * after 6.7 us, and the load of its program takes 2.1 us. Two barriers of its engines, 0.5 us,
     * have no records: semaphore 2 becomes 1 by an increment three times, without 2 to 8 and 0 in
     * between. */
    { "v5_transpose_1024.ntff",
      "v5_transpose_1024.neff",
      { { NTK_PATH_TRANSFER, 0, 0, 0.36, 0.38 },
        { NTK_PATH_WAIT, 0, 0, 0.01, 0.012 },
        { NTK_PATH_INSTRUCTION, PE, MATMUL, 0.15, 0.20 },
        { NTK_PATH_INSTRUCTION, PE, LDWEIGHTS, 0, 0.06 },
        { NTK_PATH_LATENCY, 0, 0, 0, 0.02 } },
      /* Without its transposes the program still loads and stores 8 MB, which takes as long. */
      { { NTK_ADVICE_TRANSPOSES, 0.005, 0.01 }, { NTK_ADVICE_PATH_DMA, 0.10, 0.13 } } },
    /* GpSimd issues 324 transfers; each of their 16 packets changes semaphores. Meanwhile, recorded
     * changes by engines come up to 22 us after the end of their instructions, and the waiting
     * instruction starts 23 ns after them. 71% of the changes were dropped, and derived. Products
     * are of single columns, and hidden. */
    { "v6_attn_tkg.ntff",
      "v6_attn_tkg.neff",
      { { NTK_PATH_INSTRUCTION, POOL, 0, 0.08, 0.10 },
        { NTK_PATH_WAIT, 0, 0, 0, 0.001 },
        { NTK_PATH_ISSUE, 0, 0, 0.06, 0.08 },
        { NTK_PATH_INSTRUCTION, PE, MATMUL, 0, 0.03 },
        { NTK_PATH_LATENCY, 0, 0, 0.42, 0.46 } },
      /* As what-if estimates: without its transposes the program waits just as long. */
      { { NTK_ADVICE_INCOMPLETE, 0, 0.001 }, { NTK_ADVICE_TRANSPOSES, 0, 0.001 } } },
    /* Products of 512 columns start every 427 ns (1.2 GHz); 2 ns after each start the weights of
     * the next one load in 146 ns. No weights limit the run, except a few that waited for their
     * data. */
    { "v6_baseline_bf16_s512.ntff",
      "v6_baseline_bf16_s512.neff",
      { { NTK_PATH_INSTRUCTION, PE, MATMUL, 0.14, 0.20 },
        { NTK_PATH_INSTRUCTION, PE, LDWEIGHTS, 0, 0.02 },
        { NTK_PATH_TRANSFER, 0, 0, 0.28, 0.33 },
        { NTK_PATH_LATENCY, 0, 0, 0.02, 0.05 } } },
    { "v6_fused_fp32_s512.ntff",
      "v6_fused_fp32_s512.neff",
      { { NTK_PATH_INSTRUCTION, PE, MATMUL, 0.24, 0.30 },
        { NTK_PATH_INSTRUCTION, PE, LDWEIGHTS, 0, 0.02 },
        { NTK_PATH_TRANSFER, 0, 0, 0.12, 0.15 } } },
    /* GpSimd never waits for another engine for long: it reads addresses (TENSOR_LOAD), computes
     * with registers and starts transfers, 4792 instructions one after the other, and is the root
     * cause of all other waits. */
    { "inspect_trn2_rt230/profile_exec_2.ntff",
      "inspect_trn2_rt230/neff_171450338541704.neff",
      { { NTK_PATH_INSTRUCTION, POOL, 0, 0.93, 0.97 },
        { NTK_PATH_ISSUE, 0, 0, 0.55, 0.62 },
        { NTK_PATH_INSTRUCTION, PE, 0, 0, 0.01 },
        { NTK_PATH_LATENCY, 0, 0, 0, 0.01 } } },
};

static int64_t part_of(const struct ntk_critical_path *path, const struct wanted *wanted)
{
    const struct ntk_path_table *table = wanted->opcode ? &path->opcodes : &path->resources;
    int64_t part_ps = 0;

    if (wanted->kind != NTK_PATH_INSTRUCTION) {
        return path->kinds_ps[wanted->kind];
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct ntk_path_share *one = &table->shares[i];
        if (one->kind == NTK_PATH_INSTRUCTION && one->engine == wanted->engine &&
            (!wanted->opcode || one->opcode == wanted->opcode)) {
            part_ps += one->path_ps;
        }
    }
    return part_ps;
}

/* In every capture the path has no gaps, and its kinds add up to it. */
static void check_sums(const struct ntk_critical_path *path)
{
    int64_t at_ps = 0;
    int64_t kinds_ps = 0;

    for (size_t i = 0; i < path->step_count; i++) {
        assert_int_equal(path->steps[i].start_ps, at_ps);
        at_ps = path->steps[i].end_ps;
    }
    for (unsigned k = 0; k < NTK_PATH_KIND_COUNT; k++) {
        kinds_ps += path->kinds_ps[k];
    }
    assert_int_equal(at_ps, path->total_ps);
    assert_int_equal(kinds_ps, path->total_ps);
}

/* An engine that only waits without work left does so until the gap ends. */
static void check_ends(const char *name, const struct ntk_analyses *analyses)
{
    const struct ntk_bubbles_options all = { .limit = NTK_BUBBLES_LIMIT_MAX };
    const struct ntk_trace *trace = analyses->program->trace;
    struct ntk_bubbles bubbles;

    assert_int_equal(
        ntk_analysis_bubbles(analyses->program, &analyses->dependencies, &all, &bubbles), 0);
    const struct ntk_bubble_cause *last = &bubbles.causes[bubbles.cause_count - 1];
    assert_int_equal(last->reason, NTK_IDLE_END);
    for (size_t b = 0; b < last->bubble_count; b++) {
        const struct ntk_bubble *bubble = &last->bubbles[b];
        ntk_trace_each_instruction(&trace->cores[bubble->core], one) {
            if (one->engine == bubble->engine && one->start_ps >= bubble->start_ps &&
                one->start_ps < bubble->end_ps && !ntk_only_waits(one)) {
                fail_msg("%s: engine %u works at %lld ps", name, one->engine,
                         (long long)one->start_ps);
            }
        }
    }
    ntk_bubbles_fini(&bubbles);
}

static void check_gains(size_t c, const struct ntk_analyses *analyses)
{
    struct ntk_advice advice = { 0 };

    assert_int_equal(ntk_analyses_advice(analyses, &advice), 0);
    for (size_t w = 0; w < 3 && captures[c].gains[w].least < captures[c].gains[w].most; w++) {
        const struct wanted_gain *wanted = &captures[c].gains[w];
        double gain = -1;
        for (size_t i = 0; i < advice.count; i++) {
            gain = advice.items[i].rule == wanted->rule && gain < 0 ? advice.items[i].gain : gain;
        }
        if (gain < wanted->least || gain > wanted->most) {
            fail_msg("%s, %s: gain %.4f", captures[c].ntff, ntk_advice_id(wanted->rule), gain);
        }
    }
    ntk_advice_fini(&advice);
}

static void check_capture(size_t c, const struct ntk_trace *trace)
{
    struct ntk_analyses *analyses = NULL;
    struct ntk_idle_reasons idle;

    assert_int_equal(ntk_analyses_create(trace, &analyses), 0);
    assert_true(analyses->has_path);
    check_sums(&analyses->path);
    for (size_t i = 0; i < 5 && captures[c].wanted[i].most > 0; i++) {
        const struct wanted *wanted = &captures[c].wanted[i];
        double share = (double)part_of(&analyses->path, wanted) / (double)analyses->path.total_ps;
        if (share < wanted->least || share > wanted->most) {
            fail_msg("%s, share %zu: %.4f", captures[c].ntff, i, share);
        }
    }
    /* An engine without a program waits for the others to end their programs, and an engine that
     * starts transfers waits for their data: neither is with the runtime for most of the time. */
    assert_int_equal(ntk_analysis_idle_reasons(analyses->program, &analyses->dependencies, &idle),
                     0);
    for (size_t i = 0; i < idle.engine_count && trace->has_chip && trace->core_count > 1; i++) {
        assert_true(idle.engines[i].reasons_ps[NTK_IDLE_RUNTIME] < idle.total_ps / 2);
    }
    ntk_idle_reasons_fini(&idle);
    check_ends(captures[c].ntff, analyses);
    check_gains(c, analyses);
    ntk_analyses_destroy(analyses);
}

static void critical_paths_of_real_captures_have_the_expected_bounds(void **state)
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

/* The same capture without core 5: what core 4 waits for is named as far as it is known. */
static void waits_for_a_core_missing_from_the_capture_are_named_not_captured(void **state)
{
    const uint32_t cores[] = { 4 };
    const struct ntk_trace_options options = { .part = { .cores = cores, .core_count = 1 } };
    struct ntk_ntff *ntff = NULL;
    struct ntk_neff *neff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_analyses *analyses = NULL;
    char path[4096];
    int64_t not_captured_ps = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/v5_transpose_1024.ntff", folder);
    if (access(path, R_OK) != 0) {
        return;
    }
    assert_int_equal(ntk_ntff_open(path, &ntff, NULL), 0);
    snprintf(path, sizeof path, "%s/v5_transpose_1024.neff", folder);
    assert_int_equal(ntk_neff_open(path, &neff, NULL), 0);
    assert_int_equal(ntk_trace_create(ntff, neff, &options, &trace, NULL), 0);
    assert_int_equal(ntk_analyses_create(trace, &analyses), 0);
    for (size_t i = 0; i < analyses->path.resources.count; i++) {
        const struct ntk_path_share *share = &analyses->path.resources.shares[i];
        char name[300];
        ntk_path_resource_name(share, name, sizeof name);
        if (strcmp(name, "wait for another core, not captured") == 0) {
            not_captured_ps += share->path_ps;
        }
    }
    /* From the end of its WRITE at 10.0 us to the change at 12.6 us. */
    assert_true(not_captured_ps > 2400000 && not_captured_ps < 2700000);
    assert_false(analyses->path.has_cores);
    ntk_analyses_destroy(analyses);
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(critical_paths_of_real_captures_have_the_expected_bounds),
        cmocka_unit_test(waits_for_a_core_missing_from_the_capture_are_named_not_captured),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
