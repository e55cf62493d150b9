/* SPDX-License-Identifier: MIT */
/*
 * Method: the capture of support/ntff_sample.h, with metrics computed by hand from its
 * description; and captures made with the writer for two cores, for the open encoding, and for
 * rules about absent values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/hbm_traffic.h"
#include "profiler/analysis/matmul_flops.h"
#include "profiler/analysis/opcode_table.h"
#include "profiler/analysis/summary.h"
#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static const struct ntk_summary_value *find(const struct ntk_summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->value_count; i++) {
        if (strcmp(summary->values[i].name, name) == 0 && summary->values[i].is_present) {
            return &summary->values[i];
        }
    }
    return NULL;
}

static void expect_count(const struct ntk_summary *summary, const char *name, uint64_t count)
{
    const struct ntk_summary_value *value = find(summary, name);

    if (!value) {
        fail_msg("%s is absent", name);
    } else if (value->count != count) {
        fail_msg("%s is %llu, not %llu", name, (unsigned long long)value->count,
                 (unsigned long long)count);
    }
}

static void expect_number(const struct ntk_summary *summary, const char *name, double number)
{
    const struct ntk_summary_value *value = find(summary, name);

    if (!value) {
        fail_msg("%s is absent", name);
    } else if (fabs(value->number - number) > 1e-12 * fabs(number)) {
        fail_msg("%s is %.17g, not %.17g", name, value->number, number);
    }
}

static void summary_metrics_match_the_sample_description(void **state)
{
    for (unsigned pass = 0; pass < 6; pass++) {
        unsigned version = 4 + pass / 2;
        bool is_2_28 = pass % 2;
        struct ntk_buf file = { 0 };
        struct ntff_sample sample = { .version = version };
        struct ntk_ntff *ntff = NULL;
        struct ntk_trace *trace = NULL;
        struct ntk_summary s;
        const double peak = 2.0 * 128 * 128 * 2.4e9 * 1e-4; /* of one core in 100 us */

        ntff_sample_build(&sample, &file);
        assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
        assert_int_equal(
            ntk_trace_create(ntff, NULL,
                             &(struct ntk_trace_options){ .metrics = is_2_28 ? NTK_METRICS_2_28
                                                                             : NTK_METRICS_2_32 },
                             &trace, NULL),
            0);
        assert_int_equal(ntk_analysis_summary(trace, &s), 0);

        expect_number(&s, "total_time", 1e-4);
        expect_count(&s, "neuroncore_cycle_count", 120000);
        uint64_t events = version < 6 ? 4 : 3; /* also the one after the end */
        expect_count(&s, "event_count", events);
        expect_count(&s, "trace_count", 7 + events + 4 + (is_2_28 ? 0 : 2));
        expect_number(&s, "total_active_time", 37.502e-6);
        expect_number(&s, "total_active_time_percent", 0.37502);
        expect_count(&s, "tensor_engine_instruction_count", 5);
        expect_number(&s, "tensor_engine_instruction_time", 40.002e-6); /* no EVENT_SEMAPHORE */
        expect_number(&s, "tensor_engine_active_time", 30.002e-6);
        expect_number(&s, "tensor_engine_active_time_percent", 0.30002);
        expect_count(&s, "matmul_instruction_count", 2);
        expect_count(&s, "gpsimd_engine_instruction_count", 2);
        expect_number(&s, "gpsimd_engine_active_time", 2e-6);
        expect_count(&s, "vector_engine_instruction_count", 0);
        expect_number(&s, "vector_engine_active_time_percent", 0);
        expect_count(&s, "hardware_flops", 2 * 128 * 128 * (512 + 128));
        expect_count(&s, "transpose_flops", 2 * 128 * 128 * 128);
        expect_number(&s, "hfu_estimated_percent",
                      2 * 128 * 128 * 640 / 1e12 / 1e-4 * (double)(float)(1 / 78.6432));
        if (is_2_28) {
            assert_null(find(&s, "adjusted_hardware_flops"));
            assert_null(find(&s, "total_exec_time"));
        } else {
            expect_count(&s, "adjusted_hardware_flops", 2 * 128 * 128 * 640);
            expect_count(&s, "adjusted_transpose_flops", 2 * 128 * 128 * 128);
        }
        expect_number(&s, "mfu_estimated_percent", 2 * 128 * 128 * 512 / peak);
        expect_count(&s, "hbm_read_bytes", 512);
        expect_count(&s, "hbm_write_bytes", 256);
        expect_number(&s, "mbu_estimated_percent", 768 / 1e-4 / 716e9);
        expect_number(&s, "mm_arithmetic_intensity", 2.0 * 128 * 128 * 512 / 768);
        expect_number(&s, "mfu_max_achievable_estimated_percent", 1);
        expect_number(&s, "dma_active_time", 5.5e-6);
        expect_number(&s, "dma_packet_time", 5.5e-6);
        expect_count(&s, "dma_active_cycles", 6600);
        expect_count(&s, "dma_queue_count", 3);
        expect_count(&s, "static_dma_packet_count", 1);
        expect_count(&s, "static_dma_size", 1000);
        expect_count(&s, "software_dynamic_dma_packet_count", 2);
        expect_count(&s, "software_dynamic_dma_size", 516);
        expect_number(&s, "software_dynamic_dma_active_time_percent",
                      is_2_28 ? 2.5 / 5.5 : 2.5e-6 / 1e-4);
        expect_count(&s, "hardware_dynamic_dma_size", 256);
        expect_number(&s, "dynamic_dma_packet_percent", 0.75);
        expect_number(&s, "dynamic_dma_active_time_percent", is_2_28 ? 4.5 / 5.5 : 4.5e-6 / 1e-4);
        /* The only core is number 4 of its device; 2.28 numbers the cores within a logical core. */
        expect_count(&s, is_2_28 ? "throttle_active_nc0_time_ns" : "throttle_active_nc4_time_ns",
                     70000);
        expect_number(&s,
                      is_2_28 ? "throttle_avg_util_limit_nc0_percent"
                              : "throttle_avg_util_limit_nc4_percent",
                      0.55);
        expect_number(&s,
                      is_2_28 ? "throttle_activity_0_active_time_nc0_percent"
                              : "throttle_activity_0_active_time_nc4_percent",
                      0.2);
        expect_number(&s,
                      is_2_28 ? "throttle_activity_1_avg_util_limit_nc0_percent"
                              : "throttle_activity_1_avg_util_limit_nc4_percent",
                      0.5);
        assert_null(find(&s, "throttle_activity_2_active_time_nc0_percent"));
        expect_count(&s, "nc_idx", 4);
        assert_string_equal(find(&s, "runtime_version")->text, "2.30.51 (faafe)");
        assert_string_equal(find(&s, "driver_version")->text, "2.26.0 ()");
        /* Only the NEFF contains it. */
        assert_null(find(&s, "weight_size_bytes"));
        assert_null(find(&s, "compiler_version"));
        assert_null(find(&s, "collectives_version"));
        for (size_t i = 0; i < s.value_count; i++) {
            if (s.values[i].is_present && s.values[i].kind == NTK_SUMMARY_KIND_FRACTION) {
                assert_true(s.values[i].number >= 0 && s.values[i].number <= 1);
            }
        }
        ntk_summary_fini(&s);
        ntk_trace_destroy(trace);
        ntk_ntff_close(ntff);
        ntk_buf_fini(&file);
    }
}

/* ---- captures of our own writer ---- */

struct recorded {
    char *folder, *path;
    uint8_t code[64 * 64];
    size_t slots;
    struct ntk_ntff_capture_subgraph subgraphs[2];
    struct ntk_ntff_capture capture;
    struct ntk_ntff_writer *writer;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
};

static void record_begin(struct recorded *r, const char *instance_type, size_t subgraphs,
                         enum ntk_ntff_engine engine)
{
    r->folder = test_scratch_create();
    r->path = test_scratch_path(r->folder, "x.ntff");
    for (size_t g = 0; g < subgraphs; g++) {
        r->subgraphs[g].name = g ? "sg01" : "sg00";
        r->subgraphs[g].core = (uint32_t)g;
        r->subgraphs[g].engines[engine] =
            (struct ntk_ntff_capture_code){ r->code, r->slots * 64, 0x1000000 };
    }
    r->capture = (struct ntk_ntff_capture){ .neff_name = "x",
                                            .instance_type = instance_type,
                                            .base_clock_mhz = 1200,
                                            .subgraph_count = subgraphs,
                                            .subgraphs = r->subgraphs };
    assert_int_equal(ntk_ntff_writer_create(r->path, &r->capture, &r->writer, NULL), 0);
}

static void record_end(struct recorded *r, uint64_t end_ps)
{
    ntk_ntff_writer_set_execution(r->writer, 0, end_ps);
    assert_int_equal(ntk_ntff_writer_commit(r->writer, NULL), 0);
    ntk_ntff_writer_destroy(r->writer);
    assert_int_equal(ntk_ntff_open(r->path, &r->ntff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(r->ntff, NULL, NULL, NULL, &r->trace, NULL), 0);
}

static void record_fini(struct recorded *r)
{
    ntk_trace_destroy(r->trace);
    ntk_ntff_close(r->ntff);
    free(r->path);
    test_scratch_destroy(r->folder);
}

static void add_instruction(struct recorded *r, size_t subgraph, uint32_t engine, uint32_t slot,
                            uint64_t start_ps, uint64_t end_ps)
{
    assert_int_equal(ntk_ntff_writer_add_instruction(
                         r->writer, subgraph,
                         &(struct ntk_ntff_instruction){ engine, slot, 0, start_ps, end_ps }),
                     0);
}

static void two_cores_double_the_compute_peak_but_not_the_bandwidth(void **state)
{
    struct recorded r = { .slots = 1 };
    struct ntk_summary s;

    r.code[0] = NTK_NTFF_OPCODE_MATMUL;
    r.code[1] = 0x10;
    r.code[26] = 100; /* 100 columns */
    r.code[28] = 1;
    r.code[30] = 1;
    r.code[32] = 6;
    r.code[38] = r.code[39] = 128;
    record_begin(&r, "trn2.3xlarge", 2, NTK_NTFF_ENGINE_TENSOR);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_TENSOR, 0, 0, 6000000);
    add_instruction(&r, 1, NTK_NTFF_ENGINE_TENSOR, 0, 4000000, 8000000);
    record_end(&r, 10000000);
    assert_int_equal(ntk_analysis_summary(r.trace, &s), 0);

    expect_count(&s, "tensor_engine_instruction_count", 2);
    expect_number(&s, "tensor_engine_active_time", 8e-6); /* union over both cores */
    expect_number(&s, "tensor_engine_instruction_time", 10e-6);
    expect_number(&s, "tensor_engine_active_time_percent", 0.8);
    expect_number(&s, "mfu_inst_estimated_percent",
                  2.0 * 2 * 128 * 128 * 100 / (2.0 * 2 * 128 * 128 * 2.4e9 * 10e-6));
    expect_number(&s, "peak_flops_bandwidth_ratio", 2.0 * 128 * 128 * 2.4e9 / 716e9);
    expect_count(&s, "nc_idx", 1);
    ntk_summary_fini(&s);
    record_fini(&r);
}

/* For a whole tile in bfloat16: the peak of the generation, and its bandwidth. */
static void each_core_generation_has_its_peak_rates(void **state)
{
    static const struct {
        const char *instance_type;
        double peak, bandwidth; /* 0: its slots have no known layout */
    } machines[] = {
        { "inf1.xlarge", 0, 26.8e9 },           { "trn1.2xlarge", 91.7504e12, 410e9 },
        { "inf2.xlarge", 91.7504e12, 410e9 },   { "trn2.3xlarge", 78.6432e12, 716e9 },
        { "trn3.3xlarge", 78.6432e12, 1178e9 },
    };

    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct recorded r = { .slots = 1 };
        struct ntk_summary s;
        double flops = 2.0 * 128 * 128 * 100;

        r.code[0] = NTK_NTFF_OPCODE_MATMUL;
        r.code[1] = 0x10;
        r.code[26] = 100;
        r.code[28] = r.code[30] = 1;
        r.code[32] = 6;
        r.code[38] = r.code[39] = 128;
        record_begin(&r, machines[i].instance_type, 1, NTK_NTFF_ENGINE_TENSOR);
        add_instruction(&r, 0, NTK_NTFF_ENGINE_TENSOR, 0, 0, 10);
        record_end(&r, 10000000);
        assert_int_equal(ntk_analysis_summary(r.trace, &s), 0);
        expect_count(&s, "matmul_instruction_count", 1);
        if (machines[i].peak > 0) {
            expect_count(&s, "hardware_flops", (uint64_t)flops);
            expect_number(&s, "mfu_inst_estimated_percent", flops / machines[i].peak / 1e-5);
            expect_number(&s, "peak_flops_bandwidth_ratio",
                          machines[i].peak / machines[i].bandwidth);
        } else {
            assert_null(find(&s, "hardware_flops"));
            assert_null(find(&s, "hfu_estimated_percent"));
        }
        ntk_summary_fini(&s);
        record_fini(&r);
    }
}

static void emit(struct recorded *r, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr,
                 uint32_t *out_slot)
{
    size_t slots = 0;
    struct ntk_err err = { 0 };

    *out_slot = (uint32_t)r->slots;
    if (ntk_isa_encode(instr, engine, r->code + r->slots * 64, &slots, &err) < 0) {
        fail_msg("%s", err.text);
    }
    r->slots += slots;
}

static void programs_in_the_open_encoding_are_counted_by_tile(void **state)
{
    struct recorded r = { 0 };
    struct ntk_matmul_flops flops;
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr transpose = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);
    uint32_t slots[2];

    /* 32 deep, 16 rows, 48 columns; then a transpose of 32 x 16 */
    matmul.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 32, 16, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(256, 32, 48, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 16, 48, NTK_DTYPE_FLOAT32);
    transpose.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 32, 16, NTK_DTYPE_FLOAT32);
    transpose.operand[NTK_ISA_DST] = ntk_isa_psum(0, 16, 32, NTK_DTYPE_FLOAT32);
    emit(&r, NTK_ISA_ENGINE_PE, &matmul, &slots[0]);
    emit(&r, NTK_ISA_ENGINE_PE, &transpose, &slots[1]);
    record_begin(&r, "trn1.2xlarge", 1, NTK_NTFF_ENGINE_TENSOR);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_TENSOR, slots[0], 0, 10);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_TENSOR, slots[1], 10, 20);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_TENSOR, slots[0], 20, 30);
    record_end(&r, 30);

    ntk_analysis_matmul_flops(r.trace, &flops);

    assert_true(flops.is_known);
    assert_int_equal(flops.transpose_flops, 2 * 32 * 16 * 32);
    assert_int_equal(flops.hardware_flops, 2 * (2 * 32 * 16 * 48) + 2 * 32 * 16 * 32);
    record_fini(&r);
}

static void transfers_of_the_open_encoding_count_bytes_in_device_memory(void **state)
{
    struct recorded r = { 0 };
    struct ntk_dma_traffic traffic = { 0 };
    struct ntk_hbm_traffic hbm;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    uint32_t slots[2];
    /* A group of one transfer: 3 rows of 100 bytes from variable 1 to the state buffer. */
    struct ntk_neff_var vars[2] = { { .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER },
                                    { .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1 } };
    struct ntk_neff_pattern from = { .var = 1, .dim_count = 2, .sizes = { 100, 3 } };
    struct ntk_neff_transfer transfer = { .source_count = 1,
                                          .to = { .var = 0, .dim_count = 2, .sizes = { 100, 3 } },
                                          .from = &from };
    struct ntk_neff_dma_group group = { .id = 7, .transfer_count = 1, .transfers = &transfer };
    struct ntk_neff_subgraph neff = { .name = "sg00", .var_count = 2, .vars = vars };

    neff.engines[NTK_ISA_ENGINE_SP].group_count = 1;
    neff.engines[NTK_ISA_ENGINE_SP].groups = &group;
    load.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 8, 16, NTK_DTYPE_FLOAT32);
    load.operand[NTK_ISA_DST] = ntk_isa_var(1, 0, 8, 16, 16, NTK_DTYPE_BFLOAT16);
    trigger.group_id = 7;
    emit(&r, NTK_ISA_ENGINE_SP, &load, &slots[0]);
    emit(&r, NTK_ISA_ENGINE_SP, &trigger, &slots[1]);
    record_begin(&r, "trn1.2xlarge", 1, NTK_NTFF_ENGINE_SYNC);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_SYNC, slots[0], 0, 10);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_SYNC, slots[1], 10, 20);
    add_instruction(&r, 0, NTK_NTFF_ENGINE_SYNC, slots[1], 20, 30);
    record_end(&r, 30);

    ntk_analysis_hbm_traffic(r.trace, &traffic, &hbm);
    assert_false(hbm.is_known); /* the group's size is in the NEFF */
    r.trace->cores[0].neff = &neff;
    ntk_analysis_hbm_traffic(r.trace, &traffic, &hbm);

    assert_true(hbm.is_known);
    assert_int_equal(hbm.read_bytes, 2 * 300);
    assert_int_equal(hbm.write_bytes, 8 * 16 * 2);
    record_fini(&r);
}

static void opcodes_are_grouped_by_engine_and_sorted_by_time(void **state)
{
    struct ntk_buf file = { 0 };
    struct ntff_sample sample = { .version = 6 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_opcode_table table;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL), 0);
    assert_int_equal(ntk_analysis_opcode_table(trace, &table), 0);
    assert_int_equal(table.row_count, 4);
    assert_int_equal(table.rows[0].opcode, NTK_NTFF_OPCODE_EVENT_SEMAPHORE);
    assert_int_equal(table.rows[1].opcode, NTK_NTFF_OPCODE_MATMUL);
    assert_int_equal(table.rows[1].instruction_count, 2);
    assert_int_equal(table.rows[1].instruction_ps, 40000000);
    assert_int_equal(table.rows[1].active_ps, 30000000);
    assert_int_equal(table.rows[2].opcode, NTK_NTFF_OPCODE_NOTIFY);
    assert_int_equal(table.rows[3].engine, NTK_NTFF_ENGINE_GPSIMD);
    ntk_opcode_table_fini(&table);
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary_metrics_match_the_sample_description),
        cmocka_unit_test(two_cores_double_the_compute_peak_but_not_the_bandwidth),
        cmocka_unit_test(each_core_generation_has_its_peak_rates),
        cmocka_unit_test(programs_in_the_open_encoding_are_counted_by_tile),
        cmocka_unit_test(transfers_of_the_open_encoding_count_bytes_in_device_memory),
        cmocka_unit_test(opcodes_are_grouped_by_engine_and_sorted_by_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
