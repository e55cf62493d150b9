/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/dma_model.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static uint32_t table_list[] = { X, Y, POINTER };
static uint64_t random_state;

uint32_t dma_pick(uint32_t below)
{
    return (uint32_t)(engine_fixture_random(&random_state) % below);
}

int dma_setup(void **state)
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

int dma_teardown(void **state)
{
    struct engine_fixture *f = *state;

    engine_fixture_fini(f);
    free(f);
    return 0;
}

uint8_t *dma_model_element(struct dma_model *m, const struct ntk_isa_operand *operand, uint64_t n)
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

void dma_model_fill(struct engine_fixture *f, struct dma_model *m)
{
    uint8_t *bytes = (uint8_t *)m;

    for (size_t i = 0; i < sizeof *m; i++) {
        bytes[i] = (uint8_t)dma_pick(256);
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

enum ntk_engine_outcome dma_run(struct engine_fixture *f, const struct ntk_isa_instr *instr)
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

void dma_model_expect(struct engine_fixture *f, const struct dma_model *m,
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

static uint32_t divisor(uint32_t of, uint32_t max)
{
    uint32_t d = 1 + dma_pick(of < max ? of : max);

    while (of % d != 0) {
        d--;
    }
    return d;
}

struct ntk_isa_operand dma_any_operand(enum ntk_isa_space space, uint32_t elements,
                                       enum ntk_dtype dtype)
{
    int64_t room = space == NTK_ISA_SPACE_VAR ? VAR_BYTES : ROW_BYTES;

    for (;;) {
        struct ntk_isa_operand o = { .space = space,
                                     .dtype = dtype,
                                     .var_id = space == NTK_ISA_SPACE_VAR ? X + dma_pick(2)
                                                                          : NTK_ISA_NO_VAR };
        uint32_t left = elements;
        int64_t reach = 1;
        int64_t low;
        int64_t high;

        if (space != NTK_ISA_SPACE_VAR) {
            o.partition_count = (uint16_t)divisor(elements, PARTITIONS);
            o.partition_step =
                (uint16_t)(o.partition_count <= PARTITIONS / 2 ? 1 + dma_pick(2) : 1);
            o.partition_start = (uint16_t)dma_pick(PARTITIONS - (o.partition_count - 1u) *
                                                                    (unsigned)o.partition_step);
            left /= o.partition_count;
        }
        o.dim_count = (uint8_t)(1 + dma_pick(NTK_ISA_DIMS_MAX));
        for (unsigned d = 0; d < o.dim_count; d++) {
            int64_t step = reach + (dma_pick(3) == 0 ? dma_pick(4) : 0);

            o.dim[d].count = d + 1u == o.dim_count ? left : divisor(left, 16);
            left /= o.dim[d].count;
            o.dim[d].step = (int32_t)(dma_pick(5) == 0 ? -step : step);
            reach = step * o.dim[d].count;
        }
        ntk_isa_operand_extent(&o, &low, &high);
        if (high - low <= room) {
            o.offset = (uint64_t)(-low + (int64_t)dma_pick((uint32_t)(room - (high - low)) + 1));
            return o;
        }
    }
}

enum ntk_isa_space dma_any_space(void)
{
    return (enum ntk_isa_space[]){ NTK_ISA_SPACE_VAR, NTK_ISA_SPACE_SBUF,
                                   NTK_ISA_SPACE_PSUM }[dma_pick(3)];
}

uint32_t dma_any_count(void)
{
    static const uint32_t counts[] = { 1, 2, 5, 12, 16, 24, 60, 64, 96, 120, 128, 240, 256, 384 };

    return counts[dma_pick(sizeof counts / sizeof counts[0])];
}

const struct dma_format dma_formats[] = {
    { NTK_DTYPE_UINT64, 0, 0 },     { NTK_DTYPE_INT8, 0, 0 },        { NTK_DTYPE_UINT8, 0, 0 },
    { NTK_DTYPE_INT16, 0, 0 },      { NTK_DTYPE_UINT16, 0, 0 },      { NTK_DTYPE_BFLOAT16, 127, 7 },
    { NTK_DTYPE_FLOAT16, 15, 10 },  { NTK_DTYPE_INT32, 0, 0 },       { NTK_DTYPE_UINT32, 0, 0 },
    { NTK_DTYPE_FLOAT32, 127, 23 }, { NTK_DTYPE_FLOAT32R, 127, 23 }, { NTK_DTYPE_INT64, 0, 0 },
    { NTK_DTYPE_FLOAT8E3, 3, 4 },   { NTK_DTYPE_FLOAT8E4, 7, 3 },    { NTK_DTYPE_FLOAT8E5, 15, 2 },
};

static_assert(sizeof dma_formats / sizeof dma_formats[0] == NTK_DTYPE_COUNT - 1, "every dtype");

static uint64_t bits_of(unsigned format, unsigned value)
{
    unsigned power = value >= 4 ? 2 : value >= 2 ? 1 : 0;
    unsigned mantissa = dma_formats[format].mantissa_bits;

    if (mantissa == 0 || value == 0) {
        return value;
    }
    return (uint64_t)(dma_formats[format].exponent_bias + power) << mantissa |
           (uint64_t)(value - (1u << power)) << mantissa >> power;
}

void dma_put(uint8_t *at, unsigned format, unsigned value)
{
    uint64_t bits = bits_of(format, value);

    memcpy(at, &bits, ntk_dtype_bytes(dma_formats[format].dtype));
}

void dma_model_copy(struct dma_model *m, const struct ntk_isa_operand *to,
                    const struct ntk_isa_operand *from, const uint32_t *order)
{
    size_t width = ntk_dtype_bytes(to->dtype);
    uint64_t elements = ntk_isa_operand_elements(to);
    uint8_t *all = malloc(elements * width);

    assert_non_null(all);
    for (uint64_t n = 0; n < elements; n++) {
        memcpy(all + n * width, dma_model_element(m, from, order ? order[n] : n), width);
    }
    for (uint64_t n = 0; n < elements; n++) {
        memcpy(dma_model_element(m, to, n), all + n * width, width);
    }
    free(all);
}
