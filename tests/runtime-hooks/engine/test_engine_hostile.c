/* SPDX-License-Identifier: MIT */
/*
 * Programs that lie. Method: sound programs that use every part of the loader, then every byte of
 * the binaries and every field of the descriptors is spoilt with many values. A spoilt program is
 * refused with a sentence, or it runs to some end: never outside the memory it was given (asan and
 * the guard pages around the state buffer are the judges), never without end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/engine/engine_fixture.h"
#include "tests/support/unit.h"

#define TIMEOUT_NS 10000000 /* a spoilt program may jump back for ever */

static const uint8_t spoils[] = { 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x07, 0x08, 0x0a, 0x0f, 0x10,
                                  0x20, 0x2a, 0x3f, 0x40, 0x50, 0x58, 0x5d, 0x6e, 0x76, 0x7f, 0x80,
                                  0x81, 0xa4, 0xb8, 0xc0, 0xc2, 0xc6, 0xe0, 0xfe, 0xff };

#define PARTS 8 /* programs that hold all operations together */

static size_t refused;
static size_t ran;

/* Loads and, if it may, runs what the fixture holds. */
static void attempt(struct engine_fixture *f)
{
    int ret = engine_fixture_make(f);

    if (ret < 0) {
        assert_true(ret == -EBADMSG || ret == -ENOTSUP);
        assert_true(strlen(f->err.text) > 0);
        assert_null(f->program);
        refused++;
    } else {
        engine_fixture_run(f, NULL, TIMEOUT_NS);
        ran++;
    }
}

static int set_up(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    engine_fixture_init(f, 2);
    engine_fixture_queue(f, 16);
    engine_fixture_queue(f, 1);
    engine_fixture_var(f, NTK_NEFF_VAR_INPUT, 8192);
    engine_fixture_var(f, NTK_NEFF_VAR_OUTPUT, 8192);
    engine_fixture_var(f, NTK_NEFF_VAR_POINTER, 8);
    *state = f;
    refused = ran = 0;
    return 0;
}

static int tear_down(void **state)
{
    engine_fixture_fini(*state);
    free(*state);
    return 0;
}

/* What the operations of kernel_select.c need besides plain tiles. */
static void fit_select(struct ntk_isa_instr *instr)
{
    struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];

    switch (instr->op) {
    case NTK_ISA_OP_TENSOR_TENSOR_SCAN:
    case NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE:
        instr->op0 = NTK_ISA_ALU_MULTIPLY;
        instr->op1 = NTK_ISA_ALU_ADD;
        break;
    case NTK_ISA_OP_TENSOR_PARTITION_REDUCE:
        *dst = ntk_isa_sbuf(0, 1, 16, NTK_DTYPE_FLOAT32);
        instr->op0 = NTK_ISA_ALU_ADD;
        break;
    case NTK_ISA_OP_AFFINE_SELECT:
        *src1 = (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                          .dtype = NTK_DTYPE_INT32,
                                          .var_id = NTK_ISA_NO_VAR,
                                          .dim_count = 2,
                                          .dim = { { 1, 4 }, { -3, 4 } } };
        instr->op0 = NTK_ISA_ALU_LESS;
        break;
    case NTK_ISA_OP_RANGE_SELECT:
        *src1 = ntk_isa_sbuf(256, 4, 1, NTK_DTYPE_FLOAT32);
        instr->op0 = NTK_ISA_ALU_GREATER;
        instr->op1 = NTK_ISA_ALU_LESS_EQUAL;
        break;
    case NTK_ISA_OP_LOCAL_GATHER:
        *dst = ntk_isa_sbuf(0, 16, 16, NTK_DTYPE_FLOAT32);
        *src0 = ntk_isa_sbuf(256, 16, 16, NTK_DTYPE_FLOAT32);
        *src1 = ntk_isa_sbuf(512, 16, 1, NTK_DTYPE_UINT16);
        instr->imm[0] = 1;
        instr->imm[1] = 16;
        break;
    case NTK_ISA_OP_NC_N_GATHER:
        src1->dtype = NTK_DTYPE_INT32;
        break;
    case NTK_ISA_OP_NC_STREAM_SHUFFLE:
        *dst = ntk_isa_sbuf(0, 32, 16, NTK_DTYPE_FLOAT32);
        *src0 = ntk_isa_sbuf(32, 32, 16, NTK_DTYPE_FLOAT32);
        *src1 = ntk_isa_sbuf(512, 1, 32, NTK_DTYPE_UINT8);
        break;
    case NTK_ISA_OP_BN_STATS:
        *dst = ntk_isa_sbuf(0, 4, 6, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_BN_AGGR:
        *dst = ntk_isa_sbuf(0, 4, 2, NTK_DTYPE_FLOAT32);
        *src0 = ntk_isa_sbuf(256, 4, 12, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_NC_FIND_INDEX8:
        *dst = ntk_isa_sbuf(0, 4, 8, NTK_DTYPE_UINT32);
        *src1 = ntk_isa_sbuf(512, 4, 8, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_NC_MATMUL_MX:
        *dst = ntk_isa_psum(0, 4, 16, NTK_DTYPE_FLOAT32);
        *src0 = ntk_isa_sbuf(256, 8, 4, NTK_DTYPE_UINT16);
        *src1 = ntk_isa_sbuf(512, 8, 64, NTK_DTYPE_FLOAT8E4);
        instr->operand[NTK_ISA_SRC2] = ntk_isa_sbuf(768, 1, 4, NTK_DTYPE_UINT8);
        instr->operand[NTK_ISA_SRC3] = ntk_isa_sbuf(1024, 1, 16, NTK_DTYPE_UINT8);
        break;
    case NTK_ISA_OP_QUANTIZE_MX: /* the scales overwrite what is read */
        *dst = ntk_isa_sbuf(0, 8, 16, NTK_DTYPE_FLOAT8E5);
        *src0 = ntk_isa_sbuf(256, 8, 16, NTK_DTYPE_BFLOAT16);
        instr->operand[NTK_ISA_DST2] = ntk_isa_sbuf(256, 1, 4, NTK_DTYPE_UINT8);
        break;
    case NTK_ISA_OP_DVE_TRANSPOSE:
        *dst = ntk_isa_sbuf(0, 16, 4, NTK_DTYPE_FLOAT32);
        *src0 = ntk_isa_sbuf(8, 4, 16, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_ACTIVATE2:
        instr->op0 = NTK_ISA_ALU_MULTIPLY;
        instr->op1 = NTK_ISA_ALU_ADD;
        instr->reduce_op = NTK_ISA_ALU_ADD;
        instr->reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
        break;
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC:
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST:
        *src1 = ntk_isa_sbuf(0, 1, 4, NTK_DTYPE_INT32);
        instr->imm[0] = 3;
        break;
    case NTK_ISA_OP_TOPK:
        *dst = ntk_isa_sbuf(0, 16, 4, NTK_DTYPE_BFLOAT16);
        *src0 = ntk_isa_sbuf(256, 16, 16, NTK_DTYPE_BFLOAT16);
        instr->operand[NTK_ISA_DST2] = ntk_isa_sbuf(260, 16, 4, NTK_DTYPE_INT32);
        instr->imm[0] = 50;
        instr->imm[1] = 250;
        break;
    case NTK_ISA_OP_LOAD_MASK_REGISTER:
        *src0 = ntk_isa_sbuf(256, 1, 32, NTK_DTYPE_UINT8);
        break;
    case NTK_ISA_OP_MATCH_VALUE_LOAD:
        *src0 = ntk_isa_sbuf(256, 4, 8, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
        *src1 = ntk_isa_sbuf(512, 4, 8, NTK_DTYPE_FLOAT32);
        instr->operand[NTK_ISA_DST2] = ntk_isa_sbuf(1024, 4, 8, NTK_DTYPE_UINT32);
        break;
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
        *dst = ntk_isa_sbuf(0, 4, 17, NTK_DTYPE_INT32);
        break;
    case NTK_ISA_OP_SEQUENCE_BOUNDS:
        *dst = ntk_isa_sbuf(0, 4, 32, NTK_DTYPE_INT32);
        break;
    case NTK_ISA_OP_RNG:
        dst->dtype = NTK_DTYPE_UINT16;
        break;
    case NTK_ISA_OP_RAND2:
        *src0 = ntk_isa_sbuf(256, 4, 1, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_SET_RNG_SEED:
        *src0 = ntk_isa_sbuf(256, 4, 1, NTK_DTYPE_UINT32);
        break;
    case NTK_ISA_OP_RAND_SET_STATE:
        *src0 = ntk_isa_sbuf(256, 4, 6, NTK_DTYPE_UINT32);
        break;
    case NTK_ISA_OP_RAND_GET_STATE:
        *dst = ntk_isa_sbuf(0, 4, 6, NTK_DTYPE_UINT32);
        break;
    default:
        break;
    }
}

static size_t op_count(void)
{
    size_t count = 0;

    while (ntk_isa_op_info_at(count)) {
        count++;
    }
    return count;
}

/* One instruction of each operation that the core executes, of every PARTS-th one from `part`
 * on. */
static void some(struct engine_fixture *f, size_t part)
{
    for (size_t row = part; row < op_count(); row += PARTS) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
        struct ntk_isa_instr instr = ntk_isa_instr_make((enum ntk_isa_op)info->number);
        int engine = 0;

        /* Functions and pairs of cores are spoilt in test_engine_flow.c and test_engine_pair.c. */
        if (!info->implemented || instr.op == NTK_ISA_OP_FUNCTION || instr.op == NTK_ISA_OP_CALL ||
            instr.op == NTK_ISA_OP_RETURN || instr.op == NTK_ISA_OP_CORE_BARRIER ||
            instr.op == NTK_ISA_OP_SENDRECV) {
            continue;
        }
        while (!(info->engines >> engine & 1)) {
            engine++;
        }
        for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
            if ((info->required | info->optional) >> r & 1) {
                bool column = r == NTK_ISA_DST2 || r == NTK_ISA_SRC2 ||
                              (r == NTK_ISA_SRC1 && (info->optional >> r & 1));

                instr.operand[r] =
                    ntk_isa_sbuf((uint64_t)r * 256, 4, column ? 1 : 16, NTK_DTYPE_FLOAT32);
            }
        }
        instr.imm[0] = ntk_isa_float_bits(1.0F);
        switch (instr.op) {
        case NTK_ISA_OP_NOP:
            instr.imm[0] = 100;
            instr.signal_semaphore = 9;
            instr.signal_value = 3;
            break;
        case NTK_ISA_OP_EVENT_SEMAPHORE:
            instr.imm[0] = NTK_ISA_SYNC_SEMAPHORE_ADD;
            instr.imm[1] = 20;
            instr.imm[2] = 1;
            break;
        case NTK_ISA_OP_EVENT_SEMAPHORE_RANGE_CLEAR:
            instr.imm[0] = 30;
            instr.imm[1] = 10;
            break;
        case NTK_ISA_OP_COMPARE_BRANCH: /* never taken */
            instr.imm[0] = 0;
            instr.op0 = NTK_ISA_ALU_LESS;
            instr.reg_a = 1;
            instr.target =
                (uint32_t)(f->subgraph.engines[engine].code_bytes / NTK_ISA_SLOT_BYTES) + 1;
            break;
        case NTK_ISA_OP_REGISTER_LOAD:
            instr.imm[0] = 0;
            instr.reg_to = 2;
            instr.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(8, 1, 1, NTK_DTYPE_INT32);
            break;
        case NTK_ISA_OP_REGISTER_STORE:
            instr.imm[0] = 0;
            instr.reg_a = 2;
            instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(8, 1, 1, NTK_DTYPE_INT32);
            break;
        case NTK_ISA_OP_REGISTER_MOVE:
            instr.reg_to = 3;
            break;
        case NTK_ISA_OP_REGISTER_ALU:
            instr.reg_to = instr.reg_a = 3;
            instr.op0 = NTK_ISA_ALU_ADD;
            break;
        case NTK_ISA_OP_DRAIN:
        case NTK_ISA_OP_TENSOR_COPY:
        case NTK_ISA_OP_RECIPROCAL:
            instr.imm[0] = 0;
            break;
        case NTK_ISA_OP_DMA_TRIGGER:
            instr.imm[0] = 0;
            instr.group_id = 3;
            break;
        case NTK_ISA_OP_DMA_COPY:
            instr.imm[0] = 0;
            instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_BFLOAT16;
            instr.operand[NTK_ISA_SRC0] = ntk_isa_var(1, 0, 4, 16, 16, NTK_DTYPE_FLOAT32);
            instr.done_semaphore = 9;
            instr.done_value = 1;
            break;
        case NTK_ISA_OP_DMA_INDIRECT_COPY:
            instr.imm[0] = 64;
            instr.imm[1] = 100;
            instr.op_flags = NTK_ISA_OPF_BOUNDS | NTK_ISA_OPF_OOB_SKIP;
            instr.operand[NTK_ISA_SRC0] = ntk_isa_var(1, 0, 1, 16, 16, NTK_DTYPE_FLOAT32);
            instr.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(512, 4, 1, NTK_DTYPE_INT32);
            instr.operand[NTK_ISA_SRC2].space = NTK_ISA_SPACE_NONE;
            break;
        case NTK_ISA_OP_DMA_TRANSPOSE:
            instr.imm[0] = 0x0001;
            instr.operand[NTK_ISA_DST] = ntk_isa_var(1, 0, 16, 4, 4, NTK_DTYPE_FLOAT32);
            break;
        case NTK_ISA_OP_DMA_COMPUTE:
            instr.op0 = NTK_ISA_ALU_ADD;
            instr.op_flags = NTK_ISA_OPF_ACCUMULATE;
            for (int s = 0; s < NTK_ISA_DMA_SOURCES; s++) {
                instr.operand[ntk_isa_dma_sources[s]] =
                    ntk_isa_sbuf((uint64_t)s * 256, 4, 16, NTK_DTYPE_FLOAT32);
                instr.imm[s] = ntk_isa_float_bits(1.0F);
            }
            break;
        case NTK_ISA_OP_NC_MATMUL:
            instr.imm[0] = 0;
            instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, 16, 16, NTK_DTYPE_FLOAT32);
            break;
        case NTK_ISA_OP_NC_TRANSPOSE:
            instr.imm[0] = 0;
            instr.operand[NTK_ISA_DST] = ntk_isa_psum(0, 16, 4, NTK_DTYPE_FLOAT32);
            break;
        case NTK_ISA_OP_ACTIVATION_REDUCE:
        case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
            instr.reduce_op = NTK_ISA_ALU_ADD;
            instr.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
            instr.op0 = instr.op == NTK_ISA_OP_TENSOR_SCALAR_REDUCE ? NTK_ISA_ALU_MULTIPLY
                                                                    : NTK_ISA_ALU_NONE;
            break;
        case NTK_ISA_OP_TENSOR_TENSOR:
            instr.imm[0] = 0;
            instr.op0 = NTK_ISA_ALU_ADD;
            break;
        case NTK_ISA_OP_TENSOR_SCALAR:
        case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
            instr.op0 = NTK_ISA_ALU_MULTIPLY;
            instr.op1 = NTK_ISA_ALU_SUBTRACT;
            instr.operand[NTK_ISA_DST].partition_start = 1; /* overlaps in other partitions */
            instr.operand[NTK_ISA_DST].offset = 256;
            break;
        case NTK_ISA_OP_TENSOR_REDUCE:
            instr.imm[0] = 0;
            instr.op0 = NTK_ISA_ALU_ADD;
            instr.axis_count = 1;
            instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 4, 1, NTK_DTYPE_FLOAT32);
            break;
        case NTK_ISA_OP_TENSOR_CAST:
            instr.imm[0] = 0;
            instr.operand[NTK_ISA_DST].dtype = NTK_DTYPE_INT8;
            break;
        case NTK_ISA_OP_IOTA:
            instr.imm[0] = 5;
            instr.operand[NTK_ISA_SRC0] =
                (struct ntk_isa_operand){ .space = NTK_ISA_SPACE_PATTERN,
                                          .dtype = NTK_DTYPE_INT32,
                                          .var_id = NTK_ISA_NO_VAR,
                                          .dim_count = 2,
                                          .dim = { { 1, 4 }, { 10, 4 } } };
            break;
        case NTK_ISA_OP_MAX8:
            instr.imm[0] = 0;
            instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 4, 8, NTK_DTYPE_FLOAT32);
            break;
        case NTK_ISA_OP_RANGE_SELECT:
        case NTK_ISA_OP_SELECT_REDUCE:
        case NTK_ISA_OP_EXPONENTIAL:
            instr.reduce_op = NTK_ISA_ALU_MAXIMUM;
            instr.reduce_cmd = NTK_ISA_REDUCE_RESET_REDUCE;
            break;
        case NTK_ISA_OP_LOAD_STATIONARY:
        case NTK_ISA_OP_NC_MATMUL_MX:
        case NTK_ISA_OP_QUANTIZE_MX:
        case NTK_ISA_OP_DVE_TRANSPOSE:
        case NTK_ISA_OP_LOAD_MASK_REGISTER:
        case NTK_ISA_OP_MATCH_VALUE_LOAD:
        case NTK_ISA_OP_TENSOR_COPY_PREDICATED:
        case NTK_ISA_OP_TENSOR_PARTITION_REDUCE:
        case NTK_ISA_OP_NC_N_GATHER:
        case NTK_ISA_OP_NC_STREAM_SHUFFLE:
        case NTK_ISA_OP_BN_STATS:
        case NTK_ISA_OP_BN_AGGR:
        case NTK_ISA_OP_NC_FIND_INDEX8:
        case NTK_ISA_OP_SEQUENCE_BOUNDS:
        case NTK_ISA_OP_RNG:
        case NTK_ISA_OP_SET_RNG_SEED:
        case NTK_ISA_OP_RAND_SET_STATE:
        case NTK_ISA_OP_RAND_GET_STATE:
            instr.imm[0] = 0;
            break;
        default:
            break;
        }
        fit_select(&instr);
        engine_fixture_emit(f, (enum ntk_isa_engine)engine, &instr);
    }
}

static struct ntk_neff_transfer *plain_group(struct engine_fixture *f)
{
    struct ntk_neff_transfer *t = engine_fixture_group(f, NTK_ISA_ENGINE_PE, 0, 3, 8);

    t->from->var = 1;
    t->from->dtype = t->to.dtype = NTK_DTYPE_UINT8;
    t->from->dim_count = t->to.dim_count = 2;
    t->from->steps[0] = t->to.steps[0] = 1;
    t->from->sizes[0] = t->to.sizes[0] = 64;
    t->from->steps[1] = 128;
    t->from->sizes[1] = t->to.sizes[1] = 8;
    t->to.var = 0;
    t->to.steps[1] = (int64_t)NTK_NEFF_SBUF_PARTITION_STEP;
    return t;
}

/* A program of a few operations and a group of descriptors, so that an attempt is short. */
static void part_make(struct engine_fixture *f, size_t part)
{
    engine_fixture_clear(f);
    plain_group(f);
    some(f, part);
}

static void every_byte_of_a_program_may_be_spoilt(void **state)
{
    struct engine_fixture *f = *state;
    size_t sound = 0;

    for (size_t part = 0; part < PARTS; part++) {
        part_make(f, part);
        sound = ran;
        attempt(f);
        assert_int_equal(ran, sound + 1); /* sound before it is spoilt */
        for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            for (size_t at = 0; at < f->subgraph.engines[e].code_bytes; at++) {
                uint8_t keep = f->code[e][at];

                for (size_t s = 0; s < sizeof spoils; s++) {
                    f->code[e][at] = spoils[s];
                    attempt(f);
                }
                f->code[e][at] = keep;
            }
        }
    }
    assert_true(refused > 10000 && ran > 100);
}

static void several_spoilt_bytes_of_one_slot_are_survived(void **state)
{
    struct engine_fixture *f = *state;
    uint64_t random = 88172645463325252u;

    for (int i = 0; i < 20000; i++) {
        if (i % (20000 / PARTS) == 0) {
            part_make(f, (size_t)i / (20000 / PARTS));
        }
        int e = (int)(engine_fixture_random(&random) % NTK_ISA_ENGINE_COUNT);
        size_t bytes = f->subgraph.engines[e].code_bytes;
        uint8_t keep[3];
        size_t at[3];

        if (bytes == 0) {
            continue;
        }
        at[0] = engine_fixture_random(&random) % bytes;
        at[1] = at[0] / 64 * 64 + engine_fixture_random(&random) % 64;
        at[2] = at[0] / 64 * 64 + engine_fixture_random(&random) % 64;
        for (int k = 0; k < 3; k++) {
            keep[k] = f->code[e][at[k]];
            f->code[e][at[k]] = (uint8_t)(engine_fixture_random(&random) >> 9);
        }
        attempt(f);
        for (int k = 3; k-- > 0;) {
            f->code[e][at[k]] = keep[k];
        }
    }
    assert_true(refused > 1000);
}

static void programs_cut_anywhere_are_refused_or_shorter(void **state)
{
    struct engine_fixture *f = *state;

    for (size_t part = 0; part < PARTS; part++) {
        part_make(f, part);
        for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            size_t whole = f->subgraph.engines[e].code_bytes;

            for (size_t bytes = 0; bytes <= whole; bytes++) {
                f->subgraph.engines[e].code_bytes = bytes;
                f->subgraph.engines[e].is_empty = bytes == 0;
                attempt(f);
                if (bytes % 64 != 0) {
                    assert_null(f->program);
                }
            }
            f->subgraph.engines[e].is_empty = whole == 0;
        }
    }
}

static const uint64_t numbers[] = { 0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    7,
                                    8,
                                    9,
                                    15,
                                    63,
                                    64,
                                    127,
                                    128,
                                    129,
                                    255,
                                    256,
                                    4095,
                                    8191,
                                    8192,
                                    65536,
                                    131072,
                                    196607,
                                    196608,
                                    262143,
                                    262144,
                                    262145,
                                    33292288,
                                    33554432,
                                    INT32_MAX,
                                    UINT32_MAX,
                                    (uint64_t)UINT32_MAX + 1,
                                    INT64_MAX,
                                    (uint64_t)INT64_MAX + 1,
                                    UINT64_MAX - 4095,
                                    UINT64_MAX - 262143,
                                    UINT64_MAX - 1,
                                    UINT64_MAX };
#define NUMBER_COUNT (sizeof numbers / sizeof numbers[0])

/* Every number into a field of any width, and back. */
static void spoil_field(struct engine_fixture *f, void *field, size_t bytes)
{
    uint8_t keep[8];

    memcpy(keep, field, bytes);
    for (size_t n = 0; n < NUMBER_COUNT; n++) {
        memcpy(field, &numbers[n], bytes); /* little-endian: the low bytes */
        attempt(f);
    }
    memcpy(field, keep, bytes);
}

static void spoil_pattern(struct engine_fixture *f, struct ntk_neff_pattern *p)
{
    spoil_field(f, &p->var, sizeof p->var);
    spoil_field(f, &p->dtype, sizeof p->dtype);
    spoil_field(f, &p->offset, sizeof p->offset);
    spoil_field(f, &p->dim_count, sizeof p->dim_count);
    for (int d = 0; d < NTK_NEFF_TRANSFER_DIMS_MAX; d++) {
        spoil_field(f, &p->steps[d], sizeof p->steps[d]);
        spoil_field(f, &p->sizes[d], sizeof p->sizes[d]);
    }
}

static void every_field_of_a_descriptor_may_be_spoilt(void **state)
{
    static const enum ntk_neff_transfer_op ops[] = {
        NTK_NEFF_TRANSFER_COPY,      NTK_NEFF_TRANSFER_CAST, NTK_NEFF_TRANSFER_ADD,
        NTK_NEFF_TRANSFER_MIN,       NTK_NEFF_TRANSFER_MAX,  NTK_NEFF_TRANSFER_FMA,
        NTK_NEFF_TRANSFER_TRANSPOSE,
    };
    struct engine_fixture *f = *state;
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_neff_transfer *t = plain_group(f);
    struct ntk_neff_dma_group *group = &f->groups[NTK_ISA_ENGINE_PE][0];

    trigger.group_id = 3;
    engine_fixture_emit(f, NTK_ISA_ENGINE_PE, &trigger);
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
        for (int direction = 0; direction < 3; direction++) {
            t->op = ops[o];
            t->from->dtype = t->to.dtype = NTK_DTYPE_FLOAT32;
            t->to.var = direction == 0 ? 0 : 2;
            t->from->var = direction == 1 ? 0 : direction == 2 ? 2 : 1;
            t->to.steps[1] = direction == 0 ? (int64_t)NTK_NEFF_SBUF_PARTITION_STEP : 128;
            t->from->steps[1] = direction == 1 ? (int64_t)NTK_NEFF_SBUF_PARTITION_STEP : 128;
            t->transpose_element_bytes = 4;
            memcpy(t->transpose_order, "WZXY", 5);
            t->transpose_shape[0] = 1;
            t->transpose_shape[1] = 2;
            t->transpose_shape[2] = 16;
            t->transpose_shape[3] = 4;
            t->has_source_array =
                ops[o] >= NTK_NEFF_TRANSFER_ADD && ops[o] <= NTK_NEFF_TRANSFER_FMA;
            t->source_count = t->has_source_array ? 3 : 1;
            t->from[1] = t->from[0]; /* a second one, and one that is the destination */
            t->from[2] = t->to;
            ran = 0;
            attempt(f);
            assert_int_equal(ran, 1);
            spoil_pattern(f, &t->to);
            spoil_pattern(f, t->from);
            spoil_pattern(f, &t->from[2]);
            spoil_field(f, &t->transpose_element_bytes, 4);
            for (int d = 0; d < 4; d++) {
                spoil_field(f, &t->transpose_shape[d], 4);
                spoil_field(f, &t->transpose_order[d], 1);
            }
            spoil_field(f, &t->scales[0], 4);
            t->has_constant = true;
            t->constant_dtype = NTK_DTYPE_FLOAT32;
            spoil_field(f, &t->constant, 8);
            t->has_constant = false;
        }
    }
    spoil_field(f, &group->id, 4);
    spoil_field(f, &group->semaphore, 4);
    spoil_field(f, &group->event, 4);
    t->source_count = 0;
    attempt(f);
    t->source_count = 17;
    attempt(f);
    assert_null(f->program);
}

static void a_pointer_to_nothing_is_refused(void **state)
{
    struct engine_fixture *f = *state;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, 8, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] = ntk_isa_var(3, 0, 1, 8, 8, NTK_DTYPE_UINT8);
    engine_fixture_emit(f, NTK_ISA_ENGINE_SP, &copy);
    assert_int_equal(engine_fixture_make(f), -EBADMSG);
    assert_string_equal(f->err.text,
                        "SP slot 0: source 0: pointer 3 refers to nothing with memory");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_byte_of_a_program_may_be_spoilt),
        TEST(several_spoilt_bytes_of_one_slot_are_survived),
        TEST(programs_cut_anywhere_are_refused_or_shorter),
        TEST(every_field_of_a_descriptor_may_be_spoilt),
        TEST(a_pointer_to_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
