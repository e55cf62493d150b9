/* SPDX-License-Identifier: MIT */
/*
 * tiles_fixture - operations on whole tiles. The inputs are in variables A to F; a program loads
 * them, runs the operation, and stores D and E. Tests compute the same in double from docs/isa.md.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_ENGINE_TILES_FIXTURE_H
#define NTK_TESTS_RUNTIME_HOOKS_ENGINE_TILES_FIXTURE_H

#include "tests/runtime-hooks/engine/engine_fixture.h"

#define P 128
#define ROW_BYTES 2048 /* of every variable */
#define VARS 6

struct tiles {
    struct engine_fixture f;
    uint32_t queue;
    uint32_t var[VARS];
    uint8_t *bytes
        [VARS]; /* P rows of ROW_BYTES each; row r of var v is in partition r at v x ROW_BYTES */
    uint64_t random;
};

enum { A, B, C, D, E, F };

#define TILES_TEST(name) cmocka_unit_test_setup_teardown(name, tiles_setup, tiles_teardown)

int tiles_setup(void **state);
int tiles_teardown(void **state);
struct ntk_isa_operand tile(int which, unsigned partitions, uint32_t elements,
                            enum ntk_dtype dtype);
void tiles_begin(struct tiles *s);

/* Copies the product from PSUM to D. */
void sum_to_d(struct tiles *s, unsigned rows, uint32_t columns);
void tiles_finish(struct tiles *s, enum ntk_engine_outcome expected);
float *floats(struct tiles *s, int which, unsigned row);
uint16_t *words(struct tiles *s, int which, unsigned row);
uint8_t *octets(struct tiles *s, int which, unsigned row);
float number(struct tiles *s);
void fill_floats(struct tiles *s, int which);
uint16_t to_bf16(float value);
double from_bf16(uint16_t bits);

/* For the OCP formats, decoded from their fields without any table of the project. */
double ocp_value(unsigned code, unsigned exponent_bits, unsigned mantissa_bits, int bias);
void tiles_near(double actual, double expected, double tolerance, const char *what, unsigned place);
void instr_refused(struct tiles *s, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr,
                   const char *sentence);
struct ntk_isa_instr tiles_mx_instr(enum ntk_dtype stationary, enum ntk_dtype moving,
                                    unsigned partitions, unsigned m, unsigned n);

#endif
