/* SPDX-License-Identifier: MIT */
/* Microscaling: products of scaled blocks, and quantisation to scaled blocks. */
#include <math.h>
#include <string.h>

#include "tests/runtime-hooks/engine/tiles_fixture.h"
#include "tests/support/unit.h"

/* Element (k, column) of a tile: k = 4 x partition + lane. */
static double mx_value(struct tiles *s, int which, int scales, enum ntk_dtype dtype, unsigned k,
                       unsigned column)
{
    unsigned p = k / 4;
    unsigned lane = k % 4;
    double scale = ldexp(1, octets(s, scales, p / 8)[column] - 127);

    if (dtype == NTK_DTYPE_UINT16) {
        return scale * ocp_value(words(s, which, p)[column] >> (4 * lane) & 15, 2, 1, 1);
    }
    return scale *
           ocp_value(octets(s, which, p)[4 * column + lane], dtype == NTK_DTYPE_FLOAT8E4 ? 4 : 5,
                     dtype == NTK_DTYPE_FLOAT8E4 ? 3 : 2, dtype == NTK_DTYPE_FLOAT8E4 ? 7 : 15);
}

/* Any code except infinities and NaN. */
static void fill_mx(struct tiles *s, int which, int scales)
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

static void nc_matmul_mx_multiplies_scaled_blocks(void **state)
{
    static const enum ntk_dtype types[][2] = { { NTK_DTYPE_FLOAT8E4, NTK_DTYPE_FLOAT8E4 },
                                               { NTK_DTYPE_FLOAT8E5, NTK_DTYPE_FLOAT8E4 },
                                               { NTK_DTYPE_UINT16, NTK_DTYPE_UINT16 },
                                               { NTK_DTYPE_UINT16, NTK_DTYPE_FLOAT8E5 } };
    struct tiles *s = *state;

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        unsigned partitions = t == 0 ? 128 : 24;
        unsigned m = 40;
        unsigned n = 72;
        struct ntk_isa_instr instr = tiles_mx_instr(types[t][0], types[t][1], partitions, m, n);

        fill_mx(s, A, C);
        fill_mx(s, B, F);
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
        instr.op_flags = NTK_ISA_OPF_ACCUMULATE;
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
        sum_to_d(s, m, n);
        tiles_finish(s, NTK_RUN_OK);
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
                tiles_near((double)floats(s, D, i)[j], sum, size * 1e-5 + 1e-30, "row", i);
            }
        }
        assert_int_equal(s->f.result.flops, 2ull * 2 * m * n * 4 * partitions);
    }
}

static void a_nan_scale_affects_only_its_block(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr instr = tiles_mx_instr(NTK_DTYPE_FLOAT8E4, NTK_DTYPE_FLOAT8E4, 16, 8, 8);

    fill_mx(s, A, C);
    fill_mx(s, B, F);
    octets(s, C, 1)[5] = 0xff;
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
    sum_to_d(s, 8, 8);
    tiles_finish(s, NTK_RUN_NUMERICAL_ERROR);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(isnan(floats(s, D, i)[0]) != 0, i == 5);
    }
}

/* Each element is within half a step of its scaled original, and none exceeds the range of the
 * format. */
static void quantize_mx_scales_a_block_by_its_largest_element(void **state)
{
    static const struct {
        enum ntk_dtype dtype;
        int emax;
        double step;  /* relative distance between neighbours */
        double least; /* of subnormals */
        double greatest;
    } kinds[] = { { NTK_DTYPE_FLOAT8E4, 8, 1.0 / 8, 0x1p-9, 448 },
                  { NTK_DTYPE_FLOAT8E5, 15, 1.0 / 4, 0x1p-16, 57344 },
                  { NTK_DTYPE_UINT16, 2, 1.0 / 2, 0.5, 6 } };
    struct tiles *s = *state;

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
        tiles_begin(s);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
        tiles_finish(s, NTK_RUN_OK);
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
                        tiles_near(q, copysign(kinds[t].greatest, x), 0, "largest", c);
                    } else {
                        tiles_near(q, x, bound, "element", c);
                    }
                }
            }
        }
    }
}

static void quantize_mx_marks_blocks_with_infinity_or_nan(void **state)
{
    struct tiles *s = *state;
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
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, instr);
    tiles_finish(s, NTK_RUN_NUMERICAL_ERROR);
    for (unsigned block = 0; block < 2; block++) {
        for (unsigned c = 0; c < 4; c++) {
            bool is_bad = (block == 0 && c == 1) || (block == 1 && c == 3);

            assert_int_equal(octets(s, E, block)[c], is_bad ? 0xff : 127 - 8);
            assert_int_equal(octets(s, D, 8 * block)[4 * c], is_bad ? 0 : 0x78); /* 256 */
        }
    }
}

static void mx_tiles_with_incomplete_blocks_are_rejected(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr instr = tiles_mx_instr(NTK_DTYPE_FLOAT8E4, NTK_DTYPE_FLOAT8E4, 16, 8, 8);
    struct ntk_isa_instr bad = instr;

    bad.operand[NTK_ISA_SRC0].partition_count = 12;
    instr_refused(s, NTK_ISA_ENGINE_PE, &bad,
                  "nc_matmul_mx: source 0 with 12 x 32 elements does not divide into 8 x 4 blocks");
    bad = instr;
    bad.operand[NTK_ISA_SRC3].dim[0].count = 9;
    instr_refused(s, NTK_ISA_ENGINE_PE, &bad,
                  "nc_matmul_mx: source 1 requires one uint8 scale per block");
    bad = instr;
    bad.operand[NTK_ISA_SRC0].dtype = NTK_DTYPE_FLOAT8E3;
    instr_refused(s, NTK_ISA_ENGINE_PE, &bad,
                  "nc_matmul_mx: source 0 has dtype float8e3: expected float8e4, float8e5 or "
                  "uint16 (four e2m1 values)");
    bad = instr;
    bad.operand[NTK_ISA_SRC2].space = NTK_ISA_SPACE_PSUM;
    instr_refused(s, NTK_ISA_ENGINE_PE, &bad, "nc_matmul_mx: source 2 is not in SBUF");
    bad = instr;
    bad.operand[NTK_ISA_SRC3].space = NTK_ISA_SPACE_NONE;
    instr_refused(s, NTK_ISA_ENGINE_PE, &bad, "nc_matmul_mx: missing source 3");
    bad = instr;
    bad.operand[NTK_ISA_SRC1].offset = NTK_ISA_SBUF_PARTITION_BYTES_MAX - 8;
    instr_refused(
        s, NTK_ISA_ENGINE_PE, &bad,
        "nc_matmul_mx: source 1 covers bytes 262136 to 262168, but a partition has 262144 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TEST(nc_matmul_mx_multiplies_scaled_blocks),
        TILES_TEST(a_nan_scale_affects_only_its_block),
        TILES_TEST(quantize_mx_scales_a_block_by_its_largest_element),
        TILES_TEST(quantize_mx_marks_blocks_with_infinity_or_nan),
        TILES_TEST(mx_tiles_with_incomplete_blocks_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
