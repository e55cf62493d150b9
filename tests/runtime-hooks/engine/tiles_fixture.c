/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/tiles_fixture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/unit.h"

int tiles_setup(void **state)
{
    struct tiles *s = calloc(1, sizeof *s);

    engine_fixture_init(&s->f, 4);
    s->queue = engine_fixture_queue(&s->f, 16);
    for (int v = 0; v < VARS; v++) {
        s->var[v] = engine_fixture_var(
            &s->f, v == D || v == E ? NTK_NEFF_VAR_OUTPUT : NTK_NEFF_VAR_INPUT, P * ROW_BYTES);
        s->bytes[v] = engine_fixture_memory(&s->f, s->var[v]);
    }
    s->random = 88172645463325252u;
    *state = s;
    return 0;
}

int tiles_teardown(void **state)
{
    struct tiles *s = *state;

    engine_fixture_fini(&s->f);
    free(s);
    return 0;
}

struct ntk_isa_operand tile(int which, unsigned partitions, uint32_t elements, enum ntk_dtype dtype)
{
    return ntk_isa_sbuf((uint64_t)which * ROW_BYTES, partitions, elements, dtype);
}

void tiles_begin(struct tiles *s)
{
    engine_fixture_clear(&s->f);
    for (int v = 0; v < VARS; v++) {
        engine_fixture_load(&s->f, s->queue, s->var[v], (uint64_t)v * ROW_BYTES, P, ROW_BYTES);
    }
}

static void tiles_store(struct tiles *s, int which)
{
    engine_fixture_store(&s->f, s->queue, s->var[which], (uint64_t)which * ROW_BYTES, P, ROW_BYTES);
}

void sum_to_d(struct tiles *s, unsigned rows, uint32_t columns)
{
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    copy.operand[NTK_ISA_DST] = tile(D, rows, columns, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, rows, columns, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
}

void tiles_finish(struct tiles *s, enum ntk_engine_outcome expected)
{
    tiles_store(s, D);
    tiles_store(s, E);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), expected);
}

float *floats(struct tiles *s, int which, unsigned row)
{
    return (float *)(void *)(s->bytes[which] + (size_t)row * ROW_BYTES);
}

uint16_t *words(struct tiles *s, int which, unsigned row)
{
    return (uint16_t *)(void *)(s->bytes[which] + (size_t)row * ROW_BYTES);
}

uint8_t *octets(struct tiles *s, int which, unsigned row)
{
    return s->bytes[which] + (size_t)row * ROW_BYTES;
}

float number(struct tiles *s)
{
    return (float)(int)(engine_fixture_random(&s->random) % 2001) / 500 - 2;
}

void fill_floats(struct tiles *s, int which)
{
    for (unsigned p = 0; p < P; p++) {
        for (unsigned i = 0; i < ROW_BYTES / 4; i++) {
            floats(s, which, p)[i] = number(s);
        }
    }
}

uint16_t to_bf16(float value)
{
    uint32_t bits = ntk_isa_float_bits(value);

    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double from_bf16(uint16_t bits)
{
    return (double)ntk_isa_bits_float((uint32_t)bits << 16);
}

double ocp_value(unsigned code, unsigned exponent_bits, unsigned mantissa_bits, int bias)
{
    unsigned exponent = code >> mantissa_bits & ((1u << exponent_bits) - 1);
    double mantissa = (double)(code & ((1u << mantissa_bits) - 1)) / (double)(1u << mantissa_bits);
    double value =
        exponent == 0 ? ldexp(mantissa, 1 - bias) : ldexp(1 + mantissa, (int)exponent - bias);

    return code >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

void tiles_near(double actual, double expected, double tolerance, const char *what, unsigned place)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("%s %u: %.9g, not %.9g", what, place, actual, expected);
    }
}

void instr_refused(struct tiles *s, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr,
                   const char *sentence)
{
    struct ntk_err err = { 0 };

    (void)s;
    assert_int_equal(ntk_isa_check(instr, engine, &err), -EBADMSG);
    assert_string_equal(err.text, sentence);
}

struct ntk_isa_instr tiles_mx_instr(enum ntk_dtype stationary, enum ntk_dtype moving,
                                    unsigned partitions, unsigned m, unsigned n)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL_MX);

    instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, m, n, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] =
        tile(A, partitions, stationary == NTK_DTYPE_UINT16 ? m : 4 * m, stationary);
    instr.operand[NTK_ISA_SRC1] =
        tile(B, partitions, moving == NTK_DTYPE_UINT16 ? n : 4 * n, moving);
    instr.operand[NTK_ISA_SRC2] = tile(C, partitions / 8, m, NTK_DTYPE_UINT8);
    instr.operand[NTK_ISA_SRC3] = tile(F, partitions / 8, n, NTK_DTYPE_UINT8);
    return instr;
}
