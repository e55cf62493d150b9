/* SPDX-License-Identifier: MIT */
/*
 * Method: every memory that DMA reaches (two variables, the state buffer, PSUM) is filled with
 * random bytes, a random DMA instruction runs on the engine and, element by element, in a model of
 * these memories that knows nothing of walks and runs; then all bytes of all memories must be
 * equal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

enum {
    X = 1, /* variables */
    Y = 2,
    SB = 3, /* what goes into the state buffer and comes back */
    PS = 4, /* the same for PSUM */
    TABLE = 5,
    POINTER = 6,
    VAR_BYTES = 4096,
    ROW_BYTES = 96, /* of a partition that are used */
    PARTITIONS = NTK_ISA_PARTITIONS,
    QUEUE = 0,   /* for loads and stores */
    DYNAMIC = 1, /* for what is tested */
    ELEMENTS_MAX = 2048,
};

struct model {
    uint8_t x[VAR_BYTES], y[VAR_BYTES];
    uint8_t sbuf[PARTITIONS][ROW_BYTES], psum[PARTITIONS][ROW_BYTES];
};

static uint32_t table_list[] = { X, Y, POINTER };
static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    return (uint32_t)(engine_fixture_random(&random_state) % below);
}

static int set_up(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    random_state = 88172645463325252u;
    engine_fixture_init(f, 3);
    engine_fixture_queue(f, 16);
    engine_fixture_queue(f, 16);
    f->queue_sets[DYNAMIC].type = NTK_NEFF_QUEUE_DYNAMIC;
    assert_int_equal(engine_fixture_var(f, NTK_NEFF_VAR_INPUT, VAR_BYTES), X);
    assert_int_equal(engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, VAR_BYTES), Y);
    assert_int_equal(engine_fixture_var(f, NTK_NEFF_VAR_TMP_BUF, PARTITIONS * ROW_BYTES), SB);
    assert_int_equal(engine_fixture_var(f, NTK_NEFF_VAR_TMP_BUF, PARTITIONS * ROW_BYTES), PS);
    assert_int_equal(engine_fixture_var(f, NTK_NEFF_VAR_DGE_TABLE, 8), TABLE);
    assert_int_equal(engine_fixture_var(f, NTK_NEFF_VAR_POINTER, 8), POINTER);
    f->vars[TABLE].list = table_list;
    f->vars[TABLE].list_count = 3;
    f->vars[POINTER].referenced_var_id = X;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_fini(f);
    free(f);
    return 0;
}

/* --- the model -------------------------------------------------------------------------------- */

/* The n-th element of an operand, partitions outermost, dim[0] innermost. */
static uint8_t *element(struct model *m, const struct ntk_isa_operand *operand, uint64_t n)
{
    uint64_t inner = ntk_isa_operand_partition_elements(operand);
    uint64_t partition = operand->partition_start + n / inner * operand->partition_step;
    int64_t at = (int64_t)operand->offset;

    if (operand->space == NTK_ISA_SPACE_VAR) {
        assert_true(n < inner);
    }
    n %= inner;
    for (unsigned d = 0; d < operand->dim_count; d++) {
        at += (int64_t)(n % operand->dim[d].count) * operand->dim[d].step *
              (int64_t)ntk_dtype_bytes(operand->dtype);
        n /= operand->dim[d].count;
    }
    switch (operand->space) {
    case NTK_ISA_SPACE_SBUF:
        return &m->sbuf[partition][at];
    case NTK_ISA_SPACE_PSUM:
        return &m->psum[partition][at];
    default:
        return operand->var_id == Y ? &m->y[at] : &m->x[at]; /* a pointer leads to x */
    }
}

static void fill(struct engine_fixture *f, struct model *m)
{
    uint8_t *bytes = (uint8_t *)m;

    for (size_t i = 0; i < sizeof *m; i++) {
        bytes[i] = (uint8_t)pick(256);
    }
    memcpy(engine_fixture_memory(f, X), m->x, VAR_BYTES);
    memcpy(engine_fixture_memory(f, Y), m->y, VAR_BYTES);
    memcpy(engine_fixture_memory(f, SB), m->sbuf, sizeof m->sbuf);
    memcpy(engine_fixture_memory(f, PS), m->psum, sizeof m->psum);
}

static void psum_move(struct engine_fixture *f, bool load)
{
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    int tile = load ? NTK_ISA_DST : NTK_ISA_SRC0;

    copy.operand[tile] = ntk_isa_psum(0, PARTITIONS, ROW_BYTES, NTK_DTYPE_UINT8);
    copy.operand[load ? NTK_ISA_SRC0 : NTK_ISA_DST] =
        ntk_isa_var(PS, 0, PARTITIONS, ROW_BYTES, ROW_BYTES, NTK_DTYPE_UINT8);
    engine_fixture_step(f, NTK_ISA_ENGINE_SP, copy);
}

/* All memories in, the instruction, all memories back. */
static enum ntk_engine_outcome run(struct engine_fixture *f, const struct ntk_isa_instr *instr)
{
    engine_fixture_clear(f);
    engine_fixture_load(f, QUEUE, SB, 0, PARTITIONS, ROW_BYTES);
    psum_move(f, true);
    engine_fixture_step(f, NTK_ISA_ENGINE_SP, *instr);
    psum_move(f, false);
    engine_fixture_store(f, QUEUE, SB, 0, PARTITIONS, ROW_BYTES);
    return engine_fixture_run(f, NULL, 0);
}

static void print_side(const char *what, const struct ntk_isa_operand *o)
{
    print_message("%s space %d var %u dtype %d offset %llu partitions %u:%u:%u dims", what,
                  (int)o->space, o->var_id, (int)o->dtype, (unsigned long long)o->offset,
                  o->partition_start, o->partition_count, o->partition_step);
    for (unsigned d = 0; d < o->dim_count; d++) {
        print_message(" %u:%d", o->dim[d].count, o->dim[d].step);
    }
    print_message("\n");
}

static void expect(struct engine_fixture *f, const struct model *m,
                   const struct ntk_isa_instr *instr)
{
    if (memcmp(engine_fixture_memory(f, X), m->x, VAR_BYTES) != 0 ||
        memcmp(engine_fixture_memory(f, Y), m->y, VAR_BYTES) != 0 ||
        memcmp(engine_fixture_memory(f, SB), m->sbuf, sizeof m->sbuf) != 0 ||
        memcmp(engine_fixture_memory(f, PS), m->psum, sizeof m->psum) != 0) {
        static const char *const names[] = { "D", "A", "B", "C", "E", "F" };

        print_message("op0 %d flags 0x%02x imm %x %x %x %x\n", (int)instr->op0, instr->op_flags,
                      instr->imm[0], instr->imm[1], instr->imm[2], instr->imm[3]);
        for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
            if (instr->operand[r].space != NTK_ISA_SPACE_NONE) {
                print_side(names[r], &instr->operand[r]);
            }
        }
        fail_msg("%s: the memories differ from the model", ntk_isa_op_info_get(instr->op)->name);
    }
}

/* --- random operands -------------------------------------------------------------------------- */

static uint32_t divisor(uint32_t of, uint32_t max)
{
    uint32_t d = 1 + pick(of < max ? of : max);

    while (of % d != 0) {
        d--;
    }
    return d;
}

/* So many elements somewhere in the space, in dimensions with any steps. */
static struct ntk_isa_operand any_operand(enum ntk_isa_space space, uint32_t elements,
                                          enum ntk_dtype dtype)
{
    int64_t room = space == NTK_ISA_SPACE_VAR ? VAR_BYTES : ROW_BYTES;

    for (;;) {
        struct ntk_isa_operand o = { .space = space,
                                     .dtype = dtype,
                                     .var_id = space == NTK_ISA_SPACE_VAR ? X + pick(2)
                                                                          : NTK_ISA_NO_VAR };
        uint32_t left = elements;
        int64_t reach = 1;
        int64_t low;
        int64_t high;

        if (space != NTK_ISA_SPACE_VAR) {
            o.partition_count = (uint16_t)divisor(elements, PARTITIONS);
            o.partition_step = (uint16_t)(o.partition_count <= PARTITIONS / 2 ? 1 + pick(2) : 1);
            o.partition_start =
                (uint16_t)pick(PARTITIONS - (o.partition_count - 1u) * (unsigned)o.partition_step);
            left /= o.partition_count;
        }
        o.dim_count = (uint8_t)(1 + pick(NTK_ISA_DIMS_MAX));
        for (unsigned d = 0; d < o.dim_count; d++) {
            int64_t step = reach + (pick(3) == 0 ? pick(4) : 0);

            o.dim[d].count = d + 1u == o.dim_count ? left : divisor(left, 16);
            left /= o.dim[d].count;
            o.dim[d].step = (int32_t)(pick(5) == 0 ? -step : step);
            reach = step * o.dim[d].count;
        }
        ntk_isa_operand_extent(&o, &low, &high);
        if (high - low <= room) {
            o.offset = (uint64_t)(-low + (int64_t)pick((uint32_t)(room - (high - low)) + 1));
            return o;
        }
    }
}

static enum ntk_isa_space any_space(void)
{
    return (enum ntk_isa_space[]){ NTK_ISA_SPACE_VAR, NTK_ISA_SPACE_SBUF,
                                   NTK_ISA_SPACE_PSUM }[pick(3)];
}

static uint32_t any_count(void)
{
    static const uint32_t counts[] = { 1, 2, 5, 12, 16, 24, 60, 64, 96, 120, 128, 240, 256, 384 };

    return counts[pick(sizeof counts / sizeof counts[0])];
}

/* --- numbers 0 to 7, which every dtype holds exactly ------------------------------------------ */

static const struct {
    enum ntk_dtype dtype;
    unsigned exponent_bias, mantissa_bits; /* 0: integer */
} formats[] = {
    { NTK_DTYPE_UINT64, 0, 0 },     { NTK_DTYPE_INT8, 0, 0 },        { NTK_DTYPE_UINT8, 0, 0 },
    { NTK_DTYPE_INT16, 0, 0 },      { NTK_DTYPE_UINT16, 0, 0 },      { NTK_DTYPE_BFLOAT16, 127, 7 },
    { NTK_DTYPE_FLOAT16, 15, 10 },  { NTK_DTYPE_INT32, 0, 0 },       { NTK_DTYPE_UINT32, 0, 0 },
    { NTK_DTYPE_FLOAT32, 127, 23 }, { NTK_DTYPE_FLOAT32R, 127, 23 }, { NTK_DTYPE_INT64, 0, 0 },
    { NTK_DTYPE_FLOAT8E3, 3, 4 },   { NTK_DTYPE_FLOAT8E4, 7, 3 },    { NTK_DTYPE_FLOAT8E5, 15, 2 },
};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

static_assert(FORMAT_COUNT == NTK_DTYPE_COUNT - 1, "every dtype");

static uint64_t bits_of(unsigned format, unsigned value)
{
    unsigned power = value >= 4 ? 2 : value >= 2 ? 1 : 0;
    unsigned mantissa = formats[format].mantissa_bits;

    if (mantissa == 0 || value == 0) {
        return value;
    }
    return (uint64_t)(formats[format].exponent_bias + power) << mantissa |
           (uint64_t)(value - (1u << power)) << mantissa >> power;
}

static void put(uint8_t *at, unsigned format, unsigned value)
{
    uint64_t bits = bits_of(format, value);

    memcpy(at, &bits, ntk_dtype_bytes(formats[format].dtype));
}

/* --- copies ----------------------------------------------------------------------------------- */

static void model_copy(struct model *m, const struct ntk_isa_operand *to,
                       const struct ntk_isa_operand *from, const uint32_t *order)
{
    size_t width = ntk_dtype_bytes(to->dtype);
    uint64_t elements = ntk_isa_operand_elements(to);
    uint8_t *all = malloc(elements * width);

    assert_non_null(all);
    for (uint64_t n = 0; n < elements; n++) {
        memcpy(all + n * width, element(m, from, order ? order[n] : n), width);
    }
    for (uint64_t n = 0; n < elements; n++) {
        memcpy(element(m, to, n), all + n * width, width);
    }
    free(all);
}

static void a_copy_between_any_two_memories_equals_the_naive_mover(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_UINT8, NTK_DTYPE_BFLOAT16, NTK_DTYPE_INT32,
                                             NTK_DTYPE_UINT64 };
    struct engine_fixture *f = *state;
    struct model m;

    for (int round = 0; round < 400; round++) {
        struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
        enum ntk_dtype dtype = dtypes[pick(4)];
        uint32_t count = any_count();

        copy.queue = (uint16_t)pick(2);
        copy.operand[NTK_ISA_DST] = any_operand(any_space(), count, dtype);
        copy.operand[NTK_ISA_SRC0] = any_operand(any_space(), count, dtype);
        fill(f, &m);
        assert_int_equal(run(f, &copy), NTK_RUN_OK);
        model_copy(&m, &copy.operand[NTK_ISA_DST], &copy.operand[NTK_ISA_SRC0], NULL);
        expect(f, &m, &copy);
    }
}

static void a_copy_converts_from_every_dtype_to_every_other(void **state)
{
    struct engine_fixture *f = *state;
    struct model m;

    for (unsigned a = 0; a < FORMAT_COUNT; a++) {
        for (unsigned b = 0; b < FORMAT_COUNT; b++) {
            struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
            struct ntk_isa_operand *to = &copy.operand[NTK_ISA_DST];
            struct ntk_isa_operand *from = &copy.operand[NTK_ISA_SRC0];

            *to = ntk_isa_psum(8, 8, 8, formats[b].dtype);
            *from = ntk_isa_sbuf(16, 64, 1, formats[a].dtype);
            fill(f, &m);
            for (unsigned n = 0; n < 64; n++) {
                put(element(&m, from, n), a, n * 5 % 8);
            }
            memcpy(engine_fixture_memory(f, SB), m.sbuf, sizeof m.sbuf);
            assert_int_equal(run(f, &copy), NTK_RUN_OK);
            for (unsigned n = 0; n < 64; n++) {
                put(element(&m, to, n), b, n * 5 % 8);
            }
            expect(f, &m, &copy);
        }
    }
}

/* --- transposes ------------------------------------------------------------------------------- */

static void a_transpose_of_any_order_equals_the_naive_mover(void **state)
{
    static const enum ntk_dtype dtypes[] = { NTK_DTYPE_INT8, NTK_DTYPE_FLOAT16, NTK_DTYPE_FLOAT32 };
    struct engine_fixture *f = *state;
    struct model m;
    static uint32_t order[ELEMENTS_MAX];

    for (int round = 0; round < 300; round++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRANSPOSE);
        struct ntk_isa_operand *from = &instr.operand[NTK_ISA_SRC0];
        enum ntk_dtype dtype = dtypes[pick(3)];
        uint32_t count = any_count();
        unsigned shape[4] = { 0 };
        unsigned axis[4] = { 0, 1, 2, 3 };
        unsigned rank;

        do {
            *from = any_operand(any_space(), count, dtype);
            rank = ntk_isa_transpose_rank(from);
        } while (rank > 4);
        for (unsigned d = 0; d < rank; d++) { /* outermost first */
            shape[d] = d == 0 && rank > from->dim_count ? from->partition_count
                                                        : from->dim[rank - 1 - d].count;
        }
        for (unsigned d = rank; d-- > 1;) {
            unsigned other = pick(d + 1);
            unsigned kept = axis[d];

            axis[d] = axis[other];
            axis[other] = kept;
        }
        for (unsigned d = 0; d < rank; d++) {
            instr.imm[0] |= axis[d] << (8 * d);
        }
        /* The n-th element of the result, by its indices. */
        for (uint32_t n = 0; n < count; n++) {
            unsigned index[4] = { 0 };
            uint32_t rest = n;

            for (unsigned d = rank; d-- > 0;) {
                index[axis[d]] = rest % shape[axis[d]];
                rest /= shape[axis[d]];
            }
            order[n] = 0;
            for (unsigned d = 0; d < rank; d++) {
                order[n] = order[n] * shape[d] + index[d];
            }
        }
        instr.operand[NTK_ISA_DST] = any_operand(any_space(), count, dtype);
        fill(f, &m);
        assert_int_equal(run(f, &instr), NTK_RUN_OK);
        model_copy(&m, &instr.operand[NTK_ISA_DST], from, order);
        expect(f, &m, &instr);
    }
}

static void a_transpose_runs_at_nine_tenths_of_a_copy(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    uint64_t copy_ns;

    f->queue_sets[QUEUE].queue_count = 1;
    instr.operand[NTK_ISA_DST] = ntk_isa_var(Y, 0, 1, 0, VAR_BYTES / 2, NTK_DTYPE_BFLOAT16);
    instr.operand[NTK_ISA_SRC0] = ntk_isa_var(X, 0, 64, 32, 32, NTK_DTYPE_BFLOAT16);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    copy_ns = f->result.duration_ns - 1300 - 54; /* latency; 64 cycles to start it */
    engine_fixture_clear(f);
    instr.op = NTK_ISA_OP_DMA_TRANSPOSE;
    instr.imm[0] = 0x0001;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &instr);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_in_range((f->result.duration_ns - 1300 - 54) * 9, copy_ns * 10 - 20, copy_ns * 10 + 20);
}

/* --- sums ------------------------------------------------------------------------------------- */

static unsigned fold(enum ntk_isa_alu op, unsigned a, unsigned b)
{
    switch (op) {
    case NTK_ISA_ALU_MINIMUM:
        return a < b ? a : b;
    case NTK_ISA_ALU_MAXIMUM:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

/* Method: numbers so small that every sum of scaled sources is at most 7. */
static void computing_in_dma_equals_the_naive_sum_in_every_dtype(void **state)
{
    struct engine_fixture *f = *state;
    struct model m;

    for (int round = 0; round < 400; round++) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COMPUTE);
        struct ntk_isa_operand *to = &instr.operand[NTK_ISA_DST];
        unsigned to_format = pick(FORMAT_COUNT);
        uint32_t count = any_count() / 4 + 1;
        int sources = 1 + (int)pick(NTK_ISA_DMA_SOURCES);
        unsigned formats_of[NTK_ISA_DMA_SOURCES];
        unsigned result[128];

        instr.op0 = (enum ntk_isa_alu[]){ NTK_ISA_ALU_ADD, NTK_ISA_ALU_MINIMUM,
                                          NTK_ISA_ALU_MAXIMUM }[pick(3)];
        instr.op_flags = pick(2) ? NTK_ISA_OPF_ACCUMULATE : 0;
        /* Sources in SBUF and X, one after the other; the destination elsewhere. */
        *to = ntk_isa_psum(8, count, 1, formats[to_format].dtype);
        if (pick(2)) {
            *to = ntk_isa_var(Y, 64, count, 2, 1, formats[to_format].dtype);
        }
        fill(f, &m);
        for (uint32_t n = 0; n < count; n++) {
            result[n] = pick(2);
            put(element(&m, to, n), to_format, result[n]);
        }
        for (int s = 0; s < sources; s++) {
            struct ntk_isa_operand *from = &instr.operand[ntk_isa_dma_sources[s]];
            unsigned scale = instr.op0 == NTK_ISA_ALU_ADD && sources < 4 ? 1 + pick(2) : 1;

            formats_of[s] = pick(FORMAT_COUNT);
            *from = s % 2 ? ntk_isa_var(X, (uint64_t)s * 1000, count, 1, 1,
                                        formats[formats_of[s]].dtype)
                          : ntk_isa_sbuf((uint64_t)s * 8, 1, 1, formats[formats_of[s]].dtype);
            if (s % 2 == 0) {
                from->partition_count = (uint16_t)count;
            }
            if (instr.op0 == NTK_ISA_ALU_ADD) {
                instr.imm[s] = ntk_isa_float_bits((float)scale);
            }
            for (uint32_t n = 0; n < count; n++) {
                unsigned value = pick(2);

                put(element(&m, from, n), formats_of[s], value);
                result[n] = s == 0 && !instr.op_flags ? value * scale
                                                      : fold(instr.op0, result[n], value * scale);
            }
        }
        memcpy(engine_fixture_memory(f, X), m.x, VAR_BYTES);
        memcpy(engine_fixture_memory(f, Y), m.y, VAR_BYTES);
        memcpy(engine_fixture_memory(f, SB), m.sbuf, sizeof m.sbuf);
        memcpy(engine_fixture_memory(f, PS), m.psum, sizeof m.psum);
        assert_int_equal(run(f, &instr), NTK_RUN_OK);
        for (uint32_t n = 0; n < count; n++) {
            put(element(&m, to, n), to_format, result[n]);
        }
        expect(f, &m, &instr);
    }
}

static void descriptors_fold_up_to_sixteen_sources(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);

    for (uint32_t sources = 1; sources <= 17; sources++) {
        struct ntk_neff_transfer *t;
        float *x = engine_fixture_memory(f, X);
        const float *y = engine_fixture_memory(f, Y);

        engine_fixture_clear(f);
        t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, QUEUE, 0, 0xffff);
        t->op = NTK_NEFF_TRANSFER_FMA;
        t->has_source_array = true;
        t->source_count = sources;
        t->to = (struct ntk_neff_pattern){
            .var = Y, .dtype = NTK_DTYPE_FLOAT32, .dim_count = 1, .steps = { 1 }, .sizes = { 40 }
        };
        for (uint32_t s = 0; s < sources && s < FIXTURE_SOURCES; s++) {
            t->from[s] = t->to;
            t->from[s].var = X;
            t->from[s].offset = s * 48;
            t->scales[s] = (float)(s + 1);
            for (uint32_t n = 0; n < 10; n++) {
                x[s * 12 + n] = (float)(n + s);
            }
        }
        trigger.group_id = 0;
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
        if (sources > NTK_NEFF_TRANSFER_SOURCES_MAX) {
            assert_int_equal(engine_fixture_make(f), -EBADMSG);
            break;
        }
        assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
        for (uint32_t n = 0; n < 10; n++) {
            float sum = 0;

            for (uint32_t s = 0; s < sources; s++) {
                sum += (float)((n + s) * (s + 1));
            }
            assert_true(y[n] == sum);
        }
    }
}

/* --- indices ---------------------------------------------------------------------------------- */

struct indirect_case {
    struct ntk_isa_instr instr;
    int64_t from_index[256], to_index[256];
    uint32_t rows, row;
    bool from_table, to_table;
};

static void put_indices(struct model *m, const struct ntk_isa_operand *tile, const int64_t *values,
                        uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        int32_t word = (int32_t)values[r];

        memcpy(element(m, tile, r), &word, 4);
    }
}

/* Where row r of a side starts, as an operand of one row; false: the row leaves what it is in. */
static bool row_of(const struct ntk_isa_operand *side, int64_t index, uint32_t step, bool is_table,
                   struct ntk_isa_operand *row)
{
    int64_t low;
    int64_t high;

    *row = *side;
    if (is_table) {
        if (index < 0 || index >= 3) {
            return false;
        }
        row->var_id = index == 1 ? Y : X;
    } else {
        int64_t offset = (int64_t)side->offset + index * step;

        row->offset = 0;
        ntk_isa_operand_extent(row, &low, &high);
        if (offset + low < 0 || offset + high > VAR_BYTES) {
            return false;
        }
        row->offset = (uint64_t)offset;
    }
    ntk_isa_operand_extent(row, &low, &high);
    return low >= 0 && high <= VAR_BYTES;
}

/* What the instruction does to the model; the outcome. Nothing changes when it is out of bounds. */
static enum ntk_engine_outcome model_indirect(struct model *m, const struct indirect_case *c)
{
    const struct ntk_isa_instr *instr = &c->instr;
    struct ntk_isa_indexing by = ntk_isa_indexing_get(instr);
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *from = &instr->operand[NTK_ISA_SRC0];
    const uint32_t *to_imm = &instr->imm[by.destination_imm];
    size_t width = ntk_dtype_bytes(to->dtype);
    bool skipped[256] = { false };
    uint8_t *all = malloc((size_t)c->rows * c->row * width);

    assert_non_null(all);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t r = 0; r < c->rows; r++) {
            struct ntk_isa_operand side;
            int64_t index = pass ? c->to_index[r] : c->from_index[r];
            const uint32_t *imm = pass ? to_imm : instr->imm;
            const struct ntk_isa_operand *of = pass ? to : from;
            bool is_indexed = pass ? by.of_destination != NULL : by.of_source != NULL;

            if (!is_indexed) {
                continue;
            }
            if (instr->op_flags & NTK_ISA_OPF_BOUNDS && (index < 0 || index > imm[1])) {
                if (!(instr->op_flags & NTK_ISA_OPF_OOB_SKIP)) {
                    free(all);
                    return NTK_RUN_OUT_OF_BOUNDS;
                }
                skipped[r] = true;
            } else if (!row_of(of, index, imm[0], pass ? c->to_table : c->from_table, &side)) {
                free(all);
                return NTK_RUN_OUT_OF_BOUNDS;
            }
        }
    }
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t k = 0; k < c->row && !skipped[r]; k++) {
            struct ntk_isa_operand side = *from;

            if (by.of_source) {
                row_of(from, c->from_index[r], instr->imm[0], c->from_table, &side);
            }
            memcpy(all + ((size_t)r * c->row + k) * width,
                   element(m, &side, by.of_source ? k : (uint64_t)r * c->row + k), width);
        }
    }
    for (uint32_t r = 0; r < c->rows; r++) {
        for (uint32_t k = 0; k < c->row && !skipped[r]; k++) {
            struct ntk_isa_operand side = *to;
            const uint8_t *source = all + ((size_t)r * c->row + k) * width;
            uint8_t *target;

            if (by.of_destination) {
                row_of(to, c->to_index[r], to_imm[0], c->to_table, &side);
            }
            target = element(m, &side, by.of_destination ? k : (uint64_t)r * c->row + k);
            if (instr->op_flags & NTK_ISA_OPF_ACCUMULATE) {
                int32_t a;
                int32_t b;
                int64_t sum;

                memcpy(&a, source, 4);
                memcpy(&b, target, 4);
                sum = (int64_t)a + b;
                a = (int32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
                memcpy(target, &a, 4);
            } else {
                memcpy(target, source, width);
            }
        }
    }
    free(all);
    return NTK_RUN_OK;
}

/* Random sides and indices; D never lies where the indices are. */
static void any_indirect(struct indirect_case *c)
{
    static const uint32_t row_counts[] = { 1, 2, 8, 16, 30, 64, 128, 200 };
    struct ntk_isa_instr *instr = &c->instr;
    struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    struct ntk_isa_operand *from = &instr->operand[NTK_ISA_SRC0];
    bool of_from = pick(3) != 0;
    bool of_to = !of_from || pick(3) == 0;
    uint32_t max;

    memset(c, 0, sizeof *c);
    *instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);
    instr->queue = DYNAMIC;
    instr->op_flags =
        (uint8_t)((pick(2) ? NTK_ISA_OPF_BOUNDS : 0) | (pick(2) ? NTK_ISA_OPF_OOB_SKIP : 0) |
                  (pick(4) == 0 ? NTK_ISA_OPF_ACCUMULATE : 0));
    c->rows = row_counts[pick(8)];
    c->row = 1 + pick(3);
    c->row *= 1 + pick(3);
    *from = of_from ? any_operand(NTK_ISA_SPACE_VAR, c->row, NTK_DTYPE_INT32)
                    : any_operand(pick(2) ? NTK_ISA_SPACE_SBUF : NTK_ISA_SPACE_PSUM,
                                  c->row * c->rows, NTK_DTYPE_INT32);
    *to = of_to ? any_operand(NTK_ISA_SPACE_VAR, c->row, NTK_DTYPE_INT32)
                : any_operand(any_space() == NTK_ISA_SPACE_VAR && c->row * c->rows < 600
                                  ? NTK_ISA_SPACE_VAR
                                  : NTK_ISA_SPACE_PSUM,
                              c->row * c->rows, NTK_DTYPE_INT32);
    for (int side = 0; side < 2; side++) {
        struct ntk_isa_operand tile =
            ntk_isa_sbuf(ROW_BYTES - 4 * (1 + (uint64_t)side), 1, 1, NTK_DTYPE_INT32);

        if (c->rows <= PARTITIONS) {
            tile.partition_count = (uint16_t)c->rows;
        } else { /* two indices in each partition, 40 bytes apart */
            tile.partition_count = (uint16_t)(c->rows / 2);
            tile.dim[0] = (struct ntk_isa_dim){ -10, 2 };
        }
        if (side == 0 && of_from) {
            instr->operand[NTK_ISA_SRC1] = tile;
        }
        if (side == 1 && of_to) {
            /* Alone it may be the first index or, where the source is a variable too, the
             * second. */
            instr->operand[of_from || from->space == NTK_ISA_SPACE_VAR || pick(2) ? NTK_ISA_SRC2
                                                                                  : NTK_ISA_SRC1] =
                tile;
        }
    }
    c->from_table = of_from && pick(4) == 0;
    c->to_table = of_to && pick(4) == 0;
    for (int side = 0; side < 2; side++) {
        bool is_table = side ? c->to_table : c->from_table;
        int at = side && of_from ? 2 : 0;
        int64_t *index = side ? c->to_index : c->from_index;

        if (side ? !of_to : !of_from) {
            continue;
        }
        instr->imm[at] = is_table ? 0 : 4 * pick(9);
        max = is_table ? 2 : pick(60);
        instr->imm[at + 1] = instr->op_flags & NTK_ISA_OPF_BOUNDS ? max : 0;
        for (uint32_t r = 0; r < c->rows; r++) {
            index[r] = pick(max + 1);
        }
        if (pick(3) == 0) { /* one that is too large, or negative */
            index[pick(c->rows)] = pick(2) ? (int64_t)max + 1 + pick(1000) : -1 - (int64_t)pick(3);
        }
        if (is_table) {
            instr->operand[side ? NTK_ISA_DST : NTK_ISA_SRC0].var_id = TABLE;
        }
    }
}

static void indirect_copies_of_every_kind_equal_the_naive_mover(void **state)
{
    struct engine_fixture *f = *state;
    static struct indirect_case c;
    struct model m;
    int outcomes[NTK_RUN_NO_MEMORY + 1] = { 0 };

    for (int round = 0; round < 1500; round++) {
        struct ntk_isa_indexing by;
        enum ntk_engine_outcome expected;

        any_indirect(&c);
        by = ntk_isa_indexing_get(&c.instr);
        fill(f, &m);
        if (by.of_source) {
            put_indices(&m, by.of_source, c.from_index, c.rows);
        }
        if (by.of_destination) {
            put_indices(&m, by.of_destination, c.to_index, c.rows);
        }
        memcpy(engine_fixture_memory(f, SB), m.sbuf, sizeof m.sbuf);
        expected = model_indirect(&m, &c);
        assert_int_equal(run(f, &c.instr), expected);
        outcomes[expected]++;
        expect(f, &m, &c.instr);
        if (expected == NTK_RUN_OUT_OF_BOUNDS) {
            assert_int_equal(f->result.fault_engine, NTK_ENGINE_DMA);
        }
    }
    assert_true(outcomes[NTK_RUN_OK] > 300 && outcomes[NTK_RUN_OUT_OF_BOUNDS] > 100);
}

/* --- pointers and tables ---------------------------------------------------------------------- */

static void instructions_follow_pointers_and_descriptors_read_them(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_neff_transfer *t;
    uint64_t address;

    memset(engine_fixture_memory(f, X), 7, VAR_BYTES);
    copy.operand[NTK_ISA_DST] = ntk_isa_var(Y, 100, 1, 0, 50, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(POINTER, 4000, 1, 0, 50, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &copy);
    t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, QUEUE, 0, 0xffff);
    t->to = (struct ntk_neff_pattern){
        .var = Y, .dtype = NTK_DTYPE_UINT8, .dim_count = 1, .steps = { 1 }, .sizes = { 8 }
    };
    t->from[0] = t->to;
    t->from[0].var = POINTER;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    memcpy(&address, engine_fixture_memory(f, Y), 8);
    assert_true(address == f->bindings[X].device_address);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(((uint8_t *)engine_fixture_memory(f, Y))[100 + i], 7);
    }

    t->from[0].offset = 1; /* past the address */
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    t->from[0].offset = 0;
    t->from[0].var = X;
    t->to.var = POINTER;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: DMA group 0, transfer 0: to: pointer 6 cannot be "
                                     "written");
    engine_fixture_clear(f);
    copy.operand[NTK_ISA_SRC0].offset = VAR_BYTES - 49; /* leaves what it points to */
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    copy.operand[NTK_ISA_SRC0].offset = 0;
    engine_fixture_clear(f);
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &copy);
    f->vars[POINTER].referenced_var_id = POINTER; /* a cycle */
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "Activation slot 0: source 0: pointer 6 refers to nothing with memory");
}

static void a_table_is_reached_by_an_index_and_holds_variables_only(void **state)
{
    static uint32_t bad_list[] = { X, TABLE };
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 50, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(TABLE, 0, 1, 0, 50, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: source 0: table 5 is reached by an index only");

    engine_fixture_clear(f);
    copy.op = NTK_ISA_OP_DMA_INDIRECT_COPY;
    copy.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(64, 1, 1, NTK_DTYPE_INT32);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), 0);
    f->vars[TABLE].list = bad_list;
    f->vars[TABLE].list_count = 2;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    f->vars[TABLE].list_count = 0;
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: source 0: table 5 is empty");
    f->vars[TABLE].list_count = 1;
    copy.imm[0] = 4;
    engine_fixture_clear(f);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
}

/* --- who writes descriptors, and what queue sets signal --------------------------------------- */

static int make_with(struct engine_fixture *f, enum ntk_isa_engine engine, enum ntk_isa_dge dge,
                     uint16_t queue)
{
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    copy.queue = queue;
    copy.op_flags = (uint8_t)((unsigned)dge << NTK_ISA_DGE_SHIFT);
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 100, 4, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(X, 0, 100, 4, 4, NTK_DTYPE_UINT8);
    engine_fixture_clear(f);
    engine_fixture_emit(f, engine, &copy);
    return engine_fixture_make(f);
}

static void descriptors_are_written_by_who_can(void **state)
{
    struct engine_fixture *f = *state;

    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        enum ntk_isa_engine engine = (enum ntk_isa_engine)e;

        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_UNKNOWN, QUEUE), 0);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_NONE, QUEUE), 0);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_HARDWARE, DYNAMIC), 0);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_HARDWARE, QUEUE), -EBADMSG);
        assert_int_equal(make_with(f, engine, NTK_ISA_DGE_SOFTWARE, DYNAMIC),
                         engine == NTK_ISA_ENGINE_POOL ? 0 : -EBADMSG);
    }
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_SP, NTK_ISA_DGE_HARDWARE, DYNAMIC), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_SP], 53); /* 64 cycles of 1.2 GHz */
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_POOL, NTK_ISA_DGE_SOFTWARE, DYNAMIC), 0);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(f->result.busy_ns[NTK_ENGINE_POOL], 83); /* one of 100 rows a cycle */
    f->generation = 2;
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_SP, NTK_ISA_DGE_HARDWARE, DYNAMIC), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: NCv2 has no hardware that writes descriptors");
    assert_int_equal(make_with(f, NTK_ISA_ENGINE_POOL, NTK_ISA_DGE_SOFTWARE, DYNAMIC), 0);
}

/* Method: one waiter per semaphore of the set, for two instructions each. */
static void an_instruction_without_a_semaphore_signals_those_of_its_queue_set(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_neff_queue_set *set = &f->queue_sets[DYNAMIC];
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    set->semaphore_count = 16;
    for (int q = 0; q < 16; q++) {
        set->semaphores[q] = (uint16_t)(24 + q);
    }
    copy.queue = DYNAMIC;
    copy.op_flags = NTK_ISA_DGE_HARDWARE << NTK_ISA_DGE_SHIFT;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 100, 4, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(X, 0, 100, 4, 4, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    for (int q = 0; q < 16; q++) {
        wait.wait_semaphore = (uint16_t)(24 + q);
        wait.wait_value = 2;
        wait.flags = NTK_ISA_FLAG_WAIT_EQUAL;
        engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &wait);
    }
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_true(f->result.duration_ns > 1300);

    copy.op_flags = NTK_ISA_DGE_NONE << NTK_ISA_DGE_SHIFT; /* not dynamic: signals nothing */
    engine_fixture_clear(f);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    engine_fixture_emit(f, NTK_ISA_ENGINE_ACT, &wait);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_DEADLOCK);
}

struct starts {
    uint64_t first_ps[8], end_ps[8];
    uint32_t count;
};

static void on_dma(const struct ntk_engine_dma_event *event, void *ctx)
{
    struct starts *starts = ctx;

    starts->first_ps[starts->count] = event->start_ps;
    starts->end_ps[starts->count++] = event->end_ps;
}

static void a_queue_set_swaps_the_rings_of_its_instances_when_it_is_idle(void **state)
{
    static const char *names[] = { "ring0", "ring1" };
    struct engine_fixture *f = *state;
    struct starts starts = { .count = 0 };
    struct ntk_engine_trace trace = { .dma = on_dma, .ctx = &starts };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    uint8_t *x = engine_fixture_memory(f, X);
    const uint8_t *y = engine_fixture_memory(f, Y);
    static const uint32_t order[] = { 1, 1, 2, 1 };

    f->queue_sets[QUEUE].queue_count = 2; /* two transfers could go side by side */
    f->queue_sets[QUEUE].instances = names;
    f->queue_sets[QUEUE].instance_count = 2;
    for (int i = 0; i < VAR_BYTES; i++) {
        x[i] = (uint8_t)(i / 8);
    }
    /* Group 0 of each instance copies eight bytes of its own. */
    for (uint32_t i = 0; i < 2; i++) {
        struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_SP, QUEUE, 0, 0xffff);

        f->groups[NTK_ISA_ENGINE_SP][i].instance = names[i];
        t->to = (struct ntk_neff_pattern){
            .var = Y, .dtype = NTK_DTYPE_UINT8, .dim_count = 1, .steps = { 1 }, .sizes = { 8 }
        };
        t->to.offset = i * 8;
        t->from[0] = t->to;
        t->from[0].var = X;
        t->from[0].offset = 80 + i * 8;
    }
    for (int i = 0; i < 4; i++) {
        trigger.imm[0] = order[i];
        engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    }
    assert_int_equal(engine_fixture_run(f, &trace, 0), NTK_RUN_OK);
    assert_int_equal(starts.count, 4);
    assert_true(starts.first_ps[1] < starts.end_ps[0] + 1300000); /* same ring: at once */
    assert_true(starts.first_ps[2] >= starts.end_ps[1] + 1300000);
    assert_true(starts.first_ps[3] >= starts.end_ps[2] + 1300000);
    assert_int_equal(y[0], 10);
    assert_int_equal(y[8], 11);

    memset(engine_fixture_memory(f, Y), 0, 16); /* only the instance that is named */
    engine_fixture_clear(f);
    f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count = 2;
    trigger.imm[0] = 2;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_run(f, NULL, 0), NTK_RUN_OK);
    assert_int_equal(y[0], 0);
    assert_int_equal(y[8], 11);

    engine_fixture_clear(f);
    f->subgraph.engines[NTK_ISA_ENGINE_SP].group_count = 2;
    trigger.imm[0] = 3;
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &trigger);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text, "SP slot 0: instance 3 of queue set 0 has no DMA group 0");
}

/* --- hostile ---------------------------------------------------------------------------------- */

/* Method: sides far larger than any memory, by repetition: refused, not attempted. */
static void repeated_rows_do_not_ask_for_absurd_work(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_INDIRECT_COPY);

    copy.operand[NTK_ISA_DST] = ntk_isa_var(X, 0, 1, 0, 1, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_DST].dim[0] = (struct ntk_isa_dim){ 0, 1 << 24 };
    copy.operand[NTK_ISA_SRC0] = copy.operand[NTK_ISA_DST];
    copy.operand[NTK_ISA_SRC0].var_id = Y;
    copy.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 128, 1000, NTK_DTYPE_INT32);
    copy.operand[NTK_ISA_SRC2] = copy.operand[NTK_ISA_SRC1];
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    f->generation = 1;
    engine_fixture_clear(f);
    copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COMPUTE);
    copy.op0 = NTK_ISA_ALU_MAXIMUM;
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 8, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(8, 1, 8, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: dma_compute does more than copy, which NC-v1 cannot");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_copy_between_any_two_memories_equals_the_naive_mover),
        TEST(a_copy_converts_from_every_dtype_to_every_other),
        TEST(a_transpose_of_any_order_equals_the_naive_mover),
        TEST(a_transpose_runs_at_nine_tenths_of_a_copy),
        TEST(computing_in_dma_equals_the_naive_sum_in_every_dtype),
        TEST(descriptors_fold_up_to_sixteen_sources),
        TEST(indirect_copies_of_every_kind_equal_the_naive_mover),
        TEST(instructions_follow_pointers_and_descriptors_read_them),
        TEST(a_table_is_reached_by_an_index_and_holds_variables_only),
        TEST(descriptors_are_written_by_who_can),
        TEST(an_instruction_without_a_semaphore_signals_those_of_its_queue_set),
        TEST(a_queue_set_swaps_the_rings_of_its_instances_when_it_is_idle),
        TEST(repeated_rows_do_not_ask_for_absurd_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
