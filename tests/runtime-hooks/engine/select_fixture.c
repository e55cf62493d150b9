/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/select_fixture.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/unit.h"

static const uint32_t row_words[5] = { N, N, 1, ROW, 8 };
static const uint64_t places[5] = { A_AT, B_AT, C_AT, D_AT, E_AT };

int select_setup(void **state)
{
    struct select *s = calloc(1, sizeof *s);
    float **rows[5] = { &s->a, &s->b, &s->c, &s->d, &s->e };

    engine_fixture_init(&s->f, 2);
    s->queue = engine_fixture_queue(&s->f, 16);
    for (int v = 0; v < 5; v++) {
        s->var[v] = engine_fixture_var(&s->f, v < 3 ? NTK_NEFF_VAR_INPUT : NTK_NEFF_VAR_OUTPUT,
                                       (uint64_t)P * row_words[v] * 4);
        *rows[v] = engine_fixture_memory(&s->f, s->var[v]);
    }
    s->random = 88172645463325252u;
    for (int i = 0; i < P * N; i++) {
        s->a[i] = (float)(int)(engine_fixture_random(&s->random) % 2001) / 100 - 10;
        s->b[i] = (float)(int)(engine_fixture_random(&s->random) % 2001) / 1000 - 1;
    }
    for (int p = 0; p < P; p++) {
        s->c[p] = (float)p / 8;
    }
    for (int i = 0; i < P * ROW; i++) {
        s->d[i] = 77;
    }
    *state = s;
    return 0;
}

int select_teardown(void **state)
{
    struct select *s = *state;

    engine_fixture_fini(&s->f);
    free(s);
    return 0;
}

struct ntk_isa_operand tile(int which, unsigned partitions, uint32_t elements, enum ntk_dtype dtype)
{
    return ntk_isa_sbuf(places[which], partitions, elements, dtype);
}

struct ntk_isa_instr select_instr(enum ntk_isa_op op, uint32_t n)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(op);

    instr.operand[NTK_ISA_DST] = tile(D, P, n, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = tile(A, P, N, NTK_DTYPE_FLOAT32);
    return instr;
}

void select_load(struct select *s)
{
    engine_fixture_clear(&s->f);
    for (int v = 0; v < 5; v++) {
        engine_fixture_load(&s->f, s->queue, s->var[v], places[v], P, row_words[v] * 4);
    }
}

void select_store(struct select *s)
{
    engine_fixture_store(&s->f, s->queue, s->var[D], D_AT, P, ROW * 4);
    engine_fixture_store(&s->f, s->queue, s->var[E], E_AT, P, 8 * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
}

void select_run(struct select *s, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr)
{
    select_load(s);
    engine_fixture_step(&s->f, engine, *instr);
    select_store(s);
}

void select_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-5 * fabs(expected) + 1e-5)) {
        fail_msg("%.9g, not %.9g", actual, expected);
    }
}

void fold_into_e(struct ntk_isa_instr *instr, enum ntk_isa_alu op)
{
    instr->operand[NTK_ISA_DST2] = tile(E, P, 1, NTK_DTYPE_FLOAT32);
    instr->reduce_op = op;
    instr->reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
}
