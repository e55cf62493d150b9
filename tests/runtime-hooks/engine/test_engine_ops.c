/* SPDX-License-Identifier: MIT */
/*
 * Each operation as a program: inputs are loaded from variables, the operation runs on its engine,
 * the result is stored and compared with the definition in docs/isa.md, evaluated here in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_dtype.h"
#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

/* Places in a partition. */
#define A_AT 0
#define B_AT 16384
#define C_AT 32768
#define D_AT 40960
#define E_AT 65536
#define ROW_BYTES 4096
#define PARTITIONS 128

struct setup {
    struct engine_fixture f;
    uint32_t queue, a, b, c, d, e;
    uint64_t random;
};

static int set_up(void **state)
{
    struct setup *s = calloc(1, sizeof *s);

    assert_non_null(s);
    engine_fixture_init(&s->f, 2);
    s->queue = engine_fixture_queue(&s->f, 16);
    s->a = engine_fixture_var(&s->f, NTK_NEFF_VAR_INPUT, PARTITIONS * ROW_BYTES);
    s->b = engine_fixture_var(&s->f, NTK_NEFF_VAR_INPUT, PARTITIONS * ROW_BYTES);
    s->c = engine_fixture_var(&s->f, NTK_NEFF_VAR_INPUT, PARTITIONS * ROW_BYTES);
    s->d = engine_fixture_var(&s->f, NTK_NEFF_VAR_OUTPUT, PARTITIONS * ROW_BYTES);
    s->e = engine_fixture_var(&s->f, NTK_NEFF_VAR_OUTPUT, PARTITIONS * ROW_BYTES);
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

/* Uniform in [low, high]. */
static double uniform(struct setup *s, double low, double high)
{
    return low +
           (high - low) * ((double)(engine_fixture_random(&s->random) >> 11) / 9007199254740992.0);
}

/* n values of a dtype into the start of every row of a variable (row after row of row_bytes). */
static void fill(struct setup *s, uint32_t var, enum ntk_dtype dtype, unsigned rows, uint32_t n,
                 uint32_t row_bytes, double low, double high)
{
    uint8_t *memory = engine_fixture_memory(&s->f, var);

    for (unsigned p = 0; p < rows; p++) {
        for (uint32_t i = 0; i < n; i++) {
            float value = (float)uniform(s, low, high);

            ntk_kernel_from_f32(dtype, &value, 1,
                                memory + (size_t)p * row_bytes + i * ntk_dtype_bytes(dtype), 8);
        }
    }
}

static double value_at(struct setup *s, uint32_t var, enum ntk_dtype dtype, unsigned row,
                       uint32_t index, uint32_t row_bytes)
{
    const uint8_t *memory = engine_fixture_memory(&s->f, var);
    float value;

    ntk_kernel_to_f32(dtype, memory + (size_t)row * row_bytes + index * ntk_dtype_bytes(dtype), 8,
                      1, &value);
    return value;
}

static void near(double actual, double expected, double relative, double absolute, const char *what,
                 double x)
{
    if (isnan(expected) ? !isnan(actual)
                        : !(fabs(actual - expected) <= relative * fabs(expected) + absolute) &&
                              actual != expected) {
        fail_msg("%s of %.9g is %.9g, not %.9g", what, x, expected, actual);
    }
}

/* A whole program: load a (and b, c), run instr, store d (and e). */
struct work {
    enum ntk_isa_engine engine;
    struct ntk_isa_instr instr;
    unsigned rows_a, rows_b, rows_c, rows_d, rows_e;
    uint32_t bytes_a, bytes_b, bytes_c, bytes_d, bytes_e; /* of a row; 0: not moved */
};

static enum ntk_engine_outcome run(struct setup *s, const struct work *w)
{
    engine_fixture_clear(&s->f);
    if (w->bytes_a) {
        engine_fixture_load(&s->f, s->queue, s->a, A_AT, w->rows_a, w->bytes_a);
    }
    if (w->bytes_b) {
        engine_fixture_load(&s->f, s->queue, s->b, B_AT, w->rows_b, w->bytes_b);
    }
    if (w->bytes_c) {
        engine_fixture_load(&s->f, s->queue, s->c, C_AT, w->rows_c, w->bytes_c);
    }
    engine_fixture_step(&s->f, w->engine, w->instr);
    if (w->instr.operand[NTK_ISA_DST].space == NTK_ISA_SPACE_PSUM) {
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

        copy.operand[NTK_ISA_SRC0] = w->instr.operand[NTK_ISA_DST];
        copy.operand[NTK_ISA_DST] = w->instr.operand[NTK_ISA_DST];
        copy.operand[NTK_ISA_DST].space = NTK_ISA_SPACE_SBUF;
        copy.operand[NTK_ISA_DST].offset = D_AT;
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, copy);
    }
    engine_fixture_store(&s->f, s->queue, s->d, D_AT, w->rows_d, w->bytes_d);
    if (w->bytes_e) {
        engine_fixture_store(&s->f, s->queue, s->e, E_AT, w->rows_e, w->bytes_e);
    }
    return engine_fixture_run(&s->f, NULL, 0);
}

static void element_wise(struct work *w, enum ntk_isa_op op, enum ntk_isa_engine engine,
                         unsigned rows, uint32_t n, enum ntk_dtype from, enum ntk_dtype to)
{
    memset(w, 0, sizeof *w);
    w->engine = engine;
    w->instr = ntk_isa_instr_make(op);
    w->instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, rows, n, to);
    w->instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, rows, n, from);
    w->rows_a = w->rows_b = w->rows_c = w->rows_d = w->rows_e = rows;
    w->bytes_a = n * (uint32_t)ntk_dtype_bytes(from);
    w->bytes_d = n * (uint32_t)ntk_dtype_bytes(to);
}

/* --- tensor engine ---------------------------------------------------------------------------- */

#define COLUMNS_MAX 512

/* The first columns of rows, into rows of COLUMNS_MAX. */
static void read_rows(struct setup *s, uint32_t var, enum ntk_dtype dtype, unsigned rows,
                      uint32_t columns, double *out)
{
    for (unsigned r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < columns; i++) {
            out[(size_t)r * COLUMNS_MAX + i] =
                value_at(s, var, dtype, r, i, columns * (uint32_t)ntk_dtype_bytes(dtype));
        }
    }
}

static void matmul_case(struct setup *s, enum ntk_dtype dtype, unsigned k, unsigned m, unsigned n,
                        bool accumulate, double tolerance)
{
    static double left[PARTITIONS][COLUMNS_MAX];
    static double right[PARTITIONS][COLUMNS_MAX];
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
    uint32_t width = (uint32_t)ntk_dtype_bytes(dtype);

    engine_fixture_clear(&s->f);
    fill(s, s->a, dtype, k, m, m * width, -1, 1);
    fill(s, s->b, dtype, k, n, n * width, -1, 1);
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
            near(value_at(s, s->d, NTK_DTYPE_FLOAT32, i, j, n * 4), accumulate ? 2 * sum : sum, 0,
                 tolerance, "matmul", j);
        }
    }
    assert_int_equal(s->f.result.flops, (accumulate ? 2 : 1) * 2ull * k * m * n);
    assert_int_equal(s->f.result.effective_flops, s->f.result.flops);
}

static void nc_matmul_multiplies_and_accumulates(void **state)
{
    struct setup *s = *state;

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
    struct setup *s = *state;

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

        fill(s, s->a, dtypes[t], rows, columns, columns * width, 0, 200);
        w.instr.operand[NTK_ISA_DST] = ntk_isa_psum(2048, columns, rows, dtypes[t]);
        w.instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, rows, columns, dtypes[t]);
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned i = 0; i < columns; i++) {
            for (unsigned p = 0; p < rows; p++) {
                assert_true(value_at(s, s->d, dtypes[t], i, p, rows * width) ==
                            value_at(s, s->a, dtypes[t], p, i, columns * width));
            }
        }
        assert_int_equal(s->f.result.effective_flops, 0);
        assert_int_equal(s->f.result.flops, 2ull * rows * columns * rows);
    }
}

/* --- activation ------------------------------------------------------------------------------- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double phi(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double activation(enum ntk_isa_act f, double x, double alpha)
{
    const double pi = 3.14159265358979323846;
    double s = sigmoid(1.702 * x);

    switch (f) {
    case NTK_ISA_ACT_COPY:
        return x;
    case NTK_ISA_ACT_SQUARE:
        return x * x;
    case NTK_ISA_ACT_SIGMOID:
        return sigmoid(x);
    case NTK_ISA_ACT_RELU:
        return fmax(x, 0);
    case NTK_ISA_ACT_PRELU:
        return x < 0 ? alpha * x : x;
    case NTK_ISA_ACT_GELU:
        return x * phi(x);
    case NTK_ISA_ACT_GELU_DX:
        return phi(x) + x * exp(-x * x / 2) / sqrt(2 * pi);
    case NTK_ISA_ACT_GELU_APPRX_TANH:
        return x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3))));
    case NTK_ISA_ACT_GELU_APPRX_SIGMOID:
        return x * s;
    case NTK_ISA_ACT_GELU_APPRX_SIGMOID_DX:
        return s + 1.702 * x * s * (1 - s);
    case NTK_ISA_ACT_SILU:
        return x * sigmoid(x);
    case NTK_ISA_ACT_SILU_DX:
        return sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x));
    case NTK_ISA_ACT_TANH:
        return tanh(x);
    case NTK_ISA_ACT_SOFTPLUS:
        return log1p(exp(x));
    case NTK_ISA_ACT_MISH:
        return x * tanh(log1p(exp(x)));
    case NTK_ISA_ACT_ERF:
        return erf(x);
    case NTK_ISA_ACT_ERF_DX:
        return 2 / sqrt(pi) * exp(-x * x);
    case NTK_ISA_ACT_EXP:
        return exp(x);
    case NTK_ISA_ACT_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case NTK_ISA_ACT_ABS:
        return fabs(x);
    case NTK_ISA_ACT_LOG:
        return log(x);
    case NTK_ISA_ACT_SIN:
        return sin(x);
    case NTK_ISA_ACT_ARCTAN:
        return atan(x);
    case NTK_ISA_ACT_SQRT:
        return sqrt(x);
    case NTK_ISA_ACT_RSQRT:
        return 1 / sqrt(x);
    case NTK_ISA_ACT_RECIPROCAL:
        return 1 / x;
    case NTK_ISA_ACT_COUNT:
        break;
    }
    fail();
    return 0;
}

static void every_activation_function_is_itself(void **state)
{
    struct setup *s = *state;

    for (int f = 0; f < NTK_ISA_ACT_COUNT; f++) {
        enum ntk_isa_act act = (enum ntk_isa_act)f;
        bool positive =
            act == NTK_ISA_ACT_LOG || act == NTK_ISA_ACT_SQRT || act == NTK_ISA_ACT_RSQRT;
        unsigned rows = 3;
        uint32_t n = 257;
        struct work w;

        element_wise(&w, NTK_ISA_OP_ACTIVATION, NTK_ISA_ENGINE_ACT, rows, n, NTK_DTYPE_FLOAT32,
                     NTK_DTYPE_FLOAT32);
        w.instr.act = act;
        w.instr.imm[0] = ntk_isa_float_bits(1.0F);
        w.instr.imm[2] = act == NTK_ISA_ACT_PRELU ? ntk_isa_float_bits(0.25F) : 0;
        fill(s, s->a, NTK_DTYPE_FLOAT32, rows, n, n * 4, positive ? 0.001 : -9, 9);
        ((float *)engine_fixture_memory(&s->f, s->a))[1] = positive ? 1.0F : 0.5F;
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            for (uint32_t i = 0; i < n; i++) {
                double x = value_at(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);

                near(value_at(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), activation(act, x, 0.25),
                     4e-6, 1e-6, ntk_isa_act_name(act), x);
            }
        }
    }
}

static void activation_far_from_zero_neither_overflows_nor_gives_nan(void **state)
{
    static const enum ntk_isa_act bounded[] = { NTK_ISA_ACT_SIGMOID,
                                                NTK_ISA_ACT_GELU,
                                                NTK_ISA_ACT_GELU_DX,
                                                NTK_ISA_ACT_GELU_APPRX_TANH,
                                                NTK_ISA_ACT_GELU_APPRX_SIGMOID,
                                                NTK_ISA_ACT_GELU_APPRX_SIGMOID_DX,
                                                NTK_ISA_ACT_SILU,
                                                NTK_ISA_ACT_SILU_DX,
                                                NTK_ISA_ACT_TANH,
                                                NTK_ISA_ACT_SOFTPLUS,
                                                NTK_ISA_ACT_MISH,
                                                NTK_ISA_ACT_ERF,
                                                NTK_ISA_ACT_ERF_DX };
    struct setup *s = *state;
    float *a = engine_fixture_memory(&s->f, s->a);

    for (size_t k = 0; k < sizeof bounded / sizeof bounded[0]; k++) {
        struct work w;

        element_wise(&w, NTK_ISA_OP_ACTIVATION, NTK_ISA_ENGINE_ACT, 1, 4, NTK_DTYPE_FLOAT32,
                     NTK_DTYPE_FLOAT32);
        w.instr.act = bounded[k];
        w.instr.imm[0] = ntk_isa_float_bits(1.0F);
        a[0] = 1000;
        a[1] = -1000;
        a[2] = 80;
        a[3] = -80;
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (uint32_t i = 0; i < 4; i++) {
            near(value_at(s, s->d, NTK_DTYPE_FLOAT32, 0, i, 16),
                 i == 0 && bounded[k] == NTK_ISA_ACT_SOFTPLUS ? 1000
                 : i == 0 && bounded[k] == NTK_ISA_ACT_MISH   ? 1000
                                                              : activation(bounded[k], a[i], 0),
                 1e-5, 1e-6, ntk_isa_act_name(bounded[k]), a[i]);
        }
    }
}

static void activation_scales_shifts_reduces_and_rounds(void **state)
{
    struct setup *s = *state;

    for (int variant = 0; variant < 4; variant++) {
        bool columns = variant & 1;
        bool from_old = variant & 2;
        unsigned rows = 64;
        uint32_t n = 300;
        struct work w;

        element_wise(&w, NTK_ISA_OP_ACTIVATION_REDUCE, NTK_ISA_ENGINE_ACT, rows, n,
                     NTK_DTYPE_BFLOAT16, NTK_DTYPE_FLOAT16);
        fill(s, s->a, NTK_DTYPE_BFLOAT16, rows, n, n * 2, -3, 3);
        fill(s, s->b, NTK_DTYPE_FLOAT32, rows, 1, 4, -1, 1);
        fill(s, s->c, NTK_DTYPE_FLOAT32, rows, 1, 4, 0.5, 2);
        w.instr.act = NTK_ISA_ACT_SIGMOID;
        w.instr.imm[0] = ntk_isa_float_bits(1.5F);
        w.instr.imm[1] = ntk_isa_float_bits(-0.25F);
        w.instr.reduce_op = NTK_ISA_ALU_ADD;
        w.instr.reduce_cmd = from_old ? NTK_ISA_REDUCE_REDUCE : NTK_ISA_REDUCE_RESET_REDUCE;
        w.bytes_b = 4;
        if (columns) {
            w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.instr.operand[NTK_ISA_SRC2] = ntk_isa_sbuf(C_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.bytes_c = 4;
        }
        /* The old value of the reduction: the column of b, which is also stored as e. */
        w.instr.operand[NTK_ISA_DST2] = ntk_isa_sbuf(E_AT, rows, 1, NTK_DTYPE_FLOAT32);
        w.bytes_e = 4;
        engine_fixture_clear(&s->f);
        {
            struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

            engine_fixture_load(&s->f, s->queue, s->a, A_AT, rows, n * 2);
            engine_fixture_load(&s->f, s->queue, s->b, B_AT, rows, 4);
            engine_fixture_load(&s->f, s->queue, s->c, C_AT, rows, 4);
            copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(E_AT, rows, 1, NTK_DTYPE_FLOAT32);
            copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(B_AT, rows, 1, NTK_DTYPE_FLOAT32);
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_POOL, copy);
            engine_fixture_step(&s->f, w.engine, w.instr);
            engine_fixture_store(&s->f, s->queue, s->d, D_AT, rows, n * 2);
            engine_fixture_store(&s->f, s->queue, s->e, E_AT, rows, 4);
        }
        assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double b = value_at(s, s->b, NTK_DTYPE_FLOAT32, p, 0, 4);
            double scale = columns ? value_at(s, s->c, NTK_DTYPE_FLOAT32, p, 0, 4) : 1.5;
            double bias = columns ? b : -0.25;
            double sum = from_old ? b : 0;

            for (uint32_t i = 0; i < n; i++) {
                double x = value_at(s, s->a, NTK_DTYPE_BFLOAT16, p, i, n * 2);
                double y = sigmoid(x * scale + bias);

                sum += y;
                near(value_at(s, s->d, NTK_DTYPE_FLOAT16, p, i, n * 2), y, 0x1p-11, 1e-6, "sigmoid",
                     x);
            }
            /* Before rounding: far closer than a sum of fp16 values would be. */
            near(value_at(s, s->e, NTK_DTYPE_FLOAT32, p, 0, 4), sum, 2e-6, 1e-5, "sum", p);
        }
    }
}

/* --- operators -------------------------------------------------------------------------------- */

static double alu(enum ntk_isa_alu op, double a, double b)
{
    switch (op) {
    case NTK_ISA_ALU_ADD:
        return a + b;
    case NTK_ISA_ALU_SUBTRACT:
        return a - b;
    case NTK_ISA_ALU_MULTIPLY:
        return a * b;
    case NTK_ISA_ALU_MAXIMUM:
        return fmax(a, b);
    case NTK_ISA_ALU_MINIMUM:
        return fmin(a, b);
    case NTK_ISA_ALU_EQUAL:
        return a == b;
    case NTK_ISA_ALU_NOT_EQUAL:
        return a != b;
    case NTK_ISA_ALU_GREATER_EQUAL:
        return a >= b;
    case NTK_ISA_ALU_GREATER:
        return a > b;
    case NTK_ISA_ALU_LESS_EQUAL:
        return a <= b;
    case NTK_ISA_ALU_LESS:
        return a < b;
    case NTK_ISA_ALU_LOGICAL_AND:
        return a != 0 && b != 0;
    case NTK_ISA_ALU_LOGICAL_OR:
        return a != 0 || b != 0;
    case NTK_ISA_ALU_LOGICAL_XOR:
        return (a != 0) != (b != 0);
    case NTK_ISA_ALU_POWER:
        return pow(a, b);
    case NTK_ISA_ALU_ABS_MAX:
        return fmax(fabs(a), fabs(b));
    case NTK_ISA_ALU_ABS_MIN:
        return fmin(fabs(a), fabs(b));
    case NTK_ISA_ALU_ABS:
        return fabs(a);
    case NTK_ISA_ALU_SQUARE:
        return a * a;
    case NTK_ISA_ALU_RELU:
        return fmax(a, 0);
    case NTK_ISA_ALU_RSQRT:
        return 1 / sqrt(a);
    case NTK_ISA_ALU_RECIPROCAL:
        return 1 / a;
    default:
        return a;
    }
}

static bool is_bitwise(enum ntk_isa_alu op)
{
    return ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC;
}

/* Small whole numbers: equality happens, and every result but power and the roots is exact. */
static void whole_numbers(struct setup *s, uint32_t var, unsigned rows, uint32_t n, double low,
                          double high)
{
    float *memory = engine_fixture_memory(&s->f, var);

    for (size_t i = 0; i < (size_t)rows * n; i++) {
        memory[i] = (float)floor(uniform(s, low, high + 0.999));
    }
}

static void every_operator_combines_two_tiles(void **state)
{
    struct setup *s = *state;

    for (int k = 1; k < NTK_ISA_ALU_COUNT; k++) {
        enum ntk_isa_alu op = (enum ntk_isa_alu)k;
        bool positive =
            op == NTK_ISA_ALU_POWER || op == NTK_ISA_ALU_RSQRT || op == NTK_ISA_ALU_RECIPROCAL;
        unsigned rows = 5;
        uint32_t n = 100;
        struct work w;

        if (is_bitwise(op)) {
            continue;
        }
        element_wise(&w, NTK_ISA_OP_TENSOR_TENSOR,
                     k % 2 && op != NTK_ISA_ALU_POWER ? NTK_ISA_ENGINE_DVE : NTK_ISA_ENGINE_POOL,
                     rows, n, NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.op0 = op;
        w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, NTK_DTYPE_FLOAT32);
        w.bytes_b = n * 4;
        whole_numbers(s, s->a, rows, n, positive ? 1 : -4, 4);
        whole_numbers(s, s->b, rows, n, -4, 4);
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            for (uint32_t i = 0; i < n; i++) {
                double a = value_at(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double b = value_at(s, s->b, NTK_DTYPE_FLOAT32, p, i, n * 4);

                near(value_at(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), alu(op, a, b),
                     positive ? 1e-6 : 0, 0, ntk_isa_alu_name(op), a);
            }
        }
    }
}

static uint32_t bits(enum ntk_isa_alu op, uint32_t a, uint32_t b, bool is_signed)
{
    bool wide = b >= 32;

    switch (op) {
    case NTK_ISA_ALU_INVERT:
        return ~a;
    case NTK_ISA_ALU_BITWISE_AND:
        return a & b;
    case NTK_ISA_ALU_BITWISE_OR:
        return a | b;
    case NTK_ISA_ALU_BITWISE_XOR:
        return a ^ b;
    case NTK_ISA_ALU_LEFT_SHIFT:
        return wide ? 0 : a << b;
    default:
        if (is_signed && a >> 31) {
            return wide ? UINT32_MAX : ~(~a >> b);
        }
        return wide ? 0 : a >> b;
    }
}

static void bit_operators_work_on_integer_bits(void **state)
{
    struct setup *s = *state;

    for (int k = 1; k < NTK_ISA_ALU_COUNT; k++) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            enum ntk_isa_alu op = (enum ntk_isa_alu)k;
            enum ntk_dtype dtype = is_signed ? NTK_DTYPE_INT32 : NTK_DTYPE_UINT32;
            unsigned rows = 4;
            uint32_t n = 64;
            uint32_t *a = engine_fixture_memory(&s->f, s->a);
            uint32_t *b = engine_fixture_memory(&s->f, s->b);
            const uint32_t *d = engine_fixture_memory(&s->f, s->d);
            bool shifts = op == NTK_ISA_ALU_LEFT_SHIFT || op == NTK_ISA_ALU_RIGHT_SHIFT;
            struct work w;

            if (!is_bitwise(op)) {
                continue;
            }
            for (size_t i = 0; i < (size_t)rows * n; i++) {
                a[i] = (uint32_t)(engine_fixture_random(&s->random) >> 20);
                b[i] =
                    (uint32_t)(engine_fixture_random(&s->random) >> 20) % (shifts ? 40 : 1u << 31);
            }
            element_wise(&w, NTK_ISA_OP_TENSOR_TENSOR, NTK_ISA_ENGINE_DVE, rows, n, dtype, dtype);
            w.instr.op0 = op;
            w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, dtype);
            w.bytes_b = n * 4;
            assert_int_equal(run(s, &w), NTK_RUN_OK);
            for (size_t i = 0; i < (size_t)rows * n; i++) {
                assert_int_equal(d[i], bits(op, a[i], b[i], is_signed));
            }
        }
    }
}

static void tensor_scalar_takes_two_steps_in_either_direction(void **state)
{
    struct setup *s = *state;

    for (int variant = 0; variant < 16; variant++) {
        bool reverse0 = variant & 1;
        bool reverse1 = variant & 2;
        bool columns = variant & 4;
        bool two = variant & 8;
        unsigned rows = 6;
        uint32_t n = 50;
        struct work w;

        element_wise(&w, NTK_ISA_OP_TENSOR_SCALAR,
                     variant % 3 == 0   ? NTK_ISA_ENGINE_DVE
                     : variant % 3 == 1 ? NTK_ISA_ENGINE_ACT
                                        : NTK_ISA_ENGINE_POOL,
                     rows, n, NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.op0 = NTK_ISA_ALU_SUBTRACT;
        w.instr.op1 = two ? NTK_ISA_ALU_GREATER : NTK_ISA_ALU_NONE;
        w.instr.imm[0] = ntk_isa_float_bits(2.0F);
        w.instr.imm[1] = two ? ntk_isa_float_bits(1.0F) : 0;
        w.instr.op_flags = (uint8_t)((reverse0 ? NTK_ISA_OPF_REVERSE0 : 0) |
                                     (reverse1 ? NTK_ISA_OPF_REVERSE1 : 0));
        whole_numbers(s, s->a, rows, n, -5, 5);
        whole_numbers(s, s->b, rows, 1, -5, 5);
        whole_numbers(s, s->c, rows, 1, -5, 5);
        if (columns) {
            w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.instr.operand[NTK_ISA_SRC2] = ntk_isa_sbuf(C_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.bytes_b = w.bytes_c = 4;
        }
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double s0 = columns ? value_at(s, s->b, NTK_DTYPE_FLOAT32, p, 0, 4) : 2;
            double s1 = columns ? value_at(s, s->c, NTK_DTYPE_FLOAT32, p, 0, 4) : 1;

            for (uint32_t i = 0; i < n; i++) {
                double a = value_at(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double t = reverse0 ? s0 - a : a - s0;
                double expected = !two ? t : reverse1 ? s1 > t : t > s1;

                near(value_at(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), expected, 0, 0,
                     "tensor_scalar", a);
            }
        }
    }
}

static void tensor_scalar_on_bits_takes_integer_scalars(void **state)
{
    struct setup *s = *state;
    uint16_t *a = engine_fixture_memory(&s->f, s->a);
    const uint16_t *d = engine_fixture_memory(&s->f, s->d);
    struct work w;

    element_wise(&w, NTK_ISA_OP_TENSOR_SCALAR, NTK_ISA_ENGINE_DVE, 2, 32, NTK_DTYPE_UINT16,
                 NTK_DTYPE_UINT16);
    w.instr.op0 = NTK_ISA_ALU_LEFT_SHIFT;
    w.instr.imm[0] = 3;
    w.instr.op1 = NTK_ISA_ALU_BITWISE_XOR;
    w.instr.imm[1] = 0xffff;
    for (int i = 0; i < 64; i++) {
        a[i] = (uint16_t)engine_fixture_random(&s->random);
    }
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(d[i], (uint16_t)((uint16_t)(a[i] << 3) ^ 0xffff));
    }
    w.instr.op_flags = NTK_ISA_OPF_REVERSE0; /* 3 << a, then xor */
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(d[i], (uint16_t)((a[i] < 16 ? (uint16_t)(3 << a[i]) : 0) ^ 0xffff));
    }
}

static void tensor_scalar_reduce_folds_the_row(void **state)
{
    static const enum ntk_isa_alu folds[] = { NTK_ISA_ALU_ADD, NTK_ISA_ALU_MAXIMUM,
                                              NTK_ISA_ALU_MINIMUM, NTK_ISA_ALU_SUBTRACT,
                                              NTK_ISA_ALU_LOGICAL_OR };
    struct setup *s = *state;

    for (size_t k = 0; k < sizeof folds / sizeof folds[0]; k++) {
        unsigned rows = 9;
        uint32_t n = 77;
        struct work w;

        element_wise(&w, NTK_ISA_OP_TENSOR_SCALAR_REDUCE, NTK_ISA_ENGINE_DVE, rows, n,
                     NTK_DTYPE_FLOAT32, NTK_DTYPE_FLOAT32);
        w.instr.op0 = NTK_ISA_ALU_MULTIPLY;
        w.instr.imm[0] = ntk_isa_float_bits(3.0F);
        w.instr.reduce_op = folds[k];
        w.instr.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
        w.instr.operand[NTK_ISA_DST2] = ntk_isa_sbuf(E_AT, rows, 1, NTK_DTYPE_FLOAT32);
        w.bytes_e = 4;
        whole_numbers(s, s->a, rows, n, -9, 9);
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double folded = 0;

            for (uint32_t i = 0; i < n; i++) {
                double t = 3 * value_at(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);

                near(value_at(s, s->d, NTK_DTYPE_FLOAT32, p, i, n * 4), t, 0, 0, "product", t);
                folded = i == 0 ? t : alu(folds[k], folded, t);
            }
            near(value_at(s, s->e, NTK_DTYPE_FLOAT32, p, 0, 4), folded, 0, 0,
                 ntk_isa_alu_name(folds[k]), p);
        }
    }
}

static void scalar_tensor_tensor_combines_all_three(void **state)
{
    struct setup *s = *state;

    for (int variant = 0; variant < 8; variant++) {
        bool reverse0 = variant & 1;
        bool reverse1 = variant & 2;
        bool column = variant & 4;
        unsigned rows = 4;
        uint32_t n = 60;
        struct work w;

        element_wise(&w, NTK_ISA_OP_SCALAR_TENSOR_TENSOR, NTK_ISA_ENGINE_DVE, rows, n,
                     NTK_DTYPE_FLOAT32, NTK_DTYPE_BFLOAT16);
        w.instr.op0 = NTK_ISA_ALU_SUBTRACT;
        w.instr.op1 = NTK_ISA_ALU_SUBTRACT;
        w.instr.imm[0] = ntk_isa_float_bits(7.0F);
        w.instr.op_flags = (uint8_t)((reverse0 ? NTK_ISA_OPF_REVERSE0 : 0) |
                                     (reverse1 ? NTK_ISA_OPF_REVERSE1 : 0));
        w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, NTK_DTYPE_FLOAT32);
        w.bytes_b = n * 4;
        whole_numbers(s, s->a, rows, n, -20, 20);
        whole_numbers(s, s->b, rows, n, -20, 20);
        whole_numbers(s, s->c, rows, 1, -20, 20);
        if (column) {
            w.instr.operand[NTK_ISA_SRC2] = ntk_isa_sbuf(C_AT, rows, 1, NTK_DTYPE_FLOAT32);
            w.bytes_c = 4;
        }
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            double scalar = column ? value_at(s, s->c, NTK_DTYPE_FLOAT32, p, 0, 4) : 7;

            for (uint32_t i = 0; i < n; i++) {
                double a = value_at(s, s->a, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double b = value_at(s, s->b, NTK_DTYPE_FLOAT32, p, i, n * 4);
                double t = reverse0 ? scalar - a : a - scalar;

                near(value_at(s, s->d, NTK_DTYPE_BFLOAT16, p, i, n * 2), reverse1 ? b - t : t - b,
                     0, 0, "scalar_tensor_tensor", a);
            }
        }
    }
}

static void tensor_reduce_folds_the_innermost_dimensions(void **state)
{
    struct setup *s = *state;

    for (int axes = 1; axes <= 3; axes++) {
        unsigned rows = 7;
        uint32_t counts[3] = { 5, 4, 6 };
        uint32_t n = 5 * 4 * 6;
        uint32_t group = axes == 1 ? 5 : axes == 2 ? 20 : 120;
        struct work w;

        element_wise(&w, NTK_ISA_OP_TENSOR_REDUCE, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                     NTK_DTYPE_FLOAT32);
        w.instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, rows, n / group, NTK_DTYPE_FLOAT32);
        w.instr.operand[NTK_ISA_SRC0].dim_count = 3;
        /* Dimensions out of memory order: dim 0 steps 6, dim 1 steps 30, dim 2 steps 1. */
        w.instr.operand[NTK_ISA_SRC0].dim[0] = (struct ntk_isa_dim){ 6, counts[0] };
        w.instr.operand[NTK_ISA_SRC0].dim[1] = (struct ntk_isa_dim){ 30, counts[1] };
        w.instr.operand[NTK_ISA_SRC0].dim[2] = (struct ntk_isa_dim){ 1, counts[2] };
        w.instr.axis_count = (uint8_t)axes;
        w.instr.op0 = axes == 2 ? NTK_ISA_ALU_MAXIMUM : NTK_ISA_ALU_ADD;
        w.instr.op_flags = axes == 3 ? NTK_ISA_OPF_NEGATE : 0;
        w.bytes_d = n / group * 4;
        whole_numbers(s, s->a, rows, n, -100, 100);
        assert_int_equal(run(s, &w), NTK_RUN_OK);
        for (unsigned p = 0; p < rows; p++) {
            for (uint32_t g = 0; g < n / group; g++) {
                double folded = 0;

                for (uint32_t i = 0; i < group; i++) {
                    uint32_t e = g * group + i;
                    uint32_t at = e % 5 * 6 + e / 5 % 4 * 30 + e / 20;
                    double x = value_at(s, s->a, NTK_DTYPE_FLOAT32, p, at, n * 4);

                    folded = i == 0 ? x : alu(w.instr.op0, folded, x);
                }
                near(value_at(s, s->d, NTK_DTYPE_FLOAT32, p, g, n / group * 4),
                     axes == 3 ? -folded : folded, 0, 0, "reduction", g);
            }
        }
    }
}

/* --- the rest --------------------------------------------------------------------------------- */

static void tensor_copy_converts_and_follows_patterns(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_FLOAT32, NTK_DTYPE_BFLOAT16,
                                             NTK_DTYPE_FLOAT16, NTK_DTYPE_FLOAT8E4,
                                             NTK_DTYPE_INT32,   NTK_DTYPE_INT8,
                                             NTK_DTYPE_UINT16 };
    struct setup *s = *state;

    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        for (size_t k = 0; k < sizeof dtypes / sizeof dtypes[0]; k++) {
            unsigned rows = 3;
            uint32_t n = 24;
            uint32_t from_width = (uint32_t)ntk_dtype_bytes(dtypes[i]);
            uint32_t to_width = (uint32_t)ntk_dtype_bytes(dtypes[k]);
            struct work w;

            element_wise(&w, NTK_ISA_OP_TENSOR_COPY, NTK_ISA_ENGINE_DVE, rows, n, dtypes[i],
                         dtypes[k]);
            /* Read backwards, write as a 6 x 4 array transposed. */
            w.instr.operand[NTK_ISA_SRC0].offset = A_AT + (n - 1) * from_width;
            w.instr.operand[NTK_ISA_SRC0].dim[0].step = -1;
            w.instr.operand[NTK_ISA_DST].dim_count = 2;
            w.instr.operand[NTK_ISA_DST].dim[0] = (struct ntk_isa_dim){ 6, 4 };
            w.instr.operand[NTK_ISA_DST].dim[1] = (struct ntk_isa_dim){ 1, 6 };
            fill(s, s->a, dtypes[i], rows, n, n * from_width, -300, 300);
            assert_int_equal(run(s, &w), NTK_RUN_OK);
            for (unsigned p = 0; p < rows; p++) {
                for (uint32_t e = 0; e < n; e++) {
                    uint8_t expected[8] = { 0 };
                    const uint8_t *a = engine_fixture_memory(&s->f, s->a);
                    const uint8_t *d = engine_fixture_memory(&s->f, s->d);

                    ntk_kernel_cast(dtypes[i], a + ((size_t)p * n + n - 1 - e) * from_width, 8,
                                    dtypes[k], expected, 8, 1);
                    assert_memory_equal(d + ((size_t)p * n + e % 4 * 6 + e / 4) * to_width,
                                        expected, to_width);
                }
            }
        }
    }
}

/* Method: each partition takes the row of the partition before it, in place. Row by row without
 * care, row 0 would go through the whole tile. */
static void a_shift_by_one_partition_reads_before_it_writes(void **state)
{
    struct setup *s = *state;
    unsigned rows = 100;
    uint32_t n = 16;
    struct work w;

    element_wise(&w, NTK_ISA_OP_TENSOR_COPY, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                 NTK_DTYPE_FLOAT32);
    fill(s, s->a, NTK_DTYPE_FLOAT32, rows, n, n * 4, -1, 1);
    engine_fixture_load(&s->f, s->queue, s->a, A_AT, rows, n * 4);
    w.instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(A_AT, rows - 1, n, NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, rows - 1, n, NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_DST].partition_start = 1;
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, w.instr);
    engine_fixture_store(&s->f, s->queue, s->d, A_AT, rows, n * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (unsigned p = 0; p < rows; p++) {
        assert_memory_equal(
            (uint8_t *)engine_fixture_memory(&s->f, s->d) + (size_t)p * n * 4,
            (uint8_t *)engine_fixture_memory(&s->f, s->a) + (size_t)(p ? p - 1 : 0) * n * 4, n * 4);
    }
}

static void a_row_shifted_onto_itself_reads_before_it_writes(void **state)
{
    struct setup *s = *state;
    uint32_t n = 500;
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);

    whole_numbers(s, s->a, 1, n + 1, -9, 9);
    engine_fixture_load(&s->f, s->queue, s->a, A_AT, 1, (n + 1) * 4);
    add.op0 = NTK_ISA_ALU_ADD; /* x[i + 1] = x[i] + x[i + 1] */
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(A_AT + 4, 1, n, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(A_AT, 1, n, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(A_AT + 4, 1, n, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, add);
    engine_fixture_store(&s->f, s->queue, s->d, A_AT, 1, (n + 1) * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(d[i + 1] == a[i] + a[i + 1]);
    }
}

static void one_partition_can_be_read_for_all(void **state)
{
    struct setup *s = *state;
    unsigned rows = 20;
    uint32_t n = 8;
    struct work w;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *b = engine_fixture_memory(&s->f, s->b);
    const float *d = engine_fixture_memory(&s->f, s->d);

    element_wise(&w, NTK_ISA_OP_TENSOR_TENSOR, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                 NTK_DTYPE_FLOAT32);
    w.instr.op0 = NTK_ISA_ALU_MULTIPLY;
    w.instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, rows, n, NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_SRC1].partition_step = 0;
    w.bytes_b = n * 4;
    whole_numbers(s, s->a, rows, n, -9, 9);
    whole_numbers(s, s->b, rows, n, -9, 9);
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    for (unsigned p = 0; p < rows; p++) {
        for (uint32_t i = 0; i < n; i++) {
            assert_true(d[p * n + i] == a[p * n + i] * b[i]);
        }
    }
}

static void memset_fills_floats_by_value_and_integers_by_bits(void **state)
{
    struct setup *s = *state;
    struct work w;

    element_wise(&w, NTK_ISA_OP_MEMSET, NTK_ISA_ENGINE_POOL, 2, 10, NTK_DTYPE_BFLOAT16,
                 NTK_DTYPE_BFLOAT16);
    w.instr.operand[NTK_ISA_SRC0] = (struct ntk_isa_operand){ .var_id = NTK_ISA_NO_VAR };
    w.instr.imm[0] = ntk_isa_float_bits(-1.5F);
    w.bytes_a = 0;
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    assert_true(value_at(s, s->d, NTK_DTYPE_BFLOAT16, 1, 9, 20) == -1.5);
    w.instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT64;
    w.instr.imm[0] = 0x89abcdef;
    w.instr.imm[1] = 0x01234567;
    w.bytes_d = 80;
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    assert_true(((int64_t *)engine_fixture_memory(&s->f, s->d))[19] == 0x0123456789abcdef);
}

static void iota_counts_along_its_pattern_and_the_partitions(void **state)
{
    struct setup *s = *state;
    const int32_t *d = engine_fixture_memory(&s->f, s->d);
    struct work w;

    element_wise(&w, NTK_ISA_OP_IOTA, NTK_ISA_ENGINE_POOL, 5, 12, NTK_DTYPE_INT32, NTK_DTYPE_INT32);
    w.instr.operand[NTK_ISA_SRC0] = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                                              .dtype = NTK_DTYPE_INT32,
                                                              .var_id = NTK_ISA_NO_VAR,
                                                              .dim_count = 2,
                                                              .dim = { { 10, 4 }, { -3, 3 } } };
    w.instr.imm[0] = (uint32_t)-7;
    w.instr.imm[1] = 1000;
    w.bytes_a = 0;
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    for (int p = 0; p < 5; p++) {
        for (int i = 0; i < 12; i++) {
            assert_int_equal(d[p * 12 + i], -7 + 1000 * p + i % 4 * 10 - i / 4 * 3);
        }
    }
}

static void reciprocal_and_max8(void **state)
{
    struct setup *s = *state;
    struct work w;
    unsigned rows = 11;
    uint32_t n = 200;

    element_wise(&w, NTK_ISA_OP_RECIPROCAL, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                 NTK_DTYPE_FLOAT32);
    fill(s, s->a, NTK_DTYPE_FLOAT32, rows, n, n * 4, 0.1, 100);
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    for (uint32_t i = 0; i < n; i++) {
        double x = value_at(s, s->a, NTK_DTYPE_FLOAT32, 10, i, n * 4);

        near(value_at(s, s->d, NTK_DTYPE_FLOAT32, 10, i, n * 4), 1 / x, 1e-7, 0, "1/x", x);
    }

    element_wise(&w, NTK_ISA_OP_MAX8, NTK_ISA_ENGINE_DVE, rows, n, NTK_DTYPE_FLOAT32,
                 NTK_DTYPE_FLOAT32);
    w.instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(D_AT, rows, 8, NTK_DTYPE_FLOAT32);
    w.bytes_d = 32;
    whole_numbers(s, s->a, rows, n, -50, 50); /* with equal values */
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    for (unsigned p = 0; p < rows; p++) {
        float sorted[200] = { 0 };
        const float *row = (float *)engine_fixture_memory(&s->f, s->a) + (size_t)p * n;

        for (uint32_t i = 0; i < n; i++) { /* insertion sort, falling */
            uint32_t at = i;

            for (; at > 0 && sorted[at - 1] < row[i]; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = row[i];
        }
        assert_memory_equal((float *)engine_fixture_memory(&s->f, s->d) + (size_t)p * 8, sorted,
                            32);
    }
}

static void a_nan_that_is_computed_is_a_numerical_error_and_outputs_are_valid(void **state)
{
    struct setup *s = *state;
    float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct work w;

    element_wise(&w, NTK_ISA_OP_ACTIVATION, NTK_ISA_ENGINE_ACT, 2, 4, NTK_DTYPE_FLOAT32,
                 NTK_DTYPE_FLOAT32);
    w.instr.act = NTK_ISA_ACT_LOG;
    w.instr.imm[0] = ntk_isa_float_bits(1.0F);
    for (int i = 0; i < 8; i++) {
        a[i] = i == 5 ? -1.0F : 1.0F;
    }
    assert_int_equal(run(s, &w), NTK_RUN_NUMERICAL_ERROR);
    assert_int_equal(s->f.result.fault_engine, NTK_ENGINE_ACT);
    assert_int_equal(s->f.result.fault_slot, 0);
    assert_true(isnan(d[5]) && d[4] == 0.0F && d[7] == 0.0F);
    a[5] = 1.0F;
    assert_int_equal(run(s, &w), NTK_RUN_OK);
    assert_int_equal(s->f.result.fault_engine, NTK_ENGINE_COUNT);
}

/* --- transfers with an operation -------------------------------------------------------------- */

static struct ntk_neff_pattern row(uint32_t var, uint64_t offset, enum ntk_dtype dtype,
                                   uint64_t bytes)
{
    return (struct ntk_neff_pattern){ .var = var,
                                      .dtype = dtype,
                                      .offset = offset,
                                      .dim_count = 1,
                                      .steps = { 1 },
                                      .sizes = { bytes } };
}

/* One group, triggered once; d holds 1, 2, 3 ... before. */
static struct ntk_neff_transfer *transfer_begin(struct setup *s, enum ntk_neff_transfer_op op,
                                                uint64_t bytes)
{
    struct ntk_neff_transfer *t;
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    float *d = engine_fixture_memory(&s->f, s->d);

    for (int i = 0; i < 64; i++) {
        d[i] = (float)(i + 1);
    }
    whole_numbers(s, s->a, 1, 64, -9, 9);
    whole_numbers(s, s->b, 1, 64, -9, 9);
    engine_fixture_clear(&s->f);
    t = engine_fixture_group(&s->f, NTK_ISA_ENGINE_POOL, s->queue, 7, 0xffff);
    t->op = op;
    t->to = row(s->d, 0, NTK_DTYPE_FLOAT32, bytes);
    t->from[0] = row(s->a, 0, NTK_DTYPE_FLOAT32, bytes);
    trigger.queue = (uint16_t)s->queue;
    trigger.group_id = 7;
    engine_fixture_emit(&s->f, NTK_ISA_ENGINE_POOL, &trigger);
    return t;
}

static void one_source_is_folded_with_what_the_destination_holds(void **state)
{
    struct setup *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t;

    transfer_begin(s, NTK_NEFF_TRANSFER_ADD, 256);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == (float)(i + 1) + a[i]);
    }
    assert_int_equal(s->f.result.hbm_read_bytes, 512); /* the destination is read too */
    assert_int_equal(s->f.result.hbm_write_bytes, 256);
    t = transfer_begin(s, NTK_NEFF_TRANSFER_FMA, 256);
    t->scales[0] = 2.5F;
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == (float)(i + 1) + 2.5F * a[i]);
    }
    transfer_begin(s, NTK_NEFF_TRANSFER_MIN, 256);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == fminf((float)(i + 1), a[i]));
    }
    t = transfer_begin(s, NTK_NEFF_TRANSFER_MAX, 256);
    t->has_constant = true;
    t->constant_dtype = NTK_DTYPE_FLOAT32;
    t->constant = 2.0;
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == fmaxf(2.0F, a[i]));
    }
}

static void a_list_of_sources_is_folded_and_written(void **state)
{
    struct setup *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *b = engine_fixture_memory(&s->f, s->b);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_FMA, 256);

    t->has_source_array = true;
    t->source_count = 16;
    for (int k = 0; k < 16; k++) {
        t->from[k] = row(k % 2 ? s->b : s->a, 0, NTK_DTYPE_FLOAT32, 256);
        t->scales[k] = (float)k;
    }
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == 56 * a[i] + 64 * b[i]); /* 0 + 2 + .. + 14, 1 + 3 + .. + 15 */
    }
}

static void a_transfer_casts_and_transposes(void **state)
{
    struct setup *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const void *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_CAST, 256);

    t->to = row(s->d, 1, NTK_DTYPE_INT8, 64); /* from byte 1: nothing is aligned */
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(((const int8_t *)d)[i + 1], (int)a[i]);
    }
    t = transfer_begin(s, NTK_NEFF_TRANSFER_TRANSPOSE, 256);
    t->transpose_shape[0] = t->transpose_shape[1] = 1;
    t->transpose_shape[2] = 4;
    t->transpose_shape[3] = 16;
    t->transpose_element_bytes = 4;
    memcpy(t->transpose_order, "WZXY", 5);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 16; x++) {
            assert_true(((const float *)d)[x * 4 + y] == a[y * 16 + x]);
        }
    }
    t = transfer_begin(s, NTK_NEFF_TRANSFER_TRANSPOSE, 256);
    t->transpose_shape[0] = t->transpose_shape[1] = 1;
    t->transpose_shape[2] = 4;
    t->transpose_shape[3] = 8; /* two tiles */
    t->transpose_element_bytes = 4;
    memcpy(t->transpose_order, "WZXY", 5);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int n = 0; n < 64; n++) {
        assert_true(((const float *)d)[n] == a[n / 32 * 32 + n % 4 * 8 + n % 32 / 4]);
    }
}

/* Method: a rotation of a row inside one variable, as two overlapping dimensions no memmove can
 * do. */
static void a_transfer_onto_its_own_source_reads_first(void **state)
{
    struct setup *s = *state;
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_COPY, 256);
    const float *d = engine_fixture_memory(&s->f, s->d);

    t->from[0] = row(s->d, 0, NTK_DTYPE_UINT8, 4);
    t->from[0].dim_count = 2;
    t->from[0].steps[1] = 8;
    t->from[0].sizes[1] = 30;
    t->to = row(s->d, 16, NTK_DTYPE_UINT8, 120);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 64; i++) {
        assert_true(d[i] == (float)(i < 4 || i >= 34 ? i + 1 : 2 * (i - 4) + 1));
    }
}

/* One of many sources overlaps: only that one is copied away, and there is room for no more. */
static void a_sum_into_one_of_its_sources_is_the_sum(void **state)
{
    struct setup *s = *state;
    const float *a = engine_fixture_memory(&s->f, s->a);
    const float *d = engine_fixture_memory(&s->f, s->d);
    struct ntk_neff_transfer *t = transfer_begin(s, NTK_NEFF_TRANSFER_ADD, 128);

    t->has_source_array = true;
    t->source_count = 16;
    for (int k = 0; k < 15; k++) {
        t->from[k] = row(s->a, 0, NTK_DTYPE_FLOAT32, 128);
    }
    t->from[15] = row(s->d, 0, NTK_DTYPE_FLOAT32, 128);
    t->to = row(s->d, 4, NTK_DTYPE_FLOAT32, 128); /* one element further */
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
    for (int i = 0; i < 32; i++) {
        assert_true(d[i + 1] == 15 * a[i] + (float)(i + 1));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nc_matmul_multiplies_and_accumulates),
        TEST(nc_transpose_swaps_partitions_and_columns),
        TEST(every_activation_function_is_itself),
        TEST(activation_far_from_zero_neither_overflows_nor_gives_nan),
        TEST(activation_scales_shifts_reduces_and_rounds),
        TEST(every_operator_combines_two_tiles),
        TEST(bit_operators_work_on_integer_bits),
        TEST(tensor_scalar_takes_two_steps_in_either_direction),
        TEST(tensor_scalar_on_bits_takes_integer_scalars),
        TEST(tensor_scalar_reduce_folds_the_row),
        TEST(scalar_tensor_tensor_combines_all_three),
        TEST(tensor_reduce_folds_the_innermost_dimensions),
        TEST(tensor_copy_converts_and_follows_patterns),
        TEST(a_shift_by_one_partition_reads_before_it_writes),
        TEST(a_row_shifted_onto_itself_reads_before_it_writes),
        TEST(one_partition_can_be_read_for_all),
        TEST(memset_fills_floats_by_value_and_integers_by_bits),
        TEST(iota_counts_along_its_pattern_and_the_partitions),
        TEST(reciprocal_and_max8),
        TEST(a_nan_that_is_computed_is_a_numerical_error_and_outputs_are_valid),
        TEST(one_source_is_folded_with_what_the_destination_holds),
        TEST(a_list_of_sources_is_folded_and_written),
        TEST(a_transfer_casts_and_transposes),
        TEST(a_transfer_onto_its_own_source_reads_first),
        TEST(a_sum_into_one_of_its_sources_is_the_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
