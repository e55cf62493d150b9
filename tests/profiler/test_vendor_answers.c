/* SPDX-License-Identifier: MIT */
/*
 * Round trips, peaks of on-chip memory, regions and comparisons of the real captures in the folder
 * that NTK_VENDOR_CAPTURES names. Skipped if the variable is not set. Method: the operands of each
 * program show what it does; the comment of each row explains how.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/chip_memory.h"
#include "profiler/analysis/comparison.h"
#include "profiler/analysis/regions.h"
#include "profiler/output/answers/analyses.h"
#include "tests/support/unit.h"

#define KB 1024U
#define MB (1024U * KB)

static const char *folder;

static const struct {
    const char *ntff, *neff;
    size_t trip_count;
    uint64_t trip_bytes; /* each, in one direction */
    uint64_t sbuf_bytes,
        psum_bytes;     /* peaks per partition; 0: an operation is not decoded, or no use */
    const char *region; /* with the longest total */
    uint64_t region_count;
    /* Changes of semaphores that were dropped: in each round of a barrier around the program, four
     * engines change semaphore 2 twice, and one changes it once. On core 5 of trn2, values are
     * missing between the recorded ones; on core 4 and on trn1, none is. */
    uint64_t dropped;
} captures[] = {
    /* Two halves of 128 x 1000 float32 of each operand: four tiles of 4000 bytes in a partition,
     * and their sums overwrite one of them. No product, so nothing in PSUM. */
    { "v4_stream_256k_fd1k.ntff", "v4_stream_256k_fd1k.neff", 0, 0, 16000, 0, "$6[m]", 2, 0 },
    /* 64 tiles of 128 x 128 float32: 512 bytes each in a partition, all 64 are in the state buffer
     * if the last one is transposed before the first one is stored; at most three wait in PSUM. */
    { "v5_transpose_1024.ntff", "v5_transpose_1024.neff", 0, 0, 64 * 512, 3 * 512, "$8[m, n]", 64,
      26 },
    /* Weights are read once, and 36 packed scalars go through device memory: 8 bytes each, too
     * little for advice. Two layers of heads. The values of a semaphore jump by up to 62. */
    { "v6_attn_tkg.ntff", "v6_attn_tkg.neff", 0, 0, 0, 0, "v6_ultimate.py:181", 2, 4797 },
    /* Scores of 512 x 512 float32 are written before the softmax and read back, and so are the
     * weights after it. PSUM: two rows of 512 scores (2048 bytes) and a transposed tile. */
    { "v6_baseline_bf16_s512.ntff", "v6_baseline_bf16_s512.neff", 2, MB, 10768, 4608,
      "$48[i_q_0_118, i_q_1_118]", 16, 6 },
    /* The same without the round trips: four rows of 512 scores in PSUM at once. */
    { "v6_fused_fp32_s512.ntff", "v6_fused_fp32_s512.neff", 0, 0, 10760, 4 * 2048, "$17[i_q]", 4,
      9 },
    /* Rows of large weights by index; the activations stay on the chip. Its peaks do not follow
     * from a single shape. */
    { "inspect_trn2_rt230/profile_exec_2.ntff", "inspect_trn2_rt230/neff_171450338541704.neff", 0,
      0, 11044, 2560, "(v5_token_parallel_tkg.py:204)*", 0, 367 },
};
#define COUNT (sizeof captures / sizeof *captures)

struct opened {
    struct ntk_ntff *ntff;
    struct ntk_neff *neff;
    struct ntk_trace *trace;
    struct ntk_analyses *analyses;
};

static bool open_capture(size_t c, struct opened *o)
{
    char path[4096];

    *o = (struct opened){ 0 };
    snprintf(path, sizeof path, "%s/%s", folder, captures[c].ntff);
    if (access(path, R_OK) != 0) {
        return false;
    }
    assert_int_equal(ntk_ntff_open(path, &o->ntff, NULL), 0);
    snprintf(path, sizeof path, "%s/%s", folder, captures[c].neff);
    assert_int_equal(ntk_neff_open(path, &o->neff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(o->ntff, o->neff, NULL, NULL, &o->trace, NULL), 0);
    assert_int_equal(ntk_analyses_create(o->trace, &o->analyses), 0);
    return true;
}

static void close_capture(struct opened *o)
{
    ntk_analyses_destroy(o->analyses);
    ntk_trace_destroy(o->trace);
    ntk_neff_close(o->neff);
    ntk_ntff_close(o->ntff);
}

static void check_trips(size_t c, const struct opened *o)
{
    struct ntk_tensor_traffic tensors;
    struct ntk_advice advice = { 0 };
    size_t trip_count = 0;
    size_t finding_count = 0;

    assert_int_equal(ntk_analysis_tensor_traffic(o->analyses->program, &tensors), 0);
    for (size_t i = 0; i < tensors.row_count; i++) {
        const struct ntk_tensor_row *row = &tensors.rows[i];
        if (strcmp(row->kind, "scratch") == 0 && row->write_bytes >= KB && row->read_bytes >= KB) {
            trip_count++;
            assert_int_equal(row->write_bytes, captures[c].trip_bytes);
            assert_int_equal(row->read_bytes, captures[c].trip_bytes);
        }
    }
    assert_int_equal(trip_count, captures[c].trip_count);
    ntk_tensor_traffic_fini(&tensors);

    assert_int_equal(ntk_analyses_advice(o->analyses, &advice), 0);
    for (size_t i = 0; i < advice.count; i++) {
        finding_count += advice.items[i].rule == NTK_ADVICE_ROUND_TRIP;
    }
    assert_int_equal(finding_count, captures[c].trip_count);
    ntk_advice_fini(&advice);
}

static void check_chip(size_t c, const struct opened *o)
{
    struct ntk_chip_memory chip;
    uint64_t peaks[2] = { 0 };

    if (ntk_analysis_chip_memory(o->analyses->program, 1, &chip) == 0) {
        for (size_t s = 0; s < chip.space_count; s++) {
            uint64_t *peak = &peaks[chip.spaces[s].space == NTK_CHIP_PSUM];
            *peak = chip.spaces[s].peak_bytes > *peak ? chip.spaces[s].peak_bytes : *peak;
        }
        ntk_chip_memory_fini(&chip);
    }
    if (peaks[0] != captures[c].sbuf_bytes || peaks[1] != captures[c].psum_bytes) {
        fail_msg("%s: %llu and %llu bytes", captures[c].ntff, (unsigned long long)peaks[0],
                 (unsigned long long)peaks[1]);
    }
}

static void check_regions(size_t c, const struct opened *o)
{
    struct ntk_regions regions;

    assert_int_equal(ntk_analysis_regions(o->analyses->program, &regions), 0);
    assert_true(regions.region_count > 0);
    const struct ntk_region *first = &regions.regions[0];
    if (strncmp(first->name, captures[c].region, strlen(captures[c].region)) != 0 ||
        (captures[c].region_count && first->count != captures[c].region_count)) {
        fail_msg("%s: region %s, %llu times", captures[c].ntff, first->name,
                 (unsigned long long)first->count);
    }
    ntk_regions_fini(&regions);
}

static void check_dropped(size_t c, const struct opened *o)
{
    const struct ntk_dropped *dropped = &o->analyses->program->dropped;

    assert_int_equal(dropped->instructions.lost, 0);
    assert_int_equal(dropped->bytes.lost, 0);
    if (dropped->changes.lost != captures[c].dropped) {
        fail_msg("%s: %llu changes", captures[c].ntff, (unsigned long long)dropped->changes.lost);
    }
}

static void analyses_of_real_captures_have_the_expected_results(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT; c++) {
        struct opened o;

        if (open_capture(c, &o)) {
            check_trips(c, &o);
            check_chip(c, &o);
            check_regions(c, &o);
            check_dropped(c, &o);
            close_capture(&o);
        }
    }
}

/* The attention in steps, and fused: both round trips of 1 MB per direction are gone, and so are
 * their queues; no other saving is as large. */
static void fused_attention_has_no_round_trips(void **state)
{
    struct ntk_measures measures[2] = { 0 };
    struct ntk_comparison comparison;
    struct opened o[2];

    (void)state;
    if (!open_capture(3, &o[0]) || !open_capture(4, &o[1])) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        assert_int_equal(ntk_analysis_measures(o[side].analyses->program, &o[side].analyses->path,
                                               &o[side].analyses->costs, NULL, &measures[side],
                                               NULL),
                         0);
    }
    assert_int_equal(ntk_analysis_comparison(&measures[0], 1, &measures[1], 1, &comparison), 0);
    assert_int_equal(comparison.verdict, NTK_COMPARISON_FASTER);
    assert_non_null(comparison.most);
    assert_string_equal(comparison.most->name, "DMA queue qSyncDynamicHW");
    assert_false(comparison.most->has_after);
    /* Output and inputs are twice as large: 128 KB more are written, and 3 x 128 KB more and fewer
     * constants are read. */
    double written = ntk_measures_find(&measures[0], NTK_MEASURE_MEMORY, "HBM written")->value -
                     ntk_measures_find(&measures[1], NTK_MEASURE_MEMORY, "HBM written")->value;
    assert_true(written == 2.0 * MB - 128.0 * KB);
    ntk_comparison_fini(&comparison);
    for (int side = 0; side < 2; side++) {
        ntk_measures_fini(&measures[side]);
        close_capture(&o[side]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(analyses_of_real_captures_have_the_expected_results),
        cmocka_unit_test(fused_attention_has_no_round_trips),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
