/* SPDX-License-Identifier: MIT */
/*
 * Method: a hand-made trace with a loaded, a multiplied and an activated layer; costs, roofline and
 * tensors are computed by hand.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/tensor_traffic.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

/*
 * SP loads x of 128 x 256 bytes twice (0-100, 300-400; layer "load"); PE multiplies 128 x 128 by 64
 * columns twice (200-500, layer "product") and transposes 64 columns (500-600, layer "turn"); 1000
 * ns in total. The load's data arrives at 200.
 */
static void build(struct hand_trace *h, const char *instance_type)
{
    struct ntk_isa_instr product = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr turn = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);
    static struct ntk_neff_var vars[2];

    hand_trace_begin(h, 1, instance_type, 1000);
    struct ntk_isa_instr load = hand_trace_load(h, 0, 64);
    load.name_id = hand_trace_name(h, 0, NTK_ISA_ENGINE_SP, "load");
    product.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
    product.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    product.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(512, 128, 64, NTK_DTYPE_BFLOAT16);
    product.wait_semaphore = 20;
    product.wait_value = 1;
    product.name_id = hand_trace_name(h, 0, NTK_ISA_ENGINE_PE, "product");
    turn.operand[NTK_ISA_DST] = ntk_isa_psum(2048, 64, 128, NTK_DTYPE_BFLOAT16);
    turn.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_BFLOAT16);
    turn.name_id = hand_trace_name(h, 0, NTK_ISA_ENGINE_PE, "turn");
    vars[0] = (struct ntk_neff_var){ .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER };
    vars[1] = (struct ntk_neff_var){
        .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = 32768
    };
    h->neff_subgraphs[0].vars = vars;
    h->neff_subgraphs[0].var_count = 2;
    uint32_t load_slot = hand_trace_open(h, 0, NTK_ISA_ENGINE_SP, &load);
    uint32_t product_slot = hand_trace_open(h, 0, NTK_ISA_ENGINE_PE, &product);
    uint32_t turn_slot = hand_trace_open(h, 0, NTK_ISA_ENGINE_PE, &turn);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, load_slot, 0, 100);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_SP, load_slot, 300, 400);
    hand_trace_change(h, 0, NTK_NTFF_ENGINE_AXI, 20, 1, 200);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, product_slot, 200, 400);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, product_slot, 300, 500);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, turn_slot, 500, 600);
    hand_trace_end(h);
}

static const struct ntk_cost_row *layer(const struct hand_answers *a, const char *name)
{
    for (size_t i = 0; i < a->costs.layers.count; i++) {
        if (strcmp(a->program->layers[a->costs.layers.rows[i].layer], name) == 0) {
            return &a->costs.layers.rows[i];
        }
    }
    fail_msg("no layer %s", name);
    return NULL;
}

#define PRODUCT_FLOPS (2ull * 128 * 128 * 64)

static void layer_costs_are_computed_from_the_trace(void **state)
{
    struct hand_trace h;
    struct hand_answers a;

    build(&h, "trn2.3xlarge");
    hand_answers_ask(&h, &a);

    assert_true(a.costs.flops_known);
    assert_true(a.costs.bytes_known);
    const struct ntk_cost_row *product = layer(&a, "product");
    assert_int_equal(product->count, 2);
    assert_int_equal(product->instruction_ps, NS(400));
    assert_int_equal(product->active_ps, NS(300)); /* overlaps count once */
    assert_int_equal(product->path_ps, NS(300));
    assert_int_equal(product->start_ps, NS(200));
    assert_int_equal(product->end_ps, NS(500));
    assert_int_equal(product->flops, 2 * PRODUCT_FLOPS);
    assert_int_equal(product->transpose_flops, 0);
    const struct ntk_cost_row *load = layer(&a, "load");
    assert_int_equal(load->read_bytes, 2 * 32768);
    assert_int_equal(load->write_bytes, 0);
    assert_int_equal(load->path_ps, NS(200)); /* the instruction, then its transfer */
    const struct ntk_cost_row *turn = layer(&a, "turn");
    assert_int_equal(turn->flops, turn->transpose_flops);
    assert_true(turn->flops > 0);
    /* Operations and instructions have the same sums. */
    assert_int_equal(a.costs.operations.rows[0].opcode, NTK_NTFF_OPCODE_MATMUL);
    assert_int_equal(a.costs.operations.rows[0].count, 3);
    assert_int_equal(a.costs.operations.rows[0].flops, 2 * PRODUCT_FLOPS + turn->flops);
    assert_int_equal(a.costs.instructions.count, 3);
    assert_int_equal(a.costs.instructions.rows[0].active_ps, NS(300));
    hand_answers_done(&h, &a);
}

/* Runs from, to in ns of one operation of the scalar engine; its cost is computed by hand. */
static const struct {
    const char *what;
    int64_t runs[3][2];
    uint64_t count;
    int64_t sum_ns, active_ns, start_ns, end_ns;
} programs[] = {
    { "one", { { 0, 100 } }, 1, 100, 100, 0, 100 },
    { "later", { { 900, 1000 } }, 1, 100, 100, 900, 1000 },
    { "one after another", { { 0, 100 }, { 100, 200 } }, 2, 200, 200, 0, 200 },
    { "a gap", { { 0, 100 }, { 300, 400 } }, 2, 200, 200, 0, 400 },
    { "overlap", { { 0, 100 }, { 50, 150 } }, 2, 200, 150, 0, 150 },
    { "one in another", { { 0, 300 }, { 100, 200 } }, 2, 400, 300, 0, 300 },
    { "at once", { { 0, 100 }, { 0, 100 } }, 2, 200, 100, 0, 100 },
    { "a pipeline", { { 0, 100 }, { 40, 140 }, { 80, 180 } }, 3, 300, 180, 0, 180 },
    { "two overlap, one is later", { { 0, 100 }, { 60, 160 }, { 500, 510 } }, 3, 210, 170, 0, 510 },
    { "all of it", { { 0, 1000 } }, 1, 1000, 1000, 0, 1000 },
};

static void each_program_has_the_cost_of_its_instructions(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        uint32_t slot = hand_trace_nop(&h, 0, NTK_ISA_ENGINE_ACT, NTK_ISA_NO_SEMAPHORE, 0,
                                       NTK_ISA_NO_SEMAPHORE);
        for (size_t r = 0; r < 3 && programs[i].runs[r][1]; r++) {
            hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, slot, programs[i].runs[r][0],
                           programs[i].runs[r][1]);
        }
        hand_answers_ask(&h, &a);
        const struct ntk_cost_row *row = &a.costs.operations.rows[0];
        if (a.costs.operations.count != 1 || row->count != programs[i].count ||
            row->instruction_ps != NS(programs[i].sum_ns) ||
            row->active_ps != NS(programs[i].active_ns) ||
            row->start_ps != NS(programs[i].start_ns) || row->end_ps != NS(programs[i].end_ns)) {
            fail_msg("%s: %llu, sum %lld ps, active %lld ps, %lld to %lld", programs[i].what,
                     (unsigned long long)row->count, (long long)row->instruction_ps,
                     (long long)row->active_ps, (long long)row->start_ps, (long long)row->end_ps);
        }
        hand_answers_done(&h, &a);
    }
}

static void the_roofline_has_minimum_times_and_bounds(void **state)
{
    const double peak = 2.0 * 128 * 128 * 2.4e9;
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_roofline roofline;

    build(&h, "trn2.3xlarge");
    hand_answers_ask(&h, &a);
    assert_int_equal(ntk_analysis_roofline(a.program, &a.costs, &roofline), 0);

    assert_true(fabs(roofline.ridge - peak / 368e9) < 1e-9);
    assert_int_equal(roofline.total.flops, 2 * PRODUCT_FLOPS); /* no transposes */
    assert_int_equal(roofline.total.bytes, 65536);
    assert_int_equal(roofline.total.bound, NTK_ROOFLINE_MEMORY);
    assert_true(fabs(roofline.total.intensity - 2.0 * PRODUCT_FLOPS / 65536) < 1e-9);
    assert_true(fabs(roofline.total.least_ps - 65536 / 368e9 * 1e12) < 1e-3);
    assert_true(fabs(roofline.total.ratio - roofline.total.least_ps / 1e6) < 1e-9);
    bool is_found = false;
    for (size_t i = 0; i < roofline.layers.count; i++) {
        const struct ntk_roofline_row *row = &roofline.layers.rows[i];
        if (strcmp(a.program->layers[row->layer], "product") == 0) {
            is_found = true;
            assert_int_equal(row->bound, NTK_ROOFLINE_COMPUTE);
            assert_false(row->has_intensity); /* it moves nothing */
            assert_true(fabs(row->ratio - 2.0 * PRODUCT_FLOPS / peak / 300e-9) < 1e-9);
        } else if (strcmp(a.program->layers[row->layer], "turn") == 0) {
            assert_int_equal(row->bound, NTK_ROOFLINE_NONE);
            assert_false(row->has_ratio);
        }
    }
    assert_true(is_found);
    ntk_roofline_fini(&roofline);
    hand_answers_done(&h, &a);
}

static void an_unknown_machine_has_no_roofline(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_roofline roofline;

    build(&h, "m5.large");
    hand_answers_ask(&h, &a);
    assert_int_equal(ntk_analysis_roofline(a.program, &a.costs, &roofline), -ENODATA);
    hand_answers_done(&h, &a);
}

static void tensors_are_counted_with_their_reloads(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_tensor_traffic tensors;

    build(&h, "trn2.3xlarge");
    hand_answers_ask(&h, &a);
    assert_int_equal(ntk_analysis_tensor_traffic(a.program, &tensors), 0);
    assert_int_equal(tensors.row_count, 1);
    assert_string_equal(tensors.rows[0].name, "x");
    assert_string_equal(tensors.rows[0].kind, "input");
    assert_int_equal(tensors.rows[0].read_count, 2);
    assert_int_equal(tensors.rows[0].read_bytes, 65536);
    assert_true(tensors.rows[0].reload_ratio == 2);
    ntk_tensor_traffic_fini(&tensors);

    h.trace.neff = NULL; /* as without a NEFF */
    assert_int_equal(ntk_analysis_tensor_traffic(a.program, &tensors), -ENODATA);
    hand_answers_done(&h, &a);
}

/* A vendor's transfer names no tensor. */
static void tensor_traffic_is_unknown_with_an_unnamed_transfer(void **state)
{
    static const uint8_t slot[64] = {
        [0] = 0xb8, [1] = 0x10, [23] = 0x20, [32] = 1, [34] = 1, [36] = 8
    };
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_tensor_traffic tensors;

    build(&h, "trn2.3xlarge");
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_ACT, hand_trace_slot(&h, 0, NTK_ISA_ENGINE_ACT, slot), 0,
                   10);
    hand_trace_end(&h);
    hand_answers_ask(&h, &a);
    assert_true(a.costs.bytes_known);
    assert_int_equal(ntk_analysis_tensor_traffic(a.program, &tensors), -ENODATA);
    hand_answers_done(&h, &a);
}

/* Prepared queues of a vendor: packets of data, and no instruction that names the tensor. */
static void tensor_traffic_is_unknown_if_packets_lack_an_instruction(void **state)
{
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_tensor_traffic tensors;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t slot =
        hand_trace_nop(&h, 0, NTK_ISA_ENGINE_SP, NTK_ISA_NO_SEMAPHORE, 0, NTK_ISA_NO_SEMAPHORE);
    (void)hand_trace_name(&h, 0, NTK_ISA_ENGINE_SP, "a NEFF");
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_SP, slot, 0, 10);
    hand_trace_packet(&h, 0, 0, 14, NTK_TRACE_DMA_INSTRUCTION, 16384, 0, 400);
    hand_answers_ask(&h, &a);
    assert_int_equal(ntk_analysis_tensor_traffic(a.program, &tensors), 0); /* none at all */
    assert_int_equal(tensors.row_count, 0);
    ntk_tensor_traffic_fini(&tensors);

    hand_trace_packet(&h, 0, 0, 1, NTK_TRACE_DMA_IO, 4096, 0, 400);
    hand_trace_end(&h);
    assert_int_equal(ntk_analysis_tensor_traffic(a.program, &tensors), -ENODATA);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_costs_are_computed_from_the_trace),
        cmocka_unit_test(each_program_has_the_cost_of_its_instructions),
        cmocka_unit_test(the_roofline_has_minimum_times_and_bounds),
        cmocka_unit_test(an_unknown_machine_has_no_roofline),
        cmocka_unit_test(tensors_are_counted_with_their_reloads),
        cmocka_unit_test(tensor_traffic_is_unknown_with_an_unnamed_transfer),
        cmocka_unit_test(tensor_traffic_is_unknown_if_packets_lack_an_instruction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
