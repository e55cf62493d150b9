/* SPDX-License-Identifier: MIT */
/* Scans and selections, each as a program on a core. */
#include <math.h>

#include "tests/runtime-hooks/engine/select_fixture.h"
#include "tests/support/unit.h"

static void a_scan_accumulates_along_the_row(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_TENSOR_TENSOR_SCAN, N);

    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC2] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_MINIMUM;
    instr.op1 = NTK_ISA_ALU_SUBTRACT;
    for (int reverse = 0; reverse < 2; reverse++) {
        instr.op_flags = reverse ? NTK_ISA_OPF_REVERSE1 : 0;
        select_run(s, NTK_ISA_ENGINE_DVE, &instr);
        for (int p = 0; p < P; p++) {
            double carried = s->c[p];

            for (int i = 0; i < N; i++) {
                double least = fmin(s->a[p * N + i], carried);

                carried = reverse ? s->b[p * N + i] - least : least - s->b[p * N + i];
                select_near(s->d[p * ROW + i], carried);
            }
        }
    }
    assert_int_equal((int)s->d[N], 77); /* nothing is written after the row */
}

static void a_cumulative_sum_starts_from_its_column_or_immediate(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE, N);

    instr.op0 = NTK_ISA_ALU_MULTIPLY;
    instr.op1 = NTK_ISA_ALU_ADD;
    instr.imm[0] = ntk_isa_float_bits(0.5F);
    instr.imm[1] = ntk_isa_float_bits(3);
    for (int column = 0; column < 2; column++) {
        if (column) {
            instr.operand[NTK_ISA_SRC2] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
        }
        select_run(s, NTK_ISA_ENGINE_DVE, &instr);
        for (int p = 0; p < P; p++) {
            double sum = column ? (double)s->c[p] : 3;

            for (int i = 0; i < N; i++) {
                sum += 0.5 * s->a[p * N + i];
                select_near(s->d[p * ROW + i], sum);
            }
        }
    }
}

static void a_partition_reduction_combines_all_partitions(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_TENSOR_PARTITION_REDUCE, N);

    instr.operand[NTK_ISA_DST] = tile(D, 1, N, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_ADD;
    select_run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int i = 0; i < N; i++) {
        double sum = 0;

        for (int p = 0; p < P; p++) {
            sum += s->a[p * N + i];
        }
        select_near(s->d[i], sum);
    }
    assert_int_equal((int)s->d[ROW], 77);
}

static void exponential_subtracts_the_maximum_and_returns_the_sum(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_EXPONENTIAL, N);

    instr.operand[NTK_ISA_SRC1] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    fold_into_e(&instr, NTK_ISA_ALU_ADD);
    select_run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        double sum = 0;

        for (int i = 0; i < N; i++) {
            double x = exp((double)s->a[p * N + i] - (double)s->c[p]);

            select_near(s->d[p * ROW + i], x);
            sum += x;
        }
        select_near(s->e[p * 8], sum);
    }
}

static void a_predicated_copy_leaves_unselected_elements_unchanged(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_TENSOR_COPY_PREDICATED, N);
    uint32_t *a = (void *)s->a;
    const uint32_t *d = (const void *)s->d;

    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_FLOAT32);
    for (int i = 0; i < P * N; i += 3) {
        s->b[i] = 0;
    }
    for (int reverse = 0; reverse < 2; reverse++) {
        instr.op_flags = reverse ? NTK_ISA_OPF_REVERSE0 : 0;
        for (int i = 0; i < P * ROW; i++) {
            s->d[i] = 77;
        }
        select_run(s, NTK_ISA_ENGINE_DVE, &instr);
        for (int i = 0; i < P * N; i++) {
            bool on = (s->b[i] != 0) != reverse;

            select_near(s->d[i / N * ROW + i % N], on ? s->a[i] : 77);
        }
    }
    /* Integers above 2^24 keep every bit. */
    instr.op_flags = 0;
    instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT32;
    instr.operand[NTK_ISA_SRC0].dtype = NTK_DTYPE_INT32;
    for (int i = 0; i < P * N; i++) {
        a[i] = 0x40000001U + (uint32_t)i;
        s->b[i] = 1;
    }
    select_run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int i = 0; i < P * N; i++) {
        assert_int_equal(d[i / N * ROW + i % N], a[i]);
    }
}

static void affine_select_applies_a_causal_mask(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_AFFINE_SELECT, N);

    /* value = 2 + p - i; on where value >= 0 */
    instr.operand[NTK_ISA_SRC1] = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                                            .dtype = NTK_DTYPE_INT32,
                                                            .var_id = NTK_ISA_NO_VAR,
                                                            .dim_count = 1,
                                                            .dim = { { -1, N } } };
    instr.op0 = NTK_ISA_ALU_GREATER_EQUAL;
    instr.imm[0] = 2;
    instr.imm[1] = 1;
    instr.imm[2] = ntk_isa_float_bits(-9984);
    select_run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            select_near(s->d[p * ROW + i], 2 + p - i >= 0 ? s->a[p * N + i] : -9984);
        }
    }
}

static void range_select_selects_positions_within_bounds(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_RANGE_SELECT, N);

    for (int p = 0; p < P; p++) {
        int low = p / 4;
        int high = p / 2;

        s->c[p] = (float)(100 + low);
        s->b[p * N] = (float)(100 + high);
    }
    instr.operand[NTK_ISA_SRC1] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC2] = tile(B, P, 1, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_GREATER_EQUAL;
    instr.op1 = NTK_ISA_ALU_LESS;
    instr.imm[0] = ntk_isa_float_bits(-500);
    instr.imm[1] = ntk_isa_float_bits(100);
    fold_into_e(&instr, NTK_ISA_ALU_MAXIMUM);
    select_run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        double greatest = -500;

        for (int i = 0; i < N; i++) {
            double x = i >= p / 4 && i < p / 2 ? (double)s->a[p * N + i] : -500;

            select_near(s->d[p * ROW + i], x);
            greatest = fmax(greatest, x);
        }
        select_near(s->e[p * 8], greatest);
    }
}

static void select_reduce_uses_the_other_value_where_the_predicate_is_false(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_SELECT_REDUCE, N);

    for (int i = 0; i < P * N; i++) {
        s->b[i] = (float)(i % 5 == 0);
    }
    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC2] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    instr.op_flags = NTK_ISA_OPF_REVERSE0;
    fold_into_e(&instr, NTK_ISA_ALU_MAXIMUM);
    select_run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        double greatest = -1e30;

        for (int i = 0; i < N; i++) {
            double x = (p * N + i) % 5 != 0 ? s->a[p * N + i] : s->c[p];

            select_near(s->d[p * ROW + i], x);
            greatest = fmax(greatest, x);
        }
        select_near(s->e[p * 8], greatest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SELECT_TEST(a_scan_accumulates_along_the_row),
        SELECT_TEST(a_cumulative_sum_starts_from_its_column_or_immediate),
        SELECT_TEST(a_partition_reduction_combines_all_partitions),
        SELECT_TEST(exponential_subtracts_the_maximum_and_returns_the_sum),
        SELECT_TEST(a_predicated_copy_leaves_unselected_elements_unchanged),
        SELECT_TEST(affine_select_applies_a_causal_mask),
        SELECT_TEST(range_select_selects_positions_within_bounds),
        SELECT_TEST(select_reduce_uses_the_other_value_where_the_predicate_is_false),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
