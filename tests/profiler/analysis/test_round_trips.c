/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made programs that write a scratch tensor and read it back; every time on the path
 * and every byte is known by construction.
 *
 * The program: Tensor produces from 0 to 200 ns, Sync issues the store from 200 to 210, the store
 * takes until 400, Sync issues the load from 400 to 410, the load takes until 700, and Scalar
 * consumes from 700 to 1000.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiler/analysis/advice.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define TENSORS 6

struct made {
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_tensor_traffic tensors;
    struct ntk_advice advice;
    struct ntk_neff_var vars[TENSORS + 1];
    struct ntk_neff_var_place places[TENSORS + 1];
};

static void begin(struct made *m, enum ntk_neff_var_type type)
{
    static const char *const names[TENSORS + 1] = { "", "s1", "s2", "s3", "s4", "s5", "s6" };

    memset(m, 0, sizeof *m);
    hand_trace_begin(&m->h, 1, "trn2.3xlarge", 1000);
    for (uint32_t i = 0; i <= TENSORS; i++) {
        m->vars[i] = (struct ntk_neff_var){
            .name = names[i], .type = type, .var_id = i, .bytes_count = 1 << 20
        };
        m->places[i] = (struct ntk_neff_var_place){ .var_id = i, .place = i };
    }
    m->h.neff_subgraphs[0].vars = m->vars;
    m->h.neff_subgraphs[0].vars_by_id = m->places;
    m->h.neff_subgraphs[0].var_count = TENSORS + 1;
}

/* 128 rows of columns float32 from or to the tensor; done changes semaphore 20 by 1. */
static uint32_t copy(struct made *m, bool is_store, uint32_t var, uint32_t columns, unsigned queue,
                     unsigned wait, unsigned wait_value)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    instr.queue = (uint16_t)queue;
    instr.done_semaphore = 20;
    instr.done_value = 1;
    instr.operand[is_store ? NTK_ISA_SRC0 : NTK_ISA_DST] =
        ntk_isa_sbuf(0, 128, columns, NTK_DTYPE_FLOAT32);
    instr.operand[is_store ? NTK_ISA_DST : NTK_ISA_SRC0] =
        ntk_isa_var(var, 0, 128, (int32_t)columns, columns, NTK_DTYPE_FLOAT32);
    if (wait != NONE) {
        instr.wait_semaphore = (uint16_t)wait;
        instr.wait_value = (uint16_t)wait_value;
    }
    return hand_trace_open(&m->h, 0, NTK_ISA_ENGINE_SP, &instr);
}

static void put_program(struct made *m, const char *queue_name, uint32_t store_columns,
                        uint32_t load_columns)
{
    struct hand_trace *h = &m->h;
    unsigned queue = hand_trace_queue(h, 0, queue_name, 20);
    uint32_t produce = hand_trace_nop(h, 0, NTK_ISA_ENGINE_PE, NONE, 0, 9);
    uint32_t store = copy(m, true, 1, store_columns, queue, 9, 1);
    uint32_t load = copy(m, false, 1, load_columns, queue, 20, 1);
    uint32_t consume = hand_trace_nop(h, 0, NTK_ISA_ENGINE_ACT, 20, 2, NONE);

    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, produce, 0, 200);
    hand_trace_change(h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 200);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, store, 200, 210);
    hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 400);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, load, 400, 410);
    hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 20, 2, 700);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_ACT, consume, 700, 1000);
    hand_trace_packet(h, 0, 0, 1, NTK_TRACE_DMA_IO, 2048, 210, 400);
    hand_trace_packet(h, 0, 0, 1, NTK_TRACE_DMA_IO, 2048, 410, 700);
}

static void ask(struct made *m)
{
    hand_answers_ask(&m->h, &m->a);
    assert_int_equal(ntk_analysis_tensor_traffic(m->a.program, &m->tensors), 0);
    struct ntk_advice_input input = {
        .program = m->a.program, .path = &m->a.path, .dma = &m->a.dma, .tensors = &m->tensors
    };
    assert_int_equal(ntk_analysis_advice(&input, &m->advice), 0);
}

static void done(struct made *m)
{
    ntk_advice_fini(&m->advice);
    ntk_tensor_traffic_fini(&m->tensors);
    hand_answers_done(&m->h, &m->a);
}

/* The n-th round trip; NULL if there are fewer. */
static const struct ntk_advice_item *trip(const struct made *m, size_t n)
{
    for (size_t i = 0; i < m->advice.count; i++) {
        if (m->advice.items[i].rule == NTK_ADVICE_ROUND_TRIP && n-- == 0) {
            return &m->advice.items[i];
        }
    }
    return NULL;
}

static void expect(const struct made *m, double value, double gain, double bound, const char *text)
{
    const struct ntk_advice_item *item = trip(m, 0);

    assert_non_null(item);
    if (fabs(item->value - value) > 1e-9 || fabs(item->gain - gain) > 1e-9 ||
        fabs(item->gain_bound - bound) > 1e-9 || !strstr(item->text, text)) {
        fail_msg("%.9g, gain %.9g at most %.9g: %s", item->value, item->gain, item->gain_bound,
                 item->text);
    }
}

/* Without the round trip, 190 and 290 ns of transfers and twice 10 ns to start them are gone. */
static void a_round_trip_on_the_critical_path_is_reported(void **state)
{
    struct made m;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    put_program(&m, "qSPIO0", 4, 4);
    ask(&m);
    expect(&m, 1, 0.480, 0.500,
           "scratch tensor s1 is written to device memory (2.0KB) and read back (2.0KB): 100.0% "
           "of the traffic; its transfers take 0.480 us of the critical path");
    assert_null(trip(&m, 1));
    done(&m);
}

/* Vector executes 300 to 350 and 500 to 600 ns: that work stays. */
static void concurrent_work_reduces_the_estimate_but_not_the_bound(void **state)
{
    struct made m;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    put_program(&m, "qSPIO0", 4, 4);
    uint32_t other = hand_trace_nop(&m.h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
    hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_DVE, other, 300, 350);
    hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_DVE, other, 500, 600);
    ask(&m);
    expect(&m, 1, 0.330, 0.500, "its transfers take 0.480 us of the critical path");
    done(&m);
}

/* Tensor executes throughout: nothing of the transfers is on the path. */
static void a_round_trip_without_a_gain_is_omitted(void **state)
{
    struct made m;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    put_program(&m, "qSPIO0", 4, 4);
    uint32_t longest = hand_trace_nop(&m.h, 0, NTK_ISA_ENGINE_PE, NONE, 0, NONE);
    hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_PE, longest, 200, 1000);
    ask(&m);
    assert_null(trip(&m, 0));
    done(&m);
}

static void round_trips_with_transfers_of_different_sizes_are_reported(void **state)
{
    struct made m;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    put_program(&m, "qSPIO0", 4, 12);
    ask(&m);
    expect(&m, 1, 0.480, 0.500, "(2.0KB) and read back (6.0KB)");
    done(&m);
}

static void input_and_output_tensors_are_not_round_trips(void **state)
{
    static const enum ntk_neff_var_type types[] = { NTK_NEFF_VAR_INPUT, NTK_NEFF_VAR_OUTPUT,
                                                    NTK_NEFF_VAR_FILE };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct made m;

        begin(&m, types[i]);
        put_program(&m, "qSPIO0", 4, 4);
        ask(&m);
        assert_null(trip(&m, 0));
        done(&m);
    }
}

/* Advice about spills covers it. */
static void spill_queues_are_not_reported_twice(void **state)
{
    struct made m;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    put_program(&m, "qSPSpillReload0", 4, 4);
    ask(&m);
    assert_null(trip(&m, 0));
    done(&m);
}

static void data_only_written_or_only_read_is_not_a_round_trip(void **state)
{
    for (int is_store = 0; is_store < 2; is_store++) {
        struct made m;

        begin(&m, NTK_NEFF_VAR_VIRTUAL);
        unsigned queue = hand_trace_queue(&m.h, 0, "qSPIO0", 20);
        hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_SP, copy(&m, is_store, 1, 4, queue, NONE, 0), 0, 10);
        ask(&m);
        assert_null(trip(&m, 0));
        done(&m);
    }
}

static void expect_one_of_two(const struct made *m, const char *text)
{
    assert_true(strstr(trip(m, 1)->text, text) || strstr(trip(m, 2)->text, text));
}

/* s1 to s6 have 10/32, 8/32, 6/32, 4/32, 3/32 and 1/32 of the traffic: three are listed, the rest
 * is a sum. */
static void the_largest_round_trips_are_listed_and_the_rest_summed(void **state)
{
    static const uint32_t columns[TENSORS] = { 10, 8, 6, 4, 3, 1 };
    struct made m;
    int64_t at_ns = 0;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    unsigned queue = hand_trace_queue(&m.h, 0, "qSPIO0", 20);
    for (uint32_t i = 0; i < TENSORS; i++) {
        for (int is_load = 0; is_load < 2; is_load++, at_ns += 20) {
            hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_SP,
                           copy(&m, !is_load, i + 1, columns[i], queue, NONE, 0), at_ns,
                           at_ns + 10);
        }
    }
    hand_trace_packet(&m.h, 0, 0, 1, NTK_TRACE_DMA_IO, 2048, 0, 900);
    ask(&m);
    expect(&m, 10.0 / 32, 0, trip(&m, 0)->gain_bound, "scratch tensor s1 is");
    /* The sum is as large as s2. */
    assert_true(fabs(trip(&m, 1)->value - 8.0 / 32) < 1e-9);
    assert_true(fabs(trip(&m, 2)->value - 8.0 / 32) < 1e-9);
    expect_one_of_two(&m, "scratch tensor s2 is");
    expect_one_of_two(&m, "3 more scratch tensors are");
    assert_non_null(strstr(trip(&m, 3)->text, "scratch tensor s3 is"));
    assert_null(trip(&m, 4));
    done(&m);
}

/* 2.5% of the bytes. */
static void a_small_round_trip_has_no_advice(void **state)
{
    struct made m;

    begin(&m, NTK_NEFF_VAR_VIRTUAL);
    put_program(&m, "qSPIO0", 1, 1);
    m.vars[2].type = NTK_NEFF_VAR_INPUT;
    hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_SP, copy(&m, false, 2, 78, 0, NONE, 0), 10, 20);
    ask(&m);
    assert_null(trip(&m, 0));
    done(&m);
}

/* Loads variable 2, and changes a semaphore other than that of the round trip. */
static uint32_t copy_other(struct made *m, uint32_t columns)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    instr.done_semaphore = 21;
    instr.done_value = 1;
    instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, columns, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] =
        ntk_isa_var(2, 0, 128, (int32_t)columns, columns, NTK_DTYPE_FLOAT32);
    return hand_trace_open(&m->h, 0, NTK_ISA_ENGINE_SP, &instr);
}

/* The program with another input that is loaded meanwhile, and with work of Vector. */
static void gains_of_generated_round_trips_are_estimated(void **state)
{
    static const struct {
        const char *what;
        uint32_t store_columns, load_columns, other_columns;
        int64_t busy_from_ns, busy_until_ns;
        double value, gain;
        const char *text;
    } rows[] = {
        { "nothing else", 4, 4, 0, 0, 0, 1, 0.480, "(2.0KB) and read back (2.0KB)" },
        { "as much is read from an input", 4, 4, 8, 0, 0, 0.5, 0.480, "50.0% of the traffic" },
        { "three times as much", 4, 4, 24, 0, 0, 0.25, 0.480, "25.0% of the traffic" },
        { "more is written than read", 12, 4, 0, 0, 0, 1, 0.480, "(6.0KB) and read back (2.0KB)" },
        { "of a tile of two columns", 2, 2, 0, 0, 0, 1, 0.480, "(1.0KB) and read back (1.0KB)" },
        { "work during the store", 4, 4, 0, 0, 400, 1, 0.290, "0.480 us of the critical path" },
        { "work during the load", 4, 4, 0, 410, 700, 1, 0.190, "0.480 us of the critical path" },
        { "work between the two", 4, 4, 0, 390, 420, 1, 0.460, "0.480 us of the critical path" },
        { "work before the store", 4, 4, 0, 0, 200, 1, 0.480, "0.480 us of the critical path" },
        { "work after the load", 4, 4, 0, 700, 990, 1, 0.480, "0.480 us of the critical path" },
        { "work and an input", 4, 4, 8, 500, 600, 0.5, 0.380, "50.0% of the traffic" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made m;

        begin(&m, NTK_NEFF_VAR_VIRTUAL);
        put_program(&m, "qSPIO0", rows[i].store_columns, rows[i].load_columns);
        if (rows[i].other_columns) {
            m.vars[2].type = NTK_NEFF_VAR_INPUT;
            uint32_t other = copy_other(&m, rows[i].other_columns);
            hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_SP, other, 10, 20);
        }
        uint32_t work = hand_trace_nop(&m.h, 0, NTK_ISA_ENGINE_DVE, NONE, 0, NONE);
        if (rows[i].busy_until_ns) {
            hand_trace_run(&m.h, 0, NTK_ISA_ENGINE_DVE, work, rows[i].busy_from_ns,
                           rows[i].busy_until_ns);
        }
        ask(&m);
        if (!trip(&m, 0)) {
            fail_msg("%s: no advice", rows[i].what);
        }
        expect(&m, rows[i].value, rows[i].gain, 0.500, rows[i].text);
        assert_null(trip(&m, 1));
        done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_trip_on_the_critical_path_is_reported),
        cmocka_unit_test(gains_of_generated_round_trips_are_estimated),
        cmocka_unit_test(concurrent_work_reduces_the_estimate_but_not_the_bound),
        cmocka_unit_test(a_round_trip_without_a_gain_is_omitted),
        cmocka_unit_test(round_trips_with_transfers_of_different_sizes_are_reported),
        cmocka_unit_test(input_and_output_tensors_are_not_round_trips),
        cmocka_unit_test(spill_queues_are_not_reported_twice),
        cmocka_unit_test(data_only_written_or_only_read_is_not_a_round_trip),
        cmocka_unit_test(the_largest_round_trips_are_listed_and_the_rest_summed),
        cmocka_unit_test(a_small_round_trip_has_no_advice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
