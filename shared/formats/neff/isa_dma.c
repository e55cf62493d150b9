/* SPDX-License-Identifier: MIT */
/* isa_dma - checks operands, flags and immediates of DMA operations. */
#include <errno.h>
#include <math.h>

#include "shared/formats/neff/isa_private.h"

const enum ntk_isa_role ntk_isa_dma_sources[NTK_ISA_DMA_SOURCES] = { NTK_ISA_SRC0, NTK_ISA_SRC1,
                                                                     NTK_ISA_SRC2, NTK_ISA_SRC3 };

static const struct ntk_isa_operand *operand_of(const struct ntk_isa_instr *instr, int role)
{
    return &instr->operand[role];
}

bool ntk_isa_ends_later(enum ntk_isa_op op)
{
    return op == NTK_ISA_OP_DMA_COPY || op == NTK_ISA_OP_DMA_INDIRECT_COPY ||
           op == NTK_ISA_OP_DMA_TRANSPOSE || op == NTK_ISA_OP_DMA_COMPUTE ||
           op == NTK_ISA_OP_SENDRECV;
}

unsigned ntk_isa_transpose_rank(const struct ntk_isa_operand *operand)
{
    return operand->dim_count + (operand->space != NTK_ISA_SPACE_VAR ? 1U : 0U);
}

enum ntk_isa_dge ntk_isa_dge_get(const struct ntk_isa_instr *instr)
{
    return (enum ntk_isa_dge)(instr->op_flags >> NTK_ISA_DGE_SHIFT & 3);
}

struct ntk_isa_indexing ntk_isa_indexing_get(const struct ntk_isa_instr *instr)
{
    const struct ntk_isa_operand *first = operand_of(instr, NTK_ISA_SRC1);
    const struct ntk_isa_operand *second = operand_of(instr, NTK_ISA_SRC2);
    struct ntk_isa_indexing indexing = { 0 };

    if (ntk_isa_is_there(second)) {
        indexing.of_destination = second;
        indexing.of_source = ntk_isa_is_there(first) ? first : NULL;
    } else if (operand_of(instr, NTK_ISA_SRC0)->space == NTK_ISA_SPACE_VAR) {
        indexing.of_source = first;
    } else {
        indexing.of_destination = first;
    }
    /* If only one side is indexed, it uses the first two immediates. */
    indexing.destination_imm = indexing.of_source ? 2 : 0;
    return indexing;
}

static int check_index(const struct ntk_isa_op_info *info, const struct ntk_isa_operand *index,
                       const struct ntk_isa_operand *of, const char *what, struct ntk_err *err)
{
    if (!index) {
        return 0;
    }
    if (of->space != NTK_ISA_SPACE_VAR) {
        return BAD("%s: the %s has an index, but is not a variable", info->name, what);
    }
    if (index->space != NTK_ISA_SPACE_SBUF ||
        (index->dtype != NTK_DTYPE_INT32 && index->dtype != NTK_DTYPE_UINT32)) {
        return BAD("%s: the index of the %s must consist of 32-bit integers in SBUF", info->name,
                   what);
    }
    return 0;
}

static int check_indirect(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                          struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = operand_of(instr, NTK_ISA_DST);
    const struct ntk_isa_operand *src = operand_of(instr, NTK_ISA_SRC0);
    struct ntk_isa_indexing by = ntk_isa_indexing_get(instr);
    uint64_t indices = 0;
    uint64_t from = ntk_isa_operand_elements(src);
    uint64_t to = ntk_isa_operand_elements(dst);
    int ret;

    if (!ntk_isa_is_there(operand_of(instr, NTK_ISA_SRC1)) &&
        !ntk_isa_is_there(operand_of(instr, NTK_ISA_SRC2))) {
        return BAD("%s: missing index", info->name);
    }
    if (ntk_isa_dge_get(instr) == NTK_ISA_DGE_NONE) {
        return BAD("%s: descriptors written before the run cannot use indices", info->name);
    }
    if ((ret = check_index(info, by.of_source, src, "source", err)) < 0 ||
        (ret = check_index(info, by.of_destination, dst, "destination", err)) < 0) {
        return ret;
    }
    if (!(by.of_source && by.of_destination) && (instr->imm[2] != 0 || instr->imm[3] != 0)) {
        return BAD("%s: immediates for a second index are set, but it is missing", info->name);
    }
    if (by.of_source) {
        indices = ntk_isa_operand_elements(by.of_source);
    }
    if (by.of_destination) {
        uint64_t second = ntk_isa_operand_elements(by.of_destination);

        if (by.of_source && second != indices) {
            return BAD(
                "%s: the numbers of indices differ: %llu for the source, %llu for the destination",
                info->name, (unsigned long long)indices, (unsigned long long)second);
        }
        indices = second;
    }
    /* An indexed operand describes one row; the other operand describes all rows. */
    from = by.of_source ? from : from / indices + (from % indices != 0);
    to = by.of_destination ? to : to / indices + (to % indices != 0);
    if (from != to || (!by.of_source && ntk_isa_operand_elements(src) % indices != 0) ||
        (!by.of_destination && ntk_isa_operand_elements(dst) % indices != 0)) {
        return BAD("%s: %llu rows of %llu elements do not match rows of %llu", info->name,
                   (unsigned long long)indices, (unsigned long long)from, (unsigned long long)to);
    }
    return 0;
}

static int check_transpose(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                           struct ntk_err *err)
{
    const struct ntk_isa_operand *src = operand_of(instr, NTK_ISA_SRC0);
    unsigned rank = ntk_isa_transpose_rank(src);
    unsigned seen = 0;

    if (rank > 4) {
        return BAD("%s: too many dimensions: %u (at most 4)", info->name, rank);
    }
    for (unsigned i = 0; i < 4; i++) {
        unsigned from = instr->imm[0] >> (8 * i) & 0xff;

        if (i < rank ? from >= rank : from != 0) {
            return BAD("%s: invalid order 0x%08x of %u dimensions", info->name, instr->imm[0],
                       rank);
        }
        seen |= i < rank ? 1U << from : 0;
    }
    if (seen != (1U << rank) - 1) {
        return BAD("%s: order 0x%08x contains a dimension twice", info->name, instr->imm[0]);
    }
    if (operand_of(instr, NTK_ISA_DST)->dtype != src->dtype) {
        return BAD("%s: cannot convert %s to %s", info->name, ntk_dtype_name(src->dtype),
                   ntk_dtype_name(operand_of(instr, NTK_ISA_DST)->dtype));
    }
    return 0;
}

static int check_compute(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                         struct ntk_err *err)
{
    if (instr->op0 != NTK_ISA_ALU_ADD && instr->op0 != NTK_ISA_ALU_MINIMUM &&
        instr->op0 != NTK_ISA_ALU_MAXIMUM) {
        return BAD("%s: unsupported operator %s", info->name,
                   ntk_isa_alu_name((unsigned)instr->op0));
    }
    for (int s = 0; s < NTK_ISA_DMA_SOURCES; s++) {
        const struct ntk_isa_operand *source = operand_of(instr, ntk_isa_dma_sources[s]);
        uint32_t scale = instr->imm[s];
        bool present = ntk_isa_is_there(source);

        if (present && ntk_isa_operand_elements(source) !=
                           ntk_isa_operand_elements(operand_of(instr, NTK_ISA_DST))) {
            return BAD("%s: sources and destination have different numbers of elements",
                       info->name);
        }
        if (present && instr->op0 == NTK_ISA_ALU_ADD) {
            if (!isfinite(ntk_isa_bits_float(scale))) {
                return BAD("%s: scale %d is not finite", info->name, s);
            }
        } else if (scale != 0) {
            return BAD("%s: scale %d is set, but not used", info->name, s);
        }
    }
    return 0;
}

int ntk_isa_check_dma(const struct ntk_isa_op_info *info, const struct ntk_isa_instr *instr,
                      struct ntk_err *err)
{
    const struct ntk_isa_operand *dst = operand_of(instr, NTK_ISA_DST);
    const struct ntk_isa_operand *src = operand_of(instr, NTK_ISA_SRC0);

    if (instr->op == NTK_ISA_OP_DMA_INDIRECT_COPY) {
        return check_indirect(info, instr, err);
    }
    if (instr->op == NTK_ISA_OP_DMA_COMPUTE) {
        return check_compute(info, instr, err);
    }
    if (ntk_isa_operand_elements(dst) != ntk_isa_operand_elements(src)) {
        return BAD("%s: cannot move %llu elements to %llu", info->name,
                   (unsigned long long)ntk_isa_operand_elements(src),
                   (unsigned long long)ntk_isa_operand_elements(dst));
    }
    return instr->op == NTK_ISA_OP_DMA_TRANSPOSE ? check_transpose(info, instr, err) : 0;
}
