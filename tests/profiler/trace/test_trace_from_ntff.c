/* SPDX-License-Identifier: MIT */
/* Method: the capture of support/ntff_sample.h with its known spans, in every version. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/executed.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/unit.h"

struct opened {
    struct ntk_buf file;
    struct ntk_ntff *ntff;
    struct ntk_trace *trace;
};

static struct opened open_sample(unsigned version)
{
    struct opened o = { 0 };
    struct ntff_sample sample = { .version = version };

    ntff_sample_build(&sample, &o.file);
    assert_int_equal(ntk_ntff_open_bytes(o.file.bytes, o.file.bytes_count, &o.ntff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(o.ntff, NULL, NULL, NULL, &o.trace, NULL), 0);
    return o;
}

static void close_sample(struct opened *o)
{
    ntk_trace_destroy(o->trace);
    ntk_ntff_close(o->ntff);
    ntk_buf_fini(&o->file);
}

static void instructions_are_paired_clipped_to_the_execution_and_sorted(void **state)
{
    static const struct ntk_trace_instruction expected[] = {
        { 0, 1000, 0, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0xa6 },
        { 1000000, 2000000, 0, 0, 0, 0, NTK_NTFF_ENGINE_GPSIMD, 0xb8 },
        { 10000000, 30000000, 1, 12, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0x02 },
        { 20000000, 40000000, 2, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0x02 },
        { 40000000, 90000000, 3, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0xa0 },
        { 50000000, 51000000, 1, 0, 0, 0, NTK_NTFF_ENGINE_GPSIMD, 0xb8 },
        { 99999000, 100000000, 4, 0, 0, 0, NTK_NTFF_ENGINE_TENSOR, 0xa6 },
    };

    for (unsigned version = 4; version <= 6; version++) {
        struct opened o = open_sample(version);
        const struct ntk_trace_core *core = &o.trace->cores[0];

        assert_true(o.trace->has_total);
        assert_int_equal(o.trace->total_ps, 100000000);
        assert_true(o.trace->has_chip);
        assert_int_equal(core->instruction_count, 7);
        for (size_t i = 0; i < 7; i++) {
            assert_int_equal(core->instructions[i].start_ps, expected[i].start_ps);
            assert_int_equal(core->instructions[i].end_ps, expected[i].end_ps);
            assert_int_equal(core->instructions[i].slot, expected[i].slot);
            assert_int_equal(core->instructions[i].wait_cycles, expected[i].wait_cycles);
            assert_int_equal(core->instructions[i].engine, expected[i].engine);
            assert_int_equal(core->instructions[i].opcode, expected[i].opcode);
            assert_int_equal(core->instructions[i].crc_out, 0xabcd);
        }
        assert_int_equal(core->end_ps, 100000000);
        assert_int_equal(core->outside_code, version < 6 ? 2 : 0);
        close_sample(&o);
    }
}

/* Counted while the trace is made, or passed one by one: the result is the same. */
static void each_slot_has_its_execution_count(void **state)
{
    for (unsigned version = 4; version <= 6; version++) {
        struct opened o = open_sample(version);
        struct ntk_trace_core *core = &o.trace->cores[0];
        uint64_t times[2] = { 0 };
        uint64_t sums[2] = { 0 };

        for (int is_counted = 1; is_counted >= 0; is_counted--) {
            core->has_slot_counts = is_counted;
            struct ntk_executed executed = { .core = core };
            while (ntk_executed_next(&executed)) {
                times[is_counted] += executed.times;
                sums[is_counted] += executed.times * executed.instruction.opcode *
                                    (executed.instruction.slot + 1) *
                                    (executed.instruction.engine + 1);
            }
        }
        assert_int_equal(times[1], core->instruction_count);
        assert_int_equal(times[0], core->instruction_count);
        assert_true(sums[0] == sums[1]);
        close_sample(&o);
    }
}

static void packets_have_their_queue_and_incomplete_rings_are_omitted(void **state)
{
    static const struct ntk_trace_packet expected[] = {
        { 3000000, 5000000, 512, 64, 0, 0, NTK_TRACE_DMA_SOFTWARE_DYNAMIC },
        { 5000000, 5500000, 4, 64, 0, 0, NTK_TRACE_DMA_SOFTWARE_DYNAMIC },
        { 52000000, 54000000, 256, 64, 0, 1, NTK_TRACE_DMA_HARDWARE_DYNAMIC },
        { 60000000, 61000000, 1000, 65, 0, 14, NTK_TRACE_DMA_INSTRUCTION },
    };

    for (unsigned version = 4; version <= 6; version++) {
        struct opened o = open_sample(version);
        const struct ntk_trace_core *core = &o.trace->cores[0];

        assert_int_equal(core->packet_count, 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(core->packets[i].start_ps, expected[i].start_ps);
            assert_int_equal(core->packets[i].end_ps, expected[i].end_ps);
            assert_int_equal(core->packets[i].bytes_count, expected[i].bytes_count);
            assert_int_equal(core->packets[i].engine, expected[i].engine);
            assert_int_equal(core->packets[i].queue, expected[i].queue);
            assert_int_equal(core->packets[i].dma_class, expected[i].dma_class);
            assert_int_equal(core->packets[i].crc, 0x5555);
        }
        close_sample(&o);
    }
}

static void changes_and_throttling_are_clipped_to_the_execution(void **state)
{
    for (unsigned version = 4; version <= 6; version++) {
        struct opened o = open_sample(version);
        const struct ntk_trace_core *core = &o.trace->cores[0];

        assert_int_equal(core->event_count, 3);
        assert_int_equal(core->events[0].time_ps, 2000000);
        assert_int_equal(core->events[0].number, 3);
        assert_true(core->events[0].is_semaphore);
        assert_int_equal(core->events[2].source, NTK_NTFF_ENGINE_AXI);
        assert_int_equal(core->events[2].value, 7);
        assert_int_equal(core->throttle_count, 2);
        assert_int_equal(core->throttles[1].k, 4);
        assert_int_equal(core->unknown, 1); /* the throttle record with n = 0 */
        close_sample(&o);
    }
}

static void the_total_time_is_absent_if_the_length_is_unknown(void **state)
{
    struct ntk_buf file = { 0 };
    struct ntff_sample sample = { .version = 5 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    ntff->subgraphs[0].execution_ps = 0;
    assert_int_equal(ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL), 0);
    assert_false(trace->has_total);
    assert_int_equal(trace->cores[0].instruction_count, 8); /* including the one before the start */
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

/* Method: the same core a second time, which claims to have worked for one ns. */
static void the_execution_time_is_that_of_the_first_core(void **state)
{
    for (unsigned version = 4; version <= 5; version++) {
        struct opened o = open_sample(version);
        struct ntk_trace *trace = NULL;

        o.ntff->subgraphs[1] = o.ntff->subgraphs[0];
        o.ntff->subgraphs[1].execution_ps = 1000;
        o.ntff->subgraph_count = 2;
        assert_int_equal(ntk_trace_create_from_ntff(o.ntff, NULL, NULL, NULL, &trace, NULL), 0);
        assert_int_equal(trace->total_ps, 100000000);
        for (size_t c = 0; c < 2; c++) {
            assert_int_equal(trace->cores[c].instruction_count, 7);
            assert_int_equal(trace->cores[c].packet_count, 4);
            assert_int_equal(trace->cores[c].event_count, 3);
            assert_int_equal(trace->cores[c].more_event_count, 1);
        }
        ntk_trace_destroy(trace);
        o.ntff->subgraphs[1] = (struct ntk_ntff_subgraph){ 0 };
        o.ntff->subgraph_count = 1;
        close_sample(&o);
    }
}

/* Differences and sums of times must not overflow for any times in a file. */
static void records_with_impossible_times_are_omitted(void **state)
{
    struct ntk_buf file = { 0 };
    struct ntff_sample sample = { .version = 6 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    ntff->window_end_ps = INT64_MAX;
    for (size_t s = 0; s < ntff->subgraphs[0].section_count; s++) {
        const struct ntk_ntff_section *section = &ntff->subgraphs[0].sections[s];
        /* Every end, every second change, all of DMA. */
        uint64_t stride = section->type == NTK_NTFF_SECTION_DMA ? 1 : 2;
        for (uint64_t i = stride - 1; i < section->record_count; i += stride) {
            char *time = file.bytes + (section->records - (const uint8_t *)file.bytes) + 16 * i + 8;
            memset(time, 0xff, 7);
            time[7] = 0x7f;
        }
    }
    assert_int_equal(ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL), 0);
    assert_int_equal(trace->cores[0].instruction_count, 0);
    assert_int_equal(trace->cores[0].packet_count, 0);
    assert_int_equal(trace->cores[0].event_count, 2);
    assert_false(trace->has_total); /* the length is not valid either */
    assert_int_equal(trace->total_ps, 0);
    ntk_trace_destroy(trace);

    ntff->window_end_ps = ntff->window_start_ps - 1; /* an end before the start */
    assert_int_equal(ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL), 0);
    assert_false(trace->has_total);
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

static void a_neff_from_another_capture_is_rejected(void **state)
{
    struct opened o = open_sample(6);
    struct ntk_neff neff = { 0 };
    struct ntk_trace *trace = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_trace_create_from_ntff(o.ntff, &neff, NULL, NULL, &trace, &err), -ENOEXEC);
    assert_non_null(strstr(err.text, "do not match"));
    assert_null(trace);
    close_sample(&o);
}

/* A program in the open encoding ran on software cores, a vendor's program on a device. */
static void measured_device_rates_apply_only_to_vendor_programs(void **state)
{
    struct opened o = open_sample(6);
    double published = o.trace->chip.dma_bytes_per_second;

    for (int is_vendor = 0; is_vendor < 2; is_vendor++) {
        struct ntk_neff neff = { .is_vendor = is_vendor };
        struct ntk_trace *trace = NULL;
        memcpy(neff.header.uuid, o.ntff->neff_uuid, sizeof neff.header.uuid);
        assert_int_equal(ntk_trace_create_from_ntff(o.ntff, &neff, NULL, NULL, &trace, NULL), 0);
        assert_true(trace->chip.dma_bytes_per_second == (is_vendor ? 435e9 / 16 : published));
        ntk_trace_destroy(trace);
    }
    assert_true(published < 435e9 / 16);
    close_sample(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_are_paired_clipped_to_the_execution_and_sorted),
        cmocka_unit_test(each_slot_has_its_execution_count),
        cmocka_unit_test(packets_have_their_queue_and_incomplete_rings_are_omitted),
        cmocka_unit_test(changes_and_throttling_are_clipped_to_the_execution),
        cmocka_unit_test(the_total_time_is_absent_if_the_length_is_unknown),
        cmocka_unit_test(the_execution_time_is_that_of_the_first_core),
        cmocka_unit_test(records_with_impossible_times_are_omitted),
        cmocka_unit_test(a_neff_from_another_capture_is_rejected),
        cmocka_unit_test(measured_device_rates_apply_only_to_vendor_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
