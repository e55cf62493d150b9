/* SPDX-License-Identifier: MIT */
/* isa_matrix - checks operands of products, transposes and quantised tiles. */
#include <errno.h>

#include "shared/formats/neff/isa_private.h"

/* Blocks of a microscaling format: 8 partitions of 4 elements share a scale. */
enum { MX_PACK = 4, MX_ROWS = 8, DVE_SQUARE = 32 };

static uint64_t row(const struct ntk_isa_operand *operand)
{
    return ntk_isa_operand_partition_elements(operand);
}

static int check_source(const struct ntk_isa_op_info *info, const struct ntk_isa_operand *operand,
                        const char *what, struct ntk_err *err)
{
    return !ntk_isa_is_there(operand) || operand->space == NTK_ISA_SPACE_SBUF
               ? 0
               : BAD("%s: %s is not in SBUF", info->name, what);
}

/* Checks that sums are in one bank of PSUM. */
static int check_sum(const struct ntk_isa_op_info *info, const struct ntk_isa_operand *dst,
                     struct ntk_err *err)
{
    int64_t low;
    int64_t high;

    if (dst->space != NTK_ISA_SPACE_PSUM) {
        return BAD("%s: the destination is not in PSUM", info->name);
    }
    ntk_isa_operand_extent(dst, &low, &high);
    if (low / NTK_ISA_PSUM_BANK_BYTES != (high - 1) / NTK_ISA_PSUM_BANK_BYTES) {
        return BAD("%s: the destination crosses a PSUM bank", info->name);
    }
    return 0;
}

static int check_columns(const struct ntk_isa_op_info *info, uint64_t stationary, uint64_t moving,
                         const struct ntk_isa_operand *dst, struct ntk_err *err)
{
    if (stationary > NTK_ISA_STATIONARY_MAX || stationary != dst->partition_count) {
        return BAD("%s: the numbers of columns of source 0 (%llu) and partitions of the "
                   "destination (%u) must be equal and at most %d",
                   info->name, (unsigned long long)stationary, dst->partition_count,
                   NTK_ISA_STATIONARY_MAX);
    }
    if (moving > NTK_ISA_MOVING_MAX || moving != row(dst)) {
        return BAD("%s: the numbers of columns of source 1 (%llu) and of the destination (%llu) "
                   "must be equal and at most %d",
                   info->name, (unsigned long long)moving, (unsigned long long)row(dst),
                   NTK_ISA_MOVING_MAX);
    }
    return 0;
}

static int check_matmul(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                        struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];

    if (ntk_isa_is_there(src0) && src0->partition_count != src1->partition_count) {
        return BAD("%s: the stationary tile has %u rows, but the moving tile has %u", info->name,
                   src0->partition_count, src1->partition_count);
    }
    return check_columns(info, ntk_isa_is_there(src0) ? row(src0) : dst->partition_count, row(src1),
                         dst, err);
}

static int check_transpose(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                           struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    unsigned limit =
        instr->op == NTK_ISA_OP_DVE_TRANSPOSE ? DVE_SQUARE : (unsigned)NTK_ISA_STATIONARY_MAX;

    if (row(src0) > limit || row(src0) != dst->partition_count) {
        return BAD("%s: the numbers of columns of source 0 (%llu) and partitions of the "
                   "destination (%u) must be equal and at most %u",
                   info->name, (unsigned long long)row(src0), dst->partition_count, limit);
    }
    if (src0->partition_count > limit || row(dst) != src0->partition_count) {
        return BAD("%s: the numbers of partitions of source 0 (%u) and columns of the destination "
                   "(%llu) must be equal and at most %u",
                   info->name, src0->partition_count, (unsigned long long)row(dst), limit);
    }
    return 0;
}

/* Number of elements of a microscaling tile in one column of a partition: four separate ones, or
 * one word of four e2m1. 0 if it is neither. */
static unsigned mx_width(const struct ntk_isa_operand *tile)
{
    switch (tile->dtype) {
    case NTK_DTYPE_FLOAT8E4:
    case NTK_DTYPE_FLOAT8E5:
        return MX_PACK;
    case NTK_DTYPE_UINT16:
        return 1;
    default:
        return 0;
    }
}

static uint64_t mx_columns(const struct ntk_isa_operand *tile)
{
    return mx_width(tile) == 1 ? row(tile) : row(tile) / MX_PACK;
}

/* Checks a tile of blocks and one scale for each block. */
static int check_blocks(const struct ntk_isa_op_info *info, const char *what,
                        const struct ntk_isa_operand *tile, const struct ntk_isa_operand *scales,
                        struct ntk_err *err)
{
    unsigned width = mx_width(tile);

    if (width == 0) {
        return BAD("%s: %s has dtype %s: expected float8e4, float8e5 or uint16 (four e2m1 values)",
                   info->name, what, ntk_dtype_name(tile->dtype));
    }
    if (row(tile) % width != 0 || tile->partition_count % MX_ROWS != 0) {
        return BAD("%s: %s with %u x %llu elements does not divide into 8 x 4 blocks", info->name,
                   what, tile->partition_count, (unsigned long long)row(tile));
    }
    if (scales->dtype != NTK_DTYPE_UINT8 || row(scales) != mx_columns(tile) ||
        scales->partition_count != tile->partition_count / MX_ROWS) {
        return BAD("%s: %s requires one uint8 scale per block", info->name, what);
    }
    return 0;
}

static int check_mx(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                    struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src0 = &instr->operand[NTK_ISA_SRC0];
    const struct ntk_isa_operand *src1 = &instr->operand[NTK_ISA_SRC1];
    int ret = check_blocks(info, "source 0", src0, &instr->operand[NTK_ISA_SRC2], err);

    if (ret == 0) {
        ret = check_blocks(info, "source 1", src1, &instr->operand[NTK_ISA_SRC3], err);
    }
    if (ret == 0 && src0->partition_count != src1->partition_count) {
        ret = BAD("%s: the stationary tile has %u rows, but the moving tile has %u", info->name,
                  src0->partition_count, src1->partition_count);
    }
    return ret < 0 ? ret : check_columns(info, mx_columns(src0), mx_columns(src1), dst, err);
}

static int check_quantize(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                          struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = &instr->operand[NTK_ISA_DST];
    const struct ntk_isa_operand *src = &instr->operand[NTK_ISA_SRC0];
    int ret = check_blocks(info, "the destination", dst, &instr->operand[NTK_ISA_DST2], err);

    if (ret < 0) {
        return ret;
    }
    if (src->dtype != NTK_DTYPE_BFLOAT16 && src->dtype != NTK_DTYPE_FLOAT16) {
        return BAD("%s: source 0 has dtype %s: expected float16 or bfloat16", info->name,
                   ntk_dtype_name(src->dtype));
    }
    if (src->partition_count != dst->partition_count || row(src) != mx_columns(dst) * MX_PACK) {
        return BAD("%s: source 0 and the destination differ in shape", info->name);
    }
    return 0;
}

int ntk_isa_check_matrix(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err)
{
    static const char *const sources[] = { "source 0", "source 1", "source 2", "source 3" };
    static const int roles[] = { NTK_ISA_SRC0, NTK_ISA_SRC1, NTK_ISA_SRC2, NTK_ISA_SRC3 };
    int ret = 0;

    if (instr->op == NTK_ISA_OP_DVE_TRANSPOSE) {
        return check_transpose(info, instr, err);
    }
    if (instr->op == NTK_ISA_OP_QUANTIZE_MX) {
        return check_quantize(info, instr, err);
    }
    /* The tensor engine reads the state buffer and writes sums to PSUM. */
    if (instr->op != NTK_ISA_OP_LOAD_STATIONARY) {
        ret = check_sum(info, &instr->operand[NTK_ISA_DST], err);
    }
    for (int i = 0; i < 4 && ret == 0; i++) {
        ret = check_source(info, &instr->operand[roles[i]], sources[i], err);
    }
    if (ret < 0) {
        return ret;
    }
    switch (instr->op) {
    case NTK_ISA_OP_NC_TRANSPOSE:
        return check_transpose(info, instr, err);
    case NTK_ISA_OP_NC_MATMUL_MX:
        return check_mx(info, instr, err);
    case NTK_ISA_OP_NC_MATMUL:
        return check_matmul(info, instr, err);
    default: /* load_stationary */
        return row(&instr->operand[NTK_ISA_SRC0]) <= NTK_ISA_STATIONARY_MAX
                   ? 0
                   : BAD("%s: source 0 has too many columns: %llu (at most %d)", info->name,
                         (unsigned long long)row(&instr->operand[NTK_ISA_SRC0]),
                         NTK_ISA_STATIONARY_MAX);
    }
}
