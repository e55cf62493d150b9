/* SPDX-License-Identifier: MIT */
/*
 * Method: programs defined in a table by cores, types of products, DMA engines and work. Their
 * limiting rates, and their share of the roofline, are computed by hand from the figures of the
 * machines (shared/abi/machine.def).
 */
#include <math.h>
#include <string.h>

#include "profiler/analysis/summary.h"
#include "tests/support/hand_answers.h"
#include "tests/support/unit.h"

#define TRN2_PEAK (2.0 * 128 * 128 * 2.4e9)
#define TRN1_PEAK (2.0 * 128 * 128 * 2.8e9)
#define FLOPS (2.0 * 128 * 128 * 64) /* of one product of the table */
#define TOTAL_NS 10000
#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * fabs(b))

struct products {
    unsigned core;
    enum ntk_dtype dtype;
    unsigned count;
};

struct packets { /* one packet on each of these engines, in order */
    unsigned first, count;
    enum ntk_trace_dma_class dma_class;
    uint32_t bytes;
};

#define DATA NTK_TRACE_DMA_DATA
#define FETCH NTK_TRACE_DMA_INSTRUCTION
#define BF16 NTK_DTYPE_BFLOAT16
#define FP32 NTK_DTYPE_FLOAT32
#define FP8 NTK_DTYPE_FLOAT8E4

static const struct program {
    const char *title, *machine;
    size_t cores;
    struct products products[3];
    unsigned transposes; /* on core 0 */
    struct packets packets[2];
    bool is_cut;
    /* ---- expected results ---- */
    size_t ran;
    double flops_per_second, bytes_per_second;
    size_t types;
    unsigned engines;
    bool engines_known;
} programs[] = {
    { "16 bits",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 2 } },
      0,
      { { 0 } },
      false,
      1,
      TRN2_PEAK,
      368e9,
      1,
      16,
      false },
    { "32 bits take four times as long",
      "trn2.3xlarge",
      1,
      { { 0, FP32, 2 } },
      0,
      { { 0 } },
      false,
      1,
      TRN2_PEAK / 4,
      368e9,
      1,
      16,
      false },
    /* 1 + 1 products take the time of 1 + 4. */
    { "half in 16 and half in 32 bits",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 1 }, { 0, FP32, 1 } },
      0,
      { { 0 } },
      false,
      1,
      TRN2_PEAK * 2 / 5,
      368e9,
      2,
      16,
      false },
    /* 3 + 1 products take the time of 3 + 4. */
    { "a quarter in 32 bits",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 3 }, { 0, FP32, 1 } },
      0,
      { { 0 } },
      false,
      1,
      TRN2_PEAK * 4 / 7,
      368e9,
      2,
      16,
      false },
    { "8 bits are twice as fast from the third generation on",
      "trn2.3xlarge",
      1,
      { { 0, FP8, 2 } },
      0,
      { { 0 } },
      false,
      1,
      TRN2_PEAK * 2,
      368e9,
      1,
      16,
      false },
    { "8 bits in the second generation",
      "trn1.2xlarge",
      1,
      { { 0, FP8, 2 } },
      0,
      { { 0 } },
      false,
      1,
      TRN1_PEAK,
      272e9,
      1,
      16,
      false },
    { "one of two cores runs",
      "trn2.3xlarge",
      2,
      { { 1, BF16, 2 } },
      0,
      { { 0 } },
      false,
      1,
      TRN2_PEAK,
      368e9,
      1,
      16,
      false },
    /* 32 engines would move 736 GB/s; their cores share one stack of 716. */
    { "both cores run and share a stack",
      "trn2.3xlarge",
      2,
      { { 0, BF16, 2 }, { 1, BF16, 2 } },
      0,
      { { 0 } },
      false,
      2,
      2 * TRN2_PEAK,
      716e9,
      1,
      32,
      false },
    /* 820 GB/s of two stacks, 544 of the engines. */
    { "both cores run, each with its stack",
      "trn1.2xlarge",
      2,
      { { 0, BF16, 1 }, { 1, FP32, 1 } },
      0,
      { { 0 } },
      false,
      2,
      2 * TRN1_PEAK * 2 / 5,
      544e9,
      2,
      32,
      false },
    { "transposes compute nothing",
      "trn2.3xlarge",
      1,
      { { 0 } },
      3,
      { { 0 } },
      false,
      1,
      TRN2_PEAK,
      368e9,
      0,
      16,
      false },
    { "transposes do not count in the mix",
      "trn2.3xlarge",
      1,
      { { 0, FP32, 1 } },
      3,
      { { 0 } },
      false,
      1,
      TRN2_PEAK / 4,
      368e9,
      1,
      16,
      false },
    { "no core works: both count",
      "trn2.3xlarge",
      2,
      { { 0 } },
      0,
      { { 0 } },
      false,
      2,
      2 * TRN2_PEAK,
      716e9,
      0,
      32,
      false },
    { "four engines move the data",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 1 } },
      0,
      { { 2, 4, DATA, 512 } },
      false,
      1,
      TRN2_PEAK,
      4 * 23e9,
      1,
      4,
      true },
    { "packets of semaphores and programs move no data",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 1 } },
      0,
      { { 0, 8, DATA, 4 }, { 8, 8, FETCH, 4096 } },
      false,
      1,
      TRN2_PEAK,
      368e9,
      1,
      16,
      false },
    { "engines next to those of semaphores",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 1 } },
      0,
      { { 0, 16, DATA, 4 }, { 0, 1, DATA, 64 } },
      false,
      1,
      TRN2_PEAK,
      23e9,
      1,
      1,
      true },
    { "records of engines are missing",
      "trn2.3xlarge",
      1,
      { { 0, BF16, 1 } },
      0,
      { { 0, 2, DATA, 512 } },
      true,
      1,
      TRN2_PEAK,
      368e9,
      1,
      16,
      false },
};

static void run_product(struct hand_trace *h, unsigned core, enum ntk_dtype dtype, int64_t *at_ns)
{
    struct ntk_isa_instr product = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    product.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
    product.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, dtype);
    product.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(512, 128, 64, dtype);
    uint32_t slot = hand_trace_open(h, core, NTK_ISA_ENGINE_PE, &product);
    hand_trace_run(h, core, NTK_ISA_ENGINE_PE, slot, *at_ns, *at_ns + 100);
    *at_ns += 100;
}

static void run_transpose(struct hand_trace *h, int64_t *at_ns)
{
    struct ntk_isa_instr turn = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE);

    turn.operand[NTK_ISA_DST] = ntk_isa_psum(2048, 64, 128, BF16);
    turn.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 64, BF16);
    uint32_t slot = hand_trace_open(h, 0, NTK_ISA_ENGINE_PE, &turn);
    hand_trace_run(h, 0, NTK_ISA_ENGINE_PE, slot, *at_ns, *at_ns + 100);
    *at_ns += 100;
}

static void build(struct hand_trace *h, const struct program *program)
{
    int64_t at_ns = 0;

    hand_trace_begin(h, program->cores, program->machine, TOTAL_NS);
    for (size_t c = 0; c < program->cores; c++) { /* control does not count */
        uint32_t slot =
            hand_trace_nop(h, c, NTK_ISA_ENGINE_SP, NTK_ISA_NO_SEMAPHORE, 0, NTK_ISA_NO_SEMAPHORE);
        hand_trace_run(h, c, NTK_ISA_ENGINE_SP, slot, 0, 10);
    }
    for (size_t p = 0; p < 3; p++) {
        for (unsigned i = 0; i < program->products[p].count; i++) {
            run_product(h, program->products[p].core, program->products[p].dtype, &at_ns);
        }
    }
    for (unsigned i = 0; i < program->transposes; i++) {
        run_transpose(h, &at_ns);
    }
    for (size_t p = 0; p < 2; p++) {
        const struct packets *packets = &program->packets[p];
        for (unsigned e = packets->first; e < packets->first + packets->count; e++) {
            hand_trace_packet(h, 0, e, 1, packets->dma_class, packets->bytes, 10, 20);
        }
    }
    h->trace.is_cut.packets = program->is_cut;
}

static void roofline_ceilings_follow_from_the_cores_types_and_engines_in_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const struct program *program = &programs[i];
        struct hand_trace h;
        struct hand_answers a;
        struct ntk_ceilings ceilings;

        print_message("%s\n", program->title);
        build(&h, program);
        hand_answers_ask(&h, &a);
        assert_true(ntk_analysis_ceilings(a.program, &a.costs, &ceilings));
        assert_int_equal(ceilings.core_count, program->cores);
        assert_int_equal(ceilings.ran_count, program->ran);
        NEAR(ceilings.flops_per_second, program->flops_per_second);
        NEAR(ceilings.bytes_per_second, program->bytes_per_second);
        assert_int_equal(ceilings.type_count, program->types);
        assert_int_equal(ceilings.has_transposes, program->transposes > 0);
        assert_int_equal(ceilings.dma_engine_count, program->engines);
        assert_int_equal(ceilings.dma_engines_known, program->engines_known);
        /* Work at the ceiling takes the minimum time for every mix of types. */
        /* Packets without a transfer: their bytes of device memory are unknown. */
        assert_int_equal(a.has_roofline, program->packets[0].count == 0);
        if (a.has_roofline && a.roofline.total.flops) {
            NEAR(a.roofline.total.least_ps,
                 (double)a.roofline.total.flops / program->flops_per_second * 1e12);
            NEAR(a.roofline.total.ratio, a.roofline.total.least_ps / (TOTAL_NS * 1e3));
        }
        hand_answers_done(&h, &a);
    }
}

/* The slot of one of two passes of a product of 128 x 128 by 64 in 32 bits. */
static void pass_slot(uint8_t slot[NTK_NTFF_SLOT_BYTES])
{
    memset(slot, 0, NTK_NTFF_SLOT_BYTES);
    slot[0] = NTK_NTFF_OPCODE_MATMUL;
    slot[26] = 64; /* elements of the first dimension, then 1 and 1 */
    slot[28] = 1;
    slot[30] = 1;
    slot[32] = FP32;
    slot[33] = 3; /* LOW_HIGH */
    slot[38] = 128;
    slot[39] = 128;
}

static void a_two_pass_product_is_counted_once_in_every_metrics_version(void **state)
{
    static const enum ntk_metrics_version versions[] = { NTK_METRICS_2_32, NTK_METRICS_2_28 };
    double mfu[2];

    (void)state;
    for (size_t v = 0; v < 2; v++) {
        uint8_t slot[NTK_NTFF_SLOT_BYTES];
        struct hand_trace h;
        struct hand_answers a;

        hand_trace_begin(&h, 1, "trn2.3xlarge", TOTAL_NS);
        h.trace.metrics = versions[v];
        pass_slot(slot);
        uint32_t at = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, slot);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, at, 0, 100);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, at, 100, 200);
        hand_answers_ask(&h, &a);
        assert_true(a.has_roofline);
        assert_int_equal(a.roofline.total.flops, FLOPS);
        NEAR(a.roofline.ceilings.flops_per_second, TRN2_PEAK / 4);
        NEAR(a.roofline.total.least_ps, FLOPS / (TRN2_PEAK / 4) * 1e12);
        assert_true(a.roofline.has_mfu);
        mfu[v] = a.roofline.mfu;
        hand_answers_done(&h, &a);
    }
    NEAR(mfu[0], 4 * FLOPS / (TRN2_PEAK * TOTAL_NS * 1e-9)); /* weighted by type */
    NEAR(mfu[1], 2 * FLOPS / (TRN2_PEAK * TOTAL_NS * 1e-9)); /* both passes in full */
}

static double summary_mfu(const struct hand_answers *a)
{
    struct ntk_summary summary;
    double mfu;

    assert_int_equal(ntk_analysis_summary_of(a->program, &summary), 0);
    assert_true(summary.values[NTK_SUMMARY_mfu_estimated_percent].is_present);
    mfu = summary.values[NTK_SUMMARY_mfu_estimated_percent].number;
    ntk_summary_fini(&summary);
    return mfu;
}

static void mfu_matches_the_summary_in_every_metrics_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (int v = 0; v < 2; v++) {
            struct hand_trace h;
            struct hand_answers a;

            build(&h, &programs[i]);
            h.trace.metrics = v ? NTK_METRICS_2_28 : NTK_METRICS_2_32;
            hand_answers_ask(&h, &a);
            double mfu;
            assert_true(ntk_analysis_mfu(a.program, &a.costs, &mfu));
            assert_true(fabs(mfu - summary_mfu(&a)) <= 1e-12);
            hand_answers_done(&h, &a);
        }
    }
}

static void a_product_of_an_unknown_type_has_no_ceiling(void **state)
{
    uint8_t slot[NTK_NTFF_SLOT_BYTES];
    struct hand_trace h;
    struct hand_answers a;
    struct ntk_ceilings ceilings;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", TOTAL_NS);
    pass_slot(slot);
    slot[32] = 200;
    slot[33] = 0;
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, slot), 0,
                   100);
    hand_answers_ask(&h, &a);
    assert_false(ntk_analysis_ceilings(a.program, &a.costs, &ceilings));
    assert_false(a.has_roofline);
    hand_answers_done(&h, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofline_ceilings_follow_from_the_cores_types_and_engines_in_use),
        cmocka_unit_test(a_two_pass_product_is_counted_once_in_every_metrics_version),
        cmocka_unit_test(mfu_matches_the_summary_in_every_metrics_version),
        cmocka_unit_test(a_product_of_an_unknown_type_has_no_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
