/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/hostile_program.h"

#include "tests/support/unit.h"

/* Additional operands of the operations of kernel_select.c. */
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
    case NTK_ISA_OP_QUANTIZE_MX: /* the scales overwrite the source */
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

/* One instruction of each operation that the core executes, starting at `part`, every PARTS-th
 * one. */
static void hostile_emit(struct engine_fixture *f, size_t part)
{
    for (size_t row = part; row < op_count(); row += HOSTILE_PARTS) {
        const struct ntk_isa_op_info *info = ntk_isa_op_info_at(row);
        struct ntk_isa_instr instr = ntk_isa_instr_make((enum ntk_isa_op)info->number);
        int engine = 0;

        /* test_engine_flow.c and test_engine_pair.c damage functions and pairs of cores. */
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

struct ntk_neff_transfer *hostile_group(struct engine_fixture *f)
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

void hostile_make(struct engine_fixture *f, size_t part)
{
    engine_fixture_clear(f);
    hostile_group(f);
    hostile_emit(f, part);
}
