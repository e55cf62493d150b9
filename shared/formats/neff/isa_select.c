/* SPDX-License-Identifier: MIT */
/* isa_select - checks operands of the operations in runtime-hooks/engine/kernel_select.c. */
#include <errno.h>

#include "shared/formats/neff/isa_private.h"

enum {
    GROUP = 16,
    QUADRANT = 32,
    BN_STATS_MAX = 512,
    TOP = 8,
    ROW_MAX = 16384,
    STATE_WORDS = 6,
    TOPK_MAX = 65536, /* maximum list length: positions fit 16 bits */
};

static uint64_t row(const struct ntk_isa_operand *operand)
{
    return ntk_isa_operand_partition_elements(operand);
}

static bool is_index(const struct ntk_isa_operand *operand)
{
    return operand->dtype == NTK_DTYPE_INT32 || operand->dtype == NTK_DTYPE_UINT32 ||
           operand->dtype == NTK_DTYPE_UINT16;
}

static bool is_word(const struct ntk_isa_operand *operand)
{
    return operand->dtype == NTK_DTYPE_INT32 || operand->dtype == NTK_DTYPE_UINT32;
}

static bool is_comparison(enum ntk_isa_alu op)
{
    return op >= NTK_ISA_ALU_EQUAL && op <= NTK_ISA_ALU_LESS;
}

static bool is_arithmetic(enum ntk_isa_alu op)
{
    return op != NTK_ISA_ALU_NONE && ntk_isa_alu_kind_get(op) == NTK_ISA_ALU_KIND_ARITH;
}

static int check_column(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        int role, const char *what, struct ntk_err *err)
{
    const struct ntk_isa_operand *of =
        &instr
             ->operand[ntk_isa_is_there(&instr->operand[NTK_ISA_DST]) ? NTK_ISA_DST : NTK_ISA_SRC0];

    if (ntk_isa_is_there(&instr->operand[role]) && !ntk_isa_is_column(&instr->operand[role], of)) {
        return BAD("%s: %s must have one value per partition", info->name, what);
    }
    return 0;
}

/* Checks that there is a second destination with operator and command, or none of these. */
static int check_fold(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                      struct ntk_err *err)
{
    if (!ntk_isa_is_there(&instr->operand[NTK_ISA_DST2])) {
        return instr->reduce_op != NTK_ISA_ALU_NONE || instr->reduce_cmd != NTK_ISA_REDUCE_IDLE
                   ? BAD("%s: the reduction has no second destination", info->name)
                   : 0;
    }
    if (!ntk_isa_alu_reduces(instr->reduce_op) || !is_arithmetic(instr->reduce_op)) {
        return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->reduce_op));
    }
    if (instr->reduce_cmd != NTK_ISA_REDUCE_REDUCE &&
        instr->reduce_cmd != NTK_ISA_REDUCE_RESET_REDUCE) {
        return BAD("%s: invalid reduce command %d", info->name, (int)instr->reduce_cmd);
    }
    return check_column(info, instr, NTK_ISA_DST2, "the second destination", err);
}

static int check_scan(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                      struct ntk_err *err)
{
    int ret = 0;

    if (!is_arithmetic(instr->op0) || !is_arithmetic(instr->op1)) {
        return BAD("%s: requires two arithmetic operators", info->name);
    }
    if (instr->op == NTK_ISA_OP_TENSOR_TENSOR_SCAN) {
        if (!ntk_isa_same_shape(&instr->operand[NTK_ISA_SRC1], &instr->operand[NTK_ISA_DST])) {
            return BAD("%s: source 1 and the destination differ in shape", info->name);
        }
    } else {
        ret = check_column(info, instr, NTK_ISA_SRC1, "source 1", err);
    }
    return ret < 0 ? ret : check_column(info, instr, NTK_ISA_SRC2, "source 2", err);
}

static int check_partition_reduce(const struct ntk_isa_op_info *info,
                                  const struct ntk_isa_instr *instr, struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];

    if (dst->partition_count != 1 || row(dst) != row(src)) {
        return BAD("%s: the destination must have one partition and the shape of the source",
                   info->name);
    }
    if (!ntk_isa_alu_reduces(instr->op0)) {
        return BAD("%s: cannot reduce with %s", info->name, ntk_isa_alu_name(instr->op0));
    }
    if (ntk_isa_alu_kind_get(instr->op0) == NTK_ISA_ALU_KIND_BITVEC &&
        (ntk_dtype_is_float(dst->dtype) || ntk_dtype_is_float(src->dtype))) {
        return BAD("%s: operator %s does not support floats", info->name,
                   ntk_isa_alu_name(instr->op0));
    }
    return 0;
}

static int check_selection(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                           struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    int ret = 0;

    if (instr->op == NTK_ISA_OP_AFFINE_SELECT) {
        if (!is_comparison(instr->op0)) {
            return BAD("%s: %s is not a comparison", info->name, ntk_isa_alu_name(instr->op0));
        }
        return row(src1) == row(dst)
                   ? 0
                   : BAD("%s: the pattern and the destination differ in shape", info->name);
    }
    if (instr->op == NTK_ISA_OP_RANGE_SELECT) {
        if (!is_comparison(instr->op0) || !is_comparison(instr->op1)) {
            return BAD("%s: requires two comparisons", info->name);
        }
        ret = check_column(info, instr, NTK_ISA_SRC1, "source 1", err);
    } else if (!ntk_isa_same_shape(src1, dst)) {
        return BAD("%s: source 1 and the destination differ in shape", info->name);
    }
    if (ret == 0) {
        ret = check_column(info, instr, NTK_ISA_SRC2, "source 2", err);
    }
    return ret < 0 ? ret : check_fold(info, instr, err);
}

static int check_mask(const struct ntk_isa_op_info *info, const struct ntk_isa_operand *mask,
                      const char *what, struct ntk_err *err)
{
    return mask->partition_count == 1 && row(mask) == QUADRANT && mask->dtype == NTK_DTYPE_UINT8
               ? 0
               : BAD("%s: %s must have 32 elements of uint8 in one partition", info->name, what);
}

/* Checks a row that is cut into blocks, one for each index. */
static int check_dynamic(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *index = &instr->operand[NTK_ISA_SRC1];
    uint64_t blocks = row(instr->op == NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC ? dst : src);

    if (src->partition_count != dst->partition_count) {
        return BAD("%s: source 0 and the destination have different numbers of partitions",
                   info->name);
    }
    if (!is_index(index) || index->partition_count != 1) {
        return BAD("%s: source 1 must contain 16-bit or 32-bit indices in one partition",
                   info->name);
    }
    if (instr->imm[0] > NTK_ISA_SBUF_PARTITION_BYTES_MAX) {
        return BAD("%s: invalid index stride of %u elements", info->name, instr->imm[0]);
    }
    if (blocks % row(index) != 0) {
        return BAD("%s: cannot divide %llu elements into %llu equal blocks", info->name,
                   (unsigned long long)blocks, (unsigned long long)row(index));
    }
    return 0;
}

/* Checks lists across 16 partitions. */
static int check_topk(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                      struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *places = &instr->operand[NTK_ISA_DST2];
    uint32_t k = instr->imm[0];
    uint32_t n = instr->imm[1];

    if (src->dtype != NTK_DTYPE_BFLOAT16 || dst->dtype != NTK_DTYPE_BFLOAT16) {
        return BAD("%s: source 0 and the destination must have dtype bfloat16", info->name);
    }
    if (src->partition_count % GROUP != 0 || dst->partition_count != src->partition_count) {
        return BAD("%s: the numbers of partitions of source 0 (%u) and the destination (%u) must "
                   "be equal multiples of 16",
                   info->name, src->partition_count, dst->partition_count);
    }
    if (!is_index(places) || !ntk_isa_same_shape(places, dst)) {
        return BAD("%s: the second destination must contain indices and have the first one's shape",
                   info->name);
    }
    if (n < 1 || n > TOPK_MAX || n > GROUP * row(src)) {
        return BAD("%s: a list of %u elements does not fit in 16 rows of %llu", info->name, n,
                   (unsigned long long)row(src));
    }
    if (row(src) > TOPK_MAX / GROUP || k < 1 || k > n || k > GROUP * row(dst)) {
        return BAD("%s: cannot write the %u largest of %u elements to 16 rows of %llu elements",
                   info->name, k, n, (unsigned long long)row(dst));
    }
    return 0;
}

static int check_gather(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *index = &instr->operand[NTK_ISA_SRC1];

    if (src->partition_count != dst->partition_count) {
        return BAD("%s: source 0 and the destination have different numbers of partitions",
                   info->name);
    }
    if (instr->op == NTK_ISA_OP_NC_STREAM_SHUFFLE) {
        if (!ntk_isa_same_shape(src, dst) || dst->partition_count % QUADRANT != 0) {
            return BAD("%s: source 0 and the destination must be quadrants of the same shape",
                       info->name);
        }
        return ntk_isa_is_there(index) ? check_mask(info, index, "source 1", err) : 0;
    }
    if (!is_index(index) || index->partition_count != dst->partition_count) {
        return BAD("%s: source 1 must contain 16-bit or 32-bit indices in as many partitions as "
                   "the destination has",
                   info->name);
    }
    if (instr->op == NTK_ISA_OP_NC_N_GATHER) {
        return row(index) == row(dst)
                   ? 0
                   : BAD("%s: source 1 and the destination differ in shape", info->name);
    }
    if (dst->partition_count % GROUP != 0) {
        return BAD("%s: %u partitions are not a multiple of 16", info->name, dst->partition_count);
    }
    if (instr->imm[0] < 1 || instr->imm[1] < 1 ||
        (uint64_t)instr->imm[0] * instr->imm[1] != row(dst) ||
        (instr->imm[1] + (uint64_t)GROUP - 1) / GROUP > row(index)) {
        return BAD("%s: %u indices of %u elements each do not fit the operands", info->name,
                   instr->imm[1], instr->imm[0]);
    }
    return 0;
}

static int check_statistics(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                            struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *values = &instr->operand[NTK_ISA_SRC1];
    const struct ntk_isa_operand *places = &instr->operand[NTK_ISA_DST2];
    bool fits = dst->partition_count == src->partition_count;

    switch (instr->op) {
    case NTK_ISA_OP_BN_STATS:
        fits = fits && row(dst) == 6 && row(src) <= BN_STATS_MAX;
        break;
    case NTK_ISA_OP_BN_AGGR:
        fits = fits && row(dst) == 2 && row(src) % 3 == 0;
        break;
    case NTK_ISA_OP_NC_FIND_INDEX8:
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
        fits = fits && row(src) >= TOP && row(src) <= ROW_MAX &&
               (!ntk_isa_is_there(values) ||
                (values->partition_count == src->partition_count && row(values) == TOP));
        if (instr->op == NTK_ISA_OP_NC_FIND_INDEX8) {
            fits = fits && row(dst) == TOP && is_word(dst);
        } else {
            fits = fits && row(dst) == row(src) &&
                   (!ntk_isa_is_there(places) || (places->partition_count == src->partition_count &&
                                                  row(places) == TOP && is_word(places)));
        }
        break;
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
        fits = fits && row(dst) == row(src) + 1 && dst->dtype == NTK_DTYPE_INT32;
        break;
    default: /* sequence_bounds */
        fits = fits && row(dst) == 2 * row(src) && !ntk_dtype_is_float(dst->dtype);
        break;
    }
    return fits ? 0 : BAD("%s: the shapes or dtypes of the operands are inconsistent", info->name);
}

static int check_random(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *state = ntk_isa_is_there(dst) ? dst : src;
    int ret;

    switch (instr->op) {
    case NTK_ISA_OP_DROPOUT:
        if (!ntk_isa_same_shape(src, dst)) {
            return BAD("%s: source 0 and the destination differ in shape", info->name);
        }
        return check_column(info, instr, NTK_ISA_SRC1, "source 1", err);
    case NTK_ISA_OP_RNG:
        return ntk_dtype_is_float(dst->dtype) || ntk_dtype_bytes(dst->dtype) > 4
                   ? BAD("%s: the destination must contain integers of up to 32 bits", info->name)
                   : 0;
    case NTK_ISA_OP_RAND2:
        if (!ntk_dtype_is_float(dst->dtype)) {
            return BAD("%s: the destination must contain floats", info->name);
        }
        ret = check_column(info, instr, NTK_ISA_SRC0, "source 0", err);
        return ret < 0 ? ret : check_column(info, instr, NTK_ISA_SRC1, "source 1", err);
    case NTK_ISA_OP_SET_RNG_SEED:
        return is_word(src) && row(src) == 1
                   ? 0
                   : BAD("%s: source 0 must have one 32-bit integer per partition", info->name);
    default: /* the state */
        return state->dtype == NTK_DTYPE_UINT32 && row(state) == STATE_WORDS
                   ? 0
                   : BAD("%s: a state must have 6 elements of uint32 per partition", info->name);
    }
}

int ntk_isa_check_select(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err)
{
    int ret;

    switch (instr->op) {
    case NTK_ISA_OP_TENSOR_TENSOR_SCAN:
    case NTK_ISA_OP_TENSOR_SCALAR_CUMULATIVE:
        ret = check_scan(info, instr, err);
        break;
    case NTK_ISA_OP_EXPONENTIAL:
        ret = check_column(info, instr, NTK_ISA_SRC1, "source 1", err);
        ret = ret < 0 ? ret : check_fold(info, instr, err);
        break;
    case NTK_ISA_OP_TENSOR_COPY_PREDICATED:
    case NTK_ISA_OP_AFFINE_SELECT:
    case NTK_ISA_OP_RANGE_SELECT:
    case NTK_ISA_OP_SELECT_REDUCE:
        ret = check_selection(info, instr, err);
        break;
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC:
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_DST:
        return check_dynamic(info, instr, err);
    case NTK_ISA_OP_TOPK:
        return check_topk(info, instr, err);
    case NTK_ISA_OP_LOAD_MASK_REGISTER:
        return check_mask(info, &instr->operand[NTK_ISA_SRC0], "source 0", err);
    case NTK_ISA_OP_MATCH_VALUE_LOAD:
        return row(&instr->operand[NTK_ISA_SRC0]) == TOP
                   ? 0
                   : BAD("%s: source 0 must have 8 values per partition", info->name);
    case NTK_ISA_OP_TENSOR_PARTITION_REDUCE:
        return check_partition_reduce(info, instr, err);
    case NTK_ISA_OP_LOCAL_GATHER:
    case NTK_ISA_OP_NC_N_GATHER:
    case NTK_ISA_OP_NC_STREAM_SHUFFLE:
        return check_gather(info, instr, err);
    case NTK_ISA_OP_BN_STATS:
    case NTK_ISA_OP_BN_AGGR:
    case NTK_ISA_OP_NC_FIND_INDEX8:
    case NTK_ISA_OP_NC_MATCH_REPLACE8:
    case NTK_ISA_OP_NONZERO_WITH_COUNT:
    case NTK_ISA_OP_SEQUENCE_BOUNDS:
        return check_statistics(info, instr, err);
    case NTK_ISA_OP_DROPOUT:
    case NTK_ISA_OP_RNG:
    case NTK_ISA_OP_RAND2:
    case NTK_ISA_OP_SET_RNG_SEED:
    case NTK_ISA_OP_RAND_SET_STATE:
    case NTK_ISA_OP_RAND_GET_STATE:
        return check_random(info, instr, err);
    default:
        return 0;
    }
    /* The other operations are element-wise. */
    if (ret == 0 &&
        !ntk_isa_same_shape(&instr->operand[NTK_ISA_SRC0], &instr->operand[NTK_ISA_DST])) {
        return BAD("%s: source 0 and the destination differ in shape", info->name);
    }
    return ret;
}
