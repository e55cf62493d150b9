/* SPDX-License-Identifier: MIT */
/*
 * select_fixture - one operation on rows: a to c are loaded, the operation runs, d and e are
 * stored, and compared with docs/isa.md, implemented a second time in plain loops over host arrays.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_SELECT_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_SELECT_FIXTURE_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

#define P 64    /* partitions */
#define N 48    /* elements per row of a and b */
#define HALF 24 /* of N */
#define ROW 128 /* words per row of d */
#define A_AT 0
#define B_AT 1024
#define C_AT 2048
#define D_AT 3072
#define E_AT 4096

struct select {
    struct engine_fixture f;
    uint32_t queue;
    uint32_t var[5];
    float *a, *b, *c, *d, *e; /* P rows of N, N, 1, ROW, 8 */
    uint64_t random;
};

enum { A, B, C, D, E };

#define SELECT_TEST(name) cmocka_unit_test_setup_teardown(name, select_setup, select_teardown)

int select_setup(void **state);
int select_teardown(void **state);
struct ntk_isa_operand tile(int which, unsigned partitions, uint32_t elements,
                            enum ntk_dtype dtype);

/* D = 64 rows of n, A = 64 rows of N, both float32. */
struct ntk_isa_instr select_instr(enum ntk_isa_op op, uint32_t n);
void select_load(struct select *s);
void select_store(struct select *s);
void select_run(struct select *s, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr);
void select_near(double actual, double expected);
void fold_into_e(struct ntk_isa_instr *instr, enum ntk_isa_alu op);

#endif
