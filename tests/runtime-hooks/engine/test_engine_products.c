/* SPDX-License-Identifier: MIT */
/* Products with loaded stationary tiles: kept, changed, missing, NaN. */
#include <math.h>

#include "tests/runtime-hooks/engine/tiles_fixture.h"
#include "tests/support/unit.h"

static void a_loaded_stationary_tile_is_used_by_later_products(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_STATIONARY);
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    fill_floats(s, A);
    fill_floats(s, B);
    load.operand[NTK_ISA_SRC0] = tile(A, 100, 64, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = tile(B, 100, 96, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 64, 96, NTK_DTYPE_FLOAT32);
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    matmul.op_flags = NTK_ISA_OPF_ACCUMULATE;
    matmul.operand[NTK_ISA_SRC1].partition_count = 40; /* the rest of the tile is not multiplied */
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    sum_to_d(s, 64, 96);
    tiles_finish(s, NTK_RUN_OK);
    for (unsigned m = 0; m < 64; m++) {
        for (unsigned n = 0; n < 96; n++) {
            double sum = 0;

            for (unsigned k = 0; k < 100; k++) {
                sum +=
                    (k < 40 ? 2.0 : 1.0) * (double)floats(s, A, k)[m] * (double)floats(s, B, k)[n];
            }
            tiles_near((double)floats(s, D, m)[n], sum, 1e-3, "row", m);
        }
    }
    assert_int_equal(s->f.result.flops, 2ull * 64 * 96 * (100 + 40));
}

/* Columns that the loaded tile lacks are zero, and so is everything before the first load. */
static void stationary_tiles_are_zero_where_nothing_is_loaded(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_LOAD_STATIONARY);
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    fill_floats(s, A);
    fill_floats(s, B);
    load.operand[NTK_ISA_SRC0] = tile(A, P, P, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = tile(B, P, 16, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, P, 16, NTK_DTYPE_FLOAT32);
    /* The second run does not see the tile of the first. */
    for (int round = 0; round < 2; round++) {
        tiles_begin(s);
        if (round == 0) {
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
            load.operand[NTK_ISA_SRC0] = tile(A, P, 8, NTK_DTYPE_FLOAT32);
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, load);
        }
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
        sum_to_d(s, P, 16);
        tiles_finish(s, NTK_RUN_OK);
        for (unsigned m = 0; m < P; m++) {
            double sum = 0;

            for (unsigned k = 0; k < P && m < 8 && round == 0; k++) {
                sum += (double)floats(s, A, k)[m] * (double)floats(s, B, k)[3];
            }
            tiles_near((double)floats(s, D, m)[3], sum, 1e-3, "row", m);
        }
    }
}

/* Tiles are kept as float32 matrices, so every write to a tile must be detected. */
static void a_changed_stationary_tile_is_read_again(void **state)
{
    struct tiles *s = *state;
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
        tiles_begin(s);
        for (int i = 0; i < 3; i++) { /* float32 tiles are kept from the second time on */
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
            matmul.op_flags = NTK_ISA_OPF_ACCUMULATE;
        }
        /* One column changed by an engine, one by a transfer within partitions, one row by a
         * transfer. */
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
        tiles_finish(s, NTK_RUN_OK);
        for (unsigned m = 0; m < 64; m++) {
            for (unsigned n = 0; n < 64; n++) {
                double engine = n == 5 ? 4 : 1; /* values in the moving tile, product by product */
                double transfer = n == 7 ? 8 : engine;
                double row = m == 0 ? 8 * transfer : 9 * transfer; /* row 0 of A is 8 now */
                double number = m == 20 && n == 30 ? row + 15 : row;

                tiles_near((double)floats(s, D, m)[n], 3 + engine + transfer + row + number, 1e-4,
                           "row", m);
            }
        }
    }
}

/* A NaN in the first step of an accumulation is detected, although only the last step is
 * checked. */
static void a_nan_in_an_earlier_accumulation_step_is_reported(void **state)
{
    struct tiles *s = *state;
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);

    fill_floats(s, A);
    fill_floats(s, B);
    floats(s, C, 3)[2] = NAN;
    matmul.operand[NTK_ISA_SRC0] = tile(A, 8, 8, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_SRC1] = tile(C, 8, 8, NTK_DTYPE_FLOAT32);
    matmul.operand[NTK_ISA_DST] = ntk_isa_psum(0, 8, 8, NTK_DTYPE_FLOAT32);
    tiles_begin(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    matmul.operand[NTK_ISA_SRC1] = tile(B, 8, 8, NTK_DTYPE_FLOAT32);
    matmul.op_flags = NTK_ISA_OPF_ACCUMULATE;
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, matmul);
    tiles_finish(s, NTK_RUN_NUMERICAL_ERROR);
    assert_int_equal(s->f.result.fault_engine, NTK_ENGINE_PE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TILES_TEST(a_loaded_stationary_tile_is_used_by_later_products),
        TILES_TEST(stationary_tiles_are_zero_where_nothing_is_loaded),
        TILES_TEST(a_changed_stationary_tile_is_read_again),
        TILES_TEST(a_nan_in_an_earlier_accumulation_step_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
