/* SPDX-License-Identifier: MIT */
/* Rules about whole tiles: activate2, FP8 of a file, permitted engines, durations. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/runtime-hooks/engine/tiles_fixture.h"
#include "tests/support/unit.h"

static void activate2_applies_two_operators_a_function_and_a_reduction(void **state)
{
    struct tiles *s = *state;

    for (int variant = 0; variant < 16; variant++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATE2);
        bool columns = variant & 1;
        bool reverse = variant & 2;
        bool second = variant & 4;
        bool keeps = variant & 8;
        unsigned rows = 20;
        unsigned n = 70;

        fill_floats(s, A);
        fill_floats(s, B);
        fill_floats(s, C);
        fill_floats(s, E);
        memcpy(s->bytes[F], s->bytes[E], P * ROW_BYTES);
        instr.operand[NTK_ISA_SRC0] = tile(A, rows, n, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_DST] = tile(D, rows, n, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_DST2] = tile(E, rows, 1, NTK_DTYPE_FLOAT32);
        instr.reduce_op = NTK_ISA_ALU_ADD;
        instr.reduce_cmd = keeps ? NTK_ISA_REDUCE_REDUCE : NTK_ISA_REDUCE_RESET_REDUCE;
        instr.op0 = NTK_ISA_ALU_SUBTRACT;
        instr.op1 = second ? NTK_ISA_ALU_MULTIPLY : NTK_ISA_ALU_NONE;
        instr.act = NTK_ISA_ACT_TANH;
        instr.op_flags = reverse ? NTK_ISA_OPF_REVERSE0 : 0;
        instr.imm[0] = columns ? 0 : ntk_isa_float_bits(0.75F);
        instr.imm[1] = second && !columns ? ntk_isa_float_bits(-1.5F) : 0;
        if (columns) {
            instr.operand[NTK_ISA_SRC1] = tile(B, rows, 1, NTK_DTYPE_FLOAT32);
        }
        if (columns && second) {
            instr.operand[NTK_ISA_SRC2] = tile(C, rows, 1, NTK_DTYPE_FLOAT32);
        }
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_ACT, instr);
        tiles_finish(s, NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double s0 = columns ? (double)floats(s, B, p)[0] : 0.75;
            double s1 = columns ? (double)floats(s, C, p)[0] : -1.5;
            double sum = keeps ? (double)floats(s, F, p)[0] : 0;

            for (unsigned i = 0; i < n; i++) {
                double x = (double)floats(s, A, p)[i];
                double t = reverse ? s0 - x : x - s0;
                double value = tanh(second ? t * s1 : t);

                tiles_near((double)floats(s, D, p)[i], value, 1e-5, "element", i);
                sum += value;
            }
            tiles_near((double)floats(s, E, p)[0], sum, 1e-4, "sum of row", p);
        }
    }
    {
        struct ntk_isa_instr bad = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATE2);

        bad.operand[NTK_ISA_SRC0] = tile(A, 4, 4, NTK_DTYPE_INT32);
        bad.operand[NTK_ISA_DST] = tile(D, 4, 4, NTK_DTYPE_INT32);
        bad.op0 = NTK_ISA_ALU_BITWISE_AND;
        instr_refused(s, NTK_ISA_ENGINE_ACT, &bad, "activate2: bit operators are not supported");
        bad.op0 = NTK_ISA_ALU_NONE;
        bad.operand[NTK_ISA_SRC1] = tile(B, 4, 1, NTK_DTYPE_FLOAT32);
        instr_refused(s, NTK_ISA_ENGINE_ACT, &bad,
                      "activate2: a column is given, but no operator uses it");
        bad.op0 = NTK_ISA_ALU_ADD;
        bad.reduce_op = NTK_ISA_ALU_ADD;
        instr_refused(s, NTK_ISA_ENGINE_ACT, &bad,
                      "activate2: the reduction has no second destination");
    }
}

/* Method: numbers near the limits of the formats through an engine and through a casting transfer,
 * read back as bytes. */
static void fp8_overflow_follows_the_rules_in_the_neff(void **state)
{
    static const struct {
        enum ntk_dtype dtype;
        int emax_e4m3;
        bool saturates;
        uint8_t codes[5]; /* of 1, 240, 448, 1000, infinity */
        bool writes_nan;
    } cases[] = {
        { NTK_DTYPE_FLOAT8E4, 8, true, { 0x38, 0x77, 0x7e, 0x7e, 0x7e }, false },
        { NTK_DTYPE_FLOAT8E4, 8, false, { 0x38, 0x77, 0x7e, 0x7f, 0x7f }, true },
        { NTK_DTYPE_FLOAT8E4, 7, true, { 0x38, 0x77, 0x77, 0x77, 0x77 }, false },
        { NTK_DTYPE_FLOAT8E4, 7, false, { 0x38, 0x77, 0x78, 0x78, 0x78 }, false },
        { NTK_DTYPE_FLOAT8E5, 8, false, { 0x3c, 0x5c, 0x5f, 0x64, 0x7c }, false },
        { NTK_DTYPE_FLOAT8E5, 8, true, { 0x3c, 0x5c, 0x5f, 0x64, 0x7b }, false },
    };
    static const float numbers[5] = { 1.0F, 240.0F, 448.0F, 1000.0F, INFINITY };
    struct tiles *s = *state;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct ntk_isa_instr cast = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_CAST);
        struct ntk_isa_instr back = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_CAST);
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

        memcpy(floats(s, A, 0), numbers, sizeof numbers);
        s->f.subgraph.fp8 = (struct ntk_neff_fp8_config){ .present = true,
                                                          .emax_e4m3 = cases[c].emax_e4m3,
                                                          .emax_e5m2 = 15,
                                                          .ocp_saturation = cases[c].saturates };
        cast.operand[NTK_ISA_SRC0] = tile(A, 1, 5, NTK_DTYPE_FLOAT32);
        cast.operand[NTK_ISA_DST] = tile(D, 1, 5, cases[c].dtype);
        back.operand[NTK_ISA_SRC0] = cast.operand[NTK_ISA_DST];
        back.operand[NTK_ISA_DST] = tile(D, 1, 5, NTK_DTYPE_FLOAT32);
        back.operand[NTK_ISA_DST].offset += 64;
        copy.operand[NTK_ISA_SRC0] = ntk_isa_var(s->var[A], 0, 1, 0, 5, NTK_DTYPE_FLOAT32);
        copy.operand[NTK_ISA_DST] = tile(E, 1, 5, cases[c].dtype);
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, cast);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, back);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_SP, copy);
        tiles_finish(s, cases[c].writes_nan ? NTK_RUN_NUMERICAL_ERROR : NTK_RUN_OK);
        assert_memory_equal(octets(s, D, 0), cases[c].codes, 5);
        assert_memory_equal(octets(s, E, 0), cases[c].codes, 5);
        tiles_near((double)floats(s, D, 0)[17], 240, cases[c].dtype == NTK_DTYPE_FLOAT8E5 ? 16 : 0,
                   "back", 1);
        assert_int_equal(isinf(floats(s, D, 0)[20]) != 0,
                         !cases[c].saturates && !cases[c].writes_nan);
    }
}

static void unknown_fp8_rules_are_rejected(void **state)
{
    struct tiles *s = *state;

    tiles_begin(s);
    s->f.subgraph.fp8 =
        (struct ntk_neff_fp8_config){ .present = true, .emax_e4m3 = 8, .emax_e5m2 = 16 };
    assert_int_equal(engine_fixture_make(&s->f), -ENOTSUP);
    assert_string_equal(s->f.err.text,
                        "fp8_conversion_config: unsupported maximum exponents 8 for e4m3 and 16 "
                        "for e5m2: expected 7 or 8, and 15");
    s->f.subgraph.fp8.emax_e5m2 = 15;
    s->f.subgraph.fp8.sns = true;
    assert_int_equal(engine_fixture_make(&s->f), -ENOTSUP);
    assert_string_equal(s->f.err.text, "fp8_conversion_config: unsupported setting fp8_sns");
}

static void tile_powers_are_accepted_only_on_the_pool_engine(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    struct ntk_err err = { 0 };

    instr.operand[NTK_ISA_DST] = tile(D, 4, 4, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = tile(A, 4, 4, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC1] = tile(B, 4, 4, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_POWER;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_POOL, &err), 0);
    instr_refused(s, NTK_ISA_ENGINE_DVE, &instr,
                  "tensor_tensor: only POOL can raise one tile to the power of another");
}

/* Method: the only instruction of its engine, so the engine's busy time is its duration. */
static void instruction_durations_follow_the_cost_model(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr topk = ntk_isa_instr_make(NTK_ISA_OP_TOPK);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST);
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_STATIONARY);

    topk.operand[NTK_ISA_SRC0] = tile(A, 16, 100, NTK_DTYPE_BFLOAT16);
    topk.operand[NTK_ISA_DST] = tile(D, 16, 4, NTK_DTYPE_BFLOAT16);
    topk.operand[NTK_ISA_DST2] = tile(E, 16, 4, NTK_DTYPE_UINT16);
    topk.imm[0] = 50;
    topk.imm[1] = 1600;
    copy.operand[NTK_ISA_SRC0] = tile(A, 16, 1020, NTK_DTYPE_BFLOAT16);
    copy.operand[NTK_ISA_DST] = tile(D, 16, 10, NTK_DTYPE_BFLOAT16);
    copy.operand[NTK_ISA_SRC1] = tile(B, 1, 4, NTK_DTYPE_UINT16);
    load.operand[NTK_ISA_SRC0] = tile(A, 128, 120, NTK_DTYPE_BFLOAT16);
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, topk);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
    tiles_finish(s, NTK_RUN_OK);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_POOL], (4 * 100 + 50) * 1000 / 1200);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_DVE], 1020 * 1000 / 1200);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_PE], 120 * 1000 / 2400);

    copy.operand[NTK_ISA_SRC0] = tile(A, 16, 100, NTK_DTYPE_BFLOAT16);
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE,
                        tiles_mx_instr(NTK_DTYPE_UINT16, NTK_DTYPE_UINT16, 16, 64, 480));
    tiles_finish(s, NTK_RUN_OK);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_DVE], 600 * 1000 / 1200);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_PE], 480 * 1000 / 2400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TEST(activate2_applies_two_operators_a_function_and_a_reduction),
        TILES_TEST(fp8_overflow_follows_the_rules_in_the_neff),
        TILES_TEST(unknown_fp8_rules_are_rejected),
        TILES_TEST(tile_powers_are_accepted_only_on_the_pool_engine),
        TILES_TEST(instruction_durations_follow_the_cost_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
