/* SPDX-License-Identifier: MIT */
/* Gathers, shuffles, statistics and searches, each as a program on a core. */
#include <math.h>
#include <string.h>

#include "tests/runtime-hooks/engine/select_fixture.h"
#include "tests/support/unit.h"

static void a_gather_reads_elements_of_its_own_partition(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_NC_N_GATHER, N);
    uint32_t *b = (void *)s->b;

    for (int i = 0; i < P * N; i++) {
        b[i] = (uint32_t)(engine_fixture_random(&s->random) % (N + 2)); /* some are out of range */
    }
    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_UINT32);
    select_run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int i = 0; i < P * N; i++) {
        select_near(s->d[i / N * ROW + i % N], b[i] < N ? s->a[i / N * N + (int)b[i]] : 0);
    }
}

static void sixteen_partitions_share_the_indices_of_a_local_gather(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_LOCAL_GATHER, 60);
    uint32_t *b = (void *)s->b;

    for (int i = 0; i < P * N; i++) {
        b[i] = (uint32_t)(engine_fixture_random(&s->random) % (N / 3));
    }
    instr.operand[NTK_ISA_SRC1] = tile(B, P, 2, NTK_DTYPE_UINT32);
    instr.imm[0] = 3;  /* elements per index */
    instr.imm[1] = 20; /* indices */
    select_run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int p = 0; p < P; p++) {
        for (int n = 0; n < 20; n++) {
            uint32_t index = b[(p / 16 * 16 + n % 16) * N + n / 16];

            for (int k = 0; k < 3; k++) {
                select_near(s->d[p * ROW + n * 3 + k], s->a[p * N + (int)index * 3 + k]);
            }
        }
    }
}

static void a_shuffle_permutes_each_quadrant_in_place(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_NC_STREAM_SHUFFLE, N);
    uint8_t *mask = (void *)s->b;
    float before[P * ROW];

    for (int p = 0; p < 32; p++) {
        mask[p] = p == 5 ? 255 : (uint8_t)(31 - p);
    }
    for (int i = 0; i < P * ROW; i++) {
        before[i] = s->d[i] = (float)i;
    }
    instr.operand[NTK_ISA_SRC0] = tile(D, P, N, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, 1, 32, NTK_DTYPE_UINT8);
    select_run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        int from = p % 32 == 5 ? p : p / 32 * 32 + 31 - p % 32;

        for (int i = 0; i < N; i++) {
            select_near(s->d[p * ROW + i], before[from * ROW + i]);
        }
    }
}

static void batch_statistics_return_mean_and_variance(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr stats = select_instr(NTK_ISA_OP_BN_STATS, 6);
    struct ntk_isa_instr aggr = select_instr(NTK_ISA_OP_BN_AGGR, 2);

    select_load(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, stats);
    aggr.operand[NTK_ISA_SRC0] = stats.operand[NTK_ISA_DST];
    aggr.operand[NTK_ISA_DST] = tile(E, P, 2, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, aggr);
    select_store(s);
    for (int p = 0; p < P; p++) {
        double sum = 0;
        double squares = 0;
        double odd = 0;

        for (int i = 0; i < N; i++) {
            sum += s->a[p * N + i];
            odd += i % 2 ? (double)s->a[p * N + i] : 0;
        }
        for (int i = 0; i < N; i++) {
            squares += pow((double)s->a[p * N + i] - sum / N, 2);
        }
        select_near(s->d[p * ROW], HALF);
        select_near(s->d[p * ROW + 3], HALF);
        select_near(s->d[p * ROW + 4], odd / HALF);
        select_near(s->e[p * 8], sum / N);
        select_near(s->e[p * 8 + 1], squares / N);
    }
}

static void max8_values_are_each_found_and_replaced_once_per_row(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr find = select_instr(NTK_ISA_OP_NC_FIND_INDEX8, 8);
    struct ntk_isa_instr replace = select_instr(NTK_ISA_OP_NC_MATCH_REPLACE8, N);
    const uint32_t *found = (const void *)s->d;
    const uint32_t *replaced = (const void *)s->e;

    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            s->a[p * N + i] = (float)(i % 20); /* 0 to 7 appear three times each */
        }
        for (int v = 0; v < 8; v++) {
            s->b[p * N + v] = (float)(v < 6 ? v / 2 : 100 - 97 * (v == 6)); /* 0 0 1 1 2 2 3 100 */
        }
    }
    find.operand[NTK_ISA_DST].dtype = NTK_DTYPE_UINT32;
    find.operand[NTK_ISA_SRC1] = tile(B, P, 8, NTK_DTYPE_FLOAT32);
    select_run(s, NTK_ISA_ENGINE_DVE, &find);
    for (int p = 0; p < P; p++) {
        for (int v = 0; v < 6; v++) {
            assert_int_equal(found[p * ROW + v], v / 2 + 20 * (v % 2));
        }
        assert_int_equal(found[p * ROW + 6], 3);
        assert_int_equal(found[p * ROW + 7], UINT32_MAX);
    }
    replace.operand[NTK_ISA_SRC1] = find.operand[NTK_ISA_SRC1];
    replace.operand[NTK_ISA_DST2] = tile(E, P, 8, NTK_DTYPE_UINT32);
    replace.imm[0] = ntk_isa_float_bits(-1);
    select_run(s, NTK_ISA_ENGINE_DVE, &replace);
    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            bool gone = i % 20 < 3 ? i < 40 : i == 3;

            select_near(s->d[p * ROW + i], gone ? -1 : i % 20);
        }
        assert_int_equal(replaced[p * 8 + 1], 20);
        assert_int_equal(replaced[p * 8 + 7], UINT32_MAX);
    }
}

static void positions_of_nonzero_elements_are_listed_and_counted(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_NONZERO_WITH_COUNT, N + 1);
    const int32_t *d = (const void *)s->d;

    for (int i = 0; i < P * N; i++) {
        s->a[i] = (float)(i % 7 % 3);
    }
    instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT32;
    instr.imm[0] = 1000;
    instr.imm[1] = (uint32_t)-1;
    select_run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int p = 0; p < P; p++) {
        int count = 0;

        for (int i = 0; i < N; i++) {
            if (s->a[p * N + i] != 0) {
                assert_int_equal(d[p * ROW + count++], 1000 + i);
            }
        }
        assert_int_equal(d[p * ROW + N], count);
        for (int i = count; i < N; i++) {
            assert_int_equal(d[p * ROW + i], -1);
        }
    }
}

static void sequence_bounds_exclude_padding(void **state)
{
    static const float ids[] = { 1, 1, 1, 2, 2, 5, 0, 0 };
    static const int32_t first[] = { 0, 0, 0, 3, 3, 5, 8, 8 };
    static const int32_t last[] = { 3, 3, 3, 5, 5, 6, -1, -1 };
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_SEQUENCE_BOUNDS, 16);
    const int32_t *d = (const void *)s->d;

    memcpy(s->a, ids, sizeof ids);
    instr.operand[NTK_ISA_DST] = tile(D, 1, 16, NTK_DTYPE_INT32);
    instr.operand[NTK_ISA_SRC0] = tile(A, 1, 8, NTK_DTYPE_FLOAT32);
    select_run(s, NTK_ISA_ENGINE_POOL, &instr);
    assert_memory_equal(d, first, sizeof first);
    assert_memory_equal(d + 8, last, sizeof last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SELECT_TEST(a_gather_reads_elements_of_its_own_partition),
        SELECT_TEST(sixteen_partitions_share_the_indices_of_a_local_gather),
        SELECT_TEST(a_shuffle_permutes_each_quadrant_in_place),
        SELECT_TEST(batch_statistics_return_mean_and_variance),
        SELECT_TEST(max8_values_are_each_found_and_replaced_once_per_row),
        SELECT_TEST(positions_of_nonzero_elements_are_listed_and_counted),
        SELECT_TEST(sequence_bounds_exclude_padding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
