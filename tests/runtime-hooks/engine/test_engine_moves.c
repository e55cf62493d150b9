/* SPDX-License-Identifier: MIT */
/* Copies, shifts, fills and searches within SBUF, and the effect of NaN. */
#include <math.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "tests/runtime-hooks/engine/ops_fixture.h"
#include "tests/support/unit.h"

static void tensor_copy_converts_types_and_follows_access_patterns(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_FLOAT32, NTK_DTYPE_BFLOAT16,
                                             NTK_DTYPE_FLOAT16, NTK_DTYPE_FLOAT8E4,
                                             NTK_DTYPE_INT32,   NTK_DTYPE_INT8,
                                             NTK_DTYPE_UINT16 };
    struct ops *s = *state;

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
            unsigned rows = 3;
            uint32_t n = 24;
            uint32_t from_width = (uint32_t)ntk_dtype_bytes(dtypes[i]);
            uint32_t to_width = (uint32_t)ntk_dtype_bytes(dtypes[k]);
            struct work w;

            work_element_wise(&w, NTK_ISA_OP_TENSOR_COPY, NTK_ISA_ENGINE_DVE, rows, n, dtypes[i],
                              dtypes[k]);
            /* Reads backwards, writes as a transposed 6 x 4 array. */
            w.instr.operand[NTK_ISA_SRC0].offset = A_AT + (n - 1) * from_width;
            w.instr.operand[NTK_ISA_SRC0].dim[0].step = -1;
            w.instr.operand[NTK_ISA_DST].dim_count = 2;
            w.instr.operand[NTK_ISA_DST].dim[0] = (struct ntk_isa_dim){ 6, 4 };
            w.instr.operand[NTK_ISA_DST].dim[1] = (struct ntk_isa_dim){ 1, 6 };
            ops_fill(s, s->a, dtypes[i], rows, n, n * from_width, -300, 300);
            assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
            for (unsigned p = 0; p < rows; p++) {
                for (uint32_t e = 0; e < n; e++) {
                    uint8_t expected[8] = { 0 };
                    const uint8_t *a = engine_fixture_memory(&s->f, s->a);
                    const uint8_t *d = engine_fixture_memory(&s->f, s->d);

                    ntk_kernel_cast(dtypes[i], a + ((size_t)p * n + n - 1 - e) * from_width, 8,
                                    dtypes[k], expected, 8, 1);
                    assert_memory_equal(d + ((size_t)p * n + e % 4 * 6 + e / 4) * to_width,
                                        expected, to_width);
                }
            }
        }
    }
}

/* Method: each partition takes the row of the previous partition, in place. A naive row-by-row copy
 * would spread row 0 over the whole tile. */
static void a_shift_by_one_partition_reads_before_it_writes(void **state)
{
    struct ops *s = *state;
    unsigned rows = 100;
    uint32_t n = 16;
    struct work w;

    work_element_wise(&w, NTK_ISA_OP_TENSOR_COPY, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                      NTK_DTYPE_FLOAT32);
    ops_fill(s, s->a, NTK_DTYPE_FLOAT32, rows, n, n * 4, -1, 1);
    engine_fixture_load(&s->f, s->queue, s->a, A_AT, rows, n * 4);
    w.instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(A_AT, rows - 1, n, NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, rows - 1, n, NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_DST].partition_start = 1;
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, w.instr);
    engine_fixture_store(&s->f, s->queue, s->d, A_AT, rows, n * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (unsigned p = 0; p < rows; p++) {
        assert_memory_equal(
            (uint8_t *)engine_fixture_memory(&s->f, s->d) + (size_t)p * n * 4,
            (uint8_t *)engine_fixture_memory(&s->f, s->a) + (size_t)(p ? p - 1 : 0) * n * 4, n * 4);
    }
}

static void a_row_shifted_onto_itself_reads_before_it_writes(void **state)
{
    struct ops *s = *state;
    uint32_t n = 500;
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);

    ops_whole_numbers(s, s->a, 1, n + 1, -9, 9);
    engine_fixture_load(&s->f, s->queue, s->a, A_AT, 1, (n + 1) * 4);
    add.op0 = NTK_ISA_ALU_ADD; /* x[i + 1] = x[i] + x[i + 1] */
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(A_AT + 4, 1, n, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, 1, n, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(A_AT + 4, 1, n, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, add);
    engine_fixture_store(&s->f, s->queue, s->d, A_AT, 1, (n + 1) * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(d[i + 1] == a[i] + a[i + 1]);
    }
}

static void one_partition_can_be_broadcast_to_all(void **state)
{
    struct ops *s = *state;
    unsigned rows = 20;
    uint32_t n = 8;
    struct work w;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *b = engine_fixture_memory(&s->f, s->b);
    const float *d = engine_fixture_memory(&s->f, s->d);

    work_element_wise(&w, NTK_ISA_OP_TENSOR_TENSOR, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                      NTK_DTYPE_FLOAT32);
    w.instr.op0 = NTK_ISA_ALU_MULTIPLY;
    w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_SRC1].partition_step = 0;
    w.bytes_b = n * 4;
    ops_whole_numbers(s, s->a, rows, n, -9, 9);
    ops_whole_numbers(s, s->b, rows, n, -9, 9);
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    for (unsigned p = 0; p < rows; p++) {
        for (uint32_t i = 0; i < n; i++) {
            assert_true(d[p * n + i] == a[p * n + i] * b[i]);
        }
    }
}

static void memset_fills_floats_by_value_and_integers_by_bits(void **state)
{
    struct ops *s = *state;
    struct work w;

    work_element_wise(&w, NTK_ISA_OP_MEMSET, NTK_ISA_ENGINE_POOL, 2, 10, NTK_DTYPE_BFLOAT16,
                      NTK_DTYPE_BFLOAT16);
    w.instr.operand[NTK_ISA_SRC0] = (struct ntk_isa_operand){ .var_id = NTK_ISA_NO_VAR };
    w.instr.imm[0] = ntk_isa_float_bits(-1.5F);
    w.bytes_a = 0;
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    assert_true(ops_value(s, s->d, NTK_DTYPE_BFLOAT16, 1, 9, 20) == -1.5);
    w.instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT64;
    w.instr.imm[0] = 0x89abcdef;
    w.instr.imm[1] = 0x01234567;
    w.bytes_d = 80;
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    assert_true(((int64_t *)engine_fixture_memory(&s->f, s->d))[19] == 0x0123456789abcdef);
}

static void iota_counts_along_its_pattern_and_the_partitions(void **state)
{
    struct ops *s = *state;
    const int32_t *d = engine_fixture_memory(&s->f, s->d);
    struct work w;

    work_element_wise(&w, NTK_ISA_OP_IOTA, NTK_ISA_ENGINE_POOL, 5, 12, NTK_DTYPE_INT32,
                      NTK_DTYPE_INT32);
    w.instr.operand[NTK_ISA_SRC0] = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                                              .dtype = NTK_DTYPE_INT32,
                                                              .var_id = NTK_ISA_NO_VAR,
                                                              .dim_count = 2,
                                                              .dim = { { 10, 4 }, { -3, 3 } } };
    w.instr.imm[0] = (uint32_t)-7;
    w.instr.imm[1] = 1000;
    w.bytes_a = 0;
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    for (int p = 0; p < 5; p++) {
        for (int i = 0; i < 12; i++) {
            assert_int_equal(d[p * 12 + i], -7 + 1000 * p + i % 4 * 10 - i / 4 * 3);
        }
    }
}

static void reciprocal_and_max8_match_their_definition(void **state)
{
    struct ops *s = *state;
    struct work w;
    unsigned rows = 11;
    uint32_t n = 200;

    work_element_wise(&w, NTK_ISA_OP_RECIPROCAL, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                      NTK_DTYPE_FLOAT32);
    ops_fill(s, s->a, NTK_DTYPE_FLOAT32, rows, n, n * 4, 0.1, 100);
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    for (uint32_t i = 0; i < n; i++) {
        double x = ops_value(s, s->a, NTK_DTYPE_FLOAT32, 10, i, n * 4);

        ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, 10, i, n * 4), 1 / x, 1e-7, 0, "1/x", x);
    }

    work_element_wise(&w, NTK_ISA_OP_MAX8, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                      NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, rows, 8, NTK_DTYPE_FLOAT32);
    w.bytes_d = 32;
    ops_whole_numbers(s, s->a, rows, n, -50, 50); /* with equal values */
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    for (unsigned p = 0; p < rows; p++) {
        float sorted[200] = { 0 };
        const float *row = (float *)engine_fixture_memory(&s->f, s->a) + (size_t)p * n;

        for (uint32_t i = 0; i < n; i++) { /* insertion sort, descending */
            uint32_t at = i;

            for (; at > 0 && sorted[at - 1] < row[i]; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = row[i];
        }
        assert_memory_equal((float *)engine_fixture_memory(&s->f, s->d) + (size_t)p * 8, sorted,
                            32);
    }
}

static void a_computed_nan_is_a_numerical_error_with_valid_outputs(void **state)
{
    struct ops *s = *state;
    float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct work w;

    work_element_wise(&w, NTK_ISA_OP_ACTIVATION, NTK_ISA_ENGINE_ACT, 2, 4, NTK_DTYPE_FLOAT32,
                      NTK_DTYPE_FLOAT32);
    w.instr.act = NTK_ISA_ACT_LOG;
    w.instr.imm[0] = ntk_isa_float_bits(1.0F);
    for (int i = 0; i < 8; i++) {
        a[i] = i == 5 ? -1.0F : 1.0F;
    }
    assert_int_equal(ops_run(s, &w), NTK_RUN_NUMERICAL_ERROR);
    assert_int_equal(s->f.result.fault_engine, NTK_ENGINE_ACT);
    assert_int_equal(s->f.result.fault_slot, 0);
    assert_true(isnan(d[5]) && d[4] == 0.0F && d[7] == 0.0F);
    a[5] = 1.0F;
    assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
    assert_int_equal(s->f.result.fault_engine, NTK_ENGINE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPS_TEST(tensor_copy_converts_types_and_follows_access_patterns),
        OPS_TEST(a_shift_by_one_partition_reads_before_it_writes),
        OPS_TEST(a_row_shifted_onto_itself_reads_before_it_writes),
        OPS_TEST(one_partition_can_be_broadcast_to_all),
        OPS_TEST(memset_fills_floats_by_value_and_integers_by_bits),
        OPS_TEST(iota_counts_along_its_pattern_and_the_partitions),
        OPS_TEST(reciprocal_and_max8_match_their_definition),
        OPS_TEST(a_computed_nan_is_a_numerical_error_with_valid_outputs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
