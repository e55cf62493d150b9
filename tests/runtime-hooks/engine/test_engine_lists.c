/* SPDX-License-Identifier: MIT */
/* Transposes on DVE, lists through 16 partitions, dynamic copies, loaded masks and values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/tiles_fixture.h"
#include "tests/support/unit.h"

static void dve_transpose_transposes_squares_of_32(void **state)
{
    static const enum ntk_dtype types[] = { NTK_DTYPE_FLOAT32, NTK_DTYPE_UINT16 };
    struct tiles *s = *state;

    for (int t = 0; t < 4; t++) {
        enum ntk_dtype from = types[t / 2];
        enum ntk_dtype to = types[t % 2];
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DVE_TRANSPOSE);

        for (unsigned p = 0; p < P; p++) {
            for (unsigned i = 0; i < 32; i++) {
                if (from == NTK_DTYPE_FLOAT32) {
                    floats(s, D, p)[i] = (float)(p * 50 + i);
                } else {
                    words(s, D, p)[i] = (uint16_t)(p * 50 + i);
                }
            }
        }
        instr.operand[NTK_ISA_SRC0] = tile(D, 32, 20, from);
        instr.operand[NTK_ISA_DST] = tile(D, 20, 32, to); /* in place */
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
        tiles_finish(s, NTK_RUN_OK);
        for (unsigned p = 0; p < 20; p++) {
            for (unsigned i = 0; i < 32; i++) {
                double value = to == NTK_DTYPE_FLOAT32 ? (double)floats(s, D, p)[i]
                                                       : (double)words(s, D, p)[i];

                tiles_near(value, i * 50 + p, 0, "row", p);
            }
        }
    }
    {
        struct ntk_isa_instr bad = ntk_isa_instr_make(NTK_ISA_OP_DVE_TRANSPOSE);

        bad.operand[NTK_ISA_SRC0] = tile(A, 33, 20, NTK_DTYPE_FLOAT32);
        bad.operand[NTK_ISA_DST] = tile(D, 20, 33, NTK_DTYPE_FLOAT32);
        instr_refused(
            s, NTK_ISA_ENGINE_DVE, &bad,
            "dve_transpose: the numbers of partitions of source 0 (33) and columns of the "
            "destination (33) must be equal and at most 32");
    }
}

static int falling(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;

    return a[0] != b[0] ? (a[0] < b[0] ? 1 : -1) : (a[1] > b[1] ? 1 : -1);
}

static void topk_sorts_a_list_spread_over_16_partitions(void **state)
{
    struct tiles *s = *state;
    static const unsigned sizes[][2] = { { 1, 1 }, { 16, 16 }, { 1000, 50 }, { 999, 999 } };

    for (size_t t = 0; t < sizeof sizes / sizeof sizes[0]; t++) {
        unsigned n = sizes[t][0];
        unsigned k = sizes[t][1];
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TOPK);
        double list[1000][2];

        for (unsigned p = 0; p < P; p++) {
            for (unsigned i = 0; i < 64; i++) {
                words(s, A, p)[i] = to_bf16((float)(engine_fixture_random(&s->random) % 300));
                words(s, D, p)[i] = 7;
            }
        }
        instr.operand[NTK_ISA_SRC0] = tile(A, 32, 63, NTK_DTYPE_BFLOAT16);
        instr.operand[NTK_ISA_DST] = tile(D, 32, 63, NTK_DTYPE_BFLOAT16);
        instr.operand[NTK_ISA_DST2] = tile(E, 32, 63, t % 2 ? NTK_DTYPE_UINT16 : NTK_DTYPE_INT32);
        instr.imm[0] = k;
        instr.imm[1] = n;
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, instr);
        tiles_finish(s, NTK_RUN_OK);
        for (unsigned group = 0; group < 2; group++) {
            for (unsigned i = 0; i < n; i++) {
                unsigned column = i / 16;
                unsigned lane = column % 2 ? 15 - i % 16 : i % 16;

                list[i][0] = from_bf16(words(s, A, 16 * group + lane)[column]);
                list[i][1] = i;
            }
            qsort(list, n, sizeof list[0], falling);
            for (unsigned i = 0; i < 63 * 16; i++) {
                unsigned column = i / 16;
                unsigned row = 16 * group + (column % 2 ? 15 - i % 16 : i % 16);
                int32_t place;

                if (i >= k) { /* bytes after the list stay */
                    assert_int_equal(words(s, D, row)[column], 7);
                    continue;
                }
                tiles_near(from_bf16(words(s, D, row)[column]), list[i][0], 0, "rank", i);
                memcpy(&place, octets(s, E, row) + 4 * (size_t)column, 4);
                assert_int_equal(t % 2 ? words(s, E, row)[column] : place, (int)list[i][1]);
            }
        }
    }
}

static void topk_sorts_nan_first_and_stays_within_its_list(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TOPK);
    struct ntk_isa_instr bad;

    for (unsigned p = 0; p < 16; p++) {
        words(s, A, p)[0] = to_bf16((float)p);
    }
    words(s, A, 4)[0] = 0x7fc0;
    instr.operand[NTK_ISA_SRC0] = tile(A, 16, 1, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_DST] = tile(D, 16, 1, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_DST2] = tile(E, 16, 1, NTK_DTYPE_UINT16);
    instr.imm[0] = 2;
    instr.imm[1] = 16;
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, instr);
    tiles_finish(s, NTK_RUN_NUMERICAL_ERROR);
    assert_int_equal(words(s, E, 0)[0], 4);
    assert_int_equal(words(s, E, 1)[0], 15);
    bad = instr;
    bad.imm[1] = 17;
    instr_refused(s, NTK_ISA_ENGINE_POOL, &bad,
                  "topk: a list of 17 elements does not fit in 16 rows of 1");
    bad = instr;
    bad.imm[0] = 17;
    instr_refused(s, NTK_ISA_ENGINE_POOL, &bad,
                  "topk: cannot write the 17 largest of 16 elements to 16 rows of 1 elements");
    bad.imm[0] = 0;
    instr_refused(s, NTK_ISA_ENGINE_POOL, &bad,
                  "topk: cannot write the 0 largest of 16 elements to 16 rows of 1 elements");
    bad = instr;
    bad.operand[NTK_ISA_SRC0].partition_count = 15;
    instr_refused(s, NTK_ISA_ENGINE_POOL, &bad,
                  "topk: the numbers of partitions of source 0 (15) and the destination (16) must "
                  "be equal multiples of 16");
}

/* 6 blocks of 5 elements; one index moves by 3 elements. */
static void dynamic_copies_use_indices_as_source_or_destination_block(void **state)
{
    static const int32_t indices[6] = { 0, 7, 3, -1, 1000000, 30 };
    struct tiles *s = *state;

    for (int is_dst = 0; is_dst < 2; is_dst++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(
            is_dst ? NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST : NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC);
        unsigned n = 100;
        unsigned rows = 9;

        fill_floats(s, A);
        fill_floats(s, D);
        memcpy(octets(s, B, 2), indices, sizeof indices);
        instr.operand[NTK_ISA_SRC0] = tile(A, rows, is_dst ? 30 : n, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_DST] = tile(D, rows, is_dst ? n : 30, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_SRC1] = tile(B, 1, 6, NTK_DTYPE_INT32);
        instr.operand[NTK_ISA_SRC1].partition_start = 2;
        instr.imm[0] = 3;
        tiles_begin(s);
        /* The reference needs the previous content of D. */
        memcpy(s->bytes[F], s->bytes[D], P * ROW_BYTES);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
        tiles_finish(s, NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            float expected[100];

            memcpy(expected, floats(s, F, p), sizeof expected);
            for (int b = 0; b < 6; b++) {
                for (int i = 0; i < 5; i++) {
                    int64_t at = (int64_t)indices[b] * 3 + i;
                    bool is_inside = at >= 0 && at < (int64_t)n;

                    if (!is_dst) {
                        expected[b * 5 + i] = is_inside ? floats(s, A, p)[at] : 0;
                    } else if (is_inside) {
                        expected[at] = floats(s, A, p)[b * 5 + i];
                    }
                }
            }
            for (unsigned i = 0; i < (is_dst ? n : 30); i++) {
                tiles_near((double)floats(s, D, p)[i], (double)expected[i], 0, "element", i);
            }
        }
    }
    {
        struct ntk_isa_instr bad = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC);

        bad.operand[NTK_ISA_SRC0] = tile(A, 4, 40, NTK_DTYPE_FLOAT32);
        bad.operand[NTK_ISA_DST] = tile(D, 4, 10, NTK_DTYPE_FLOAT32);
        bad.operand[NTK_ISA_SRC1] = tile(B, 1, 3, NTK_DTYPE_INT32);
        instr_refused(s, NTK_ISA_ENGINE_DVE, &bad,
                      "tensor_copy_dynamic_src: cannot divide 10 elements into 3 equal blocks");
        bad.operand[NTK_ISA_SRC1] = tile(B, 4, 2, NTK_DTYPE_INT32);
        instr_refused(s, NTK_ISA_ENGINE_DVE, &bad,
                      "tensor_copy_dynamic_src: source 1 must contain 16-bit or 32-bit indices in "
                      "one partition");
        bad.operand[NTK_ISA_SRC1] = tile(B, 1, 2, NTK_DTYPE_INT32);
        bad.imm[0] = 300000;
        instr_refused(s, NTK_ISA_ENGINE_DVE, &bad,
                      "tensor_copy_dynamic_src: invalid index stride of 300000 elements");
    }
}

/* A fill value for integers is converted like any other number: nearest even, saturated. */
static void integer_fill_values_are_rounded_and_saturated(void **state)
{
    static const struct {
        float fill;
        int32_t expected;
    } cases[] = {
        { 2.7F, 3 }, { -2.5F, -2 }, { INFINITY, INT32_MAX }, { -3e38F, INT32_MIN }, { NAN, 0 }
    };
    struct tiles *s = *state;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_AFFINE_SELECT);
        int32_t values[4];

        instr.operand[NTK_ISA_DST] = tile(D, 1, 4, NTK_DTYPE_INT32);
        instr.operand[NTK_ISA_SRC0] = tile(A, 1, 4, NTK_DTYPE_INT32);
        instr.operand[NTK_ISA_SRC1] = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                                                .dtype = NTK_DTYPE_INT32,
                                                                .var_id = NTK_ISA_NO_VAR,
                                                                .dim_count = 1,
                                                                .dim = { { 1, 4 } } };
        instr.op0 = NTK_ISA_ALU_EQUAL;
        instr.imm[2] = ntk_isa_float_bits(cases[c].fill);
        memcpy(octets(s, A, 0), &(int32_t){ 1234567891 }, 4);
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, instr);
        tiles_finish(s, NTK_RUN_OK);
        memcpy(values, octets(s, D, 0), sizeof values);
        assert_int_equal(values[0], 1234567891); /* every bit of the kept values */
        assert_int_equal(values[3], cases[c].expected);
    }
}

static void shuffles_follow_a_loaded_mask(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_MASK_REGISTER);
    struct ntk_isa_instr shuffle = ntk_isa_instr_make(NTK_ISA_OP_NC_STREAM_SHUFFLE);

    fill_floats(s, A);
    for (unsigned p = 0; p < 32; p++) {
        octets(s, B, 0)[p] = (uint8_t)((p * 5 + 3) % 32);
    }
    load.operand[NTK_ISA_SRC0] = tile(B, 1, 32, NTK_DTYPE_UINT8);
    shuffle.operand[NTK_ISA_SRC0] = tile(A, 64, 10, NTK_DTYPE_FLOAT32);
    shuffle.operand[NTK_ISA_DST] = tile(E, 64, 10, NTK_DTYPE_FLOAT32);
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, shuffle); /* before a load: the initial mask */
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, load);
    shuffle.operand[NTK_ISA_DST] = tile(D, 64, 10, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, shuffle);
    tiles_finish(s, NTK_RUN_OK);
    for (unsigned p = 0; p < 64; p++) {
        tiles_near((double)floats(s, E, p)[4], (double)floats(s, A, p)[4], 0, "before", p);
        tiles_near((double)floats(s, D, p)[4],
                   (double)floats(s, A, p / 32 * 32 + (p * 5 + 3) % 32)[4], 0, "after", p);
    }
}

static void loaded_values_are_found_and_replaced(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_MATCH_VALUE_LOAD);
    struct ntk_isa_instr find = ntk_isa_instr_make(NTK_ISA_OP_NC_FIND_INDEX8);
    struct ntk_isa_instr replace = ntk_isa_instr_make(NTK_ISA_OP_NC_MATCH_REPLACE8);

    for (unsigned p = 0; p < P; p++) {
        for (unsigned i = 0; i < 20; i++) {
            floats(s, A, p)[i] = (float)((i * 7 + p) % 20);
        }
        for (unsigned v = 0; v < 8; v++) {
            floats(s, B, p)[v] = (float)(v + p % 5);
        }
    }
    load.operand[NTK_ISA_SRC0] = tile(B, 40, 8, NTK_DTYPE_FLOAT32);
    find.operand[NTK_ISA_SRC0] = tile(A, 30, 20, NTK_DTYPE_FLOAT32);
    find.operand[NTK_ISA_SRC0].partition_start = 4; /* each partition has its own values */
    find.operand[NTK_ISA_DST] = tile(E, 30, 8, NTK_DTYPE_UINT32);
    replace.operand[NTK_ISA_SRC0] = find.operand[NTK_ISA_SRC0];
    replace.operand[NTK_ISA_DST] = tile(D, 30, 20, NTK_DTYPE_FLOAT32);
    replace.imm[0] = ntk_isa_float_bits(-1.0F);
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, load);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, find);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, replace);
    tiles_finish(s, NTK_RUN_OK);
    for (unsigned p = 0; p < 30; p++) {
        const float *row = floats(s, A, p + 4);

        for (unsigned i = 0; i < 20; i++) {
            double value = (double)row[i] - (double)((p + 4) % 5);
            bool is_sought = value >= 0 && value < 8;

            tiles_near((double)floats(s, D, p)[i], is_sought ? -1 : (double)row[i], 0, "element",
                       i);
            if (is_sought) {
                uint32_t place;

                memcpy(&place, octets(s, E, p) + 4 * (size_t)value, 4);
                assert_int_equal(place, i);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TEST(dve_transpose_transposes_squares_of_32),
        TILES_TEST(topk_sorts_a_list_spread_over_16_partitions),
        TILES_TEST(topk_sorts_nan_first_and_stays_within_its_list),
        TILES_TEST(dynamic_copies_use_indices_as_source_or_destination_block),
        TILES_TEST(integer_fill_values_are_rounded_and_saturated),
        TILES_TEST(shuffles_follow_a_loaded_mask),
        TILES_TEST(loaded_values_are_found_and_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
