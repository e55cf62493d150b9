/* SPDX-License-Identifier: MIT */
/* engine_compute - compute instructions of a program: checks tiles, finds sources to copy first,
 * computes costs. */
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/cost_model.h"
#include "runtime-hooks/engine/engine_builder.h"
#include "runtime-hooks/engine/kernel_matmul.h"
#include "runtime-hooks/engine/kernel_select.h"

#define TILE_ELEMENTS_MAX NTK_ISA_SBUF_PARTITION_BYTES_MAX

/* --- tiles ------------------------------------------------------------------------------------ */

int ntk_engine_tile_prepare(const struct ntk_engine_builder *b, const char *what,
                            const struct ntk_isa_operand *operand, struct ntk_engine_tile *out,
                            struct ntk_err *err)
{
    bool in_sbuf = operand->space == NTK_ISA_SPACE_SBUF;
    uint32_t partition_bytes =
        in_sbuf ? b->spec->sbuf_partition_bytes : b->spec->psum_partition_bytes;
    ptrdiff_t pitch = in_sbuf ? ntk_engine_sbuf_pitch(b->spec) : ntk_engine_psum_pitch(b->spec);
    ptrdiff_t width = (ptrdiff_t)ntk_dtype_bytes(operand->dtype);
    uint64_t elements = ntk_isa_operand_partition_elements(operand);
    struct ntk_dma_walk walk = { .dtype = operand->dtype, .dim_count = operand->dim_count };
    int64_t low;
    int64_t high;

    ntk_isa_operand_extent(operand, &low, &high);
    if (low < 0 || high > (int64_t)partition_bytes) {
        return BAD("%s: an access ends at byte %lld, but a partition has %u bytes", what,
                   (long long)high, partition_bytes);
    }
    if (elements > TILE_ELEMENTS_MAX) {
        return BAD("%s: too many elements in a partition: %llu", what,
                   (unsigned long long)elements);
    }
    for (unsigned d = 0; d < operand->dim_count; d++) {
        walk.count[d] = operand->dim[d].count;
        walk.step[d] = (int64_t)operand->dim[d].step * width;
    }
    ntk_dma_walk_normalise(&walk);

    memset(out, 0, sizeof *out);
    out->is_present = true;
    out->region = in_sbuf ? NTK_ENGINE_REGION_SBUF : NTK_ENGINE_REGION_PSUM;
    out->offset = (size_t)(operand->partition_start * pitch) + (size_t)operand->offset;
    out->tile.pitch = operand->partition_step * pitch;
    out->tile.dtype = operand->dtype;
    out->tile.fp8 = b->fp8;
    out->tile.partitions = operand->partition_count;
    out->tile.elements = (uint32_t)elements;
    out->tile.dim_count = walk.dim_count;
    for (unsigned d = 0; d < walk.dim_count; d++) {
        out->tile.count[d] = (uint32_t)walk.count[d];
        out->tile.step[d] = (ptrdiff_t)walk.step[d];
    }
    out->tile.is_dense = walk.dim_count == 1 && (walk.step[0] == width || walk.count[0] == 1);
    return 0;
}

/* Returns true if the two may share bytes. */
static bool overlaps(const struct ntk_isa_operand *to, const struct ntk_isa_operand *from)
{
    int64_t to_low;
    int64_t to_high;
    int64_t from_low;
    int64_t from_high;
    unsigned to_last = to->partition_start + (to->partition_count - 1u) * to->partition_step;
    unsigned from_last =
        from->partition_start + (from->partition_count - 1u) * from->partition_step;

    if (to->space != from->space || to->space == NTK_ISA_SPACE_NONE ||
        to->space == NTK_ISA_SPACE_PATTERN || to_last < from->partition_start ||
        from_last < to->partition_start) {
        return false;
    }
    ntk_isa_operand_extent(to, &to_low, &to_high);
    ntk_isa_operand_extent(from, &from_low, &from_high);
    return to_high > from_low && from_high > to_low;
}

/* Returns true if writing the destination could change source data that is still needed. Within one
 * partition, kernels read first, so tiles that walk through the same partitions in step are
 * safe. */
static bool disturbs(const struct ntk_isa_operand *to, const struct ntk_isa_operand *from,
                     bool crosses)
{
    if (!overlaps(to, from)) {
        return false;
    }
    return crosses || to->partition_start != from->partition_start ||
           to->partition_step != from->partition_step || to->partition_step == 0;
}

/* --- compute instructions --------------------------------------------------------------------- */

static bool is_bits(enum ntk_isa_alu op)
{
    return ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_BITVEC;
}

/* Checks that bit operators use integers in every stage, or in none. */
static int check_operators(const struct ntk_isa_instr *instr, struct ntk_err *err)
{
    bool bits = is_bits(instr->op0);
    bool has_op1 = false;
    bool has_reduce = false;

    switch (instr->op) {
    case NTK_ISA_OP_TENSOR_SCALAR:
        has_op1 = instr->op1 != NTK_ISA_ALU_NONE;
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        has_op1 = true;
        break;
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        has_reduce = true;
        break;
    case NTK_ISA_OP_ACTIVATION_REDUCE:
        bits = false;
        has_reduce = true;
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
    case NTK_ISA_OP_TENSOR_REDUCE:
        break;
    default:
        return 0;
    }
    if ((has_op1 && is_bits(instr->op1) != bits) ||
        (has_reduce && is_bits(instr->reduce_op) != bits)) {
        return BAD("bitwise and arithmetic operators cannot be mixed in one instruction");
    }
    for (int r = 0; bits && r < NTK_ISA_OPERAND_COUNT; r++) {
        if (instr->operand[r].space != NTK_ISA_SPACE_NONE &&
            ntk_dtype_is_float(instr->operand[r].dtype)) {
            return BAD("operator %s does not support %s", ntk_isa_alu_name(instr->op0),
                       ntk_dtype_name(instr->operand[r].dtype));
        }
    }
    if (has_reduce && instr->reduce_cmd != NTK_ISA_REDUCE_REDUCE &&
        instr->reduce_cmd != NTK_ISA_REDUCE_RESET_REDUCE) {
        return BAD("reduce command %d is reserved", (int)instr->reduce_cmd);
    }
    return 0;
}

static bool all_bf16(const struct ntk_isa_instr *instr)
{
    for (int r = NTK_ISA_DST; r <= NTK_ISA_SRC1; r++) {
        if (instr->operand[r].space != NTK_ISA_SPACE_NONE &&
            instr->operand[r].dtype != NTK_DTYPE_BFLOAT16) {
            return false;
        }
    }
    return true;
}

static bool all_unit_step_in_sbuf(const struct ntk_isa_instr *instr)
{
    for (int r = NTK_ISA_DST; r <= NTK_ISA_SRC1; r++) {
        const struct ntk_isa_operand *operand = &instr->operand[r];

        if (operand->space != NTK_ISA_SPACE_SBUF ||
            (operand->dim[0].step != 1 && operand->dim[0].count > 1)) {
            return false;
        }
    }
    return true;
}

/* Returns true if one source is in PSUM and one in SBUF: the engine then reads both at once. */
static bool has_one_in_psum(const struct ntk_isa_instr *instr)
{
    return (instr->operand[NTK_ISA_SRC0].space == NTK_ISA_SPACE_PSUM) !=
           (instr->operand[NTK_ISA_SRC1].space == NTK_ISA_SPACE_PSUM);
}

/* The cycles according to docs/cost-model.md, section "Operations". */
static uint64_t compute_cycles(const struct ntk_engine_builder *b,
                               const struct ntk_isa_instr *instr)
{
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *a = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *second = &instr->operand[NTK_ISA_SRC1];
    uint64_t n = ntk_isa_operand_partition_elements(to);
    enum ntk_cost_rule rule = NTK_COST_ELEMENT;

    switch (instr->op) {
    case NTK_ISA_OP_NC_MATMUL:
    case NTK_ISA_OP_NC_MATMUL_MX:
        return ntk_cost_matmul_cycles(to->partition_count, n,
                                      a->dtype == NTK_DTYPE_FLOAT32 ||
                                          second->dtype == NTK_DTYPE_FLOAT32);
    case NTK_ISA_OP_NC_TRANSPOSE:
        return ntk_cost_pe_transpose_cycles(a->partition_count,
                                            ntk_isa_operand_partition_elements(a));
    case NTK_ISA_OP_ACTIVATION_REDUCE:
    case NTK_ISA_OP_TENSOR_SCALAR_REDUCE:
        rule = NTK_COST_ELEMENT_REDUCE;
        break;
    case NTK_ISA_OP_TENSOR_TENSOR:
        if (b->engine == NTK_ISA_ENGINE_DVE && !has_one_in_psum(instr) &&
            !(all_bf16(instr) && all_unit_step_in_sbuf(instr) &&
              (instr->op0 == NTK_ISA_ALU_ADD || instr->op0 == NTK_ISA_ALU_MULTIPLY ||
               instr->op0 == NTK_ISA_ALU_SUBTRACT))) {
            rule = NTK_COST_ELEMENT_DOUBLE;
        }
        break;
    case NTK_ISA_OP_SCALAR_TENSOR_TENSOR:
        if (!(all_bf16(instr) && n % 2 == 0 &&
              (instr->op1 == NTK_ISA_ALU_MULTIPLY || instr->op1 == NTK_ISA_ALU_SUBTRACT))) {
            rule = NTK_COST_ELEMENT_DOUBLE;
        }
        break;
    case NTK_ISA_OP_TENSOR_REDUCE:
        n = ntk_isa_operand_partition_elements(a);
        if (all_bf16(instr) &&
            (instr->op0 == NTK_ISA_ALU_ADD || instr->op0 == NTK_ISA_ALU_MAXIMUM)) {
            rule = NTK_COST_ELEMENT_HALF;
        }
        break;
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST:
        n = ntk_isa_operand_partition_elements(a);
        rule = NTK_COST_DYNAMIC_COPY;
        break;
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC:
        rule = NTK_COST_DYNAMIC_COPY;
        break;
    case NTK_ISA_OP_TOPK:
        return ntk_cost_cycles(NTK_COST_TOPK, ntk_isa_operand_partition_elements(a)) +
               instr->imm[0];
    case NTK_ISA_OP_LOAD_STATIONARY:
    case NTK_ISA_OP_LOAD_MASK_REGISTER:
    case NTK_ISA_OP_MATCH_VALUE_LOAD:
    case NTK_ISA_OP_QUANTIZE_MX:
    case NTK_ISA_OP_DEVICE_PRINT:
    case NTK_ISA_OP_MAX8:
    case NTK_ISA_OP_BN_STATS:
    case NTK_ISA_OP_NC_FIND_INDEX8:
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
    case NTK_ISA_OP_SEQUENCE_BOUNDS:
    case NTK_ISA_OP_SET_RNG_SEED:
    case NTK_ISA_OP_RAND_SET_STATE:
        n = ntk_isa_operand_partition_elements(a);
        break;
    case NTK_ISA_OP_BN_AGGR:
        n = ntk_isa_operand_partition_elements(a);
        rule = NTK_COST_BN_AGGR;
        break;
    case NTK_ISA_OP_TENSOR_TENSOR_SCAN:
        rule = NTK_COST_ELEMENT_DOUBLE;
        break;
    case NTK_ISA_OP_TENSOR_COPY_PREDICATED:
        if (!has_one_in_psum(instr)) {
            rule = NTK_COST_ELEMENT_DOUBLE;
        }
        break;
    case NTK_ISA_OP_AFFINE_SELECT:
    case NTK_ISA_OP_IOTA:
        rule = NTK_COST_POOL_INDEX;
        break;
    case NTK_ISA_OP_LOCAL_GATHER:
        return ntk_cost_local_gather_cycles(n, instr->imm[0], ntk_dtype_bytes(a->dtype));
    case NTK_ISA_OP_MEMSET:
        if (to->dtype == NTK_DTYPE_BFLOAT16 && instr->imm[0] == 0) {
            rule = NTK_COST_ELEMENT_HALF;
        }
        break;
    case NTK_ISA_OP_RECIPROCAL:
        rule = NTK_COST_RECIPROCAL;
        break;
    default:
        break;
    }
    return ntk_cost_cycles(rule, n);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Returns true if the operation uses or changes state in an engine. */
static bool uses_latches(const struct ntk_isa_instr *instr)
{
    switch (instr->op) {
    case NTK_ISA_OP_LOAD_STATIONARY:
    case NTK_ISA_OP_LOAD_MASK_REGISTER:
    case NTK_ISA_OP_MATCH_VALUE_LOAD:
        return true;
    case NTK_ISA_OP_NC_MATMUL:
        return instr->operand[NTK_ISA_SRC0].space == NTK_ISA_SPACE_NONE;
    case NTK_ISA_OP_NC_STREAM_SHUFFLE:
    case NTK_ISA_OP_NC_FIND_INDEX8:
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
        return instr->operand[NTK_ISA_SRC1].space == NTK_ISA_SPACE_NONE;
    default:
        return false;
    }
}

/* Sets how the tensor engine's array is used: numbers of columns and multiplications. */
static int array_prepare(const struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                         struct ntk_engine_instr *out, struct ntk_err *err)
{
    const struct ntk_isa_operand *to = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *a = &instr->operand[NTK_ISA_SRC0];
    uint64_t columns = to->partition_count;
    uint64_t depth = a->partition_count;

    switch (instr->op) {
    case NTK_ISA_OP_DVE_TRANSPOSE:
        b->program->has_matmul = true; /* so that scratch memory is allocated */
        return 0;
    case NTK_ISA_OP_LOAD_STATIONARY:
        columns = ntk_isa_operand_partition_elements(a);
        break;
    case NTK_ISA_OP_NC_TRANSPOSE:
        out->is_transpose = true;
        break;
    case NTK_ISA_OP_NC_MATMUL:
        depth = instr->operand[NTK_ISA_SRC1].partition_count;
        break;
    case NTK_ISA_OP_NC_MATMUL_MX:
        depth *= NTK_MX_PACK;
        break;
    default:
        return 0;
    }
    if (columns > b->spec->pe_columns) {
        return BAD("%llu columns, but the tensor engine has %u: compiled for a different "
                   "NeuronCore generation",
                   (unsigned long long)columns, b->spec->pe_columns);
    }
    b->program->has_matmul = true;
    if (instr->op != NTK_ISA_OP_LOAD_STATIONARY) {
        out->flops = 2 * depth * columns * ntk_isa_operand_partition_elements(to);
    }
    return 0;
}

static bool same_place(const struct ntk_engine_tile *a, const struct ntk_engine_tile *b)
{
    return a->region == b->region && a->offset == b->offset && a->tile.pitch == b->tile.pitch &&
           a->tile.dtype == b->tile.dtype && a->tile.partitions == b->tile.partitions &&
           a->tile.elements == b->tile.elements && a->tile.dim_count == b->tile.dim_count &&
           memcmp(a->tile.count, b->tile.count, sizeof a->tile.count) == 0 &&
           memcmp(a->tile.step, b->tile.step, sizeof a->tile.step) == 0;
}

/* Checks an accumulation for NaN only at its last step, which includes the earlier ones. */
static void chain_matmuls(const struct ntk_engine_builder *b,
                          const struct ntk_engine_compute *compute)
{
    const struct ntk_vec *instrs = &b->program->instrs[b->engine];
    const struct ntk_engine_instr *before =
        instrs->count > 1 ? ntk_vec_at(instrs, instrs->count - 2) : NULL;
    struct ntk_engine_compute *work;

    if (compute->instr.op != NTK_ISA_OP_NC_MATMUL ||
        !(compute->instr.op_flags & NTK_ISA_OPF_ACCUMULATE) || !before ||
        before->kind != NTK_ENGINE_KIND_COMPUTE) {
        return;
    }
    work = ntk_vec_at(&b->program->computes, before->first);
    work->chain_continues = work->instr.op == NTK_ISA_OP_NC_MATMUL &&
                            same_place(&work->operand[NTK_ISA_DST], &compute->operand[NTK_ISA_DST]);
}

int ntk_engine_compute_prepare(struct ntk_engine_builder *b, const struct ntk_isa_instr *instr,
                               struct ntk_engine_instr *out, struct ntk_err *err)
{
    static const char *const roles[NTK_ISA_OPERAND_COUNT] = { "destination",        "source 0",
                                                              "source 1",           "source 2",
                                                              "second destination", "source 3" };
    struct ntk_engine_program *program = b->program;
    struct ntk_engine_compute *compute;
    uint64_t bounce = 0;
    bool crosses = ntk_select_crosses(instr->op);
    int ret = check_operators(instr, err);

    if (ret < 0) {
        return ret;
    }
    compute = ntk_vec_add(&program->computes);
    if (!compute) {
        return NO_MEMORY();
    }
    compute->instr = *instr;
    if (instr->op == NTK_ISA_OP_DEVICE_PRINT && instr->name_id > 0) {
        compute->prefix = strdup(b->subgraph->engines[b->engine].names[instr->name_id - 1]);
        if (!compute->prefix) {
            return NO_MEMORY();
        }
    }
    for (int r = 0; r < NTK_ISA_OPERAND_COUNT; r++) {
        const struct ntk_isa_operand *operand = &instr->operand[r];
        struct ntk_engine_tile *tile = &compute->operand[r];

        if (operand->space == NTK_ISA_SPACE_NONE || operand->space == NTK_ISA_SPACE_PATTERN) {
            continue;
        }
        ret = ntk_engine_tile_prepare(b, roles[r], operand, tile, err);
        if (ret < 0) {
            return ret;
        }
        program->row_elements_max = larger(program->row_elements_max, tile->tile.elements);
        /* Copies printed data so that it is dense, and other sources if a destination would
         * overwrite them. */
        if (instr->op == NTK_ISA_OP_DEVICE_PRINT ||
            (r != NTK_ISA_DST && r != NTK_ISA_DST2 &&
             (disturbs(&instr->operand[NTK_ISA_DST], operand, crosses) ||
              disturbs(&instr->operand[NTK_ISA_DST2], operand, crosses)))) {
            compute->bounce_mask |= (uint8_t)(1u << r);
            bounce += ntk_isa_operand_elements(operand) * ntk_dtype_bytes(operand->dtype) + 64;
        }
    }
    chain_matmuls(b, compute);
    if (bounce > program->bounce_bytes_max) {
        program->bounce_bytes_max = bounce;
    }
    ret = array_prepare(b, instr, out, err);
    if (ret < 0) {
        return ret;
    }
    if (instr->op == NTK_ISA_OP_TOPK) {
        /* The list of a group of partitions is sorted as one row. */
        program->row_elements_max =
            larger(program->row_elements_max, 16 * compute->operand[NTK_ISA_SRC0].tile.elements);
    }
    program->has_latches = program->has_latches || uses_latches(instr);
    program->has_random = program->has_random || (instr->op >= NTK_ISA_OP_DROPOUT &&
                                                  instr->op <= NTK_ISA_OP_RAND_GET_STATE);
    out->kind = NTK_ENGINE_KIND_COMPUTE;
    out->first = (uint32_t)(program->computes.count - 1);
    out->duration_ps =
        ntk_cost_cycles_to_ps(b->spec, (enum ntk_engine)b->engine, compute_cycles(b, instr));
    return 0;
}
