/* SPDX-License-Identifier: MIT */
/*
 * Scans, selections, gathers, statistics and random numbers, each as a program on a core.
 *
 * Method: inputs are loaded, the operation runs, its results are stored and compared with the
 * definition of docs/isa.md, written here once more in plain loops over host arrays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

#define P 64    /* partitions */
#define N 48    /* elements of a row of a and b */
#define HALF 24 /* of N */
#define ROW 128 /* words of a row of d */
#define A_AT 0
#define B_AT 1024
#define C_AT 2048
#define D_AT 3072
#define E_AT 4096

struct setup {
    struct engine_fixture f;
    uint32_t queue;
    uint32_t var[5];
    float *a, *b, *c, *d, *e; /* P rows of N, N, 1, ROW, 8 */
    uint64_t random;
};

static const uint32_t row_words[5] = { N, N, 1, ROW, 8 };
static const uint64_t places[5] = { A_AT, B_AT, C_AT, D_AT, E_AT };

static int set_up(void **state)
{
    struct setup *s = calloc(1, sizeof *s);
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
    return ntk_isa_sbuf(places[which], partitions, elements, dtype);
}

enum { A, B, C, D, E };

/* D = 64 rows of n, A = 64 rows of N, both float32. */
static struct ntk_isa_instr make(enum ntk_isa_op op, uint32_t n)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(op);

    instr.operand[NTK_ISA_DST] = tile(D, P, n, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC0] = tile(A, P, N, NTK_DTYPE_FLOAT32);
    return instr;
}

static void load_all(struct setup *s)
{
    engine_fixture_clear(&s->f);
    for (int v = 0; v < 5; v++) {
        engine_fixture_load(&s->f, s->queue, s->var[v], places[v], P, row_words[v] * 4);
    }
}

static void store_all(struct setup *s)
{
    engine_fixture_store(&s->f, s->queue, s->var[D], D_AT, P, ROW * 4);
    engine_fixture_store(&s->f, s->queue, s->var[E], E_AT, P, 8 * 4);
    assert_int_equal(engine_fixture_run(&s->f, NULL, 0), NTK_RUN_OK);
}

static void run(struct setup *s, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr)
{
    load_all(s);
    engine_fixture_step(&s->f, engine, *instr);
    store_all(s);
}

static void near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-5 * fabs(expected) + 1e-5)) {
        fail_msg("%.9g, not %.9g", actual, expected);
    }
}

static void fold_into_e(struct ntk_isa_instr *instr, enum ntk_isa_alu op)
{
    instr->operand[NTK_ISA_DST2] = tile(E, P, 1, NTK_DTYPE_FLOAT32);
    instr->reduce_op = op;
    instr->reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
}

/* ---- scans ---- */

static void a_scan_carries_its_state_along_the_row(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_TENSOR_TENSOR_SCAN, N);

    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC2] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_MINIMUM;
    instr.op1 = NTK_ISA_ALU_SUBTRACT;
    for (int reverse = 0; reverse < 2; reverse++) {
        instr.op_flags = reverse ? NTK_ISA_OPF_REVERSE1 : 0;
        run(s, NTK_ISA_ENGINE_DVE, &instr);
        for (int p = 0; p < P; p++) {
            double carried = s->c[p];

            for (int i = 0; i < N; i++) {
                double least = fmin(s->a[p * N + i], carried);

                carried = reverse ? s->b[p * N + i] - least : least - s->b[p * N + i];
                near(s->d[p * ROW + i], carried);
            }
        }
    }
    assert_int_equal((int)s->d[N], 77); /* nothing behind the row */
}

static void a_cumulative_sum_starts_from_its_column_or_immediate(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE, N);

    instr.op0 = NTK_ISA_ALU_MULTIPLY;
    instr.op1 = NTK_ISA_ALU_ADD;
    instr.imm[0] = ntk_isa_float_bits(0.5F);
    instr.imm[1] = ntk_isa_float_bits(3);
    for (int column = 0; column < 2; column++) {
        if (column) {
            instr.operand[NTK_ISA_SRC2] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
        }
        run(s, NTK_ISA_ENGINE_DVE, &instr);
        for (int p = 0; p < P; p++) {
            double sum = column ? (double)s->c[p] : 3;

            for (int i = 0; i < N; i++) {
                sum += 0.5 * s->a[p * N + i];
                near(s->d[p * ROW + i], sum);
            }
        }
    }
}

static void partitions_are_reduced_into_one(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_TENSOR_PARTITION_REDUCE, N);

    instr.operand[NTK_ISA_DST] = tile(D, 1, N, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_ADD;
    run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int i = 0; i < N; i++) {
        double sum = 0;

        for (int p = 0; p < P; p++) {
            sum += s->a[p * N + i];
        }
        near(s->d[i], sum);
    }
    assert_int_equal((int)s->d[ROW], 77);
}

static void exponential_subtracts_and_sums(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_EXPONENTIAL, N);

    instr.operand[NTK_ISA_SRC1] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    fold_into_e(&instr, NTK_ISA_ALU_ADD);
    run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        double sum = 0;

        for (int i = 0; i < N; i++) {
            double x = exp((double)s->a[p * N + i] - (double)s->c[p]);

            near(s->d[p * ROW + i], x);
            sum += x;
        }
        near(s->e[p * 8], sum);
    }
}

/* ---- selections ---- */

static void a_predicated_copy_leaves_the_rest_alone(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_TENSOR_COPY_PREDICATED, N);
    uint32_t *a = (void *)s->a;
    const uint32_t *d = (const void *)s->d;

    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_FLOAT32);
    for (int i = 0; i < P * N; i += 3) {
        s->b[i] = 0;
    }
    for (int reverse = 0; reverse < 2; reverse++) {
        instr.op_flags = reverse ? NTK_ISA_OPF_REVERSE0 : 0;
        for (int i = 0; i < P * ROW; i++) {
            s->d[i] = 77;
        }
        run(s, NTK_ISA_ENGINE_DVE, &instr);
        for (int i = 0; i < P * N; i++) {
            bool on = (s->b[i] != 0) != reverse;

            near(s->d[i / N * ROW + i % N], on ? s->a[i] : 77);
        }
    }
    /* Integers above 2^24 keep every bit. */
    instr.op_flags = 0;
    instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT32;
    instr.operand[NTK_ISA_SRC0].dtype = NTK_DTYPE_INT32;
    for (int i = 0; i < P * N; i++) {
        a[i] = 0x40000001U + (uint32_t)i;
        s->b[i] = 1;
    }
    run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int i = 0; i < P * N; i++) {
        assert_int_equal(d[i / N * ROW + i % N], a[i]);
    }
}

static void affine_select_makes_a_causal_mask(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_AFFINE_SELECT, N);

    /* value = 2 + p - i; on where value >= 0 */
    instr.operand[NTK_ISA_SRC1] = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                                            .dtype = NTK_DTYPE_INT32,
                                                            .var_id = NTK_ISA_NO_VAR,
                                                            .dim_count = 1,
                                                            .dim = { { -1, N } } };
    instr.op0 = NTK_ISA_ALU_GREATER_EQUAL;
    instr.imm[0] = 2;
    instr.imm[1] = 1;
    instr.imm[2] = ntk_isa_float_bits(-9984);
    run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            near(s->d[p * ROW + i], 2 + p - i >= 0 ? s->a[p * N + i] : -9984);
        }
    }
}

static void range_select_takes_places_between_bounds(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_RANGE_SELECT, N);

    for (int p = 0; p < P; p++) {
        int low = p / 4;
        int high = p / 2;

        s->c[p] = (float)(100 + low);
        s->b[p * N] = (float)(100 + high);
    }
    instr.operand[NTK_ISA_SRC1] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC2] = tile(B, P, 1, NTK_DTYPE_FLOAT32);
    instr.op0 = NTK_ISA_ALU_GREATER_EQUAL;
    instr.op1 = NTK_ISA_ALU_LESS;
    instr.imm[0] = ntk_isa_float_bits(-500);
    instr.imm[1] = ntk_isa_float_bits(100);
    fold_into_e(&instr, NTK_ISA_ALU_MAXIMUM);
    run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        double greatest = -500;

        for (int i = 0; i < N; i++) {
            double x = i >= p / 4 && i < p / 2 ? (double)s->a[p * N + i] : -500;

            near(s->d[p * ROW + i], x);
            greatest = fmax(greatest, x);
        }
        near(s->e[p * 8], greatest);
    }
}

static void select_reduce_takes_the_other_value_where_off(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_SELECT_REDUCE, N);

    for (int i = 0; i < P * N; i++) {
        s->b[i] = (float)(i % 5 == 0);
    }
    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC2] = tile(C, P, 1, NTK_DTYPE_FLOAT32);
    instr.op_flags = NTK_ISA_OPF_REVERSE0;
    fold_into_e(&instr, NTK_ISA_ALU_MAXIMUM);
    run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        double greatest = -1e30;

        for (int i = 0; i < N; i++) {
            double x = (p * N + i) % 5 != 0 ? s->a[p * N + i] : s->c[p];

            near(s->d[p * ROW + i], x);
            greatest = fmax(greatest, x);
        }
        near(s->e[p * 8], greatest);
    }
}

/* ---- gathers ---- */

static void a_gather_takes_elements_of_its_own_partition(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_NC_N_GATHER, N);
    uint32_t *b = (void *)s->b;

    for (int i = 0; i < P * N; i++) {
        b[i] = (uint32_t)(engine_fixture_random(&s->random) % (N + 2)); /* some are outside */
    }
    instr.operand[NTK_ISA_SRC1] = tile(B, P, N, NTK_DTYPE_UINT32);
    run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int i = 0; i < P * N; i++) {
        near(s->d[i / N * ROW + i % N], b[i] < N ? s->a[i / N * N + (int)b[i]] : 0);
    }
}

static void sixteen_partitions_share_the_indices_of_a_local_gather(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_LOCAL_GATHER, 60);
    uint32_t *b = (void *)s->b;

    for (int i = 0; i < P * N; i++) {
        b[i] = (uint32_t)(engine_fixture_random(&s->random) % (N / 3));
    }
    instr.operand[NTK_ISA_SRC1] = tile(B, P, 2, NTK_DTYPE_UINT32);
    instr.imm[0] = 3;  /* elements of an index */
    instr.imm[1] = 20; /* indices */
    run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int p = 0; p < P; p++) {
        for (int n = 0; n < 20; n++) {
            uint32_t index = b[(p / 16 * 16 + n % 16) * N + n / 16];

            for (int k = 0; k < 3; k++) {
                near(s->d[p * ROW + n * 3 + k], s->a[p * N + (int)index * 3 + k]);
            }
        }
    }
}

static void a_shuffle_permutes_each_quadrant_in_place(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_NC_STREAM_SHUFFLE, N);
    uint8_t *mask = (void *)s->b;
    float before[P * ROW];

    for (int p = 0; p < 32; p++) {
        mask[p] = p == 5 ? 255 : (uint8_t)(31 - p);
    }
    for (int i = 0; i < P * ROW; i++) {
        before[i] = s->d[i] = (float)i;
    }
    instr.operand[NTK_ISA_SRC0] = tile(D, P, N, NTK_DTYPE_FLOAT32);
    instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(B_AT, 1, 32, NTK_DTYPE_UINT8);
    run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int p = 0; p < P; p++) {
        int from = p % 32 == 5 ? p : p / 32 * 32 + 31 - p % 32;

        for (int i = 0; i < N; i++) {
            near(s->d[p * ROW + i], before[from * ROW + i]);
        }
    }
}

/* ---- statistics ---- */

static void batch_statistics_give_mean_and_variance(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr stats = make(NTK_ISA_OP_BN_STATS, 6);
    struct ntk_isa_instr aggr = make(NTK_ISA_OP_BN_AGGR, 2);

    load_all(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, stats);
    aggr.operand[NTK_ISA_SRC0] = stats.operand[NTK_ISA_DST];
    aggr.operand[NTK_ISA_DST] = tile(E, P, 2, NTK_DTYPE_FLOAT32);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, aggr);
    store_all(s);
    for (int p = 0; p < P; p++) {
        double sum = 0;
        double squares = 0;
        double odd = 0;

        for (int i = 0; i < N; i++) {
            sum += s->a[p * N + i];
            odd += i % 2 ? (double)s->a[p * N + i] : 0;
        }
        for (int i = 0; i < N; i++) {
            squares += pow((double)s->a[p * N + i] - sum / N, 2);
        }
        near(s->d[p * ROW], HALF);
        near(s->d[p * ROW + 3], HALF);
        near(s->d[p * ROW + 4], odd / HALF);
        near(s->e[p * 8], sum / N);
        near(s->e[p * 8 + 1], squares / N);
    }
}

static void eight_values_are_found_and_replaced_once_each(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr find = make(NTK_ISA_OP_NC_FIND_INDEX8, 8);
    struct ntk_isa_instr replace = make(NTK_ISA_OP_NC_MATCH_REPLACE8, N);
    const uint32_t *found = (const void *)s->d;
    const uint32_t *replaced = (const void *)s->e;

    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            s->a[p * N + i] = (float)(i % 20); /* 0 to 7 stand three times each */
        }
        for (int v = 0; v < 8; v++) {
            s->b[p * N + v] = (float)(v < 6 ? v / 2 : 100 - 97 * (v == 6)); /* 0 0 1 1 2 2 3 100 */
        }
    }
    find.operand[NTK_ISA_DST].dtype = NTK_DTYPE_UINT32;
    find.operand[NTK_ISA_SRC1] = tile(B, P, 8, NTK_DTYPE_FLOAT32);
    run(s, NTK_ISA_ENGINE_DVE, &find);
    for (int p = 0; p < P; p++) {
        for (int v = 0; v < 6; v++) {
            assert_int_equal(found[p * ROW + v], v / 2 + 20 * (v % 2));
        }
        assert_int_equal(found[p * ROW + 6], 3);
        assert_int_equal(found[p * ROW + 7], UINT32_MAX);
    }
    replace.operand[NTK_ISA_SRC1] = find.operand[NTK_ISA_SRC1];
    replace.operand[NTK_ISA_DST2] = tile(E, P, 8, NTK_DTYPE_UINT32);
    replace.imm[0] = ntk_isa_float_bits(-1);
    run(s, NTK_ISA_ENGINE_DVE, &replace);
    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            bool gone = i % 20 < 3 ? i < 40 : i == 3;

            near(s->d[p * ROW + i], gone ? -1 : i % 20);
        }
        assert_int_equal(replaced[p * 8 + 1], 20);
        assert_int_equal(replaced[p * 8 + 7], UINT32_MAX);
    }
}

static void places_of_what_is_not_zero_are_listed_and_counted(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_NONZERO_WITH_COUNT, N + 1);
    const int32_t *d = (const void *)s->d;

    for (int i = 0; i < P * N; i++) {
        s->a[i] = (float)(i % 7 % 3);
    }
    instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT32;
    instr.imm[0] = 1000;
    instr.imm[1] = (uint32_t)-1;
    run(s, NTK_ISA_ENGINE_POOL, &instr);
    for (int p = 0; p < P; p++) {
        int count = 0;

        for (int i = 0; i < N; i++) {
            if (s->a[p * N + i] != 0) {
                assert_int_equal(d[p * ROW + count++], 1000 + i);
            }
        }
        assert_int_equal(d[p * ROW + N], count);
        for (int i = count; i < N; i++) {
            assert_int_equal(d[p * ROW + i], -1);
        }
    }
}

static void bounds_of_sequences_skip_the_padding(void **state)
{
    static const float ids[] = { 1, 1, 1, 2, 2, 5, 0, 0 };
    static const int32_t first[] = { 0, 0, 0, 3, 3, 5, 8, 8 };
    static const int32_t last[] = { 3, 3, 3, 5, 5, 6, -1, -1 };
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_SEQUENCE_BOUNDS, 16);
    const int32_t *d = (const void *)s->d;

    memcpy(s->a, ids, sizeof ids);
    instr.operand[NTK_ISA_DST] = tile(D, 1, 16, NTK_DTYPE_INT32);
    instr.operand[NTK_ISA_SRC0] = tile(A, 1, 8, NTK_DTYPE_FLOAT32);
    run(s, NTK_ISA_ENGINE_POOL, &instr);
    assert_memory_equal(d, first, sizeof first);
    assert_memory_equal(d + 8, last, sizeof last);
}

/* ---- random numbers ---- */

/* XORWOW as its author writes it. */
static uint32_t xorwow(uint32_t v[6])
{
    uint32_t t = v[0] ^ (v[0] >> 2);

    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
    return (v[5] += 362437) + v[4];
}

static void random_numbers_follow_from_the_state(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr set = ntk_isa_instr_make(NTK_ISA_OP_RAND_SET_STATE);
    struct ntk_isa_instr bits = make(NTK_ISA_OP_RNG, N);
    struct ntk_isa_instr get = ntk_isa_instr_make(NTK_ISA_OP_RAND_GET_STATE);
    uint32_t *b = (void *)s->b;
    const uint32_t *d = (const void *)s->d;
    const uint32_t *e = (const void *)s->e;

    for (int i = 0; i < P * N; i++) {
        b[i] = (uint32_t)engine_fixture_random(&s->random);
    }
    set.operand[NTK_ISA_SRC0] = tile(B, P, 6, NTK_DTYPE_UINT32);
    bits.operand[NTK_ISA_DST].dtype = NTK_DTYPE_UINT32;
    bits.operand[NTK_ISA_SRC0].space = NTK_ISA_SPACE_NONE;
    get.operand[NTK_ISA_DST] = tile(E, P, 6, NTK_DTYPE_UINT32);
    load_all(s);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, set);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, bits);
    engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, get);
    store_all(s);
    for (int p = 0; p < P; p++) {
        uint32_t v[6];

        memcpy(v, b + p * N, sizeof v);
        for (int i = 0; i < N; i++) {
            assert_int_equal(d[p * ROW + i], xorwow(v));
        }
        assert_memory_equal(e + p * 8, v, sizeof v);
    }
}

static void a_seed_repeats_and_partitions_differ(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr seed = ntk_isa_instr_make(NTK_ISA_OP_SET_RNG_SEED);
    struct ntk_isa_instr uniform = make(NTK_ISA_OP_RAND2, N);
    uint32_t *b = (void *)s->b;
    static float first[P * ROW];
    double sum = 0;

    for (int p = 0; p < P; p++) {
        b[p * N] = (uint32_t)p % 63; /* the last partition has the seed of the first */
    }
    seed.operand[NTK_ISA_SRC0] = tile(B, P, 1, NTK_DTYPE_UINT32);
    uniform.operand[NTK_ISA_SRC0].space = NTK_ISA_SPACE_NONE;
    uniform.imm[0] = ntk_isa_float_bits(-2);
    uniform.imm[1] = ntk_isa_float_bits(6);
    for (int round = 0; round < 2; round++) {
        load_all(s);
        if (round == 0) {
            engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, uniform); /* moves the generator on */
        }
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, seed);
        engine_fixture_step(&s->f, NTK_ISA_ENGINE_DVE, uniform);
        store_all(s);
        if (round == 0) {
            memcpy(first, s->d, sizeof first);
        }
    }
    assert_memory_equal(first, s->d, sizeof first);
    assert_memory_equal(s->d, s->d + 63 * ROW, N * sizeof(float));
    assert_true(s->d[0] != s->d[ROW] && s->d[1] != s->d[ROW + 1]);
    for (int i = 0; i < P * N; i++) {
        float x = s->d[i / N * ROW + i % N];

        assert_true(x >= -2 && x < 6);
        sum += x;
    }
    /* Of 3,072 numbers of deviation 8/sqrt(12): the mean strays 0.042; five times that. */
    assert_true(fabs(sum / (P * N) - 2) < 0.21);
}

static void dropout_zeroes_the_share_it_is_told(void **state)
{
    struct setup *s = *state;
    struct ntk_isa_instr instr = make(NTK_ISA_OP_DROPOUT, N);
    int zeros = 0;

    instr.imm[0] = ntk_isa_float_bits(0.25F);
    for (int i = 0; i < P * N; i++) {
        s->a[i] = (float)(i + 1);
    }
    run(s, NTK_ISA_ENGINE_DVE, &instr);
    for (int i = 0; i < P * N; i++) {
        float x = s->d[i / N * ROW + i % N];

        zeros += x == 0;
        assert_true(x == 0 || x == s->a[i]);
    }
    /* 768 expected, deviation 24. */
    assert_in_range(zeros, 768 - 120, 768 + 120);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_scan_carries_its_state_along_the_row),
        TEST(a_cumulative_sum_starts_from_its_column_or_immediate),
        TEST(partitions_are_reduced_into_one),
        TEST(exponential_subtracts_and_sums),
        TEST(a_predicated_copy_leaves_the_rest_alone),
        TEST(affine_select_makes_a_causal_mask),
        TEST(range_select_takes_places_between_bounds),
        TEST(select_reduce_takes_the_other_value_where_off),
        TEST(a_gather_takes_elements_of_its_own_partition),
        TEST(sixteen_partitions_share_the_indices_of_a_local_gather),
        TEST(a_shuffle_permutes_each_quadrant_in_place),
        TEST(batch_statistics_give_mean_and_variance),
        TEST(eight_values_are_found_and_replaced_once_each),
        TEST(places_of_what_is_not_zero_are_listed_and_counted),
        TEST(bounds_of_sequences_skip_the_padding),
        TEST(random_numbers_follow_from_the_state),
        TEST(a_seed_repeats_and_partitions_differ),
        TEST(dropout_zeroes_the_share_it_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
