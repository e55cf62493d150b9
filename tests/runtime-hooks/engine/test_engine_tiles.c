/* SPDX-License-Identifier: MIT */
/*
 * Operations on whole tiles: loaded stationary tiles, MX products, transposes on DVE, lists through
 * 16 partitions, dynamic copies, registers, activate2.
 *
 * Method: inputs lie in variables, a program loads them, runs the operation and stores what it
 * gave; the same is computed here in double precision from the definition of docs/isa.md.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

#define P 128
#define ROW_BYTES 2048 /* of every variable */
#define VARS 6

struct setup {
    struct engine_fixture f;
    uint32_t queue;
    uint32_t var[VARS];
    uint8_t *bytes
        [VARS]; /* P rows of ROW_BYTES each; row r of var v lies in partition r at v x ROW_BYTES */
    uint64_t random;
};

enum { A, B, C, D, E, F };

static int set_up(void **state)
{
    struct setup *s = calloc(1, sizeof *s);

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

static int tear_down(void **state)
{
    struct setup *s = *state;

    engine_fixture_fini(&s->f);
    free(s);
    return 0;
}

static struct ntk_isa_operand tile(int which, unsigned partitions, uint32_t elements,
                                   enum ntk_dtype dtype)
{
    return ntk_isa_sbuf((uint64_t)which * ROW_BYTES, partitions, elements, dtype);
}

static void begin(struct setup *s)
{
    engine_fixture_clear(&s->f);
    for (int v = 0; v < VARS; v++) {
        engine_fixture_load(&s->f, s->queue, s->var[v], (uint64_t)v * ROW_BYTES, P, ROW_BYTES);
    }
}

static void store(struct setup *s, int which)
{
    engine_fixture_store(&s->f, s->queue, s->var[which], (uint64_t)which * ROW_BYTES, P, ROW_BYTES);
}

/* PSUM of the product to D. */
static void sum_to_d(struct setup *s, unsigned rows, uint32_t columns)
{
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    copy.operand[NTK_ISA_DST] = tile(D, rows, columns, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, rows, columns, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
}

static void finish(struct setup *s, enum ntk_engine_outcome expected)
{
    store(s, D);
    store(s, E);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), expected);
}

static float *floats(struct setup *s, int which, unsigned row)
{
    return (float *)(void *)(s->bytes[which] + (size_t)row * ROW_BYTES);
}

static uint16_t *words(struct setup *s, int which, unsigned row)
{
    return (uint16_t *)(void *)(s->bytes[which] + (size_t)row * ROW_BYTES);
}

static uint8_t *octets(struct setup *s, int which, unsigned row)
{
    return s->bytes[which] + (size_t)row * ROW_BYTES;
}

static float number(struct setup *s)
{
    return (float)(int)(engine_fixture_random(&s->random) % 2001) / 500 - 2;
}

static void fill_floats(struct setup *s, int which)
{
    for (unsigned p = 0; p < P; p++) {
        for (unsigned i = 0; i < ROW_BYTES / 4; i++) {
            floats(s, which, p)[i] = number(s);
        }
    }
}

static uint16_t to_bf16(float value)
{
    uint32_t bits = ntk_isa_float_bits(value);

    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double from_bf16(uint16_t bits)
{
    return (double)ntk_isa_bits_float((uint32_t)bits << 16);
}

static void near(double actual, double expected, double tolerance, const char *what, unsigned place)
{
    if (!(fabs(actual - expected) <= tolerance)) {
        fail_msg("%s %u: %.9g, not %.9g", what, place, actual, expected);
    }
}

static void refused(struct setup *s, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr,
                    const char *sentence)
{
    struct ntk_err err = { 0 };

    (void)s;
    assert_int_equal(ntk_isa_check(instr, engine, &err), -EBADMSG);
    assert_string_equal(err.text, sentence);
}

/* ---- products ---- */

static void a_loaded_stationary_tile_serves_later_products(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_STATIONARY);
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    fill_floats(s, A);
    fill_floats(s, B);
    load.operand[NTK_ISA_SRC0] = tile(A, 100, 64, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = tile(B, 100, 96, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 64, 96, NTK_DTYPE_FLOAT32);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    matmul.op_flags = NTK_ISA_OPF_ACCUMULATE;
    matmul.operand[NTK_ISA_SRC1].partition_count = 40; /* the rest of the tile is not multiplied */
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    sum_to_d(s, 64, 96);
    finish(s, NTK_RUN_OK);
    for (unsigned m = 0; m < 64; m++) {
        for (unsigned n = 0; n < 96; n++) {
            double sum = 0;

            for (unsigned k = 0; k < 100; k++) {
                sum +=
                    (k < 40 ? 2.0 : 1.0) * (double)floats(s, A, k)[m] * (double)floats(s, B, k)[n];
            }
            near((double)floats(s, D, m)[n], sum, 1e-3, "row", m);
        }
    }
    assert_int_equal(s->f.result.flops, 2ull * 64 * 96 * (100 + 40));
}

/* Columns that the loaded tile has not are zero, and so is all before the first load. */
static void what_is_not_loaded_is_zero(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_STATIONARY);
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    fill_floats(s, A);
    fill_floats(s, B);
    load.operand[NTK_ISA_SRC0] = tile(A, P, P, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = tile(B, P, 16, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, P, 16, NTK_DTYPE_FLOAT32);
    for (int round = 0; round < 2; round++) { /* the second does not see the first's */
        begin(s);
        if (round == 0) {
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
            load.operand[NTK_ISA_SRC0] = tile(A, P, 8, NTK_DTYPE_FLOAT32);
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
        }
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
        sum_to_d(s, P, 16);
        finish(s, NTK_RUN_OK);
        for (unsigned m = 0; m < P; m++) {
            double sum = 0;

            for (unsigned k = 0; k < P && m < 8 && round == 0; k++) {
                sum += (double)floats(s, A, k)[m] * (double)floats(s, B, k)[3];
            }
            near((double)floats(s, D, m)[3], sum, 1e-3, "row", m);
        }
    }
}

/* Tiles are kept as float32 matrices: every way to write into one has to be noticed. */
static void a_tile_that_changed_is_read_again(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr change = ntk_isa_instr_make(NTK_ISA_OP_MEMSET);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr set = ntk_isa_instr_make(NTK_ISA_OP_REGISTER_MOVE);
    struct ntk_isa_instr store_number = ntk_isa_instr_make(NTK_ISA_OP_REGISTER_STORE);

    for (int dtype = 0; dtype < 2; dtype++) {
        enum ntk_dtype type = dtype ? NTK_DTYPE_BFLOAT16 : NTK_DTYPE_FLOAT32;
        uint32_t width = (uint32_t)ntk_dtype_bytes(type);

        for (unsigned p = 0; p < P; p++) {
            for (unsigned i = 0; i < 64; i++) {
                if (dtype) {
                    words(s, A, p)[i] = to_bf16(p == i);
                    words(s, B, p)[i] = to_bf16(1);
                    words(s, C, p)[i] = to_bf16(8);
                } else {
                    floats(s, A, p)[i] = p == i;
                    floats(s, B, p)[i] = 1;
                    floats(s, C, p)[i] = 8;
                }
            }
        }
        matmul.operand[NTK_ISA_SRC0] = tile(A, 64, 64, type);
        matmul.operand[NTK_ISA_SRC1] = tile(B, 64, 64, type);
        matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 64, 64, NTK_DTYPE_FLOAT32);
        matmul.op_flags = 0;
        begin(s);
        for (int i = 0; i < 3; i++) { /* float32 tiles are kept from the second time on */
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
            matmul.op_flags = NTK_ISA_OPF_ACCUMULATE;
        }
        /* One column by an engine, one by a transfer inside partitions, one row by a transfer. */
        change.operand[NTK_ISA_DST] = tile(B, 64, 1, type);
        change.operand[NTK_ISA_DST].offset += 5 * width;
        change.imm[0] = ntk_isa_float_bits(4.0F);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, change);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
        copy.operand[NTK_ISA_DST] = tile(B, 64, 1, type);
        copy.operand[NTK_ISA_DST].offset += 7 * width;
        copy.operand[NTK_ISA_SRC0] = ntk_isa_var(s->var[C], 0, 64, ROW_BYTES / (int)width, 1, type);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_SP, copy);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
        copy.operand[NTK_ISA_DST] = tile(A, 1, 64, type); /* the stationary tile, its row 0 */
        copy.operand[NTK_ISA_SRC0] = ntk_isa_var(s->var[C], 0, 1, 0, 64, type);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_SP, copy);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
        set.reg_to = store_number.reg_a = 1 + 3; /* one element from a register */
        set.imm[0] = dtype ? to_bf16(16.0F) : ntk_isa_float_bits(16.0F);
        store_number.operand[NTK_ISA_DST] =
            tile(B, 1, 1, dtype ? NTK_DTYPE_UINT16 : NTK_DTYPE_UINT32);
        store_number.operand[NTK_ISA_DST].partition_start = 20;
        store_number.operand[NTK_ISA_DST].offset += 30 * width;
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, set);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, store_number);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
        sum_to_d(s, 64, 64);
        finish(s, NTK_RUN_OK);
        for (unsigned m = 0; m < 64; m++) {
            for (unsigned n = 0; n < 64; n++) {
                double engine = n == 5 ? 4 : 1; /* what the moving tile holds, product by product */
                double transfer = n == 7 ? 8 : engine;
                double row = m == 0 ? 8 * transfer : 9 * transfer; /* row 0 of A is 8 now */
                double number = m == 20 && n == 30 ? row + 15 : row;

                near((double)floats(s, D, m)[n], 3 + engine + transfer + row + number, 1e-4, "row",
                     m);
            }
        }
    }
}

/* A NaN of the first step of an accumulation is noticed though only the last is looked at. */
static void a_nan_goes_through_an_accumulation(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    fill_floats(s, A);
    fill_floats(s, B);
    floats(s, C, 3)[2] = NAN;
    matmul.operand[NTK_ISA_SRC0] = tile(A, 8, 8, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = tile(C, 8, 8, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 8, 8, NTK_DTYPE_FLOAT32);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    matmul.operand[NTK_ISA_SRC1] = tile(B, 8, 8, NTK_DTYPE_FLOAT32);
    matmul.op_flags = NTK_ISA_OPF_ACCUMULATE;
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    finish(s, NTK_RUN_NUMERICAL_ERROR);
    assert_int_equal(s->f.result.fault_engine, NTK_ENGINE_PE);
}

/* ---- microscaling ---- */

/* Of the OCP formats, from their fields: no table of the project's. */
static double element(unsigned code, unsigned exponent_bits, unsigned mantissa_bits, int bias)
{
    unsigned exponent = code >> mantissa_bits & ((1u << exponent_bits) - 1);
    double mantissa = (double)(code & ((1u << mantissa_bits) - 1)) / (double)(1u << mantissa_bits);
    double value =
        exponent == 0 ? ldexp(mantissa, 1 - bias) : ldexp(1 + mantissa, (int)exponent - bias);

    return code >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

/* Element (k, column) of a tile: k = 4 x partition + lane. */
static double mx_value(struct setup *s, int which, int scales, enum ntk_dtype dtype, unsigned k,
                       unsigned column)
{
    unsigned p = k / 4;
    unsigned lane = k % 4;
    double scale = ldexp(1, octets(s, scales, p / 8)[column] - 127);

    if (dtype == NTK_DTYPE_UINT16) {
        return scale * element(words(s, which, p)[column] >> (4 * lane) & 15, 2, 1, 1);
    }
    return scale * element(octets(s, which, p)[4 * column + lane],
                           dtype == NTK_DTYPE_FLOAT8E4 ? 4 : 5, dtype == NTK_DTYPE_FLOAT8E4 ? 3 : 2,
                           dtype == NTK_DTYPE_FLOAT8E4 ? 7 : 15);
}

/* Any code but infinities and NaN. */
static void fill_mx(struct setup *s, int which, int scales)
{
    for (unsigned p = 0; p < P; p++) {
        for (unsigned i = 0; i < ROW_BYTES; i++) {
            uint8_t code = (uint8_t)(engine_fixture_random(&s->random) >> 20);

            octets(s, which, p)[i] = (code & 0x7c) == 0x7c ? code & 0xf0 : code & 0xbf;
            octets(s, scales, p)[i] =
                (uint8_t)(124 + (engine_fixture_random(&s->random) >> 20) % 7);
        }
    }
}

static struct ntk_isa_instr mx_instr(enum ntk_dtype stationary, enum ntk_dtype moving,
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

static void nc_matmul_mx_multiplies_scaled_blocks(void **state)
{
    static const enum ntk_dtype types[][2] = { { NTK_DTYPE_FLOAT8E4, NTK_DTYPE_FLOAT8E4 },
                                               { NTK_DTYPE_FLOAT8E5, NTK_DTYPE_FLOAT8E4 },
                                               { NTK_DTYPE_UINT16, NTK_DTYPE_UINT16 },
                                               { NTK_DTYPE_UINT16, NTK_DTYPE_FLOAT8E5 } };
    struct setup *s = *state;

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        unsigned partitions = t == 0 ? 128 : 24;
        unsigned m = 40;
        unsigned n = 72;
        struct ntk_isa_instr instr = mx_instr(types[t][0], types[t][1], partitions, m, n);

        fill_mx(s, A, C);
        fill_mx(s, B, F);
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
        instr.op_flags = NTK_ISA_OPF_ACCUMULATE;
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
        sum_to_d(s, m, n);
        finish(s, NTK_RUN_OK);
        for (unsigned i = 0; i < m; i++) {
            for (unsigned j = 0; j < n; j++) {
                double sum = 0;
                double size = 0;

                for (unsigned k = 0; k < 4 * partitions; k++) {
                    double product =
                        mx_value(s, A, C, types[t][0], k, i) * mx_value(s, B, F, types[t][1], k, j);

                    sum += 2 * product;
                    size += fabs(2 * product);
                }
                near((double)floats(s, D, i)[j], sum, size * 1e-5 + 1e-30, "row", i);
            }
        }
        assert_int_equal(s->f.result.flops, 2ull * 2 * m * n * 4 * partitions);
    }
}

static void a_scale_that_is_not_a_number_spoils_its_block_only(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = mx_instr(NTK_DTYPE_FLOAT8E4, NTK_DTYPE_FLOAT8E4, 16, 8, 8);

    fill_mx(s, A, C);
    fill_mx(s, B, F);
    octets(s, C, 1)[5] = 0xff;
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
    sum_to_d(s, 8, 8);
    finish(s, NTK_RUN_NUMERICAL_ERROR);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(isnan(floats(s, D, i)[0]) != 0, i == 5);
    }
}

/* Each element is within half a step of its scaled original, none beyond what the format holds. */
static void quantize_mx_takes_the_scale_of_the_largest_of_a_block(void **state)
{
    static const struct {
        enum ntk_dtype dtype;
        int emax;
        double step;  /* relative distance of neighbours */
        double least; /* of subnormals */
        double greatest;
    } kinds[] = { { NTK_DTYPE_FLOAT8E4, 8, 1.0 / 8, 0x1p-9, 448 },
                  { NTK_DTYPE_FLOAT8E5, 15, 1.0 / 4, 0x1p-16, 57344 },
                  { NTK_DTYPE_UINT16, 2, 1.0 / 2, 0.5, 6 } };
    struct setup *s = *state;

    for (size_t t = 0; t < sizeof kinds / sizeof kinds[0]; t++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_QUANTIZE_MX);
        unsigned columns = 60;
        bool packs = kinds[t].dtype == NTK_DTYPE_UINT16;

        for (unsigned p = 0; p < P; p++) {
            for (unsigned i = 0; i < 4 * columns; i++) {
                int power = (int)(engine_fixture_random(&s->random) >> 20) % 30 - (int)(p / 8);

                words(s, A, p)[i] = to_bf16(ldexpf(number(s), power));
            }
        }
        for (unsigned p = 8; p < 16; p++) { /* a block of zeros */
            memset(&words(s, A, p)[4 * 7], 0, 8);
        }
        instr.operand[NTK_ISA_DST] = tile(D, P, packs ? columns : 4 * columns, kinds[t].dtype);
        instr.operand[NTK_ISA_DST2] = tile(E, P / 8, columns, NTK_DTYPE_UINT8);
        instr.operand[NTK_ISA_SRC0] = tile(A, P, 4 * columns, NTK_DTYPE_BFLOAT16);
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
        finish(s, NTK_RUN_OK);
        for (unsigned block = 0; block < P / 8; block++) {
            for (unsigned c = 0; c < columns; c++) {
                double largest = 0;
                int code;

                for (unsigned i = 0; i < 32; i++) {
                    double x = fabs(from_bf16(words(s, A, 8 * block + i / 4)[4 * c + i % 4]));

                    largest = x > largest ? x : largest;
                }
                code = largest > 0 ? (int)floor(log2(largest)) - kinds[t].emax + 127 : 0;
                assert_int_equal(octets(s, E, block)[c], code < 0 ? 0 : code);
                for (unsigned i = 0; i < 32; i++) {
                    double scale = ldexp(1, octets(s, E, block)[c] - 127);
                    double x = from_bf16(words(s, A, 8 * block + i / 4)[4 * c + i % 4]) / scale;
                    double q = mx_value(s, D, E, kinds[t].dtype, 32 * block + i, c) / scale;
                    double bound = fabs(x) * kinds[t].step / 2;

                    bound = bound < kinds[t].least / 2 ? kinds[t].least / 2 : bound;
                    if (fabs(x) > kinds[t].greatest) {
                        near(q, copysign(kinds[t].greatest, x), 0, "largest", c);
                    } else {
                        near(q, x, bound, "element", c);
                    }
                }
            }
        }
    }
}

static void quantize_mx_marks_blocks_with_infinity_or_nan(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_QUANTIZE_MX);

    for (unsigned p = 0; p < 16; p++) {
        for (unsigned i = 0; i < 16; i++) {
            words(s, A, p)[i] = to_bf16(1.0F);
        }
    }
    words(s, A, 3)[6] = 0x7f80;   /* infinity, block (0, 1) */
    words(s, A, 12)[14] = 0x7fc0; /* NaN, block (1, 3) */
    words(s, A, 13)[14] = to_bf16(3e38F);
    instr.operand[NTK_ISA_DST] = tile(D, 16, 16, NTK_DTYPE_FLOAT8E4);
    instr.operand[NTK_ISA_DST2] = tile(E, 2, 4, NTK_DTYPE_UINT8);
    instr.operand[NTK_ISA_SRC0] = tile(A, 16, 16, NTK_DTYPE_BFLOAT16);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
    finish(s, NTK_RUN_NUMERICAL_ERROR);
    for (unsigned block = 0; block < 2; block++) {
        for (unsigned c = 0; c < 4; c++) {
            bool is_bad = (block == 0 && c == 1) || (block == 1 && c == 3);

            assert_int_equal(octets(s, E, block)[c], is_bad ? 0xff : 127 - 8);
            assert_int_equal(octets(s, D, 8 * block)[4 * c], is_bad ? 0 : 0x78); /* 256 */
        }
    }
}

static void mx_tiles_without_whole_blocks_are_refused(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = mx_instr(NTK_DTYPE_FLOAT8E4, NTK_DTYPE_FLOAT8E4, 16, 8, 8);
    struct ntk_isa_instr bad = instr;

    bad.operand[NTK_ISA_SRC0].partition_count = 12;
    refused(s, NTK_ISA_ENGINE_PE, &bad,
            "nc_matmul_mx: source 0 of 12 x 32 elements has no whole blocks of 8 x 4");
    bad = instr;
    bad.operand[NTK_ISA_SRC3].dim[0].count = 9;
    refused(s, NTK_ISA_ENGINE_PE, &bad,
            "nc_matmul_mx: source 1 has not one scale of uint8 for each of its blocks");
    bad = instr;
    bad.operand[NTK_ISA_SRC0].dtype = NTK_DTYPE_FLOAT8E3;
    refused(s, NTK_ISA_ENGINE_PE, &bad,
            "nc_matmul_mx: source 0 holds float8e3, not float8e4, float8e5 or uint16 of four e2m1");
    bad = instr;
    bad.operand[NTK_ISA_SRC2].space = NTK_ISA_SPACE_PSUM;
    refused(s, NTK_ISA_ENGINE_PE, &bad, "nc_matmul_mx: source 2 is not in SBUF");
    bad = instr;
    bad.operand[NTK_ISA_SRC3].space = NTK_ISA_SPACE_NONE;
    refused(s, NTK_ISA_ENGINE_PE, &bad, "nc_matmul_mx: the source 3 is missing");
    bad = instr;
    bad.operand[NTK_ISA_SRC1].offset = NTK_ISA_SBUF_PARTITION_BYTES_MAX - 8;
    refused(s, NTK_ISA_ENGINE_PE, &bad,
            "nc_matmul_mx: source 1 reaches bytes 262136 to 262168 of a partition of 262144");
}

/* ---- transposes, lists, copies ---- */

static void dve_transpose_turns_squares_of_32(void **state)
{
    static const enum ntk_dtype types[] = { NTK_DTYPE_FLOAT32, NTK_DTYPE_UINT16 };
    struct setup *s = *state;

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
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
        finish(s, NTK_RUN_OK);
        for (unsigned p = 0; p < 20; p++) {
            for (unsigned i = 0; i < 32; i++) {
                double value = to == NTK_DTYPE_FLOAT32 ? (double)floats(s, D, p)[i]
                                                       : (double)words(s, D, p)[i];

                near(value, i * 50 + p, 0, "row", p);
            }
        }
    }
    {
        struct ntk_isa_instr bad = ntk_isa_instr_make(NTK_ISA_OP_DVE_TRANSPOSE);

        bad.operand[NTK_ISA_SRC0] = tile(A, 33, 20, NTK_DTYPE_FLOAT32);
        bad.operand[NTK_ISA_DST] = tile(D, 20, 33, NTK_DTYPE_FLOAT32);
        refused(s, NTK_ISA_ENGINE_DVE, &bad,
                "dve_transpose: 33 partitions do not become 33 columns");
    }
}

static int falling(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;

    return a[0] != b[0] ? (a[0] < b[0] ? 1 : -1) : (a[1] > b[1] ? 1 : -1);
}

static void topk_sorts_a_list_that_goes_through_16_partitions(void **state)
{
    struct setup *s = *state;
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
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, instr);
        finish(s, NTK_RUN_OK);
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

                if (i >= k) { /* what lies behind the list stays */
                    assert_int_equal(words(s, D, row)[column], 7);
                    continue;
                }
                near(from_bf16(words(s, D, row)[column]), list[i][0], 0, "rank", i);
                memcpy(&place, octets(s, E, row) + 4 * (size_t)column, 4);
                assert_int_equal(t % 2 ? words(s, E, row)[column] : place, (int)list[i][1]);
            }
        }
    }
}

static void topk_puts_nan_first_and_keeps_to_its_list(void **state)
{
    struct setup *s = *state;
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
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, instr);
    finish(s, NTK_RUN_NUMERICAL_ERROR);
    assert_int_equal(words(s, E, 0)[0], 4);
    assert_int_equal(words(s, E, 1)[0], 15);
    bad = instr;
    bad.imm[1] = 17;
    refused(s, NTK_ISA_ENGINE_POOL, &bad, "topk: a list of 17 elements in 16 rows of 1");
    bad = instr;
    bad.imm[0] = 17;
    refused(s, NTK_ISA_ENGINE_POOL, &bad, "topk: the 17 greatest of 16 in 16 rows of 1");
    bad.imm[0] = 0;
    refused(s, NTK_ISA_ENGINE_POOL, &bad, "topk: the 0 greatest of 16 in 16 rows of 1");
    bad = instr;
    bad.operand[NTK_ISA_SRC0].partition_count = 15;
    refused(s, NTK_ISA_ENGINE_POOL, &bad, "topk: 15 partitions into 16 are not groups of 16");
}

/* 6 blocks of 5 elements, an index moves by 3 elements. */
static void dynamic_copies_follow_indices(void **state)
{
    static const int32_t indices[6] = { 0, 7, 3, -1, 1000000, 30 };
    struct setup *s = *state;

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
        begin(s);
        /* The reference needs what D held before. */
        memcpy(s->bytes[F], s->bytes[D], P * ROW_BYTES);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
        finish(s, NTK_RUN_OK);
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
                near((double)floats(s, D, p)[i], (double)expected[i], 0, "element", i);
            }
        }
    }
    {
        struct ntk_isa_instr bad = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC);

        bad.operand[NTK_ISA_SRC0] = tile(A, 4, 40, NTK_DTYPE_FLOAT32);
        bad.operand[NTK_ISA_DST] = tile(D, 4, 10, NTK_DTYPE_FLOAT32);
        bad.operand[NTK_ISA_SRC1] = tile(B, 1, 3, NTK_DTYPE_INT32);
        refused(s, NTK_ISA_ENGINE_DVE, &bad,
                "tensor_copy_dynamic_src: 10 elements are not cut into 3 equal blocks");
        bad.operand[NTK_ISA_SRC1] = tile(B, 4, 2, NTK_DTYPE_INT32);
        refused(
            s, NTK_ISA_ENGINE_DVE, &bad,
            "tensor_copy_dynamic_src: source 1 holds no indices of 16 or 32 bits in one partition");
        bad.operand[NTK_ISA_SRC1] = tile(B, 1, 2, NTK_DTYPE_INT32);
        bad.imm[0] = 300000;
        refused(s, NTK_ISA_ENGINE_DVE, &bad,
                "tensor_copy_dynamic_src: an index moves by 300000 elements");
    }
}

/* What fills an integer is converted like any other number: nearest even, saturated. */
static void what_fills_integers_is_rounded(void **state)
{
    static const struct {
        float fill;
        int32_t expected;
    } cases[] = {
        { 2.7F, 3 }, { -2.5F, -2 }, { INFINITY, INT32_MAX }, { -3e38F, INT32_MIN }, { NAN, 0 }
    };
    struct setup *s = *state;

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
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, instr);
        finish(s, NTK_RUN_OK);
        memcpy(values, octets(s, D, 0), sizeof values);
        assert_int_equal(values[0], 1234567891); /* every bit of what is kept */
        assert_int_equal(values[3], cases[c].expected);
    }
}

/* ---- registers ---- */

static void a_loaded_mask_shuffles(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_MASK_REGISTER);
    struct ntk_isa_instr shuffle = ntk_isa_instr_make(NTK_ISA_OP_NC_STREAM_SHUFFLE);

    fill_floats(s, A);
    for (unsigned p = 0; p < 32; p++) {
        octets(s, B, 0)[p] = (uint8_t)((p * 5 + 3) % 32);
    }
    load.operand[NTK_ISA_SRC0] = tile(B, 1, 32, NTK_DTYPE_UINT8);
    shuffle.operand[NTK_ISA_SRC0] = tile(A, 64, 10, NTK_DTYPE_FLOAT32);
    shuffle.operand[NTK_ISA_DST] = tile(E, 64, 10, NTK_DTYPE_FLOAT32);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, shuffle); /* before a load: as it stands */
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, load);
    shuffle.operand[NTK_ISA_DST] = tile(D, 64, 10, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, shuffle);
    finish(s, NTK_RUN_OK);
    for (unsigned p = 0; p < 64; p++) {
        near((double)floats(s, E, p)[4], (double)floats(s, A, p)[4], 0, "before", p);
        near((double)floats(s, D, p)[4], (double)floats(s, A, p / 32 * 32 + (p * 5 + 3) % 32)[4], 0,
             "after", p);
    }
}

static void loaded_values_are_found_and_replaced(void **state)
{
    struct setup *s = *state;
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
    find.operand[NTK_ISA_SRC0].partition_start = 4; /* values are a partition's own */
    find.operand[NTK_ISA_DST] = tile(E, 30, 8, NTK_DTYPE_UINT32);
    replace.operand[NTK_ISA_SRC0] = find.operand[NTK_ISA_SRC0];
    replace.operand[NTK_ISA_DST] = tile(D, 30, 20, NTK_DTYPE_FLOAT32);
    replace.imm[0] = ntk_isa_float_bits(-1.0F);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, load);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, find);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, replace);
    finish(s, NTK_RUN_OK);
    for (unsigned p = 0; p < 30; p++) {
        const float *row = floats(s, A, p + 4);

        for (unsigned i = 0; i < 20; i++) {
            double value = (double)row[i] - (double)((p + 4) % 5);
            bool is_sought = value >= 0 && value < 8;

            near((double)floats(s, D, p)[i], is_sought ? -1 : (double)row[i], 0, "element", i);
            if (is_sought) {
                uint32_t place;

                memcpy(&place, octets(s, E, p) + 4 * (size_t)value, 4);
                assert_int_equal(place, i);
            }
        }
    }
}

/* ---- activate2 ---- */

static void activate2_takes_two_steps_a_function_and_a_reduction(void **state)
{
    struct setup *s = *state;

    for (int variant = 0; variant < 16; variant++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATE2);
        bool columns = variant & 1;
        bool reverse = variant & 2;
        bool second = variant & 4;
        bool keeps = variant & 8;
        unsigned rows = 20;
        unsigned n = 70;

        fill_floats(s, A);
        fill_floats(s, B);
        fill_floats(s, C);
        fill_floats(s, E);
        memcpy(s->bytes[F], s->bytes[E], P * ROW_BYTES);
        instr.operand[NTK_ISA_SRC0] = tile(A, rows, n, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_DST] = tile(D, rows, n, NTK_DTYPE_FLOAT32);
        instr.operand[NTK_ISA_DST2] = tile(E, rows, 1, NTK_DTYPE_FLOAT32);
        instr.reduce_op = NTK_ISA_ALU_ADD;
        instr.reduce_cmd = keeps ? NTK_ISA_REDUCE_REDUCE : NTK_ISA_REDUCE_RESET_REDUCE;
        instr.op0 = NTK_ISA_ALU_SUBTRACT;
        instr.op1 = second ? NTK_ISA_ALU_MULTIPLY : NTK_ISA_ALU_NONE;
        instr.act = NTK_ISA_ACT_TANH;
        instr.op_flags = reverse ? NTK_ISA_OPF_REVERSE0 : 0;
        instr.imm[0] = columns ? 0 : ntk_isa_float_bits(0.75F);
        instr.imm[1] = second && !columns ? ntk_isa_float_bits(-1.5F) : 0;
        if (columns) {
            instr.operand[NTK_ISA_SRC1] = tile(B, rows, 1, NTK_DTYPE_FLOAT32);
        }
        if (columns && second) {
            instr.operand[NTK_ISA_SRC2] = tile(C, rows, 1, NTK_DTYPE_FLOAT32);
        }
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_ACT, instr);
        finish(s, NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double s0 = columns ? (double)floats(s, B, p)[0] : 0.75;
            double s1 = columns ? (double)floats(s, C, p)[0] : -1.5;
            double sum = keeps ? (double)floats(s, F, p)[0] : 0;

            for (unsigned i = 0; i < n; i++) {
                double x = (double)floats(s, A, p)[i];
                double t = reverse ? s0 - x : x - s0;
                double value = tanh(second ? t * s1 : t);

                near((double)floats(s, D, p)[i], value, 1e-5, "element", i);
                sum += value;
            }
            near((double)floats(s, E, p)[0], sum, 1e-4, "sum of row", p);
        }
    }
    {
        struct ntk_isa_instr bad = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATE2);

        bad.operand[NTK_ISA_SRC0] = tile(A, 4, 4, NTK_DTYPE_INT32);
        bad.operand[NTK_ISA_DST] = tile(D, 4, 4, NTK_DTYPE_INT32);
        bad.op0 = NTK_ISA_ALU_BITWISE_AND;
        refused(s, NTK_ISA_ENGINE_ACT, &bad, "activate2: an operator on bits");
        bad.op0 = NTK_ISA_ALU_NONE;
        bad.operand[NTK_ISA_SRC1] = tile(B, 4, 1, NTK_DTYPE_FLOAT32);
        refused(s, NTK_ISA_ENGINE_ACT, &bad, "activate2: a column without an operator");
        bad.op0 = NTK_ISA_ALU_ADD;
        bad.reduce_op = NTK_ISA_ALU_ADD;
        refused(s, NTK_ISA_ENGINE_ACT, &bad, "activate2: reduces into no second destination");
    }
}

/* ---- rules of a file ---- */

/* Method: numbers around the ends of the formats through an engine and through a transfer that
 * casts, read back as bytes. */
static void a_file_says_how_fp8_overflows(void **state)
{
    static const struct {
        enum ntk_dtype dtype;
        int emax_e4m3;
        bool saturates;
        uint8_t codes[5]; /* of 1, 240, 448, 1000, infinity */
        bool writes_nan;
    } cases[] = {
        { NTK_DTYPE_FLOAT8E4, 8, true, { 0x38, 0x77, 0x7e, 0x7e, 0x7e }, false },
        { NTK_DTYPE_FLOAT8E4, 8, false, { 0x38, 0x77, 0x7e, 0x7f, 0x7f }, true },
        { NTK_DTYPE_FLOAT8E4, 7, true, { 0x38, 0x77, 0x77, 0x77, 0x77 }, false },
        { NTK_DTYPE_FLOAT8E4, 7, false, { 0x38, 0x77, 0x78, 0x78, 0x78 }, false },
        { NTK_DTYPE_FLOAT8E5, 8, false, { 0x3c, 0x5c, 0x5f, 0x64, 0x7c }, false },
        { NTK_DTYPE_FLOAT8E5, 8, true, { 0x3c, 0x5c, 0x5f, 0x64, 0x7b }, false },
    };
    static const float numbers[5] = { 1.0F, 240.0F, 448.0F, 1000.0F, INFINITY };
    struct setup *s = *state;

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct ntk_isa_instr cast = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_CAST);
        struct ntk_isa_instr back = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_CAST);
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

        memcpy(floats(s, A, 0), numbers, sizeof numbers);
        s->f.subgraph.fp8 = (struct ntk_neff_fp8_config){ .present = true,
                                                          .emax_e4m3 = cases[c].emax_e4m3,
                                                          .emax_e5m2 = 15,
                                                          .ocp_saturation = cases[c].saturates };
        cast.operand[NTK_ISA_SRC0] = tile(A, 1, 5, NTK_DTYPE_FLOAT32);
        cast.operand[NTK_ISA_DST] = tile(D, 1, 5, cases[c].dtype);
        back.operand[NTK_ISA_SRC0] = cast.operand[NTK_ISA_DST];
        back.operand[NTK_ISA_DST] = tile(D, 1, 5, NTK_DTYPE_FLOAT32);
        back.operand[NTK_ISA_DST].offset += 64;
        copy.operand[NTK_ISA_SRC0] = ntk_isa_var(s->var[A], 0, 1, 0, 5, NTK_DTYPE_FLOAT32);
        copy.operand[NTK_ISA_DST] = tile(E, 1, 5, cases[c].dtype);
        begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, cast);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, back);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_SP, copy);
        finish(s, cases[c].writes_nan ? NTK_RUN_NUMERICAL_ERROR : NTK_RUN_OK);
        assert_memory_equal(octets(s, D, 0), cases[c].codes, 5);
        assert_memory_equal(octets(s, E, 0), cases[c].codes, 5);
        near((double)floats(s, D, 0)[17], 240, cases[c].dtype == NTK_DTYPE_FLOAT8E5 ? 16 : 0,
             "back", 1);
        assert_int_equal(isinf(floats(s, D, 0)[20]) != 0,
                         !cases[c].saturates && !cases[c].writes_nan);
    }
}

static void rules_of_fp8_that_nobody_knows_are_refused(void **state)
{
    struct setup *s = *state;

    begin(s);
    s->f.subgraph.fp8 =
        (struct ntk_neff_fp8_config){ .present = true, .emax_e4m3 = 8, .emax_e5m2 = 16 };
    assert_int_equal(engine_fixture_make(&s->f), -ENOTSUP);
    assert_string_equal(s->f.err.text,
                        "fp8_conversion_config: greatest exponents 8 of e4m3 and 16 of "
                        "e5m2, known are 7 or 8 and 15");
    s->f.subgraph.fp8.emax_e5m2 = 15;
    s->f.subgraph.fp8.sns = true;
    assert_int_equal(engine_fixture_make(&s->f), -ENOTSUP);
    assert_string_equal(s->f.err.text, "fp8_conversion_config: fp8_sns is set and not known");
}

/* ---- engines ---- */

static void only_pool_raises_tiles_to_powers(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    struct ntk_err err = { 0 };

    instr.operand[NTK_ISA_DST] = tile(D, 4, 4, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = tile(A, 4, 4, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC1] = tile(B, 4, 4, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_POWER;
    assert_int_equal(ntk_isa_check(&instr, NTK_ISA_ENGINE_POOL, &err), 0);
    refused(s, NTK_ISA_ENGINE_DVE, &instr,
            "tensor_tensor: only POOL raises one tile to the power of another");
}

/* Method: the only instruction of its engine, so the engine's busy time is its duration. */
static void durations_follow_the_cost_model(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr topk = ntk_isa_instr_make(NTK_ISA_OP_TOPK);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST);
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_STATIONARY);

    topk.operand[NTK_ISA_SRC0] = tile(A, 16, 100, NTK_DTYPE_BFLOAT16);
    topk.operand[NTK_ISA_DST] = tile(D, 16, 4, NTK_DTYPE_BFLOAT16);
    topk.operand[NTK_ISA_DST2] = tile(E, 16, 4, NTK_DTYPE_UINT16);
    topk.imm[0] = 50;
    topk.imm[1] = 1600;
    copy.operand[NTK_ISA_SRC0] = tile(A, 16, 1020, NTK_DTYPE_BFLOAT16);
    copy.operand[NTK_ISA_DST] = tile(D, 16, 10, NTK_DTYPE_BFLOAT16);
    copy.operand[NTK_ISA_SRC1] = tile(B, 1, 4, NTK_DTYPE_UINT16);
    load.operand[NTK_ISA_SRC0] = tile(A, 128, 120, NTK_DTYPE_BFLOAT16);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, topk);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
    finish(s, NTK_RUN_OK);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_POOL], (4 * 100 + 50) * 1000 / 1200);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_DVE], 1020 * 1000 / 1200);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_PE], 120 * 1000 / 2400);

    copy.operand[NTK_ISA_SRC0] = tile(A, 16, 100, NTK_DTYPE_BFLOAT16);
    begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE,
                        mx_instr(NTK_DTYPE_UINT16, NTK_DTYPE_UINT16, 16, 64, 480));
    finish(s, NTK_RUN_OK);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_DVE], 600 * 1000 / 1200);
    assert_int_equal(s->f.result.busy_ns[NTK_ENGINE_PE], 480 * 1000 / 2400);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_loaded_stationary_tile_serves_later_products),
        TEST(what_is_not_loaded_is_zero),
        TEST(a_tile_that_changed_is_read_again),
        TEST(a_nan_goes_through_an_accumulation),
        TEST(nc_matmul_mx_multiplies_scaled_blocks),
        TEST(a_scale_that_is_not_a_number_spoils_its_block_only),
        TEST(quantize_mx_takes_the_scale_of_the_largest_of_a_block),
        TEST(quantize_mx_marks_blocks_with_infinity_or_nan),
        TEST(mx_tiles_without_whole_blocks_are_refused),
        TEST(dve_transpose_turns_squares_of_32),
        TEST(topk_sorts_a_list_that_goes_through_16_partitions),
        TEST(topk_puts_nan_first_and_keeps_to_its_list),
        TEST(dynamic_copies_follow_indices),
        TEST(what_fills_integers_is_rounded),
        TEST(a_loaded_mask_shuffles),
        TEST(loaded_values_are_found_and_replaced),
        TEST(activate2_takes_two_steps_a_function_and_a_reduction),
        TEST(a_file_says_how_fp8_overflows),
        TEST(rules_of_fp8_that_nobody_knows_are_refused),
        TEST(durations_follow_the_cost_model),
        TEST(only_pool_raises_tiles_to_powers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
