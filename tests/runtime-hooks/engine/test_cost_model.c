/* SPDX-License-Identifier: MIT */
/* The figures of docs/cost-model.md, written a second time. */
#include "runtime-hooks/engine/cost_model.h"
#include "tests/support/unit.h"

static void every_core_generation_has_its_clock_and_memory_figures(void **state)
{
    static const struct {
        const char *name;
        uint32_t columns, pe, act, pool, dve, sp, sbuf, dma_engines, dma_rate;
        double peak;
    } expected[] = {
        { "NCv1", 64, 1000, 1000, 1000, 1000, 1000, 196608, 3, 17000, 16.384e12 },
        { "NCv2", 128, 2800, 1400, 1400, 1120, 1400, 196608, 16, 17000, 91.7504e12 },
        { "NCv3", 128, 2400, 1200, 1200, 960, 1200, 229376, 16, 23000, 78.6432e12 },
        { "NCv4", 128, 2400, 1200, 1200, 1200, 1200, 262144, 16, 33000, 78.6432e12 },
        { "MLUv01", 64, 1000, 1000, 1000, 1000, 1000, 196608, 4, 12800, 16.384e12 },
        { "MLUv02", 64, 1000, 1000, 1000, 1000, 1000, 196608, 4, 12800, 16.384e12 },
    };

    for (unsigned g = 1; g <= 6; g++) {
        const struct ntk_engine_core_spec *spec = ntk_engine_core_spec_get(g);

        assert_non_null(spec);
        assert_int_equal(spec->generation, g);
        assert_string_equal(spec->name, expected[g - 1].name);
        assert_int_equal(spec->pe_rows, 128);
        assert_int_equal(spec->pe_columns, expected[g - 1].columns);
        assert_int_equal(spec->clock_mhz[NTK_ENGINE_PE], expected[g - 1].pe);
        assert_int_equal(spec->clock_mhz[NTK_ENGINE_ACT], expected[g - 1].act);
        assert_int_equal(spec->clock_mhz[NTK_ENGINE_POOL], expected[g - 1].pool);
        assert_int_equal(spec->clock_mhz[NTK_ENGINE_DVE], expected[g - 1].dve);
        assert_int_equal(spec->clock_mhz[NTK_ENGINE_SP], expected[g - 1].sp);
        assert_int_equal(spec->sbuf_partition_bytes, expected[g - 1].sbuf);
        assert_int_equal(spec->psum_partition_bytes, 16384);
        assert_int_equal(spec->dma_engine_count, expected[g - 1].dma_engines);
        assert_int_equal(spec->dma_bytes_per_us, expected[g - 1].dma_rate);
        assert_true(spec->tensor_peak_flops == expected[g - 1].peak);
    }
    assert_null(ntk_engine_core_spec_get(0));
    assert_null(ntk_engine_core_spec_get(7));
}

static void operation_costs_match_the_table(void **state)
{
    assert_int_equal(ntk_cost_cycles(NTK_COST_ELEMENT, 1), 64);
    assert_int_equal(ntk_cost_cycles(NTK_COST_ELEMENT, 512), 512);
    assert_int_equal(ntk_cost_cycles(NTK_COST_ELEMENT_DOUBLE, 512), 1024);
    assert_int_equal(ntk_cost_cycles(NTK_COST_ELEMENT_HALF, 513), 257);
    assert_int_equal(ntk_cost_cycles(NTK_COST_ELEMENT_HALF, 3), 64);
    assert_int_equal(ntk_cost_cycles(NTK_COST_ELEMENT_REDUCE, 512), 576);
    assert_int_equal(ntk_cost_cycles(NTK_COST_RECIPROCAL, 100), 800);
    assert_int_equal(ntk_cost_cycles(NTK_COST_POOL_INDEX, 10), 160);
    assert_int_equal(ntk_cost_matmul_cycles(128, 512, false), 512);
    assert_int_equal(ntk_cost_matmul_cycles(128, 512, true), 2048);
    assert_int_equal(ntk_cost_matmul_cycles(128, 10, false), 64);
    assert_int_equal(ntk_cost_matmul_cycles(8, 10, false), 10);
    assert_int_equal(ntk_cost_pe_transpose_cycles(32, 128), 64);
    assert_int_equal(ntk_cost_pe_transpose_cycles(128, 16), 128);
}

/* 64 elements: single float32 by the index at C = 8; fours of bfloat16 at C = 2.75 / 2. */
static void the_cost_of_a_local_gather_depends_on_the_row_length(void **state)
{
    assert_int_equal(ntk_cost_local_gather_cycles(64, 1, 4), 150 + 8);
    assert_int_equal(ntk_cost_local_gather_cycles(64, 4, 2), 150 + 47);
}

static void cycles_are_converted_to_time_with_the_engine_clock(void **state)
{
    const struct ntk_engine_core_spec *v2 = ntk_engine_core_spec_get(2);

    assert_int_equal(ntk_cost_cycles_to_ps(v2, NTK_ENGINE_PE, 2800), 1000000);
    assert_int_equal(ntk_cost_cycles_to_ps(v2, NTK_ENGINE_DVE, 1120), 1000000);
    assert_int_equal(ntk_cost_cycles_to_ps(v2, NTK_ENGINE_PE, 1), 357);
}

static void dma_bandwidth_depends_on_the_length_of_contiguous_runs(void **state)
{
    const struct ntk_engine_core_spec *v2 = ntk_engine_core_spec_get(2);

    /* 17 bytes per ns in full runs, a tenth at 256 bytes and below, linear between. */
    assert_int_equal(ntk_cost_dma_ps(v2, 17000000, 4096), 1000000000);
    assert_int_equal(ntk_cost_dma_ps(v2, 17000000, 1 << 20), 1000000000);
    assert_int_equal(ntk_cost_dma_ps(v2, 17000, 256), 10000000);
    assert_int_equal(ntk_cost_dma_ps(v2, 17000, 1), 10000000);
    assert_int_equal(ntk_cost_dma_ps(v2, 17000, (4096 + 256) / 2), 1818182);
    assert_true(ntk_cost_dma_ps(v2, UINT64_C(1) << 40, 4096) > 0);
}

static void slowed_costs_never_overflow(void **state)
{
    (void)state;
    assert_int_equal(ntk_cost_slower(1000, 0), 1000); /* 0 is 1 */
    assert_int_equal(ntk_cost_slower(UINT64_MAX, 1), UINT64_MAX);
    assert_int_equal(ntk_cost_slower(1000, 1.5), 1500);
    assert_int_equal(ntk_cost_slower(UINT64_MAX / 2, 3), UINT64_MAX);
    assert_int_equal(ntk_cost_slower(UINT64_MAX, 1000), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_core_generation_has_its_clock_and_memory_figures),
        cmocka_unit_test(operation_costs_match_the_table),
        cmocka_unit_test(the_cost_of_a_local_gather_depends_on_the_row_length),
        cmocka_unit_test(cycles_are_converted_to_time_with_the_engine_clock),
        cmocka_unit_test(dma_bandwidth_depends_on_the_length_of_contiguous_runs),
        cmocka_unit_test(slowed_costs_never_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
