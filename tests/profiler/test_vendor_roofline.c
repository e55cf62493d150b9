/* SPDX-License-Identifier: MIT */
/*
 * The ceilings of the real captures in the folder that NTK_VENDOR_CAPTURES names. Skipped if the
 * variable is not set. Method: products, engines and bytes of each were counted by hand from its
 * records; no packet may exceed the rate of an engine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/dma_rate.h"
#include "profiler/analysis/roofline.h"
#include "profiler/output/answers/analyses.h"
#include "tests/support/unit.h"

static const char *folder;

#define TRN1_PEAK (2.0 * 128 * 128 * 2.8e9)
#define TRN2_PEAK (2.0 * 128 * 128 * 2.4e9)

static const struct {
    const char *ntff, *neff;
    uint64_t flops;
    double flops_per_second, bytes_per_second;
    double least, most; /* of the roofline */
    double mfu, mfu_2_28;
    enum ntk_roofline_bound bound;
} captures[] = {
    /* 2.9 MB through all 16 engines of a core of trn1, and no product; its memory stack is slower
     * than the engines. */
    { "v4_stream_256k_fd1k.ntff", "v4_stream_256k_fd1k.neff", 0, TRN1_PEAK, 410e9, 0.25, 0.27, 0, 0,
      NTK_ROOFLINE_MEMORY },
    /* 4 MiB in and out; all 64 products are transposes, so no work is useful. Core 5 runs
     * nothing. */
    { "v5_transpose_1024.ntff", "v5_transpose_1024.neff", 0, TRN2_PEAK, 435e9, 0.40, 0.42, 0, 0,
      NTK_ROOFLINE_MEMORY },
    /* Attention of single tokens: 13 MFLOPs for 9.3 MB. */
    { "v6_attn_tkg.ntff", "v6_attn_tkg.neff", 12976128, TRN2_PEAK, 435e9, 0.06, 0.07,
      0.0002292468897053283, 0.0002292468897053283, NTK_ROOFLINE_MEMORY },
    /* Attention of 512 positions with heads of 128 is 2 x 512 x 512 x 128 operations twice: scores
     * in fp32, their product with V in bf16. Half of the work at a quarter of the peak: 2 / 5. The
     * scores go through device memory: 4.6 MB. */
    { "v6_baseline_bf16_s512.ntff", "v6_baseline_bf16_s512.neff", 134217728, TRN2_PEAK * 2 / 5,
      435e9, 0.20, 0.21, 0.03930485772544287, 0.023582914635265722, NTK_ROOFLINE_MEMORY },
    /* The same, all in fp32 in two passes each, which count once; scores stay on the chip. */
    { "v6_fused_fp32_s512.ntff", "v6_fused_fp32_s512.neff", 134217728, TRN2_PEAK / 4, 435e9, 0.17,
      0.19, 0.08960854115011041, 0.044804270575055205, NTK_ROOFLINE_COMPUTE },
    /* One core; 25 MFLOPs for 24 MB. */
    { "inspect_trn2_rt230/profile_exec_2.ntff", "inspect_trn2_rt230/neff_171450338541704.neff", 0,
      TRN2_PEAK, 435e9, 0.05, 0.06, -1, -1, NTK_ROOFLINE_MEMORY },
};

static void check(size_t c, const struct ntk_trace *trace)
{
    struct ntk_analyses *analyses = NULL;
    struct ntk_roofline roofline;

    assert_int_equal(ntk_analyses_create(trace, &analyses), 0);
    assert_int_equal(ntk_analysis_roofline(analyses->program, &analyses->costs, &roofline), 0);
    double mfu = trace->metrics == NTK_METRICS_2_28 ? captures[c].mfu_2_28 : captures[c].mfu;
    assert_true(mfu < 0 || fabs(roofline.mfu - mfu) <= 1e-15);
    assert_true(mfu < 0 || roofline.total.flops == captures[c].flops);
    assert_int_equal(roofline.ceilings.ran_count, 1);
    assert_true(roofline.ceilings.dma_engines_known);
    assert_true(fabs(roofline.ceilings.flops_per_second / captures[c].flops_per_second - 1) < 1e-9);
    assert_true(fabs(roofline.ceilings.bytes_per_second / captures[c].bytes_per_second - 1) < 1e-9);
    assert_int_equal(roofline.total.bound, captures[c].bound);
    assert_true(roofline.total.ratio > captures[c].least &&
                roofline.total.ratio < captures[c].most);
    for (size_t i = 0; i < trace->core_count; i++) {
        ntk_trace_each_packet(&trace->cores[i], packet) {
            assert_true((double)ntk_packet_rate(packet) <= trace->chip.dma_bytes_per_second);
        }
    }
    /* Only the tensor engine multiplies matrices. */
    for (size_t i = 0; i < roofline.regions.count; i++) {
        const struct ntk_roofline_row *row = &roofline.regions.rows[i];
        assert_true(row->flops <= roofline.total.flops);
        assert_true(row->flops == 0 || strstr(row->name, "tensor") || strstr(row->name, "all"));
    }
    ntk_roofline_fini(&roofline);
    ntk_analyses_destroy(analyses);
}

static void real_captures_have_the_ceilings_of_the_engines_in_use(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof captures / sizeof *captures; c++) {
        struct ntk_ntff *ntff = NULL;
        struct ntk_neff *neff = NULL;
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", folder, captures[c].ntff);
        if (access(path, R_OK) != 0) {
            continue;
        }
        assert_int_equal(ntk_ntff_open(path, &ntff, NULL), 0);
        snprintf(path, sizeof path, "%s/%s", folder, captures[c].neff);
        assert_int_equal(ntk_neff_open(path, &neff, NULL), 0);
        for (int v = 0; v < 2; v++) {
            struct ntk_trace_options options = { .metrics =
                                                     v ? NTK_METRICS_2_28 : NTK_METRICS_2_32 };
            struct ntk_trace *trace = NULL;
            assert_int_equal(ntk_trace_create(ntff, neff, &options, &trace, NULL), 0);
            check(c, trace);
            ntk_trace_destroy(trace);
        }
        ntk_neff_close(neff);
        ntk_ntff_close(ntff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_captures_have_the_ceilings_of_the_engines_in_use),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
