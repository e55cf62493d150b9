/* SPDX-License-Identifier: MIT */
/*
 * Method: hand-made traces with a length after each change that is known by construction. For each
 * of them hand_answers_ask() requires the measured length if nothing is changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_analysis.h"
#include "tests/profiler/analysis/what_if_check.h"
#include "tests/support/hand_answers.h"
#include "tests/support/hand_positions.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define PE NTK_ISA_ENGINE_PE
#define ACT NTK_ISA_ENGINE_ACT
#define DVE NTK_ISA_ENGINE_DVE
#define SP NTK_ISA_ENGINE_SP

/* SP starts a load 0-50; its data arrives at load_ns. */
static void load(struct hand_trace *h, int64_t load_ns)
{
    struct ntk_isa_instr copy = hand_trace_load(h, 0, 4);

    hand_trace_run(h, 0, SP, hand_trace_open(h, 0, SP, &copy), 0, 50);
    hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, load_ns);
}

static void doubling_the_dma_speed_halves_waits_for_dma(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1070);
    load(&h, 1050);
    run(&h, 0, PE, 20, 1, NONE, 1060, 1070);
    hand_answers_ask(&h, &a);

    expect(&a, "dma=2", 570);
    expect(&a, "dma=4", 320);
    expect(&a, "dma=0.5", 2070);
    expect(&a, "dma", 70);
    expect(&a, "tensor=2", 1065);
    expect(&a, "latency", 1060); /* the 10 ns from the change to the waiting instruction */
    expect(&a, "dma=2,tensor=2,latency", 555);
    hand_answers_done(&h, &a);
}

static void dma_speed_does_not_change_computation_time(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 900);
    load(&h, 200);
    run(&h, 0, DVE, 20, 1, NONE, 210, 300);
    run(&h, 0, ACT, NONE, 0, NONE, 0, 300);
    run(&h, 0, ACT, NONE, 0, NONE, 300, 900);
    hand_answers_ask(&h, &a);

    expect(&a, "dma=2", 900);
    expect(&a, "dma,dma-latency,latency", 900);
    expect(&a, "scalar=2", 450);
    expect(&a, "engines=2", 450);
    expect(&a, "engines=10", 174); /* the load: 5 and 150 ns, then 10 and 9 for DVE */
    hand_answers_done(&h, &a);
}

static void two_alternating_engines_each_account_for_half_of_the_time(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 2000);
    for (unsigned i = 0; i < 10; i++) {
        run(&h, 0, PE, i ? 10 : NONE, i, 9, 200 * i, 200 * i + 100);
        run(&h, 0, ACT, 9, i + 1, 10, 200 * i + 100, 200 * i + 200);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, i + 1, 200 * i + 100);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_SCALAR, 10, i + 1, 200 * i + 200);
    }
    hand_answers_ask(&h, &a);

    expect(&a, "tensor=2", 1500);
    expect(&a, "scalar=2", 1500);
    expect(&a, "engines=2", 1000);
    expect(&a, "tensor", 1000);
    expect(&a, "wait:9", 1000); /* ACT never waits, and PE starts when ACT ends */
    expect(&a, "wait:9,wait:10", 1000);
    hand_answers_done(&h, &a);
}

static void if_an_engine_is_sped_up_another_engine_becomes_the_bottleneck(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    run(&h, 0, PE, NONE, 0, NONE, 0, 1000);
    run(&h, 0, ACT, NONE, 0, NONE, 0, 800);
    hand_answers_ask(&h, &a);

    struct ntk_what_if result = what_if(&a, "tensor=4");
    assert_int_equal(result.as_is.bound_by, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(result.as_is.items[0].on, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(result.rows[0].total_ps, NS(800));
    assert_int_equal(result.rows[0].bound_by, NTK_NTFF_ENGINE_SCALAR);
    assert_int_equal(result.rows[0].item_count, 1);
    assert_int_equal(result.rows[0].items[0].on, NTK_NTFF_ENGINE_SCALAR);
    assert_int_equal(result.rows[0].items[0].path_ps, NS(800));
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

static void removing_transposes_keeps_products(void **state)
{
    struct ntk_isa_instr turn = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);
    struct hand_trace h;
    struct hand_answers a;

    turn.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 128, NTK_DTYPE_BFLOAT16);
    turn.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    hand_trace_begin(&h, 1, "trn2.3xlarge", 700);
    hand_trace_run(&h, 0, PE, hand_trace_open(&h, 0, PE, &turn), 0, 300);
    run(&h, 0, PE, NONE, 0, NONE, 300, 700);
    hand_answers_ask(&h, &a);

    expect(&a, "transposes", 400);
    expect(&a, "transposes=3", 500);
    hand_answers_done(&h, &a);
}

static void a_wait_removed_by_a_what_if_change_no_longer_blocks_its_engine(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 700);
    run(&h, 0, PE, NONE, 0, 9, 0, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 500);
    run(&h, 0, ACT, NONE, 0, NONE, 0, 50);
    run(&h, 0, ACT, 9, 1, NONE, 500, 700);
    hand_answers_ask(&h, &a);

    expect(&a, "wait:9", 500); /* then PE is the last one */
    expect(&a, "wait:9,tensor=5", 250);
    expect(&a, "wait:scalar", 500);
    hand_answers_done(&h, &a);
}

/* ACT is still busy when the change arrives; once it is faster, it waits. */
static void a_hidden_dependency_limits_a_faster_engine(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 700);
    run(&h, 0, PE, NONE, 0, 9, 0, 500);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 500);
    run(&h, 0, ACT, NONE, 0, NONE, 0, 600);
    run(&h, 0, ACT, 9, 1, NONE, 600, 700);
    hand_answers_ask(&h, &a);

    expect(&a, "scalar=10", 510);
    expect(&a, "scalar=10,tensor=10", 70);
    hand_answers_done(&h, &a);
}

static void the_slower_of_two_cores_determines_the_time(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 2, "trn2.3xlarge", 1000);
    run(&h, 0, ACT, NONE, 0, NONE, 0, 1000);
    run(&h, 1, PE, NONE, 0, NONE, 0, 700);
    hand_answers_ask(&h, &a);

    expect(&a, "scalar=10", 700);
    expect(&a, "tensor=10", 1000);
    expect(&a, "engines=10", 100);
    struct ntk_what_if result = what_if(&a, "scalar=10");
    assert_int_equal(result.rows[0].items[0].core, 1);
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

/* The change at 500 has no source, and nothing explains the 200 ns between two instructions of DVE,
 * because others have no gap. */
/* Between the work of PE and the wait of ACT, DVE executes more instructions than the walk
 * keeps. */
static void a_wait_for_a_much_earlier_instruction_is_kept(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    uint32_t slot;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1100);
    run(&h, 0, PE, NONE, 0, 20, 0, 100);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 20, 1, 990);
    run(&h, 0, PE, NONE, 0, NONE, 100, 110);
    run(&h, 0, PE, NONE, 0, NONE, 110, 120);
    slot = hand_trace_nop(&h, 0, DVE, NONE, 0, NONE);
    for (int64_t i = 0; i < 800; i++) {
        hand_trace_run(&h, 0, DVE, slot, 120 + i, 121 + i);
    }
    run(&h, 0, ACT, 20, 1, NONE, 1000, 1100);
    hand_answers_ask(&h, &a);

    expect(&a, "tensor=2", 1050);
    expect(&a, "tensor=2,scalar=2", 1000);
    expect(&a, "latency", 920); /* then DVE ends */
    expect(&a, "latency,vector=2", 520);
    hand_answers_done(&h, &a);
}

static void each_default_what_if_change_equals_the_change_evaluated_alone(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_what_if all;
    char text[256];

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1100);
    load(&h, 400);
    run(&h, 0, PE, 20, 1, 21, 410, 700);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 21, 1, 705);
    run(&h, 0, DVE, NONE, 0, NONE, 0, 650);
    run(&h, 0, ACT, 21, 1, NONE, 710, 1100);
    hand_answers_ask(&h, &a);

    assert_int_equal(ntk_analysis_what_if(a.program, &a.transfers, NULL, NULL, &all), 0);
    assert_true(all.row_count >= 8);
    for (size_t i = 0; i < all.row_count; i++) {
        const struct ntk_what_if_row *row = &all.rows[i];
        ntk_what_if_changes_text(&row->changes, text, sizeof text);
        struct ntk_what_if one = what_if(&a, text);
        assert_int_equal(row->total_ps, one.rows[0].total_ps);
        assert_int_equal(row->bound_ps, one.rows[0].bound_ps);
        assert_memory_equal(row->path_ps, one.rows[0].path_ps, sizeof row->path_ps);
        ntk_what_if_fini(&one);
    }
    ntk_what_if_fini(&all);
    hand_answers_done(&h, &a);
}

static void what_if_keeps_and_reports_waits_of_unknown_cause(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 650);
    run(&h, 0, ACT, 33, 1, NONE, 500, 600);
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_GPSIMD, 33, 1, 500);
    run(&h, 0, DVE, NONE, 0, NONE, 0, 100);
    run(&h, 0, DVE, NONE, 0, NONE, 300, 400);
    run(&h, 0, DVE, NONE, 0, NONE, 400, 620);
    hand_answers_ask(&h, &a);

    expect(&a, "vector=2", 630); /* ACT, and the 30 ns after the last instruction */
    struct ntk_what_if result = what_if(&a, "dma=2");
    assert_int_equal(result.unknown_wait_count, 1);
    assert_int_equal(result.tight_ps, NS(630)); /* DVE is ready at 420; the wait of ACT is kept */
    assert_int_equal(result.as_is.path_ps[NTK_WHAT_IF_ON_KEPT], NS(200));
    assert_int_equal(result.as_is.path_ps[NTK_WHAT_IF_ON_END], NS(30));
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

static struct ntk_ntff_queue queues[] = { { .name = "qSPIO0", .engine = 0, .queue = 3 } };
static struct ntk_neff_var vars[] = {
    { .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER },
    { .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = 32768 },
};

/* Two loads of 500 ns each share a DMA engine; the second starts while the first one moves data. */
static void transfers_on_one_dma_engine_run_in_sequence(void **state)
{
    struct ntk_isa_instr copy;
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1200);
    copy = hand_trace_load(&h, 0, 64);
    h.neff_subgraphs[0].queue_sets[0].semaphores[1] = 21;
    h.neff_subgraphs[0].queue_sets[0].semaphore_count = 2;
    h.neff_subgraphs[0].vars = vars;
    h.neff_subgraphs[0].var_count = 2;
    h.subgraphs[0].queues = queues;
    h.subgraphs[0].queue_count = 1;
    for (unsigned i = 0; i < 2; i++) {
        copy.done_semaphore = (uint16_t)(20 + i);
        hand_trace_run(&h, 0, SP, hand_trace_open(&h, 0, SP, &copy), 50 * i, 50 * i + 50);
        hand_trace_packet(&h, 0, 0, 3, NTK_TRACE_DMA_IO, 32768, 100 + 500 * i, 600 + 500 * i);
        hand_trace_change(&h, 0, NTK_NTFF_ENGINE_AXI, 20 + i, 1, 600 + 500 * i);
    }
    run(&h, 0, PE, 21, 1, NONE, 1100, 1200);
    hand_answers_ask(&h, &a);

    assert_int_equal(a.transfers.cores[0].unknown_count, 0);
    expect(&a, "dma=2", 700); /* 100 + 2 x 250 + 100 */
    expect(&a, "dma-latency", 1150);
    expect(&a, "dma=2,dma-latency", 650);
    expect(&a, "wait:qSPIO0", 1100); /* then the transfers are last */
    struct ntk_what_if result = what_if(&a, "tensor=2");
    assert_int_equal(result.rows[0].bound_by, NTK_WHAT_IF_ON_DMA);
    assert_int_equal(result.rows[0].bound_ps, NS(1000));
    assert_int_equal(result.rows[0].items[0].on, NTK_WHAT_IF_ON_DMA);
    assert_string_equal(result.rows[0].items[0].queue, "qSPIO0");
    assert_int_equal(result.unknown_transfer_count, 0);
    ntk_what_if_fini(&result);
    hand_answers_done(&h, &a);
}

static void what_if_source_lines_are_selected_by_path_suffix(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_err err = { 0 };

    hand_trace_begin(&h, 1, "trn2.3xlarge", 700);
    run(&h, 0, PE, NONE, 0, 9, 0, 300); /* line 10 */
    hand_trace_change(&h, 0, NTK_NTFF_ENGINE_TENSOR, 9, 1, 300);
    run(&h, 0, PE, NONE, 0, NONE, 300, 700); /* line 11 */
    run(&h, 0, ACT, NONE, 0, NONE, 0, 20);   /* line 10 */
    run(&h, 0, ACT, 9, 1, NONE, 300, 400);   /* line 11 */
    hand_answers_ask_with(&h, hand_positions("/k/a.py", 1, 4, 10), &a);

    expect(&a, "line:a.py:10=2", 550);
    expect(&a, "line:k/a.py:10", 400);
    expect(&a, "line:/k/a.py:11", 300);
    expect(&a, "wait:a.py:11", 700);
    static const char *const unknown[] = { "line:a.py:12",     "line:b.py:10=2", "line:.py:10",
                                           "wait:11",          "wait:a.py:10",   "wait:qNone",
                                           "line:x/k/a.py:10", "transposes" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct ntk_what_if_changes changes = { 0 };
        assert_int_equal(ntk_what_if_changes_add(&changes, unknown[i], &err), 0);
        assert_int_equal(ntk_what_if_changes_check(a.program, &changes, &err), -ENOENT);
        assert_non_null(strstr(err.text, unknown[i]));
    }
    hand_answers_done(&h, &a);
}

static void a_what_if_estimate_for_an_incomplete_capture_is_partial(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_buf out = { 0 };
    struct ntk_json json;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 100);
    run(&h, 0, PE, NONE, 0, NONE, 0, 100);
    hand_answers_ask(&h, &a);
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        h.trace.is_cut.packets = is_cut;
        struct ntk_what_if result = what_if(&a, "tensor=2");
        ntk_json_init(&json, &out, false);
        ntk_output_what_if_json(a.program, &result, &json);
        assert_non_null(strstr(ntk_buf_text_get(&out),
                               is_cut ? "\"is_partial\":true" : "\"is_partial\":false"));
        assert_non_null(strstr(ntk_buf_text_get(&out), "\"gain_ns\":50"));
        ntk_buf_reset(&out);
        ntk_what_if_fini(&result);
    }
    ntk_buf_fini(&out);
    hand_answers_done(&h, &a);
}

static void an_unknown_trace_length_returns_no_result(void **state)
{
    struct ntk_what_if result;
    struct hand_trace h;
    struct hand_answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 0);
    run(&h, 0, PE, NONE, 0, NONE, 0, 100);
    hand_answers_ask(&h, &a);
    assert_int_equal(ntk_analysis_what_if(a.program, &a.transfers, NULL, NULL, &result), -ENODATA);
    hand_answers_done(&h, &a);
}

static void what_if_changes_are_parsed_or_rejected(void **state)
{
    static const char *const bad[] = {
        "",          "dma=0",       "dma=-1",   "dma=nan",     "dma=inf", "dma=1e300",
        "dma=1e-9",  "dma=",        "dma=2x",   "dma=0x10",    "dma=2,",  ",dma=2",
        "bogus",     "bogus=2",     "wait:3=2", "wait:sync=2", "wait:",   "wait:256",
        "line:a.py", "line:a.py:x", "line::3",  "wait:a.py:",  "dma= 2",  "dma=+2",
    };
    static const char *const good = "dma=2,transposes,engines=1.5,vector,wait:20,wait:qSyncIO0,"
                                    "wait:a.py:3,line:k/a.py:31=4,latency,dma-latency=2,"
                                    "wait:gpsimd";
    struct ntk_what_if_changes changes = { 0 };
    struct ntk_err err = { 0 };
    char text[400];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ntk_what_if_changes none = { 0 };
        if (ntk_what_if_changes_add(&none, bad[i], &err) != -EINVAL) {
            fail_msg("'%s' is accepted", bad[i]);
        }
    }
    assert_int_equal(ntk_what_if_changes_add(&changes, good, &err), 0);
    assert_int_equal(changes.count, 11);
    assert_string_equal(ntk_what_if_changes_text(&changes, text, sizeof text), good);
    for (size_t i = changes.count; i < NTK_WHAT_IF_CHANGES_MAX; i++) {
        assert_int_equal(ntk_what_if_changes_add(&changes, "sync=2", &err), 0);
    }
    assert_int_equal(ntk_what_if_changes_add(&changes, "sync=2", &err), -EINVAL);
    assert_string_equal(err.text, "too many changes (at most 16)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubling_the_dma_speed_halves_waits_for_dma),
        cmocka_unit_test(dma_speed_does_not_change_computation_time),
        cmocka_unit_test(two_alternating_engines_each_account_for_half_of_the_time),
        cmocka_unit_test(if_an_engine_is_sped_up_another_engine_becomes_the_bottleneck),
        cmocka_unit_test(removing_transposes_keeps_products),
        cmocka_unit_test(a_wait_removed_by_a_what_if_change_no_longer_blocks_its_engine),
        cmocka_unit_test(a_hidden_dependency_limits_a_faster_engine),
        cmocka_unit_test(the_slower_of_two_cores_determines_the_time),
        cmocka_unit_test(a_wait_for_a_much_earlier_instruction_is_kept),
        cmocka_unit_test(each_default_what_if_change_equals_the_change_evaluated_alone),
        cmocka_unit_test(what_if_keeps_and_reports_waits_of_unknown_cause),
        cmocka_unit_test(transfers_on_one_dma_engine_run_in_sequence),
        cmocka_unit_test(what_if_source_lines_are_selected_by_path_suffix),
        cmocka_unit_test(a_what_if_estimate_for_an_incomplete_capture_is_partial),
        cmocka_unit_test(an_unknown_trace_length_returns_no_result),
        cmocka_unit_test(what_if_changes_are_parsed_or_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
