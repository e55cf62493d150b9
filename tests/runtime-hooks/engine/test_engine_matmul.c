/* SPDX-License-Identifier: MIT */
/* Products and transposes of the tensor engine, compared with their definition in double. */
#include "tests/runtime-hooks/engine/ops_fixture.h"
#include "tests/support/unit.h"

#define COLUMNS_MAX 512

/* Copies the first columns of rows into rows of COLUMNS_MAX. */
static void read_rows(struct ops *s, uint32_t var, enum ntk_dtype dtype, unsigned rows,
                      uint32_t columns, double *out)
{
    for (unsigned r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < columns; i++) {
            out[(size_t)r * COLUMNS_MAX + i] =
                ops_value(s, var, dtype, r, i, columns * (uint32_t)ntk_dtype_bytes(dtype));
        }
    }
}

static void matmul_case(struct ops *s, enum ntk_dtype dtype, unsigned k, unsigned m, unsigned n,
                        bool accumulate, double tolerance)
{
    static double left[PARTITIONS][COLUMNS_MAX];
    static double right[PARTITIONS][COLUMNS_MAX];
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
    uint32_t width = (uint32_t)ntk_dtype_bytes(dtype);

    engine_fixture_clear(&s->f);
    ops_fill(s, s->a, dtype, k, m, m * width, -1, 1);
    ops_fill(s, s->b, dtype, k, n, n * width, -1, 1);
    engine_fixture_load(&s->f, s->queue, s->a, A_AT, k, m * width);
    engine_fixture_load(&s->f, s->queue, s->b, B_AT, k, n * width);
    instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, m, n, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, k, m, dtype);
    instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, k, n, dtype);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
    if (accumulate) {
        instr.op_flags = NTK_ISA_OPF_ACCUMULATE;
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_PE, instr);
    }
    copy.operand[NTK_ISA_SRC0] = instr.operand[NTK_ISA_DST];
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, m, n, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    engine_fixture_store(&s->f, s->queue, s->d, D_AT, m, n * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    read_rows(s, s->a, dtype, k, m, &left[0][0]);
    read_rows(s, s->b, dtype, k, n, &right[0][0]);
    for (unsigned i = 0; i < m; i++) {
        for (unsigned j = 0; j < n; j++) {
            double sum = 0;

            for (unsigned r = 0; r < k; r++) {
                sum += left[r][i] * right[r][j];
            }
            ops_near(ops_value(s, s->d, NTK_DTYPE_FLOAT32, i, j, n * 4), accumulate ? 2 * sum : sum,
                     0, tolerance, "matmul", j);
        }
    }
    assert_int_equal(s->f.result.flops, (accumulate ? 2 : 1) * 2ull * k * m * n);
    assert_int_equal(s->f.result.effective_flops, s->f.result.flops);
}

static void nc_matmul_multiplies_and_accumulates(void **state)
{
    struct ops *s = *state;

    matmul_case(s, NTK_DTYPE_FLOAT32, 128, 128, 512, false, 1e-4);
    matmul_case(s, NTK_DTYPE_FLOAT32, 128, 128, 512, true, 2e-4);
    matmul_case(s, NTK_DTYPE_FLOAT32, 7, 5, 3, true, 1e-5);
    matmul_case(s, NTK_DTYPE_FLOAT32, 1, 1, 1, false, 1e-6);
    matmul_case(s, NTK_DTYPE_BFLOAT16, 128, 64, 200, true, 2e-4);
    matmul_case(s, NTK_DTYPE_FLOAT16, 33, 128, 17, false, 1e-4);
    matmul_case(s, NTK_DTYPE_FLOAT8E4, 128, 128, 256, false, 1e-4);
    matmul_case(s, NTK_DTYPE_FLOAT8E5, 16, 16, 16, true, 1e-4);
    matmul_case(s, NTK_DTYPE_FLOAT8E3, 16, 16, 16, false, 1e-4);
}

static void nc_transpose_swaps_partitions_and_columns(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_FLOAT32, NTK_DTYPE_BFLOAT16, NTK_DTYPE_INT32,
                                             NTK_DTYPE_UINT8 };
    struct ops *s = *state;

    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        unsigned rows = 96;
        unsigned columns = 40;
        uint32_t width = (uint32_t)ntk_dtype_bytes(dtypes[t]);
        struct work w = { .engine = NTK_ISA_ENGINE_PE,
                          .instr = ntk_isa_instr_make(NTK_ISA_OP_NC_TRANSPOSE),
                          .rows_a = rows,
                          .rows_d = columns,
                          .bytes_a = columns * width,
                          .bytes_d = rows * width };

        ops_fill(s, s->a, dtypes[t], rows, columns, columns * width, 0, 200);
        w.instr.operand[NTK_ISA_DST] = ntk_isa_psum(2048, columns, rows, dtypes[t]);
        w.instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, rows, columns, dtypes[t]);
        assert_int_equal(ops_run(s, &w), NTK_RUN_OK);
        for (unsigned i = 0; i < columns; i++) {
            for (unsigned p = 0; p < rows; p++) {
                assert_true(ops_value(s, s->d, dtypes[t], i, p, rows * width) ==
                            ops_value(s, s->a, dtypes[t], p, i, columns * width));
            }
        }
        assert_int_equal(s->f.result.effective_flops, 0);
        assert_int_equal(s->f.result.flops, 2ull * rows * columns * rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPS_TEST(nc_matmul_multiplies_and_accumulates),
        OPS_TEST(nc_transpose_swaps_partitions_and_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
