/* SPDX-License-Identifier: MIT */
/*
 * ops_fixture - one operation as a program: inputs are loaded from variables, the operation runs on
 * its engine, the result is stored and compared with the definition in docs/isa.md.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_OPS_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_OPS_FIXTURE_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

/* Places in a partition. */
#define A_AT 0
#define B_AT 16384
#define C_AT 32768
#define D_AT 40960
#define E_AT 65536
#define ROW_BYTES 4096
#define PARTITIONS 128

struct ops {
    struct engine_fixture f;
    uint32_t queue, a, b, c, d, e;
    uint64_t random;
};

/* A whole program: load a (and b, c), run instr, store d (and e). */
struct work {
    enum ntk_isa_engine engine;
    struct ntk_isa_instr instr;
    unsigned rows_a, rows_b, rows_c, rows_d, rows_e;
    uint32_t bytes_a, bytes_b, bytes_c, bytes_d, bytes_e; /* of a row; 0: not moved */
};

#define OPS_TEST(name) cmocka_unit_test_setup_teardown(name, ops_setup, ops_teardown)

int ops_setup(void **state);
int ops_teardown(void **state);

/* Uniform in [low, high]. */
double ops_uniform(struct ops *s, double low, double high);

/* Writes n values of a dtype to the start of every row of a variable with rows that are row_bytes
 * apart. */
void ops_fill(struct ops *s, uint32_t var, enum ntk_dtype dtype, unsigned rows, uint32_t n,
              uint32_t row_bytes, double low, double high);
double ops_value(struct ops *s, uint32_t var, enum ntk_dtype dtype, unsigned row, uint32_t index,
                 uint32_t row_bytes);

/* Small integers: equal values occur, and every result except power and the roots is exact. */
void ops_whole_numbers(struct ops *s, uint32_t var, unsigned rows, uint32_t n, double low,
                       double high);
void ops_near(double actual, double expected, double relative, double absolute, const char *what,
              double x);
enum ntk_engine_outcome ops_run(struct ops *s, const struct work *w);
void work_element_wise(struct work *w, enum ntk_isa_op op, enum ntk_isa_engine engine,
                       unsigned rows, uint32_t n, enum ntk_dtype from, enum ntk_dtype to);

#endif
