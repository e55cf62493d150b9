/* SPDX-License-Identifier: MIT */
/* Random numbers and dropout, each as a program on a core. */
#include <math.h>
#include <string.h>

#include "tests/runtime-hooks/engine/select_fixture.h"
#include "tests/support/unit.h"

/* XORWOW as published by its author. */
static uint32_t xorwow(uint32_t v[6])
{
    uint32_t t = v[0] ^ (v[0] >> 2);

    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
    return (v[5] += 362437) + v[4];
}

static void random_numbers_are_determined_by_the_generator_state(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr set = ntk_isa_instr_make(NTK_ISA_OP_RAND_SET_STATE);
    struct ntk_isa_instr bits = select_instr(NTK_ISA_OP_RNG, N);
    struct ntk_isa_instr get = ntk_isa_instr_make(NTK_ISA_OP_RAND_GET_STATE);
    uint32_t *b = (void *)s->b;
    const uint32_t *d = (const void *)s->d;
    const uint32_t *e = (const void *)s->e;

    for (int i = 0; i < P * N; i++) {
        b[i] = (uint32_t)engine_fixture_random(&s->random);
    }
    set.operand[NTK_ISA_SRC0] = tile(B, P, 6, NTK_DTYPE_UINT32);
    bits.operand[NTK_ISA_DST].dtype = NTK_DTYPE_UINT32;
    bits.operand[NTK_ISA_SRC0].space = NTK_ISA_SPACE_NONE;
    get.operand[NTK_ISA_DST] = tile(E, P, 6, NTK_DTYPE_UINT32);
    select_load(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, set);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, bits);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, get);
    select_store(s);
    for (int p = 0; p < P; p++) {
        uint32_t v[6];

        memcpy(v, b + p * N, sizeof v);
        for (int i = 0; i < N; i++) {
            assert_int_equal(d[p * ROW + i], xorwow(v));
        }
        assert_memory_equal(e + p * 8, v, sizeof v);
    }
}

static void a_seed_repeats_its_numbers_and_partitions_differ(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr seed = ntk_isa_instr_make(NTK_ISA_OP_SET_RNG_SEED);
    struct ntk_isa_instr uniform = select_instr(NTK_ISA_OP_RAND2, N);
    uint32_t *b = (void *)s->b;
    static float first[P * ROW];
    double sum = 0;

    for (int p = 0; p < P; p++) {
        b[p * N] = (uint32_t)p % 63; /* the last partition has the seed of the first */
    }
    seed.operand[NTK_ISA_SRC0] = tile(B, P, 1, NTK_DTYPE_UINT32);
    uniform.operand[NTK_ISA_SRC0].space = NTK_ISA_SPACE_NONE;
    uniform.imm[0] = ntk_isa_float_bits(-2);
    uniform.imm[1] = ntk_isa_float_bits(6);
    for (int round = 0; round < 2; round++) {
        select_load(s);
        if (round == 0) {
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, uniform); /* advances the generator */
        }
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, seed);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, uniform);
        select_store(s);
        if (round == 0) {
            memcpy(first, s->d, sizeof first);
        }
    }
    assert_memory_equal(first, s->d, sizeof first);
    assert_memory_equal(s->d, s->d + 63 * ROW, N * sizeof(float));
    assert_true(s->d[0] != s->d[ROW] && s->d[1] != s->d[ROW + 1]);
    for (int i = 0; i < P * N; i++) {
        float x = s->d[i / N * ROW + i % N];

        assert_true(x >= -2 && x < 6);
        sum += x;
    }
    /* The mean of 3,072 numbers with deviation 8/sqrt(12) has a deviation of 0.042; the limit is
     * five times that. */
    assert_true(fabs(sum / (P * N) - 2) < 0.21);
}

static void dropout_zeroes_the_requested_share_of_elements(void **state)
{
    struct select *s = *state;
    struct ntk_isa_instr instr = select_instr(NTK_ISA_OP_DROPOUT, N);
    int zeros = 0;

    instr.imm[0] = ntk_isa_float_bits(0.25F);
    for (int i = 0; i < P * N; i++) {
        s->a[i] = (float)(i + 1);
    }
    select_run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int i = 0; i < P * N; i++) {
        float x = s->d[i / N * ROW + i % N];

        zeros += x == 0;
        assert_true(x == 0 || x == s->a[i]);
    }
    /* 768 expected, deviation 24. */
    assert_in_range(zeros, 768 - 120, 768 + 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SELECT_TEST(random_numbers_are_determined_by_the_generator_state),
        SELECT_TEST(a_seed_repeats_its_numbers_and_partitions_differ),
        SELECT_TEST(dropout_zeroes_the_requested_share_of_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
