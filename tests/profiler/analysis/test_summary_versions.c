/* SPDX-License-Identifier: MIT */
/*
 * Method: only the formulas of a summary, with inputs of real executions, against the figures that
 * the original tool (2.32, and 2.28) derived from them: to the last bit.
 */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/summary_private.h"
#include "tests/support/unit.h"

struct vector {
    int64_t total_ps;
    struct ntk_matmul_flops flops;
    uint64_t model_flops, read_bytes, write_bytes, inputs;
    int64_t dma_ps, static_ps, software_ps, hardware_ps;
    uint64_t instructions[5], events, packets[3];
    uint64_t transfers, transfer_bytes;
    /* ---- results ---- */
    uint64_t cycles, dma_cycles;
    double hfu, mfu_inst, mfu, most_inst, most, intensity, mbu, mbu_min;
    double static_share, software_share, hardware_share;
    uint64_t trace_count;
    double transfer_average;
};

/* Three executions on a core of trn3. */
static const struct vector vectors[] = {
    { .total_ps = 764373827330,
      .flops = { true, 102238844852, 10015513900, true, 378912601616, 10019277808 },
      .model_flops = 92205104728,
      .read_bytes = 5008559140,
      .write_bytes = 1030936504,
      .inputs = 49273272,
      .dma_ps = 192502605771,
      .static_ps = 71389802630,
      .software_ps = 90914168046,
      .hardware_ps = 34314264465,
      .instructions = { 323875, 247241, 199030, 453257, 165659 },
      .events = 4194235,
      .packets = { 1199676, 12399472, 4828047 },
      .transfers = 167991,
      .transfer_bytes = 4465127080,
      .cycles = 917248576,
      .dma_cycles = 231003152,
      .hfu = 0.006303359203005003,
      .mfu_inst = 0.006136684709858874,
      .mfu = 0.001533867977100492,
      .most_inst = 0.2287305875494291,
      .most = 0.22868538320817083,
      .intensity = 15.270038491313464,
      .mbu = 0.006707328450914687,
      .mbu_min = 0.00005472179112896435,
      .static_share = 0.09339645089545846,
      .software_share = 0.11893940477209719,
      .hardware_share = 0.04489199294651626,
      .trace_count = 24178483,
      .transfer_average = 26579.561286021275 },
    { .total_ps = 380733370103,
      .flops = { true, 26487676676, 3780572588, true, 94612752848, 3784336496 },
      .model_flops = 22703731816,
      .read_bytes = 573951976,
      .write_bytes = 117868232,
      .inputs = 42637752,
      .dma_ps = 46585772148,
      .static_ps = 4148202669,
      .software_ps = 40864306873,
      .hardware_ps = 3216868354,
      .instructions = { 42276, 21461, 11215, 237197, 13293 },
      .events = 3849305,
      .packets = { 133546, 7502256, 282019 },
      .transfers = 43877,
      .transfer_bytes = 456682720,
      .cycles = 456880064,
      .dma_cycles = 55902932,
      .hfu = 0.003159857786135753,
      .mfu_inst = 0.0030334694277458023,
      .mfu = 0.0007582547304652986,
      .most_inst = 0.4916461254745656,
      .most = 0.49157311024301414,
      .intensity = 32.822261948150555,
      .mbu = 0.001542506525815555,
      .mbu_min = 0.00009506662272303157,
      .static_share = 0.010895295749562967,
      .software_share = 0.10733051022542352,
      .hardware_share = 0.008449136867434915,
      .trace_count = 12136445,
      .transfer_average = 10408.248512888302 },
    { .total_ps = 380731236774,
      .flops = { true, 26487676676, 3780572588, true, 94612752848, 3784336496 },
      .model_flops = 22703731816,
      .read_bytes = 573951976,
      .write_bytes = 117868232,
      .inputs = 42637752,
      .dma_ps = 46565267093,
      .static_ps = 4144984386,
      .software_ps = 40856153399,
      .hardware_ps = 3195313361,
      .instructions = { 42276, 21461, 11215, 237197, 13293 },
      .events = 3849342,
      .packets = { 133546, 7502256, 282019 },
      .transfers = 43885,
      .transfer_bytes = 456976912,
      .cycles = 456877504,
      .dma_cycles = 55878320,
      .hfu = 0.0031598754915814846,
      .mfu_inst = 0.003033486425007061,
      .mfu = 0.00075825897914954,
      .most_inst = 0.4916461254745656,
      .most = 0.49157311024301414,
      .intensity = 32.822261948150555,
      .mbu = 0.0015425151688518662,
      .mbu_min = 0.00009506715540426075,
      .static_share = 0.010886903898721713,
      .software_share = 0.1073096963232675,
      .hardware_share = 0.0083925694883205,
      .trace_count = 12136490,
      .transfer_average = 10413.054847897914 },
};

static const struct ntk_summary_value *value_of(const struct summary_filler *f,
                                                enum ntk_summary_id id)
{
    const struct ntk_summary_value *value = ntk_vec_at(&f->values, id);

    if (!value->is_present) {
        fail_msg("%s is absent", value->name);
    }
    return value;
}

static void expect_count(const struct summary_filler *f, enum ntk_summary_id id, uint64_t count)
{
    const struct ntk_summary_value *value = value_of(f, id);

    if (value->count != count) {
        fail_msg("%s is %llu, not %llu", value->name, (unsigned long long)value->count,
                 (unsigned long long)count);
    }
}

static void expect_number(const struct summary_filler *f, enum ntk_summary_id id, double number)
{
    const struct ntk_summary_value *value = value_of(f, id);

    if (memcmp(&value->number, &number, sizeof number) != 0) {
        fail_msg("%s is %.17g, not %.17g", value->name, value->number, number);
    }
}

static void fill(const struct vector *v, struct summary_filler *f, struct ntk_trace *trace)
{
    struct ntk_transfer_sums transfers = { .is_known = true,
                                           .count = v->transfers,
                                           .bytes_count = v->transfer_bytes };
    struct ntk_activity activity = { .event_count = v->events };
    struct ntk_dma_traffic traffic = { .all = { .active_ps = v->dma_ps },
                                       .fixed = { v->packets[0], 1, v->static_ps } };
    struct summary_work work = {
        .flops = v->flops,
        .hbm = { .is_known = true, .read_bytes = v->read_bytes, .write_bytes = v->write_bytes },
        .model_flops = v->model_flops,
        .has_sizes = true,
        .inputs = v->inputs
    };

    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        activity.engines[e].instruction_count = v->instructions[e];
    }
    for (unsigned p = 0; p < 3; p++) {
        activity.packet_count += v->packets[p];
    }
    traffic.all.packet_count = activity.packet_count;
    traffic.all.bytes_count = 1;
    traffic.classes[NTK_TRACE_DMA_SOFTWARE_DYNAMIC].active_ps = v->software_ps;
    traffic.classes[NTK_TRACE_DMA_HARDWARE_DYNAMIC].active_ps = v->hardware_ps;
    assert_int_equal(summary_begin(f, trace), 0);
    summary_fill_times(f, &activity, &transfers);
    summary_fill_dma(f, &traffic);
    summary_fill_transfers(f, &transfers);
    summary_fill_work(f, &work);
}

static void summary_figures_of_2_32_are_bit_identical(void **state)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        struct ntk_trace trace = { .has_total = true, .total_ps = v->total_ps, .core_count = 1 };
        struct summary_filler f;

        trace.has_chip = ntk_chip_find("trn3.3xlarge", &trace.chip);
        assert_true(trace.has_chip);
        fill(v, &f, &trace);
        expect_count(&f, NTK_SUMMARY_neuroncore_cycle_count, v->cycles);
        expect_count(&f, NTK_SUMMARY_dma_active_cycles, v->dma_cycles);
        expect_number(&f, NTK_SUMMARY_hfu_estimated_percent, v->hfu);
        expect_number(&f, NTK_SUMMARY_mfu_inst_estimated_percent, v->mfu_inst);
        expect_number(&f, NTK_SUMMARY_mfu_hlo_estimated_percent, v->mfu);
        expect_number(&f, NTK_SUMMARY_mfu_estimated_percent, v->mfu);
        expect_number(&f, NTK_SUMMARY_mfu_inst_max_achievable_estimated_percent, v->most_inst);
        expect_number(&f, NTK_SUMMARY_mfu_hlo_max_achievable_estimated_percent, v->most);
        expect_number(&f, NTK_SUMMARY_mfu_max_achievable_estimated_percent, v->most);
        expect_number(&f, NTK_SUMMARY_mm_arithmetic_intensity, v->intensity);
        expect_number(&f, NTK_SUMMARY_peak_flops_bandwidth_ratio, 66.75993208828523);
        expect_number(&f, NTK_SUMMARY_mbu_estimated_percent, v->mbu);
        expect_number(&f, NTK_SUMMARY_mbu_min_read_util_percent, v->mbu_min);
        expect_number(&f, NTK_SUMMARY_static_dma_active_time_percent, v->static_share);
        expect_number(&f, NTK_SUMMARY_software_dynamic_dma_active_time_percent, v->software_share);
        expect_number(&f, NTK_SUMMARY_hardware_dynamic_dma_active_time_percent, v->hardware_share);
        expect_count(&f, NTK_SUMMARY_trace_count, v->trace_count);
        expect_number(&f, NTK_SUMMARY_dma_transfer_average_bytes, v->transfer_average);
        ntk_vec_fini(&f.values);
    }
}

/* An execution on the two cores of a trn2, which 2.28 summarised. */
static void summary_figures_of_2_28_are_bit_identical(void **state)
{
    const struct vector v = { .total_ps = 36351609,
                              .dma_ps = 11048218,
                              .flops = { true, 285212672, 0, true, 0, 0 } };
    struct ntk_trace trace = {
        .metrics = NTK_METRICS_2_28, .has_total = true, .total_ps = v.total_ps, .core_count = 2
    };
    struct summary_filler f;

    trace.has_chip = ntk_chip_find("trn2.3xlarge", &trace.chip);
    fill(&v, &f, &trace);
    expect_count(&f, NTK_SUMMARY_neuroncore_cycle_count, 43621);
    expect_count(&f, NTK_SUMMARY_dma_active_cycles, 13257);
    expect_number(&f, NTK_SUMMARY_hfu_estimated_percent, 0.04988316443056207);
    assert_false(
        ((struct ntk_summary_value *)ntk_vec_at(&f.values, NTK_SUMMARY_adjusted_hardware_flops))
            ->is_present);
    ntk_vec_fini(&f.values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary_figures_of_2_32_are_bit_identical),
        cmocka_unit_test(summary_figures_of_2_28_are_bit_identical),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
